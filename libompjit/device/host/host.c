/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host device: images are objects of this machine's CPU, memory is
 * ordinary memory, teams run across the threads of the OpenMP runtime. Work is
 * done when a call returns, so queues are empty shells.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/host_layout.h"
#include "door/door.h"
#include "loader/elf.h"
#include "loader/jit.h"
#include "context/profile.h"
#include "device/check/check.h"
#include "device/device.h"
#include "device/engine/fault.h"
#include "device/host/blocks.h"
#include "device/engine/libc.h"
#include "device/engine/time_limit.h"
#include "device/engine/lock.h"
#include "device/engine/team.h"
#include "device/engine/width.h"
#include "device/engine/libomp.h"
#include "abi/offload.h"
#include "runtime-bc/host_abi.h"

struct host {
    ompjit__host_pool *pool;
    const struct ompjit__libomp *_Atomic libomp; /* NULL: none or not yet */
    _Atomic bool without; /* none, and that was told */
    _Atomic bool catches; /* faults are held */
    ompjit__host_limits *limits;
    ompjit__host_blocks blocks;
    ompjit__fork_costs fork_costs;
};

struct ompjit__loaded {
    ompjit_device *dev;
    ompjit__jit *jit;
    ompjit__device_environment environment; /* kernels read it */
    bool checked; /* its variables are the checker's memory */
    bool waits;   /* it has loops that wait for other threads */
    ompjit__buf object; /* for line tables */
    ompjit__host_code code; /* known with the first function */
    uint32_t shared_size;
    ompjit__variable *variables;
    unsigned nvariables;
    struct ompjit__function *functions; /* under dev->lock */
};

struct ompjit__function {
    struct ompjit__function *next;
    ompjit__loaded *loaded;
    void (*entry)(void **args);
    char *symbol;
    const char *name; /* the symbol as it was given: aborts compare it */
    uintptr_t code_begin, code_end; /* of the section that has it */
    void (*team)(void **args); /* for all threads of a team; or NULL */
    bool independent; /* its threads never wait for each other */
    ompjit__paces paces; /* of launches that several OS threads can run */
};

struct ompjit__queue {
    char unused;
};

/* The engine's functions that kernels call; they find it before the process's
 * own symbols. */
#define WAIT "ompjit_host_wait" /* what passes/host/wait_loops.cc calls */
#define ENGINE(name) {#name, (void *)name}
static const ompjit__absolute engine[] = {
    ENGINE(ompjit_host_self),        ENGINE(ompjit_host_barrier),
    ENGINE(ompjit_host_warp_sync),   ENGINE(ompjit_host_shuffle),
    ENGINE(ompjit_host_active_mask), ENGINE(ompjit_host_yield),
    ENGINE(ompjit_host_trap),        ENGINE(ompjit_host_wtime),
    ENGINE(ompjit_host_clock),       ENGINE(ompjit_host_vprintf),
    ENGINE(ompjit_host_assert_failed), ENGINE(ompjit_host_lock_holder),
    ENGINE(ompjit_host_lock_lost),
    {WAIT, (void *)ompjit_host_yield},
    {"malloc", (void *)ompjit_host_malloc},
    {"calloc", (void *)ompjit_host_calloc},
    {"realloc", (void *)ompjit_host_realloc},
    {"free", (void *)ompjit_host_free},
    {"abort", (void *)ompjit_host_abort},
    {"pthread_exit", (void *)ompjit_host_pthread_exit},
    {"setjmp", (void *)ompjit_host_setjmp},
    {"_setjmp", (void *)ompjit_host_setjmp},
    {"__sigsetjmp", (void *)ompjit_host_sigsetjmp},
    {"longjmp", (void *)ompjit_host_longjmp},
    {"_longjmp", (void *)ompjit_host_longjmp},
    {"siglongjmp", (void *)ompjit_host_longjmp},
    {"__longjmp_chk", (void *)ompjit_host_longjmp},
};
#undef ENGINE

/* --------------------------------------------------------------- memory */

/* Arrays of a page's multiple come to lie APART from each other by their places
 * in pages: a processor compares a load with the stores before it by that, and
 * a loop that loads just where it has stored in another array waits. */
