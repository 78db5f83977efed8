/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The buffers of scans (`reduction(inscan, ...)`). clang makes of a loop with a
 * scan one that fills a buffer, passes of one thread over the buffer, and a
 * loop that reads it. The buffer is a variable array on the stack
 *   - of the function that starts the parallel region, which in SPMD mode each
 *     thread runs, if the loop is a `parallel for`;
 *   - of the region's own function, if the loop is a `for` in the region;
 * so that each thread has a buffer of its own. Here all have the same; and in
 * the latter case one makes the passes, for which the others wait, as clang
 * itself has it in the former.
 *
 * Loops of less than two iterations have no passes: clang counts them up from 1
 * to log2 of the iterations. Those of none leave the variable as it was, where
 * clang takes the element before the first.
 *
 * Only what clang writes before it is optimized is recognized:
 *
 *   B:                                    O:
 *     n' = fptoui(ceil(log2(n)))            ...
 *     br O                                  br (uge n - 1, step) I, J
 *   I: element = gep buffer, i ...        J: br (ne pass + 1, n') O, exit
 */
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <string.h>

#include "passes/loops/loops.h"
#include "passes/sharing/sharing.h"
#include "passes/loops/scan_windows.h"
#include "runtime-bc/alignment.h"

/* Operands of __kmpc_parallel_60, and the parameters of a region's function
 * that are not among its arguments. */
enum { REGION = 5, ARGUMENTS = 7, THREAD_IDS = 2 };

/* One scan: the instructions and blocks of the picture above. */
struct scan {
    LLVMModuleRef m;
    LLVMValueRef log2, passes; /* log2(n), n' */
    LLVMBasicBlockRef start, outer, inner, exit;
    bool found;     /* its buffer                                 */
    bool of_region; /* the buffer is of the region's own function */
    bool windows;   /* the buffer is for a window of iterations   */
};

/* The one instruction that uses the value; NULL: none, or several. */
static LLVMValueRef only_user(LLVMValueRef v)
{
    LLVMUseRef u = LLVMGetFirstUse(v);
    return u && !LLVMGetNextUse(u) ? LLVMGetUser(u) : NULL;
}

static bool is_call_of(LLVMValueRef v, const char *name)
{
    size_t n;
    LLVMValueRef f = v && LLVMIsACallInst(v)
                         ? LLVMIsAFunction(LLVMGetCalledValue(v))
                         : NULL;
    return f && !strcmp(LLVMGetValueName2(f, &n), name);
}

/* The conditional branch that only this comparison decides. */
static LLVMValueRef branch_by(LLVMValueRef compare)
{
    LLVMValueRef br =
        compare && LLVMIsAICmpInst(compare) ? only_user(compare) : NULL;
    return br && LLVMIsABranchInst(br) && LLVMIsConditional(br) ? br : NULL;
}

/* Fills the scan from its call of log2. False: the code around that is not what
 * clang writes for a scan, as where the program itself asks for logarithms. */
static bool find(struct scan *s, LLVMValueRef log2)
{
    s->log2 = log2;
    LLVMValueRef ceil = only_user(log2);
    s->passes = is_call_of(ceil, "llvm.ceil.f64") ? only_user(ceil) : NULL;
    if (!s->passes || !LLVMIsAFPToUIInst(s->passes))
        return false;
    s->start = LLVMGetInstructionParent(log2);
    LLVMValueRef enter = LLVMGetBasicBlockTerminator(s->start);
    LLVMValueRef leave = branch_by(only_user(s->passes));
    if (LLVMGetInstructionParent(s->passes) != s->start || !leave ||
        !LLVMIsABranchInst(enter) || LLVMIsConditional(enter))
        return false;
    s->outer = LLVMGetSuccessor(enter, 0);
    s->exit = LLVMGetSuccessor(leave, 1);
    LLVMValueRef pass = LLVMGetBasicBlockTerminator(s->outer);
    if (LLVMGetSuccessor(leave, 0) != s->outer || !LLVMIsABranchInst(pass) ||
        !LLVMIsConditional(pass))
        return false;
    s->inner = LLVMGetSuccessor(pass, 0);
    return LLVMIsAPHINode(LLVMGetFirstInstruction(s->inner)) &&
           !LLVMIsAPHINode(LLVMGetFirstInstruction(s->exit));
}

/* ------------------------------------------------------ few iterations */

/* A number of iterations of 32 bits is less than 0 where the loop has none:
 * then it is 0. With more than 31 bits of them no buffer could be had. */
static void clamp(LLVMModuleRef m, LLVMValueRef wide)
{
    LLVMValueRef count = LLVMIsAZExtInst(wide) ? LLVMGetOperand(wide, 0) : NULL;
    LLVMContextRef c = LLVMGetModuleContext(m);
    if (!count || LLVMTypeOf(count) != LLVMInt32TypeInContext(c))
        return;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderBefore(b, wide);
    LLVMValueRef none = LLVMBuildICmp(b, LLVMIntSLT, count,
                                      LLVMConstNull(LLVMTypeOf(count)), "");
    LLVMValueRef some = LLVMBuildSelect(
        b, none, LLVMConstNull(LLVMTypeOf(count)), count, "");
    LLVMValueRef now = LLVMBuildZExt(b, some, LLVMTypeOf(wide), "");
    LLVMDisposeBuilder(b);
    LLVMReplaceAllUsesWith(wide, now);
    LLVMInstructionEraseFromParent(wide);
}

/* A value that is computed from it: a size or an index. */
static void clamp_in(LLVMModuleRef m, LLVMValueRef v)
{
    while (LLVMIsABinaryOperator(v))
        v = LLVMGetOperand(v, 0);
    clamp(m, v);
}

/* A call of a function of the runtime, declared if need be. */
static LLVMValueRef call(LLVMBuilderRef b, LLVMModuleRef m, const char *name,
                         LLVMTypeRef type, LLVMValueRef args[], unsigned n)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    if (!f)
        f = LLVMAddFunction(m, name, type);
    return LLVMBuildCall2(b, type, f, args, n, "");
}

