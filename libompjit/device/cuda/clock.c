/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How long a GPU works at kernels, copies and graphs, where the context is
 * profiled: an event before and one behind each, read when they have come. The
 * GPU's times are told by the host's clock by way of one event, the base, of
 * which both are known; another takes its place before long, since the driver's
 * times are floats. Work that cannot be timed is not: no error of these events
 * is anybody's.
 *
 * One timing goes start, what, end, and waits in a list until somebody
 * collects. The thread that puts work into a queue never waits for the GPU
 * here, except for the first base.
 */
#include <stdlib.h>

#include "context/profile.h"
#include "device/cuda/cuda.h"

/* With so many the thread that adds another one collects those that have come,
 * without waiting: a program that never waits for a queue does not pile up
 * events. */
enum { MANY = 4096 }; /* timings that wait before somebody looks */
static const double too_long = 100; /* milliseconds from the base */

/* The timing of one kernel, copy or graph. While it is between start and end it
 * is its thread's, and else under the clock's lock: waiting, or idle. `name` is
 * not copied: it lives as long as the GPU. */
struct ompjit__gpu_timing {
    ompjit__gpu_timing *next;
    cu_event begin, end;
    enum ompjit__span_kind kind;
    const char *name;
    uint64_t bytes;
    unsigned queue; /* its number */
};

/* With time: the flags 0 are CU_EVENT_DEFAULT. */
static bool make_event(ompjit__gpu *gpu, cu_event *event)
{
    return !gpu->cu->cuEventCreate(event, 0);
}

static void destroy_event(ompjit__gpu *gpu, cu_event event)
{
    OMPJIT__GPU_DESTROY(gpu, cuEventDestroy, event, "destroying an event");
}

/* NULL: out of memory, or the driver makes no more events. Then the work is not
 * timed. */
static ompjit__gpu_timing *new_timing(ompjit__gpu *gpu)
{
    ompjit__gpu_timing *t = calloc(1, sizeof *t);
    if (!t || !make_event(gpu, &t->begin)) {
        free(t);
        return NULL;
    }
    if (make_event(gpu, &t->end))
        return t;
    destroy_event(gpu, t->begin);
    free(t);
    return NULL;
}

/* The queue is probably idle now: it is the first that is timed. Under the
 * clock's lock. The host's clock is read as soon as the event is seen to have
 * come, so its error is the time that the driver takes to say so. */
static bool make_base(ompjit__gpu *gpu, cu_stream stream)
{
    ompjit__gpu_clock *clock = &gpu->clock;
    if (clock->base)
        return true;
    if (!make_event(gpu, &clock->base))
        return false;
    if (gpu->cu->cuEventRecord(clock->base, stream) ||
        gpu->cu->cuEventSynchronize(clock->base)) {
        destroy_event(gpu, clock->base);
        clock->base = NULL;
        return false;
    }
    clock->base_at = ompjit__now();
    return true;
}

/* Under the clock's lock. The events are recorded anew by the next use. */
static void give_back(ompjit__gpu_clock *clock, ompjit__gpu_timing *t)
{
    t->next = clock->idle;
    clock->idle = t;
}

/* NULL for a queue that records: an event in a captured stream becomes part of
 * the graph, and has no time. The lock is held while the event is recorded,
 * since a timing that fails goes back to the list. */
ompjit__gpu_timing *ompjit__gpu_time_start(ompjit__gpu *gpu,
                                           ompjit__queue *queue)
{
    ompjit__gpu_clock *clock = &gpu->clock;
    if (ompjit__gpu_records(gpu, queue))
        return NULL;
    pthread_mutex_lock(&clock->lock);
    ompjit__gpu_timing *t =
        make_base(gpu, queue->stream) ? clock->idle : NULL;
    if (t)
        clock->idle = t->next;
    else if (clock->base)
        t = new_timing(gpu);
    if (t && gpu->cu->cuEventRecord(t->begin, queue->stream)) {
        give_back(clock, t);
        t = NULL;
    }
    pthread_mutex_unlock(&clock->lock);
    if (t)
        t->queue = queue->number;
    return t;
}

/* Two spans of a queue do not overlap; rounded times might. NULL: out of
 * memory, and the span is not told. The end of the queue's last span, 0 at
 * first, by ompjit__now. */
static uint64_t *last_end(ompjit__gpu_clock *clock, unsigned queue)
{
    if (queue >= clock->nends) {
        uint64_t *ends = realloc(clock->ends, (queue + 1) * sizeof *ends);
        if (!ends)
            return NULL;
        for (size_t i = clock->nends; i <= queue; i++)
            ends[i] = 0;
        clock->ends = ends;
        clock->nends = queue + 1;
    }
    return &clock->ends[queue];
}

/* The timing's end becomes the base. cuEventElapsedTime gives a float, whose 24
 * bits are half a microsecond after some seconds. So the base moves along after
 * `too_long`. Timings that still wait may have begun before the new base: their
 * times are negative then. */
static void move_base(ompjit__gpu_clock *clock, ompjit__gpu_timing *t,
                      uint64_t end)
{
    cu_event event = clock->base;
    clock->base = t->end;
    clock->base_at = end;
    t->end = event;
}

/* Kernels are known by the names that launches have. The profile takes its own
 * lock, which comes after the clock's. */
