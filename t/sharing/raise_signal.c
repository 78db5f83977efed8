// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function that is not known calls a signal handler.
 */
#include <signal.h>
#include "sharing.h"

static void handle(int signal)
{
    (void)signal;
    look();
}

int main(void)
{
    double *a = A = field();
    signal(SIGUSR1, handle);
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        raise(SIGUSR1);
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
