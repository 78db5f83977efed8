/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The workers of a generic kernel call a region by a wrapper, which gets the
 * arguments that the main thread has left for them:
 *
 *   void wrapper(i16, i32 thread)
 *       void **args;
 *       __kmpc_get_shared_variables(&args);
 *       region(&thread, &zero, args[0], ..., args[n - 1]);
 *
 * clang generates it; front ends that use LLVM's OpenMPIRBuilder pass null,
 * with which openmp-opt crashes and the runtime has no work for the workers.
 * Such calls get a wrapper here. Requires checked calls of LLVM 22's form;
 * kernels in SPMD mode need none and are left alone.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"
#include "frontend/describe/reach.h"

/* Operands of __kmpc_parallel_60: (loc, thread, if, num_threads, proc_bind,
 * region, wrapper, args, nargs, strict). */
enum { REGION = 5, WRAPPER = 6 };

/* The module, a builder in it, and the types that wrappers are made of. */
struct builder {
    LLVMModuleRef m;
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTypeRef pointer, i16, i32, i64;
};

/* args[i] in the type of the region's parameter. */
static LLVMValueRef load_argument(const struct builder *w, LLVMValueRef args,
                                  unsigned i, LLVMTypeRef type)
{
    LLVMValueRef index = LLVMConstInt(w->i64, i, false);
    return LLVMBuildLoad2(
        w->b, type, LLVMBuildGEP2(w->b, w->pointer, args, &index, 1, ""), "");
}

/* The runtime's function, declared if need be, and its type. */
static LLVMValueRef shared_variables(const struct builder *w, LLVMTypeRef *type)
{
    LLVMTypeRef pointer = w->pointer;
    LLVMValueRef f = LLVMGetNamedFunction(w->m, "__kmpc_get_shared_variables");
    *type = LLVMFunctionType(LLVMVoidTypeInContext(w->c), &pointer, 1, false);
    return f ? f : LLVMAddFunction(w->m, "__kmpc_get_shared_variables", *type);
}

/* A local with that value, or without one for NULL. */
static LLVMValueRef variable(const struct builder *w, LLVMTypeRef type,
                             LLVMValueRef value)
{
    LLVMValueRef v = LLVMBuildAlloca(w->b, type, "");
    if (value)
        LLVMBuildStore(w->b, value, v);
    return v;
}

/* The body of a wrapper. table/llvm/callback.c has seen that the region has two
 * pointers and then words of 64 bits as parameters. */
static void call_region(const struct builder *w, LLVMValueRef region,
                        LLVMValueRef thread)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(region), get;
    unsigned n = LLVMCountParamTypes(type);
    LLVMValueRef values[n];
    LLVMValueRef list = variable(w, w->pointer, NULL);
    LLVMValueRef f = shared_variables(w, &get);
    LLVMBuildCall2(w->b, get, f, &list, 1, "");
    LLVMValueRef args = LLVMBuildLoad2(w->b, w->pointer, list, "");
    values[0] = variable(w, w->i32, thread);
    values[1] = variable(w, w->i32, LLVMConstNull(w->i32));
    for (unsigned i = 2; i < n; i++)
        values[i] = load_argument(w, args, i - 2,
                                  LLVMTypeOf(LLVMGetParam(region, i)));
    LLVMBuildCall2(w->b, type, region, values, n, "");
    LLVMBuildRetVoid(w->b);
}

/* The attributes of clang's own wrappers that say what the code does; those
 * that say for which machine it is are taken off every function (ir.c). */
static void copy_attributes(LLVMValueRef from, LLVMValueRef to)
{
    static const char *const names[] = {"convergent", "nounwind", "norecurse"};
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++) {
        LLVMAttributeRef a = LLVMGetEnumAttributeAtIndex(
            from, LLVMAttributeFunctionIndex,
            LLVMGetEnumAttributeKindForName(names[i], strlen(names[i])));
        if (a)
            LLVMAddAttributeAtIndex(to, LLVMAttributeFunctionIndex, a);
    }
}

/* Makes the wrapper of a region. Its first parameter is the level of regions,
 * which no region asks for. */
static LLVMValueRef wrapper_of(const struct builder *w, LLVMValueRef region)
{
    size_t n;
    LLVMTypeRef params[] = {w->i16, w->i32};
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(w->c), params, 2, false);
    char *name = ompjit__format("%s_wrapper", LLVMGetValueName2(region, &n));
    LLVMValueRef f = LLVMAddFunction(w->m, name ? name : "", type);
    free(name);
    LLVMSetLinkage(f, LLVMInternalLinkage);
    copy_attributes(region, f);
    LLVMPositionBuilderAtEnd(w->b, LLVMAppendBasicBlockInContext(w->c, f, ""));
    call_region(w, region, LLVMGetParam(f, 1));
    return f;
}

/* Is it a call that names its region, and has null as the wrapper? */
static bool lacks_wrapper(LLVMValueRef call, LLVMValueRef parallel)
{
    return LLVMIsACallInst(call) && LLVMGetCalledValue(call) == parallel &&
           LLVMIsAConstantPointerNull(LLVMGetOperand(call, WRAPPER)) &&
           LLVMIsAFunction(LLVMGetOperand(call, REGION));
}

/* In the functions that one generic kernel reaches. A call that has a wrapper
 * by now, since another kernel reaches it too, is left alone. */
static void wrap_reached(const struct builder *w, LLVMValueRef parallel,
                         const ompjit__reached *r)
{
    for (LLVMUseRef u = LLVMGetFirstUse(parallel); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (!lacks_wrapper(call, parallel) ||
            !ompjit__is_reached(r, LLVMGetBasicBlockParent(
                                       LLVMGetInstructionParent(call))))
            continue;
        LLVMSetOperand(call, WRAPPER,
                       wrapper_of(w, LLVMGetOperand(call, REGION)));
    }
}

static bool any_lacks_wrapper(LLVMValueRef parallel)
{
    LLVMUseRef u = parallel ? LLVMGetFirstUse(parallel) : NULL;
    while (u && !lacks_wrapper(LLVMGetUser(u), parallel))
        u = LLVMGetNextUse(u);
    return u;
}

bool ompjit__is_generic(LLVMModuleRef m, LLVMValueRef f)
{
    LLVMValueRef env =
        ompjit__is_kernel(f) ? ompjit__environment_variable(m, f) : NULL;
    return env && ompjit__environment_mode(env) == OMPJIT_MODE_GENERIC;
}

ompjit_status ompjit__wrap_regions(LLVMModuleRef m, ompjit_error *err)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct builder w = {.m = m,
                        .c = c,
                        .pointer = LLVMPointerTypeInContext(c, 0),
                        .i16 = LLVMInt16TypeInContext(c),
                        .i32 = LLVMInt32TypeInContext(c),
                        .i64 = LLVMInt64TypeInContext(c)};
    LLVMValueRef parallel = LLVMGetNamedFunction(m, "__kmpc_parallel_60");
    bool failed = false;
    if (!any_lacks_wrapper(parallel))
        return OMPJIT_OK;
    w.b = LLVMCreateBuilderInContext(c);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        if (!ompjit__is_generic(m, f))
            continue;
        ompjit__reached r = ompjit__reached_by(f);
        failed |= r.failed;
        wrap_reached(&w, parallel, &r);
        free(r.functions);
    }
    LLVMDisposeBuilder(w.b);
    return failed ? ompjit__no_memory(err, OMPJIT_STAGE_READ) : OMPJIT_OK;
}
