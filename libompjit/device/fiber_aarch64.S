/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Fibers (fiber.h) on AArch64, AAPCS64.
 */
#if defined(__aarch64__)
    .text

/* (x0: void **save, x1: void *to) */
    .globl ompjit__fiber_switch
    .hidden ompjit__fiber_switch
    .type ompjit__fiber_switch, @function
ompjit__fiber_switch:
    .cfi_startproc
    hint #34                /* bti c */
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .cfi_endproc
    .size ompjit__fiber_switch, .-ompjit__fiber_switch

/* (x0: void *stack, x1: size, x2: f, x3: arg). The frame that switch loads: x19
 * and x20 carry function and argument, x29 = 0 is the outermost frame. */
    .globl ompjit__fiber_prepare
    .hidden ompjit__fiber_prepare
    .type ompjit__fiber_prepare, @function
ompjit__fiber_prepare:
    .cfi_startproc
    hint #34
    add x0, x0, x1
    and x0, x0, #-16
    sub x0, x0, #160
    stp x2, x3, [x0, #0]
    stp xzr, xzr, [x0, #16]
    stp xzr, xzr, [x0, #32]
    stp xzr, xzr, [x0, #48]
    stp xzr, xzr, [x0, #64]
    adr x9, start
    stp xzr, x9, [x0, #80]
    stp xzr, xzr, [x0, #96]
    stp xzr, xzr, [x0, #112]
    stp xzr, xzr, [x0, #128]
    stp xzr, xzr, [x0, #144]
    ret
    .cfi_endproc
    .size ompjit__fiber_prepare, .-ompjit__fiber_prepare

    .type start, @function
start:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x20
    blr x19
    brk #1
    .cfi_endproc
    .size start, .-start
#endif
    .section .note.GNU-stack, "", %progbits
