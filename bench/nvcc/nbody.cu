/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
extern "C" __global__ void
nbody(int n, float softening, const float *__restrict__ x,
      const float *__restrict__ y, const float *__restrict__ z,
      const float *__restrict__ mass, float *__restrict__ ax,
      float *__restrict__ ay, float *__restrict__ az)
{
#include "known.h"
    EACH(i, blockIdx.x * THREADS + threadIdx.x, n, TEAMS * THREADS) {
        float fx = 0, fy = 0, fz = 0;
        for (int j = 0; j < n; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + softening);
            float f = mass[j] * r * r * r;
            fx += f * dx;
            fy += f * dy;
            fz += f * dz;
        }
        ax[i] = fx;
        ay[i] = fy;
        az[i] = fz;
    }
}
