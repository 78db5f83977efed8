/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * flang's tables of derived types, where a type has components of itself: the
 * type's table names that of its components, which names the type's again. PTX
 * has no variable whose first value is the address of a later one. In tables of
 * components such addresses become numbers, and the runtime asks a function for
 * the variable (type_in in runtime-bc/libc/fortran_derived.h):
 *
 *   define ptr @ompjit_fortran_table(i64 %number)
 */
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "passes/gpu/gpu.h"

/* Variables in the order of their numbers, which begin with 1. */
struct list {
    LLVMValueRef *v;
    unsigned n;
    bool failed;
};

static unsigned place_of(const struct list *all, LLVMValueRef g)
{
    unsigned i = 0;
    while (i < all->n && all->v[i] != g)
        i++;
    return i;
}

/* The place of a variable, which is on the list then. */
static unsigned put(struct list *all, LLVMValueRef g)
{
    unsigned i = place_of(all, g);
    LLVMValueRef *grown =
        i < all->n ? all->v : realloc(all->v, (i + 1) * sizeof *all->v);
    if (!grown) {
        all->failed = true;
        return i;
    }
    all->v = grown;
    if (i == all->n) {
        all->v[i] = g;
        all->n++;
    }
    return i;
}

/* Adds the variables that a first value names. */
static void add_named(LLVMValueRef value, struct list *out)
{
    if (LLVMIsAGlobalVariable(value)) {
        put(out, value);
        return;
    }
    if (!LLVMIsAConstantExpr(value) && !LLVMIsAConstantStruct(value) &&
        !LLVMIsAConstantArray(value))
        return;
    int n = LLVMGetNumOperands(value);
    for (int i = 0; i < n; i++)
        add_named(LLVMGetOperand(value, (unsigned)i), out);
}

/* Does one variable's first value lead to another one? */
static bool leads_to(LLVMValueRef from, LLVMValueRef to)
{
    struct list seen = {0};
    put(&seen, from);
    bool found = from == to;
    for (unsigned i = 0; i < seen.n && !found; i++) {
        LLVMValueRef value = LLVMGetInitializer(seen.v[i]);
        if (value)
            add_named(value, &seen);
        found = place_of(&seen, to) < seen.n;
    }
    free(seen.v);
    return found;
}

/* ------------------------------------------------------------------ numbers */

/* The variable whose address a value is, also as an integer; NULL: none. */
static LLVMValueRef variable_of(LLVMValueRef value)
{
    if (LLVMIsAConstantExpr(value) &&
        LLVMGetConstOpcode(value) == LLVMPtrToInt)
        value = LLVMGetOperand(value, 0);
    return LLVMIsAGlobalVariable(value);
}

static LLVMValueRef number(LLVMTypeRef type, unsigned n)
{
    LLVMContextRef c = LLVMGetTypeContext(type);
    LLVMValueRef k = LLVMConstInt(LLVMInt64TypeInContext(c), n, 0);
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind
               ? LLVMConstIntToPtr(k, type)
               : k;
}

static LLVMValueRef rebuilt(LLVMTypeRef type, LLVMValueRef *parts, unsigned n)
{
    if (LLVMGetTypeKind(type) == LLVMArrayTypeKind)
        return LLVMConstArray2(LLVMGetElementType(type), parts, n);
    return LLVMGetStructName(type)
               ? LLVMConstNamedStruct(type, parts, n)
               : LLVMConstStructInContext(LLVMGetTypeContext(type), parts, n,
                                          LLVMIsPackedStruct(type));
}

/* A first value of `table`'s with numbers in place of what leads back to it. */
static LLVMValueRef numbered(LLVMValueRef value, LLVMValueRef table,
                             struct list *all)
{
    LLVMValueRef variable = variable_of(value);
    if (variable)
        return leads_to(variable, table)
                   ? number(LLVMTypeOf(value), put(all, variable) + 1)
                   : value;
    if (!LLVMIsAConstantStruct(value) && !LLVMIsAConstantArray(value))
        return value;
    unsigned n = (unsigned)LLVMGetNumOperands(value);
    LLVMValueRef *parts = calloc(n + 1, sizeof *parts);
    if (!parts) {
        all->failed = true;
        return value;
    }
    for (unsigned i = 0; i < n; i++)
        parts[i] = numbered(LLVMGetOperand(value, i), table, all);
    value = rebuilt(LLVMTypeOf(value), parts, n);
    free(parts);
    return value;
}

/* ptr @ompjit_fortran_table(i64): a switch over the numbers. */
static void define(LLVMModuleRef m, const struct list *all)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(c, 0);
    LLVMValueRef f = LLVMAddFunction(m, "ompjit_fortran_table",
                                     LLVMFunctionType(pointer, &i64, 1, 0));
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(c, f, "");
    LLVMBasicBlockRef other = LLVMAppendBasicBlockInContext(c, f, "");
    LLVMPositionBuilderAtEnd(b, other);
    LLVMBuildRet(b, LLVMConstNull(pointer));
    LLVMPositionBuilderAtEnd(b, entry);
    LLVMValueRef choice =
        LLVMBuildSwitch(b, LLVMGetParam(f, 0), other, all->n);
    for (unsigned i = 0; i < all->n; i++) {
        LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(c, f, "");
        LLVMAddCase(choice, LLVMConstInt(i64, i + 1, 0), block);
        LLVMPositionBuilderAtEnd(b, block);
        LLVMBuildRet(b, all->v[i]);
    }
    LLVMDisposeBuilder(b);
}

/* Is it an array of components? */
static bool is_table(LLVMValueRef g)
{
    static const char name[] = "_QM__fortran_type_infoTcomponent";
    LLVMTypeRef type = LLVMGlobalGetValueType(g);
    LLVMTypeRef line = LLVMGetTypeKind(type) == LLVMArrayTypeKind
                           ? LLVMGetElementType(type)
                           : NULL;
    const char *found = line && LLVMGetTypeKind(line) == LLVMStructTypeKind
                            ? LLVMGetStructName(line)
                            : NULL;
    return found && !strncmp(found, name, sizeof name - 1) &&
           LLVMIsGlobalConstant(g) && LLVMGetInitializer(g);
}

bool ompjit__number_types(LLVMModuleRef m)
{
    struct list all = {0};
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
        if (is_table(g))
            LLVMSetInitializer(g, numbered(LLVMGetInitializer(g), g, &all));
    if (all.n && !all.failed)
        define(m, &all);
    free(all.v);
    return !all.failed;
}
