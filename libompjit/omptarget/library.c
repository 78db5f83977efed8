/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Registered libraries. They wait in a list; a construct that finds some waiting
 * makes modules of them and adds their entries to the program's kernels and
 * variables (program.c). The list's lock is taken before the program's, and is
 * not held while a module is made, which may load other libraries: a thread that
 * registers one has the dynamic linker's lock.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context/executable.h"
#include "core/prebuilt.h"
#include "launch/module.h"
#include "omptarget/entry_points.h"
#include "omptarget/library.h"

/* A library's way: WAITS until a construct needs it; MAKING in one thread,
 * outside of the lock; then READY or FAILED for good. */
enum state { WAITS, MAKING, READY, FAILED };

struct ompjit__library {
    struct ompjit__library *next;
    const ompjit__bin_desc *desc; /* the program's, which unregisters by it */
    ompjit__entries entries;
    enum state state;
    ompjit_module *mod; /* READY                  */
    ompjit_error err;   /* why, where it is FAILED */
};

/* ------------------------------------------------------------ registering */

/* The file that the descriptor is in, for messages. */
static const char *name_of(const void *desc)
{
    Dl_info info;
    bool known = dladdr(desc, &info) && info.dli_fname && *info.dli_fname;
    return known ? info.dli_fname : "a program";
}

/* ABI error where the array of images cannot be read. The images' contents are
 * looked at when the module is made. */
static ompjit_status check_images(const ompjit__bin_desc *desc,
                                  ompjit_error *err)
{
    if (desc->num_images < 0 || (desc->num_images && !desc->images))
        return ompjit__fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_LOAD,
                            "the descriptor has %d images, and no array of "
                            "them", desc->num_images);
    for (int32_t i = 0; i < desc->num_images; i++) {
        const ompjit__device_image *image = &desc->images[i];
        if (!image->image_begin ||
            (uintptr_t)image->image_end < (uintptr_t)image->image_begin)
            return ompjit__fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_LOAD,
                                "device image %d goes from %p to %p", i,
                                image->image_begin, image->image_end);
    }
    return OMPJIT_OK;
}

/* The requirements count from here on, before devices are looked at. */
static void add_requirements(ompjit_context *ctx,
                             const ompjit__entries *entries)
{
    for (size_t i = 0; i < entries->n; i++) {
        ompjit__offload_entry e = ompjit__entry_at(entries, i);
        if (e.kind == OMPJIT__OFFLOAD_OPENMP &&
            e.flags & OMPJIT__ENTRY_REQUIRES)
            ompjit__s_register_requires(ctx, (int64_t)e.data);
    }
}

/* __tgt_register_lib. */
static ompjit_status enlist(struct ompjit__tgt *tgt,
                            const ompjit__bin_desc *desc, ompjit_error *err)
{
    struct ompjit__library *l = calloc(1, sizeof *l);
    if (!l)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    l->desc = desc;
    ompjit_status st =
        desc ? check_images(desc, err)
             : ompjit__fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_LOAD,
                            "there is no descriptor");
    if (!st)
        st = ompjit__entries_read(desc->entries_begin, desc->entries_end,
                                  &l->entries, err);
    if (st) {
        free(l);
        return st;
    }
    add_requirements(tgt->ctx, &l->entries);
    if (ompjit__in_executable(desc))
        atomic_store(&tgt->ctx->serves_executable, true);
    pthread_mutex_lock(&tgt->libraries_lock);
    struct ompjit__library **end = &tgt->libraries;
    while (*end)
        end = &(*end)->next;
    *end = l;
    atomic_fetch_add(&tgt->waiting, 1);
    pthread_mutex_unlock(&tgt->libraries_lock);
    return OMPJIT_OK;
}

