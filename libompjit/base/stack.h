/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The end of the calling thread's stack. stack.c
 */
#ifndef OMPJIT_STACK_H
#define OMPJIT_STACK_H

#include <stdint.h>

/* The lowest address of the calling OS thread's stack; 0: nobody knows. */
uintptr_t ompjit__stack_find(void);
/* The same, and 0 where nobody has looked for it in this thread. A signal
 * handler may call it. */
uintptr_t ompjit__stack_end(void);

#endif
