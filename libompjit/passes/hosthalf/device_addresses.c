/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Corrects what flang 22 makes of use_device_addr and use_device_ptr for arrays
 * that have a descriptor, allocatables, pointers and dummies of assumed shape.
 * In the region such an array is to be at its device address. flang asks the
 * runtime for an address, and takes what it gets for the address of a
 * descriptor:
 *
 *   store ptr %descriptor, ptr %slot       ; of the map entry's base
 *   call void @__tgt_target_data_begin_mapper(...)
 *   %region = load ptr, ptr %slot
 *
 * It gets that of the array itself for an allocatable, whose elements the program
 * then reads as a descriptor. Of a dummy, or where the construct maps the array
 * too, it gets the address of a copy of the descriptor on the device, which a
 * host cannot read, and which has the address of the array on the host. Behind
 * the repair the runtime is asked for the array's address, and the region has a
 * copy of the descriptor with that address.
 *
 * Where a clause `if` is false, flang leaves the region's statements out. The
 * region then begins on the initial device, which maps nothing.
 *
 * And has_device_addr of what has no descriptor passes its address as a literal,
 * to whose entry flang gives the size of the variable, or of an array's element:
 * of 4 bytes it would be half an address. Other literals of flang's are implicit.
 *
 *   @.offload_sizes    = private constant [2 x i64] [i64 4, i64 4]
 *   @.offload_maptypes = private constant [2 x i64] [i64 800, i64 288]
 *
 * A descriptor begins with { address, element size, version, rank, type,
 * attribute, extra }, and has three numbers for each dimension. An addendum, of
 * two words, follows where `extra` says so.
 */
#include <string.h>

#include <llvm-c/Core.h>

#include "abi/offload.h"
#include "frontend/dialect/dialect.h"
#include "passes/hosthalf/hosthalf.h"

enum { RANK_AT = 20, EXTRA_AT = 23, HEAD = 24, DIMENSION = 24, ADDENDUM = 16,
       MAX_RANK = 15, HAS_ADDENDUM = 1 };

/* The operands of the call that begins a data region. */
enum { DEVICE = 1, BASES = 3, POINTERS = 4, SIZES = 5, TYPES = 6 };

/* The operand of the call that runs a kernel, and fields of what it points to. */
enum { ARGUMENTS = 5, KERNEL_SIZES = 4, KERNEL_TYPES = 5 };

#define INITIAL_DEVICE "omp_get_initial_device"

/* A map entry of one construct. */
struct entry {
    LLVMValueRef call;
    unsigned at;
    LLVMValueRef condition; /* of its clause `if`; NULL: none */
};

/* The local array whose first element the value is the address of. */
static LLVMValueRef array_at(LLVMValueRef v)
{
    if (LLVMIsAGetElementPtrInst(v))
        v = LLVMGetOperand(v, 0);
    return LLVMIsAAllocaInst(v) ? v : NULL;
}

static LLVMValueRef array_of(LLVMValueRef call, unsigned operand)
{
    return array_at(LLVMGetOperand(call, operand));
}

static bool is_slot(LLVMValueRef gep, unsigned at)
{
    enum { OPERANDS = 3 };
    LLVMValueRef n = LLVMIsAGetElementPtrInst(gep) &&
                             LLVMGetNumOperands(gep) == OPERANDS
                         ? LLVMGetOperand(gep, 2)
                         : NULL;
    return n && LLVMIsAConstantInt(n) && LLVMConstIntGetZExtValue(n) == at;
}

/* The users of the address of element `at` of a local array. */
struct walk {
    LLVMUseRef use, inner;
    unsigned at;
};

static struct walk walk_slot(LLVMValueRef array, unsigned at)
{
    return (struct walk){array ? LLVMGetFirstUse(array) : NULL, NULL, at};
}

static LLVMValueRef next_user(struct walk *w)
{
    while (w->use || w->inner) {
        if (w->inner) {
            LLVMValueRef user = LLVMGetUser(w->inner);
            w->inner = LLVMGetNextUse(w->inner);
            return user;
        }
        LLVMValueRef gep = LLVMGetUser(w->use);
        w->use = LLVMGetNextUse(w->use);
        if (is_slot(gep, w->at))
            w->inner = LLVMGetFirstUse(gep);
    }
    return NULL;
}

