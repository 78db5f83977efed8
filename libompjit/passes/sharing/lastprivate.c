/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * lastprivate of `teams distribute parallel for`. clang has the team's copy of
 * the variable allocated where the distributed loop is, gives its address to
 * the parallel region, in which the thread with the last iteration stores to
 * it, and copies it to the original in the last team. In a kernel in SPMD mode
 * each thread runs that and allocates a copy of its own: one of them is right,
 * and which one reaches the original is chance. Here the team has one.
 *
 * Only what clang writes before it is optimized is recognized:
 *
 *   v = alloc_shared(size)
 *   distribute_static_init(..., &is_last, ...)
 *   parallel(region, {..., v, ...})       the thread of the last iteration: *v
 *   distribute_static_fini()
 *   if (is_last) { original = *v }        the block of the copies
 *   free_shared(v)
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "frontend/describe/describe.h"
#include "passes/sharing/sharing.h"
#include "runtime-bc/alignment.h"

/* IS_LAST is the operand of the inits below that points to the flag. CALLERS is
 * the depth to which callers are followed. The runtime allocates copies of more
 * than MOST bytes (runtime-bc/share.c): they would take too much of a team's
 * static shared memory. */
enum {
    IS_LAST = 3,
    SHARED_SPACE = 3,
    MOST = 16 << 10,
    CALLERS = 4
};

static const char *const inits[] = {
    "__kmpc_distribute_static_init_4", "__kmpc_distribute_static_init_4u",
    "__kmpc_distribute_static_init_8", "__kmpc_distribute_static_init_8u"};

/* A branch, and the number of one of its successors. */
struct way {
    LLVMValueRef branch; /* NULL: there is none */
    unsigned successor;
};

/* The branch on a flag's test, and its successor if the flag is set. */
static struct way way_if_set(LLVMValueRef test)
{
    LLVMUseRef u = LLVMIsAICmpInst(test) ? LLVMGetFirstUse(test) : NULL;
    LLVMValueRef branch = u ? LLVMGetUser(u) : NULL;
    if (!branch || !LLVMIsABranchInst(branch) ||
        LLVMGetNumSuccessors(branch) != 2)
        return (struct way){0};
    return (struct way){branch, LLVMGetICmpPredicate(test) != LLVMIntNE};
}

/* The branch to the block in which the team with the last iteration copies its
 * variables. */
static struct way find_copies(LLVMValueRef is_last)
{
    for (LLVMUseRef u = LLVMGetFirstUse(is_last); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef load = LLVMGetUser(u);
        LLVMUseRef its = LLVMIsALoadInst(load) ? LLVMGetFirstUse(load) : NULL;
        struct way way =
            its ? way_if_set(LLVMGetUser(its)) : (struct way){0};
        if (way.branch)
            return way;
    }
    return (struct way){0};
}

/* Does an instruction of the block use the value? */
static bool is_used_in(LLVMValueRef v, LLVMBasicBlockRef block)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (LLVMIsAInstruction(LLVMGetUser(u)) &&
            LLVMGetInstructionParent(LLVMGetUser(u)) == block)
            return true;
    return false;
}

/* Erases the calls of `callee` that take the value. callee may be NULL. */
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

/* Puts the variable into the team's static shared memory. That is there before
 * a thread runs, so that the threads need not agree on an allocation. */
static void share(LLVMModuleRef m, LLVMValueRef allocated, uint64_t size)
{
    LLVMTypeRef bytes = LLVMArrayType2(
        LLVMInt8TypeInContext(LLVMGetModuleContext(m)), size);
    LLVMValueRef copy = LLVMAddGlobalInAddressSpace(
        m, bytes, "ompjit_lastprivate", SHARED_SPACE);
    LLVMSetLinkage(copy, LLVMInternalLinkage);
    LLVMSetInitializer(copy, LLVMGetUndef(bytes));
    LLVMSetAlignment(copy, ompjit__alignment_of(size, OMPJIT__WIDEST_ALIGN));
    erase_calls(allocated, LLVMGetNamedFunction(m, "__kmpc_free_shared"));
    LLVMReplaceAllUsesWith(
        allocated, LLVMConstAddrSpaceCast(copy, LLVMTypeOf(allocated)));
    LLVMInstructionEraseFromParent(allocated);
}

static LLVMValueRef function_of(LLVMValueRef call)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
}

/* Do only kernels in SPMD mode call the function, through `depth` others at
 * most? */