static void tell_span(ompjit__gpu *gpu, const ompjit__gpu_timing *t,
                      uint64_t begin, uint64_t end)
{
    unsigned line;
    char *kernel = t->kind != OMPJIT__SPAN_TRANSFER
                       ? ompjit__kernel_name(t->name, &line)
                       : NULL;
    ompjit__device_span span = {t->kind, kernel ? kernel : t->name, begin, end,
                                t->bytes, gpu->ordinal, t->queue};
    ompjit__span_of_device(gpu->ctx, &span);
    free(kernel);
}

/* Its events have come. Driver times are milliseconds, the profile's
 * nanoseconds. A time that the driver does not tell is left out. */
static void tell(ompjit__gpu *gpu, ompjit__gpu_timing *t)
{
    ompjit__gpu_clock *clock = &gpu->clock;
    float since = 0, took = 0;
    uint64_t *last = last_end(clock, t->queue);
    if (!last ||
        gpu->cu->cuEventElapsedTime(&since, clock->base, t->begin) ||
        gpu->cu->cuEventElapsedTime(&took, t->begin, t->end))
        return;
    uint64_t begin = clock->base_at + (uint64_t)(int64_t)(since * 1e6);
    begin = begin < *last ? *last : begin;
    *last = begin + (uint64_t)(took * 1e6);
    tell_span(gpu, t, begin, *last);
    if (since > too_long)
        move_base(clock, t, *last);
}

/* Under the clock's lock. Takes all that have come out of `waiting`; queues end
 * in any order, so one that has not come does not hold up those behind it. Any
 * code but NOT_READY means that its time will never be known. */
static void collect(ompjit__gpu *gpu, bool wait)
{
    ompjit__gpu_clock *clock = &gpu->clock;
    ompjit__gpu_timing **link = &clock->waiting, *t;
    while ((t = *link)) {
        cu_result r = wait ? gpu->cu->cuEventSynchronize(t->end)
                           : gpu->cu->cuEventQuery(t->end);
        if (r == OMPJIT__CUDA_NOT_READY) {
            link = &t->next;
            continue;
        }
        *link = t->next;
        clock->nwaiting--;
        if (!r)
            tell(gpu, t);
        give_back(clock, t);
    }
    clock->last = link;
}

/* `well` false: the work was not put into the queue, and nothing is recorded.
 */
void ompjit__gpu_time_end(ompjit__gpu *gpu, ompjit__queue *queue,
                          ompjit__gpu_timing *t, bool well)
{
    ompjit__gpu_clock *clock = &gpu->clock;
    bool there = well && !gpu->cu->cuEventRecord(t->end, queue->stream);
    pthread_mutex_lock(&clock->lock);
    if (there) {
        t->next = NULL;
        *(clock->waiting ? clock->last : &clock->waiting) = t;
        clock->last = &t->next;
        if (++clock->nwaiting % MANY == 0)
            collect(gpu, false);
    } else {
        give_back(clock, t);
    }
    pthread_mutex_unlock(&clock->lock);
}

void ompjit__gpu_time_what(ompjit__gpu_timing *t, enum ompjit__span_kind kind,
                           const char *name, uint64_t bytes)
{
    t->kind = kind;
    t->name = name;
    t->bytes = bytes;
}

void ompjit__gpu_collect(ompjit__gpu *gpu, bool wait)
{
    pthread_mutex_lock(&gpu->clock.lock);
    collect(gpu, wait);
    pthread_mutex_unlock(&gpu->clock.lock);
}

/* A process that ends may ask when the driver has ended already: what has been
 * waited for needs no driver. */
void ompjit__gpu_settle_times(ompjit_device *dev)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_error err;
    pthread_mutex_lock(&gpu->clock.lock);
    bool waiting = gpu->clock.waiting;
    pthread_mutex_unlock(&gpu->clock.lock);
    if (!waiting || !ompjit__gpu_usable(gpu))
        return;
    ompjit_status status = ompjit__gpu_enter(gpu, &err);
    if (!status) {
        ompjit__gpu_collect(gpu, true);
        status = ompjit__gpu_leave(gpu, OMPJIT_OK, &err);
    }
    if (status)
        ompjit__log(gpu->ctx, "%s", err.text);
}

/* Without `driver` the events go with the process. */
static void drop(ompjit__gpu *gpu, ompjit__gpu_timing *t, bool driver)
{
    for (ompjit__gpu_timing *next; t; t = next) {
        next = t->next;
        if (driver) {
            destroy_event(gpu, t->begin);
            destroy_event(gpu, t->end);
        }
        free(t);
    }
}

/* After the queues have been waited for, so that `true` does not block. */
void ompjit__gpu_close_clock(ompjit__gpu *gpu, bool driver)
{
    ompjit__gpu_clock *clock = &gpu->clock;
    if (driver)
        ompjit__gpu_collect(gpu, true);
    drop(gpu, clock->waiting, driver);
    drop(gpu, clock->idle, driver);
    if (clock->base && driver)
        destroy_event(gpu, clock->base);
    free(clock->ends);
    clock->waiting = clock->idle = NULL;
    clock->base = NULL;
    clock->ends = NULL;
    clock->nends = clock->nwaiting = 0;
}
