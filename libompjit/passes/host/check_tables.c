/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tables of an image that the checker reads when it is loaded (abi/check.h):
 * the program's variables, which kernels may touch, and the functions that a
 * pointer may lead to. A call through any other pointer is reported.
 */
#include <llvm-c/Comdat.h>
#include <stdlib.h>

#include "passes/host/instrument.h"

/* ------------------------------------------------------------ variables */

/* A variable in global or constant memory that the program can name. */
static bool is_variable(LLVMValueRef g)
{
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(g));
    const char *name = name_of(g);
    return !LLVMIsDeclaration(g) && !LLVMIsThreadLocal(g) &&
           (space == 0 || space == 1 || space == 4) &&
           !starts_with(name, "llvm.") &&
           !starts_with(name, "ompjit.check.") && !starts_with(name, "__omp_");
}

/* The variable with bytes behind it that no program may touch: the linker puts
 * the next one right behind. One in a section is a part of an array. */
static LLVMValueRef with_zone(struct instrument *s, LLVMValueRef g)
{
    enum { ZONE = 64 };
    LLVMTypeRef zone = LLVMArrayType2(LLVMInt8TypeInContext(s->c), ZONE);
    LLVMTypeRef parts[] = {LLVMGlobalGetValueType(g), zone};
    LLVMValueRef values[] = {LLVMGetInitializer(g), LLVMConstNull(zone)};
    const char *section = LLVMGetSection(g);
    if ((section && *section) || LLVMGetLinkage(g) == LLVMAppendingLinkage ||
        LLVMIsUndef(values[0]))
        return g;
    LLVMValueRef to = LLVMAddGlobalInAddressSpace(
        s->m, LLVMStructTypeInContext(s->c, parts, 2, 0), "",
        LLVMGetPointerAddressSpace(LLVMTypeOf(g)));
    LLVMSetInitializer(to, LLVMConstStructInContext(s->c, values, 2, 0));
    LLVMSetGlobalConstant(to, LLVMIsGlobalConstant(g));
    LLVMSetLinkage(to, LLVMGetLinkage(g));
    LLVMSetVisibility(to, LLVMGetVisibility(g));
    LLVMSetUnnamedAddress(to, LLVMGetUnnamedAddress(g));
    LLVMSetExternallyInitialized(to, LLVMIsExternallyInitialized(g));
    LLVMSetAlignment(to, LLVMGetAlignment(g)
                             ? LLVMGetAlignment(g)
                             : LLVMABIAlignmentOfType(s->layout, parts[0]));
    LLVMSetComdat(to, LLVMGetComdat(g));
    LLVMReplaceAllUsesWith(g, to);
    char *name = ompjit__strdup(name_of(g));
    LLVMDeleteGlobal(g);
    LLVMSetValueName2(to, name ? name : "", name ? strlen(name) : 0);
    free(name);
    return to;
}

/* {address, bytes, name}: ompjit__check_variable (abi/check.h). */
static LLVMValueRef variable_row(struct instrument *s, LLVMTypeRef row,
                                 LLVMValueRef g)
{
    uint64_t size = LLVMABISizeOfType(s->layout, LLVMGlobalGetValueType(g));
    g = with_zone(s, g);
    const char *name = name_of(g);
    LLVMValueRef members[] = {
        LLVMGetPointerAddressSpace(LLVMTypeOf(g))
            ? LLVMConstAddrSpaceCast(g, s->pointer)
            : g,
        LLVMConstInt(s->i64, size, 0),
        ompjit__check_text(s, name, strlen(name)),
    };
    return LLVMConstNamedStruct(row, members, OMPJIT__COUNT(members));
}

/* The loader finds it by its name. */
static void export_constant(struct instrument *s, const char *name,
                            LLVMValueRef value)
{
    LLVMValueRef g = LLVMAddGlobal(s->m, LLVMTypeOf(value), name);
    LLVMSetInitializer(g, value);
    LLVMSetGlobalConstant(g, 1);
}

static ompjit_status list_variables(struct instrument *s, ompjit_error *err)
{
    LLVMTypeRef members[] = {s->pointer, s->i64, s->pointer};
    LLVMTypeRef row = LLVMStructCreateNamed(s->c, "ompjit.check.variable");
    LLVMStructSetBody(row, members, OMPJIT__COUNT(members), 0);
    size_t n = 0, capacity = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(s->m); g; g = LLVMGetNextGlobal(g))
        capacity += is_variable(g);
    LLVMValueRef *rows = calloc(capacity + 1, sizeof *rows);
    if (!rows)
        return ompjit__no_memory(err, OMPJIT_STAGE_SPECIALIZE);
    LLVMValueRef last = LLVMGetLastGlobal(s->m);
    for (LLVMValueRef g = LLVMGetFirstGlobal(s->m), next; g; g = next) {
        next = g == last ? NULL : LLVMGetNextGlobal(g); /* not of new ones */
        if (is_variable(g))
            rows[n++] = variable_row(s, row, g);
    }
    export_constant(s, OMPJIT__CHECK_VARIABLES,
                    LLVMConstArray2(row, rows, n));
    export_constant(s, OMPJIT__CHECK_COUNT, LLVMConstInt(s->i64, n, 0));
    free(rows);
    return OMPJIT_OK;
}

/* -------------------------------------------------------------- callees */

/* Is the user a call of the function, which does not pass it on as well? */
static bool is_called_by(LLVMValueRef f, LLVMValueRef user)
{
    if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != f)
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(user); i++)
        if (LLVMGetOperand(user, i) == f)
            return false;
    return true;
}

static bool is_used(LLVMValueRef f, LLVMValueRef user, unsigned depth);

/* Does a value lead to code, or to a variable that code uses? */
static bool has_user(LLVMValueRef v, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (is_used(v, LLVMGetUser(u), depth))
            return true;
    return false;
}

static bool is_used(LLVMValueRef f, LLVMValueRef user, unsigned depth)
{
    if (LLVMIsAInstruction(user))
        return !is_called_by(f, user);
    return depth && has_user(user, depth - 1);
}

/* Has the image pointers to it? A constant that nothing uses may name a
 * function of others' that is nowhere. */
static bool is_taken(LLVMValueRef f)
{
    enum { DEEP = 8 };
    if (starts_with(name_of(f), "llvm."))
        return false;
    if (LLVMIsDeclaration(f))
        return has_user(f, DEEP);
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
        if (!is_called_by(f, LLVMGetUser(u)))
            return true;
    return false;
}

static ompjit_status list_callees(struct instrument *s, ompjit_error *err)
{
    size_t n = 0, capacity = 1;
    for (LLVMValueRef f = LLVMGetFirstFunction(s->m); f;
         f = LLVMGetNextFunction(f))
        capacity++;
    LLVMValueRef *rows = calloc(capacity, sizeof *rows);
    if (!rows)
        return ompjit__no_memory(err, OMPJIT_STAGE_SPECIALIZE);
    for (LLVMValueRef f = LLVMGetFirstFunction(s->m); f;
         f = LLVMGetNextFunction(f))
        if (is_taken(f))
            rows[n++] = f;
    rows[n++] = LLVMConstNull(s->pointer);
    export_constant(s, OMPJIT__CHECK_CALLEES,
                    LLVMConstArray2(s->pointer, rows, n));
    free(rows);
    return OMPJIT_OK;
}

ompjit_status ompjit__check_tables(struct instrument *s, ompjit_error *err)
{
    ompjit_status status = list_variables(s, err);
    return status ? status : list_callees(s, err);
}