/* A failure has nobody to go to but the program's error. */
static void fail(ompjit_context *ctx, const void *desc, const ompjit_error *why)
{
    ompjit_error err;
    ompjit__fail(&err, why->status, why->stage, "__tgt_register_lib of %s: %s",
                 desc ? name_of(desc) : "a program", why->text);
    ompjit__tgt_fail(ctx->tgt, &err);
}

/* Called by constructors of the program, under the dynamic linker's lock:
 * nothing is built here. */
void ompjit__s_register_lib(ompjit_context *ctx, ompjit__bin_desc *desc)
{
    ompjit_error err;
    if (enlist(ctx->tgt, desc, &err))
        fail(ctx, desc, &err);
}

/* Programs take their registration back in handlers of exit, which may come
 * when the driver has destroyed its objects. Ours comes before them, as each
 * library that gets a module adds it behind its own. */
static atomic_bool leaving;

static void leave(void)
{
    atomic_store(&leaving, true);
}

/* Under the lock. */
static struct ompjit__library *with_descriptor(const struct ompjit__tgt *tgt,
                                               const ompjit__bin_desc *desc)
{
    struct ompjit__library *l = tgt->libraries;
    while (l && l->desc != desc)
        l = l->next;
    return l;
}

/* A process that exits keeps its modules. */
void ompjit__s_unregister_lib(ompjit_context *ctx, ompjit__bin_desc *desc)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    struct ompjit__library *found;
    pthread_mutex_lock(&tgt->libraries_lock);
    while ((found = with_descriptor(tgt, desc)) && found->state == MAKING)
        pthread_cond_wait(&tgt->library_made, &tgt->libraries_lock);
    for (struct ompjit__library **l = &tgt->libraries; *l; l = &(*l)->next)
        if (*l == found) {
            *l = found->next;
            break;
        }
    if (found && found->state == WAITS)
        atomic_fetch_sub(&tgt->waiting, 1);
    pthread_mutex_unlock(&tgt->libraries_lock);
    if (found && found->mod && !atomic_load(&leaving))
        tgt->maker->destroy(found->mod);
    free(found);
}

/* ---------------------------------------------------------------- modules */

/* The module's kernels by their symbols. */
typedef struct by_symbol {
    const char *symbol;
    unsigned kernel;
} by_symbol;

/* By symbol, for qsort and bsearch. */
static int compare(const void *a, const void *b)
{
    return strcmp(((const by_symbol *)a)->symbol,
                  ((const by_symbol *)b)->symbol);
}

/* malloc'd, in order; NULL: out of memory. */
static by_symbol *sort_kernels(const ompjit__unit *unit)
{
    by_symbol *list = calloc(unit->nkernels + 1u, sizeof *list);
    for (unsigned i = 0; list && i < unit->nkernels; i++)
        list[i] = (by_symbol){unit->kernels[i].symbol, i};
    if (list)
        qsort(list, unit->nkernels, sizeof *list, compare);
    return list;
}

/* OMPJIT__NO_KERNEL where the code does not have it. */
static unsigned number_of(const ompjit_module *mod, const by_symbol *kernels,
                          const char *symbol)
{
    const by_symbol wanted = {.symbol = symbol};
    const by_symbol *k = bsearch(&wanted, kernels, mod->unit.nkernels,
                                 sizeof *kernels, compare);
    return k ? k->kernel : OMPJIT__NO_KERNEL;
}

/* A metadirective may make clang see a region in one half alone: the region's
 * host version is all there is then. It is taken for that where others of the
 * library's entries have their kernels, and the name and the layout are clang's;
 * else a launch tells what is wrong (ompjit__libraries_explain). */
static bool has_host_version(const struct ompjit__library *l,
                             const ompjit__offload_entry *e, bool found)
{
    static const char clangs[] = "__omp_offloading_";
    return found && !l->entries.old &&
           !strncmp(e->name, clangs, sizeof clangs - 1);
}

