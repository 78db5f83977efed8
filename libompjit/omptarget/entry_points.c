/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * entry_points.def as the table that the host JIT binds.
 */
#include "omptarget/entry_points.h"

#define C(theirs, ours, types) \
    {#theirs, (void *)(uintptr_t)ompjit__s_##ours, true, types},
#define P(theirs, ours, types) \
    {#theirs, (void *)(uintptr_t)ompjit__s_##ours, false, types},

const ompjit__served ompjit__served_table[] = {
#include "abi/entry_points.def"
};

#undef C
#undef P

const size_t ompjit__served_count = OMPJIT__COUNT(ompjit__served_table);
