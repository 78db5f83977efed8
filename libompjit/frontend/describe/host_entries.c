/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads what a host half tells of its kernels and variables: the offload
 * entries, and the constant arrays of map types and sizes that a launch passes.
 * Works on optimized host IR too, as far as the arrays are still constants
 * there.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "frontend/describe/describe.h"

/* ---------------------------------------------------------------- entries */

/* A constant's value; 0 for all else. */
static uint64_t number(LLVMValueRef v)
{
    return LLVMIsAConstantInt(v) ? LLVMConstIntGetZExtValue(v) : 0;
}

static LLVMValueRef object(LLVMValueRef v)
{
    return LLVMIsAGlobalValue(v) ? v : NULL;
}

/* Sections and names of clang 18 and 19, and of clang 20 on. The newer section
 * is named llvm_offload_entries, or begins so. */
bool ompjit__is_entry(LLVMValueRef global)
{
    static const char older[] = ".omp_offloading.entry.",
                      newer[] = ".offloading.entry.";
    size_t n;
    const char *section = LLVMGetSection(global);
    const char *name = LLVMGetValueName2(global, &n);
    return section && LLVMGetInitializer(global) &&
           (!strncmp(name, older, sizeof older - 1) ||
            !strncmp(name, newer, sizeof newer - 1)) &&
           (!strcmp(section, "omp_offloading_entries") ||
            !strncmp(section, "llvm_offload_entries", 20));
}

/* The two layouts differ in number of fields:
 *
 *   clang 18, 19   { ptr address, ptr name, i64 size, i32 flags, i32 data }
 *   clang 20 on    { i64, i16 version, i16 kind, i32 flags, ptr address,
 *                    ptr name, i64 size, i64 data, ptr } */
bool ompjit__entry_read(LLVMValueRef global, ompjit__entry *out)
{
    enum { OLD_FIELDS = 5, NEW_FIELDS = 9 };
    LLVMValueRef v = LLVMGetInitializer(global);
    if (!ompjit__is_entry(global) ||
        LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMStructTypeKind)
        return false;
    unsigned n = LLVMCountStructElementTypes(LLVMTypeOf(v));
    LLVMValueRef f[NEW_FIELDS];
    for (unsigned i = 0; i < n && i < NEW_FIELDS; i++)
        f[i] = LLVMGetAggregateElement(v, i);
    if (n == OLD_FIELDS) {
        *out = (ompjit__entry){object(f[0]),           object(f[1]),
                               number(f[2]),           (uint32_t)number(f[3]),
                               number(f[4]),           true};
        return true;
    }
    if (n != NEW_FIELDS)
        return false;
    *out = (ompjit__entry){object(f[4]), object(f[5]), number(f[6]),
                           (uint32_t)number(f[3]), number(f[7]), false};
    return true;
}

bool ompjit__requires_unified(LLVMModuleRef host)
{
    enum { REQUIRES = 0x10, UNIFIED_SHARED_MEMORY = 8 };
    LLVMValueRef g = LLVMGetFirstGlobal(host);
    for (; g; g = LLVMGetNextGlobal(g)) {
        ompjit__entry entry;
        if (ompjit__entry_read(g, &entry) && entry.flags & REQUIRES &&
            entry.data & UNIFIED_SHARED_MEMORY)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------- addresses */

/* The module of an instruction, a parameter, a function or a variable. A base
 * may be any of them: front ends differ in what they make the arrays. */
static LLVMModuleRef module_of(LLVMValueRef v)
{
    if (LLVMIsAInstruction(v))
        v = LLVMGetBasicBlockParent(LLVMGetInstructionParent(v));
    else if (LLVMIsAArgument(v))
        v = LLVMGetParamParent(v);
    return LLVMIsAGlobalValue(v) ? LLVMGetGlobalParent(v) : NULL;
}

/* Byte offset of p from base through constant GEPs; -1 if p is not that. */
static int64_t offset_from(LLVMValueRef p, LLVMValueRef base)
{
    if (p == base)
        return 0;
    bool gep = LLVMIsAGetElementPtrInst(p) ||
               (LLVMIsAConstantExpr(p) &&
                LLVMGetConstOpcode(p) == LLVMGetElementPtr);
    if (!gep || LLVMGetOperand(p, 0) != base)
        return -1;
    LLVMModuleRef m = module_of(base);
    if (!m)
        return -1;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(m);
    LLVMTypeRef type = LLVMGetGEPSourceElementType(p);
    int64_t offset = 0;
    for (int i = 1; i < LLVMGetNumOperands(p); i++) {
        LLVMValueRef index = LLVMGetOperand(p, (unsigned)i);
        if (!LLVMIsAConstantInt(index))
            return -1;
        uint64_t k = LLVMConstIntGetZExtValue(index);
        if (i == 1) {
            offset += (int64_t)(k * LLVMABISizeOfType(layout, type));
        } else if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            offset += (int64_t)LLVMOffsetOfElement(layout, type, (unsigned)k);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)k);
        } else {
            type = LLVMGetElementType(type);
            offset += (int64_t)(k * LLVMABISizeOfType(layout, type));
        }
    }
    return offset;
}

