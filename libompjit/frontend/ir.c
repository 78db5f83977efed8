/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR to a unit: both halves are read, verified, brought to LLVM 22's dialect,
 * checked against the runtime table, described, and kept as bitcode. Whatever
 * ties the code to one CPU or one architecture is taken off: a unit is
 * compiled for any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "llvm/llvm.h"
#include "frontend/frontend.h"
#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"
#include "frontend/signature/signature.h"

/* A host half that has been read, or the reason why not; and the device half that
 * was read behind it. */
struct ompjit__early {
    unsigned holds;
    LLVMContextRef context; /* both halves' */
    LLVMModuleRef host;     /* NULL: there is none, or it is not valid */
    LLVMModuleRef device;   /* NULL: not read                          */
    unsigned how;           /* enum ompjit__half_flag */
    ompjit__lambda_regions lambdas;
    ompjit__buf host_bc, signatures, passing, messages;
    ompjit_status status;
    ompjit_error err;
};

/* Arguments of the guarded part of ompjit__unit_read. */
struct reading {
    const ompjit__buf *device, *host; /* host: of size 0, where there is none */
    const char *name;
    ompjit__unit *unit;
    bool cuda;
    unsigned how; /* enum ompjit__half_flag, where there is no early */
    ompjit__early *early;
};

typedef ompjit_status upgrade_fn(LLVMModuleRef m, const char *name,
                                 ompjit_error *err);

static ompjit_status verify(LLVMModuleRef m, const char *name,
                            ompjit_error *err)
{
    char *text = NULL;
    ompjit_status status = OMPJIT_OK;
    if (LLVMVerifyModule(m, LLVMReturnStatusAction, &text))
        status = ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
                              "%s is not valid IR: %s", name, text);
    LLVMDisposeMessage(text);
    return status;
}

/* clang compiled for the CPU or architecture that it was told. The builds say
 * which it is really for. */
static void strip_target(LLVMModuleRef m)
{
    static const char *const names[] = {"target-cpu", "tune-cpu",
                                        "target-features"};
    LLVMValueRef f = LLVMGetFirstFunction(m);
    for (; f; f = LLVMGetNextFunction(f))
        for (size_t i = 0; i < OMPJIT__COUNT(names); i++)
            LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                             names[i],
                                             (unsigned)strlen(names[i]));
}

/* A module with debug information is verified where it is parsed. */
static bool is_verified(LLVMModuleRef m)
{
    return LLVMGetModuleDebugMetadataVersion(m) == LLVMDebugMetadataVersion();
}

/* Bytes to a module of LLVM 22's dialect, without a CPU or an architecture. */
static ompjit_status read_half(ompjit__early *e, const ompjit__buf *bytes,
                               const char *name, upgrade_fn *upgrade,
                               LLVMModuleRef *out, ompjit_error *err)
{
    LLVMModuleRef m;
    ompjit_status status =
        ompjit__parse_ir(e->context, bytes->data, bytes->size, name,
                         &e->messages, &m, err);
    if (status)
        return status;
    if (!is_verified(m))
        status = verify(m, name, err);
    if (!status) {
        ompjit__drop_unreachable(m);
        status = upgrade(m, name, err);
    }
    if (status) {
        LLVMDisposeModule(m);
        return status;
    }
    strip_target(m);
    *out = m;
    return OMPJIT_OK;
}

