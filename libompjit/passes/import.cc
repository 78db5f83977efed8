/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Variables of another image of the same GPU. The driver binds no image to
 * another's symbols, so an image has a table of their addresses in constant
 * memory, which whoever loads it fills. C++ for the replacement of constant
 * expressions by instructions, and for constants that nobody uses any more.
 */
#include <llvm-c/Core.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>

using namespace llvm;

extern "C" void ompjit__import_variables(LLVMModuleRef m,
                                         const LLVMValueRef *variables,
                                         size_t n, const char *table);
extern "C" void ompjit__drop_used(LLVMModuleRef m);

namespace {

enum { GLOBAL_SPACE = 1, CONSTANT_SPACE = 4 };

/* One load in each function, in its first block. The table is filled when the
 * image is loaded, before any of its kernels runs, and never changes: the load
 * is invariant (LangRef, !invariant.load), and the address has the variable's
 * alignment and size. */
class Importer {
  public:
    Importer(Module &m, size_t n, const char *name)
        : address(PointerType::get(m.getContext(), GLOBAL_SPACE)),
          type(ArrayType::get(address, n)),
          table(new GlobalVariable(m, type, false, GlobalValue::ExternalLinkage,
                                   Constant::getNullValue(type), name, nullptr,
                                   GlobalValue::NotThreadLocal, CONSTANT_SPACE,
                                   true))
    {
    }

    void replace(GlobalVariable *g, unsigned number)
    {
        convertUsersOfConstantsToInstructions({g});
        SmallVector<Use *, 16> uses;
        for (Use &use : g->uses())
            if (isa<Instruction>(use.getUser()))
                uses.push_back(&use);
        DenseMap<Function *, Value *> loaded;
        for (Use *use : uses) {
            Function *f = cast<Instruction>(use->getUser())->getFunction();
            Value *&value = loaded[f];
            if (!value)
                value = load(f, g, number);
            use->set(value);
        }
    }

  private:
    Value *load(Function *f, GlobalVariable *g, unsigned number)
    {
        LLVMContext &c = f->getContext();
        const DataLayout &layout = g->getParent()->getDataLayout();
        BasicBlock &entry = f->getEntryBlock();
        IRBuilder<> b(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
        Value *at = b.CreateConstInBoundsGEP2_64(type, table, 0, number);
        LoadInst *value = b.CreateLoad(address, at);
        auto number_node = [&](uint64_t n) {
            return MDNode::get(c, ConstantAsMetadata::get(b.getInt64(n)));
        };
        MDNode *yes = MDNode::get(c, {});
        value->setMetadata(LLVMContext::MD_invariant_load, yes);
        value->setMetadata(LLVMContext::MD_nonnull, yes);
        value->setMetadata(LLVMContext::MD_noundef, yes);
        value->setMetadata(
            LLVMContext::MD_align,
            number_node(g->getAlign().valueOrOne().value()));
        if (uint64_t size = layout.getTypeAllocSize(g->getValueType()))
            value->setMetadata(LLVMContext::MD_dereferenceable,
                               number_node(size));
        return b.CreateAddrSpaceCast(value, g->getType());
    }

    PointerType *address;
    ArrayType *type;
    GlobalVariable *table;
};

} // namespace

void ompjit__drop_used(LLVMModuleRef m)
{
    GlobalVariable *used = unwrap(m)->getNamedGlobal("llvm.compiler.used");
    if (!used)
        return;
    used->eraseFromParent();
    for (GlobalVariable &g : unwrap(m)->globals())
        g.removeDeadConstantUsers();
}

void ompjit__import_variables(LLVMModuleRef m, const LLVMValueRef *variables,
                              size_t n, const char *table)
{
    if (!n)
        return;
    Importer importer(*unwrap(m), n, table);
    for (size_t i = 0; i < n; i++)
        importer.replace(unwrap<GlobalVariable>(variables[i]), (unsigned)i);
}
