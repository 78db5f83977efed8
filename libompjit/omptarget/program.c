/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The state of the programs that a context serves: their kernels and variables
 * by host address, the OpenMP runtime they run on, and what went wrong. The
 * functions they call are in tgt_entry.c, omp_routines.c and interop.c.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "device/check/check.h"
#include "device/engine/guard.h"
#include "device/engine/libomp.h"
#include "launch/module.h"
#include "omptarget/info.h"
#include "omptarget/library.h"

/* ---------------------------------------------------------------- kernels
 * Open addressing from host address to kernel. Launches read it without a
 * lock: a slot's key is stored last and stays when its kernel is forgotten
 * (then it has no module, and another key may take the slot); a table that got
 * too small is kept until the end. */

typedef struct slot {
    _Atomic(const void *) key;    /* a host address; NULL: free   */
    _Atomic(ompjit_module *) mod; /* NULL: forgotten              */
    _Atomic unsigned kernel;      /* its number in the module     */
} slot;

struct ompjit__kernels {
    ompjit__kernels *outgrown; /* the table before this one */
    size_t size, used;         /* slots; size is a power of 2 */
    slot slots[];
};

/* Fibonacci hashing spreads addresses, which differ in their lower bits only.
 */
static size_t first_slot(const ompjit__kernels *t, const void *key)
{
    uint64_t x = (uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(x >> 32) & (t->size - 1);
}

/* The key's slot, or the free one where it belongs. */
static slot *slot_of(ompjit__kernels *t, const void *key)
{
    for (size_t i = first_slot(t, key);; i = (i + 1) & (t->size - 1)) {
        const void *there =
            atomic_load_explicit(&t->slots[i].key, memory_order_acquire);
        if (!there || there == key)
            return &t->slots[i];
    }
}

/* Takes no lock: each launch calls it. A kernel that is being forgotten may
 * still be found; the program does not launch what it unloads. */
bool ompjit__tgt_find(struct ompjit__tgt *tgt, const void *key,
                      ompjit_module **mod, unsigned *kernel)
{
    ompjit__kernels *t =
        atomic_load_explicit(&tgt->kernels, memory_order_acquire);
    if (!t || !key)
        return false;
    slot *s = slot_of(t, key);
    *mod = atomic_load_explicit(&s->mod, memory_order_acquire);
    *kernel = atomic_load_explicit(&s->kernel, memory_order_relaxed);
    return *mod != NULL;
}

ompjit_module *ompjit__tgt_next_module(struct ompjit__tgt *tgt, size_t *at)
{
    ompjit__kernels *t =
        atomic_load_explicit(&tgt->kernels, memory_order_acquire);
    while (t && *at < t->size) {
        ompjit_module *mod = atomic_load(&t->slots[(*at)++].mod);
        if (mod)
            return mod;
    }
    return NULL;
}

/* The slot for a key that is not in the table: a forgotten one's slot on the
 * way to the free one, or that. */
static slot *place_for(ompjit__kernels *t, const void *key)
{
    size_t i = first_slot(t, key);
    while (atomic_load(&t->slots[i].key) && atomic_load(&t->slots[i].mod))
        i = (i + 1) & (t->size - 1);
    return &t->slots[i];
}

/* Under the lock. The order matters to readers without it: they find the
 * kernel's number and module behind a key that they can see. */
static void put(ompjit__kernels *t, const void *key, ompjit_module *mod,
                unsigned kernel)
{
    slot *s = slot_of(t, key);
    if (!atomic_load(&s->key))
        s = place_for(t, key);
    if (!atomic_load(&s->key))
        t->used++;
    atomic_store_explicit(&s->kernel, kernel, memory_order_relaxed);
    atomic_store_explicit(&s->mod, mod, memory_order_release);
    atomic_store_explicit(&s->key, key, memory_order_release);
}

/* A table with room for one more, the current one or a new one. */
static ompjit__kernels *with_room(struct ompjit__tgt *tgt)
{
    ompjit__kernels *old = atomic_load(&tgt->kernels);
    if (old && 2 * (old->used + 1) <= old->size)
        return old;
    size_t size = old ? 2 * old->size : 64;
    ompjit__kernels *t = calloc(1, sizeof *t + size * sizeof *t->slots);
    if (!t)
        return NULL;
    t->size = size;
    t->outgrown = old;
    for (size_t i = 0; old && i < old->size; i++) {
        slot *s = &old->slots[i];
        if (atomic_load(&s->mod))
            put(t, atomic_load(&s->key), atomic_load(&s->mod),
                atomic_load(&s->kernel));
    }
    return t;
}

/* An address that is there already gets the new kernel, as of a library that
 * was loaded again in the same place. */
ompjit_status ompjit__tgt_add_kernel(ompjit_context *ctx, const void *key,
                                     ompjit_module *mod, unsigned kernel,
                                     ompjit_error *err)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    pthread_mutex_lock(&tgt->lock);
    ompjit__kernels *t = with_room(tgt);
    if (t) {
        put(t, key, mod, kernel);
        atomic_store_explicit(&tgt->kernels, t, memory_order_release);
    }
    pthread_mutex_unlock(&tgt->lock);
    return t ? OMPJIT_OK : ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
}