static ompjit_status host_alloc(ompjit_device *dev, size_t size, void **ptr,
                                ompjit_error *err)
{
    enum { ALIGN = 128, APART = 512, LARGE = 64 << 10 };
    size_t align = size < LARGE ? ALIGN : APART;
    if (size > SIZE_MAX - align)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    ompjit_status status = ompjit__device_ready(dev, err);
    if (status)
        return status;
    struct host *host = dev->state;
    size_t whole = (size + align - 1) / align * align;
    void *p = dev->ctx->check
                  ? ompjit__memory_new(&dev->ctx->check->memory, size,
                                       OMPJIT__MEMORY_DEVICE)
                  : ompjit__host_blocks_new(&host->blocks, align,
                                            whole ? whole : align);
    if (!p)
        return ompjit__fail(err, OMPJIT_ERR_NO_MEMORY, OMPJIT_STAGE_MAP,
                            "host device: no memory for %zu bytes", size);
    *ptr = p;
    return OMPJIT_OK;
}

static ompjit_status host_free(ompjit_device *dev, void *ptr, ompjit_error *err)
{
    struct host *host = dev->state;
    if (!dev->ctx->check && host)
        ompjit__host_blocks_free(&host->blocks, ptr);
    else if (!dev->ctx->check)
        free(ptr);
    else if (ptr) {
        ompjit__lost_report(dev->ctx->check, ptr);
        ompjit__memory_end(&dev->ctx->check->memory, ptr);
    }
    return OMPJIT_OK;
}

static ompjit_status host_copy(ompjit_device *dev, enum ompjit__copy direction,
                               void *dst, const void *src, size_t size,
                               ompjit__queue *queue, ompjit_error *err)
{
    const char *name = ompjit__copy_names[direction];
    uint64_t begin = ompjit__span_begin(dev->ctx, name);
    if (size && dst != src)
        memmove(dst, src, size);
    ompjit__span_end(dev->ctx, OMPJIT__SPAN_COPY, name, begin, size);
    if (size && dev->ctx->check && direction != OMPJIT__COPY_TO)
        ompjit__memory_copied(&dev->ctx->check->memory, src);
    if (size && dev->ctx->check && direction != OMPJIT__COPY_FROM)
        ompjit__memory_written(&dev->ctx->check->memory, dst, size);
    return OMPJIT_OK;
}

/* ----------------------------------------------------------------- images */

static void host_target(ompjit_device *dev, char arch[32],
                        ompjit_format *format, uint32_t *ptx)
{
    strcpy(arch, "host");
    *ptx = 0;
    *format = OMPJIT_FORMAT_OBJECT;
}

static void host_unload(ompjit_device *dev, ompjit__loaded *loaded)
{
    if (!loaded)
        return;
    while (loaded->functions) {
        ompjit__function *f = loaded->functions;
        loaded->functions = f->next;
        free(f->symbol);
        free(f);
    }
    for (unsigned i = 0; i < loaded->nvariables; i++)
        free(loaded->variables[i].name);
    free(loaded->variables);
    if (loaded->checked)
        ompjit__check_unload(dev->ctx->check, loaded->jit);
    ompjit__buf_free(&loaded->object);
    ompjit__jit_free(loaded->jit);
    free(loaded);
}

static ompjit_status copy_variables(const ompjit__image *image,
                                    ompjit__loaded *loaded, ompjit_error *err)
{
    loaded->variables =
        calloc(image->nglobals + 1, sizeof *loaded->variables);
    if (!loaded->variables)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    for (; loaded->nvariables < image->nglobals; loaded->nvariables++) {
        const ompjit__variable *from = &image->globals[loaded->nvariables];
        ompjit__variable *to = &loaded->variables[loaded->nvariables];
        *to = (ompjit__variable){ompjit__strdup(from->name), from->size};
        if (!to->name)
            return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    }
    return OMPJIT_OK;
}

/* Variables that the image imports, at base's addresses. */
static ompjit_status import_globals(const ompjit__image *image,
                                    ompjit__loaded *base,
                                    ompjit__loaded *loaded, ompjit_error *err)
{
    for (unsigned i = 0; i < image->nglobals; i++) {
        ompjit__absolute def = {.name = image->globals[i].name};
        ompjit_status status =
            ompjit__jit_lookup(base->jit, def.name, &def.address, err);
        if (!status)
            status = ompjit__jit_define(loaded->jit, &def, 1, err);
        if (status)
            return status;
    }
    return OMPJIT_OK;
}

