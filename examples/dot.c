/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * dot [N]: the inner product, a reduction over teams and threads. The products
 * are small whole numbers: their sum has the same bits in any order.
 */
#include "check.h"

static double dot(long n, const double *x, const double *y)
{
    double sum = 0;
    #pragma omp target teams distribute parallel for reduction(+ : sum) \
        map(to : x[:n], y[:n]) map(tofrom : sum)
    for (long i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 1000000), expected = 0;
    double *x = must(malloc(n * sizeof *x)), *y = must(malloc(n * sizeof *y));
    for (long i = 0; i < n; i++) {
        x[i] = i % 91;
        y[i] = i % 7 - 3;
        expected += (i % 91) * (i % 7 - 3);
    }
    double sum = dot(n, x, y);
    int status = report("dot", sum != expected, &sum, sizeof sum);
    free(x);
    free(y);
    return status;
}
