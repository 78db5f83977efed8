/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Values as the analysis of threads sees them: the object that an address lies
 * in, whether each thread has that for itself, and the value that a load gets
 * from a variable that is stored once.
 */
#include <string.h>

#include "core/core.h"
#include "frontend/describe/observe.h"

bool ompjit__is_constant(LLVMValueRef v, int64_t number)
{
    return v && LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == number;
}

/* Has the instruction, or the constant expression, this opcode? */
static bool is_opcode(LLVMValueRef v, LLVMOpcode code)
{
    return LLVMIsAInstruction(v)    ? LLVMGetInstructionOpcode(v) == code
           : LLVMIsAConstantExpr(v) ? LLVMGetConstOpcode(v) == code
                                    : false;
}

/* The object that the pointer is an address in. */
LLVMValueRef ompjit__address_base(LLVMValueRef pointer)
{
    while (is_opcode(pointer, LLVMGetElementPtr) ||
           is_opcode(pointer, LLVMBitCast) ||
           is_opcode(pointer, LLVMAddrSpaceCast))
        pointer = LLVMGetOperand(pointer, 0);
    return pointer;
}

bool ompjit__has_name(LLVMValueRef f, const char *const *names)
{
    size_t n;
    for (; *names && LLVMIsAFunction(f); names++)
        if (!strcmp(LLVMGetValueName2(f, &n), *names))
            return true;
    return false;
}

bool ompjit__is_for_lifetime(LLVMValueRef v)
{
    static const char *const markers[] = {"llvm.lifetime.", "llvm.dbg.", NULL};
    static const char *const frees[] = {"__kmpc_free_shared", "free", NULL};
    LLVMValueRef f = ompjit__is_call(v) ? LLVMGetCalledValue(v) : NULL;
    size_t n;
    return f && LLVMIsAFunction(f) &&
           (ompjit__begins_with_any(LLVMGetValueName2(f, &n), markers) ||
            ompjit__has_name(f, frees));
}

/* The value that a variable always holds, where it is stored once, and loaded,
 * and has no other use; else NULL. Unoptimized code has such a variable for
 * each parameter. Other intrinsics than markers count as uses: memcpy may write
 * another value. */
static LLVMValueRef held_by(LLVMValueRef variable)
{
    LLVMValueRef held = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user) || ompjit__is_for_lifetime(user))
            continue;
        if (held || !LLVMIsAStoreInst(user) ||
            LLVMGetOperand(user, 1) != variable)
            return NULL;
        held = LLVMGetOperand(user, 0);
    }
    return held;
}

/* The value that a load gets from such a variable; else v. */
/* Through several variables where one is copied to the next, as for inlined
 * parameters. A chain longer than that is left, which only costs precision. */
LLVMValueRef ompjit__held_value(LLVMValueRef v)
{
    enum { MOST_STEPS = 8 };
    for (int i = 0; i < MOST_STEPS && LLVMIsALoadInst(v); i++) {
        LLVMValueRef from = ompjit__address_base(LLVMGetOperand(v, 0));
        LLVMValueRef held = LLVMIsAAllocaInst(from) ? held_by(from) : NULL;
        if (!held)
            break;
        v = held;
    }
    return v;
}

bool ompjit__allocates(LLVMValueRef v)
{
    static const char *const names[] = {"__kmpc_alloc_shared", "malloc", NULL};
    return ompjit__is_call(v) &&
           ompjit__has_name(LLVMGetCalledValue(v), names);
}

int ompjit__param_number(LLVMValueRef f, LLVMValueRef v)
{
    unsigned n = LLVMIsAArgument(v) ? LLVMCountParams(f) : 0;
    for (unsigned i = 0; i < n && i < 64; i++)
        if (LLVMGetParam(f, i) == v)
            return (int)i;
    return -1;
}

/* Is the pointer one into memory that each thread has for itself? */
bool ompjit__is_thread_own(const struct ompjit__threads_body *b,
                           LLVMValueRef pointer)
{
    LLVMValueRef base =
        ompjit__address_base(ompjit__held_value(ompjit__address_base(pointer)));
    int param = ompjit__param_number(b->of.f, base);
    return LLVMIsAAllocaInst(base) || ompjit__allocates(base) ||
           (param >= 0 && b->of.own >> param & 1);
}

/* Is it `v == 0` or `v != 0` with branches as its only users? Then a thread
 * shows by its number only whether it is the first. */
static bool is_comparison_for_branches(LLVMValueRef compare, LLVMValueRef v)
{
    if (!LLVMIsAICmpInst(compare) || LLVMGetOperand(compare, 0) != v ||
        !ompjit__is_constant(LLVMGetOperand(compare, 1), 0))
        return false;
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(compare);
    for (LLVMUseRef u = LLVMGetFirstUse(compare); u; u = LLVMGetNextUse(u))
        if (!LLVMIsABranchInst(LLVMGetUser(u)))
            return false;
    return predicate == LLVMIntEQ || predicate == LLVMIntNE;
}

/* The same of every value that is loaded from the variable. */
static bool loads_are_only_compared(LLVMValueRef variable, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u))
        if (LLVMIsALoadInst(LLVMGetUser(u)) &&
            !ompjit__is_only_compared(LLVMGetUser(u), depth))
            return false;
    return true;
}

/* Unoptimized code stores a value first and compares what it loads: such a
 * variable is followed if it holds nothing else. */
bool ompjit__is_only_compared(LLVMValueRef v, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (is_comparison_for_branches(user, v))
            continue;
        LLVMValueRef to = LLVMIsAStoreInst(user) ? LLVMGetOperand(user, 1) : v;
        if (!depth || !LLVMIsAAllocaInst(to) || held_by(to) != v ||
            !loads_are_only_compared(to, depth - 1))
            return false;
    }
    return true;
}
