// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of `declare target` that only their file or their function can see.
// Front ends get two things wrong about them.
//
// They list none of them in an offload entry: clang's `static` and hidden ones,
// flang's of a main program (OpenMPIRBuilder,
// createOffloadEntriesAndInfoMetadata, leaves out what has local linkage or
// hidden visibility). Without an entry a map of one, or a `target update`, would
// copy to memory that device code does not read. They get one here, and device
// code's variable a name that no other file has.
//
// And clang leaves values out of the device half. A function's static variable
// gets its first value where clang emits the function, which the device half of
// a region, or of a lambda that a region calls, does not contain: there it is
// zero. A constant with a class for type is only declared (constexpr
// std::array). They get the host half's values.
#include <string>
#include <utility>
#include <vector>
#include <llvm-c/Core.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/MD5.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

extern "C" { // frontend/frontend.h is C
bool ompjit__is_shared_variable(LLVMValueRef g);
void ompjit__variable_entry(LLVMModuleRef host, LLVMValueRef variable,
                            const char *name, uint64_t size);
bool ompjit__list_variables(LLVMModuleRef device, LLVMModuleRef host);
}

// Is it a function's own, by its name? C's is `function.variable`.
static bool is_functions_own(const llvm::GlobalVariable &g)
{
    return g.getName().starts_with("_ZZ") ||
           (g.hasLocalLinkage() && g.getName().contains('.'));
}

// The host's variable of the same name, where no other file can have another of
// that name, or its constant where the device half has none. flang leaves variables of a program in its device half that no device code
// uses.
static llvm::GlobalVariable *find_host(const llvm::GlobalVariable &g,
                                       llvm::Module &host)
{
    llvm::GlobalVariable *own = host.getGlobalVariable(g.getName(), true);
    if (g.use_empty() || !own || own->isDeclaration() || own->isThreadLocal())
        return nullptr;
    if (g.isDeclaration())
        return own->isConstant() && own->hasDefinitiveInitializer() ? own
                                                                   : nullptr;
    if (own->hasLocalLinkage() != g.hasLocalLinkage())
        return nullptr;
    const llvm::DataLayout &layout = g.getDataLayout();
    if (layout.getTypeAllocSize(own->getValueType()) !=
        layout.getTypeAllocSize(g.getValueType()))
        return nullptr;
    return g.hasLocalLinkage() || own->hasHiddenVisibility() ||
                   is_functions_own(g)
               ? own
               : nullptr;
}

// ------------------------------------------------------------- first values

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

static bool lacks_value(const llvm::GlobalVariable &g)
{
    return g.isDeclaration() ||
           (is_functions_own(g) && g.getInitializer()->isNullValue() &&
            !has_function(g));
}

// Gives `g` the host's first value where it has none. It becomes another
// variable: the halves' types may differ by name.
static llvm::GlobalVariable *initialize(llvm::GlobalVariable *g,
                                        const llvm::GlobalVariable &own)
{
    const bool declared = g->isDeclaration();
    if (!lacks_value(*g) || (!declared && own.getInitializer()->isNullValue()))
        return g;
    llvm::Constant *value =
        Counterparts(*g->getParent()).map(*own.getInitializer());
    if (!value)
        return g;
    auto *now = new llvm::GlobalVariable(
        *g->getParent(), value->getType(), declared || g->isConstant(),
        declared ? llvm::GlobalValue::InternalLinkage : g->getLinkage(), value,
        "", g, g->getThreadLocalMode(), g->getAddressSpace());
    now->copyAttributesFrom(g);
    now->setComdat(g->getComdat());
    now->takeName(g);
    g->replaceAllUsesWith(now);
    g->eraseFromParent();
    return now;
}

// ------------------------------------------------------------------- entries

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

// A text that another file of the program does not have: of what the host half
// offers to other files, and of its source's name where that is nothing.
static std::string unique_suffix(llvm::Module &host)
{
    llvm::MD5 hash;
    llvm::MD5::MD5Result result;
    hash.update(host.getSourceFileName());
    hash.update(llvm::getUniqueModuleId(&host));
    hash.final(result);
    return "__static_" + result.digest().str().str();
}

static void list(llvm::GlobalVariable &g, llvm::GlobalVariable &own,
                 llvm::Module &host)
{
    if (g.hasLocalLinkage()) {
        g.setLinkage(llvm::GlobalValue::ExternalLinkage);
        g.setName(g.getName() + unique_suffix(host));
    }
    g.setVisibility(llvm::GlobalValue::ProtectedVisibility);
    ompjit__variable_entry(
        llvm::wrap(&host), llvm::wrap(&own), g.getName().str().c_str(),
        g.getDataLayout().getTypeAllocSize(g.getValueType()));
}

bool ompjit__list_variables(LLVMModuleRef device_ref, LLVMModuleRef host_ref)
{
    llvm::Module &device = *llvm::unwrap(device_ref);
    llvm::Module &host = *llvm::unwrap(host_ref);
    std::vector<std::pair<llvm::GlobalVariable *, llvm::GlobalVariable *>> found;
    for (llvm::GlobalVariable &g : device.globals())
        if (llvm::GlobalVariable *own = find_host(g, host))
            found.push_back({&g, own});
    if (found.empty())
        return false;
    const llvm::StringSet<> known = entry_names(host);
    bool changed = false;
    for (auto [before, own] : found) {
        llvm::GlobalVariable *g = initialize(before, *own);
        changed |= g != before;
        if (ompjit__is_shared_variable(llvm::wrap(g)) &&
            !known.contains(g->getName()) &&
            (own->hasHiddenVisibility() || is_address_taken(*own))) {
            list(*g, *own, host);
            changed = true;
        }
    }
    return changed;
}
