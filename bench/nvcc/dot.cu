/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
extern "C" __global__ void dot(int n, const double *__restrict__ x,
                               const double *__restrict__ y,
                               double *__restrict__ result)
{
#include "known.h"
    __shared__ double sums[32];
    double sum = 0;
    EACH(i, blockIdx.x * THREADS + threadIdx.x, n, TEAMS * THREADS)
        sum += x[i] * y[i];
    for (int distance = 16; distance; distance /= 2)
        sum += __shfl_down_sync(~0u, sum, distance);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    sum = threadIdx.x < THREADS / 32 ? sums[threadIdx.x] : 0;
    for (int distance = 16; distance; distance /= 2)
        sum += __shfl_down_sync(~0u, sum, distance);
    if (threadIdx.x == 0)
        atomicAdd(result, sum);
}
