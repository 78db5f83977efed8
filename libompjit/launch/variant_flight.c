/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Builds of variants. A build is a flight: a thread that needs the same variant
 * meanwhile waits for it to land. A thread that does not need it at once leaves
 * it to the background thread.
 */
#include <stdlib.h>
#include <time.h>

#include "context/background.h"
#include "launch/module.h"
#include "launch/variant.h"

/* ---------------------------------------------------------------- flights */

/* Under the lock: has it a thread that builds it, or will it have one? Those of
 * before a fork have none in the child. */
static bool is_under_way(const ompjit__flight *f)
{
    return f->depth == ompjit__fork_depth();
}

/* Under the lock; NULL: no such build is under way. */
static ompjit__flight *flight_of(ompjit__variants *all,
                                 const ompjit__variant_key *key)
{
    for (ompjit__flight *f = all->flights; f; f = f->next)
        if (is_under_way(f) && ompjit__variant_same_key(&f->key, key))
            return f;
    return NULL;
}

/* Under the lock. */
static void flight_unref(ompjit__flight *f)
{
    if (--f->refs)
        return;
    ompjit__facts_free(&f->key.facts);
    free(f->err);
    free(f);
}

/* Under the lock: lists a new flight with one reference, for the caller. NULL:
 * no memory. */
static ompjit__flight *flight_new(ompjit_module *mod,
                                  const ompjit__variant_key *key)
{
    ompjit__variants *all = &mod->variants;
    ompjit__flight *f = calloc(1, sizeof *f);
    if (!f || !ompjit__variant_copy_key(&f->key, key)) {
        if (f)
            ompjit__facts_free(&f->key.facts);
        free(f);
        return NULL;
    }
    f->mod = mod;
    f->refs = 1;
    f->depth = ompjit__fork_depth();
    f->next = all->flights;
    all->flights = f;
    return f;
}

/* Under the lock: takes the flight off the list and wakes those who wait for
 * it. Their references keep it alive. */
static void flight_land(ompjit__variants *all, ompjit__flight *f)
{
    ompjit__flight **at = &all->flights;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    f->done = true;
    pthread_cond_broadcast(&all->landed);
}

/* Under the lock: is another build for the device under way that may become its
 * first? */
static bool first_is_building(ompjit__variants *all, const ompjit_device *dev)
{
    for (ompjit__flight *f = all->flights; f; f = f->next)
        if (f->started && is_under_way(f) && f->key.dev == dev)
            return true;
    return false;
}

/* Builds what the flight is for. Under the lock, but not while it builds. With
 * `out` the variant is held for the caller. */
static ompjit_status fly(ompjit__flight *f, ompjit__variant **out,
                         ompjit_error *err)
{
    ompjit_module *mod = f->mod;
    ompjit__variants *all = &mod->variants;
    ompjit__variant *base, *v = NULL, *evicted = NULL;
    f->claimed = true;
    while (!(base = ompjit__variant_base(all, f->key.dev)) &&
           first_is_building(all, f->key.dev))
        pthread_cond_wait(&all->landed, &all->lock);
    f->started = true;
    pthread_mutex_unlock(&all->lock);
    ompjit_status status = ompjit__variant_make(mod, &f->key, base, &v, err);
    pthread_mutex_lock(&all->lock);
    if (!status) {
        ompjit__variant_publish(all, v, out != NULL);
        evicted = ompjit__variant_evict(mod, v);
        ompjit__record_variant(mod, &f->key);
    } else {
        atomic_fetch_add(&all->failures, 1);
        f->status = status;
        f->err = err ? ompjit__memdup(err, sizeof *err) : NULL;
    }
    flight_land(all, f);
    /* ompjit__variant_bury takes the lock itself. */
    if (evicted) {
        pthread_mutex_unlock(&all->lock);
        ompjit__variant_bury(mod, evicted);
        pthread_mutex_lock(&all->lock);
    }
    if (out)
        *out = v;
    return status;
}

/* Under the lock: waits for the build. TIMEOUT where `until` (0: no limit)
 * comes first. The caller looks the variant up again. */
static ompjit_status await(ompjit__variants *all, ompjit__flight *f,
                           uint64_t until, ompjit_error *err)
{
    struct timespec limit = {.tv_sec = (time_t)(until / 1000000000u),
                             .tv_nsec = (long)(until % 1000000000u)};
    int late = 0;
    f->refs++;
    while (!f->done && !late)
        late = until ? pthread_cond_timedwait(&all->landed, &all->lock, &limit)
                     : pthread_cond_wait(&all->landed, &all->lock);
    ompjit_status status = f->done ? f->status : OMPJIT_ERR_TIMEOUT;
    if (status == OMPJIT_ERR_TIMEOUT)
        ompjit__fail(err, status, OMPJIT_STAGE_LAUNCH,
                     f->done ? "%s: the compilation of a variant was cancelled"
                             : "%s: a variant is still being compiled",
                     f->mod->unit.name);
    else if (status && f->err && err)
        *err = *f->err;
    else if (status)
        ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    flight_unref(f);
    return status;
}

/* Under the lock: waits for the build of a variant, or does it here. */
static ompjit_status build_or_await(ompjit_module *mod,
                                    const ompjit__variant_key *key,
                                    ompjit__variant **out, ompjit_error *err)
{
    ompjit__variants *all = &mod->variants;
    ompjit__flight *f = flight_of(all, key);
    if (f && f->claimed)
        return await(all, f, 0, err);
    ompjit_error own;
    if (f)
        f->refs++; /* the background thread will find it claimed */
    else if (!(f = flight_new(mod, key)))
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    ompjit_status status = fly(f, out, err ? err : &own);
    flight_unref(f);
    return status;
}

