/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM passes for a GPU's variants, in the order in which
 * backend/variant_pipeline.cc runs them. Each file says what its pass does.
 */
#ifndef OMPJIT_PASSES_GPU_LOOP_PASSES_H
#define OMPJIT_PASSES_GPU_LOOP_PASSES_H

#include <llvm/IR/PassManager.h>

namespace ompjit {

/* outer_barriers.cc */
struct GpuOuterBarriers : llvm::PassInfoMixin<GpuOuterBarriers> {
    llvm::PreservedAnalyses run(llvm::Module &m,
                                llvm::ModuleAnalysisManager &analyses);
};

/* Sets how often loop-unroll unrolls inner loops. unroll.cc */
struct GpuUnroll : llvm::PassInfoMixin<GpuUnroll> {
    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses);
};

/* Keeps the assembler from unrolling further what LLVM has unrolled, where the
 * number of rounds takes 64 bits. Requires unrolled loops. unroll.cc */
struct GpuEndUnrolling : llvm::PassInfoMixin<GpuEndUnrolling> {
    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses);
};

/* Requires unrolled loops. pointer_cse.cc */
struct PointerCse : llvm::PassInfoMixin<PointerCse> {
    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses);
};

/* Requires loop-simplify. pointer_induction.cc */
struct PointerInduction : llvm::PassInfoMixin<PointerInduction> {
    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses);
};

/* Must be the last that changes how loops end. loop_end.cc */
struct LoopEnd : llvm::PassInfoMixin<LoopEnd> {
    llvm::PreservedAnalyses run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses);
};

} // namespace ompjit
#endif
