/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds guarded code that may write a variable on the stack. openmp-opt moves a
 * variable to the stack where nobody keeps its address, and guards a store
 * through a pointer that may lead to shared memory as well. In SPMD mode thread 0
 * alone would change its own copy then:
 *
 *     *(c ? &shared : &own) += 2;
 */
#include <llvm-c/Core.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

using namespace llvm;

/* passes/gpu/gpu.h is C. */
extern "C" LLVMValueRef ompjit__guarded_stack(LLVMValueRef kernel);

namespace {

class Search {
  public:
    explicit Search(Function &kernel) { functions.insert(&kernel); }

    Instruction *find()
    {
        for (size_t i = 0; i < functions.size(); i++)
            for (Instruction &at : instructions(*functions[i]))
                if (auto *call = dyn_cast<CallInst>(&at))
                    if (Function *f = call->getCalledFunction())
                        functions.insert(f);
        for (Function *f : functions)
            for (BasicBlock &block : *f)
                if (isGuarded(block))
                    for (Instruction &at : block)
                        if (writesStack(at))
                            return &at;
        return nullptr;
    }

  private:
    SetVector<Function *> functions; /* that the main thread runs */
    SmallPtrSet<const Value *, 16> seen;

    /* Does the block belong to thread 0, as openmp-opt has it? */
    static bool isGuarded(const BasicBlock &block)
    {
        const BasicBlock *before = block.getSinglePredecessor();
        while (before && before->getSingleSuccessor())
            before = before->getSinglePredecessor();
        auto *branch =
            before ? dyn_cast<BranchInst>(before->getTerminator()) : nullptr;
        auto *test = branch && branch->isConditional()
                         ? dyn_cast<ICmpInst>(branch->getCondition())
                         : nullptr;
        auto *tid = test ? dyn_cast<CallInst>(test->getOperand(0)) : nullptr;
        const Function *f = tid ? tid->getCalledFunction() : nullptr;
        return f && test->getPredicate() == ICmpInst::ICMP_EQ &&
               f->getName() == "__kmpc_get_hardware_thread_id_in_block";
    }

    bool writesStack(Instruction &at)
    {
        if (auto *store = dyn_cast<StoreInst>(&at))
            return isStack(store->getPointerOperand());
        auto *call = dyn_cast<CallBase>(&at);
        if (!call || isa<IntrinsicInst>(at) || !call->mayWriteToMemory())
            return false;
        for (unsigned i = 0; i < call->arg_size(); i++)
            if (call->getArgOperand(i)->getType()->isPointerTy() &&
                !call->onlyReadsMemory(i) && isStack(call->getArgOperand(i)))
                return true;
        return false;
    }

    /* May the pointer lead to a variable on a thread's stack? What was loaded
     * does not, since nobody keeps such an address. */
    bool isStack(const Value *pointer)
    {
        SmallVector<const Value *, 4> objects;
        getUnderlyingObjects(pointer, objects, nullptr, 0);
        for (const Value *object : objects)
            if (isa<AllocaInst>(object) ||
                (isa<Argument>(object) &&
                 isStackArgument(*cast<Argument>(object))))
                return true;
        return false;
    }

    bool isStackArgument(const Argument &argument)
    {
        if (!seen.insert(&argument).second)
            return false;
        for (const User *user : argument.getParent()->users()) {
            auto *call = dyn_cast<CallInst>(user);
            if (call && call->getCalledFunction() == argument.getParent() &&
                functions.contains(
                    const_cast<Function *>(call->getFunction())) &&
                argument.getArgNo() < call->arg_size() &&
                isStack(call->getArgOperand(argument.getArgNo())))
                return true;
        }
        return false;
    }
};

} // namespace

LLVMValueRef ompjit__guarded_stack(LLVMValueRef kernel)
{
    return wrap(Search(*unwrap<Function>(kernel)).find());
}
