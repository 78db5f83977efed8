/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Faults of kernels on the host device: SIGSEGV, SIGBUS, SIGFPE and SIGILL in a
 * kernel's code end the kernel, not the process. Every other one goes to the
 * handler that was there before, or does what it would have done.
 */
#ifndef OMPJIT_FAULT_H
#define OMPJIT_FAULT_H

#include <stdint.h>

/* The first hold installs the handlers; the last drop puts those back that
 * were there before, unless somebody has put others in place of ours, which may
 * call ours: then these stay, and pass on whatever they get. */
void ompjit__fault_hold(void);
void ompjit__fault_drop(void);

/* Before an OS thread runs kernels while handlers are held: gives it a stack
 * for them, where the application has given it none, so that a kernel may
 * overflow its own. It is freed with the thread. */
void ompjit__fault_thread(void);

/* The lowest address of the calling OS thread's stack, 0 where
 * ompjit__fault_thread has not asked. */
uintptr_t ompjit__fault_stack_end(void);

#endif