/* ---------------------------------------------------------------- globals */

/* Under the lock; false: out of memory. The count is stored last, for those who
 * compare it without the lock. */
static bool add_global(struct ompjit__tgt *tgt, ompjit__global one)
{
    size_t n = atomic_load(&tgt->nglobals);
    if (n == tgt->globals_capacity) {
        size_t capacity = n ? 2 * n : 16;
        ompjit__global *list = realloc(tgt->globals, capacity * sizeof *list);
        if (!list)
            return false;
        tgt->globals = list;
        tgt->globals_capacity = capacity;
    }
    tgt->globals[n] = one;
    atomic_store_explicit(&tgt->nglobals, n + 1, memory_order_release);
    return true;
}

/* A `requires` entry has the program's flags in `size` and is no variable. */
ompjit_status ompjit__tgt_add_global(ompjit_context *ctx, void *host,
                                     uint64_t size, uint32_t flags,
                                     ompjit_module *mod, const char *symbol,
                                     ompjit_error *err)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    if (flags & OMPJIT__ENTRY_REQUIRES) {
        atomic_fetch_or(&tgt->ctx->requires, size);
        if (size & OMPJIT__REQUIRES_UNIFIED_SHARED_MEMORY)
            ompjit__check_unify(ctx);
        return OMPJIT_OK;
    }
    char *copy = ompjit__strdup(symbol);
    pthread_mutex_lock(&tgt->lock);
    bool added = copy && add_global(tgt, (ompjit__global){
        .host = host, .size = size, .flags = flags, .mod = mod,
        .symbol = copy});
    pthread_mutex_unlock(&tgt->lock);
    if (added)
        return OMPJIT_OK;
    free(copy);
    return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
}

/* Does the program require unified shared memory? */
static bool requires_unified(const struct ompjit__tgt *tgt)
{
    return atomic_load_explicit(&tgt->ctx->requires, memory_order_relaxed) &
           OMPJIT__REQUIRES_UNIFIED_SHARED_MEMORY;
}

/* A link variable is a pointer on the device. It points to the variable's
 * counterpart where that is present, as variables of earlier inputs of a session
 * are. Else, if the device can read host memory, it points to the host's variable
 * until another is mapped. So is every variable of a program that requires
 * unified shared memory. */
static ompjit_status set_link(ompjit_device *dev, const ompjit__global *g,
                              void *device, ompjit_error *err)
{
    bool link = g->flags & OMPJIT__ENTRY_LINK ||
                requires_unified(dev->ctx->tgt);
    if (!link || device == g->host)
        return OMPJIT_OK;
    void *there = g->flags & OMPJIT__ENTRY_LINK
                      ? ompjit__present_lookup(dev, *(void **)g->host)
                      : NULL;
    const void *from = there ? (const void *)&there : g->host;
    return there || ompjit__shares_memory(dev)
               ? dev->ops->copy(dev, OMPJIT__COPY_TO, device, from, g->size,
                                NULL, err)
               : OMPJIT_OK;
}

/* Two libraries have the variable, if a header defines it: the linker gives both
 * one address. Each has a counterpart in its own device code, so only constants
 * can be in both. */
