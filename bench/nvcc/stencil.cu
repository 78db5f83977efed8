/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
extern "C" __global__ void stencil(int n, float c0, float c1,
                                   const float *__restrict__ in,
                                   float *__restrict__ out)
{
#include "known.h"
    const int inner = n - 2;
    EACH(q, blockIdx.x * THREADS + threadIdx.x, inner * inner * inner,
         TEAMS * THREADS) {
        int i = 1 + q / (inner * inner), j = 1 + q / inner % inner;
        int k = 1 + q % inner, p = (i * n + j) * n + k;
        out[p] = c0 * in[p] +
                 c1 * (in[p - 1] + in[p + 1] + in[p - n] + in[p + n] +
                       in[p - n * n] + in[p + n * n]);
    }
}
