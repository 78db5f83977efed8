/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Are the functions right that a module hands to the runtime's? The runtime
 * calls them by their address: a wrong type or number of parameters is silent
 * until the kernel runs, and openmp-opt believes both.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "ompjit_llvm.h"
#include "llvm/llvm.h"
#include "table/llvm/table.h"
#include "table/rows.h"

static const struct callback {
    const char *function;
    unsigned argument;
    const char *type, *flags;
} callbacks[] = {
#define CALLBACK(function, argument, type, flags) \
    {#function, argument, type, flags},
#include "table/llvm/callback.def"
};

static const struct count {
    const char *function;
    unsigned argument;
    int list;
} counts[] = {
#define CALLBACK_COUNT(function, argument, list) {#function, argument, list},
#include "table/llvm/callback.def"
};

enum { UNKNOWN = -1, MOST_ARGUMENTS = 1024 };

struct check {
    ompjit__findings *findings;
    const struct callback *row;
    LLVMValueRef call;
    long extra; /* further parameters of 64 bits; UNKNOWN: not checked */
};

static bool has(const struct callback *row, char flag)
{
    return strchr(row->flags, flag) != NULL;
}

/* ------------------------------------------------------------------ types */

/* "void (ptr, ptr) and 3 further parameters, each ptr or i64" */
static void add_wanted(ompjit__buf *b, const struct check *c)
{
    ompjit__buf_printf(b, "%s", ompjit__rtl_type(c->row->type).text);
    if (has(c->row, 'A') && c->extra != 0)
        ompjit__buf_printf(b, c->extra == UNKNOWN
                                  ? " and further parameters, each ptr or i64"
                                  : " and %ld further parameter%s, each ptr "
                                    "or i64",
                           c->extra, c->extra == 1 ? "" : "s");
}

static bool is_word(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind ||
           (LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
            LLVMGetIntTypeWidth(type) == 64);
}

/* Does `found` begin with the parameters of `wanted`, and go on with as many
 * words as the call says? */
static bool begins_with(LLVMTypeRef found, LLVMTypeRef wanted, long extra)
{
    unsigned n = LLVMCountParamTypes(found), fixed = LLVMCountParamTypes(wanted);
    if (LLVMGetReturnType(found) != LLVMGetReturnType(wanted) ||
        LLVMIsFunctionVarArg(found) || n < fixed || n > MOST_ARGUMENTS ||
        (extra != UNKNOWN && n - fixed != (unsigned long)extra))
        return false;
    LLVMTypeRef types[MOST_ARGUMENTS], first[4];
    LLVMGetParamTypes(found, types);
    LLVMGetParamTypes(wanted, first);
    for (unsigned i = 0; i < n; i++)
        if (i < fixed ? types[i] != first[i] : !is_word(types[i]))
            return false;
    return true;
}

static void check_function(const struct check *c, LLVMValueRef f)
{
    size_t n;
    LLVMTypeRef found = LLVMGlobalGetValueType(f);
    ompjit_rtl_signature type = ompjit__rtl_signature(c->row->type, "");
    LLVMTypeRef wanted = ompjit__llvm_function_type(
        LLVMGetTypeContext(LLVMTypeOf(f)), &type);
    if (has(c->row, 'A') ? begins_with(found, wanted, c->extra)
                         : found == wanted)
        return;
    ompjit__buf want = {0};
    char *text = LLVMPrintTypeToString(found);
    add_wanted(&want, c);
    ompjit__finding_at(c->findings, OMPJIT_ERR_ABI, c->call,
                       "%s calls @%s, its argument %u, as %s; the module has "
                       "%s",
                       c->row->function, LLVMGetValueName2(f, &n),
                       c->row->argument, want.data ? want.data : "another type",
                       text);
    LLVMDisposeMessage(text);
    ompjit__buf_free(&want);
}

static LLVMValueRef behind_aliases(LLVMValueRef v)
{
    enum { MOST_STEPS = 16 };
    for (int i = 0; i < MOST_STEPS && LLVMIsAGlobalAlias(v); i++)
        v = LLVMAliasGetAliasee(v);
    return v;
}

static void check_value(const struct check *c)
{
    LLVMValueRef v =
        behind_aliases(LLVMGetOperand(c->call, c->row->argument));
    if (LLVMIsAFunction(v)) {
        check_function(c, v);
        return;
    }
    bool computed = !LLVMIsAConstant(v) && !has(c->row, 'K');
    if (computed || (LLVMIsAConstantPointerNull(v) && has(c->row, 'N')))
        return;
    ompjit__finding_at(c->findings, OMPJIT_ERR_ABI, c->call,
                       "argument %u of %s is no function", c->row->argument,
                       c->row->function);
}

/* ------------------------------------------------------------------ counts */

static const struct count *count_of(const char *function)
{
    for (size_t i = 0; i < OMPJIT__COUNT(counts); i++)
        if (!strcmp(counts[i].function, function))
            return &counts[i];
    return NULL;
}

/* How many pointers a list has room for; UNKNOWN where that is not said. */
static long room_of(LLVMValueRef list)
{
    LLVMTypeRef type = LLVMIsAAllocaInst(list) ? LLVMGetAllocatedType(list)
                                               : NULL;
    if (!type || LLVMGetTypeKind(type) != LLVMArrayTypeKind ||
        LLVMGetTypeKind(LLVMGetElementType(type)) != LLVMPointerTypeKind)
        return UNKNOWN;
    uint64_t n = LLVMGetArrayLength2(type);
    return n > MOST_ARGUMENTS ? UNKNOWN : (long)n;
}

/* The number that the call says, where it is a constant and true. */
static long arguments_of(const struct check *c)
{
    const struct count *count = count_of(c->row->function);
    LLVMValueRef n = count ? LLVMGetOperand(c->call, count->argument) : NULL;
    if (!n || !LLVMIsAConstantInt(n))
        return UNKNOWN;
    long long said = LLVMConstIntGetSExtValue(n);
    long room =
        count->list >= 0
            ? room_of(LLVMGetOperand(c->call, (unsigned)count->list))
            : (long)LLVMGetNumArgOperands(c->call) - c->row->argument - 1;
    bool fits = said >= 0 && said <= MOST_ARGUMENTS &&
                (room == UNKNOWN || said <= room);
    if (fits)
        return (long)said;
    ompjit__finding_at(c->findings, OMPJIT_ERR_ABI, c->call,
                       "argument %u of %s says that there are %lld arguments",
                       count->argument, c->row->function, said);
    return UNKNOWN;
}

/* --------------------------------------------------------------------- all */

static void check_call(struct check *c)
{
    if (LLVMGetNumArgOperands(c->call) <= c->row->argument)
        return; /* of a wrong type: another check's */
    c->extra = has(c->row, 'A') ? arguments_of(c) : UNKNOWN;
    check_value(c);
}

void ompjit__table_callbacks(LLVMModuleRef m, bool host,
                             ompjit__findings *findings)
{
    for (size_t i = 0; i < OMPJIT__COUNT(callbacks); i++) {
        struct check c = {.findings = findings, .row = &callbacks[i]};
        LLVMValueRef f = host && has(c.row, 'D')
                             ? NULL
                             : LLVMGetNamedFunction(m, c.row->function);
        for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
             u = LLVMGetNextUse(u)) {
            c.call = LLVMGetUser(u);
            if ((LLVMIsACallInst(c.call) || LLVMIsAInvokeInst(c.call)) &&
                LLVMGetCalledValue(c.call) == f)
                check_call(&c);
        }
    }
}
