/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds code of which nothing is left when it has run (leaves_nothing), and code
 * that need not be optimized, since that takes longer than the code does: modules whose instructions run once at most, being an input's statements
 * without loops; in other modules such functions, and the host versions of
 * target regions that run in place of a kernel that could not.
 */
#include <cstdlib>
#include <strings.h>

#include <llvm/Analysis/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include "frontend/repl/repl.h"

/* Statements are run by the session; in C++ as constructors, each by an entry of
 * a list. */
bool ompjit_repl::is_statements(const llvm::Function &f, unsigned number)
{
    const std::string name = "input_" + std::to_string(number);
    return f.getName() == name || f.getName().starts_with(name + "_") ||
           f.getSection() == ".text.startup";
}

namespace {

using ompjit_repl::is_statements;

/* Is it called once in the module, and by nobody else? */
bool has_one_call(const llvm::Function &f)
{
    if (!f.hasLocalLinkage() && !f.hasLinkOnceLinkage())
        return false;
    if (!f.hasOneUse())
        return f.use_empty();
    auto *call = llvm::dyn_cast<llvm::CallBase>(f.user_back());
    return call && call->isCallee(&*f.use_begin());
}

bool has_loop(const llvm::Function &f)
{
    llvm::SmallVector<
        std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>>
        edges;
    llvm::FindFunctionBackedges(f, edges);
    return !edges.empty();
}

/* Some code compiles only where it is optimized: assembly whose constants are
 * arguments of inline functions, and calls that are errors unless they are
 * removed. */
bool compiles_optimized_only(const llvm::Function &f)
{
    if (f.hasFnAttribute("dontcall-error"))
        return true;
    for (const llvm::BasicBlock &block : f)
        for (const llvm::Instruction &i : block)
            if (auto *call = llvm::dyn_cast<llvm::CallBase>(&i))
                if (call->isInlineAsm())
                    return true;
    return false;
}

/* Does the region with this host version run on the default device, whatever its
 * clauses say? Then its host version has one caller, which tries that first. */
bool has_default_device(const llvm::Module &module, const llvm::Function &host)
{
    const llvm::GlobalValue *id =
        module.getNamedValue(("." + host.getName() + ".region_id").str());
    if (!id || !host.hasOneUse())
        return false;
    for (const llvm::User *user : id->users()) {
        auto *call = llvm::dyn_cast<llvm::CallBase>(user);
        auto *device = call && call->arg_size() > 1
                           ? llvm::dyn_cast<llvm::ConstantInt>(
                                 call->getArgOperand(1))
                           : nullptr;
        if (call && (!device || !device->isMinusOne()))
            return false;
    }
    return true;
}

/* The host version of a region, or a function of it; `all` are host versions. */
bool is_part_of(const llvm::Function &f,
                const std::vector<std::string> &all)
{
    return f.hasLocalLinkage() && llvm::any_of(all, [&](llvm::StringRef name) {
               return f.getName() == name ||
                      f.getName().starts_with((name + ".").str());
           });
}

/* Names the host versions of regions that hardly ever run on the host. */
std::vector<std::string> rare_host_versions(const llvm::Module &module)
{
    std::vector<std::string> names;
    const char *offload = getenv("OMP_TARGET_OFFLOAD");
    if (offload && !strcasecmp(offload, "disabled"))
        return names;
    for (const llvm::Function &f : module)
        if (f.getName().starts_with("__omp_offloading_") &&
            has_default_device(module, f))
            names.push_back(f.getName().str());
    return names;
}

void leave_as_it_is(llvm::Function &f)
{
    f.removeFnAttr(llvm::Attribute::AlwaysInline);
    f.addFnAttr(llvm::Attribute::NoInline);
    f.addFnAttr(llvm::Attribute::OptimizeNone);
}

} // namespace

/* They are never read, and a module without variables takes a page less. */
void ompjit_repl::drop_marks(llvm::Module &module)
{
    for (llvm::GlobalVariable &v : llvm::make_early_inc_range(module.globals())) {
        const bool is_mark =
            v.hasLocalLinkage() && v.getName().ends_with(INITIALIZED) &&
            llvm::all_of(v.users(), [&](const llvm::User *user) {
                auto *store = llvm::dyn_cast<llvm::StoreInst>(user);
                return store && store->getPointerOperand() == &v;
            });
        if (!is_mark)
            continue;
        for (llvm::User *user : llvm::make_early_inc_range(v.users()))
            llvm::cast<llvm::Instruction>(user)->eraseFromParent();
        v.eraseFromParent();
    }
}

void ompjit_repl::leave_rare_code(llvm::Module &module, unsigned number)
{
    if (wants_optimizer(module))
        return;
    const std::vector<std::string> hosts = rare_host_versions(module);
    for (llvm::Function &f : module)
        if (!f.isDeclarationForLinker() &&
            (is_part_of(f, hosts) ||
             (is_statements(f, number) && !has_loop(f))))
            leave_as_it_is(f);
}

bool ompjit_repl::wants_optimizer(const llvm::Module &module)
{
    return llvm::any_of(module, compiles_optimized_only);
}

