/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A source whose object is linked with others that nobody has seen yet, as
 * `ompjit cc` makes it: what a proof about the source alone must not believe.
 * `ompjit run` has the whole program and needs none of it.
 *
 *   __attribute__((weak)) void touch(double *x) { }    host code: another object
 *                                                      may have a touch that counts
 *   #pragma omp declare target
 *   void touch(void);                                  device code: touch may write
 *   #pragma omp end declare target                     to mapped data by a pointer
 *                                                      of another object's
 *
 * Inline functions and templates (ODR linkage) are the same in all objects.
 */
#include <string.h>

#include <llvm-c/Core.h>

#include "passes/hosthalf/hosthalf.h"
#include "passes/hosthalf/points/call.h"

static bool is_replaceable(LLVMValueRef f)
{
    LLVMLinkage linkage = LLVMGetLinkage(f);
    return linkage == LLVMWeakAnyLinkage || linkage == LLVMLinkOnceAnyLinkage;
}

/* -fsemantic-interposition lets a library replace each function that is not
 * static; without it clang itself does not expect that. Weak variables need no
 * question: points_set.c believes no value of theirs. */
bool ompjit__separate_may_replace(LLVMModuleRef m)
{
    static const char flag[] = "SemanticInterposition";
    bool may = LLVMGetModuleFlag(m, flag, sizeof flag - 1) != NULL;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        may |= is_replaceable(f);
    return may;
}

/* Is the function's code not the module's, and not known by its name either? */
static bool is_foreign(LLVMValueRef f)
{
    static const char *const own[] = {"llvm.", "__kmpc_", "omp_"};
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    if (!LLVMIsDeclaration(f))
        return is_replaceable(f);
    for (size_t i = 0; i < OMPJIT__COUNT(own); i++)
        if (!strncmp(name, own[i], strlen(own[i])))
            return false;
    return ompjit__call_of(name).class == OMPJIT__CALL_ANYTHING;
}

void ompjit__separate_kernels(LLVMModuleRef device, ompjit__unit *unit)
{
    bool foreign = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(device); f;
         f = LLVMGetNextFunction(f))
        foreign |= is_foreign(f);
    for (unsigned i = 0; foreign && i < unit->nkernels; i++) {
        unit->kernels[i].written = ~UINT64_C(0);
        unit->kernels[i].writes_loaded = true;
    }
}
