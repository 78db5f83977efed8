/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Changes to a unit's IR before a target is known.
 */
#ifndef OMPJIT_IR_H
#define OMPJIT_IR_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Gives the module its counters (core/counters.h): of lines where asked, and
 * those of clang's instrumentation, if it has any. For a whole unit, as it was
 * read. False: out of memory. passes/counters.c */
bool ompjit__count(LLVMModuleRef m, bool lines);

/* Makes the kernels other than spec->kernel removable; NOT_FOUND where there is
 * no such kernel. Requires the inner dialect. passes/specialize.c */
ompjit_status ompjit__narrow(LLVMModuleRef m, const ompjit__unit *unit,
                             const ompjit__spec *spec, ompjit_error *err);

/* The functions that have a kernel's parameters: 0 the kernel, 1 that of its form
 * for whole teams (passes/host/team_form.cc); NULL: the module has none.
 * passes/specialize.c */
LLVMValueRef ompjit__kernel_function(LLVMModuleRef m, const char *kernel,
                                     unsigned form);

/* Writes the literals over spec->kernel's parameters, which stay in its ABI.
 * Requires that the kernel is a function of its own yet. passes/specialize.c */
ompjit_status ompjit__fold_literals(LLVMModuleRef m, const ompjit__unit *unit,
                                    const ompjit__spec *spec,
                                    ompjit_error *err);

/* Replaces pointers to contents that are known by constants, where the kernel
 * does nothing with them but read. passes/known_contents.c */
void ompjit__fold_contents(LLVMValueRef kernel, const ompjit__kernel_desc *k,
                           const ompjit__spec *spec, bool host);

/* Marks a kernel that waits for what others store: by a flush, a lock or an
 * acquiring atomic operation of its own code or what it calls. Before the
 * runtime is linked. The other tells whether one is marked.
 * passes/alias_scopes.cc */
void ompjit__note_acquires(LLVMValueRef kernel);
bool ompjit__acquires(LLVMValueRef kernel);

/* Tells LLVM that sections which pointer parameters lead to are apart from all
 * other storage. Bit i of `separate`: parameter first + i. Holds for accesses
 * of any number of threads. Requires a kernel that is simplified and finds no
 * pointers to sections in memory. passes/alias_scopes.cc */
void ompjit__separate_sections(LLVMValueRef kernel, uint64_t separate,
                               unsigned first);

/* Says of spec->kernel's pointers what is known of them but for `noalias`, and
 * to the assembler how many threads a team has. passes/specialize.c */
void ompjit__annotate(LLVMModuleRef m, const ompjit__unit *unit,
                      const ompjit__spec *spec);

/* Gives each team one copy of what clang copies from its last iteration, where
 * in SPMD mode each thread had one. passes/lastprivate.c */
void ompjit__share_lastprivate(LLVMModuleRef m);
/* Tells whether only kernels in SPMD mode run the function's code, and outside
 * of parallel regions. passes/lastprivate.c */
bool ompjit__runs_spmd(LLVMModuleRef m, LLVMValueRef f);

/* Gives the threads that share a scan one buffer for it, and leaves out its
 * passes over a single element. Requires IR as clang writes it, not optimized.
 * passes/scan.c */
void ompjit__share_scans(LLVMModuleRef m);

/* Puts the team-shared variables that need most alignment first.
 * passes/shared_layout.cc */
void ompjit__order_shared(LLVMModuleRef m);

/* Gives loops of default schedules the form that suits a GPU, or a CPU. Before
 * the runtime is linked, and of what clang has not optimized. chunk_is_default:
 * ompjit__unit. passes/schedule.c */
void ompjit__stride_loops(LLVMModuleRef m);
void ompjit__block_loops(LLVMModuleRef m, bool chunk_is_default);

/* Leaves out the loops that clang puts round critical sections, for the host.
 * Before the runtime is linked. passes/critical_turns.c */
void ompjit__drop_turns(LLVMModuleRef m);

/* Hands scalars that parallel regions only read to them by value. After sroa,
 * before openmp-opt. passes/pass_by_value.c */
void ompjit__hand_over_values(LLVMModuleRef m, ompjit__buf *remarks);
/* Puts variables that no other code accesses on a thread's stack. After the
 * former; sroa then makes values of most. passes/private_locals.c */
void ompjit__keep_private(LLVMModuleRef m, ompjit__buf *remarks);

/* Defines ompjit_invoke, which the runtime calls outlined regions through, for
 * the numbers of arguments that the module's regions have. Before the runtime
 * is linked; where a number is not constant the runtime's own stays.
 * passes/region_invoke.c */