/* Passes are made of two elements or more; by one thread. */
static void guard(const struct scan *s)
{
    LLVMContextRef c = LLVMGetModuleContext(s->m);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMValueRef enter = LLVMGetBasicBlockTerminator(s->start);
    LLVMValueRef n = LLVMGetOperand(s->log2, 0);
    LLVMTypeRef i1 = LLVMInt1TypeInContext(c);
    LLVMPositionBuilderBefore(b, enter);
    LLVMValueRef many = LLVMBuildFCmp(b, LLVMRealOGT, n,
                                      LLVMConstReal(LLVMTypeOf(n), 1), "");
    if (s->of_region)
        many = LLVMBuildAnd(b, many,
                            call(b, s->m, "ompjit_scan_begin",
                                 LLVMFunctionType(i1, NULL, 0, false), NULL, 0),
                            "");
    LLVMBuildCondBr(b, many, s->outer, s->exit);
    LLVMInstructionEraseFromParent(enter);
    if (s->of_region) {
        LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(s->exit));
        call(b, s->m, "ompjit_scan_end",
             LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, false), NULL,
             0);
    }
    LLVMDisposeBuilder(b);
}

/* A loop of none leaves the variable as it was, and of the threads that all
 * have the last element one gives it to the variable; else a thread's own
 * memory gets it. */
static void store_where(LLVMModuleRef m, LLVMValueRef access, unsigned operand,
                        LLVMTypeRef type, LLVMValueRef wanted)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(access));
    LLVMValueRef to = LLVMGetOperand(access, operand);
    uint64_t size =
        LLVMABISizeOfType(LLVMGetModuleDataLayout(m), type);
    LLVMPositionBuilderBefore(
        b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)));
    LLVMValueRef own = LLVMBuildAlloca(b, type, "");
    LLVMSetAlignment(own, ompjit__alignment_of(size, OMPJIT__WIDEST_ALIGN));
    LLVMPositionBuilderBefore(b, access);
    LLVMSetOperand(access, operand, LLVMBuildSelect(b, wanted, to, own, ""));
    LLVMDisposeBuilder(b);
}

/* n - 1, also as a constant. */
static bool is_last(LLVMValueRef element)
{
    LLVMValueRef index =
        LLVMGetOperand(element, (unsigned)LLVMGetNumOperands(element) - 1);
    LLVMValueRef one = LLVMConstInt(LLVMTypeOf(index), 1, false);
    return LLVMIsAConstantInt(index) ||
           (LLVMIsABinaryOperator(index) &&
            LLVMGetInstructionOpcode(index) == LLVMSub &&
            LLVMGetOperand(index, 1) == one);
}

