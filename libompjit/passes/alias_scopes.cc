// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointers that lead to sections of their own, said of the accesses through
// them.
//
// An attribute noalias would promise more than the map clauses do: that nothing
// but this call of the kernel accesses the section. LLVM then moves loads
// across barriers and locks, and a value that another thread of the kernel
// stores is missed. Alias scopes say only that two accesses meet different
// sections, which holds for the accesses of all threads. The attribute is left
// for pointers that the kernel only reads through. A kernel that acquires gets
// it for none: a wait may be for another kernel's stores.
//
// Requires that the kernel is simplified; accesses in functions that it calls
// keep what is known of them.
//
// LangRef, "noalias and alias.scope metadata": two accesses do not alias if all
// scopes that one is in, of a domain, are in the other's noalias list. An
// access that may reach two sections is in neither's scope: it would be in
// both, and could not be told from an access to one of them.
#include <llvm-c/Core.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

using namespace llvm;

extern "C" { // passes/passes.h is C
void ompjit__note_acquires(LLVMValueRef kernel);
bool ompjit__acquires(LLVMValueRef kernel);
void ompjit__separate_sections(LLVMValueRef kernel, uint64_t separate,
                               unsigned first);
}

static const char acquires_attribute[] = "ompjit-acquires";

namespace {

// The C library's atomics, locks and pauses, which a host's kernel may call;
// LLVM's calls of the former for types without an atomic instruction.
bool is_waiting(StringRef name)
{
    static constexpr StringLiteral prefixes[] = {
        "__atomic_", "pthread_", "sem_", "mtx_", "cnd_", "thrd_"};
    return any_of(prefixes,
                  [&](StringRef prefix) { return name.starts_with(prefix); }) ||
           name == "sched_yield" || name == "nanosleep" || name == "usleep";
}

bool is_acquiring(const Function &callee)
{
    const StringRef name = callee.getName();
    if (callee.isIntrinsic())
        return name.starts_with("llvm.nvvm.membar.") ||
               name.starts_with("llvm.nvvm.fence.");
    return StringSwitch<bool>(name)
        .Cases({"__kmpc_flush", "__kmpc_flush_acquire",
                "__kmpc_flush_acqrel", "__kmpc_critical",
                "__kmpc_critical_with_hint", "omp_set_lock", "omp_test_lock",
                "omp_set_nest_lock", "omp_test_nest_lock"},
               true)
        .Default(callee.isDeclaration() && is_waiting(name));
}

// May what follows the instruction read what somebody else has stored before?
// Assembly that touches memory may be any of these.
bool is_acquiring(const Instruction &i)
{
    if (const auto *call = dyn_cast<CallBase>(&i))
        return call->isInlineAsm()
                   ? call->mayReadOrWriteMemory()
                   : call->getCalledFunction() &&
                         is_acquiring(*call->getCalledFunction());
    if (const auto *load = dyn_cast<LoadInst>(&i))
        return load->isVolatile() || isAcquireOrStronger(load->getOrdering());
    if (const auto *rmw = dyn_cast<AtomicRMWInst>(&i))
        return isAcquireOrStronger(rmw->getOrdering());
    if (const auto *cas = dyn_cast<AtomicCmpXchgInst>(&i))
        return isAcquireOrStronger(cas->getMergedOrdering());
    const auto *fence = dyn_cast<FenceInst>(&i);
    return fence && isAcquireOrStronger(fence->getOrdering());
}

// The kernel, what it calls, and what it hands over to be called.
class Reached {
  public:
    explicit Reached(Function &kernel)
    {
        functions.insert(&kernel);
        for (size_t i = 0; i < functions.size(); i++)
            add_callees(*functions[i]);
    }

    bool acquires() const
    {
        return any_of(functions, [](const Function *f) {
            return any_of(instructions(f), [](const Instruction &i) {
                return is_acquiring(i);
            });
        });
    }

  private:
    // A call through a pointer may be of any function of the module.
    void add_callees(Function &f)
    {
        for (Instruction &i : instructions(f)) {
            for (Value *operand : i.operands())
                if (auto *callee =
                        dyn_cast<Function>(operand->stripPointerCasts()))
                    functions.insert(callee);
            if (isa<CallBase>(i) && cast<CallBase>(i).isIndirectCall())
                for (Function &any : *f.getParent())
                    functions.insert(&any);
        }
    }

