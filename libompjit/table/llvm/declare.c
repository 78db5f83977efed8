/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Rows of the runtime table as LLVM declarations, and the ABI's structs as LLVM
 * types. Attributes and metadata are those that LLVM's OpenMPIRBuilder gives
 * the same function.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "ompjit_llvm.h"
#include "table/llvm/llvm.h"

/* ----------------------------------------------------------------- types */

static LLVMTypeRef letter_type(LLVMContextRef ctx, char letter)
{
    switch (letter) {
    case 'v': return LLVMVoidTypeInContext(ctx);
    case 'l': return LLVMInt64TypeInContext(ctx);
    case 'i': return LLVMInt32TypeInContext(ctx);
    case 's': return LLVMInt16TypeInContext(ctx);
    case 'c': return LLVMInt8TypeInContext(ctx);
    case 'b': return LLVMInt1TypeInContext(ctx);
    case 'f': return LLVMFloatTypeInContext(ctx);
    case 'd': return LLVMDoubleTypeInContext(ctx);
    case '3': return LLVMArrayType2(LLVMInt32TypeInContext(ctx), 3);
    default: return LLVMPointerTypeInContext(ctx, 0);
    }
}

enum { MAX_LETTERS = 16 };

LLVMTypeRef ompjit__rtl_function_type(LLVMContextRef ctx, const char *letters)
{
    LLVMTypeRef params[MAX_LETTERS];
    unsigned n = 0;
    const char *p;
    for (p = letters + 2; *p && *p != '.'; p++)
        params[n++] = letter_type(ctx, *p);
    return LLVMFunctionType(letter_type(ctx, letters[0]), params, n,
                            *p == '.');
}

static const struct {
    const char *letters, *name;
} structs[OMPJIT_RTL_STRUCT_COUNT] = {
#define OMPJIT_RTL_STRUCT(id, type, name, c_type) \
    [OMPJIT_RTL_STRUCT_##id] = {type, name},
#include "ompjit_rtl.def"
};

static bool has_fields(LLVMTypeRef type, LLVMTypeRef *fields, unsigned n)
{
    if (LLVMIsOpaqueStruct(type) || LLVMIsPackedStruct(type) ||
        LLVMCountStructElementTypes(type) != n)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (LLVMStructGetTypeAtIndex(type, i) != fields[i])
            return false;
    return true;
}

static LLVMTypeRef struct_type(LLVMContextRef ctx, ompjit_rtl_struct which)
{
    const char *name = structs[which].name;
    LLVMTypeRef fields[MAX_LETTERS];
    unsigned n = 0;
    for (const char *p = structs[which].letters; *p; p++)
        fields[n++] =
            *p == 'E' ? struct_type(
                            ctx, OMPJIT_RTL_STRUCT_CONFIGURATION_ENVIRONMENT)
                      : letter_type(ctx, *p);
    LLVMTypeRef named = *name ? LLVMGetTypeByName2(ctx, name) : NULL;
    if (!*name || (named && !has_fields(named, fields, n)))
        return LLVMStructTypeInContext(ctx, fields, n, 0);
    if (!named) {
        named = LLVMStructCreateNamed(ctx, name);
        LLVMStructSetBody(named, fields, n, 0);
    }
    return named;
}

ompjit_status ompjit__rtl_type(LLVMContextRef ctx, ompjit_rtl_struct which,
                              LLVMTypeRef *type, ompjit_error *err)
{
    if (!ctx || !type)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_rtl_type: an argument is NULL");
    if ((unsigned)which >= OMPJIT_RTL_STRUCT_COUNT)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "runtime table: no struct %d; they are 0 to %d",
                            (int)which, OMPJIT_RTL_STRUCT_COUNT - 1);
    *type = struct_type(ctx, which);
    return OMPJIT_OK;
}

/* ------------------------------------------------------------ attributes */

/* !callback(2,-1,-1,...): the callee is argument 2, its first two arguments
 * are unknown, and variable arguments are passed on. */
static void add_callback(LLVMContextRef ctx, LLVMValueRef fn, const char *text)
{
    LLVMMetadataRef operands[MAX_LETTERS];
    unsigned n = 0;
    const char *p = strchr(text, '(');
    while (*p != ')' && p[1] != '.') {
        long long value = strtoll(p + 1, (char **)&p, 10);
        operands[n++] = LLVMValueAsMetadata(LLVMConstInt(
            LLVMInt64TypeInContext(ctx), (unsigned long long)value, 1));
    }
    operands[n++] = LLVMValueAsMetadata(
        LLVMConstInt(LLVMInt1TypeInContext(ctx), *p != ')', 0));
    LLVMMetadataRef encoding = LLVMMDNodeInContext2(ctx, operands, n);
    LLVMGlobalSetMetadata(fn, LLVMGetMDKindIDInContext(ctx, "callback", 8),
                          LLVMMDNodeInContext2(ctx, &encoding, 1));
}

