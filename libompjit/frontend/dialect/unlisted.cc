// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of `declare target` that only their file or their function can see.
// Front ends list none of them in an offload entry: clang's `static` and hidden
// ones, flang's of a main program (OpenMPIRBuilder,
// createOffloadEntriesAndInfoMetadata, leaves out what has local linkage or
// hidden visibility). Without an entry a map of one, or a `target update`, would
// copy to memory that device code does not read. They get one here, and device
// code's variable a name that no other file has.
#include <llvm-c/Core.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include "frontend/dialect/counterpart.h"
#include "frontend/dialect/own_names.h"

extern "C" { // frontend/dialect/dialect.h and describe.h are C
bool ompjit__is_flang(LLVMModuleRef m);
bool ompjit__is_kernel(LLVMValueRef f);
bool ompjit__is_shared_variable(LLVMValueRef g);
void ompjit__variable_entry(LLVMModuleRef host, LLVMValueRef variable,
                            const char *name, uint64_t size);
bool ompjit__list_variables(LLVMModuleRef device, LLVMModuleRef host);
}

// Can anything but loads and stores of the variable itself, and so a map of it,
// have its address?
static bool is_address_taken(const llvm::Value &address)
{
    for (const llvm::Use &use : address.uses()) {
        const llvm::User *user = use.getUser();
        if (llvm::isa<llvm::LoadInst>(user))
            continue;
        if (auto *store = llvm::dyn_cast<llvm::StoreInst>(user);
            store && use.getOperandNo() == store->getPointerOperandIndex())
            continue;
        if (!llvm::isa<llvm::GEPOperator>(user) || is_address_taken(*user))
            return true;
    }
    return false;
}

// Names of the entries that there are.
static llvm::StringSet<> entry_names(const llvm::Module &host)
{
    static const char prefix[] = ".offloading.entry.",
                      older[] = ".omp_offloading.entry.";
    llvm::StringSet<> names;
    for (const llvm::GlobalVariable &g : host.globals()) {
        llvm::StringRef name = g.getName();
        if (name.consume_front(prefix) || name.consume_front(older))
            names.insert(name);
    }
    return names;
}

static void list(llvm::GlobalVariable &g, llvm::GlobalVariable &own,
                 llvm::Module &host)
{
    if (g.hasLocalLinkage()) {
        g.setLinkage(llvm::GlobalValue::ExternalLinkage);
        g.setName(g.getName() + "__static_" + ompjit__own_digest(host));
    }
    g.setVisibility(llvm::GlobalValue::ProtectedVisibility);
    ompjit__variable_entry(
        llvm::wrap(&host), llvm::wrap(&own), g.getName().str().c_str(),
        g.getDataLayout().getTypeAllocSize(g.getValueType()));
}

// Can no other file have another variable of that name? Those of functions of C++
// have names of their own.
static bool is_unseen(const llvm::GlobalVariable &g,
                      const llvm::GlobalVariable &own)
{
    return g.hasLocalLinkage() == own.hasLocalLinkage() &&
           (g.hasLocalLinkage() || own.hasHiddenVisibility() ||
            own.hasLinkOnceODRLinkage() || g.getName().starts_with("_ZZ"));
}

// The functions and variables that kernels refer to, directly or through others.
static llvm::SmallPtrSet<const llvm::Value *, 32>
used_by_kernels(const llvm::Module &device)
{
    llvm::SmallPtrSet<const llvm::Value *, 32> used;
    llvm::SmallVector<const llvm::Value *, 32> left;
    auto use = [&](const llvm::Value *v) {
        if (llvm::isa<llvm::Constant>(v) && used.insert(v).second)
            left.push_back(v);
    };
    for (const llvm::Function &f : device)
        if (ompjit__is_kernel(llvm::wrap(&f)))
            use(&f);
    while (!left.empty()) {
        const llvm::Value *v = left.pop_back_val();
        for (const llvm::Value *operand : llvm::cast<llvm::User>(v)->operands())
            use(operand);
        if (auto *f = llvm::dyn_cast<llvm::Function>(v))
            for (const llvm::Instruction &i : llvm::instructions(f))
                for (const llvm::Value *operand : i.operands())
                    use(operand);
    }
    return used;
}

bool ompjit__list_variables(LLVMModuleRef device_ref, LLVMModuleRef host_ref)
{
    llvm::Module &device = *llvm::unwrap(device_ref);
    llvm::Module &host = *llvm::unwrap(host_ref);
    const llvm::StringSet<> known = entry_names(host);
    // flang leaves procedures of the host in its device half whose internal ones
    // are for devices. Their variables are the host's.
    const bool leaves_host = ompjit__is_flang(device_ref);
    const auto used = leaves_host
                          ? used_by_kernels(device)
                          : llvm::SmallPtrSet<const llvm::Value *, 32>();
    bool changed = false;
    for (llvm::GlobalVariable &g : device.globals()) {
        llvm::GlobalVariable *own =
            ompjit__is_shared_variable(llvm::wrap(&g))
                ? ompjit__counterpart(g, host)
                : nullptr;
        if (own && (!leaves_host || used.contains(&g)) &&
            is_unseen(g, *own) && !known.contains(g.getName()) &&
            (own->hasHiddenVisibility() || is_address_taken(*own))) {
            list(g, *own, host);
            changed = true;
        }
    }
    return changed;
}
