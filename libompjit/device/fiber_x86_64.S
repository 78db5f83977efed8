/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Fibers (fiber.h) on x86-64, System V ABI.
 */
#if defined(__x86_64__)
    .text

/* (rdi: void **save, rsi: void *to) */
    .globl ompjit__fiber_switch
    .hidden ompjit__fiber_switch
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

/* (rdi: void *stack, rsi: size, rdx: f, rcx: arg). The frame that switch pops:
 * r12 and rbx carry argument and function; after `start` is popped the stack is
 * 16-byte aligned, as before any call. */
    .globl ompjit__fiber_prepare
    .hidden ompjit__fiber_prepare
    .type ompjit__fiber_prepare, @function
ompjit__fiber_prepare:
    .cfi_startproc
    endbr64
    leaq (%rdi,%rsi), %rax
    andq $-16, %rax
    subq $72, %rax
    movq $0, (%rax)         /* r15 */
    movq $0, 8(%rax)        /* r14 */
    movq $0, 16(%rax)       /* r13 */
    movq %rcx, 24(%rax)     /* r12 */
    movq %rdx, 32(%rax)     /* rbx */
    movq $0, 40(%rax)       /* rbp: the outermost frame */
    leaq start(%rip), %rdx
    movq %rdx, 48(%rax)
    movq $0, 56(%rax)
    movq $0, 64(%rax)
    retq
    .cfi_endproc
    .size ompjit__fiber_prepare, .-ompjit__fiber_prepare

    .type start, @function
start:
    .cfi_startproc
    .cfi_undefined %rip
    endbr64
    movq %r12, %rdi
    callq *%rbx
    ud2
    .cfi_endproc
    .size start, .-start
#endif
    .section .note.GNU-stack, "", %progbits
