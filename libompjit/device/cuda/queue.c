/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Queues of a GPU: streams of our own that are used again and again, streams
 * that the caller lends, and events that order one after another. A few idle
 * queues are kept where a thread takes one without a lock.
 *
 * An ompjit__queue is not freed when its user is done: it goes back to the idle
 * ones with its stream and staging, since making a stream takes far longer than
 * a small copy. close frees all.
 */
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda.h"

/* ------------------------------------------------------------- our streams */

/* The queue is in the GPU's list from now on, so close finds it whoever has it.
 * NULL: out of memory; the stream stays the caller's. */
static ompjit__queue *queue_with(ompjit__gpu *gpu, cu_stream stream)
{
    ompjit__queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->stream = stream;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_mutex_lock(&gpu->lock);
    queue->number = gpu->nqueues++;
    queue->next = gpu->queues;
    gpu->queues = queue;
    pthread_mutex_unlock(&gpu->lock);
    return queue;
}

static void destroy_stream(ompjit__gpu *gpu, cu_stream stream)
{
    OMPJIT__GPU_DESTROY(gpu, cuStreamDestroy, stream, "destroying a stream");
}

/* NON_BLOCKING: the stream does not wait for the default stream, nor that for
 * it, so that an application's use of CUDA is not held up. */
static ompjit_status new_queue(ompjit__gpu *gpu, ompjit__queue **out,
                               ompjit_error *err)
{
    cu_stream stream;
    ompjit__gpu_call call = {
        OMPJIT_STAGE_API, "cuStreamCreate",
        gpu->cu->cuStreamCreate(&stream, OMPJIT__CU_STREAM_NON_BLOCKING)};
    if (call.code)
        return ompjit__gpu_fail(gpu, call, err, "making a stream");
    *out = queue_with(gpu, stream);
    if (*out)
        return OMPJIT_OK;
    destroy_stream(gpu, stream);
    return ompjit__no_memory(err, OMPJIT_STAGE_API);
}

/* NULL: there is none. A look without ordering saves the exchange where a slot
 * is empty. An atomic exchange makes a queue one thread's: no queue is ever
 * linked into a lock-free list, so there is no ABA. */
static ompjit__queue *take_idle(ompjit__gpu *gpu)
{
    for (int i = 0; i < OMPJIT__IDLE_QUEUES; i++)
        if (atomic_load_explicit(&gpu->idle[i], memory_order_relaxed)) {
            ompjit__queue *queue = atomic_exchange(&gpu->idle[i], NULL);
            if (queue)
                return queue;
        }
    pthread_mutex_lock(&gpu->lock);
    ompjit__queue *queue = gpu->more_idle;
    if (queue)
        gpu->more_idle = queue->next_idle;
    pthread_mutex_unlock(&gpu->lock);
    return queue;
}

/* `kernel` is cleared: messages must not blame the last borrower's. */
ompjit_status ompjit__gpu_borrow(ompjit__gpu *gpu, ompjit__queue **out,
                                 ompjit_error *err)
{
    ompjit__queue *queue = take_idle(gpu);
    if (!queue)
        return new_queue(gpu, out, err);
    atomic_store_explicit(&queue->kernel, NULL, memory_order_relaxed);
    *out = queue;
    return OMPJIT_OK;
}

/* Its work need not have ended; the next borrower's comes behind it. No call of
 * the driver. */
void ompjit__gpu_give_back(ompjit__gpu *gpu, ompjit__queue *queue)
{
    for (int i = 0; i < OMPJIT__IDLE_QUEUES; i++) {
        ompjit__queue *none = NULL;
        if (!atomic_load_explicit(&gpu->idle[i], memory_order_relaxed) &&
            atomic_compare_exchange_strong(&gpu->idle[i], &none, queue))
            return;
    }
    pthread_mutex_lock(&gpu->lock);
    queue->next_idle = gpu->more_idle;
    gpu->more_idle = queue;
    pthread_mutex_unlock(&gpu->lock);
}

/* With copies under way that read the staging, the lock keeps others from
 * adding some that would be overwritten. Without such copies no lock is taken,
 * so that several threads may wait for an application's queue at once. */
