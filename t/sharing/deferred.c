// expect: 29
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Deferred kernels in a data region: nothing is copied.
 */
#include "sharing.h"

int main(void)
{
    double *a = field(), *b = field();
    double s = 0;
    for (int i = 0; i < N; i++)
        b[i] = 1;
#pragma omp target data map(tofrom : a[:N]) map(to : b[:N])
    for (int k = 0; k < 3; k++) {
#pragma omp target teams distribute parallel for nowait
        for (int i = 0; i < N; i++)
            a[i] += b[i];
#pragma omp taskwait
#pragma omp target teams distribute parallel for depend(inout : s) nowait
        for (int i = 0; i < N; i++)
            a[i] *= 2;
#pragma omp taskwait
#pragma omp target teams distribute parallel for depend(inout : s)
        for (int i = 0; i < N; i++)
            a[i]++;
    }
    printf("%g\n", s + a[5] + b[5] + 7);
    return 0;
}