int64_t ompjit__store_offset(LLVMValueRef store, LLVMValueRef args)
{
    return offset_from(LLVMGetOperand(store, 1), args);
}

/* The value that the launch's function stores into its argument block
 * (KernelArgsTy, abi/offload.h) at an offset; NULL: none. clang has a block for
 * each launch, and stores each field once. */
static LLVMValueRef stored(LLVMValueRef args, int64_t offset)
{
    LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(args));
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
    for (; block; block = LLVMGetNextBasicBlock(block)) {
        LLVMValueRef i = LLVMGetFirstInstruction(block);
        for (; i; i = LLVMGetNextInstruction(i))
            if (LLVMIsAStoreInst(i) && ompjit__store_offset(i, args) == offset)
                return LLVMGetOperand(i, 0);
    }
    return NULL;
}

/* ---------------------------------------------------------------- arrays */

/* The object that p is the first byte of, where p is a GEP of it. Arrays decay
 * to `getelementptr [n x i64], ptr %array, i32 0, i32 0`. */
static LLVMValueRef first_of(LLVMValueRef p)
{
    if (p && LLVMIsAGetElementPtrInst(p) &&
        offset_from(p, LLVMGetOperand(p, 0)) == 0)
        return LLVMGetOperand(p, 0);
    return p;
}

/* The constant that a local array is filled with before some of its elements
 * are computed. */
static LLVMValueRef template_of(LLVMValueRef array)
{
    LLVMUseRef use = LLVMGetFirstUse(array);
    for (; use; use = LLVMGetNextUse(use)) {
        LLVMValueRef call = LLVMGetUser(use);
        if (LLVMIsAMemCpyInst(call) && LLVMGetOperand(call, 0) == array)
            return LLVMGetOperand(call, 1);
    }
    return NULL;
}

/* The constant array that p points to: a global's value, or the one that a
 * local array begins with. NULL: it is not constant. */
static LLVMValueRef array_of(LLVMValueRef p)
{
    p = first_of(p);
    if (p && LLVMIsAAllocaInst(p))
        p = template_of(p);
    if (!p || !LLVMIsAGlobalVariable(p) || !LLVMIsGlobalConstant(p))
        return NULL;
    LLVMValueRef v = LLVMGetInitializer(p);
    return v && LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMArrayTypeKind ? v : NULL;
}

/* Element i; 0 where it is not constant, or past the end. */
static uint64_t element(LLVMValueRef array, unsigned i)
{
    if (!array || i >= LLVMGetArrayLength2(LLVMTypeOf(array)))
        return 0;
    LLVMValueRef v = LLVMGetAggregateElement(array, i);
    return v ? number(v) : 0;
}

/* ---------------------------------------------------------------- launch */

/* __tgt_target_kernel(loc, device, num_teams, thread_limit, region id,
 * KernelArgsTy *args). The id is a global of its own for each region, which the
 * launch alone uses. */
enum { NUM_TEAMS = 2, THREAD_LIMIT, REGION_ID, KERNEL_ARGS = 5 };

