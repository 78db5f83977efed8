/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Adds properties to loops' metadata. C++ because LLVM's C API cannot make the
 * metadata of loops.
 */
#include "passes/loops/loop_property.h"

void ompjit::add_loop_property(llvm::Loop &loop,
                               llvm::ArrayRef<llvm::Metadata *> property)
{
    llvm::LLVMContext &context = loop.getHeader()->getContext();
    llvm::SmallVector<llvm::Metadata *, 8> parts;
    if (llvm::MDNode *id = loop.getLoopID())
        parts.append(id->op_begin(), id->op_end());
    else
        parts.push_back(nullptr);
    parts.push_back(llvm::MDNode::get(context, property));
    llvm::MDNode *with = llvm::MDNode::getDistinct(context, parts);
    with->replaceOperandWith(0, with);
    loop.setLoopID(with);
}
