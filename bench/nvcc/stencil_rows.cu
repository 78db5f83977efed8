/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
extern "C" __global__ void stencil_rows(int n, float c0, float c1,
                                        const float *__restrict__ in,
                                        float *__restrict__ out)
{
#include "known.h"
    const int inner = n - 2;
    EACH(q, blockIdx.x, inner * inner, TEAMS) {
        int i = 1 + q / inner, j = 1 + q % inner;
        for (int k = 1 + threadIdx.x; k < n - 1; k += THREADS) {
            int p = (i * n + j) * n + k;
            out[p] = c0 * in[p] +
                     c1 * (in[p - 1] + in[p + 1] + in[p - n] + in[p + n] +
                           in[p - n * n] + in[p + n * n]);
        }
    }
}
