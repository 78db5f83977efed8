// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A second form of a kernel for the host, KERNEL.team, that the engine calls
// once for a team and not once for each of its threads. Here the kernel's entry
// and all functions that it reaches are cloned, with the runtime's constant
// ompjit_fold_looped as 1; loops.cc makes the loops over the threads once
// LLVM has simplified the clones, or drops the form.
//
// All threads run an SPMD kernel itself. For a generic one the call is the main
// thread's, and all threads run the parallel regions: in place of a region
// __kmpc_parallel_60 gets a function REGION(args, n) for all n threads. The
// functions that regions reach have clones of their own, in which the runtime's
// level is 1. A function that all threads run has the attribute
// "ompjit-threads", is not inlined, and tells their number by a call of
// ompjit_host_team_threads at its beginning. Functions that meet other threads
// are inlined into it.
//
// Requires the IR of a host kernel that the runtime has been linked with,
// before anything is optimized, of a module that is flat
// (passes/execution/no_thread_state.c).
#include <llvm-c/Core.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "abi/host_layout.h"
#include "passes/host/team/form.h"

using namespace llvm;

extern "C" bool ompjit__add_team_form(LLVMModuleRef m, const char *kernel,
                                      ompjit_mode mode); // passes/passes.h is C

namespace {

constexpr StringLiteral fold_name = "ompjit_fold_looped";
constexpr StringLiteral level_name = "ompjit_level";
constexpr StringLiteral ask_name = "__kmpc_is_spmd_exec_mode";
constexpr StringLiteral parallel_name = "__kmpc_parallel_60";

// Arguments of __kmpc_parallel_60.
enum { REGION = 5, WRAPPER = 6, NARGS = 8 };

// The values that parallel.c's contexts say of a region of several threads.
enum { CONTEXT_TEAM = 1 << 30 | 2 << 16 };

// Functions that are cloned, and their clones.
struct Clones {
    Function *of(Function &f) const { return cast<Function>(map.lookup(&f)); }

    SetVector<Function *> functions;
    ValueToValueMapTy map;
};

// Does the function begin a parallel region?
bool is_fork(const Function &f)
{
    return f.getName().starts_with("__kmpc_parallel_") &&
           f.getName() != "__kmpc_parallel_level";
}

// Is the call one of a region that a function can be put in the place of?
bool is_plain_fork(const CallBase &call)
{
    if (call.getCalledFunction()->getName() != parallel_name ||
        !isa<CallInst>(call) || !isa<ConstantInt>(call.getArgOperand(NARGS)))
        return false;
    const auto *region = dyn_cast<Function>(call.getArgOperand(REGION));
    return region && !region->isDeclaration();
}

// The form of one kernel while it is made.
class Form {
  public:
    Form(Module &m, Function &kernel, Function &entry, ompjit_mode mode)
        : m(m), kernel(kernel), entry(entry),
          generic(mode == OMPJIT_MODE_GENERIC),
          spmd(mode == OMPJIT_MODE_SPMD || mode == OMPJIT_MODE_GENERIC_SPMD)
    {
    }

    bool make()
    {
        if (!collect(entry, outside))
            return false;
        make_clones(outside);
        map_constant(inside, level_name, 1);
        make_clones(inside);
        for (CallInst *call : forks())
            replace_region(*call);
        if (!generic)
            mark_threads(*outside.of(kernel), [&](IRBuilder<> &b) {
                return machine_threads(b);
            });
        inline_meetings(outside);
        inline_meetings(inside);
        return true;
    }

  private:
    // The function and what it reaches, into `to`, and what regions reach, into
    // `inside`: a function may be in both, and then has two clones. False: a
    // parallel region is not known.
    // The workers' function of a region has no use in this form.
    bool collect(Function &from, Clones &to)
    {
        if (!to.functions.insert(&from))
            return true;
        for (Instruction &i : instructions(from)) {
            const auto *call = dyn_cast<CallBase>(&i);
            const Function *callee =
                call ? call->getCalledFunction() : nullptr;
            bool fork = callee && is_fork(*callee);
            bool plain = fork && is_plain_fork(*call);
            if (fork && generic && !plain)
                return false;
            for (Use &use : i.operands()) {
                auto *f = dyn_cast<Function>(use.get());
                bool is_region = plain && use.getOperandNo() == REGION;
                if (f && !f->isDeclaration() &&
                    !(plain && use.getOperandNo() == WRAPPER) &&
                    !collect(*f, is_region ? inside : to))
                    return false;
            }
        }
        return true;
    }

