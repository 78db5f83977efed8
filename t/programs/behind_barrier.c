// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: lock 115, test 115, turns 78690, atomics 78690, call 115
//
// A variable of a team that its threads change one after the other, and that all
// of them read behind a barrier: none reads the value that it has stored itself.
// The array beside it is indexed by a value that nobody knows.
#include <omp.h>
#include <stdio.h>

enum { THREADS = 5 };

#pragma omp begin declare target
omp_lock_t lock;

__attribute__((noinline)) static void add(unsigned *sum, unsigned value)
{
    omp_set_lock(&lock);
    *sum += value;
    omp_unset_lock(&lock);
}
#pragma omp end declare target

static unsigned total(const unsigned *seen)
{
    unsigned all = 0;
    for (int i = 0; i < THREADS; i++)
        all += seen[i];
    return all;
}

// In a region of one team, `begin` before its threads are there: the change of
// `sum` by each thread, whose table entry is table[g].
#define REGION(name, begin, change)                                            \
    static unsigned name(unsigned g)                                           \
    {                                                                          \
        unsigned seen[THREADS] = {0}, turn = 0;                                \
        _Pragma("omp target teams num_teams(1) map(tofrom : seen, turn)")      \
        {                                                                      \
            unsigned sum = 8, table[4];                                        \
            for (unsigned i = 0; i < 4; i++)                                   \
                table[i] = i * 7 + 3 + g;                                      \
            begin;                                                             \
            _Pragma("omp parallel num_threads(THREADS)")                       \
            {                                                                  \
                unsigned me = (unsigned)omp_get_thread_num(), now = 0;         \
                (void)now;                                                     \
                change;                                                        \
                _Pragma("omp barrier")                                         \
                seen[me] = sum;                                                \
            }                                                                  \
        }                                                                      \
        return total(seen);                                                    \
    }

REGION(by_lock, omp_init_lock(&lock), {
    omp_set_lock(&lock);
    sum += table[g];
    omp_unset_lock(&lock);
})

REGION(by_test, omp_init_lock(&lock), {
    while (!omp_test_lock(&lock))
        ;
    sum += table[g];
    omp_unset_lock(&lock);
})

REGION(by_turns, turn = 0, {
    do {
        _Pragma("omp atomic read acquire")
        now = turn;
    } while (now != me);
    sum = sum * 3 + table[g] * 38;
    _Pragma("omp atomic write release")
    turn = me + 1;
})

REGION(by_builtins, turn = 0, {
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != THREADS - 1 - me)
        ;
    sum = sum * 3 + table[g] * 38;
    __atomic_store_n(&turn, THREADS - me, __ATOMIC_RELEASE);
})

REGION(by_call, omp_init_lock(&lock), add(&sum, table[g]))

int main(void)
{
    unsigned lock_sum = by_lock(0), test = by_test(0), turns = by_turns(0);
    unsigned builtins = by_builtins(0), call = by_call(0);
    printf("lock %u, test %u, turns %u, atomics %u, call %u\n", lock_sum, test,
           turns, builtins, call);
    return 0;
}
