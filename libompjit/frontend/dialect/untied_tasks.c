/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Makes one run of an untied task's parts. clang cuts such a task where another
 * one may run: a part stores the number of the next one, creates the task anew
 * for it, and returns.
 *
 *   switch i32 %part, label %done [i32 0, label %a  i32 1, label %b ...]
 *   a: ...
 *     store i32 1, ptr %part_id
 *     call i32 @__kmpc_omp_task(ptr @loc, i32 %gtid, ptr %task)
 *     br label %return                     ; all three become `br label %b`
 *
 * Local variables live from part to part. clang 18 to 22 keep them in the task
 * for CPUs, but not for GPUs. The runtime runs a task where it is created, so
 * that nothing is lost.
 *
 * Requires verified IR before any optimization. Other code is left as it is.
 */
#include <llvm-c/Core.h>

#include "frontend/dialect/dialect.h"

/* The local that has the address from which, or to which, an instruction loads
 * or stores; NULL: none. */
static LLVMValueRef through(LLVMValueRef address)
{
    LLVMValueRef local =
        LLVMIsALoadInst(address) ? LLVMGetOperand(address, 0) : NULL;
    return local && LLVMIsAAllocaInst(local) ? local : NULL;
}

/* The local of the task's .part_id., by which the switch goes; NULL: it is
 * another switch. */
static LLVMValueRef part_of(LLVMValueRef sw)
{
    LLVMValueRef number = LLVMGetOperand(sw, 0);
    return LLVMIsALoadInst(number) ? through(LLVMGetOperand(number, 0)) : NULL;
}

/* The store of a next part's number behind which the block creates the task and
 * ends; NULL: it does not. */
static LLVMValueRef next_part(LLVMValueRef create, LLVMValueRef part)
{
    LLVMValueRef i = LLVMGetPreviousInstruction(create);
    LLVMValueRef end = LLVMGetNextInstruction(create);
    if (!LLVMIsABranchInst(end) || LLVMIsConditional(end))
        return NULL;
    while (i && !LLVMIsAStoreInst(i) && !LLVMIsACallInst(i))
        i = LLVMGetPreviousInstruction(i);
    return i && LLVMIsAStoreInst(i) &&
                   through(LLVMGetOperand(i, 1)) == part &&
                   LLVMIsAConstantInt(LLVMGetOperand(i, 0))
               ? i
               : NULL;
}

/* Where a part begins; NULL: there is none of that number. */
static LLVMBasicBlockRef part_block(LLVMValueRef sw, LLVMValueRef number)
{
    for (unsigned i = 1; i < LLVMGetNumSuccessors(sw); i++)
        if (LLVMGetSwitchCaseValue(sw, i) == number)
            return LLVMGetSuccessor(sw, i);
    return NULL;
}

/* Goes on where the task would be created for its next part. */
static bool join(LLVMBuilderRef builder, LLVMValueRef create, LLVMValueRef sw,
                 LLVMValueRef part)
{
    LLVMValueRef store = next_part(create, part);
    LLVMBasicBlockRef next =
        store ? part_block(sw, LLVMGetOperand(store, 0)) : NULL;
    if (!next)
        return false;
    LLVMValueRef end = LLVMGetNextInstruction(create);
    LLVMPositionBuilderBefore(builder, end);
    LLVMBuildBr(builder, next);
    LLVMInstructionEraseFromParent(end);
    LLVMInstructionEraseFromParent(create);
    LLVMInstructionEraseFromParent(store);
    return true;
}

/* The call of `f` at the end of a block, where it is the last but the branch. */
static LLVMValueRef last_call(LLVMBasicBlockRef bb, LLVMValueRef f)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(bb);
    LLVMValueRef call = end ? LLVMGetPreviousInstruction(end) : NULL;
    return call && LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f
               ? call
               : NULL;
}

/* Joins the parts of a function that begins with such a switch. */
static void join_parts(LLVMBuilderRef builder, LLVMValueRef f,
                       LLVMValueRef creates)
{
    LLVMValueRef sw =
        LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(f));
    LLVMValueRef part = LLVMIsASwitchInst(sw) ? part_of(sw) : NULL;
    LLVMBasicBlockRef first =
        part ? part_block(sw, LLVMConstInt(LLVMTypeOf(LLVMGetOperand(sw, 0)),
                                           0, false))
             : NULL;
    bool joined = false;
    if (!first)
        return;
    LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f);
    for (; bb; bb = LLVMGetNextBasicBlock(bb)) {
        LLVMValueRef create = last_call(bb, creates);
        if (create && join(builder, create, sw, part))
            joined = true;
    }
    if (!joined)
        return;
    LLVMPositionBuilderBefore(builder, sw);
    LLVMBuildBr(builder, first);
    LLVMInstructionEraseFromParent(sw);
}

void ompjit__mend_untied_tasks(LLVMModuleRef m)
{
    LLVMValueRef creates = LLVMGetNamedFunction(m, "__kmpc_omp_task");
    LLVMValueRef f = creates ? LLVMGetFirstFunction(m) : NULL;
    LLVMBuilderRef builder =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (; f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            join_parts(builder, f, creates);
    LLVMDisposeBuilder(builder);
}
