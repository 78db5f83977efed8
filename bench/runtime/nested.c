/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A parallel region inside a parallel region.
 */
void nested(int rows, int n, const float *x, float *y)
{
    #pragma omp target parallel for map(to : x[:rows * n]) \
        map(tofrom : y[:rows * n])
    for (int r = 0; r < rows; r++) {
        #pragma omp parallel for
        for (int i = 0; i < n; i++)
            y[r * n + i] += x[r * n + i];
    }
}
