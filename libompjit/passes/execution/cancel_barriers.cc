/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Barriers of parallel regions that may be cancelled. In clang's code a thread
 * that cancels the region waits at a barrier and leaves; on a GPU the region's
 * other barriers do not test whether their threads have to leave, too. This
 * pass makes them:
 *
 *   call void @__kmpc_barrier(ptr %loc, i32 %n)
 *   -> %left = call i32 @__kmpc_cancel_barrier(ptr %loc, i32 %n)
 *      br i1 (icmp ne i32 %left, 0), label %behind, label %on
 *
 * where %behind is the code behind the barrier at which a thread that has
 * cancelled the region waits. It has to lead straight to the function's end,
 * and to use only values that dominate the other barrier; else that barrier
 * stays, and its threads go on to the region's end. For code as clang writes
 * it.
 */
#include <llvm-c/Core.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

using namespace llvm;

/* passes/execution/execution.h is C. */
extern "C" void ompjit__cancel_barriers(LLVMModuleRef m);

namespace {

constexpr unsigned parallel_kind = 1;

bool is_call_of(const Instruction &i, StringRef name)
{
    const auto *call = dyn_cast<CallInst>(&i);
    const Function *f = call ? call->getCalledFunction() : nullptr;
    return f && f->getName() == name;
}

/* A test of whether the parallel region is cancelled. */
bool is_test(const Instruction &i)
{
    if (!is_call_of(i, "__kmpc_cancel") &&
        !is_call_of(i, "__kmpc_cancellationpoint"))
        return false;
    const auto *kind = dyn_cast<ConstantInt>(i.getOperand(2));
    return kind && kind->equalsInt(parallel_kind);
}

/* The barrier to which a thread comes that has found the region cancelled;
 * null: there is none where clang writes it. */
CallInst *leaving_barrier(Instruction &test)
{
    for (User *user : test.users())
        for (User *branch : user->users()) {
            auto *compare = dyn_cast<ICmpInst>(user);
            auto *br = dyn_cast<BranchInst>(branch);
            if (!compare || !br || !br->isConditional() ||
                compare->getPredicate() != CmpInst::ICMP_NE)
                continue;
            for (Instruction &i : *br->getSuccessor(0))
                if (is_call_of(i, "__kmpc_barrier"))
                    return cast<CallInst>(&i);
        }
    return nullptr;
}

/* Does the instruction do nothing but end what the function has begun? */
bool is_cleanup(const Instruction &i)
{
    if (is_call_of(i, "__kmpc_free_shared") || i.isTerminator())
        return true;
    return isa<IntrinsicInst>(i) || !isa<CallBase>(i);
}

/* The constant that these blocks store last to the address that `from` is
 * loaded from; null: not known. clang keeps the target of a cleanup's switch
 * there. */
const ConstantInt *stored_last(const Value *from,
                               ArrayRef<BasicBlock *> blocks)
{
    const auto *load = dyn_cast<LoadInst>(from);
    const Value *last = nullptr;
    for (const BasicBlock *b : blocks)
        for (const Instruction &i : *b) {
            const auto *store = dyn_cast<StoreInst>(&i);
            if (store && load &&
                store->getPointerOperand() == load->getPointerOperand())
                last = store->getValueOperand();
        }
    return dyn_cast_or_null<ConstantInt>(last);
}

/* The block that follows the last of these; null: it is not known. */
BasicBlock *next_block(ArrayRef<BasicBlock *> way)
{
    Instruction *end = way.back()->getTerminator();
    auto *choice = dyn_cast<SwitchInst>(end);
    if (!choice)
        return way.back()->getSingleSuccessor();
    const ConstantInt *where = stored_last(choice->getCondition(), way);
    return where ? choice->findCaseValue(where)->getCaseSuccessor() : nullptr;
}

/* The blocks from this one to the function's end, where these only clean up;
 * empty: they do not. */
SmallVector<BasicBlock *, 4> way_out(BasicBlock *from)
{
    SmallPtrSet<BasicBlock *, 8> seen;
    SmallVector<BasicBlock *, 4> way;
    for (BasicBlock *b = from; b && seen.insert(b).second;
         b = next_block(way)) {
        if (!all_of(*b, is_cleanup))
            return {};
        way.push_back(b);
    }
    if (!isa<ReturnInst>(way.back()->getTerminator()))
        way.clear();
    return way;
}

/* Is the value computed on the way out, or available at the barrier? */
bool is_there(const Value *v, ArrayRef<BasicBlock *> way,
              const CallInst &barrier, const DominatorTree &tree)
{
    const auto *i = dyn_cast<Instruction>(v);
    return !i || is_contained(way, i->getParent()) ||
           tree.dominates(i, &barrier);
}

/* May a thread go from the barrier to the way out: are all values that the way
 * uses available at the barrier? */
bool can_leave(const CallInst &barrier, ArrayRef<BasicBlock *> way,
               const DominatorTree &tree)
{
    for (const BasicBlock *block : way)
        for (const Instruction &i : *block) {
            const auto *phi = dyn_cast<PHINode>(&i);
            for (const Use &use : i.operands()) {
                bool other =
                    phi && !is_contained(way, phi->getIncomingBlock(use));
                if (!other && !is_there(use.get(), way, barrier, tree))
                    return false;
            }
        }
    return true;
}

/* Replaces the barrier by one that threads leave to `behind`, if the region is
 * cancelled. */
void leave_at(CallInst &barrier, BasicBlock &behind)
{
    Module &m = *barrier.getModule();
    Type *i32 = Type::getInt32Ty(m.getContext());
    Value *args[] = {barrier.getArgOperand(0), barrier.getArgOperand(1)};
    FunctionCallee cancel = m.getOrInsertFunction(
        "__kmpc_cancel_barrier", i32, args[0]->getType(), i32);
    cast<Function>(cancel.getCallee())->addFnAttr(Attribute::Convergent);
    IRBuilder<> b(&barrier);
    CallInst *left = b.CreateCall(cancel, args);
    left->addFnAttr(Attribute::Convergent);
    Value *leaves = b.CreateICmpNE(left, ConstantInt::get(i32, 0));
    BasicBlock *here = barrier.getParent();
    BasicBlock *on = SplitBlock(here, barrier.getNextNode());
    here->getTerminator()->eraseFromParent();
    BranchInst::Create(&behind, on, leaves, here);
    barrier.eraseFromParent();
}

/* Makes threads leave at each barrier of the function but `all_leaving`, by the
 * way out behind `leaving`. */
void leave_at_barriers(Function &f, CallInst &leaving,
                       const SmallPtrSetImpl<CallInst *> &all_leaving)
{
    BasicBlock *behind =
        SplitBlock(leaving.getParent(), leaving.getNextNode());
    SmallVector<BasicBlock *, 4> way = way_out(behind);
    DominatorTree tree(f);
    SmallVector<CallInst *, 4> barriers;
    for (Instruction &i : instructions(f)) {
        auto *call = dyn_cast<CallInst>(&i);
        if (is_call_of(i, "__kmpc_barrier") && !all_leaving.contains(call) &&
            !way.empty() && can_leave(*call, way, tree))
            barriers.push_back(call);
    }
    for (CallInst *barrier : barriers)
        leave_at(*barrier, *behind);
}

void leave_cancelled(Function &f)
{
    SmallPtrSet<CallInst *, 4> leaving;
    CallInst *first = nullptr;
    for (Instruction &i : instructions(f))
        if (CallInst *barrier = is_test(i) ? leaving_barrier(i) : nullptr) {
            leaving.insert(barrier);
            first = first ? first : barrier;
        }
    if (first)
        leave_at_barriers(f, *first, leaving);
}

} // namespace

void ompjit__cancel_barriers(LLVMModuleRef m)
{
    for (Function &f : *unwrap(m))
        leave_cancelled(f);
}
