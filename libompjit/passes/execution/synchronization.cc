/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Adds markers (marker.h) beside instructions that synchronize threads, for
 * openmp-opt of LLVM 22. It assumes that between two aligned barriers no thread
 * reads what another has stored, since that would be a race: a load of a team's
 * variable then has the value that was stored before the first barrier. But
 * threads may hand over data by locks, atomics and fences. openmp-opt
 * (AAExecutionDomain) expects these only in calls of functions whose code it
 * does not have, while the device runtime's locks are linked, and the program's
 * own atomics are there.
 *
 * It also takes the last store before a barrier for the one that a load behind
 * the barrier reads (AAPointerInfo). Where threads change a team's variable in
 * turns, another thread's store may be the last.
 *
 * There are two markers: one may synchronize, the other also may change the
 * variable that is its argument.
 */
#include <llvm-c/Core.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

using namespace llvm;

/* passes/execution/execution.h and marker.h are C. */
extern "C" {
void ompjit__mark_synchronization(LLVMModuleRef m);
void ompjit__unmark_synchronization(LLVMModuleRef m);
LLVMValueRef ompjit__marker_declare(LLVMModuleRef m, const char *name,
                                    const char *const *flags,
                                    const char *assumption);
void ompjit__marker_drop(LLVMModuleRef m, const char *name);
}

namespace {

const char plain_marker[] = "ompjit_synchronizes";
const char variable_marker[] = "ompjit_synchronizes_on";
enum { SHARED = 3 }; /* NVPTX's address space of a team's variables */

/* Relaxed atomics and volatile accesses count: they read what other threads
 * have stored meanwhile. */
bool synchronizes(const Instruction &i)
{
    if (isa<FenceInst, AtomicRMWInst, AtomicCmpXchgInst>(i))
        return true;
    if (const auto *load = dyn_cast<LoadInst>(&i))
        return load->isVolatile() || load->isAtomic();
    if (const auto *store = dyn_cast<StoreInst>(&i))
        return store->isVolatile() || store->isAtomic();
    return false;
}

class Markers {
  public:
    explicit Markers(Module &m) : m(m) {}

    void add()
    {
        find_functions();
        for (Function &f : m)
            if (!f.isDeclaration() && functions.contains(&f))
                mark(f);
    }

  private:
    Module &m;
    /* The functions that synchronize, or call one that does. */
    SmallPtrSet<const Function *, 32> functions;
    Function *plain = nullptr, *variable = nullptr;

    bool may_synchronize(const Instruction &i) const
    {
        const auto *call = dyn_cast<CallBase>(&i);
        const Function *callee = call ? call->getCalledFunction() : nullptr;
        return synchronizes(i) || (callee && functions.contains(callee));
    }

    void find_functions()
    {
        bool more = true;
        while (more) {
            more = false;
            for (Function &f : m)
                if (!functions.contains(&f) &&
                    any_of(instructions(f), [&](const Instruction &i) {
                        return may_synchronize(i);
                    }))
                    more = functions.insert(&f).second;
        }
    }

    /* Adds the team's variables that a value refers to, but not the device
     * runtime's own, which its prefix tells. */
    static void add_variables(const Value *v, SetVector<Value *> &found)
    {
        if (auto *global = dyn_cast<GlobalVariable>(v)) {
            if (global->getAddressSpace() == SHARED &&
                global->hasLocalLinkage() &&
                !global->getName().starts_with("ompjit_"))
                found.insert(const_cast<GlobalVariable *>(global));
        } else if (const auto *constant = dyn_cast<ConstantExpr>(v)) {
            for (const Use &operand : constant->operands())
                add_variables(operand, found);
        }
    }

    /* The addresses of memory that other threads may access, as far as they are
     * arguments, globals or values of the entry block. */
    static SetVector<Value *> variables(Function &f)
    {
        SetVector<Value *> found;
        if (f.getCallingConv() != CallingConv::PTX_Kernel)
            for (Argument &argument : f.args())
                if (argument.getType()->isPointerTy())
                    found.insert(&argument);
        for (Instruction &i : instructions(f)) {
            for (const Use &operand : i.operands())
                add_variables(operand, found);
            const auto *call = dyn_cast<CallInst>(&i);
            const Function *callee =
                call ? call->getCalledFunction() : nullptr;
            if (callee && callee->getName() == "__kmpc_alloc_shared" &&
                i.getParent() == &f.getEntryBlock())
                found.insert(&i);
        }
        return found;
    }

    Function *plain_function()
    {
        static const char *const flags[] = {"convergent", "nocallback",
                                            "nofree", "nounwind",
                                            "willreturn", nullptr};
        if (!plain)
            plain = unwrap<Function>(ompjit__marker_declare(
                wrap(&m), plain_marker, flags,
                "omp_no_openmp,ompx_spmd_amenable"));
        return plain;
    }

    /* It accesses the argument's memory as well. The pointer is not captured:
     * openmp-opt would assume that others keep the variable's address. */
    Function *variable_function()
    {
        if (variable)
            return variable;
        const Function *like = plain_function();
        LLVMContext &c = m.getContext();
        variable = Function::Create(
            FunctionType::get(Type::getVoidTy(c), {PointerType::get(c, 0)},
                              false),
            GlobalValue::ExternalLinkage, variable_marker, m);
        variable->setAttributes(like->getAttributes());
        variable->setMemoryEffects(
            MemoryEffects::inaccessibleOrArgMemOnly());
        variable->addParamAttr(
            0, Attribute::getWithCaptureInfo(c, CaptureInfo::none()));
        return variable;
    }

    /* Is the value available at the instruction? Values of the entry block are,
     * in all other blocks. */
    static bool precedes(const Value *v, const Instruction &at)
    {
        const auto *made = dyn_cast<Instruction>(v);
        return !made || made->getParent() != at.getParent() ||
               made->comesBefore(&at);
    }

    /* Adds the markers before `at`; `itself`: the instruction synchronizes, and
     * not only a function that it calls. */
    void mark_at(Instruction &at, bool itself,
                 const SetVector<Value *> &variables)
    {
        IRBuilder<> b(&at);
        if (itself)
            b.CreateCall(plain_function());
        for (Value *v : variables)
            if (precedes(v, at))
                b.CreateCall(variable_function(),
                             {b.CreateAddrSpaceCast(
                                 v, PointerType::get(m.getContext(), 0))});
    }

    void mark(Function &f)
    {
        const SetVector<Value *> all = variables(f);
        SmallVector<Instruction *, 16> places;
        for (Instruction &i : instructions(f))
            if (!i.isTerminator() && may_synchronize(i))
                places.push_back(&i);
        for (Instruction *i : places) {
            const bool itself = synchronizes(*i);
            Instruction *next = i->getNextNode();
            mark_at(*i, itself, all);
            mark_at(*next, itself, all);
        }
    }
};

} // namespace

void ompjit__mark_synchronization(LLVMModuleRef m)
{
    Markers(*unwrap(m)).add();
}

/* Erases the casts of arguments, too. */
void ompjit__unmark_synchronization(LLVMModuleRef ref)
{
    Function *variable = unwrap(ref)->getFunction(variable_marker);
    while (variable && !variable->use_empty()) {
        auto *call = cast<CallInst>(variable->user_back());
        auto *cast = dyn_cast<AddrSpaceCastInst>(call->getArgOperand(0));
        call->eraseFromParent();
        if (cast && cast->use_empty())
            cast->eraseFromParent();
    }
    ompjit__marker_drop(ref, variable_marker);
    ompjit__marker_drop(ref, plain_marker);
}
