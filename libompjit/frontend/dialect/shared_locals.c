/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Locals of a generic kernel's main thread that its parallel regions refer to.
 * On a GPU a stack variable's address means another variable in each thread, so
 * clang takes such locals from __kmpc_alloc_shared. Other front ends leave
 * plain allocas; here these become what clang makes of them.
 *
 * pointees.c finds them. Requires checked calls of LLVM 22's form. Kernels in
 * SPMD mode have no main thread, and code that only regions run has no list
 * that others read; both are left alone.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"
#include "frontend/dialect/pointees.h"
#include "llvm/llvm.h"

enum { GIVEN_ALIGN = 16 }; /* of what __kmpc_alloc_shared gives */

static LLVMValueRef function_of(LLVMValueRef instruction)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction));
}

static bool is_call(LLVMValueRef v)
{
    return LLVMIsACallInst(v) || LLVMIsAInvokeInst(v);
}

/* ---------------------------------------------------------------- rewrite */

/* Declared if need be. */
static LLVMValueRef runtime_function(LLVMModuleRef m, const char *name,
                                     LLVMTypeRef type)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    return f ? f : LLVMAddFunction(m, name, type);
}

/* The beginning of the main thread's code in a kernel: the workers have left by
 *
 *   %thread = call i32 @__kmpc_target_init(...)
 *   %main = icmp eq i32 %thread, -1
 *   br i1 %main, label %main_code, label %exit
 */
static LLVMBasicBlockRef main_code(LLVMValueRef kernel)
{
    LLVMValueRef init = LLVMGetNamedFunction(LLVMGetGlobalParent(kernel),
                                             "__kmpc_target_init");
    LLVMValueRef call = NULL;
    for (LLVMUseRef u = init ? LLVMGetFirstUse(init) : NULL; u && !call;
         u = LLVMGetNextUse(u))
        if (is_call(LLVMGetUser(u)) && function_of(LLVMGetUser(u)) == kernel)
            call = LLVMGetUser(u);
    LLVMUseRef use = call ? LLVMGetFirstUse(call) : NULL;
    LLVMValueRef test = use ? LLVMGetUser(use) : NULL;
    use = test && LLVMIsAICmpInst(test) ? LLVMGetFirstUse(test) : NULL;
    LLVMValueRef branch = use ? LLVMGetUser(use) : NULL;
    if (!branch || !LLVMIsABranchInst(branch) || !LLVMIsConditional(branch))
        return NULL;
    unsigned taken = LLVMGetICmpPredicate(test) == LLVMIntEQ ? 0 : 1;
    return LLVMGetSuccessor(branch, taken);
}

/* llvm.lifetime.start or its end. */
static bool is_lifetime(LLVMValueRef v)
{
    size_t n;
    return LLVMIsAIntrinsicInst(v) &&
           !strncmp(LLVMGetValueName2(LLVMGetCalledValue(v), &n),
                    "llvm.lifetime.", 14);
}

/* Markers are for allocas alone; on another pointer they do not verify. */
static void drop_lifetimes(LLVMValueRef local)
{
    LLVMUseRef next, u = LLVMGetFirstUse(local);
    for (; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (is_lifetime(user))
            LLVMInstructionEraseFromParent(user);
    }
}

/* The block that ends with the main thread's work: in a kernel it calls
 * __kmpc_target_deinit, elsewhere it returns. */
static LLVMValueRef end_in(LLVMBasicBlockRef block, bool kernel)
{
    size_t n;
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    if (!kernel)
        return LLVMIsAReturnInst(last) ? last : NULL;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
         i = LLVMGetNextInstruction(i))
        if (is_call(i) && !strcmp(LLVMGetValueName2(LLVMGetCalledValue(i), &n),
                                  "__kmpc_target_deinit"))
            return i;
    return NULL;
}

/* Is it code of the entry block, which a kernel's workers run, too? */
static bool is_early(LLVMValueRef i, LLVMBasicBlockRef begin)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(i);
    return block != begin &&
           block == LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(block));
}

static bool stores_into(LLVMValueRef i, LLVMValueRef local)
{
    return LLVMIsAStoreInst(i) && LLVMGetOperand(i, 1) == local &&
           LLVMGetOperand(i, 0) != local;
}

