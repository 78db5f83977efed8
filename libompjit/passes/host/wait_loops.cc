// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that wait for another thread of the team. On a GPU the other thread
// runs meanwhile; on the host device it may be a fiber of the same OS thread,
// which runs only when this one gives way. So each round of such a loop ends
// with a yield, of a name of its own: the device asks whether an image has any
// (device/host/host.c), since the other thread may be of another team.
//
// A loop waits if it reads the same place again by an atomic or volatile
// access, branches by what it reads, and stores nothing but by atomic
// operations. The place is one that another thread can reach: a volatile
// variable on the stack that is not handed to anybody changes by the thread's
// own stores. A loop that only counts what it finds by an atomic update
// branches by something else. A loop that repeats a compare-and-exchange with
// what it has found (an atomic update) does not wait: its own next round
// succeeds. A loop that works stores to another place in each round. One that
// stores to the same place again, as a count of its rounds, waits where it only
// loads what it branches by; an update would be its share of work.
#include <llvm-c/Core.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

using namespace llvm;

// passes/passes.h is C.
extern "C" void ompjit__yield_in_wait_loops(LLVMModuleRef m);

namespace {

constexpr StringLiteral yield_name = "ompjit_host_yield";
constexpr StringLiteral wait_name = "ompjit_host_wait";
constexpr StringLiteral runtime_prefix = "ompjit_";

// Is it a call of one of the engine's functions, which the module does not
// define?
bool is_engine(const Instruction &i)
{
    const auto *call = dyn_cast<CallBase>(&i);
    const Function *callee = call ? call->getCalledFunction() : nullptr;
    return callee && callee->isDeclaration() &&
           callee->getName().starts_with(runtime_prefix);
}

// An access that reads memory anew each time: LLVM may take the value of a
// plain load from the round before, so a loop cannot wait by one.
bool is_reading_again(const Instruction &i)
{
    if (const auto *load = dyn_cast<LoadInst>(&i))
        return load->isVolatile() || load->isAtomic();
    return isa<AtomicRMWInst, AtomicCmpXchgInst>(i);
}

// Is the address only used to access what is there? LLVM's own analysis takes a
// volatile access for one that hands the address on.
bool is_only_accessed(const Value *at)
{
    return all_of(at->uses(), [](const Use &use) {
        const User *user = use.getUser();
        if (isa<GetElementPtrInst, AddrSpaceCastInst>(user))
            return is_only_accessed(user);
        if (const auto *store = dyn_cast<StoreInst>(user))
            return store->getPointerOperand() == use.get() &&
                   store->getValueOperand() != use.get();
        const auto *call = dyn_cast<IntrinsicInst>(user);
        return isa<LoadInst, AtomicRMWInst, AtomicCmpXchgInst>(user)
                   ? use.getOperandNo() == 0
                   : call && call->isLifetimeStartOrEnd();
    });
}

// Can another thread have the address?
bool is_reachable(const Value *at)
{
    const auto *variable = dyn_cast<AllocaInst>(getUnderlyingObject(at));
    return !variable || !is_only_accessed(variable);
}

// A function without such an access has no loop that waits.
bool may_wait(const Function &f)
{
    return any_of(instructions(f), is_reading_again);
}

// Does the instruction give way already?
bool is_yield(const Instruction &i)
{
    if (!is_engine(i))
        return false;
    StringRef name = cast<CallBase>(i).getCalledFunction()->getName();
    return name == yield_name || name == wait_name;
}

// A function that only looks: all it changes are variables of its own.
constexpr int MOST_CALLS = 3;
bool only_looks(const Function &f, int calls);

bool only_looks(const Instruction &i, int calls)
{
    if (isa<AtomicRMWInst, AtomicCmpXchgInst, FenceInst, LoadInst,
            IntrinsicInst>(i) ||
        is_engine(i))
        return !is_yield(i);
    if (const auto *store = dyn_cast<StoreInst>(&i))
        return isa<AllocaInst>(
                   store->getPointerOperand()->stripPointerCasts()) ||
               store->isAtomic();
    if (const auto *call = dyn_cast<CallBase>(&i))
        return call->getCalledFunction() && calls &&
               only_looks(*call->getCalledFunction(), calls - 1);
    return !i.mayHaveSideEffects();
}

bool only_looks(const Function &f, int calls)
{
    return !f.isDeclaration() && all_of(instructions(f), [&](auto &i) {
        return only_looks(i, calls);
    });
}

//   while (!atomic_load(&flag)) ;             waits: reads the same place again
//   while (!cas(&x, old, old + 1)) old = x;   does not: its next round succeeds
//   for (...) a[i] = atomic_load(&b[i]);      does not: stores, to other places
class WaitLoop {
  public:
    explicit WaitLoop(Loop &l) : loop(l) {}

