/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Faults of kernels on the host device: SIGSEGV, SIGBUS, SIGFPE, SIGILL and
 * SIGTRAP of an instruction of a kernel, or of a function that it called, and
 * SIGABRT of abort, end the kernel, not the process. Every other one goes to
 * the handler that was there before, or does what it would have done.
 */
#ifndef OMPJIT_FAULT_H
#define OMPJIT_FAULT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first hold installs the handlers; the last drop puts those back that
 * were there before, unless somebody has put others in place of ours, which may
 * call ours: then these stay, and pass on whatever they get. */
void ompjit__fault_hold(void);
void ompjit__fault_drop(void);

/* Before kernels that call malloc, calloc, realloc or free: finds these, so that
 * a fault in them is known for one. */
void ompjit__fault_find_heap(void);

/* One of those signals whose handler is ours at the moment, as that of SIGSEGV
 * is; 0: none. In signal handlers, too. */
int ompjit__fault_signal(void);

/* Before an OS thread runs kernels while handlers are held: unblocks their
 * signals and gives it a stack for them, where the application has given it
 * none, so that a kernel may overflow its own. It is freed with the thread. */
void ompjit__fault_thread(void);

/* Calls f(arg), of which faults and aborts end no more than f: then false, and
 * the cause in `text`. Handlers are held meanwhile. */
bool ompjit__fault_guard(void (*f)(void *arg), void *arg, char *text,
                         size_t size);

/* When a guarded call has been left: was it by a fault? Then its cause is in
 * `text`. */
bool ompjit__fault_cause(char *text, size_t size);

/* The handler asks `taken` first from now on: true, and the signal was its. */
void ompjit__fault_ask(bool (*taken)(const siginfo_t *info, uintptr_t pc));

/* When a device thread that has trapped is out of its kernel. */
void ompjit__fault_left(void);

#endif
