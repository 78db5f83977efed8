// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables that device code reads through a pointer, which an entry of the
// host half fills, as for `declare target link`.
//
// In a program that requires unified shared memory, clang refers to variables
// in functions that device code calls as if the device had them, and gives it
// none. They are the host's: the device half gets a pointer to each.
//
// In a session (frontend/repl/device_variable.cc) the device half has pointers
// to variables of earlier inputs, and the host half nothing of them. So are
// variables that C++ has once for all files (frontend/repl/instances.cc): the
// first input's has an entry, whose host variable stands for it alone.
#include <string>
#include <llvm-c/Core.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>

extern "C" { // frontend/frontend.h is C
bool ompjit__requires_unified(LLVMModuleRef host);
void ompjit__link_entry(LLVMModuleRef host, LLVMValueRef pointer);
void ompjit__variable_entry(LLVMModuleRef host, LLVMValueRef variable,
                            const char *name, uint64_t size);
bool ompjit__unify_variables(LLVMModuleRef device, LLVMModuleRef host);
bool ompjit__point_to_session(LLVMModuleRef device, LLVMModuleRef host);
}

static bool is_hosts(const llvm::GlobalVariable &g, const llvm::Module &host)
{
    const llvm::GlobalVariable *own = host.getGlobalVariable(g.getName(), true);
    return g.isDeclaration() && !g.use_empty() && own &&
           !own->isDeclaration() && !own->isThreadLocal();
}

static llvm::GlobalVariable *new_pointer(llvm::Module &m,
                                         const std::string &name,
                                         llvm::Constant *value)
{
    auto *p = new llvm::GlobalVariable(m, value->getType(), false,
                                       llvm::GlobalValue::WeakAnyLinkage,
                                       value, name);
    p->setAlignment(llvm::Align(8));
    return p;
}

// In each function the pointer is read once, at its beginning:
//
//   %host = load ptr, ptr @g_decl_tgt_ref_ptr
//   %n = load i32, ptr %host                    was: load i32, ptr @g
//
// The uses are listed first. replaceAllUses and its kin move a use into the
// list of its new value, so that a walk through the variable's own list would
// go on there and leave out the functions that come later.
static void read_pointer(llvm::GlobalVariable &g, llvm::GlobalVariable *pointer)
{
    llvm::convertUsersOfConstantsToInstructions({&g});
    llvm::SmallVector<llvm::Use *, 16> uses;
    for (llvm::Use &use : g.uses())
        if (llvm::isa<llvm::Instruction>(use.getUser()))
            uses.push_back(&use);
    llvm::DenseMap<llvm::Function *, llvm::Value *> addresses;
    for (llvm::Use *use : uses) {
        llvm::Function *f =
            llvm::cast<llvm::Instruction>(use->getUser())->getFunction();
        llvm::Value *&address = addresses[f];
        if (!address) {
            llvm::IRBuilder<> builder(
                &*f->getEntryBlock().getFirstInsertionPt());
            address = builder.CreateLoad(g.getType(), pointer, "host");
        }
        use->set(address);
    }
}

bool ompjit__unify_variables(LLVMModuleRef device_ref, LLVMModuleRef host_ref)
{
    if (!ompjit__requires_unified(host_ref))
        return false;
    llvm::Module &device = *llvm::unwrap(device_ref);
    llvm::Module &host = *llvm::unwrap(host_ref);
    std::vector<llvm::GlobalVariable *> found;
    for (llvm::GlobalVariable &g : device.globals())
        if (is_hosts(g, host))
            found.push_back(&g);
    for (llvm::GlobalVariable *g : found) {
        std::string name = (g->getName() + "_decl_tgt_ref_ptr").str();
        if (host.getNamedValue(name) || device.getNamedValue(name))
            continue;
        read_pointer(*g, new_pointer(device, name,
                                     llvm::Constant::getNullValue(
                                         g->getType())));
        ompjit__link_entry(
            host_ref,
            llvm::wrap(new_pointer(
                host, name, host.getGlobalVariable(g->getName(), true))));
    }
    return !found.empty();
}

// The variable is found by its symbol when the host half is linked.
static llvm::GlobalVariable *find_or_declare(llvm::Module &m,
                                             llvm::StringRef symbol)
{
    llvm::GlobalVariable *g = m.getGlobalVariable(symbol, true);
    return g ? g
             : new llvm::GlobalVariable(
                   m, llvm::Type::getInt8Ty(m.getContext()), false,
                   llvm::GlobalValue::ExternalLinkage, nullptr, symbol);
}

// The variable can be found by that name on the host.
static void list_for_session(llvm::GlobalVariable &g, llvm::StringRef known_as,
                             llvm::Module &host)
{
    const uint64_t size =
        g.getDataLayout().getTypeAllocSize(g.getValueType());
    auto *type =
        llvm::ArrayType::get(llvm::Type::getInt8Ty(host.getContext()), size);
    auto *known = new llvm::GlobalVariable(
        host, type, false, llvm::GlobalValue::ExternalLinkage,
        llvm::Constant::getNullValue(type), known_as);
    ompjit__variable_entry(llvm::wrap(&host), llvm::wrap(known),
                           g.getName().str().c_str(), size);
}

static void read_from_session(llvm::GlobalVariable &g, llvm::StringRef known_as,
                              llvm::Module &host)
{
    const std::string name = (g.getName() + "_decl_tgt_ref_ptr").str();
    read_pointer(g, new_pointer(*g.getParent(), name,
                                llvm::Constant::getNullValue(g.getType())));
    g.setVisibility(llvm::GlobalValue::DefaultVisibility);
    g.setLinkage(llvm::GlobalValue::InternalLinkage); /* nobody uses it */
    ompjit__link_entry(llvm::wrap(&host),
                       llvm::wrap(new_pointer(
                           host, name, find_or_declare(host, known_as))));
}

// False: there are no such variables.
static bool share_statics(llvm::Module &device, llvm::Module &host)
{
    std::vector<llvm::GlobalVariable *> all;
    bool found = false;
    for (llvm::GlobalVariable &g : device.globals())
        all.push_back(&g);
    for (llvm::GlobalVariable *g : all) {
        if (g->hasAttribute("ompjit-known-as"))
            list_for_session(
                *g, g->getAttribute("ompjit-known-as").getValueAsString(),
                host);
        else if (g->hasAttribute("ompjit-read-from"))
            read_from_session(
                *g, g->getAttribute("ompjit-read-from").getValueAsString(),
                host);
        else
            continue;
        found = true;
    }
    return found;
}

bool ompjit__point_to_session(LLVMModuleRef device_ref, LLVMModuleRef host_ref)
{
    llvm::Module &device = *llvm::unwrap(device_ref);
    llvm::Module &host = *llvm::unwrap(host_ref);
    bool found = share_statics(device, host);
    for (llvm::GlobalVariable &g : device.globals()) {
        if (!g.hasAttribute("ompjit-points-to") ||
            host.getNamedValue(g.getName()))
            continue;
        llvm::StringRef symbol =
            g.getAttribute("ompjit-points-to").getValueAsString();
        ompjit__link_entry(host_ref,
                           llvm::wrap(new_pointer(
                               host, g.getName().str(),
                               find_or_declare(host, symbol))));
        found = true;
    }
    return found;
}
