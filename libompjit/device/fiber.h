/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stacks that one OS thread runs in turn. A switch saves the callee-saved
 * registers and exchanges stack pointers; no system call. fiber_<CPU>.S does it,
 * of which all are compiled and one is not empty.
 */
#ifndef OMPJIT_FIBER_H
#define OMPJIT_FIBER_H

#include <stdbool.h>
#include <stddef.h>

/* Saves the caller's registers on its stack, stores the stack pointer to
 * *save, and continues where `to` was saved. */
void ompjit__fiber_switch(void **save, void *to);

/* A stack pointer that, switched to, calls f(arg) on the stack of `size` bytes
 * at `stack`. f must not return. */
void *ompjit__fiber_prepare(void *stack, size_t size, void (*f)(void *),
                            void *arg);

/* AddressSanitizer has to be told of stacks; else these do nothing.
 *
 * leaving: before a switch to the stack of `size` bytes at `stack`; `last` if
 * the one that runs is done. entered: first thing after, with what leaving gave
 * when this stack was left, NULL on a new one; stores which was left to come
 * here. reset: frames from `sp` to `end` are abandoned. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

static inline void *ompjit__fiber_leaving(const void *stack, size_t size,
                                          bool last)
{
    void *fake = NULL;
    __sanitizer_start_switch_fiber(last ? NULL : &fake, stack, size);
    return fake;
}

static inline void ompjit__fiber_entered(void *fake, const void **stack,
                                         size_t *size)
{
    __sanitizer_finish_switch_fiber(fake, stack, size);
}

static inline void ompjit__fiber_reset(const void *sp, const void *end)
{
    ASAN_UNPOISON_MEMORY_REGION(
        sp, (size_t)((const char *)end - (const char *)sp));
}
#else
static inline void *ompjit__fiber_leaving(const void *stack, size_t size,
                                          bool last)
{
    return NULL;
}

static inline void ompjit__fiber_entered(void *fake, const void **stack,
                                         size_t *size)
{
}

static inline void ompjit__fiber_reset(const void *sp, const void *end)
{
}
#endif

#endif
