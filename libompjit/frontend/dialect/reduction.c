/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Mends the functions that clang generates for a reduction on a GPU, which
 * move an element of it in pieces of 8, 4, 2 and 1 bytes as if it was aligned
 * to them:
 *   - a piece of 2 or 1 is stored with 4 bytes, beyond the element's end;
 *   - pieces and copies of an element claim more alignment than its type has;
 *   - between warps, each of the last pieces is taken from the beginning.
 * LLVM believes the first two, and leaves out what they make undefined; so this
 * comes before any optimization. Requires verified IR. Other code is left as it
 * is, also that of a clang that is right.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>

#include "frontend/dialect/dialect.h"

/* The calls of the runtime that name them, by operand; 0: has none. */
static const struct {
    const char *name;
    unsigned shuffle, gather, store, load, nargs;
} reductions[] = {
    /* name                                  shuffle gather store load nargs */
    {"__kmpc_nvptx_parallel_reduce_nowait_v2", 3, 4, 0, 0, 5},
    {"__kmpc_nvptx_teams_reduce_nowait_v2", 5, 6, 7, 9, 11},
};

/* The variables of one reduction, in the order of its list of pointers. */
struct elements {
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    LLVMTypeRef *types; /* of the variables; an element NULL: not known */
    unsigned n;
};

/* The instruction after `i`, in the function's order of blocks; for NULL the
 * first. */
static LLVMValueRef next_in(LLVMValueRef fn, LLVMValueRef i)
{
    LLVMBasicBlockRef block = i ? LLVMGetInstructionParent(i) : NULL;
    LLVMValueRef next = i ? LLVMGetNextInstruction(i) : NULL;
    while (!next) {
        block = block ? LLVMGetNextBasicBlock(block)
                      : LLVMGetFirstBasicBlock(fn);
        if (!block)
            return NULL;
        next = LLVMGetFirstInstruction(block);
    }
    return next;
}

#define EACH(i, fn) \
    for (LLVMValueRef i = next_in(fn, NULL); i; i = next_in(fn, i))

/* An array of pointers, by which clang's helper functions take all variables of
 * a reduction:
 *
 *   %list = alloca [2 x ptr]        &sum, &product
 *   %at = getelementptr [2 x ptr], ptr %list, i64 0, i64 1
 */
static bool is_list(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMArrayTypeKind &&
           LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMPointerTypeKind;
}

/* The k of an address &list[k]; -1: another value. */
static long place(LLVMValueRef address)
{
    if (!LLVMIsAGetElementPtrInst(address) ||
        LLVMGetNumOperands(address) != 3 ||
        !is_list(LLVMGetGEPSourceElementType(address)) ||
        !LLVMIsAConstantInt(LLVMGetOperand(address, 2)))
        return -1;
    return (long)LLVMConstIntGetZExtValue(LLVMGetOperand(address, 2));
}

/* A field of the element at list[k], loaded from there. */
static LLVMTypeRef listed_type(const struct elements *e, LLVMValueRef pointer)
{
    long k = LLVMIsALoadInst(pointer) ? place(LLVMGetOperand(pointer, 0)) : -1;
    return k >= 0 && k < (long)e->n ? e->types[k] : NULL;
}

/* The shuffle function has a list of its own of the elements it receives. */
static bool find_types(struct elements *e, LLVMValueRef shuffle)
{
    EACH(i, shuffle)
        if (LLVMIsAAllocaInst(i) && is_list(LLVMGetAllocatedType(i)))
            e->n = (unsigned)LLVMGetArrayLength2(LLVMGetAllocatedType(i));
    e->types = calloc(e->n + 1, sizeof *e->types);
    if (!e->types)
        return false;
    EACH(i, shuffle) {
        LLVMValueRef element =
            LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 0) : NULL;
        long k = element && LLVMIsAAllocaInst(element)
                     ? place(LLVMGetOperand(i, 1))
                     : -1;
        if (k >= 0 && k < (long)e->n)
            e->types[k] = LLVMGetAllocatedType(element);
    }
    return true;
}

/* An access claims no more alignment than its variable's type has. */
static void lower(const struct elements *e, LLVMValueRef access,
                  LLVMTypeRef type)
{
    unsigned most = LLVMABIAlignmentOfType(e->layout, type);
    if (LLVMGetAlignment(access) > most)
        LLVMSetAlignment(access, most);
}

