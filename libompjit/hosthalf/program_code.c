/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host half of a module becomes code of this process: compiled for this
 * CPU, linked, its offload entries registered with the served functions
 * (program.c), its constructors run. The program's destructors and atexit
 * handlers run when the host half is freed, or when the process exits before
 * that: libc keeps them as a shared library's.
 *
 * The steps are those of `build`, in its order. A step that fails leaves what
 * it made in the ompjit__hostjit, and ompjit__hostjit_free undoes it: only that
 * function frees.
 *
 * ompjit__hostjit_new runs under the module's lock, so a half is
 * made once. After that nothing of it changes, and any thread may look
 * functions up.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/module.h"
#include "omptarget/offload.h"
#include "device/engine/fault.h"
#include "device/engine/guard.h"
#include "device/engine/libomp.h"
#include "frontend/clang/clang.h"
#include "frontend/flang/flang.h"
#include "hosthalf/program_code.h"
#include "hosthalf/thread_local.h"
#include "loader/elf.h"
#include "loader/libraries.h"
#include "loader/stubs.h"

/* Tells thread-local destructors whether their code is still mapped. It
 * outlives the host half where a thread still has destructors to run: those
 * then do nothing. The half holds one reference and each pending destructor
 * another. A destructor runs with the lock held to read, so that its code is
 * not unmapped meanwhile. */
struct life {
    atomic_uint references;
    pthread_rwlock_t lock; /* of what follows */
    bool alive;
};

/* `made` keeps the names of functions and entries to the end; its object is
 * freed as soon as it is linked. `table` points into the linked code. */
struct ompjit__hostjit {
    ompjit_module *mod;
    ompjit__jit *jit;          /* of the core */
    ompjit__host_half made;
    ompjit__host_parts *parts; /* NULL: not divided */
    ompjit__module_code code;  /* of the core and the parts, as they come */
    struct life *life;
    struct ompjit__placed *_Atomic placed; /* that the code reads */
    const void *const *table; /* NULL until linked */
    struct causes *causes;    /* NULL: the core is not being linked */
    unsigned lookups; /* that are still part of a first call */
};

/* Why a library is not there; OK: not needed or there. Errors are large, and so
 * they are not kept. */
struct causes {
    ompjit_error libomp;
    ompjit_error fortran; /* flang's runtime library */
};

/* Functions of the C++ ABI and of libgcc that no header declares. __dso_handle
 * is this library's own, and hidden: every library has one. */
extern void __cxa_finalize(void *dso);
extern int __cxa_thread_atexit_impl(void (*f)(void *), void *arg, void *dso);
extern void *__dso_handle __attribute__((visibility("hidden")));

/* --------------------------------------------- thread-local destructors */

/* One thread-local object of the program, to be destroyed when its thread ends.
 * Owned by the C library from the registration on. */
struct thread_exit {
    struct life *life;
    void (*destructor)(void *);
    void *object;
};

/* The half whose destructor this thread runs. */
static _Thread_local const struct life *destroying;

static struct life *new_life(void)
{
    struct life *life = calloc(1, sizeof *life);
    if (!life || pthread_rwlock_init(&life->lock, NULL)) {
        free(life);
        return NULL;
    }
    atomic_init(&life->references, 1);
    life->alive = true;
    return life;
}

/* Ends one reference; the last one frees. */
static void release(struct life *life)
{
    if (atomic_fetch_sub(&life->references, 1) != 1)
        return;
    pthread_rwlock_destroy(&life->lock);
    free(life);
}

/* No destructor begins after this, and those of other threads have ended. A
 * destructor that frees its own half waits for none, since it would wait for
 * itself. */
static void end_life(struct life *life)
{
    bool own = destroying == life;
    if (!own)
        pthread_rwlock_wrlock(&life->lock);
    life->alive = false;
    if (!own)
        pthread_rwlock_unlock(&life->lock);
    release(life);
}

/* Called by the C library in the thread that ends. After the half is freed the
 * destructor's code is unmapped, so the call is skipped. */
