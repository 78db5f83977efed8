/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Changes to a unit's IR before a target is known.
 */
#ifndef OMPJIT_IR_H
#define OMPJIT_IR_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Gives the module its counters (optimizer/counters.h): of lines where asked, and
 * those of clang's instrumentation, if it has any. For a whole unit, as it was
 * read. False: out of memory. passes/counters.c */
bool ompjit__count(LLVMModuleRef m, bool lines);

/* Makes the kernels other than spec->kernel removable; NOT_FOUND where there is
 * no such kernel. Requires the inner dialect. passes/specialize.c */
ompjit_status ompjit__narrow(LLVMModuleRef m, const ompjit__unit *unit,
                             const ompjit__spec *spec, ompjit_error *err);

/* The functions that have a kernel's parameters: 0 the kernel, 1 that of its form
 * for whole teams (passes/host/team/form.cc); NULL: the module has none.
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

/* May the kernel reach storage by a pointer that it finds in memory? Requires a
 * module that has one kernel and is simplified. passes/pointer_escape.c */
bool ompjit__follows_pointers(LLVMModuleRef m, const ompjit__kernel_desc *k);

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

/* Replaces a weak constant of the runtime (runtime-bc/plat.h), `name`, by
 * `value`, so that LLVM folds what depends on it. Nothing happens where the
 * module lacks it. */
void ompjit__fold_constant(LLVMModuleRef m, const char *name, uint32_t value);

/* 1: no kernel asks what task it is in. */
#define OMPJIT__FOLD_TASK_KINDS "ompjit_fold_task_kinds"
#define OMPJIT__USE_EVENTS "ompjit_use_events"
#define OMPJIT__USE_UNTIED "ompjit_use_untied"
#define OMPJIT__USE_CANCEL "ompjit_use_cancel"
#define OMPJIT__USE_SERIALIZED "ompjit_use_serialized"
/* 1: threads have no states: ompjit__is_flat. */
#define OMPJIT__FOLD_FLAT "ompjit_fold_flat"
/* 1: in kernels' forms for whole teams (passes/host/team/form.cc). */
#define OMPJIT__FOLD_LOOPED "ompjit_fold_looped"

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

#endif
