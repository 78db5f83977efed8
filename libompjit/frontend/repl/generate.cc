/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The module of an input. clang's code generator goes on from one to the next
 * (as in clang-repl): it keeps which inline functions there are, and each module
 * has its own copies of those that it uses. Later modules find all else by its
 * symbol, static variables and functions of an input, too.
 */
#include <clang/AST/ASTContext.h>
#include <clang/AST/GlobalDecl.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

Generator::Generator(Session &session) : session(session)
{
    context = std::make_unique<llvm::LLVMContext>();
    generator =
        clang::CreateLLVMCodeGen(session.compiler, "input", *context);
    generator->Initialize(session.context());
}

/* The generator refers to the context. */
Generator::~Generator()
{
    module.reset();
    generator.reset();
}

bool ompjit_repl::is_made(Session &session, const clang::VarDecl *v)
{
    return session.compiler.getLangOpts().CPlusPlus &&
           ((v->getInit() && !v->hasConstantInitialization()) ||
            v->needsDestruction(session.context()) != clang::QualType::DK_none);
}

namespace {

bool is_internal(const clang::FunctionDecl *f)
{
    return f->getFormalLinkage() == clang::Linkage::Internal;
}

/* So is one whose type no other file can name, as that of a lambda. */
bool is_internal(const clang::VarDecl *v)
{
    return v->isFileVarDecl() && !v->isExternallyVisible() &&
           v->getTemplateSpecializationKind() == clang::TSK_Undeclared;
}

/* A static function or variable. Inline functions have a copy in each module,
 * and so may constants of headers. */
bool is_static(Session &session, clang::NamedDecl *decl)
{
    auto *f = llvm::dyn_cast<clang::FunctionDecl>(decl);
    auto *v = llvm::dyn_cast<clang::VarDecl>(decl);
    if (decl->isImplicit())
        return false;
    if (f)
        return is_internal(f) && f->isThisDeclarationADefinition() &&
               !f->isInlined();
    return v && is_internal(v) && v->isThisDeclarationADefinition() &&
           !v->isConstexpr() &&
           (session.is_own(v->getLocation()) ||
            !v->getType().isConstant(session.context()));
}

void for_statics(Session &session,
                 const std::function<void(clang::NamedDecl *)> &found)
{
    for (clang::DeclGroupRef group : session.recorder.groups)
        for (clang::Decl *decl : group)
            visit(decl, [&](clang::NamedDecl *each) {
                if (is_static(session, each))
                    found(each);
            });
}

/* The compiler wing says for which CPU code is made. */
void strip_cpu(llvm::Module &module)
{
    for (llvm::Function &f : module)
        for (const char *name : {"target-cpu", "tune-cpu", "target-features"})
            f.removeFnAttr(name);
}

} // namespace

/* Without an initializer of its own a variable is all zero, and is left out. */
Made::Made(Session &session)
{
    for (clang::VarDecl *v : session.made_statics) {
        if (v->getTLSKind() != clang::VarDecl::TLS_None)
            continue;
        if (!v->hasConstantInitialization()) {
            initializers.emplace_back(v, v->getInit());
            v->setInit(nullptr);
        }
        if (!v->hasAttr<clang::NoDestroyAttr>()) {
            v->addAttr(
                clang::NoDestroyAttr::CreateImplicit(session.context()));
            destroyed.push_back(v);
        }
    }
}

Made::~Made()
{
    for (auto [v, initializer] : initializers)
        v->setInit(initializer);
    for (clang::VarDecl *v : destroyed)
        v->dropAttr<clang::NoDestroyAttr>();
}

/* Constants are clang's own care: it gives each a guard. */
void ompjit_repl::keep_statics(Session &session)
{
    for_statics(session, [&](clang::NamedDecl *decl) {
        auto *v = llvm::dyn_cast<clang::VarDecl>(decl);
        session.statics.insert(decl->getCanonicalDecl());
        if (v && is_made(session, v) &&
            !v->getType().isConstant(session.context()))
            session.made_statics.push_back(v);
    });
}

bool ompjit_repl::use(Session &session, clang::NamedDecl *decl)
{
    if (decl->hasAttr<clang::UsedAttr>())
        return false;
    decl->addAttr(clang::UsedAttr::CreateImplicit(session.context()));
    return true;
}

