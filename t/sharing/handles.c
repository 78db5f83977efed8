// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A pointer is kept as a number of type long.
 */
#include "sharing.h"

static long handles[4];

int main(void)
{
    double *a = field(), *q = field();
    handles[1] = (long)a;
    handles[2] = handles[1] + 8;
    if (handles[2])
        q = (double *)(handles[2] - 8);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        seen += q[5];
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
