// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders team-shared variables by decreasing alignment, so that no padding is
// between them: the assembler lays them out in the module's order. Those that
// openmp-opt made have an alignment of 16 bytes each; small ones need no more
// than their size. C++ because LLVM's C API cannot move a global variable.
#include <functional>
#include <map>
#include <llvm-c/Core.h>
#include <llvm/IR/Module.h>

// passes/sharing/sharing.h is C.
extern "C" void ompjit__order_shared(LLVMModuleRef m);

// Lowers the alignment of a small variable that openmp-opt made, "x_shared" for
// a variable x. No access is larger than the variable, and none needs more
// alignment than its own size.
static void pack(llvm::GlobalVariable &g, const llvm::DataLayout &layout)
{
    const uint64_t size = layout.getTypeAllocSize(g.getValueType());
    if (size && g.hasLocalLinkage() && g.getName().contains("_shared") &&
        size < g.getAlign()->value())
        g.setAlignment(llvm::Align(llvm::PowerOf2Ceil(size)));
}

void ompjit__order_shared(LLVMModuleRef ref)
{
    constexpr unsigned SHARED_SPACE = 3;
    llvm::Module &m = *llvm::unwrap(ref);
    std::multimap<uint64_t, llvm::GlobalVariable *, std::greater<>> shared;
    for (llvm::GlobalVariable &g : m.globals()) {
        if (g.getAddressSpace() != SHARED_SPACE || !g.getAlign())
            continue;
        pack(g, m.getDataLayout());
        shared.emplace(g.getAlign()->value(), &g);
    }
    for (auto [align, g] : shared) {
        m.removeGlobalVariable(g);
        m.insertGlobalVariable(g);
    }
}
