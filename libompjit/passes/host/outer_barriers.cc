// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers for a whole team at the very beginning and end of a kernel order
// nothing: before the first one no thread has written, or has read what another
// may write, and behind the last one none does either. On the host each costs a
// thread a switch of stacks, and a kernel that has no other needs no fibers
// (passes/host/team/independent.cc). Parallel regions of SPMD kernels begin and end
// with one.
//
// Requires optimized host IR, in which the entry has the kernel's code or calls
// it and returns.
#include <llvm-c/Core.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "abi/host_layout.h"

using namespace llvm;

// passes/passes.h is C.
extern "C" void ompjit__drop_outer_barriers(LLVMModuleRef m);

namespace {

constexpr StringLiteral barrier_name = "ompjit_host_barrier";
constexpr StringLiteral self_name = "ompjit_host_self";

// The function that a call names; NULL: it is none, or calls a pointer.
const Function *callee_of(const Value *v)
{
    const auto *call = dyn_cast<CallBase>(v);
    return call ? call->getCalledFunction() : nullptr;
}

// A barrier of all threads: ompjit_host_barrier(0, 0), or a function that does
// no more.
bool is_barrier(const Instruction &i)
{
    const Function *f = callee_of(&i);
    if (!f)
        return false;
    if (f->getName() == barrier_name)
        return all_of(cast<CallBase>(i).args(), [](const Use &use) {
            const auto *c = dyn_cast<ConstantInt>(use);
            return c && c->isZero();
        });
    if (f->isDeclaration() || f->size() != 1 ||
        f->getEntryBlock().sizeWithoutDebug() != 2)
        return false;
    return callee_of(&f->front().front()) &&
           callee_of(&f->front().front())->getName() == barrier_name &&
           is_barrier(f->front().front());
}

// The pointer that an address is computed from.
const Value *base_of(const Value *v)
{
    while (const auto *gep = dyn_cast<GetElementPtrInst>(v))
        v = gep->getPointerOperand();
    return v;
}

// The launch's arguments, which the entry finds through its parameter, and what
// a thread knows of itself: nobody writes there.
bool is_constant(const Value *address)
{
    const Value *base = base_of(address);
    if (const auto *load = dyn_cast<LoadInst>(base))
        base = base_of(load->getPointerOperand());
    else if (callee_of(base))
        return callee_of(base)->getName() == self_name;
    const auto *argument = dyn_cast<Argument>(base);
    return argument &&
           argument->getParent()->getName().ends_with(OMPJIT__ENTRY_SUFFIX);
}

// Can no thread tell when the instruction runs?
bool is_quiet(const Instruction &i)
{
    if (!i.mayReadOrWriteMemory() && !i.mayHaveSideEffects())
        return true;
    if (const auto *intrinsic = dyn_cast<IntrinsicInst>(&i))
        return intrinsic->isAssumeLikeIntrinsic();
    const auto *load = dyn_cast<LoadInst>(&i);
    return load && load->isSimple() && is_constant(load->getPointerOperand());
}

// Along the way that all threads go from the beginning, up to a branch or a
// loop.
void drop_first(Function &f)
{
    for (BasicBlock *block = &f.getEntryBlock(); block;) {
        for (Instruction &i : make_early_inc_range(*block)) {
            if (is_barrier(i))
                i.eraseFromParent();
            else if (!is_quiet(i))
                return;
        }
        block = block->getUniqueSuccessor();
        if (block && !block->getUniquePredecessor())
            return;
    }
}

// Backwards from a return. A block before it that leads elsewhere as well ends
// the search, as threads that go there may meet others.
void drop_last(BasicBlock &block)
{
    for (Instruction &i : make_early_inc_range(reverse(block))) {
        if (is_barrier(i))
            i.eraseFromParent();
        else if (!is_quiet(i))
            return;
    }
    for (BasicBlock *before : predecessors(&block))
        if (before->getUniqueSuccessor() == &block && before != &block)
            drop_last(*before);
}

// The kernel, where the entry does nothing but call it; else the entry.
Function *kernel_of(Function &entry)
{
    if (entry.size() != 1)
        return &entry;
    Function *kernel = nullptr;
    for (Instruction &i : entry.front()) {
        Function *f = const_cast<Function *>(callee_of(&i));
        if (is_barrier(i) || is_quiet(i))
            continue;
        if (isa<ReturnInst>(i))
            break;
        if (kernel || !f || f->isDeclaration() || !f->hasLocalLinkage() ||
            !f->hasOneUse())
            return &entry;
        kernel = f;
    }
    return kernel ? kernel : &entry;
}

// Functions that did no more than such a barrier, and that nobody calls now.
void drop_unused(Module &m)
{
    for (Function &f : make_early_inc_range(m))
        if (f.hasLocalLinkage() && f.use_empty() &&
            f.size() == 1 && is_barrier(f.front().front()))
            f.eraseFromParent();
}

} // namespace

void ompjit__drop_outer_barriers(LLVMModuleRef ref)
{
    Module &m = *unwrap(ref);
    if (!m.getFunction(barrier_name))
        return;
    for (Function &f : m) {
        if (f.isDeclaration() || !f.getName().ends_with(OMPJIT__ENTRY_SUFFIX))
            continue;
        Function *kernel = kernel_of(f);
        drop_first(*kernel);
        for (BasicBlock &block : *kernel)
            if (isa<ReturnInst>(block.getTerminator()))
                drop_last(block);
    }
    drop_unused(m);
}
