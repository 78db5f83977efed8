/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The table of variants. Readers walk a bucket's chain and take a hold by one
 * addition to the variant's state word, which they then trust only if it says
 * READY; a variant's memory is never freed before the module, only reused, so
 * that a late reader finds a state word whatever has happened since. Writers
 * hold the lock. A build is a flight: whoever needs the same variant meanwhile
 * waits for it to land.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "door/door.h"
#include "launch/module.h"
#include "cache/cache.h"

/* state: flags, and the number of holders in units of USER. DEAD variants are
 * in no chain; the last holder buries them, and FREED says that one has. */
enum { READY = 1, DEAD = 2, FREED = 4, USER = 8 };

struct ompjit__variant {
    ompjit__variant *_Atomic next; /* in the bucket */
    _Atomic uint64_t hash;
    _Atomic uint32_t state;
    _Atomic uint32_t last_use;     /* the module's tick */
    ompjit__variant *next_all;     /* under the lock */
    /* Constant while READY or held: */
    bool environment; /* its images reads the device's */
    bool pinned; /* the device's first: its variables are everybody's */
    ompjit__variant_key key;
    ompjit__loaded *loaded;
    ompjit__buf modes; /* as the image's */
    ompjit__function *_Atomic *functions; /* of the one kernel, or of all */
};

/* A build that runs, or waits for the background thread. Under the lock. */
struct ompjit__flight {
    ompjit__flight *next;
    ompjit_module *mod;
    ompjit__variant_key key;
    unsigned refs;
    bool claimed, started, done; /* taken by a thread; building; landed */
    ompjit_status status;
    ompjit_error *err; /* of a failure; NULL where memory ran out */
};

/* ------------------------------------------------------------------- keys */

uint64_t ompjit__variant_hash(const ompjit__variant_key *key)
{
    return ompjit__facts_hash(&key->facts,
                              ompjit__mix(key->dev->number, key->kernel));
}

bool ompjit__variant_is_generic(const ompjit__variant_key *key)
{
    bool lone = key->dev->caps.lone_threads;
    ompjit__facts facts = key->facts;
    if (lone && facts.threads.all == 1)
        facts.threads.all = 0;
    return !ompjit__facts_any(&facts);
}

static bool same_key(const ompjit__variant_key *a, const ompjit__variant_key *b)
{
    return a->hash == b->hash && a->dev == b->dev && a->kernel == b->kernel &&
           ompjit__facts_same(&a->facts, &b->facts);
}

/* A key that owns its arrays. */
static bool copy_key(ompjit__variant_key *to, const ompjit__variant_key *from)
{
    *to = *from;
    return ompjit__facts_copy(&to->facts, &from->facts);
}

/* ------------------------------------------------------- finding, holding */

void ompjit__variants_init(ompjit__variants *all)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&all->landed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static _Atomic(ompjit__variant *) *bucket_of(ompjit__variants *all,
                                             uint64_t hash)
{
    return &all->buckets[hash % OMPJIT__BUCKETS];
}

static void touch(ompjit__variants *all, ompjit__variant *v)
{
    uint32_t tick = atomic_load_explicit(&all->tick, memory_order_relaxed);
    if (atomic_load_explicit(&v->last_use, memory_order_relaxed) != tick)
        atomic_store_explicit(&v->last_use, tick, memory_order_relaxed);
}

ompjit__variant *ompjit__variant_find(ompjit_module *mod,
                                      const ompjit__variant_key *key)
{
    ompjit__variants *all = &mod->variants;
    ompjit__variant *v = atomic_load_explicit(bucket_of(all, key->hash),
                                              memory_order_acquire);
    for (; v; v = atomic_load_explicit(&v->next, memory_order_acquire)) {
        if (atomic_load_explicit(&v->hash, memory_order_relaxed) != key->hash)
            continue;
        uint32_t state = atomic_fetch_add_explicit(&v->state, USER,
                                                   memory_order_acquire);
        if (state & READY && same_key(&v->key, key)) {
            touch(all, v);
            return v;
        }
        ompjit__variant_release(mod, v);
    }
    return NULL;
}

