/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Values of C++ whose bytes alone do not say how they are shown: the tool has
 * text compiled that shows them by what their classes offer
 * (tool/repl/session/object.in). That text uses Shape<T>::bytes, which it does
 * not define, where the class offers nothing. This file defines it, and has
 * at<M> instantiated for each member's class M.
 */
#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Mangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include "frontend/repl/repl.h"

using namespace clang;
using namespace ompjit_repl;

/* ------------------------------------------------------------------- values */

namespace {

/* The parameter that a value of the class can be `b` for in `a << b`. */
bool takes(const NamedDecl *decl, const CXXRecordDecl *record)
{
    const auto *f = llvm::dyn_cast<FunctionDecl>(decl->getUnderlyingDecl());
    if (!f || f->getNumParams() != 2)
        return false;
    const CXXRecordDecl *second =
        f->getParamDecl(1)->getType().getNonReferenceType()
            ->getAsCXXRecordDecl();
    return second && second->getCanonicalDecl() == record->getCanonicalDecl();
}

bool is_streamed(ASTContext &c, const CXXRecordDecl *record)
{
    const DeclarationName name =
        c.DeclarationNames.getCXXOperatorName(OO_LessLess);
    for (const NamedDecl *each :
         record->getDeclContext()->getRedeclContext()->lookup(name))
        if (takes(each, record))
            return true;
    for (const NamedDecl *each : c.getTranslationUnitDecl()->lookup(name))
        if (takes(each, record))
            return true;
    return false;
}

/* Has the class nothing but members, as in C? */
bool is_plain(ASTContext &c, const CXXRecordDecl *record)
{
    if (record->getNumBases() || record->isPolymorphic() ||
        record->hasFriends() || is_streamed(c, record))
        return false;
    for (const CXXMethodDecl *method : record->methods())
        if (!method->isImplicit() && !isa<CXXConstructorDecl>(method))
            return false;
    for (const FieldDecl *field : record->fields())
        if (field->getType()->isReferenceType() ||
            is_object(c, field->getType()))
            return false;
    return true;
}

} // namespace

bool ompjit_repl::is_object(ASTContext &c, QualType type)
{
    while (const ArrayType *array = c.getAsArrayType(type))
        type = array->getElementType();
    const CXXRecordDecl *record = type->getAsCXXRecordDecl();
    record = record ? record->getDefinition() : nullptr;
    return record && !record->isInvalidDecl() && !record->isUnion() &&
           !record->isLambda() && !is_plain(c, record);
}

/* -------------------------------------------------------------------- shapes */

namespace {

/* As a program writes the type; "": it cannot. */
std::string written(ASTContext &c, QualType type)
{
    PrintingPolicy policy = c.getPrintingPolicy();
    policy.SuppressUnwrittenScope = true;
    const std::string text = type.getCanonicalType().getAsString(policy);
    for (const char *unnamed : {"(lambda", "(unnamed", "(anonymous"})
        if (text.find(unnamed) != std::string::npos)
            return "";
    return text;
}

class Finder {
  public:
    explicit Finder(Session &session)
        : session(session), c(session.context())
    {
    }

    void find()
    {
        auto *space = member<NamespaceDecl>(c.getTranslationUnitDecl(),
                                            "ompjit_object");
        auto *shape = space ? member<ClassTemplateDecl>(space, "Shape")
                            : nullptr;
        at = space ? member<FunctionTemplateDecl>(space, "at") : nullptr;
        if (!shape || !at)
            return;
        /* Instances that the shapes need may need more shapes. */
        for (bool more = true; more;) {
            std::vector<ClassTemplateSpecializationDecl *> all(
                shape->spec_begin(), shape->spec_end());
            more = false;
            for (ClassTemplateSpecializationDecl *each : all)
                more |= add(each);
            session.sema.PerformPendingInstantiations();
        }
    }

  private:
    Session &session;
    ASTContext &c;
    FunctionTemplateDecl *at = nullptr;
    std::set<const Decl *> known;

    template <typename Kind> Kind *member(DeclContext *of, const char *name)
    {
        for (NamedDecl *each : of->lookup(&c.Idents.get(name)))
            if (auto *found = llvm::dyn_cast<Kind>(each))
                return found;
        return nullptr;
    }

    bool add(ClassTemplateSpecializationDecl *spec)
    {
        if (!known.insert(spec).second)
            return false;
        auto *bytes = member<VarDecl>(spec, "bytes");
        if (!bytes)
            return false;
        ompjit__buf shape = {};
        const QualType type = spec->getTemplateArgs()[0].getAsType();
        add_members_shape(c, type,
                          [this](QualType type) { return symbol_of(type); },
                          &shape);
        session.shapes.push_back({ASTNameGenerator(c).getName(bytes),
                                  written(c, type),
                                  std::string(shape.data, shape.size)});
        ompjit__buf_free(&shape);
        return true;
    }

    /* The function that shows values of the class. */
    std::string symbol_of(QualType type)
    {
        const TemplateArgument argument(
            c.getCanonicalType(type).getUnqualifiedType());
        const SourceLocation place = at->getLocation();
        FunctionDecl *f = session.sema.InstantiateFunctionDeclaration(
            at, TemplateArgumentList::CreateCopy(c, {argument}), place);
        if (!f)
            return "";
        session.sema.MarkFunctionReferenced(place, f);
        const std::string symbol = ASTNameGenerator(c).getName(f);
        session.members.push_back(
            {symbol, written(c, type.getUnqualifiedType())});
        return symbol;
    }
};

} // namespace

void ompjit_repl::find_shapes(Session &session)
{
    Finder(session).find();
}

/* The shape's size in 8 bytes, and the shape. */
void ompjit_repl::define_shapes(const Session &session, llvm::Module &module)
{
    for (const auto &[name, type, shape] : session.shapes) {
        llvm::GlobalVariable *declared = module.getNamedGlobal(name);
        if (!declared)
            continue;
        const uint64_t size = shape.size();
        std::string bytes(reinterpret_cast<const char *>(&size), sizeof size);
        auto *value = llvm::ConstantDataArray::getString(
            module.getContext(), bytes + shape, false);
        auto *defined = new llvm::GlobalVariable(
            module, value->getType(), true,
            llvm::GlobalValue::InternalLinkage, value);
        defined->takeName(declared);
        declared->replaceAllUsesWith(defined);
        declared->eraseFromParent();
    }
}
