/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tasks that one thread of a region makes.
 */
void tasks(int n, int chunk, double *x)
{
    #pragma omp target parallel map(tofrom : x[:n])
    #pragma omp single
    for (int i = 0; i < n; i += chunk) {
        #pragma omp task firstprivate(i)
        for (int k = i; k < i + chunk && k < n; k++)
            x[k] = x[k] * x[k] + 1;
    }
}
