/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR written by hand with kernels of known shape, and the way from it to PTX,
 * for the tests of the back end.
 */
#ifndef OMPJIT_T_GPU_IR_H
#define OMPJIT_T_GPU_IR_H

#include "backend/codegen/emit.h"
#include "backend/nvptx/nvptx.h"
#include "ir_text.h"
#include "tap.h"

/* Kernels: plain; shared (400 bytes of team memory); stack (a stack frame, and
 * at most 64 x 2 threads); spills (16 registers for far more live values);
 * calls (a stack frame and a function with another one). */
static const char gpu_ir_head[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "@team = internal addrspace(3) global [100 x float] undef, align 16\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "declare void @llvm.nvvm.barrier0()\n"
    "define ptx_kernel void @plain(ptr %p) {\n"
    "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %q = getelementptr i32, ptr %p, i32 %t\n"
    "  store i32 %t, ptr %q\n"
    "  ret void\n"
    "}\n"
    "define ptx_kernel void @shared(ptr %p) {\n"
    "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %q = getelementptr float, ptr %p, i32 %t\n"
    "  %v = load float, ptr %q\n"
    "  %s = getelementptr float, ptr addrspace(3) @team, i32 %t\n"
    "  store float %v, ptr addrspace(3) %s\n"
    "  call void @llvm.nvvm.barrier0()\n"
    "  %w = load float, ptr addrspace(3) @team\n"
    "  store float %w, ptr %q\n"
    "  ret void\n"
    "}\n"
    "define ptx_kernel void @stack(ptr %p, i32 %i) #0 {\n"
    "  %a = alloca [64 x i32]\n"
    "  %q = getelementptr i32, ptr %a, i32 %i\n"
    "  store volatile i32 %i, ptr %q\n"
    "  %v = load volatile i32, ptr %a\n"
    "  store i32 %v, ptr %p\n"
    "  ret void\n"
    "}\n"
    "define i32 @callee(i32 %i) noinline {\n"
    "  %a = alloca [32 x i32]\n"
    "  %q = getelementptr i32, ptr %a, i32 %i\n"
    "  store volatile i32 %i, ptr %q\n"
    "  %v = load volatile i32, ptr %a\n"
    "  ret i32 %v\n"
    "}\n"
    "define ptx_kernel void @calls(ptr %p, i32 %i) {\n"
    "  %a = alloca [8 x i32]\n"
    "  %q = getelementptr i32, ptr %a, i32 %i\n"
    "  store volatile i32 %i, ptr %q\n"
    "  %v = call i32 @callee(i32 %i)\n"
    "  store i32 %v, ptr %p\n"
    "  ret void\n"
    "}\n"
    "attributes #0 = { \"nvvm.maxntid\"=\"64,2\" }\n"
    "attributes #1 = { \"nvvm.maxnreg\"=\"16\" \"nvvm.maxntid\"=\"32\" }\n";

/* The text of all that; the caller frees it. 48 values live at once. */
static inline ompjit__buf gpu_ir(void)
{
    ompjit__buf b = {0};
    ompjit__buf_printf(&b, "%sdefine ptx_kernel void @spills(ptr %%p) #1 {\n",
                       gpu_ir_head);
    for (int i = 0; i < 48; i++)
        ompjit__buf_printf(&b,
                           "  %%q%d = getelementptr i32, ptr %%p, i32 %d\n"
                           "  %%v%d = load volatile i32, ptr %%q%d\n",
                           i, i, i, i);
    for (int i = 0; i < 48; i++)
        ompjit__buf_printf(&b, "  store volatile i32 %%v%d, ptr %%q%d\n",
                           47 - i, i);
    ompjit__buf_printf(&b, "  ret void\n}\n");
    return b;
}

/* IR text to PTX. */
static inline ompjit_status gpu_ptx(const char *ir, const char *arch,
                                    ompjit__buf *ptx, ompjit_error *err)
{
    struct ir_text t;
    ompjit_status s = ir_text_open(&t, ir, err);
    if (!s)
        s = ompjit__nvptx_machine(arch, 0, 3, &t.tm, err);
    if (!s)
        s = ompjit__nvptx_emit(t.m, t.tm, NULL, OMPJIT__PASSES_ALL, ptx, err);
    ir_text_close(&t);
    return s;
}
#endif
