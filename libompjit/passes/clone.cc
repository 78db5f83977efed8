/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Clones a part of a module. LLVM's own functions copy a whole module, with a
 * declaration of everything that is not cloned, which for each of many parts would
 * be as much work as the whole.
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "passes/clone.h"

using namespace llvm;

namespace ompjit {

std::unique_ptr<Module> Cloner::empty_like(const Module &m)
{
    auto to = std::make_unique<Module>(m.getModuleIdentifier(), m.getContext());
    to->setSourceFileName(m.getSourceFileName());
    to->setTargetTriple(m.getTargetTriple());
    to->setDataLayout(m.getDataLayout());
    SmallVector<Module::ModuleFlagEntry, 8> flags;
    m.getModuleFlagsMetadata(flags);
    for (const Module::ModuleFlagEntry &flag : flags)
        to->addModuleFlag(flag.Behavior, flag.Key->getString(), flag.Val);
    return to;
}

GlobalValue::LinkageTypes Cloner::linkage_of(const Function &f) const
{
    return f.getLinkage();
}

GlobalValue::LinkageTypes Cloner::linkage_of(const GlobalVariable &g) const
{
    return g.getLinkage();
}

Value *Cloner::take(GlobalValue &g)
{
    return MapValue(&g, map, RF_None, nullptr, this);
}

Value *Cloner::declare(GlobalValue &g)
{
    auto linkage = g.hasExternalWeakLinkage() ? GlobalValue::ExternalWeakLinkage
                                              : GlobalValue::ExternalLinkage;
    if (auto *type = dyn_cast<FunctionType>(g.getValueType())) {
        Function *made = Function::Create(type, linkage, g.getAddressSpace(),
                                          g.getName(), &to);
        if (auto *f = dyn_cast<Function>(&g)) {
            made->setCallingConv(f->getCallingConv());
            made->setAttributes(f->getAttributes());
        }
        return made;
    }
    auto *v = dyn_cast<GlobalVariable>(&g);
    auto *made = new GlobalVariable(to, g.getValueType(), v && v->isConstant(),
                                    linkage, nullptr, g.getName(), nullptr,
                                    g.getThreadLocalMode(),
                                    g.getAddressSpace());
    if (v)
        made->setAlignment(v->getAlign());
    return made;
}

Value *Cloner::start(Function &f)
{
    if (f.isDeclaration() || !has(f))
        return declare(f);
    Function *made =
        Function::Create(f.getFunctionType(), GlobalValue::ExternalLinkage,
                         f.getAddressSpace(), f.getName(), &to);
    functions.emplace_back(made, &f);
    return made;
}

Value *Cloner::start(GlobalVariable &g)
{
    if (!g.hasInitializer() || !has(g))
        return declare(g);
    auto *made = new GlobalVariable(to, g.getValueType(), g.isConstant(),
                                    linkage_of(g), nullptr, g.getName(),
                                    nullptr, g.getThreadLocalMode(),
                                    g.getAddressSpace());
    made->copyAttributesFrom(&g);
    if (made->hasAvailableExternallyLinkage())
        made->setDSOLocal(false);
    variables.emplace_back(made, &g);
    return made;
}

Value *Cloner::start(GlobalAlias &a)
{
    if (!has(a))
        return declare(a);
    auto *target = cast<Constant>(
        MapValue(a.getAliasee(), map, RF_None, nullptr, this));
    auto *made = GlobalAlias::create(a.getValueType(), a.getAddressSpace(),
                                     a.getLinkage(), a.getName(), target, &to);
    made->copyAttributesFrom(&a);
    return made;
}

Value *Cloner::materialize(Value *v)
{
    if (auto *f = dyn_cast<Function>(v))
        return start(*f);
    if (auto *g = dyn_cast<GlobalVariable>(v))
        return start(*g);
    if (auto *a = dyn_cast<GlobalAlias>(v))
        return start(*a);
    return nullptr;
}

/* A function of local linkage has the default visibility. */
void Cloner::fill(Function &made, Function &f)
{
    SmallVector<ReturnInst *, 8> returns;
    auto argument = made.arg_begin();
    for (Argument &a : f.args()) {
        argument->setName(a.getName());
        map[&a] = &*argument++;
    }
    CloneFunctionInto(&made, &f, map, CloneFunctionChangeType::DifferentModule,
                      returns, "", nullptr, nullptr, this);
    auto linkage = linkage_of(f);
    if (GlobalValue::isLocalLinkage(linkage))
        made.setVisibility(GlobalValue::DefaultVisibility);
    made.setLinkage(linkage);
}

/* Each may name others, which come behind it. */
void Cloner::finish()
{
    while (!functions.empty() || !variables.empty()) {
        if (!functions.empty()) {
            auto [made, f] = functions.back();
            functions.pop_back();
            fill(*made, *f);
        } else {
            auto [made, g] = variables.back();
            variables.pop_back();
            made->setInitializer(MapValue(g->getInitializer(), map, RF_None,
                                          nullptr, this));
        }
    }
}

} // namespace ompjit
