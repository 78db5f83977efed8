/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * By control dependence: control comes to a block if it comes to a block whose
 * branch decides about it, and that branch leads there. What is not known of a
 * condition counts as false.
 */
#include "frontend/signature/reach.h"

#include <llvm/IR/Constants.h>

using namespace llvm;

namespace signature {

/* Does the block call the host's version of a target region? A construct with
 * an `if` clause chooses between that and the launch: both use the data. */
static bool is_host_version(const BasicBlock *block)
{
    for (const Instruction &i : *block)
        if (auto *call = dyn_cast<CallBase>(&i)) {
            const Function *callee = call->getCalledFunction();
            if (callee && callee->getName().starts_with("__omp_offloading_"))
                return true;
        }
    return false;
}

/* The condition of an edge. Exceptions are taken to be none. */
Program Reach::edge(BasicBlock *from, BasicBlock *to)
{
    Instruction *end = from->getTerminator();
    if (auto *invoke = dyn_cast<InvokeInst>(end))
        return Expressions::constant(to == invoke->getNormalDest());
    if (auto *choice = dyn_cast<SwitchInst>(end)) {
        ConstantInt *value = choice->findCaseDest(to);
        if (!value || to == choice->getDefaultDest())
            return std::nullopt;
        return Expressions::both(
            OMPJIT__EXPR_EQ, value->getBitWidth(),
            expressions.value(choice->getCondition()),
            Expressions::constant(value->getZExtValue()));
    }
    auto *branch = dyn_cast<BranchInst>(end);
    if (!branch || !branch->isConditional())
        return std::nullopt;
    bool then = branch->getSuccessor(0) == to;
    if (is_host_version(branch->getSuccessor(then)))
        return Expressions::constant(1);
    Program p = expressions.value(branch->getCondition());
    return then ? p
                : Expressions::both(OMPJIT__EXPR_XOR, 1, p,
                                    Expressions::constant(1));
}

/* A branch behind the block itself, as a loop's, decides nothing about the first
 * time. */
Program Reach::of(BasicBlock *block, unsigned depth)
{
    enum { DEEPEST = 16 };
    if (depth > DEEPEST)
        return std::nullopt;
    if (ends.dominates(block, &f.getEntryBlock()))
        return Expressions::constant(1);
    Program any;
    for (BasicBlock &from : f) {
        if (ends.properlyDominates(block, &from) ||
            tree.dominates(block, &from) || !tree.isReachableFromEntry(&from))
            continue;
        SmallPtrSet<BasicBlock *, 4> seen;
        for (BasicBlock *to : successors(&from)) {
            if (!ends.dominates(block, to) || !seen.insert(to).second)
                continue;
            Program taken = edge(&from, to);
            Program comes = taken ? of(&from, depth + 1) : std::nullopt;
            Program way = Expressions::both(OMPJIT__EXPR_AND, 1, comes, taken);
            any = any && way
                      ? Expressions::both(OMPJIT__EXPR_OR, 1, any, way)
                  : way ? way
                        : any;
        }
    }
    return any;
}

std::string Reach::certain(BasicBlock *block)
{
    return of(block, 0).value_or(Expressions::constant(0));
}

} // namespace signature
