/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The first frame of a fiber, as fiber_switch.S's switch pops it, and the
 * registers that a signal handler sees.
 */
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

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

/* ------------------------------------------------------- signal contexts */

#if defined(__x86_64__)
void ompjit__context_place(const void *context, ompjit__place *out)
{
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    *out = (ompjit__place){.pc = (uintptr_t)r[REG_RIP],
                           .sp = (uintptr_t)r[REG_RSP]};
}

uintptr_t ompjit__context_caller(const void *context)
{
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    return *(const uintptr_t *)r[REG_RSP];
}

void ompjit__context_redirect(void *context, void (*f)(void), uintptr_t sp)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    /* As after the call that pushed a return address. */
    r[REG_RSP] = (greg_t)((sp & ~(uintptr_t)15) - sizeof(void *));
    r[REG_RIP] = (greg_t)(uintptr_t)f;
}
#elif defined(__aarch64__)
void ompjit__context_place(const void *context, ompjit__place *out)
{
    const mcontext_t *r = &((const ucontext_t *)context)->uc_mcontext;
    *out = (ompjit__place){.pc = r->pc, .sp = r->sp};
}

uintptr_t ompjit__context_caller(const void *context)
{
    enum { LR = 30 };
    return ((const ucontext_t *)context)->uc_mcontext.regs[LR];
}

void ompjit__context_redirect(void *context, void (*f)(void), uintptr_t sp)
{
    mcontext_t *r = &((ucontext_t *)context)->uc_mcontext;
    r->sp = sp & ~(uintptr_t)15;
    r->pc = (uintptr_t)f;
}
#endif
