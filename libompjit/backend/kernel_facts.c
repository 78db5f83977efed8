/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A variant's kernel keeps the parameters that are folded, and LLVM is told the
 * facts about its pointers.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "backend/build.h"
#include "passes/passes.h"

/* A host kernel must not disappear in its entry: its parameters are what
 * literals replace, and what is known of pointers is said of them. */
static void keep_apart(struct build *b, LLVMValueRef f)
{
    static const char *const drop[] = {"alwaysinline", "inlinehint"};
    LLVMSetLinkage(f, LLVMExternalLinkage);
    for (size_t i = 0; i < OMPJIT__COUNT(drop); i++)
        LLVMRemoveEnumAttributeAtIndex(
            f, LLVMAttributeFunctionIndex,
            LLVMGetEnumAttributeKindForName(drop[i], strlen(drop[i])));
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(
            b->context, LLVMGetEnumAttributeKindForName("noinline", 8), 0));
}

void ompjit__build_keep_apart(struct build *b)
{
    for (unsigned form = 0; b->host && form < 2; form++) {
        LLVMValueRef f =
            ompjit__kernel_function(b->m, b->spec->kernel, form);
        if (f)
            keep_apart(b, f);
    }
}

/* A promise about aliases holds if each access in a section goes by its own
 * parameter. A pointer from memory may lead into another parameter's section,
 * so a kernel that follows one is told nothing. Contents are folded only where
 * nobody waits for a change of them.
 *
 * Without a template the code is not simplified: whether the kernel finds
 * pointers in memory cannot be told, and LLVM makes nothing of aliases. */
static void say_of_sections(struct build *b, const ompjit__kernel_desc *k)
{
    const ompjit__spec *spec = b->spec;
    bool known = spec->facts.noalias || spec->facts.contents.n;
    if (b->route != OMPJIT__VARIANT || !known ||
        ompjit__follows_pointers(b->m, k))
        return;
    for (unsigned form = 0; form < 2; form++) {
        LLVMValueRef f = ompjit__kernel_function(b->m, k->symbol, form);
        if (f && !ompjit__acquires(f))
            ompjit__fold_contents(f, k, spec, b->host);
        if (f)
            ompjit__separate_sections(f, spec->facts.noalias, k->launch_env);
    }
}

/* Without a kernel in the spec, as for a whole unit, only what holds for every
 * launch is said. */
void ompjit__build_annotate(struct build *b)
{
    const ompjit__kernel_desc *k = b->unit->kernels;
    const ompjit__kernel_desc *end = k + b->unit->nkernels;
    while (b->spec->kernel && k < end && strcmp(k->symbol, b->spec->kernel))
        k++;
    if (b->spec->kernel && k < end)
        say_of_sections(b, k);
    ompjit__annotate(b->m, b->unit, b->spec);
}
