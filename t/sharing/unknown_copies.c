// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function that is not known copies a pointer.
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>
#include "sharing.h"

int main(void)
{
    double *a = field(), *q = field();
    double *from[1] = {a}, *swapped[1];
    swab(from, swapped, sizeof from);
    swab(swapped, &q, sizeof q);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        seen += q[5];
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