/* The threads that run the code: one thread, a team's, or a region's. */
enum who { ALONE, TEAM, REGION_THREADS };

/* A value of i1: true in one of the threads that run the code. */
static LLVMValueRef is_first(LLVMModuleRef m, LLVMBuilderRef b, enum who who)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i1 = LLVMInt1TypeInContext(c), i32 = LLVMInt32TypeInContext(c);
    if (who == ALONE)
        return LLVMConstInt(i1, 1, false);
    if (who == REGION_THREADS)
        return call(b, m, "ompjit_scan_begin",
                    LLVMFunctionType(i1, NULL, 0, false), NULL, 0);
    LLVMValueRef thread =
        call(b, m, "__kmpc_get_hardware_thread_id_in_block",
             LLVMFunctionType(i32, NULL, 0, false), NULL, 0);
    return LLVMBuildICmp(b, LLVMIntEQ, thread, LLVMConstNull(i32), "");
}

/* An exclusive scan's thread takes the element before its own, for itself. */
static bool is_own(LLVMValueRef access, unsigned operand, enum who who)
{
    return who == REGION_THREADS &&
           LLVMIsAAllocaInst(LLVMGetOperand(access, operand));
}

/* The number of elements of a window, of n. */
static LLVMValueRef build_window(LLVMModuleRef m, LLVMBuilderRef b,
                                 LLVMValueRef n)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(LLVMGetModuleContext(m));
    return call(b, m, "ompjit_scan_window",
                LLVMFunctionType(i64, &i64, 1, false), &n, 1);
}

/* The place of element i, the last of all, in a buffer for a window:
 * i % window(i + 1) + 1. */
static LLVMValueRef build_place(LLVMModuleRef m, LLVMBuilderRef b,
                                LLVMValueRef i)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(LLVMGetModuleContext(m));
    LLVMValueRef one = LLVMConstInt(i64, 1, false);
    i = LLVMBuildIntCast2(b, i, i64, false, "");
    LLVMValueRef window = build_window(m, b, LLVMBuildAdd(b, i, one, ""));
    return LLVMBuildAdd(b, LLVMBuildURem(b, i, window, ""), one, "");
}

/* Does a thread take the element for itself alone? */
static bool is_taken(LLVMValueRef element, enum who who)
{
    for (LLVMUseRef u = LLVMGetFirstUse(element); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        LLVMValueRef store = LLVMIsALoadInst(user) ? only_user(user) : NULL;
        if ((store && LLVMIsAStoreInst(store) && is_own(store, 1, who)) ||
            (is_call_of(user, "llvm.memcpy.p0.p0.i64") &&
             is_own(user, 0, who)))
            return true;
    }
    return false;
}

/* The address of the buffer's last element, at n - 1. */
static void store_element(const struct scan *s, LLVMValueRef element,
                          enum who who)
{
    LLVMModuleRef m = s->m;
    unsigned at = (unsigned)LLVMGetNumOperands(element) - 1;
    LLVMValueRef index = LLVMGetOperand(element, at);
    LLVMContextRef c = LLVMGetModuleContext(m);
    clamp_in(m, index);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMValueRef null = LLVMConstNull(LLVMTypeOf(index));
    LLVMPositionBuilderBefore(b, element);
    LLVMValueRef some = LLVMBuildICmp(b, LLVMIntSGE, index, null, "");
    index = LLVMBuildSelect(b, some, index, null, "");
    LLVMSetOperand(element, at,
                   s->windows ? build_place(m, b, index) : index);
    LLVMValueRef wanted = LLVMBuildAnd(b, some, is_first(m, b, who), "");
    LLVMDisposeBuilder(b);
    for (LLVMUseRef u = LLVMGetFirstUse(element); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        LLVMValueRef store = LLVMIsALoadInst(user) ? only_user(user) : NULL;
        if (store && LLVMIsAStoreInst(store) &&
            LLVMGetOperand(store, 0) == user && !is_own(store, 1, who))
            store_where(m, store, 1, LLVMTypeOf(user), wanted);
        else if (is_call_of(user, "llvm.memcpy.p0.p0.i64") &&
                 LLVMGetOperand(user, 1) == element &&
                 LLVMIsAConstantInt(LLVMGetOperand(user, 2)) &&
                 !is_own(user, 0, who))
            store_where(m, user, 0,
                        LLVMArrayType2(LLVMInt8TypeInContext(c),
                                       LLVMConstIntGetZExtValue(
                                           LLVMGetOperand(user, 2))),
                        wanted);
    }
}

