/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One piece of work that uses every operation of a GPU.
 */
#ifndef OMPJIT_T_CUDA_WORK_H
#define OMPJIT_T_CUDA_WORK_H

#include <stdbool.h>

#include "cuda_ptx.h"
#include "device/cuda/driver.h"
#include "device/device.h"
#include "ptxi.h"
#include "tap.h"

enum { HEAP = 16 << 20 };

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char logged[8192]; /* since the newest context was made */

static inline void take_log(void *data, const char *message)
{
    pthread_mutex_lock(&log_lock);
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof logged - n, "%s\n", message);
    pthread_mutex_unlock(&log_lock);
}

static inline ompjit_context *context_of(ompjit_context_options options)
{
    ompjit_context *ctx = NULL;
    options.log = take_log;
    options.device_heap = HEAP;
    logged[0] = 0;
    if (ompjit_context_create(&options, &ctx, NULL)) {
        puts("Bail out! no context");
        exit(1);
    }
    return ctx;
}

static inline ompjit_context *context_with(const char *devices,
                                           ompjit_assembler assembler)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = devices;
    options.compiler.assembler = assembler;
    return context_of(options);
}

static inline ompjit_context *context(const char *devices)
{
    return context_with(devices, OMPJIT_ASSEMBLER_AUTO);
}

