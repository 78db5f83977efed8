/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM passes for a CPU's variants, in the order in which
 * backend/variant_pipeline.cc runs them (vector_loops.cc).
 */
#ifndef OMPJIT_PASSES_HOST_LOOP_PASSES_H
#define OMPJIT_PASSES_HOST_LOOP_PASSES_H

#include <llvm/IR/PassManager.h>

namespace ompjit {

/* Has a round take what an earlier one stores from a register. No loop in which
 * rounds depend on one another is vectorized: where all are, there is nothing
 * to look for, and looking is a twelfth of all the passes' time. */
struct StoreForwarding : llvm::PassInfoMixin<StoreForwarding> {
    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses);
};

/* Tells the unroller to leave alone what has been vectorized, and what is left
 * over of it, except for loops of so few rounds that they disappear. */
struct KeepVectorLoops : llvm::PassInfoMixin<KeepVectorLoops> {
    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses);
};

/* Keeps vectors in loops where unrolling has made more of them invariant than
 * there are registers: as operands in memory they cost nothing, and LLVM would
 * load all of them before the loop, and spill them. */
struct KeepVectorOperands : llvm::PassInfoMixin<KeepVectorOperands> {
    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses);
};

} // namespace ompjit
#endif
