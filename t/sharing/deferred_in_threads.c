// expect: 2
// copied: 2
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A deferred kernel of a thread's own task: it is not known who waits for it.
 */
#include "sharing.h"

int main(void)
{
    double *a = field(), *b = field();
    for (int i = 0; i < N; i++)
        a[i] = 1;
#pragma omp target data map(to : a[:N]) map(tofrom : b[:N])
    {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp target teams distribute parallel for nowait
        for (int i = 0; i < N; i++)
            b[i] += a[i];
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            b[i] += a[i];
    }
    printf("%g\n", b[5]);
    return 0;
}
