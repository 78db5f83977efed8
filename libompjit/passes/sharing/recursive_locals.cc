/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Shared variables of functions that may call themselves. openmp-opt gives a
 * variable of __kmpc_alloc_shared one place in team-shared memory if only the
 * main thread allocates it (AAHeapToShared), however many calls of the function
 * are under way. In recursive functions this pass renames the allocation to
 * ompjit_alloc_recursive, the runtime's same function, which openmp-opt does
 * not know.
 */
#include <llvm-c/Core.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

using namespace llvm;

// passes/sharing/sharing.h is C.
extern "C" void ompjit__keep_recursive_locals(LLVMModuleRef m);

namespace {

/* Walks from a function to those that may call it. */
class Callers {
  public:
    /* Is `f` among its own direct or indirect callers? */
    bool reach(Function &f)
    {
        functions.push_back(&f);
        while (!functions.empty()) {
            add_users(*functions.pop_back_val());
            if (seen.contains(&f))
                return true;
        }
        return false;
    }

  private:
    void add(Function *f)
    {
        if (seen.insert(f).second)
            functions.push_back(f);
    }

    /* A function whose address escapes may be called by each indirect call. */
    void add_indirect_callers(Module &m)
    {
        if (indirect)
            return;
        indirect = true;
        for (Function &f : m)
            for (Instruction &i : instructions(f))
                if (auto *call = dyn_cast<CallBase>(&i))
                    if (call->isIndirectCall())
                        add(&f);
    }

    /* Is the use a call, or an argument of the runtime? That calls a parallel
     * region on behalf of the function that passes it, so the address does not
     * escape. */
    static bool stays_here(const Use &use)
    {
        auto *call = dyn_cast<CallBase>(use.getUser());
        const Function *callee = call ? call->getCalledFunction() : nullptr;
        return call && (call->isCallee(&use) ||
                        (callee && callee->getName().starts_with("__kmpc_")));
    }

    void add_users(Function &f)
    {
        SmallVector<Value *, 8> values(1, &f);
        while (!values.empty())
            for (Use &use : values.pop_back_val()->uses()) {
                if (auto *i = dyn_cast<Instruction>(use.getUser()))
                    add(i->getFunction());
                else if (isa<ConstantExpr>(use.getUser()))
                    values.push_back(use.getUser());
                if (!stays_here(use))
                    add_indirect_callers(*f.getParent());
            }
    }

    SmallPtrSet<Function *, 16> seen;
    SmallVector<Function *, 16> functions;
    bool indirect = false;
};

} // namespace

void ompjit__keep_recursive_locals(LLVMModuleRef ref)
{
    Module &m = *unwrap(ref);
    Function *alloc = m.getFunction("__kmpc_alloc_shared");
    if (!alloc)
        return;
    SmallVector<CallBase *, 8> calls;
    for (User *user : alloc->users())
        if (auto *call = dyn_cast<CallBase>(user))
            calls.push_back(call);
    for (CallBase *call : calls)
        if (Callers().reach(*call->getFunction()))
            call->setCalledFunction(m.getOrInsertFunction(
                "ompjit_alloc_recursive", alloc->getFunctionType()));
}
