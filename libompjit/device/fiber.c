/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The first frame of a fiber, as fiber_switch.S's switch pops it.
 */
#include <stdint.h>
#include <string.h>

#include "device/fiber.h"

void ompjit__fiber_start(void);

#if defined(__x86_64__)
/* Popped in this order; rbx and r12 carry function and argument. After the
 * return address the stack is 16-byte aligned, as before any call. */
enum { R15, R14, R13, R12, RBX, RBP, RETURN, WORDS = 8 };

void *ompjit__fiber_prepare(void *stack, size_t size, void (*f)(void *),
                            void *arg)
{
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
    uintptr_t *frame = (uintptr_t *)top - WORDS - 1;
    memset(frame, 0, (WORDS + 1) * sizeof *frame);
    frame[R12] = (uintptr_t)arg;
    frame[RBX] = (uintptr_t)f;
    frame[RETURN] = (uintptr_t)ompjit__fiber_start;
    return frame;
}
#elif defined(__aarch64__)
enum { X19, X20, X30 = 11, WORDS = 20 };

void *ompjit__fiber_prepare(void *stack, size_t size, void (*f)(void *),
                            void *arg)
{
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
    uintptr_t *frame = (uintptr_t *)top - WORDS;
    memset(frame, 0, WORDS * sizeof *frame);
    frame[X19] = (uintptr_t)f;
    frame[X20] = (uintptr_t)arg;
    frame[X30] = (uintptr_t)ompjit__fiber_start;
    return frame;
}
#endif
