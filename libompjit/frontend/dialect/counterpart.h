// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables that both halves of a source have.
#ifndef OMPJIT_DIALECT_COUNTERPART_H
#define OMPJIT_DIALECT_COUNTERPART_H

namespace llvm {
class GlobalVariable;
class Module;
} // namespace llvm

// The host half's definition of a variable that device code uses, of the same
// name, and of the same size where the device half defines it, too. NULL: there
// is none, or each thread has its own. flang leaves variables of a program in its
// device half that no device code uses. first_values.cc
llvm::GlobalVariable *ompjit__counterpart(const llvm::GlobalVariable &g,
                                          llvm::Module &host);

#endif