/* Is `block` reached from `begin` by jumps alone, to blocks that nothing else
 * jumps to? flang makes private variables of a construct there. */
static bool follows(LLVMBasicBlockRef block, LLVMBasicBlockRef begin)
{
    while (begin != block) {
        LLVMValueRef jump = LLVMGetBasicBlockTerminator(begin);
        if (!LLVMIsABranchInst(jump) || LLVMIsConditional(jump))
            return false;
        begin = LLVMGetSuccessor(jump, 0);
        LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(begin));
        if (LLVMGetNextUse(use))
            return false;
    }
    return true;
}

static bool has_constant_size(LLVMValueRef local)
{
    return LLVMIsAConstantInt(LLVMGetOperand(local, 0));
}

/* Is the local made once in each call of its function? Before the main thread's
 * code it may be stored to, as flang does with a kernel's parameters. */
static bool is_plain(LLVMValueRef local, LLVMBasicBlockRef begin)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(local);
    if (!begin ||
        (block != LLVMGetEntryBasicBlock(function_of(local)) &&
         !follows(block, begin)))
        return false;
    if (!has_constant_size(local))
        return !is_early(local, begin);
    for (LLVMUseRef u = LLVMGetFirstUse(local); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (is_early(user, begin) && !stores_into(user, local) &&
            !is_lifetime(user))
            return false;
    }
    return true;
}

/* Takes the entry block's stores to the local to where the builder is: the
 * memory is not there before. */
static void move_stores(LLVMValueRef local, LLVMBasicBlockRef begin,
                        LLVMBuilderRef b)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function_of(local));
    LLVMValueRef next, i = LLVMGetFirstInstruction(entry);
    for (; entry != begin && i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (!stores_into(i, local))
            continue;
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(b, i);
    }
}

/* The first address at or behind p that is aligned so, a power of two: accesses
 * claim the alignment that the local had. */
static LLVMValueRef round_up(LLVMBuilderRef b, LLVMValueRef p, LLVMTypeRef i64,
                             uint64_t align)
{
    LLVMTypeRef i8 = LLVMInt8TypeInContext(LLVMGetTypeContext(i64));
    LLVMValueRef number = LLVMBuildPtrToInt(b, p, i64, "");
    LLVMValueRef by = LLVMBuildAnd(b, LLVMBuildNeg(b, number, ""),
                                   LLVMConstInt(i64, align - 1, false), "");
    return LLVMBuildInBoundsGEP2(b, i8, p, &by, 1, "");
}

/* Bytes of the local, and of the room that its alignment may need. */
static LLVMValueRef size_of(LLVMBuilderRef b, LLVMValueRef local,
                            LLVMTypeRef i64)
{
    LLVMModuleRef m = LLVMGetGlobalParent(function_of(local));
    uint64_t align = LLVMGetAlignment(local);
    uint64_t one = LLVMABISizeOfType(LLVMGetModuleDataLayout(m),
                                     LLVMGetAllocatedType(local));
    LLVMValueRef n = LLVMBuildIntCast2(b, LLVMGetOperand(local, 0), i64, false,
                                       "");
    LLVMValueRef bytes = LLVMBuildMul(b, n, LLVMConstInt(i64, one, false), "");
    return LLVMBuildAdd(
        b, bytes,
        LLVMConstInt(i64, align > GIVEN_ALIGN ? align - GIVEN_ALIGN : 0, false),
        "");
}

/* Where the local's memory is taken: at the beginning of the main thread's code,
 * or where its size is known. */
static LLVMValueRef place_of(LLVMValueRef local, LLVMBasicBlockRef begin)
{
    if (!has_constant_size(local))
        return local;
    LLVMValueRef at = LLVMGetFirstInstruction(begin);
    while (LLVMIsAPHINode(at) || (LLVMIsAAllocaInst(at) &&
                                  has_constant_size(at)))
        at = LLVMGetNextInstruction(at);
    return at;
}

/*   %x = alloca i32
 *
 * becomes, at its place and before each end,
 *
 *   %x = call ptr @__kmpc_alloc_shared(i64 4)
 *   call void @__kmpc_free_shared(ptr %x, i64 4)
 */
