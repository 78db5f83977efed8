/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A product of rectangular matrices: two loops collapsed, a sequential one
 * inside.
 */
void matmul(int m, int n, int l, const double *a, const double *b, double *c)
{
    #pragma omp target teams distribute parallel for collapse(2) \
        map(to : a[:m * l], b[:l * n]) map(from : c[:m * n])
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < l; k++)
                sum += a[i * l + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}
