/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A sweep over a grid, its points over all threads.
 */
void jacobi_flat(int n, const double *old, double *new)
{
    #pragma omp target teams distribute parallel for collapse(2) \
        map(to : old[:n * n]) map(tofrom : new[:n * n])
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            new[i * n + j] =
                0.25 * (old[(i - 1) * n + j] + old[(i + 1) * n + j] +
                        old[i * n + j - 1] + old[i * n + j + 1]);
}
