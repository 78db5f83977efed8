/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * mandelbrot [N] [FILE]: the set in an N x N picture, written to FILE as PGM.
 * Contraction to fused multiply-add is off: a picture is made of last bits, and
 * the same picture is wanted everywhere.
 */
#include "check.h"

#pragma STDC FP_CONTRACT OFF

enum { LIMIT = 255 };

#pragma omp declare target
static int escape(double cr, double ci)
{
    double r = 0, i = 0;
    int n = 0;
    while (n < LIMIT && r * r + i * i <= 4) {
        double next = r * r - i * i + cr;
        i = 2 * r * i + ci;
        r = next;
        n++;
    }
    return n;
}
#pragma omp end declare target

static void draw(long n, unsigned char *picture)
{
    #pragma omp target teams distribute parallel for collapse(2) \
        map(from : picture[:n * n])
    for (long y = 0; y < n; y++)
        for (long x = 0; x < n; x++)
            picture[y * n + x] = escape(-2.0 + 2.5 * x / n,
                                        -1.25 + 2.5 * y / n);
}

static int write_picture(const char *path, long n, const unsigned char *picture)
{
    FILE *out = fopen(path, "wb");
    if (!out) {
        perror(path);
        return 1;
    }
    fprintf(out, "P5\n%ld %ld\n%d\n", n, n, LIMIT);
    fwrite(picture, 1, n * n, out);
    return fclose(out) != 0;
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 400), wrong = 0;
    unsigned char *picture = must(malloc(n * n));
    draw(n, picture);
    for (long y = 0; y < n; y++)
        for (long x = 0; x < n; x++)
            wrong += picture[y * n + x] != escape(-2.0 + 2.5 * x / n,
                                                  -1.25 + 2.5 * y / n);
    int status = report("mandelbrot", wrong, picture, n * n);
    if (argc > 2)
        status |= write_picture(argv[2], n, picture);
    free(picture);
    return status;
}
