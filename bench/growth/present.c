/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * present N: microseconds of a launch with present data, of which the table has N
 * entries: of the same data each time, and of any.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 100, LAUNCHES = 200, DISTANCE = 64, SIZE = 32 };

static double launches(char *memory, long n, long step)
{
    double best = 1e30;
    for (int k = 0; k < RUNS; k++) {
        double start = omp_get_wtime();
        for (long i = 0; i < LAUNCHES; i++) {
            char *p = memory + i * step % n * DISTANCE;
            #pragma omp target map(p[:SIZE])
            p[0]++;
        }
        double time = (omp_get_wtime() - start) / LAUNCHES;
        best = time < best ? time : best;
    }
    return best * 1e6;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000;
    char *memory = malloc((size_t)n * DISTANCE);
    for (long i = 0; i < n; i++) {
        char *p = memory + i * DISTANCE;
        #pragma omp target enter data map(to : p[:SIZE])
    }
    printf("%.4f %.4f\n", launches(memory, n, 0), launches(memory, n, 7919));
}
