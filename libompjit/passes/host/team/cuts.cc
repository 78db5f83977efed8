// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts a function where its threads meet. The code between two meetings is a
// region. The cuts, blocks of their own, are
//   barriers;
//   branches that decide which barrier comes next; their conditions have to be
//     the same in all threads, as have those of all branches on which a barrier
//     depends, or the function stays as it is;
//   joins, where two regions would go on in the same block;
//   the function's beginning and end.
// So a region begins behind one cut and ends before one other. Loops that
// contain barriers, and conditionals that do, are run once, around the regions'
// loops.
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "passes/host/team/body.h"

using namespace llvm;
using namespace ompjit_team;

namespace {

// Finding the regions takes time that grows faster than their number.
enum { MOST_CUTS = 400 };

// A barrier of all threads: ompjit_host_barrier(0, 0).
bool is_whole_barrier(const Instruction &i)
{
    return is_barrier(i) && all_of(cast<CallBase>(i).args(), [](const Use &u) {
               const auto *c = dyn_cast<ConstantInt>(u);
               return c && c->isZero();
           });
}

// Cuts and regions depend on one another: a cut begins regions, and a region
// that leads to two cuts, or meets another, needs one more. So both are found
// again after each new cut.
class Cuts {
  public:
    explicit Cuts(Body &body)
        : body(body), cuts(body.cuts), regions(body.regions),
          region_of(body.region_of)
    {
    }

    // False: the function needs fibers.
    bool find()
    {
        if (!cut_barriers())
            return false;
        while (cuts.size() <= MOST_CUTS) {
            if (BasicBlock *join = find_regions()) {
                make_join(*join);
                continue;
            }
            bool more = false;
            for (Region &r : regions)
                if (!has_one_exit(r, more))
                    return false;
            if (!more && !part_cuts())
                return true;
        }
        return false;
    }

  private:
    // Each barrier becomes a block of its own, and is erased: the end of one
    // loop and the beginning of the next take its place. False: a barrier is of
    // some threads only, or there are too many.
    bool cut_barriers()
    {
        SmallVector<Instruction *, 8> barriers;
        for (Instruction &i : instructions(body.f)) {
            if (is_barrier(i) && !is_whole_barrier(i))
                return false;
            if (is_barrier(i))
                barriers.push_back(&i);
        }
        if (barriers.size() > MOST_CUTS)
            return false;
        for (Instruction *barrier : barriers) {
            BasicBlock *block = SplitBlock(barrier->getParent(), barrier);
            SplitBlock(block, std::next(barrier->getIterator()));
            cuts.insert(block);
            body.remove(*barrier);
        }
        return true;
    }

    // NULL, or a block in which two regions come together.
    BasicBlock *find_regions()
    {
        regions.clear();
        region_of.clear();
        ReversePostOrderTraversal<Function *> order(&body.f);
        for (bool changed = true; changed;) {
            changed = false;
            for (BasicBlock *block : order) {
                bool joins = false;
                if (!cuts.contains(block))
                    changed |= spread(*block, joins);
                if (joins)
                    return block;
            }
        }
        for (BasicBlock &block : body.f)
            if (!cuts.contains(&block))
                regions[region_of.lookup(&block)].blocks.insert(&block);
        return nullptr;
    }

    // The block is of the region from which it is come to. True: that is news.
    bool spread(BasicBlock &block, bool &joins)
    {
        bool changed = false;
        for (BasicBlock *before : predecessors(&block)) {
            unsigned which = region_behind(before, &block);
            if (which == NONE)
                continue;
            auto [at, first] = region_of.insert({&block, which});
            changed |= first;
            joins |= at->second != which;
        }
        return changed;
    }

    static constexpr unsigned NONE = ~0u;

    // The region of whatever comes to `block` from `before`: a new one behind a
    // cut; NONE where `before` is not of one yet.
    unsigned region_behind(BasicBlock *before, BasicBlock *block)
    {
        if (!cuts.contains(before)) {
            auto at = region_of.find(before);
            return at == region_of.end() ? NONE : at->second;
        }
        for (unsigned i = 0; i < regions.size(); i++)
            if (regions[i].from == before && regions[i].entry == block)
                return i;
        Region r;
        r.from = before;
        r.entry = block;
        regions.push_back(std::move(r));
        return (unsigned)regions.size() - 1;
    }

    // The block's phis, and a branch, become a cut.
    void make_join(BasicBlock &block)
    {
        SplitBlock(&block, block.getFirstNonPHIIt());
        cuts.insert(&block);
    }

    // The phis of a cut belong to no region. A value that comes into a join
    // straight from another cut, and is another value in each thread, is stored
    // in a region between the two. False: nothing does.
    bool part_cuts()
    {
        SmallVector<std::pair<BasicBlock *, BasicBlock *>, 4> edges;
        for (BasicBlock *block : cuts)
            if (any_of(block->phis(),
                       [&](PHINode &p) { return body.is_own(&p); }))
                for (BasicBlock *before : predecessors(block))
                    if (cuts.contains(before) &&
                        !is_contained(edges, std::pair(before, block)))
                        edges.push_back({before, block});
        for (auto [before, block] : edges)
            SplitBlockPredecessors(block, before, "");
        return !edges.empty();
    }

    // The cuts that a region's blocks lead to.
    using Exits = SmallPtrSet<BasicBlock *, 2>;
    using AllExits = MapVector<BasicBlock *, Exits>;

    // A cut is its own exit.
    Exits exits_behind(AllExits &all, BasicBlock *block)
    {
        if (!cuts.contains(block))
            return all[block];
        Exits exits;
        exits.insert(block);
        return exits;
    }

    // For each block, to a fixed point: the sets only grow.
    AllExits find_exits(const Region &r)
    {
        AllExits all;
        for (bool changed = true; changed;) {
            changed = false;
            for (BasicBlock *block : r.blocks)
                for (BasicBlock *next : successors(block))
                    for (BasicBlock *e : exits_behind(all, next))
                        changed |= all[block].insert(e).second;
        }
        return all;
    }

    // Does the block's end decide where threads meet next? One of its ways may
    // end in an error.
    bool is_decisive(AllExits &all, BasicBlock *block)
    {
        Exits exits = all[block];
        return !all_of(successors(block), [&](BasicBlock *next) {
            Exits behind = exits_behind(all, next);
            return behind.empty() || behind == exits;
        });
    }

    // `more`: it was cut to have one. False: it has several, and threads may go
    // to different ones.
    bool has_one_exit(Region &r, bool &more)
    {
        AllExits all = find_exits(r);
        const Exits exits = all[r.entry];
        if (exits.empty())
            return false;
        r.exit = *exits.begin();
        if (exits.size() == 1)
            return true;
        for (BasicBlock *block : r.blocks) {
            if (!is_decisive(all, block))
                continue;
            if (!decide(*block))
                return false;
            more = true;
        }
        return more;
    }

    // The block's end decides for all threads, if it does.
    bool decide(BasicBlock &block)
    {
        Instruction *end = block.getTerminator();
        const Value *condition =
            isa<SwitchInst>(end) ? cast<SwitchInst>(end)->getCondition()
                                 : cast<BranchInst>(end)->getCondition();
        if (body.is_own(condition))
            return false;
        cuts.insert(SplitBlock(&block, end));
        return true;
    }

    Body &body;
    SetVector<BasicBlock *> &cuts;
    std::vector<Region> &regions;
    DenseMap<const BasicBlock *, unsigned> &region_of;
};

} // namespace

bool ompjit_team::cut(Body &body)
{
    if (!Cuts(body).find())
        return false;
    body.tree.recalculate(body.f);
    return true;
}
