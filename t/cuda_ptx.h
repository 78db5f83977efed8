/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels in PTX for cuda_t.c, written by hand.
 */
#ifndef OMPJIT_T_CUDA_PTX_H
#define OMPJIT_T_CUDA_PTX_H

#define PTX_HEADER ".version 6.4\n.target sm_75\n.address_size 64\n"

/* Variable `answer`. `saxpy`: y[i] += a * x[i]. `shared`: each thread's number,
 * by way of dynamic shared memory from byte `pat`. `bounded` allows 64 threads.
 * `fails` traps. */
static const char ptx_kernels[] = PTX_HEADER
    ".visible .global .align 4 .u32 answer = 42;\n"
    ".extern .shared .align 4 .b8 dynamic[];\n"

    ".visible .entry saxpy(.param .f32 pa, .param .u64 px, .param .u64 py,\n"
    "                      .param .u32 pn) {\n"
    "  .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .pred %p<2>;\n"
    "  ld.param.f32 %f1, [pa];\n"
    "  ld.param.u64 %d1, [px];\n"
    "  ld.param.u64 %d2, [py];\n"
    "  ld.param.u32 %r1, [pn];\n"
    "  mov.u32 %r2, %ctaid.x;\n"
    "  mov.u32 %r3, %ntid.x;\n"
    "  mov.u32 %r4, %tid.x;\n"
    "  mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.u32 %p1, %r5, %r1;\n"
    "  @%p1 bra END;\n"
    "  mul.wide.u32 %d3, %r5, 4;\n"
    "  add.u64 %d4, %d1, %d3;\n"
    "  add.u64 %d5, %d2, %d3;\n"
    "  ld.global.f32 %f2, [%d4];\n"
    "  ld.global.f32 %f3, [%d5];\n"
    "  fma.rn.f32 %f3, %f1, %f2, %f3;\n"
    "  st.global.f32 [%d5], %f3;\n"
    "END:\n"
    "  ret;\n"
    "}\n"

    ".visible .entry shared(.param .u64 pout, .param .u32 pat) {\n"
    "  .reg .b32 %r<6>; .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d1, [pout];\n"
    "  ld.param.u32 %r1, [pat];\n"
    "  mov.u32 %r2, dynamic;\n"
    "  add.u32 %r2, %r2, %r1;\n"
    "  mov.u32 %r3, %tid.x;\n"
    "  mul.lo.u32 %r4, %r3, 4;\n"
    "  add.u32 %r2, %r2, %r4;\n"
    "  st.shared.u32 [%r2], %r3;\n"
    "  ld.shared.u32 %r5, [%r2];\n"
    "  mul.wide.u32 %d2, %r3, 4;\n"
    "  add.u64 %d3, %d1, %d2;\n"
    "  st.global.u32 [%d3], %r5;\n"
    "  ret;\n"
    "}\n"

    ".visible .entry bounded() .maxntid 64, 1, 1 { ret; }\n"
    ".visible .entry fails() { trap; }\n";

static const char ptx_broken[] = PTX_HEADER
    ".visible .entry broken() { bra NOWHERE; }\n";

/* The begin of a cubin, for a driver that runs none. */
static const char cubin_magic[64] = "\x7f" "ELF\2\1\1\x33\7";

#endif
