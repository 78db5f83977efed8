/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * saxpy [N]: y = a x + y. Small whole numbers, so that every device gets the
 * same bits with and without fused multiply-add.
 */
#include "check.h"

static void saxpy(long n, float a, const float *x, float *y)
{
    #pragma omp target teams distribute parallel for \
        map(to : x[:n]) map(tofrom : y[:n])
    for (long i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 1000000), wrong = 0;
    float *x = must(malloc(n * sizeof *x)), *y = must(malloc(n * sizeof *y));
    for (long i = 0; i < n; i++) {
        x[i] = i % 1000;
        y[i] = i % 77;
    }
    saxpy(n, 3, x, y);
    for (long i = 0; i < n; i++)
        wrong += y[i] != 3 * (i % 1000) + i % 77;
    int status = report("saxpy", wrong, y, n * sizeof *y);
    free(x);
    free(y);
    return status;
}