static ompjit_status define_engine(ompjit__check *check, ompjit__jit *jit,
                                   ompjit_error *err)
{
    const size_t n = OMPJIT__COUNT(engine);
    if (check)
        return ompjit__check_define(jit, engine, n, err);
    ompjit__jit_share(jit, engine, n);
    return OMPJIT_OK;
}

static ompjit_status link_image(ompjit_device *dev, const ompjit__image *image,
                                ompjit__loaded *base, ompjit__loaded *loaded,
                                ompjit_error *err)
{
    const ompjit__absolute environment = {OMPJIT__DEVICE_ENVIRONMENT,
                                          &loaded->environment};
    ompjit_status status = define_engine(dev->ctx->check, loaded->jit, err);
    if (!status)
        status = ompjit__jit_define(loaded->jit, &environment, 1, err);
    if (!status && image->imports_globals)
        status = import_globals(image, base, loaded, err);
    if (!status)
        status = ompjit__jit_add_object(loaded->jit, image->bytes.data,
                                        image->bytes.size, err);
    void *shared_size;
    if (!status)
        status = ompjit__jit_lookup(loaded->jit, OMPJIT__SHARED_SIZE_SYMBOL,
                                    &shared_size, err);
    if (status)
        return status;
    loaded->shared_size = *(const uint32_t *)shared_size;
    ompjit__buf_add(&loaded->object, image->bytes.data, image->bytes.size);
    loaded->waits = memmem(image->bytes.data, image->bytes.size, WAIT,
                           sizeof WAIT) != NULL;
    return loaded->object.failed ? ompjit__no_memory(err, OMPJIT_STAGE_LOAD)
                                 : OMPJIT_OK;
}

/* From the first image on, as from then on kernels may run. */
static void catch_faults(ompjit_device *dev)
{
    struct host *host = dev->state;
    if (dev->ctx->keeps_signals || atomic_exchange(&host->catches, true))
        return;
    ompjit__fault_hold();
}

static ompjit_status host_load(ompjit_device *dev, const ompjit__image *image,
                               ompjit__loaded *base, ompjit__loaded **out,
                               ompjit_error *err)
{
    catch_faults(dev);
    ompjit__loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    loaded->dev = dev;
    ompjit_status status = ompjit__jit_new("host kernels", &loaded->jit, err);
    if (!status && image->lines)
        ompjit__jit_debug(loaded->jit);
    if (!status)
        status = copy_variables(image, loaded, err);
    if (!status)
        status = link_image(dev, image, base, loaded, err);
    if (!status && dev->ctx->check) {
        status = ompjit__check_load(dev->ctx->check, loaded->jit, err);
        loaded->checked = !status;
    }
    if (status) {
        host_unload(dev, loaded);
        return status;
    }
    *out = loaded;
    return OMPJIT_OK;
}

static ompjit_status host_symbol(ompjit_device *dev, ompjit__loaded *loaded,
                                 const char *name, void **address, size_t *size,
                                 ompjit_error *err)
{
    if (!strcmp(name, OMPJIT__DEVICE_ENVIRONMENT)) {
        *address = &loaded->environment;
        *size = sizeof loaded->environment;
        return OMPJIT_OK;
    }
    for (unsigned i = 0; i < loaded->nvariables; i++)
        if (!strcmp(loaded->variables[i].name, name)) {
            *size = loaded->variables[i].size;
            return ompjit__jit_lookup(loaded->jit, name, address, err);
        }
    return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LOAD,
                        "no variable %s on the host device", name);
}

/* Under dev->lock: the image's code in whole pages, where that is all that they
 * have of what can be executed. */
static void find_code(ompjit__loaded *loaded, const ompjit__function *f)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    ompjit__host_code *code = &loaded->code;
    if (code->begin ||
        ompjit__jit_extent(loaded->jit, (uintptr_t)f->entry, &code->begin,
                           &code->end))
        return;
    code->begin = f->code_begin / page * page;
    code->end = (f->code_end + page - 1) / page * page;
}

/* Is a name in the object's table? */
static bool has_name(const ompjit__loaded *loaded, const char *name)
{
    return memmem(loaded->object.data, loaded->object.size, name,
                  strlen(name) + 1);
}

