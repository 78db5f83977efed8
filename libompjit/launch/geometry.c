/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How many teams of how many threads a launch gets: what the program says,
 * within what the kernel was compiled for, and the device's choice elsewhere.
 * Only the first dimension is chosen; the others are the program's or 1. A
 * geometry that the device cannot have is not refused here but by its `launch`.
 */
#include "launch/tune.h"

enum {
    WARP = 32,
    TEAM_THREADS = 128,      /* a GPU's team has where nothing says      */
    CUDA_TEAMS_PER_SM = 16,  /* where neither clause nor tripcount tells */
    MAX_TEAMS = 65535,
    /* Also where the program says: the device runtime counts the threads of all
     * teams, of up to 1024 each, in 31 bits (runtime-bc/loops/loop_static.inc). */
    MOST_TEAMS = (1 << 21) - 1
};

/* ------------------------------------------------------------- geometry */

/* The smaller one, where 0 for b is no bound. */
static uint32_t least(uint32_t a, uint32_t b)
{
    return b && b < a ? b : a;
}

/* A bound of the unit's, where negative numbers are none. */
static uint32_t positive(int32_t n)
{
    return n > 0 ? (uint32_t)n : 0;
}

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The threads of a team by the construct's clauses; 0: they do not say. A
 * kernel of an image without a host half has the compiler's default in
 * thread_limit, which only counts where no construct launches it. */
static uint32_t clause_threads(const ompjit__kernel_desc *k,
                               const ompjit__request *r)
{
    return r->threads[0] || r->of_construct ? r->threads[0] : k->thread_limit;
}

/* How many threads a kernel that can tell shall find in a team: what clauses
 * say, as on a GPU. 0: that is the host's to choose. The user's default is for
 * what clauses leave open, though regions cannot have more. */
static uint32_t observed_threads(const ompjit__kernel_desc *k,
                                 const ompjit_device *dev,
                                 const ompjit__request *r)
{
    uint32_t limit = clause_threads(k, r);
    if (!k->observes_threads)
        return 0;
    if (limit || dev->limits.threads)
        return limit;
    return k->num_threads == OMPJIT__ANY_THREADS ? TEAM_THREADS
                                                 : k->num_threads;
}

/* Teams of one thread are best, since their loops vectorize. A kernel that has
 * one team, and parallel regions in it, gets a thread for each core. */
static uint32_t chosen_threads(const ompjit__kernel_desc *k, ompjit_device *dev)
{
    const ompjit__device_limits *limits = &dev->limits;
    if (limits->threads)
        return limits->threads;
    uint32_t threads = k->parallel && dev->ops->processors
                           ? dev->ops->processors(dev)
                           : 1;
    return most(threads, limits->fewest_threads);
}

/* The threads of a team on the host: those that the program can observe, and no
 * more than it allows. */
static uint32_t host_threads(const ompjit__kernel_desc *k, ompjit_device *dev,
                             const ompjit__request *r)
{
    if (r->threads_fixed || k->mode == OMPJIT_MODE_BARE)
        return r->threads[0] ? r->threads[0] : 1;
    uint32_t observed = observed_threads(k, dev, r);
    uint32_t threads = observed;
    if (!observed ||
        (k->parallel && k->free_region && !clause_threads(k, r)))
        threads = most(observed, chosen_threads(k, dev));
    if (!observed)
        threads = least(threads, positive(k->max_threads));
    return least(least(threads, r->threads[0]), dev->limits.most_threads);
}

/* Loops of OpenMP are divided by the teams that run: fewer do as well. */
static uint32_t bounded_teams(const ompjit__kernel_desc *k,
                              const ompjit__request *r, uint64_t teams)
{
    if (k->mode != OMPJIT_MODE_BARE && teams > MOST_TEAMS)
        teams = MOST_TEAMS;
    return r->teams_fixed ? (uint32_t)teams
                          : least((uint32_t)teams, positive(k->max_teams));
}

/* Teams of a CPU: as many as there are cores, so that each is a share of the
 * iterations. */