/* The only value that is stored there; NULL: none, or several. */
static LLVMValueRef only_store(LLVMValueRef array, unsigned at)
{
    LLVMValueRef found = NULL;
    struct walk w = walk_slot(array, at);
    for (LLVMValueRef i; (i = next_user(&w));) {
        if (!LLVMIsAStoreInst(i))
            continue;
        if (found)
            return NULL;
        found = i;
    }
    return found;
}

/* --------------------------------------------------------------- constants */

/* The constant array that the value is, or that the local array is filled
 * from. */
static LLVMValueRef constants_at(LLVMValueRef v)
{
    LLVMValueRef local = array_at(v);
    for (LLVMUseRef u = local ? LLVMGetFirstUse(local) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef copy = LLVMGetUser(u);
        if (LLVMIsAMemCpyInst(copy) && LLVMGetOperand(copy, 0) == local)
            v = LLVMGetOperand(copy, 1);
    }
    return LLVMIsAGlobalVariable(v) && LLVMIsGlobalConstant(v) &&
                   LLVMGetInitializer(v)
               ? v
               : NULL;
}

static LLVMValueRef constants_of(LLVMValueRef call, unsigned operand)
{
    return constants_at(LLVMGetOperand(call, operand));
}

static unsigned length_of(LLVMValueRef constants)
{
    return constants ? LLVMGetArrayLength(
                           LLVMTypeOf(LLVMGetInitializer(constants)))
                     : 0;
}

static uint64_t type_of(LLVMValueRef types, unsigned at)
{
    return LLVMConstIntGetZExtValue(
        LLVMGetAggregateElement(LLVMGetInitializer(types), at));
}

static void set_constant(LLVMValueRef global, unsigned at, uint64_t value)
{
    enum { MOST = 4096 };
    LLVMValueRef old = LLVMGetInitializer(global), all[MOST];
    LLVMTypeRef word = LLVMInt64TypeInContext(
        LLVMGetTypeContext(LLVMTypeOf(global)));
    const unsigned n = LLVMGetArrayLength(LLVMTypeOf(old));
    if (n > MOST)
        return;
    for (unsigned i = 0; i < n; i++)
        all[i] = i == at ? LLVMConstInt(word, value, 0)
                         : LLVMGetAggregateElement(old, i);
    LLVMSetInitializer(global, LLVMConstArray2(word, all, n));
}

/* ------------------------------------------------------------- descriptors */

static LLVMValueRef byte_at(LLVMBuilderRef b, LLVMValueRef p, uint64_t at,
                            LLVMTypeRef word)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(LLVMGetTypeContext(word));
    LLVMValueRef i = LLVMConstInt(word, at, 0);
    LLVMValueRef v = LLVMBuildLoad2(
        b, byte, LLVMBuildInBoundsGEP2(b, byte, p, &i, 1, ""), "");
    return LLVMBuildZExt(b, v, word, "");
}

/* Its size in bytes. */
static LLVMValueRef size_of(LLVMBuilderRef b, LLVMValueRef descriptor,
                            LLVMTypeRef word)
{
    LLVMValueRef rank = byte_at(b, descriptor, RANK_AT, word);
    LLVMValueRef extra = byte_at(b, descriptor, EXTRA_AT, word);
    LLVMValueRef more = LLVMBuildMul(
        b, LLVMBuildAnd(b, extra, LLVMConstInt(word, HAS_ADDENDUM, 0), ""),
        LLVMConstInt(word, ADDENDUM, 0), "");
    LLVMValueRef dims = LLVMBuildMul(
        b, rank, LLVMConstInt(word, DIMENSION, 0), "");
    return LLVMBuildAdd(b, LLVMBuildAdd(b, dims, more, ""),
                        LLVMConstInt(word, HEAD, 0), "");
}