/* passes/host/independent.cc has left a name. */
static bool is_independent(const ompjit_device *dev,
                           const ompjit__loaded *loaded, const char *symbol)
{
    char *name = ompjit__format("%s.independent", symbol);
    bool found = name && !dev->ctx->check && has_name(loaded, name);
    free(name);
    return found;
}

/* passes/host/team_loops.cc may have made loops over its threads. */
static void find_team(const ompjit_device *dev, const ompjit__loaded *loaded,
                      ompjit__function *f)
{
    char *name = ompjit__format("%s" OMPJIT__TEAM_SUFFIX, f->symbol);
    void *address;
    if (name && !dev->ctx->check && has_name(loaded, name) &&
        !ompjit__jit_lookup(loaded->jit, name, &address, NULL))
        f->team = (void (*)(void **))address;
    free(name);
}

static ompjit_status host_function(ompjit_device *dev, ompjit__loaded *loaded,
                                   const char *symbol, ompjit__function **out,
                                   ompjit_error *err)
{
    ompjit__function *f = calloc(1, sizeof *f);
    char *entry = ompjit__format("%s.entry", symbol);
    void *address;
    ompjit_status status = OMPJIT_OK;
    if (!f || !entry || !(f->symbol = ompjit__strdup(symbol)))
        status = ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    else
        status = ompjit__jit_lookup(loaded->jit, entry, &address, err);
    if (!status)
        ompjit__elf_code(loaded->object.data, loaded->object.size, entry,
                            (uintptr_t)address, &f->code_begin, &f->code_end);
    free(entry);
    if (status) {
        free(f ? f->symbol : NULL);
        free(f);
        return status;
    }
    f->entry = (void (*)(void **))address;
    f->loaded = loaded;
    f->name = symbol;
    f->independent = is_independent(dev, loaded, symbol);
    find_team(dev, loaded, f);
    pthread_mutex_lock(&dev->lock);
    find_code(loaded, f);
    f->next = loaded->functions;
    loaded->functions = f;
    pthread_mutex_unlock(&dev->lock);
    *out = f;
    return OMPJIT_OK;
}

/* ---------------------------------------------------------------- launch */

/* One launch, seen by all OS threads that take part. */
struct run {
    ompjit_device *dev;
    struct host *host;
    ompjit__function *function;
    ompjit__host_launch *launch;
    uint32_t teams;
    /* If there are more OS threads than teams, several run one team: those
     * teams, else NULL. */
    ompjit__host_team **shared;
    _Atomic bool begun;   /* a team has run */
    bool timed;           /* nanoseconds: all OS threads', and the longest */
    _Atomic uint64_t work, longest;
    pthread_mutex_t lock; /* status, err: the first failure */
    ompjit_status status;
    ompjit_error *err;
};

/* Loaded and started by the first launch that has work for several threads;
 * NULL: there is none, teams run one by one. */
static const struct ompjit__libomp *libomp_of(ompjit_device *dev)
{
    struct host *host = dev->state;
    const struct ompjit__libomp *omp = host->libomp;
    ompjit_error cause;
    if (omp || host->without)
        return omp;
    if (!ompjit__libomp(&omp, &cause))
        return host->libomp = omp;
    if (!atomic_exchange(&host->without, true))
        ompjit__log(dev->ctx, "host device: one core only: %s", cause.text);
    return NULL;
}

/* The first failure, and none of the teams that were stopped for it. */
static void note_failure(struct run *run, ompjit_status status,
                         const ompjit_error *err)
{
    if (!status)
        return;
    pthread_mutex_lock(&run->lock);
    if (!run->status || (run->status == OMPJIT_ERR_ABORTED &&
                         status != OMPJIT_ERR_ABORTED)) {
        run->status = status;
        if (run->err)
            *run->err = *err;
    }
    pthread_mutex_unlock(&run->lock);
}

static void run_range(struct run *run, uint32_t first, uint32_t last)
{
    ompjit_error err;
    ompjit_status status = ompjit__host_run_teams(run->host->pool, run->launch,
                                                  first, last, &err);
    if (status != OMPJIT_ERR_NO_MEMORY)
        atomic_store_explicit(&run->begun, true, memory_order_relaxed);
    note_failure(run, status, &err);
}

