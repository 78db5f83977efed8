/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Declarations that may lie anywhere. IR for position-dependent code, and IR that
 * an LTO link has seen, takes each to be within 2 GiB (dso_local), which what the
 * process has is not: its address comes from a table then.
 */
#include <llvm-c/Core.h>
#include <llvm/IR/Module.h>

using namespace llvm;

// passes/passes.h is C.
extern "C" void ompjit__place_declarations_anywhere(LLVMModuleRef m);

void ompjit__place_declarations_anywhere(LLVMModuleRef ref)
{
    for (GlobalObject &g : unwrap(ref)->global_objects())
        if (g.isDeclaration() && !g.isImplicitDSOLocal())
            g.setDSOLocal(false);
}
