/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The part of fiber.h for AArch64 (AAPCS64, Linux). All that is written for
 * this CPU is here and in its row of base/cpu.def.
 */
#if defined(__aarch64__)
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "device/engine/fiber.h"

/* The registers that a call leaves as they are, in 160 bytes of the stack. */
#define KEEP                                                                   \
    "stp x19, x20, [sp, #0]\n"                                                 \
    "stp x21, x22, [sp, #16]\n"                                                \
    "stp x23, x24, [sp, #32]\n"                                                \
    "stp x25, x26, [sp, #48]\n"                                                \
    "stp x27, x28, [sp, #64]\n"                                                \
    "stp x29, x30, [sp, #80]\n"                                                \
    "stp d8, d9, [sp, #96]\n"                                                  \
    "stp d10, d11, [sp, #112]\n"                                               \
    "stp d12, d13, [sp, #128]\n"                                               \
    "stp d14, d15, [sp, #144]\n"
#define TAKE_BACK                                                              \
    "ldp x19, x20, [sp, #0]\n"                                                 \
    "ldp x21, x22, [sp, #16]\n"                                                \
    "ldp x23, x24, [sp, #32]\n"                                                \
    "ldp x25, x26, [sp, #48]\n"                                                \
    "ldp x27, x28, [sp, #64]\n"                                                \
    "ldp x29, x30, [sp, #80]\n"                                                \
    "ldp d8, d9, [sp, #96]\n"                                                  \
    "ldp d10, d11, [sp, #112]\n"                                               \
    "ldp d12, d13, [sp, #128]\n"                                               \
    "ldp d14, d15, [sp, #144]\n"

/* ompjit__fiber_switch(x0: void **save, x1: void *to); and the first steps of a
 * new fiber. hint #34 is bti c. */
__asm__(".pushsection .text\n"
        ".globl ompjit__fiber_switch\n"
        ".hidden ompjit__fiber_switch\n"
        ".type ompjit__fiber_switch, @function\n"
        "ompjit__fiber_switch:\n"
        ".cfi_startproc\n"
        "hint #34\n"
        "sub sp, sp, #160\n"
        KEEP
        "mov x9, sp\n"
        "str x9, [x0]\n"
        "mov sp, x1\n"
        TAKE_BACK
        "add sp, sp, #160\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size ompjit__fiber_switch, .-ompjit__fiber_switch\n"
        ".hidden ompjit__fiber_start\n"
        ".type ompjit__fiber_start, @function\n"
        "ompjit__fiber_start:\n"
        ".cfi_startproc\n"
        ".cfi_undefined x30\n"
        "mov x0, x20\n"
        "blr x19\n"
        "brk #1\n"
        ".cfi_endproc\n"
        ".size ompjit__fiber_start, .-ompjit__fiber_start\n"
        ".popsection\n");

/* ompjit__fiber_call(x0: f, x1: arg, x2: void **save), which need not load the
 * registers again that f has kept; ompjit__fiber_leave(x0: save). */
__asm__(".pushsection .text\n"
        ".globl ompjit__fiber_call\n"
        ".hidden ompjit__fiber_call\n"
        ".type ompjit__fiber_call, @function\n"
        "ompjit__fiber_call:\n"
        ".cfi_startproc\n"
        ".hidden ompjit__fiber_personality\n"
        ".cfi_personality 0x1b, ompjit__fiber_personality\n"
        "hint #34\n"
        "sub sp, sp, #160\n"
        ".cfi_adjust_cfa_offset 160\n"
        KEEP
        ".cfi_offset x29, -80\n"
        ".cfi_offset x30, -72\n"
        "mov x9, sp\n"
        "str x9, [x2]\n"
        "mov x9, x0\n"
        "mov x0, x1\n"
        "blr x9\n"
        "ldp x29, x30, [sp, #80]\n"
        "add sp, sp, #160\n"
        ".cfi_adjust_cfa_offset -160\n"
        "mov w0, #0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size ompjit__fiber_call, .-ompjit__fiber_call\n"
        ".globl ompjit__fiber_leave\n"
        ".hidden ompjit__fiber_leave\n"
        ".type ompjit__fiber_leave, @function\n"
        "ompjit__fiber_leave:\n"
        ".cfi_startproc\n"
        "hint #34\n"
        "mov sp, x0\n"
        TAKE_BACK
        "add sp, sp, #160\n"
        "mov w0, #1\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size ompjit__fiber_leave, .-ompjit__fiber_leave\n"
        ".popsection\n");

