/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
extern "C" __global__ void jacobi(int n, const double *__restrict__ old,
                                  double *__restrict__ next)
{
#include "known.h"
    EACH(i, 1 + blockIdx.x, n - 1, TEAMS)
        for (int j = 1 + threadIdx.x; j < n - 1; j += THREADS)
            next[i * n + j] =
                0.25 * (old[(i - 1) * n + j] + old[(i + 1) * n + j] +
                        old[i * n + j - 1] + old[i * n + j + 1]);
}