/* Each thread takes a block of the teams, or a part of one. */
static void take_part(struct run *run)
{
    const struct ompjit__libomp *omp = run->host->libomp;
    uint64_t n = (uint64_t)omp->omp_get_num_threads();
    uint64_t i = (uint64_t)omp->omp_get_thread_num();
    uint32_t first = (uint32_t)(run->teams * i / n);
    uint32_t last = (uint32_t)(run->teams * (i + 1) / n);
    uint32_t crew = (uint32_t)n / run->teams; /* OS threads of a team */
    if (!run->shared)
        run_range(run, first, last);
    else if (crew > 1 && i / crew < run->teams)
        ompjit__host_team_join(run->shared[i / crew], (uint32_t)i % crew, crew);
    else if (crew <= 1)
        for (uint32_t team = first; team < last; team++)
            ompjit__host_team_join(run->shared[team], 0, 1);
}

static void note_work(struct run *run, uint64_t ns)
{
    atomic_fetch_add_explicit(&run->work, ns, memory_order_relaxed);
    uint64_t longest = atomic_load_explicit(&run->longest,
                                            memory_order_relaxed);
    while (ns > longest &&
           !atomic_compare_exchange_weak_explicit(&run->longest, &longest, ns,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

/* The microtask of libomp's fork. */
static void run_share(int32_t *gtid, int32_t *btid, struct run *run)
{
    uint64_t start = run->timed ? ompjit__now() : 0;
    ompjit__watch_serve(run->launch->watch);
    take_part(run);
    ompjit__watch_serve(NULL);
    if (run->timed)
        note_work(run, ompjit__now() - start);
}

static void fork_threads(struct run *run, uint32_t n)
{
    const struct ompjit__libomp *omp = run->host->libomp;
    ompjit__ident ident = {.flags = OMPJIT__IDENT_KMPC,
                           .source = ";ompjit;kernel;0;0;;"};
    if (n < (uint32_t)omp->omp_get_max_threads())
        omp->kmpc_push_num_threads(&ident, omp->kmpc_global_thread_num(&ident),
                                   (int32_t)n);
    run->launch->shared = true;
    omp->kmpc_fork_call(&ident, 1, run_share, run);
}

/* Fewer teams, of several threads each, than `n` OS threads. */
static void run_shared(struct run *run, uint32_t n)
{
    ompjit__host_pool *pool = run->host->pool;
    ompjit__host_team *teams[run->teams];
    ompjit_error err;
    uint32_t begun = 0;
    ompjit_status status = OMPJIT_OK;
    while (!status && begun < run->teams) {
        status = ompjit__host_team_begin(pool, run->launch, begun, n,
                                         &teams[begun], &err);
        begun += !status;
    }
    note_failure(run, status, &err);
    run->shared = teams;
    if (!status)
        fork_threads(run, n);
    for (uint32_t team = 0; team < begun; team++) {
        ompjit_status ended =
            ompjit__host_team_end(pool, teams[team], &err);
        if (!status)
            note_failure(run, ended, &err);
    }
}

/* The ways to run it on up to `most` OS threads. A team of more threads than
 * there are processors is faster on all of them where it computes, and on one
 * where its threads often wait for each other. */
static ompjit__width_choice ways(struct run *run, uint32_t threads,
                                 uint32_t most)
{
    uint64_t all = (uint64_t)run->teams * threads;
    bool by_threads = threads > 1 && run->teams < most;
    bool by_teams = run->teams > 1 && (!by_threads || all > most);
    ompjit__width_choice c = {
        .paces = &run->function->paces,
        .costs = &run->host->fork_costs,
        .trips = run->launch->geometry->trips,
        .size = run->launch->geometry->size,
    };
    /* A team may wait for one behind it. */
    if (run->teams == 1 || !run->function->loaded->waits)
        c.crew[OMPJIT__WIDTH_ONE] = 1;
    if (by_teams)
        c.crew[OMPJIT__WIDTH_TEAMS] = run->teams < most ? run->teams : most;
    if (by_threads)
        c.crew[OMPJIT__WIDTH_THREADS] = all < most ? (uint32_t)all : most;
    if (by_teams)
        c.first = OMPJIT__WIDTH_TEAMS;
    else if (all <= most)
        c.first = OMPJIT__WIDTH_THREADS;
    return c;
}

static void run_as(struct run *run, const ompjit__width_choice *c)
{
    if (c->width == OMPJIT__WIDTH_TEAMS)
        fork_threads(run, run->teams);
    else if (c->width == OMPJIT__WIDTH_THREADS)
        run_shared(run, c->crew[c->width]);
    else
        run_range(run, 0, run->teams);
}

/* How many OS threads it may have. */
static uint32_t most_of(struct run *run, uint32_t threads)
{
    const ompjit__geometry *g = run->launch->geometry;
    if ((run->teams == 1 && threads == 1) ||
        ompjit__width_alone(&run->function->paces, g->trips, g->size))
        return 1;
    const struct ompjit__libomp *omp = libomp_of(run->dev);
    return omp ? (uint32_t)omp->omp_get_max_threads() : 1;
}

static void run_all(struct run *run, uint32_t threads)
{
    uint32_t most = most_of(run, threads);
    if (most == 1) {
        run_range(run, 0, run->teams);
        return;
    }
    ompjit__width_choice c = ways(run, threads, most);
    ompjit__width_choose(&c);
    run->timed = c.weight != 0;
    uint64_t start = run->timed ? ompjit__now() : 0;
    run_as(run, &c);
    uint64_t ns = run->timed ? ompjit__now() - start : 0;
    if (c.width == OMPJIT__WIDTH_ONE)
        run->work = ns;
    ompjit__width_note(&c, ns, run->work, run->longest);
}

static ompjit_status check_geometry(const ompjit__function *f,
                                    const ompjit__geometry *g,
                                    ompjit_error *err)
{
    uint64_t threads = 1, teams = 1;
    for (int d = 0; d < 3; d++) {
        threads *= g->threads[d];
        teams *= g->teams[d];
        if (threads > OMPJIT__HOST_MAX_THREADS)
            break;
    }
    if (threads > OMPJIT__HOST_MAX_THREADS)
        return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                            "kernel %s: a team of %llu threads, the host "
                            "device has at most %d",
                            f->symbol, (unsigned long long)threads,
                            OMPJIT__HOST_MAX_THREADS);
    if (teams > UINT32_MAX)
        return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                            "kernel %s: %llu teams are more than 2^32 - 1",
                            f->symbol, (unsigned long long)teams);
    if (g->cooperative && teams > 1)
        return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                            "kernel %s: %llu teams at the same time, the host "
                            "device runs them one after the other",
                            f->symbol, (unsigned long long)teams);
    return OMPJIT_OK;
}

