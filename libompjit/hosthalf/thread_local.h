/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Thread-local variables of code that was compiled here. thread_local.c
 */
#ifndef OMPJIT_HOSTHALF_THREAD_LOCAL_H
#define OMPJIT_HOSTHALF_THREAD_LOCAL_H

#include <stdatomic.h>

/* Controls of variables that the dynamic linker has placed. */
struct ompjit__placed;

/* __emutls_get_address for all controls: the address of this thread's variable,
 * which lives as long as the thread. Any thread. */
void *ompjit__thread_local_address(void *control);

/* The control of a variable of the process, by its emulation's symbol
 * (OMPJIT__THREAD_LOCAL NAME). It joins the list, whose owner frees it when no
 * code has it any more. NULL: it is no such symbol, no library has the variable,
 * or there is no memory. Any thread. */
void *ompjit__thread_local_find(struct ompjit__placed *_Atomic *all,
                                const char *symbol);
/* Accepts NULL. */
void ompjit__thread_local_free(struct ompjit__placed *all);

#endif
