/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pointers that are others plus a constant, as those of a stencil are and those
 * of the rounds of an unrolled loop, are computed as that, and cost nothing: an
 * access has room for a constant. LLVM sees it where the constant is added
 * last; scalar evolution also where it is added to an index of 32 bits, and
 * widened after a few more sums.
 */
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PassManager.h>

#include "passes/gpu/loop_passes.h"

enum { REACH = 1 << 23 /* bytes: offsets of machine instructions */ };
/* Pointers with one base that are computed, and from which others may be. */
using Anchors = llvm::SmallVector<llvm::GetElementPtrInst *, 8>;

static bool to_number(const llvm::SCEV *s, int64_t *out)
{
    const auto *constant = llvm::dyn_cast<llvm::SCEVConstant>(s);
    if (!constant || constant->getAPInt().getSignificantBits() > 32)
        return false;
    *out = constant->getAPInt().getSExtValue();
    return true;
}

/* An index's signed value before it is widened; NULL: it is not. */
static llvm::Value *narrow_index(const llvm::GetElementPtrInst *p,
                                 llvm::ScalarEvolution &evolution)
{
    if (p->getNumIndices() != 1)
        return nullptr;
    auto *cast = llvm::dyn_cast<llvm::CastInst>(p->getOperand(1));
    if (!cast || !llvm::isa<llvm::SExtInst, llvm::ZExtInst>(cast))
        return nullptr;
    llvm::Value *index = cast->getOperand(0);
    bool is_signed =
        llvm::isa<llvm::SExtInst>(cast) || cast->hasNonNeg() ||
        evolution.isKnownNonNegative(evolution.getSCEV(index));
    return is_signed ? index : nullptr;
}

/* Elements between two indices of one array: a constant that is as much
 * before they are widened as behind, since no sum overflows. */
static bool between(llvm::ScalarEvolution &evolution,
                    const llvm::GetElementPtrInst *p,
                    const llvm::GetElementPtrInst *from, int64_t *out)
{
    llvm::Value *index = narrow_index(p, evolution);
    llvm::Value *other = narrow_index(from, evolution);
    if (!index || !other || index->getType() != other->getType() ||
        p->getPointerOperand() != from->getPointerOperand() ||
        p->getSourceElementType() != from->getSourceElementType())
        return false;
    const llvm::SCEV *start = evolution.getSCEV(other);
    const llvm::SCEV *step =
        evolution.getMinusSCEV(evolution.getSCEV(index), start);
    return to_number(step, out) &&
           evolution.getSignedRange(start).signedAddMayOverflow(
               evolution.getSignedRange(step)) ==
               llvm::ConstantRange::OverflowResult::NeverOverflows;
}

/* How many bytes a pointer is behind another; false: nobody knows, or too
 * many. */
static bool distance(llvm::ScalarEvolution &evolution,
                     const llvm::DataLayout &layout,
                     llvm::GetElementPtrInst *p,
                     llvm::GetElementPtrInst *from, int64_t *out)
{
    if (between(evolution, p, from, out))
        *out *= static_cast<int64_t>(
            layout.getTypeAllocSize(p->getSourceElementType()));
    else if (!to_number(evolution.getMinusSCEV(evolution.getSCEV(p),
                                               evolution.getSCEV(from)),
                        out))
        return false;
    return *out < REACH && *out > -REACH;
}

/* The code generator folds these into the access already. */
static bool has_constant_offset(const llvm::GetElementPtrInst *p)
{
    return p->hasAllConstantIndices() &&
           llvm::isa<llvm::GetElementPtrInst>(p->getPointerOperand());
}

/* Makes a pointer one that another may be computed from: promises that it
 * does not overflow, which LLVM keeps where it computes things early, need
 * not hold where that other one is needed. False: it cannot be. */
static bool may_depend(llvm::ScalarEvolution &evolution,
                       llvm::GetElementPtrInst *p,
                       llvm::GetElementPtrInst *from)
{
    llvm::SmallVector<llvm::Instruction *, 8> promises;
    if (!evolution.canReuseInstruction(evolution.getSCEV(p), from,
                                       promises))
        return false;
    for (llvm::Instruction *i : promises)
        i->dropPoisonGeneratingAnnotations();
    return true;
}

static bool anchor(llvm::GetElementPtrInst *p, Anchors &anchors,
                   llvm::ScalarEvolution &evolution,
                   const llvm::DominatorTree &dominators)
{
    for (llvm::GetElementPtrInst *from : anchors) {
        int64_t bytes;
        if (from->getType() != p->getType() ||
            !dominators.dominates(from, p) ||
            !distance(evolution, p->getDataLayout(), p, from, &bytes) ||
            !may_depend(evolution, p, from))
            continue;
        llvm::IRBuilder<> b(p);
        llvm::Value *same = from;
        if (bytes)
            same = b.CreateGEP(b.getInt8Ty(), from, b.getInt64(
                                   static_cast<uint64_t>(bytes)));
        p->replaceAllUsesWith(same);
        return true;
    }
    anchors.push_back(p);
    return false;
}

llvm::PreservedAnalyses
ompjit::PointerCse::run(llvm::Function &f,
                        llvm::FunctionAnalysisManager &analyses)
{
    auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
    auto &dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(f);
    llvm::DenseMap<const llvm::SCEV *, Anchors> bases;
    llvm::SmallVector<llvm::Instruction *, 16> dead;
    llvm::ReversePostOrderTraversal<llvm::Function *> order(&f);
    for (llvm::BasicBlock *block : order)
        for (llvm::Instruction &i : *block) {
            auto *p = llvm::dyn_cast<llvm::GetElementPtrInst>(&i);
            if (!p || p->getType()->isVectorTy() ||
                has_constant_offset(p) ||
                !evolution.isSCEVable(p->getType()))
                continue;
            const llvm::SCEV *base =
                evolution.getPointerBase(evolution.getSCEV(p));
            if (anchor(p, bases[base], evolution, dominators))
                dead.push_back(p);
        }
    for (llvm::Instruction *i : dead)
        i->eraseFromParent();
    return dead.empty() ? llvm::PreservedAnalyses::all()
                        : llvm::PreservedAnalyses::none();
}
