/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How often a GPU's inner loops are unrolled. LLVM's own choice for NVPTX
 * leaves loops alone whose number of rounds takes a few instructions to
 * compute, as that of every loop by strides does, and with them the assembler,
 * which unrolls once more what it can count.
 *
 * Where the number of rounds takes 64 bits, the assembler is told to leave an
 * unrolled loop as it is: it would make four times the code of it.
 */
#include <llvm-c/Core.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/PatternMatch.h>

#include "passes/gpu/loop_passes.h"
#include "passes/loops/loop_property.h"

// passes/gpu/gpu.h is C.
extern "C" void ompjit__end_unrolling(LLVMModuleRef m);

/* FEW: rounds of a loop that is unrolled in full. SOME: bodies, where the
 * rounds are counted when the loop begins, and the assembler will unroll
 * further; SOME_LONG: where it will not; MOST: where their number is constant.
 * ROOM: instructions that all bodies may have together. LONG: what a division
 * or a root is. */
enum { FEW = 8, SOME = 4, SOME_LONG = 8, MOST = 16, ROOM = 256, LONG = 16 };

/* Did the program (#pragma unroll), or a pass, say something of unrolling? */
static bool is_settled(const llvm::Loop &loop)
{
    const llvm::MDNode *id = loop.getLoopID();
    for (unsigned i = 1; id && i < id->getNumOperands(); i++) {
        const auto *node =
            llvm::dyn_cast_or_null<llvm::MDNode>(id->getOperand(i).get());
        const auto *name =
            node && node->getNumOperands()
                ? llvm::dyn_cast<llvm::MDString>(node->getOperand(0).get())
                : nullptr;
        if (name && name->getString().starts_with("llvm.loop.unroll."))
            return true;
    }
    return false;
}

static unsigned length(const llvm::Instruction &i)
{
    if (llvm::isa<llvm::PHINode, llvm::CastInst>(i) ||
        i.isDebugOrPseudoInst())
        return 0;
    const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    bool is_root =
        call && call->getIntrinsicID() == llvm::Intrinsic::sqrt;
    bool is_long = is_root || i.getOpcode() == llvm::Instruction::FDiv;
    return is_long ? LONG : 1;
}

/* The length of a round; 0: it has calls, and among them may be such that all
 * threads must come to together. */
static unsigned length(const llvm::Loop &loop)
{
    unsigned n = 0;
    for (const llvm::BasicBlock *block : loop.blocks())
        for (const llvm::Instruction &i : *block) {
            const auto *call = llvm::dyn_cast<llvm::CallBase>(&i);
            if (call && (!llvm::isa<llvm::IntrinsicInst>(call) ||
                         call->isConvergent()))
                return 0;
            n += length(i);
        }
    return n;
}

/* Does the number of rounds take more than 32 bits? */
static bool is_long(const llvm::Loop &loop, llvm::ScalarEvolution &evolution)
{
    const llvm::SCEV *rounds = evolution.getBackedgeTakenCount(&loop);
    return !llvm::isa<llvm::SCEVCouldNotCompute>(rounds) &&
           evolution.getUnsignedRangeMax(rounds).getActiveBits() > 32;
}

/* How many bodies a loop gets; 1: it stays what it is. */
static unsigned choose_count(const llvm::Loop &loop, unsigned rounds,
                             bool is_long)
{
    if (!loop.isInnermost() || is_settled(loop) ||
        (rounds && rounds <= FEW))
        return 1;
    unsigned n = length(loop);
    unsigned count = rounds ? MOST : is_long ? SOME_LONG : SOME;
    while (count > SOME && rounds % count)
        count /= 2;
    while (count > 1 && count * n > ROOM)
        count /= 2;
    return n ? count : 1;
}

/* The unrolled loop has no properties, or the assembler would be told to
 * unroll no further. */
static void set_count(llvm::Loop &loop, unsigned count)
{
    llvm::LLVMContext &context = loop.getHeader()->getContext();
    llvm::Type *i32 = llvm::Type::getInt32Ty(context);
    ompjit::add_loop_property(
        loop, {llvm::MDString::get(context, "llvm.loop.unroll.count"),
               llvm::ConstantAsMetadata::get(
                   llvm::ConstantInt::get(i32, count))});
    ompjit::add_loop_property(
        loop, {llvm::MDString::get(
                  context, "llvm.loop.unroll.followup_unrolled")});
}

llvm::PreservedAnalyses
ompjit::GpuUnroll::run(llvm::Function &f,
                       llvm::FunctionAnalysisManager &analyses)
{
    auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
    auto &info = analyses.getResult<llvm::LoopAnalysis>(f);
    for (llvm::Loop *loop : info.getLoopsInPreorder()) {
        unsigned count = choose_count(
            *loop, evolution.getSmallConstantTripCount(loop),
            is_long(*loop, evolution));
        if (count > 1)
            set_count(*loop, count);
    }
    return llvm::PreservedAnalyses::all();
}

/* Has LLVM unrolled the loop, with its number of rounds not known before? Then
 * it counts in steps to a multiple of the step:
 *
 *   %n = and i64 %rounds, -8    %sum = add i64 %counter, 8
 *   br (%sum == %n), exit, header */
static bool is_long_unrolled(const llvm::Loop &loop)
{
    using namespace llvm::PatternMatch;
    llvm::BasicBlock *latch = loop.getLoopLatch();
    const llvm::APInt *step, *multiple;
    llvm::Value *counter, *last;
    return latch && loop.isInnermost() && !is_settled(loop) &&
           match(latch->getTerminator(),
                 m_Br(m_ICmp(m_Add(m_Value(counter), m_APInt(step)),
                             m_Value(last)),
                      m_BasicBlock(), m_BasicBlock())) &&
           llvm::isa<llvm::PHINode>(counter) &&
           match(last, m_And(m_Value(), m_APInt(multiple))) &&
           step->isPowerOf2() && *step != 1 &&
           multiple->countr_zero() >= step->logBase2() &&
           llvm::computeKnownBits(
               last, latch->getModule()->getDataLayout())
                   .countMaxActiveBits() > 32;
}

static void end_unrolling(llvm::Loop &loop)
{
    if (is_long_unrolled(loop))
        ompjit::add_loop_property(
            loop, {llvm::MDString::get(loop.getHeader()->getContext(),
                                       "llvm.loop.unroll.disable")});
}

llvm::PreservedAnalyses
ompjit::GpuEndUnrolling::run(llvm::Function &f,
                             llvm::FunctionAnalysisManager &analyses)
{
    for (llvm::Loop *loop :
         analyses.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder())
        end_unrolling(*loop);
    return llvm::PreservedAnalyses::all();
}

void ompjit__end_unrolling(LLVMModuleRef m)
{
    for (llvm::Function &f : *llvm::unwrap(m)) {
        if (f.isDeclaration())
            continue;
        llvm::DominatorTree tree(f);
        llvm::LoopInfo loops(tree);
        for (llvm::Loop *loop : loops.getLoopsInPreorder())
            end_unrolling(*loop);
    }
}
