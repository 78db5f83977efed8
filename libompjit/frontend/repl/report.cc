/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * clang's messages about an input: as text, as clang prints it, and as a list.
 * Some of it is not for the user: an initializer that is no constant of C's,
 * which becomes an assignment, a value at the end of an input that nobody uses,
 * that a macro of an earlier input is defined once more, and that statements
 * return a value. Errors that an earlier input's declaration is in the way are
 * counted apart.
 */
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Basic/DiagnosticLex.h>
#include <clang/Basic/DiagnosticParse.h>
#include <clang/Basic/DiagnosticSema.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/TextDiagnostic.h>
#include <clang/Lex/Preprocessor.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;
using clang::DiagnosticsEngine;

namespace {

/* Each input is included by the empty file that the session began with, of
 * which the user knows nothing. */
class Printer : public clang::TextDiagnostic {
  public:
    using TextDiagnostic::TextDiagnostic;

  private:
    void emitIncludeLocation(clang::FullSourceLoc at,
                             clang::PresumedLoc place) override
    {
        if (at.getFileID() != at.getManager().getMainFileID())
            TextDiagnostic::emitIncludeLocation(at, place);
    }
};

unsigned severity_of(DiagnosticsEngine::Level level)
{
    switch (level) {
    case DiagnosticsEngine::Ignored:
    case DiagnosticsEngine::Note:
        return OMPJIT__REPL_NOTE;
    case DiagnosticsEngine::Remark:
        return OMPJIT__REPL_REMARK;
    case DiagnosticsEngine::Warning:
        return OMPJIT__REPL_WARNING;
    default:
        return OMPJIT__REPL_ERROR;
    }
}

/* Is it told at the end of the text, wherever the parser is? */
bool stays_open(unsigned id)
{
    return id == clang::diag::err_pp_unterminated_conditional ||
           id == clang::diag::err_unterminated_block_comment ||
           id == clang::diag::err_unterminated_raw_string ||
           id == clang::diag::warn_omp_unterminated_declare_target;
}

/* Does the error say that something is missing, rather than wrong? A module that
 * is not found is wrong. */
bool says_missing(unsigned id)
{
    return id != clang::diag::err_module_not_found &&
           clang::DiagnosticIDs::getCategoryNameFromID(
               clang::DiagnosticIDs::getCategoryNumberForDiag(id)) ==
           "Parse Issue";
}

bool tells_previous(unsigned id)
{
    return id == clang::diag::note_previous_definition ||
           id == clang::diag::note_previous_declaration ||
           id == clang::diag::note_previous_use;
}

} // namespace

Report::Report(clang::CompilerInstance &compiler) : compiler(compiler)
{
}

void Report::begin(bool colours)
{
    text.clear();
    messages.clear();
    conflicts.clear();
    at_end = bad = not_constant = returned = open = drops = false;
    left = 0;
    compiler.getDiagnosticOpts().ShowColors = colours;
    compiler.getDiagnostics().Reset(true);
}

/* Is the macro one of an earlier input? */
bool Report::redefines(const clang::Diagnostic &info) const
{
    Place place;
    if (info.getArgKind(0) != DiagnosticsEngine::ak_identifierinfo)
        return false;
    const clang::MacroInfo *macro =
        compiler.getPreprocessor().getMacroInfo(info.getArgIdentifier(0));
    return macro && place_of(macro->getDefinitionLoc(), place);
}

/* Do an input's own statements return it? */
static bool is_of_statements(const clang::Diagnostic &info)
{
    auto *decl = reinterpret_cast<clang::NamedDecl *>(info.getRawArg(0));
    return info.getArgKind(0) == DiagnosticsEngine::ak_nameddecl &&
           decl->isImplicit() && llvm::isa<clang::FunctionDecl>(decl);
}

/* Is it not for the user? */
bool Report::is_dropped(const clang::Diagnostic &info)
{
    switch (info.getID()) {
    case clang::diag::err_init_element_not_constant:
        not_constant = true;
        return true;
    case clang::diag::warn_unused_expr:
    case clang::diag::warn_unused_comparison:
    case clang::diag::warn_unused_call:
    case clang::diag::warn_unused_result:
        return is_at_end();
    case clang::diag::ext_pp_macro_redef:
        return redefines(info);
    case clang::diag::ext_return_has_expr:
        if (!is_of_statements(info))
            return false;
        returned = true;
        return true;
    default:
        return false;
    }
}

/* The end of the input for what the parser finds there: the token behind the
 * text has no place in it. */
clang::SourceLocation Report::location_of(const clang::Diagnostic &info) const
{
    const clang::SourceLocation at = info.getLocation();
    if (!info.hasSourceManager() || reading.isInvalid() || !is_at_end())
        return at;
    const clang::SourceManager &sources = info.getSourceManager();
    return at.isInvalid() || sources.isInMainFile(at)
               ? sources.getLocForEndOfFile(reading)
               : at;
}

/* With the place where the user's text has it, and not where a macro was
 * defined. */
void Report::list(DiagnosticsEngine::Level level, clang::SourceLocation at,
                  llvm::StringRef message)
{
    Message m = {severity_of(level), 0, 0, "", message.str()};
    if (at.isValid()) {
        const clang::SourceManager &sources = compiler.getSourceManager();
        clang::PresumedLoc place =
            sources.getPresumedLoc(sources.getFileLoc(at));
        if (place.isValid())
            m = {m.severity, place.getLine(), place.getColumn(),
                 place.getFilename(), m.text};
    }
    messages.push_back(m);
}

void Report::print(DiagnosticsEngine::Level level, clang::SourceLocation at,
                   const clang::Diagnostic &info)
{
    llvm::SmallString<256> message;
    info.FormatDiagnostic(message);
    list(level, at, message);
    llvm::StringRef option =
        info.getDiags()->getDiagnosticIDs()->getWarningOptionForDiag(
            info.getID());
    if (!option.empty() && level != DiagnosticsEngine::Note)
        message += (" [-W" + option + "]").str();
    llvm::raw_string_ostream stream(text);
    stream.enable_colors(compiler.getDiagnosticOpts().ShowColors);
    clang::FullSourceLoc place;
    if (at.isValid() && info.hasSourceManager())
        place = clang::FullSourceLoc(at, info.getSourceManager());
    Printer(stream, compiler.getLangOpts(), compiler.getDiagnosticOpts())
        .emitDiagnostic(place, level, message, info.getRanges(),
                        info.getFixItHints());
}

/* A note that an earlier input has the declaration in the way. */
void Report::note_conflict(const clang::Diagnostic &info)
{
    Place place;
    if (!open || !tells_previous(info.getID()) ||
        !place_of(info.getLocation(), place))
        return;
    conflicts.insert(place);
    left--;
    open = false;
}

/* At the end of the text the parser may look for a brace for ever. */
void Report::note_error(unsigned id)
{
    const bool missing = stays_open(id) || (is_at_end() && says_missing(id));
    at_end |= missing && !left;
    bad = open = true;
    left++;
}

void Report::HandleDiagnostic(DiagnosticsEngine::Level level,
                              const clang::Diagnostic &info)
{
    const unsigned id = info.getID();
    if (level == DiagnosticsEngine::Note) {
        if (drops)
            return;
        note_conflict(info);
        print(level, location_of(info), info);
        return;
    }
    drops = is_dropped(info);
    if (drops)
        return;
    const bool error =
        level >= DiagnosticsEngine::Error ||
        id == clang::diag::warn_omp_unterminated_declare_target;
    if (error)
        note_error(id);
    print(level, location_of(info), info);
    if (error && is_at_end() && says_missing(id) && on_end)
        on_end();
}
