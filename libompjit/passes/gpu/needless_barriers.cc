/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Drops barriers of SPMD kernels that order nothing. openmp-opt guards each
 * piece of sequential code for itself, with a barrier behind each and, by
 * passes/execution/guarded_regions.c, one before it:
 *
 *     barrier                           if (tid == 0)
 *     if (tid == 0)                         x = 1;
 *         x = 1;
 *     barrier                           p = ... select ...
 *     p = ... select ...                if (tid == 0)
 *     if (tid == 0)                         list.p = p;
 *         list.p = p;                   barrier
 *     barrier                           ... list.p->...
 *     ... list.p->...
 *
 * A barrier is dropped where no two accesses conflict of which one comes before
 * it, and behind the barrier before, and the other behind it, up to the next
 * one. Two accesses conflict if one of them writes, they may be of the same
 * memory, and they may be of different threads. A barrier at a loop's beginning
 * that orders nothing of one round and the next moves in front of the loop.
 *
 * All threads load what thread 0 alone uses in its guarded code. Such loads move
 * there first, so that they are accesses of thread 0.
 *
 * The runtime's function for variables that it allocates itself has such
 * guards, too. It becomes part of the kernels that call it first.
 *
 * Requires optimized kernels of one-dimensional teams.
 */
#include <llvm-c/Core.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DepthFirstIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

using namespace llvm;

extern "C" {
/* passes/gpu/gpu.h is C. */
void ompjit__drop_needless_barriers(LLVMModuleRef m);
}

namespace {

/* Instructions and kinds of accesses that are looked at for one barrier. One
 * that has more stays. */
enum { MOST_INSTRUCTIONS = 2000, MOST_ACCESSES = 64 };
enum { TEAM_SHARED = 3, CONSTANT = 4, PARAMETER = 101 };

enum Kind {
    PLAIN,   /* a load or store of `object`                               */
    FOREIGN, /* anything that code outside of the module may do           */
    ANY,     /* anything; also what orders the accesses of other teams    */
};

struct Access {
    Kind kind;
    const Value *object;
    bool writes, of_main; /* thread 0 alone */
    bool own; /* only code of the module that names it accesses it */
    bool operator==(const Access &o) const
    {
        return kind == o.kind && object == o.object && writes == o.writes &&
               of_main == o.of_main;
    }
};
typedef SmallVector<Access, 16> Accesses;

bool isTeamBarrier(const Instruction &i)
{
    auto *call = dyn_cast<IntrinsicInst>(&i);
    auto *number = call && call->getIntrinsicID() ==
                               Intrinsic::nvvm_barrier_cta_sync_aligned_all
                       ? dyn_cast<ConstantInt>(call->getArgOperand(0))
                       : nullptr;
    return number && number->isZero();
}

/* A barrier for threads that need not be at the same instruction: another of
 * the team's may be its counterpart. */
bool isBarrierApart(const Instruction &i)
{
    auto *call = dyn_cast<IntrinsicInst>(&i);
    return call &&
           call->getIntrinsicID() == Intrinsic::nvvm_barrier_cta_sync_all;
}

/* Does all code that accesses the variable name it? Code that compares another
 * address with the variable's may not access it by that address. */
bool isOnlyNamed(const Value &v)
{
    for (const User *user : v.users()) {
        if (isa<LoadInst>(user) || isa<ICmpInst>(user))
            continue;
        auto *store = dyn_cast<StoreInst>(user);
        if (store && store->getValueOperand() != &v)
            continue;
        if (!isa<GEPOperator>(user) && !isa<AddrSpaceCastOperator>(user))
            return false;
        if (!isOnlyNamed(*user))
            return false;
    }
    return true;
}

bool isDefined(const Value *object)
{
    auto *variable = dyn_cast<GlobalVariable>(object);
    return variable && !variable->isDeclaration();
}

/* Memory that exists before the team does. */
bool isGiven(const Value *object)
{
    auto *argument = dyn_cast<Argument>(object);
    return argument && argument->getParent()->getCallingConv() ==
                           CallingConv::PTX_Kernel;
}

bool isTeamShared(const Value *object)
{
    return isa<GlobalVariable>(object) &&
           object->getType()->getPointerAddressSpace() == TEAM_SHARED;
}

/* May both be accesses of the same memory? */
bool mayMeet(const Access &a, const Access &b)
{
    if (a.kind == ANY || b.kind == ANY)
        return true;
    if (a.kind == FOREIGN || b.kind == FOREIGN)
        return !a.own && !b.own;
    if (a.object == b.object)
        return true;
    if (isDefined(a.object) && isDefined(b.object))
        return false;
    return !a.own && !b.own &&
           !(isTeamShared(a.object) && isGiven(b.object)) &&
           !(isTeamShared(b.object) && isGiven(a.object));
}

bool conflict(const Accesses &before, const Accesses &behind)
{
    for (const Access &a : before)
        for (const Access &b : behind)
            if ((a.writes || b.writes) && !(a.of_main && b.of_main &&
                                            a.kind != ANY && b.kind != ANY) &&
                mayMeet(a, b))
                return true;
    return false;
}

class Kernel {
public:
    explicit Kernel(Function &function) : f(function), dt(f), loops(dt)
    {
        findMain();
    }
    void sinkLoads();
    void dropBarriers();

private:
    Function &f;
    DominatorTree dt;
    LoopInfo loops;
    SmallPtrSet<const BasicBlock *, 16> main; /* of thread 0 alone */
    DenseMap<const Value *, bool> own;        /* of variables, once known */

