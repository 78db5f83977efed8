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
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <clang/Basic/Stack.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>

#include "frontend/cc1/ahead.h"
#include "frontend/cc1/cc1.h"
#include "frontend/cc1/emit.h"
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

/* What -mllvm gives: LLVM's options are variables of the process. */
void set_options(const std::vector<std::string> &options)
{
    std::vector<const char *> words{"clang"};
    for (const std::string &option : options)
        words.push_back(option.c_str());
    if (words.size() > 1)
        llvm::cl::ParseCommandLineOptions(int(words.size()), words.data());
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

/* Diagnostics of the command line wait for the settings that it has for
 * diagnostics. */
bool ompjit_cc1::prepare(clang::CompilerInstance &compiler, int argc,
                         const char *const *argv,
                         clang::DiagnosticConsumer *listener)
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

void ompjit_cc1::start()
{
    ompjit__llvm_construct();
    clang::noteBottomOfStack();
    want_stack();
    llvm::install_fatal_error_handler(fatal);
}

/* Nothing is freed: the process ends. */
extern "C" int ompjit__cc1(int argc, const char *const *argv)
{
    ompjit_cc1::start();
    const char *head = getenv("OMPJIT_CC1_AHEAD");
    const ompjit_cc1::Ahead *ahead =
        head ? new ompjit_cc1::Ahead(argc, argv, head) : nullptr;
    auto *compiler = new clang::CompilerInstance;
    bool good = ompjit_cc1::prepare(*compiler, argc, argv);
    if (good)
        set_options(compiler->getFrontendOpts().LLVMArgs);
    if (good && ahead)
        ahead->read_source(*compiler);
    good = good && compiler->ExecuteAction(*new ompjit_cc1::Emit);
    fflush(nullptr);
    if (good)
        wait_to_be_killed();
    _exit(good ? SUCCESS : MISTAKE);
}
