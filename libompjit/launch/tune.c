/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tuning of geometries: tries some, and remembers for each size class which was
 * the fastest, in the kernel and as an entry of the cache, whose payload is
 * text, a line "class teams threads ns default_ns" for each class.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "base/structs.h"
#include "cache/cache.h"
#include "launch/tune.h"

/* Size classes: tripcounts with the same highest bit, and that which is not
 * known. */
enum { CLASSES = 65 };
#define KNOWN (UINT64_C(1) << 63)

/* The tuning of a kernel on one device. Never freed before the kernel, and
 * `best` is read without the lock: KNOWN, 31 bits of teams, 32 of threads. */
struct ompjit__tuning {
    struct ompjit__tuning *next;
    ompjit_device *dev;
    _Atomic uint64_t best[CLASSES];
    pthread_mutex_t lock; /* of results */
    ompjit__fork_lock at_fork;
    ompjit_tuned results[CLASSES];
};

static const ompjit__kernel_desc *desc(const ompjit__call *call)
{
    return &call->mod->unit.kernels[call->index];
}

/* 0: not known; else one more than the number of the highest bit. */
static unsigned class_of(uint64_t tripcount)
{
    return tripcount ? 64 - (unsigned)__builtin_clzll(tripcount) : 0;
}

/* -------------------------------------------------------------- the cache */

/* A geometry is good for the kernel, the device's model and its size. False:
 * the device cannot be opened, or memory ran out. */
static bool make_key(const ompjit_module *mod, unsigned kernel,
                     ompjit_device *dev, ompjit__key *key)
{
    ompjit_device_info info;
    if (ompjit__device_ready(dev, NULL) || dev->ops->info(dev, &info, NULL))
        return false;
    ompjit__key_begin(key, "tune");
    ompjit__key_digest(key, "unit", mod->unit.digest);
    ompjit__buf_printf(&key->text, "kernel %s\ndevice %s\narch %s\n"
                       "multiprocessors %u\n", mod->unit.kernels[kernel].symbol,
                       info.name, info.arch, info.multiprocessors);
    if (!*info.arch)
        ompjit__key_cpu(key);
    return ompjit__key_end(key);
}

/* Readers of `best` take no lock: its word is stored last, whole. */
static void set_result(struct ompjit__tuning *t, unsigned class,
                       const ompjit_tuned *r)
{
    pthread_mutex_lock(&t->lock);
    t->results[class] = *r;
    pthread_mutex_unlock(&t->lock);
    atomic_store_explicit(&t->best[class],
                          KNOWN | (uint64_t)r->teams << 32 | r->threads,
                          memory_order_release);
}

/* False where a line is none of ours. */
static bool take_entry(void *data, const void *payload, size_t size)
{
    struct ompjit__tuning *t = data;
    char *text = malloc(size + 1);
    bool good = text != NULL;
    if (good) {
        memcpy(text, payload, size);
        text[size] = 0;
    }
    for (char *rest = NULL, *line = good ? strtok_r(text, "\n", &rest) : NULL;
         line && good; line = strtok_r(NULL, "\n", &rest)) {
        ompjit_tuned r = {0};
        unsigned class;
        good = sscanf(line, "%u %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64,
                      &class, &r.teams, &r.threads, &r.ns,
                      &r.default_ns) == 5 &&
               class < CLASSES && r.teams <= INT32_MAX;
        if (good)
            set_result(t, class, &r);
    }
    free(text);
    return good;
}

/* All classes that are known, those of the entry that was read included. */
static void write_entry(const ompjit__call *call, struct ompjit__tuning *t)
{
    ompjit__key key = {0};
    ompjit__buf text = {0};
    if (!call->mod->ctx->cache)
        return;
    pthread_mutex_lock(&t->lock);
    for (unsigned i = 0; i < CLASSES; i++)
        if (atomic_load(&t->best[i]) & KNOWN)
            ompjit__buf_printf(&text, "%u %u %u %" PRIu64 " %" PRIu64 "\n", i,
                               t->results[i].teams, t->results[i].threads,
                               t->results[i].ns, t->results[i].default_ns);
    pthread_mutex_unlock(&t->lock);
    if (make_key(call->mod, call->index, call->dev, &key))
        ompjit__cache_put(call->mod->ctx->cache, &key, &text);
    ompjit__key_free(&key);
    ompjit__buf_free(&text);
}

/* Most kernels were never tuned: that is no miss to be counted. */
static void read_entry(const ompjit_module *mod, unsigned kernel,
                       struct ompjit__tuning *t)
{
    ompjit__cache *cache = mod->ctx->cache;
    ompjit__key key = {0};
    ompjit__buf entry = {0};
    ompjit__entry_view view;
    if (cache && make_key(mod, kernel, t->dev, &key) &&
        ompjit__cache_entry(cache, key.digest, &entry) &&
        ompjit__entry_check(entry.data, entry.size, &view) &&
        view.text_size == key.text.size &&
        !memcmp(view.text, key.text.data, view.text_size))
        take_entry(t, view.payload, view.payload_size);
    ompjit__buf_free(&entry);
    ompjit__key_free(&key);
}

