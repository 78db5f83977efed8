// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes loops over a team's threads of functions that all of them run
// (KERNEL.team, form.cc). The function is cut where its threads meet. The
// code between two meetings is a region: it becomes the body of a loop over
// thread numbers, and the function is then called once for all threads.
// body.h has the steps.
//
// Between two barriers no thread may depend on another, other than by atomics:
// that would be a data race (OpenMP 5.2, 1.4.1: the result is unspecified).
// If a region has no atomics, the loops' accesses are marked as parallel, which
// lets LLVM vectorize them: llvm.loop.parallel_accesses promises that no round
// depends on another by these accesses (LangRef). Accesses to what the loops
// themselves share between rounds are left out.
//
// Requires simplified IR with the runtime inlined, before loops are vectorized
// or unrolled.
#include <llvm-c/Core.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "abi/host_layout.h"
#include "passes/host/team/body.h"

using namespace llvm;
using namespace ompjit_team;

// passes/passes.h is C.
extern "C" bool ompjit__has_team_forms(LLVMModuleRef m);
extern "C" void ompjit__loop_teams(LLVMModuleRef m);
extern "C" void ompjit__drop_waiting_team_forms(LLVMModuleRef m);
extern "C" void ompjit__yield_in_wait_loops(LLVMModuleRef m);

namespace {

// Does any instruction of the region's blocks pass the test?
template <typename Test> bool any_in(const Region &r, Test test)
{
    return any_of(r.blocks,
                  [&](BasicBlock *block) { return any_of(*block, test); });
}

// A call, but for what LLVM knows.
bool is_calling(const Instruction &i)
{
    return isa<CallBase>(i) && !isa<IntrinsicInst>(i) &&
           !is_call_of(i, self_name);
}

// Makes one region's loop:
//
//   before:  store 0 to the engine's number       once, for all threads
//   begin:   %tid = phi [0, before], [%next, end]
//   blocks:  the region
//   end:     %next = add %tid, 1; br (%next < %n), begin, after
//   after:   br exit
//
// The cut leads to `before`, the region's blocks to
// `end` in place of the next cut, and `after` to that. Phis on both sides
// follow.
class Wiring {
  public:
    Wiring(Body &body, Region &r) : body(body), r(r) {}

    void make_loop()
    {
        hoist_common();
        r.from->getTerminator()->replaceSuccessorWith(r.entry, r.before);
        replace_entry();
        for (PHINode &phi : r.exit->phis())
            replace_exit(phi);
        for (BasicBlock *block : r.blocks)
            block->getTerminator()->replaceSuccessorWith(r.exit, r.end);
        IRBuilder<> b(r.end);
        Value *next = b.CreateAdd(r.tid, b.getInt32(1), "", true, true);
        Value *more = b.CreateICmpULT(next, body.n);
        BranchInst *loop = b.CreateCondBr(more, r.begin, r.after);
        BranchInst::Create(r.exit, r.after);
        r.tid->addIncoming(b.getInt32(0), r.before);
        r.tid->addIncoming(next, r.end);
        tell_thread();
        if (!any_in(r, is_ordered))
            mark_parallel(*loop);
    }

  private:
    // May a thread depend on another by it, before they meet?
    static bool is_ordered(const Instruction &i)
    {
        return i.isAtomic() || i.isVolatile() || is_calling(i);
    }

    // Has the instruction one value in all threads, made of values that are
    // there before the loop?
    bool is_movable(const Instruction &i) const
    {
        return !isa<PHINode, AllocaInst>(i) && !body.is_own(&i) &&
               !i.getType()->isVoidTy() &&
               all_of(i.operands(), [&](const Use &use) {
                   const auto *o = dyn_cast<Instruction>(use);
                   return !o || (!r.blocks.contains(o->getParent()) &&
                                 o->getParent() != r.begin);
               });
    }

    // Work that all threads begin with in the same way is done once.
    void hoist_common()
    {
        if (r.entry->getSinglePredecessor() != r.from)
            return;
        for (Instruction &i : make_early_inc_range(*r.entry)) {
            if (i.isLifetimeStartOrEnd() || isa<AssumeInst>(i))
                continue;
            if (i.isTerminator() || i.mayHaveSideEffects() || i.isAtomic())
                break;
            if (is_movable(i))
                i.moveBefore(r.before->getTerminator()->getIterator());
        }
    }

    // A branch with two edges to the entry has one to what is before it now.
    void replace_entry()
    {
        for (PHINode &phi : r.entry->phis()) {
            int first = phi.getBasicBlockIndex(r.from);
            if (first < 0)
                continue;
            Value *v = phi.getIncomingValue((unsigned)first);
            phi.removeIncomingValueIf(
                [&](unsigned i) { return phi.getIncomingBlock(i) == r.from; },
                false);
            phi.addIncoming(v, r.begin);
        }
    }

    // The values that come from the region's blocks meet in a phi at its end.
    // The last round's goes on: phis that differ between threads are gone by
    // now (values.cc).
    void replace_exit(PHINode &phi)
    {
        PHINode *merged = nullptr;
        IRBuilder<> b(r.end, r.end->begin());
        auto is_from_here = [&](unsigned i) {
            return r.blocks.contains(phi.getIncomingBlock(i));
        };
        for (unsigned i = 0; i < phi.getNumIncomingValues(); i++) {
            if (!is_from_here(i))
                continue;
            if (!merged)
                merged = b.CreatePHI(phi.getType(), 2);
            merged->addIncoming(phi.getIncomingValue(i),
                                phi.getIncomingBlock(i));
        }
        phi.removeIncomingValueIf(is_from_here, false);
        if (merged)
            phi.addIncoming(merged, r.after);
    }