static void destroy_object(void *arg)
{
    struct thread_exit *t = arg;
    pthread_rwlock_rdlock(&t->life->lock);
    destroying = t->life;
    if (t->life->alive)
        t->destructor(t->object);
    destroying = NULL;
    pthread_rwlock_unlock(&t->life->lock);
    release(t->life);
    free(t);
}

/* __cxa_thread_atexit of the program. It registers our own function with our
 * own __dso_handle: the C library then keeps this library loaded until the
 * thread ends, and never calls unmapped code. `life` is bound by the compiler
 * (OMPJIT__SYMBOL_LIFE), `dso` is the program's and unused. */
static int thread_atexit(struct life *life, void (*destructor)(void *),
                         void *object, void *dso)
{
    struct thread_exit *t = malloc(sizeof *t);
    if (!t)
        return -1;
    *t = (struct thread_exit){life, destructor, object};
    atomic_fetch_add(&life->references, 1);
    return __cxa_thread_atexit_impl(destroy_object, t, &__dso_handle);
}

const ompjit__served ompjit__thread_atexit_row = {
    "__cxa_thread_atexit", (void *)thread_atexit, true, "i:ppp"};

/* -------------------------------------------------------------------- link */

/* Prefixes of the functions that libomp exports: the specification's, LLVM's,
 * and libgomp's, which libomp has too. */
