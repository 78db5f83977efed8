/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions that a kernel reaches: those that it calls, and those that it
 * hands to a call, which the runtime may call then; if it calls through a
 * pointer, also all of which somebody has the address.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "frontend/describe/describe.h"
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

static bool is_call(LLVMValueRef v)
{
    return LLVMIsACallInst(v) || LLVMIsAInvokeInst(v);
}

/* Is the use of a function one that makes no pointer of it: a call, or the
 * runtime's, which whoever makes the call reaches the function by? */
static bool is_named(LLVMValueRef user, LLVMValueRef f)
{
    LLVMValueRef callee = is_call(user) ? LLVMGetCalledValue(user) : NULL;
    size_t n;
    if (!callee || !LLVMIsAFunction(callee))
        return false;
    if (!strncmp(LLVMGetValueName2(callee, &n), "__kmpc_", 7))
        return true;
    for (unsigned k = 0; k < LLVMGetNumArgOperands(user); k++)
        if (LLVMGetOperand(user, k) == f)
            return false;
    return true;
}

/* Has the function a use by which code can get its address as a value? */
static bool is_taken(LLVMValueRef f)
{
    LLVMUseRef u = LLVMGetFirstUse(f);
    while (u && is_named(LLVMGetUser(u), f))
        u = LLVMGetNextUse(u);
    return u;
}

/* A call through a pointer may be of any function whose address somebody
 * has. */
static void add_taken(ompjit__reached *r, LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        if (!ompjit__is_kernel(f) && is_taken(f))
            ompjit__reached_add(r, f);
}

/* True: the instruction calls through a pointer. */
static bool add_operands(ompjit__reached *r, LLVMValueRef i)
{
    if (!is_call(i))
        return false;
    for (int k = 0; k < LLVMGetNumOperands(i); k++)
        if (LLVMIsAFunction(LLVMGetOperand(i, (unsigned)k)))
            ompjit__reached_add(r, LLVMGetOperand(i, (unsigned)k));
    return !LLVMIsAConstant(LLVMGetCalledValue(i)) &&
           !LLVMIsAInlineAsm(LLVMGetCalledValue(i));
}

/* Adds what the function's instructions name. True: one calls a pointer. */
static bool add_from(ompjit__reached *r, LLVMValueRef f)
{
    bool by_pointer = false;
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f);
    for (; block; block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i))
            by_pointer |= add_operands(r, i);
    return by_pointer;
}

ompjit__reached ompjit__named_by(LLVMValueRef function)
{
    ompjit__reached r = {0};
    ompjit__reached_add(&r, function);
    for (size_t i = 0; i < r.n && !r.failed; i++)
        add_from(&r, r.functions[i]);
    return r;
}

/* The list grows while it is gone through. Functions whose address is taken are
 * added once, at the first call through a pointer. */
ompjit__reached ompjit__reached_by(LLVMValueRef function)
{
    ompjit__reached r = {0};
    bool by_pointer = false;
    ompjit__reached_add(&r, function);
    for (size_t i = 0; i < r.n && !r.failed; i++)
        if (add_from(&r, r.functions[i]) && !by_pointer) {
            by_pointer = true;
            add_taken(&r, LLVMGetGlobalParent(function));
        }
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

/* ------------------------------------------------------------ flang's loops */

bool ompjit__runs_loop(LLVMValueRef function)
{
    static const char prefix[] = "__kmpc_", part[] = "static_loop_";
    size_t n;
    const char *name = LLVMGetValueName2(function, &n);
    return !strncmp(name, prefix, sizeof prefix - 1) && strstr(name, part);
}

LLVMValueRef ompjit__loop_body(LLVMValueRef call)
{
    enum { BODY = 1, LEAST = 3 };
    LLVMValueRef f = LLVMGetCalledValue(call);
    if (!LLVMIsAFunction(f) || !ompjit__runs_loop(f) ||
        LLVMGetNumArgOperands(call) < LEAST)
        return NULL;
    LLVMValueRef body = LLVMGetOperand(call, BODY);
    return LLVMIsAFunction(body) && !LLVMIsDeclaration(body) ? body : NULL;
}
