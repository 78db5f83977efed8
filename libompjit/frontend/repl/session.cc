/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * clang's objects for a session, set up once: an empty file is begun, and never
 * ended. `ompjitc -repl` takes the command line of a compile (`-cc1`), for one
 * of the halves.
 */
#include <clang/AST/DeclCXX.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/Support/MemoryBuffer.h>

#include "frontend/cc1/ahead.h"
#include "frontend/cc1/cc1.h"
#include "frontend/repl/repl.h"

using namespace ompjit_repl;

/* --------------------------------------------------------------- recorder */

void Recorder::begin()
{
    events.clear();
    groups.clear();
    instances.clear();
}

/* A directive like `declare target to(x)` hands x over once more. */
bool Recorder::HandleTopLevelDecl(clang::DeclGroupRef group)
{
    bool fresh = false;
    for (const clang::Decl *decl : group)
        fresh |= !llvm::isa<clang::VarDecl, clang::FunctionDecl>(decl) ||
                 declared.insert(decl).second;
    if (!fresh)
        return true;
    groups.push_back(group);
    events.push_back([=](clang::ASTConsumer &to) {
        to.HandleTopLevelDecl(group);
    });
    return true;
}

void Recorder::HandleInlineFunctionDefinition(clang::FunctionDecl *f)
{
    events.push_back([=](clang::ASTConsumer &to) {
        to.HandleInlineFunctionDefinition(f);
    });
}

void Recorder::HandleInterestingDecl(clang::DeclGroupRef group)
{
    events.push_back([=](clang::ASTConsumer &to) {
        to.HandleInterestingDecl(group);
    });
}

void Recorder::HandleTagDeclDefinition(clang::TagDecl *tag)
{
    events.push_back([=](clang::ASTConsumer &to) {
        to.HandleTagDeclDefinition(tag);
    });
}

void Recorder::HandleTagDeclRequiredDefinition(const clang::TagDecl *tag)
{
    events.push_back([=](clang::ASTConsumer &to) {
        to.HandleTagDeclRequiredDefinition(tag);
    });
}

void Recorder::HandleCXXImplicitFunctionInstantiation(clang::FunctionDecl *f)
{
    events.push_back([=](clang::ASTConsumer &to) {
        to.HandleCXXImplicitFunctionInstantiation(f);
    });
}

/* clang completes the tentative definitions of all inputs at the end of each. */
void Recorder::CompleteTentativeDefinition(clang::VarDecl *v)
{
    if (completed.insert(v).second)
        events.push_back([=](clang::ASTConsumer &to) {
            to.CompleteTentativeDefinition(v);
        });
}

void Recorder::CompleteExternalDeclaration(clang::DeclaratorDecl *d)
{
    events.push_back([=](clang::ASTConsumer &to) {
        to.CompleteExternalDeclaration(d);
    });
}

void Recorder::AssignInheritanceModel(clang::CXXRecordDecl *record)
{
    events.push_back([=](clang::ASTConsumer &to) {
        to.AssignInheritanceModel(record);
    });
}

void Recorder::HandleCXXStaticMemberVarInstantiation(clang::VarDecl *v)
{
    instances.push_back(v);
    events.push_back([=](clang::ASTConsumer &to) {
        to.HandleCXXStaticMemberVarInstantiation(v);
    });
}

void Recorder::HandleVTable(clang::CXXRecordDecl *record)
{
    events.push_back([=](clang::ASTConsumer &to) {
        to.HandleVTable(record);
    });
}

/* ---------------------------------------------------------------- session */

Session::Session(clang::CompilerInstance &compiler, clang::Parser &parser,
                 Recorder &recorder, Report &report)
    : compiler(compiler), pp(parser.getPreprocessor()),
      sema(parser.getActions()), parser(parser), recorder(recorder),
      report(report),
      device(compiler.getLangOpts().OpenMPIsTargetDevice != 0)
{
    if (!compiler.getLangOpts().CPlusPlus)
        pp.setTokenWatcher([this](const clang::Token &token) {
            if (token.is(clang::tok::identifier))
                lexed.push_back(token.getIdentifierInfo());
        });
}

/* The parser looks ahead at a few. */
llvm::SmallPtrSet<clang::IdentifierInfo *, 32> Session::take_lexed()
{
    constexpr size_t AHEAD = 16;
    llvm::SmallPtrSet<clang::IdentifierInfo *, 32> taken(lexed.begin(),
                                                         lexed.end());
    if (lexed.size() > AHEAD)
        lexed.erase(lexed.begin(), lexed.end() - AHEAD);
    return taken;
}