static bool is_openmp(const char *name)
{
    static const char *const prefixes[] = {
        "omp_",  "ompc_", "ompx_",  "__kmpc_", "kmp_",
        "kmpc_", "GOMP_", "__kmp_", "__gomp_", ".gomp_"};
    for (size_t i = 0; i < OMPJIT__COUNT(prefixes); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

/* Also where the application is linked with another OpenMP runtime: half of one
 * and half of the other would not know of each other's threads. NULL where
 * there is no libomp; add_cause tells why. */
static void *find_openmp(ompjit__hostjit *h, const char *name)
{
    const struct ompjit__libomp *omp;
    if (ompjit__libomp(&omp, h->causes ? &h->causes->libomp : NULL))
        return NULL;
    return dlsym(omp->handle, name);
}

/* Of Fortran, behind all others: a process that has flang's runtime library
 * uses its own. A failure is told once, by add_cause. */
static void *find_fortran(ompjit__hostjit *h, const char *name)
{
    ompjit_error own = {0}, *err = h->causes ? &h->causes->fortran : &own;
    return ompjit__flang_runtime_has(name) && !err->status
               ? ompjit__flang_runtime(h->mod->ctx, name, err)
               : NULL;
}

/* ompjit__jit_find: called under the jit's lock, for names that neither the
 * object nor a definition has. The process's own symbols come before libraries,
 * as they would for a linked program. */
static void *find(void *data, const char *name)
{
    ompjit__hostjit *h = data;
    const ompjit__linkage *others = h->mod->linkage;
    void *address = others ? others->find(others->data, name)
                           : ompjit__host_parts_find(h->parts, name);
    if (!address)
        address = is_openmp(name) ? find_openmp(h, name)
                                  : ompjit__exit_address(name);
    if (!address)
        address = dlsym(RTLD_DEFAULT, name);
    if (!address)
        address = ompjit__libraries_find(name);
    if (!address)
        address = ompjit__thread_local_find(&h->placed, name);
    return address ? address : find_fortran(h, name);
}

/* The same for a part, which names what the core has. */
static void *find_for_part(void *data, const char *name)
{
    ompjit__hostjit *h = data;
    void *address = ompjit__host_parts_find(h->parts, name);
    if (!address && ompjit__jit_lookup(h->jit, name, &address, NULL))
        address = find(data, name);
    return address;
}

/* Undefined OpenMP functions are so because there is no libomp, those of Fortran
 * because there is no runtime library of flang's. The reader sees the linker's
 * list of names first and then why the library did not load. */
static void add_cause(const ompjit_error *cause, ompjit_error *err)
{
    size_t n = err ? strlen(err->text) : 0;
    if (err && cause->status)
        snprintf(err->text + n, sizeof err->text - n, "\n%s", cause->text);
}

/* Binds the served functions that the half calls, each under its own name. They
 * win over libomptarget's, if the process has that one: see ompjit__jit_define.
 */
static ompjit_status define_needs(const ompjit__hostjit *h, ompjit__jit *jit,
                                  ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    for (size_t i = 0; !status && i < h->made.nneeds; i++) {
        const char *name = h->made.needs[i];
        ompjit__absolute def = {name, ompjit__served_address(name)};
        status = ompjit__jit_define(jit, &def, 1, err);
    }
    return status;
}

/* Names that link_object and parts define in each jit. Debuggers are told of a
 * half whose line information somebody asked for (not own_lines). */
static ompjit_status new_jit(ompjit__hostjit *h, ompjit__jit_find *look,
                             ompjit__jit **out, ompjit_error *err)
{
    const ompjit__absolute always[] = {
        {OMPJIT__SYMBOL_CONTEXT, h->mod->ctx},
        {OMPJIT__SYMBOL_LIFE, h->life},
        {"__emutls_get_address", (void *)ompjit__thread_local_address},
    };
    ompjit_status status = ompjit__jit_new(h->mod->unit.name, out, err);
    if (status)
        return status;
    ompjit__jit_search(*out, look, h);
    ompjit__jit_advise(*out, h->mod->ctx->link_advice);
    if (!h->mod->unit.own_lines)
        ompjit__jit_debug(*out);
    status = ompjit__jit_define(*out, always, OMPJIT__COUNT(always), err);
    return status ? status : define_needs(h, *out, err);
}

/* Signal handlers ask for the pages: their number is stored last. Nothing where
 * nobody knows them. */
static void note_code(void *half, const ompjit__jit *jit, const void *address)
{
    ompjit__hostjit *h = half;
    size_t n = atomic_load(&h->code.n);
    if (h->code.pages &&
        ompjit__jit_extent(jit, (uintptr_t)address, &h->code.pages[n].begin,
                           &h->code.pages[n].end))
        atomic_store(&h->code.n, n + 1);
}

/* ompjit__host_linker. */
static ompjit_status new_part_jit(void *h, ompjit__jit **out, ompjit_error *err)
{
    return new_jit(h, find_for_part, out, err);
}

/* Links the half and finds its table, the one symbol that registering and
 * constructing need. */
static ompjit_status link_object(ompjit__hostjit *h, ompjit_error *err)
{
    void *table;
    struct causes causes = {0};
    h->causes = &causes;
    ompjit_status status = new_jit(h, find, &h->jit, err);
    if (!status)
        status = ompjit__jit_add_object(h->jit, h->made.object.data,
                                        h->made.object.size, err);
    if (!status)
        status = ompjit__jit_lookup(h->jit, OMPJIT__TABLE, &table, err);
    h->causes = NULL;
    if (!status) {
        h->table = table;
        h->code.pages = calloc(h->made.nparts + 1, sizeof *h->code.pages);
        note_code(h, h->jit, h->table[OMPJIT__TABLE_INIT]);
        return OMPJIT_OK;
    }
    add_cause(&causes.libomp, err);
    add_cause(&causes.fortran, err);
    return status;
}

/* ----------------------------------------------------------------- compile */

/* A first call looks its function up, and may have done so before. Where its
 * kernel is built beside the host half, the launch tells the front end to rest,
 * and not these. */
enum { LOOKUPS = 2 };

/* The half by the compiler, beside which the module's kernels are built where it
 * can be told for what. */
static ompjit_status compile(ompjit__hostjit *h, bool divide, ompjit_error *err)
{
    ompjit__image_order next;
    bool beside = ompjit__first_image(h->mod, &next);
    h->lookups = beside ? LOOKUPS : 0;
    return ompjit__door_half(&h->mod->ctx->compiler, &h->mod->unit, divide,
                             beside ? &next : NULL, &h->made, err);
}

/* From the cache where it is there, and where it has not to be said why data is
 * copied: that the compiler does. A miss is claimed: other processes that want
 * the same half wait for this one instead of compiling it too. The claim ends
 * also where the compile fails. */
static ompjit_status obtain(ompjit__hostjit *h, bool divide, ompjit_error *err)
{
    ompjit_context *ctx = h->mod->ctx;
    struct ompjit__cache *cache = ctx->explain ? NULL : ctx->cache;
    ompjit__key key = {0};
    ompjit__claim claim;
    ompjit_status status = OMPJIT_OK;
    if (!cache || !ompjit__half_key(&h->mod->unit, divide, 0, &key)) {
        status = compile(h, divide, err);
    } else if (!ompjit__cache_enter(cache, &key, ompjit__half_take,
                                    &h->made, &claim)) {
        ompjit__buf payload = {0};
        status = compile(h, divide, err);
        if (!status) {
            ompjit__half_pack(&h->made, &payload);
            ompjit__cache_put(cache, &key, &payload);
        }
        ompjit__buf_free(&payload);
        ompjit__claim_end(&claim);
    }
    ompjit__key_free(&key);
    return status;
}

/* Is there all that parts want of the process? If not, the half is compiled as a
 * whole: only then LLVM knows whether what names it is ever run. The runtime's
 * functions are taken for there, since libomp need not be loaded yet. */
static bool has_wanted(ompjit__hostjit *h)
{
    static const char runtime[] = "__kmpc_", own[] = "ompjit.";
    for (size_t i = 0; i < h->made.nwants; i++) {
        const char *name = h->made.wants[i];
        if (strncmp(name, runtime, sizeof runtime - 1) &&
            strncmp(name, own, sizeof own - 1) &&
            !ompjit__served_address(name) && !find(h, name))
            return false;
    }
    return true;
}

/* Divided, if stubs and all that parts want are there. One of several modules is
 * as small as it should be. */
static ompjit_status obtain_any(ompjit__hostjit *h, ompjit_error *err)
{
    const ompjit__host_linker linker = {new_part_jit, note_code, h};
    bool divide = !h->mod->linkage && ompjit__stubs_supported();
    ompjit_status status = obtain(h, divide, err);
    if (status || !h->made.nparts)
        return status;
    h->parts = has_wanted(h)
                   ? ompjit__host_parts_new(h->mod, &h->made, &linker)
                   : NULL;
    if (h->parts)
        return OMPJIT_OK;
    ompjit__host_half_free(&h->made);
    return obtain(h, false, err);
}

/* ---------------------------------------------------------------- register */

/* A metadirective or variant may make clang see a region in one half alone:
 * then the region's host version is all there is. Halves that are no pair are
 * an error. `key` is the address by which host code names the region (its
 * .region_id). */
static ompjit_status add_kernel(ompjit__hostjit *h, const char *symbol,
                                const void *key, ompjit_error *err)
{
    ompjit_module *mod = h->mod;
    for (unsigned i = 0; i < mod->unit.nkernels; i++)
        if (!strcmp(mod->unit.kernels[i].symbol, symbol))
            return ompjit__tgt_add_kernel(mod->ctx, key, mod, i, err);
    if (mod->unit.from_source)
        return ompjit__tgt_add_kernel(mod->ctx, key, mod, OMPJIT__NO_KERNEL,
                                      err);
    return ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
                        "%s: the host half has target region %s, the device "
                        "half has no such kernel",
                        mod->unit.name, symbol);
}

/* `requires` entries have no address; their flags go where a size is. The key
 * of a variable is its host address. Flag 0x10 is OMP_REGISTER_REQUIRES of
 * LLVM's offload entries. An entry without a size is a kernel. */
static ompjit_status register_entries(ompjit__hostjit *h, ompjit_error *err)
{
    enum { REQUIRES = 0x10 };
    ompjit_status status = OMPJIT_OK;
    for (size_t i = 0; !status && i < h->made.nentries; i++) {
        const ompjit__host_entry *e = &h->made.entries[i];
        const void *key = h->table[OMPJIT__TABLE_KEYS + i];
        bool requires = e->flags & REQUIRES;
        if (!requires && !e->size)
            status = add_kernel(h, e->symbol, key, err);
        else
            status = ompjit__tgt_add_global(
                h->mod->ctx, (void *)(uintptr_t)key,
                requires ? e->data : e->size, e->flags, h->mod, e->symbol, err);
    }
    return status;
}

/* ----------------------------------------------- constructors, destructors */

/* Runs in a fault guard, hence the void * argument; so does destruct. */
static void construct(void *h)
{
    const ompjit__hostjit *half = h;
    ((void (*)(void))(uintptr_t)half->table[OMPJIT__TABLE_INIT])();
}

/* Runs what the program registered by atexit and __cxa_atexit with its own
 * __dso_handle, the last registration first. The C library does the same at
 * dlclose. */
static void destruct(void *h)
{
    const ompjit__hostjit *half = h;
    __cxa_finalize((void *)(uintptr_t)half->table[OMPJIT__TABLE_DSO]);
}

/* A constructor that faults ends in an error, not in the process. The guard
 * needs the library's signal handlers; where the application keeps its own
 * signals (keeps_signals), a fault is the application's. */
static ompjit_status run_constructors(ompjit__hostjit *h, ompjit_error *err)
{
    char cause[512];
    if (h->mod->ctx->keeps_signals) {
        construct(h);
        return OMPJIT_OK;
    }
    if (ompjit__fault_guard(construct, h, cause, sizeof cause))
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_DEVICE, OMPJIT_STAGE_LOAD,
                        "%s: a constructor has failed: %s", h->mod->unit.name,
                        cause);
}

