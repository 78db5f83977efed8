/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Passes about how kernels execute: SPMD or generic, their parallel regions and
 * barriers, and what openmp-opt is told of both.
 */
#ifndef OMPJIT_PASSES_EXECUTION_H
#define OMPJIT_PASSES_EXECUTION_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Reduces the loops that clang puts round critical sections, in which the
 * threads of a warp take turns, to one round. For the host, before the runtime
 * is linked. passes/execution/critical_turns.c */
void ompjit__drop_turns(LLVMModuleRef m);

/* Defines ompjit_invoke, through which the runtime calls outlined regions, for
 * the numbers of arguments that the module's regions have. If a number is not
 * constant, the runtime's own definition stays. Before the runtime is linked.
 * passes/execution/region_invoke.c */
void ompjit__define_invoke(LLVMModuleRef m);

/* Replaces the addresses of outlined regions by numbers if no call needs an
 * address; true if there were any. For NVPTX, after optimization.
 * passes/execution/region_ids.c */
bool ompjit__number_regions(LLVMModuleRef m);

/* Makes threads leave a cancelled parallel region at its barriers. For code as
 * clang writes it. passes/execution/cancel_barriers.cc */
void ompjit__cancel_barriers(LLVMModuleRef m);

/* Removes the calls that ask for a thread number only to pass it to a barrier,
 * which clang's reduction functions make. Before the runtime is linked.
 * passes/execution/reduction_barrier.c */
void ompjit__barriers_without_number(LLVMModuleRef m);

/* Widens memory(argmem: ...) attributes to any memory, since openmp-opt
 * misunderstands them. Before openmp-opt. passes/execution/memory_effects.cc */
void ompjit__widen_memory_effects(LLVMModuleRef m);

/* Adjusts the kernels' bound on threads (nvvm.maxntid): at most what a GPU has,
 * and for generic kernels one more warp for the main thread. Removes the bounds
 * that openmp-opt would take for the numbers of each launch.
 * passes/execution/exec_mode.c */
void ompjit__bound_threads(LLVMModuleRef m, const ompjit__unit *unit);

/* Adds a barrier before each guarded region, which thread 0 runs alone. After
 * openmp-opt has made kernels SPMD. passes/execution/guarded_regions.c */
void ompjit__order_guarded_regions(LLVMModuleRef m);

/* Adds calls that tell openmp-opt where threads synchronize, and removes them.
 * Around each run of openmp-opt. passes/execution/synchronization.cc */
void ompjit__mark_synchronization(LLVMModuleRef m);
void ompjit__unmark_synchronization(LLVMModuleRef m);

/* Likewise: calls that tell it which of the runtime's loops may start parallel
 * regions. False: out of memory. passes/execution/loop_bodies.c */
bool ompjit__mark_loop_bodies(LLVMModuleRef m);
void ompjit__unmark_loop_bodies(LLVMModuleRef m);

/* Cuts long blocks into pieces, and joins these. Around each run of openmp-opt.
 * passes/execution/long_blocks.cc */
void ompjit__cut_blocks(LLVMModuleRef m);
void ompjit__join_blocks(LLVMModuleRef m);

/* Adds remarks (optimizer/remark.h) on what keeps a kernel generic. False: out
 * of memory. passes/execution/generic_reason.c */
bool ompjit__explain_generic(LLVMValueRef kernel, ompjit__buf *remarks);

/* Gives the functions that the option ompjit-spmd-amenable names the assumption
 * ompx_spmd_amenable, which openmp-opt reads, and adds a remark for each. A
 * name that no function has gets a remark only if the module is `whole`.
 * Requires opts->functions. Before the runtime is linked.
 * passes/execution/spmd_functions.c */
ompjit_status ompjit__spmd_functions(LLVMModuleRef m, const ompjit__opts *opts,
                                     bool whole, ompjit__buf *remarks,
                                     ompjit_error *err);

/* Keeps openmp-opt from making generic kernels SPMD: kernel i if which[i] is
 * set, or all if `which` is NULL; and allows it again. After a first run of
 * openmp-opt all have to stay: it has then folded the queries of the mode to
 * constants and does not change these any more. passes/execution/exec_mode.c */
void ompjit__mark_generic(LLVMModuleRef m, const ompjit__unit *unit,
                          const bool *which);
void ompjit__forget_generic(LLVMModuleRef m);

/* Appends each kernel's execution mode, one byte each, from its environment
 * variable, which the passes before must have preserved. Unless `keep`, makes
 * that variable internal, so that LLVM can remove it. False: no kernel has one.
 * After openmp-opt. passes/execution/exec_mode.c */
bool ompjit__take_modes(LLVMModuleRef m, const ompjit__unit *unit, bool keep,
                        ompjit__buf *modes);

/* True if threads need no state of their own: no parallel region is inside
 * another, and no call sets an internal control variable. Before the runtime is
 * linked. passes/execution/no_thread_state.c */
bool ompjit__is_flat(LLVMModuleRef m, const ompjit__unit *unit);

/* True if the plain runtime is enough: of functions that the runtime may
 * define, the kernels call only those of passes/execution/plain.def (on the
 * `host` also its PLAIN_HOST rows). Before the runtime is linked.
 * passes/execution/no_thread_state.c */
bool ompjit__is_plain(LLVMModuleRef m, bool host);

#endif