void ompjit__define_invoke(LLVMModuleRef m);

/* May the kernel reach storage by a pointer that it finds in memory? Requires a
 * module that has one kernel and is simplified. passes/pointer_escape.c */
bool ompjit__follows_pointers(LLVMModuleRef m, const ompjit__kernel_desc *k);

/* Shared variables that hold one constant become it; false: there are none. For
 * NVPTX, when the runtime is part of the kernel. passes/fold_shared.c */
bool ompjit__fold_shared(LLVMModuleRef m);

/* Takes numbers for the addresses of outlined regions, where no call needs one;
 * true if there were any. For NVPTX, optimized. passes/region_ids.c */
bool ompjit__number_regions(LLVMModuleRef m);

/* Threads leave a cancelled parallel region at its barriers. For code as clang
 * writes it. passes/cancel_barriers.cc */
void ompjit__cancel_barriers(LLVMModuleRef m);

/* Barriers of clang's helper functions no longer ask for a thread number.
 * Before the runtime is linked. passes/reduction_barrier.c */
void ompjit__barriers_without_number(LLVMModuleRef m);

/* Writes the execution mode into the runtime's question for it, where all
 * kernels of the unit that are built (spec->kernel) are of one mode that stays:
 * SPMD, or generic where openmp-opt will not run. True: all are SPMD. After the
 * runtime is linked. passes/specialize.c */
bool ompjit__fold_mode(LLVMModuleRef m, const ompjit__unit *unit,
                       const ompjit__spec *spec, bool generic_stays);

/* Are all kernels that are built SPMD? */
bool ompjit__is_spmd(const ompjit__unit *unit, const ompjit__spec *spec);

/* Declarations need not lie within 2 GiB. For hosts, and for a host half of
 * position-dependent code. passes/far_declarations.cc */
void ompjit__place_declarations_anywhere(LLVMModuleRef m);

/* Before openmp-opt: functions access any memory that they may access by their
 * attributes as memory of their arguments. passes/memory_effects.cc */
void ompjit__widen_memory_effects(LLVMModuleRef m);

/* Makes the bounds on threads that kernels have for the assembler those of a
 * GPU, and those of generic kernels have room for the main thread's warp; and
 * keeps openmp-opt from taking them for what each launch has.
 * passes/exec_mode.c */
void ompjit__bound_threads(LLVMModuleRef m, const ompjit__unit *unit);

/* After openmp-opt has made kernels SPMD: adds a barrier before each region
 * that it has thread 0 run alone. passes/guarded_regions.c */
void ompjit__order_guarded_regions(LLVMModuleRef m);

/* Around each run of openmp-opt: calls that tell it where threads synchronize.
 * passes/synchronization.cc */
void ompjit__mark_synchronization(LLVMModuleRef m);
void ompjit__unmark_synchronization(LLVMModuleRef m);

/* Likewise: calls that tell it where the runtime's loops may start parallel
 * regions. False: out of memory. passes/loop_bodies.c */
bool ompjit__mark_loop_bodies(LLVMModuleRef m);
void ompjit__unmark_loop_bodies(LLVMModuleRef m);

/* Adds remarks (core/remark.h) on what keeps a kernel generic. False: out of
 * memory. passes/generic_reason.c */
bool ompjit__explain_generic(LLVMValueRef kernel, ompjit__buf *remarks);

/* Gives the functions that the option ompjit-spmd-amenable names the assumption
 * that openmp-opt reads, with remarks; of a name that no function has only where
 * the module is `whole`. Requires opts->functions. Before the runtime is linked.
 * passes/spmd_functions.c */
ompjit_status ompjit__spmd_functions(LLVMModuleRef m, const ompjit__opts *opts,
                                     bool whole, ompjit__buf *remarks,
                                     ompjit_error *err);

/* Before a run of openmp-opt: generic kernels stay so, those alone where
 * which[i] is set, or (NULL) all. After a first run all do: it has by then made
 * the code that asks for the mode, and constants of the answers, which it does
 * not take back. passes/exec_mode.c */
void ompjit__mark_generic(LLVMModuleRef m, const ompjit__unit *unit,
                          const bool *which);
void ompjit__forget_generic(LLVMModuleRef m);

/* After openmp-opt: adds each kernel's mode to the buffer, and makes what it is
 * read from, which must have been preserved, removable, unless it is to be kept.
 * False: there is none. passes/exec_mode.c */
bool ompjit__take_modes(LLVMModuleRef m, const ompjit__unit *unit, bool keep,
                        ompjit__buf *modes);

