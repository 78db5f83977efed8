/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Passes about how kernels execute: SPMD or generic, their parallel regions and
 * barriers, and what openmp-opt is told of both.
 */
#ifndef OMPJIT_PASSES_EXECUTION_H
#define OMPJIT_PASSES_EXECUTION_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Leaves out the loops that clang puts round critical sections, for the host.
 * Before the runtime is linked. passes/execution/critical_turns.c */
void ompjit__drop_turns(LLVMModuleRef m);

/* Defines ompjit_invoke, which the runtime calls outlined regions through, for
 * the numbers of arguments that the module's regions have. Before the runtime
 * is linked; where a number is not constant the runtime's own stays.
 * passes/execution/region_invoke.c */
void ompjit__define_invoke(LLVMModuleRef m);

/* Takes numbers for the addresses of outlined regions, where no call needs one;
 * true if there were any. For NVPTX, optimized. passes/execution/region_ids.c */
bool ompjit__number_regions(LLVMModuleRef m);

/* Threads leave a cancelled parallel region at its barriers. For code as clang
 * writes it. passes/execution/cancel_barriers.cc */
void ompjit__cancel_barriers(LLVMModuleRef m);

/* Barriers of clang's helper functions no longer ask for a thread number.
 * Before the runtime is linked. passes/execution/reduction_barrier.c */
void ompjit__barriers_without_number(LLVMModuleRef m);

/* Before openmp-opt: functions access any memory that they may access by their
 * attributes as memory of their arguments. passes/execution/memory_effects.cc */
void ompjit__widen_memory_effects(LLVMModuleRef m);

/* Makes the bounds on threads that kernels have for the assembler those of a
 * GPU, and those of generic kernels have room for the main thread's warp; and
 * keeps openmp-opt from taking them for what each launch has.
 * passes/execution/exec_mode.c */
void ompjit__bound_threads(LLVMModuleRef m, const ompjit__unit *unit);

/* After openmp-opt has made kernels SPMD: adds a barrier before each region
 * that it has thread 0 run alone. passes/execution/guarded_regions.c */
void ompjit__order_guarded_regions(LLVMModuleRef m);

/* Around each run of openmp-opt: calls that tell it where threads synchronize.
 * passes/execution/synchronization.cc */
void ompjit__mark_synchronization(LLVMModuleRef m);
void ompjit__unmark_synchronization(LLVMModuleRef m);

/* Likewise: calls that tell it where the runtime's loops may start parallel
 * regions. False: out of memory. passes/execution/loop_bodies.c */
bool ompjit__mark_loop_bodies(LLVMModuleRef m);
void ompjit__unmark_loop_bodies(LLVMModuleRef m);

/* Adds remarks (optimizer/remark.h) on what keeps a kernel generic. False: out of
 * memory. passes/execution/generic_reason.c */
bool ompjit__explain_generic(LLVMValueRef kernel, ompjit__buf *remarks);

/* Gives the functions that the option ompjit-spmd-amenable names the assumption
 * that openmp-opt reads, with remarks; of a name that no function has only where
 * the module is `whole`. Requires opts->functions. Before the runtime is linked.
 * passes/execution/spmd_functions.c */
ompjit_status ompjit__spmd_functions(LLVMModuleRef m, const ompjit__opts *opts,
                                     bool whole, ompjit__buf *remarks,
                                     ompjit_error *err);

/* Before a run of openmp-opt: generic kernels stay so, those alone where
 * which[i] is set, or (NULL) all. After a first run all do: it has by then made
 * the code that asks for the mode, and constants of the answers, which it does
 * not take back. passes/execution/exec_mode.c */
void ompjit__mark_generic(LLVMModuleRef m, const ompjit__unit *unit,
                          const bool *which);
void ompjit__forget_generic(LLVMModuleRef m);

/* After openmp-opt: adds each kernel's mode to the buffer, and makes what it is
 * read from, which must have been preserved, removable, unless it is to be kept.
 * False: there is none. passes/execution/exec_mode.c */
bool ompjit__take_modes(LLVMModuleRef m, const ompjit__unit *unit, bool keep,
                        ompjit__buf *modes);

/* Is no parallel region inside another, and no setting made? Then no thread has
 * anything of its own. Before the runtime is linked.
 * passes/execution/no_thread_state.c */
bool ompjit__is_flat(LLVMModuleRef m, const ompjit__unit *unit);

/* Do the kernels call nothing that the runtime, the host's or a GPU's, may have
 * but what passes/execution/plain.def lists? Before the runtime is linked.
 * passes/execution/no_thread_state.c */
bool ompjit__is_plain(LLVMModuleRef m, bool host);

#endif
