/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A part of a module as a module of its own. C++ alone reads this.
 */
#ifndef OMPJIT_CLONE_H
#define OMPJIT_CLONE_H

#include <memory>
#include <vector>

#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

namespace ompjit {

/* Clones functions and variables into another module of the same context: those
 * that are asked for, and all that these name. Derived classes say what of it is
 * cloned; the rest is declared. Names, linkages and the order in which things are
 * asked for are kept. What is declared may lie anywhere (not dso_local). */
class Cloner : public llvm::ValueMaterializer {
public:
    /* An empty module for the same target. */
    static std::unique_ptr<llvm::Module> empty_like(const llvm::Module &m);

    explicit Cloner(llvm::Module &target) : to(target) {}
    /* The clone or declaration. Bodies and initializers follow in finish(). */
    llvm::Value *take(llvm::GlobalValue &g);
    void finish();
    llvm::Value *materialize(llvm::Value *v) final; /* LLVM's */

protected:
    llvm::Module &to;

private:
    /* Is it cloned, if it is a definition? */
    virtual bool has(const llvm::Function &f) const = 0;
    virtual bool has(const llvm::GlobalVariable &g) const = 0;
    virtual bool has(const llvm::GlobalAlias &a) const = 0;
    /* The linkage of a clone. */
    virtual llvm::GlobalValue::LinkageTypes
    linkage_of(const llvm::Function &f) const;
    virtual llvm::GlobalValue::LinkageTypes
    linkage_of(const llvm::GlobalVariable &g) const;

    llvm::Value *declare(llvm::GlobalValue &g);
    llvm::Value *start(llvm::Function &f);
    llvm::Value *start(llvm::GlobalVariable &g);
    llvm::Value *start(llvm::GlobalAlias &a);
    void fill(llvm::Function &made, llvm::Function &f);

    llvm::ValueToValueMapTy map;
    std::vector<std::pair<llvm::GlobalVariable *, llvm::GlobalVariable *>>
        variables;
    std::vector<std::pair<llvm::Function *, llvm::Function *>> functions;
};

} // namespace ompjit

#endif
