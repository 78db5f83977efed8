/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's code generator without passes that gain nothing here. C++ because
 * LLVM's C API has all of them or none. (The passes are set up for each module,
 * which is a tenth of a small one's time: those of LLVM 22 may not be used again
 * for a module in another context, whose types they have kept.)
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm-c/Core.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Target/TargetMachine.h>

extern "C" {
#include "backend/emit.h"
}

/* Is it a number times something, other than a scaled index? */
static bool is_product(const llvm::Instruction &i, const llvm::DataLayout &data)
{
    if (i.getOpcode() == llvm::Instruction::Mul)
        return i.getType()->isIntegerTy() &&
               llvm::isa<llvm::Constant>(i.getOperand(1));
    const auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i);
    if (!address || address->hasAllConstantIndices())
        return false;
    uint64_t size = data.getTypeAllocSize(address->getSourceElementType());
    return size > 8 || (size & (size - 1));
}

/* Those that loops compute become sums by strength reduction. */
static bool loops_multiply(llvm::Module &m)
{
    for (llvm::Function &f : m) {
        if (f.isDeclaration())
            continue;
        llvm::DominatorTree tree(f);
        llvm::LoopInfo loops(tree);
        for (llvm::BasicBlock &block : f)
            if (loops.getLoopFor(&block) &&
                llvm::any_of(block, [&m](llvm::Instruction &i) {
                    return is_product(i, m.getDataLayout());
                }))
                return true;
    }
    return false;
}

namespace {

/* Of the passes that a target adds to it, those that are wanted. */
struct Choice : llvm::legacy::PassManagerBase {
    llvm::legacy::PassManager all;
    ompjit__passes wanted;
    llvm::Triple::ArchType arch;
    bool multiplies;

    Choice(ompjit__passes passes, const llvm::TargetMachine &tm,
           llvm::Module &m)
        : wanted(passes), arch(tm.getTargetTriple().getArch()),
          multiplies(passes == OMPJIT__PASSES_LEAN && loops_multiply(m))
    {
    }

    /* What has nothing to do in a kernel: where variables are, which debuggers
     * ask for, who do not see this code; garbage collection, Objective-C, and
     * instrumentation that has no option here. With them go analyses that
     * nobody else needs there. */
    static bool is_idle(llvm::StringRef name)
    {
        static const char *const idle[] = {
            "Live DEBUG_VALUE analysis", "Remove Redundant DEBUG_VALUE analysis",
            "Lower Garbage Collection Instructions", "Shadow Stack GC Lowering",
            "Analyze Machine Code For Garbage Collection",
            "Fixup Statepoint Caller Saved", "ObjC ARC contraction",
            "Safe Stack instrumentation pass", "Insert fentry calls",
            "Insert XRay ops", "Machine Sanitizer Binary Metadata",
            "Stack Frame Layout Analysis"};
        return llvm::is_contained(idle, name);
    }

    /* On x86-64, whose addresses have a base, a scaled index and a
     * displacement, strength reduction of loops without products; on a GPU, whose
     * addresses have been anchored (anchor.h), a second look for common parts of
     * them. */
    bool is_slow(llvm::StringRef name) const
    {
        if (name == "Canonicalize Freeze Instructions in Loops")
            return true;
        switch (arch) {
        case llvm::Triple::x86_64:
            return name == "Loop Strength Reduction" && !multiplies;
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
    m.setDataLayout(tm.createDataLayout());
    Choice passes(wanted, tm, m);
    if (tm.addPassesToEmitFile(passes, out, nullptr,
                               type == LLVMAssemblyFile
                                   ? llvm::CodeGenFileType::AssemblyFile
                                   : llvm::CodeGenFileType::ObjectFile))
        return false;
    passes.all.run(m);
    take(to, bytes.data(), bytes.size());
    return true;
}
