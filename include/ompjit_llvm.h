/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_llvm.h - the runtime table for applications that make their IR with
 * LLVM's C API: declares its functions, makes its structs, checks a module.
 *
 * All of it is inline, over the application's own LLVM, 15 or later, and the
 * library's data (ompjit_rtl_table_get). The library's LLVM has no part in it:
 * link with libompjit and with whichever libLLVM you use.
 *
 * The conventions of ompjit.h hold; but as everywhere in LLVM, one thread at a
 * time may use a context and what is in it. Names with two underscores are this
 * header's own.
 */
#ifndef OMPJIT_LLVM_H
#define OMPJIT_LLVM_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm/Config/llvm-config.h>

#include "ompjit_rtl.h"

#if LLVM_VERSION_MAJOR < 15
#error "ompjit_llvm.h needs LLVM 15 or later, with opaque pointers"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- errors */

#ifdef __GNUC__
#define OMPJIT__LLVM_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define OMPJIT__LLVM_PRINTF(f, a)
#endif

/* Appends to the error's text; an end that has no room becomes "...". */
static inline void ompjit__llvm_vprint(ompjit_error *err, const char *format,
                                       va_list ap)
{
    size_t used = strlen(err->text), room = sizeof err->text - used;
    int n = vsnprintf(err->text + used, room, format, ap);
    if (n >= 0 && (size_t)n >= room)
        memcpy(err->text + sizeof err->text - 4, "...", 4);
}

OMPJIT__LLVM_PRINTF(2, 3)
static inline void ompjit__llvm_print(ompjit_error *err, const char *format,
                                      ...)
{
    va_list ap;
    va_start(ap, format);
    ompjit__llvm_vprint(err, format, ap);
    va_end(ap);
}

OMPJIT__LLVM_PRINTF(4, 5)
static inline ompjit_status ompjit__llvm_fail(ompjit_error *err,
                                              ompjit_status status,
                                              ompjit_stage stage,
                                              const char *format, ...)
{
    va_list ap;
    if (!err)
        return status;
    err->status = status;
    err->stage = stage;
    err->text[0] = 0;
    va_start(ap, format);
    ompjit__llvm_vprint(err, format, ap);
    va_end(ap);
    return status;
}

/* Appends the module's own declaration: its type, and what is odd about it. */
static inline void ompjit__llvm_print_found(ompjit_error *err,
                                            LLVMValueRef value)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(value);
    char *text = LLVMPrintTypeToString(type);
    ompjit__llvm_print(err, "; the module has %s%s",
                       LLVMIsAGlobalVariable(value) ? "a variable of type "
                                                    : "", text);
    LLVMDisposeMessage(text);
    if (LLVMGetTypeKind(type) == LLVMFunctionTypeKind &&
        LLVMIsFunctionVarArg(type) && !LLVMCountParamTypes(type))
        ompjit__llvm_print(err, ", which is declared without a prototype");
}

/* ----------------------------------------------------------------- types */

static inline LLVMTypeRef ompjit__llvm_type(LLVMContextRef context, char kind)
{
    switch (kind) {
    case OMPJIT_RTL_KIND_VOID: return LLVMVoidTypeInContext(context);
    case OMPJIT_RTL_KIND_I64: return LLVMInt64TypeInContext(context);
    case OMPJIT_RTL_KIND_I32: return LLVMInt32TypeInContext(context);
    case OMPJIT_RTL_KIND_I16: return LLVMInt16TypeInContext(context);
    case OMPJIT_RTL_KIND_I8: return LLVMInt8TypeInContext(context);
    case OMPJIT_RTL_KIND_I1: return LLVMInt1TypeInContext(context);
    case OMPJIT_RTL_KIND_FLOAT: return LLVMFloatTypeInContext(context);
    case OMPJIT_RTL_KIND_DOUBLE: return LLVMDoubleTypeInContext(context);
    case OMPJIT_RTL_KIND_I32_ARRAY:
        return LLVMArrayType(LLVMInt32TypeInContext(context), 3);
    default:
        return LLVMPointerTypeInContext(
            context, ompjit_rtl_table_get()->address_space);
    }
}

enum { OMPJIT__LLVM_MOST = 32 }; /* parameters, fields, operands */

static inline LLVMTypeRef
ompjit__llvm_function_type(LLVMContextRef context,
                           const ompjit_rtl_signature *type)
{
    LLVMTypeRef params[OMPJIT__LLVM_MOST];
    for (uint32_t i = 0; i < type->nparams; i++)
        params[i] = ompjit__llvm_type(context, type->params[i]);
    return LLVMFunctionType(ompjit__llvm_type(context, type->result), params,
                            type->nparams, type->variadic);
}