    // In place of a variable of the runtime's.
    void map_constant(Clones &clones, StringRef name, uint64_t value)
    {
        GlobalVariable *g = m.getNamedGlobal(name);
        if (!g)
            return;
        Type *type = g->getValueType();
        clones.map[g] = new GlobalVariable(
            m, type, true, GlobalValue::InternalLinkage,
            ConstantInt::get(type, value), name + OMPJIT__TEAM_SUFFIX, nullptr,
            GlobalValue::NotThreadLocal, g->getAddressSpace());
    }

    // In which mode the kernel is.
    void map_mode(Clones &clones)
    {
        Function *ask = m.getFunction(ask_name);
        if (!ask || !clones.functions.remove(ask) || !(spmd || generic))
            return;
        auto *f = Function::Create(ask->getFunctionType(),
                                   GlobalValue::InternalLinkage,
                                   ask->getName() + OMPJIT__TEAM_SUFFIX, m);
        IRBuilder<> b(BasicBlock::Create(m.getContext(), "", f));
        b.CreateRet(ConstantInt::get(f->getReturnType(), spmd));
        clones.map[ask] = f;
    }

    // All are declared before one is cloned, since they call each other.
    void make_clones(Clones &clones)
    {
        map_constant(clones, fold_name, 1);
        map_mode(clones);
        for (Function *f : clones.functions)
            declare(*f, clones);
        for (Function *f : clones.functions) {
            SmallVector<ReturnInst *, 4> returns;
            CloneFunctionInto(clones.of(*f), f, clones.map,
                              CloneFunctionChangeType::LocalChangesOnly,
                              returns);
            if (clones.of(*f)->hasLocalLinkage()) // it got what *f says
                clones.of(*f)->setDSOLocal(true);
        }
    }

    // The clone, still without a body. The entry's is KERNEL.team, which the
    // engine looks for; the kernel's own is KERNEL.team.body.
    void declare(Function &f, Clones &clones)
    {
        bool is_entry = &f == &entry;
        auto *to = Function::Create(
            f.getFunctionType(),
            is_entry ? GlobalValue::ExternalLinkage
                     : GlobalValue::InternalLinkage,
            f.getAddressSpace(),
            (is_entry ? kernel.getName() : f.getName()) +
                (&f == &kernel ? OMPJIT__TEAM_BODY_SUFFIX
                               : OMPJIT__TEAM_SUFFIX),
            &m);
        auto arg = to->arg_begin();
        for (Argument &a : f.args())
            clones.map[&a] = &*arg++;
        clones.map[&f] = to;
    }

    // The calls that begin regions, in what runs outside of them.
    SmallVector<CallInst *, 4> forks()
    {
        SmallVector<CallInst *, 4> found;
        Function *parallel = m.getFunction(parallel_name);
        if (!parallel || !outside.functions.contains(parallel))
            return found;
        for (User *user : outside.of(*parallel)->users()) {
            auto *call = dyn_cast<CallInst>(user);
            Value *region = call ? call->getArgOperand(REGION) : nullptr;
            if (region && inside.map.count(region))
                found.push_back(call);
        }
        return found;
    }

    // For a generic kernel it becomes REGION(args, n), which all threads run.
    void replace_region(CallInst &call)
    {
        auto *region = cast<Function>(call.getArgOperand(REGION));
        Function &f = *inside.of(*region);
        call.setArgOperand(REGION, generic ? for_threads(f) : &f);
        call.setArgOperand(WRAPPER, Constant::getNullValue(f.getType()));
    }

    // REGION.threads(args, n), which runs the region for all n threads once
    // loops.cc has made loops of it:
    //
    //   call void @ompjit_host_team_threads(i32 %n)
    //   call void @region(ptr %number, ptr %zero, args[0], ...)
    Function *for_threads(Function &region)
    {
        LLVMContext &c = m.getContext();
        Type *pointer = PointerType::get(c, 0), *i32 = Type::getInt32Ty(c);
        auto *type =
            FunctionType::get(Type::getVoidTy(c), {pointer, i32}, false);
        auto *f = Function::Create(type, GlobalValue::InternalLinkage,
                                   region.getName() + ".threads", m);
        f->addFnAttrs(AttrBuilder(c, region.getAttributes().getFnAttrs()));
        IRBuilder<> b(BasicBlock::Create(c, "", f));
        CallInst *body = b.CreateCall(&region, arguments(b, region, *f));
        body->setCallingConv(region.getCallingConv());
        if (DISubprogram *at = region.getSubprogram())
            body->setDebugLoc(DILocation::get(c, at->getLine(), 0, at));
        b.CreateRetVoid();
        mark_threads(*f, [&](IRBuilder<> &) { return f->getArg(1); });
        inline_always(region);
        return f;
    }