static LLVMValueRef find_launch(LLVMValueRef id)
{
    LLVMUseRef use = LLVMGetFirstUse(id);
    for (; use; use = LLVMGetNextUse(use)) {
        LLVMValueRef call = LLVMGetUser(use);
        if ((LLVMIsACallInst(call) || LLVMIsAInvokeInst(call)) &&
            LLVMGetNumArgOperands(call) == KERNEL_ARGS + 1 &&
            LLVMGetOperand(call, REGION_ID) == id &&
            LLVMIsAAllocaInst(LLVMGetOperand(call, KERNEL_ARGS)))
            return call;
    }
    return NULL;
}

/* clang's name of the id of a kernel's region; NULL: the half has none. */
static LLVMValueRef region_id(LLVMModuleRef host, const char *symbol)
{
    char *name = ompjit__format(".%s.region_id", symbol);
    LLVMValueRef id = name ? LLVMGetNamedGlobal(host, name) : NULL;
    free(name);
    return id;
}

/* The number of the element that an address is of, in an array of n pointers;
 * n: none. */
static unsigned element_at(LLVMValueRef address, LLVMValueRef array, unsigned n)
{
    int64_t offset = offset_from(address, array);
    return offset < 0 || offset % 8 || offset / 8 >= n ? n
                                                       : (unsigned)offset / 8;
}

/* The values that the launch's function stores into the array of base pointers,
 * to passed[i]. The address of element 0 may be the array's own; those of the
 * others are GEPs of it. */
static void find_passed(LLVMValueRef array, ompjit__host_args *out)
{
    if (!array || !LLVMIsAAllocaInst(array))
        return;
    for (LLVMUseRef u = LLVMGetFirstUse(array); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef at = LLVMGetUser(u);
        bool gep = LLVMIsAGetElementPtrInst(at);
        LLVMUseRef first = gep ? LLVMGetFirstUse(at) : u;
        for (LLVMUseRef s = first; s; s = gep ? LLVMGetNextUse(s) : NULL) {
            LLVMValueRef store = LLVMGetUser(s);
            if (!LLVMIsAStoreInst(store))
                continue;
            unsigned i = element_at(LLVMGetOperand(store, 1), array, out->n);
            if (i < out->n)
                out->passed[i] = LLVMGetOperand(store, 0);
        }
    }
}

void ompjit__host_args_free(ompjit__host_args *args)
{
    free(args->types);
    free(args->sizes);
    free(args->passed);
    *args = (ompjit__host_args){0};
}

ompjit_status ompjit__host_args_find(LLVMModuleRef host, const char *symbol,
                                     ompjit__host_args *out,
                                     ompjit_error *err)
{
    /* Byte offsets in KernelArgsTy (abi/offload.h). */
    enum { NUM_ARGS = 4, BASE_POINTERS = 8, ARG_SIZES = 24, ARG_TYPES = 32 };
    *out = (ompjit__host_args){0};
    LLVMValueRef id = region_id(host, symbol);
    LLVMValueRef call = id ? find_launch(id) : NULL;
    LLVMValueRef args = call ? LLVMGetOperand(call, KERNEL_ARGS) : NULL;
    LLVMValueRef count = args ? stored(args, NUM_ARGS) : NULL;
    LLVMValueRef types = args ? array_of(stored(args, ARG_TYPES)) : NULL;
    LLVMValueRef sizes = args ? array_of(stored(args, ARG_SIZES)) : NULL;
    int32_t teams = call ? (int32_t)number(LLVMGetOperand(call, NUM_TEAMS)) : 0;
    out->known = call != NULL;
    out->teams = teams < 0 ? 1 : (uint32_t)teams; /* -1: no teams construct */
    out->threads = call ? (uint32_t)number(LLVMGetOperand(call, THREAD_LIMIT))
                        : 0;
    unsigned n = count ? (unsigned)number(count) : 0;
    if (!n || !types || LLVMGetArrayLength2(LLVMTypeOf(types)) != n)
        return OMPJIT_OK;
    out->types = calloc(n, sizeof *out->types);
    out->sizes = calloc(n, sizeof *out->sizes);
    out->passed = calloc(n, sizeof *out->passed);
    if (!out->types || !out->sizes || !out->passed) {
        ompjit__host_args_free(out);
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    }
    out->n = n;
    find_passed(first_of(stored(args, BASE_POINTERS)), out);
    for (unsigned i = 0; i < n; i++) {
        out->types[i] = element(types, i);
        out->sizes[i] = element(sizes, i);
    }
    return OMPJIT_OK;
}
