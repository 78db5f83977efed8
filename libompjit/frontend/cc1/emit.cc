/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of `declare target indirect` that a half does not call itself. clang
 * 22 makes entries for all of them and code for those that must be there: a
 * `static` function, or one within a class, that a half has no use for is missing
 * then, which is an error ("Offloading entry for indirect declare target variable
 * is incorrect"). Here they are marked as used, and given to the code generator
 * once more, at the end of the source.
 */
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/ASTMutationListener.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/Frontend/MultiplexConsumer.h>

#include "frontend/cc1/emit.h"

namespace {

using namespace clang;

class Called : public ASTConsumer, public ASTMutationListener {
    ASTConsumer *const generator;
    llvm::SmallVector<const FunctionDecl *, 8> functions;

  public:
    explicit Called(ASTConsumer *to) : generator(to) {}

    ASTMutationListener *GetASTMutationListener() override { return this; }

    void DeclarationMarkedOpenMPDeclareTarget(const Decl *declaration,
                                              const Attr *attribute) override
    {
        const auto *target =
            dyn_cast<OMPDeclareTargetDeclAttr>(attribute);
        const auto *f = dyn_cast<FunctionDecl>(declaration);
        if (f && target && target->getIndirect())
            functions.push_back(f);
    }

    void HandleTranslationUnit(ASTContext &context) override
    {
        for (const FunctionDecl *f : functions) {
            FunctionDecl *definition =
                const_cast<FunctionDecl *>(f)->getDefinition();
            if (!definition || definition->isDependentContext() ||
                definition->hasAttr<UsedAttr>())
                continue;
            definition->addAttr(UsedAttr::CreateImplicit(context));
            generator->HandleTopLevelDecl(DeclGroupRef(definition));
        }
    }
};

} // namespace

/* Ours comes first: the generator ends with its own end of the source. */
std::unique_ptr<ASTConsumer>
ompjit_cc1::Emit::CreateASTConsumer(CompilerInstance &compiler,
                                    llvm::StringRef file)
{
    auto generator = EmitBCAction::CreateASTConsumer(compiler, file);
    if (!generator)
        return nullptr;
    std::vector<std::unique_ptr<ASTConsumer>> both;
    both.push_back(std::make_unique<Called>(generator.get()));
    both.push_back(std::move(generator));
    return std::make_unique<MultiplexConsumer>(std::move(both));
}