/* The C library forgets each before it is called, so that one which fails is
 * not called again. So the loop ends: each failure takes one handler off the
 * list. */
static void run_destructors(ompjit__hostjit *h)
{
    char cause[512];
    if (h->mod->ctx->keeps_signals)
        destruct(h);
    else
        while (!ompjit__fault_guard(destruct, h, cause, sizeof cause))
            ompjit__log(h->mod->ctx, "%s: a destructor has failed: %s",
                        h->mod->unit.name, cause);
}

/* --------------------------------------------------------------- interface */

/* Entries are registered before constructors run, since a constructor may
 * launch target regions. The object's bytes are freed here, linked or not, and
 * kept for ompjit__hostjit_place where the module is one of several: whoever
 * has several runs their constructors, and needs the bitcode no more unless a
 * worker may ask for the unit again. The time of linking counts as LOAD; the
 * compile has told its own stages. */
static ompjit_status build(ompjit__hostjit *h, ompjit_error *err)
{
    h->life = new_life();
    if (!h->life)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    ompjit_status status = obtain_any(h, err);
    uint64_t start = ompjit__now();
    if (!status)
        status = link_object(h, err);
    if (!h->mod->linkage)
        ompjit__buf_free(&h->made.object);
    else if (!status && !h->mod->unit.device_bc.size)
        ompjit__buf_free(&h->mod->unit.host_bc);
    if (!status)
        status = register_entries(h, err);
    if (!status && !h->mod->linkage)
        status = run_constructors(h, err);
    ompjit__stage_done(h->mod->ctx, OMPJIT_STAGE_LOAD, start);
    return status;
}

