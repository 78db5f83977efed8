/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls by the ABI of AArch64 (AAPCS64), and back.
 */
#if defined(__aarch64__)
#include <stddef.h>
#include <string.h>

#include "function/registers.h"

_Static_assert(offsetof(ompjit__registers, nstack) == 8 &&
                   offsetof(ompjit__registers, integers) == 16 &&
                   offsetof(ompjit__registers, floats) == 32 &&
                   offsetof(ompjit__registers, exception) == 88 &&
                   offsetof(ompjit__registers, words) == 96,
               "the assembly code below has the offsets");

/* ompjit__registers_call(x0: registers, x1: void **save). x19 has the registers,
 * x29 the frame. Its frame is that of ompjit__fiber_call, so that
 * ompjit__fiber_leave leaves it. hint #34 is bti c, #36 bti j. */
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
        "hint #34\n"
        "sub sp, sp, #160\n"
        ".cfi_adjust_cfa_offset 160\n"
        /* The frame is ompjit__fiber_call's: x19 to x30, then the low halves of
         * v8 to v15, which are callee-saved. */
        "stp x19, x20, [sp, #0]\n"
        "stp x21, x22, [sp, #16]\n"
        "stp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\n"
        "stp x27, x28, [sp, #64]\n"
        "stp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\n"
        "stp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\n"
        ".cfi_offset x19, -160\n"
        ".cfi_offset x29, -80\n"
        ".cfi_offset x30, -72\n"
        "mov x29, sp\n"
        ".cfi_def_cfa_register x29\n"
        /* *save: ompjit__fiber_leave continues from here. */
        "str x29, [x1]\n"
        "mov x19, x0\n"
        /* Copies nstack words to the stack, the first one to the lowest
         * address. */
        "ldr x10, [x19, #8]\n"
        "sub x9, x29, x10, lsl #3\n"
        "mov sp, x9\n"
        "add x11, x19, #240\n" /* words[OMPJIT__STACK_AT] */
        "1:\n"
        "cbz x10, 2f\n"
        "ldr x12, [x11], #8\n"
        "str x12, [x9], #8\n"
        "sub x10, x10, #1\n"
        "b 1b\n"
        "2:\n"
        /* d0 to d7 from words[OMPJIT__FLOATS_AT]. */
        "ldp d0, d1, [x19, #176]\n"
        "ldp d2, d3, [x19, #192]\n"
        "ldp d4, d5, [x19, #208]\n"
        "ldp d6, d7, [x19, #224]\n"
        /* x0 to x7 from words[0], and x8, the result's address. */
        "ldp x0, x1, [x19, #96]\n"
        "ldp x2, x3, [x19, #112]\n"
        "ldp x4, x5, [x19, #128]\n"
        "ldp x6, x7, [x19, #144]\n"
        "ldr x8, [x19, #160]\n"
        "ldr x9, [x19]\n"
        "blr x9\n"
        /* integers[0], integers[1], then floats[0] to floats[3]. */
        "stp x0, x1, [x19, #16]\n"
        "stp d0, d1, [x19, #32]\n"
        "stp d2, d3, [x19, #48]\n"
        /* OMPJIT__ENDED_RETURNED. ompjit__fiber_leave returns
         * OMPJIT__ENDED_LEFT in its place. */
        "mov w0, #0\n"
        "3:\n"
        "mov sp, x29\n"
        "ldp x19, x20, [sp, #0]\n"
        "ldp x21, x22, [sp, #16]\n"
        "ldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\n"
        "ldp x27, x28, [sp, #64]\n"
        "ldp d8, d9, [sp, #96]\n"
        "ldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\n"
        "ldp x29, x30, [sp, #80]\n"
        ".cfi_remember_state\n"
        ".cfi_def_cfa sp, 160\n"
        "add sp, sp, #160\n"
        ".cfi_adjust_cfa_offset -160\n"
        "ret\n"
        ".cfi_restore_state\n"
        "ompjit__registers_caught:\n"
        "hint #36\n"
        /* The unwinder comes here with x19 and x29 restored and the exception
         * in x0. 2 is OMPJIT__ENDED_THREW. */
        "str x0, [x19, #88]\n"
        "mov w0, #2\n"
        "b 3b\n"
        ".cfi_endproc\n"
        ".size ompjit__registers_call, .-ompjit__registers_call\n"
        ".popsection\n");

_Static_assert(offsetof(ompjit__called, floats) == 64 &&
                   offsetof(ompjit__called, stack) == 128 &&
                   offsetof(ompjit__called, integer) == 136 &&
                   offsetof(ompjit__called, number) == 144 &&
                   sizeof(ompjit__called) == 152,
               "the assembly code below has the offsets");

