/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The processors that the calling thread may run on: how many there are, and on
 * which of them a child begins.
 *
 * Linux starts a process on its creator's processor, and wakes it where it was
 * last, unless it takes another one for idle. The idle ones of a virtual machine
 * look as if they were taken away: two processes on the same one then wait for
 * each other, 4 ms at a time.
 */
#include <sched.h>

#include "base/base.h"
#include "base/processors.h"

enum { BYTES = sizeof(ompjit__processor_set) };

uint32_t ompjit__processors(void)
{
    ompjit__processor_set all = {0};
    int n = !sched_getaffinity(0, BYTES, all.part)
                ? CPU_COUNT_S(BYTES, all.part)
                : 1;
    return n > 0 ? (uint32_t)n : 1;
}

bool ompjit__other_processors(ompjit__processor_set *all,
                              ompjit__processor_set *others)
{
    const int here = sched_getcpu();
    *all = (ompjit__processor_set){0};
    if (here < 0 || sched_getaffinity(0, BYTES, all->part))
        return false;
    *others = *all;
    CPU_CLR_S((size_t)here, BYTES, others->part);
    return CPU_COUNT_S(BYTES, others->part);
}

bool ompjit__place(pid_t child, enum ompjit__where where,
                   ompjit__processor_set *all)
{
    ompjit__processor_set want = {0};
    const int here = sched_getcpu();
    *all = want;
    if (child <= 0 || here < 0 || sched_getaffinity(child, BYTES, all->part) ||
        CPU_COUNT_S(BYTES, all->part) < 2)
        return false;
    if (where == OMPJIT__HERE) {
        CPU_SET_S((size_t)here, BYTES, want.part);
    } else {
        want = *all;
        CPU_CLR_S((size_t)here, BYTES, want.part);
    }
    return !sched_setaffinity(child, BYTES, want.part);
}

void ompjit__place_end(pid_t child, const ompjit__processor_set *all)
{
    if (child > 0) /* and not the calling thread */
        sched_setaffinity(child, BYTES, all->part);
}

void ompjit__run_elsewhere(pid_t child)
{
    ompjit__processor_set all;
    if (ompjit__place(child, OMPJIT__ELSEWHERE, &all))
        ompjit__place_end(child, &all);
}
