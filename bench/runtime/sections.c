/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A reduction of part of an array, with a barrier and a single region.
 */
void sections(int n, const int *x, long *sums)
{
    #pragma omp target parallel map(to : x[:n]) map(tofrom : sums[:8])
    {
        #pragma omp single
        sums[0] = 1;
        #pragma omp for reduction(+ : sums[0:4])
        for (int i = 0; i < n; i++)
            sums[i & 3] += x[i];
        #pragma omp masked
        sums[7] = sums[0] + sums[1];
    }
}