cu_result ompjit__gpu_finish(ompjit__gpu *gpu, ompjit__queue *queue)
{
    if (!atomic_load_explicit(&queue->staged, memory_order_relaxed))
        return gpu->cu->cuStreamSynchronize(queue->stream);
    pthread_mutex_lock(&queue->lock);
    cu_result r = gpu->cu->cuStreamSynchronize(queue->stream);
    if (!r)
        atomic_store_explicit(&queue->staged, 0, memory_order_relaxed);
    pthread_mutex_unlock(&queue->lock);
    return r;
}

/* The result is the first wait's. `staged` is not reset here:
 * ompjit__gpu_finish and make_room do that, under the queue's lock. */
cu_result ompjit__gpu_await(ompjit__gpu *gpu, ompjit__queue *queue)
{
    cu_result r = gpu->cu->cuStreamSynchronize(queue->stream);
    if (r)
        gpu->cu->cuStreamSynchronize(queue->stream);
    return r;
}

/* -------------------------------------------------------------- operations */

/* Takes an idle one where there is one. */
ompjit_status ompjit__gpu_queue_create(ompjit_device *dev, ompjit__queue **out,
                                       ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit__queue *queue;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    status = ompjit__gpu_borrow(gpu, &queue, err);
    if (status)
        return ompjit__gpu_leave(gpu, status, err);
    status = ompjit__gpu_leave(gpu, OMPJIT_OK, err);
    if (status)
        ompjit__gpu_give_back(gpu, queue);
    else
        *out = queue;
    return status;
}

/* The default stream of the primary context is a good one too: NULL. The driver
 * is not asked: a handle that is none fails at its first use. The stream stays
 * the caller's, who must not destroy it before the queue. */
ompjit_status ompjit__gpu_queue_adopt(ompjit_device *dev, void *stream,
                                      ompjit__queue **out, ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit__queue *queue = queue_with(gpu, stream);
    if (!queue)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    queue->foreign = true;
    *out = queue;
    return OMPJIT_OK;
}

/* The error names the last kernel that was launched here, since a fault of it
 * shows only now. Times are collected where somebody waits anyway. */
ompjit_status ompjit__gpu_queue_wait(ompjit_device *dev, ompjit__queue *queue,
                                     ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    ompjit__gpu_call call = {OMPJIT_STAGE_LAUNCH, "cuStreamSynchronize",
                             ompjit__gpu_finish(gpu, queue)};
    if (call.code) {
        const char *kernel = atomic_load(&queue->kernel);
        status = ompjit__gpu_fail(gpu, call, err,
                                  "waiting for a queue, whose last kernel is "
                                  "%s,",
                                  kernel ? kernel : "none");
    } else if (gpu->ctx->spans) {
        ompjit__gpu_collect(gpu, false);
    }
    return ompjit__gpu_leave(gpu, status, err);
}

/* Without `driver` page-locked memory and stream go with the process. A lent
 * stream is never destroyed. */
