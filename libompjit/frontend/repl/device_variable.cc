/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Variables of `declare target` in later inputs. The device has a variable in
 * the module of the input that defines it, where no other module sees it. So
 * device code of a later input reads a pointer to it, as clang does for
 * `declare target link`; the dialect adds the pointer's entry to the host half
 * (frontend/dialect/unified.cc), where the host's variable is found by its
 * symbol.
 *
 * clang's semantic checks still see `declare target`, which decides what a
 * region captures. The code generator sees another attribute:
 *
 *   host half      none: later inputs have no entry for the variable
 *   device half    link, for as long as the process lives, which is a child
 *
 * A static variable becomes external, since clang gives it no entry otherwise,
 * and the device's would be one of its own. A variable that an earlier input has
 * defined, and a later one puts on the device, is defined for the device by the
 * later one.
 */
#include <clang/AST/Attr.h>
#include <clang/AST/GlobalDecl.h>
#include <clang/AST/Mangle.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

using DeclareTarget = clang::OMPDeclareTargetDeclAttr;

namespace {

/* Most variables have no attributes, and each input asks for all. */
bool is_on_device(const clang::VarDecl *v)
{
    if (llvm::none_of(v->redecls(), [](const clang::VarDecl *each) {
            return each->hasAttrs();
        }))
        return false;
    auto type = DeclareTarget::isDeclareTargetDeclaration(v);
    return type && *type != DeclareTarget::MT_Link;
}

/* Variables that the input defines. */
void for_defined(Session &session,
                 const std::function<void(clang::VarDecl *)> &found)
{
    for (clang::DeclGroupRef group : session.recorder.groups)
        for (clang::Decl *decl : group)
            visit(decl, [&](clang::NamedDecl *each) {
                auto *v = llvm::dyn_cast<clang::VarDecl>(each);
                if (v && v->isThisDeclarationADefinition() !=
                             clang::VarDecl::DeclarationOnly)
                    found(v);
            });
}

} // namespace

std::vector<clang::VarDecl *>
ompjit_repl::late_variables(const Session &session)
{
    std::vector<clang::VarDecl *> found;
    for (clang::VarDecl *v : session.host_variables)
        if (is_on_device(v))
            found.push_back(v);
    return found;
}

static void make_external(clang::VarDecl *v)
{
    for (clang::VarDecl *each : v->redecls()) {
        each->setStorageClass(clang::SC_None);
        each->invalidateCachedLinkage();
    }
}

/* A variable that an earlier input has defined keeps its symbol. */
void ompjit_repl::share_device_variables(Session &session)
{
    clang::ASTNameGenerator names(session.context());
    for_defined(session, [](clang::VarDecl *v) {
        if (v->getStorageClass() == clang::SC_Static && is_on_device(v))
            make_external(v);
    });
    for (clang::VarDecl *v : late_variables(session)) {
        if (v->getStorageClass() != clang::SC_Static)
            continue;
        std::string symbol = names.getName(v);
        make_external(v);
        if (!v->hasAttr<clang::AsmLabelAttr>())
            v->addAttr(clang::AsmLabelAttr::CreateImplicit(session.context(),
                                                           symbol));
    }
}

void ompjit_repl::define_late(clang::CodeGenerator &generator,
                              clang::VarDecl *v)
{
    if (v->isThisDeclarationADefinition() ==
        clang::VarDecl::TentativeDefinition)
        generator.CompleteTentativeDefinition(v);
    else
        generator.HandleTopLevelDecl(clang::DeclGroupRef(v));
}

bool ompjit_repl::add_late_variables(Session &session,
                                     clang::CodeGenerator &generator)
{
    const std::vector<clang::VarDecl *> found = late_variables(session);
    for (clang::VarDecl *v : found)
        if (session.device)
            define_late(generator, v);
        else
            generator.GetAddrOfGlobal(clang::GlobalDecl(v), false);
    return !found.empty();
}

/* clang emits a static variable wherever it is used first. */
void ompjit_repl::undefine_late_variables(Session &session,
                                          clang::CodeGenerator &generator)
{
    for (clang::VarDecl *v : late_variables(session)) {
        llvm::GlobalVariable *g = generator.GetModule()->getGlobalVariable(
            generator.GetMangledName(clang::GlobalDecl(v)));
        if (!g || g->isDeclaration())
            continue;
        llvm::removeFromUsedLists(*generator.GetModule(),
                                  [&](llvm::Constant *each) {
                                      return each == g;
                                  });
        g->setInitializer(nullptr);
    }
}

/* Implicit ones are values, and what runs statements of C++ (parse.cc), of which
 * each input has one: no directive names them. */
void ompjit_repl::keep_device_variables(Session &session)
{
    for_defined(session, [&](clang::VarDecl *v) {
        if (!v->isImplicit())
            session.host_variables.push_back(v);
    });
    std::vector<clang::VarDecl *> &all = session.host_variables;
    for (clang::VarDecl *v : late_variables(session)) {
        all.erase(std::find(all.begin(), all.end(), v));
        session.device_variables.push_back(v);
    }
}

Detached::Detached(Session &session)
{
    clang::ASTContext &context = session.context();
    for (clang::VarDecl *v : session.device_variables)
        for (clang::VarDecl *each : v->redecls()) {
            std::vector<DeclareTarget *> attributes(
                each->specific_attr_begin<DeclareTarget>(),
                each->specific_attr_end<DeclareTarget>());
            each->dropAttr<DeclareTarget>();
            for (DeclareTarget *attribute : attributes) {
                detached.emplace_back(each, attribute);
                if (session.device)
                    each->addAttr(DeclareTarget::CreateImplicit(
                        context, DeclareTarget::MT_Link,
                        attribute->getDevType(), nullptr, false,
                        attribute->getLevel()));
            }
        }
}

Detached::~Detached()
{
    for (auto [v, attribute] : detached)
        v->dropAttr<DeclareTarget>();
    for (auto [v, attribute] : detached)
        v->addAttr(attribute);
}

void ompjit_repl::mark_pointers(Session &session,
                                clang::CodeGenerator &generator)
{
    for (clang::VarDecl *v : session.device_variables) {
        llvm::StringRef symbol =
            generator.GetMangledName(clang::GlobalDecl(v));
        llvm::GlobalVariable *pointer =
            generator.GetModule()->getGlobalVariable(
                (symbol + "_decl_tgt_ref_ptr").str());
        if (pointer)
            pointer->addAttribute("ompjit-points-to", symbol);
    }
}