ompjit_status ompjit__write_half(LLVMModuleRef m, ompjit__buf *out,
                                 ompjit_error *err)
{
    LLVMMemoryBufferRef memory = LLVMWriteBitcodeToMemoryBuffer(m);
    ompjit__buf_add(out, LLVMGetBufferStart(memory),
                    LLVMGetBufferSize(memory));
    LLVMDisposeMemoryBuffer(memory);
    if (out->failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    return OMPJIT_OK;
}

ompjit_status ompjit__unit_finish(ompjit__unit *unit, ompjit_status status,
                                  ompjit__unit *out, ompjit_error *err)
{
    if (!status && !ompjit__unit_seal(unit))
        status = ompjit__no_memory(err, OMPJIT_STAGE_READ);
    if (status)
        ompjit__unit_free(unit);
    else
        *out = *unit;
    return status;
}

/* ------------------------------------------------------- the host half */

/* Arguments of the guarded part of ompjit__early_read. */
struct host_half {
    ompjit__early *early;
    const ompjit__buf *bytes;
    const char *name;
};

/* Types of debug information are for signatures alone, and lines are not kept
 * where nobody asked. */
static void take_signatures(ompjit__early *e)
{
    if (e->how & OMPJIT__HALF_SIGNATURES)
        ompjit__signatures(e->host, &e->signatures);
    ompjit__passing(e->host, &e->passing);
    if (e->how & OMPJIT__HALF_OWN_LINES)
        LLVMStripModuleDebugInfo(e->host);
    else if (e->how & OMPJIT__HALF_SIGNATURES)
        ompjit__strip_types(e->host);
}

/* In a guard. The bitcode is written here, as what follows only reads the half,
 * but for add_entries. */
static ompjit_status read_host(void *arg, ompjit_error *err)
{
    struct host_half *h = arg;
    ompjit__early *e = h->early;
    char name[512];
    snprintf(name, sizeof name, "host half of %s", h->name);
    e->context = ompjit__llvm_context(&e->messages);
    ompjit_status status =
        h->bytes->size ? read_half(e, h->bytes, name, ompjit__upgrade_host,
                                   &e->host, err)
                       : OMPJIT_OK;
    if (status || !e->host)
        return status;
    ompjit__lambda_regions_find(e->host, &e->lambdas);
    take_signatures(e);
    return ompjit__write_half(e->host, &e->host_bc, err);
}

ompjit__early *ompjit__early_read(const ompjit__buf *host, const char *name,
                                  unsigned how)
{
    ompjit__early *e = calloc(1, sizeof *e);
    struct host_half h = {.early = e, .bytes = host, .name = name};
    if (!e)
        return NULL;
    e->holds = 1;
    e->how = how;
    e->status = ompjit__guard(read_host, &h, OMPJIT_STAGE_READ, &e->err);
    return e;
}

void ompjit__early_info(const ompjit__early *e, ompjit__buf *info)
{
    if (e->host)
        ompjit__offload_info(e->host, info);
}

bool ompjit__early_has_lambdas(const ompjit__early *e)
{
    return e->host && e->lambdas.n;
}

bool ompjit__early_agrees(const ompjit__early *e, const ompjit__buf *device)
{
    return !e->host || ompjit__lambda_regions_agree(&e->lambdas, device);
}

bool ompjit__early_numbers(const ompjit__early *e, ompjit__buf *info)
{
    return ompjit__lambda_info(e->host, e->lambdas.numbers, info);
}

ompjit__early *ompjit__early_hold(ompjit__early *e)
{
    e->holds++;
    return e;
}

LLVMContextRef ompjit__early_context(const ompjit__early *e)
{
    return e->context;
}

LLVMModuleRef ompjit__early_take_host(ompjit__early *e)
{
    LLVMModuleRef host = e->host;
    e->host = NULL;
    return host;
}

LLVMModuleRef ompjit__early_device(const ompjit__early *e)
{
    return e->device;
}

void ompjit__early_free(ompjit__early *e)
{
    if (!e || --e->holds)
        return;
    if (e->device)
        LLVMDisposeModule(e->device);
    if (e->host)
        LLVMDisposeModule(e->host);
    if (e->context)
        LLVMContextDispose(e->context);
    ompjit__lambda_regions_free(&e->lambdas);
    ompjit__buf_free(&e->messages);
    ompjit__buf_free(&e->host_bc);
    ompjit__buf_free(&e->signatures);
    ompjit__buf_free(&e->passing);
    free(e);
}

/* -------------------------------------------------------------- the unit */

/* The host half's faults are told here, behind those of the device half. */
static ompjit_status host_status(const ompjit__early *e, ompjit_error *err)
{
    if (e->status && err)
        *err = e->err;
    return e->status;
}

/* The host half may have got entries, or other names of regions, which are the
 * caller's where it has brought the IR. */
static ompjit_status add_entries(LLVMModuleRef device, ompjit__early *e,
                                 ompjit_error *err)
{
    bool changed = ompjit__unify_variables(device, e->host);
    changed |= ompjit__point_to_session(device, e->host);
    changed |= ompjit__copy_first_values(device, e->host);
    changed |= ompjit__list_variables(device, e->host);
    if (e->how & OMPJIT__HALF_OF_SOURCE)
        changed |= ompjit__own_regions(device, e->host);
    if (!changed)
        return OMPJIT_OK;
    ompjit__buf_free(&e->host_bc);
    e->host_bc = (ompjit__buf){0};
    return ompjit__write_half(e->host, &e->host_bc, err);
}

/* The steps of a unit, in order. Each may rely on what those before have
 * checked. */
static ompjit_status read_device(struct reading *r, LLVMModuleRef *device,
                                 ompjit_error *err)
{
    char name[512];
    snprintf(name, sizeof name, "device half of %s", r->name);
    ompjit_status status = read_half(r->early, r->device, name,
                                     r->cuda ? ompjit__upgrade_cuda
                                             : ompjit__upgrade_device,
                                     device, err);
    if (!status)
        status = host_status(r->early, err);
    if (!status && r->early->how & OMPJIT__HALF_ALL_NUMBERS)
        status = ompjit__lambda_regions_rename(*device, &r->early->lambdas,
                                               err);
    if (!status && r->early->host)
        status = add_entries(*device, r->early, err);
    if (!status)
        status = ompjit__describe(*device, r->early->host, r->unit, err);
    if (!status && r->cuda)
        status = ompjit__cuda_kernels(*device, r->unit, err);
    if (!status)
        status = ompjit__write_half(*device, &r->unit->device_bc, err);
    return status;
}

static ompjit_status read_guarded(void *arg, ompjit_error *err)
{
    struct reading *r = arg;
    LLVMModuleRef device = NULL;
    ompjit_status status = read_device(r, &device, err);
    if (device && status)
        LLVMDisposeModule(device);
    if (status)
        return status;
    r->early->device = device;
    r->unit->host_bc = r->early->host_bc;
    r->early->host_bc = (ompjit__buf){0};
    r->unit->signatures = r->early->signatures;
    r->early->signatures = (ompjit__buf){0};
    r->unit->passing = r->early->passing;
    r->early->passing = (ompjit__buf){0};
    return r->unit->signatures.failed || r->unit->passing.failed
               ? ompjit__no_memory(err, OMPJIT_STAGE_READ)
               : OMPJIT_OK;
}

/* Makes the unit, or frees what there is of it. */
static ompjit_status unit_read(struct reading *r, unsigned opt_level,
                               ompjit__unit *out, ompjit_error *err)
{
    ompjit__unit unit = {.name = ompjit__strdup(r->name),
                         .opt_level = opt_level ? opt_level - 1 : 3};
    ompjit__early *own = NULL;
    r->unit = &unit;
    if (!r->early)
        r->early = own = ompjit__early_read(r->host, r->name, r->how);
    ompjit_status status =
        unit.name && r->early
            ? ompjit__guard(read_guarded, r, OMPJIT_STAGE_READ, err)
            : ompjit__no_memory(err, OMPJIT_STAGE_READ);
    ompjit__early_free(own);
    return ompjit__unit_finish(&unit, status, out, err);
}

ompjit_status ompjit__unit_read(const ompjit__buf *device,
                                const ompjit__buf *host, const char *name,
                                unsigned opt_level, unsigned how,
                                ompjit__early *early, ompjit__unit *out,
                                ompjit_error *err)
{
    struct reading r = {.device = device,
                        .host = host,
                        .name = name,
                        .how = how,
                        .early = early};
    return unit_read(&r, opt_level, out, err);
}

ompjit_status ompjit__unit_read_cuda(const ompjit__buf *device,
                                     const char *name, unsigned opt_level,
                                     ompjit__unit *out, ompjit_error *err)
{
    static const ompjit__buf none;
    struct reading r = {.device = device,
                        .host = &none,
                        .name = name,
                        .cuda = true};
    return unit_read(&r, opt_level, out, err);
}

/* ------------------------------------------------------------- signatures */

/* Arguments of the guarded part of ompjit__half_signatures. */
struct signing {
    const ompjit__buf *host;
    const char *name;
    ompjit__buf *out;
};

static ompjit_status sign_guarded(void *arg, ompjit_error *err)
{
    struct signing *s = arg;
    ompjit__buf messages = {0};
    LLVMModuleRef m = NULL;
    LLVMContextRef context = ompjit__llvm_context(&messages);
    ompjit_status status = ompjit__parse_ir(context, s->host->data,
                                            s->host->size, s->name, &messages,
                                            &m, err);
    if (!status)
        ompjit__signatures(m, s->out);
    if (m)
        LLVMDisposeModule(m);
    LLVMContextDispose(context);
    ompjit__buf_free(&messages);
    return status;
}

ompjit_status ompjit__half_signatures(const ompjit__buf *host, const char *name,
                                      ompjit__buf *out, ompjit_error *err)
{
    struct signing s = {host, name, out};
    ompjit_status status =
        ompjit__guard(sign_guarded, &s, OMPJIT_STAGE_READ, err);
    return !status && out->failed ? ompjit__no_memory(err, OMPJIT_STAGE_READ)
                                  : status;
}
