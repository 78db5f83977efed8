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
// to variables of earlier inputs, and the host half nothing of them.
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

bool ompjit__point_to_session(LLVMModuleRef device_ref, LLVMModuleRef host_ref)
{
    llvm::Module &device = *llvm::unwrap(device_ref);
    llvm::Module &host = *llvm::unwrap(host_ref);
    bool found = false;
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
