/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Passes for a CPU over the whole module; loop_passes.h has those that LLVM's
 * pass managers run.
 */
#ifndef OMPJIT_PASSES_HOST_H
#define OMPJIT_PASSES_HOST_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Drops barriers at the beginning and end of kernels that order nothing. For
 * the host, when it is optimized. passes/host/outer_barriers.cc */
void ompjit__drop_outer_barriers(LLVMModuleRef m);

/* Adds a symbol KERNEL.instructions.N for each kernel whose loops stand in no
 * other loop: the instructions of the largest one. For the host, behind all other
 * passes. passes/host/flat_loops.cc */
void ompjit__tell_instructions(LLVMModuleRef m);

/* Puts variables that are taken from the heap for other threads to see, and
 * freed in the same function, on the stack. For the host, before the runtime is
 * linked. passes/host/heap_to_stack.cc */
void ompjit__heap_to_stack(LLVMModuleRef m);

/* Makes sums of products that wait for each other wait less long, where little
 * else is computed. For x86-64, of code that is not optimized.
 * passes/host/late_sums.c */
void ompjit__split_late_sums(LLVMModuleRef m);

/* For the host device, before it is retargeted: what clang has inlined of CUDA's
 * libdevice becomes LLVM's intrinsics. passes/host/libdevice.cc */
void ompjit__lower_libdevice(LLVMModuleRef m);

/* For the host device, before it is retargeted: variadic functions of the module
 * get their further arguments in memory, as clang's code for NVPTX reads them.
 * False: LLVM cannot expand a call (a tail call that must be one), and nothing
 * has changed. passes/host/variadics.cc */
bool ompjit__expand_variadics(LLVMModuleRef m);

/* For the host device: loops that wait for another thread of the team give way
 * to it in each round. Requires optimized code. passes/host/wait_loops.cc */
void ompjit__yield_in_wait_loops(LLVMModuleRef m);

/* Inserts the checker's calls into the module's code. After retargeting to the
 * host and sroa, before the runtime is linked. NO_MEMORY.
 * passes/host/instrument.c */
ompjit_status ompjit__instrument(LLVMModuleRef m, ompjit_error *err);

#endif