/* Later modules see static names, too. */
void Generator::share()
{
    std::set<llvm::Constant *> shared;
    for_statics(session, [&](clang::NamedDecl *decl) {
        clang::GlobalDecl global;
        if (auto *f = llvm::dyn_cast<clang::FunctionDecl>(decl))
            global = clang::GlobalDecl(f);
        else
            global = clang::GlobalDecl(llvm::cast<clang::VarDecl>(decl));
        llvm::GlobalValue *value = generator->GetModule()->getNamedValue(
            generator->GetMangledName(global));
        if (!value || value->isDeclaration())
            return;
        value->setLinkage(llvm::GlobalValue::ExternalLinkage);
        shared.insert(value);
        // clang defines objects of C++ that are const in each module.
        if (llvm::isa<llvm::GlobalVariable>(value) &&
            session.is_own(decl->getLocation()))
            session.symbols_for_all.push_back({linked_name(*value), false});
    });
    llvm::removeFromUsedLists(*generator->GetModule(),
                              [&](llvm::Constant *each) {
                                  return shared.count(each) != 0;
                              });
    for (const llvm::Constant *each : shared) /* of the lists that were */
        each->removeDeadConstantUsers();
    for (clang::VarDecl *v : late_thread_locals(session))
        if (llvm::GlobalValue *value = generator->GetModule()->getNamedValue(
                generator->GetMangledName(clang::GlobalDecl(v))))
            value->setLinkage(llvm::GlobalValue::ExternalLinkage);
}

/* Is it a static function or variable of an earlier input? Inline functions and
 * constants have a copy in each module. */
bool Generator::is_earlier_static(const llvm::GlobalValue &value)
{
    const clang::Decl *decl =
        value.hasInternalLinkage() && !value.isDeclaration()
            ? generator->GetDeclForMangledName(value.getName())
            : nullptr;
    return decl && session.statics.count(decl->getCanonicalDecl());
}

/* clang makes the code of a static function or variable again for each module
 * that uses it. */
void Generator::leave_earlier_statics()
{
    llvm::Module &m = *generator->GetModule();
    for (llvm::Function &f : m)
        if (is_earlier_static(f)) {
            f.deleteBody();
            f.setLinkage(llvm::GlobalValue::ExternalLinkage);
        }
    for (llvm::GlobalVariable &v : llvm::make_early_inc_range(m.globals()))
        if (is_earlier_static(v)) {
            v.setInitializer(nullptr);
            v.setLinkage(llvm::GlobalValue::ExternalLinkage);
        } else if (v.hasLocalLinkage() && v.use_empty()) {
            v.eraseFromParent();
        }
}

/* Names that files which the input includes define: the answer has those of the
 * input's own text. */
void Generator::add_included()
{
    for (llvm::GlobalValue &value : generator->GetModule()->global_values()) {
        auto *decl = llvm::dyn_cast_or_null<clang::NamedDecl>(
            value.hasExternalLinkage() && !value.isDeclaration()
                ? generator->GetDeclForMangledName(value.getName())
                : nullptr);
        if (decl && !decl->isImplicit() && !session.is_own(decl->getLocation()))
            session.symbols_for_all.push_back(
                {linked_name(value), llvm::isa<llvm::Function>(value)});
    }
}

llvm::Module *Generator::generate(unsigned number)
{
    Detached detached(session);
    Made made(session);
    std::vector<clang::NamedDecl *> used;
    if (!session.device)
        for_statics(session, [&](clang::NamedDecl *decl) {
            if (use(session, decl))
                used.push_back(decl);
        });
    for (clang::DeclGroupRef group : session.requirements)
        generator->HandleTopLevelDecl(group);
    for (clang::VarDecl *v : session.variable_instances)
        generator->HandleCXXStaticMemberVarInstantiation(v);
    for (const auto &event : session.recorder.events)
        event(*generator);
    constructs = add_late_variables(session, *generator);
    if (!session.device)
        for (clang::VarDecl *v : late_thread_locals(session))
            define_late(*generator, v);
    generator->HandleTranslationUnit(session.context());
    for (clang::NamedDecl *decl : used) /* `threadprivate` may name it later */
        decl->dropAttr<clang::UsedAttr>();
    if (session.report.bad || !generator->GetModule())
        return nullptr;
    if (session.device) {
        mark_pointers(session, *generator);
        share_on_device(session, *generator->GetModule(), number);
    } else {
        undefine_late_variables(session, *generator);
        share();
        leave_earlier_statics();
        add_included();
        link_thread_locals(session, *generator);
        share_inline_variables(session, *generator->GetModule());
        note_lacking_instances(session, *generator, *generator->GetModule());
    }
    strip_cpu(*generator->GetModule());
    module.reset(generator->ReleaseModule().release());
    module->setModuleIdentifier("input_" + std::to_string(number));
    constructs |= module->getNamedGlobal("llvm.global_ctors") != nullptr;
    return module.get();
}

/* The context of the last module lives until the generator has let it go. */
void Generator::next(unsigned number)
{
    auto fresh = std::make_unique<llvm::LLVMContext>();
    module.reset();
    generator->StartModule("input_" + std::to_string(number), *fresh);
    context = std::move(fresh);
}
