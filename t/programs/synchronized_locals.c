// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: locks 91 91 91, atomics 91 91, flush 91
//
// Variables of a team that its threads change one after the other, ordered by
// locks, atomics and flushes and not by barriers: no thread sees the value from
// before the region for what another has stored.
#include <omp.h>
#include <stdio.h>

enum { THREADS = 8 };

#pragma omp begin declare target
omp_lock_t lock;
omp_nest_lock_t nest;
#pragma omp end declare target

static void start(void)
{
#pragma omp target
    {
        omp_init_lock(&lock);
        omp_init_nest_lock(&nest);
    }
}

static int by_lock(int c)
{
    int result = 0;
#pragma omp target thread_limit(THREADS) map(tofrom: result)
    {
        int sum = 2 + c;
#pragma omp parallel num_threads(THREADS)
        {
            omp_set_lock(&lock);
            sum += 10 + c;
            omp_unset_lock(&lock);
        }
        result = sum;
    }
    return result;
}

static int by_test(int c)
{
    int result = 0;
#pragma omp target thread_limit(THREADS) map(tofrom: result)
    {
        int sum = 2 + c;
#pragma omp parallel num_threads(THREADS)
        {
            int done = 0;
            while (!done)
                if (omp_test_lock(&lock)) {
                    sum += 10 + c;
                    omp_unset_lock(&lock);
                    done = 1;
                }
        }
        result = sum;
    }
    return result;
}

static int by_nest_lock(int c)
{
    int result = 0;
#pragma omp target thread_limit(THREADS) map(tofrom: result)
    {
        int sum = 2 + c;
#pragma omp parallel num_threads(THREADS)
        {
            omp_set_nest_lock(&nest);
            sum += 10 + c;
            omp_unset_nest_lock(&nest);
        }
        result = sum;
    }
    return result;
}

/* Threads take turns: whose turn it is says an atomic variable of the team. */
static int by_turns(int c)
{
    int result = 0;
#pragma omp target thread_limit(THREADS) map(tofrom: result)
    {
        int sum = 2 + c, turn = 0;
#pragma omp parallel num_threads(THREADS)
        {
            int me = omp_get_thread_num(), now = -1;
            while (now != me) {
#pragma omp atomic read seq_cst
                now = turn;
            }
            sum += 10 + c;
#pragma omp atomic write seq_cst
            turn = me + 1;
        }
        result = sum;
    }
    return result;
}

/* The same by the compiler's atomics. */
static int by_builtins(int c)
{
    int result = 0;
#pragma omp target thread_limit(THREADS) map(tofrom: result)
    {
        int sum = 2 + c, turn = 0;
#pragma omp parallel num_threads(THREADS)
        {
            int me = omp_get_thread_num();
            while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != me)
                continue;
            sum += 10 + c;
            __atomic_store_n(&turn, me + 1, __ATOMIC_RELEASE);
        }
        result = sum;
    }
    return result;
}

static int by_flush(int c)
{
    int result = 0;
#pragma omp target thread_limit(THREADS) map(tofrom: result)
    {
        int sum = 2 + c, turn = 0;
#pragma omp parallel num_threads(THREADS)
        {
            int me = omp_get_thread_num(), now = -1;
            while (now != me) {
#pragma omp atomic read
                now = turn;
            }
#pragma omp flush
            sum += 10 + c;
#pragma omp flush
#pragma omp atomic write
            turn = me + 1;
        }
        result = sum;
    }
    return result;
}

int main(void)
{
    start();
    int locks = by_lock(1), tests = by_test(1), nests = by_nest_lock(1);
    int turns = by_turns(1), builtins = by_builtins(1), flushes = by_flush(1);
    printf("locks %d %d %d, atomics %d %d, flush %d\n", locks, tests, nests,
           turns, builtins, flushes);
    return 0;
}
