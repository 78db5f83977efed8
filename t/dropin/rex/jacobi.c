/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Two kernels in turn on data that outlives launches.
 */
#include "rex.h"

#ifdef KERNELS
void step(int n, double *to, double *from)
{
#pragma omp target teams distribute parallel for map(tofrom: to[:n], from[:n])
    for (int i = 1; i < n - 1; i++)
        to[i] = (from[i - 1] + from[i + 1]) / 2;
}
void twice(int n, double *at)
{
#pragma omp target teams distribute parallel for map(tofrom: at[:n])
    for (int i = 0; i < n; i++)
        at[i] *= 2;
}
#else
KERNEL(step);
KERNEL(twice);

static int test(void)
{
    enum { N = 200, ROUNDS = 10 };
    static double a[N], b[N], x[N], y[N];
    int n = N, wrong = 0;
    a[0] = b[0] = x[0] = y[0] = 1;
    void *data[] = {a, b};
    int64_t sizes[] = {sizeof a, sizeof b}, types[] = {TO | FROM, TO | FROM};
    __tgt_target_data_begin(-1, 2, data, data, sizes, types);
    for (int i = 0; i < ROUNDS; i++) {
        wrong += LAUNCH(step, VALUE(n), ARRAY(b, N, TO | FROM),
                        ARRAY(a, N, TO | FROM)) != 0;
        wrong += LAUNCH(step, VALUE(n), ARRAY(a, N, TO | FROM),
                        ARRAY(b, N, TO | FROM)) != 0;
    }
    wrong += LAUNCH(twice, VALUE(n), ARRAY(a, N, TO | FROM)) != 0;
    __tgt_target_data_end(-1, 2, data, data, sizes, types);
    for (int round = 0; round < 2 * ROUNDS; round++)
        for (int i = 1; i < N - 1; i++)
            (round % 2 ? x : y)[i] = ((round % 2 ? y : x)[i - 1] +
                                      (round % 2 ? y : x)[i + 1]) / 2;
    for (int i = 0; i < N; i++)
        wrong += a[i] != 2 * x[i];
    return wrong;
}
#endif
