/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds modules that need not be optimized: their instructions run once at most,
 * since they are an input's statements without loops. Optimizing them takes
 * longer than they do.
 */
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include "frontend/repl/repl.h"

namespace {

/* Statements are run by the session; in C++ as constructors, each by an entry of
 * a list. */
bool is_of_statements(const llvm::Function &f, unsigned number)
{
    const std::string name = "input_" + std::to_string(number);
    return f.getName() == name || f.getName().starts_with(name + "_") ||
           f.getSection() == ".text.startup";
}

/* Is it called once in the module, and by nobody else? */
bool has_one_call(const llvm::Function &f)
{
    if (!f.hasLocalLinkage() && !f.hasLinkOnceLinkage())
        return false;
    if (!f.hasOneUse())
        return f.use_empty();
    auto *call = llvm::dyn_cast<llvm::CallBase>(f.user_back());
    return call && call->isCallee(&*f.use_begin());
}

bool has_loop(const llvm::Function &f)
{
    llvm::SmallVector<
        std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>>
        edges;
    llvm::FindFunctionBackedges(f, edges);
    return !edges.empty();
}

/* Some code compiles only where it is optimized: assembly whose constants are
 * arguments of inline functions, and calls that are errors unless they are
 * removed. */
bool wants_optimizer(const llvm::Function &f)
{
    if (f.hasFnAttribute("dontcall-error"))
        return true;
    for (const llvm::BasicBlock &block : f)
        for (const llvm::Instruction &i : block)
            if (auto *call = llvm::dyn_cast<llvm::CallBase>(&i))
                if (call->isInlineAsm())
                    return true;
    return false;
}

} // namespace

bool ompjit_repl::runs_once(const llvm::Module &module, unsigned number)
{
    for (const llvm::Function &f : module) {
        if (wants_optimizer(f))
            return false;
        if (f.isDeclarationForLinker())
            continue;
        if (has_loop(f) ||
            !(is_of_statements(f, number) || has_one_call(f)))
            return false;
    }
    return true;
}
