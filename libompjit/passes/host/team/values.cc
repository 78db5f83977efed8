// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that live from one region to another. A value that is the same in all
// threads is what the loop's last round has left. Any other is computed again
// where it is needed, if that is cheap, or kept in an array with an element for
// each thread. So are variables whose address is taken, unless one place can
// serve all threads, one after the other.
#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "abi/host_layout.h"
#include "passes/host/team/body.h"

using namespace llvm;
using namespace ompjit_team;

namespace {

enum { MOST_RECOMPUTED = 12 }; // of a value that is computed again

// ------------------------------------------------------------------ variables

// Does a way lead from one block to the other, perhaps without a step?
bool reaches(BasicBlock *from, BasicBlock *to)
{
    SmallPtrSet<BasicBlock *, 16> seen;
    SmallVector<BasicBlock *, 16> work = {from};
    while (!work.empty()) {
        BasicBlock *block = work.pop_back_val();
        if (block == to)
            return true;
        if (seen.insert(block).second)
            append_range(work, successors(block));
    }
    return false;
}

// The variable's users, and those of addresses made from its own.
void collect_users(Value &v, SetVector<Instruction *> &users)
{
    for (User *user : v.users()) {
        auto *i = cast<Instruction>(user);
        if (users.insert(i) && i->getType()->isPointerTy() &&
            isa<GetElementPtrInst, PHINode, SelectInst, CastInst>(i))
            collect_users(*i, users);
    }
}

bool is_lifetime_start(const Instruction &i)
{
    const auto *intrinsic = dyn_cast<IntrinsicInst>(&i);
    return intrinsic &&
           intrinsic->getIntrinsicID() == Intrinsic::lifetime_start;
}

// Can one place serve all threads, one after the other? Nothing may be left in
// it for another region, or for the same one when it runs again.
bool is_of_a_round(Body &body, AllocaInst &v)
{
    if (PointerMayBeCaptured(&v, true))
        return false;
    SetVector<Instruction *> users;
    collect_users(v, users);
    SmallVector<Instruction *, 4> begins;
    Region *only = nullptr;
    for (Instruction *user : users) {
        Region *r = body.region_at(user->getParent());
        if (!r || (only && r != only))
            return false;
        only = r;
        if (is_lifetime_start(*user))
            begins.push_back(user);
    }
    return !only || !reaches(only->exit, only->from) ||
           all_of(users, [&](Instruction *user) {
               return user->isLifetimeStartOrEnd() ||
                      any_of(begins, [&](Instruction *begin) {
                          return body.tree.dominates(begin, user);
                      });
           });
}

//   first:   %x = call ...          another in each thread
//            store %x, %slot[%tid]   added
//   barrier
//   second:  %y = load %slot[%tid]   in place of %x
class Values {
  public:
    explicit Values(Body &body) : body(body) {}

    bool keep()
    {
        if (!place_variables())
            return false;
        demote_joins();
        keep_others();
        return body.own_bytes <= OMPJIT__TEAM_THREAD_STACK;
    }

  private:
    // A variable serves all threads one after the other, or becomes an array of
    // bytes, of which each has an element; its lifetime is then the function's.
    bool place_variables()
    {
        for (AllocaInst *v : body.variables) {
            if (is_of_a_round(body, *v)) {
                body.of_rounds.insert(v);
                continue;
            }
            for (User *user : make_early_inc_range(v->users()))
                if (cast<Instruction>(user)->isLifetimeStartOrEnd())
                    body.remove(*cast<Instruction>(user));
            auto size = v->getAllocationSize(body.layout);
            if (!size || size->isScalable())
                return false;
            uint64_t bytes = alignTo(size->getFixedValue(), v->getAlign());
            Type *byte = Type::getInt8Ty(body.f.getContext());
            arrays[v] = body.make_array(ArrayType::get(byte, bytes),
                                        v->getAlign());
        }
        return true;
    }

    // Phis of joins that are another in each thread: each region that leads
    // there stores what comes from it.
    void demote_joins()
    {
        for (BasicBlock *block : body.cuts)
            for (PHINode &phi : block->phis())
                if (body.is_own(&phi)) {
                    slots[&phi] = body.make_array(phi.getType());
                    joins.push_back(&phi);
                }
        for (PHINode *phi : joins)
            for (unsigned i = 0; i < phi->getNumIncomingValues(); i++) {
                BasicBlock *from = phi->getIncomingBlock(i);
                IRBuilder<> b(from->getTerminator());
                b.CreateStore(phi->getIncomingValue(i),
                              Body::element(b, phi->getType(), slots[phi],
                                            *body.region_at(from)));
            }
        for (PHINode *phi : joins)
            for (Use &use : phi->incoming_values())
                use.set(PoisonValue::get(phi->getType()));
    }

