/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A reduction of each team, its loop marked simd as well.
 */
void gemv(int rows, int n, const float *a, const float *x, float *y)
{
    #pragma omp target teams distribute map(to : a[:rows * n], x[:n]) \
        map(from : y[:rows])
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        #pragma omp parallel for simd reduction(+ : sum)
        for (int i = 0; i < n; i++)
            sum += a[r * n + i] * x[i];
        y[r] = sum;
    }
}
