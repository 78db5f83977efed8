// expect: 1
// in shared memory: 2.3342e-313
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Allocated storage has the type that was stored there last (C 6.5, "effective
 * type"): integers are stored in an array of doubles, whose values then come
 * back from the device.
 */
#include "sharing.h"

static void count(int *p)
{
    for (int i = 0; i < N; i++)
        p[i] = i;
}

int main(void)
{
    double *a = field();
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        count((int *)a);
    }
    printf("%g\n", a[5]);
    free(a);
    return 0;
}
