/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Corrects what clang 18 to 22 get wrong in a host half: the descriptor of a
 * strided `target update`. It says where each dimension begins in elements of
 * that dimension, and its readers multiply by the stride; the offset of a
 * structure's member and of a subscript in front of the section is missing; and
 * where a length is no constant, the map entry's size is a number of bytes, not
 * of dimensions. The IR has the section's first address all the same: clang
 * stores it as the entry's pointer before it stores the descriptor there. The
 * descriptor gets that address. And it is a local variable, also where a task
 * of `nowait` reads it later: the task gets a copy, which ompjit__strided_free
 * frees. Unoptimized IR is expected.
 *
 * And what flang 22 gets wrong in a mapper: it says that the size of a section
 * is a multiple of its elements' size, which it need not be, and LLVM divides
 * by a multiplication that then gives any number.
 *
 * For `target update to(a[2:4:3])` of doubles, clang stores in the descriptor
 *
 *   { offset 2, count 4, stride 24 }, { offset 0, count 1, stride 8 }
 *
 * whose bytes a reader would take to begin at 2 * 24. Behind the repair it has
 *
 *   { OMPJIT__SECTION_BEGINS + 2, 4, 24 }, { &a[2], 1, 8 }
 *
 * and mapping/strided.c, which reads descriptors, takes the address.
 */
#include <string.h>

#include <llvm-c/Core.h>

#include "abi/offload.h"
#include "frontend/dialect/dialect.h"
#include "passes/hosthalf/hosthalf.h"

enum field { OFFSET, COUNT, STRIDE, FIELDS }; /* ompjit__dimension */

/* Is it a local array of descriptors of dimensions? */
static bool is_descriptor(LLVMValueRef v)
{
    static const char name[] = "struct.descriptor_dim";
    LLVMTypeRef type = LLVMIsAAllocaInst(v) ? LLVMGetAllocatedType(v) : NULL;
    if (!type || LLVMGetTypeKind(type) != LLVMArrayTypeKind)
        return false;
    LLVMTypeRef element = LLVMGetElementType(type);
    if (LLVMGetTypeKind(element) != LLVMStructTypeKind ||
        LLVMCountStructElementTypes(element) != FIELDS)
        return false;
    const char *is = LLVMGetStructName(element);
    return is && !strncmp(is, name, strlen(name));
}

/* The number of the element that a pointer into `array` points to; -1: none. */
static int64_t element_of(LLVMValueRef pointer, LLVMValueRef array)
{
    if (!LLVMIsAGetElementPtrInst(pointer) ||
        LLVMGetOperand(pointer, 0) != array ||
        LLVMGetNumOperands(pointer) != 3 ||
        !LLVMIsAConstantInt(LLVMGetOperand(pointer, 2)))
        return -1;
    return LLVMConstIntGetSExtValue(LLVMGetOperand(pointer, 2));
}

/* The store to a field of dimension `at`, NULL: there is none. clang addresses
 * it by two GEPs, of the dimension and of the field, each with one use. */
static LLVMValueRef store_to_field(LLVMValueRef dims, int64_t at,
                                   enum field field)
{
    for (LLVMUseRef u = LLVMGetFirstUse(dims); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef dim = LLVMGetUser(u);
        if (element_of(dim, dims) != at)
            continue;
        for (LLVMUseRef v = LLVMGetFirstUse(dim); v; v = LLVMGetNextUse(v)) {
            LLVMValueRef p = LLVMGetUser(v);
            LLVMUseRef s = LLVMGetFirstUse(p);
            if (element_of(p, dim) == (int64_t)field && s &&
                LLVMIsAStoreInst(LLVMGetUser(s)))
                return LLVMGetUser(s);
        }
    }
    return NULL;
}

/* The store of the descriptor into an array of pointers: its entry's begin. */
static LLVMValueRef store_of(LLVMValueRef dims)
{
    for (LLVMUseRef u = LLVMGetFirstUse(dims); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        if (LLVMIsAStoreInst(store) && LLVMGetOperand(store, 0) == dims)
            return store;
    }
    return NULL;
}

/* The value that is stored before `store`, in its block, to the same place; or
 * NULL. */
static LLVMValueRef stored_before(LLVMValueRef store)
{
    LLVMValueRef to = LLVMGetOperand(store, 1);
    if (!LLVMIsAGetElementPtrInst(to))
        return NULL;
    LLVMValueRef array = LLVMGetOperand(to, 0), i = store;
    int64_t at = element_of(to, array);
    do
        i = at < 0 ? NULL : LLVMGetPreviousInstruction(i);
    while (i && (!LLVMIsAStoreInst(i) ||
                 element_of(LLVMGetOperand(i, 1), array) != at));
    return i ? LLVMGetOperand(i, 0) : NULL;
}

/* Does the function call one of that name? */
static bool calls(LLVMValueRef function, const char *name)
{
    LLVMValueRef callee =
        LLVMGetNamedFunction(LLVMGetGlobalParent(function), name);
    for (LLVMUseRef u = callee ? LLVMGetFirstUse(callee) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (LLVMIsACallInst(call) &&
            LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)) ==
                function)
            return true;
    }
    return false;
}