    // Its thread numbers, and what the caller has put into an array.
    SmallVector<Value *, 8> arguments(IRBuilder<> &b, const Function &region,
                                      Function &f)
    {
        Type *i32 = b.getInt32Ty(), *pointer = b.getPtrTy();
        Value *number = b.CreateAlloca(i32), *zero = b.CreateAlloca(i32);
        b.CreateStore(b.getInt32(CONTEXT_TEAM), number);
        b.CreateStore(b.getInt32(0), zero);
        SmallVector<Value *, 8> args = {number, zero};
        for (unsigned i = 2; i < region.arg_size(); i++)
            args.push_back(b.CreateLoad(
                region.getArg(i)->getType(),
                b.CreateConstInBoundsGEP1_64(pointer, f.getArg(0), i - 2)));
        return args;
    }

    // The number of threads of a team where all its threads begin the kernel.
    Value *machine_threads(IRBuilder<> &b)
    {
        Type *i32 = b.getInt32Ty();
        Value *self = b.CreateCall(
            m.getOrInsertFunction(ompjit_team::self_name, b.getPtrTy()));
        Value *n = b.CreateLoad(
            i32, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), self,
                                              ompjit_team::NTID_OFFSET));
        GlobalVariable *fold = m.getNamedGlobal("ompjit_fold_threads");
        if (!fold)
            return n;
        Value *folded = b.CreateLoad(i32, fold);
        return b.CreateSelect(b.CreateIsNull(folded), n, folded);
    }

    // Makes of it a function that all threads run; `count` builds their number.
    // It is not inlined, so that there is one function to cut.
    template <typename Count> void mark_threads(Function &f, Count count)
    {
        f.removeFnAttr(Attribute::AlwaysInline);
        f.removeFnAttr(Attribute::InlineHint);
        f.addFnAttr(Attribute::NoInline);
        f.addFnAttr(ompjit_team::threads_attribute);
        IRBuilder<> b(&*f.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
        b.SetCurrentDebugLocation(DebugLoc());
        if (DISubprogram *at = f.getSubprogram())
            b.SetCurrentDebugLocation(
                DILocation::get(m.getContext(), at->getLine(), 0, at));
        FunctionCallee tell = m.getOrInsertFunction(
            ompjit_team::count_name, b.getVoidTy(), b.getInt32Ty());
        b.CreateCall(tell, count(b));
    }

    // Functions in which threads meet have to be part of the one that is cut.
    static void inline_always(Function &f)
    {
        f.removeFnAttr(Attribute::NoInline);
        f.removeFnAttr(Attribute::OptimizeNone);
        f.addFnAttr(Attribute::AlwaysInline);
    }

    // Does the function lead to where threads meet? Those that call themselves
    // are not found out.
    bool meets(Function &f)
    {
        if (f.isDeclaration())
            return ompjit_team::is_meeting(f.getName());
        auto [at, first] = known.insert({&f, false});
        if (!first)
            return at->second;
        bool found = false;
        for (Instruction &i : instructions(f))
            if (auto *call = dyn_cast<CallBase>(&i))
                if (Function *callee = call->getCalledFunction())
                    found |= !callee->hasFnAttribute(
                                 ompjit_team::threads_attribute) &&
                             meets(*callee);
        return known[&f] = found;
    }

    // The runtime keeps these functions out of line for openmp-opt, which does
    // not run on the host.
    static bool asks_number(const Function &f)
    {
        return f.getName().starts_with("__kmpc_get_hardware_");
    }

    // Functions that lead to where threads meet, and those by which a thread
    // asks for its number, become part of the function that is cut.
    void inline_meetings(Clones &clones)
    {
        for (Function *f : clones.functions) {
            Function *to = clones.of(*f);
            if (f != &entry && f != &kernel &&
                !to->hasFnAttribute(ompjit_team::threads_attribute) &&
                (meets(*to) || asks_number(*f)))
                inline_always(*to);
        }
    }

    Module &m;
    Function &kernel, &entry;
    bool generic, spmd;
    Clones outside, inside; // of parallel regions
    DenseMap<Function *, bool> known;
};

} // namespace

void ompjit_team::set_convergent(Module &m, bool convergent)
{
    for (Function &f : m)
        if (f.isDeclaration() && ompjit_team::is_meeting(f.getName())) {
            if (convergent)
                f.setConvergent();
            else
                f.setNotConvergent();
        }
}

bool ompjit__add_team_form(LLVMModuleRef ref, const char *symbol,
                           ompjit_mode mode)
{
    Module &m = *unwrap(ref);
    Function *kernel = m.getFunction(symbol);
    Function *entry =
        m.getFunction((Twine(symbol) + OMPJIT__ENTRY_SUFFIX).str());
    if (!kernel || !entry || kernel->isDeclaration() ||
        !Form(m, *kernel, *entry, mode).make())
        return false;
    ompjit_team::set_convergent(m, true);
    return true;
}