static void unload(ompjit__variant *v)
{
    v->key.dev->ops->unload(v->key.dev, v->loaded);
    ompjit__buf_free(&v->modes);
    free(v->functions);
    ompjit__facts_free(&v->key.facts);
}

/* Unloads a variant that is dead and that nobody holds; the first of those who
 * see that does it. */
static void bury(ompjit_module *mod, ompjit__variant *v)
{
    ompjit__variants *all = &mod->variants;
    uint32_t expected = DEAD;
    if (!atomic_compare_exchange_strong(&v->state, &expected, DEAD | FREED))
        return;
    unload(v);
    pthread_mutex_lock(&all->lock);
    v->next_all = all->spare;
    all->spare = v;
    pthread_mutex_unlock(&all->lock);
}

void ompjit__variant_hold(ompjit__variant *v)
{
    atomic_fetch_add_explicit(&v->state, USER, memory_order_relaxed);
}

void ompjit__variant_release(ompjit_module *mod, ompjit__variant *v)
{
    uint32_t before = atomic_fetch_sub_explicit(&v->state, USER,
                                                memory_order_release);
    if (before == DEAD + USER)
        bury(mod, v);
}

/* --------------------------------------------------------------- eviction */

static void unlink_variant(ompjit__variants *all, ompjit__variant *v)
{
    _Atomic(ompjit__variant *) *at = bucket_of(all, v->key.hash);
    while (atomic_load(at) != v)
        at = &atomic_load(at)->next;
    atomic_store(at, atomic_load(&v->next));
    ompjit__variant **list = &all->all;
    while (*list != v)
        list = &(*list)->next_all;
    *list = v->next_all;
}

/* If the kernel of `v` has more variants on the device than it may, takes
 * the least recently used out of the table; the caller buries it. */
static ompjit__variant *evict(ompjit_module *mod, const ompjit__variant *v)
{
    ompjit__variants *all = &mod->variants;
    ompjit__variant *oldest = NULL;
    uint32_t tick = atomic_load(&all->tick), n = 0;
    if (ompjit__variant_is_generic(&v->key) || !mod->ctx->max_variants)
        return NULL;
    for (ompjit__variant *other = all->all; other; other = other->next_all) {
        if (other->key.kernel != v->key.kernel ||
            other->key.dev != v->key.dev || other->pinned ||
            ompjit__variant_is_generic(&other->key))
            continue;
        n++;
        if (other != v && (!oldest || tick - atomic_load(&other->last_use) >=
                                          tick - atomic_load(&oldest->last_use)))
            oldest = other;
    }
    if (n <= mod->ctx->max_variants || !oldest)
        return NULL;
    unlink_variant(all, oldest);
    atomic_fetch_xor(&oldest->state, READY | DEAD);
    atomic_fetch_add(&all->evictions, 1);
    return oldest;
}

/* --------------------------------------------------------------- building */

/* Under the lock. Variables live in the device's first variant; later ones use
 * them there. */
static ompjit__variant *base_of(ompjit__variants *all, const ompjit_device *dev)
{
    for (ompjit__variant *v = all->all; v; v = v->next_all)
        if (v->pinned && v->key.dev == dev)
            return v;
    return NULL;
}

ompjit__loaded *ompjit__variants_first(ompjit_module *mod,
                                       const ompjit_device *dev)
{
    pthread_mutex_lock(&mod->variants.lock);
    const ompjit__variant *v = base_of(&mod->variants, dev);
    pthread_mutex_unlock(&mod->variants.lock);
    return v ? v->loaded : NULL;
}

/* Functions that a module's kernels call through pointers: a table in the
 * device's memory. */
struct ompjit__calls {
    ompjit__calls *next;
    ompjit_device *dev;
    void *table;
    uint64_t n;
};

