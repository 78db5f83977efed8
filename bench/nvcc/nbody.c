/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The acceleration of each body by all bodies.
 */
float sqrtf(float x);

void nbody(int n, float softening, const float *x, const float *y,
           const float *z, const float *mass, float *ax, float *ay, float *az)
{
    #pragma omp target teams distribute parallel for \
        map(to : x[:n], y[:n], z[:n], mass[:n]) \
        map(from : ax[:n], ay[:n], az[:n])
    for (int i = 0; i < n; i++) {
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
