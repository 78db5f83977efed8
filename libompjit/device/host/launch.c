/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Launches of the host device: checked, under a time limit, watched for aborts;
 * and prepared ones of a single thread.
 */
#include <stdlib.h>

#include "abi/host_layout.h"
#include "device/check/check.h"
#include "device/engine/lock.h"
#include "device/host/league.h"
#include "door/door.h"

/* ---------------------------------------------------- can it be launched? */

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
    const ompjit__host *host = dev->state;
    if (!g->limit_ms || host->catches)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LAUNCH,
                        "kernel %s: a time limit of %u ms needs the signal "
                        "handlers that keep_signals leaves out",
                        f->symbol, g->limit_ms);
}

/* ----------------------------------------------------------------- launch */

/* The source line of an address in a kernel's code. */
static void locate(void *data, uintptr_t pc, ompjit__buf *text)
{
    const ompjit__function *f = data;
    char *entry = ompjit__format("%s" OMPJIT__ENTRY_SUFFIX, f->symbol);
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
    const ompjit__host *host = dev->state;
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
static ompjit_status outcome(ompjit__league *run)
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
static ompjit_status run_limited(ompjit__league *run, ompjit_error *err)
{
    const ompjit__geometry *g = run->launch->geometry;
    ompjit__host_limit limit;
    ompjit_status status = OMPJIT_OK;
    if (g->limit_ms)
        status = ompjit__limit_begin(run->host->limits, run->launch->watch,
                                     g->limit_ms, &limit, err);
    if (status)
        return status;
    ompjit__league_run(run, g->threads[0] * g->threads[1] * g->threads[2]);
    if (g->limit_ms)
        ompjit__limit_end(run->host->limits, &limit);
    return outcome(run);
}

ompjit_status ompjit__host_run(ompjit_device *dev, ompjit__function *f,
                               const ompjit__geometry *g, void **args,
                               unsigned nargs, ompjit__queue *queue,
                               ompjit_error *err)
{
    if (f->native)
        return ompjit__library_run(dev, f, args, nargs, err);
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
    ompjit__league run = {.dev = dev,
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

ompjit_status ompjit__host_prepare_run(ompjit_device *dev, ompjit__function *f,
                                       const ompjit__geometry *g, void **args,
                                       ompjit__prepared **out,
                                       ompjit_error *err)
{
    *out = NULL;
    for (int d = 0; d < 3; d++)
        if (f->native || dev->ctx->check || g->limit_ms || g->threads[d] != 1 ||
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

ompjit_status ompjit__host_abort(ompjit_device *dev, const char *kernel,
                                 ompjit_error *err)
{
    const ompjit__host *host = dev->state;
    if (!host || !host->catches ||
        ompjit__stop_all(dev, kernel, OMPJIT__STOP_ABORTED))
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LAUNCH,
                        "host device: launches cannot be aborted, as the "
                        "handler of SIGSEGV is not the library's");
}
