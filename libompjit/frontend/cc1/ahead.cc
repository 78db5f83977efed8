/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A front end that was started before its source is there has time. It
 * precompiles the headers with which the last source began, in memory, as the
 * next one mostly begins with the same; and it rehearses: it compiles a small
 * text for nobody, so that its code is in memory and its heap has grown.
 *
 * clang itself finds out whether a header has changed, by size and time in
 * seconds. So that it cannot be deceived, only headers count that were older than
 * some seconds when they were read. Whatever else is odd (a diagnostic, a date)
 * leaves the headers to the compile itself. The bitcode is the same.
 */
#include <ctime>

#include <clang/Basic/SourceManager.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/Support/MemoryBuffer.h>

#include "frontend/cc1/ahead.h"

using namespace ompjit_cc1;

namespace {

/* ----------------------------------------------------------- the includes */

/* One line, or a comment. */
llvm::StringRef first_piece(llvm::StringRef text)
{
    llvm::StringRef rest = text.ltrim(" \t\n");
    size_t blank = text.size() - rest.size();
    size_t end = rest.starts_with("/*") ? rest.find("*/", 2)
                                        : rest.find('\n');
    if (end == llvm::StringRef::npos)
        return {};
    end += rest.starts_with("/*") ? 2 : 1;
    return text.take_front(blank + end);
}

/* A comment, or a directive of one line that means the same wherever it is
 * read. */
bool is_plain(llvm::StringRef piece)
{
    llvm::StringRef text = piece.trim();
    if (text.starts_with("/*"))
        return true;
    if (text.ends_with("\\") || text.contains("?\?/") || text.contains("/*"))
        return false;
    return text.empty() || text.starts_with("//") ||
           text.starts_with("#include <") || text.starts_with("#define ") ||
           text.starts_with("#undef ");
}

/* The beginning of a text that ends with the last line that includes a header
 * in angle brackets, and has nothing but these, macros and comments. */
llvm::StringRef includes_of(llvm::StringRef text)
{
    size_t size = 0, used = 0;
    for (;;) {
        llvm::StringRef piece = first_piece(text.drop_front(used));
        if (piece.empty() || !is_plain(piece))
            return text.take_front(size);
        used += piece.size();
        if (piece.trim().starts_with("#include"))
            size = used;
    }
}

clang::PreambleBounds bounds_of(llvm::StringRef includes)
{
    return {static_cast<unsigned>(includes.size()), true};
}

/* ------------------------------------------------------------ the headers */

/* Looks at the headers when they have been read. */
class Ages : public clang::PreambleCallbacks {
  public:
    bool any_is_new = false;

    void AfterExecute(clang::CompilerInstance &compiler) override
    {
        enum { SECONDS = 3 };
        const clang::SourceManager &sources = compiler.getSourceManager();
        const time_t limit = time(nullptr) - SECONDS;
        for (auto file = sources.fileinfo_begin();
             file != sources.fileinfo_end(); ++file)
            if (file->first.getModificationTime() > limit &&
                !is_main(sources, file->first))
                any_is_new = true;
    }

  private:
    static bool is_main(const clang::SourceManager &sources,
                        clang::FileEntryRef file)
    {
        return sources.getFileEntryForID(sources.getMainFileID()) ==
               &file.getFileEntry();
    }
};

/* Counts diagnostics of any kind. */
class Counter : public clang::DiagnosticConsumer {
  public:
    bool any = false;

    void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                          const clang::Diagnostic &info) override
    {
        clang::DiagnosticConsumer::HandleDiagnostic(level, info);
        any = true;
    }
};

/* The name that standard input has in the command line. */
std::string source_name(const clang::CompilerInvocation &how)
{
    const auto &inputs = how.getFrontendOpts().Inputs;
    return inputs.size() == 1 && inputs[0].isFile() ? inputs[0].getFile().str()
                                                    : "";
}

bool is_simple(const clang::CompilerInvocation &how)
{
    const clang::PreprocessorOptions &text = how.getPreprocessorOpts();
    return text.Includes.empty() && text.MacroIncludes.empty() &&
           text.ImplicitPCHInclude.empty() && !how.getLangOpts().CUDA &&
           !source_name(how).empty();
}

/* Is the source what comes through standard input? */
bool reads_input(const clang::CompilerInvocation &how)
{
    const auto &files = how.getPreprocessorOpts().RemappedFiles;
    return files.size() == 1 && files[0].first == source_name(how) &&
           files[0].second == "/dev/fd/0";
}