/* --------------------------------------------------------- in the kernel */

/* Takes no lock: tunings are only added. */
static struct ompjit__tuning *find(const ompjit_kernel *kernel,
                                   const ompjit_device *dev)
{
    struct ompjit__tuning *t =
        atomic_load_explicit(&kernel->tuning, memory_order_acquire);
    while (t && t->dev != dev)
        t = t->next;
    return t;
}

/* The known best, read from the cache at the first call; NULL where memory runs
 * out. Two threads that are first at once both add theirs, with the same in
 * it; the later one is found. */
static struct ompjit__tuning *tuning_of(ompjit_kernel *kernel,
                                        ompjit_device *dev)
{
    struct ompjit__tuning *t = find(kernel, dev);
    if (t || !(t = calloc(1, sizeof *t)))
        return t;
    t->dev = dev;
    ompjit__fork_lock_init(&t->at_fork, &t->lock);
    read_entry(kernel->mod, kernel->index, t);
    t->next = atomic_load(&kernel->tuning);
    while (!atomic_compare_exchange_weak(&kernel->tuning, &t->next, t))
        ;
    return t;
}

/* For the kernel's end, when nobody launches it. */
void ompjit__tuning_free(ompjit_kernel *kernel)
{
    struct ompjit__tuning *t = atomic_load(&kernel->tuning);
    for (struct ompjit__tuning *next; t; t = next) {
        next = t->next;
        ompjit__fork_lock_end(&t->at_fork);
        free(t);
    }
}

/* Does nobody but the device say anything of the geometry? */
static bool is_free(const ompjit__call *call)
{
    const ompjit__request *r = call->request;
    const ompjit__device_limits *limits = &call->dev->limits;
    return !r->teams[0] && !r->threads[0] && !limits->teams &&
           !limits->threads && !desc(call)->teams;
}

/* Numbers of 0 stay the device's choice. */
void ompjit__ask_geometry(ompjit__request *r, uint32_t teams, uint32_t threads)
{
    if (teams)
        r->teams[0] = teams;
    if (threads)
        r->threads[0] = threads;
    r->teams_fixed |= teams != 0;
    r->threads_fixed |= threads != 0;
}

/* Two threads may both find nothing and both tune: the later result stays. */
bool ompjit__tuned(const ompjit__call *call, ompjit_geometry *best)
{
    struct ompjit__tuning *t =
        is_free(call)
            ? tuning_of(&call->mod->kernels[call->index], call->dev)
            : NULL;
    if (!t)
        return false;
    uint64_t word = atomic_load_explicit(
        &t->best[class_of(call->request->tripcount)], memory_order_acquire);
    best->teams = (uint32_t)(word >> 32) & INT32_MAX;
    best->threads = (uint32_t)word;
    return word & KNOWN;
}

bool ompjit__tune_wanted(const ompjit__call *call)
{
    ompjit_geometry best;
    return is_free(call) && !call->request->tuned &&
           !ompjit__tuned(call, &best);
}

ompjit_status ompjit_kernel_tuned(ompjit_kernel *kernel, ompjit_device *dev,
                                  uint64_t tripcount, ompjit_tuned *tuned,
                                  ompjit_error *err)
{
    ompjit_tuned full;
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_tuned, tuned, err);
    if (!status)
        status = ompjit__kernel_on(__func__, kernel, dev, err);
    if (status)
        return status;
    unsigned class = class_of(tripcount);
    struct ompjit__tuning *t = tuning_of(kernel, dev);
    if (!t)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (!(atomic_load_explicit(&t->best[class], memory_order_acquire) & KNOWN))
        return ompjit__fail(
            err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
            "kernel %s is not tuned for about %" PRIu64 " iterations",
            kernel->mod->unit.kernels[kernel->index].name, tripcount);
    pthread_mutex_lock(&t->lock);
    full = t->results[class];
    pthread_mutex_unlock(&t->lock);
    ompjit__result_fill(OMPJIT__STRUCT_tuned, &full, tuned);
    return OMPJIT_OK;
}

/* ------------------------------------------------------------- saved data */

struct saved {
    ompjit_device *dev;
    const ompjit_region *regions;
    unsigned n;
    char *copy; /* of all of them, one after the other, on the host */
};

/* Copies the regions to the host, or back. They are apart from each other in
 * s->copy, in their order. */