/* Those with a kernel first, and then the others; *found: there are some. */
static ompjit_status add_kernels(ompjit_context *ctx,
                                 const struct ompjit__library *l,
                                 const by_symbol *kernels, bool with,
                                 bool *found, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; !st && i < l->entries.n; i++) {
        ompjit__offload_entry e = ompjit__entry_at(&l->entries, i);
        if (e.kind != OMPJIT__OFFLOAD_OPENMP || !ompjit__entry_is_kernel(&e))
            continue;
        unsigned kernel = number_of(l->mod, kernels, e.name);
        bool has = kernel != OMPJIT__NO_KERNEL;
        if (has == with && (has || has_host_version(l, &e, *found)))
            st = ompjit__tgt_add_kernel(ctx, e.address, l->mod, kernel, err);
        *found |= has;
    }
    return st;
}

/* Adds kernels, then variables. On failure some may have been added; destroying
 * the module removes them. */
static ompjit_status add_entries(ompjit_context *ctx,
                                 const struct ompjit__library *l,
                                 ompjit_error *err)
{
    bool found = false;
    by_symbol *kernels = sort_kernels(&l->mod->unit);
    ompjit_status st =
        kernels ? add_kernels(ctx, l, kernels, true, &found, err)
                : ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    if (!st)
        st = add_kernels(ctx, l, kernels, false, &found, err);
    for (size_t i = 0; !st && i < l->entries.n; i++) {
        ompjit__offload_entry e = ompjit__entry_at(&l->entries, i);
        if (e.kind == OMPJIT__OFFLOAD_OPENMP && !ompjit__entry_is_kernel(&e) &&
            !(e.flags & OMPJIT__ENTRY_REQUIRES))
            st = ompjit__tgt_add_global(ctx, e.address, e.size, e.flags,
                                        l->mod, e.name, err);
    }
    free(kernels);
    return st;
}

/* OK where the module's code is for all of the context's devices. */
static ompjit_status check_devices(ompjit_context *ctx,
                                   const ompjit_module *mod, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    for (unsigned i = 0; !st && mod->unit.nprebuilt && i < ctx->ndevices;
         i++) {
        char arch[32];
        ompjit_format format;
        uint32_t ptx;
        ompjit_device *dev = ctx->devices[i];
        dev->ops->target(dev, arch, &format, &ptx);
        st = ompjit__prebuilt_check(&mod->unit, arch, err);
    }
    return st;
}

/* Under the lock. What a device cannot run is no supported device, as of one that
 * does not meet the program's requirements: its target regions run on the host.
 * Once other libraries have used devices, data may be there that only they have:
 * a launch of this one's is an error then. Code that is spoilt, and not only for
 * other devices, is told. */
static void give_up_devices(struct ompjit__tgt *tgt,
                            const struct ompjit__library *l)
{
    const ompjit_error *why = &tgt->why_no_code;
    char text[sizeof why->text + 64];
    if (tgt->devices_used || atomic_load(&tgt->no_code))
        return;
    ompjit__fail(&tgt->why_no_code, l->err.status, l->err.stage, "%s: %s",
                 name_of(l->desc), l->err.text);
    atomic_store_explicit(&tgt->no_code, true, memory_order_release);
    snprintf(text, sizeof text, "there is no device for the program: %s",
             why->text);
    if (why->status == OMPJIT_ERR_UNAVAILABLE ||
        tgt->policy != OMPJIT__OFFLOAD_DEFAULT)
        ompjit__log(tgt->ctx, "%s", text);
    else
        ompjit__tell(tgt->ctx, text);
}

/* Not under the lock: makes the module and adds its entries; on failure there
 * is neither. */
static ompjit_status make(struct ompjit__tgt *tgt, struct ompjit__library *l,
                          ompjit_error *err)
{
    const ompjit__library_code code = {name_of(l->desc), l->desc->images,
                                       (unsigned)l->desc->num_images,
                                       &l->entries};
    atexit(leave);
    ompjit_status st = tgt->maker->make(tgt->ctx, &code, &l->mod, err);
    if (!st)
        st = check_devices(tgt->ctx, l->mod, err);
    if (!st)
        st = add_entries(tgt->ctx, l, err);
    if (st && l->mod) {
        tgt->maker->destroy(l->mod);
        l->mod = NULL;
    }
    return st;
}

