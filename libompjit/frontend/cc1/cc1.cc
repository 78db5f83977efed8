/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * clang's front end, linked in: the same command lines, diagnostics and bitcode
 * as `clang -cc1` of the same version. The process starts four times as fast, as
 * there are no shared libraries to bind and no driver (clang's own is the model:
 * tools/driver/cc1_main.cpp in LLVM's sources).
 */
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/resource.h>
#include <unistd.h>

#include <clang/Basic/Stack.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>

#include "frontend/cc1/cc1.h"
#include "llvm/start.h"

/* Debian's clang is built with Polly as a part of it, which would add ten
 * megabytes: its back end asks for it by this name, and gets nothing. */
llvm::PassPluginLibraryInfo getPollyPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "", "", [](llvm::PassBuilder &) {}};
}

namespace {

enum { SUCCESS, MISTAKE, CRASH = 70 }; /* exit codes of clang's */

void fatal(void *, const char *reason, bool)
{
    fprintf(stderr, "fatal error: error in backend: %s\n", reason);
    _exit(CRASH);
}

/* The parser recurs. A main thread's stack grows up to the limit. */
void want_stack()
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= clang::DesiredStackSize)
        return;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ||
                             limit.rlim_max > clang::DesiredStackSize
                         ? clang::DesiredStackSize
                         : limit.rlim_max;
    setrlimit(RLIMIT_STACK, &limit);
}

/* Diagnostics of the command line wait for the settings that it has for
 * diagnostics. */
bool prepare(clang::CompilerInstance &compiler, int argc,
             const char *const *argv,
             clang::DiagnosticConsumer *listener = nullptr)
{
    clang::DiagnosticOptions options;
    clang::TextDiagnosticBuffer buffer;
    clang::DiagnosticsEngine early(
        llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options, &buffer,
        false);
    bool good = clang::CompilerInvocation::CreateFromArgs(
        compiler.getInvocation(),
        llvm::ArrayRef<const char *>(argv + 2, argv + argc), early, argv[0]);
    compiler.createVirtualFileSystem();
    compiler.createDiagnostics(listener);
    buffer.FlushDiagnostics(compiler.getDiagnostics());
    return good && !compiler.getDiagnostics().hasErrorOccurred();
}

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

/* Compiles that, for nobody, in a process that has time before its source comes:
 * all code is then in memory, the heap has grown, and the real source takes half
 * the time. Nothing is read that may change until then, and nothing is kept:
 * the compile that follows has a compiler and an LLVM context of its own. */
void rehearse(int argc, const char *const *argv)
{
    auto *compiler = new clang::CompilerInstance;
    if (!prepare(*compiler, argc, argv, new clang::IgnoringDiagConsumer))
        return;
    clang::CompilerInvocation &how = compiler->getInvocation();
    clang::PreprocessorOptions &text = how.getPreprocessorOpts();
    text.RemappedFiles.clear();
    text.Includes.clear();
    text.MacroIncludes.clear();
    how.getLangOpts().OMPHostIRFile.clear();
    how.getDependencyOutputOpts() = clang::DependencyOutputOptions();
    clang::FrontendOptions &files = how.getFrontendOpts();
    files.OutputFile = "/dev/null";
    if (files.Inputs.size() == 1 && files.Inputs[0].isFile()) {
        text.addRemappedFile(
            files.Inputs[0].getFile(),
            llvm::MemoryBuffer::getMemBuffer(rehearsal).release());
        compiler->ExecuteAction(*new clang::EmitBCAction);
    }
}

/* Descriptor 4 is the end of a pipe by which the process that has started this
 * one kills it (frontend/clang/process.c). To give back the memory of a compile
 * takes a millisecond: that one does it when it has what it wants, and the
 * processors are free. */
void wait_to_be_killed()
{
    enum { LIFE = 4 };
    const int flags = fcntl(LIFE, F_GETFL);
    while (flags >= 0 && flags & O_ASYNC)
        pause();
}

} // namespace

/* Nothing is freed: the process ends. */
extern "C" int ompjit__cc1(int argc, const char *const *argv)
{
    ompjit__llvm_construct();
    clang::noteBottomOfStack();
    want_stack();
    llvm::install_fatal_error_handler(fatal);
    if (getenv("OMPJIT_CC1_AHEAD"))
        rehearse(argc, argv);
    auto *compiler = new clang::CompilerInstance;
    auto *action = new clang::EmitBCAction;
    bool good = prepare(*compiler, argc, argv) &&
                compiler->ExecuteAction(*action);
    fflush(nullptr);
    if (good)
        wait_to_be_killed();
    _exit(good ? SUCCESS : MISTAKE);
}
