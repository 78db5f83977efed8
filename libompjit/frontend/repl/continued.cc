/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops of which nobody knows how long they run. They begin unoptimized, and
 * count; when the input has run for about a millisecond, the next round goes on
 * in optimized code. Before:
 *
 *   loop:                       ; preds: before it, and in it
 *
 * After:
 *
 *   loop:
 *     %enough = call i1 @ompjit.enough(i32 SIZE)
 *     br i1 %enough, label %leave, label %round
 *   leave:
 *     %r = call RESULT @input_N.continued.K(ARGUMENTS, ptr %variable...)
 *     ret RESULT %r
 *   round:
 *
 * input_N.continued.K is the function from that place on: it begins with copies
 * of the variables, or with their addresses where code that has run may have
 * these. Between blocks all values lie in variables, since none is optimized.
 *
 * The module is compiled twice. Unoptimized it only declares the continuations
 * (available_externally), and the first call of one has the tool compile it once
 * more, optimized: then it has them, and does not count
 * (passes/hosthalf/continued.c).
 */
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

namespace {

/* Where each cycle of the function's blocks begins. */
llvm::SmallSetVector<llvm::BasicBlock *, 4> loops_of(llvm::Function &f)
{
    llvm::SmallVector<
        std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>>
        edges;
    llvm::SmallSetVector<llvm::BasicBlock *, 4> loops;
    llvm::FindFunctionBackedges(f, edges);
    for (const auto &[from, to] : edges)
        loops.insert(const_cast<llvm::BasicBlock *>(to));
    return loops;
}

/* ------------------------------------------------------------- conditions */

/* Nothing in its frame but variables, to which pointers lead. */
bool has_plain_frame(const llvm::Function &f)
{
    for (const llvm::Instruction &i : llvm::instructions(f)) {
        auto *variable = llvm::dyn_cast<llvm::AllocaInst>(&i);
        auto *call = llvm::dyn_cast<llvm::CallBase>(&i);
        auto *known = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        if (variable && (!variable->isStaticAlloca() ||
                         variable->isUsedWithInAlloca() ||
                         variable->isSwiftError()))
            return false;
        if (i.getType()->isTokenTy() || llvm::isa<llvm::IndirectBrInst>(i) ||
            llvm::isa<llvm::CallBrInst>(i))
            return false;
        if (call && (call->isMustTailCall() ||
                     call->hasFnAttr(llvm::Attribute::ReturnsTwice)))
            return false;
        if (known && (known->getIntrinsicID() == llvm::Intrinsic::frameaddress ||
                      known->getIntrinsicID() == llvm::Intrinsic::localescape ||
                      known->getIntrinsicID() == llvm::Intrinsic::vastart))
            return false;
    }
    return true;
}

bool can_be_left(llvm::Function &f)
{
    if (f.isVarArg() || f.hasFnAttribute(llvm::Attribute::Naked) ||
        f.hasFnAttribute(llvm::Attribute::OptimizeNone) || !has_plain_frame(f))
        return false;
    return llvm::none_of(loops_of(f), [](const llvm::BasicBlock *loop) {
        return loop->isEHPad();
    });
}

/* --------------------------------------------------------------- variables */

/* Does the instruction leave no address of the variable behind? */
bool only_uses(const llvm::Use &use)
{
    const llvm::User *user = use.getUser();
    if (llvm::isa<llvm::LoadInst>(user))
        return true;
    if (auto *store = llvm::dyn_cast<llvm::StoreInst>(user))
        return store->getPointerOperand() == use.get() &&
               store->getValueOperand() != use.get();
    auto *call = llvm::dyn_cast<llvm::CallBase>(user);
    if (!call || !call->isArgOperand(&use))
        return false;
    const llvm::Function *f = call->getCalledFunction();
    return llvm::isa<llvm::MemIntrinsic>(call) ||
           call->isLifetimeStartOrEnd() ||
           call->doesNotCapture(call->getArgOperandNo(&use)) ||
           (f && f->getName().starts_with("__kmpc_for_static_init")) ||
           (f && f->getName().starts_with("__kmpc_dispatch_next"));
}

/* Element addresses are used where they are made. */
bool leaves_address(const llvm::Instruction *variable,
                    const llvm::BasicBlock *loop)
{
    for (const llvm::Use &use : variable->uses()) {
        auto *user = llvm::cast<llvm::Instruction>(use.getUser());
        if (only_uses(use) || !llvm::isPotentiallyReachable(user->getParent(),
                                                            loop))
            continue;
        auto *part = llvm::dyn_cast<llvm::GetElementPtrInst>(user);
        if (!part || leaves_address(part, loop))
            return true;
    }
    return false;
}

/* ----------------------------------------------------------- continuations */

/* An argument that is not changed needs no variable: continuations have it, with
 * what its attributes say of memory. */
void forward_arguments(llvm::Function &f)
{
    for (llvm::Argument &argument : f.args()) {
        auto *store = argument.hasOneUse() ? llvm::dyn_cast<llvm::StoreInst>(
                                                 argument.user_back())
                                           : nullptr;
        auto *variable = store ? llvm::dyn_cast<llvm::AllocaInst>(
                                     store->getPointerOperand())
                               : nullptr;
        if (!variable ||
            !llvm::all_of(variable->users(), [&](const llvm::User *user) {
                auto *load = llvm::dyn_cast<llvm::LoadInst>(user);
                return user == store ||
                       (load && !load->isVolatile() &&
                        load->getType() == argument.getType());
            }))
            continue;
        store->eraseFromParent();
        for (llvm::User *load : llvm::make_early_inc_range(variable->users())) {
            load->replaceAllUsesWith(&argument);
            llvm::cast<llvm::Instruction>(load)->eraseFromParent();
        }
        variable->eraseFromParent();
    }
}

/* Values that other blocks use become variables. */
void keep_in_variables(llvm::Function &f)
{
    std::vector<llvm::Instruction *> values;
    std::vector<llvm::PHINode *> phis;
    for (llvm::Instruction &i : llvm::instructions(f))
        if (!llvm::isa<llvm::AllocaInst>(i) &&
            llvm::any_of(i.users(), [&](const llvm::User *user) {
                return llvm::isa<llvm::PHINode>(user) ||
                       llvm::cast<llvm::Instruction>(user)->getParent() !=
                           i.getParent();
            }))
            values.push_back(&i);
    const auto place = std::make_optional(f.getEntryBlock().begin());
    for (llvm::Instruction *i : values)
        llvm::DemoteRegToStack(*i, false, place);
    for (llvm::Instruction &i : llvm::instructions(f))
        if (auto *phi = llvm::dyn_cast<llvm::PHINode>(&i))
            phis.push_back(phi);
    for (llvm::PHINode *phi : phis)
        llvm::DemotePHIToStack(phi, place);
}

bool is_used_from(const llvm::AllocaInst *variable,
                  const llvm::BasicBlock *loop)
{
    return llvm::any_of(variable->users(), [&](const llvm::User *user) {
        auto *i = llvm::cast<llvm::Instruction>(user);
        return !i->isLifetimeStartOrEnd() &&
               llvm::isPotentiallyReachable(loop, i->getParent());
    });
}

std::vector<llvm::AllocaInst *> variables_of(llvm::Function &f,
                                             const llvm::BasicBlock *loop)
{
    std::vector<llvm::AllocaInst *> variables;
    for (llvm::Instruction &i : llvm::instructions(f))
        if (auto *variable = llvm::dyn_cast<llvm::AllocaInst>(&i))
            if (is_used_from(variable, loop))
                variables.push_back(variable);
    return variables;
}

/* A continuation gets the function's arguments, and its variables. */
llvm::Function *declare(llvm::Function &f, size_t nvariables,
                        const std::string &name)
{
    std::vector<llvm::Type *> types(f.getFunctionType()->param_begin(),
                                    f.getFunctionType()->param_end());
    types.insert(types.end(), nvariables,
                 llvm::PointerType::getUnqual(f.getContext()));
    return llvm::Function::Create(
        llvm::FunctionType::get(f.getReturnType(), types, false),
        llvm::GlobalValue::ExternalLinkage, name, f.getParent());
}

/* A variable that is in use cannot be told to begin. */
void drop_lifetimes(llvm::Function &f)
{
    for (llvm::Instruction &i :
         llvm::make_early_inc_range(llvm::instructions(f)))
        if (i.isLifetimeStartOrEnd())
            i.eraseFromParent();
}

class Continuation {
  public:
    Continuation(llvm::Function &f, llvm::BasicBlock *loop,
                 const std::string &name)
        : f(f), loop(loop), variables(variables_of(f, loop)),
          made(declare(f, variables.size(), name))
    {
        llvm::ValueToValueMapTy map;
        llvm::SmallVector<llvm::ReturnInst *> returns;
        for (size_t i = 0; i < f.arg_size(); i++)
            map[f.getArg(i)] = made->getArg(i);
        llvm::CloneFunctionInto(
            made, &f, map, llvm::CloneFunctionChangeType::LocalChangesOnly,
            returns);
        made->setComdat(nullptr);
        made->setVisibility(llvm::GlobalValue::DefaultVisibility);
        made->setLinkage(llvm::GlobalValue::AvailableExternallyLinkage);
        made->setDSOLocal(false);
        made->addFnAttr(OMPJIT__REPL_CONTINUES);
        made->removeFnAttr(llvm::Attribute::AlwaysInline);
        drop_lifetimes(*made);
        begin(map);
        llvm::removeUnreachableBlocks(*made);
    }