/* Both pointers of a memcpy, whose alignment is an attribute of the call. */
static void lower_copy(const struct elements *e, LLVMValueRef copy,
                       LLVMTypeRef type)
{
    unsigned most = LLVMABIAlignmentOfType(e->layout, type);
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    for (unsigned i = 1; i <= 2; i++) {
        LLVMAttributeRef now = LLVMGetCallSiteEnumAttribute(copy, i, kind);
        if (!now || LLVMGetEnumAttributeValue(now) <= most)
            continue;
        LLVMRemoveCallSiteEnumAttribute(copy, i, kind);
        LLVMSetInstrParamAlignment(copy, i, most);
    }
}

/* The function that an instruction calls by name; NULL: none. */
static LLVMValueRef callee(LLVMValueRef i)
{
    return LLVMIsACallInst(i) ? LLVMIsAFunction(LLVMGetCalledValue(i)) : NULL;
}

/* Does it call a function whose name begins so? */
static bool calls_named(LLVMValueRef i, const char *with)
{
    size_t n;
    LLVMValueRef fn = callee(i);
    return fn && !strncmp(LLVMGetValueName2(fn, &n), with, strlen(with));
}

static bool is_copy(LLVMValueRef i)
{
    return calls_named(i, "llvm.memcpy.");
}

/* -------------------------------------------------------- between lanes */

/* The variable that a piece's address is in, which a loop may advance. */
static LLVMValueRef variable(LLVMValueRef address)
{
    for (unsigned steps = 0; steps < 16; steps++) {
        if (LLVMIsAGetElementPtrInst(address))
            address = LLVMGetOperand(address, 0);
        else if (LLVMIsAPHINode(address))
            address = LLVMGetIncomingValue(address, 0);
        else
            break;
    }
    return LLVMIsAAllocaInst(address);
}

/* The same piece of the other lane, stored where it came from. */
static void mend_piece(const struct elements *e, LLVMValueRef call)
{
    LLVMValueRef piece = LLVMGetOperand(call, 0);
    bool widened = LLVMIsASExtInst(piece) || LLVMIsAZExtInst(piece);
    if (widened)
        piece = LLVMGetOperand(piece, 0);
    LLVMUseRef use = LLVMGetFirstUse(call);
    LLVMValueRef store = use ? LLVMGetUser(use) : NULL;
    if (!LLVMIsALoadInst(piece) || !store || LLVMGetNextUse(use) ||
        !LLVMIsAStoreInst(store) || LLVMGetOperand(store, 0) != call)
        return;
    LLVMValueRef element = variable(LLVMGetOperand(store, 1));
    if (element)
        lower(e, piece, LLVMGetAllocatedType(element));
    if (!widened)
        return;
    LLVMTypeRef narrow = LLVMTypeOf(piece);
    LLVMPositionBuilderBefore(e->builder, store);
    LLVMSetCurrentDebugLocation2(e->builder,
                                 LLVMInstructionGetDebugLoc(store));
    LLVMSetOperand(store, 0, LLVMBuildTrunc(e->builder, call, narrow, ""));
    lower(e, store, narrow);
}

/* The function that exchanges elements between the lanes of a warp. */
static void mend_shuffle(const struct elements *e, LLVMValueRef fn)
{
    EACH(i, fn) {
        LLVMTypeRef type =
            is_copy(i) ? listed_type(e, LLVMGetOperand(i, 1)) : NULL;
        if (type)
            lower_copy(e, i, type);
        else if (calls_named(i, "__kmpc_shuffle_int"))
            mend_piece(e, i);
    }
}

/* -------------------------------------------------------- between warps */

