/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Memory that runs out in LLVM leaves the guard that the thread is in. C and
 * C++ read this.
 */
#ifndef OMPJIT_NO_MEMORY_H
#define OMPJIT_NO_MEMORY_H

/* Has that of malloc do so, once, and that of operator new, before each guard.
 * no_memory.cc */
void ompjit__handle_no_malloc(void);
void ompjit__handle_no_new(void);

/* Leaves the innermost guard of the calling thread, which returns NO_MEMORY.
 * Returns where there is none. llvm.c */
void ompjit__guard_leave(void);

#endif
