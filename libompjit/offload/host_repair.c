/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What clang 18 to 22 get wrong in a host half: where the section of a strided
 * `target update` has a length that is no constant, its map entry's size is
 * the number of bytes, and has to be that of dimensions. The array of
 * dimensions that the entry points to knows it. Unoptimized IR is expected.
 */
#include <string.h>

#include <llvm-c/Core.h>

#include "offload/abi.h"
#include "offload/hostjit.h"

/* The store to element i of a local array, NULL: there is none. */
static LLVMValueRef store_to(LLVMValueRef array, uint64_t i)
{
    for (LLVMUseRef u = LLVMGetFirstUse(array); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef at = LLVMGetUser(u);
        if (!LLVMIsAGetElementPtrInst(at) || LLVMGetNumOperands(at) != 3)
            continue;
        LLVMValueRef index = LLVMGetOperand(at, 2);
        if (!LLVMIsAConstantInt(index) ||
            LLVMConstIntGetZExtValue(index) != i)
            continue;
        for (LLVMUseRef s = LLVMGetFirstUse(at); s; s = LLVMGetNextUse(s)) {
            LLVMValueRef store = LLVMGetUser(s);
            if (LLVMIsAStoreInst(store) && LLVMGetOperand(store, 1) == at)
                return store;
        }
    }
    return NULL;
}

/* The local array whose element 0 an argument points at, or NULL. */
static LLVMValueRef array_of(LLVMValueRef argument)
{
    if (LLVMIsAGetElementPtrInst(argument))
        argument = LLVMGetOperand(argument, 0);
    return LLVMIsAAllocaInst(argument) ? argument : NULL;
}

/* How many { offset, count, stride } an entry points at; 0: not known. */
static uint64_t dimensions(LLVMValueRef begins, uint64_t i)
{
    LLVMValueRef store = store_to(begins, i);
    LLVMValueRef dims = store ? LLVMGetOperand(store, 0) : NULL;
    if (!dims || !LLVMIsAAllocaInst(dims))
        return 0;
    LLVMTypeRef type = LLVMGetAllocatedType(dims);
    if (LLVMGetTypeKind(type) != LLVMArrayTypeKind ||
        LLVMGetTypeKind(LLVMGetElementType(type)) != LLVMStructTypeKind ||
        LLVMCountStructElementTypes(LLVMGetElementType(type)) != 3)
        return 0;
    return LLVMGetArrayLength2(type);
}

/* Arguments of the call: location, device, n, bases, begins, sizes, types. */
static void repair_call(LLVMValueRef call)
{
    LLVMValueRef begins = array_of(LLVMGetOperand(call, 4));
    LLVMValueRef sizes = array_of(LLVMGetOperand(call, 5));
    LLVMValueRef types = LLVMGetOperand(call, 6);
    LLVMValueRef list = LLVMIsAGlobalVariable(types)
                            ? LLVMGetInitializer(types)
                            : NULL;
    if (!begins || !sizes || !list || !LLVMIsAConstantDataSequential(list))
        return;
    uint64_t n = LLVMGetArrayLength2(LLVMTypeOf(list));
    for (uint64_t i = 0; i < n; i++) {
        LLVMValueRef type = LLVMGetAggregateElement(list, (unsigned)i);
        if (!(LLVMConstIntGetZExtValue(type) & OMPJIT__MAP_NON_CONTIG))
            continue;
        LLVMValueRef store = store_to(sizes, i);
        uint64_t dims = dimensions(begins, i);
        if (store && dims)
            LLVMSetOperand(store, 0,
                           LLVMConstInt(LLVMTypeOf(LLVMGetOperand(store, 0)),
                                        dims, 0));
    }
}

void ompjit__host_repair(LLVMModuleRef m)
{
    static const char *const names[] = {
        "__tgt_target_data_update_mapper",
        "__tgt_target_data_update_nowait_mapper"};
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, names[i]);
        for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
             u = LLVMGetNextUse(u)) {
            LLVMValueRef call = LLVMGetUser(u);
            if (LLVMIsACallInst(call) && LLVMGetNumArgOperands(call) > 6)
                repair_call(call);
        }
    }
}