ompjit_status ompjit__hostjit_new(ompjit_module *mod, ompjit__hostjit **out,
                                  ompjit_error *err)
{
    if (!mod->unit.host_bc.size)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_READ,
                            "%s has no host half", mod->unit.name);
    ompjit__hostjit *h = calloc(1, sizeof *h);
    if (!h)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    h->mod = mod;
    ompjit_status status = build(h, err);
    if (status) {
        ompjit__hostjit_free(h);
        return status;
    }
    *out = h;
    return OMPJIT_OK;
}

/* Destructors first, while entries and code are still there: they may launch
 * target regions. `table` is NULL where linking failed, and then nothing has
 * run. Other threads' destructors have ended before the code is unmapped. */
void ompjit__hostjit_free(ompjit__hostjit *h)
{
    if (!h)
        return;
    if (h->table) {
        run_destructors(h);
        ompjit__tgt_remove(h->mod->ctx, h->mod);
    }
    if (h->life)
        end_life(h->life);
    ompjit__host_parts_free(h->parts);
    ompjit__jit_free(h->jit);
    ompjit__thread_local_free(atomic_load(&h->placed));
    ompjit__host_half_free(&h->made);
    free(h->code.pages);
    free(h);
}

/* Lists the functions that there are, so that a misspelt name is seen. */
static ompjit_status no_function(const ompjit__hostjit *h, const char *name,
                                 ompjit_error *err)
{
    ompjit__buf names = {0};
    for (size_t i = 0; i < h->made.nfunctions; i++)
        ompjit__buf_printf(&names, "%s %s", i ? "," : "",
                           h->made.functions[i]);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
        "%s has no function %s; it has:%s", h->mod->unit.name, name,
        names.size ? names.data : " none");
    ompjit__buf_free(&names);
    return status;
}