    SetVector<Function *> functions;
};

// Does nothing but loads reach memory through the pointer? Then no store of the
// kernel's meets the section, since all other pointers lead elsewhere, and
// `noalias` promises no more than what is so (LangRef: it is about locations
// that are modified).
bool is_only_read(const Argument &pointer)
{
    SmallVector<const Use *, 16> uses;
    SmallPtrSet<const Value *, 16> seen = {&pointer};
    for (const Use &use : pointer.uses())
        uses.push_back(&use);
    while (!uses.empty()) {
        const Use *use = uses.pop_back_val();
        const User *user = use->getUser();
        if (isa<LoadInst>(user) || isa<ICmpInst>(user))
            continue;
        if (const auto *copy = dyn_cast<MemTransferInst>(user)) {
            if (use != &copy->getRawSourceUse())
                return false;
            continue;
        }
        if (const auto *call = dyn_cast<CallBase>(user)) {
            if (!call->isArgOperand(use) ||
                !call->onlyReadsMemory(call->getArgOperandNo(use)) ||
                !call->doesNotCapture(call->getArgOperandNo(use)))
                return false;
            continue;
        }
        if (!isa<GetElementPtrInst, CastInst, PHINode, SelectInst, FreezeInst>(
                user) ||
            !user->getType()->isPtrOrPtrVectorTy())
            return false;
        if (seen.insert(user).second)
            for (const Use &next : user->uses())
                uses.push_back(&next);
    }
    return true;
}

// The sections of a kernel's parameters, each with a scope of its own in one
// domain, and the accesses of which they are said.
class Sections {
  public:
    Sections(Function &f, uint64_t separate, unsigned first)
        : kernel(f), context(f.getContext()), builder(context)
    {
        MDNode *domain = builder.createAnonymousAliasScopeDomain(f.getName());
        for (unsigned i = 0; i < 64 && first + i < f.arg_size(); i++) {
            Argument *a = f.getArg(first + i);
            if (separate >> i & 1 && a->getType()->isPointerTy())
                scopes[a] =
                    builder.createAnonymousAliasScope(domain, a->getName());
        }
    }

    void say_of_accesses()
    {
        for (Instruction &i : instructions(kernel))
            say_of(i);
    }

  private:
    // The objects that an access may reach; false: it reaches what has been
    // found in memory, which may be in a section of an argument.
    bool objects_of(const Instruction &i, SmallPtrSetImpl<const Value *> &to)
    {
        SmallVector<const Value *, 2> pointers;
        if (const Value *pointer = getLoadStorePointerOperand(&i)) {
            pointers.push_back(pointer);
        } else if (const auto *rmw = dyn_cast<AtomicRMWInst>(&i)) {
            pointers.push_back(rmw->getPointerOperand());
        } else if (const auto *cas = dyn_cast<AtomicCmpXchgInst>(&i)) {
            pointers.push_back(cas->getPointerOperand());
        } else if (const auto *memory = dyn_cast<MemIntrinsic>(&i)) {
            pointers.push_back(memory->getRawDest());
            if (const auto *copy = dyn_cast<MemTransferInst>(memory))
                pointers.push_back(copy->getRawSource());
        }
        for (const Value *pointer : pointers) {
            SmallVector<const Value *, 4> objects;
            getUnderlyingObjects(pointer, objects, nullptr, 0);
            for (const Value *o : objects) {
                if (!isa<Argument, AllocaInst, GlobalVariable,
                         ConstantPointerNull>(o))
                    return false;
                to.insert(o);
            }
        }
        return !to.empty();
    }

    void say_of(Instruction &i)
    {
        SmallPtrSet<const Value *, 4> objects;
        if (!objects_of(i, objects))
            return;
        SmallVector<Metadata *, 8> here, elsewhere;
        for (auto &[argument, scope] : scopes)
            (objects.count(argument) ? here : elsewhere).push_back(scope);
        if (here.size() == objects.size())
            add(i, LLVMContext::MD_alias_scope, here);
        if (!elsewhere.empty())
            add(i, LLVMContext::MD_noalias, elsewhere);
    }

    // Beside scopes that the instruction has of LLVM's own, as of a call that
    // was inlined.
    void add(Instruction &i, unsigned kind, ArrayRef<Metadata *> list)
    {
        i.setMetadata(kind, MDNode::concatenate(i.getMetadata(kind),
                                                MDNode::get(context, list)));
    }

    Function &kernel;
    LLVMContext &context;
    MDBuilder builder;
    MapVector<const Argument *, MDNode *> scopes;
};

} // namespace

void ompjit__note_acquires(LLVMValueRef kernel)
{
    Function &f = *unwrap<Function>(kernel);
    if (Reached(f).acquires())
        f.addFnAttr(acquires_attribute);
}

bool ompjit__acquires(LLVMValueRef kernel)
{
    return unwrap<Function>(kernel)->hasFnAttribute(acquires_attribute);
}

void ompjit__separate_sections(LLVMValueRef kernel, uint64_t separate,
                               unsigned first)
{
    Function &f = *unwrap<Function>(kernel);
    Sections(f, separate, first).say_of_accesses();
    for (unsigned i = 0; i < 64 && first + i < f.arg_size(); i++) {
        Argument *a = f.getArg(first + i);
        if (separate >> i & 1 && a->getType()->isPointerTy() &&
            !ompjit__acquires(kernel) && is_only_read(*a))
            a->addAttr(Attribute::NoAlias);
    }
}