    /* Has the function go on there. */
    void enter(llvm::FunctionCallee enough, unsigned size)
    {
        llvm::LLVMContext &c = f.getContext();
        llvm::BasicBlock *round = llvm::SplitBlock(loop, loop->begin());
        auto *leave = llvm::BasicBlock::Create(c, "leave", &f);
        loop->getTerminator()->eraseFromParent();
        llvm::IRBuilder<> at(loop);
        if (llvm::DISubprogram *source = f.getSubprogram())
            at.SetCurrentDebugLocation(
                llvm::DILocation::get(c, source->getLine(), 0, source));
        at.CreateCondBr(at.CreateCall(enough, {at.getInt32(size)}), leave,
                        round);
        at.SetInsertPoint(leave);
        std::vector<llvm::Value *> arguments;
        for (llvm::Argument &each : f.args())
            arguments.push_back(&each);
        arguments.insert(arguments.end(), variables.begin(), variables.end());
        llvm::CallInst *call = at.CreateCall(made, arguments);
        call->setAttributes(made->getAttributes().removeFnAttributes(c));
        call->setCallingConv(f.getCallingConv());
        if (call->getType()->isVoidTy())
            at.CreateRetVoid();
        else
            at.CreateRet(call);
    }

  private:
    llvm::Function &f;
    llvm::BasicBlock *loop;
    std::vector<llvm::AllocaInst *> variables;
    llvm::Function *made;

