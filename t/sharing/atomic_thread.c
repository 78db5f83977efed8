// expect: 0 1
// in shared memory: 1 1
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A thread looks once an atomic variable says so.
 */
#include <pthread.h>
#include <sched.h>
#include "sharing.h"

static int turn;

static void *wait_and_look(void *none)
{
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 1)
        sched_yield();
    look();
    __atomic_store_n(&turn, 2, __ATOMIC_RELEASE);
    return none;
}

int main(void)
{
    double *a = A = field();
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_and_look, NULL))
        return 1;
#pragma omp target data map(tofrom : a[:N])
    {
        work(a);
        __atomic_fetch_add(&turn, 1, __ATOMIC_ACQ_REL);
        while (__atomic_fetch_add(&turn, 0, __ATOMIC_ACQ_REL) != 2)
            sched_yield();
    }
    pthread_join(thread, NULL);
    printf("%g %g\n", seen, a[5]);
    return 0;
}
