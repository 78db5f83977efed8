/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which variant a launch runs. OFF: the generic one. NOW: the one for its very
 * values, compiled first where it is missing. AUTO: the one for its values
 * where it is ready; values that keep coming back get one, compiled in the
 * background, while the generic one runs; arguments that keep changing are
 * given up.
 */
#include <stdlib.h>

#include "launch/launch.h"

/* --------------------------------------------------------------- eligible */

uint64_t ompjit__eligible(const ompjit__kernel_desc *k)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < k->nparams && i < 64; i++)
        if (k->params[i].kind != OMPJIT__PARAM_POINTER)
            mask |= UINT64_C(1) << i;
    return mask;
}

/* Structs of at most 8 bytes of which the region has a private copy: values,
 * though they are passed by address. */
uint64_t ompjit__small_structs(const ompjit__kernel_desc *k)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < k->nparams && i < 64; i++) {
        const ompjit__param *p = &k->params[i];
        if (p->kind == OMPJIT__PARAM_POINTER && p->size && p->size <= 8 &&
            p->map_type & OMPJIT__MAP_PRIVATE &&
            !(p->map_type & OMPJIT__MAP_LITERAL))
            mask |= UINT64_C(1) << i;
    }
    return mask;
}

/* Machine code is as it is. A module whose variables may hold addresses of
 * functions has one image for each GPU: an address is good in its image only.
 */
bool ompjit__can_specialize(const ompjit_module *mod, const ompjit_device *dev)
{
    return !mod->unit.nprebuilt &&
           (dev->caps.common_functions || !mod->unit.stays_generic);
}

/* Right for every geometry that a device takes: these are below 2^32. */
static uint32_t volume(const uint32_t n[3])
{
    return n[0] * n[1] * n[2];
}

/* ------------------------------------------------------------------- keys */

/* Compiling a module of many kernels at once takes more than its share of
 * time for each, and an application may never launch most of them: each has a
 * generic variant of its own. Few are one image. */
static bool has_many_kernels(const ompjit__call *call)
{
    enum { FEW = 8 };
    return call->mod->unit.nkernels > FEW &&
           ompjit__can_specialize(call->mod, call->dev);
}

/* The runtime of a kernel that finds its team's threads on the host is folded
 * by what that kernel alone does (passes/execution/no_thread_state.c): in an
 * image of its own it may need no fibers, whatever other kernels of the module
 * need. */
static bool is_better_apart(const ompjit__call *call,
                            const ompjit__geometry *g)
{
    return call->dev->caps.lone_threads && volume(g->threads) > 1 &&
           call->mod->unit.nkernels > 1 &&
           call->mod->unit.kernels[call->index].observes_threads &&
           ompjit__can_specialize(call->mod, call->dev);
}

/* The host's teams of one thread are always compiled as that. */
static bool is_alone(const ompjit__call *call, const ompjit__geometry *g)
{
    return call->dev->caps.lone_threads && volume(g->threads) == 1 &&
           !call->mod->unit.nprebuilt;
}

void ompjit__generic_key(const ompjit__call *call, const ompjit__geometry *g,
                         ompjit__variant_key *key)
{
    *key = (ompjit__variant_key){.dev = call->dev,
                                 .kernel = has_many_kernels(call) ||
                                                   is_better_apart(call, g)
                                               ? call->index
                                               : OMPJIT__ALL_KERNELS,
                                 .facts.threads.all = is_alone(call, g)};
    key->hash = ompjit__variant_hash(key);
}

/* A bit for each parameter that is a pointer, among the first 64. */
static uint64_t pointers_of(const ompjit__call *call)
{
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    uint64_t all = k->nparams < 64 ? (UINT64_C(1) << k->nparams) - 1 : ~0ull;
    return all & ~call->mod->kernels[call->index].eligible;
}

/* Pointers whose values are multiples of OMPJIT__ALIGNMENT. */
static uint64_t aligned_pointers(const ompjit__call *call)
{
    uint64_t aligned = 0;
    for (uint64_t rest = pointers_of(call); rest; rest &= rest - 1)
        if (call->values[__builtin_ctzll(rest)] % OMPJIT__ALIGNMENT == 0)
            aligned |= rest & -rest;
    return aligned;
}

/* The first build of a generic kernel tells whether openmp-opt leaves it its
 * main thread, and with it how many threads a GPU's team has. */
static bool threads_known(const ompjit__call *call)
{
    return call->dev->caps.keeps_modes ||
           call->mod->unit.kernels[call->index].mode != OMPJIT_MODE_GENERIC ||
           atomic_load_explicit(&call->mod->kernels[call->index].made_spmd,
                                memory_order_relaxed);
}

/* The facts of the request, and those that are known only now. Geometry is
 * added after ompjit__facts_restrict, which would drop it where its values are
 * not asked for but the teams of one thread are. The key refers to the call's
 * values. */
void ompjit__special_key(const ompjit__call *call, const ompjit__geometry *g,
                         ompjit__variant_key *key)
{
    const ompjit__request *r = call->request;
    const ompjit_kernel *kernel = &call->mod->kernels[call->index];
    unsigned fold = r->fold ? r->fold : OMPJIT_FOLD_ALL;
    ompjit__facts *f = &key->facts;
    if (!ompjit__can_specialize(call->mod, call->dev)) {
        ompjit__generic_key(call, g, key);
        return;
    }
    key->dev = call->dev;
    key->kernel = call->index;
    *f = r->facts;
    f->literals.mask = kernel->eligible & ~r->varies;
    f->literals.values = call->values;
    if (fold & OMPJIT_FOLD_ALIGNMENT)
        f->aligned = aligned_pointers(call) & ~r->varies;
    ompjit__facts_restrict(f, fold, pointers_of(call));
    f->threads.all = is_alone(call, g);
    if (fold & OMPJIT_FOLD_THREADS && threads_known(call))
        f->threads = ompjit__extent_of(g->threads);
    if (fold & OMPJIT_FOLD_TEAMS)
        f->teams = ompjit__extent_of(g->teams);
    if (!f->threads.all || !call->dev->caps.warps)
        f->resident_teams = 0;
    key->hash = ompjit__variant_hash(key);
}

