// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Team-shared variables in the order that wastes nothing between them: the
// assembler lays them out as they come. Small ones need no more alignment than
// their size: clang asks for 16 bytes for each. C++ because LLVM's C API cannot
// move a global variable.
#include <functional>
#include <map>
#include <llvm-c/Core.h>
#include <llvm/IR/Module.h>

// passes/passes.h is C.
extern "C" void ompjit__order_shared(LLVMModuleRef m);

// openmp-opt's, "x_shared" for a variable x. No access is larger than the variable,
// nor aligned to more than itself.
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