static void free_queue(ompjit__gpu *gpu, ompjit__queue *queue, bool driver)
{
    if (driver && queue->staging)
        OMPJIT__GPU_DESTROY(gpu, cuMemFreeHost, queue->staging,
                            "freeing page-locked memory");
    if (driver && !queue->foreign)
        destroy_stream(gpu, queue->stream);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

/* For streams that are lent or spoiled. Copies that read the staging end first.
 * A spoiled stream still captures, and must not be waited for. */
static void end_queue(ompjit__gpu *gpu, ompjit__queue *queue)
{
    ompjit_error err;
    if (ompjit__gpu_enter(gpu, &err)) { /* it is left to close */
        ompjit__log(gpu->ctx, "%s", err.text);
        return;
    }
    cu_result r = queue->staging && !queue->spoiled
                      ? ompjit__gpu_finish(gpu, queue)
                      : OMPJIT_OK;
    if (r)
        ompjit__gpu_log(gpu, "cuStreamSynchronize", r, "leaving a stream");
    OMPJIT__GPU_UNLINK(gpu, ompjit__queue, queues, queue);
    free_queue(gpu, queue, true);
    if (ompjit__gpu_leave(gpu, OMPJIT_OK, &err))
        ompjit__log(gpu->ctx, "%s", err.text);
}

/* A stream of ours is kept for whoever needs one next, whose work then comes
 * after what the queue still has: ompjit__queue_ops promises that. A recording
 * that nobody has ended is ended here and its graph dropped. In a forked child
 * the queue is left alone: the driver does not work there. */
void ompjit__gpu_queue_destroy(ompjit_device *dev, ompjit__queue *queue)
{
    ompjit__gpu *gpu = dev->state;
    ompjit__graph *graph;
    if (!queue || !ompjit__gpu_usable(gpu))
        return;
    if (atomic_load(&queue->recording) &&
        !ompjit__gpu_graph_end(dev, queue, &graph, NULL))
        ompjit__gpu_graph_destroy(dev, graph);
    if (queue->foreign || queue->spoiled)
        end_queue(gpu, queue);
    else
        ompjit__gpu_give_back(gpu, queue);
}

/* ------------------------------------------------------------------ events */

/* NULL: no idle one of that kind. Events with time and without are kept apart,
 * since time makes an event dearer for the GPU. */
static ompjit__event *take_event(ompjit__gpu *gpu, bool timed)
{
    pthread_mutex_lock(&gpu->lock);
    ompjit__event *event = gpu->events[timed];
    if (event)
        gpu->events[timed] = event->next;
    pthread_mutex_unlock(&gpu->lock);
    return event;
}

/* Between enter and leave, as make_event. */
static ompjit_status new_event(ompjit__gpu *gpu, bool timed,
                               ompjit__event **out, ompjit_error *err)
{
    ompjit__event *event = calloc(1, sizeof *event);
    if (!event)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    event->timed = timed;
    ompjit__gpu_call call = {
        OMPJIT_STAGE_API, "cuEventCreate",
        gpu->cu->cuEventCreate(&event->event,
                               timed ? 0 : OMPJIT__CU_EVENT_DISABLE_TIMING)};
    if (call.code) {
        free(event);
        return ompjit__gpu_fail(gpu, call, err, "making an event");
    }
    *out = event;
    return OMPJIT_OK;
}

/* One that nobody uses. An idle event may have been recorded before: the next
 * record replaces that. */
static ompjit_status make_event(ompjit__gpu *gpu, bool timed,
                                ompjit__event **out, ompjit_error *err)
{
    ompjit__event *event = take_event(gpu, timed);
    if (!event)
        return new_event(gpu, timed, out, err);
    *out = event;
    return OMPJIT_OK;
}

/* *event is made where it is NULL, and only set on success. One that is there
 * is recorded anew; those who wait for its earlier point are not affected. */
ompjit_status ompjit__gpu_event_record(ompjit_device *dev,
                                       ompjit__queue *queue, bool timed,
                                       ompjit__event **event,
                                       ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit__event *made = NULL;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    if (!*event)
        status = make_event(gpu, timed, &made, err);
    if (!status) {
        ompjit__event *e = *event ? *event : made;
        ompjit__gpu_call call = {
            OMPJIT_STAGE_API, "cuEventRecord",
            gpu->cu->cuEventRecord(e->event, queue->stream)};
        if (call.code)
            status = ompjit__gpu_fail(gpu, call, err, "recording an event");
    }
    status = ompjit__gpu_leave(gpu, status, err);
    if (status)
        ompjit__gpu_event_destroy(dev, made);
    else if (made)
        *event = made;
    return status;
}

/* The driver is not asked: an event that is none fails when it is first used.
 */
ompjit_status ompjit__gpu_event_adopt(ompjit_device *dev, void *native,
                                      ompjit__event **out, ompjit_error *err)
{
    ompjit__event *event = calloc(1, sizeof *event);
    if (!event)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    event->foreign = true;
    event->event = native;
    *out = event;
    return OMPJIT_OK;
}

/* An event that the application gets before it was recorded is made with time,
 * so that ompjit_event_elapsed works with it. */
ompjit_status ompjit__gpu_event_native(ompjit_device *dev,
                                       ompjit__event **event, void **native,
                                       ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = OMPJIT_OK;
    if (!*event && !(status = ompjit__gpu_enter(gpu, err))) /* never recorded */
        status = ompjit__gpu_leave(gpu, new_event(gpu, true, event, err), err);
    if (!status)
        *native = (*event)->event;
    return status;
}

/* The GPU waits, no thread does. A later record of the event does not change
 * what the queue waits for (cuStreamWaitEvent). */
ompjit_status ompjit__gpu_queue_after(ompjit_device *dev, ompjit__queue *queue,
                                      ompjit__event *event, ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    ompjit__gpu_call call = {
        OMPJIT_STAGE_API, "cuStreamWaitEvent",
        gpu->cu->cuStreamWaitEvent(queue->stream, event->event, 0)};
    if (call.code)
        status = ompjit__gpu_fail(gpu, call, err, "waiting for an event");
    return ompjit__gpu_leave(gpu, status, err);
}

/* Ours is kept for the next; who waits for it already waits for what it was. No
 * call of the driver, so it works everywhere, also in a forked child. An
 * adopted event's CUevent is left alone. */
void ompjit__gpu_event_destroy(ompjit_device *dev, ompjit__event *event)
{
    ompjit__gpu *gpu = dev->state;
    if (!event || event->foreign) {
        free(event);
        return;
    }
    pthread_mutex_lock(&gpu->lock);
    event->next = gpu->events[event->timed];
    gpu->events[event->timed] = event;
    pthread_mutex_unlock(&gpu->lock);
}

/* Blocks the thread, without a lock. */
ompjit_status ompjit__gpu_event_wait(ompjit_device *dev, ompjit__event *event,
                                     ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    ompjit__gpu_call call = {OMPJIT_STAGE_LAUNCH, "cuEventSynchronize",
                             gpu->cu->cuEventSynchronize(event->event)};
    if (call.code)
        status = ompjit__gpu_fail(gpu, call, err, "waiting for an event");
    return ompjit__gpu_leave(gpu, status, err);
}

/* NOT_READY is an answer and no failure. */
ompjit_status ompjit__gpu_event_query(ompjit_device *dev, ompjit__event *event,
                                      bool *done, ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    ompjit__gpu_call call = {OMPJIT_STAGE_LAUNCH, "cuEventQuery",
                             gpu->cu->cuEventQuery(event->event)};
    if (call.code && call.code != OMPJIT__CUDA_NOT_READY)
        status = ompjit__gpu_fail(gpu, call, err, "asking for an event");
    status = ompjit__gpu_leave(gpu, status, err);
    if (!status)
        *done = !call.code;
    return status;
}

/* The driver's time is a float in milliseconds, with a resolution of about half
 * a microsecond. It fails where an event was made without time. */
ompjit_status ompjit__gpu_event_elapsed(ompjit_device *dev,
                                        ompjit__event *from, ompjit__event *to,
                                        double *seconds, ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    float milliseconds = 0;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    ompjit__gpu_call call = {OMPJIT_STAGE_API, "cuEventElapsedTime",
                             gpu->cu->cuEventElapsedTime(
                                 &milliseconds, from->event, to->event)};
    if (call.code)
        status = ompjit__gpu_fail(gpu, call, err,
                                  "taking the time between events");
    status = ompjit__gpu_leave(gpu, status, err);
    if (!status)
        *seconds = milliseconds / 1000.0;
    return status;
}

/* ----------------------------------------------------------------- the end */

/* Idle ones: an event that somebody still has is the caller's to destroy before
 * the context. */
static void close_events(ompjit__gpu *gpu, ompjit__event *event, bool driver)
{
    for (ompjit__event *next; event; event = next) {
        next = event->next;
        if (driver)
            OMPJIT__GPU_DESTROY(gpu, cuEventDestroy, event->event,
                                "destroying an event");
        free(event);
    }
}

void ompjit__gpu_close_queues(ompjit__gpu *gpu, bool driver)
{
    while (gpu->queues) {
        ompjit__queue *queue = gpu->queues;
        gpu->queues = queue->next;
        free_queue(gpu, queue, driver);
    }
    close_events(gpu, gpu->events[0], driver);
    close_events(gpu, gpu->events[1], driver);
    gpu->events[0] = gpu->events[1] = NULL;
}
