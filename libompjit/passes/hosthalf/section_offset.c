/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Corrects the address of a mapped section that flang 22 computes. For
 * a(2:3, i, j) of an array with the extents e0, e1, e2 it is
 *
 *   ((j - l2) * 1 + (i - l1)) * e0 + (2 - l0)
 *
 * where a dimension that has a subscript, and no range, counts with the extent 1
 * in place of its own, here e1. So the section of one j would lie in that of
 * another i, the device's copy of the array would begin elsewhere, and kernels
 * would write beside it. The sum is the index of a GEP that is named
 * "array_offset". flang has loaded the bounds and extents of each dimension from
 * the array's descriptor before it computes (i - l1), and the load of e1 takes
 * the place of the 1.
 *
 * A descriptor is a structure whose field DIMS is an array of
 * { lower bound, extent, stride }.
 */
#include <string.h>

#include <llvm-c/Core.h>

#include "passes/hosthalf/hosthalf.h"

enum { DIMS = 7, EXTENT = 1, MAX_RANK = 15 };

/* The sum's parts, by dimension. */
struct chain {
    unsigned rank;
    LLVMValueRef factors[MAX_RANK]; /* products with each dimension's extent,
                                       but for the last one's              */
    LLVMValueRef indices[MAX_RANK]; /* the index less the lower bound      */
};

static bool is(LLVMValueRef v, LLVMOpcode opcode)
{
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == opcode;
}

static bool is_one(LLVMValueRef v)
{
    return LLVMIsAConstantInt(v) && LLVMConstIntGetZExtValue(v) == 1;
}

/* False: it is no sum of this form with two dimensions or more. */
static bool read_chain(LLVMValueRef sum, struct chain *c)
{
    unsigned n = 0;
    while (is(sum, LLVMAdd) && !LLVMGetNSW(sum) && n + 1 < MAX_RANK &&
           is(LLVMGetOperand(sum, 0), LLVMMul)) {
        c->factors[n] = LLVMGetOperand(sum, 0);
        c->indices[n] = LLVMGetOperand(sum, 1);
        sum = LLVMGetOperand(c->factors[n++], 0);
    }
    c->indices[n] = sum;
    c->rank = n + 1;
    return n > 0;
}

/* Is it the address of a field of a dimension of a descriptor of that rank? */
static bool is_bound(LLVMValueRef v, unsigned rank, int64_t *dim,
                     int64_t *field)
{
    enum { OPERANDS = 5 };
    if (!LLVMIsAGetElementPtrInst(v) || LLVMGetNumOperands(v) != OPERANDS)
        return false;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(v);
    if (LLVMGetTypeKind(type) != LLVMStructTypeKind ||
        LLVMCountStructElementTypes(type) <= DIMS)
        return false;
    LLVMTypeRef dims = LLVMStructGetTypeAtIndex(type, DIMS);
    for (unsigned i = 1; i < OPERANDS; i++)
        if (!LLVMIsAConstantInt(LLVMGetOperand(v, i)))
            return false;
    if (LLVMGetTypeKind(dims) != LLVMArrayTypeKind ||
        LLVMGetArrayLength2(dims) != rank ||
        LLVMConstIntGetZExtValue(LLVMGetOperand(v, 2)) != DIMS)
        return false;
    *dim = LLVMConstIntGetSExtValue(LLVMGetOperand(v, 3));
    *field = LLVMConstIntGetSExtValue(LLVMGetOperand(v, 4));
    return true;
}

/* The descriptor whose bounds of this dimension were loaded last before the
 * instruction, in its block; NULL: there is none. */
static LLVMValueRef descriptor_before(LLVMValueRef i, unsigned rank,
                                      unsigned of)
{
    int64_t dim, field;
    while ((i = LLVMGetPreviousInstruction(i)))
        if (is_bound(i, rank, &dim, &field) && dim == (int64_t)of)
            return LLVMGetOperand(i, 0);
    return NULL;
}

/* By the first index that tells. `block` is where its bounds were loaded. */
static LLVMValueRef find_descriptor(const struct chain *c,
                                    LLVMBasicBlockRef *block)
{
    for (unsigned i = 0; i < c->rank; i++) {
        LLVMValueRef index = c->indices[i];
        LLVMValueRef found = is(index, LLVMSub)
                                 ? descriptor_before(index, c->rank, i)
                                 : NULL;
        if (found) {
            *block = LLVMGetInstructionParent(index);
            return found;
        }
    }
    return NULL;
}

/* The last load of the dimension's extent in the block before `end`, or at its
 * end, where that is in another. */
static LLVMValueRef find_extent(LLVMValueRef descriptor, unsigned rank,
                                unsigned of, LLVMBasicBlockRef block,
                                LLVMValueRef end)
{
    LLVMValueRef found = NULL;
    int64_t dim, field;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i && i != end;
         i = LLVMGetNextInstruction(i)) {
        LLVMValueRef p = LLVMIsALoadInst(i) ? LLVMGetOperand(i, 0) : NULL;
        if (p && is_bound(p, rank, &dim, &field) && dim == (int64_t)of &&
            field == EXTENT && LLVMGetOperand(p, 0) == descriptor)
            found = i;
    }
    return found;
}

static void repair(LLVMValueRef sum)
{
    struct chain c;
    LLVMBasicBlockRef block;
    if (!read_chain(sum, &c))
        return;
    LLVMValueRef descriptor = find_descriptor(&c, &block);
    for (unsigned i = 0; descriptor && i + 1 < c.rank; i++) {
        if (!is_one(LLVMGetOperand(c.factors[i], 1)))
            continue;
        LLVMValueRef extent =
            find_extent(descriptor, c.rank, i, block, c.factors[i]);
        if (extent)
            LLVMSetOperand(c.factors[i], 1, extent);
    }
}

void ompjit__repair_sections(LLVMValueRef f)
{
    static const char name[] = "array_offset";
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            size_t n;
            if (LLVMIsAGetElementPtrInst(i) && LLVMGetNumOperands(i) == 2 &&
                !strncmp(LLVMGetValueName2(i, &n), name, sizeof name - 1))
                repair(LLVMGetOperand(i, 1));
        }
}
