/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The contents of storage that a kernel only reads are written into the IR: the
 * pointer becomes the address of a constant. That is right where nothing but
 * loads depends on the pointer, where no other pointer of the kernel leads to
 * the storage, and where the kernel does not wait for somebody who changes it:
 * the launch answers for the second, backend/kernel_facts.c for the last.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "passes/passes.h"

/* Is memory reached through the value by nothing but plain loads, and copies
 * out of it? A comparison would tell the constant's address from the storage's.
 * `depth` bounds recursion. */
static bool only_read(LLVMValueRef v, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        LLVMOpcode code = LLVMIsAInstruction(user)
                              ? LLVMGetInstructionOpcode(user)
                              : (LLVMOpcode)0;
        bool source = LLVMIsAMemCpyInst(user) &&
                      LLVMGetOperand(user, 0) != v &&
                      LLVMGetOperand(user, 1) == v;
        if (source || (code == LLVMLoad && !LLVMGetVolatile(user) &&
                       LLVMGetOrdering(user) == LLVMAtomicOrderingNotAtomic))
            continue;
        if ((code != LLVMGetElementPtr && code != LLVMAddrSpaceCast) ||
            LLVMGetOperand(user, 0) != v || !depth ||
            !only_read(user, depth - 1))
            return false;
    }
    return true;
}

/* A constant in the target's global memory, as a pointer of the given type. */
static LLVMValueRef make_constant(LLVMModuleRef m, LLVMTypeRef pointer,
                                  const ompjit__contents *c, bool host)
{
    LLVMContextRef context = LLVMGetModuleContext(m);
    LLVMValueRef bytes = LLVMConstStringInContext2(context, c->bytes, c->size,
                                                   1);
    LLVMValueRef g = LLVMAddGlobalInAddressSpace(
        m, LLVMTypeOf(bytes), "ompjit.contents", host ? 0 : 1);
    LLVMSetInitializer(g, bytes);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    LLVMSetAlignment(g, OMPJIT__ALIGNMENT);
    return host ? g : LLVMConstAddrSpaceCast(g, pointer);
}

void ompjit__fold_contents(LLVMValueRef kernel, const ompjit__kernel_desc *k,
                           const ompjit__spec *spec, bool host)
{
    LLVMModuleRef m = LLVMGetGlobalParent(kernel);
    for (unsigned i = 0; i < spec->facts.contents.n; i++) {
        const ompjit__contents *c = &spec->facts.contents.list[i];
        LLVMValueRef param = LLVMGetParam(kernel, c->param + k->launch_env);
        if (only_read(param, 8))
            LLVMReplaceAllUsesWith(
                param, make_constant(m, LLVMTypeOf(param), c, host));
    }
}
