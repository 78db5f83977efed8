/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A flat loop over two vectors.
 */
void saxpy(int n, float a, const float *x, float *y)
{
    #pragma omp target teams distribute parallel for map(to : x[:n]) \
        map(tofrom : y[:n])
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}
