// expect: 0 3
// in shared memory: 3 3
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host reads what a deferred kernel has written, once it is done.
 */
#include "sharing.h"

int main(void)
{
    double *a = field();
#pragma omp target data map(tofrom : a[:N])
    {
#pragma omp target teams distribute parallel for nowait
        for (int i = 0; i < N; i++)
            a[i] += 3;
#pragma omp taskwait
        seen = a[5];
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