static const ompjit__calls *calls_of(ompjit__variants *all,
                                     const ompjit_device *dev)
{
    const ompjit__calls *c = all->calls;
    while (c && c->dev != dev)
        c = c->next;
    return c;
}

/* Tells an image which device it is on, and what `calls` (or NULL) has. */
static ompjit_status fill_environment(ompjit_device *dev,
                                      ompjit__loaded *loaded,
                                      const ompjit__calls *calls,
                                      ompjit_error *err)
{
    ompjit__device_environment env = ompjit__environment_of(dev);
    void *address;
    size_t size;
    if (calls) {
        env.indirect_call_table = (uintptr_t)calls->table;
        env.indirect_call_table_size = calls->n;
    }
    ompjit_status status = dev->ops->symbol(
        dev, loaded, OMPJIT__DEVICE_ENVIRONMENT, &address, &size, err);
    if (!status && size != sizeof env)
        status = ompjit__fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_LOAD,
                              OMPJIT__DEVICE_ENVIRONMENT
                              " has %zu bytes, not %zu", size, sizeof env);
    if (!status)
        status = dev->ops->copy(dev, OMPJIT__COPY_TO, address, &env,
                                sizeof env, NULL, err);
    return status;
}

static ompjit_status enter_environment(ompjit_module *mod, ompjit__variant *v,
                                       ompjit_error *err)
{
    ompjit_device *dev = v->key.dev;
    v->environment = true;
    pthread_mutex_lock(&mod->variants.lock);
    const ompjit__calls *calls = calls_of(&mod->variants, dev);
    pthread_mutex_unlock(&mod->variants.lock);
    return fill_environment(dev, v->loaded, calls, err);
}

static ompjit_status run_constructors(ompjit_device *dev,
                                      ompjit__loaded *loaded,
                                      ompjit_error *err)
{
    static const ompjit__geometry one = {.teams = {1, 1, 1},
                                         .threads = {1, 1, 1}};
    ompjit__function *function;
    ompjit_status status = dev->ops->function(
        dev, loaded, OMPJIT__CONSTRUCTORS, &function, err);
    return status ? status
                  : dev->ops->launch(dev, function, &one, NULL, 0, NULL, err);
}

static ompjit_status load(ompjit_module *mod, const ompjit__image *image,
                          ompjit__variant *v, ompjit__loaded *base,
                          ompjit_error *err)
{
    ompjit_device *dev = v->key.dev;
    ompjit_status status = dev->ops->load(dev, image, base, &v->loaded, err);
    if (status)
        return status;
    if (image->environment)
        status = enter_environment(mod, v, err);
    if (!status && image->constructors)
        status = run_constructors(dev, v->loaded, err);
    if (status)
        dev->ops->unload(dev, v->loaded);
    return status;
}

/* Loads what is built for v->key. */
static ompjit_status build(ompjit_module *mod, ompjit__variant *v,
                           ompjit__loaded *base, ompjit_error *err)
{
    const ompjit__variant_key *key = &v->key;
    ompjit__spec spec = {.facts = key->facts, .import_globals = base != NULL};
    if (key->kernel != OMPJIT__ALL_KERNELS)
        spec.kernel = mod->unit.kernels[key->kernel].symbol;
    char arch[32];
    ompjit_format format;
    key->dev->ops->target(key->dev, arch, &format, &spec.ptx);
    ompjit__image image = {0};
    ompjit_status status = ompjit__build_cached(mod->ctx, &mod->unit, arch,
                                                format, &spec, &image, err);
    if (status)
        return status;
    uint64_t start = ompjit__now();
    status = load(mod, &image, v, base, err);
    ompjit__stage_done(mod->ctx, OMPJIT_STAGE_LOAD, start);
    if (!status) {
        v->modes = image.modes;
        image.modes = (ompjit__buf){0};
        if (!key->dev->caps.keeps_modes)
            ompjit__note_modes(mod, key->kernel, &v->modes);
    }
    ompjit__image_free(&image);
    return status;
}

