/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The processors that the calling thread may run on: how many there are, and how
 * something new begins on another one than the caller's.
 *
 * Linux starts a process or thread on its creator's processor where it takes no
 * other for idle. The idle ones of a virtual machine look as if they were taken
 * away: creator and created then wait for each other, 4 ms at a time.
 */
#include <sched.h>

#include "base/base.h"
#include "base/processors.h"

enum { BYTES = sizeof(ompjit__processor_set) };

/* False: the system does not tell. */
static bool get_all(ompjit__processor_set *all)
{
    return !sched_getaffinity(0, BYTES, all->part);
}

uint32_t ompjit__processors(void)
{
    ompjit__processor_set all = {0};
    int n = get_all(&all) ? CPU_COUNT_S(BYTES, all.part) : 1;
    return n > 0 ? (uint32_t)n : 1;
}

bool ompjit__other_processors(ompjit__processor_set *all,
                              ompjit__processor_set *others)
{
    int here = sched_getcpu();
    if (here < 0 || !get_all(all))
        return false;
    *others = *all;
    CPU_CLR_S((size_t)here, BYTES, others->part);
    return CPU_COUNT_S(BYTES, others->part);
}

void ompjit__run_elsewhere(pid_t child)
{
    ompjit__processor_set all = {0}, others;
    if (ompjit__other_processors(&all, &others) &&
        !sched_setaffinity(child, BYTES, others.part))
        sched_setaffinity(child, BYTES, all.part);
}