/* A handler ends a launch that lasts too long. */
static ompjit_status check_limit(const ompjit_device *dev,
                                 const ompjit__function *f,
                                 const ompjit__geometry *g, ompjit_error *err)
{
    const struct host *host = dev->state;
    if (!g->limit_ms || host->catches)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LAUNCH,
                        "kernel %s: a time limit of %u ms needs the signal "
                        "handlers that keep_signals leaves out",
                        f->symbol, g->limit_ms);
}

/* The source line of an address in a kernel's code. */
static void locate(void *data, uintptr_t pc, ompjit__buf *text)
{
    const ompjit__function *f = data;
    char *entry = ompjit__format("%s.entry", f->symbol);
    ompjit__compiler *compiler = &f->loaded->dev->ctx->compiler;
    if (entry && pc >= f->code_begin && pc < f->code_end)
        ompjit__door_object_line(compiler, f->loaded->object.data,
                                 f->loaded->object.size, entry,
                                 pc - f->code_begin, text);
    free(entry);
}

static ompjit__host_launch launch_of(const ompjit_device *dev,
                                     ompjit__function *f,
                                     const ompjit__geometry *g, void **args)
{
    const struct host *host = dev->state;
    return (ompjit__host_launch){.name = f->symbol,
                                 .entry = f->entry,
                                 .team = f->team,
                                 .args = args,
                                 .geometry = g,
                                 .shared_size = f->loaded->shared_size,
                                 .code = host->catches ? &f->loaded->code
                                                       : NULL,
                                 .limit_ms = g->limit_ms,
                                 .independent = f->independent,
                                 .locate = locate,
                                 .locate_data = f};
}

/* Memory that runs out for a team when others have run is the kernel's failure:
 * data may have changed. */
