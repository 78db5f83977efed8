/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Passes for an NVIDIA GPU over the whole module; loop_passes.h has those that
 * LLVM's pass managers run.
 */
#ifndef OMPJIT_PASSES_GPU_H
#define OMPJIT_PASSES_GPU_H

#include <llvm-c/Types.h>

#include "base/base.h"

/* Before the runtime is linked: what the driver's vprintf prints unlike C, and
 * calls that ask for the number of characters, become calls of the runtime's.
 * passes/gpu/printf.c */
void ompjit__prepare_printf(LLVMModuleRef m);
/* Before the runtime is linked: mathematical intrinsics of vectors and of half
 * precision become ones of floats and doubles. passes/gpu/vector_math.c */
void ompjit__split_math(LLVMModuleRef m);
/* Before the runtime is linked: LLVM's intrinsics of two results become calls
 * of the runtime's functions. passes/gpu/math.c */
void ompjit__prepare_math(LLVMModuleRef m);
/* Before the runtime is linked: conversions of 128-bit integers to and from
 * floating numbers become calls of the runtime's functions.
 * passes/gpu/wide.c */
void ompjit__prepare_wide(LLVMModuleRef m);
/* Before the runtime is linked: tables of Fortran types that name each other in a
 * circle have numbers in place of addresses. False: no memory.
 * passes/gpu/type_tables.c */
bool ompjit__number_types(LLVMModuleRef m);
/* Math functions that PTX lacks, by libdevice: names of the C library and
 * LLVM's intrinsics become __nv_* calls, and libdevice is linked where any is
 * used. LINK error that names them where there is no libdevice. Before LLVM's
 * pipeline, which inlines them. passes/gpu/math.c */
ompjit_status ompjit__link_math(LLVMModuleRef m, ompjit__buf *messages,
                                ompjit_error *err); /* the context's messages */
/* libdevice's bitcode where a CUDA toolkit or its wheel is found, else NULL.
 * malloc'd path. */
char *ompjit__libdevice_path(void);

/* Behind the runtime and libdevice: is the code simplified in the same way
 * whatever GPU it is for? passes/gpu/any_gpu.c */
bool ompjit__is_for_any_gpu(LLVMModuleRef m);

/* Inlines the teams regions of generic kernels. Before openmp-opt.
 * passes/gpu/teams_regions.cc */
void ompjit__inline_teams(LLVMModuleRef m);

/* Behind openmp-opt: an instruction that thread 0 of an SPMD kernel runs alone,
 * and that may write a variable on the stack, of which the other threads have
 * their own; NULL: none. passes/gpu/guarded_stack.cc */
LLVMValueRef ompjit__guarded_stack(LLVMValueRef kernel);

/* Right behind the run of openmp-opt that makes kernels SPMD: takes guards out of
 * loops, and makes one of those that follow each other, with a remark.
 * passes/gpu/merge_guards.cc */
void ompjit__merge_guards(LLVMModuleRef m, ompjit__buf *remarks);

/* Drops the barriers of SPMD kernels that order no accesses. Requires optimized
 * kernels of one-dimensional teams. passes/gpu/needless_barriers.cc */
void ompjit__drop_needless_barriers(LLVMModuleRef m);

/* Loads of pointers of which a part is used become loads of that part. Of
 * optimized code. passes/gpu/narrow_loads.c */
void ompjit__narrow_loads(LLVMModuleRef m);

/* Behind LLVM's pipeline: the assembler leaves loops as they are that LLVM has
 * unrolled and whose number of rounds takes 64 bits. passes/gpu/unroll.cc */
void ompjit__end_unrolling(LLVMModuleRef m);

/* Has kernels make values of their parameters behind a call where they need them
 * only there. Requires optimized code. passes/gpu/late_values.cc */
void ompjit__make_values_late(LLVMModuleRef m);

/* For NVPTX: compare-and-exchange on a thread's own stack becomes plain loads
 * and stores. passes/gpu/local_atomics.cc */
void ompjit__lower_local(LLVMModuleRef m);

/* After openmp-opt: loads and stores that it has made ones of a thread's stack
 * are generic again. Later passes may have them access other memory.
 * passes/gpu/address_spaces.c */
void ompjit__forget_stack_accesses(LLVMModuleRef m);

#endif
