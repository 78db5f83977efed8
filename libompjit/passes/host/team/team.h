/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels' forms for whole teams, whose threads one loop stands for; and which
 * teams need no fibers.
 */
#ifndef OMPJIT_PASSES_HOST_TEAM_H
#define OMPJIT_PASSES_HOST_TEAM_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Adds KERNEL.team, a form of the kernel that is called once for a team, where
 * all parallel regions are known: a kernel of a flat module, for the host, once
 * the runtime is linked. False: the module has no such kernel, or a region is
 * not known. passes/host/team/form.cc */
bool ompjit__add_team_form(LLVMModuleRef m, const char *kernel,
                           ompjit_mode mode);

/* Are there such forms? The second function has them loop over their threads,
 * or drops those in which threads do not meet in the same places. When they are
 * simplified, before loops are vectorized. passes/host/team/loops.cc */
bool ompjit__has_team_forms(LLVMModuleRef m);
void ompjit__loop_teams(LLVMModuleRef m);
/* Drops those in which threads wait for each other all the same, when nothing
 * changes any more. */
void ompjit__drop_waiting_team_forms(LLVMModuleRef m);

/* Adds a symbol KERNEL.independent for each kernel whose threads never wait for
 * each other. For the host, behind all other passes.
 * passes/host/team/independent.cc */
void ompjit__tell_independent(LLVMModuleRef m);

#endif