    // Is there a loop within the region, run by each thread?
    bool has_loop() const
    {
        return any_of(r.blocks, [&](BasicBlock *block) {
            return any_of(successors(block), [&](BasicBlock *next) {
                return r.blocks.contains(next) &&
                       body.tree.dominates(next, block);
            });
        });
    }

    // The thread's number, for functions that it calls and for errors; and
    // before all, thread 0 does for all what they begin with. A loop that may
    // be vectorized leaves open who it is.
    void tell_thread()
    {
        bool exact = has_loop() || any_in(r, is_ordered);
        IRBuilder<> b(r.before, r.before->begin());
        b.CreateStore(b.getInt32(0), body.self, true);
        b.SetInsertPoint(exact ? r.begin->getTerminator()
                               : r.before->getTerminator());
        Value *none = b.getInt32(NO_THREAD);
        b.CreateStore(exact ? r.tid : none, body.self, true);
    }

    // A variable that serves one thread after the other makes them depend on
    // each other.
    bool is_parallel(const Instruction &i) const
    {
        const Value *pointer = getLoadStorePointerOperand(&i);
        SmallVector<const Value *, 4> objects;
        if (!pointer)
            return false;
        getUnderlyingObjects(pointer, objects, nullptr, 0);
        return none_of(objects, [&](const Value *object) {
            return body.of_rounds.contains(object);
        });
    }

    // `loop` is the branch back. Accesses keep the groups that they are in
    // already, as those of a loop within.
    void mark_parallel(Instruction &loop)
    {
        LLVMContext &c = body.f.getContext();
        MDNode *group = MDNode::getDistinct(c, {});
        auto mark = [&](BasicBlock &block) {
            for (Instruction &i : block)
                if (is_parallel(i))
                    i.setMetadata(
                        LLVMContext::MD_access_group,
                        uniteAccessGroups(
                            i.getMetadata(LLVMContext::MD_access_group),
                            group));
        };
        mark(*r.begin);
        for (BasicBlock *block : r.blocks)
            mark(*block);
        MDNode *parallel = MDNode::get(
            c, {MDString::get(c, "llvm.loop.parallel_accesses"), group});
        MDNode *id = MDNode::getDistinct(c, {nullptr, parallel});
        id->replaceOperandWith(0, id);
        loop.setMetadata(LLVMContext::MD_loop, id);
    }

    Body &body;
    Region &r;
};

// True: the function is called once for all threads.
bool loop(Function &f)
{
    Body body(f);
    if (!split_ends(body))
        return false;
    replace_shuffles(body);
    join_skips(body);
    if (!find_own_values(body) || !cut(body) || !keep_values(body))
        return false;
    make_loops(body);
    return true;
}

// Is it a kernel's form for whole teams, and not one of its parts?
bool is_team_form(const Function &f)
{
    return !f.isDeclaration() && f.hasExternalLinkage() &&
           f.getName().ends_with(OMPJIT__TEAM_SUFFIX);
}

// A function that only fibers can run: nothing is left of it but a call by
// which the forms that need it are known.
void give_up(Function &f)
{
    f.deleteBody();
    f.setLinkage(GlobalValue::InternalLinkage);
    IRBuilder<> b(BasicBlock::Create(f.getContext(), "", &f));
    b.CreateCall(f.getParent()->getOrInsertFunction(count_name, b.getVoidTy(),
                                                    b.getInt32Ty()),
                 b.getInt32(0));
    b.CreateUnreachable();
}

} // namespace

void ompjit_team::make_loops(Body &body)
{
    for (Region &r : body.regions)
        Wiring(body, r).make_loop();
    // The caller is thread 0 again.
    for (BasicBlock &block : body.f)
        if (auto *end = dyn_cast<ReturnInst>(block.getTerminator())) {
            IRBuilder<> b(end);
            b.CreateStore(b.getInt32(0), body.self, true);
        }
    body.f.removeFnAttr(threads_attribute);
    if (body.f.hasLocalLinkage()) // or a variant looks for its parameters
        body.f.removeFnAttr(Attribute::NoInline);
}

bool ompjit__has_team_forms(LLVMModuleRef m)
{
    return any_of(*unwrap(m), is_team_form);
}

void ompjit__drop_waiting_team_forms(LLVMModuleRef ref)
{
    Module &m = *unwrap(ref);
    for (Function &f : make_early_inc_range(m)) {
        if (!is_team_form(f) || needs_no_fibers(f))
            continue;
        Function *body = m.getFunction((f.getName() + OMPJIT__TEAM_BODY).str());
        f.eraseFromParent();
        if (body)
            body->setLinkage(GlobalValue::InternalLinkage);
    }
}

void ompjit__loop_teams(LLVMModuleRef ref)
{
    Module &m = *unwrap(ref);
    ompjit__yield_in_wait_loops(ref);
    set_convergent(m, false);
    for (Function &f : m)
        if (!f.isDeclaration() && f.hasFnAttribute(threads_attribute) &&
            !loop(f))
            give_up(f);
    ompjit__drop_waiting_team_forms(ref);
}
