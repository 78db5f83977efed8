/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads an input: declarations as those of a file, all else as statements of a
 * function. clang decides which is which, by the types that it knows.
 */
#include <algorithm>

#include <clang/AST/ASTContext.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/FileManager.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/HeaderSearch.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/IdentifierResolver.h>
#include <clang/Sema/Scope.h>
#include <llvm/Support/MemoryBuffer.h>

#include "frontend/repl/granted.h"
#include "frontend/repl/repl.h"

using namespace ompjit_repl;
namespace tok = clang::tok;

namespace {

/* ------------------------------------------------------------------- text */

/* A line of the text is the line of the user's. */
std::string prefix_of(const Session &session, const Input &input)
{
    return session.includes + "# " + std::to_string(input.line) + " \"" +
           input.name + "\"\n";
}

std::string text_of(const Session &session, const Input &input)
{
    std::string text = input.text;
    for (Range blank : input.blanks)
        for (unsigned i = blank.begin; i < blank.end && i < text.size(); i++)
            if (text[i] != '\n')
                text[i] = ' ';
    return prefix_of(session, input) + text;
}

/* The end of the file has the line and the column of the text's. */
std::string suffix_of(const Input &input)
{
    const auto lines =
        std::count(input.text.begin(), input.text.end(), '\n');
    return std::string("\n\n#pragma ") + INPUT_END + "\n# " +
           std::to_string(input.line + lines) + " \"" + input.name + "\"\n" +
           std::string(input.text.size() - (input.text.rfind('\n') + 1), ' ');
}

/* The text's end: its last line, from 1, and the column behind it. */
void set_completion_point(Session &session, clang::FileEntryRef entry,
                          const Input &input)
{
    const std::string text = text_of(session, input);
    const size_t line = text.rfind('\n') + 1;
    session.pp.SetCodeCompletionPoint(
        entry, 1 + (unsigned)std::count(text.begin(), text.end(), '\n'),
        1 + (unsigned)(text.size() - line));
}

void enter(Session &session, const Input &input)
{
    clang::SourceManager &sources = session.compiler.getSourceManager();
    clang::SourceLocation start =
        sources.getLocForStartOfFile(sources.getMainFileID());
    /* Headers of the user's are looked for in the folder of the user's file. */
    const std::string name = input.name.substr(0, input.name.rfind('/') + 1) +
                             "input " + std::to_string(input.number);
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
        text_of(session, input) + suffix_of(input), name);
    /* A file of its own: clang takes the same place in the same file for a
     * header that was included twice. */
    clang::FileEntryRef entry = sources.getFileManager().getVirtualFileRef(
        name, (off_t)buffer->getBufferSize(), 0);
    sources.overrideFileContents(entry, std::move(buffer));
    session.pp.getHeaderSearchInfo().getFileInfo(entry); /* makes it */
    if (input.mode == OMPJIT__REPL_COMPLETE)
        set_completion_point(session, entry, input);
    clang::FileID file =
        sources.createFileID(entry, start, clang::SrcMgr::C_User);
    session.report.reading = file;
    session.prefix[input.number] = prefix_of(session, input).size();
    session.pp.EnterSourceFile(file, nullptr, start);
    session.pp.enableIncrementalProcessing(
        session.compiler.getLangOpts().CPlusPlus);
    session.parser.ConsumeAnyToken(); /* the end of the input before */
}

/* -------------------------------------------------------------- directives */

/* Does the directive declare something, by its first words? */
bool declares(clang::Parser &parser)
{
    static const char *const words[] = {
        "threadprivate", "declare",  "requires", "begin",
        "end",           "assumes",  "allocate", "groupprivate"};
    const clang::Token &first = parser.GetLookAheadToken(1);
    std::string word = parser.getPreprocessor().getSpelling(first);
    if (word == "begin" &&
        parser.getPreprocessor().getSpelling(parser.GetLookAheadToken(2)) ==
            "metadirective")
        return false;
    for (const char *known : words)
        if (word == known)
            return true;
    return false;
}

/* ------------------------------------------------------------------ parser */

class Reader {
  public:
    Reader(Session &session, const Input &input, Result &result)
        : session(session), parser(session.parser), input(input),
          result(result),
          body(session.parser, "input_" + std::to_string(input.number))
    {
    }

    void read()
    {
        while (!at_end()) {
            const clang::SourceLocation before = token().getLocation();
            const tok::TokenKind kind = token().getKind();
            step();
            if (!at_end() && token().getLocation() == before &&
                token().is(kind))
                parser.ConsumeAnyToken(true);
        }
        finish();
    }

  private:
    Session &session;
    clang::Parser &parser;
    const Input &input;
    Result &result;
    Body body;
    const clang::Stmt *leaves = nullptr; /* the first return in the body */

    const clang::Token &token() { return parser.getCurToken(); }

    bool at_end()
    {
        return token().isOneOf(tok::annot_repl_input_end, tok::eof);
    }