static bool is_spmd(LLVMModuleRef m, LLVMValueRef f, unsigned depth)
{
    LLVMValueRef env = ompjit__environment_variable(m, f);
    if (env)
        return ompjit__environment_mode(env) == OMPJIT_MODE_SPMD;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (!depth || !LLVMIsACallInst(call) || LLVMGetCalledValue(call) != f ||
            !is_spmd(m, function_of(call), depth - 1))
            return false;
    }
    return LLVMGetFirstUse(f) != NULL;
}

bool ompjit__runs_spmd(LLVMModuleRef m, LLVMValueRef f)
{
    return is_spmd(m, f, CALLERS);
}

/* Makes a call one of the runtime's function `name`, which has the same type.
 */
static void redirect(LLVMModuleRef m, LLVMValueRef call, const char *name)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    if (!f)
        f = LLVMAddFunction(m, name, LLVMGetCalledFunctionType(call));
    LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, f);
}

/* Puts the variable into device memory: the runtime gives all threads of the
 * team one block, and thread 0 frees it behind a barrier. */
static void share_allocated(LLVMModuleRef m, LLVMValueRef allocated)
{
    LLVMValueRef release = LLVMGetNamedFunction(m, "__kmpc_free_shared");
    for (LLVMUseRef u = LLVMGetFirstUse(allocated); u; u = LLVMGetNextUse(u))
        if (LLVMIsACallInst(LLVMGetUser(u)) &&
            LLVMGetCalledValue(LLVMGetUser(u)) == release)
            redirect(m, LLVMGetUser(u), "ompjit_free_of_team");
    redirect(m, allocated, "ompjit_alloc_of_team");
}

/* Shares the function's variables that the block `copies` reads. */
static void share_copied(LLVMModuleRef m, LLVMBasicBlockRef copies)
{
    LLVMValueRef allocate = LLVMGetNamedFunction(m, "__kmpc_alloc_shared");
    LLVMValueRef f = LLVMGetBasicBlockParent(copies);
    for (LLVMUseRef u = allocate ? LLVMGetFirstUse(allocate) : NULL, next; u;
         u = next) {
        LLVMValueRef call = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != allocate ||
            function_of(call) != f || !is_used_in(call, copies))
            continue;
        LLVMValueRef size = LLVMGetOperand(call, 0);
        uint64_t n = LLVMIsAConstantInt(size) ? LLVMConstIntGetZExtValue(size)
                                              : MOST + 1;
        if (n <= MOST)
            share(m, call, n);
        else if (ompjit__runs_spmd(m, f))
            share_allocated(m, call);
    }
}

/* Lets only thread 0 take the branch. All threads of a team come to it, and
 * their stores would be data races, though of the same value. */
static void go_alone(LLVMModuleRef m, struct way way)
{
    static const char name[] = "__kmpc_get_hardware_thread_id_in_block";
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    LLVMTypeRef type = LLVMFunctionType(i32, NULL, 0, 0);
    LLVMValueRef ask = LLVMGetNamedFunction(m, name);
    LLVMBasicBlockRef to = LLVMGetSuccessor(way.branch, way.successor);
    LLVMBasicBlockRef other = LLVMGetSuccessor(way.branch, !way.successor);
    if (LLVMIsAPHINode(LLVMGetFirstInstruction(other)))
        return;
    LLVMBasicBlockRef block = LLVMInsertBasicBlockInContext(c, to, "");
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderAtEnd(b, block);
    LLVMValueRef thread = LLVMBuildCall2(
        b, type, ask ? ask : LLVMAddFunction(m, name, type), NULL, 0, "");
    LLVMValueRef first = LLVMBuildICmp(b, LLVMIntEQ, thread,
                                       LLVMConstInt(i32, 0, 0), "");
    LLVMBuildCondBr(b, first, to, other);
    LLVMDisposeBuilder(b);
    LLVMSetSuccessor(way.branch, way.successor, block);
}

static void share_in(LLVMModuleRef m, struct way way)
{
    LLVMBasicBlockRef copies = LLVMGetSuccessor(way.branch, way.successor);
    share_copied(m, copies);
    if (ompjit__runs_spmd(m, LLVMGetBasicBlockParent(copies)))
        go_alone(m, way);
}

void ompjit__share_lastprivate(LLVMModuleRef m)
{
    for (size_t i = 0; i < OMPJIT__COUNT(inits); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, inits[i]);
        for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
             u = LLVMGetNextUse(u)) {
            LLVMValueRef call = LLVMGetUser(u);
            struct way way =
                LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f
                    ? find_copies(LLVMGetOperand(call, IS_LAST))
                    : (struct way){0};
            if (way.branch)
                share_in(m, way);
        }
    }
}