/* Replaces a weak constant of the runtime (runtime-bc/plat.h), `name`, by
 * `value`, so that LLVM folds what depends on it. Nothing happens where the
 * module lacks it. */
void ompjit__fold_constant(LLVMModuleRef m, const char *name, uint32_t value);

/* 1: no kernel asks what task it is in. */
#define OMPJIT__FOLD_TASK_KINDS "ompjit_fold_task_kinds"
#define OMPJIT__USE_EVENTS "ompjit_use_events"
#define OMPJIT__USE_CANCEL "ompjit_use_cancel"
#define OMPJIT__USE_SERIALIZED "ompjit_use_serialized"
/* 1: threads have no states: ompjit__is_flat. */
#define OMPJIT__FOLD_FLAT "ompjit_fold_flat"
/* 1: in kernels' forms for whole teams (passes/host/team_form.cc). */
#define OMPJIT__FOLD_LOOPED "ompjit_fold_looped"

/* Is no parallel region inside another, and no setting made? Then no thread has
 * anything of its own. Before the runtime is linked.
 * passes/no_thread_state.c */
bool ompjit__is_flat(LLVMModuleRef m, const ompjit__unit *unit);

/* Do the kernels call nothing that the runtime, the host's or a GPU's, may have
 * but what passes/plain.def lists? Before the runtime is linked.
 * passes/no_thread_state.c */
bool ompjit__is_plain(LLVMModuleRef m, bool host);

/* Replace those that tell the spec's geometry, by 0 where it has no number, and
 * on NVPTX what kernels read of it from the machine. */
void ompjit__fold_threads(LLVMModuleRef m, const ompjit__spec *spec);
void ompjit__fold_teams(LLVMModuleRef m, const ompjit__spec *spec);

/* The i-th of those constants' names; NULL past the last. */
const char *ompjit__fold_name(size_t i);

/* Makes the unit's mutable variables external, under names of their own where
 * they have none or, on a GPU, one that PTX cannot have, and lists them in
 * image->globals; with spec->import_globals they are another image's, on a GPU
 * by the image's table. Before the runtime is linked. passes/globals.c */
ompjit_status ompjit__share_globals(LLVMModuleRef m, bool host,
                                    const ompjit__spec *spec,
                                    ompjit__image *image, ompjit_error *err);

/* Exports the constants that offload entries name, from an image that imports
 * nothing: the host reaches them by name. passes/globals.c */
ompjit_status ompjit__export_constants(LLVMModuleRef m,
                                       const ompjit__unit *unit,
                                       ompjit__image *image, ompjit_error *err);

/* Makes the kernel OMPJIT__CONSTRUCTORS, without parameters, of the module's
 * constructors, where it has any. `found` NULL: forgets them. After narrowing.
 * passes/constructors.c */
ompjit_status ompjit__gather_constructors(LLVMModuleRef m,
                                          const ompjit__unit *unit,
                                          bool *found, ompjit_error *err);

/* Uses of these variables become uses of what the table `table`, made here, has
 * at their number. passes/import.cc */
void ompjit__import_variables(LLVMModuleRef m, const LLVMValueRef *variables,
                              size_t n, const char *table);

/* Forgets clang's list of static variables that must stay.
 * passes/import.cc */
void ompjit__drop_used(LLVMModuleRef m);

/* Has calls through pointers look for the device's function first, in units
 * that say that some are made so, and finds the table for code that names it.
 * `host`: for a CPU. After narrowing, before variables are shared
 * and the runtime is linked. passes/indirect_calls.c */
void ompjit__translate_calls(LLVMModuleRef m, const ompjit__unit *unit,
                             bool host);

/* Keeps openmp-opt from taking more shared memory for a kernel's variables than
 * a team has. For NVPTX, before the runtime is linked.
 * passes/shared_budget.c */
ompjit_status ompjit__limit_shared(LLVMModuleRef m, ompjit__buf *remarks,
                                   ompjit_error *err);
/* Puts what is more than `limit` bytes of a kernel's variables into device
 * memory. For NVPTX, before openmp-opt sees generic kernels.
 * passes/shared_budget.c */
ompjit_status ompjit__limit_share(LLVMModuleRef m, uint32_t limit,
                                  ompjit__buf *remarks, ompjit_error *err);

/* Keeps openmp-opt from giving a variable of a recursive function one place for
 * all of its calls. For NVPTX, before openmp-opt. passes/recursive_locals.cc */
void ompjit__keep_recursive_locals(LLVMModuleRef m);

#endif
