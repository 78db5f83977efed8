// expect: 1 2
// in shared memory: 2 2
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Another context has launched a kernel when the program goes on.
 */
#include <ucontext.h>
#include "sharing.h"

static ucontext_t here, there;

static void run(void)
{
    work(A);
    swapcontext(&there, &here);
#pragma omp target update from(A[:N])
    swapcontext(&there, &here);
}

int main(void)
{
    double *a = A = field();
    getcontext(&there);
    there.uc_stack.ss_sp = malloc(1 << 20);
    there.uc_stack.ss_size = 1 << 20;
    makecontext(&there, run, 0);
    work(a);
#pragma omp target data map(tofrom : a[:N])
    {
        swapcontext(&here, &there);
        look();
        swapcontext(&here, &there);
    }
    printf("%g %g\n", seen, a[5]);
    return 0;
}
