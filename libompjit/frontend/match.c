/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Makes the two halves of a source agree whose objects another compiler makes,
 * as ir.c does where it reads a unit: regions have the names that the host half
 * gives them (dialect/lambda.c), and the device half has pointers to variables
 * of the host's (dialect/unified.cc), and the host half entries for the device's
 * (dialect/unlisted.cc); regions that are the file's own have names of its own
 * (dialect/own_regions.cc). Nothing is upgraded or checked.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "llvm/llvm.h"
#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"
#include "frontend/frontend.h"

/* Both halves, in one context. */
struct work {
    const ompjit__halves *in;
    ompjit__matched *out;
    ompjit__buf messages;
    LLVMModuleRef host, device; /* NULL: not read */
    ompjit__lambda_regions lambdas; /* the host half's */
};

static ompjit_status read_both(struct work *w, LLVMContextRef context,
                               ompjit_error *err)
{
    const ompjit__halves *in = w->in;
    ompjit_status status =
        ompjit__parse_ir(context, in->host.data, in->host.size, in->name,
                         &w->messages, &w->host, err);
    return status ? status
                  : ompjit__parse_ir(context, in->device.data, in->device.size,
                                     in->name, &w->messages, &w->device, err);
}

static bool are_of_one_source(const struct work *w)
{
    size_t n, m;
    const char *host = LLVMGetSourceFileName(w->host, &n);
    const char *device = LLVMGetSourceFileName(w->device, &m);
    return n == m && !memcmp(host, device, n);
}

/* Asks for the device half once more, compiled with a host half that lists all
 * names that its regions may have. */
static ompjit_status ask_again(struct work *w, ompjit_error *err)
{
    size_t n;
    const char *source = LLVMGetSourceFileName(w->device, &n);
    w->out->how = OMPJIT__MATCH_AGAIN;
    ompjit__buf_printf(&w->out->source, "%.*s", (int)n, source);
    if (ompjit__lambda_info(w->host, w->lambdas.numbers, &w->out->host))
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_READ,
                        "%s: clang's host and device halves number lambdas "
                        "differently, and there are too many of them in the "
                        "names of target regions",
                        w->out->source.data ? w->out->source.data : "");
}

static ompjit_status write_both(struct work *w, ompjit_error *err)
{
    w->out->how = OMPJIT__MATCH_CHANGED;
    ompjit_status status = ompjit__write_half(w->host, &w->out->host, err);
    return status ? status
                  : ompjit__write_half(w->device, &w->out->device, err);
}

static ompjit_status match(struct work *w, ompjit_error *err)
{
    if (w->in->may_differ && !are_of_one_source(w))
        return OMPJIT_OK;
    ompjit__lambda_regions_find(w->host, &w->lambdas);
    if (w->lambdas.failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    if (!w->in->numbered &&
        !ompjit__lambda_regions_agree(&w->lambdas, &w->in->device))
        return ask_again(w, err);
    if (w->in->numbered) {
        ompjit__inline_debug_kernels(w->device); /* they have their names */
        ompjit_status status =
            ompjit__lambda_regions_rename(w->device, &w->lambdas, err);
        if (status)
            return status;
    }
    bool changed = ompjit__unify_variables(w->device, w->host);
    changed |= ompjit__copy_first_values(w->device, w->host);
    changed |= ompjit__list_variables(w->device, w->host);
    changed |= ompjit__own_regions(w->device, w->host);
    return changed || w->in->numbered ? write_both(w, err) : OMPJIT_OK;
}

static ompjit_status match_guarded(void *arg, ompjit_error *err)
{
    struct work *w = arg;
    LLVMContextRef context = ompjit__llvm_context(&w->messages);
    ompjit_status status = read_both(w, context, err);
    if (!status)
        status = match(w, err);
    if (w->host)
        LLVMDisposeModule(w->host);
    if (w->device)
        LLVMDisposeModule(w->device);
    LLVMContextDispose(context);
    return status;
}

ompjit_status ompjit__halves_match(const ompjit__halves *in,
                                   ompjit__matched *out, ompjit_error *err)
{
    struct work w = {.in = in, .out = out};
    ompjit_status status =
        ompjit__guard(match_guarded, &w, OMPJIT_STAGE_READ, err);
    ompjit__lambda_regions_free(&w.lambdas);
    ompjit__buf_free(&w.messages);
    const bool failed =
        out->host.failed || out->device.failed || out->source.failed;
    return !status && failed ? ompjit__no_memory(err, OMPJIT_STAGE_READ)
                             : status;
}
