/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pointers that walk: those that a GPU's inner loop computes from its counter
 * go from round to round by a constant instead. A round is shorter by a shift
 * and a sum for each array, and the assembler unrolls it further. LLVM's
 * strength reduction does that too, in eight times the time, and is left to
 * those loops where it finds more (../strength_reduction.cc).
 */
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include "passes/gpu/loop_passes.h"
#include "passes/loops/strength_reduction.h"

using Pointers = llvm::SmallVector<llvm::GetElementPtrInst *, 8>;

/* A recurrence that goes from round to round by a constant, and is no other
 * pointer plus one: an access has room for that. */
static const llvm::SCEVAddRecExpr *walk(llvm::GetElementPtrInst *p,
                                        const llvm::Loop &loop,
                                        llvm::ScalarEvolution &evolution)
{
    if (p->hasAllConstantIndices() || !evolution.isSCEVable(p->getType()))
        return nullptr;
    auto *walk =
        llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(p));
    bool walks = walk && walk->getLoop() == &loop && walk->isAffine() &&
                 llvm::isa<llvm::SCEVConstant>(
                     walk->getStepRecurrence(evolution));
    return walks ? walk : nullptr;
}

static Pointers find_pointers(const llvm::Loop &loop,
                              llvm::ScalarEvolution &evolution)
{
    Pointers found;
    for (llvm::BasicBlock *block : loop.blocks())
        for (llvm::Instruction &i : *block)
            if (auto *p = llvm::dyn_cast<llvm::GetElementPtrInst>(&i))
                if (walk(p, loop, evolution))
                    found.push_back(p);
    return found;
}

/* From where it starts; what it passes behind the last round is not
 * promised to be in the array. False: its start cannot be known early. */
static bool replace(llvm::GetElementPtrInst *p, const llvm::Loop &loop,
                    llvm::ScalarEvolution &evolution)
{
    const llvm::SCEVAddRecExpr *its = walk(p, loop, evolution);
    llvm::BasicBlock *before = loop.getLoopPreheader();
    llvm::BasicBlock *latch = loop.getLoopLatch();
    llvm::SCEVExpander expander(evolution, "start");
    if (!expander.isSafeToExpandAt(its->getStart(),
                                   before->getTerminator()))
        return false;
    llvm::Value *start = expander.expandCodeFor(
        its->getStart(), p->getType(), before->getTerminator());
    auto *step = llvm::cast<llvm::SCEVConstant>(
        its->getStepRecurrence(evolution));
    llvm::IRBuilder<> b(&loop.getHeader()->front());
    llvm::PHINode *at = b.CreatePHI(p->getType(), 2);
    b.SetInsertPoint(latch->getTerminator());
    at->addIncoming(start, before);
    at->addIncoming(b.CreateGEP(b.getInt8Ty(), at, step->getValue()),
                    latch);
    p->replaceAllUsesWith(at);
    p->eraseFromParent();
    return true;
}

llvm::PreservedAnalyses
ompjit::PointerInduction::run(llvm::Function &f,
                              llvm::FunctionAnalysisManager &analyses)
{
    auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
    auto &loops = analyses.getResult<llvm::LoopAnalysis>(f);
    if (is_reducible(f, loops, llvm::Triple::nvptx64))
        return llvm::PreservedAnalyses::all();
    bool changed = false;
    for (llvm::Loop *loop : loops.getLoopsInPreorder()) {
        if (!loop->isInnermost() || !loop->getLoopPreheader() ||
            !loop->getLoopLatch())
            continue;
        for (llvm::GetElementPtrInst *p : find_pointers(*loop, evolution))
            changed |= replace(p, *loop, evolution);
    }
    return changed ? llvm::PreservedAnalyses::none()
                   : llvm::PreservedAnalyses::all();
}
