/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Mends the copy that clang makes of a member of a class which is firstprivate
 * in a target region. The copy is shared memory, since its address may be taken.
 * clang takes the member for a reference, and stores the address where the copy
 * is to have the value:
 *
 *   store i64 %a, ptr %a.addr               ; the kernel's parameter
 *   store ptr %a.addr, ptr %tmp
 *   ...
 *   %from = load ptr, ptr %tmp
 *   %copy = call ptr @__kmpc_alloc_shared(i64 8)
 *   store ptr %from, ptr %copy              ; becomes a copy of 8 bytes
 *
 * Requires verified IR before any optimization. Other code is left as it is,
 * also that of a clang that is right.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"

enum { WORD = 8 }; /* bytes of a parameter, and of what clang asks for */

static bool is_word_type(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMPointerTypeKind ||
           (kind == LLVMIntegerTypeKind &&
            LLVMGetIntTypeWidth(type) == 8 * WORD);
}

/* Is it the local that has a parameter of one word? Where a source takes a
 * parameter's address, clang has moved it to shared memory. */
static bool holds_parameter(LLVMValueRef local)
{
    LLVMValueRef value =
        LLVMIsAAllocaInst(local) ? ompjit__only_stored(local) : NULL;
    return value && LLVMIsAArgument(value) && is_word_type(LLVMTypeOf(value));
}

/* Does the instruction store the address of such a local, as above, in `copy`? */
static bool stores_address(LLVMValueRef i, LLVMValueRef copy)
{
    LLVMValueRef from = LLVMIsAStoreInst(i) && LLVMGetOperand(i, 1) == copy
                            ? LLVMGetOperand(i, 0)
                            : NULL;
    LLVMValueRef local =
        from && LLVMIsALoadInst(from) &&
                LLVMIsAAllocaInst(LLVMGetOperand(from, 0))
            ? ompjit__only_stored(LLVMGetOperand(from, 0))
            : NULL;
    return local && holds_parameter(local);
}

/* Stores the value instead. */
static void store_value(LLVMBuilderRef builder, LLVMValueRef store)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(LLVMGetTypeContext(
        LLVMTypeOf(store)));
    LLVMPositionBuilderBefore(builder, store);
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(store));
    LLVMBuildMemCpy(builder, LLVMGetOperand(store, 1), WORD,
                    LLVMGetOperand(store, 0), WORD,
                    LLVMConstInt(i64, WORD, false));
    LLVMInstructionEraseFromParent(store);
}

static void mend(LLVMBuilderRef builder, LLVMValueRef copy)
{
    LLVMUseRef next, u = LLVMGetFirstUse(copy);
    for (; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (stores_address(user, copy))
            store_value(builder, user);
    }
}

bool ompjit__gets_word(LLVMValueRef call, LLVMValueRef alloc)
{
    return LLVMIsACallInst(call) && LLVMGetCalledValue(call) == alloc &&
           LLVMGetNumArgOperands(call) == 1 &&
           LLVMIsAConstantInt(LLVMGetOperand(call, 0)) &&
           LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0)) == WORD;
}

void ompjit__mend_member_copies(LLVMModuleRef m)
{
    LLVMValueRef alloc = LLVMGetNamedFunction(m, "__kmpc_alloc_shared");
    if (!alloc)
        return;
    LLVMBuilderRef builder =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMUseRef u = LLVMGetFirstUse(alloc); u; u = LLVMGetNextUse(u))
        if (ompjit__gets_word(LLVMGetUser(u), alloc))
            mend(builder, LLVMGetUser(u));
    LLVMDisposeBuilder(builder);
}
