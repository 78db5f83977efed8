/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Values of IR that depend on a function's arguments alone, as programs of
 * core/signature.h.
 */
#ifndef OMPJIT_FRONTEND_SIGNATURE_EXPRESSION_H
#define OMPJIT_FRONTEND_SIGNATURE_EXPRESSION_H

#include <optional>
#include <string>

#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

extern "C" {
#include "core/signature.h"
}

namespace signature {

/* A program; nullopt: the value depends on something else, or on too much. */
using Program = std::optional<std::string>;

/* A pointer: an argument, and a program of the bytes from there. */
struct Address {
    llvm::Argument *base;
    Program offset;
};

/* The arguments' numbers of pieces: of `pieces`, an argument has one that is
 * its whole value. */
class Expressions
{
  public:
    Expressions(const llvm::Function &f, const llvm::DominatorTree &tree,
                const llvm::DenseMap<unsigned, unsigned> &pieces)
        : layout(f.getParent()->getDataLayout()), tree(tree), pieces(pieces)
    {
    }
    /* The value when control first comes to where it is used: that of a loop's
     * first round. */
    Program value(llvm::Value *v, unsigned depth = 0) const;
    /* base is NULL where the pointer is no argument plus something. */
    Address address(llvm::Value *v, unsigned depth = 0) const;

    static std::string constant(uint64_t k);
    static Program both(ompjit__expression_op op, unsigned width,
                        const Program &a, const Program &b);

  private:
    Program binary(llvm::BinaryOperator *b, unsigned depth) const;
    Program compare(llvm::CmpInst *c, unsigned depth) const;
    Program floating(llvm::Value *v) const;
    Program cast(llvm::CastInst *c, unsigned depth) const;
    Program difference(llvm::BinaryOperator *b, unsigned depth) const;
    Program phi(llvm::PHINode *p, unsigned depth) const;
    Program piece(llvm::Argument *a, ompjit__expression_op op) const;

    const llvm::DataLayout &layout;
    const llvm::DominatorTree &tree;
    const llvm::DenseMap<unsigned, unsigned> &pieces;
};

} // namespace signature

#endif
