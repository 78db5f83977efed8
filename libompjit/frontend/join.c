/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Units of several sources to one, as a linker makes a program of objects: each
 * keeps its own `static` names, what one declares is found in another, weak
 * definitions are one, and constructors run in the order of the sources. The
 * result is described like a unit of one source.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Linker.h>

#include "llvm/llvm.h"
#include "frontend/frontend.h"
#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"

/* Arguments of the guarded part. */
struct joining {
    const ompjit__part *parts;
    unsigned n;
    const char *name;
    ompjit__unit *unit;
    LLVMContextRef context;
    ompjit__buf messages;
};

static const ompjit__buf *half_of(const ompjit__part *part, bool host)
{
    return host ? &part->host : &part->device;
}

/* ------------------------------------------------- what is defined twice */

/* Is it a definition of which a program may have one only? */
static bool is_strong(LLVMValueRef v)
{
    LLVMLinkage linkage = LLVMGetLinkage(v);
    return !LLVMIsDeclaration(v) &&
           (linkage == LLVMExternalLinkage || linkage == LLVMDLLExportLinkage);
}

static LLVMValueRef find_value(LLVMModuleRef m, const char *name)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    return f ? f : LLVMGetNamedGlobal(m, name);
}

/* Finds a definition of v, which part i has, in an earlier part. It is told
 * once, with the first part that has it. */
static void check_once(const struct joining *j, const LLVMModuleRef *modules,
                       unsigned i, LLVMValueRef v, ompjit__findings *f)
{
    size_t size;
    const char *name = LLVMGetValueName2(v, &size);
    for (unsigned k = 0; k < i && is_strong(v); k++) {
        LLVMValueRef other = find_value(modules[k], name);
        if (!other || !is_strong(other))
            continue;
        char *nice = ompjit__demangle(name);
        ompjit__finding(f, OMPJIT_ERR_LINK, "%s is defined in %s and in %s",
                        nice ? nice : name, j->parts[k].name, j->parts[i].name);
        free(nice);
        return;
    }
}

static ompjit_status check_definitions(const struct joining *j,
                                       const LLVMModuleRef *modules,
                                       ompjit_error *err)
{
    ompjit__findings found = {0};
    for (unsigned i = 0; i < j->n; i++) {
        for (LLVMValueRef f = LLVMGetFirstFunction(modules[i]); f;
             f = LLVMGetNextFunction(f))
            check_once(j, modules, i, f, &found);
        for (LLVMValueRef g = LLVMGetFirstGlobal(modules[i]); g;
             g = LLVMGetNextGlobal(g))
            check_once(j, modules, i, g, &found);
    }
    return ompjit__findings_end(&found, j->name, OMPJIT_STAGE_READ, err);
}

/* -------------------------------------------------------------------- link */

static void dispose(LLVMModuleRef *modules, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (modules[i])
            LLVMDisposeModule(modules[i]);
    free(modules);
}

/* After a failure the modules before the one that does not read are there, for
 * the caller to dispose of. */
static ompjit_status parse_halves(struct joining *j, bool host,
                                  LLVMModuleRef *modules, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    for (unsigned i = 0; i < j->n && !status; i++) {
        const ompjit__buf *half = half_of(&j->parts[i], host);
        status = ompjit__parse_ir(j->context, half->data, half->size,
                                  j->parts[i].name, &j->messages, &modules[i],
                                  err);
    }
    return status;
}

/* LLVMLinkModules2 disposes of the module that it links. */
static ompjit_status link_in(const struct joining *j, LLVMModuleRef whole,
                             LLVMModuleRef *part, ompjit_error *err)
{
    size_t mark = ompjit__llvm_mark(j->context);
    LLVMModuleRef m = *part;
    *part = NULL;
    if (!LLVMLinkModules2(whole, m))
        return OMPJIT_OK;
    const char *cause = ompjit__llvm_errors(j->context, mark);
    return ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_READ,
                        "%s: the sources' halves do not link: %s", j->name,
                        cause ? cause : "LLVM does not say why");
}

/* All parts' halves in one module. */
static ompjit_status link_halves(struct joining *j, bool host,
                                 LLVMModuleRef *out, ompjit_error *err)
{
    LLVMModuleRef *modules = calloc(j->n, sizeof *modules);
    if (!modules)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    ompjit_status status = parse_halves(j, host, modules, err);
    if (!status)
        status = check_definitions(j, modules, err);
    for (unsigned i = 1; i < j->n && !status; i++)
        status = link_in(j, modules[0], &modules[i], err);
    if (!status) {
        *out = modules[0];
        modules[0] = NULL;
        LLVMSetModuleIdentifier(*out, j->name, strlen(j->name));
    }
    dispose(modules, j->n);
    return status;
}

/* ---------------------------------------------------------------- the unit */

/* The host halves are linked first: an error in functions of both halves is
 * told as theirs. A variable that one source defines and another one's device
 * code uses is unified here. */
static ompjit_status join(struct joining *j, LLVMModuleRef *device,
                          LLVMModuleRef *host, ompjit_error *err)
{
    ompjit_status status = link_halves(j, true, host, err);
    if (!status)
        status = link_halves(j, false, device, err);
    if (!status) {
        ompjit__unify_variables(*device, *host);
        status = ompjit__describe(*device, *host, j->unit, err);
    }
    if (!status)
        status = ompjit__write_half(*device, &j->unit->device_bc, err);
    if (!status)
        status = ompjit__write_half(*host, &j->unit->host_bc, err);
    return status;
}

/* Both modules and their LLVM context are made and disposed of in the guard. */
static ompjit_status join_guarded(void *arg, ompjit_error *err)
{
    struct joining *j = arg;
    LLVMModuleRef device = NULL, host = NULL;
    j->context = ompjit__llvm_context(&j->messages);
    ompjit_status status = join(j, &device, &host, err);
    if (device)
        LLVMDisposeModule(device);
    if (host)
        LLVMDisposeModule(host);
    LLVMContextDispose(j->context);
    return status;
}

ompjit_status ompjit__units_join(const ompjit__part *parts, unsigned n,
                                 const char *name, unsigned opt_level,
                                 ompjit__unit *out, ompjit_error *err)
{
    ompjit__unit unit = {.name = ompjit__strdup(name),
                         .opt_level = opt_level ? opt_level - 1 : 3};
    struct joining j = {.parts = parts, .n = n, .name = name, .unit = &unit};
    ompjit_status status =
        unit.name ? ompjit__guard(join_guarded, &j, OMPJIT_STAGE_READ, err)
                  : ompjit__no_memory(err, OMPJIT_STAGE_READ);
    ompjit__buf_free(&j.messages);
    return ompjit__unit_finish(&unit, status, out, err);
}
