/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions that a kernel reaches: those that it calls, and those that it
 * hands to a call, which the runtime may call then.
 */
#include <stdlib.h>

#include <llvm-c/Core.h>

#include "frontend/describe/reach.h"

bool ompjit__is_reached(const ompjit__reached *r, LLVMValueRef f)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->functions[i] == f)
            return true;
    return false;
}

void ompjit__reached_add(ompjit__reached *r, LLVMValueRef f)
{
    if (ompjit__is_reached(r, f))
        return;
    if (r->n == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 32;
        void *p = realloc(r->functions, capacity * sizeof *r->functions);
        if ((r->failed |= !p))
            return;
        r->functions = p;
        r->capacity = capacity;
    }
    r->functions[r->n++] = f;
}

static void add_operands(ompjit__reached *r, LLVMValueRef i)
{
    if (!LLVMIsACallInst(i) && !LLVMIsAInvokeInst(i))
        return;
    for (int k = 0; k < LLVMGetNumOperands(i); k++)
        if (LLVMIsAFunction(LLVMGetOperand(i, (unsigned)k)))
            ompjit__reached_add(r, LLVMGetOperand(i, (unsigned)k));
}

static void add_from(ompjit__reached *r, LLVMValueRef f)
{
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f);
    for (; block; block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i))
            add_operands(r, i);
}

ompjit__reached ompjit__reached_by(LLVMValueRef function)
{
    ompjit__reached r = {0};
    ompjit__reached_add(&r, function);
    for (size_t i = 0; i < r.n && !r.failed; i++)
        add_from(&r, r.functions[i]);
    return r;
}

bool ompjit__reaches(const ompjit__reached *r, bool (*is)(const char *name))
{
    size_t n;
    for (size_t i = 0; i < r->n; i++)
        if (is(LLVMGetValueName2(r->functions[i], &n)))
            return true;
    return false;
}
