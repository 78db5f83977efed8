/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
extern "C" __global__ void matmul(int n, const float *__restrict__ a,
                                  const float *__restrict__ b,
                                  float *__restrict__ c)
{
#include "known.h"
    EACH(p, blockIdx.x * THREADS + threadIdx.x, n * n, TEAMS * THREADS) {
        int i = p / n, j = p % n;
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
    }
}
