/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Guarded regions of kernels that openmp-opt has made SPMD are taken out of
 * loops, and those that follow each other become one. openmp-opt guards each
 * piece of sequential code for itself: a loop that fills an array comes to two
 * barriers a round.
 *
 *     for (...) {                      if (tid == 0)
 *         if (tid == 0)                    for (...)
 *             a[i] = ...;                      a[i] = ...;
 *         barrier                      barrier
 *     }
 *
 * A loop is taken as a whole where all its effects are guarded, so that thread 0
 * alone had them, and nothing that it computes is used behind it. What stands
 * between two guards goes into the guard where it has no effects and nothing
 * else uses it. Requires a module behind openmp-opt, before anything else.
 */
#include <string>

#include <llvm-c/Core.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/EquivalenceClasses.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

using namespace llvm;

extern "C" {
#include "llvm/remarks.h"
/* passes/gpu/gpu.h is C. */
void ompjit__merge_guards(LLVMModuleRef m, ompjit__buf *remarks);
}

namespace {

const char thread_id[] = "__kmpc_get_hardware_thread_id_in_block";
const char barrier_name[] = "__kmpc_barrier_simple_spmd";

CallInst *callOf(Value *v, const char *name)
{
    auto *call = dyn_cast<CallInst>(v);
    const Function *f = call ? call->getCalledFunction() : nullptr;
    return f && f->getName() == name ? call : nullptr;
}

/* One guard:
 *
 *     tid = hardware_thread_id()
 *     if (tid == 0) { inside ... }     branch: to `inside` or `join`
 *     join: barrier(ident, tid)
 */
struct Guard {
    BranchInst *branch = nullptr;
    CallInst *tid = nullptr, *barrier = nullptr;
    BasicBlock *inside = nullptr, *join = nullptr;
};

/* The guard that a block ends with; `branch` is null where it is none. */
Guard guardAt(BasicBlock &block)
{
    Guard g;
    auto *branch = dyn_cast<BranchInst>(block.getTerminator());
    auto *test = branch && branch->isConditional()
                     ? dyn_cast<ICmpInst>(branch->getCondition())
                     : nullptr;
    if (!test || test->getPredicate() != ICmpInst::ICMP_EQ)
        return g;
    auto *zero = dyn_cast<ConstantInt>(test->getOperand(1));
    g.tid = callOf(test->getOperand(0), thread_id);
    if (!g.tid || g.tid->getParent() != &block || !zero || !zero->isZero())
        return g;
    g.inside = branch->getSuccessor(0);
    g.join = branch->getSuccessor(1);
    for (User *user : g.tid->users())
        if (CallInst *call = callOf(user, barrier_name))
            if (call->getParent() == g.join)
                g.barrier = call;
    if (g.barrier && g.join->getFirstNonPHIIt() == g.barrier->getIterator() &&
        g.inside->getSinglePredecessor() == &block &&
        !isa<PHINode>(g.join->begin()))
        g.branch = branch;
    return g;
}

/* All barriers of a guard: where it hands a value to the other threads, a second
 * one keeps thread 0 until they have it. */
SmallVector<CallInst *, 2> barriersOf(const Guard &g)
{
    SmallVector<CallInst *, 2> all;
    for (User *user : g.tid->users())
        if (CallInst *call = callOf(user, barrier_name))
            all.push_back(call);
    return all;
}

/* Thread 0 goes in without a question. */
void goIn(const Guard &g)
{
    auto *test = cast<Instruction>(g.branch->getCondition());
    IRBuilder<> b(g.branch);
    b.CreateBr(g.inside);
    g.branch->eraseFromParent();
    if (test->use_empty())
        test->eraseFromParent();
    if (g.tid->use_empty())
        g.tid->eraseFromParent();
}

/* The same, and nobody waits: the others do not come here any more. */
void open(const Guard &g)
{
    for (CallInst *barrier : barriersOf(g))
        barrier->eraseFromParent();
    goIn(g);
}

bool hasEffects(const Instruction &i)
{
    if (isa<DbgInfoIntrinsic>(i))
        return false;
    auto *call = dyn_cast<CallBase>(&i);
    return i.mayHaveSideEffects() ||
           (call && (call->isConvergent() || call->mayWriteToMemory())) ||
           i.isVolatile() || i.isAtomic();
}

/* ------------------------------------------------------------------- loops */

/* The loop's guards, if all of its effects are theirs; else none. */
SmallVector<Guard, 4> guardsOf(const Loop &loop)
{
    SmallVector<Guard, 4> guards;
    SmallPtrSet<const BasicBlock *, 8> inside;
    SmallPtrSet<const Instruction *, 8> own;
    for (BasicBlock *block : loop.blocks()) {
        const Guard g = guardAt(*block);
        if (!g.branch)
            continue;
        /* what thread 0 does is one block, or leads straight to the barrier */
        const BasicBlock *end = g.inside;
        while (end != g.join) {
            inside.insert(end);
            end = end->getSingleSuccessor();
            if (!end || !loop.contains(end))
                return {};
        }
        own.insert(g.tid);
        for (CallInst *barrier : barriersOf(g))
            own.insert(barrier);
        guards.push_back(g);
    }
    for (BasicBlock *block : loop.blocks())
        for (Instruction &i : *block)
            if (!own.contains(&i) && !inside.contains(block) && hasEffects(i))
                return {};
    return guards;
}

bool isUsedBehind(const Loop &loop)
{
    for (BasicBlock *block : loop.blocks())
        for (Instruction &i : *block)
            for (User *user : i.users())
                if (!loop.contains(cast<Instruction>(user)))
                    return true;
    return false;
}

/* Puts one guard round the loop in the place of those in it. */
bool guardWhole(Loop &loop)
{
    BasicBlock *before = loop.getLoopPreheader();
    BasicBlock *exit = loop.getUniqueExitBlock();
    if (!before || !exit || !loop.hasDedicatedExits() || isUsedBehind(loop) ||
        isa<PHINode>(exit->begin()))
        return false;
    const SmallVector<Guard, 4> guards = guardsOf(loop);
    if (guards.empty())
        return false;
    Function *idFunction = guards[0].tid->getCalledFunction();
    Function *barrier = guards[0].barrier->getCalledFunction();
    Value *ident = guards[0].barrier->getArgOperand(0);
    if (isa<Instruction>(ident))
        return false;
    const DebugLoc where = guards[0].tid->getDebugLoc();
    BasicBlock *header = loop.getHeader();
    BasicBlock *inside = BasicBlock::Create(
        before->getContext(), "region.guarded", before->getParent(), header);
    BasicBlock *join = BasicBlock::Create(
        before->getContext(), "region.barrier", before->getParent(), exit);
    for (const Guard &g : guards)
        open(g);
    SmallVector<BasicBlock *, 4> ends(predecessors(exit));
    for (BasicBlock *end : ends)
        end->getTerminator()->replaceSuccessorWith(exit, join);
    IRBuilder<> b(before->getTerminator());
    b.SetCurrentDebugLocation(where);
    CallInst *tid = b.CreateCall(idFunction, {}, "thread_id_in_block");
    b.CreateCondBr(b.CreateICmpEQ(tid, b.getInt32(0)), inside, join);
    before->getTerminator()->eraseFromParent();
    BranchInst::Create(header, inside);
    header->replacePhiUsesWith(before, inside);
    b.SetInsertPoint(join);
    b.CreateCall(barrier, {ident, tid});
    b.CreateBr(exit);
    return true;
}

/* Guards the outermost loops that can be guarded whole. What a loop says of its
 * own blocks holds while those beside it change, and a loop round one that is
 * guarded has been tried. */
void guardLoops(ArrayRef<Loop *> loops)
{
    for (Loop *loop : loops)
        if (!guardWhole(*loop))
            guardLoops(loop->getSubLoops());
}

/* --------------------------------------------------- one behind the other */

/* Guards are joined from the last to the first. The dominator tree is that of
 * the function before: of an edge that a join adds or removes it needs to know
 * no more than which guards have become one. */
class Merger {
    Function &f;
    DominatorTree dt;
    /* of the block that a guard's inside begins with: that with its branch */
    DenseMap<const BasicBlock *, const BasicBlock *> guardOf;
    EquivalenceClasses<const BasicBlock *> joined;

