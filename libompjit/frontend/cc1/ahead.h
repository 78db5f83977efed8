/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The work of a front end that was started before its source is there.
 */
#ifndef OMPJIT_CC1_AHEAD_H
#define OMPJIT_CC1_AHEAD_H

#include <memory>
#include <string>

#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/PrecompiledPreamble.h>

namespace ompjit_cc1 {

/* Once, before anything of clang's. */
void start();

/* Sets up a compiler by a command line, `ompjitc -cc1 ARGUMENTS`. Diagnostics
 * go to the listener, which it takes over, or (null) to standard error. False:
 * the command line is wrong. */
bool prepare(clang::CompilerInstance &compiler, int argc,
             const char *const *argv,
             clang::DiagnosticConsumer *listener = nullptr);

class Ahead {
  public:
    /* `head`: the beginning of the last source. */
    Ahead(int argc, const char *const *argv, llvm::StringRef head);
    /* Reads the source from standard input, where headers have been precompiled.
     * Their precompiled form is used if the source begins with the same headers
     * and none of them has changed. */
    void read_source(clang::CompilerInstance &compiler) const;

  private:
    void precompile();
    void rehearse() const;
    void give(clang::CompilerInstance &compiler,
              std::unique_ptr<llvm::MemoryBuffer> text) const;

    int argc;
    const char *const *argv;
    std::string includes; /* the lines whose headers are precompiled; or "" */
    std::unique_ptr<clang::PrecompiledPreamble> headers;
};

} // namespace ompjit_cc1

#endif
