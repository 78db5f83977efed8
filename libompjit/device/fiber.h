/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stacks that one OS thread runs in turn. A switch saves the callee-saved
 * registers and exchanges stack pointers; no system call. One assembly file
 * per architecture (fiber_x86_64.S, fiber_aarch64.S) implements it.
 */
#ifndef OMPJIT_FIBER_H
#define OMPJIT_FIBER_H

#include <stddef.h>

/* Saves the caller's registers on its stack, stores the stack pointer to
 * *save, and continues where `to` was saved. */
void ompjit__fiber_switch(void **save, void *to);

/* A stack pointer that, switched to, calls f(arg) on the stack of `size` bytes
 * at `stack`. f must not return. */
void *ompjit__fiber_prepare(void *stack, size_t size, void (*f)(void *),
                            void *arg);

#endif
