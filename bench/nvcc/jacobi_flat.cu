/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
extern "C" __global__ void jacobi_flat(int n, const double *__restrict__ old,
                                       double *__restrict__ next)
{
#include "known.h"
    EACH(p, blockIdx.x * THREADS + threadIdx.x, (n - 2) * (n - 2),
         TEAMS * THREADS) {
        int i = 1 + p / (n - 2), j = 1 + p % (n - 2);
        next[i * n + j] = 0.25 * (old[(i - 1) * n + j] + old[(i + 1) * n + j] +
                                  old[i * n + j - 1] + old[i * n + j + 1]);
    }
}