static ompjit__variant *take_spare(ompjit__variants *all)
{
    pthread_mutex_lock(&all->lock);
    ompjit__variant *v = all->spare;
    if (v)
        all->spare = v->next_all;
    pthread_mutex_unlock(&all->lock);
    return v ? v : calloc(1, sizeof *v);
}

static void give_spare(ompjit__variants *all, ompjit__variant *v)
{
    free(v->functions);
    ompjit__facts_free(&v->key.facts);
    v->functions = NULL;
    pthread_mutex_lock(&all->lock);
    v->next_all = all->spare;
    all->spare = v;
    pthread_mutex_unlock(&all->lock);
}

/* A variant that nobody can find yet. */
static ompjit_status make_variant(ompjit_module *mod,
                                  const ompjit__variant_key *key,
                                  ompjit__variant *base, ompjit__variant **out,
                                  ompjit_error *err)
{
    size_t n = key->kernel == OMPJIT__ALL_KERNELS ? mod->unit.nkernels : 1;
    ompjit__variant *v = take_spare(&mod->variants);
    if (!v)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    v->pinned = !base;
    v->environment = false;
    v->functions = calloc(n ? n : 1, sizeof *v->functions);
    ompjit_status status = OMPJIT_OK;
    if (!copy_key(&v->key, key) || !v->functions)
        status = ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    if (!status)
        status = build(mod, v, base ? base->loaded : NULL, err);
    if (status)
        give_spare(&mod->variants, v);
    else
        *out = v;
    return status;
}

/* Under the lock: from now on the variant can be found. */
static void publish(ompjit__variants *all, ompjit__variant *v, bool hold)
{
    _Atomic(ompjit__variant *) *bucket = bucket_of(all, v->key.hash);
    atomic_fetch_add(&all->tick, 1);
    atomic_fetch_add(&all->builds, 1);
    atomic_store(&v->last_use, atomic_load(&all->tick));
    atomic_store(&v->hash, v->key.hash);
    atomic_store(&v->next, atomic_load(bucket));
    /* A reader that came late may have its hold on the reused word. */
    atomic_fetch_and(&v->state, ~(uint32_t)(DEAD | FREED));
    atomic_fetch_add(&v->state, READY + (hold ? USER : 0));
    v->next_all = all->all;
    all->all = v;
    atomic_store_explicit(bucket, v, memory_order_release);
}

/* ---------------------------------------------------------------- flights */

static ompjit__flight *flight_of(ompjit__variants *all,
                                 const ompjit__variant_key *key)
{
    for (ompjit__flight *f = all->flights; f; f = f->next)
        if (same_key(&f->key, key))
            return f;
    return NULL;
}

static void flight_unref(ompjit__flight *f)
{
    if (--f->refs)
        return;
    ompjit__facts_free(&f->key.facts);
    free(f->err);
    free(f);
}

static ompjit__flight *flight_new(ompjit_module *mod,
                                  const ompjit__variant_key *key)
{
    ompjit__variants *all = &mod->variants;
    ompjit__flight *f = calloc(1, sizeof *f);
    if (!f || !copy_key(&f->key, key)) {
        if (f)
            ompjit__facts_free(&f->key.facts);
        free(f);
        return NULL;
    }
    f->mod = mod;
    f->refs = 1;
    f->next = all->flights;
    all->flights = f;
    return f;
}

static void flight_land(ompjit__variants *all, ompjit__flight *f)
{
    ompjit__flight **at = &all->flights;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    f->done = true;
    pthread_cond_broadcast(&all->landed);
}