/* Pieces of 4 come first, one after another; then one of 2, then one of 1. */
static void mend_last(const struct elements *e, LLVMValueRef access,
                      unsigned pointer, LLVMTypeRef type)
{
    LLVMValueRef value =
        LLVMIsAStoreInst(access) ? LLVMGetOperand(access, 0) : access;
    unsigned long long size = LLVMStoreSizeOfType(e->layout, type);
    unsigned long long piece =
        LLVMStoreSizeOfType(e->layout, LLVMTypeOf(value));
    unsigned long long offset = size & ~(2 * piece - 1);
    if (piece > 2 || !offset)
        return;
    LLVMContextRef c = LLVMGetTypeContext(type);
    LLVMTypeRef i8 = LLVMInt8TypeInContext(c);
    LLVMValueRef by = LLVMConstInt(LLVMInt64TypeInContext(c), offset, false);
    LLVMPositionBuilderBefore(e->builder, access);
    LLVMSetCurrentDebugLocation2(e->builder,
                                 LLVMInstructionGetDebugLoc(access));
    LLVMSetOperand(access, pointer,
                   LLVMBuildGEP2(e->builder, i8,
                                 LLVMGetOperand(access, pointer), &by, 1, ""));
}

/* The function that collects an element of each warp. An address that has a GEP
 * is advanced already, as of the pieces of 4. */
static void mend_gather(const struct elements *e, LLVMValueRef fn)
{
    EACH(i, fn) {
        if (!LLVMIsALoadInst(i) && !LLVMIsAStoreInst(i))
            continue;
        unsigned pointer = LLVMIsAStoreInst(i) ? 1 : 0;
        LLVMValueRef at = LLVMGetOperand(i, pointer);
        bool advanced = LLVMIsAGetElementPtrInst(at);
        LLVMTypeRef type =
            listed_type(e, advanced ? LLVMGetOperand(at, 0) : at);
        if (!type)
            continue;
        if (!advanced)
            mend_last(e, i, pointer, type);
        lower(e, i, type);
    }
}

/* -------------------------------------------------------- between teams */

/* To or from a field of the team's record. */
static void mend_record(const struct elements *e, LLVMValueRef fn)
{
    EACH(i, fn)
        for (unsigned k = 0; k < 2 && is_copy(i); k++) {
            LLVMValueRef at = LLVMGetOperand(i, k);
            LLVMTypeRef record = LLVMIsAGetElementPtrInst(at)
                                     ? LLVMGetGEPSourceElementType(at)
                                     : NULL;
            if (!record || LLVMGetTypeKind(record) != LLVMStructTypeKind ||
                LLVMGetNumOperands(at) != 3)
                continue;
            LLVMValueRef field = LLVMGetOperand(at, 2);
            lower_copy(e, i,
                       LLVMStructGetTypeAtIndex(
                           record, (unsigned)LLVMConstIntGetZExtValue(field)));
        }
}

/* ------------------------------------------------------------------- all */

/* The function that the call hands over as that operand; NULL: none. */
static LLVMValueRef body(LLVMValueRef call, unsigned operand)
{
    LLVMValueRef fn =
        operand ? LLVMIsAFunction(LLVMGetOperand(call, operand)) : NULL;
    return fn && !LLVMIsDeclaration(fn) ? fn : NULL;
}

/* The helper functions of one reduction. */
static ompjit_status mend(LLVMModuleRef m, LLVMValueRef call, size_t row,
                          ompjit_error *err)
{
    struct elements e = {.layout = LLVMGetModuleDataLayout(m)};
    LLVMValueRef shuffle = body(call, reductions[row].shuffle);
    LLVMValueRef gather = body(call, reductions[row].gather);
    LLVMValueRef store = body(call, reductions[row].store);
    LLVMValueRef load = body(call, reductions[row].load);
    if (!shuffle)
        return OMPJIT_OK;
    if (!find_types(&e, shuffle))
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    e.builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    mend_shuffle(&e, shuffle);
    if (gather)
        mend_gather(&e, gather);
    if (store)
        mend_record(&e, store);
    if (load)
        mend_record(&e, load);
    LLVMDisposeBuilder(e.builder);
    free(e.types);
    return OMPJIT_OK;
}

ompjit_status ompjit__mend_reductions(LLVMModuleRef m, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    for (size_t row = 0; row < OMPJIT__COUNT(reductions); row++) {
        LLVMValueRef fn = LLVMGetNamedFunction(m, reductions[row].name);
        LLVMUseRef use = fn ? LLVMGetFirstUse(fn) : NULL;
        for (; use && !status; use = LLVMGetNextUse(use)) {
            LLVMValueRef call = LLVMGetUser(use);
            if (callee(call) == fn &&
                LLVMGetNumArgOperands(call) == reductions[row].nargs)
                status = mend(m, call, row, err);
        }
    }
    return status;
}
