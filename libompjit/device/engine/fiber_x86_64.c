/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The part of fiber.h for x86-64 (System V ABI, Linux). All that is written for
 * this CPU is here and in its row of base/cpu.def.
 */
#if defined(__x86_64__)
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "device/engine/fiber.h"

/* The registers that a call preserves. */
#define KEEP                                                                   \
    "pushq %rbp\n" "pushq %rbx\n" "pushq %r12\n"                               \
    "pushq %r13\n" "pushq %r14\n" "pushq %r15\n"
#define TAKE_BACK                                                              \
    "popq %r15\n" "popq %r14\n" "popq %r13\n"                                  \
    "popq %r12\n" "popq %rbx\n" "popq %rbp\n"

/* ompjit__fiber_switch(rdi: void **save, rsi: void *to); and the first steps of
 * a new fiber. */
__asm__(".pushsection .text\n"
        ".globl ompjit__fiber_switch\n"
        ".hidden ompjit__fiber_switch\n"
        ".type ompjit__fiber_switch, @function\n"
        "ompjit__fiber_switch:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        KEEP
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        TAKE_BACK
        "retq\n"
        ".cfi_endproc\n"
        ".size ompjit__fiber_switch, .-ompjit__fiber_switch\n"
        ".hidden ompjit__fiber_start\n"
        ".type ompjit__fiber_start, @function\n"
        "ompjit__fiber_start:\n"
        ".cfi_startproc\n"
        ".cfi_undefined %rip\n"
        "endbr64\n"
        "movq %r12, %rdi\n"
        "callq *%rbx\n"
        "ud2\n"
        ".cfi_endproc\n"
        ".size ompjit__fiber_start, .-ompjit__fiber_start\n"
        ".popsection\n");

/* ompjit__fiber_call(rdi: f, rsi: arg, rdx: void **save), which need not load
 * the registers again that f has kept; ompjit__fiber_leave(rdi: save). */
__asm__(".pushsection .text\n"
        ".globl ompjit__fiber_call\n"
        ".hidden ompjit__fiber_call\n"
        ".type ompjit__fiber_call, @function\n"
        "ompjit__fiber_call:\n"
        ".cfi_startproc\n"
        ".hidden ompjit__fiber_personality\n"
        ".cfi_personality 0x1b, ompjit__fiber_personality\n"
        "endbr64\n"
        KEEP
        "subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 56\n"
        "movq %rsp, (%rdx)\n"
        "movq %rdi, %rax\n"
        "movq %rsi, %rdi\n"
        "callq *%rax\n"
        "xorl %eax, %eax\n"
        "addq $56, %rsp\n"
        ".cfi_adjust_cfa_offset -56\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size ompjit__fiber_call, .-ompjit__fiber_call\n"
        ".globl ompjit__fiber_leave\n"
        ".hidden ompjit__fiber_leave\n"
        ".type ompjit__fiber_leave, @function\n"
        "ompjit__fiber_leave:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "leaq 8(%rdi), %rsp\n"
        TAKE_BACK
        "movl $1, %eax\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size ompjit__fiber_leave, .-ompjit__fiber_leave\n"
        ".popsection\n");

