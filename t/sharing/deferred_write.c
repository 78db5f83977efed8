// expect: 0 1
// copied: 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host writes while a deferred kernel may read.
 */
#include "sharing.h"

int main(void)
{
    double *a = field(), *b = field();
#pragma omp target data map(to : a[:N]) map(tofrom : b[:N])
    {
#pragma omp target teams distribute parallel for nowait
        for (int i = 0; i < N; i++)
            b[i] += a[i];
        a[5] = 1;
#pragma omp taskwait
    }
    printf("%g %g\n", b[5], a[5]);
    return 0;
}