/* ------------------------------------------------------------- buffers */

/* The slot that keeps the stack as it was before the array. NULL: this is none
 * of clang's arrays of variable length, as which it has all buffers. */
static LLVMValueRef slot_of(LLVMValueRef array)
{
    LLVMValueRef i = LLVMIsAAllocaInst(array);
    while (i && !is_call_of(i, "llvm.stacksave.p0"))
        i = LLVMGetPreviousInstruction(i);
    LLVMValueRef store = i ? only_user(i) : NULL;
    return store && LLVMIsAStoreInst(store) ? LLVMGetOperand(store, 1) : NULL;
}

/* Frees the buffer, by the function `name`, wherever the stack is restored to
 * what it was before the array. */
static void release(LLVMModuleRef m, LLVMValueRef slot, LLVMValueRef args[2],
                    const char *name)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMTypeRef params[] = {LLVMTypeOf(args[0]), LLVMTypeOf(args[1])};
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(c), params, 2, false);
    for (LLVMUseRef u = LLVMGetFirstUse(slot); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef restore = LLVMIsALoadInst(LLVMGetUser(u))
                                   ? only_user(LLVMGetUser(u))
                                   : NULL;
        if (!is_call_of(restore, "llvm.stackrestore.p0"))
            continue;
        LLVMPositionBuilderBefore(b, restore);
        call(b, m, name, type, args, 2);
    }
    LLVMDisposeBuilder(b);
}

/* All places where the buffer's last element becomes the variable's value. */
static void store_last(const struct scan *s, LLVMValueRef buffer, enum who who)
{
    for (LLVMUseRef u = LLVMGetFirstUse(buffer); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef element = LLVMGetUser(u);
        if (LLVMIsAGetElementPtrInst(element) && is_last(element) &&
            !(s->windows && is_taken(element, who)))
            store_element(s, element, who);
    }
}

/* Bytes of a buffer for n elements of a type, or for a window of them: with one
 * more, so that one is there, and with the last one of the window before. */
static LLVMValueRef build_size(const struct scan *s, LLVMBuilderRef b,
                               LLVMValueRef n, LLVMTypeRef type)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(LLVMGetModuleContext(s->m));
    n = LLVMBuildIntCast2(b, n, i64, false, "");
    if (s->windows)
        n = build_window(s->m, b, n);
    LLVMValueRef more = LLVMConstInt(i64, s->windows ? 2 : 1, false);
    return LLVMBuildMul(b, LLVMBuildAdd(b, n, more, ""), LLVMSizeOf(type), "");
}

/*   %a = alloca T, i64 %n
 *
 * becomes a call of `allocate`, which gives all threads the same buffer. */
static void share(const struct scan *s, LLVMValueRef array,
                  const char *allocate, const char *free)
{
    LLVMModuleRef m = s->m;
    LLVMValueRef slot = slot_of(array);
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c), pointer = LLVMTypeOf(array);
    clamp_in(m, LLVMGetOperand(array, 0));
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderBefore(b, array);
    LLVMValueRef size = build_size(s, b, LLVMGetOperand(array, 0),
                                   LLVMGetAllocatedType(array));
    LLVMTypeRef type = LLVMFunctionType(pointer, &i64, 1, false);
    LLVMValueRef buffer = call(b, m, allocate, type, &size, 1);
    LLVMDisposeBuilder(b);
    release(m, slot, (LLVMValueRef[]){buffer, size}, free);
    LLVMReplaceAllUsesWith(array, buffer);
    LLVMInstructionEraseFromParent(array);
}

/*   %a = call ptr @__kmpc_alloc_shared(i64 (n * size))
 *
 * has a window's size, as has the call that frees it. */
