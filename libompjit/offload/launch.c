/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One kernel launch: choose the geometry, find or build the variant, pass the
 * launch environment and the arguments, run.
 */
#include <stdlib.h>
#include <string.h>

#include "api/module.h"
#include "offload/abi.h"

enum {
    WARP = 32,
    CUDA_THREADS = 128,      /* a team gets where nobody says            */
    CUDA_TEAMS_PER_SM = 16,  /* where neither clause nor tripcount tells */
    MAX_TEAMS = 65535
};

/* ------------------------------------------------------------- geometry */

static uint32_t least(uint32_t a, uint32_t b)
{
    return b && b < a ? b : a;
}

static uint32_t positive(int32_t n)
{
    return n > 0 ? (uint32_t)n : 0;
}

/* The host: teams over the cores, one thread in each unless more are asked
 * for, so that loops vectorize. */
static void choose_host(const ompjit__kernel_desc *k,
                        const ompjit__request *r,
                        const ompjit__device_limits *limits,
                        ompjit__geometry *g)
{
    uint32_t threads = r->threads_fixed ? r->threads[0] : limits->threads;
    g->threads[0] = threads ? least(threads, r->threads[0]) : 1;
    uint32_t teams = limits->teams ? limits->teams : limits->multiprocessors;
    if (r->teams[0] || k->teams)
        teams = r->teams[0] ? r->teams[0] : k->teams;
    else if (r->tripcount && r->tripcount < teams)
        teams = (uint32_t)r->tripcount;
    g->teams[0] = r->teams_fixed ? teams : least(teams, positive(k->max_teams));
}

static void choose_cuda(const ompjit__kernel_desc *k,
                        const ompjit__request *r,
                        const ompjit__device_limits *limits,
                        ompjit__geometry *g)
{
    uint32_t threads = limits->threads ? limits->threads : CUDA_THREADS;
    if (r->threads[0])
        threads = r->threads[0];
    if (!r->threads_fixed)
        threads = least(threads, positive(k->max_threads));
    uint64_t teams = r->teams[0] ? r->teams[0] : k->teams;
    if (!teams)
        teams = limits->teams;
    if (!teams && r->tripcount && k->mode != OMPJIT_MODE_GENERIC)
        teams = (r->tripcount + threads - 1) / threads;
    if (!teams && r->tripcount)
        teams = r->tripcount;
    if (!teams)
        teams = (uint64_t)limits->multiprocessors * CUDA_TEAMS_PER_SM;
    if (!r->teams[0] && teams > MAX_TEAMS)
        teams = MAX_TEAMS;
    g->threads[0] = threads;
    g->teams[0] = r->teams_fixed ? (uint32_t)teams
                                 : least((uint32_t)teams,
                                         positive(k->max_teams));
}

/* In generic mode the main thread has a warp of its own behind the workers;
 * a team of one on the host is main thread and worker in one. A GPU's bound on
 * the kernel's threads counts that warp, which then comes out of the workers'
 * unless their number was asked for. */
static void add_main_warp(const ompjit__kernel_desc *k,
                          const ompjit__request *r, bool host,
                          ompjit__geometry *g)
{
    if (k->mode != OMPJIT_MODE_GENERIC || (host && g->threads[0] == 1))
        return;
    g->threads[0] = (g->threads[0] + WARP - 1) / WARP * WARP + WARP;
    if (!host && !r->threads_fixed)
        g->threads[0] = least(g->threads[0], positive(k->max_threads));
}

static void choose(const ompjit__kernel_desc *k, ompjit_device *dev,
                   const ompjit__request *r, ompjit__geometry *g)
{
    bool host = dev->limits.kind == OMPJIT_DEVICE_HOST;
    *g = (ompjit__geometry){.teams = {1, 1, 1},
                            .threads = {1, 1, 1},
                            .dynamic_shared = r->dynamic_shared};
    for (int d = 1; d < 3; d++) {
        g->teams[d] = r->teams[d] ? r->teams[d] : 1;
        g->threads[d] = r->threads[d] ? r->threads[d] : 1;
    }
    if (host)
        choose_host(k, r, &dev->limits, g);
    else
        choose_cuda(k, r, &dev->limits, g);
    add_main_warp(k, r, host, g);
}

