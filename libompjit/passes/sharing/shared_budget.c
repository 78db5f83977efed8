/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Limits the team-shared memory that openmp-opt takes for the variables of a
 * kernel's main thread. It gives each a place of its own (AAHeapToShared) and
 * does not check whether all fit into the 48 KB of a kernel. If they do not,
 * this pass renames the allocation of the largest, so that openmp-opt does not
 * know it and the runtime allocates them. A user's limit (the option
 * ompjit-share-limit) is checked later, when variables that need not be shared
 * have gone to the threads' stacks; variables beyond it go to device memory. A
 * remark names each variable that has no place in team-shared memory.
 */
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/describe/describe.h"
#include "frontend/describe/reach.h"
#include "llvm/remarks.h"
#include "passes/sharing/sharing.h"

/* STATIC_LIMIT is CUDA's limit of the shared memory that a kernel declares, on
 * every architecture; a launch can add more. */
enum {
    SHARED_SPACE = 3,
    STATIC_LIMIT = 48 << 10,
    RUNTIME = 6400, /* what the runtime's own variables take at most */
    ALIGN = 16
};

/* A call of __kmpc_alloc_shared, and its bytes, rounded up to ALIGN. */
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

/* Is the function's address passed on, as that of a parallel region to the
 * runtime? Each thread has such a function's variables, and openmp-opt gives
 * them no place in shared memory. */
static bool is_handed_over(LLVMValueRef f)
{
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != f)
            return true;
    }
    return false;
}

/* Collects the allocations in functions that the kernel reaches, the smallest
 * first. `out` has room for all of the module. */
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

/* The runtime's functions that allocate in place of __kmpc_alloc_shared, and
 * free in place of __kmpc_free_shared; `free` NULL: that one stays.
 * by_the_runtime is the same allocation by another name. */
struct substitute {
    const char *allocate, *free;
};
static const struct substitute by_the_runtime = {"ompjit_alloc_recursive",
                                                 NULL};
static const struct substitute in_device_memory = {"ompjit_alloc_global",
                                                   "ompjit_free_global"};

static void set_callee(LLVMValueRef call, LLVMValueRef f)
{
    LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, f);
}

static void substitute(LLVMValueRef allocation, LLVMValueRef allocate,
                       LLVMValueRef release)
{
    LLVMModuleRef m = LLVMGetGlobalParent(allocate);
    LLVMValueRef before = LLVMGetNamedFunction(m, "__kmpc_free_shared");
    set_callee(allocation, allocate);
    for (LLVMUseRef u = LLVMGetFirstUse(allocation); u && release;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (LLVMIsACallInst(call) && before &&
            LLVMGetCalledValue(call) == before)
            set_callee(call, release);
    }
}

static void tell(const struct variable *v, uint64_t limit, ompjit__buf *remarks)
{
    char *name = ompjit__remark_variable(v->call);
    char what[160];
    snprintf(what, sizeof what,
             "%llu bytes are allocated when the kernel runs: with the smaller "
             "variables they are more than %llu bytes of team-shared memory",
             (unsigned long long)v->size, (unsigned long long)limit);
    ompjit__remark_at(remarks, v->call,
                      &(ompjit__remark){.id = OMPJIT__REMARK_OMPJIT115,
                                        .variable = name,
                                        .what = what});
    free(name);
}

/* Substitutes the allocations of one kernel's variables beyond `limit` bytes.
 * The smallest stay, so that most do. False: out of memory. */
static bool limit_kernel(LLVMValueRef kernel, LLVMValueRef alloc,
                         uint64_t limit, const struct substitute *other,
                         struct variable *all, ompjit__buf *remarks)
{
    LLVMModuleRef m = LLVMGetGlobalParent(kernel);
    LLVMValueRef allocate = LLVMGetNamedFunction(m, other->allocate);
    LLVMValueRef release =
        other->free ? LLVMGetNamedFunction(m, other->free) : NULL;
    ompjit__reached reached = ompjit__reached_by(kernel);
    size_t n = find_variables(alloc, &reached, all);
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if ((sum += all[i].size) > limit) {
            tell(&all[i], limit, remarks);
            substitute(all[i].call, allocate, release);
        }
    bool failed = reached.failed;
    free(reached.functions);
    return !failed;
}

static size_t count_uses(LLVMValueRef f)
{
    size_t n = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
        n++;
    return n;
}

/* Kernel by kernel: variables of functions that two kernels reach count for
 * both. */
static ompjit_status limit_all(LLVMModuleRef m, uint64_t limit,
                               const struct substitute *other,
                               ompjit__buf *remarks, ompjit_error *err)
{
    LLVMValueRef alloc = LLVMGetNamedFunction(m, "__kmpc_alloc_shared");
    if (!alloc)
        return OMPJIT_OK;
    LLVMValueRef f = LLVMGetNamedFunction(m, other->allocate);
    struct variable *all = calloc(count_uses(alloc) + 1, sizeof *all);
    bool good = all != NULL;
    if (!f)
        f = LLVMAddFunction(m, other->allocate, LLVMGlobalGetValueType(alloc));
    for (LLVMValueRef k = LLVMGetFirstFunction(m); k && good;
         k = LLVMGetNextFunction(k))
        if (ompjit__is_kernel(k))
            good = limit_kernel(k, alloc, limit, other, all, remarks);
    if (!LLVMGetFirstUse(f) && LLVMIsDeclaration(f))
        LLVMDeleteFunction(f);
    free(all);
    return good ? OMPJIT_OK : ompjit__no_memory(err, OMPJIT_STAGE_OPTIMIZE);
}

ompjit_status ompjit__limit_shared(LLVMModuleRef m, ompjit__buf *remarks,
                                   ompjit_error *err)
{
    return limit_all(m, left_over(m), &by_the_runtime, remarks, err);
}

ompjit_status ompjit__limit_share(LLVMModuleRef m, uint32_t limit,
                                  ompjit__buf *remarks, ompjit_error *err)
{
    return limit_all(m, limit, &in_device_memory, remarks, err);
}
