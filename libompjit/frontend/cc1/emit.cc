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
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>

#include "frontend/cc1/emit.h"
#include "frontend/cc1/host_info.h"

namespace {

using namespace clang;

/* Has the host half's list of target regions read before the code generator, which
 * comes behind it, gets the first code that may ask for it. No such code is there
 * as long as the source has no directive, and so no word `omp` in a pragma or an
 * attribute. What comes from a precompiled header has no words here. */
class HostInfo : public ASTConsumer {
    const IdentifierTable &words;

    void look()
    {
        if (words.find("omp") != words.end())
            ompjit_cc1::take_host_info();
    }

  public:
    explicit HostInfo(const IdentifierTable &all) : words(all) {}

    bool HandleTopLevelDecl(DeclGroupRef) override
    {
        look();
        return true;
    }
    void HandleInlineFunctionDefinition(FunctionDecl *) override { look(); }
    void HandleTagDeclDefinition(TagDecl *) override { look(); }
    void HandleCXXImplicitFunctionInstantiation(FunctionDecl *) override
    {
        look();
    }
    void HandleCXXStaticMemberVarInstantiation(VarDecl *) override { look(); }
    void CompleteTentativeDefinition(VarDecl *) override { look(); }
    void HandleVTable(CXXRecordDecl *) override { look(); }
    void HandleTranslationUnit(ASTContext &) override
    {
        ompjit_cc1::take_host_info();
    }
};

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

/* Ours come first: the generator ends with its own end of the source. */
std::unique_ptr<ASTConsumer>
ompjit_cc1::Emit::CreateASTConsumer(CompilerInstance &compiler,
                                    llvm::StringRef file)
{
    auto generator = EmitBCAction::CreateASTConsumer(compiler, file);
    if (!generator)
        return nullptr;
    if (compiler.getPreprocessorOpts().ImplicitPCHInclude.empty())
        ompjit_cc1::defer_host_info();
    std::vector<std::unique_ptr<ASTConsumer>> all;
    all.push_back(std::make_unique<HostInfo>(
        compiler.getPreprocessor().getIdentifierTable()));
    all.push_back(std::make_unique<Called>(generator.get()));
    all.push_back(std::move(generator));
    return std::make_unique<MultiplexConsumer>(std::move(all));
}