    /* An input that begins with one of these is read as in a file. All others
     * are either, and those that stand in both forms are declarations. */
    bool is_statement()
    {
        switch (token().getKind()) {
        case tok::annot_pragma_openmp:
            return !declares(parser);
        case tok::annot_pragma_loop_hint:
        case tok::l_brace:
            return true;
        case tok::kw_asm:
            return parser.NextToken().isOneOf(tok::kw_volatile, tok::kw_goto);
        case tok::identifier:
            if (parser.NextToken().is(tok::colon))
                return true; /* a label */
            break;
        case tok::semi:
        case tok::r_brace:
        case tok::kw_namespace:
        case tok::kw_using:
        case tok::kw_template:
        case tok::kw_export:
        case tok::kw_static_assert:
        case tok::kw__Static_assert:
        case tok::kw_extern:
        case tok::kw_inline:
        case tok::kw___extension__:
            return false;
        default:
            if (token().isAnnotation() &&
                !token().isOneOf(tok::annot_typename, tok::annot_cxxscope,
                                 tok::annot_template_id,
                                 tok::annot_decltype))
                return false;
            break;
        }
        return !is_declaration(parser);
    }

    void step()
    {
        const clang::SourceLocation begin = token().getLocation();
        const unsigned groups = session.recorder.groups.size();
        unsigned kind = OMPJIT__REPL_STATEMENT;
        if (is_statement())
            read_statement();
        else
            kind = read_declaration();
        add_item(kind, begin, groups);
        leave_scopes();
    }

    bool is_in_scope(clang::NamedDecl *decl)
    {
        for (clang::Scope *s = parser.getCurScope(); s; s = s->getParent())
            if (s->isDeclScope(decl))
                return true;
        return false;
    }

    /* In C, clang leaves names visible behind their scopes as long as it
     * processes incrementally. That is so at an input's end alone, and those of
     * scopes that end there are removed here: all have been lexed. */
    void leave_scopes()
    {
        clang::IdentifierResolver &names = session.sema.IdResolver;
        std::vector<clang::NamedDecl *> gone;
        if (session.compiler.getLangOpts().CPlusPlus)
            return;
        for (clang::IdentifierInfo *id : session.take_lexed()) {
            if (!id->getFETokenInfo())
                continue;
            for (auto at = names.begin(id); at != names.end(); ++at)
                if (!is_in_scope(*at))
                    gone.push_back(*at);
        }
        for (clang::NamedDecl *decl : gone)
            names.RemoveDecl(decl);
    }

    void read_statement()
    {
        if (!body.active())
            body.begin();
        session.report.returned = false;
        clang::StmtResult done = parse_statement(parser, body.list());
        if (session.report.returned)
            forget_error();
        if (!done.isUsable())
            return;
        clang::Stmt *statement = done.get();
        if (!leaves)
            leaves = find_return(statement);
        auto *expression = llvm::dyn_cast<clang::Expr>(statement);
        const bool last = token().is(tok::annot_repl_input_end) &&
                          token().getAnnotationValue() == statement;
        if (last && expression && !session.report.bad)
            take_value(expression);
        else
            body.add(statement);
    }

    /* The expression has no semicolon behind it. */
    void take_value(clang::Expr *expression)
    {
        refuse_return();
        if (input.mode == OMPJIT__REPL_LOOK)
            look_at_value(expression, result.value);
        else
            keep_value(session, input, expression, body, result.value);
    }

    static const clang::Stmt *find_return(const clang::Stmt *statement)
    {
        if (!statement ||
            llvm::isa<clang::LambdaExpr, clang::BlockExpr>(statement))
            return nullptr;
        if (llvm::isa<clang::ReturnStmt>(statement))
            return statement;
        for (const clang::Stmt *child : statement->children())
            if (const clang::Stmt *found = find_return(child))
                return found;
        return nullptr;
    }

    /* It ends one of the functions that the input is. */
    void refuse_return()
    {
        clang::DiagnosticsEngine &says = session.compiler.getDiagnostics();
        if (leaves)
            says.Report(leaves->getBeginLoc(),
                        says.getCustomDiagID(
                            clang::DiagnosticsEngine::Error,
                            "'return' ends the input: no declaration and no "
                            "value may follow"));
        leaves = nullptr;
    }

    /* One declaration, as in a file; the errors that C has initializers for
     * that are not constant do not count. */
    unsigned read_declaration()
    {
        clang::Parser::DeclGroupPtrTy group;
        auto imports = clang::Sema::ModuleImportState::NotACXX20Module;
        refuse_return();
        end_body();
        session.report.not_constant = false;
        parser.ParseTopLevelDecl(group, imports);
        if (!group)
            return OMPJIT__REPL_DECLARATION;
        session.recorder.HandleTopLevelDecl(group.get());
        if (!session.report.not_constant)
            return OMPJIT__REPL_DECLARATION;
        forget_error();
        return assign(session, group.get(), body) ? OMPJIT__REPL_ASSIGNED
                                                  : OMPJIT__REPL_DECLARATION;
    }