static inline int ompjit__llvm_has_fields(LLVMTypeRef type,
                                          const LLVMTypeRef *fields,
                                          unsigned n)
{
    if (LLVMIsOpaqueStruct(type) || LLVMIsPackedStruct(type) ||
        LLVMCountStructElementTypes(type) != n)
        return 0;
    for (unsigned i = 0; i < n; i++)
        if (LLVMStructGetTypeAtIndex(type, i) != fields[i])
            return 0;
    return 1;
}

static inline LLVMTypeRef ompjit__llvm_struct(LLVMContextRef context,
                                              const ompjit_rtl_layout *layout)
{
    const ompjit_rtl_layout *layouts = ompjit_rtl_table_get()->layouts;
    LLVMTypeRef fields[OMPJIT__LLVM_MOST], named = NULL;
    for (uint32_t i = 0; i < layout->nfields; i++)
        fields[i] =
            layout->fields[i] == OMPJIT_RTL_KIND_CONFIGURATION
                ? ompjit__llvm_struct(
                      context,
                      &layouts[OMPJIT_RTL_STRUCT_CONFIGURATION_ENVIRONMENT])
                : ompjit__llvm_type(context, layout->fields[i]);
    if (layout->name[0])
        named = LLVMGetTypeByName2(context, layout->name);
    if (!layout->name[0] ||
        (named && !ompjit__llvm_has_fields(named, fields, layout->nfields)))
        return LLVMStructTypeInContext(context, fields, layout->nfields, 0);
    if (!named) {
        named = LLVMStructCreateNamed(context, layout->name);
        LLVMStructSetBody(named, fields, layout->nfields, 0);
    }
    return named;
}

/* The struct's type in a context, the same on each call. It has LLVM's own name
 * for it ("struct.ident_t"), unless another type has that name there already,
 * or LLVM itself uses the name for a struct of other fields: then it has none.
 * NOT_FOUND where there is no such struct. */
static inline ompjit_status ompjit_rtl_type(LLVMContextRef context,
                                            ompjit_rtl_struct which,
                                            LLVMTypeRef *type,
                                            ompjit_error *err)
{
    const ompjit_rtl_table *table = ompjit_rtl_table_get();
    if (!context || !type)
        return ompjit__llvm_fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                                 "ompjit_rtl_type: an argument is NULL");
    if ((unsigned)which >= table->nlayouts)
        return ompjit__llvm_fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                                 "runtime table: no struct %d; they are 0 to "
                                 "%u", (int)which, table->nlayouts - 1);
    *type = ompjit__llvm_struct(context, &table->layouts[which]);
    return OMPJIT_OK;
}

/* ---------------------------------------------------------- declarations */

/* The function, else the variable, else the alias of that name, or NULL. */
static inline LLVMValueRef ompjit__llvm_value(LLVMModuleRef module,
                                              const char *name)
{
    LLVMValueRef value = LLVMGetNamedFunction(module, name);
    if (!value)
        value = LLVMGetNamedGlobal(module, name);
    if (!value)
        value = LLVMGetNamedGlobalAlias(module, name, strlen(name));
    return value;
}

/* An attribute's number in this LLVM; 0: it has none. LLVM 20 has two of some,
 * and goes by the older one. */
static inline unsigned ompjit__llvm_attribute(const ompjit_rtl_attribute *a)
{
    unsigned kind = 0;
    if (a->old_name)
        kind = LLVMGetEnumAttributeKindForName(a->old_name,
                                               strlen(a->old_name));
    return kind ? kind
                : LLVMGetEnumAttributeKindForName(a->name, strlen(a->name));
}

static inline void ompjit__llvm_callback(LLVMContextRef context,
                                         LLVMValueRef fn,
                                         const ompjit_rtl_declaration *row)
{
    LLVMMetadataRef operands[OMPJIT__LLVM_MOST], encoding;
    LLVMTypeRef i64 = LLVMInt64TypeInContext(context);
    uint32_t n = row->ncallback;
    for (uint32_t i = 0; i < n; i++)
        operands[i] = LLVMValueAsMetadata(LLVMConstInt(
            i64, (unsigned long long)(long long)row->callback[i], 1));
    operands[n] = LLVMValueAsMetadata(LLVMConstInt(
        LLVMInt1TypeInContext(context), row->callback_variadic, 0));
    encoding = LLVMMDNodeInContext2(context, operands, n + 1);
    LLVMGlobalSetMetadata(fn, LLVMGetMDKindIDInContext(context, "callback", 8),
                          LLVMMDNodeInContext2(context, &encoding, 1));
}