static bool is_associated(ompjit_device *dev, const ompjit__global *g)
{
    return !(g->flags & OMPJIT__ENTRY_LINK) &&
           ompjit__present_is_associated(dev, g->host, g->size);
}

static ompjit_status enter_others(ompjit_device *dev, ompjit__global *g,
                                  ompjit_error *err)
{
    if (!ompjit__writable(g->host, g->size)) {
        g->is_others = true;
        return OMPJIT_OK;
    }
    char *name = ompjit__demangle(g->symbol);
    ompjit_status st = ompjit__fail(
        err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
        "variable %s, which can change, is in the device code of two "
        "libraries, which cannot share it on device %u",
        name ? name : g->symbol, dev->number);
    free(name);
    return st;
}

/* Is it a pointer that code of a session's module uses, which cannot be built yet
 * since it lacks functions? That is told when one of its kernels is launched.
 * CUDA's assembler links. */
static bool is_lacking(const ompjit__global *g, ompjit_status status)
{
    return (status == OMPJIT_ERR_LINK || status == OMPJIT_ERR_ASSEMBLE) &&
           g->mod->linkage && g->flags & OMPJIT__ENTRY_LINK;
}

/* Makes one present, under the lock. */
static ompjit_status enter_global(struct ompjit__tgt *tgt, ompjit_device *dev,
                                  size_t index, ompjit_error *err)
{
    ompjit__global *g = &tgt->globals[index];
    void *device;
    size_t size;
    if (!g->mod)
        return OMPJIT_OK;
    if (g->flags & OMPJIT__ENTRY_CALLED)
        return ompjit__indirect_enter(tgt, dev, index, err);
    if (is_associated(dev, g))
        return enter_others(dev, g, err);
    ompjit_status st = ompjit__module_symbol(g->mod, dev, g->symbol, &device,
                                             &size, err);
    g->waits = is_lacking(g, st);
    if (g->waits)
        return OMPJIT_OK;
    if (!st && size < g->size)
        st = ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                          "variable %s has %zu bytes on device %u and %zu on "
                          "the host", g->symbol, size, dev->number,
                          (size_t)g->size);
    if (!st)
        st = set_link(dev, g, device, err);
    if (!st)
        st = ompjit__present_associate(dev, g->host, device, g->size, err);
    return st;
}

/* All libraries that wait become modules first; ompjit__tgt_ready_globals
 * leaves that to the caller. */
ompjit_status ompjit__tgt_globals(struct ompjit__tgt *tgt, ompjit_device *dev,
                                  ompjit_error *err)
{
    ompjit__libraries_ready(tgt, NULL);
    return ompjit__tgt_ready_globals(tgt, dev, err);
}

/* Threads that come meanwhile wait at the lock; each variable is entered once.
 * A failure stops at its variable, with which the next construct tries again.
 */
ompjit_status ompjit__tgt_ready_globals(struct ompjit__tgt *tgt,
                                        ompjit_device *dev, ompjit_error *err)
{
    /* The first so many of tgt->globals are present there. */
    _Atomic size_t *entered = &dev->present->globals;
    if (atomic_load_explicit(entered, memory_order_acquire) ==
        atomic_load_explicit(&tgt->nglobals, memory_order_acquire))
        return OMPJIT_OK;
    ompjit_status st = OMPJIT_OK;
    pthread_mutex_lock(&tgt->lock);
    size_t i = atomic_load(entered);
    for (; i < atomic_load(&tgt->nglobals); i++)
        if ((st = enter_global(tgt, dev, i, err)))
            break;
    atomic_store_explicit(entered, i, memory_order_release);
    pthread_mutex_unlock(&tgt->lock);
    return st;
}

/* On the devices where it was entered; a variable of which a construct still
 * holds a part stays, as would any other. */
static void leave_global(ompjit_context *ctx, const ompjit__global *g,
                         size_t index)
{
    for (unsigned d = 0; d < ctx->ndevices && !g->is_others; d++) {
        ompjit_device *dev = ctx->devices[d];
        if (index < atomic_load(&dev->present->globals))
            ompjit__present_disassociate(dev, g->host, NULL);
    }
}

