/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The two kernels of Rodinia's gaussian: forward elimination, column by column.
 * Each launch has other values of its scalars than the one before.
 */
#include "short.h"

enum { N = 16, LAUNCHES = 2 * (N - 1) };
static double a[N][N], m[N][N], b[N];

int main(void)
{
    double best = 1e9, sum = 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            a[i][j] = i == j ? 2 * N : 1.0 / (1 + i + j);
        b[i] = i;
    }
#pragma omp target data map(to : a, m) map(tofrom : b)
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now();
        for (int t = 0; t < N - 1; t++) {
#pragma omp target teams distribute parallel for
            for (int i = t + 1; i < N; i++)
                m[i][t] = a[i][t] / a[t][t];
#pragma omp target teams distribute parallel for collapse(2)
            for (int i = t + 1; i < N; i++)
                for (int j = t; j < N; j++) {
                    a[i][j] -= m[i][t] * a[t][j];
                    if (j == t)
                        b[i] -= m[i][t] * b[t];
                }
        }
        double took = now() - begin;
        if (took < best)
            best = took;
    }
    for (int i = 0; i < N; i++)
        sum += b[i];
    tell(best, LAUNCHES, sum);
}
