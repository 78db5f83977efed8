/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How much team-shared memory openmp-opt may take for the variables of a
 * kernel's main thread. It gives each a place of its own (AAHeapToShared) and
 * does not ask whether all fit; a kernel has 48 KB. If they do not, the
 * largest are allocated by a name that openmp-opt does not know, at run time.
 */
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdlib.h>

#include "frontend/describe/describe.h"
#include "frontend/describe/reach.h"
#include "passes/passes.h"

/* STATIC_LIMIT: CUDA's for shared memory that a kernel declares, on every
 * architecture; more is had at launch only. */
enum {
    SHARED_SPACE = 3,
    STATIC_LIMIT = 48 << 10,
    RUNTIME = 6400, /* what the runtime's own variables take at most */
    ALIGN = 16
};

/* A call of __kmpc_alloc_shared, and its bytes, rounded up. */
struct variable {
    LLVMValueRef call;
    uint64_t size;
};

static int by_size(const void *a, const void *b)
{
    const struct variable *x = a, *y = b;
    return x->size < y->size ? -1 : x->size > y->size;
}

/* The bytes that the module's own shared variables and the runtime's leave. */
static uint64_t left_over(LLVMModuleRef m)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(m);
    uint64_t used = RUNTIME;
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == SHARED_SPACE &&
            !LLVMIsDeclaration(g))
            used += LLVMABISizeOfType(layout, LLVMGlobalGetValueType(g)) +
                    ALIGN;
    return used < STATIC_LIMIT ? STATIC_LIMIT - used : 0;
}

/* Is it handed to the runtime, as parallel regions are? Their variables are
 * each thread's, and no place in shared memory. */
static bool is_handed_over(LLVMValueRef f)
{
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != f)
            return true;
    }
    return false;
}

/* The allocations in functions that the kernel reaches; `out` has room. */
static size_t find_variables(LLVMValueRef alloc, const ompjit__reached *reached,
                             struct variable *out)
{
    size_t n = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(alloc); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u), f;
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != alloc ||
            !LLVMIsAConstantInt(LLVMGetOperand(call, 0)))
            continue;
        f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
        if (!ompjit__is_reached(reached, f) || is_handed_over(f))
            continue;
        uint64_t size = LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0));
        out[n++] = (struct variable){call, (size + ALIGN - 1) / ALIGN * ALIGN};
    }
    qsort(out, n, sizeof *out, by_size);
    return n;
}

/* Another name for the same function of the runtime. The variable is freed as
 * before. */
static void keep_from_openmp_opt(LLVMModuleRef m, LLVMValueRef alloc,
                                 LLVMValueRef call)
{
    static const char name[] = "ompjit_alloc_recursive";
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    if (!f)
        f = LLVMAddFunction(m, name, LLVMGlobalGetValueType(alloc));
    LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, f);
}

static size_t count_uses(LLVMValueRef f)
{
    size_t n = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
        n++;
    return n;
}

/* Kernel by kernel: variables of functions that two kernels reach count for
 * both. The smallest are left to openmp-opt, which are most. */
ompjit_status ompjit__limit_shared(LLVMModuleRef m, ompjit_error *err)
{
    LLVMValueRef alloc = LLVMGetNamedFunction(m, "__kmpc_alloc_shared");
    uint64_t budget = left_over(m);
    if (!alloc)
        return OMPJIT_OK;
    struct variable *all = calloc(count_uses(alloc) + 1, sizeof *all);
    bool failed = !all;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f && !failed;
         f = LLVMGetNextFunction(f)) {
        if (!ompjit__is_kernel(f))
            continue;
        ompjit__reached reached = ompjit__reached_by(f);
        size_t n = find_variables(alloc, &reached, all);
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++)
            if ((sum += all[i].size) > budget)
                keep_from_openmp_opt(m, alloc, all[i].call);
        failed = reached.failed;
        free(reached.functions);
    }
    free(all);
    return failed ? ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE) : OMPJIT_OK;
}
