// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values are another in each thread of a team? LLVM's uniformity analysis
// tells, once it knows where such values come from: threads' numbers,
// variables, atomic operations, calls, and some loads.
//
// Between two barriers no thread may depend on another, other than by atomics.
// So all threads load the same from one address, but for loads behind an
// operation that acquires what another thread has stored since the last
// barrier.
#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/TargetTransformInfoImpl.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "passes/host/team/body.h"

using namespace llvm;
using namespace ompjit_team;

// ------------------------------------------------------------ thread numbers

namespace {

constexpr int MOST_STEPS = 12; // from a pointer to what it comes from

// The pointer without constant offsets, and their sum.
const Value *strip(const Value &v, const DataLayout &layout, APInt &offset)
{
    offset = APInt(layout.getIndexTypeSizeInBits(v.getType()), 0);
    return v.stripAndAccumulateConstantOffsets(layout, offset, true);
}

// Is it behind the thread's number, wherever the pointer comes from?
bool is_beyond(const Value &v, const DataLayout &layout, int steps)
{
    auto also = [&](const Value *from) {
        return steps && is_beyond(*from, layout, steps - 1);
    };
    if (const auto *gep = dyn_cast<GetElementPtrInst>(&v)) {
        APInt offset;
        if (!is_call_of(*strip(*gep, layout, offset), self_name))
            return also(gep->getPointerOperand());
        return offset.sge(TID_OFFSET + TID_SIZE);
    }
    if (const auto *phi = dyn_cast<PHINode>(&v))
        return all_of(phi->incoming_values(), also);
    const auto *select = dyn_cast<SelectInst>(&v);
    return select && also(select->getTrueValue()) &&
           also(select->getFalseValue());
}

} // namespace

bool Numbers::collect(Function &f)
{
    return all_of(instructions(f), [&](Instruction &i) {
        return !is_call_of(i, self_name) || follow(i);
    });
}

// All uses of a pointer into it.
bool Numbers::follow(Value &pointer)
{
    if (!seen.insert(&pointer).second)
        return true;
    return all_of(pointer.users(), [&](User *user) {
        if (isa<GetElementPtrInst, PHINode, SelectInst>(user))
            return follow(*user);
        auto *load = dyn_cast<LoadInst>(user);
        return load ? note(*load) : isa<ICmpInst>(user);
    });
}

// A load of the number itself, or of something behind it. False: it may read a
// part of the number, or the number and more.
bool Numbers::note(LoadInst &load)
{
    const DataLayout &layout = load.getModule()->getDataLayout();
    const Value &from = *load.getPointerOperand();
    APInt offset;
    if (is_beyond(from, layout, MOST_STEPS))
        return true;
    if (!is_call_of(*strip(from, layout, offset), self_name) ||
        !offset.isZero() || !load.getType()->isIntegerTy(8 * TID_SIZE))
        return false;
    loads.insert(&load);
    return true;
}

namespace {

// ----------------------------------------------------- loads behind acquires

// May loads behind it find what another thread has stored since the last
// barrier? Calls by which threads wait for each other leave the function to
// fibers anyway (independent.cc).
bool is_acquiring(const Instruction &i)
{
    if (const auto *load = dyn_cast<LoadInst>(&i))
        return isAcquireOrStronger(load->getOrdering());
    if (const auto *fence = dyn_cast<FenceInst>(&i))
        return isAcquireOrStronger(fence->getOrdering());
    if (const auto *rmw = dyn_cast<AtomicRMWInst>(&i))
        return isAcquireOrStronger(rmw->getOrdering());
    const auto *cas = dyn_cast<AtomicCmpXchgInst>(&i);
    return cas && isAcquireOrStronger(cas->getMergedOrdering());
}

// Loads that no barrier separates from an acquiring operation before them.
class LateLoads {
  public:
    explicit LateLoads(SmallPtrSetImpl<const Value *> &loads) : loads(loads) {}

    void collect(const Function &f)
    {
        for (const Instruction &i : instructions(f))
            if (is_acquiring(i))
                walk(*i.getParent(), i.getIterator());
        while (!work.empty()) {
            const BasicBlock *block = work.pop_back_val();
            walk(*block, block->begin());
        }
    }

  private:
    void walk(const BasicBlock &block, BasicBlock::const_iterator i)
    {
        for (; i != block.end(); ++i) {
            if (is_barrier(*i))
                return;
            if (isa<LoadInst>(*i))
                loads.insert(&*i);
        }
        for (const BasicBlock *next : successors(&block))
            if (seen.insert(next).second)
                work.push_back(next);
    }

    SmallPtrSetImpl<const Value *> &loads;
    SmallPtrSet<const BasicBlock *, 16> seen;
    SmallVector<const BasicBlock *, 16> work;
};

// --------------------------------------------------------------- the analysis

// The question that LLVM's analysis asks a target: which values begin as
// another in each thread.
class Threads : public TargetTransformInfoImplBase {
  public:
    explicit Threads(const Body &body)
        : TargetTransformInfoImplBase(body.layout), body(body)
    {
    }

    bool hasBranchDivergence(const Function *) const override { return true; }

    InstructionUniformity
    getInstructionUniformity(const Value *v) const override
    {
        return is_own(*v) ? InstructionUniformity::NeverUniform
                          : InstructionUniformity::Default;
    }

  private:
    bool is_own(const Value &v) const
    {
        if (const auto *load = dyn_cast<LoadInst>(&v))
            return !load->isSimple() || body.numbers.contains(&v) ||
                   body.late.contains(&v);
        if (isa<AllocaInst>(v))
            return !body.common.contains(&v);
        if (const auto *call = dyn_cast<CallBase>(&v))
            return !is_call_of(v, self_name) &&
                   !(call->doesNotAccessMemory() && !call->isInlineAsm());
        if (const auto *phi = dyn_cast<PHINode>(&v))
            return is_open(*phi);
        return isa<AtomicRMWInst, AtomicCmpXchgInst, VAArgInst>(v);
    }

    // LLVM's analysis takes what is undefined in some threads for what it is in
    // the others. The last of the threads may have left it undefined.
    static bool is_open(const PHINode &phi)
    {
        return any_of(phi.incoming_values(),
                      [](const Use &use) { return isa<UndefValue>(use); });
    }

    const Body &body;
};

bool is_reducible(const Cycle &cycle)
{
    return cycle.isReducible() && all_of(cycle.children(), [](auto *c) {
               return is_reducible(*c);
           });
}

} // namespace

bool ompjit_team::find_own_values(Body &body)
{
    body.tree.recalculate(body.f);
    LoopInfo loops(body.tree);
    for (Loop *loop : loops)
        formLCSSARecursively(*loop, body.tree, &loops, nullptr);
    if (!body.numbers.collect(body.f))
        return false;
    LateLoads(body.late).collect(body.f);
    FunctionAnalysisManager &analyses = body.analyses;
    analyses.registerPass([] { return PassInstrumentationAnalysis(); });
    analyses.registerPass([] { return DominatorTreeAnalysis(); });
    analyses.registerPass([] { return CycleAnalysis(); });
    analyses.registerPass([] { return UniformityInfoAnalysis(); });
    analyses.registerPass([&] {
        return TargetIRAnalysis([&](const Function &) {
            return TargetTransformInfo(std::make_unique<Threads>(body));
        });
    });
    for (const Cycle *cycle :
         analyses.getResult<CycleAnalysis>(body.f).toplevel_cycles())
        if (!is_reducible(*cycle))
            return false;
    body.uniformity = &analyses.getResult<UniformityInfoAnalysis>(body.f);
    return true;
}