bool ompjit_repl::runs_once(const llvm::Module &module, unsigned number)
{
    if (wants_optimizer(module))
        return false;
    for (const llvm::Function &f : module) {
        if (f.isDeclarationForLinker())
            continue;
        if (has_loop(f) ||
            !(is_statements(f, number) || has_one_call(f)))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- what stays */

namespace {

/* Functions of libraries that keep none of their arguments. */
bool keeps_nothing(llvm::StringRef name)
{
    static const llvm::StringRef names[] = {
        "printf",  "fprintf", "puts",   "fputs",  "putchar", "fwrite",
        "fflush",  "strcmp",  "strlen", "memcmp", "atoi",    "atof",
        "system",  "scanf",   "sscanf", "perror",
        "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc"};
    return llvm::is_contained(names, name);
}

/* Functions of OpenMP's that keep none: a region's threads have left its function
 * when __kmpc_fork_call returns, a kernel has ended when __tgt_target_kernel does
 * (those of tasks have other callers), and places in the source are for tools. */
bool is_of_regions(llvm::StringRef name)
{
    static const llvm::StringRef begins[] = {
        "__kmpc_fork_call",   "__kmpc_for_static_",  "__kmpc_dispatch_",
        "__kmpc_barrier",     "__kmpc_critical",     "__kmpc_end_critical",
        "__kmpc_reduce",      "__kmpc_end_reduce",   "__kmpc_single",
        "__kmpc_end_single",  "__kmpc_master",       "__kmpc_end_master",
        "__kmpc_masked",      "__kmpc_end_masked",   "__kmpc_push_num_threads",
        "__kmpc_push_proc_bind", "__kmpc_global_thread_num", "__kmpc_flush",
        "__kmpc_serialized_parallel", "__kmpc_end_serialized_parallel",
        "__kmpc_fork_teams",  "__kmpc_push_num_teams", "__tgt_target_kernel",
        "__tgt_target_data_begin_mapper", "__tgt_target_data_end_mapper",
        "__tgt_target_data_update_mapper"};
    return llvm::any_of(begins, [&](llvm::StringRef begin) {
        return name.starts_with(begin);
    });
}

/* Does the call keep none of its arguments? */
bool keeps_nothing(const llvm::CallBase &call)
{
    const llvm::Function *f = call.getCalledFunction();
    return f && (llvm::isa<llvm::MemIntrinsic>(call) ||
                 keeps_nothing(f->getName()) || is_of_regions(f->getName()));
}

/* Does the constant hold texts for tools: a place in the source that a call of
 * libomp's gets, or the names of a region's variables? */
bool is_for_tools(const llvm::User *user)
{
    if (auto *place = llvm::dyn_cast<llvm::ConstantStruct>(user))
        return place->getType()->hasName() &&
               place->getType()->getName() == "struct.ident_t";
    return llvm::isa<llvm::ConstantArray>(user) &&
           llvm::all_of(user->users(), [](const llvm::User *of) {
               return of->getName().starts_with(".offload_mapnames");
           });
}

/* Is the address gone when the code has run? */
bool is_passing(const llvm::Value &value)
{
    return llvm::all_of(value.uses(), [](const llvm::Use &use) {
        const llvm::User *user = use.getUser();
        if (llvm::isa<llvm::GEPOperator>(user))
            return is_passing(*user);
        if (auto *call = llvm::dyn_cast<llvm::CallBase>(user))
            return call->isArgOperand(&use) && keeps_nothing(*call);
        if (llvm::isa<llvm::StoreInst>(user))
            return use.getOperandNo() ==
                   llvm::StoreInst::getPointerOperandIndex();
        return llvm::isa<llvm::LoadInst>(user) || is_for_tools(user);
    });
}

/* A function that is called here alone, or by the threads of a region, or an
 * input's statements, of which C++ has a list. */
bool is_passing(const llvm::Function &f, unsigned number)
{
    if (!is_statements(f, number) && !f.hasLocalLinkage() &&
        !f.hasLinkOnceLinkage())
        return false;
    return llvm::all_of(f.uses(), [](const llvm::Use &use) {
        auto *call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
        auto *constant = llvm::dyn_cast<llvm::ConstantStruct>(use.getUser());
        return (call && (call->isCallee(&use) || keeps_nothing(*call))) ||
               (constant && constant->getNumOperands() == 3); /* of the list */
    });
}

/* The input's value, or its address, which the tool takes out of the module
 * (value.cc). */
bool is_value(const llvm::GlobalVariable &v, unsigned number)
{
    const std::string name = "input_" + std::to_string(number);
    return !v.isThreadLocal() &&
           (v.getName() == name + "_is" || v.getName() == name + "_at");
}

/* The tool registers what a target region has for as long as the module is there.
 * Entries of variables and functions, which the device keeps, are others. */
bool is_of_region(const llvm::GlobalVariable &v)
{
    if (!v.isConstant() || v.isDeclaration())
        return false;
    if (v.getName().starts_with(".offloading.entry."))
        return llvm::all_of(
            v.getInitializer()->operands(), [](const llvm::Use &part) {
                auto *g = llvm::dyn_cast<llvm::GlobalValue>(&*part);
                return !g || g->getName().starts_with(".offloading.") ||
                       g->getName().ends_with(".region_id");
            });
    return v.getName().starts_with(".offload") ||
           v.getName().ends_with(".region_id");
}

bool is_passing(const llvm::GlobalVariable &v, unsigned number)
{
    return v.isDeclaration() || v.getName().starts_with("llvm.") ||
           is_of_region(v) ||
           (((v.isConstant() && v.hasLocalLinkage()) || is_value(v, number)) &&
            is_passing(static_cast<const llvm::Value &>(v)));
}

} // namespace

bool ompjit_repl::leaves_nothing(const llvm::Module &module, unsigned number)
{
    return module.alias_empty() && module.ifunc_empty() &&
           llvm::all_of(module.globals(),
                        [&](const llvm::GlobalVariable &v) {
                            return is_passing(v, number);
                        }) &&
           llvm::all_of(module, [&](const llvm::Function &f) {
               return f.isDeclarationForLinker() || is_passing(f, number);
           });
}