    /* clang makes no code after an error, not after one that does not count
     * either. */
    void forget_error()
    {
        if (!session.report.bad)
            session.compiler.getDiagnostics().Reset(true);
    }

    void end_body()
    {
        if (clang::FunctionDecl *f = body.end())
            take_body(f);
    }

    /* In C the function is called when the input is loaded. In C++ it runs as
     * the initializer of a variable, in turn with those of the input's own. */
    void take_body(clang::FunctionDecl *f)
    {
        session.recorder.HandleTopLevelDecl(clang::DeclGroupRef(f));
        if (!session.compiler.getLangOpts().CPlusPlus)
            result.runs.push_back(f->getName().str());
        else
            session.recorder.HandleTopLevelDecl(
                clang::DeclGroupRef(make_initialized(f)));
    }

    /* static bool NAME_done = (NAME(), true); */
    clang::VarDecl *make_initialized(clang::FunctionDecl *f)
    {
        clang::ASTContext &c = session.context();
        const clang::SourceLocation at = f->getLocation();
        clang::QualType type = c.BoolTy;
        auto *v = clang::VarDecl::Create(
            c, c.getTranslationUnitDecl(), at, at,
            &c.Idents.get(f->getName().str() + INITIALIZED), type,
            c.getTrivialTypeSourceInfo(type, at), clang::SC_Static);
        clang::Expr *callee = clang::DeclRefExpr::Create(
            c, clang::NestedNameSpecifierLoc(), clang::SourceLocation(), f,
            false, at, f->getType(), clang::VK_LValue);
        callee = clang::ImplicitCastExpr::Create(
            c, c.getPointerType(f->getType()),
            clang::CK_FunctionToPointerDecay, callee, nullptr,
            clang::VK_PRValue, clang::FPOptionsOverride());
        clang::Expr *called =
            clang::CallExpr::Create(c, callee, {}, c.VoidTy,
                                    clang::VK_PRValue, at,
                                    clang::FPOptionsOverride());
        auto *yes = new (c) clang::CXXBoolLiteralExpr(true, type, at);
        v->setImplicit();
        v->setInit(clang::BinaryOperator::Create(
            c, called, yes, clang::BO_Comma, type, clang::VK_PRValue,
            clang::OK_Ordinary, at, clang::FPOptionsOverride()));
        c.getTranslationUnitDecl()->addDecl(v);
        return v;
    }

    /* ------------------------------------------------------------- items */

    bool offset_of(clang::SourceLocation at, unsigned &out)
    {
        const clang::SourceManager &sources =
            session.compiler.getSourceManager();
        auto [file, offset] =
            sources.getDecomposedLoc(sources.getExpansionLoc(at));
        const unsigned prefix = session.prefix[input.number];
        if (file != session.report.reading || offset < prefix)
            return false;
        out = offset - prefix;
        return true;
    }

    /* Where a token begins that is there no more. */
    clang::SourceLocation end_location()
    {
        return parser.getEndOfPreviousToken();
    }

    void add_item(unsigned kind, clang::SourceLocation begin, unsigned groups)
    {
        Item item = {kind, {0, 0}, {}};
        if (!offset_of(begin, item.range.begin))
            return; /* in a header */
        if (!offset_of(end_location(), item.range.end) ||
            item.range.end < item.range.begin)
            item.range.end = input.text.size();
        for (unsigned i = groups; i < session.recorder.groups.size(); i++)
            if (!add_types(session.recorder.groups[i], item.types)) {
                item.types.clear();
                break;
            }
        result.items.push_back(item);
    }

    /* False: it declares more than types. */
    static bool add_types(clang::DeclGroupRef group,
                          std::vector<std::string> &names)
    {
        for (const clang::Decl *decl : group) {
            if (!llvm::isa<clang::TagDecl, clang::TypedefNameDecl>(decl))
                return false;
            names.push_back(
                llvm::cast<clang::NamedDecl>(decl)->getNameAsString());
        }
        return true;
    }

    /* clang's work at the end of a file: tentative definitions, instances. */
    void finish()
    {
        end_body();
        clang::Parser::DeclGroupPtrTy none;
        auto imports = clang::Sema::ModuleImportState::NotACXX20Module;
        parser.ParseTopLevelDecl(none, imports);
    }
};

} // namespace

void ompjit_repl::read_input(Session &session, const Input &input,
                             Result &result)
{
    clang::Sema &sema = session.sema;
    clang::Sema::GlobalEagerInstantiationScope instances(sema, true, true);
    clang::Sema::LocalEagerInstantiationScope local(sema, true);
    session.recorder.begin();
    enter(session, input);
    Reader(session, input, result).read();
    for (clang::Decl *decl : sema.WeakTopLevelDecls())
        session.recorder.HandleTopLevelDecl(clang::DeclGroupRef(decl));
    local.perform();
    instances.perform();
    if (!session.device)
        complete_instances(session);
    find_more_conflicts(session, input);
}