/* Kernels of other modules must not call what is about to be unloaded. */
static void leave_calls(ompjit_context *ctx)
{
    ompjit_error err;
    for (unsigned d = 0; d < ctx->ndevices; d++)
        if (atomic_load(&ctx->devices[d]->present->globals) &&
            ompjit__indirect_leave(ctx->tgt, ctx->devices[d], &err))
            ompjit__log(ctx, "device %u: %s", d, err.text);
}

/* The kernels' slots keep their keys. Variables keep their places in the list,
 * since each device counts how many of it have been entered. */
void ompjit__tgt_remove(ompjit_context *ctx, ompjit_module *mod)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    bool calls = false;
    pthread_mutex_lock(&tgt->lock);
    ompjit__kernels *t = atomic_load(&tgt->kernels);
    for (size_t i = 0; t && i < t->size; i++)
        if (atomic_load(&t->slots[i].mod) == mod)
            atomic_store(&t->slots[i].mod, NULL);
    for (size_t i = 0; i < atomic_load(&tgt->nglobals); i++)
        if (tgt->globals[i].mod == mod) {
            leave_global(ctx, &tgt->globals[i], i);
            tgt->globals[i].mod = NULL;
            calls |= tgt->globals[i].flags & OMPJIT__ENTRY_CALLED;
        }
    if (calls)
        leave_calls(ctx);
    pthread_mutex_unlock(&tgt->lock);
}

/* An entry that waited gets a new place, behind those that were entered. */
void ompjit__tgt_exchanged(ompjit_context *ctx, ompjit_module *mod)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    pthread_mutex_lock(&tgt->lock);
    const size_t n = atomic_load(&tgt->nglobals);
    for (size_t i = 0; i < n; i++) {
        const ompjit__global one = tgt->globals[i];
        if (one.mod != mod)
            continue;
        const bool has = ompjit__unit_has_global(&mod->unit, one.symbol);
        ompjit__global again = one;
        again.waits = false;
        again.symbol = has && one.waits ? ompjit__strdup(one.symbol) : NULL;
        if (again.symbol && !add_global(tgt, again))
            free(again.symbol);
        if (!has || one.waits)
            tgt->globals[i].mod = NULL;
    }
    pthread_mutex_unlock(&tgt->lock);
}

/* ------------------------------------------------------------------ errors */

/* Other threads may hold anything, so that no handlers run, and standard output
 * keeps its rest where one of them writes there. */
static void end_process(const ompjit_error *err)
{
    if (!ftrylockfile(stdout)) {
        fflush(stdout);
        funlockfile(stdout);
    }
    dprintf(STDERR_FILENO, "ompjit: %s\n", err->text);
    _exit(EXIT_FAILURE);
}

/* A function's guarded call ends here, or where it comes back from libomp. Else
 * the hook is called by the thread whose construct has failed; it may jump out
 * of here, so nothing is held. */
void ompjit__tgt_fail(struct ompjit__tgt *tgt, const ompjit_error *err)
{
    ompjit__call_guard *call = ompjit__guarded_call(tgt->ctx);
    ompjit__log(tgt->ctx, "error: %s", err->text);
    if (call) {
        ompjit__call_fail(call, err);
        ompjit__call_leave(call);
        return;
    }
    pthread_mutex_lock(&tgt->lock);
    if (!tgt->first.status)
        tgt->first = *err;
    ompjit__tgt_fatal_fn *fatal = tgt->fatal;
    void *data = tgt->fatal_data;
    bool end = tgt->after == OMPJIT_AFTER_FAILURE_END;
    pthread_mutex_unlock(&tgt->lock);
    /* Calls through pointers are gone if the hook jumps out. */
    ompjit__call_guard *innermost = ompjit__innermost;
    ompjit__innermost = NULL;
    if (fatal)
        fatal(data, err);
    ompjit__innermost = innermost;
    if (end)
        end_process(err);
}

bool ompjit__tgt_ends(struct ompjit__tgt *tgt)
{
    pthread_mutex_lock(&tgt->lock);
    bool ends = tgt->after == OMPJIT_AFTER_FAILURE_END;
    pthread_mutex_unlock(&tgt->lock);
    return ends;
}

/* With OMP_TARGET_OFFLOAD=mandatory and no hook the process ends by default, as
 * OpenMP says. */
