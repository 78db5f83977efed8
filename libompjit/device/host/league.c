/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A launch's teams on the OpenMP runtime's threads: how many threads share
 * them, by teams or by the threads of a team. The times of earlier launches
 * decide that (device/engine/width.c).
 */
#include "device/engine/libomp.h"
#include "device/host/league.h"

/* NULL: libomp cannot be loaded, which is told once; launches then take one
 * core. */
const struct ompjit__libomp *ompjit__host_libomp(ompjit_device *dev)
{
    ompjit__host *host = dev->state;
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
static void note_failure(ompjit__league *run, ompjit_status status,
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

/* A launch for which memory ran out before any team began has not begun. */
static void run_range(ompjit__league *run, uint32_t first, uint32_t last)
{
    ompjit_error err;
    ompjit_status status = ompjit__host_run_teams(run->host->pool, run->launch,
                                                  first, last, &err);
    if (status != OMPJIT_ERR_NO_MEMORY)
        atomic_store_explicit(&run->begun, true, memory_order_relaxed);
    note_failure(run, status, &err);
}

/* Each thread takes a block of the teams, or a part of one. */
static void take_part(ompjit__league *run)
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

/* Sums up the threads' times and keeps the longest. */
static void note_work(ompjit__league *run, uint64_t ns)
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
static void run_share(int32_t *gtid, int32_t *btid, ompjit__league *run)
{
    uint64_t start = run->timed ? ompjit__now() : 0;
    ompjit__watch_serve(run->launch->watch);
    take_part(run);
    ompjit__watch_serve(NULL);
    if (run->timed)
        note_work(run, ompjit__now() - start);
}

/* Returns when all threads have run their share. The number is pushed only
 * where it is less than libomp would take. */
static void fork_threads(ompjit__league *run, uint32_t n)
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
static void run_shared(ompjit__league *run, uint32_t n)
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
static ompjit__width_choice ways(ompjit__league *run, uint32_t threads,
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
        .instructions = run->function->instructions,
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

/* In the way that was chosen; `crew` OS threads, or this one alone. */
static void run_as(ompjit__league *run, const ompjit__width_choice *c)
{
    if (c->width == OMPJIT__WIDTH_TEAMS)
        fork_threads(run, run->teams);
    else if (c->width == OMPJIT__WIDTH_THREADS)
        run_shared(run, c->crew[c->width]);
    else
        run_range(run, 0, run->teams);
}

/* How many OS threads it may have. */
static uint32_t most_of(ompjit__league *run, uint32_t threads)
{
    const ompjit__geometry *g = run->launch->geometry;
    if ((run->teams == 1 && threads == 1) ||
        ompjit__width_alone(&run->function->paces, g->trips, g->size))
        return 1;
    const struct ompjit__libomp *omp = ompjit__host_libomp(run->dev);
    return omp ? (uint32_t)omp->omp_get_max_threads() : 1;
}

/* Way and time are noted, so that later launches of about the same size choose
 * better (device/engine/width.h). */
void ompjit__league_run(ompjit__league *run, uint32_t threads)
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