static ompjit_status copy_all(const struct saved *s, bool back,
                              ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    size_t at = 0;
    for (unsigned i = 0; i < s->n && !status; i++) {
        const ompjit_region *r = &s->regions[i];
        char *copy = s->copy + at;
        status = s->dev->ops->copy(
            s->dev, back ? OMPJIT__COPY_TO : OMPJIT__COPY_FROM,
            back ? r->device : copy, back ? copy : r->device, r->size, NULL,
            err);
        at += r->size;
    }
    return status;
}

/* Fails where the host has not so much memory; s->copy is the caller's to free.
 */
static ompjit_status save(struct saved *s, ompjit_error *err)
{
    size_t total = 0;
    for (unsigned i = 0; i < s->n; i++) {
        if (s->regions[i].size > SIZE_MAX / 2 - total)
            return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
        total += s->regions[i].size;
    }
    s->copy = malloc(total ? total : 1);
    return s->copy ? copy_all(s, false, err)
                   : ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
}

/* ------------------------------------------------------------------ tries */

enum { MAX_TRIES = 40 };

struct trial {
    const ompjit__call *call;
    struct saved saved;  /* put back before each run */
    unsigned repeats;    /* runs that are timed, of each geometry */
    ompjit_tuned *best;  /* so far */
};

/* The fastest of some runs; no more than one of those that are far behind. */
static ompjit_status time_one(struct trial *t, const ompjit_geometry *g,
                              uint64_t *fastest, ompjit_error *err)
{
    enum { FAR = 3 };
    const ompjit__call *call = t->call;
    ompjit__request request = *call->request;
    ompjit_status status = OMPJIT_OK;
    request.tuned = true;
    ompjit__ask_geometry(&request, g->teams, g->threads);
    *fastest = UINT64_MAX;
    for (unsigned i = 0; i <= t->repeats && !status; i++) {
        status = copy_all(&t->saved, true, err);
        uint64_t start = ompjit__now();
        if (!status)
            status = ompjit__run(call->mod, call->index, call->dev, &request,
                                 call->values, desc(call)->nparams, NULL, err);
        uint64_t ns = ompjit__now() - start;
        if (i && ns < *fastest) /* the first one compiles */
            *fastest = ns;
        if (i && t->best->ns && ns / FAR > t->best->ns)
            break;
    }
    return status;
}

/* Was the geometry not tried yet? */
static bool is_new(const ompjit_geometry *tries, unsigned n, ompjit_geometry g)
{
    for (unsigned i = 0; i < n; i++)
        if (tries[i].teams == g.teams && tries[i].threads == g.threads)
            return false;
    return true;
}

/* Appends it, where it is new and there is room; returns the number of tries.
 */
static unsigned add_try(ompjit_geometry *tries, unsigned n, uint64_t teams,
                        uint32_t threads)
{
    ompjit_geometry g = {teams > 65535 ? 65535 : (uint32_t)teams, threads};
    if (n < MAX_TRIES && is_new(tries, n, g))
        tries[n++] = g;
    return n;
}

/* Fewer teams than cores where there is little to do, more where the work of
 * iterations differs. */
static unsigned core_tries(const ompjit__call *call, ompjit_geometry *tries)
{
    uint32_t cores = call->dev->limits.multiprocessors;
    unsigned n = 0;
    for (uint32_t teams = 1; teams < cores; teams *= 2)
        n = add_try(tries, n, teams, 0);
    for (uint32_t factor = 1; factor <= 8; factor *= 2)
        n = add_try(tries, n, (uint64_t)cores * factor, 0);
    return n;
}

/* Powers of two of threads, with a thread for each iteration and with few teams
 * a multiprocessor. */
static unsigned warp_tries(const ompjit__call *call, ompjit_geometry *tries)
{
    uint64_t trips = call->request->tripcount;
    uint32_t sms = call->dev->limits.multiprocessors;
    int32_t most = desc(call)->max_threads;
    unsigned n = 0;
    for (uint32_t threads = 64; threads <= 1024; threads *= 2) {
        if (most > 0 && threads > (uint32_t)most)
            break;
        if (trips)
            n = add_try(tries, n, (trips + threads - 1) / threads, threads);
        for (uint32_t factor = 1; factor <= 16; factor *= 4)
            n = add_try(tries, n, (uint64_t)sms * factor, threads);
    }
    return n;
}

/* Tries in the order given; `best` is of the default by now. A geometry that
 * cannot be run counts as failed, and is no error. */
static ompjit_status try_all(struct trial *t, const ompjit_geometry *tries,
                             unsigned n)
{
    const ompjit__request *r = t->call->request;
    for (unsigned i = 0; i < n; i++) {
        ompjit_geometry g = {r->teams[0] ? 0 : tries[i].teams,
                             r->threads[0] ? 0 : tries[i].threads};
        uint64_t ns;
        ompjit_error ignored;
        if (!g.teams && !g.threads)
            continue;
        if (time_one(t, &g, &ns, &ignored)) {
            t->best->failed++;
            continue;
        }
        t->best->tried++;
        if (ns >= t->best->ns)
            continue;
        t->best->teams = g.teams;
        t->best->threads = g.threads;
        t->best->ns = ns;
    }
    return OMPJIT_OK;
}

