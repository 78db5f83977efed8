// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that all threads of a team run (form.cc), on its way to loops
// over the threads' numbers: what the steps of loops.cc hand to each
// other.
#ifndef OMPJIT_PASSES_HOST_TEAM_BODY_H
#define OMPJIT_PASSES_HOST_TEAM_BODY_H

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PassManager.h>

#include "passes/host/team/form.h"

namespace ompjit_team {

enum { WARP = OMPJIT_HOST_WARP };

// Is it a call of a function by its name?
bool is_call_of(const llvm::Value &v, llvm::StringRef name);
// Is it a call of the engine's barrier, of all threads or of some?
bool is_barrier(const llvm::Instruction &i);

// The loads by which a function finds its thread's number, in what the engine
// tells of the thread. uniform.cc
class Numbers {
  public:
    // False: the function may find its number in another way.
    bool collect(llvm::Function &f);
    bool contains(const llvm::Value *v) const { return loads.contains(v); }

  private:
    bool follow(llvm::Value &pointer);
    bool note(llvm::LoadInst &load);

    llvm::SmallPtrSet<const llvm::Value *, 8> seen, loads;
};

// The code between two cuts, and the loop that is made of it:
// before -> begin (next thread) -> blocks -> end -> begin, or after -> exit.
struct Region {
    llvm::BasicBlock *from, *entry; // the cut, and the first block behind it
    llvm::BasicBlock *exit = nullptr;
    llvm::SetVector<llvm::BasicBlock *> blocks;
    llvm::BasicBlock *before = nullptr, *begin = nullptr, *end = nullptr,
                     *after = nullptr;
    llvm::PHINode *tid = nullptr;
    llvm::Value *index = nullptr; // the same as a 64-bit number
    // Values of others, as this one has them.
    llvm::DenseMap<llvm::Value *, llvm::Value *> values;
};

// A function that all threads run, while it becomes one that is called once for
// them. The steps fill the fields from above to below.
struct Body {
    explicit Body(llvm::Function &f) : f(f), layout(f.getDataLayout()) {}
    ~Body();

    // Takes an instruction out of the function. Its memory stays, since the
    // analyses know it by its address: an instruction that is made later would be
    // taken for it.
    void remove(llvm::Instruction &i);

    // Is a value another in each thread? The value must have been there for the
    // analysis.
    bool is_own(const llvm::Value *v) const
    {
        return llvm::isa<llvm::Instruction>(v) && uniformity->isDivergent(v);
    }

    // The region that the block is of, or NULL.
    Region *region_at(const llvm::BasicBlock *block)
    {
        auto at = region_of.find(block);
        return at == region_of.end() ? nullptr : &regions[at->second];
    }

    // An array with an element for each thread.
    llvm::AllocaInst *make_array(llvm::Type *type,
                                 llvm::Align align = llvm::Align(1));
    static llvm::Value *element(llvm::IRBuilder<> &b, llvm::Type *type,
                                llvm::Value *array, const Region &r)
    {
        return b.CreateInBoundsGEP(type, array, r.index);
    }

    llvm::Function &f;
    const llvm::DataLayout &layout;
    llvm::Value *n = nullptr, *self = nullptr; // of threads; the engine's
    uint64_t own_bytes = 0;                    // of arrays, for each thread
    llvm::SmallVector<llvm::AllocaInst *, 8> variables;
    // Variables that serve one thread after the other.
    llvm::SmallPtrSet<const llvm::Value *, 4> of_rounds;
    // Arrays that all threads reach.
    llvm::SmallPtrSet<const llvm::Value *, 2> common;
    Numbers numbers;
    // Loads of which each thread may find another value. uniform.cc
    llvm::SmallPtrSet<const llvm::Value *, 16> late;
    llvm::DominatorTree tree; // recalculated by cut()
    llvm::FunctionAnalysisManager analyses;
    // It knows the function as find_own_values() has seen it, and no value that
    // is made later.
    llvm::UniformityInfo *uniformity = nullptr;
    llvm::SetVector<llvm::BasicBlock *> cuts; // blocks where threads meet
    std::vector<Region> regions;
    llvm::DenseMap<const llvm::BasicBlock *, unsigned> region_of;

  private:
    llvm::SmallVector<llvm::Instruction *, 16> removed;
};

// The steps, in their order. False: the function needs fibers.

// Splits the beginning off, with what tells the number of threads, and joins
// the ends. body.cc
bool split_ends(Body &body);
// Exchanges of values become stores, barriers and loads. shuffles.cc
void replace_shuffles(Body &body);
// All threads come to code that some skip. joins.cc
void join_skips(Body &body);
// Finds the values that are another in each thread. uniform.cc
bool find_own_values(Body &body);
// Finds cuts and regions. cuts.cc
bool cut(Body &body);
// Values that other regions need stay in arrays. Regions have their loops'
// blocks. values.cc
bool keep_values(Body &body);
// Regions become loops. loops.cc
void make_loops(Body &body);

} // namespace ompjit_team

#endif
