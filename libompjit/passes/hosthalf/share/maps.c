/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads the arrays by which host code says to the runtime what it maps.
 *
 *   __tgt_target_data_begin_mapper(location, device, n,
 *                                  bases, begins, sizes, types, names, mappers)
 *
 * Each array has n entries. For map(to: p[2:n]) the base is p, the begin is
 * &p[2], the size n * sizeof *p bytes and the type TO. Mappers are functions of
 * the program that the runtime calls for more entries, so calls with some are
 * not understood. A kernel's launch gets the same arrays in a block
 * (ompjit__kernel_args in abi/offload.h).
 */
#include "passes/hosthalf/share/walk.h"

/* Operands of __tgt_target_data_* from the left. */
enum { COUNT = 2, BASES, BEGINS, SIZES, TYPES, MAPPERS = 8 };

bool ompjit__is_host_call(LLVMValueRef v)
{
    return LLVMIsACallInst(v) || LLVMIsAInvokeInst(v);
}

/* The array's variable: clang passes the address of its first element. */
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

/* The parts of the block of a kernel's arguments. */
enum { N, KERNEL_BASES, KERNEL_BEGINS, KERNEL_SIZES, KERNEL_TYPES,
       KERNEL_MAPPERS, PARTS };

/* Finds the values that are stored into the block, by their offsets in
 * ompjit__kernel_args. False: one is not known, or there are mappers. */
static bool read_block(LLVMTargetDataRef layout, LLVMValueRef call,
                       LLVMValueRef *part)
{
    enum { BLOCK = 5 };
    static const int64_t offsets[PARTS] = {4, 8, 16, 24, 32, 48};
    int64_t at;
    LLVMValueRef block =
        ompjit__variable_at(layout, LLVMGetOperand(call, BLOCK), &at);
    for (int i = 0; i < PARTS; i++) {
        part[i] = block ? ompjit__stored_at(layout, block, offsets[i]) : NULL;
        if (!part[i])
            return false;
    }
    return LLVMIsAConstantInt(part[N]) && LLVMIsNull(part[KERNEL_MAPPERS]);
}

bool ompjit__read_kernel_maps(LLVMTargetDataRef layout, LLVMValueRef call,
                              ompjit__host_maps *m)
{
    LLVMValueRef part[PARTS];
    if (!read_block(layout, call, part))
        return false;
    m->n = (unsigned)LLVMConstIntGetZExtValue(part[N]);
    m->bases = ompjit__map_array_of(part[KERNEL_BASES]);
    m->begins = ompjit__map_array_of(part[KERNEL_BEGINS]);
    m->sizes = part[KERNEL_SIZES];
    m->types = part[KERNEL_TYPES];
    return !m->n ||
           (m->bases && m->begins && LLVMIsAGlobalVariable(m->types));
}

bool ompjit__read_task_maps(LLVMTargetDataRef layout, LLVMValueRef call,
                            ompjit__host_maps *m)
{
    LLVMValueRef part[PARTS];
    if (!read_block(layout, call, part))
        return false;
    *m = (ompjit__host_maps){
        .begins = part[KERNEL_BEGINS],
        .types = part[KERNEL_TYPES],
        .n = (unsigned)LLVMConstIntGetZExtValue(part[N])};
    return LLVMIsAGlobalVariable(m->types) != NULL;
}

/* ALWAYS is the answer for types that are not known: it spoils, or keeps from
 * being a candidate, whatever is mapped so. */
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

/* Sizes are in a constant array if all are constant. Otherwise they are in a
 * local one that begins as a copy of a constant array: a size that is constant
 * then has no store of its own, and is not known. */
LLVMValueRef ompjit__map_size_at(LLVMTargetDataRef layout,
                                 const ompjit__host_maps *m, unsigned i)
{
    enum { SIZE = 8 };
    if (LLVMIsAGlobalVariable(m->sizes))
        return LLVMGetAggregateElement(LLVMGetInitializer(m->sizes), i);
    LLVMValueRef array = ompjit__map_array_of(m->sizes);
    return array ? ompjit__stored_at(layout, array, (int64_t)i * SIZE) : NULL;
}
