/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The source's types of a kernel's scalar parameters, and the order in which
 * the source declares the variables that parameters stand for. The kernel ABI
 * passes every scalar as 64 bits, in the order of capture. The host half tells
 * both: it loads each variable where it launches the kernel. In device IR alone
 * the loads of a parameter's slot tell the type.
 */
#include <stdlib.h>

#include <llvm-c/Core.h>

#include "frontend/describe/describe.h"

/* ------------------------------------------------------------------ types */

/* OMPJIT__PARAM_...; SCALAR: a type that tells nothing, as a pointer's. */
static uint8_t kind_of(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return OMPJIT__PARAM_FLOAT;
    case LLVMIntegerTypeKind: return OMPJIT__PARAM_INTEGER;
    default: return OMPJIT__PARAM_SCALAR;
    }
}

/* The size of a scalar type; 0: it is none that a parameter can have. */
static uint64_t bytes_of(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 2;
    case LLVMFloatTypeKind: return 4;
    case LLVMDoubleTypeKind: return 8;
    case LLVMIntegerTypeKind: return (LLVMGetIntTypeWidth(type) + 7) / 8;
    default: return 0;
    }
}

LLVMValueRef ompjit__only_stored(LLVMValueRef address)
{
    LLVMValueRef found = NULL;
    LLVMUseRef use = LLVMGetFirstUse(address);
    for (; use; use = LLVMGetNextUse(use)) {
        LLVMValueRef store = LLVMGetUser(use);
        if (!LLVMIsAStoreInst(store) || LLVMGetOperand(store, 1) != address)
            continue;
        if (found)
            return NULL;
        found = LLVMGetOperand(store, 0);
    }
    return found;
}

/* ----------------------------------------------------------- device half */

/* The type by which a slot is loaded. Integers are loaded from a float's slot
 * too, to be handed on. NULL: nothing of that size (0: any), or of several
 * types. */
static LLVMTypeRef loaded_type(LLVMValueRef slot, uint32_t size)
{
    LLVMTypeRef found = NULL;
    bool several = false;
    LLVMUseRef use = LLVMGetFirstUse(slot);
    for (; use; use = LLVMGetNextUse(use)) {
        LLVMValueRef load = LLVMGetUser(use);
        if (!LLVMIsALoadInst(load))
            continue;
        LLVMTypeRef type = LLVMTypeOf(load);
        if (size && bytes_of(type) != size)
            continue;
        if (kind_of(type) == OMPJIT__PARAM_FLOAT)
            return type;
        several |= found && found != type;
        found = type;
    }
    return several ? NULL : found;
}

/* The type that optimized code makes of the bits that are passed: a float, or
 * the low bits as they are. */
static LLVMTypeRef bits_become(LLVMValueRef bits)
{
    LLVMTypeRef low = NULL;
    LLVMUseRef use = LLVMGetFirstUse(bits);
    for (; use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        LLVMTypeRef type = LLVMTypeOf(user);
        if (LLVMIsATruncInst(user)) {
            low = bits_become(user);
            low = low ? low : type;
        } else if (LLVMIsABitCastInst(user)) {
            low = type;
        }
        if (low && kind_of(low) == OMPJIT__PARAM_FLOAT)
            return low;
    }
    return low;
}

/* The type by which device code uses a parameter of 64 bits: what it makes of
 * the bits at once, or else how it loads the slot that they are stored in.
 * NULL: the IR does not tell. */
static LLVMTypeRef device_type(LLVMValueRef param, uint32_t size)
{
    LLVMTypeRef found = bits_become(param);
    LLVMUseRef use = LLVMGetFirstUse(param);
    for (; use && !found; use = LLVMGetNextUse(use)) {
        LLVMValueRef store = LLVMGetUser(use);
        if (LLVMIsAStoreInst(store) && LLVMGetOperand(store, 0) == param)
            found = loaded_type(LLVMGetOperand(store, 1), size);
    }
    return found;
}

/* The size is the host half's where that told it. */
static void take_device_type(LLVMValueRef param, ompjit__param *p)
{
    LLVMTypeRef type = device_type(param, p->size);
    p->kind = type ? kind_of(type) : OMPJIT__PARAM_SCALAR;
    if (!p->size && p->kind != OMPJIT__PARAM_SCALAR)
        p->size = (uint32_t)bytes_of(type);
}

/* -------------------------------------------------------------- host half */

