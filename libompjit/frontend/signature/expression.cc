/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * From SSA form to programs. Loads are not followed: what memory holds, a
 * program does not know.
 */
#include "frontend/signature/expression.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

using namespace llvm;

namespace signature {

/* Operands within each other; deeper values are given up. */
enum { DEEPEST = 24 };

/* --------------------------------------------------------------- programs */

static std::string operation(ompjit__expression_op op, unsigned width)
{
    return {(char)op, (char)width};
}

static std::string word(uint64_t k)
{
    return std::string((const char *)&k, sizeof k);
}

std::string Expressions::constant(uint64_t k)
{
    return operation(OMPJIT__EXPR_CONSTANT, 64) + word(k);
}

/* nullopt: the program is longer than programs may be. */
static Program limited(std::string text)
{
    return text.size() <= OMPJIT__EXPRESSION_BYTES ? Program(std::move(text))
                                                   : std::nullopt;
}

Program Expressions::both(ompjit__expression_op op, unsigned width,
                          const Program &a, const Program &b)
{
    return a && b ? limited(*a + *b + operation(op, width)) : std::nullopt;
}

static Program with(const Program &a, ompjit__expression_op op, unsigned width)
{
    return a ? limited(*a + operation(op, width)) : std::nullopt;
}

static Program with(const Program &a, ompjit__expression_op op, unsigned width,
                    uint64_t k)
{
    return a ? limited(*a + operation(op, width) + word(k)) : std::nullopt;
}

static Program not_of(const Program &a)
{
    return Expressions::both(OMPJIT__EXPR_XOR, 1, a, Expressions::constant(1));
}

static unsigned width_of(const Value *v)
{
    return v->getType()->isIntegerTy() ? v->getType()->getIntegerBitWidth()
                                       : 0;
}

/* ----------------------------------------------------------------- values */

/* nullopt for an argument that is not one whole piece. */
Program Expressions::piece(Argument *a, ompjit__expression_op op) const
{
    auto found = pieces.find(a->getArgNo());
    if (found == pieces.end())
        return std::nullopt;
    return operation(op, op == OMPJIT__EXPR_DOUBLE ? 64 : width_of(a)) +
           word(found->second);
}

/* p - q of pointers into the same memory: the size of a struct's mapped part. */
Program Expressions::difference(BinaryOperator *b, unsigned depth) const
{
    auto *p = dyn_cast<PtrToIntInst>(b->getOperand(0));
    auto *q = dyn_cast<PtrToIntInst>(b->getOperand(1));
    if (b->getOpcode() != Instruction::Sub || !p || !q)
        return std::nullopt;
    Address from = address(q->getPointerOperand(), depth);
    Address to = address(p->getPointerOperand(), depth);
    if (!from.base || from.base != to.base)
        return std::nullopt;
    return both(OMPJIT__EXPR_SUB, 64, to.offset, from.offset);
}

/* clang multiplies a section's length by the size of its elements so that
 * neither can overflow: here both can. */
static ompjit__expression_op multiplication(const BinaryOperator *b)
{
    bool of_section = b->hasNoUnsignedWrap() && !b->hasNoSignedWrap() &&
                      b->getType()->isIntegerTy(64);
    return of_section ? OMPJIT__EXPR_SCALE : OMPJIT__EXPR_MUL;
}

Program Expressions::binary(BinaryOperator *b, unsigned depth) const
{
    ompjit__expression_op op;
    switch (b->getOpcode()) {
    case Instruction::Add: op = OMPJIT__EXPR_ADD; break;
    case Instruction::Sub: op = OMPJIT__EXPR_SUB; break;
    case Instruction::Mul: op = multiplication(b); break;
    case Instruction::SDiv: op = OMPJIT__EXPR_SDIV; break;
    case Instruction::UDiv: op = OMPJIT__EXPR_UDIV; break;
    case Instruction::SRem: op = OMPJIT__EXPR_SREM; break;
    case Instruction::URem: op = OMPJIT__EXPR_UREM; break;
    case Instruction::Shl: op = OMPJIT__EXPR_SHL; break;
    case Instruction::LShr: op = OMPJIT__EXPR_LSHR; break;
    case Instruction::AShr: op = OMPJIT__EXPR_ASHR; break;
    case Instruction::And: op = OMPJIT__EXPR_AND; break;
    case Instruction::Or: op = OMPJIT__EXPR_OR; break;
    case Instruction::Xor: op = OMPJIT__EXPR_XOR; break;
    default: return std::nullopt;
    }
    if (Program p = difference(b, depth))
        return p;
    return both(op, width_of(b), value(b->getOperand(0), depth),
                value(b->getOperand(1), depth));
}

/* Floats are compared as doubles, which have all their values. */
Program Expressions::floating(Value *v) const
{
    if (auto *extended = dyn_cast<FPExtInst>(v))
        v = extended->getOperand(0);
    if (auto *a = dyn_cast<Argument>(v))
        return a->getType()->isFloatTy() || a->getType()->isDoubleTy()
                   ? piece(a, OMPJIT__EXPR_DOUBLE)
                   : std::nullopt;
    auto *c = dyn_cast<ConstantFP>(v);
    if (!c || (!v->getType()->isFloatTy() && !v->getType()->isDoubleTy()))
        return std::nullopt;
    double d = v->getType()->isFloatTy() ? c->getValueAPF().convertToFloat()
                                         : c->getValueAPF().convertToDouble();
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return constant(bits);
}

/* Comparisons by "less", with the operands exchanged, or negated. */
Program Expressions::compare(CmpInst *c, unsigned depth) const
{
    bool is_float = isa<FCmpInst>(c);
    Value *left = c->getOperand(0), *right = c->getOperand(1);
    unsigned width = is_float ? 64 : width_of(left);
    if (!width || width > 64)
        return std::nullopt;
    Program a = is_float ? floating(left) : value(left, depth);
    Program b = is_float ? floating(right) : value(right, depth);
    switch (c->getPredicate()) {
    case CmpInst::ICMP_EQ: return both(OMPJIT__EXPR_EQ, width, a, b);
    case CmpInst::ICMP_NE: return not_of(both(OMPJIT__EXPR_EQ, width, a, b));
    case CmpInst::ICMP_ULT: return both(OMPJIT__EXPR_ULT, width, a, b);
    case CmpInst::ICMP_ULE: return both(OMPJIT__EXPR_ULE, width, a, b);
    case CmpInst::ICMP_UGT: return both(OMPJIT__EXPR_ULT, width, b, a);
    case CmpInst::ICMP_UGE: return both(OMPJIT__EXPR_ULE, width, b, a);
    case CmpInst::ICMP_SLT: return both(OMPJIT__EXPR_SLT, width, a, b);
    case CmpInst::ICMP_SLE: return both(OMPJIT__EXPR_SLE, width, a, b);
    case CmpInst::ICMP_SGT: return both(OMPJIT__EXPR_SLT, width, b, a);
    case CmpInst::ICMP_SGE: return both(OMPJIT__EXPR_SLE, width, b, a);
    case CmpInst::FCMP_OEQ: return both(OMPJIT__EXPR_FEQ, width, a, b);
    case CmpInst::FCMP_UNE: return not_of(both(OMPJIT__EXPR_FEQ, width, a, b));
    case CmpInst::FCMP_OLT: return both(OMPJIT__EXPR_FLT, width, a, b);
    case CmpInst::FCMP_OLE: return both(OMPJIT__EXPR_FLE, width, a, b);
    case CmpInst::FCMP_OGT: return both(OMPJIT__EXPR_FLT, width, b, a);
    case CmpInst::FCMP_OGE: return both(OMPJIT__EXPR_FLE, width, b, a);
    default: return std::nullopt;
    }
}

/* A zero extension needs no operation: words are extended with zeros. */
Program Expressions::cast(CastInst *c, unsigned depth) const
{
    Value *from = c->getOperand(0);
    if (!width_of(from) || width_of(from) > 64)
        return std::nullopt;
    Program p = value(from, depth);
    switch (c->getOpcode()) {
    case Instruction::Trunc: return with(p, OMPJIT__EXPR_TRUNCATE, width_of(c));
    case Instruction::ZExt: return p;
    case Instruction::SExt:
        return with(p, OMPJIT__EXPR_SIGN_EXTEND, width_of(c), width_of(from));
    default: return std::nullopt;
    }
}

/* The condition under which the edge from a block with two successors is
 * taken. */
struct Branch {
    Value *condition;
    BasicBlock *taken, *other;
};

static std::optional<Branch> branch_of(BasicBlock *block)
{
    auto *b = block ? dyn_cast<BranchInst>(block->getTerminator()) : nullptr;
    if (!b || !b->isConditional() || b->getSuccessor(0) == b->getSuccessor(1))
        return std::nullopt;
    return Branch{b->getCondition(), b->getSuccessor(0), b->getSuccessor(1)};
}

/* A loop's first round, and what an if or a ?: decides. */
Program Expressions::phi(PHINode *p, unsigned depth) const
{
    SmallVector<unsigned, 4> entries;
    for (unsigned i = 0; i < p->getNumIncomingValues(); i++)
        if (!tree.dominates(p->getParent(), p->getIncomingBlock(i)))
            entries.push_back(i);
    if (entries.size() == 1)
        return value(p->getIncomingValue(entries[0]), depth);
    if (entries.size() != 2)
        return std::nullopt;
    BasicBlock *from[] = {p->getIncomingBlock(entries[0]),
                          p->getIncomingBlock(entries[1])};
    BasicBlock *top = tree.findNearestCommonDominator(from[0], from[1]);
    std::optional<Branch> branch = branch_of(top);
    if (!branch)
        return std::nullopt;
    int of_taken = -1;
    for (int k = 0; k < 2; k++) {
        auto comes_by = [&](BasicBlock *successor, BasicBlock *block) {
            BasicBlockEdge edge(top, successor);
            return block == top ? successor == p->getParent()
                                : tree.dominates(edge, block);
        };
        if (comes_by(branch->taken, from[k]) &&
            comes_by(branch->other, from[1 - k]))
            of_taken = k;
    }
    if (of_taken < 0)
        return std::nullopt;
    Program condition = value(branch->condition, depth);
    Program then = value(p->getIncomingValue(entries[of_taken]), depth);
    Program other = value(p->getIncomingValue(entries[1 - of_taken]), depth);
    return condition && then && other
               ? limited(*condition + *then + *other +
                         operation(OMPJIT__EXPR_SELECT, width_of(p)))
               : std::nullopt;
}

/* nullopt: no integer of up to 64 bits, or it comes from memory, a call or
 * anything else that programs do not have. */
Program Expressions::value(Value *v, unsigned depth) const
{
    unsigned width = width_of(v);
    if (!width || width > 64 || depth++ > DEEPEST)
        return std::nullopt;
    if (auto *c = dyn_cast<ConstantInt>(v))
        return constant(c->getZExtValue());
    if (auto *a = dyn_cast<Argument>(v))
        return piece(a, OMPJIT__EXPR_PIECE);
    if (auto *b = dyn_cast<BinaryOperator>(v))
        return binary(b, depth);
    if (auto *c = dyn_cast<CmpInst>(v))
        return compare(c, depth);
    if (auto *f = dyn_cast<FreezeInst>(v))
        return value(f->getOperand(0), depth);
    if (auto *p = dyn_cast<PHINode>(v))
        return phi(p, depth);
    if (auto *s = dyn_cast<SelectInst>(v)) {
        Program condition = value(s->getCondition(), depth);
        Program then = value(s->getTrueValue(), depth);
        Program other = value(s->getFalseValue(), depth);
        return condition && then && other
                   ? limited(*condition + *then + *other +
                             operation(OMPJIT__EXPR_SELECT, width))
                   : std::nullopt;
    }
    if (auto *c = dyn_cast<CastInst>(v))
        return cast(c, depth);
    return std::nullopt;
}

/* -------------------------------------------------------------- addresses */

/* Indices are extended by their sign, as getelementptr does. */
Address Expressions::address(Value *v, unsigned depth) const
{
    if (auto *a = dyn_cast<Argument>(v))
        return {a->getType()->isPointerTy() ? a : nullptr, constant(0)};
    auto *gep = dyn_cast<GEPOperator>(v);
    if (!gep || depth++ > DEEPEST)
        return {nullptr, std::nullopt};
    Address base = address(gep->getPointerOperand(), depth);
    SmallMapVector<Value *, APInt, 4> variable;
    APInt fixed(64, 0);
    if (!base.base || !gep->collectOffset(layout, 64, variable, fixed))
        return {nullptr, std::nullopt};
    Program sum = both(OMPJIT__EXPR_ADD, 64, base.offset,
                       constant(fixed.getZExtValue()));
    for (auto &[index, scale] : variable) {
        Program i = value(index, depth);
        if (width_of(index) < 64)
            i = with(i, OMPJIT__EXPR_SIGN_EXTEND, 64, width_of(index));
        sum = both(OMPJIT__EXPR_ADD, 64, sum,
                   both(OMPJIT__EXPR_SCALE, 64, i,
                        constant(scale.getZExtValue())));
    }
    return {base.base, sum};
}

} // namespace signature
