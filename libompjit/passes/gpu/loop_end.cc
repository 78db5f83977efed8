/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops of a GPU end by what their counter will be, which is how one writes
 * them and what the assembler can count, not by what it was, as LLVM's
 * simplifications have it: i + 1 < n rather than i < n - 1.
 */
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/PassManager.h>

#include "passes/gpu/loop_passes.h"
#include "passes/loops/strength_reduction.h"

/*   %i = phi [0, ...], [%sum, latch]
 *   %sum = add %i, 1
 *   br (%i < 99), header, exit         becomes   br (%sum < 100), header, exit
 *
 * How a loop ends: at the end of a round it goes on while `counter` is so
 * to `last`, and then adds the step. */
struct End {
    llvm::ICmpInst *test;
    llvm::CmpPredicate goes_on;
    llvm::PHINode *counter;
    llvm::BinaryOperator *sum;
    llvm::APInt last, step;
};

/* The test at the end of a round, if nothing else needs it. */
static bool find_test(const llvm::Loop &loop, End &end)
{
    llvm::BasicBlock *latch = loop.getLoopLatch();
    auto *branch = latch ? llvm::dyn_cast<llvm::BranchInst>(
                               latch->getTerminator())
                         : nullptr;
    end.test = branch && branch->isConditional()
                   ? llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition())
                   : nullptr;
    if (!end.test || end.test->getParent() != latch ||
        !end.test->hasOneUse())
        return false;
    end.goes_on = branch->getSuccessor(0) == loop.getHeader()
                      ? end.test->getCmpPredicate()
                      : end.test->getInverseCmpPredicate();
    return true;
}

/* A counter and a constant in it, and a constant that is added. */
static bool find_counter(const llvm::Loop &loop, End &end)
{
    auto *last =
        llvm::dyn_cast<llvm::ConstantInt>(end.test->getOperand(1));
    end.counter = llvm::dyn_cast<llvm::PHINode>(end.test->getOperand(0));
    if (!last || !end.counter ||
        end.counter->getParent() != loop.getHeader())
        return false;
    end.sum = llvm::dyn_cast<llvm::BinaryOperator>(
        end.counter->getIncomingValueForBlock(loop.getLoopLatch()));
    if (!end.sum || end.sum->getOpcode() != llvm::Instruction::Add ||
        end.sum->getOperand(0) != end.counter)
        return false;
    auto *step = llvm::dyn_cast<llvm::ConstantInt>(end.sum->getOperand(1));
    end.last = last->getValue();
    end.step = step ? step->getValue() : end.last;
    return step != nullptr;
}

/* The sum; false: it overflows. */
static bool add(const llvm::APInt &a, const llvm::APInt &b, bool is_signed,
                llvm::APInt &sum)
{
    bool overflows = false;
    sum = is_signed ? a.sadd_ov(b, overflows) : a.uadd_ov(b, overflows);
    return !overflows;
}

/* Can the first round's sum not overflow? */
static bool starts_well(const End &end, const llvm::Loop &loop,
                        const llvm::APInt &next, llvm::Function &f,
                        llvm::FunctionAnalysisManager &analyses)
{
    bool is_signed = llvm::ICmpInst::isSigned(end.goes_on);
    bool down = is_signed && end.step.isNegative();
    llvm::Value *start =
        end.counter->getIncomingValueForBlock(loop.getLoopPreheader());
    llvm::APInt sum;
    auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
    const llvm::SCEV *s = evolution.getSCEV(start);
    return add(down        ? evolution.getSignedRangeMin(s)
               : is_signed ? evolution.getSignedRangeMax(s)
                           : evolution.getUnsignedRangeMax(s),
               end.step, is_signed, sum) ||
           evolution.isLoopEntryGuardedByCond(
               &loop, end.goes_on, s, evolution.getConstant(next));
}

/* Is the sum of each round, the last one too, what it is to integers
 * without bounds? After the first the counter is at most a step behind
 * `last`. */
static bool fits(const End &end, const llvm::Loop &loop, llvm::Function &f,
                 llvm::FunctionAnalysisManager &analyses)
{
    using Compare = llvm::ICmpInst;
    bool is_signed = Compare::isSigned(end.goes_on);
    bool ends = is_signed && end.step.isNegative()
                    ? Compare::isGT(end.goes_on) ||
                          Compare::isGE(end.goes_on)
                    : Compare::isLT(end.goes_on) ||
                          Compare::isLE(end.goes_on);
    llvm::APInt next, sum;
    return ends && add(end.last, end.step, is_signed, next) &&
           add(next, end.step, is_signed, sum) &&
           starts_well(end, loop, next, f, analyses);
}

/* Equality does not mind an overflow. The sum gets no promise that is not known
 * of it, since it is looked at in the last round too. */
static bool change(const End &end, const llvm::Loop &loop,
                   llvm::Function &f,
                   llvm::FunctionAnalysisManager &analyses)
{
    if (!end.test->isEquality() && !fits(end, loop, f, analyses))
        return false;
    if (!llvm::ICmpInst::isSigned(end.goes_on))
        end.sum->setHasNoSignedWrap(false);
    if (!llvm::ICmpInst::isUnsigned(end.goes_on))
        end.sum->setHasNoUnsignedWrap(false);
    end.test->setOperand(0, end.sum);
    end.test->setOperand(1, llvm::ConstantInt::get(end.sum->getType(),
                                                   end.last + end.step));
    end.test->setSameSign(false);
    end.test->moveBefore(
        loop.getLoopLatch()->getTerminator()->getIterator());
    return true;
}

llvm::PreservedAnalyses
ompjit::LoopEnd::run(llvm::Function &f,
                     llvm::FunctionAnalysisManager &analyses)
{
    auto &loops = analyses.getResult<llvm::LoopAnalysis>(f);
    if (is_reducible(f, loops, llvm::Triple::nvptx64))
        return llvm::PreservedAnalyses::all();
    bool changed = false;
    End end;
    for (llvm::Loop *loop : loops.getLoopsInPreorder())
        if (loop->getLoopPreheader() && find_test(*loop, end) &&
            find_counter(*loop, end))
            changed |= change(end, *loop, f, analyses);
    return changed ? llvm::PreservedAnalyses::none()
                   : llvm::PreservedAnalyses::all();
}
