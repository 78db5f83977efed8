/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Properties of a loop, by which one pass tells another what to do with it.
 */
#ifndef OMPJIT_PASSES_LOOP_PROPERTY_H
#define OMPJIT_PASSES_LOOP_PROPERTY_H

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Metadata.h>

namespace ompjit {

/* Adds a property to a loop: a name and maybe a number. */
void add_loop_property(llvm::Loop &loop,
                       llvm::ArrayRef<llvm::Metadata *> property);

} // namespace ompjit
#endif
