// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: 9 8 7 6 5 4 3 2 1 0
//
// Threads of a team that wait for each other in loops: for an atomic variable,
// for a volatile one, and for a lock that another thread holds meanwhile.
#include <omp.h>
#include <stdio.h>

enum { MOST = 10 };

static unsigned look(unsigned *turn)
{
    unsigned now;
#pragma omp atomic read acquire
    now = *turn;
    return now;
}

int main(void)
{
    unsigned turn = 0, order[MOST] = {0}, n = 0, count = 0;
    int flag = 0;
    omp_lock_t lock;
#pragma omp target parallel num_threads(MOST) \
    map(tofrom: turn, order, n, flag, count) map(alloc: lock)
    {
        unsigned all = (unsigned)omp_get_num_threads();
        unsigned me = all - 1 - (unsigned)omp_get_thread_num();
        while (look(&turn) != me)
            ;
        order[me] = (unsigned)omp_get_thread_num();
#pragma omp atomic write release
        turn = me + 1;
        if (me == all - 1) {
            n = all;
            omp_init_lock(&lock);
            *(volatile int *)&flag = 1;
        }
        while (!*(volatile int *)&flag)
            ;
#pragma omp flush
        while (!omp_test_lock(&lock))
            ;
        count++;
        omp_unset_lock(&lock);
    }
    for (unsigned i = 0; i < n; i++)
        printf("%u%s", order[i], i + 1 < n ? " " : "\n");
    return count != n;
}
