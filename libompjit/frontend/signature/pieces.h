/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How the parameters and the result of a function are passed: clang has worked
 * that out for the function's IR.
 */
#ifndef OMPJIT_FRONTEND_SIGNATURE_PIECES_H
#define OMPJIT_FRONTEND_SIGNATURE_PIECES_H

#include <string>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

extern "C" {
#include "core/signature.h"
}

namespace signature {

struct Passing {
    std::vector<ompjit__piece> params, result;
    /* Of IR arguments that are one whole value: the number of their piece. */
    llvm::DenseMap<unsigned, unsigned> whole;
    /* Of IR arguments: the number of the source's parameter that they are of;
     * none for a result's place. */
    llvm::DenseMap<unsigned, unsigned> param_of;
    std::string refused; /* "": it can be called */
};

/* named: debug information names the parameters; otherwise each IR
 * argument is a parameter. sizes: bytes of the source's parameters, 0 where
 * they are not known. */
Passing find_passing(llvm::Function &f, bool named,
                     const std::vector<uint64_t> &sizes);

} // namespace signature

#endif