    bool isInside(const BasicBlock *at, const Guard &g) const;
    bool canGoIn(const Guard &first, const Guard &second) const;
    void mergeAt(BasicBlock &block);

public:
    explicit Merger(Function &f) : f(f), dt(f) {}
    void run();
};

/* Is the block a part of the guard, which may be several joined ones? */
bool Merger::isInside(const BasicBlock *at, const Guard &g) const
{
    const BasicBlock *begin = g.branch->getParent();
    if (at == begin || !dt.dominates(begin, at) || dt.dominates(g.join, at))
        return false;
    if (joined.isEquivalent(at, begin))
        return true;
    const auto *node = dt.getNode(at);
    while (node && node->getBlock() != begin &&
           !guardOf.contains(node->getBlock()))
        node = node->getIDom();
    return node &&
           joined.isEquivalent(guardOf.lookup(node->getBlock()), begin);
}

/* All of the block behind the first guard's barrier, up to the second guard's
 * question, may be done by thread 0 alone: it has no effects, and is used only
 * there and inside of the second. */
bool Merger::canGoIn(const Guard &first, const Guard &second) const
{
    const BasicBlock *block = first.join;
    for (const Instruction &i : *block) {
        if (&i == first.barrier || &i == second.tid ||
            i.isTerminator() || &i == second.branch->getCondition())
            continue;
        if (hasEffects(i))
            return false;
        for (const User *user : i.users()) {
            const BasicBlock *at = cast<Instruction>(user)->getParent();
            if (at != block && !isInside(at, second))
                return false;
        }
    }
    return true;
}

/* Joins the guard that the block ends with and the one behind it. */
void Merger::mergeAt(BasicBlock &block)
{
    const Guard first = guardAt(block);
    if (!first.branch)
        return;
    guardOf[first.inside] = &block;
    const Guard second = guardAt(*first.join);
    if (!second.branch || second.join == first.join ||
        !canGoIn(first, second) || !dt.dominates(&block, second.join))
        return;
    /* thread 0 goes on; the others wait for the second */
    first.branch->setSuccessor(1, second.join);
    first.barrier->eraseFromParent();
    for (CallInst *barrier : barriersOf(second))
        barrier->setArgOperand(1, first.tid);
    goIn(second);
    joined.unionSets(&block, first.join);
}

void Merger::run()
{
    const SmallVector<BasicBlock *> blocks(post_order(&f));
    for (BasicBlock *block : blocks)
        mergeAt(*block);
}

/* Joins the block behind each guard with those that only it leads to. */
void straighten(Function &f)
{
    for (BasicBlock &block : f) {
        const Guard g = guardAt(block);
        if (!g.branch)
            continue;
        BasicBlock *next = g.join->getSingleSuccessor();
        while (next && next != &block && MergeBlockIntoPredecessor(next))
            next = g.join->getSingleSuccessor();
    }
}

void mergeIn(Function &f)
{
    DominatorTree dt(f);
    LoopInfo loops(dt);
    for (Loop *loop : loops)
        simplifyLoop(loop, &dt, &loops, nullptr, nullptr, nullptr, false);
    guardLoops(loops.getTopLevelLoops());
    straighten(f);
    Merger(f).run();
}

unsigned count(Function &f)
{
    unsigned n = 0;
    for (BasicBlock &block : f)
        n += guardAt(block).branch != nullptr;
    return n;
}

void tell(Function &f, unsigned before, unsigned after, ompjit__buf *remarks)
{
    const std::string what = std::to_string(before) +
                             " pieces of sequential code are guarded as " +
                             std::to_string(after);
    ompjit__remark r = {};
    r.id = OMPJIT__REMARK_OMPJIT103;
    r.what = what.c_str();
    ompjit__remark_at(remarks, wrap(&f), &r);
}

} // namespace

void ompjit__merge_guards(LLVMModuleRef ref, ompjit__buf *remarks)
{
    Module &m = *unwrap(ref);
    const Function *id = m.getFunction(thread_id);
    SetVector<Function *> functions;
    if (id)
        for (const User *user : id->users())
            if (auto *call = dyn_cast<CallInst>(user))
                functions.insert(const_cast<Function *>(call->getFunction()));
    for (Function *f : functions) {
        const unsigned before = count(*f);
        mergeIn(*f);
        const unsigned after = count(*f);
        if (after < before)
            tell(*f, before, after, remarks);
    }
}