    bool waits() const
    {
        bool reads_again = false, loads_again = false, notes = false;
        for (BasicBlock *block : loop.blocks())
            for (Instruction &i : *block) {
                const bool is_note = !only_looks(i, MOST_CALLS);
                if ((is_note && !stores_again(i)) || is_update(i))
                    return false;
                notes = notes || is_note;
                if (!is_same_place(i) || !decides(i))
                    continue;
                reads_again = true;
                loads_again = loads_again || isa<LoadInst>(i);
            }
        return notes ? loads_again : reads_again;
    }

  private:
    // Is it a store to the place of the round before?
    bool stores_again(const Instruction &i) const
    {
        const auto *store = dyn_cast<StoreInst>(&i);
        return store && is_invariant(store->getPointerOperand(), MOST_STEPS);
    }

    // A compare-and-exchange with a value that this round has found.
    bool is_update(const Instruction &i) const
    {
        const auto *cas = dyn_cast<AtomicCmpXchgInst>(&i);
        return cas && !is_invariant(cas->getCompareOperand(), MOST_STEPS);
    }

    // Does a branch of the loop depend on it? Values that go through memory are
    // followed through variables on the stack.
    bool decides(Instruction &i) const
    {
        SmallSetVector<Value *, 16> found;
        found.insert(&i);
        for (size_t at = 0; at < found.size(); at++) {
            auto *value = dyn_cast<Instruction>(found[at]);
            if (value && value->isTerminator() && loop.contains(value) &&
                value->getNumSuccessors() > 1)
                return true;
            if (value && value->mayWriteToMemory())
                for (Value *operand : value->operands())
                    if (auto *variable =
                            dyn_cast<AllocaInst>(getUnderlyingObject(operand)))
                        found.insert(variable);
            for (User *user : found[at]->users())
                found.insert(user);
        }
        return false;
    }

    // Is it an access to the place of the round before, here or in a function
    // with the same arguments?
    bool is_same_place(const Instruction &i) const
    {
        if (const auto *call = dyn_cast<CallBase>(&i))
            return call->getCalledFunction() &&
                   may_wait(*call->getCalledFunction()) &&
                   all_of(call->args(), [&](const Use &use) {
                       return is_invariant(use, MOST_STEPS);
                   });
        if (!is_reading_again(i))
            return false;
        const Value *at = isa<LoadInst>(i)
                              ? cast<LoadInst>(i).getPointerOperand()
                          : isa<AtomicRMWInst>(i)
                              ? cast<AtomicRMWInst>(i).getPointerOperand()
                              : cast<AtomicCmpXchgInst>(i).getPointerOperand();
        return is_reachable(at) && is_invariant(at, MOST_STEPS);
    }

    // The checker's answer for an address depends on that address.
    bool is_invariant(const Value *v, int steps) const
    {
        const auto *i = dyn_cast<Instruction>(v);
        if (!i || !loop.contains(i))
            return true;
        if (!steps || isa<PHINode>(i) ||
            (isa<CallBase>(i) && !is_engine(*i)) ||
            (isa<LoadInst>(i) && is_stored_to(*cast<LoadInst>(i))))
            return false;
        return all_of(i->operands(), [&](const Use &use) {
            return is_invariant(use, steps - 1);
        });
    }

    // A variable on the stack; all else the loop does not store to.
    bool is_stored_to(const LoadInst &load) const
    {
        const Value *at = load.getPointerOperand()->stripPointerCasts();
        return isa<AllocaInst>(at) &&
               any_of(at->users(), [&](const User *user) {
                   const auto *store = dyn_cast<StoreInst>(user);
                   return store && loop.contains(store);
               });
    }

    static constexpr int MOST_STEPS = 8;
    Loop &loop;
};

// On the edges back to the header, which each round takes; the loops are not
// used any more when the edges are split.
void yield_in(Function &f, FunctionCallee yield)
{
    DominatorTree tree(f);
    LoopInfo loops(tree);
    SmallVector<BasicBlock *, 4> latches;
    SmallVector<std::pair<BasicBlock *, BasicBlock *>, 4> edges;
    for (Loop *loop : loops.getLoopsInPreorder()) {
        if (!WaitLoop(*loop).waits())
            continue;
        latches.clear();
        loop->getLoopLatches(latches);
        for (BasicBlock *latch : latches)
            edges.push_back({latch, loop->getHeader()});
    }
    for (auto [latch, header] : edges)
        IRBuilder<>(SplitEdge(latch, header)->getTerminator())
            .CreateCall(yield);
}

} // namespace

void ompjit__yield_in_wait_loops(LLVMModuleRef ref)
{
    Module &m = *unwrap(ref);
    if (none_of(m, may_wait))
        return;
    FunctionCallee yield =
        m.getOrInsertFunction(wait_name, Type::getVoidTy(m.getContext()));
    for (Function &f : m)
        if (!f.isDeclaration())
            yield_in(f, yield);
}
