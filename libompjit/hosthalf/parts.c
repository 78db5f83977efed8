/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Parts of a host half that are compiled when one of their functions is first
 * called (passes/hosthalf/parts.cc). Code refers to such a function by a stub,
 * whose first call comes to `enter`:
 *
 *   obtain   the part's object, from the cache or the compiler
 *   link     into a jit of its own, which looks names up in the core
 *   set      the stub leads to the function from now on
 *
 * Nothing can be returned to who calls a function whose part cannot be had: it
 * fails as a target construct does (ompjit__tgt_fail), and if the process goes on,
 * the call does nothing.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "device/engine/guard.h"
#include "hosthalf/program_code.h"
#include "launch/module.h"
#include "loader/stubs.h"

/* `jit` and `code` are set once, under the lock, and `code` last. */
struct part {
    ompjit__jit *jit;
    void *code; /* its function's; NULL: not there yet */
};

/* `names` is sorted for find_part; no row of it changes. */
struct ompjit__host_parts {
    ompjit_module *mod;
    const ompjit__host_half *half; /* the caller's */
    ompjit__host_linker linker;
    ompjit__stubs *stubs;
    pthread_mutex_t lock; /* of parts, while one is made */
    ompjit__fork_lock at_fork;
    struct part *parts;   /* by number less 1            */
    struct name {
        const char *text;
        size_t part; /* less 1 */
    } *names;
};

/* ----------------------------------------------------------------- compile */

static bool take_object(void *object, const void *payload, size_t size)
{
    ompjit__buf *out = object;
    ompjit__buf_add(out, payload, size);
    if (!out->failed)
        return true;
    ompjit__buf_free(out);
    return false;
}

/* A miss is claimed, as a half's is. */
static ompjit_status obtain(const ompjit__host_parts *p, size_t i,
                            ompjit__buf *object, ompjit_error *err)
{
    ompjit_context *ctx = p->mod->ctx;
    const ompjit__unit *unit = &p->mod->unit;
    struct ompjit__cache *cache = ctx->explain ? NULL : ctx->cache;
    ompjit__key key = {0};
    ompjit__claim claim;
    ompjit_status status = OMPJIT_OK;
    if (!cache || !ompjit__half_key(unit, true, i + 1, &key)) {
        status = ompjit__door_half_part(&ctx->compiler, unit, i + 1, object,
                                        err);
    } else if (!ompjit__cache_enter(cache, &key, take_object, object, &claim)) {
        status = ompjit__door_half_part(&ctx->compiler, unit, i + 1, object,
                                        err);
        if (!status)
            ompjit__cache_put(cache, &key, object);
        ompjit__claim_end(&claim);
    }
    ompjit__key_free(&key);
    return status;
}

/* -------------------------------------------------------------------- load */

static ompjit_status load(ompjit__host_parts *p, size_t i, ompjit_error *err)
{
    struct part *part = &p->parts[i];
    ompjit__buf object = {0};
    void *code;
    ompjit_status status = obtain(p, i, &object, err);
    uint64_t start = ompjit__now();
    if (!status)
        status = p->linker.new_jit(p->linker.data, &part->jit, err);
    if (!status)
        status = ompjit__jit_add_object(part->jit, object.data, object.size,
                                        err);
    if (!status)
        status = ompjit__jit_lookup(part->jit, p->half->parts[i], &code, err);
    ompjit__buf_free(&object);
    if (status) {
        ompjit__jit_free(part->jit);
        part->jit = NULL;
        return status;
    }
    part->code = code;
    p->linker.loaded(p->linker.data, part->jit, code);
    ompjit__stub_set(p->stubs, i, code);
    ompjit__stage_done(p->mod->ctx, OMPJIT_STAGE_LOAD, start);
    return OMPJIT_OK;
}

/* A thread that is cancelled here would keep the lock. */
static ompjit_status need(ompjit__host_parts *p, size_t i, void **code,
                          ompjit_error *err)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&p->lock);
    ompjit_status status = p->parts[i].code ? OMPJIT_OK : load(p, i, err);
    *code = p->parts[i].code;
    pthread_mutex_unlock(&p->lock);
    pthread_setcancelstate(before, NULL);
    return status;
}

/* ompjit__stubs_find. A part that failed is tried again by the next call. */
static void *enter(void *data, size_t i)
{
    ompjit__host_parts *p = data;
    ompjit__call_guard *call = ompjit__any_call(NULL);
    ompjit_error err;
    void *code;
    if (call)
        call->busy = true;
    ompjit_status status = need(p, i, &code, &err);
    if (call)
        call->busy = false;
    if (!status)
        return code;
    ompjit__tgt_fail(p->mod->ctx->tgt, &err);
    return ompjit__stub_nothing();
}

/* ------------------------------------------------------------------- names */

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text,
                  ((const struct name *)b)->text);
}

/* Its number less 1; SIZE_MAX: no part has the function. */
static size_t find_part(const ompjit__host_parts *p, const char *name)
{
    const struct name key = {.text = name};
    const struct name *found = bsearch(&key, p->names, p->half->nparts,
                                       sizeof key, by_text);
    return found ? found->part : SIZE_MAX;
}

void *ompjit__host_parts_find(const ompjit__host_parts *p, const char *name)
{
    static const char stub_of[] = OMPJIT__STUB_OF;
    if (!p)
        return NULL;
    if (!strncmp(name, stub_of, sizeof stub_of - 1))
        name += sizeof stub_of - 1;
    size_t i = find_part(p, name);
    return i == SIZE_MAX ? NULL : ompjit__stub(p->stubs, i);
}

bool ompjit__host_parts_need(ompjit__host_parts *p, const char *name,
                             void **address, ompjit_status *status,
                             ompjit_error *err)
{
    size_t i = p ? find_part(p, name) : SIZE_MAX;
    void *code;
    if (i == SIZE_MAX)
        return false;
    *status = need(p, i, &code, err);
    if (!*status)
        *address = ompjit__stub(p->stubs, i);
    return true;
}

/* --------------------------------------------------------------- interface */

ompjit__host_parts *ompjit__host_parts_new(ompjit_module *mod,
                                           const ompjit__host_half *half,
                                           const ompjit__host_linker *linker)
{
    ompjit__host_parts *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (ompjit__host_parts){.mod = mod, .half = half, .linker = *linker};
    ompjit__fork_lock_init(&p->at_fork, &p->lock);
    p->parts = calloc(half->nparts, sizeof *p->parts);
    p->names = calloc(half->nparts, sizeof *p->names);
    p->stubs = ompjit__stubs_new(half->nparts, enter, p);
    if (!p->parts || !p->names || !p->stubs) {
        ompjit__host_parts_free(p);
        return NULL;
    }
    for (size_t i = 0; i < half->nparts; i++)
        p->names[i] = (struct name){half->parts[i], i};
    qsort(p->names, half->nparts, sizeof *p->names, by_text);
    return p;
}

void ompjit__host_parts_free(ompjit__host_parts *p)
{
    if (!p)
        return;
    for (size_t i = 0; p->parts && i < p->half->nparts; i++)
        ompjit__jit_free(p->parts[i].jit);
    ompjit__stubs_free(p->stubs);
    ompjit__fork_lock_end(&p->at_fork);
    free(p->names);
    free(p->parts);
    free(p);
}