/* -------------------------------------------------------------- automatic */

/* Two threads that are first at once both make one; the later one's goes. */
ompjit__sightings *ompjit__sightings_of(ompjit_kernel *kernel)
{
    ompjit__sightings *s = atomic_load_explicit(&kernel->sightings,
                                                memory_order_acquire);
    if (s)
        return s;
    ompjit__sightings *made = calloc(1, sizeof *made);
    if (made && !atomic_compare_exchange_strong(&kernel->sightings, &s, made))
        free(made);
    else
        s = made;
    return s;
}

/* Notes which arguments, or sizes of what they point to, differ from the last
 * launch's, and gives up those that do so most of the time. */
static void watch_arguments(ompjit__sightings *s, uint32_t seen,
                            const ompjit__param_values *fact)
{
    enum { ENOUGH = 16 };
    for (uint64_t rest = fact->mask; rest; rest &= rest - 1) {
        int i = __builtin_ctzll(rest);
        if (atomic_exchange_explicit(&s->last[i], fact->values[i],
                                     memory_order_relaxed) == fact->values[i])
            continue;
        uint32_t changes = 1 + atomic_fetch_add_explicit(
                                   &s->changes[i], 1, memory_order_relaxed);
        if (changes >= ENOUGH && changes > seen / 2)
            atomic_fetch_or_explicit(&s->given_up, UINT64_C(1) << i,
                                     memory_order_relaxed);
    }
}

/* Counts a sighting of the key; how many there were. Few keys are watched at
 * once, each in the one place that its hash says. */
static uint32_t sight(ompjit__sightings *s, uint64_t hash)
{
    struct ompjit__sighting *at =
        &s->seen[hash / OMPJIT__BUCKETS % OMPJIT__COUNT(s->seen)];
    if (atomic_exchange_explicit(&at->hash, hash, memory_order_relaxed) != hash)
        atomic_store_explicit(&at->count, 0, memory_order_relaxed);
    return 1 + atomic_fetch_add_explicit(&at->count, 1, memory_order_relaxed);
}

/* The variant if it is ready; else NULL, and it may be on its way. */
static ompjit__variant *try_special(const ompjit__call *call,
                                    const ompjit__geometry *g)
{
    ompjit_context *ctx = call->mod->ctx;
    ompjit_kernel *kernel = &call->mod->kernels[call->index];
    ompjit__sightings *s = ompjit__sightings_of(kernel);
    ompjit__variant_key key;
    if (!s || !ompjit__can_specialize(call->mod, call->dev))
        return NULL;
    ompjit__request request = *call->request;
    ompjit__call watched = *call;
    uint64_t given_up =
        atomic_load_explicit(&s->given_up, memory_order_relaxed);
    request.varies |= given_up & kernel->eligible;
    request.facts.sizes.mask &= ~given_up;
    watched.request = &request;
    ompjit__special_key(&watched, g, &key);
    ompjit__variant *v = ompjit__variant_find(call->mod, &key);
    if (v)
        return v;
    uint32_t seen = 1 + atomic_fetch_add_explicit(&s->launches, 1,
                                                  memory_order_relaxed);
    watch_arguments(s, seen, &key.facts.literals);
    watch_arguments(s, seen, &key.facts.sizes);
    if (sight(s, key.hash) == ctx->sightings)
        ompjit__variant_request(call->mod, &key, NULL);
    return NULL;
}

/* ----------------------------------------------------------------- choose */

/* NOW goes on with the generic variant where its compile takes too long; AUTO
 * never waits for a specialized one. */
ompjit_status ompjit__choose_variant(const ompjit__call *call,
                                     const ompjit__geometry *g,
                                     ompjit__variant **out, ompjit_error *err)
{
    const ompjit__request *r = call->request;
    ompjit_specialize policy =
        r->policy ? r->policy : call->mod->ctx->specialize;
    ompjit__variant_key key;
    if (policy == OMPJIT_SPECIALIZE_NOW) {
        ompjit__special_key(call, g, &key);
        ompjit_status status =
            ompjit__variant_get(call->mod, &key, r->limit_ms, out, err);
        if (status != OMPJIT_ERR_TIMEOUT)
            return status;
    }
    if (policy == OMPJIT_SPECIALIZE_AUTO && (*out = try_special(call, g)))
        return OMPJIT_OK;
    ompjit__generic_key(call, g, &key);
    return ompjit__variant_get(call->mod, &key, 0, out, err);
}

/* Relaxed: a launch that does not see it yet builds another variant. */
void ompjit__note_modes(ompjit_module *mod, uint32_t kernel,
                        const ompjit__buf *modes)
{
    for (unsigned i = 0; i < modes->size; i++)
        if ((kernel == OMPJIT__ALL_KERNELS || kernel == i) &&
            modes->data[i] == OMPJIT_MODE_GENERIC_SPMD)
            atomic_store_explicit(&mod->kernels[i].made_spmd, true,
                                  memory_order_relaxed);
}
