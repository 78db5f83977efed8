/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls by the System V ABI of x86-64, and back.
 */
#if defined(__x86_64__)
#include <stddef.h>
#include <string.h>

#include "function/registers.h"

_Static_assert(offsetof(ompjit__registers, nstack) == 8 &&
                   offsetof(ompjit__registers, integers) == 16 &&
                   offsetof(ompjit__registers, floats) == 32 &&
                   offsetof(ompjit__registers, x87) == 64 &&
                   offsetof(ompjit__registers, wants_x87) == 80 &&
                   offsetof(ompjit__registers, exception) == 88 &&
                   offsetof(ompjit__registers, words) == 96,
               "the assembly code below has the offsets");

/* ompjit__registers_call(rdi: registers, rsi: void **save). rbx has the
 * registers, rbp the frame. Its frame is that of ompjit__fiber_call, so that
 * ompjit__fiber_leave leaves it. */
__asm__(".pushsection .text\n"
        ".globl ompjit__registers_call\n"
        ".hidden ompjit__registers_call\n"
        ".type ompjit__registers_call, @function\n"
        ".globl ompjit__registers_caught\n"
        ".hidden ompjit__registers_caught\n"
        "ompjit__registers_call:\n"
        ".cfi_startproc\n"
        ".hidden ompjit__call_personality\n"
        ".cfi_personality 0x1b, ompjit__call_personality\n"
        "endbr64\n"
        /* The callee-saved registers are below the return address in the order
         * of ompjit__fiber_call; 8 bytes more align the stack to 16. */
        "pushq %rbp\n" "pushq %rbx\n" "pushq %r12\n"
        "pushq %r13\n" "pushq %r14\n" "pushq %r15\n"
        "subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 56\n"
        ".cfi_offset %rbp, -16\n"
        ".cfi_offset %rbx, -24\n"
        /* *save: ompjit__fiber_leave continues from here. */
        "movq %rsp, (%rsi)\n"
        "movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "movq %rdi, %rbx\n"
        /* Copies nstack words to the stack, the first one to the lowest
         * address. */
        "movq 8(%rbx), %rcx\n"
        "testq %rcx, %rcx\n"
        "je 1f\n"
        "leaq 0(,%rcx,8), %rax\n"
        "subq %rax, %rsp\n"
        "leaq 208(%rbx), %rsi\n" /* words[OMPJIT__STACK_AT] */
        "movq %rsp, %rdi\n"
        "rep movsq\n"
        "1:\n"
        /* xmm0 to xmm7 from words[OMPJIT__FLOATS_AT]. */
        "movsd 144(%rbx), %xmm0\n"
        "movsd 152(%rbx), %xmm1\n"
        "movsd 160(%rbx), %xmm2\n"
        "movsd 168(%rbx), %xmm3\n"
        "movsd 176(%rbx), %xmm4\n"
        "movsd 184(%rbx), %xmm5\n"
        "movsd 192(%rbx), %xmm6\n"
        "movsd 200(%rbx), %xmm7\n"
        /* rdi, rsi, rdx, rcx, r8, r9 from words[0]. */
        "movq 96(%rbx), %rdi\n"
        "movq 104(%rbx), %rsi\n"
        "movq 112(%rbx), %rdx\n"
        "movq 120(%rbx), %rcx\n"
        "movq 128(%rbx), %r8\n"
        "movq 136(%rbx), %r9\n"
        "movl $8, %eax\n" /* vector registers, for variadic functions */
        "callq *(%rbx)\n"
        /* integers[0], integers[1], floats[0], floats[1]. */
        "movq %rax, 16(%rbx)\n"
        "movq %rdx, 24(%rbx)\n"
        "movsd %xmm0, 32(%rbx)\n"
        "movsd %xmm1, 40(%rbx)\n"
        "cmpq $0, 80(%rbx)\n"
        "je 2f\n"
        /* st(0) is popped only where it has a result: to pop an empty register
         * is an invalid operation. */
        "fstpt 64(%rbx)\n"
        "2:\n"
        /* OMPJIT__ENDED_RETURNED. ompjit__fiber_leave returns
         * OMPJIT__ENDED_LEFT in its place. */
        "xorl %eax, %eax\n"
        "3:\n"
        "leaq 8(%rbp), %rsp\n"
        ".cfi_remember_state\n"
        ".cfi_def_cfa %rsp, 56\n"
        "popq %r15\n" "popq %r14\n" "popq %r13\n"
        "popq %r12\n" "popq %rbx\n" "popq %rbp\n"
        ".cfi_adjust_cfa_offset -48\n"
        "retq\n"
        ".cfi_restore_state\n"
        /* The unwinder comes here with rbx and rbp restored and the exception
         * in rax, which __builtin_eh_return_data_regno(0) is. 2 is
         * OMPJIT__ENDED_THREW. */
        "ompjit__registers_caught:\n"
        "movq %rax, 88(%rbx)\n"
        "movl $2, %eax\n"
        "jmp 3b\n"
        ".cfi_endproc\n"
        ".size ompjit__registers_call, .-ompjit__registers_call\n"
        ".popsection\n");