bool Session::place_of(clang::SourceLocation location, Place &out)
{
    const clang::SourceManager &sources = compiler.getSourceManager();
    if (location.isInvalid())
        return false;
    auto [file, offset] =
        sources.getDecomposedLoc(sources.getFileLoc(location));
    for (const auto &[number, id] : files) {
        if (id != file)
            continue;
        llvm::SmallString<64> name;
        out = {number, offset - prefix[number],
               clang::Lexer::getSpelling(sources.getFileLoc(location), name,
                                         sources, compiler.getLangOpts())
                   .str()};
        return true;
    }
    return false;
}

bool Session::is_own(clang::SourceLocation location)
{
    const clang::SourceManager &sources = compiler.getSourceManager();
    return location.isValid() &&
           sources.getFileID(sources.getFileLoc(location)) == report.reading;
}

/* ------------------------------------------------------------------ action */

namespace {

/* Macros of the user's own. */
class Macros : public clang::PPCallbacks {
  public:
    explicit Macros(Session &session) : session(session) {}

    void MacroDefined(const clang::Token &name,
                      const clang::MacroDirective *) override
    {
        if (!session.is_own(name.getLocation()))
            return;
        session.macros.push_back(
            {name.getIdentifierInfo()->getName().str(),
             session.compiler.getSourceManager().getPresumedLineNumber(
                 name.getLocation())});
    }

  private:
    Session &session;
};

/* The text of an input has come to its end: what is lexed then is that of an
 * input, and not of a file (leave_scopes). */
class AtEnd : public clang::PragmaHandler {
  public:
    AtEnd() : PragmaHandler(INPUT_END) {}

    void HandlePragma(clang::Preprocessor &pp, clang::PragmaIntroducer,
                      clang::Token &) override
    {
        pp.enableIncrementalProcessing(true);
    }
};

class Action : public clang::ASTFrontendAction {
  public:
    Action(Report *report, std::string includes)
        : report(report), includes(std::move(includes))
    {
    }

  private:
    Report *report;
    std::string includes;
    Recorder *recorder = nullptr;

    clang::TranslationUnitKind getTranslationUnitKind() override
    {
        return clang::TU_Incremental;
    }

    std::unique_ptr<clang::ASTConsumer>
    CreateASTConsumer(clang::CompilerInstance &, llvm::StringRef) override
    {
        auto made = std::make_unique<Recorder>();
        recorder = made.get();
        return made;
    }

    void ExecuteAction() override
    {
        clang::CompilerInstance &compiler = getCompilerInstance();
        clang::Preprocessor &pp = compiler.getPreprocessor();
        pp.enableIncrementalProcessing();
        pp.EnterMainSourceFile();
        compiler.createSema(getTranslationUnitKind(), new_consumer(*report));
        clang::Parser parser(pp, compiler.getSema(), false);
        Session session(compiler, parser, *recorder, *report);
        session.includes = includes;
        report->is_at_end = [&parser] {
            return parser.getCurToken().isOneOf(
                clang::tok::annot_repl_input_end, clang::tok::eof);
        };
        report->place_of = [&session](clang::SourceLocation location,
                                      Place &out) {
            return session.place_of(location, out);
        };
        pp.addPPCallbacks(std::make_unique<Macros>(session));
        pp.AddPragmaHandler(new AtEnd);
        parser.Initialize();
        serve(session);
    }
};

/* The files of -include are a part of the first input, whose module has what they
 * define. clang would read them before it. */
std::string take_includes(clang::PreprocessorOptions &how)
{
    std::string lines;
    for (const std::string &file : how.Includes)
        lines += "#include \"" + file + "\"\n";
    how.Includes.clear();
    return lines;
}

} // namespace

extern "C" int ompjit__repl(int argc, const char *const *argv)
{
    ompjit_cc1::start();
    auto *compiler = new clang::CompilerInstance;
    auto *report = new Report(*compiler);
    report->is_at_end = [] { return false; };
    report->place_of = [](clang::SourceLocation, Place &) { return false; };
    if (!ompjit_cc1::prepare(*compiler, argc, argv, report)) {
        llvm::errs() << report->text;
        return 1;
    }
    clang::CompilerInvocation &how = compiler->getInvocation();
    how.getDependencyOutputOpts() = clang::DependencyOutputOptions();
    how.getPreprocessorOpts().RemappedFiles.clear();
    how.getPreprocessorOpts().addRemappedFile(
        how.getFrontendOpts().Inputs[0].getFile(),
        llvm::MemoryBuffer::getMemBuffer("", "", true).release());
    Action action(report, take_includes(how.getPreprocessorOpts()));
    return !compiler->ExecuteAction(action);
}