static void resize(const struct scan *s, LLVMValueRef array, LLVMTypeRef type)
{
    LLVMValueRef n = LLVMGetOperand(array, 0);
    clamp_in(s->m, n);
    n = LLVMGetOperand(array, 0);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(s->m));
    LLVMPositionBuilderBefore(b, array);
    n = LLVMBuildUDiv(b, n, LLVMSizeOf(type), "");
    LLVMValueRef size = build_size(s, b, n, type);
    LLVMSetOperand(array, 0, size);
    LLVMDisposeBuilder(b);
    for (LLVMUseRef u = LLVMGetFirstUse(array); u; u = LLVMGetNextUse(u))
        if (is_call_of(LLVMGetUser(u), "__kmpc_free_shared"))
            LLVMSetOperand(LLVMGetUser(u), 1, size);
}

/*   %a = alloca T, i64 %n
 *
 * stays one thread's, and has a window's size. */
static void shorten(const struct scan *s, LLVMValueRef array)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(LLVMGetModuleContext(s->m));
    clamp_in(s->m, LLVMGetOperand(array, 0));
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(s->m));
    LLVMPositionBuilderBefore(b, array);
    LLVMValueRef n =
        LLVMBuildIntCast2(b, LLVMGetOperand(array, 0), i64, false, "");
    LLVMValueRef window = build_window(s->m, b, n);
    LLVMSetOperand(array, 0,
                   LLVMBuildAdd(b, window, LLVMConstInt(i64, 2, false), ""));
    LLVMDisposeBuilder(b);
}

/* The value at a place of an array of pointers. */
static LLVMValueRef stored_at(LLVMValueRef pointers, uint64_t place)
{
    for (LLVMUseRef u = LLVMGetFirstUse(pointers); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef at = LLVMGetUser(u);
        LLVMValueRef k = LLVMIsAGetElementPtrInst(at)
                             ? LLVMGetOperand(
                                   at, (unsigned)LLVMGetNumOperands(at) - 1)
                             : NULL;
        LLVMValueRef store = k ? only_user(at) : NULL;
        if (store && LLVMIsAConstantInt(k) &&
            LLVMConstIntGetZExtValue(k) == place && LLVMIsAStoreInst(store) &&
            LLVMGetOperand(store, 1) == at)
            return LLVMGetOperand(store, 0);
    }
    return NULL;
}

/* The array that the region is given there by those who start it. */
static void share_argument(struct scan *s, LLVMValueRef region, unsigned k,
                           LLVMTypeRef type)
{
    LLVMModuleRef m = s->m;
    for (LLVMUseRef u = LLVMGetFirstUse(region), next; u; u = next) {
        LLVMValueRef start = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (k < THREAD_IDS || !is_call_of(start, "__kmpc_parallel_60") ||
            LLVMGetOperand(start, REGION) != region)
            continue;
        LLVMValueRef array =
            stored_at(LLVMGetOperand(start, ARGUMENTS), k - THREAD_IDS);
        LLVMValueRef f =
            LLVMGetBasicBlockParent(LLVMGetInstructionParent(start));
        bool of_team = array && slot_of(array) && ompjit__runs_spmd(m, f);
        if (!array)
            continue;
        s->found = true;
        store_last(s, array, of_team ? TEAM : ALONE);
        if (of_team)
            share(s, array, "ompjit_alloc_of_team", "ompjit_free_of_team");
        else if (is_call_of(array, "__kmpc_alloc_shared") && s->windows)
            resize(s, array, type);
        else if (s->windows && LLVMIsAAllocaInst(array))
            shorten(s, array);
        else if (is_call_of(array, "__kmpc_alloc_shared"))
            clamp_in(m, LLVMGetOperand(array, 0));
    }
}

/* The parameter that clang keeps in a variable. */
static LLVMValueRef parameter_in(LLVMValueRef variable)
{
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        if (LLVMIsAStoreInst(store) && LLVMGetOperand(store, 1) == variable)
            return LLVMIsAArgument(LLVMGetOperand(store, 0));
    }
    return NULL;
}

/* The buffer of an element, and the number of the region's parameter that it is
 * given by; LLVMCountParams: none. */
static LLVMValueRef buffer_of(const struct scan *s, LLVMValueRef element,
                              unsigned *given)
{
    LLVMValueRef f = LLVMGetBasicBlockParent(s->inner);
    LLVMValueRef array = LLVMGetOperand(element, 0);
    while (LLVMIsAGetElementPtrInst(array))
        array = LLVMGetOperand(array, 0);
    LLVMValueRef parameter = LLVMIsALoadInst(array)
                                 ? parameter_in(LLVMGetOperand(array, 0))
                                 : NULL;
    *given = 0;
    while (*given < LLVMCountParams(f) &&
           LLVMGetParam(f, *given) != parameter)
        ++*given;
    return array;
}

