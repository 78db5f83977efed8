/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A reduction over all teams.
 */
double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    #pragma omp target teams distribute parallel for reduction(+ : sum) \
        map(to : x[:n], y[:n]) map(tofrom : sum)
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}
