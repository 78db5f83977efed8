/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Does a kernel take pointers from memory that was there before it? Such a
 * pointer, attached in a struct or kept in a variable, may lead to what another
 * argument points to, whatever the launch's map clauses say. Pointers that the
 * kernel itself has put somewhere come from its arguments.
 *
 * Memory of the kernel's own is trusted to have only such pointers. So a copy
 * into it from other memory counts as a pointer taken, and so does a number of
 * a pointer's size: instcombine makes a load and a store of an i64 of a memcpy
 * of 8 bytes.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "abi/host_layout.h"
#include "passes/passes.h"

enum { SHARED_SPACE = 3, MOST_STEPS = 16, DEEP = 4 };

/* The object that the pointer is an address in. */
static LLVMValueRef base_of(LLVMValueRef pointer)
{
    for (int i = 0; i < MOST_STEPS; i++) {
        bool step = LLVMIsAGetElementPtrInst(pointer) ||
                    LLVMIsAAddrSpaceCastInst(pointer);
        if (LLVMIsAConstantExpr(pointer)) {
            LLVMOpcode code = LLVMGetConstOpcode(pointer);
            step = code == LLVMGetElementPtr || code == LLVMAddrSpaceCast;
        }
        if (!step)
            return pointer;
        pointer = LLVMGetOperand(pointer, 0);
    }
    return pointer;
}

/* Is it the device runtime's, or one that our passes have made? */
static bool is_ours(LLVMValueRef v)
{
    size_t n;
    return !strncmp(LLVMGetValueName2(v, &n), "ompjit", 6);
}

/* A pointer, or its number, that a variable of the runtime has; the table of
 * the program's variables leads to these. */
static bool is_runtimes(LLVMValueRef v)
{
    size_t n;
    if (LLVMIsAIntToPtrInst(v))
        v = LLVMGetOperand(v, 0);
    if (!LLVMIsALoadInst(v))
        return false;
    LLVMValueRef base = base_of(LLVMGetOperand(v, 0));
    return LLVMIsAGlobalVariable(base) && is_ours(base) &&
           strcmp(LLVMGetValueName2(base, &n), OMPJIT__IMPORTS);
}

/* A call of the runtime's that allocates. Its functions have no pointers of the
 * program's to return. */
static bool is_allocated(LLVMValueRef call)
{
    LLVMValueRef f = LLVMGetCalledValue(call);
    size_t n;
    return LLVMIsAFunction(f) &&
           (is_ours(f) ||
            !strcmp(LLVMGetValueName2(f, &n), "__kmpc_alloc_shared"));
}

/* Memory of the kernel's or the runtime's own: team-shared, a thread's state, a
 * launch's environment; and constants. `depth` bounds recursion. */
static bool is_own(LLVMValueRef pointer, LLVMValueRef environment,
                   unsigned depth)
{
    LLVMValueRef base = base_of(pointer);
    if (LLVMIsAAllocaInst(base) || base == environment || is_runtimes(base))
        return true;
    if (LLVMIsAGlobalVariable(base))
        return LLVMIsGlobalConstant(base) || is_ours(base) ||
               LLVMGetPointerAddressSpace(LLVMTypeOf(base)) == SHARED_SPACE;
    if (LLVMIsAPHINode(base) && depth) {
        for (unsigned i = 0; i < LLVMCountIncoming(base); i++)
            if (!is_own(LLVMGetIncomingValue(base, i), environment, depth - 1))
                return false;
        return true;
    }
    return LLVMIsACallInst(base) && is_allocated(base);
}

/* May a value of the type have a pointer in it? */
static bool has_pointers(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
    case LLVMStructTypeKind: /* of a load: rare */
        return true;
    case LLVMVectorTypeKind:
    case LLVMArrayTypeKind:
        return has_pointers(LLVMGetElementType(type));
    default:
        return false;
    }
}

/* May it have a number in it that is as wide as a pointer? */
static bool has_numbers(LLVMTypeRef type)
{
    enum { POINTER_BITS = 64 };
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) >= POINTER_BITS;
    case LLVMVectorTypeKind:
    case LLVMArrayTypeKind:
        return has_numbers(LLVMGetElementType(type));
    default:
        return false;
    }
}

/* May the number be one that is loaded from memory of others? One that is
 * computed is none. */
static bool is_taken(LLVMValueRef v, LLVMValueRef environment, unsigned depth)
{
    bool merges = LLVMIsAPHINode(v) || LLVMIsASelectInst(v);
    if (LLVMIsALoadInst(v))
        return !is_own(LLVMGetOperand(v, 0), environment, DEEP);
    if (!merges && !LLVMIsAFreezeInst(v) && !LLVMIsAInsertElementInst(v) &&
        !LLVMIsAExtractElementInst(v) && !LLVMIsAShuffleVectorInst(v))
        return false;
    for (int i = 0; i < LLVMGetNumOperands(v); i++)
        if (!depth ||
            is_taken(LLVMGetOperand(v, (unsigned)i), environment, depth - 1))
            return true;
    return false;
}

/* Copies into memory of the kernel's own may bring pointers there. */
static bool takes_pointer(LLVMValueRef i, LLVMValueRef environment)
{
    if (LLVMIsAIntToPtrInst(i)) {
        LLVMValueRef number = LLVMGetOperand(i, 0);
        return !LLVMIsALoadInst(number) ||
               !is_own(LLVMGetOperand(number, 0), environment, DEEP);
    }
    if (LLVMIsAMemCpyInst(i) || LLVMIsAMemMoveInst(i))
        return !is_own(LLVMGetOperand(i, 1), environment, DEEP) &&
               is_own(LLVMGetOperand(i, 0), environment, DEEP);
    if (LLVMIsALoadInst(i))
        return has_pointers(LLVMTypeOf(i)) &&
               !is_own(LLVMGetOperand(i, 0), environment, DEEP);
    if (LLVMIsAStoreInst(i))
        return has_numbers(LLVMTypeOf(LLVMGetOperand(i, 0))) &&
               is_taken(LLVMGetOperand(i, 0), environment, DEEP) &&
               is_own(LLVMGetOperand(i, 1), environment, DEEP);
    return (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i)) &&
           has_pointers(LLVMTypeOf(LLVMGetOperand(i, 1)));
}

/* The host's, which take the kernel's arguments from an array. */
static bool is_entry(LLVMValueRef f, const char *kernel)
{
    size_t n, length = strlen(kernel);
    const char *name = LLVMGetValueName2(f, &n);
    return !strncmp(name, kernel, length) &&
           (!strcmp(name + length, OMPJIT__ENTRY_SUFFIX) ||
            !strcmp(name + length, OMPJIT__TEAM_SUFFIX));
}

static bool function_takes_pointer(LLVMValueRef f, LLVMValueRef environment)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (takes_pointer(i, environment))
                return true;
    return false;
}

bool ompjit__follows_pointers(LLVMModuleRef m, const ompjit__kernel_desc *k)
{
    LLVMValueRef kernel = ompjit__kernel_function(m, k->symbol, 0);
    LLVMValueRef team = ompjit__kernel_function(m, k->symbol, 1);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        LLVMValueRef with = f == team ? team : kernel;
        LLVMValueRef environment =
            with && k->launch_env ? LLVMGetParam(with, 0) : NULL;
        if (!is_entry(f, k->symbol) && function_takes_pointer(f, environment))
            return true;
    }
    return false;
}
