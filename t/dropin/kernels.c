/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The device code of rex.c: its kernels have the names that rex.c's entries
 * have, which the test passes to both.
 */
void scale(int n, double a, double *x);
void scale(int n, double a, double *x)
{
#pragma omp target teams distribute parallel for map(tofrom: x[:n])
    for (int i = 0; i < n; i++)
        x[i] *= a;
}

void add(int n, float a, const float *x, float *y);
void add(int n, float a, const float *x, float *y)
{
#pragma omp target teams distribute parallel for map(to: x[:n]) \
    map(tofrom: y[:n])
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}
