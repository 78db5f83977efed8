/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels of IR with full debug information: clang gives such a kernel a body
 * of its own, NAME_debug__, whose parameters have the types of the source, and
 * which starts as a kernel. Everything behind the front end looks for that in
 * the kernel itself, so bodies are inlined here.
 */
#include <llvm-c/Core.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

extern "C" { /* frontend/frontend.h is C */
LLVMValueRef ompjit__debug_kernel_call(LLVMValueRef f);
void ompjit__inline_debug_kernels(LLVMModuleRef m);
}

using namespace llvm;

/* The calls of bodies in kernels:
 *
 *   define ptx_kernel void @NAME(ptr %dyn_ptr, i64 %n) {
 *     call void @NAME_debug__(ptr %dyn_ptr, i64 %n)
 *
 * They are listed first, since inlining removes uses of __kmpc_target_init. */
static SmallVector<CallInst *, 8> calls_of_bodies(Module &m)
{
    SmallVector<CallInst *, 8> calls;
    if (Function *init = m.getFunction("__kmpc_target_init"))
        for (User *user : init->users())
            if (auto *start = dyn_cast<CallInst>(user))
                if (LLVMValueRef call =
                        ompjit__debug_kernel_call(wrap(start->getFunction())))
                    calls.push_back(cast<CallInst>(unwrap(call)));
    return calls;
}

void ompjit__inline_debug_kernels(LLVMModuleRef m)
{
    for (CallInst *call : calls_of_bodies(*unwrap(m))) {
        InlineFunctionInfo info;
        Function *body = call->getCalledFunction();
        body->removeFnAttr(Attribute::NoInline);
        if (InlineFunction(*call, info).isSuccess())
            body->eraseFromParent();
    }
}
