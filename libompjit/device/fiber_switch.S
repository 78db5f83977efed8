/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit__fiber_switch(void **save, void *to) for each architecture, and the
 * first steps of a new fiber. The frames here are what fiber.c lays out.
 */
#if defined(__x86_64__)
    .text
    .globl ompjit__fiber_switch
    .type ompjit__fiber_switch, @function
ompjit__fiber_switch:
    .cfi_startproc
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq
    .cfi_endproc
    .size ompjit__fiber_switch, .-ompjit__fiber_switch

    .globl ompjit__fiber_start
    .type ompjit__fiber_start, @function
ompjit__fiber_start:
    .cfi_startproc
    .cfi_undefined %rip
    endbr64
    movq %r12, %rdi
    callq *%rbx
    ud2
    .cfi_endproc
    .size ompjit__fiber_start, .-ompjit__fiber_start

#elif defined(__aarch64__)
    .text
    .globl ompjit__fiber_switch
    .type ompjit__fiber_switch, @function
ompjit__fiber_switch:
    .cfi_startproc
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

    .globl ompjit__fiber_start
    .type ompjit__fiber_start, @function
ompjit__fiber_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x20
    blr x19
    brk #1
    .cfi_endproc
    .size ompjit__fiber_start, .-ompjit__fiber_start
#else
#error "fiber_switch.S: write the switch for this architecture"
#endif
    .section .note.GNU-stack, "", %progbits