/* Is there an array of clang's wherever the region is started, which can be a
 * window's? */
static bool knows_argument(const struct scan *s, LLVMValueRef region,
                           unsigned k)
{
    unsigned starts = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(region); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef start = LLVMGetUser(u);
        if (k < THREAD_IDS || !is_call_of(start, "__kmpc_parallel_60") ||
            LLVMGetOperand(start, REGION) != region)
            return false;
        LLVMValueRef array =
            stored_at(LLVMGetOperand(start, ARGUMENTS), k - THREAD_IDS);
        if (!array ||
            !(slot_of(array) || is_call_of(array, "__kmpc_alloc_shared")))
            return false;
        starts++;
    }
    return starts;
}

/* Are all buffers known, so that they can be for windows? */
static bool knows_buffers(const struct scan *s)
{
    LLVMValueRef f = LLVMGetBasicBlockParent(s->inner);
    LLVMValueRef i = LLVMGetFirstInstruction(s->inner);
    for (; i; i = LLVMGetNextInstruction(i)) {
        unsigned k;
        LLVMValueRef array =
            LLVMIsAGetElementPtrInst(i) ? buffer_of(s, i, &k) : NULL;
        if (array && !slot_of(array) &&
            (k == LLVMCountParams(f) || !knows_argument(s, f, k)))
            return false;
    }
    return true;
}

/* The buffer that an element of the inner loop is in: an array of the region's
 * own function, or one that the region was given. */
static void share_element(struct scan *s, LLVMValueRef element)
{
    LLVMValueRef f = LLVMGetBasicBlockParent(s->inner);
    unsigned k;
    LLVMValueRef array = buffer_of(s, element, &k);
    if (slot_of(array)) {
        s->found = s->of_region = true;
        store_last(s, array, REGION_THREADS);
        share(s, array, "ompjit_alloc_of_region", "ompjit_free_of_region");
        return;
    }
    if (k < LLVMCountParams(f))
        share_argument(s, f, k, LLVMGetGEPSourceElementType(element));
}

/* Is the element's buffer that of an instruction before it, too? */
static bool is_again(const struct scan *s, LLVMValueRef element)
{
    unsigned k;
    LLVMValueRef array = buffer_of(s, element, &k);
    LLVMValueRef i = LLVMGetFirstInstruction(s->inner);
    while (i != element &&
           !(LLVMIsAGetElementPtrInst(i) && buffer_of(s, i, &k) == array))
        i = LLVMGetNextInstruction(i);
    return i != element;
}

/* The inner loop begins with the addresses of its elements, which lead to all
 * buffers of the scan: there is one for each variable. */
static void share_buffers(struct scan *s)
{
    LLVMValueRef i = LLVMGetFirstInstruction(s->inner);
    for (; i; i = LLVMGetNextInstruction(i))
        if (LLVMIsAGetElementPtrInst(i) && !is_again(s, i))
            share_element(s, i);
}

/* The n of log2(n). */
static void clamp_count(const struct scan *s)
{
    LLVMValueRef n = LLVMGetOperand(s->log2, 0);
    if (LLVMIsAUIToFPInst(n))
        clamp(s->m, LLVMGetOperand(n, 0));
}

void ompjit__share_scans(LLVMModuleRef m)
{
    LLVMValueRef log2 = LLVMGetNamedFunction(m, "llvm.log2.f64");
    for (LLVMUseRef u = log2 ? LLVMGetFirstUse(log2) : NULL; u;
         u = LLVMGetNextUse(u)) {
        struct scan s = {.m = m};
        if (!LLVMIsACallInst(LLVMGetUser(u)) || !find(&s, LLVMGetUser(u)))
            continue;
        s.windows = knows_buffers(&s) &&
                    ompjit__scan_has_windows(s.log2, s.inner, s.exit);
        share_buffers(&s);
        if (!s.found)
            continue;
        clamp_count(&s);
        if (s.windows)
            ompjit__scan_by_windows(s.log2, s.inner, s.exit);
        else
            guard(&s);
    }
}