/* Is another build for the device under way that may become its first? */
static bool first_is_building(ompjit__variants *all, const ompjit_device *dev)
{
    for (ompjit__flight *f = all->flights; f; f = f->next)
        if (f->started && f->key.dev == dev)
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
    while (!(base = base_of(all, f->key.dev)) &&
           first_is_building(all, f->key.dev))
        pthread_cond_wait(&all->landed, &all->lock);
    f->started = true;
    pthread_mutex_unlock(&all->lock);
    ompjit_status status = make_variant(mod, &f->key, base, &v, err);
    pthread_mutex_lock(&all->lock);
    if (!status) {
        publish(all, v, out != NULL);
        evicted = evict(mod, v);
        ompjit__record_variant(mod, &f->key);
    } else {
        atomic_fetch_add(&all->failures, 1);
        f->status = status;
        f->err = err ? ompjit__memdup(err, sizeof *err) : NULL;
    }
    flight_land(all, f);
    if (evicted) {
        pthread_mutex_unlock(&all->lock);
        bury(mod, evicted);
        pthread_mutex_lock(&all->lock);
    }
    if (out)
        *out = v;
    return status;
}

/* TIMEOUT where `until` (0: never) comes first. */
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
                                    uint64_t until, ompjit__variant **out,
                                    ompjit_error *err)
{
    ompjit__variants *all = &mod->variants;
    ompjit__flight *f = flight_of(all, key);
    if (f && (f->claimed || until))
        return await(all, f, until, err);
    ompjit_error own;
    if (f)
        f->refs++; /* the background thread will find it claimed */
    else if (!(f = flight_new(mod, key)))
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    ompjit_status status = fly(f, out, err ? err : &own);
    flight_unref(f);
    return status;
}

ompjit_status ompjit__variant_get(ompjit_module *mod,
                                  const ompjit__variant_key *key,
                                  uint32_t limit_ms, ompjit__variant **out,
                                  ompjit_error *err)
{
    ompjit__variants *all = &mod->variants;
    ompjit__variant *v = ompjit__variant_find(mod, key);
    ompjit_status status = OMPJIT_OK;
    uint64_t until = 0;
    if (!v && limit_ms) {
        until = ompjit__now() + limit_ms * UINT64_C(1000000);
        status = ompjit__variant_request(mod, key, err);
    }
    if (!v && !status) {
        pthread_mutex_lock(&all->lock);
        while (!status && !v && !(v = ompjit__variant_find(mod, key)))
            status = build_or_await(mod, key, until, &v, err);
        pthread_mutex_unlock(&all->lock);
    }
    if (!status)
        *out = v;
    return status;
}

/* ------------------------------------------------ calls through pointers */

static void free_calls(ompjit__calls *c)
{
    ompjit__device_drop(c->dev, c->table);
    free(c);
}

static ompjit_status new_calls(ompjit_device *dev,
                               const ompjit__indirect_call *calls, size_t n,
                               ompjit__calls **out, ompjit_error *err)
{
    ompjit__calls *c = calloc(1, sizeof *c);
    if (!c)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    *c = (ompjit__calls){.dev = dev, .n = n};
    ompjit_status status =
        dev->ops->alloc(dev, n * sizeof *calls, &c->table, err);
    if (status) {
        free(c);
        return status;
    }
    status = dev->ops->copy(dev, OMPJIT__COPY_TO, c->table, calls,
                            n * sizeof *calls, NULL, err);
    if (status)
        free_calls(c);
    else
        *out = c;
    return status;
}

ompjit_status ompjit__variants_calls(ompjit_module *mod, ompjit_device *dev,
                                     const ompjit__indirect_call *calls,
                                     size_t n, ompjit_error *err)
{
    ompjit__variants *all = &mod->variants;
    ompjit__calls *c = NULL;
    ompjit_status status = new_calls(dev, calls, n, &c, err);
    if (status)
        return status;
    pthread_mutex_lock(&all->lock);
    c->next = all->calls;
    all->calls = c;
    for (ompjit__variant *v = all->all; !status && v; v = v->next_all)
        if (v->key.dev == dev && v->environment)
            status = fill_environment(dev, v->loaded, c, err);
    pthread_mutex_unlock(&all->lock);
    return status;
}

/* ------------------------------------------------------------- background */

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

