/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reductions of arrays in a device half of flang 22. The functions that it makes
 * for lanes, warps and teams move a word of the array's descriptor, and no
 * element. Here each thread adds its elements itself, one thread after the other:
 *
 *   %r = call i32 @__kmpc_nvptx_parallel_reduce_nowait_v2(..., ptr %list, ...)
 *   %last = icmp eq i32 %r, 1            ; becomes true
 *   br i1 %last, label %then, label %done
 * then:                                  ; begins with __kmpc_critical
 *   ...                                  ; original += private
 *   br label %done                       ; behind __kmpc_end_critical
 *
 * So do all that call __kmpc_nvptx_teams_reduce_nowait_v2: flang gives each of
 * them a copy of its own of the team's array. Requires IR before any optimization.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"

static const struct {
    const char *name;
    unsigned list; /* operand: the pointers to a thread's variables */
} reductions[] = {
    {"__kmpc_nvptx_parallel_reduce_nowait_v2", 2},
    {"__kmpc_nvptx_teams_reduce_nowait_v2", 4},
};

/* ------------------------------------------------------------- descriptors */

/* CFI_cdesc_t: { ptr, i64, i32, i8, i8, i8, i8, [n x [3 x i64]] }, and more behind
 * it for derived types. */
static bool is_descriptor(LLVMTypeRef type)
{
    enum { FIELDS = 8 };
    LLVMTypeRef fields[16];
    if (LLVMGetTypeKind(type) != LLVMStructTypeKind ||
        LLVMCountStructElementTypes(type) < FIELDS ||
        LLVMCountStructElementTypes(type) > OMPJIT__COUNT(fields))
        return false;
    LLVMGetStructElementTypes(type, fields);
    for (unsigned i = 3; i < FIELDS - 1; i++)
        if (LLVMGetTypeKind(fields[i]) != LLVMIntegerTypeKind ||
            LLVMGetIntTypeWidth(fields[i]) != 8)
            return false;
    return LLVMGetTypeKind(fields[0]) == LLVMPointerTypeKind &&
           LLVMGetTypeKind(fields[FIELDS - 1]) == LLVMArrayTypeKind;
}

/* Is it a local's address, maybe by way of another local? */
static bool points_to_descriptor(LLVMValueRef pointer)
{
    if (LLVMIsALoadInst(pointer) &&
        LLVMIsAAllocaInst(LLVMGetOperand(pointer, 0)))
        pointer = ompjit__only_stored(LLVMGetOperand(pointer, 0));
    return pointer && LLVMIsAAllocaInst(pointer) &&
           is_descriptor(LLVMGetAllocatedType(pointer));
}

/* Does the function store such an address at `place`, an element of a list? */
static bool gets_descriptor(LLVMValueRef place)
{
    for (LLVMUseRef u = LLVMGetFirstUse(place); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == place &&
            points_to_descriptor(LLVMGetOperand(user, 0)))
            return true;
    }
    return false;
}

static bool has_array(LLVMValueRef list)
{
    if (gets_descriptor(list))
        return true;
    for (LLVMUseRef u = LLVMGetFirstUse(list); u; u = LLVMGetNextUse(u))
        if (LLVMIsAGetElementPtrInst(LLVMGetUser(u)) &&
            gets_descriptor(LLVMGetUser(u)))
            return true;
    return false;
}

/* --------------------------------------------------------------- the change */

/* The code behind a call, as above. */
struct place {
    LLVMValueRef call, branch;
    LLVMBasicBlockRef then, done;
};

/* NULL: there are none, or several. */
static LLVMValueRef only_user(LLVMValueRef v)
{
    LLVMUseRef use = LLVMGetFirstUse(v);
    return use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
}

static bool find_place(LLVMValueRef call, struct place *p)
{
    LLVMValueRef test = only_user(call);
    LLVMValueRef branch =
        test && LLVMIsAICmpInst(test) &&
                LLVMGetICmpPredicate(test) == LLVMIntEQ
            ? only_user(test)
            : NULL;
    if (!branch || !LLVMIsABranchInst(branch) || !LLVMIsConditional(branch))
        return false;
    *p = (struct place){call, branch, LLVMGetSuccessor(branch, 0),
                        LLVMGetSuccessor(branch, 1)};
    return true;
}