const ompjit__module_code *ompjit__hostjit_code(const ompjit__hostjit *h)
{
    return &h->code;
}

bool ompjit__hostjit_defers(const ompjit__hostjit *h)
{
    for (size_t i = 0; i < h->made.nneeds; i++)
        if (strstr(h->made.needs[i], "_nowait"))
            return true;
    return false;
}

/* The host half is made once. Then clang's next processes are started ahead:
 * nobody waits for this one now. Threads that ask for the first function at
 * once wait for one of them. A failure is not remembered: the next call tries
 * again. Once a function other than `main` was handed out, callers are not all
 * known any more, and data that was shared by a proof over the whole program
 * gets copies. */
ompjit_status ompjit__hostjit_function(ompjit_module *mod, const char *name,
                                       void **address, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&mod->lock);
    if (!mod->hostjit)
        status = ompjit__hostjit_new(mod, &mod->hostjit, err);
    bool calling = !status && mod->hostjit->lookups;
    if (calling)
        mod->hostjit->lookups--;
    pthread_mutex_unlock(&mod->lock);
    if (!calling)
        ompjit__frontend_rest(mod->ctx);
    if (!status)
        status = ompjit__hostjit_lookup(mod->hostjit, name, address, err);
    if (!status && strcmp(name, "main"))
        atomic_store(&mod->ctx->hands_out_functions, true);
    return status;
}

/* Finds functions of the half's list only: its other global symbols are
 * variables and the library's own, whose addresses must not be called. A part is
 * compiled here, where an error can be returned, and not by the first call. */
ompjit_status ompjit__hostjit_lookup(ompjit__hostjit *h, const char *name,
                                     void **address, ompjit_error *err)
{
    size_t i = 0;
    ompjit_status status;
    while (i < h->made.nfunctions && strcmp(h->made.functions[i], name))
        i++;
    if (i == h->made.nfunctions)
        return no_function(h, name, err);
    if (ompjit__host_parts_need(h->parts, name, address, &status, err))
        return status;
    return ompjit__jit_lookup(h->jit, name, address, err);
}

/* ------------------------------------------------------ one of several modules */

void ompjit__hostjit_construct(const ompjit__hostjit *h)
{
    construct((void *)(uintptr_t)h);
}

ompjit_status ompjit__hostjit_symbol(ompjit__hostjit *h, const char *name,
                                     void **address, ompjit_error *err)
{
    return ompjit__jit_lookup(h->jit, name, address, err);
}

bool ompjit__hostjit_has(const ompjit__hostjit *h, uintptr_t pc)
{
    uintptr_t begin, end;
    return ompjit__jit_extent(h->jit, pc, &begin, &end);
}

void ompjit__hostjit_forget_lines(ompjit__hostjit *h)
{
    ompjit__buf_free(&h->made.object);
}

/* Each function is looked at: the address belongs to the one whose section has
 * it. */
bool ompjit__hostjit_place(ompjit__hostjit *h, uintptr_t pc, ompjit__buf *text)
{
    const ompjit__buf *object = &h->made.object;
    uintptr_t begin, end;
    void *address;
    if (!ompjit__hostjit_has(h, pc))
        return false;
    for (size_t i = 0; i < h->made.nfunctions; i++) {
        const char *name = h->made.functions[i];
        if (ompjit__jit_lookup(h->jit, name, &address, NULL) ||
            !ompjit__elf_code(object->data, object->size, name,
                              (uintptr_t)address, &begin, &end) ||
            pc < begin || pc >= end)
            continue;
        ompjit__door_object_line(&h->mod->ctx->compiler, object->data,
                                 object->size, name, pc - begin, text);
        return true;
    }
    return false;
}
