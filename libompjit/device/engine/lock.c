/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Marks of launches that take locks, and which of these have failed: a bit for
 * each, in memory that is there from the first failure on.
 */
#include <stdlib.h>

#include "device/engine/lock.h"
#include "device/engine/thread.h"
#include "runtime-bc/host_abi.h"

enum {
    MARK_BITS = 64 - OMPJIT_HOST_LOCK_THREAD_BITS - OMPJIT_HOST_LOCK_NEST_BITS,
    MARKS = 1 << MARK_BITS,
    THREADS = 1 << OMPJIT_HOST_LOCK_THREAD_BITS,
    WORD = 32 /* bits of a word of `lost` */
};

static _Atomic uint32_t marks, threads;
static _Atomic uint32_t *_Atomic lost; /* NULL: no launch has failed so */

/* Has a launch failed that held the lock with that mark? */
static bool is_lost(uint32_t mark)
{
    const _Atomic uint32_t *words = atomic_load(&lost);
    return words && atomic_load(&words[mark / WORD]) >> mark % WORD & 1;
}

/* After 2^24 they come again, but not those that locks may still hold. */
static uint32_t new_mark(void)
{
    uint32_t mark;
    do {
        mark = (atomic_fetch_add(&marks, 1) + 1) % MARKS;
    } while (!mark || is_lost(mark));
    return mark;
}

/* One mark for each launch, made when it takes its first lock. Threads that do
 * so at once agree on one. */
uint32_t ompjit__lock_mark(ompjit__host_watch *w)
{
    uint64_t serial = ompjit__serial_of(w);
    uint64_t known = atomic_load(&w->lock_mark);
    while (known >> MARK_BITS != serial) {
        uint64_t new = serial << MARK_BITS | new_mark();
        if (atomic_compare_exchange_strong(&w->lock_mark, &known, new))
            known = new;
    }
    return known % MARKS;
}

/* After a launch that failed: whoever finds its mark in a lock need not wait.
 */
void ompjit__lock_lose(ompjit__host_watch *w)
{
    uint64_t known = atomic_load(&w->lock_mark);
    uint32_t mark = known % MARKS;
    if (known >> MARK_BITS != ompjit__serial_of(w))
        return; /* it took no lock */
    if (!atomic_load(&lost)) {
        _Atomic uint32_t *none = NULL, *words = calloc(MARKS / WORD,
                                                       sizeof *words);
        if (!words || !atomic_compare_exchange_strong(&lost, &none, words))
            free(words);
    }
    _Atomic uint32_t *words = atomic_load(&lost);
    if (words)
        atomic_fetch_or(&words[mark / WORD], UINT32_C(1) << mark % WORD);
}

/* ------------------------------------------------- what device code calls */

/* Marks and numbers are not 0: a lock that is free is. */
uint64_t ompjit_host_lock_holder(void)
{
    struct fiber *f = ompjit__host_current;
    ompjit__host_watch *w = f->member->team->watch;
    while (!f->lock_number)
        f->lock_number = (atomic_fetch_add(&threads, 1) + 1) % THREADS;
    uint64_t mark = w ? ompjit__lock_mark(w) : 1;
    return mark << OMPJIT_HOST_LOCK_THREAD_BITS | f->lock_number;
}

bool ompjit_host_lock_lost(uint32_t mark)
{
    return is_lost(mark % MARKS);
}
