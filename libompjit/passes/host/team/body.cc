// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beginning and end of a function that all threads of a team run. The entry
// keeps the variables and what gives the number of threads; the arrays that
// have an element for each thread stand there, too.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>

#include "passes/host/team/body.h"

using namespace llvm;
using namespace ompjit_team;

bool ompjit_team::is_call_of(const Value &v, StringRef name)
{
    const auto *call = dyn_cast<CallBase>(&v);
    const Function *f = call ? call->getCalledFunction() : nullptr;
    return f && f->getName() == name;
}

bool ompjit_team::is_barrier(const Instruction &i)
{
    return is_call_of(i, barrier_name);
}

Body::~Body()
{
    for (Instruction *i : removed)
        i->deleteValue();
}

void Body::remove(Instruction &i)
{
    i.removeFromParent();
    i.dropAllReferences();
    removed.push_back(&i);
}

// On the stack of the OS thread that runs the team, in the entry block, where n
// is known. own_bytes bounds the sum (keep_values).
AllocaInst *Body::make_array(Type *type, Align align)
{
    IRBuilder<> b(f.getEntryBlock().getTerminator());
    AllocaInst *array = b.CreateAlloca(type, n);
    array->setAlignment(std::max(align, array->getAlign()));
    own_bytes += layout.getTypeAllocSize(type);
    return array;
}

namespace {

// Can the block be part of a loop over threads? Exceptions and jumps to
// addresses would leave it.
bool is_simple(const BasicBlock &block)
{
    return isa<BranchInst, SwitchInst, ReturnInst, UnreachableInst>(
               block.getTerminator()) &&
           !block.isEHPad();
}

// The call that form.cc has put at the beginning; its argument is the
// number of threads.
CallInst *find_count(BasicBlock &entry)
{
    for (Instruction &i : entry)
        if (is_call_of(i, count_name))
            return cast<CallInst>(&i);
    return nullptr;
}

// A value of the entry, made again at `to`; NULL: it cannot be.
Value *make_early(Value *v, BasicBlock::iterator to)
{
    auto *i = dyn_cast<Instruction>(v);
    if (!i)
        return v;
    bool plain = isa<LoadInst, SelectInst, ICmpInst, CastInst,
                     GetElementPtrInst>(i) ||
                 is_call_of(*i, self_name);
    if (!plain || i->getParent() != to->getParent())
        return nullptr;
    Instruction *copy = i->clone();
    for (Use &use : copy->operands()) {
        Value *operand = make_early(use, to);
        if (!operand) {
            copy->deleteValue();
            return nullptr;
        }
        use.set(operand);
    }
    copy->insertBefore(to);
    return copy;
}

// In a region of a generic kernel the runtime knows the number, too.
void replace_size(Body &body)
{
    GlobalVariable *size = body.f.getParent()->getNamedGlobal(size_name);
    if (!size || !isa<Argument>(body.n))
        return;
    for (User *user : make_early_inc_range(size->users())) {
        auto *load = dyn_cast<LoadInst>(user);
        if (!load || load->getFunction() != &body.f ||
            load->getType() != body.n->getType())
            continue;
        load->replaceAllUsesWith(body.n);
        load->eraseFromParent();
    }
}

// All variables into the entry, which is run once. False: one has a size that
// is only known when it runs.
bool move_variables(Body &body)
{
    BasicBlock &entry = body.f.getEntryBlock();
    for (Instruction &i : make_early_inc_range(instructions(body.f)))
        if (auto *variable = dyn_cast<AllocaInst>(&i)) {
            if (!variable->isStaticAlloca())
                return false;
            body.variables.push_back(variable);
            variable->moveBefore(entry, entry.getFirstInsertionPt());
        }
    return true;
}

// An entry has something behind its variables: at least its terminator.
BasicBlock::iterator first_behind_variables(BasicBlock &entry)
{
    BasicBlock::iterator i = entry.begin();
    while (isa<AllocaInst>(*i))
        ++i;
    return i;
}

// The entry keeps the variables and the number of threads, is run once, and is
// the first cut. The engine has no more than OMPJIT_HOST_MAX_THREADS in a team,
// and no team without threads: LLVM is told.
bool split_entry(Body &body)
{
    BasicBlock &entry = body.f.getEntryBlock();
    CallInst *tell = find_count(entry);
    if (!tell)
        return false;
    body.n = make_early(tell->getArgOperand(0),
                        entry.getFirstNonPHIOrDbgOrAlloca());
    if (!body.n || !move_variables(body))
        return false;
    tell->eraseFromParent();
    replace_size(body);
    auto *last = dyn_cast<Instruction>(body.n);
    entry.splitBasicBlock(last ? std::next(last->getIterator())
                               : first_behind_variables(entry));
    body.cuts.insert(&entry);
    IRBuilder<> b(entry.getTerminator());
    body.self = b.CreateCall(body.f.getParent()->getOrInsertFunction(
        self_name, b.getPtrTy()));
    b.CreateAssumption(
        b.CreateICmpULT(b.CreateSub(body.n, b.getInt32(1)),
                        b.getInt32(OMPJIT_HOST_MAX_THREADS)));
    return true;
}

// The function's end is a cut: all threads have come to it before it returns.
void join_returns(Body &body)
{
    LLVMContext &c = body.f.getContext();
    SmallVector<BasicBlock *, 4> returning;
    for (BasicBlock &block : body.f)
        if (isa<ReturnInst>(block.getTerminator()))
            returning.push_back(&block);
    BasicBlock *last = BasicBlock::Create(c, "", &body.f);
    ReturnInst::Create(c, last);
    for (BasicBlock *block : returning) {
        block->getTerminator()->eraseFromParent();
        BranchInst::Create(last, block);
    }
    body.cuts.insert(last);
}

} // namespace

bool ompjit_team::split_ends(Body &body)
{
    removeUnreachableBlocks(body.f);
    if (!body.f.getReturnType()->isVoidTy() || !all_of(body.f, is_simple) ||
        !split_entry(body))
        return false;
    join_returns(body);
    return true;
}
