// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Team-shared variables in the order that wastes nothing between them: the
// assembler lays them out as they come. C++ because LLVM's C API cannot move a
// global variable.
#include <algorithm>
#include <vector>
#include <llvm-c/Core.h>
#include <llvm/IR/Module.h>

// passes/passes.h is C.
extern "C" void ompjit__order_shared(LLVMModuleRef m);

void ompjit__order_shared(LLVMModuleRef ref)
{
    constexpr unsigned SHARED_SPACE = 3;
    llvm::Module &m = *llvm::unwrap(ref);
    std::vector<llvm::GlobalVariable *> shared;
    for (llvm::GlobalVariable &g : m.globals())
        if (g.getAddressSpace() == SHARED_SPACE && g.getAlign())
            shared.push_back(&g);
    std::stable_sort(shared.begin(), shared.end(), [](auto *a, auto *b) {
        return *a->getAlign() > *b->getAlign();
    });
    for (llvm::GlobalVariable *g : shared) {
        m.removeGlobalVariable(g);
        m.insertGlobalVariable(g);
    }
}