/* A function of a program's, or the end of the test. */
static inline void (*program_function(ompjit_module *mod,
                                      const char *name))(void)
{
    ompjit_error err = {0};
    void (*fn)(void) = NULL;
    if (ompjit_module_function(mod, name, &fn, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return fn;
}

/* An image of a cubin, of PTX, or of a cubin with the PTX it came from. */
static inline ompjit__image image_of(const char *cubin, const char *ptx)
{
    ompjit__image image = {.kind = OMPJIT__IMAGE_PTX, .arch = "sm_75"};
    if (cubin) {
        image.kind = OMPJIT__IMAGE_CUBIN;
        ompjit__buf_add(&image.bytes, cubin, sizeof cubin_magic);
    }
    if (ptx)
        ompjit__buf_printf(cubin ? &image.ptx : &image.bytes, "%s", ptx);
    return image;
}

static inline void image_drop(ompjit__image *image)
{
    ompjit__buf_free(&image->bytes);
    ompjit__buf_free(&image->ptx);
}

enum { N = 200, TEAM = 64, BIG = 60 * 1024 };
static const ompjit__geometry one_team = {.teams = {1, 1, 1},
                                         .threads = {TEAM, 1, 1}};

/* Copies in a queue may still read and write these after a failure. */
static float x[N], y[N], z[N], again[N];
static uint32_t ids[TEAM];
/* Long enough to go through page-locked memory in three pieces. */
static unsigned char far_to[160 << 10], far_from[160 << 10];

/* All that a run holds, so that a failure anywhere lets go of it. */
struct run {
    void *dx, *dy, *dz, *far;
    void *pooled;          /* in queue */
    void *common[2];       /* page-locked and managed */
    ompjit__loaded *loaded;
    ompjit__queue *queue, *other;
    ompjit__event *event, *begin, *end;
    ompjit__graph *graph;
};

#define TRY(call)                     \
    do {                              \
        ompjit_status status_ = call; \
        if (status_)                  \
            return status_;           \
    } while (0)

static inline ompjit_status launch_saxpy(ompjit_device *dev, struct run *run,
                                  ompjit_error *err)
{
    const ompjit__geometry g = {
        .teams = {(N + TEAM - 1) / TEAM, 1, 1}, .threads = {TEAM, 1, 1}};
    ompjit__function *f;
    float a = 2;
    uint32_t n = N;
    void *args[] = {&a, &run->dx, &run->dy, &n};
    TRY(dev->ops->function(dev, run->loaded, "saxpy", &f, err));
    return dev->ops->launch(dev, f, &g, args, 4, run->queue, err);
}

static inline ompjit_status launch_shared(ompjit_device *dev, struct run *run,
                                   ompjit_error *err)
{
    ompjit__geometry g = one_team;
    ompjit__function *f;
    uint32_t at = BIG - sizeof ids;
    void *args[] = {&run->dz, &at};
    g.dynamic_shared = BIG;
    g.cooperative = true;
    TRY(dev->ops->fill(dev, run->dz, 0xff, sizeof ids, err));
    TRY(dev->ops->function(dev, run->loaded, "shared", &f, err));
    TRY(dev->ops->launch(dev, f, &g, args, 2, NULL, err));
    return ompjit_device_download(dev, ids, run->dz, sizeof ids, err);
}

static inline ompjit_status go_far(ompjit_device *dev, struct run *run,
                                   ompjit_error *err)
{
    const ompjit__device_ops *ops = dev->ops;
    TRY(ompjit_device_alloc(dev, sizeof far_to, &run->far, err));
    TRY(ops->copy(dev, OMPJIT__COPY_TO, run->far, far_to, sizeof far_to,
                  run->queue, err));
    return ops->copy(dev, OMPJIT__COPY_FROM, far_from, run->far,
                     sizeof far_from, run->queue, err);
}

/* x goes to pooled memory in two pieces, by a recorded copy to dy, and from
 * there by another queue to `again`. */
static inline ompjit_status go_round(ompjit_device *dev, struct run *run,
                                     ompjit_error *err)
{
    const ompjit__device_ops *ops = dev->ops;
    const size_t half = sizeof x / 2;
    bool done;
    double seconds;
    TRY(go_far(dev, run, err));
    TRY(ops->events->record(dev, run->queue, true, &run->begin, err));
    TRY(ops->queued_memory->alloc(dev, sizeof x, run->queue, &run->pooled, err));
    TRY(ops->copy(dev, OMPJIT__COPY_TO, run->pooled, x, half, run->queue, err));
    TRY(ops->copy(dev, OMPJIT__COPY_TO, (char *)run->pooled + half, x + N / 2,
                  half, run->queue, err));
    TRY(ops->graphs->begin(dev, run->queue, err));
    TRY(ops->copy(dev, OMPJIT__COPY_ON, run->dy, run->pooled, sizeof x,
                  run->queue, err));
    TRY(ops->graphs->end(dev, run->queue, &run->graph, err));
    TRY(ops->graphs->run(dev, run->graph, run->queue, err));
    TRY(ops->events->record(dev, run->queue, false, &run->event, err));
    TRY(ops->queues->create(dev, &run->other, err));
    TRY(ops->events->queue_after(dev, run->other, run->event, err));
    TRY(ops->copy(dev, OMPJIT__COPY_FROM, again, run->dy, sizeof again,
                  run->other, err));
    TRY(ops->queues->wait(dev, run->other, err));
    TRY(ops->events->record(dev, run->queue, true, &run->end, err));
    TRY(ops->events->wait(dev, run->end, err));
    TRY(ops->events->query(dev, run->end, &done, err));
    TRY(ops->events->elapsed(dev, run->begin, run->end, &seconds, err));
    TRY(ops->queued_memory->free(dev, run->pooled, run->queue, err));
    run->pooled = NULL;
    return OMPJIT_OK;
}

/* y += 2x twice, once without and once with a queue; z becomes a copy. */
static inline ompjit_status compute(ompjit_device *dev, struct run *run,
                             const ompjit__image *image, ompjit_error *err)
{
    const ompjit__device_ops *ops = dev->ops;
    void *answer;
    size_t size;
    TRY(ompjit_device_alloc(dev, sizeof x, &run->dx, err));
    TRY(ompjit_device_alloc(dev, sizeof y, &run->dy, err));
    TRY(ompjit_device_alloc(dev, sizeof z, &run->dz, err));
    TRY(ops->load(dev, image, NULL, &run->loaded, err));
    TRY(ops->symbol(dev, run->loaded, "answer", &answer, &size, err));
    TRY(launch_shared(dev, run, err));
    TRY(ompjit_device_upload(dev, run->dz, x, sizeof x, err));
    TRY(ops->copy_peer(dev, run->dx, dev, run->dz, sizeof x, err));
    TRY(ompjit_device_upload(dev, run->dy, y, sizeof y, err));
    TRY(launch_saxpy(dev, run, err));
    for (int managed = 0; managed < 2; managed++)
        TRY(ops->host_memory->alloc(dev, 64, managed, &run->common[managed], err));

    TRY(ops->queues->create(dev, &run->queue, err));
    TRY(launch_saxpy(dev, run, err));
    TRY(ops->copy(dev, OMPJIT__COPY_ON, run->dz, run->dy, sizeof z, run->queue,
                  err));
    TRY(ops->copy(dev, OMPJIT__COPY_FROM, z, run->dz, sizeof z, run->queue,
                  err));
    TRY(ops->queues->wait(dev, run->queue, err));
    return go_round(dev, run, err);
}

/* The first failure of the run and of letting go. */
static inline ompjit_status work(ompjit_device *dev, const ompjit__image *image,
                          ompjit_error *err)
{
    struct run run = {0};
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
        z[i] = again[i] = 0;
    }
    for (size_t i = 0; i < sizeof far_to; i++)
        far_to[i] = (unsigned char)(i % 255);
    memset(far_from, 0, sizeof far_from);
    memset(ids, 0, sizeof ids);
    ompjit_status status = compute(dev, &run, image, err);
    dev->ops->queues->destroy(dev, run.queue);
    dev->ops->queues->destroy(dev, run.other);
    dev->ops->events->destroy(dev, run.event);
    dev->ops->events->destroy(dev, run.begin);
    dev->ops->events->destroy(dev, run.end);
    dev->ops->graphs->destroy(dev, run.graph);
    dev->ops->unload(dev, run.loaded);
    void *blocks[] = {run.dx, run.dy, run.dz, run.far, run.pooled};
    for (int i = 0; i < 5; i++) {
        ompjit_error ignored;
        ompjit_status freed =
            ompjit_device_free(dev, blocks[i], status ? &ignored : err);
        status = status ? status : freed;
    }
    for (int managed = 0; managed < 2; managed++) {
        ompjit_error ignored;
        if (!run.common[managed])
            continue;
        ompjit_status freed = dev->ops->host_memory->free(
            dev, run.common[managed], managed, status ? &ignored : err);
        status = status ? status : freed;
    }
    return status;
}

static inline bool results_right(void)
{
    for (int i = 0; i < N; i++)
        if (z[i] != 1 + 4 * x[i] || again[i] != x[i])
            return false;
    for (uint32_t i = 0; i < TEAM; i++)
        if (ids[i] != i)
            return false;
    return !memcmp(far_from, far_to, sizeof far_to);
}

static inline ompjit_device *open_gpu(ompjit_context **ctx)
{
    ompjit_device *dev = NULL;
    ompjit_error err = {0};
    *ctx = context("cuda");
    if (ompjit_context_device(*ctx, 0, &dev, &err)) {
        printf("Bail out! no device: %s\n", err.text);
        exit(1);
    }
    return dev;
}

/* Nothing is left in the driver. */
static inline bool clean(void)
{
    DRIVER(long, ptxi_driver_live, const char *);
    static const char *const kinds[] = {
        "primary contexts", "streams", "events", "modules", "graphs",
        "executable graphs", "memory pools", "device allocations",
        "host allocations"};
    bool none = true;
    for (size_t i = 0; i < OMPJIT__COUNT(kinds); i++) {
        long n = ptxi_driver_live(kinds[i]);
        none &= !n;
        if (n)
            printf("# left: %ld %s\n", n, kinds[i]);
    }
    return none;
}

/* A context of the application's own, which the library must always leave
 * current in this thread. */
static inline cu_context own_context(void)
{
    DRIVER(cu_result, cuInit, unsigned);
    DRIVER(cu_result, cuCtxCreate_v2, cu_context *, unsigned, cu_device);
    cu_context own = NULL;
    if (cuInit(0) || cuCtxCreate_v2(&own, 0, 0)) {
        puts("Bail out! no context of the application's");
        exit(1);
    }
    return own;
}

static inline bool is_current(cu_context own)
{
    DRIVER(cu_result, cuCtxGetCurrent, cu_context *);
    cu_context now = NULL;
    if (!cuCtxGetCurrent(&now) && now == own)
        return true;
    printf("# the application's context is not current\n");
    return false;
}

static inline void end_own_context(cu_context own)
{
    DRIVER(cu_result, cuCtxDestroy_v2, cu_context);
    ok(is_current(own) && !cuCtxDestroy_v2(own),
       "the application's context is current in the end");
}
#endif