void ompjit__tgt_on_fatal(ompjit_context *ctx, ompjit__tgt_fatal_fn *fn,
                          void *data, ompjit_after_failure after)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    bool must_end = tgt->policy == OMPJIT__OFFLOAD_MANDATORY && !fn;
    if (after == OMPJIT_AFTER_FAILURE_DEFAULT)
        after = must_end ? OMPJIT_AFTER_FAILURE_END : OMPJIT_AFTER_FAILURE_KEEP;
    pthread_mutex_lock(&tgt->lock);
    tgt->fatal = fn;
    tgt->fatal_data = data;
    tgt->after = after;
    pthread_mutex_unlock(&tgt->lock);
}

/* The error is told once. */
ompjit_status ompjit__tgt_error(ompjit_context *ctx, ompjit_error *err)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    pthread_mutex_lock(&tgt->lock);
    ompjit_status st = tgt->first.status;
    if (st && err)
        *err = tgt->first;
    tgt->first.status = OMPJIT_OK;
    pthread_mutex_unlock(&tgt->lock);
    return st;
}

/* ------------------------------------------------------------------ libomp */

/* Through memory: ISO C converts no object pointer to a function's. */
static void find(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);
    memcpy(function, &address, sizeof address);
}

/* A libomp that cannot be loaded is not looked for again. A fork in the middle
 * of a thread's first call of libomp leaves the child libomp's lock taken, unless
 * libomp was there when the fork began. So that call is made here, under a lock
 * for which forks wait. */
const ompjit__tgt_omp *ompjit__tgt_get_omp(struct ompjit__tgt *tgt)
{
    static _Thread_local bool met;
    const struct ompjit__libomp *omp;
    if (met && atomic_load_explicit(&tgt->omp_known, memory_order_acquire))
        return &tgt->omp;
    pthread_mutex_lock(&tgt->lock);
    if (!atomic_load(&tgt->omp_known) && !ompjit__libomp(&omp, NULL)) {
        find(omp->handle, "omp_get_default_device", &tgt->omp.default_device);
        find(omp->handle, "__kmpc_global_thread_num", &tgt->omp.thread);
        find(omp->handle, "__kmpc_omp_wait_deps", &tgt->omp.wait_deps);
    }
    atomic_store_explicit(&tgt->omp_known, true, memory_order_release);
    if (tgt->omp.default_device)
        tgt->omp.default_device();
    met = true;
    pthread_mutex_unlock(&tgt->lock);
    return &tgt->omp;
}

/* Returns at once where libomp has no tasks to wait for, or is not there. */
void ompjit__tgt_wait(struct ompjit__tgt *tgt, const ompjit__ident *where,
                      int32_t n, const void *list, int32_t n_noalias,
                      const void *noalias)
{
    if (n <= 0 && n_noalias <= 0)
        return;
    const ompjit__tgt_omp *l = ompjit__tgt_get_omp(tgt);
    if (l->thread && l->wait_deps)
        l->wait_deps(where, l->thread(where), n, list, n_noalias, noalias);
}

/* ----------------------------------------------------------------- devices */

/* Devices that cannot do what the program requires are not supported devices
 * of it, as OpenMP has it: where one cannot, the program sees none. */
static bool meets_requirements(struct ompjit__tgt *tgt)
{
    const ompjit_context *ctx = tgt->ctx;
    if (!requires_unified(tgt))
        return true;
    for (unsigned i = 0; i < ctx->ndevices; i++)
        if (!ctx->devices[i]->reads_host) {
            if (!atomic_exchange(&tgt->unmet_told, true))
                ompjit__log(tgt->ctx, "the program requires unified shared "
                            "memory, which device %u has not: there is no "
                            "device for it", i);
            return false;
        }
    return true;
}

/* Looks for devices where nobody has so far, and makes waiting libraries ready
 * up to the first one with code. */