/* ------------------------------------------------------------- variants */

static uint64_t digest(const uint64_t *values, uint64_t mask, unsigned n)
{
    uint64_t h = 0;
    for (unsigned i = 0; i < n && i < 64; i++)
        if (mask >> i & 1)
            h = (h ^ values[i]) * 0x9e3779b97f4a7c15u;
    return h;
}

static bool same_literals(const ompjit__variant *v, const uint64_t *values,
                          unsigned n)
{
    for (unsigned i = 0; i < n && i < 64; i++)
        if (v->key.literal_mask >> i & 1 && v->values[i] != values[i])
            return false;
    return true;
}

static ompjit__variant *find_variant(ompjit_module *mod, ompjit_device *dev,
                                     const ompjit__variant_key *key,
                                     const uint64_t *values, unsigned n)
{
    ompjit__variant *v = atomic_load_explicit(&mod->variants,
                                              memory_order_acquire);
    for (; v; v = v->next)
        if (v->dev == dev && v->key.threads == key->threads &&
            v->key.teams == key->teams && v->key.kernel == key->kernel &&
            v->key.literal_mask == key->literal_mask &&
            v->key.literals == key->literals && same_literals(v, values, n))
            return v;
    return NULL;
}

/* Variables live in the device's first variant; later ones use them there. */
static ompjit__loaded *find_base(ompjit_module *mod, ompjit_device *dev)
{
    ompjit__loaded *base = NULL;
    for (ompjit__variant *v = atomic_load(&mod->variants); v; v = v->next)
        if (v->dev == dev)
            base = v->loaded;
    return base;
}

static ompjit_status build_variant(ompjit_module *mod, ompjit_device *dev,
                                   const ompjit__variant_key *key,
                                   const uint64_t *values, ompjit__variant *v,
                                   ompjit_error *err)
{
    ompjit__spec spec = {.threads = key->threads, .teams = key->teams};
    if (key->kernel != UINT32_MAX)
        spec.kernel = mod->unit.kernels[key->kernel].symbol;
    spec.literal_mask = key->literal_mask;
    spec.literals = values;
    ompjit__loaded *base = find_base(mod, dev);
    spec.import_globals = base != NULL;
    char arch[32];
    ompjit_format format;
    dev->ops->target(dev, arch, &format);
    ompjit__image image = {0};
    ompjit_status status =
        ompjit__build(mod->ctx, &mod->unit, arch, format, &spec, &image, err);
    if (status)
        return status;
    uint64_t start = ompjit__now();
    status = dev->ops->load(dev, &image, base, &v->loaded, err);
    ompjit__stage_done(mod->ctx, OMPJIT_STAGE_LOAD, start);
    ompjit__image_free(&image);
    return status;
}

/* Under mod->lock: nobody else adds meanwhile. */
static ompjit_status add_variant(ompjit_module *mod, ompjit_device *dev,
                                 const ompjit__variant_key *key,
                                 const uint64_t *values, unsigned n,
                                 ompjit__variant **out, ompjit_error *err)
{
    ompjit__variant *v =
        calloc(1, sizeof *v + mod->unit.nkernels * sizeof v->functions[0]);
    if (!v)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    *v = (ompjit__variant){.dev = dev, .key = *key};
    ompjit_status status = OMPJIT_OK;
    if (key->literal_mask &&
        !(v->values = ompjit__memdup(values, n * sizeof *values)))
        status = ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    if (!status)
        status = build_variant(mod, dev, key, values, v, err);
    if (status) {
        free(v->values);
        free(v);
        return status;
    }
    v->next = atomic_load_explicit(&mod->variants, memory_order_relaxed);
    atomic_store_explicit(&mod->variants, v, memory_order_release);
    *out = v;
    return OMPJIT_OK;
}

