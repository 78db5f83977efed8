// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names that no other file of a program has.
#ifndef OMPJIT_DIALECT_OWN_NAMES_H
#define OMPJIT_DIALECT_OWN_NAMES_H

#include <string>

namespace llvm {
class Module;
}

// 32 hexadecimal digits that another file of the program does not have: of what
// the host half offers to other files, and of its source's name where that is
// nothing. own_regions.cc
std::string ompjit__own_digest(llvm::Module &host);

#endif