/* The device's own choice is run first, and its failure is the error: nothing
 * else would run either. */
static ompjit_status run_trials(struct trial *t,
                                const ompjit_tune_options *o,
                                ompjit_error *err)
{
    static const ompjit_geometry none = {0, 0};
    ompjit_geometry own[MAX_TRIES];
    const ompjit_geometry *tries = o->tries;
    unsigned n = o->ntries;
    ompjit_status status = time_one(t, &none, &t->best->default_ns, err);
    if (status)
        return status;
    t->best->ns = t->best->default_ns;
    t->best->tried = 1;
    if (!tries) {
        tries = own;
        n = t->call->dev->caps.warps ? warp_tries(t->call, own)
                                     : core_tries(t->call, own);
    }
    return try_all(t, tries, n);
}

/* The data is as it was afterwards, also where a run has failed. */
ompjit_status ompjit__tune(const ompjit__call *call,
                           const ompjit_tune_options *o, ompjit_tuned *out,
                           ompjit_error *err)
{
    ompjit_tuned best = {0};
    struct trial t = {.call = call,
                      .saved = {call->dev, o->saved, o->nsaved, NULL},
                      .repeats = o->repeats ? o->repeats : 3,
                      .best = &best};
    ompjit_status status = save(&t.saved, err);
    if (!status) {
        status = run_trials(&t, o, err);
        ompjit_status restored =
            copy_all(&t.saved, true, status ? NULL : err);
        status = status ? status : restored;
    }
    free(t.saved.copy);
    if (status)
        return status;
    struct ompjit__tuning *known =
        is_free(call) ? tuning_of(&call->mod->kernels[call->index], call->dev)
                      : NULL;
    if (known) {
        set_result(known, class_of(call->request->tripcount), &best);
        write_entry(call, known);
    }
    if (out)
        *out = best;
    return OMPJIT_OK;
}

/* ---------------------------------------------------------------- the API */

/* INVALID where a number has no array, or is too large to be kept. */
static ompjit_status check_options(const ompjit_tune_options *o,
                                   ompjit_error *err)
{
    if ((o->ntries && !o->tries) || (o->nsaved && !o->saved))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_tune_options: %s is NULL and its number "
                            "is not 0", o->tries ? "saved" : "tries");
    for (unsigned i = 0; i < o->ntries; i++)
        if (o->tries[i].teams > INT32_MAX || o->tries[i].threads > INT32_MAX)
            return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                                "ompjit_tune_options: %u teams of %u threads",
                                o->tries[i].teams, o->tries[i].threads);
    for (unsigned i = 0; i < o->nsaved; i++)
        if (o->saved[i].size && !o->saved[i].device)
            return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                                "ompjit_tune_options: saved[%u] has %zu bytes, "
                                "but no address", i, o->saved[i].size);
    return OMPJIT_OK;
}

/* Holds nothing of the caller's when it returns. */
ompjit_status ompjit_kernel_tune(ompjit_kernel *kernel, ompjit_device *dev,
                                 const ompjit_launch *launch,
                                 const ompjit_arg *args, unsigned nargs,
                                 const ompjit_tune_options *options,
                                 ompjit_tuned *tuned, ompjit_error *err)
{
    ompjit_tune_options room;
    ompjit_tuned best;
    ompjit_status status =
        ompjit__launch_check(__func__, kernel, dev, args, nargs, err);
    if (!status && tuned)
        status = ompjit__result_check(OMPJIT__STRUCT_tuned, tuned, err);
    if (status)
        return status;
    const ompjit_tune_options *o =
        ompjit__options(OMPJIT__STRUCT_tune_options, options, &room, err);
    if (!o)
        return OMPJIT_ERR_INVALID;
    const ompjit__kernel_desc *k = &kernel->mod->unit.kernels[kernel->index];
    uint64_t values[k->nparams + 1];
    ompjit__request request;
    ompjit__fact_arrays arrays;
    ompjit__call call = {kernel->mod, kernel->index, dev, &request, values, 0};
    status = check_options(o, err);
    if (!status)
        status = ompjit__kernel_request(kernel, launch, &request, err);
    if (!status)
        status = ompjit__kernel_values(kernel, args, nargs, values, &request,
                                       &arrays, err);
    if (!status)
        status = ompjit__device_ready(dev, err);
    if (!status)
        status = ompjit__tune(&call, o, &best, err);
    if (!status && tuned)
        ompjit__result_fill(OMPJIT__STRUCT_tuned, &best, tuned);
    return status;
}