static inline LLVMValueRef ompjit__llvm_add(LLVMModuleRef module,
                                            const ompjit_rtl_declaration *row,
                                            LLVMTypeRef type)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMValueRef fn = LLVMAddFunction(module, row->name, type);
    LLVMSetFunctionCallConv(fn, ompjit_rtl_table_get()->calling_convention);
    for (uint32_t i = 0; i < row->nattributes; i++) {
        const ompjit_rtl_attribute *a = &row->attributes[i];
        unsigned kind = ompjit__llvm_attribute(a);
        if (kind)
            LLVMAddAttributeAtIndex(
                fn, (LLVMAttributeIndex)a->index,
                LLVMCreateEnumAttribute(context, kind, a->value));
    }
    if (row->callback)
        ompjit__llvm_callback(context, fn, row);
    return fn;
}

/* Declares the function of row `index` in the module, with the attributes and
 * the callback metadata that LLVM 22 gives it, as far as this LLVM has them, and
 * stores it in *fn. A function of that name and type that is already there,
 * declared or defined, is stored as it is. ABI error, which names the row and
 * both types, where the name is taken by something else; NOT_FOUND where there
 * is no such row. */
static inline ompjit_status ompjit_rtl_declare(LLVMModuleRef module,
                                               unsigned index, LLVMValueRef *fn,
                                               ompjit_error *err)
{
    const ompjit_rtl_table *table = ompjit_rtl_table_get();
    const ompjit_rtl_declaration *row;
    LLVMTypeRef type;
    LLVMValueRef value;
    if (!module || !fn)
        return ompjit__llvm_fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                                 "ompjit_rtl_declare: an argument is NULL");
    if (index >= table->ndeclarations)
        return ompjit__llvm_fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                                 "runtime table: no row %u; rows are 0 to %u",
                                 index, table->ndeclarations - 1);
    row = &table->declarations[index];
    type = ompjit__llvm_function_type(LLVMGetModuleContext(module),
                                      &row->type);
    value = ompjit__llvm_value(module, row->name);
    if (value && (LLVMIsAGlobalVariable(value) ||
                  LLVMGlobalGetValueType(value) != type)) {
        ompjit__llvm_fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_READ,
                          "%s (row %u of the runtime table) is %s", row->name,
                          index, row->type.text);
        if (err)
            ompjit__llvm_print_found(err, value);
        return OMPJIT_ERR_ABI;
    }
    *fn = value ? value : ompjit__llvm_add(module, row, type);
    return OMPJIT_OK;
}

/* ----------------------------------------------------------------- check */

/* A check under way. */
typedef struct ompjit__llvm_check {
    const ompjit_rtl_table *table;
    unsigned oldest;      /* release that a row must reach                   */
    unsigned wrong;
    unsigned release;     /* the oldest clang that a wrong function points to;
                             0: none before table->oldest                    */
    unsigned unused;
    ompjit_error list;    /* its text: a line for each that is wrong         */
} ompjit__llvm_check;

static inline int ompjit__llvm_is(LLVMValueRef value,
                                  const ompjit_rtl_signature *type)
{
    LLVMModuleRef module = LLVMGetGlobalParent(value);
    return LLVMGlobalGetValueType(value) ==
           ompjit__llvm_function_type(LLVMGetModuleContext(module), type);
}

/* The row that has the value's type, of those of a name that are of release
 * `oldest` or later; `newest` is the last of that name. -1: none. */
static inline int ompjit__llvm_row_of(LLVMValueRef value, int newest,
                                      unsigned oldest)
{
    const ompjit_rtl_declaration *rows = ompjit_rtl_table_get()->declarations;
    for (int i = newest; i >= 0; i = rows[i].previous)
        if (rows[i].until >= oldest && ompjit__llvm_is(value, &rows[i].type))
            return i;
    return -1;
}

/* The other type of a name that the value has; NULL: none of those known. */
static inline const ompjit_rtl_old *ompjit__llvm_old_of(LLVMValueRef value,
                                                        const char *name)
{
    const ompjit_rtl_table *table = ompjit_rtl_table_get();
    for (uint32_t i = 0; i < table->nolds; i++)
        if (!strcmp(table->olds[i].name, name) &&
            ompjit__llvm_is(value, &table->olds[i].type))
            return &table->olds[i];
    return NULL;
}

static inline void ompjit__llvm_add_release(ompjit__llvm_check *c,
                                            unsigned release)
{
    ompjit__llvm_print(&c->list, ", as clang %u and before have it", release);
    if (release < c->table->oldest && (!c->release || release < c->release))
        c->release = release;
}

/* A right type, but of a row that an upgrade should have replaced. */
static inline void ompjit__llvm_add_older(ompjit__llvm_check *c, int row)
{
    const ompjit_rtl_declaration *rows = c->table->declarations;
    int successor = rows[row].successor;
    c->wrong++;
    ompjit__llvm_print(&c->list,
                       "\n  %s (row %d) is of clang %u and before: %s",
                       rows[row].name, row, rows[row].until,
                       rows[row].type.text);
    if (successor >= 0)
        ompjit__llvm_print(&c->list, "; LLVM %u has row %d, %s, %s",
                           c->table->newest, successor, rows[successor].name,
                           rows[successor].type.text);
}

