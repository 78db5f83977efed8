/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Mutable variables of a unit: one storage for all host images made of it, in
 * the first; the later ones import it by name.
 */
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

enum { GENERIC_SPACE = 0, GLOBAL_SPACE = 1 };

static bool is_shared_storage(LLVMValueRef g)
{
    size_t length;
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(g));
    return !LLVMIsDeclaration(g) && !LLVMIsGlobalConstant(g) &&
           (space == GENERIC_SPACE || space == GLOBAL_SPACE) &&
           strncmp(LLVMGetValueName2(g, &length), "llvm.", 5);
}

static ompjit_status add_variable(ompjit__image *image, const char *name,
                                  uint64_t size, ompjit_error *err)
{
    size_t n = image->nglobals;
    ompjit__variable *list =
        realloc(image->globals, (n + 1) * sizeof *list);
    if (!list)
        return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    image->globals = list;
    list[n] = (ompjit__variable){ompjit__strdup(name), size};
    if (!list[n].name)
        return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    image->nglobals++;
    return OMPJIT_OK;
}

ompjit_status ompjit__share_globals(LLVMModuleRef m, const ompjit__spec *spec,
                                    ompjit__image *image, ompjit_error *err)
{
    unsigned unnamed = 0;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(m);
    image->imports_globals = spec->import_globals;
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g)) {
        if (!is_shared_storage(g))
            continue;
        size_t length;
        const char *name = LLVMGetValueName2(g, &length);
        if (!length) {
            char made[32];
            int n = snprintf(made, sizeof made, "ompjit.global.%u", unnamed++);
            LLVMSetValueName2(g, made, (size_t)n);
            name = LLVMGetValueName2(g, &length);
        }
        LLVMSetLinkage(g, LLVMExternalLinkage);
        LLVMSetVisibility(g, LLVMDefaultVisibility);
        if (spec->import_globals)
            LLVMSetInitializer(g, NULL);
        uint64_t size =
            LLVMABISizeOfType(layout, LLVMGlobalGetValueType(g));
        ompjit_status status = add_variable(image, name, size, err);
        if (status)
            return status;
    }
    return OMPJIT_OK;
}
