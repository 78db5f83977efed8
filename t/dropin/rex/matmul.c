/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Two loops as one.
 */
#include "rex.h"

#ifdef KERNELS
void matmul(int n, float *a, float *b, float *c)
{
#pragma omp target teams distribute parallel for collapse(2) \
    map(to: a[:n * n], b[:n * n]) map(from: c[:n * n])
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}
#else
KERNEL(matmul);

static int test(void)
{
    enum { N = 20 };
    static float a[N * N], b[N * N], c[N * N];
    int n = N, wrong = 0;
    for (int i = 0; i < N * N; i++)
        a[i] = (float)(i % 7), b[i] = i % (N + 1) ? 0 : 3;
    wrong += LAUNCH(matmul, VALUE(n), ARRAY(a, N * N, TO), ARRAY(b, N * N, TO),
                    ARRAY(c, N * N, FROM)) != 0;
    for (int i = 0; i < N * N; i++)
        wrong += c[i] != 3 * a[i];
    return wrong;
}
#endif
