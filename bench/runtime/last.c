/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A static schedule with chunks, and the value of the last iteration.
 */
int last(int n, const int *x, int *y)
{
    int t = 0;
    #pragma omp target parallel for schedule(static, 8) lastprivate(t) \
        map(to : x[:n]) map(from : y[:n]) map(tofrom : t)
    for (int i = 0; i < n; i++) {
        t = x[i] * 3;
        y[i] = t + i;
    }
    return t;
}
