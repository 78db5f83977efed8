/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Properties that only the kernels of a CUDA source have.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "frontend/describe/reach.h"
#include "frontend/dialect/dialect.h"
#include "table/rows.h"

/* ------------------------------------------------------- launch bounds */

/* __launch_bounds__(n) is "nvvm.maxntid"="n", or "x,y,z". */
static int32_t bound_of(LLVMValueRef fn)
{
    static const char name[] = "nvvm.maxntid";
    LLVMAttributeRef attribute = LLVMGetStringAttributeAtIndex(
        fn, LLVMAttributeFunctionIndex, name, sizeof name - 1);
    unsigned length;
    const char *value =
        attribute ? LLVMGetStringAttributeValue(attribute, &length) : NULL;
    char *copy = value ? ompjit__format("%.*s", (int)length, value) : NULL;
    long bound = copy ? 1 : 0;
    for (char *p = copy; p && *p; p += *p == ',')
        bound *= strtol(p, &p, 10);
    free(copy);
    return (int32_t)bound;
}

/* ------------------------------------------------------------ parameters */

/* clang passes a structure by a pointer with byval, of which a launch knows
 * neither size nor place. */
static ompjit_status check_params(LLVMValueRef fn,
                                  const ompjit__kernel_desc *k,
                                  ompjit_error *err)
{
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    for (unsigned i = 0; i < LLVMCountParams(fn); i++)
        if (LLVMGetEnumAttributeAtIndex(fn, i + 1, byval))
            return ompjit__fail(
                err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
                "kernel %s: parameter %u (%s) is a structure, but a launch "
                "passes pointers and numbers; pass a pointer to it",
                k->name, i, k->params[i].name);
    return OMPJIT_OK;
}

/* ------------------------------------------------- callers of the runtime */

/* Functions that the runtime can be called from, and constants that have the
 * address of such a function or of the runtime's in them. */
struct callers {
    ompjit__reached fns, constants;
};

/* Whoever mentions the value. Constants may stand between, and variables which
 * they initialize: a pointer in a table calls what the table names. A constant
 * can lead back to itself (`node n = {&n, omp_get_team_num}`), so each counts
 * once. */
static void add_users(struct callers *c, LLVMValueRef value)
{
    for (LLVMUseRef u = LLVMGetFirstUse(value); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAInstruction(user))
            ompjit__reached_add(&c->fns, LLVMGetBasicBlockParent(
                                             LLVMGetInstructionParent(user)));
        else if (LLVMIsAConstant(user))
            ompjit__reached_add(&c->constants, user);
    }
}

/* Both lists grow while they are gone through. */
static void add_all_users(struct callers *c)
{
    size_t fns = 0, constants = 0;
    while (fns < c->fns.n || constants < c->constants.n) {
        while (fns < c->fns.n)
            add_users(c, c->fns.functions[fns++]);
        while (constants < c->constants.n)
            add_users(c, c->constants.functions[constants++]);
    }
}

/* From the runtime's functions, which the table lists, back to the kernels. */
static ompjit_status find_callers(LLVMModuleRef m, struct callers *c,
                                  ompjit_error *err)
{
    LLVMValueRef f = LLVMGetFirstFunction(m);
    for (; f; f = LLVMGetNextFunction(f)) {
        size_t length;
        if (LLVMIsDeclaration(f) &&
            ompjit__table_device_function(LLVMGetValueName2(f, &length)))
            add_users(c, f);
    }
    add_all_users(c);
    return c->fns.failed || c->constants.failed
               ? ompjit__no_memory(err, OMPJIT_STAGE_READ)
               : OMPJIT_OK;
}

/* A call of ompjit_cuda_begin, first of all, which makes the block a parallel
 * region. Kernels that do not reach the runtime do without it. */
static void begin_with_runtime(LLVMModuleRef m, LLVMValueRef kernel)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, 0);
    LLVMValueRef begin = LLVMGetNamedFunction(m, OMPJIT__CUDA_BEGIN);
    if (!begin)
        begin = LLVMAddFunction(m, OMPJIT__CUDA_BEGIN, type);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderBefore(
        b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel)));
    LLVMBuildCall2(b, type, begin, NULL, 0, "");
    LLVMDisposeBuilder(b);
}

/* ------------------------------------------------------------- variables */

/* `__device__` variables: with any, a GPU's module stays one image. */
static ompjit_status describe_variables(LLVMModuleRef m, ompjit__unit *unit,
                                        ompjit_error *err)
{
    enum { GLOBAL_SPACE = 1, CONSTANT_SPACE = 4 };
    unsigned n = 0;
    LLVMValueRef g;
    for (g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
        n++;
    unit->globals = calloc(n + 1, sizeof *unit->globals);
    if (!unit->globals)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    for (g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g)) {
        size_t length;
        unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(g));
        if (LLVMIsDeclaration(g) || LLVMIsGlobalConstant(g) ||
            (space != GLOBAL_SPACE && space != CONSTANT_SPACE))
            continue;
        char *symbol = ompjit__strdup(LLVMGetValueName2(g, &length));
        if (!symbol)
            return ompjit__no_memory(err, OMPJIT_STAGE_READ);
        unit->globals[unit->nglobals++].symbol = symbol;
    }
    unit->stays_generic = unit->nglobals != 0;
    return OMPJIT_OK;
}

ompjit_status ompjit__cuda_kernels(LLVMModuleRef m, ompjit__unit *unit,
                                   ompjit_error *err)
{
    struct callers callers = {0};
    ompjit_status status = find_callers(m, &callers, err);
    for (unsigned i = 0; i < unit->nkernels && !status; i++) {
        ompjit__kernel_desc *k = &unit->kernels[i];
        LLVMValueRef fn = LLVMGetNamedFunction(m, k->symbol);
        k->cuda = true;
        k->teams = 0;
        k->max_threads = bound_of(fn);
        k->openmp = ompjit__is_reached(&callers.fns, fn);
        if (k->openmp)
            begin_with_runtime(m, fn);
        status = check_params(fn, k, err);
    }
    free(callers.fns.functions);
    free(callers.constants.functions);
    return status ? status : describe_variables(m, unit, err);
}
