/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Variables that clang takes from the runtime's heap, because another thread of
 * the team may get their address (__kmpc_alloc_shared), become variables of the
 * stack. On the host device all threads can read each other's stacks, so it is
 * enough that the variable is freed before its function returns. On a GPU,
 * where stacks are private, openmp-opt does this for those that no other thread
 * reaches.
 *
 * Requires retargeted IR before the runtime is linked: what SROA and the
 * inliner can do with such a variable they do with any other. C++ because
 * LLVM's C API cannot walk over a function's blocks and remember them.
 */
#include <llvm-c/Core.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "runtime-bc/alignment.h"


using namespace llvm;

// passes/passes.h is C.
extern "C" void ompjit__heap_to_stack(LLVMModuleRef m);

namespace {

/* A thread's stack has 4 MB (device/engine/team.c), of which one function takes
 * no more than this; the time of a larger variable is that of its use. */
enum : uint64_t { FRAME_BYTES = 64 << 10 };

/* A call of __kmpc_alloc_shared, and the calls that free what it gives. */
struct Variable {
    CallInst *alloc;
    uint64_t size;
    SmallVector<CallInst *, 4> frees;
};

/* How a way through a block ends: the variable is freed, is not yet, or may
 * live on where the function returns or allocates it once more. */
enum class End { FREED, OPEN, ESCAPED };

/* Through one block, from an instruction to its end. */
End look_through(const Variable &v, BasicBlock::iterator from,
                 BasicBlock *block)
{
    for (Instruction &i : make_range(from, block->end())) {
        if (is_contained(v.frees, &i))
            return End::FREED;
        if (&i == v.alloc || isa<ReturnInst>(i) || isa<ResumeInst>(i))
            return End::ESCAPED; /* a second one lives, or the function ends */
    }
    return End::OPEN;
}

/* Is the variable freed on each way to the function's end, and to the next time
 * that it is allocated? */
bool is_freed_in_time(const Variable &v)
{
    SmallPtrSet<BasicBlock *, 16> seen;
    SmallVector<BasicBlock *, 16> blocks;
    BasicBlock *block = v.alloc->getParent();
    BasicBlock::iterator from = std::next(v.alloc->getIterator());
    while (true) {
        End end = look_through(v, from, block);
        if (end == End::ESCAPED)
            return false;
        if (end == End::OPEN)
            for (BasicBlock *next : successors(block))
                if (seen.insert(next).second)
                    blocks.push_back(next);
        if (blocks.empty())
            return true;
        block = blocks.pop_back_val();
        from = block->begin();
    }
}

bool is_call_of(const User *user, const char *name)
{
    const auto *call = dyn_cast<CallInst>(user);
    const Function *f = call ? call->getCalledFunction() : nullptr;
    return f && f->getName() == name;
}

/* False: its size is not constant, or the function may keep it. */
bool find_variable(CallInst *alloc, Variable &v)
{
    auto *size = dyn_cast<ConstantInt>(alloc->getArgOperand(0));
    if (!size)
        return false;
    v = {alloc, size->getZExtValue(), {}};
    for (User *user : alloc->users())
        if (is_call_of(user, "__kmpc_free_shared"))
            v.frees.push_back(cast<CallInst>(user));
    return is_freed_in_time(v);
}

/* One slot in the function's frame serves all rounds of a loop, since each
 * frees the variable before the next allocates it. */
void move_to_stack(Variable &v)
{
    BasicBlock &entry = v.alloc->getFunction()->getEntryBlock();
    IRBuilder<> b(&entry, entry.begin());
    AllocaInst *slot = b.CreateAlloca(ArrayType::get(b.getInt8Ty(), v.size));
    slot->setAlignment(std::max(Align(ompjit__alignment_of(v.size, OMPJIT__WIDEST_ALIGN)),
                                v.alloc->getRetAlign().valueOrOne()));
    slot->takeName(v.alloc);
    b.SetInsertPoint(v.alloc);
    b.CreateLifetimeStart(slot);
    for (CallInst *free : v.frees) {
        b.SetInsertPoint(free);
        b.CreateLifetimeEnd(slot);
        free->eraseFromParent();
    }
    v.alloc->replaceAllUsesWith(slot);
    v.alloc->eraseFromParent();
}

/* A call that was marked so must not see its caller's stack. */
void forbid_tail_calls(Function &f)
{
    for (Instruction &i : instructions(f))
        if (auto *call = dyn_cast<CallInst>(&i))
            if (call->getTailCallKind() == CallInst::TCK_Tail)
                call->setTailCallKind(CallInst::TCK_None);
}

/* Such a call has to stay one, and its caller's frame is gone when it runs. */
bool has_must_tail(Function &f)
{
    return any_of(instructions(f), [](Instruction &i) {
        auto *call = dyn_cast<CallInst>(&i);
        return call && call->isMustTailCall();
    });
}

/* As many of its variables as there is room for, the first ones first. */
void change_function(Function &f)
{
    uint64_t room = FRAME_BYTES;
    SmallVector<CallInst *, 8> calls;
    for (Instruction &i : instructions(f))
        if (is_call_of(&i, "__kmpc_alloc_shared"))
            calls.push_back(cast<CallInst>(&i));
    if (calls.empty() || has_must_tail(f))
        return;
    for (CallInst *alloc : calls) {
        Variable v;
        if (!find_variable(alloc, v) || v.size > room)
            continue;
        room -= v.size;
        move_to_stack(v);
    }
    if (room < FRAME_BYTES)
        forbid_tail_calls(f);
}

} // namespace

void ompjit__heap_to_stack(LLVMModuleRef m)
{
    if (unwrap(m)->getFunction("__kmpc_alloc_shared"))
        for (Function &f : *unwrap(m))
            change_function(f);
}
