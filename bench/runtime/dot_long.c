/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A reduction over all teams, of vectors of any length.
 */
double dot_long(long n, const double *x, const double *y)
{
    double sum = 0;
    #pragma omp target teams distribute parallel for reduction(+ : sum) \
        map(to : x[:n], y[:n]) map(tofrom : sum)
    for (long i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}
