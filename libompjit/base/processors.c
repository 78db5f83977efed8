/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Counts the processors that the calling thread may run on.
 */
#include <sched.h>

#include "base/base.h"

uint32_t ompjit__processors(void)
{
    enum { MOST = 8192 }; /* more than Linux can have */
    cpu_set_t *set = CPU_ALLOC(MOST);
    size_t size = CPU_ALLOC_SIZE(MOST);
    int n = set && !sched_getaffinity(0, size, set) ? CPU_COUNT_S(size, set)
                                                    : 1;
    CPU_FREE(set);
    return n > 0 ? (uint32_t)n : 1;
}
