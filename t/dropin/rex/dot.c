/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A reduction into mapped memory.
 */
#include "rex.h"

#ifdef KERNELS
double dot(int n, double *x, double *y)
{
    double sum = 0;
#pragma omp target teams distribute parallel for reduction(+: sum) \
    map(to: x[:n], y[:n])
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}
#else
KERNEL(dot);

static int test(void)
{
    enum { N = 1000 };
    static double x[N], y[N];
    double sum = 0;
    int n = N, wrong = 0;
    for (int i = 0; i < N; i++)
        x[i] = i, y[i] = 2;
    wrong += LAUNCH(dot, VALUE(n), ARRAY(&sum, 1, TO | FROM), ARRAY(x, N, TO),
                    ARRAY(y, N, TO)) != 0;
    return wrong + (sum != (double)N * (N - 1));
}
#endif