    void findMain();
    bool isOwn(const Value *object);
    bool add(const Instruction &i, Accesses &to);
    bool addPlain(const Instruction &i, const Value *pointer, bool writes,
                  Accesses &to);
    bool collect(const Instruction &barrier, bool forward,
                 const BasicBlock *without, Accesses &to);
    bool isNeedless(const Instruction &barrier, const BasicBlock *without);
    bool moveOut(Instruction &barrier);
    bool isStillThere(const LoadInst &load, const Instruction &barrier);
    bool maySink(const Instruction &i, const Instruction *barrier);
    void sinkInto(BasicBlock &guarded);
};

/* Does thread 0 alone come to the block, which has one way in? */
bool isGuarded(const BasicBlock &block)
{
    const BasicBlock *from = block.getSinglePredecessor();
    auto *branch = from ? dyn_cast<BranchInst>(from->getTerminator()) : nullptr;
    auto *test = branch && branch->isConditional()
                     ? dyn_cast<ICmpInst>(branch->getCondition())
                     : nullptr;
    auto *tid = test ? dyn_cast<IntrinsicInst>(test->getOperand(0)) : nullptr;
    auto *zero = test ? dyn_cast<ConstantInt>(test->getOperand(1)) : nullptr;
    return tid && zero && zero->isZero() && test->isEquality() &&
           tid->getIntrinsicID() == Intrinsic::nvvm_read_ptx_sreg_tid_x &&
           branch->getSuccessor(
               test->getPredicate() == ICmpInst::ICMP_EQ ? 0 : 1) == &block;
}

void Kernel::findMain()
{
    for (const DomTreeNode *node : depth_first(dt.getRootNode())) {
        const DomTreeNode *above = node->getIDom();
        if ((above && main.contains(above->getBlock())) ||
            isGuarded(*node->getBlock()))
            main.insert(node->getBlock());
    }
}

bool Kernel::isOwn(const Value *object)
{
    auto *variable = dyn_cast<GlobalVariable>(object);
    if (!variable || !variable->hasLocalLinkage())
        return false;
    auto [known, isNew] = own.try_emplace(object, false);
    if (isNew)
        known->second = isOnlyNamed(*variable);
    return known->second;
}

bool append(Accesses &to, const Access &a)
{
    if (!is_contained(to, a))
        to.push_back(a);
    return to.size() <= MOST_ACCESSES;
}

bool Kernel::addPlain(const Instruction &i, const Value *pointer, bool writes,
                      Accesses &to)
{
    const unsigned space = pointer->getType()->getPointerAddressSpace();
    const Value *object = getUnderlyingObject(pointer, 0);
    auto *variable = dyn_cast<GlobalVariable>(object);
    if (isa<AllocaInst>(object) || space == CONSTANT || space == PARAMETER ||
        (variable && variable->isConstant()))
        return true;
    return append(to, {PLAIN, object, writes, main.contains(i.getParent()),
                       isOwn(object)});
}

/* The kernel fails there: nobody reads what is in its memory any more. */
bool isTrap(const Instruction &i)
{
    auto *call = dyn_cast<IntrinsicInst>(&i);
    return call && call->getIntrinsicID() == Intrinsic::trap;
}

/* False: there are too many. */
bool Kernel::add(const Instruction &i, Accesses &to)
{
    if (!i.mayReadOrWriteMemory() || i.isDebugOrPseudoInst() ||
        i.isLifetimeStartOrEnd() || isa<AssumeInst>(i) || isTrap(i))
        return true;
    auto *load = dyn_cast<LoadInst>(&i);
    if (load && load->isSimple())
        return addPlain(i, load->getPointerOperand(), false, to);
    auto *store = dyn_cast<StoreInst>(&i);
    if (store && store->isSimple())
        return addPlain(i, store->getPointerOperand(), true, to);
    auto *call = dyn_cast<CallInst>(&i);
    const Function *callee = call ? call->getCalledFunction() : nullptr;
    const bool foreign = callee && callee->isDeclaration() &&
                         !callee->isIntrinsic();
    return append(to, {foreign ? FOREIGN : ANY, nullptr, true,
                       main.contains(i.getParent()), false});
}

/* The accesses from the barrier to the next ones, or back to those before and
 * not to the block `without`. False: there are too many. */
bool Kernel::collect(const Instruction &barrier, bool forward,
                     const BasicBlock *without, Accesses &to)
{
    SmallPtrSet<const BasicBlock *, 16> seen;
    SmallVector<const BasicBlock *, 16> todo;
    const Instruction *at = forward ? barrier.getNextNode()
                                    : barrier.getPrevNode();
    const BasicBlock *block = barrier.getParent();
    unsigned n = 0;
    while (true) {
        for (; at && (at == &barrier || !isTeamBarrier(*at));
             at = forward ? at->getNextNode() : at->getPrevNode())
            if (at != &barrier && (++n > MOST_INSTRUCTIONS || !add(*at, to)))
                return false;
        if (!at) {
            if (forward)
                append_range(todo, successors(block));
            else
                append_range(todo, predecessors(block));
        }
        while (!todo.empty() && (todo.back() == without ||
                                 !seen.insert(todo.back()).second))
            todo.pop_back();
        if (todo.empty())
            return true;
        block = todo.pop_back_val();
        at = forward ? &block->front() : &block->back();
    }
}

/* Does it order nothing, or nothing but what comes from `without`? */
bool Kernel::isNeedless(const Instruction &barrier, const BasicBlock *without)
{
    Accesses before, behind;
    return collect(barrier, false, without, before) &&
           collect(barrier, true, nullptr, behind) &&
           !conflict(before, behind);
}

/* Each thread that comes to the loop comes to the barrier, so the barrier may be
 * before the loop. */
bool Kernel::moveOut(Instruction &barrier)
{
    const Loop *loop = loops.getLoopFor(barrier.getParent());
    BasicBlock *before = loop && loop->getHeader() == barrier.getParent()
                             ? loop->getLoopPreheader()
                             : nullptr;
    if (!before || !isNeedless(barrier, before))
        return false;
    barrier.moveBefore(before->getTerminator()->getIterator());
    return true;
}

void Kernel::dropBarriers()
{
    SmallVector<Instruction *, 16> barriers;
    for (Instruction &i : instructions(f)) {
        if (isBarrierApart(i))
            return;
        if (isTeamBarrier(i))
            barriers.push_back(&i);
    }
    for (Instruction *barrier : barriers)
        if (isNeedless(*barrier, nullptr))
            barrier->eraseFromParent();
        else
            while (moveOut(*barrier))
                ;
}

/* Are all of the value's users in the block, and one at least? */
bool isOnlyUsedIn(const Instruction &i, const BasicBlock &block)
{
    return !i.use_empty() && all_of(i.users(), [&](const User *user) {
        auto *at = dyn_cast<Instruction>(user);
        return at && at->getParent() == &block && !isa<PHINode>(at);
    });
}

/* May thread 0 alone load that behind the barrier? */
bool Kernel::isStillThere(const LoadInst &load, const Instruction &barrier)
{
    Accesses mine, behind;
    if (!addPlain(load, load.getPointerOperand(), false, mine) ||
        !collect(barrier, true, nullptr, behind))
        return false;
    for (Access &a : mine)
        a.of_main = true;
    return !conflict(mine, behind);
}

/* May the value be computed behind instructions that do not write, and behind
 * the barrier, if there is one between? */
bool Kernel::maySink(const Instruction &i, const Instruction *barrier)
{
    auto *load = dyn_cast<LoadInst>(&i);
    if (load)
        return load->isSimple() && (!barrier || isStillThere(*load, *barrier));
    return !isa<PHINode>(i) && !isa<CallBase>(i) && !isa<AllocaInst>(i) &&
           !i.isTerminator() && !i.mayReadOrWriteMemory();
}

/* Moves what a guarded block alone uses of the block before into it. */
void Kernel::sinkInto(BasicBlock &guarded)
{
    BasicBlock *from = guarded.getSinglePredecessor();
    const Instruction *barrier = nullptr; /* the one before the guard */
    for (Instruction &i : make_early_inc_range(reverse(*from))) {
        if (isa<AssumeInst>(i) || i.isDebugOrPseudoInst())
            continue;
        if (i.mayWriteToMemory() && (barrier || !isTeamBarrier(i)))
            return;
        if (isTeamBarrier(i))
            barrier = &i;
        else if (isOnlyUsedIn(i, guarded) && maySink(i, barrier))
            i.moveBefore(guarded.getFirstNonPHIIt());
    }
}

void Kernel::sinkLoads()
{
    for (BasicBlock &block : f)
        if (isGuarded(block))
            sinkInto(block);
}

bool isKernel(const Function &f)
{
    return f.getCallingConv() == CallingConv::PTX_Kernel && !f.isDeclaration();
}

/* Has the function a barrier of its own for the team? */
bool hasBarrier(const Function &f)
{
    return any_of(instructions(f), isTeamBarrier);
}

void inlineIntoKernels(Function &f)
{
    for (User *user : make_early_inc_range(f.users())) {
        auto *call = dyn_cast<CallInst>(user);
        InlineFunctionInfo info;
        if (call && call->getCalledFunction() == &f &&
            isKernel(*call->getFunction()))
            InlineFunction(*call, info);
    }
    if (f.hasLocalLinkage() && f.use_empty())
        f.eraseFromParent();
}

} // namespace

void ompjit__drop_needless_barriers(LLVMModuleRef m)
{
    Function *alloc = unwrap(m)->getFunction("ompjit_alloc_recursive");
    if (alloc && hasBarrier(*alloc))
        inlineIntoKernels(*alloc);
    for (Function &f : *unwrap(m))
        if (isKernel(f)) {
            Kernel kernel(f);
            kernel.sinkLoads();
            kernel.dropBarriers();
        }
}