/* x16: the slot. */
__asm__(".pushsection .text\n"
        ".globl ompjit__callback_entry\n"
        ".hidden ompjit__callback_entry\n"
        ".type ompjit__callback_entry, @function\n"
        "ompjit__callback_entry:\n"
        ".cfi_startproc\n"
        "hint #34\n"
        "stp x29, x30, [sp, #-176]!\n"
        ".cfi_adjust_cfa_offset 176\n"
        ".cfi_offset x29, -176\n"
        ".cfi_offset x30, -168\n"
        "mov x29, sp\n"
        "stp x0, x1, [sp, #16]\n"
        "stp x2, x3, [sp, #32]\n"
        "stp x4, x5, [sp, #48]\n"
        "stp x6, x7, [sp, #64]\n"
        "stp d0, d1, [sp, #80]\n"
        "stp d2, d3, [sp, #96]\n"
        "stp d4, d5, [sp, #112]\n"
        "stp d6, d7, [sp, #128]\n"
        /* The caller's stack arguments: behind this frame, since the return
         * address is in x30. */
        "add x9, sp, #176\n"
        "str x9, [sp, #144]\n"
        "mov x0, x16\n"
        "add x1, sp, #16\n"
        ".hidden ompjit__callback_run\n"
        "bl ompjit__callback_run\n"
        /* The result is in both registers; the caller reads the one of its
         * kind. */
        "ldr x0, [sp, #152]\n"
        "ldr d0, [sp, #160]\n"
        "ldp x29, x30, [sp], #176\n"
        ".cfi_adjust_cfa_offset -176\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size ompjit__callback_entry, .-ompjit__callback_entry\n"
        ".popsection\n");

_Static_assert(sizeof(ompjit__registers) == 2288, "the frame below");

/* x16: the slot. A struct of registers is behind x29 and x30. */
__asm__(".pushsection .text\n"
        ".globl ompjit__pointer_entry\n"
        ".hidden ompjit__pointer_entry\n"
        ".type ompjit__pointer_entry, @function\n"
        "ompjit__pointer_entry:\n"
        ".cfi_startproc\n"
        "hint #34\n"
        "sub sp, sp, #2304\n"
        ".cfi_adjust_cfa_offset 2304\n"
        "stp x29, x30, [sp]\n"
        ".cfi_offset x29, -2304\n"
        ".cfi_offset x30, -2296\n"
        "mov x29, sp\n"
        /* words[0]: x0 to x7, x8; words[OMPJIT__FLOATS_AT]: d0 to d7. */
        "stp x0, x1, [sp, #112]\n"
        "stp x2, x3, [sp, #128]\n"
        "stp x4, x5, [sp, #144]\n"
        "stp x6, x7, [sp, #160]\n"
        "str x8, [sp, #176]\n"
        "stp d0, d1, [sp, #192]\n"
        "stp d2, d3, [sp, #208]\n"
        "stp d4, d5, [sp, #224]\n"
        "stp d6, d7, [sp, #240]\n"
        "mov x0, x16\n"
        "add x1, sp, #16\n"
        "add x2, sp, #2304\n"
        ".hidden ompjit__pointer_run\n"
        "bl ompjit__pointer_run\n"
        "ldp x0, x1, [sp, #32]\n"
        "ldp d0, d1, [sp, #48]\n"
        "ldp d2, d3, [sp, #64]\n"
        "ldp x29, x30, [sp]\n"
        "add sp, sp, #2304\n"
        ".cfi_adjust_cfa_offset -2304\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size ompjit__pointer_entry, .-ompjit__pointer_entry\n"
        ".popsection\n");

/* bti c; adr x16, slot; ldr x17, [x16, #8]; br x17 */
void ompjit__stub_write(void *at, const ompjit__slot *slot)
{
    /* The distance is split as adr has it: immlo in bits 29 and 30, immhi from
     * bit 5 on. */
    uint32_t code[OMPJIT__STUB / 4] = {0xd503245f, 0x10000010, 0xf9400611,
                                       0xd61f0220};
    int64_t distance = (const char *)slot - ((const char *)at + 4);
    code[1] |= ((uint32_t)distance & 3) << 29 |
               ((uint32_t)(distance >> 2) & 0x7ffff) << 5;
    memcpy(at, code, sizeof code);
    __builtin___clear_cache((char *)at, (char *)at + sizeof code);
}
#else
typedef int ompjit__not_aarch64; /* C wants a declaration */
#endif
