/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's code generator without passes that gain nothing here. C++ because
 * LLVM's C API has all of them or none. (The passes are set up for each module,
 * which is a tenth of a small one's time: those of LLVM 22 may not be used again
 * for a module in another context, whose types they have kept.)
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm-c/Core.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Target/TargetMachine.h>

extern "C" {
#include "backend/emit.h"
}

namespace {

/* Of the passes that a target adds to it, those that are wanted. */
struct Choice : llvm::legacy::PassManagerBase {
    llvm::legacy::PassManager all;
    ompjit__passes wanted;
    llvm::Triple::ArchType arch;

    Choice(ompjit__passes passes, const llvm::TargetMachine &tm)
        : wanted(passes), arch(tm.getTargetTriple().getArch())
    {
    }

    /* Where variables are: of use to debuggers, which do not see this code. */
    static bool is_idle(llvm::StringRef name)
    {
        return name == "Live DEBUG_VALUE analysis";
    }

    /* On x86-64, whose addresses have a base, a scaled index and a
     * displacement, strength reduction of loops; on a GPU, whose addresses have
     * been anchored (anchor.h), a second look for common parts of them. */
    bool is_slow(llvm::StringRef name) const
    {
        if (name == "Canonicalize Freeze Instructions in Loops")
            return true;
        switch (arch) {
        case llvm::Triple::x86_64:
            return name == "Loop Strength Reduction";
        case llvm::Triple::nvptx64:
            return name == "Nary reassociation" ||
                   name == "Global Value Numbering";
        default:
            return false;
        }
    }

    void add(llvm::Pass *pass) override
    {
        llvm::StringRef name = pass->getPassName();
        if (is_idle(name) || (wanted == OMPJIT__PASSES_LEAN && is_slow(name)))
            delete pass;
        else
            all.add(pass);
    }
};

} // namespace

bool ompjit__codegen(LLVMModuleRef ref, LLVMTargetMachineRef machine,
                     LLVMCodeGenFileType type, ompjit__passes wanted,
                     void (*take)(void *to, const char *bytes, size_t size),
                     void *to)
{
    auto &tm = *reinterpret_cast<llvm::TargetMachine *>(machine);
    llvm::Module &m = *llvm::unwrap(ref);
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out(bytes);
    Choice passes(wanted, tm);
    m.setDataLayout(tm.createDataLayout());
    if (tm.addPassesToEmitFile(passes, out, nullptr,
                               type == LLVMAssemblyFile
                                   ? llvm::CodeGenFileType::AssemblyFile
                                   : llvm::CodeGenFileType::ObjectFile))
        return false;
    passes.all.run(m);
    take(to, bytes.data(), bytes.size());
    return true;
}