/* The function, declared if need be. */
static LLVMValueRef declared(LLVMModuleRef m, const char *name,
                             LLVMTypeRef type)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    return f ? f : LLVMAddFunction(m, name, type);
}

/* One for all reductions of the module, as clang makes locks. */
static LLVMValueRef lock_of(LLVMModuleRef m)
{
    static const char name[] = ".ompjit.array_reduction.lock";
    enum { WORDS = 8 };
    LLVMValueRef lock = LLVMGetNamedGlobal(m, name);
    if (lock)
        return lock;
    LLVMTypeRef type = LLVMArrayType2(
        LLVMInt32TypeInContext(LLVMGetModuleContext(m)), WORDS);
    lock = LLVMAddGlobal(m, type, name);
    LLVMSetInitializer(lock, LLVMConstNull(type));
    LLVMSetLinkage(lock, LLVMInternalLinkage);
    LLVMSetAlignment(lock, 8);
    return lock;
}

/* Calls of __kmpc_critical or its end, before an instruction. */
static void call_critical(LLVMBuilderRef b, LLVMModuleRef m, const char *name,
                          LLVMValueRef where, LLVMValueRef thread,
                          LLVMValueRef before)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(c, 0);
    LLVMTypeRef params[] = {pointer, LLVMInt32TypeInContext(c), pointer};
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(c), params, 3, false);
    LLVMValueRef args[] = {where, thread, lock_of(m)};
    LLVMPositionBuilderBefore(b, before);
    LLVMBuildCall2(b, type, declared(m, name, type), args, 3, "");
}

static LLVMValueRef thread_number(LLVMBuilderRef b, LLVMModuleRef m,
                                  LLVMValueRef where, LLVMValueRef before)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(c, 0);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMInt32TypeInContext(c), &pointer, 1, false);
    LLVMPositionBuilderBefore(b, before);
    return LLVMBuildCall2(b, type,
                          declared(m, "__kmpc_global_thread_num", type), &where,
                          1, "");
}

/* All threads go the way of `then`, one after the other. The blocks that lead to
 * `done` otherwise are the ends of that way. */
static void serialize(LLVMBuilderRef b, LLVMModuleRef m, const struct place *p)
{
    LLVMValueRef where = LLVMGetOperand(p->call, 0);
    LLVMValueRef thread = thread_number(b, m, where, p->call);
    LLVMBasicBlockRef from = LLVMGetInstructionParent(p->branch);
    LLVMBasicBlockRef block =
        LLVMGetFirstBasicBlock(LLVMGetBasicBlockParent(from));
    for (; block; block = LLVMGetNextBasicBlock(block)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
        if (block != from && LLVMIsABranchInst(end) &&
            LLVMGetSuccessor(end, 0) == p->done)
            call_critical(b, m, "__kmpc_end_critical", where, thread, end);
    }
    LLVMValueRef first = LLVMGetFirstInstruction(p->then);
    call_critical(b, m, "__kmpc_critical", where, thread, first);
    LLVMReplaceAllUsesWith(p->call, LLVMConstInt(LLVMTypeOf(p->call), 1, 0));
    LLVMInstructionEraseFromParent(p->call);
}

void ompjit__mend_array_reductions(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (size_t i = 0; i < OMPJIT__COUNT(reductions); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, reductions[i].name);
        LLVMUseRef next, u = f ? LLVMGetFirstUse(f) : NULL;
        for (; u; u = next) {
            LLVMValueRef call = LLVMGetUser(u);
            struct place place;
            next = LLVMGetNextUse(u);
            if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f &&
                LLVMGetNumArgOperands(call) > reductions[i].list &&
                has_array(LLVMGetOperand(call, reductions[i].list)) &&
                find_place(call, &place))
                serialize(b, m, &place);
        }
    }
    LLVMDisposeBuilder(b);
}