_Static_assert(offsetof(ompjit__called, floats) == 48 &&
                   offsetof(ompjit__called, stack) == 112 &&
                   offsetof(ompjit__called, integer) == 120 &&
                   offsetof(ompjit__called, number) == 128 &&
                   sizeof(ompjit__called) == 136,
               "the assembly code below has the offsets");

/* r10: the slot. */
__asm__(".pushsection .text\n"
        ".globl ompjit__callback_entry\n"
        ".hidden ompjit__callback_entry\n"
        ".type ompjit__callback_entry, @function\n"
        "ompjit__callback_entry:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "subq $136, %rsp\n"
        ".cfi_adjust_cfa_offset 136\n"
        "movq %rdi, 0(%rsp)\n"
        "movq %rsi, 8(%rsp)\n"
        "movq %rdx, 16(%rsp)\n"
        "movq %rcx, 24(%rsp)\n"
        "movq %r8, 32(%rsp)\n"
        "movq %r9, 40(%rsp)\n"
        "movsd %xmm0, 48(%rsp)\n"
        "movsd %xmm1, 56(%rsp)\n"
        "movsd %xmm2, 64(%rsp)\n"
        "movsd %xmm3, 72(%rsp)\n"
        "movsd %xmm4, 80(%rsp)\n"
        "movsd %xmm5, 88(%rsp)\n"
        "movsd %xmm6, 96(%rsp)\n"
        "movsd %xmm7, 104(%rsp)\n"
        /* The caller's stack arguments: behind this frame and the return
         * address. */
        "leaq 144(%rsp), %rax\n"
        "movq %rax, 112(%rsp)\n"
        "movq %r10, %rdi\n"
        "movq %rsp, %rsi\n"
        ".hidden ompjit__callback_run\n"
        "callq ompjit__callback_run\n"
        /* The result is in both registers; the caller reads the one of its
         * kind. */
        "movq 120(%rsp), %rax\n"
        "movsd 128(%rsp), %xmm0\n"
        "addq $136, %rsp\n"
        ".cfi_adjust_cfa_offset -136\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size ompjit__callback_entry, .-ompjit__callback_entry\n"
        ".popsection\n");

_Static_assert(sizeof(ompjit__registers) == 2256, "the frame below");

/* r10: the slot. A struct of registers is the frame, but for 8 bytes that align
 * the stack; the function's own result in memory is in words[0], rdi. */
__asm__(".pushsection .text\n"
        ".globl ompjit__pointer_entry\n"
        ".hidden ompjit__pointer_entry\n"
        ".type ompjit__pointer_entry, @function\n"
        "ompjit__pointer_entry:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "subq $2264, %rsp\n"
        ".cfi_adjust_cfa_offset 2264\n"
        "movq %rdi, 96(%rsp)\n"
        "movq %rsi, 104(%rsp)\n"
        "movq %rdx, 112(%rsp)\n"
        "movq %rcx, 120(%rsp)\n"
        "movq %r8, 128(%rsp)\n"
        "movq %r9, 136(%rsp)\n"
        "movsd %xmm0, 144(%rsp)\n"
        "movsd %xmm1, 152(%rsp)\n"
        "movsd %xmm2, 160(%rsp)\n"
        "movsd %xmm3, 168(%rsp)\n"
        "movsd %xmm4, 176(%rsp)\n"
        "movsd %xmm5, 184(%rsp)\n"
        "movsd %xmm6, 192(%rsp)\n"
        "movsd %xmm7, 200(%rsp)\n"
        "movq %r10, %rdi\n"
        "movq %rsp, %rsi\n"
        "leaq 2272(%rsp), %rdx\n"
        ".hidden ompjit__pointer_run\n"
        "callq ompjit__pointer_run\n"
        "movq 16(%rsp), %rax\n"
        "movq 24(%rsp), %rdx\n"
        "movsd 32(%rsp), %xmm0\n"
        "movsd 40(%rsp), %xmm1\n"
        "cmpq $0, 80(%rsp)\n"
        "je 1f\n"
        "fldt 64(%rsp)\n"
        "1:\n"
        "addq $2264, %rsp\n"
        ".cfi_adjust_cfa_offset -2264\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size ompjit__pointer_entry, .-ompjit__pointer_entry\n"
        ".popsection\n");

/* endbr64; lea slot(%rip), %r10; jmp *8(%r10) */
void ompjit__stub_write(void *at, const ompjit__slot *slot)
{
    unsigned char code[OMPJIT__STUB] = {0xf3, 0x0f, 0x1e, 0xfa, 0x4c, 0x8d,
                                        0x15, 0,    0,    0,    0,    0x41,
                                        0xff, 0x62, 0x08, 0xcc};
    enum { DISTANCE = 7, NEXT = 11 };
    int32_t distance =
        (int32_t)((const char *)slot - ((const char *)at + NEXT));
    memcpy(code + DISTANCE, &distance, sizeof distance);
    memcpy(at, code, sizeof code);
}
#else
typedef int ompjit__not_x86_64; /* C wants a declaration */
#endif
