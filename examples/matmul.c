/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * matmul [N]: C = A B of N x N matrices of small whole numbers; every sum is
 * exact. Checked by the column sums, which need no second product.
 */
#include "check.h"

static void matmul(long n, const double *a, const double *b, double *c)
{
    #pragma omp target teams distribute parallel for collapse(2) \
        map(to : a[:n * n], b[:n * n]) map(from : c[:n * n])
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            double sum = 0;
            for (long k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

/* Columns j whose sum over C is not (column sums of A) times column j of B. */
static long wrong_columns(long n, const double *a, const double *b,
                          const double *c)
{
    double *sums = must(calloc(n, sizeof *sums));
    long wrong = 0;
    for (long i = 0; i < n; i++)
        for (long k = 0; k < n; k++)
            sums[k] += a[i * n + k];
    for (long j = 0; j < n; j++) {
        double got = 0, expected = 0;
        for (long k = 0; k < n; k++) {
            got += c[k * n + j];
            expected += sums[k] * b[k * n + j];
        }
        wrong += got != expected;
    }
    free(sums);
    return wrong;
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 256);
    size_t size = n * n * sizeof(double);
    double *a = must(malloc(size)), *b = must(malloc(size));
    double *c = must(malloc(size));
    for (long i = 0; i < n * n; i++) {
        a[i] = i % 13 - 6;
        b[i] = i % 17 - 8;
    }
    matmul(n, a, b, c);
    int status = report("matmul", wrong_columns(n, a, b, c), c, size);
    free(a);
    free(b);
    free(c);
    return status;
}
