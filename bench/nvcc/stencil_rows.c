/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Seven points in three dimensions, a line of them for each team.
 */
void stencil_rows(int n, float c0, float c1, const float *in, float *out)
{
    #pragma omp target teams distribute collapse(2) \
        map(to : in[:n * n * n]) map(tofrom : out[:n * n * n])
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            #pragma omp parallel for
            for (int k = 1; k < n - 1; k++) {
                int p = (i * n + j) * n + k;
                out[p] = c0 * in[p] +
                         c1 * (in[p - 1] + in[p + 1] + in[p - n] + in[p + n] +
                               in[p - n * n] + in[p + n * n]);
            }
        }
}