/* Under the lock: the next in this state; with a key, that has it as an entry's
 * address. */
static struct ompjit__library *next_in(const struct ompjit__tgt *tgt,
                                       enum state state, const void *key)
{
    struct ompjit__library *l = tgt->libraries;
    for (; l; l = l->next) {
        size_t i = 0;
        while (key && i < l->entries.n &&
               ompjit__entry_at(&l->entries, i).address != key)
            i++;
        if (l->state == state && (!key || i < l->entries.n))
            break;
    }
    return l;
}

/* Under the lock, which is given up meanwhile; nobody frees it. */
static void make_ready(struct ompjit__tgt *tgt, struct ompjit__library *l)
{
    l->state = MAKING;
    pthread_mutex_unlock(&tgt->libraries_lock);
    ompjit_status status = make(tgt, l, &l->err);
    if (status)
        ompjit__log(tgt->ctx, "%s: no device code: %s", name_of(l->desc),
                    l->err.text);
    pthread_mutex_lock(&tgt->libraries_lock);
    if (status)
        give_up_devices(tgt, l);
    l->state = status ? FAILED : READY;
    atomic_fetch_sub(&tgt->waiting, 1);
    pthread_cond_broadcast(&tgt->library_made);
}

/* Reads one counter, so that constructs need not take the lock. */
static bool waits(struct ompjit__tgt *tgt)
{
    return atomic_load_explicit(&tgt->waiting, memory_order_acquire) != 0;
}

/* Takes the lock, and makes what nobody makes yet. */
static void lock_and_make(struct ompjit__tgt *tgt)
{
    struct ompjit__library *l;
    pthread_mutex_lock(&tgt->libraries_lock);
    while ((l = next_in(tgt, WAITS, NULL)))
        make_ready(tgt, l);
    tgt->devices_used |= next_in(tgt, READY, NULL) != NULL;
}

/* A thread that launches a kernel does not wait for the libraries that others
 * are making, but for its own: it may hold the dynamic linker's lock, which they
 * may need. */
void ompjit__libraries_ready(struct ompjit__tgt *tgt, const void *key)
{
    if (!waits(tgt))
        return;
    lock_and_make(tgt);
    while (next_in(tgt, MAKING, key))
        pthread_cond_wait(&tgt->library_made, &tgt->libraries_lock);
    pthread_mutex_unlock(&tgt->libraries_lock);
}

/* Waits for others' libraries only as long as none is ready. */
void ompjit__libraries_first(struct ompjit__tgt *tgt)
{
    if (!waits(tgt))
        return;
    lock_and_make(tgt);
    while (next_in(tgt, MAKING, NULL) && !next_in(tgt, READY, NULL))
        pthread_cond_wait(&tgt->library_made, &tgt->libraries_lock);
    pthread_mutex_unlock(&tgt->libraries_lock);
}

/* `tell` is called under the lock. */
void ompjit__libraries_tell(struct ompjit__tgt *tgt)
{
    pthread_mutex_lock(&tgt->libraries_lock);
    for (struct ompjit__library *l = tgt->libraries; l; l = l->next)
        if (l->state == READY)
            tgt->maker->tell(l->mod);
    pthread_mutex_unlock(&tgt->libraries_lock);
}

/* ----------------------------------------------------------------- errors */

/* The entries whose addresses are the nearest ones before and behind. */
typedef struct neighbours {
    const char *names[2];
    uintptr_t at[2]; /* 0: there is none */
} neighbours;