static void choose_for_cores(const ompjit__kernel_desc *k, ompjit_device *dev,
                        const ompjit__request *r, ompjit__geometry *g)
{
    const ompjit__device_limits *limits = &dev->limits;
    g->threads[0] = host_threads(k, dev, r);
    uint32_t teams = limits->teams ? limits->teams : limits->multiprocessors;
    if (r->teams[0] || k->teams)
        teams = r->teams[0] ? r->teams[0] : k->teams;
    else if (r->tripcount && r->tripcount < teams)
        teams = (uint32_t)r->tripcount;
    g->teams[0] = bounded_teams(k, r, teams);
}

/* Teams of a GPU: a thread for each iteration, but in generic mode a team. */
static void choose_for_warps(const ompjit__kernel_desc *k,
                        const ompjit__request *r,
                        const ompjit__device_limits *limits,
                        ompjit__geometry *g)
{
    uint32_t threads = limits->threads ? limits->threads : TEAM_THREADS;
    if (r->threads[0])
        threads = r->threads[0];
    if (!r->threads_fixed)
        threads = least(least(threads, positive(k->max_threads)),
                        limits->most_threads);
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
    g->teams[0] = bounded_teams(k, r, teams);
}

/* In generic mode the main thread of a GPU's team has a warp of its own behind
 * the workers; on the host it works with them. */
void ompjit__settle_geometry(const ompjit__call *call,
                             const ompjit__function *function, int mode,
                             ompjit__geometry *g)
{
    ompjit_device *dev = call->dev;
    if (!dev->ops->most_threads)
        return;
    uint32_t warp = mode == OMPJIT_MODE_GENERIC ? WARP : 0;
    uint32_t most = dev->ops->most_threads(function);
    if (!call->request->threads_fixed && most > warp &&
        g->threads[0] > most - warp)
        g->threads[0] = most - warp;
    g->threads[0] += warp;
}

/* Fills all of *g, without the tuned geometry and before the kernel is
 * compiled. */
static void choose(const ompjit__kernel_desc *k, ompjit_device *dev,
                   const ompjit__request *r, ompjit__geometry *g)
{
    *g = (ompjit__geometry){.teams = {1, 1, 1},
                            .threads = {1, 1, 1},
                            .dynamic_shared = r->dynamic_shared,
                            .limit_ms = r->run_limit_ms
                                            ? r->run_limit_ms
                                            : dev->ctx->run_limit_ms,
                            .cooperative = r->cooperative,
                            .trips = r->tripcount};
    for (int d = 1; d < 3; d++) {
        g->teams[d] = r->teams[d] ? r->teams[d] : 1;
        g->threads[d] = r->threads[d] ? r->threads[d] : 1;
    }
    if (dev->caps.warps)
        choose_for_warps(k, r, &dev->limits, g);
    else
        choose_for_cores(k, dev, r, g);
}

/* Arguments that are values bound inner loops: launches whose arguments have
 * the same highest bits have about the same work. */
static uint32_t size_of(const ompjit__call *call)
{
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    uint32_t digest = 0;
    for (unsigned i = 0; i < k->nparams; i++)
        if (k->params[i].kind != OMPJIT__PARAM_POINTER && call->values[i])
            digest += (i + 1) * 0x9e3779b1u *
                      (uint32_t)(64 - __builtin_clzll(call->values[i]));
    return digest;
}

/* A request that tries a geometry out (`tuned`) is left as it is. */
void ompjit__geometry_of(const ompjit__call *call, ompjit__geometry *g)
{
    const ompjit__kernel_desc *k = &call->mod->unit.kernels[call->index];
    ompjit_geometry best;
    if (!call->request->tuned && ompjit__tuned(call, &best)) {
        ompjit__request request = *call->request;
        ompjit__ask_geometry(&request, best.teams, best.threads);
        choose(k, call->dev, &request, g);
    } else {
        choose(k, call->dev, call->request, g);
    }
    g->size = size_of(call);
}
