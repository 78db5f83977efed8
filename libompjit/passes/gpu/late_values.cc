/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Values that a kernel makes of its parameters, and needs only behind a call,
 * are made behind it. LLVM makes them as soon as it can: a register then keeps
 * each of them across the call, where a parameter itself takes none, since it
 * can be read again at any time.
 *
 * The code is optimized: later passes move nothing back before a call.
 */
#include <vector>
#include <llvm-c/Core.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

// passes/gpu/gpu.h is C.
extern "C" void ompjit__make_values_late(LLVMModuleRef m);

namespace {

struct Late {
    std::vector<llvm::Instruction *> values; /* in the order of dominance */
    std::vector<llvm::CallInst *> calls;     /* likewise                  */
};

/* A call that becomes one: neither of an intrinsic nor of assembly. */
bool is_call(const llvm::CallInst &call)
{
    return !llvm::isa<llvm::IntrinsicInst>(call) && !call.isInlineAsm();
}

/* One cheap instruction, of parameters, constants and other such values. */
bool is_cheap(const llvm::Instruction &i)
{
    switch (i.getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::Shl:
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
    case llvm::Instruction::GetElementPtr: return true;
    default: return llvm::isa<llvm::CastInst>(i);
    }
}

bool is_made(const llvm::Instruction &i,
             const llvm::SmallPtrSetImpl<const llvm::Value *> &made)
{
    if (!is_cheap(i))
        return false;
    for (const llvm::Value *v : i.operand_values())
        if (!llvm::isa<llvm::Constant, llvm::Argument>(v) && !made.contains(v))
            return false;
    return true;
}

/* A loop would make its values in every round. */
Late find(llvm::Function &f, const llvm::LoopInfo &loops)
{
    Late found;
    llvm::SmallPtrSet<const llvm::Value *, 32> made;
    llvm::ReversePostOrderTraversal<llvm::Function *> blocks(&f);
    for (llvm::BasicBlock *block : blocks)
        for (llvm::Instruction &i : *block) {
            auto *call = llvm::dyn_cast<llvm::CallInst>(&i);
            if (call && is_call(*call) && !loops.getLoopFor(block))
                found.calls.push_back(call);
            if (is_made(i, made)) {
                made.insert(&i);
                found.values.push_back(&i);
            }
        }
    return found;
}

bool is_needed_behind(const llvm::Instruction &value, llvm::CallInst &call,
                      const llvm::DominatorTree &tree)
{
    if (!tree.dominates(&value, &call) || value.use_empty())
        return false;
    for (const llvm::Use &use : value.uses())
        if (!tree.dominates(&call, use))
            return false;
    return true;
}

void make_late(llvm::Function &f)
{
    llvm::DominatorTree tree(f);
    llvm::LoopInfo loops(tree);
    Late found = find(f, loops);
    for (llvm::CallInst *call : found.calls)
        /* Backward: what a value is made of comes before it. */
        for (auto v = found.values.rbegin(); v != found.values.rend(); ++v)
            if (is_needed_behind(**v, *call, tree))
                (*v)->moveAfter(call);
}

} // namespace

void ompjit__make_values_late(LLVMModuleRef m)
{
    for (llvm::Function &f : *llvm::unwrap(m))
        if (f.getCallingConv() == llvm::CallingConv::PTX_Kernel &&
            !f.isDeclaration())
            make_late(f);
}
