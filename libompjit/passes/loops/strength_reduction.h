/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Is LLVM's strength reduction worth its time? strength_reduction.cc
 */
#ifndef OMPJIT_PASSES_STRENGTH_REDUCTION_H
#define OMPJIT_PASSES_STRENGTH_REDUCTION_H

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/TargetParser/Triple.h>

namespace ompjit {

/* For a function's loops on such a target. */
bool is_reducible(const llvm::Function &f, const llvm::LoopInfo &loops,
                  llvm::Triple::ArchType arch);

} // namespace ompjit
#endif
