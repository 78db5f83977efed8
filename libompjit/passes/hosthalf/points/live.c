/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Live functions: those that are called from outside, that variables are
 * initialized with, and all that live functions name.
 *
 * clang emits many functions that nothing calls, above all of C++'s headers and
 * templates. Their stores and calls would make the sets of points.c larger: a
 * function that nobody calls may hand an object to the outside. A function that
 * is named at all counts as live, as it may be called by a pointer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "passes/hosthalf/points/live.h"

bool ompjit__live_is_internal(LLVMValueRef g)
{
    LLVMLinkage linkage = LLVMGetLinkage(g);
    return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage ||
           (linkage == LLVMAvailableExternallyLinkage && LLVMIsAFunction(g));
}

bool ompjit__live_is_entry(LLVMValueRef f, bool whole)
{
    size_t n;
    return whole ? !strcmp(LLVMGetValueName2(f, &n), "main")
                 : !ompjit__live_is_internal(f);
}

/* The order is for bsearch only; no result depends on it. */
static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct ompjit__live_function *)a)->f;
    uintptr_t y = (uintptr_t)((const struct ompjit__live_function *)b)->f;
    return (x > y) - (x < y);
}

/* Makes the functions live that a value names: itself, or in a constant, such
 * as a table of functions. A global variable's initializer has been read by
 * begin() for all of them. */
static void enliven(struct ompjit__live *live, LLVMValueRef v, unsigned depth)
{
    const struct ompjit__live_function key = {.f = v};
    if (LLVMIsAFunction(v)) {
        struct ompjit__live_function *found =
            bsearch(&key, live->functions, live->n, sizeof key, by_address);
        found->is_live = true;
    } else if (LLVMIsAConstant(v) && !LLVMIsAGlobalVariable(v) && depth) {
        for (int i = 0; i < LLVMGetNumOperands(v); i++)
            enliven(live, LLVMGetOperand(v, (unsigned)i), depth - 1);
    }
}

enum { DEEP = 16 };

/* Makes the functions live that the instructions of `f` name. */
static void read_function(struct ompjit__live *live, LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            for (int k = 0; k < LLVMGetNumOperands(i); k++)
                enliven(live, LLVMGetOperand(i, (unsigned)k), DEEP);
}

/* The live functions to begin with: those called by name from outside, and
 * those in initializers, such as virtual functions and constructors. */
static void begin(struct ompjit__live *live, LLVMModuleRef m, bool whole)
{
    for (unsigned i = 0; i < live->n; i++)
        live->functions[i].is_live =
            ompjit__live_is_entry(live->functions[i].f, whole);
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
        if (LLVMGetInitializer(g))
            enliven(live, LLVMGetInitializer(g), DEEP);
}

bool ompjit__live_find(LLVMModuleRef m, bool whole, struct ompjit__live *out)
{
    unsigned n = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        n++;
    *out = (struct ompjit__live){calloc(n + 1, sizeof *out->functions), 0};
    if (!out->functions)
        return false;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        out->functions[out->n++].f = f;
    qsort(out->functions, n, sizeof *out->functions, by_address);
    begin(out, m, whole);
    for (bool news = true; news;) {
        news = false;
        for (unsigned i = 0; i < n; i++) {
            struct ompjit__live_function *one = &out->functions[i];
            if (!one->is_live || one->is_read)
                continue;
            one->is_read = news = true;
            read_function(out, one->f);
        }
    }
    return true;
}
