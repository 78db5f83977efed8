/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The table of variants. Readers walk a bucket's chain and take a hold by one
 * addition to the variant's state word, which they then trust only if it says
 * READY; a variant's memory is never freed before the module, only reused, so
 * that a late reader finds a state word whatever has happened since. Writers
 * hold the lock.
 */
#include <stdlib.h>
#include <time.h>

#include "launch/module.h"
#include "launch/variant.h"

/* state: flags, and the number of holders in units of USER. DEAD variants are
 * in no chain; the last holder buries them, and FREED says that one has. */
enum { READY = 1, DEAD = 2, FREED = 4, USER = 8 };

/* ------------------------------------------------------------------- keys */

/* The hash of the facts, with device and kernel as the seed. */
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

bool ompjit__variant_same_key(const ompjit__variant_key *a,
                              const ompjit__variant_key *b)
{
    return a->hash == b->hash && a->dev == b->dev && a->kernel == b->kernel &&
           ompjit__facts_same(&a->facts, &b->facts);
}

bool ompjit__variant_copy_key(ompjit__variant_key *to,
                              const ompjit__variant_key *from)
{
    *to = *from;
    return ompjit__facts_copy(&to->facts, &from->facts);
}

/* ------------------------------------------------------- finding, holding */

void ompjit__variants_init(ompjit__variants *all)
{
    ompjit__fork_lock_init(&all->at_fork, &all->lock);
    ompjit__fork_cond_init(&all->at_fork, &all->landed);
}

/* The head of the chain that the hash is in. */
static _Atomic(ompjit__variant *) *bucket_of(ompjit__variants *all,
               uint64_t hash)
{
    return &all->buckets[hash % OMPJIT__BUCKETS];
}

/* Stored only where it changes: launches of one variant on many threads would
 * otherwise all write the same cache line. */
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
        /* The hold comes before the key is read, so that the key is constant
         * meanwhile. */
        uint32_t state = atomic_fetch_add_explicit(&v->state, USER,
                                                   memory_order_acquire);
        if (state & READY && ompjit__variant_same_key(&v->key, key)) {
            touch(all, v);
            return v;
        }
        ompjit__variant_release(mod, v);
    }
    return NULL;
}

/* For a variant that no launch can use; its memory stays. */
void ompjit__variant_unload(ompjit__variant *v)
{
    v->key.dev->ops->unload(v->key.dev, v->loaded);
    ompjit__buf_free(&v->modes);
    free(v->functions);
    ompjit__facts_free(&v->key.facts);
}

/* Unloads a variant that is dead and that nobody holds; the first of those who
 * see that does it. */
void ompjit__variant_bury(ompjit_module *mod, ompjit__variant *v)
{
    ompjit__variants *all = &mod->variants;
    uint32_t expected = DEAD;
    if (!atomic_compare_exchange_strong(&v->state, &expected, DEAD | FREED))
        return;
    ompjit__variant_unload(v);
    pthread_mutex_lock(&all->lock);
    v->next_all = all->spare;
    all->spare = v;
    pthread_mutex_unlock(&all->lock);
}

/* The caller holds it already, so no order is needed. */
void ompjit__variant_hold(ompjit__variant *v)
{
    atomic_fetch_add_explicit(&v->state, USER, memory_order_relaxed);
}

/* Releases what the launch has read: whoever buries the variant comes after
 * that. */
void ompjit__variant_release(ompjit_module *mod, ompjit__variant *v)
{
    uint32_t before = atomic_fetch_sub_explicit(&v->state, USER,
                                                memory_order_release);
    if (before == DEAD + USER)
        ompjit__variant_bury(mod, v);
}

/* -------------------------------------------------- entering and eviction */

/* Under the lock. Variables live in the device's first variant; later ones use
 * them there. */
ompjit__variant *ompjit__variant_base(ompjit__variants *all,
                                      const ompjit_device *dev)
{
    for (ompjit__variant *v = all->all; v; v = v->next_all)
        if (v->pinned && v->key.dev == dev)
            return v;
    return NULL;
}

/* The first variant is pinned, so its image stays loaded without a hold. */
ompjit__loaded *ompjit__variants_first(ompjit_module *mod,
                                       const ompjit_device *dev)
{
    pthread_mutex_lock(&mod->variants.lock);
    const ompjit__variant *v = ompjit__variant_base(&mod->variants, dev);
    pthread_mutex_unlock(&mod->variants.lock);
    return v ? v->loaded : NULL;
}

/* Reused memory keeps its state word, which late readers may still change. */
ompjit__variant *ompjit__variant_take_spare(ompjit__variants *all)
{
    pthread_mutex_lock(&all->lock);
    ompjit__variant *v = all->spare;
    if (v)
        all->spare = v->next_all;
    pthread_mutex_unlock(&all->lock);
    return v ? v : calloc(1, sizeof *v);
}

/* For a build that failed, which was never published. Its key and functions go.
 */
void ompjit__variant_give_spare(ompjit__variants *all, ompjit__variant *v)
{
    free(v->functions);
    ompjit__facts_free(&v->key.facts);
    v->functions = NULL;
    pthread_mutex_lock(&all->lock);
    v->next_all = all->spare;
    all->spare = v;
    pthread_mutex_unlock(&all->lock);
}

/* The bucket's head is stored last: readers see a whole variant. */
void ompjit__variant_publish(ompjit__variants *all, ompjit__variant *v,
                             bool hold)
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

/* Under the lock. The variant's own `next` stays: a reader that is there walks
 * on. */
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

/* Generic variants are not counted and never go. */
ompjit__variant *ompjit__variant_evict(ompjit_module *mod,
                                       const ompjit__variant *v)
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

/* -------------------------------------------------------- what is in one */

/* Counts are read one by one, and may be of different moments. */
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

/* `f` must not take the lock. */
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

/* BARE where the image says nothing of the kernel. */
int ompjit__variant_mode(const ompjit__variant *v, uint32_t kernel)
{
    return kernel < v->modes.size ? v->modes.data[kernel] : OMPJIT_MODE_BARE;
}

/* Looked up in the image at the first launch; two threads that are first find
 * the same. */
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
