// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First values that clang leaves out of the device half: they are the host
// half's.
//
// A function's static variable gets its value where clang emits the function,
// which the device half of a region, or of a lambda that a region calls, does not
// contain: there it is zero. A constant with a class for type is only declared
// (constexpr std::array), and so is an instance of a variable template.
#include <llvm-c/Core.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "frontend/dialect/counterpart.h"

extern "C" { // frontend/dialect/dialect.h is C
bool ompjit__copy_first_values(LLVMModuleRef device, LLVMModuleRef host);
}

llvm::GlobalVariable *ompjit__counterpart(const llvm::GlobalVariable &g,
                                          llvm::Module &host)
{
    llvm::GlobalVariable *own = host.getGlobalVariable(g.getName(), true);
    if (g.use_empty() || !own || own->isDeclaration() || own->isThreadLocal())
        return nullptr;
    const llvm::DataLayout &layout = g.getDataLayout();
    return g.isDeclaration() ||
                   layout.getTypeAllocSize(own->getValueType()) ==
                       layout.getTypeAllocSize(g.getValueType())
               ? own
               : nullptr;
}

// Is it a function's own, by its name? C's is `function.variable`.
static bool is_functions_own(const llvm::GlobalVariable &g)
{
    return g.getName().starts_with("_ZZ") ||
           (g.hasLocalLinkage() && g.getName().contains('.'));
}

namespace {
// The device's counterpart of what a host's constant refers to: what has the
// same name there, or a copy of what has no name that matters.
class Counterparts : public llvm::ValueMaterializer {
public:
    explicit Counterparts(llvm::Module &device) : device(device) {}

    // NULL: the constant refers to something that the device has not.
    llvm::Constant *map(const llvm::Constant &c)
    {
        llvm::Constant *mapped = llvm::MapValue(&c, values, llvm::RF_None,
                                                nullptr, this);
        return missing ? nullptr : mapped;
    }

    llvm::Value *materialize(llvm::Value *v) override
    {
        auto *global = llvm::dyn_cast<llvm::GlobalValue>(v);
        if (!global)
            return nullptr;
        auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(v);
        if (variable && variable->isConstant() &&
            variable->hasGlobalUnnamedAddr() && variable->hasInitializer())
            return copy(*variable);
        llvm::GlobalValue *known = device.getNamedValue(global->getName());
        missing |= !known || known->isDeclaration();
        return missing ? global : known;
    }

private:
    llvm::Module &device;
    llvm::ValueToValueMapTy values;
    bool missing = false;

    llvm::GlobalVariable *copy(const llvm::GlobalVariable &text)
    {
        llvm::Constant *value = map(*text.getInitializer());
        if (!value)
            return const_cast<llvm::GlobalVariable *>(&text);
        auto *own = new llvm::GlobalVariable(
            device, text.getValueType(), true,
            llvm::GlobalValue::PrivateLinkage, value, text.getName());
        own->setAlignment(text.getAlign());
        own->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
        return own;
    }
};
} // namespace

// Does the device half define the function whose own the variable is? A name in
// C++ is _ZZ, the function's name without _Z, E, and the variable's.
static bool has_function(const llvm::GlobalVariable &g)
{
    const llvm::Module &m = *g.getParent();
    llvm::StringRef name = g.getName();
    const bool mangled = name.consume_front("_ZZ");
    const char mark = mangled ? 'E' : '.';
    for (size_t at = name.find(mark); at != name.npos;
         at = name.find(mark, at + 1)) {
        const llvm::Function *f = m.getFunction(
            (mangled ? "_Z" : "") + name.take_front(at).str());
        if (f && !f->isDeclaration())
            return true;
    }
    return false;
}

// One that each file defines which uses it, without code that initializes it.
static bool is_instance(const llvm::GlobalVariable &own)
{
    llvm::StringRef name = own.getName();
    return own.hasLinkOnceODRLinkage() && name.consume_front("_Z") &&
           !own.getParent()->getNamedValue(("_ZGV" + name).str());
}

static bool lacks_value(const llvm::GlobalVariable &g,
                        const llvm::GlobalVariable &own)
{
    if (g.isDeclaration())
        return (own.isConstant() || is_instance(own)) &&
               own.hasDefinitiveInitializer();
    return is_functions_own(g) && g.getInitializer()->isNullValue() &&
           !own.getInitializer()->isNullValue() && !has_function(g) &&
           g.hasLocalLinkage() == own.hasLocalLinkage();
}

// Gives `g` the host's first value. It becomes another variable: the halves'
// types may differ by name. False: the value refers to what the device has not.
static bool initialize(llvm::GlobalVariable *g, const llvm::GlobalVariable &own)
{
    const bool declared = g->isDeclaration();
    llvm::Constant *value =
        Counterparts(*g->getParent()).map(*own.getInitializer());
    if (!value)
        return false;
    auto *now = new llvm::GlobalVariable(
        *g->getParent(), value->getType(),
        declared ? own.isConstant() : g->isConstant(),
        !declared          ? g->getLinkage()
        : own.isConstant() ? llvm::GlobalValue::InternalLinkage
                           : own.getLinkage(),
        value,
        "", g, g->getThreadLocalMode(), g->getAddressSpace());
    now->copyAttributesFrom(g);
    now->setComdat(g->getComdat());
    now->takeName(g);
    g->replaceAllUsesWith(now);
    g->eraseFromParent();
    return true;
}

bool ompjit__copy_first_values(LLVMModuleRef device_ref, LLVMModuleRef host_ref)
{
    llvm::Module &host = *llvm::unwrap(host_ref);
    bool changed = false;
    for (llvm::GlobalVariable &g :
         llvm::make_early_inc_range(llvm::unwrap(device_ref)->globals()))
        if (const llvm::GlobalVariable *own = ompjit__counterpart(g, host))
            changed |= lacks_value(g, *own) && initialize(&g, *own);
    return changed;
}