    /* Its first block, which has the variables. Arrays are not copied: their
     * elements are memory in any case. */
    void begin(llvm::ValueToValueMapTy &map)
    {
        auto *first = llvm::BasicBlock::Create(made->getContext(), "", made,
                                               &made->getEntryBlock());
        llvm::IRBuilder<> at(first);
        llvm::BranchInst *branch =
            at.CreateBr(llvm::cast<llvm::BasicBlock>(map[loop]));
        for (size_t i = 0; i < variables.size(); i++) {
            llvm::AllocaInst *variable = variables[i];
            auto *own = llvm::cast<llvm::AllocaInst>(map[variable]);
            llvm::Argument *passed = made->getArg(f.arg_size() + i);
            const bool left = leaves_address(variable, loop);
            if (left || variable->getAllocatedType()->isArrayTy()) {
                if (!left)
                    passed->addAttr(llvm::Attribute::NoAlias);
                own->replaceAllUsesWith(passed);
                own->eraseFromParent();
                continue;
            }
            own->moveBefore(*first, branch->getIterator());
            at.SetInsertPoint(branch);
            at.CreateMemCpy(own, own->getAlign(), passed, own->getAlign(),
                            *own->getAllocationSize(
                                made->getParent()->getDataLayout()));
        }
    }
};

/* ------------------------------------------------------------------- count */

/* i1 @ompjit.enough(i32 %size): adds to what the input has run. The tool has the
 * sum; threads may lose some of it. */
llvm::Function *define_enough(llvm::Module &module)
{
    llvm::LLVMContext &c = module.getContext();
    llvm::Type *i32 = llvm::Type::getInt32Ty(c);
    auto *sum = new llvm::GlobalVariable(
        module, i32, false, llvm::GlobalValue::ExternalLinkage, nullptr,
        OMPJIT__REPL_ROUNDS);
    auto *f = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getInt1Ty(c), {i32}, false),
        llvm::GlobalValue::InternalLinkage, OMPJIT__REPL_ENOUGH, module);
    llvm::IRBuilder<> at(llvm::BasicBlock::Create(c, "", f));
    llvm::LoadInst *before = at.CreateLoad(i32, sum);
    before->setAtomic(llvm::AtomicOrdering::Monotonic);
    llvm::Value *now = at.CreateAdd(before, f->getArg(0));
    at.CreateStore(now, sum)->setAtomic(llvm::AtomicOrdering::Monotonic);
    at.CreateRet(at.CreateICmpUGT(now, at.getInt32(OMPJIT__REPL_MOST)));
    return f;
}

} // namespace

bool ompjit_repl::may_be_continued(llvm::Module &module)
{
    enum { MOST = 6 }; /* each is a second copy of its function */
    size_t n = 0;
    for (llvm::Function &f : module) {
        const size_t loops = f.isDeclaration() ? 0 : loops_of(f).size();
        if (loops && !can_be_left(f))
            return false;
        n += loops;
    }
    return n <= MOST;
}

void ompjit_repl::continue_loops(Session &session, llvm::Module &module,
                                 unsigned number)
{
    const std::string prefix =
        "input_" + std::to_string(number) + ".continued.";
    std::vector<llvm::Function *> looping;
    size_t n = 0;
    for (llvm::Function &f : module)
        if (!f.isDeclaration() && !loops_of(f).empty())
            looping.push_back(&f);
    if (looping.empty())
        return;
    llvm::Function *enough = define_enough(module);
    for (llvm::Function *f : looping) {
        std::vector<Continuation> all;
        const unsigned size = f->getInstructionCount();
        forward_arguments(*f);
        keep_in_variables(*f);
        for (llvm::BasicBlock *loop : loops_of(*f)) {
            const std::string name = prefix + std::to_string(n++);
            all.emplace_back(*f, loop, name);
            session.symbols_for_all.push_back({name, true});
        }
        for (Continuation &each : all)
            each.enter(enough, size);
    }
}
