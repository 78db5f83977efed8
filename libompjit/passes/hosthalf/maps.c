/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads the arrays by which host code says to the runtime what it maps.
 */
#include "passes/hosthalf/walk.h"

/* Operands of __tgt_target_data_* from the left. */
enum { COUNT = 2, BASES, BEGINS, SIZES, TYPES, MAPPERS = 8 };

bool ompjit__is_host_call(LLVMValueRef v)
{
    return LLVMIsACallInst(v) || LLVMIsAInvokeInst(v);
}

/* The array's variable. */
LLVMValueRef ompjit__map_array_of(LLVMValueRef pointer)
{
    while (LLVMIsAGetElementPtrInst(pointer))
        pointer = LLVMGetOperand(pointer, 0);
    return LLVMIsAAllocaInst(pointer) ? pointer : NULL;
}

bool ompjit__read_maps(LLVMValueRef call, ompjit__host_maps *m)
{
    LLVMValueRef n = LLVMGetOperand(call, COUNT);
    m->bases = ompjit__map_array_of(LLVMGetOperand(call, BASES));
    m->begins = ompjit__map_array_of(LLVMGetOperand(call, BEGINS));
    m->sizes = LLVMGetOperand(call, SIZES);
    m->types = LLVMGetOperand(call, TYPES);
    if (!LLVMIsAConstantInt(n) ||
        LLVMConstIntGetZExtValue(n) > OMPJIT__WALK_ENTRIES)
        return false;
    m->n = (unsigned)LLVMConstIntGetZExtValue(n);
    return m->bases && m->begins && LLVMIsAGlobalVariable(m->types) &&
           LLVMIsNull(LLVMGetOperand(call, MAPPERS));
}

/* What a kernel is launched with, by the block of its arguments. */
bool ompjit__read_kernel_maps(LLVMTargetDataRef layout, LLVMValueRef call,
                              ompjit__host_maps *m)
{
    enum { BLOCK = 5, N_AT = 4, BASES_AT = 8, BEGINS_AT = 16, SIZES_AT = 24,
           TYPES_AT = 32, MAPPERS_AT = 48 };
    int64_t at;
    LLVMValueRef block =
        ompjit__variable_at(layout, LLVMGetOperand(call, BLOCK), &at);
    static const int64_t offsets[] = {N_AT,     BASES_AT, BEGINS_AT,
                                      SIZES_AT, TYPES_AT, MAPPERS_AT};
    LLVMValueRef part[6];
    for (int i = 0; i < 6; i++) {
        part[i] = block ? ompjit__stored_at(layout, block, offsets[i]) : NULL;
        if (!part[i])
            return false;
    }
    if (!LLVMIsAConstantInt(part[0]) || !LLVMIsNull(part[5]))
        return false;
    m->n = (unsigned)LLVMConstIntGetZExtValue(part[0]);
    m->bases = ompjit__map_array_of(part[1]);
    m->begins = ompjit__map_array_of(part[2]);
    m->sizes = part[3];
    m->types = part[4];
    return !m->n ||
           (m->bases && m->begins && LLVMIsAGlobalVariable(m->types));
}

uint64_t ompjit__map_type_at(const ompjit__host_maps *m, unsigned i)
{
    LLVMValueRef all = LLVMGetInitializer(m->types);
    LLVMValueRef v = all ? LLVMGetAggregateElement(all, i) : NULL;
    return v && LLVMIsAConstantInt(v) ? LLVMConstIntGetZExtValue(v)
                                      : OMPJIT__MAP_ALWAYS;
}

LLVMValueRef ompjit__map_pointer_at(LLVMTargetDataRef layout,
                                    LLVMValueRef array, unsigned i)
{
    enum { POINTER = 8 };
    return ompjit__stored_at(layout, array, (int64_t)i * POINTER);
}

LLVMValueRef ompjit__map_size_at(LLVMTargetDataRef layout,
                                 const ompjit__host_maps *m, unsigned i)
{
    enum { SIZE = 8 };
    if (LLVMIsAGlobalVariable(m->sizes))
        return LLVMGetAggregateElement(LLVMGetInitializer(m->sizes), i);
    LLVMValueRef array = ompjit__map_array_of(m->sizes);
    return array ? ompjit__stored_at(layout, array, (int64_t)i * SIZE) : NULL;
}
