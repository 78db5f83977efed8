/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the functions of libompjit-omptarget.so share.
 */
#ifndef OMPJIT_DROPIN_H
#define OMPJIT_DROPIN_H

#include <stddef.h>
#include <stdint.h>

#include "ompjit_debug.h"

/* The process's context; NULL: there is none, which was told once. Any
 * thread. */
ompjit_context *ompjit__dropin_context(void);
/* The process's context for omp_alloc and its relatives, with the allocator of new
 * memory, or -1. NULL: none is there, and no memory of a device can be meant. */
ompjit_context *ompjit__dropin_allocates(int64_t allocator);
/* Where this thread notes, for tools, where the program has called from. */
extern void **(*ompjit__dropin_caller)(void);

#endif
