// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that some threads skip, and that another way leads to as well:
//
//   A -> J, D -> J or E, J -> ... -> E
//
// Where threads meet between A and D, two regions would come together in J,
// and not all threads of the second come there (cuts.cc). So that all do,
// a block before J takes over the decision:
//
//   A -> B, D -> B, B -> J or E
#include <optional>

#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/InstIterator.h>

#include "passes/host/team/body.h"

using namespace llvm;
using namespace ompjit_team;

namespace {

enum { MOST_JOINS = 32 };

// The blocks of the picture above.
struct Skip {
    BranchInst *branch; // D's
    BasicBlock *code, *end; // J, E
};

class Joins {
  public:
    explicit Joins(Function &f) : f(f) {}

    // The first such place. Trees are made anew each time, since a join changes
    // the blocks.
    std::optional<Skip> find()
    {
        DominatorTree tree(f);
        PostDominatorTree ends(f);
        for (BasicBlock &block : f) {
            auto *branch = dyn_cast<BranchInst>(block.getTerminator());
            for (unsigned i = 0; branch && branch->isConditional() && i < 2;
                 i++) {
                Skip found = {branch, branch->getSuccessor(i),
                              branch->getSuccessor(1 - i)};
                if (found.code != found.end && has_other_way(found.code) &&
                    ends.dominates(found.end, found.code) &&
                    !is_header(tree, found.code))
                    return found;
            }
        }
        return std::nullopt;
    }

    // Phis of J take their values in B. Phis of E get in B the value that they
    // had from D. For threads that come to B another way it does not matter, as
    // they go to J.
    void join(const Skip &skip)
    {
        BasicBlock *from = skip.branch->getParent(), *code = skip.code;
        SmallVector<BasicBlock *, 4> befores(predecessors(code));
        auto *join = BasicBlock::Create(f.getContext(), "", &f, code);
        for (PHINode &phi : code->phis()) {
            PHINode *all = make_phi(*join, phi.getType(), befores, [&](auto *b) {
                return phi.getIncomingValueForBlock(b);
            });
            while (phi.getNumIncomingValues())
                phi.removeIncomingValue(0u, false);
            phi.addIncoming(all, join);
        }
        for (PHINode &phi : skip.end->phis()) {
            Value *skipped = phi.getIncomingValueForBlock(from);
            phi.removeIncomingValue(from, false);
            phi.addIncoming(make_phi(*join, phi.getType(), befores,
                                     [&](auto *b) -> Value * {
                                         return b == from ? skipped
                                                          : PoisonValue::get(
                                                        phi.getType());
                                     }),
                            join);
        }
        decide(skip, *join, befores);
    }

  private:
    using Blocks = SmallVectorImpl<BasicBlock *>;

    static bool has_other_way(BasicBlock *code)
    {
        return !code->getUniquePredecessor();
    }

    // A loop's first block is come to from the loop itself.
    static bool is_header(const DominatorTree &tree, BasicBlock *code)
    {
        return any_of(predecessors(code), [&](BasicBlock *before) {
            return tree.dominates(code, before);
        });
    }

    template <typename From>
    static PHINode *make_phi(BasicBlock &join, Type *type,
                             const Blocks &befores, From value)
    {
        PHINode *phi = PHINode::Create(type, 2, "", join.getFirstNonPHIIt());
        for (BasicBlock *before : befores)
            phi->addIncoming(value(before), before);
        return phi;
    }

    // The branch's condition goes along; who comes another way does not skip.
    void decide(const Skip &skip, BasicBlock &join, const Blocks &befores)
    {
        BasicBlock *from = skip.branch->getParent();
        IRBuilder<> b(skip.branch);
        Value *condition = skip.branch->getCondition();
        if (skip.branch->getSuccessor(0) != skip.code)
            condition = b.CreateNot(condition);
        PHINode *goes = make_phi(join, b.getInt1Ty(), befores, [&](auto *x) {
            return x == from ? condition : b.getTrue();
        });
        for (BasicBlock *before : befores)
            before->getTerminator()->replaceSuccessorWith(skip.code, &join);
        b.CreateBr(&join)->setDebugLoc(skip.branch->getDebugLoc());
        skip.branch->eraseFromParent();
        BranchInst::Create(skip.code, skip.end, goes, &join);
    }

    Function &f;
};

} // namespace

void ompjit_team::join_skips(Body &body)
{
    Joins joins(body.f);
    if (none_of(instructions(body.f), is_barrier))
        return;
    for (int n = 0; n < MOST_JOINS; n++) {
        std::optional<Skip> skip = joins.find();
        if (!skip)
            return;
        joins.join(*skip);
    }
}