static inline void ompjit__llvm_add_wrong(ompjit__llvm_check *c,
                                          LLVMValueRef value, int row)
{
    const ompjit_rtl_declaration *r = &c->table->declarations[row];
    const ompjit_rtl_old *old = ompjit__llvm_old_of(value, r->name);
    c->wrong++;
    ompjit__llvm_print(&c->list, "\n  %s (row %d) is %s", r->name, row,
                       r->type.text);
    ompjit__llvm_print_found(&c->list, value);
    if (old)
        ompjit__llvm_add_release(c, old->release);
}

/* `row` is the last one of its name. */
static inline void ompjit__llvm_check_value(ompjit__llvm_check *c,
                                            LLVMValueRef value, int row)
{
    const ompjit_rtl_old *old;
    int older;
    if (ompjit__llvm_row_of(value, row, c->oldest) >= 0)
        return;
    old = ompjit__llvm_old_of(value, c->table->declarations[row].name);
    if (old && old->release >= c->oldest)
        return;
    older = ompjit__llvm_row_of(value, row, 0);
    if (older >= 0)
        ompjit__llvm_add_older(c, older);
    else
        ompjit__llvm_add_wrong(c, value, row);
}

static inline int ompjit__llvm_is_row(const ompjit_rtl_table *table,
                                      const char *name)
{
    for (uint32_t i = 0; i < table->ndeclarations; i++)
        if (!strcmp(table->declarations[i].name, name))
            return 1;
    return 0;
}

/* Functions that only a clang before table->oldest calls. */
static inline void ompjit__llvm_check_removed(ompjit__llvm_check *c,
                                              LLVMModuleRef module)
{
    for (uint32_t i = 0; i < c->table->nolds; i++) {
        const ompjit_rtl_old *old = &c->table->olds[i];
        if (!LLVMGetNamedFunction(module, old->name) ||
            ompjit__llvm_is_row(c->table, old->name))
            continue;
        c->wrong++;
        ompjit__llvm_print(&c->list, "\n  %s is in no runtime of LLVM %u to %u",
                           old->name, c->table->oldest, c->table->newest);
        ompjit__llvm_add_release(c, old->release);
    }
}

/* Checks that the module's types are of release `oldest` or later. The error
 * lacks the module's name. For IR that a clang before table->oldest has made
 * (too_old) it says nothing else. */
static inline ompjit_status ompjit__llvm_faults(LLVMModuleRef module,
                                                unsigned oldest,
                                                ompjit_error *err,
                                                int *too_old)
{
    ompjit__llvm_check c;
    const ompjit_rtl_declaration *rows;
    memset(&c, 0, sizeof c);
    c.table = ompjit_rtl_table_get();
    c.oldest = oldest;
    rows = c.table->declarations;
    for (uint32_t i = 0; i < c.table->ndeclarations; i++) {
        LLVMValueRef value = rows[i].next >= 0
                                 ? NULL
                                 : ompjit__llvm_value(module, rows[i].name);
        if (value)
            ompjit__llvm_check_value(&c, value, (int)i);
    }
    ompjit__llvm_check_removed(&c, module);
    if (!c.wrong)
        return OMPJIT_OK;
    *too_old = c.release != 0;
    if (c.release)
        return ompjit__llvm_fail(
            err, OMPJIT_ERR_ABI, OMPJIT_STAGE_READ,
            "comes from a compiler older than clang %u (clang %u or before); "
            "IR of clang %u to %u is accepted:%s", c.table->oldest, c.release,
            c.table->oldest, c.table->newest, c.list.text);
    return ompjit__llvm_fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_READ,
                             "%u runtime function%s of the wrong type:%s",
                             c.wrong, c.wrong == 1 ? " is" : "s are",
                             c.list.text);
}

/* Checks each function of the module whose name is in the table: its type must
 * be that of a row of LLVM 18 to 22. The ABI error lists every function that
 * is wrong, with its row and both types, and tells where the IR comes from a
 * clang older than 18. */
static inline ompjit_status ompjit_rtl_check(LLVMModuleRef module,
                                             ompjit_error *err)
{
    ompjit_error faults;
    size_t length;
    int too_old;
    if (!module)
        return ompjit__llvm_fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                                 "ompjit_rtl_check: no module");
    if (!ompjit__llvm_faults(module, ompjit_rtl_table_get()->oldest, &faults,
                             &too_old))
        return OMPJIT_OK;
    return ompjit__llvm_fail(err, faults.status, faults.stage, "%s%s%s",
                             LLVMGetModuleIdentifier(module, &length),
                             too_old ? " " : ": ", faults.text);
}

#ifdef __cplusplus
}
#endif
#endif
