/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stubs of x86-64. Arguments are in general registers and in the lower eight
 * vector registers, of which functions may use all bits that the CPU has; %rax
 * has the number of vector registers of a variadic call, %r10 a static chain. A
 * stub may use %r11 alone (System V ABI, AMD64 supplement, 3.2.3).
 */
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "loader/stubs.h"

#ifdef __x86_64__

enum { STUB = 16, COMMON = 32 };
const size_t ompjit__stub_size = STUB, ompjit__stub_common_size = COMMON;

/* Bytes of a vector register that arguments may be in: 16, 32 or 64. */
__attribute__((visibility("hidden"))) uint32_t ompjit__stub_vectors = 16;

/* Entered by a jump, with the block, the stub's number and the return address on
 * the stack. The frame has 7 general registers and 8 vectors, and begins at a
 * multiple of 64. */
extern void ompjit__stub_trampoline(void)
    __attribute__((visibility("hidden")));

#define VECTORS(move, register)                                               \
    move " %" register "0, 64(%rsp)\n"                                        \
    move " %" register "1, 128(%rsp)\n"                                       \
    move " %" register "2, 192(%rsp)\n"                                       \
    move " %" register "3, 256(%rsp)\n"                                       \
    move " %" register "4, 320(%rsp)\n"                                       \
    move " %" register "5, 384(%rsp)\n"                                       \
    move " %" register "6, 448(%rsp)\n"                                       \
    move " %" register "7, 512(%rsp)\n"
#define VECTORS_BACK(move, register)                                          \
    move " 64(%rsp), %" register "0\n"                                        \
    move " 128(%rsp), %" register "1\n"                                       \
    move " 192(%rsp), %" register "2\n"                                       \
    move " 256(%rsp), %" register "3\n"                                       \
    move " 320(%rsp), %" register "4\n"                                       \
    move " 384(%rsp), %" register "5\n"                                       \
    move " 448(%rsp), %" register "6\n"                                       \
    move " 512(%rsp), %" register "7\n"

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden ompjit__stub_trampoline\n"
        ".globl ompjit__stub_trampoline\n"
        ".type ompjit__stub_trampoline, @function\n"
        "ompjit__stub_trampoline:\n"
        ".cfi_startproc\n"
        ".cfi_adjust_cfa_offset 16\n"
        "push %rbp\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_rel_offset rbp, 0\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register rbp\n"
        "push %rdi\n"
        "push %rsi\n"
        "push %rdx\n"
        "push %rcx\n"
        "push %r8\n"
        "push %r9\n"
        "push %rax\n"
        "push %r10\n"
        "sub $576, %rsp\n"
        "and $-64, %rsp\n"
        "mov ompjit__stub_vectors(%rip), %eax\n"
        "cmp $32, %eax\n"
        "je 1f\n"
        "ja 2f\n" VECTORS("movaps", "xmm") "jmp 3f\n"
        "1:\n" VECTORS("vmovaps", "ymm") "jmp 3f\n"
        "2:\n" VECTORS("vmovaps", "zmm")
        "3:\n"
        "mov 8(%rbp), %rdi\n"
        "mov 16(%rbp), %rsi\n"
        "call ompjit__stub_enter\n"
        "mov %rax, %r11\n"
        "mov ompjit__stub_vectors(%rip), %eax\n"
        "cmp $32, %eax\n"
        "je 1f\n"
        "ja 2f\n" VECTORS_BACK("movaps", "xmm") "jmp 3f\n"
        "1:\n" VECTORS_BACK("vmovaps", "ymm") "jmp 3f\n"
        "2:\n" VECTORS_BACK("vmovaps", "zmm")
        "3:\n"
        "lea -64(%rbp), %rsp\n"
        "pop %r10\n"
        "pop %rax\n"
        "pop %r9\n"
        "pop %r8\n"
        "pop %rcx\n"
        "pop %rdx\n"
        "pop %rsi\n"
        "pop %rdi\n"
        "pop %rbp\n"
        ".cfi_def_cfa rsp, 24\n"
        "add $16, %rsp\n"
        ".cfi_adjust_cfa_offset -16\n"
        "jmp *%r11\n"
        ".cfi_endproc\n"
        ".size ompjit__stub_trampoline, .-ompjit__stub_trampoline\n");

/*   push stubs(%rip)
 *   jmp *trampoline(%rip)
 *   stubs, trampoline: two addresses
 */
void ompjit__stub_put_common(unsigned char *common, ompjit__stubs *stubs)
{
    static const unsigned char code[16] = {0xff, 0x35, 10, 0, 0, 0,
                                           0xff, 0x25, 12, 0, 0, 0};
    void (*trampoline)(void) = ompjit__stub_trampoline;
    ompjit__stub_vectors = ompjit__cpu_vectors();
    memcpy(common, code, sizeof code);
    memcpy(common + 16, &stubs, sizeof stubs);
    memcpy(common + 24, &trampoline, sizeof trampoline);
}

/*   jmp *slot(%rip)
 *   push $i            where the slot leads at first
 *   jmp common
 *
 * Displacements count from the end of their instruction. */
void *ompjit__stub_put(unsigned char *stub, void *const *slot, size_t i,
                       const unsigned char *common, ompjit__stubs *stubs)
{
    int32_t to_slot =
        (int32_t)((const unsigned char *)slot - (stub + 6));
    int32_t to_common = (int32_t)(common - (stub + 16));
    uint32_t number = (uint32_t)i;
    stub[0] = 0xff;
    stub[1] = 0x25;
    memcpy(stub + 2, &to_slot, 4);
    stub[6] = 0x68;
    memcpy(stub + 7, &number, 4);
    stub[11] = 0xe9;
    memcpy(stub + 12, &to_common, 4);
    return stub + 6;
}

#endif
