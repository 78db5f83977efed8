// expect: 0
// in shared memory: 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An exception that nobody catches runs a handler.
 */
#include <exception>
#include <unistd.h>
#include "sharing.h"

static void tell()
{
    printf("%g\n", A[5]);
    fflush(stdout);
    _exit(0);
}

int main()
{
    double *a = A = field();
    std::set_terminate(tell);
#pragma omp target enter data map(to : a[:N])
    work(a);
    throw 5;
}
