/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Variadic functions of device code get their further arguments in memory, as
 * on a GPU: clang has expanded va_arg for NVPTX, where a va_list is a pointer
 * that moves over them, while the CPU's va_start fills a va_list of its own
 * form. LLVM's pass that does this for GPUs before it selects instructions runs
 * here while the module still has a GPU's triple. Functions that are only
 * declared keep the CPU's convention: the C library has them.
 *
 * Requires IR that is not retargeted. C++ because LLVM's C API cannot run a pass
 * in a mode of its own.
 */
#include <llvm-c/Core.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Transforms/IPO/ExpandVariadics.h>

using namespace llvm;

// passes/host/host.h is C.
extern "C" bool ompjit__expand_variadics(LLVMModuleRef m);

namespace {

bool is_variadic_definition(const Function &f)
{
    return f.isVarArg() && !f.isDeclaration();
}

/* LLVM's pass ends the process at other calls. */
bool can_be_expanded(const Instruction &i)
{
    const auto *call = dyn_cast<CallBase>(&i);
    return !call || !call->getFunctionType()->isVarArg() ||
           (isa<CallInst>(call) && !call->isMustTailCall() &&
            call->getCallingConv() == CallingConv::C) ||
           (call->getCalledFunction() &&
            call->getCalledFunction()->isDeclaration());
}

} // namespace

bool ompjit__expand_variadics(LLVMModuleRef module)
{
    Module &m = *unwrap(module);
    SmallVector<Function *, 8> declared;
    if (none_of(m, is_variadic_definition))
        return true;
    for (Function &f : m)
        if (!all_of(instructions(f), can_be_expanded))
            return false;
    for (Function &f : m)
        if (f.isVarArg() && f.isDeclaration() && !f.isIntrinsic() &&
            f.getCallingConv() == CallingConv::C) {
            f.setCallingConv(CallingConv::Fast); // the pass leaves these alone
            declared.push_back(&f);
        }
    ModuleAnalysisManager analyses;
    ExpandVariadicsPass(ExpandVariadicsMode::Lowering).run(m, analyses);
    for (Function *f : declared)
        f->setCallingConv(CallingConv::C);
    return true;
}