static ompjit_status outcome(struct run *run)
{
    if (run->status != OMPJIT_ERR_NO_MEMORY || !run->begun)
        return run->status;
    if (run->err)
        run->err->status = OMPJIT_ERR_DEVICE;
    return OMPJIT_ERR_DEVICE;
}

static inline void end_watch(ompjit__host_watch *w, ompjit_status status)
{
    if (status)
        ompjit__lock_lose(w);
    ompjit__watch_end(w);
}

/* The launch itself, under its time limit. */
static ompjit_status run_limited(struct run *run, ompjit_error *err)
{
    const ompjit__geometry *g = run->launch->geometry;
    ompjit__host_limit limit;
    ompjit_status status = OMPJIT_OK;
    if (g->limit_ms)
        status = ompjit__limit_begin(run->host->limits, run->launch->watch,
                                     g->limit_ms, &limit, err);
    if (status)
        return status;
    run_all(run, g->threads[0] * g->threads[1] * g->threads[2]);
    if (g->limit_ms)
        ompjit__limit_end(run->host->limits, &limit);
    return outcome(run);
}

static ompjit_status host_launch(ompjit_device *dev, ompjit__function *f,
                                 const ompjit__geometry *g, void **args,
                                 unsigned nargs, ompjit__queue *queue,
                                 ompjit_error *err)
{
    ompjit_status status = check_geometry(f, g, err);
    if (!status)
        status = check_limit(dev, f, g, err);
    if (status)
        return status;
    ompjit__host_launch launch = launch_of(dev, f, g, args);
    ompjit__check_launch check;
    uint32_t teams = g->teams[0] * g->teams[1] * g->teams[2];
    ompjit__host_watch *w = ompjit__watch_begin(dev, f->name, &launch);
    if (!w)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    launch.watch = w;
    if (dev->ctx->check &&
        ompjit__check_begin(&check, dev->ctx->check, f->symbol, teams))
        launch.check = &check;
    struct run run = {.dev = dev,
                      .host = dev->state,
                      .function = f,
                      .launch = &launch,
                      .teams = teams,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .err = err};
    status = dev->ctx->check && !launch.check
                 ? ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH)
                 : run_limited(&run, err);
    if (launch.check)
        ompjit__check_end(&check);
    end_watch(w, status);
    return status;
}

/* A prepared launch of one team of one thread. */
struct prepared {
    ompjit__prepared head;
    ompjit_device *dev;
    ompjit__function *function;
    ompjit__host_launch launch;
    ompjit__host_single single;
};

static ompjit_status run_prepared(const ompjit__prepared *self,
                                  ompjit_error *err)
{
    struct prepared *p = (struct prepared *)(uintptr_t)self;
    ompjit__host_watch *w =
        ompjit__watch_begin(p->dev, p->function->name, &p->launch);
    if (!w)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    ompjit_status status = ompjit__host_single_run(&p->single, 0, 1, w, err);
    end_watch(w, status);
    return status;
}

static ompjit_status host_prepare(ompjit_device *dev, ompjit__function *f,
                                  const ompjit__geometry *g, void **args,
                                  ompjit__prepared **out, ompjit_error *err)
{
    *out = NULL;
    for (int d = 0; d < 3; d++)
        if (dev->ctx->check || g->limit_ms || g->threads[d] != 1 ||
            g->teams[d] != 1)
            return OMPJIT_OK;
    struct prepared *p = malloc(sizeof *p);
    if (!p)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    p->head.run = run_prepared;
    p->dev = dev;
    p->function = f;
    p->launch = launch_of(dev, f, g, args);
    p->single = ompjit__host_single_of(&p->launch);
    *out = &p->head;
    return OMPJIT_OK;
}

static ompjit_status host_abort(ompjit_device *dev, const char *kernel,
                                ompjit_error *err)
{
    const struct host *host = dev->state;
    if (!host || !host->catches ||
        ompjit__stop_all(dev, kernel, OMPJIT__STOP_ABORTED))
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LAUNCH,
                        "host device: launches cannot be aborted, as the "
                        "handler of SIGSEGV is not the library's");
}

/* ----------------------------------------------------------------- queues */

static ompjit_status host_queue_create(ompjit_device *dev, ompjit__queue **out,
                                       ompjit_error *err)
{
    ompjit__queue *queue = malloc(sizeof *queue);
    if (!queue)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    *out = queue;
    return OMPJIT_OK;
}

