/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls through pointers that may have come from the host. clang 22 registers
 * the functions of `declare target indirect` and calls what a pointer says;
 * here every such call asks the runtime first, which knows the device's
 * function for the host's. So it does the tables of virtual functions, to which
 * objects that the host has made point. Only in units that have such functions.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>

#include "passes/passes.h"
#include "abi/offload.h"

static const char lookup[] = "__llvm_omp_indirect_call_lookup";

static LLVMValueRef lookup_function(LLVMModuleRef m)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(LLVMGetModuleContext(m), 0);
    LLVMValueRef f = LLVMGetNamedFunction(m, lookup);
    return f ? f
             : LLVMAddFunction(m, lookup,
                               LLVMFunctionType(pointer, &pointer, 1, 0));
}

/* A call of what is no constant. The address of a function that stands in the
 * code is the device's own. */
static bool is_indirect(LLVMValueRef instruction)
{
    if (!LLVMIsACallInst(instruction))
        return false;
    LLVMValueRef called = LLVMGetCalledValue(instruction);
    return !LLVMIsAConstant(called) && !LLVMIsAInlineAsm(called);
}

/* A call's last operand is what it calls. */
static void translate(LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef f)
{
    LLVMValueRef pointer = LLVMGetCalledValue(call);
    LLVMPositionBuilderBefore(b, call);
    LLVMValueRef here = LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f,
                                       &pointer, 1, "");
    LLVMSetInstDebugLocation(b, here);
    LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, here);
}

/* ------------------------------------------------ tables of virtual functions
 *
 *   %vtable = load ptr, ptr %object
 *   %slot = getelementptr ptr, ptr %vtable, i64 1      also of bytes; or none
 *   %f = load ptr, ptr %slot
 *   call void %f(ptr %object)
 *
 * or an i64 in place of the pointer, before the table: where a base class is.
 * Whatever pointer is loaded and used like this is looked up: one that is no
 * table of the host's stays as it is. */

/* The pointer that `address` is counted from. A pointer to a virtual member
 * function counts by a number that it has. */
static LLVMValueRef base_of(LLVMValueRef address)
{
    while (LLVMIsAGetElementPtrInst(address))
        address = LLVMGetOperand(address, 0);
    return address;
}

static bool is_pointer_load(LLVMValueRef v)
{
    return LLVMIsALoadInst(v) &&
           LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind &&
           LLVMGetPointerAddressSpace(LLVMTypeOf(v)) == 0;
}

/* Also by a phi, where a pointer to a member function may be no virtual one's. */
static bool is_called(LLVMValueRef v, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsACallInst(user) && LLVMGetCalledValue(user) == v)
            return true;
        if (LLVMIsAPHINode(user) && depth && is_called(user, depth - 1))
            return true;
    }
    return false;
}

/* Is it an i64 from before the base of its address? */
static bool is_offset(LLVMValueRef load)
{
    LLVMTypeRef type = LLVMTypeOf(load);
    LLVMValueRef address = LLVMGetOperand(load, 0);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(type) == 64 &&
           LLVMIsAGetElementPtrInst(address) &&
           LLVMGetNumOperands(address) == 2 &&
           LLVMIsAConstantInt(LLVMGetOperand(address, 1)) &&
           LLVMConstIntGetSExtValue(LLVMGetOperand(address, 1)) < 0;
}

/* The pointer to a table that the load reads; NULL: it reads none. */
static LLVMValueRef table_of(LLVMValueRef load)
{
    if (!LLVMIsALoadInst(load) ||
        !(is_pointer_load(load) ? is_called(load, 2) : is_offset(load)))
        return NULL;
    LLVMValueRef table = base_of(LLVMGetOperand(load, 0));
    return is_pointer_load(table) ? table : NULL;
}

static bool is_looked_up(LLVMValueRef v, LLVMValueRef to)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == to)
            return true;
    }
    return false;
}

/* All other uses of the pointer are of what the look-up gives. */
static void look_up(LLVMBuilderRef b, LLVMValueRef table, LLVMValueRef to)
{
    if (is_looked_up(table, to))
        return;
    LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(table));
    LLVMValueRef here = LLVMBuildCall2(b, LLVMGlobalGetValueType(to), to,
                                       &table, 1, "");
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(table));
    LLVMSetInstDebugLocation(b, here);
    LLVMReplaceAllUsesWith(table, here);
    LLVMSetOperand(here, 0, table);
}

static void translate_tables(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    LLVMValueRef to = lookup_function(m);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
                 i = LLVMGetNextInstruction(i)) {
                LLVMValueRef table = table_of(i);
                if (table)
                    look_up(b, table, to);
            }
    LLVMDisposeBuilder(b);
}

static void translate_calls(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    LLVMValueRef to = lookup_function(m);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
                 i = LLVMGetNextInstruction(i))
                if (is_indirect(i))
                    translate(b, i, to);
    LLVMDisposeBuilder(b);
}

/* ------------------------------------------------------- the table by name
 *
 * Device code that looks pointers up itself has these names for the table and
 * its size (clang's design of `declare target indirect`). Both are words of the
 * device environment, with rows of the same layout. */

static LLVMValueRef environment(LLVMModuleRef m, bool host)
{
    enum { CONSTANT_SPACE = 4 };
    LLVMValueRef g = LLVMGetNamedGlobal(m, OMPJIT__DEVICE_ENVIRONMENT);
    LLVMTypeRef byte = LLVMInt8TypeInContext(LLVMGetModuleContext(m));
    LLVMTypeRef type =
        LLVMArrayType2(byte, sizeof(ompjit__device_environment));
    return g ? g
             : LLVMAddGlobalInAddressSpace(m, type, OMPJIT__DEVICE_ENVIRONMENT,
                                           host ? 0 : CONSTANT_SPACE);
}

static void replace_word(LLVMModuleRef m, const char *name, size_t at, bool host)
{
    LLVMValueRef g = LLVMGetNamedGlobal(m, name);
    if (!g)
        return;
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(c), at, 0);
    LLVMValueRef word = LLVMConstGEP2(LLVMInt8TypeInContext(c),
                                      environment(m, host), &offset, 1);
    LLVMReplaceAllUsesWith(
        g, LLVMConstAddrSpaceCast(word, LLVMPointerTypeInContext(c, 0)));
    LLVMDeleteGlobal(g);
}

static void name_table(LLVMModuleRef m, bool host)
{
    replace_word(m, "__omp_offloading_fptr_map_p",
                 offsetof(ompjit__device_environment, indirect_call_table),
                 host);
    replace_word(m, "__omp_offloading_fptr_map_size",
                 offsetof(ompjit__device_environment, indirect_call_table_size),
                 host);
}

void ompjit__translate_calls(LLVMModuleRef m, const ompjit__unit *unit,
                             bool host)
{
    name_table(m, host);
    bool any = false, tables = false;
    for (unsigned i = 0; i < unit->nglobals; i++) {
        if (!(unit->globals[i].flags & OMPJIT__ENTRY_CALLED))
            continue;
        tables |= unit->globals[i].flags & OMPJIT__ENTRY_INDIRECT_VTABLE;
        LLVMValueRef g = LLVMGetNamedGlobal(m, unit->globals[i].symbol);
        if (g) /* a variable to the host device, which finds it by name */
            LLVMSetGlobalConstant(g, 0);
        any = true;
    }
    if (tables)
        translate_tables(m);
    if (any)
        translate_calls(m);
}
