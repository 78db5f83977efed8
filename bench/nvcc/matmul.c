/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A product of square matrices, an element of the result in each iteration.
 */
void matmul(int n, const float *a, const float *b, float *c)
{
    #pragma omp target teams distribute parallel for collapse(2) \
        map(to : a[:n * n], b[:n * n]) map(from : c[:n * n])
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}
