/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A loop; a double as a literal.
 */
#include "rex.h"

#ifdef KERNELS
void daxpy(int n, double a, double *x, double *y)
{
#pragma omp target teams distribute parallel for map(to: x[:n]) \
    map(tofrom: y[:n])
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}
#else
KERNEL(daxpy);

static int test(void)
{
    enum { N = 1000 };
    static double x[N], y[N];
    int n = N, wrong = 0;
    double a = 0.5;
    for (int i = 0; i < N; i++)
        x[i] = i;
    for (int round = 0; round < 3; round++)
        wrong += LAUNCH(daxpy, VALUE(n), ARRAY(y, N, TO | FROM), VALUE(a),
                        ARRAY(x, N, TO)) != 0;
    for (int i = 0; i < N; i++)
        wrong += y[i] != 1.5 * i;
    return wrong;
}
#endif