/* ---------------------------------------------------------- the rehearsal */

/* Parallel loops, mapped arrays, reductions: the parts of the front end that
 * most sources need. */
const char rehearsal[] =
    "#pragma omp begin declare target\n"
    "static double sum(int n, const double *x)\n"
    "{\n"
    "    double s = 0;\n"
    "    _Pragma(\"omp parallel for reduction(+ : s)\")\n"
    "    for (int i = 0; i < n; i++) { if (x[i] > 0) s += x[i] / n; }\n"
    "    return s;\n"
    "}\n"
    "double use(int n, const double *x) { return sum(n, x); }\n"
    "#pragma omp end declare target\n"
    "void run(int n, float a, const float *x, float *y)\n"
    "{\n"
    "    _Pragma(\"omp target teams distribute parallel for"
    " map(to : x[:n]) map(tofrom : y[:n])\")\n"
    "    for (int i = 0; i < n; i++) y[i] += a * x[i];\n"
    "}\n";

} // namespace

/* ------------------------------------------------------------------ Ahead */

/* Nothing is freed: the process ends. */
Ahead::Ahead(int argc, const char *const *argv, llvm::StringRef head)
    : argc(argc), argv(argv), includes(includes_of(head))
{
    if (!includes.empty())
        precompile();
    rehearse();
}

void Ahead::precompile()
{
    auto *compiler = new clang::CompilerInstance;
    auto *counter = new Counter;
    Ages ages;
    clang::CompilerInvocation &how = compiler->getInvocation();
    if (!prepare(*compiler, argc, argv, counter) || !is_simple(how))
        return;
    how.getDependencyOutputOpts() = clang::DependencyOutputOptions();
    how.getPreprocessorOpts().RemappedFiles.clear();
    clang::DiagnosticsEngine &diagnostics = compiler->getDiagnostics();
    diagnostics.setSeverityForGroup(clang::diag::Flavor::WarningOrError,
                                    "date-time",
                                    clang::diag::Severity::Warning);
    auto text =
        llvm::MemoryBuffer::getMemBuffer(includes, source_name(how));
    auto made = clang::PrecompiledPreamble::Build(
        how, text.get(), bounds_of(includes),
        llvm::IntrusiveRefCntPtr<clang::DiagnosticsEngine>(&diagnostics),
        compiler->getVirtualFileSystemPtr(),
        std::make_shared<clang::PCHContainerOperations>(), true, "", ages);
    if (made && !counter->any && !ages.any_is_new)
        headers =
            std::make_unique<clang::PrecompiledPreamble>(std::move(*made));
}

/* The compile that follows has a compiler and an LLVM context of its own. */
void Ahead::rehearse() const
{
    auto *compiler = new clang::CompilerInstance;
    clang::CompilerInvocation &how = compiler->getInvocation();
    if (!prepare(*compiler, argc, argv, new clang::IgnoringDiagConsumer) ||
        !is_simple(how))
        return;
    how.getLangOpts().OMPHostIRFile.clear();
    how.getDependencyOutputOpts() = clang::DependencyOutputOptions();
    how.getFrontendOpts().OutputFile = "/dev/null";
    give(*compiler, llvm::MemoryBuffer::getMemBufferCopy(
                        includes + rehearsal, source_name(how)));
    compiler->ExecuteAction(*new clang::EmitBCAction);
}

void Ahead::give(clang::CompilerInstance &compiler,
                 std::unique_ptr<llvm::MemoryBuffer> text) const
{
    clang::CompilerInvocation &how = compiler.getInvocation();
    auto files = compiler.getVirtualFileSystemPtr();
    how.getPreprocessorOpts().RemappedFiles.clear();
    if (!headers || !text->getBuffer().starts_with(includes) ||
        !headers->CanReuse(how, *text, bounds_of(includes), *files)) {
        how.getPreprocessorOpts().addRemappedFile(source_name(how),
                                                  text.release());
        return;
    }
    headers->AddImplicitPreamble(how, files, text.release());
    compiler.createVirtualFileSystem(files);
}

void Ahead::read_source(clang::CompilerInstance &compiler) const
{
    const clang::CompilerInvocation &how = compiler.getInvocation();
    if (!headers || !is_simple(how) || !reads_input(how))
        return;
    auto text = llvm::MemoryBuffer::getSTDIN();
    if (text)
        give(compiler, std::move(*text));
}
