/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stubs of AArch64. Arguments are in x0 to x8 and in q0 to q7; a stub may use
 * x16 and x17 alone (AAPCS64, 6.1.1).
 */
#include <stdint.h>
#include <string.h>

#include "loader/stubs.h"

#ifdef __aarch64__

enum { STUB = 48 };
const size_t ompjit__stub_size = STUB, ompjit__stub_common_size = 0;

/* Entered by a jump, with the stub's address in x17. */
extern void ompjit__stub_trampoline(void)
    __attribute__((visibility("hidden")));

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden ompjit__stub_trampoline\n"
        ".globl ompjit__stub_trampoline\n"
        ".type ompjit__stub_trampoline, %function\n"
        "ompjit__stub_trampoline:\n"
        ".cfi_startproc\n"
        "stp x29, x30, [sp, #-224]!\n"
        ".cfi_def_cfa_offset 224\n"
        ".cfi_offset x29, -224\n"
        ".cfi_offset x30, -216\n"
        "mov x29, sp\n"
        "stp x0, x1, [sp, #16]\n"
        "stp x2, x3, [sp, #32]\n"
        "stp x4, x5, [sp, #48]\n"
        "stp x6, x7, [sp, #64]\n"
        "str x8, [sp, #80]\n"
        "stp q0, q1, [sp, #96]\n"
        "stp q2, q3, [sp, #128]\n"
        "stp q4, q5, [sp, #160]\n"
        "stp q6, q7, [sp, #192]\n"
        "ldp x0, x1, [x17, #24]\n"
        "bl ompjit__stub_enter\n"
        "mov x16, x0\n"
        "ldp x0, x1, [sp, #16]\n"
        "ldp x2, x3, [sp, #32]\n"
        "ldp x4, x5, [sp, #48]\n"
        "ldp x6, x7, [sp, #64]\n"
        "ldr x8, [sp, #80]\n"
        "ldp q0, q1, [sp, #96]\n"
        "ldp q2, q3, [sp, #128]\n"
        "ldp q4, q5, [sp, #160]\n"
        "ldp q6, q7, [sp, #192]\n"
        "ldp x29, x30, [sp], #224\n"
        ".cfi_def_cfa_offset 0\n"
        "br x16\n"
        ".cfi_endproc\n"
        ".size ompjit__stub_trampoline, .-ompjit__stub_trampoline\n");

void ompjit__stub_put_common(unsigned char *common, ompjit__stubs *stubs)
{
}

/*  0  ldr x16, slot
 *     br x16
 *  8  adr x17, the stub      where the slot leads at first
 *     ldr x16, the trampoline
 *     br x16
 * 24  the block, the stub's number, the trampoline
 *
 * A literal is a megabyte away at most, so that a block has no more than some ten
 * thousand stubs. */
void *ompjit__stub_put(unsigned char *stub, void *const *slot, size_t i,
                       const unsigned char *common, ompjit__stubs *stubs)
{
    uint32_t code[] = {0x58000010, 0xd61f0200, 0x10ffffd1,
                       0x580000f0, 0xd61f0200, 0xd503201f};
    ptrdiff_t to_slot = (const unsigned char *)slot - stub;
    void (*trampoline)(void) = ompjit__stub_trampoline;
    code[0] |= ((uint32_t)(to_slot / 4) & 0x7ffff) << 5;
    memcpy(stub, code, sizeof code);
    memcpy(stub + 24, &stubs, sizeof stubs);
    memcpy(stub + 32, &i, sizeof i);
    memcpy(stub + 40, &trampoline, sizeof trampoline);
    return stub + 8;
}

#endif
