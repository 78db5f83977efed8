/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Generic mode: sequential code of a team around two parallel regions, which
 * share its variables.
 */
void normalize(int rows, int n, double *m, double *norms)
{
    #pragma omp target teams distribute map(tofrom : m[:rows * n]) \
        map(from : norms[:rows])
    for (int r = 0; r < rows; r++) {
        double *row = m + (long)r * n, norm = 0;
        #pragma omp parallel for reduction(+ : norm)
        for (int i = 0; i < n; i++)
            norm += row[i] * row[i];
        norms[r] = norm;
        double scale = norm > 0 ? 1 / norm : 0;
        #pragma omp parallel for
        for (int i = 0; i < n; i++)
            row[i] *= scale;
    }
}
