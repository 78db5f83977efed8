/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls an outlined region with its arguments unpacked.
 */
#ifndef OMPJIT_RT_MICROTASK_H
#define OMPJIT_RT_MICROTASK_H

#include "plat.h"

/* fn(gtid, zero, args[0], ..., args[nargs - 1]). The pipeline defines it with
 * the numbers of arguments that a module's regions have, so that what is
 * inlined is small; else it is microtask.c's. */
void ompjit_invoke(void *fn, int32_t *gtid, int32_t *zero, void **args,
                   int64_t nargs);

/* The thread number and a zero, both by address, come before the arguments. */
INLINE void call_microtask(uint32_t context, void *fn, void **args,
                           int64_t nargs)
{
    int32_t gtid = (int32_t)context, zero = 0;
    ompjit_invoke(fn, &gtid, &zero, args, nargs);
}

#endif