ompjit_status ompjit__variant_request(ompjit_module *mod,
                                      const ompjit__variant_key *key,
                                      ompjit_error *err)
{
    ompjit__variants *all = &mod->variants;
    ompjit__variant *v;
    ompjit__flight *f = NULL;
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&all->lock);
    if ((v = ompjit__variant_find(mod, key)) == NULL && !flight_of(all, key))
        if (!(f = flight_new(mod, key)))
            status = ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    pthread_mutex_unlock(&all->lock);
    if (v)
        ompjit__variant_release(mod, v);
    if (!f)
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

void ompjit__variant_cancel(ompjit_module *mod, uint32_t kernel)
{
    ompjit__background_cancel(mod->ctx->background, &mod->kernels[kernel],
                              false);
}

void ompjit__variants_free(ompjit_module *mod)
{
    ompjit__variants *all = &mod->variants;
    for (unsigned i = 0; i < mod->unit.nkernels; i++)
        ompjit__background_cancel(mod->ctx->background, &mod->kernels[i], true);
    ompjit__background_cancel(mod->ctx->background, mod, true);
    /* The newest first: a base is older than those that import from it. */
    for (ompjit__variant *v = all->all, *next; v; v = next) {
        next = v->next_all;
        unload(v);
        free(v);
    }
    for (ompjit__variant *v = all->spare, *next; v; v = next) {
        next = v->next_all;
        free(v);
    }
    for (ompjit__calls *c = all->calls, *next; c; c = next) {
        next = c->next;
        free_calls(c);
    }
    pthread_cond_destroy(&all->landed);
    pthread_mutex_destroy(&all->lock);
}

/* -------------------------------------------------------- what is in one */

void ompjit__variants_stats(ompjit_module *mod, ompjit_variant_stats *stats)
{
    ompjit__variants *all = &mod->variants;
    *stats = (ompjit_variant_stats)OMPJIT_VARIANT_STATS_INIT;
    pthread_mutex_lock(&all->lock);
    for (ompjit__variant *v = all->all; v; v = v->next_all)
        stats->live++;
    for (ompjit__flight *f = all->flights; f; f = f->next)
        stats->pending++;
    pthread_mutex_unlock(&all->lock);
    stats->builds = atomic_load(&all->builds);
    stats->failures = atomic_load(&all->failures);
    stats->evictions = atomic_load(&all->evictions);
}

void ompjit__variants_walk(ompjit_module *mod, uint32_t kernel,
                           int (*f)(void *data, const ompjit__variant_key *key),
                           void *data)
{
    ompjit__variants *all = &mod->variants;
    pthread_mutex_lock(&all->lock);
    for (ompjit__variant *v = all->all; v; v = v->next_all)
        if (v->key.kernel == kernel || v->key.kernel == OMPJIT__ALL_KERNELS)
            if (f(data, &v->key))
                break;
    pthread_mutex_unlock(&all->lock);
}

ompjit__loaded *ompjit__variant_loaded(const ompjit__variant *v)
{
    return v->loaded;
}

const ompjit__variant_key *ompjit__variant_key_of(const ompjit__variant *v)
{
    return &v->key;
}

int ompjit__variant_mode(const ompjit__variant *v, uint32_t kernel)
{
    return kernel < v->modes.size ? v->modes.data[kernel] : OMPJIT_MODE_BARE;
}

ompjit_status ompjit__variant_function(ompjit_module *mod, ompjit__variant *v,
                                       uint32_t kernel, ompjit__function **out,
                                       ompjit_error *err)
{
    bool all = v->key.kernel == OMPJIT__ALL_KERNELS;
    ompjit__function *_Atomic *at = &v->functions[all ? kernel : 0];
    *out = atomic_load_explicit(at, memory_order_acquire);
    if (*out)
        return OMPJIT_OK;
    ompjit_device *dev = v->key.dev;
    ompjit_status status = dev->ops->function(
        dev, v->loaded, mod->unit.kernels[kernel].symbol, out, err);
    if (!status)
        atomic_store_explicit(at, *out, memory_order_release);
    return status;
}
