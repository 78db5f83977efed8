/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Corrects what flang 22 maps of an optional dummy with a descriptor where the
 * call has no argument for it. A construct maps a copy of the descriptor, which
 * flang fills only if the argument is present:
 *
 *     %given = icmp ne i64 ptrtoint (%x), 0
 *     br i1 %given, label %fill, label %map
 *   fill:
 *     call void @llvm.memcpy(ptr %copy, ptr %x, ...)
 *     br label %map
 *   map:
 *     store ptr %copy, ptr %slot            ; of the map entry's base
 *
 * Without one the region has a descriptor of what the stack held before, and
 * present(x) is true there. Behind the repair the copy is zero then, and null is
 * mapped in its place.
 */
#include <llvm-c/Core.h>

#include "base/base.h"
#include "frontend/dialect/dialect.h"
#include "passes/hosthalf/hosthalf.h"

/* The dummy that the condition compares with null. NULL: it is another one. */
static LLVMValueRef dummy_of(LLVMValueRef condition)
{
    if (!LLVMIsAICmpInst(condition) ||
        LLVMGetICmpPredicate(condition) != LLVMIntNE ||
        !LLVMIsNull(LLVMGetOperand(condition, 1)))
        return NULL;
    LLVMValueRef number = LLVMGetOperand(condition, 0);
    return LLVMIsAPtrToIntInst(number) ? LLVMGetOperand(number, 0) : NULL;
}

static LLVMBasicBlockRef only_predecessor(LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    return use && !LLVMGetNextUse(use)
               ? LLVMGetInstructionParent(LLVMGetUser(use))
               : NULL;
}

/* The branch that skips the block, which does nothing but fill, where an
 * argument is absent. NULL: the block is no such one. */
static LLVMValueRef branch_around(LLVMBasicBlockRef block)
{
    LLVMBasicBlockRef before = only_predecessor(block);
    LLVMValueRef branch = before ? LLVMGetBasicBlockTerminator(before) : NULL;
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    return branch && LLVMIsABranchInst(branch) && LLVMIsConditional(branch) &&
                   LLVMGetSuccessor(branch, 0) == block &&
                   LLVMIsABranchInst(last) && !LLVMIsConditional(last) &&
                   LLVMGetSuccessor(last, 0) == LLVMGetSuccessor(branch, 1)
               ? branch
               : NULL;
}

static bool fills(LLVMValueRef i, LLVMValueRef copy)
{
    return (LLVMIsAMemCpyInst(i) && LLVMGetOperand(i, 0) == copy) ||
           (LLVMIsAStoreInst(i) && LLVMGetOperand(i, 1) == copy);
}

/* The dummy that the descriptor is a copy of, where each place that fills it is
 * skipped if that is absent. It has a value in the whole function. NULL: it is
 * another descriptor. */
static LLVMValueRef optional_of(LLVMValueRef copy)
{
    LLVMBasicBlockRef entry = LLVMGetInstructionParent(copy);
    LLVMValueRef dummy = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(copy); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        if (!fills(i, copy))
            continue;
        LLVMValueRef branch = branch_around(LLVMGetInstructionParent(i));
        LLVMValueRef of = branch ? dummy_of(LLVMGetCondition(branch)) : NULL;
        if (!of || (dummy && of != dummy) ||
            (!LLVMIsAArgument(of) && LLVMGetInstructionParent(of) != entry))
            return NULL;
        dummy = of;
    }
    return dummy;
}

/* Makes the descriptor zero in front of each place that may fill it. */
static void clear(LLVMBuilderRef b, LLVMValueRef copy)
{
    LLVMValueRef zero = LLVMConstNull(LLVMGetAllocatedType(copy));
    for (LLVMUseRef u = LLVMGetFirstUse(copy), next; u; u = next) {
        LLVMValueRef i = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!fills(i, copy))
            continue;
        LLVMPositionBuilderBefore(
            b, branch_around(LLVMGetInstructionParent(i)));
        LLVMBuildStore(b, zero, copy);
    }
}

/* Is it an element of a local array of pointers? */
static bool is_slot(LLVMValueRef p)
{
    LLVMValueRef array = LLVMIsAGetElementPtrInst(p) ? LLVMGetOperand(p, 0) : p;
    LLVMTypeRef type = LLVMIsAAllocaInst(array) ? LLVMGetAllocatedType(array)
                                                : NULL;
    return type && LLVMGetTypeKind(type) == LLVMArrayTypeKind &&
           LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMPointerTypeKind;
}

static bool is_passed(LLVMValueRef user, LLVMValueRef p)
{
    return LLVMIsAStoreInst(user)
               ? LLVMGetOperand(user, 0) == p && is_slot(LLVMGetOperand(user, 1))
               : LLVMIsACallInst(user) && !LLVMIsAIntrinsicInst(user);
}

/* Has constructs get null in place of the pointer, or of one into what it points
 * to, where the dummy is absent. */
static void pass_null(LLVMBuilderRef b, LLVMValueRef p, LLVMValueRef dummy)
{
    LLVMValueRef null = LLVMConstNull(LLVMTypeOf(p));
    for (LLVMUseRef u = LLVMGetFirstUse(p), next; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (LLVMIsAGetElementPtrInst(user))
            pass_null(b, user, dummy);
        if (!is_passed(user, p))
            continue;
        while (next && LLVMGetUser(next) == user)
            next = LLVMGetNextUse(next);
        LLVMPositionBuilderBefore(b, user);
        LLVMValueRef given = LLVMBuildICmp(b, LLVMIntNE, dummy,
                                           LLVMConstNull(LLVMTypeOf(dummy)),
                                           "");
        LLVMValueRef value = LLVMBuildSelect(b, given, p, null, "");
        for (int i = 0; i < LLVMGetNumOperands(user); i++)
            if (LLVMGetOperand(user, (unsigned)i) == p)
                LLVMSetOperand(user, (unsigned)i, value);
    }
}

void ompjit__repair_absent_dummies(LLVMValueRef f)
{
    if (LLVMIsDeclaration(f))
        return;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(
        LLVMGetTypeContext(LLVMTypeOf(f)));
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(f);
    for (LLVMValueRef i = LLVMGetFirstInstruction(entry); i;
         i = LLVMGetNextInstruction(i)) {
        LLVMValueRef dummy =
            ompjit__is_local_descriptor(i) ? optional_of(i) : NULL;
        if (!dummy)
            continue;
        clear(b, i);
        pass_null(b, i, dummy);
    }
    LLVMDisposeBuilder(b);
}
