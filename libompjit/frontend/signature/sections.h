/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The sections of a function's parameters that its target constructs map.
 */
#ifndef OMPJIT_FRONTEND_SIGNATURE_SECTIONS_H
#define OMPJIT_FRONTEND_SIGNATURE_SECTIONS_H

#include <string>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

namespace signature {

/* Part of the memory that an argument of the IR's function points to. The
 * programs are empty where they are not known. */
struct Section {
    unsigned argument;
    uint32_t maps = 0;     /* OMPJIT_MAPPED_...                           */
    unsigned line = 0;
    std::string text;      /* "x[:n]", or ""                              */
    std::string condition; /* 1: the call comes to the construct for sure */
    std::string offset;    /* bytes from the argument on ...              */
    std::string size;      /* ... and how many                            */
};

/* Sections of the constructs in `f` and in the functions of its module that it
 * calls. pieces: of arguments that are whole numbers, by which the programs
 * name them. Changes nothing of the module in the end. */
std::vector<Section>
find_sections(llvm::Function &f,
              const llvm::DenseMap<unsigned, unsigned> &pieces);

} // namespace signature

#endif