/* Room for a descriptor of any rank, for the whole function. */
static LLVMValueRef room(LLVMBuilderRef b, LLVMValueRef function)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(
        LLVMGetTypeContext(LLVMTypeOf(function)));
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(entry));
    LLVMValueRef copy = LLVMBuildAlloca(
        b, LLVMArrayType2(byte, HEAD + MAX_RANK * DIMENSION + ADDENDUM), "");
    LLVMSetAlignment(copy, 8);
    return copy;
}

/* Makes the region's descriptor in front of `before`: the program's, with the
 * address that the runtime has stored in place of entry `at`'s base, if it was
 * asked. */
static void fill(LLVMBuilderRef b, LLVMValueRef copy, LLVMValueRef descriptor,
                 const struct entry *e, unsigned at, LLVMValueRef before)
{
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(copy));
    LLVMTypeRef word = LLVMInt64TypeInContext(c);
    LLVMValueRef index = LLVMConstInt(word, at, 0);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(c, 0);
    LLVMPositionBuilderBefore(b, before);
    LLVMBuildMemCpy(b, copy, 8, descriptor, 8, size_of(b, descriptor, word));
    LLVMValueRef slot = LLVMBuildInBoundsGEP2(
        b, pointer, array_of(e->call, BASES), &index, 1, "");
    LLVMValueRef address = LLVMBuildLoad2(b, pointer, slot, "");
    if (e->condition)
        address = LLVMBuildSelect(
            b, e->condition, address,
            LLVMBuildLoad2(b, pointer, descriptor, ""), "");
    LLVMBuildStore(b, address, copy);
}

/* ----------------------------------------------------------------- entries */

bool ompjit__is_local_descriptor(LLVMValueRef v)
{
    static const LLVMTypeKind kinds[] = {
        LLVMPointerTypeKind, LLVMIntegerTypeKind, LLVMIntegerTypeKind,
        LLVMIntegerTypeKind, LLVMIntegerTypeKind, LLVMIntegerTypeKind,
        LLVMIntegerTypeKind};
    static const unsigned bits[] = {0, 64, 32, 8, 8, 8, 8};
    LLVMTypeRef type = LLVMIsAAllocaInst(v) ? LLVMGetAllocatedType(v) : NULL;
    if (!type || LLVMGetTypeKind(type) != LLVMStructTypeKind ||
        LLVMCountStructElementTypes(type) < OMPJIT__COUNT(kinds))
        return false;
    for (unsigned i = 0; i < OMPJIT__COUNT(kinds); i++) {
        LLVMTypeRef field = LLVMStructGetTypeAtIndex(type, i);
        if (LLVMGetTypeKind(field) != kinds[i] ||
            (bits[i] && LLVMGetIntTypeWidth(field) != bits[i]))
            return false;
    }
    return true;
}

/* Has the runtime asked for the address of the array in place of the
 * descriptor's. */
static void ask_for_array(LLVMBuilderRef b, const struct entry *e,
                          LLVMValueRef descriptor, LLVMValueRef types,
                          LLVMValueRef sizes)
{
    LLVMTypeRef pointer = LLVMTypeOf(descriptor);
    for (unsigned operand = BASES; operand <= POINTERS; operand++) {
        LLVMValueRef store = only_store(array_of(e->call, operand), e->at);
        LLVMPositionBuilderBefore(b, store);
        LLVMSetOperand(store, 0, LLVMBuildLoad2(b, pointer, descriptor, ""));
    }
    set_constant(types, e->at, OMPJIT__MAP_RETURN_PARAM);
    set_constant(sizes, e->at, 0);
}

/* The value, or that of which it is the address of the first field, or that which
 * absent_dummies.c gives a construct where a dummy is present. */
static LLVMValueRef without_zeros(LLVMValueRef v)
{
    if (LLVMIsASelectInst(v))
        v = LLVMGetOperand(v, 1);
    bool zeros = LLVMIsAGetElementPtrInst(v);
    for (int i = 1; zeros && i < LLVMGetNumOperands(v); i++)
        zeros = LLVMIsNull(LLVMGetOperand(v, (unsigned)i));
    return zeros ? LLVMGetOperand(v, 0) : v;
}

