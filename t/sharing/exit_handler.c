// expect: 0
// in shared memory: 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * exit runs a handler while data is mapped.
 */
#include "sharing.h"

static void tell(void)
{
    printf("%g\n", A[5]);
}

int main(void)
{
    double *a = A = field();
    atexit(tell);
#pragma omp target enter data map(to : a[:N])
    work(a);
    exit(0);
}
