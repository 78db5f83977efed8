/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * loops KERNEL N: milliseconds of a scan or a dot product of N doubles. Without
 * DEVICE a compiler's own OpenMP is the peer.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DEVICE
#define DATA _Pragma("omp target data map(to : a[:n], b[:n])")
#define SCAN _Pragma("omp target map(sum)")
#define LOOP                                                                  \
    _Pragma("omp target teams distribute parallel for reduction(+ : sum)")
#else
#define DATA
#define SCAN
#define LOOP _Pragma("omp parallel for reduction(+ : sum)")
#endif

static double scan(long n, const double *a, double *b)
{
    double sum = 0;
    SCAN
    _Pragma("omp parallel for reduction(inscan, + : sum)")
    for (long i = 0; i < n; i++) {
        sum += a[i];
        _Pragma("omp scan inclusive(sum)") b[i] = sum;
    }
    return sum;
}

static double dot(long n, const double *a, double *b)
{
    double sum = 0;
    LOOP
    for (long i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

int main(int argc, char **argv)
{
    long n = argc > 2 ? atol(argv[2]) : 1000000;
    double (*kernel)(long, const double *, double *) =
        argc > 1 && !strcmp(argv[1], "dot") ? dot : scan;
    double *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    double best = 1e30, sum = 0;
    for (long i = 0; i < n; i++)
        a[i] = i % 7, b[i] = i % 5;
    DATA
    for (int k = 0; k < 50; k++) {
        double start = omp_get_wtime();
        sum += kernel(n, a, b);
        double time = omp_get_wtime() - start;
        best = time < best ? time : best;
    }
    printf("%.4f\n", best * 1e3);
    return sum < 0;
}