static void move(LLVMModuleRef m, LLVMValueRef local, LLVMBasicBlockRef begin)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(c, 0);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c);
    LLVMTypeRef freed[] = {pointer, i64};
    LLVMTypeRef get = LLVMFunctionType(pointer, &i64, 1, false);
    LLVMTypeRef put =
        LLVMFunctionType(LLVMVoidTypeInContext(c), freed, 2, false);
    LLVMValueRef f = function_of(local);
    bool kernel = ompjit__is_kernel(f);
    uint64_t align = LLVMGetAlignment(local);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderBefore(b, place_of(local, begin));
    LLVMValueRef size = size_of(b, local, i64);
    LLVMValueRef shared = LLVMBuildCall2(
        b, get, runtime_function(m, "__kmpc_alloc_shared", get), &size, 1, "");
    LLVMValueRef aligned =
        align > GIVEN_ALIGN ? round_up(b, shared, i64, align) : shared;
    drop_lifetimes(local);
    move_stores(local, begin, b);
    LLVMReplaceAllUsesWith(local, aligned);
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f);
    for (; block; block = LLVMGetNextBasicBlock(block)) {
        LLVMValueRef end = end_in(block, kernel);
        if (!end)
            continue;
        LLVMValueRef args[] = {shared, size};
        LLVMPositionBuilderBefore(b, end);
        LLVMBuildCall2(b, put, runtime_function(m, "__kmpc_free_shared", put),
                       args, 2, "");
    }
    LLVMDisposeBuilder(b);
    LLVMInstructionEraseFromParent(local);
}

static void move_one(LLVMModuleRef m, LLVMValueRef local,
                     ompjit__findings *findings)
{
    LLVMValueRef f = function_of(local);
    LLVMBasicBlockRef begin =
        ompjit__is_kernel(f) ? main_code(f) : LLVMGetEntryBasicBlock(f);
    size_t n;
    const char *name = LLVMGetValueName2(local, &n);
    if (is_plain(local, begin))
        move(m, local, begin);
    else
        ompjit__finding_at(findings, OMPJIT_ERR_ABI, local,
                           "a parallel region refers to the local variable %s "
                           "of a generic kernel, whose place is only known "
                           "when it runs: take it from __kmpc_alloc_shared",
                           *name ? name : "(without a name)");
}

/* Moves those of one function whose size is known when it runs. */
static void move_sized(LLVMModuleRef m, LLVMValueRef f, ompjit__reached *locals,
                       ompjit__findings *findings)
{
    LLVMBasicBlockRef block = LLVMGetLastBasicBlock(f);
    for (; block; block = LLVMGetPreviousBasicBlock(block))
        for (LLVMValueRef i = LLVMGetLastInstruction(block), before; i;
             i = before) {
            before = LLVMGetPreviousInstruction(i);
            for (size_t k = 0; LLVMIsAAllocaInst(i) && k < locals->n; k++)
                if (locals->functions[k] == i && !has_constant_size(i)) {
                    locals->functions[k] = NULL;
                    move_one(m, i, findings);
                    break;
                }
        }
}

/* The stack of shared memory is freed in the reverse order: the first one that
 * is moved is taken last, and the first that is freed. */
static void move_all(LLVMModuleRef m, ompjit__reached *locals,
                     ompjit__findings *findings)
{
    for (size_t i = 0; i < locals->n; i++) {
        LLVMValueRef local = locals->functions[i];
        if (local && !has_constant_size(local))
            move_sized(m, function_of(local), locals, findings);
    }
    for (size_t i = 0; i < locals->n; i++)
        if (locals->functions[i])
            move_one(m, locals->functions[i], findings);
}

ompjit_status ompjit__share_locals(LLVMModuleRef m, const char *name,
                                   ompjit_error *err)
{
    ompjit__findings findings = {0};
    if (!LLVMGetNamedFunction(m, "__kmpc_parallel_60"))
        return OMPJIT_OK;
    ompjit__reached locals = ompjit__shared_locals_of(m);
    if (!locals.failed)
        move_all(m, &locals, &findings);
    free(locals.functions);
    return locals.failed ? ompjit__no_memory(err, OMPJIT_STAGE_READ)
                         : ompjit__findings_end(&findings, name,
                                                OMPJIT_STAGE_READ, err);
}
