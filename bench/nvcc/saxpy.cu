/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
extern "C" __global__ void saxpy(int n, float a, const float *__restrict__ x,
                                 float *__restrict__ y)
{
#include "known.h"
    EACH(i, blockIdx.x * THREADS + threadIdx.x, n, TEAMS * THREADS)
        y[i] = a * x[i] + y[i];
}