static ompjit_status get_variant(ompjit_module *mod, ompjit_device *dev,
                                 const ompjit__variant_key *key,
                                 const uint64_t *values, unsigned n,
                                 ompjit__variant **out, ompjit_error *err)
{
    *out = find_variant(mod, dev, key, values, n);
    if (*out)
        return OMPJIT_OK;
    pthread_mutex_lock(&mod->lock);
    ompjit_status status = OMPJIT_OK;
    *out = find_variant(mod, dev, key, values, n);
    if (!*out)
        status = add_variant(mod, dev, key, values, n, out, err);
    pthread_mutex_unlock(&mod->lock);
    return status;
}

static ompjit_status get_function(ompjit_module *mod, ompjit__variant *v,
                                  unsigned index, ompjit__function **out,
                                  ompjit_error *err)
{
    *out = atomic_load_explicit(&v->functions[index], memory_order_acquire);
    if (*out)
        return OMPJIT_OK;
    ompjit_status status = v->dev->ops->function(
        v->dev, v->loaded, mod->unit.kernels[index].symbol, out, err);
    if (!status)
        atomic_store_explicit(&v->functions[index], *out,
                              memory_order_release);
    return status;
}

void ompjit__variants_free(ompjit_module *mod)
{
    /* The newest first: a base is older than those that import from it. */
    ompjit__variant *v = atomic_exchange(&mod->variants, NULL);
    while (v) {
        ompjit__variant *next = v->next;
        v->dev->ops->unload(v->dev, v->loaded);
        free(v->values);
        free(v);
        v = next;
    }
}

/* The key of what a launch needs: the host always folds its team of one. A
 * GPU's modules cannot share variables, so one that has any stays generic. */
static ompjit__variant_key make_key(const ompjit_module *mod, unsigned index,
                                    ompjit_device *dev,
                                    const ompjit__request *r,
                                    const ompjit__geometry *g,
                                    const uint64_t *values)
{
    const ompjit__kernel_desc *k = &mod->unit.kernels[index];
    ompjit__variant_key key = {.kernel = UINT32_MAX};
    bool host = dev->limits.kind == OMPJIT_DEVICE_HOST;
    if (!host && mod->unit.nglobals)
        return key;
    if ((host && g->threads[0] == 1) || r->fold_geometry)
        key.threads = g->threads[0] * g->threads[1] * g->threads[2];
    if (r->fold_geometry)
        key.teams = g->teams[0] * g->teams[1] * g->teams[2];
    key.literal_mask = r->literal_mask;
    if (key.literal_mask)
        key.literals = digest(values, key.literal_mask, k->nparams);
    if (key.literal_mask || r->fold_geometry)
        key.kernel = index;
    return key;
}

/* --------------------------------------------------- launch environment */

/* The reduction buffer has a record for each team, so that no team ever waits
 * for another to free one (runtime-bc relies on it). */
struct environment {
    void *device; /* the environment there; ~0 where none is needed */
    void *buffer;
};

static ompjit_status environment_new(const ompjit__kernel_desc *k,
                                     ompjit_device *dev,
                                     const ompjit__geometry *g,
                                     struct environment *env,
                                     ompjit_error *err)
{
    *env = (struct environment){.device = (void *)UINTPTR_MAX};
    if (!k->launch_env || k->reduction_size <= 0)
        return OMPJIT_OK;
    size_t records = (size_t)g->teams[0] * g->teams[1] * g->teams[2];
    if (records < (size_t)positive(k->reduction_length))
        records = (size_t)k->reduction_length;
    ompjit__launch_environment host = {0};
    void *block;
    size_t at = (sizeof host + 127) / 128 * 128;
    ompjit_status status = dev->ops->alloc(
        dev, at + records * (size_t)k->reduction_size, &block, err);
    if (status)
        return status;
    host.reduction_buffer = (char *)block + at;
    status = dev->ops->copy(dev, OMPJIT__COPY_TO, block, &host, sizeof host,
                            NULL, err);
    if (status) {
        dev->ops->free(dev, block, NULL);
        return status;
    }
    env->device = env->buffer = block;
    return OMPJIT_OK;
}

