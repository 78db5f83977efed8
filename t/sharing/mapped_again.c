// expect: 6 11 16
// copied: 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A region that runs several times changes what it maps `to`: that is copied
 * each time, and nothing else is.
 */
#include "sharing.h"

static double sum(double *a, const double *b, double *c)
{
#pragma omp target data map(to : a[:N], b[:N]) map(from : c[:N])
    {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++) {
            a[i] += 5;
            c[i] = a[i] + b[i];
        }
    }
    return c[5];
}

int main(void)
{
    double *a = field(), *b = field(), *c = field();
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < N; k++)
            b[k] = 1 + 5 * i;
        printf("%g%c", sum(a, b, c), i < 2 ? ' ' : '\n');
    }
    return 0;
}
