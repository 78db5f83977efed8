/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Constructors of device variables: one kernel of one thread calls them all,
 * once on each device, when the first image has been loaded. In unified shared
 * memory there are none, since the variables are the host's. Destructors never
 * run: device memory ends with its variables.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>

#include "passes/passes.h"
#include "abi/offload.h"

struct constructor {
    uint64_t priority;
    unsigned place; /* among all: those of one priority stay in order */
    LLVMValueRef function;
};

static int by_priority(const void *a, const void *b)
{
    const struct constructor *x = a, *y = b;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

/* The list {priority, function, data}[] as LLVM has it; `out` has room. */
static unsigned read_list(LLVMValueRef list, struct constructor *out)
{
    unsigned n = 0, all = LLVMGetArrayLength(LLVMTypeOf(list));
    for (unsigned i = 0; i < all; i++) {
        LLVMValueRef one = LLVMGetAggregateElement(list, i);
        LLVMValueRef priority = LLVMGetAggregateElement(one, 0);
        LLVMValueRef function = LLVMGetAggregateElement(one, 1);
        if (LLVMIsAConstantInt(priority) && LLVMIsAFunction(function))
            out[n++] = (struct constructor){
                LLVMConstIntGetZExtValue(priority), i, function};
    }
    qsort(out, n, sizeof *out, by_priority);
    return n;
}

/* The kernel OMPJIT__CONSTRUCTORS, which calls them one after another. It takes
 * no parameters, and has no environment. */
static void add_kernel(LLVMModuleRef m, const struct constructor *all,
                       unsigned n)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, 0);
    LLVMValueRef kernel = LLVMAddFunction(m, OMPJIT__CONSTRUCTORS, type);
    LLVMSetFunctionCallConv(kernel, LLVMPTXKernelCallConv);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, kernel, ""));
    for (unsigned i = 0; i < n; i++)
        LLVMBuildCall2(b, type, all[i].function, NULL, 0, "");
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
}

/* NVPTX makes of the lists a kernel (nvptx$device$init) that LLVM's offloading
 * library looks for, and variables that the driver would have to link. */
static void drop(LLVMModuleRef m, const char *name)
{
    LLVMValueRef g = LLVMGetNamedGlobal(m, name);
    if (g)
        LLVMDeleteGlobal(g);
}

static bool is_unified(const ompjit__unit *unit)
{
    for (unsigned i = 0; i < unit->nglobals; i++)
        if (unit->globals[i].flags & OMPJIT__ENTRY_REQUIRES &&
            unit->globals[i].size & OMPJIT__REQUIRES_UNIFIED_SHARED_MEMORY)
            return true;
    return false;
}

ompjit_status ompjit__gather_constructors(LLVMModuleRef m,
                                          const ompjit__unit *unit,
                                          bool *found, ompjit_error *err)
{
    LLVMValueRef g = LLVMGetNamedGlobal(m, "llvm.global_ctors");
    LLVMValueRef list = g ? LLVMGetInitializer(g) : NULL;
    unsigned n = 0;
    if (list && LLVMIsAConstantArray(list) && found && !is_unified(unit)) {
        struct constructor *all = calloc(
            LLVMGetArrayLength(LLVMTypeOf(list)), sizeof *all);
        if (!all)
            return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
        n = read_list(list, all);
        if (n)
            add_kernel(m, all, n);
        free(all);
    }
    drop(m, "llvm.global_ctors");
    drop(m, "llvm.global_dtors");
    if (found)
        *found = n != 0;
    return OMPJIT_OK;
}
