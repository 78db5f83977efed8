// expect: 0
// in shared memory: 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * abort runs a signal handler while data is mapped.
 */
#include <signal.h>
#include <unistd.h>
#include "sharing.h"

static void tell(int signal)
{
    (void)signal;
    printf("%g\n", A[5]);
    fflush(stdout);
    _exit(0);
}

int main(void)
{
    double *a = A = field();
    signal(SIGABRT, tell);
#pragma omp target enter data map(to : a[:N])
    work(a);
    abort();
}