int ompjit__tgt_num_devices(struct ompjit__tgt *tgt)
{
    ompjit_context *ctx = tgt->ctx;
    if (tgt->policy == OMPJIT__OFFLOAD_DISABLED)
        return 0;
    if (!atomic_load_explicit(&ctx->devices_known, memory_order_acquire)) {
        ompjit_error err;
        if (ompjit__devices(ctx, &err)) {
            ompjit__log(ctx, "no devices: %s", err.text);
            return 0;
        }
    }
    ompjit__libraries_first(tgt);
    if (atomic_load_explicit(&tgt->no_code, memory_order_acquire))
        return 0;
    return meets_requirements(tgt) ? (int)ctx->ndevices : 0;
}

/* `count` is the number of devices, and with it that of the host. */
static enum ompjit__where place(struct ompjit__tgt *tgt, int64_t number,
                                int64_t count, ompjit_device **dev)
{
    if (number == -1 || number == count)
        return OMPJIT__ON_HOST;
    if (number < 0 || number > count)
        return OMPJIT__NOWHERE;
    *dev = tgt->ctx->devices[number];
    ompjit__ompt_meet(*dev);
    return OMPJIT__ON_DEVICE;
}

/* The default device is libomp's default-device-var (omp_set_default_device,
 * OMP_DEFAULT_DEVICE); 0 without libomp. */
enum ompjit__where ompjit__tgt_construct_device(struct ompjit__tgt *tgt,
                                                int64_t number,
                                                ompjit_device **dev)
{
    int count = ompjit__tgt_num_devices(tgt);
    if (number == -1) {
        const ompjit__tgt_omp *l = ompjit__tgt_get_omp(tgt);
        number = l->default_device ? l->default_device() : 0;
    }
    return place(tgt, number, count, dev);
}

/* As for constructs, but -1 is omp_initial_device. */
enum ompjit__where ompjit__tgt_routine_device(struct ompjit__tgt *tgt,
                                              int64_t number,
                                              ompjit_device **dev)
{
    return place(tgt, number, ompjit__tgt_num_devices(tgt), dev);
}

/* ---------------------------------------------------------------- lifetime */

/* OMP_TARGET_OFFLOAD in any case; a value that is none of the three is default.
 */
static enum ompjit__policy policy(void)
{
    const char *value = getenv("OMP_TARGET_OFFLOAD");
    if (value && !strcasecmp(value, "mandatory"))
        return OMPJIT__OFFLOAD_MANDATORY;
    if (value && !strcasecmp(value, "disabled"))
        return OMPJIT__OFFLOAD_DISABLED;
    return OMPJIT__OFFLOAD_DEFAULT;
}

/* Reads the environment once; makes no module and touches no device. */
struct ompjit__tgt *ompjit__tgt_new(ompjit_context *ctx,
                                    const ompjit__module_maker *maker)
{
    struct ompjit__tgt *tgt = calloc(1, sizeof *tgt);
    if (!tgt)
        return NULL;
    ompjit__fork_lock_init(&tgt->at_fork, &tgt->lock);
    ompjit__fork_lock_init(&tgt->libraries_at_fork, &tgt->libraries_lock);
    ompjit__fork_cond_init(&tgt->libraries_at_fork, &tgt->library_made);
    tgt->ctx = ctx;
    tgt->maker = maker;
    tgt->policy = policy();
    atomic_store(&ctx->info, ompjit__info_flags());
    return tgt;
}

/* Accepts NULL. No thread is within the context's programs any more. Libraries
 * come first, as ending their modules uses the tables below. */
void ompjit__tgt_free(struct ompjit__tgt *tgt)
{
    if (!tgt)
        return;
    ompjit__libraries_free(tgt);
    ompjit__interop_free_all(tgt->interops);
    ompjit__function_maps_free(tgt);
    ompjit__omp_blocks_free(tgt->memory);
    for (ompjit__kernels *t = atomic_load(&tgt->kernels), *next; t; t = next) {
        next = t->outgrown;
        free(t);
    }
    for (size_t i = 0; i < atomic_load(&tgt->nglobals); i++)
        free(tgt->globals[i].symbol);
    free(tgt->globals);
    for (unsigned i = 0; tgt->uids && i < tgt->ctx->ndevices; i++)
        free(tgt->uids[i]);
    free(tgt->uids);
    pthread_cond_destroy(&tgt->library_made);
    ompjit__fork_lock_end(&tgt->libraries_at_fork);
    ompjit__fork_lock_end(&tgt->at_fork);
    free(tgt);
}
