/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Mutable variables of a unit: one storage for all images made of it for a
 * device, in the first; the later ones import it, by name on the host and by
 * address on a GPU. There constants that have such an address in them have to
 * be the first image's too. Other constants that the program maps are exported
 * by the first image, while the others keep their own copies to fold.
 */
#include <ctype.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/extract_kernel.h"
#include "passes/passes.h"
#include "frontend/describe/describe.h"

/* Does the constant have the address of a shared variable in it, perhaps by way
 * of others? If that takes too long to tell, it does. */
static bool has_shared_address(LLVMValueRef constant, unsigned depth)
{
    if (!LLVMIsAConstant(constant) || LLVMIsAFunction(constant))
        return false;
    if (LLVMIsAGlobalVariable(constant)) {
        if (ompjit__is_shared_variable(constant) || !depth)
            return true;
        LLVMValueRef value = LLVMGetInitializer(constant);
        return value && LLVMIsGlobalConstant(constant) &&
               has_shared_address(value, depth - 1);
    }
    for (int i = 0; i < LLVMGetNumOperands(constant); i++)
        if (has_shared_address(LLVMGetOperand(constant, (unsigned)i), depth))
            return true;
    return false;
}

/* A constant with the address of a shared variable in it. On a GPU an importing
 * image has that address in its table only, which no initializer can name. */
bool ompjit__refers_to_shared(LLVMValueRef g)
{
    enum { DEEP = 8 };
    size_t length;
    return !LLVMIsDeclaration(g) && LLVMIsGlobalConstant(g) &&
           LLVMGetFirstUse(g) &&
           strncmp(LLVMGetValueName2(g, &length), "llvm.", 5) &&
           has_shared_address(LLVMGetInitializer(g), DEEP);
}

/* PTX has words for names; the list of a host's names has semicolons between
 * them (backend/optimize.c). */
static bool fits(char c, bool host)
{
    return host ? !strchr(";<>", c)
                : isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* A name that the image can export. */
static void give_name(LLVMValueRef g, bool host, unsigned *unnamed)
{
    size_t length;
    char *name = ompjit__strdup(LLVMGetValueName2(g, &length));
    char made[32];
    bool good = name && length;
    for (char *p = name; p && *p; p++)
        if (!fits(*p, host)) {
            *p = '_';
            good = false;
        }
    if (!name || !length) {
        int n = snprintf(made, sizeof made, "ompjit_global_%u", (*unnamed)++);
        LLVMSetValueName2(g, made, (size_t)n);
    } else if (!good) {
        LLVMSetValueName2(g, name, length);
    }
    free(name);
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

/* Has the variable been listed already, as one that changes? */
static bool is_exported(const ompjit__image *image, const char *name)
{
    for (size_t i = 0; i < image->nglobals; i++)
        if (!strcmp(image->globals[i].name, name))
            return true;
    return false;
}

/* The variables that all images of the unit share, in the order of the module,
 * which is the same whenever the unit is read: image->globals and the table of
 * imports go by it. A list to be freed; NULL: out of memory. */
static LLVMValueRef *find_shared(LLVMModuleRef m, bool host, size_t *n)
{
    size_t all = 0;
    LLVMValueRef g;
    for (g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
        all++;
    LLVMValueRef *list = calloc(all + 1, sizeof *list);
    *n = 0;
    for (g = LLVMGetFirstGlobal(m); list && g; g = LLVMGetNextGlobal(g))
        if (ompjit__is_shared_variable(g) ||
            (!host && ompjit__refers_to_shared(g)))
            list[(*n)++] = g;
    return list;
}

/* If the variable is imported, no comdat can have it. */
static ompjit_status export_one(LLVMModuleRef m, LLVMValueRef g,
                                ompjit__image *image, ompjit_error *err)
{
    size_t length;
    uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(m),
                                      LLVMGlobalGetValueType(g));
    LLVMSetComdat(g, NULL);
    LLVMSetLinkage(g, LLVMExternalLinkage);
    LLVMSetVisibility(g, LLVMDefaultVisibility);
    return add_variable(image, LLVMGetValueName2(g, &length), size, err);
}

/* They have no use left then, but in each other's initializers. */
static void import(LLVMModuleRef m, bool host, const LLVMValueRef *list,
                   size_t n)
{
    if (!host)
        ompjit__import_variables(m, list, n, OMPJIT__IMPORTS);
    for (size_t i = 0; i < n; i++)
        LLVMSetInitializer(list[i], NULL);
}

ompjit_status ompjit__share_globals(LLVMModuleRef m, bool host,
                                    const ompjit__spec *spec,
                                    ompjit__image *image, ompjit_error *err)
{
    unsigned unnamed = 0;
    size_t n;
    ompjit_status status = OMPJIT_OK;
    if (!host)
        ompjit__drop_used(m);
    LLVMValueRef *list = find_shared(m, host, &n);
    if (!list)
        return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    image->imports_globals = spec->import_globals;
    for (size_t i = 0; i < n && !status; i++) {
        give_name(list[i], host, &unnamed);
        status = export_one(m, list[i], image, err);
    }
    if (!status && spec->import_globals)
        import(m, host, list, n);
    free(list);
    return status;
}

ompjit_status ompjit__export_constants(LLVMModuleRef m,
                                       const ompjit__unit *unit,
                                       ompjit__image *image, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    for (unsigned i = 0; i < unit->nglobals && !status; i++) {
        LLVMValueRef g = LLVMGetNamedGlobal(m, unit->globals[i].symbol);
        if (g && !LLVMIsDeclaration(g) && LLVMIsGlobalConstant(g) &&
            !is_exported(image, unit->globals[i].symbol))
            status = export_one(m, g, image, err);
    }
    return status;
}
