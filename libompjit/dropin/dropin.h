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
/* Where this thread notes, for tools, where the program has called from. */
extern void **(*ompjit__dropin_caller)(void);

#endif