/* The value behind the 64 bits that a launch passes: through the slot that
 * widens it, or conversions where the half is optimized. */
static LLVMValueRef narrow(LLVMValueRef v)
{
    if (LLVMIsALoadInst(v) && LLVMIsAAllocaInst(LLVMGetOperand(v, 0)) &&
        kind_of(LLVMTypeOf(v)) == OMPJIT__PARAM_INTEGER) {
        LLVMValueRef wide = ompjit__only_stored(LLVMGetOperand(v, 0));
        v = wide ? wide : v;
    }
    while (LLVMIsAZExtInst(v) || LLVMIsASExtInst(v) || LLVMIsATruncInst(v) ||
           LLVMIsABitCastInst(v))
        v = LLVMGetOperand(v, 0);
    return v;
}

/* A variable that several constructs' threads share is loaded as what it is. */
static uint8_t host_kind(LLVMValueRef passed, uint32_t size)
{
    LLVMValueRef v = narrow(passed);
    uint8_t kind = kind_of(LLVMTypeOf(v));
    bool is_bool = LLVMTypeOf(v) == LLVMInt1TypeInContext(
                                        LLVMGetTypeContext(LLVMTypeOf(v)));
    return bytes_of(LLVMTypeOf(v)) == size || is_bool ? kind
                                                      : OMPJIT__PARAM_SCALAR;
}

/* A variable's place among those of its function: parameters come first, then
 * locals as they are declared, then variables of other places. */
enum { FIRST_LOCAL = 1 << 20, ELSEWHERE = 1 << 30 };

/* The number of the parameter that a value is, but for conversions; -1: it is
 * none. `v` may be NULL. */
static long argument_number(LLVMValueRef v)
{
    while (v && !LLVMIsAArgument(v) &&
           (LLVMIsAZExtInst(v) || LLVMIsATruncInst(v)))
        v = LLVMGetOperand(v, 0);
    if (!v || !LLVMIsAArgument(v))
        return -1;
    long at = 0;
    LLVMValueRef arg = LLVMGetFirstParam(LLVMGetParamParent(v));
    for (; arg && arg != v; arg = LLVMGetNextParam(arg))
        at++;
    return at;
}

/* The place of the variable that a passed value was loaded from. clang copies
 * each parameter to a local, so a local that is stored a parameter counts as
 * that. */
static long place_of(LLVMValueRef passed)
{
    LLVMValueRef v = narrow(passed);
    while (LLVMIsALoadInst(v))
        v = LLVMGetOperand(v, 0);
    long argument = argument_number(v);
    if (argument < 0 && LLVMIsAAllocaInst(v)) {
        argument = argument_number(ompjit__only_stored(v));
        long at = FIRST_LOCAL;
        LLVMValueRef i = LLVMGetPreviousInstruction(v);
        for (; argument < 0 && i; i = LLVMGetPreviousInstruction(i))
            at++;
        return argument < 0 ? at : argument;
    }
    return argument < 0 ? ELSEWHERE : argument;
}

struct place {
    long at;
    unsigned param;
};

static int by_place(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    if (p->at != q->at)
        return p->at < q->at ? -1 : 1;
    return p->param < q->param ? -1 : p->param > q->param;
}

/* ------------------------------------------------------------------- both */

ompjit_status ompjit__param_types(LLVMValueRef fn, const LLVMValueRef *passed,
                                  ompjit__kernel_desc *k, ompjit_error *err)
{
    struct place *places = calloc(k->nparams + 1, sizeof *places);
    if (!places)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    for (unsigned i = 0; i < k->nparams; i++) {
        ompjit__param *p = &k->params[i];
        if (k->launch_env && p->kind == OMPJIT__PARAM_INTEGER &&
            p->bytes == 8) {
            p->kind = passed && passed[i] && p->size
                          ? host_kind(passed[i], p->size)
                          : OMPJIT__PARAM_SCALAR;
            if (p->kind == OMPJIT__PARAM_SCALAR)
                take_device_type(LLVMGetParam(fn, i + k->launch_env), p);
        }
        places[i].param = i;
        places[i].at = passed && passed[i] ? place_of(passed[i]) : ELSEWHERE;
    }
    qsort(places, k->nparams, sizeof *places, by_place);
    for (unsigned i = 0; i < k->nparams; i++)
        k->params[places[i].param].source_order = (uint16_t)i;
    free(places);
    return OMPJIT_OK;
}
