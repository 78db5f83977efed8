/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * lastprivate of `teams distribute parallel for`. clang has the team's copy of
 * the variable allocated where the distributed loop is, gives its address to
 * the parallel region, in which the thread with the last iteration stores to
 * it, and copies it to the original in the last team. In a kernel in SPMD mode
 * each thread runs that and allocates a copy of its own: one of them is right,
 * and which one reaches the original is chance. Here the team has one.
 *
 * Only what clang writes before it is optimized is recognized.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "ir/ir.h"

/* A larger copy would take too much of a team's static shared memory. */
enum { IS_LAST = 3, SHARED_SPACE = 3, MOST = 16 << 10, ALIGNMENT = 16 };

static const char *const inits[] = {
    "__kmpc_distribute_static_init_4", "__kmpc_distribute_static_init_4u",
    "__kmpc_distribute_static_init_8", "__kmpc_distribute_static_init_8u"};

/* The block to which a test of a flag goes where it is set; NULL: no test. */
static LLVMBasicBlockRef block_if_set(LLVMValueRef test)
{
    LLVMUseRef u = LLVMIsAICmpInst(test) ? LLVMGetFirstUse(test) : NULL;
    LLVMValueRef branch = u ? LLVMGetUser(u) : NULL;
    if (!branch || !LLVMIsABranchInst(branch) ||
        LLVMGetNumSuccessors(branch) != 2)
        return NULL;
    return LLVMGetSuccessor(branch, LLVMGetICmpPredicate(test) != LLVMIntNE);
}

/* Where the last team copies its variables; NULL: it has none. */
static LLVMBasicBlockRef find_copies(LLVMValueRef is_last)
{
    for (LLVMUseRef u = LLVMGetFirstUse(is_last); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef load = LLVMGetUser(u);
        LLVMUseRef its = LLVMIsALoadInst(load) ? LLVMGetFirstUse(load) : NULL;
        LLVMBasicBlockRef block =
            its ? block_if_set(LLVMGetUser(its)) : NULL;
        if (block)
            return block;
    }
    return NULL;
}

static bool is_used_in(LLVMValueRef v, LLVMBasicBlockRef block)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (LLVMIsAInstruction(LLVMGetUser(u)) &&
            LLVMGetInstructionParent(LLVMGetUser(u)) == block)
            return true;
    return false;
}

static void erase_calls(LLVMValueRef with, LLVMValueRef callee)
{
    for (LLVMUseRef u = LLVMGetFirstUse(with), next; u; u = next) {
        LLVMValueRef call = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (callee && LLVMIsACallInst(call) &&
            LLVMGetCalledValue(call) == callee)
            LLVMInstructionEraseFromParent(call);
    }
}

static void share(LLVMModuleRef m, LLVMValueRef allocated, uint64_t size)
{
    LLVMTypeRef bytes = LLVMArrayType2(
        LLVMInt8TypeInContext(LLVMGetModuleContext(m)), size);
    LLVMValueRef copy = LLVMAddGlobalInAddressSpace(
        m, bytes, "ompjit_lastprivate", SHARED_SPACE);
    LLVMSetLinkage(copy, LLVMInternalLinkage);
    LLVMSetInitializer(copy, LLVMGetUndef(bytes));
    LLVMSetAlignment(copy, ALIGNMENT);
    erase_calls(allocated, LLVMGetNamedFunction(m, "__kmpc_free_shared"));
    LLVMReplaceAllUsesWith(
        allocated, LLVMConstAddrSpaceCast(copy, LLVMTypeOf(allocated)));
    LLVMInstructionEraseFromParent(allocated);
}

/* The variables of a function that are copied in a block. */
static void share_copied(LLVMModuleRef m, LLVMBasicBlockRef copies)
{
    LLVMValueRef allocate = LLVMGetNamedFunction(m, "__kmpc_alloc_shared");
    LLVMValueRef f = LLVMGetBasicBlockParent(copies);
    for (LLVMUseRef u = allocate ? LLVMGetFirstUse(allocate) : NULL, next; u;
         u = next) {
        LLVMValueRef call = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != allocate ||
            LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)) != f)
            continue;
        LLVMValueRef size = LLVMGetOperand(call, 0);
        uint64_t n = LLVMIsAConstantInt(size) ? LLVMConstIntGetZExtValue(size)
                                              : MOST + 1;
        if (n <= MOST && is_used_in(call, copies))
            share(m, call, n);
    }
}

void ompjit__share_lastprivate(LLVMModuleRef m)
{
    for (size_t i = 0; i < OMPJIT__COUNT(inits); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, inits[i]);
        for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
             u = LLVMGetNextUse(u)) {
            LLVMValueRef call = LLVMGetUser(u);
            LLVMBasicBlockRef copies =
                LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f
                    ? find_copies(LLVMGetOperand(call, IS_LAST))
                    : NULL;
            if (copies)
                share_copied(m, copies);
        }
    }
}