/* The entry of the array behind the descriptor; n: there is none. */
static unsigned array_entry(LLVMValueRef call, LLVMValueRef types, unsigned n,
                            LLVMValueRef descriptor)
{
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef store = only_store(array_of(call, BASES), i);
        if (store && type_of(types, i) & OMPJIT__MAP_PTR_AND_OBJ &&
            without_zeros(LLVMGetOperand(store, 0)) == descriptor)
            return i;
    }
    return n;
}

/* The region's descriptor; null where that of an absent dummy is stored. */
static LLVMValueRef present_or_null(LLVMBuilderRef b, LLVMValueRef copy,
                                    LLVMValueRef stored)
{
    return LLVMIsASelectInst(stored)
               ? LLVMBuildSelect(b, LLVMGetOperand(stored, 0), copy,
                                 LLVMConstNull(LLVMTypeOf(copy)), "")
               : copy;
}

/* The region's loads of the entry's address get a descriptor. Where no entry is
 * the array's, a local descriptor's own becomes that. */
static void repair_entry(LLVMBuilderRef b, const struct entry *e,
                         LLVMValueRef types, unsigned n)
{
    LLVMValueRef bases = array_of(e->call, BASES), copy = NULL, load;
    LLVMValueRef store = only_store(bases, e->at);
    LLVMValueRef stored = store ? LLVMGetOperand(store, 0) : NULL;
    LLVMValueRef descriptor = stored ? without_zeros(stored) : NULL;
    LLVMValueRef sizes = constants_of(e->call, SIZES);
    if (!descriptor || !only_store(array_of(e->call, POINTERS), e->at))
        return;
    unsigned array = array_entry(e->call, types, n, descriptor);
    if (array == n && (!ompjit__is_local_descriptor(descriptor) || !sizes))
        return;
    LLVMValueRef function = LLVMGetBasicBlockParent(
        LLVMGetInstructionParent(e->call));
    struct walk w = walk_slot(bases, e->at);
    while ((load = next_user(&w))) {
        if (!LLVMIsALoadInst(load) || !LLVMGetFirstUse(load))
            continue;
        if (!copy)
            copy = room(b, function);
        fill(b, copy, descriptor, e, array < n ? array : e->at, load);
        LLVMReplaceAllUsesWith(load, present_or_null(b, copy, stored));
    }
    if (copy && array == n)
        ask_for_array(b, e, descriptor, types, sizes);
    else if (copy)
        set_constant(types, array, type_of(types, array) |
                                       OMPJIT__MAP_RETURN_PARAM);
}

/* ------------------------------------------------------------------ regions */

/* Does a branch of that condition lead from the block to the end of a data
 * region? */
static bool ends_region(LLVMBasicBlockRef block, LLVMValueRef condition)
{
    size_t n;
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    if (!LLVMIsABranchInst(last) || !LLVMIsConditional(last) ||
        LLVMGetCondition(last) != condition)
        return false;
    LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetSuccessor(last, 0));
    for (; i; i = LLVMGetNextInstruction(i))
        if (LLVMIsACallInst(i) &&
            !strcmp(LLVMGetValueName2(LLVMGetCalledValue(i), &n),
                    "__tgt_target_data_end_mapper"))
            return true;
    return false;
}

/* The branch of the clause `if` that alone leads to the block. On its other side
 * nothing happens before the branch of the region's end, which has the same
 * condition. NULL: the construct has no such clause. */
static LLVMValueRef branch_to(LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    LLVMValueRef branch = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    if (!branch || !LLVMIsABranchInst(branch) || !LLVMIsConditional(branch) ||
        LLVMGetSuccessor(branch, 0) != block)
        return NULL;
    LLVMValueRef other = LLVMGetFirstInstruction(LLVMGetSuccessor(branch, 1));
    return LLVMIsABranchInst(other) && !LLVMIsConditional(other) &&
                   ends_region(LLVMGetSuccessor(other, 0),
                               LLVMGetCondition(branch))
               ? branch
               : NULL;
}

/* Has the region begin in any case: on the initial device where the condition
 * is false. Returns the condition. */
