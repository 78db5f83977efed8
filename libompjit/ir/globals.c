/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Mutable variables of a unit: one storage for all host images made of it, in
 * the first; the later ones import it by name.
 */
#include <llvm-c/Core.h>
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

static ompjit_status add_name(ompjit__image *image, const char *name,
                              ompjit_error *err)
{
    char **names =
        realloc(image->globals, (image->nglobals + 1) * sizeof *names);
    if (!names)
        return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    image->globals = names;
    names[image->nglobals] = ompjit__strdup(name);
    if (!names[image->nglobals])
        return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    image->nglobals++;
    return OMPJIT_OK;
}

ompjit_status ompjit__share_globals(LLVMModuleRef m, const ompjit__spec *spec,
                                    ompjit__image *image, ompjit_error *err)
{
    unsigned unnamed = 0;
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
        ompjit_status status = add_name(image, name, err);
        if (status)
            return status;
    }
    return OMPJIT_OK;
}
