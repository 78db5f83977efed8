/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A region with serial and parallel parts.
 */
#include "rex.h"

#ifdef KERNELS
void smooth(int n, int *x, int *most)
{
#pragma omp target map(tofrom: x[:n]) map(from: most[:1])
    {
        int top = 0;
        for (int i = 0; i < n; i++)
            top = x[i] > top ? x[i] : top;
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            x[i] = top - x[i];
        most[0] = top;
    }
}
#else
KERNEL(smooth);

static int test(void)
{
    enum { N = 300 };
    static int x[N];
    int n = N, most = 0, wrong = 0;
    for (int i = 0; i < N; i++)
        x[i] = i * 7 % N;
    wrong += LAUNCH(smooth, VALUE(n), ARRAY(x, N, TO | FROM),
                    ARRAY(&most, 1, FROM)) != 0;
    for (int i = 0; i < N; i++)
        wrong += x[i] != N - 1 - i * 7 % N;
    return wrong + (most != N - 1);
}
#endif
