/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops of a CPU's variants that the vectorizer has been at, or has left alone:
 * three passes that keep LLVM from work that gains nothing there.
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Transforms/Scalar/LoopLoadElimination.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "passes/host/loop_passes.h"
#include "passes/loops/loop_property.h"

/* The loop has been vectorized, or is what is left over of one. */
static bool is_vectorized(const llvm::Loop &loop)
{
    return llvm::getBooleanLoopAttribute(&loop, "llvm.loop.isvectorized");
}

/* ------------------------------------------------------- store forwarding */

static bool may_find(llvm::LoopInfo &loops)
{
    return llvm::any_of(loops.getLoopsInPreorder(), [](llvm::Loop *loop) {
        return loop->isInnermost() && !is_vectorized(*loop);
    });
}

llvm::PreservedAnalyses
ompjit::StoreForwarding::run(llvm::Function &f,
                             llvm::FunctionAnalysisManager &analyses)
{
    return may_find(analyses.getResult<llvm::LoopAnalysis>(f))
               ? llvm::LoopLoadEliminationPass().run(f, analyses)
               : llvm::PreservedAnalyses::all();
}

/* -------------------------------------------------------------- unrolling */

enum { FEW = 8 };

/* A loop of FEW rounds or less disappears when it is unrolled. */
static bool rounds_are_many(unsigned rounds) /* 0: unknown */
{
    return !rounds || rounds > FEW;
}

static void keep(llvm::Loop &loop)
{
    ompjit::add_loop_property(
        loop, {llvm::MDString::get(loop.getHeader()->getContext(),
                                   "llvm.loop.unroll.disable")});
}

llvm::PreservedAnalyses
ompjit::KeepVectorLoops::run(llvm::Function &f,
                             llvm::FunctionAnalysisManager &analyses)
{
    auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
    auto &info = analyses.getResult<llvm::LoopAnalysis>(f);
    for (llvm::Loop *loop : info.getLoopsInPreorder())
        if (is_vectorized(*loop) &&
            rounds_are_many(evolution.getSmallConstantTripCount(loop)))
            keep(*loop);
    return llvm::PreservedAnalyses::all();
}

/* ----------------------------------------------------- operands in memory */

static bool are_many(llvm::Loop &loop, llvm::ScalarEvolution &evolution,
                     llvm::TargetTransformInfo &target)
{
    unsigned n = 0;
    for (llvm::BasicBlock *block : loop.blocks())
        for (llvm::Instruction &i : *block) {
            auto *load = llvm::dyn_cast<llvm::LoadInst>(&i);
            if (!load || !load->getType()->isVectorTy() ||
                !evolution.isLoopInvariant(
                    evolution.getSCEV(load->getPointerOperand()), &loop))
                continue;
            unsigned kind =
                target.getRegisterClassForType(true, load->getType());
            if (++n > target.getNumberOfRegisters(kind))
                return true;
        }
    return false;
}

llvm::PreservedAnalyses
ompjit::KeepVectorOperands::run(llvm::Function &f,
                                llvm::FunctionAnalysisManager &analyses)
{
    auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
    auto &target = analyses.getResult<llvm::TargetIRAnalysis>(f);
    auto &info = analyses.getResult<llvm::LoopAnalysis>(f);
    for (llvm::Loop *loop : info.getLoopsInPreorder())
        if (are_many(*loop, evolution, target))
            ompjit::add_loop_property(
                *loop, {llvm::MDString::get(f.getContext(),
                                            "llvm.licm.disable")});
    return llvm::PreservedAnalyses::all();
}