/* The integer in an attribute. captures(none) is 0; allocsize has the index of
 * the size's parameter above, and below that of the count's, here none. */
static uint64_t attribute_value(const char *name, size_t n, const char *text)
{
    if (n != strlen("allocsize") || strncmp(name, "allocsize", n))
        return 0;
    return strtoull(text + n + 1, NULL, 10) << 32 | UINT32_MAX;
}

/* One word of the attributes' text: [N:|result:]name[(value)] */
static ompjit_status add_attribute(LLVMContextRef ctx, LLVMValueRef fn,
                                   const char *word, size_t length,
                                   ompjit_error *err)
{
    LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    const char *colon = memchr(word, ':', length);
    const char *name = colon ? colon + 1 : word;
    if (colon)
        index = *word == 'r' ? LLVMAttributeReturnIndex
                             : (LLVMAttributeIndex)(*word - '0') + 1;
    size_t n = strcspn(name, " (");
    unsigned kind = LLVMGetEnumAttributeKindForName(name, n);
    if (!kind)
        return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_READ,
                            "%s: LLVM has no attribute '%.*s'",
                            LLVMGetValueName2(fn, &length), (int)n, name);
    LLVMAddAttributeAtIndex(
        fn, index,
        LLVMCreateEnumAttribute(ctx, kind, attribute_value(name, n, name)));
    return OMPJIT_OK;
}

static ompjit_status add_attributes(LLVMContextRef ctx, LLVMValueRef fn,
                                    const char *text, ompjit_error *err)
{
    size_t length;
    for (; *text; text += length + (text[length] == ' ')) {
        length = strcspn(text, " ");
        if (*text == '!') {
            add_callback(ctx, fn, text);
            continue;
        }
        ompjit_status status = add_attribute(ctx, fn, text, length, err);
        if (status)
            return status;
    }
    return OMPJIT_OK;
}

/* ---------------------------------------------------------- declarations */

LLVMValueRef ompjit__rtl_value(LLVMModuleRef m, const char *name)
{
    LLVMValueRef value = LLVMGetNamedFunction(m, name);
    if (!value)
        value = LLVMGetNamedGlobal(m, name);
    if (!value)
        value = LLVMGetNamedGlobalAlias(m, name, strlen(name));
    return value;
}

void ompjit__rtl_found_text(ompjit__buf *out, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(value);
    char *text = LLVMPrintTypeToString(type);
    ompjit__buf_printf(out, "%s%s",
                       LLVMIsAGlobalVariable(value) ? "a variable of type "
                                                    : "",
                       text);
    LLVMDisposeMessage(text);
    if (LLVMGetTypeKind(type) == LLVMFunctionTypeKind &&
        LLVMIsFunctionVarArg(type) && !LLVMCountParamTypes(type))
        ompjit__buf_printf(out, ", which is declared without a prototype");
}

static ompjit_status taken(unsigned index, LLVMValueRef value,
                           ompjit_error *err)
{
    ompjit__buf text = {0};
    ompjit__buf_printf(&text, "%s (row %u of the runtime table) is ",
                       ompjit__rtl_rows[index].name, index);
    ompjit__rtl_type_text(&text, ompjit__rtl_rows[index].type);
    ompjit__buf_printf(&text, "; the module has ");
    ompjit__rtl_found_text(&text, value);
    ompjit_status status =
        text.failed ? ompjit__no_memory(err, OMPJIT_STAGE_READ)
                    : ompjit__fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_READ,
                                   "%s", text.data);
    ompjit__buf_free(&text);
    return status;
}

ompjit_status ompjit__rtl_declare(LLVMModuleRef m, unsigned index,
                                 LLVMValueRef *fn, ompjit_error *err)
{
    if (!m || !fn)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_rtl_declare: an argument is NULL");
    if (index >= OMPJIT_RTL_COUNT)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "runtime table: no row %u; rows are 0 to %d",
                            index, OMPJIT_RTL_COUNT - 1);
    const ompjit__rtl *row = &ompjit__rtl_rows[index];
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    LLVMTypeRef type = ompjit__rtl_function_type(ctx, row->type);
    LLVMValueRef value = ompjit__rtl_value(m, row->name);
    if (value && (LLVMIsAGlobalVariable(value) ||
                  LLVMGlobalGetValueType(value) != type))
        return taken(index, value, err);
    if (!value) {
        value = LLVMAddFunction(m, row->name, type);
        ompjit_status status = add_attributes(
            ctx, value, ompjit__rtl_attributes(index), err);
        if (status) {
            LLVMDeleteFunction(value);
            return status;
        }
    }
    *fn = value;
    return OMPJIT_OK;
}
