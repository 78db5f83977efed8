/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C++ because LLVM's C API cannot make metadata that refers to itself, which is
 * what tells loops apart.
 */
#include <llvm-c/Core.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

extern "C" void ompjit__keep_vectorized(LLVMModuleRef m);

static bool has_word(const llvm::MDNode *loop, const char *word)
{
    for (const llvm::MDOperand &operand : loop->operands()) {
        const auto *node = llvm::dyn_cast_or_null<llvm::MDNode>(operand.get());
        if (!node || node == loop || !node->getNumOperands())
            continue;
        const auto *text =
            llvm::dyn_cast<llvm::MDString>(node->getOperand(0).get());
        if (text && text->getString() == word)
            return true;
    }
    return false;
}

void ompjit__keep_vectorized(LLVMModuleRef m)
{
    llvm::LLVMContext &context = llvm::unwrap(m)->getContext();
    llvm::MDNode *keep = llvm::MDNode::get(
        context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
    for (llvm::Function &function : *llvm::unwrap(m)) {
        for (llvm::BasicBlock &block : function) {
            llvm::Instruction *end = block.getTerminator();
            llvm::MDNode *loop = end->getMetadata(llvm::LLVMContext::MD_loop);
            if (!loop || !has_word(loop, "llvm.loop.isvectorized"))
                continue;
            llvm::SmallVector<llvm::Metadata *, 8> parts(loop->op_begin(),
                                                         loop->op_end());
            parts.push_back(keep);
            llvm::MDNode *kept = llvm::MDNode::getDistinct(context, parts);
            kept->replaceOperandWith(0, kept);
            end->setMetadata(llvm::LLVMContext::MD_loop, kept);
        }
    }
}