/* ompjit_host_setjmp(rdi: ompjit__jump *); ompjit__jump_to(rdi: jump, esi:
 * value). */
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
        "endbr64\n"
        "leaq 8(%rsp), %rax\n"
        "movq %rax, (%rdi)\n"
        "movq (%rsp), %rax\n"
        "movq %rax, 8(%rdi)\n"
        "movq %rbx, 16(%rdi)\n"
        "movq %rbp, 24(%rdi)\n"
        "movq %r12, 32(%rdi)\n"
        "movq %r13, 40(%rdi)\n"
        "movq %r14, 48(%rdi)\n"
        "movq %r15, 56(%rdi)\n"
        ".hidden ompjit__jump_mark\n"
        "jmp ompjit__jump_mark\n"
        ".cfi_endproc\n"
        ".size ompjit_host_setjmp, .-ompjit_host_setjmp\n"
        ".size ompjit_host_sigsetjmp, .-ompjit_host_sigsetjmp\n"
        ".globl ompjit__jump_to\n"
        ".hidden ompjit__jump_to\n"
        ".type ompjit__jump_to, @function\n"
        "ompjit__jump_to:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "movq 16(%rdi), %rbx\n"
        "movq 24(%rdi), %rbp\n"
        "movq 32(%rdi), %r12\n"
        "movq 40(%rdi), %r13\n"
        "movq 48(%rdi), %r14\n"
        "movq 56(%rdi), %r15\n"
        "movq (%rdi), %rsp\n"
        "movl %esi, %eax\n"
        "jmpq *8(%rdi)\n"
        ".cfi_endproc\n"
        ".size ompjit__jump_to, .-ompjit__jump_to\n"
        ".popsection\n");

void ompjit__fiber_start(void) __attribute__((visibility("hidden")));

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

/* PAUSE, as in any loop that spins. */
void ompjit__fiber_relax(void)
{
    __builtin_ia32_pause();
}

/* The x87 registers are empty, the control word stays. */
void ompjit__fiber_clean(void)
{
    uint16_t control;
    __asm__ volatile("fnstcw %0\n"
                     "fninit\n"
                     "fldcw %0"
                     : "=m"(control));
}

/* ------------------------------------------------------- signal contexts */

void ompjit__context_place(const void *context, ompjit__place *out)
{
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    *out = (ompjit__place){.pc = (uintptr_t)r[REG_RIP],
                           .sp = (uintptr_t)r[REG_RSP]};
}

/* At a function's first instruction the return address is on top of the stack.
 */
uintptr_t ompjit__context_caller(const void *context)
{
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    return *(const uintptr_t *)r[REG_RSP];
}

bool ompjit__context_on_signal_stack(const void *context)
{
    /* Linux does not set SS_ONSTACK in a handler's context. */
    const ucontext_t *u = context;
    const uintptr_t sp = (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
    return sp - (uintptr_t)u->uc_stack.ss_sp < u->uc_stack.ss_size;
}

void ompjit__context_redirect(void *context, void (*f)(void), uintptr_t sp)
{
    enum { DIRECTION = 1 << 10 }; /* of string instructions: upwards */
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    r[REG_EFL] &= ~(greg_t)DIRECTION;
    /* As after the call that pushed a return address. */
    r[REG_RSP] = (greg_t)((sp & ~(uintptr_t)15) - sizeof(void *));
    r[REG_RIP] = (greg_t)(uintptr_t)f;
}

/* Does the system call block SIGTRAP? That of a step ends the process then. */
static bool blocks_steps(const greg_t *r)
{
    const uint64_t *set = (const uint64_t *)(uintptr_t)r[REG_RSI];
    return r[REG_RAX] == SYS_rt_sigprocmask && r[REG_RDI] != SIG_UNBLOCK &&
           set && *set >> (SIGTRAP - 1) & 1;
}

/* Has it a child that goes on with the thread's flags? */
static bool has_child(const greg_t *r)
{
    return r[REG_RAX] == SYS_clone || r[REG_RAX] == SYS_clone3 ||
           r[REG_RAX] == SYS_fork || r[REG_RAX] == SYS_vfork;
}

static bool at_system_call(const greg_t *r)
{
    static const unsigned char code[] = {0x0f, 0x05};
    return !memcmp((const void *)(uintptr_t)r[REG_RIP], code, sizeof code);
}

/* The trap flag: after the handler has returned, one instruction is executed.
 */
void ompjit__context_step(void *context, bool on)
{
    enum { TRAP = 1 << 8 };
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (on && at_system_call(r))
        on = !blocks_steps(r) && !has_child(r);
    r[REG_EFL] = on ? r[REG_EFL] | TRAP : r[REG_EFL] & ~(greg_t)TRAP;
}
#else
typedef int ompjit__not_x86_64; /* C wants a declaration */
#endif
