/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Live functions: those that are called from outside, that variables are
 * initialized with, and all that live functions name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "passes/hosthalf/live.h"

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

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct ompjit__live_function *)a)->f;
    uintptr_t y = (uintptr_t)((const struct ompjit__live_function *)b)->f;
    return (x > y) - (x < y);
}

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

static void read_function(struct ompjit__live *live, LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            for (int k = 0; k < LLVMGetNumOperands(i); k++)
                enliven(live, LLVMGetOperand(i, (unsigned)k), DEEP);
}

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