/* Keeps the entry where it is nearer to the key than the one before. */
static void look_at(neighbours *n, uintptr_t key,
                    const ompjit__offload_entry *e)
{
    uintptr_t at = (uintptr_t)e->address;
    bool behind = at > key;
    bool nearer = behind ? at < n->at[1] || !n->at[1] : at > n->at[0];
    if (!nearer)
        return;
    n->at[behind] = at;
    n->names[behind] = e->name;
}

/* Under the lock: the library that has the address as a kernel's. */
static const struct ompjit__library *
find_entry(const struct ompjit__tgt *tgt, const void *key, neighbours *near,
           ompjit__offload_entry *out)
{
    for (const struct ompjit__library *l = tgt->libraries; l; l = l->next)
        for (size_t i = 0; i < l->entries.n; i++) {
            ompjit__offload_entry e = ompjit__entry_at(&l->entries, i);
            if (e.kind != OMPJIT__OFFLOAD_OPENMP ||
                !ompjit__entry_is_kernel(&e))
                continue;
            *out = e;
            if (e.address == key)
                return l;
            look_at(near, (uintptr_t)key, &e);
        }
    return NULL;
}

/* The kernel of the library's code whose name is most like the entry's. */
static const char *most_like(const ompjit_module *mod, const char *name)
{
    const char *best = NULL;
    unsigned least = UINT32_MAX;
    for (unsigned i = 0; i < mod->unit.nkernels; i++) {
        unsigned d = ompjit__distance(mod->unit.kernels[i].symbol, name);
        if (d < least) {
            least = d;
            best = mod->unit.kernels[i].symbol;
        }
    }
    return best;
}

/* The error of an entry whose kernel the module does not have. */
static ompjit_status not_in_code(const struct ompjit__library *l,
                                 const ompjit__offload_entry *e,
                                 ompjit_error *err)
{
    const char *like = most_like(l->mod, e->name);
    return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LAUNCH,
                        "%s has an offload entry for kernel %s, but its device "
                        "code has no such kernel%s%s. The two are not of one "
                        "build, or their names are made by different rules",
                        name_of(l->desc), e->name,
                        like ? "; the most similar one is "
                             : ", and no kernel at all",
                        like ? like : "");
}

/* The error of an address that no library has, with its neighbours. */
static ompjit_status unknown(const void *key, const neighbours *near,
                             ompjit_error *err)
{
    ompjit__buf text = {0};
    for (int i = 0; i < 2; i++)
        if (near->at[i])
            ompjit__buf_printf(&text, "%s %s (%p)", text.size ? " and" : "",
                               near->names[i], (void *)near->at[i]);
    ompjit_status st = ompjit__fail(
        err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LAUNCH,
        "no kernel is registered for host address %p%s%s", key,
        text.data ? "; the nearest registered ones are" : "",
        text.data ? text.data : "");
    ompjit__buf_free(&text);
    return st;
}

ompjit_status ompjit__libraries_explain(struct ompjit__tgt *tgt,
                                        const void *key, ompjit_error *err)
{
    neighbours near = {0};
    ompjit__offload_entry e;
    ompjit_status st;
    pthread_mutex_lock(&tgt->libraries_lock);
    const struct ompjit__library *l = find_entry(tgt, key, &near, &e);
    if (!l)
        st = unknown(key, &near, err);
    else if (l->state == FAILED)
        st = ompjit__fail(err, l->err.status, l->err.stage, "%s: %s",
                          name_of(l->desc), l->err.text);
    else
        st = not_in_code(l, &e, err);
    pthread_mutex_unlock(&tgt->libraries_lock);
    return st;
}

/* For the context's end, when no thread uses it. */
void ompjit__libraries_free(struct ompjit__tgt *tgt)
{
    while (tgt->libraries) {
        struct ompjit__library *l = tgt->libraries;
        tgt->libraries = l->next;
        if (l->mod)
            tgt->maker->destroy(l->mod);
        free(l);
    }
}