/* ompjit_host_setjmp(x0: ompjit__jump *); ompjit__jump_to(x0: jump, w1: value).
 */
__asm__(".pushsection .text\n"
        ".globl ompjit_host_setjmp\n"
        ".hidden ompjit_host_setjmp\n"
        ".type ompjit_host_setjmp, @function\n"
        ".globl ompjit_host_sigsetjmp\n"
        ".hidden ompjit_host_sigsetjmp\n"
        ".type ompjit_host_sigsetjmp, @function\n"
        "ompjit_host_setjmp:\n"
        "ompjit_host_sigsetjmp:\n"
        ".cfi_startproc\n"
        "hint #34\n"
        "mov x9, sp\n"
        "stp x9, x30, [x0, #0]\n"
        "stp x19, x20, [x0, #16]\n"
        "stp x21, x22, [x0, #32]\n"
        "stp x23, x24, [x0, #48]\n"
        "stp x25, x26, [x0, #64]\n"
        "stp x27, x28, [x0, #80]\n"
        "str x29, [x0, #96]\n"
        "stp d8, d9, [x0, #104]\n"
        "stp d10, d11, [x0, #120]\n"
        "stp d12, d13, [x0, #136]\n"
        "stp d14, d15, [x0, #152]\n"
        ".hidden ompjit__jump_mark\n"
        "b ompjit__jump_mark\n"
        ".cfi_endproc\n"
        ".size ompjit_host_setjmp, .-ompjit_host_setjmp\n"
        ".size ompjit_host_sigsetjmp, .-ompjit_host_sigsetjmp\n"
        ".globl ompjit__jump_to\n"
        ".hidden ompjit__jump_to\n"
        ".type ompjit__jump_to, @function\n"
        "ompjit__jump_to:\n"
        ".cfi_startproc\n"
        "hint #34\n"
        "ldp x9, x30, [x0, #0]\n"
        "ldp x19, x20, [x0, #16]\n"
        "ldp x21, x22, [x0, #32]\n"
        "ldp x23, x24, [x0, #48]\n"
        "ldp x25, x26, [x0, #64]\n"
        "ldp x27, x28, [x0, #80]\n"
        "ldr x29, [x0, #96]\n"
        "ldp d8, d9, [x0, #104]\n"
        "ldp d10, d11, [x0, #120]\n"
        "ldp d12, d13, [x0, #136]\n"
        "ldp d14, d15, [x0, #152]\n"
        "mov sp, x9\n"
        "mov w0, w1\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size ompjit__jump_to, .-ompjit__jump_to\n"
        ".popsection\n");

void ompjit__fiber_start(void) __attribute__((visibility("hidden")));

/* Loaded by the switch; x19 and x20 carry function and argument, and x29 = 0 is
 * the outermost frame. */
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

void ompjit__fiber_relax(void)
{
    __asm__ volatile("isb" ::: "memory");
}

void ompjit__fiber_clean(void)
{
}

/* ------------------------------------------------------- signal contexts */

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

bool ompjit__context_on_signal_stack(const void *context)
{
    /* Linux does not set SS_ONSTACK in a handler's context. */
    const ucontext_t *u = context;
    const uintptr_t sp = (uintptr_t)u->uc_mcontext.sp;
    return sp - (uintptr_t)u->uc_stack.ss_sp < u->uc_stack.ss_size;
}

void ompjit__context_redirect(void *context, void (*f)(void), uintptr_t sp)
{
    mcontext_t *r = &((ucontext_t *)context)->uc_mcontext;
    r->sp = sp & ~(uintptr_t)15;
    r->pc = (uintptr_t)f;
}

void ompjit__context_step(void *context, bool on) {}
#else
typedef int ompjit__not_aarch64; /* C wants a declaration */
#endif