static ompjit_status host_queue_wait(ompjit_device *dev, ompjit__queue *queue,
                                     ompjit_error *err)
{
    return OMPJIT_OK;
}

static void host_queue_destroy(ompjit_device *dev, ompjit__queue *queue)
{
    free(queue);
}

/* ----------------------------------------------------------------- device */

static void cpu_name(char *name, size_t size)
{
    snprintf(name, size, "host CPU");
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value)
            continue;
        value += 1 + strspn(value + 1, " ");
        value[strcspn(value, "\n")] = 0;
        snprintf(name, size, "%s", value);
        break;
    }
    if (f)
        fclose(f);
}

static ompjit_status host_info(ompjit_device *dev, ompjit_device_info *info,
                               ompjit_error *err)
{
    const struct ompjit__libomp *omp = libomp_of(dev);
    *info = (ompjit_device_info){.kind = OMPJIT_DEVICE_HOST,
                                 .max_threads = OMPJIT__HOST_MAX_THREADS,
                                 .max_shared = UINT32_MAX,
                                 .warp_size = OMPJIT_HOST_WARP};
    cpu_name(info->name, sizeof info->name);
    info->memory = (uint64_t)sysconf(_SC_PHYS_PAGES) *
                   (uint64_t)sysconf(_SC_PAGESIZE);
    info->multiprocessors = omp ? (uint32_t)omp->omp_get_max_threads() : 1;
    return OMPJIT_OK;
}

static uint32_t host_multiprocessors(ompjit_device *dev)
{
    return ompjit__libomp_threads();
}

/* A fork inside of a parallel region of the application gets one thread. */
static uint32_t host_processors(ompjit_device *dev)
{
    const struct ompjit__libomp *omp = ((struct host *)dev->state)->libomp;
    return omp && omp->omp_in_parallel()
               ? 1
               : dev->limits.multiprocessors;
}

static ompjit_status host_open(ompjit_device *dev, ompjit_error *err)
{
    struct host *host = calloc(1, sizeof *host);
    if (!host || !(host->pool = ompjit__host_pool_new()) ||
        !(host->limits = ompjit__limits_new())) {
        ompjit__host_pool_free(host ? host->pool : NULL);
        free(host);
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    }
    ompjit__host_blocks_init(&host->blocks);
    ompjit__fork_costs_init(&host->fork_costs);
    dev->state = host;
    if (ompjit__libomp_here())
        libomp_of(dev);
    return OMPJIT_OK;
}

static void host_close(ompjit_device *dev)
{
    struct host *host = dev->state;
    if (!host)
        return;
    if (host->catches)
        ompjit__fault_drop();
    ompjit__limits_free(host->limits);
    ompjit__host_blocks_end(&host->blocks);
    ompjit__host_pool_free(host->pool);
    free(host);
    dev->state = NULL;
}

static const ompjit__queue_ops queues = {
    .create = host_queue_create,
    .wait = host_queue_wait,
    .destroy = host_queue_destroy,
};

static const ompjit__device_ops host_ops = {
    .name = "host",
    .caps = {.lone_threads = true,
             .keeps_modes = true,
             .common_functions = true,
             .most_team_threads = OMPJIT__HOST_MAX_THREADS},
    .open = host_open,
    .close = host_close,
    .info = host_info,
    .multiprocessors = host_multiprocessors,
    .processors = host_processors,
    .alloc = host_alloc,
    .free = host_free,
    .copy = host_copy,
    .target = host_target,
    .load = host_load,
    .unload = host_unload,
    .symbol = host_symbol,
    .function = host_function,
    .launch = host_launch,
    .abort = host_abort,
    .prepare = host_prepare,
    .queues = &queues,
};

ompjit_status ompjit__host_devices(ompjit_context *ctx, int ordinal,
                                   bool required, ompjit_error *err)
{
    ompjit_device *dev;
    ompjit_status status = ompjit__device_add(ctx, &host_ops, 0, NULL,
                                              &dev, err);
    if (status)
        return status;
    dev->reads_host = true;
    dev->shares_memory = ctx->host_memory == OMPJIT_HOST_MEMORY_SHARED;
    dev->borrows = ctx->host_memory == OMPJIT_HOST_MEMORY_AUTO;
    return OMPJIT_OK;
}