static LLVMValueRef begin_always(LLVMBuilderRef b, LLVMValueRef call,
                                 LLVMValueRef branch)
{
    LLVMModuleRef m = LLVMGetGlobalParent(LLVMGetBasicBlockParent(
        LLVMGetInstructionParent(call)));
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMValueRef condition = LLVMGetCondition(branch);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMInt32TypeInContext(c), NULL, 0, false);
    LLVMValueRef initial = LLVMGetNamedFunction(m, INITIAL_DEVICE);
    if (!initial)
        initial = LLVMAddFunction(m, INITIAL_DEVICE, type);
    LLVMPositionBuilderBefore(b, call);
    LLVMValueRef number = LLVMBuildSExt(
        b, LLVMBuildCall2(b, type, initial, NULL, 0, ""),
        LLVMInt64TypeInContext(c), "");
    LLVMSetOperand(call, DEVICE,
                   LLVMBuildSelect(b, condition, LLVMGetOperand(call, DEVICE),
                                   number, ""));
    LLVMPositionBuilderBefore(b, branch);
    LLVMBuildBr(b, LLVMGetSuccessor(branch, 0));
    LLVMInstructionEraseFromParent(branch);
    return condition;
}

/* Is an address that the call may have returned used? Then flang has made one
 * version of the statements. */
static bool returns_used(LLVMValueRef call, unsigned n)
{
    LLVMValueRef bases = array_of(call, BASES);
    for (unsigned i = 0; i < n; i++) {
        struct walk w = walk_slot(bases, i);
        for (LLVMValueRef user; (user = next_user(&w));)
            if (LLVMIsALoadInst(user))
                return true;
    }
    return false;
}

static void repair_data(LLVMValueRef call)
{
    LLVMValueRef types = constants_of(call, TYPES);
    unsigned n = length_of(types);
    if (!returns_used(call, n))
        return;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(
        LLVMGetTypeContext(LLVMTypeOf(call)));
    LLVMValueRef branch = branch_to(LLVMGetInstructionParent(call));
    LLVMValueRef condition = branch ? begin_always(b, call, branch) : NULL;
    for (unsigned i = 0; i < n; i++) {
        const struct entry e = {call, i, condition};
        repair_entry(b, &e, types, n);
    }
    LLVMDisposeBuilder(b);
}

/* ----------------------------------------------------------------- kernels */

static bool is_address(uint64_t type)
{
    return type & OMPJIT__MAP_LITERAL && !(type & OMPJIT__MAP_IMPLICIT);
}

/* A field of the structure that a kernel's arguments are in. */
static LLVMValueRef kernel_constants(LLVMValueRef call, unsigned field)
{
    LLVMValueRef store = only_store(LLVMGetOperand(call, ARGUMENTS), field);
    return store ? constants_at(LLVMGetOperand(store, 0)) : NULL;
}

static void repair_kernel(LLVMValueRef call)
{
    LLVMValueRef types = kernel_constants(call, KERNEL_TYPES);
    LLVMValueRef sizes = kernel_constants(call, KERNEL_SIZES);
    const unsigned n = length_of(types);
    for (unsigned i = 0; i < n && n == length_of(sizes); i++)
        if (is_address(type_of(types, i)))
            set_constant(sizes, i, sizeof(uint64_t));
}

/* Calls `repair` for every call of the function. */
static void each_call(LLVMModuleRef m, const char *name,
                      void (*repair)(LLVMValueRef))
{
    LLVMValueRef function = LLVMGetNamedFunction(m, name);
    for (LLVMUseRef u = function ? LLVMGetFirstUse(function) : NULL; u;
         u = LLVMGetNextUse(u))
        if (LLVMIsACallInst(LLVMGetUser(u)))
            repair(LLVMGetUser(u));
}

void ompjit__repair_device_addresses(LLVMModuleRef m)
{
    if (!ompjit__is_flang(m))
        return;
    each_call(m, "__tgt_target_data_begin_mapper", repair_data);
    each_call(m, "__tgt_target_kernel", repair_kernel);
}