/* malloc, unless the program has one of its own; or NULL. */
static LLVMValueRef malloc_of(LLVMModuleRef m, LLVMTypeRef *type)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef word = LLVMInt64TypeInContext(c);
    *type = LLVMFunctionType(LLVMPointerTypeInContext(c, 0), &word, 1, 0);
    LLVMValueRef f = LLVMGetNamedFunction(m, "malloc");
    if (!f)
        f = LLVMAddFunction(m, "malloc", *type);
    return LLVMIsDeclaration(f) ? f : NULL;
}

/* A task's update may begin after the function has returned whose variable the
 * descriptor is: has `store` store a copy. False: no task makes the update. */
static bool copy_for_task(LLVMBuilderRef b, LLVMValueRef dims,
                          LLVMValueRef store)
{
    LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(store));
    LLVMModuleRef m = LLVMGetGlobalParent(f);
    LLVMTypeRef type;
    if (!calls(f, "__kmpc_omp_target_task_alloc") &&
        !calls(f, "__kmpc_omp_task_alloc"))
        return false;
    LLVMValueRef allocate = malloc_of(m, &type);
    if (!allocate)
        return false;
    LLVMValueRef size = LLVMSizeOf(LLVMGetAllocatedType(dims));
    LLVMValueRef copy = LLVMBuildCall2(b, type, allocate, &size, 1, "");
    LLVMBuildMemCpy(b, copy, 8, dims, 8, size);
    LLVMSetOperand(store, 0, copy);
    return true;
}

/* Writes the section's address, and how many dimensions there are, in place of
 * offsets. */
static void tell_begin(LLVMBuilderRef b, LLVMValueRef dims)
{
    uint64_t n = LLVMGetArrayLength2(LLVMGetAllocatedType(dims));
    LLVMValueRef store = store_of(dims);
    LLVMValueRef begin = store ? stored_before(store) : NULL;
    LLVMValueRef first = store_to_field(dims, 0, OFFSET);
    LLVMValueRef last = store_to_field(dims, (int64_t)n - 1, OFFSET);
    if (!begin || !first || !last || first == last)
        return;
    LLVMTypeRef word = LLVMTypeOf(LLVMGetOperand(first, 0));
    LLVMPositionBuilderBefore(b, store);
    LLVMBuildStore(b, LLVMBuildPtrToInt(b, begin, word, ""),
                   LLVMGetOperand(last, 1));
    uint64_t head = OMPJIT__SECTION_BEGINS | n;
    if (copy_for_task(b, dims, store))
        head |= OMPJIT__SECTION_IS_COPY;
    LLVMSetOperand(first, 0, LLVMConstInt(word, head, 0));
}

/* The descriptors of one block; the function's entry block has all allocas. */
static void repair_block(LLVMBuilderRef b, LLVMBasicBlockRef block)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
         i = LLVMGetNextInstruction(i))
        if (is_descriptor(i))
            tell_begin(b, i);
}

/* ---------------------------------------------------------------- mappers */

/* Takes `exact` from all divisions. LLVM computes an exact division by 24 as a
 * shift and a multiplication by the inverse of 3, modulo 2^64: that is right
 * only for multiples of 24. */
static void drop_exact(LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMGetInstructionOpcode(i) == LLVMUDiv ||
                LLVMGetInstructionOpcode(i) == LLVMSDiv)
                LLVMSetExact(i, false);
}

/* A mapper is a function that pushes components to the runtime: nothing else in
 * a host half calls this. */
static void repair_mappers(LLVMModuleRef m)
{
    LLVMValueRef push = LLVMGetNamedFunction(m, "__tgt_push_mapper_component");
    for (LLVMUseRef u = push ? LLVMGetFirstUse(push) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (LLVMIsACallInst(call))
            drop_exact(LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)));
    }
}

/* Does nothing to IR that is not as clang makes it: then a step finds no store
 * or no descriptor of the kind that it looks for. */
void ompjit__host_repair(LLVMModuleRef m)
{
    repair_mappers(m);
    ompjit__repair_names(m);
    for (LLVMValueRef f = ompjit__is_flang(m) ? LLVMGetFirstFunction(m) : NULL;
         f; f = LLVMGetNextFunction(f))
        ompjit__repair_absent_dummies(f);
    ompjit__repair_device_addresses(m);
    static const char *const names[] = {
        "__tgt_target_data_update_mapper",
        "__tgt_target_data_update_nowait_mapper"};
    bool updates = false;
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++)
        updates |= LLVMGetNamedFunction(m, names[i]) != NULL;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        ompjit__repair_sections(f);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef f = updates ? LLVMGetFirstFunction(m) : NULL; f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            repair_block(b, LLVMGetEntryBasicBlock(f)); /* has the allocas */
    LLVMDisposeBuilder(b);
}
