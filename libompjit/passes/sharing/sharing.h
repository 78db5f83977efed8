/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Passes about the variables that threads of a team share: which they are, and
 * where they lie.
 */
#ifndef OMPJIT_PASSES_SHARING_H
#define OMPJIT_PASSES_SHARING_H

#include <llvm-c/Types.h>

#include "core/core.h"

/* Gives each team one copy of a lastprivate variable; in SPMD mode each thread
 * had its own. For code as clang writes it. passes/sharing/lastprivate.c */
void ompjit__share_lastprivate(LLVMModuleRef m);
/* True if only kernels in SPMD mode run the function's code, and outside of
 * parallel regions. passes/sharing/lastprivate.c */
bool ompjit__runs_spmd(LLVMModuleRef m, LLVMValueRef f);

/* Puts the team-shared variables that need most alignment first.
 * passes/sharing/shared_layout.cc */
void ompjit__order_shared(LLVMModuleRef m);

/* Passes scalars that parallel regions only read to them by value. After sroa,
 * before openmp-opt. passes/sharing/pass_by_value.c */
void ompjit__hand_over_values(LLVMModuleRef m, ompjit__buf *remarks);
/* Puts variables that only their own function's code accesses on the thread's
 * stack. After ompjit__hand_over_values; sroa then makes values of most.
 * passes/sharing/private_locals.c */
void ompjit__keep_private(LLVMModuleRef m, ompjit__buf *remarks);

/* Replaces team-shared variables that only ever hold one constant by it; false:
 * there are none. For NVPTX, after the runtime is linked.
 * passes/sharing/fold_shared.c */
bool ompjit__fold_shared(LLVMModuleRef m);

/* Keeps openmp-opt from taking more shared memory for a kernel's variables than
 * a team has. For NVPTX, before the runtime is linked.
 * passes/sharing/shared_budget.c */
ompjit_status ompjit__limit_shared(LLVMModuleRef m, ompjit__buf *remarks,
                                   ompjit_error *err);
/* Puts a kernel's variables beyond `limit` bytes into device memory. For NVPTX,
 * after the runtime is linked, before openmp-opt's run for generic kernels.
 * passes/sharing/shared_budget.c */
ompjit_status ompjit__limit_share(LLVMModuleRef m, uint32_t limit,
                                  ompjit__buf *remarks, ompjit_error *err);

/* Keeps openmp-opt from giving a variable of a recursive function one place for
 * all of its calls. For NVPTX, before openmp-opt.
 * passes/sharing/recursive_locals.cc */
void ompjit__keep_recursive_locals(LLVMModuleRef m);

#endif