/* ----------------------------------------------------------------- launch */

static ompjit_status start(const ompjit__kernel_desc *k, ompjit_device *dev,
                           ompjit__function *f, const ompjit__geometry *g,
                           const uint64_t *values, ompjit__queue *queue,
                           ompjit_error *err)
{
    struct environment env;
    ompjit_status status = environment_new(k, dev, g, &env, err);
    if (status)
        return status;
    void *args[k->nparams + 1];
    unsigned n = 0;
    if (k->launch_env)
        args[n++] = &env.device;
    for (unsigned i = 0; i < k->nparams; i++)
        args[n++] = (void *)&values[i];
    status = dev->ops->launch(dev, f, g, args, n, env.buffer ? NULL : queue,
                              err);
    if (env.buffer)
        dev->ops->free(dev, env.buffer, NULL);
    return status;
}

static void remember(ompjit_kernel *kernel, ompjit_device *dev,
                     const ompjit__geometry *g, const ompjit__variant_key *key)
{
    pthread_mutex_lock(&kernel->lock);
    kernel->last_device = dev;
    kernel->last = (ompjit_launch_info){
        .teams = g->teams[0] * g->teams[1] * g->teams[2],
        .threads = g->threads[0] * g->threads[1] * g->threads[2],
        .folded_teams = key->teams != 0,
        .folded_threads = key->threads != 0,
        .folded_args = (uint32_t)__builtin_popcountll(key->literal_mask),
    };
    pthread_mutex_unlock(&kernel->lock);
}

ompjit_status ompjit__run(ompjit_module *mod, unsigned index,
                          ompjit_device *dev, const ompjit__request *request,
                          const uint64_t *values, unsigned nvalues,
                          ompjit__queue *queue, ompjit_error *err)
{
    const ompjit__kernel_desc *k = &mod->unit.kernels[index];
    if (nvalues != k->nparams)
        return ompjit__fail(err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_LAUNCH,
                            "kernel %s takes %u arguments, got %u", k->name,
                            k->nparams, nvalues);
    ompjit_status status = ompjit__device_ready(dev, err);
    if (status)
        return status;
    ompjit__geometry g;
    choose(k, dev, request, &g);
    ompjit__variant_key key = make_key(mod, index, dev, request, &g, values);
    ompjit__variant *v;
    ompjit__function *f;
    status = get_variant(mod, dev, &key, values, nvalues, &v, err);
    if (!status)
        status = get_function(mod, v, index, &f, err);
    if (status)
        return status;
    uint64_t begin = ompjit__now();
    status = start(k, dev, f, &g, values, queue, err);
    ompjit__stage_done(mod->ctx, OMPJIT_STAGE_LAUNCH, begin);
    if (!status)
        remember(&mod->kernels[index], dev, &g, &key);
    return status;
}

ompjit_status ompjit__module_symbol(ompjit_module *mod, ompjit_device *dev,
                                    const char *symbol, void **address,
                                    size_t *size, ompjit_error *err)
{
    ompjit_status status = ompjit__device_ready(dev, err);
    if (status)
        return status;
    ompjit__variant_key key = {.kernel = UINT32_MAX};
    if (dev->limits.kind == OMPJIT_DEVICE_HOST)
        key.threads = 1;
    ompjit__variant *v;
    status = get_variant(mod, dev, &key, NULL, 0, &v, err);
    if (status)
        return status;
    return dev->ops->symbol(dev, v->loaded, symbol, address, size, err);
}