    // Can the value be computed again from values that all regions have, in so
    // few steps, without memory and without a fault?
    bool is_cheap(Value *v, int &steps)
    {
        auto *i = dyn_cast<Instruction>(v);
        if (!i || !body.is_own(i) || body.numbers.contains(i) ||
            isa<AllocaInst>(i))
            return true;
        if (steps-- <= 0 || isa<PHINode>(i) ||
            !isa<CastInst, BinaryOperator, GetElementPtrInst, CmpInst,
                 SelectInst, IntrinsicInst>(i) ||
            i->mayReadOrWriteMemory() || !isSafeToSpeculativelyExecute(i))
            return false;
        return all_of(i->operands(),
                      [&](Use &use) { return is_cheap(use, steps); });
    }

    // The value as region r has it, at the beginning of a round.
    Value *value_in(Value *v, Region &r)
    {
        auto *i = dyn_cast<Instruction>(v);
        if (!i || !body.is_own(i) || body.of_rounds.contains(i))
            return v;
        if (body.numbers.contains(i))
            return r.tid;
        if (Value *known = r.values.lookup(i))
            return known;
        return r.values[i] = make_value(*i, r);
    }

    Value *make_value(Instruction &i, Region &r)
    {
        IRBuilder<> b(r.begin->getTerminator());
        if (auto *v = dyn_cast<AllocaInst>(&i))
            return Body::element(b, arrays[v]->getAllocatedType(), arrays[v],
                                 r);
        int steps = MOST_RECOMPUTED;
        if (!slots.contains(&i) && is_cheap(&i, steps)) {
            Instruction *copy = i.clone();
            for (Use &use : copy->operands())
                use.set(value_in(use, r));
            copy->insertBefore(r.begin->getTerminator()->getIterator());
            return copy;
        }
        Value *slot = slot_of(i);
        return b.CreateLoad(i.getType(),
                            Body::element(b, i.getType(), slot, r));
    }

    // The array in which each thread keeps a value from where it is computed.
    AllocaInst *slot_of(Instruction &i)
    {
        AllocaInst *&slot = slots[&i];
        if (slot)
            return slot;
        slot = body.make_array(i.getType());
        BasicBlock *block = i.getParent();
        IRBuilder<> b(block, isa<PHINode>(i) ? block->getFirstInsertionPt()
                                             : std::next(i.getIterator()));
        b.CreateStore(&i, Body::element(b, i.getType(), slot,
                                        *body.region_at(block)));
        return slot;
    }

    // The region of a use: of a phi, where the value comes from. Values that
    // come into a region's first block from the cut before are made in the
    // region.
    Region *region_of_use(const Use &use)
    {
        auto *user = cast<Instruction>(use.getUser());
        auto *phi = dyn_cast<PHINode>(user);
        BasicBlock *block = phi ? phi->getIncomingBlock(use) : nullptr;
        return body.region_at(
            block && !body.cuts.contains(block) ? block : user->getParent());
    }

    // The values that are another in each thread.
    SmallVector<Instruction *, 32> find_own()
    {
        SmallVector<Instruction *, 32> own;
        for (Instruction &i : instructions(body.f))
            if (body.is_own(&i) && !i.getType()->isVoidTy() &&
                !body.of_rounds.contains(&i))
                own.push_back(&i);
        return own;
    }

    // Uses in other regions than that of the value, and the value there.
    using Replacements = SmallVector<std::pair<Use *, Value *>, 32>;

    void find_uses(Instruction &i, Replacements &found)
    {
        Region *home = body.region_at(i.getParent());
        bool everywhere = body.numbers.contains(&i) || !home;
        SmallVector<Use *, 8> uses;
        for (Use &use : i.uses())
            if (everywhere || region_of_use(use) != home)
                uses.push_back(&use);
        for (Use *use : uses)
            if (Region *r = region_of_use(*use))
                found.push_back({use, value_in(&i, *r)});
    }

    // Values are computed again from those that there were: nothing changes
    // before all is known.
    void keep_others()
    {
        Replacements replacements;
        for (Instruction *i : find_own())
            find_uses(*i, replacements);
        for (auto [use, value] : replacements)
            use->set(value);
        for (PHINode *phi : joins)
            body.remove(*phi);
        for (const auto &[v, array] : arrays)
            body.remove(*cast<Instruction>(v));
    }

    Body &body;
    MapVector<Value *, AllocaInst *> arrays; // of variables
    DenseMap<const Value *, AllocaInst *> slots;
    SmallVector<PHINode *, 8> joins;
};

// An empty block before `next`.
BasicBlock *new_block(Body &body, BasicBlock *next)
{
    return BasicBlock::Create(body.f.getContext(), "", &body.f, next);
}

// The blocks of a region's loop, which loops.cc connects.
void make_blocks(Body &body, Region &r)
{
    r.before = new_block(body, r.entry);
    r.begin = new_block(body, r.entry);
    r.end = new_block(body, r.exit);
    r.after = new_block(body, r.exit);
    IRBuilder<> b(r.begin);
    r.tid = b.CreatePHI(b.getInt32Ty(), 2, "tid");
    r.index = b.CreateZExt(r.tid, b.getInt64Ty());
    BranchInst::Create(r.begin, r.before);
    BranchInst::Create(r.entry, r.begin);
}

} // namespace

bool ompjit_team::keep_values(Body &body)
{
    for (Region &r : body.regions)
        make_blocks(body, r);
    return Values(body).keep();
}
