/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * clang's action that makes bitcode, with what clang leaves out. emit.cc
 */
#ifndef OMPJIT_CC1_EMIT_H
#define OMPJIT_CC1_EMIT_H

#include <clang/CodeGen/CodeGenAction.h>

namespace ompjit_cc1 {

class Emit : public clang::EmitBCAction {
    std::unique_ptr<clang::ASTConsumer>
    CreateASTConsumer(clang::CompilerInstance &compiler,
                      llvm::StringRef file) override;
};

} // namespace ompjit_cc1

#endif