/* A variant may be evicted between its build and here, so the table is asked
 * until it has it. */
static ompjit_status get_at_any_time(ompjit_module *mod,
                                     const ompjit__variant_key *key,
                                     ompjit__variant **out, ompjit_error *err)
{
    ompjit__variants *all = &mod->variants;
    ompjit__variant *v = NULL;
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&all->lock);
    while (!status && !v && !(v = ompjit__variant_find(mod, key)))
        status = build_or_await(mod, key, &v, err);
    pthread_mutex_unlock(&all->lock);
    if (!status)
        *out = v;
    return status;
}

/* ------------------------------------------------------------- background */

/* The background thread's: builds unless a launch has claimed the flight. */
static void run_flight(void *arg)
{
    ompjit__flight *f = arg;
    ompjit__variants *all = &f->mod->variants;
    ompjit_error err;
    pthread_mutex_lock(&all->lock);
    if (!f->claimed && !f->done)
        fly(f, NULL, &err);
    flight_unref(f);
    pthread_mutex_unlock(&all->lock);
}

/* For flights that are cancelled, and for one that could not be queued: whoever
 * waits gets TIMEOUT. */
static void drop_flight(void *arg)
{
    ompjit__flight *f = arg;
    ompjit__variants *all = &f->mod->variants;
    pthread_mutex_lock(&all->lock);
    if (!f->claimed && !f->done) {
        f->status = OMPJIT_ERR_TIMEOUT;
        flight_land(all, f);
    }
    flight_unref(f);
    pthread_mutex_unlock(&all->lock);
}

/* Leaves the build to the background thread, unless the variant is there or its
 * build is under way. With `held` the caller gets a reference to the flight, NULL
 * where the variant is there. The flight's first reference is the background
 * thread's from ompjit__background_add on. */
static ompjit_status request(ompjit_module *mod, const ompjit__variant_key *key,
                             ompjit__flight **held, ompjit_error *err)
{
    ompjit__variants *all = &mod->variants;
    ompjit__flight *f = NULL, *added = NULL;
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&all->lock);
    ompjit__variant *v = ompjit__variant_find(mod, key);
    if (!v && !(f = flight_of(all, key)) && !(f = added = flight_new(mod, key)))
        status = ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    if (f && held)
        f->refs++;
    pthread_mutex_unlock(&all->lock);
    if (v)
        ompjit__variant_release(mod, v);
    if (held)
        *held = f;
    if (!added)
        return status;
    const ompjit_kernel *owner =
        key->kernel < mod->unit.nkernels ? &mod->kernels[key->kernel] : NULL;
    status = ompjit__background_add(mod->ctx->background,
                                    owner ? (const void *)owner : mod,
                                    run_flight, drop_flight, f, err);
    if (status)
        drop_flight(f);
    return status;
}

ompjit_status ompjit__variant_request(ompjit_module *mod,
                                      const ompjit__variant_key *key,
                                      ompjit_error *err)
{
    return request(mod, key, NULL, err);
}

/* The background thread builds it, so that this thread can leave at `until`,
 * whatever becomes of the build meanwhile. */
static ompjit_status get_until(ompjit_module *mod,
                               const ompjit__variant_key *key, uint64_t until,
                               ompjit__variant **out, ompjit_error *err)
{
    ompjit__variants *all = &mod->variants;
    ompjit__variant *v;
    ompjit_status status = OMPJIT_OK;
    while (!status && !(v = ompjit__variant_find(mod, key))) {
        ompjit__flight *f;
        status = request(mod, key, &f, err);
        if (!f)
            continue;
        pthread_mutex_lock(&all->lock);
        if (!status)
            status = await(all, f, until, err);
        flight_unref(f);
        pthread_mutex_unlock(&all->lock);
    }
    if (!status)
        *out = v;
    return status;
}

ompjit_status ompjit__variant_get(ompjit_module *mod,
                                  const ompjit__variant_key *key,
                                  uint32_t limit_ms, ompjit__variant **out,
                                  ompjit_error *err)
{
    ompjit__variant *v = ompjit__variant_find(mod, key);
    if (v) {
        *out = v;
        return OMPJIT_OK;
    }
    return limit_ms ? get_until(mod, key,
                                ompjit__now() + limit_ms * UINT64_C(1000000),
                                out, err)
                    : get_at_any_time(mod, key, out, err);
}

/* A build that has begun goes on. */
void ompjit__variant_cancel(ompjit_module *mod, uint32_t kernel)
{
    ompjit__background_cancel(mod->ctx->background, &mod->kernels[kernel],
                              false);
}

/* Waits for builds that have begun. */
void ompjit__variants_free(ompjit_module *mod)
{
    ompjit__variants *all = &mod->variants;
    for (unsigned i = 0; i < mod->unit.nkernels; i++)
        ompjit__background_cancel(mod->ctx->background, &mod->kernels[i], true);
    ompjit__background_cancel(mod->ctx->background, mod, true);
    /* The newest first: a base is older than those that import from it. */
    for (ompjit__variant *v = all->all, *next; v; v = next) {
        next = v->next_all;
        ompjit__variant_unload(v);
        free(v);
    }
    for (ompjit__variant *v = all->spare, *next; v; v = next) {
        next = v->next_all;
        free(v);
    }
    ompjit__calls_free_all(all);
    pthread_cond_destroy(&all->landed);
    ompjit__fork_lock_end(&all->at_fork);
}
