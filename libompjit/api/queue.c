/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Queues of the application: asynchronous launches and copies, and what these
 * need until somebody has waited for them.
 *
 * A launch that is under way needs its variant and its environment, an update
 * its mapping. These are its uses: a queue collects them and ends them when it
 * was waited for (ompjit__inflight_end). A recorded queue's uses go to its
 * graph. Several threads may put work into a queue and wait for it.
 */
#include <stdlib.h>

#include "api/queue.h"

/* Launches whose variants and buffers, and updates whose mappings, are kept for
 * them; after so many the queue is waited for. LOOKED_AT is how many of the
 * newest uses are compared with a new one. */
enum { MOST_USES = 1024, LOOKED_AT = 8 };

ompjit_status ompjit__null_argument(const char *who, ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: an argument is NULL", who);
}

/* ---------------------------------------------------------------- lifetime */

/* Around a device's queue, which it takes. It is destroyed where there is no
 * memory, so that the caller has nothing to undo. */
static ompjit_status wrap(ompjit_device *dev, ompjit__queue *inner,
                          ompjit_queue **out, ompjit_error *err)
{
    ompjit_queue *queue = calloc(1, sizeof *queue);
    if (!queue) {
        dev->ops->queues->destroy(dev, inner);
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    }
    queue->dev = dev;
    queue->queue = inner;
    ompjit__fork_lock_init(&queue->at_fork, &queue->lock);
    *out = queue;
    return OMPJIT_OK;
}

/* *queue is set on success only. */
ompjit_status ompjit_queue_create(ompjit_device *dev, ompjit_queue **queue,
                                  ompjit_error *err)
{
    ompjit__queue *inner;
    if (!dev || !queue)
        return ompjit__null_argument(__func__, err);
    ompjit_status status = ompjit__device_ready(dev, err);
    if (!status)
        status = dev->ops->queues->create(dev, &inner, err);
    return status ? status : wrap(dev, inner, queue, err);
}

/* Its stream stays the application's. `adopted` makes later launches ask
 * whether the application captures it. */
ompjit_status ompjit_queue_adopt(ompjit_device *dev, void *stream,
                                 ompjit_queue **queue, ompjit_error *err)
{
    ompjit__queue *inner;
    if (!dev || !queue)
        return ompjit__null_argument(__func__, err);
    if (!dev->ops->native)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                            "ompjit_queue_adopt: device %u (%s) has no streams",
                            dev->number, dev->ops->name);
    ompjit_status status = ompjit__device_ready(dev, err);
    if (!status)
        status = dev->ops->native->adopt_queue(dev, stream, &inner, err);
    if (!status)
        status = wrap(dev, inner, queue, err);
    if (!status)
        (*queue)->adopted = true;
    return status;
}

/* The handle is good as long as the queue is. NULL on a device without streams.
 */
ompjit_status ompjit_queue_stream(ompjit_queue *queue, void **stream,
                                  ompjit_error *err)
{
    ompjit__native native = {0};
    if (!queue || !stream)
        return ompjit__null_argument(__func__, err);
    ompjit_device *dev = queue->dev;
    ompjit_status status =
        dev->ops->native ? dev->ops->native->describe(dev, queue->queue,
                                                      &native, err)
                         : OMPJIT_OK;
    if (!status)
        *stream = native.stream;
    return status;
}

/* The memory alone: what the uses hold was ended before, or was moved. */
static void free_uses(ompjit__use *uses)
{
    for (ompjit__use *next; uses; uses = next) {
        next = uses->next;
        free(uses);
    }
}

/* Waits for the queue's work, since its uses are to be ended. A recording that
 * was not ended is dropped. An environment that a failed wait may have left in
 * the middle is not kept. What an application's graph uses ends here
 * (`captured`). */
void ompjit_queue_destroy(ompjit_queue *queue)
{
    ompjit_error err;
    ompjit_graph *graph;
    if (!queue)
        return;
    if (queue->recording && !ompjit_graph_end(queue, &graph, &err))
        ompjit_graph_destroy(graph);
    bool well = !ompjit_queue_wait(queue, &err);
    if (!well)
        ompjit__log(queue->dev->ctx, "destroying a queue: %s", err.text);
    ompjit__environment_free(queue->dev, &queue->environment, well);
    free_uses(queue->spare);
    ompjit__uses_end(queue->captured, false);
    queue->dev->ops->queues->destroy(queue->dev, queue->queue);
    ompjit__fork_lock_end(&queue->at_fork);
    free(queue);
}

/* --------------------------------------------------------------------- uses */

/* The list stays, for free_uses or spare. Without the queue's lock: ending a
 * use may unload an image or free memory. */
static void end_uses(ompjit__use *uses, bool well)
{
    for (; uses; uses = uses->next)
        ompjit__inflight_end(&uses->inflight, well);
}

void ompjit__uses_end(ompjit__use *uses, bool well)
{
    end_uses(uses, well);
    free_uses(uses);
}

/* Keeps as many as the next launches may need. */
static void spare(ompjit_queue *queue, ompjit__use *uses)
{
    pthread_mutex_lock(&queue->lock);
    while (uses && queue->nspare < LOOKED_AT) {
        ompjit__use *next = uses->next;
        uses->next = queue->spare;
        queue->spare = uses;
        queue->nspare++;
        uses = next;
    }
    pthread_mutex_unlock(&queue->lock);
    free_uses(uses);
}

/* Under the lock. NULL: out of memory. */
static ompjit__use *new_use(ompjit_queue *queue)
{
    ompjit__use *use = queue->spare;
    if (!use)
        return malloc(sizeof *use);
    queue->spare = use->next;
    queue->nspare--;
    return use;
}

/* Does something in the queue already hold all that this needs? Programs launch
 * the same few kernels again and again: without this each launch would cost an
 * allocation and a hold. A use with an environment block or a time to tell is
 * never covered. */
static bool covered(const ompjit__use *uses, const ompjit__inflight *inflight)
{
    if (inflight->environment.block || inflight->begin)
        return false;
    for (int i = 0; uses && i < LOOKED_AT; uses = uses->next, i++)
        if (uses->inflight.variant == inflight->variant &&
            uses->inflight.mapped == inflight->mapped)
            return true;
    return false;
}

/* Does the application record the stream that it has lent? Asks the driver.
 * Only lent streams are asked about. Takes no lock of the queue's. */
static bool is_captured(const ompjit_queue *queue)
{
    const ompjit__device_ops *ops = queue->dev->ops;
    return queue->adopted && ops->native &&
           ops->native->is_captured(queue->dev, queue->queue);
}

/* A graph's launches share the graph's environment, which lives as long as it.
 * A graph that the application captures may run at any time, beside the queue:
 * its launches get one each, kept in `captured`. */
bool ompjit__queue_shares(ompjit_queue *queue, ompjit__sharing *out)
{
    *out = (ompjit__sharing){&queue->lock, queue->recording
                                               ? &queue->recording->environment
                                               : &queue->environment};
    return !is_captured(queue);
}

/* Under the lock. False: out of memory. Recorded work takes no time now, and
 * its use lasts as long as the graph. A use that is covered ends here, which
 * gives back its second hold. */
static bool add_use(ompjit_queue *queue, bool captured,
                    ompjit__inflight inflight)
{
    ompjit__use **list = queue->recording ? &queue->recording->uses
                         : captured       ? &queue->captured
                                          : &queue->uses;
    if (list != &queue->uses)
        inflight.begin = 0;
    if (covered(*list, &inflight)) {
        ompjit__inflight_end(&inflight, true);
        return true;
    }
    ompjit__use *use = new_use(queue);
    if (!use)
        return false;
    use->inflight = inflight;
    use->next = *list;
    *list = use;
    queue->nuses += list == &queue->uses;
    return true;
}

/* A program that never waits would pile up uses: beyond MOST_USES this call
 * waits for it. Recorded work is not waited for, since it does not run. Without
 * memory for the use it waits for the launch itself and ends it here. */
ompjit_status ompjit__queue_use(ompjit_queue *queue,
                                const ompjit__inflight *inflight,
                                ompjit_error *err)
{
    if (!inflight->variant && !inflight->environment.block &&
        !inflight->begin && !inflight->mapped)
        return OMPJIT_OK;
    bool captured = is_captured(queue);
    pthread_mutex_lock(&queue->lock);
    bool added = add_use(queue, captured, *inflight);
    bool many =
        !queue->recording && !captured && queue->nuses > MOST_USES;
    pthread_mutex_unlock(&queue->lock);
    if (added)
        return many ? ompjit_queue_wait(queue, err) : OMPJIT_OK;
    ompjit__inflight copy = *inflight;
    queue->dev->ops->queues->wait(queue->dev, queue->queue, NULL);
    ompjit__inflight_end(&copy, false);
    return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
}

/* The next launch makes another. The struct is taken under the lock and freed
 * without it, since freeing asks the driver. */
static void drop_environment(ompjit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    ompjit__environment environment = queue->environment;
    queue->environment = (ompjit__environment){0};
    pthread_mutex_unlock(&queue->lock);
    ompjit__environment_free(queue->dev, &environment, false);
}

/* Work that is added while this waits stays for the next wait. The uses are
 * taken from the queue before the wait: work that is put there meanwhile adds
 * to the next list. After a failure they are ended too, but their environments
 * are freed and not kept. */
ompjit_status ompjit_queue_wait(ompjit_queue *queue, ompjit_error *err)
{
    if (!queue)
        return ompjit__null_argument(__func__, err);
    pthread_mutex_lock(&queue->lock);
    bool recording = queue->recording;
    ompjit__use *uses = recording ? NULL : queue->uses;
    if (!recording) {
        queue->uses = NULL;
        queue->nuses = 0;
    }
    pthread_mutex_unlock(&queue->lock);
    if (recording)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_queue_wait: the queue is being recorded");
    ompjit_status status =
        queue->dev->ops->queues->wait(queue->dev, queue->queue, err);
    end_uses(uses, !status);
    spare(queue, uses);
    if (status) /* a kernel may have been left in the middle */
        drop_environment(queue);
    return status;
}

/* ------------------------------------------------------------------- work */

/* `who` is the public function that was called. */
ompjit_status ompjit__queue_check(const char *who, const ompjit_queue *queue,
                                  const ompjit_device *dev, ompjit_error *err)
{
    if (queue && queue->dev == dev)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        queue ? "%s: the queue is another device's"
                              : "%s: no queue",
                        who);
}

/* Takes the queue's lock for a moment. */
ompjit_status ompjit__queue_not_recorded(const char *who, ompjit_queue *queue,
                                         ompjit_error *err)
{
    pthread_mutex_lock(&queue->lock);
    bool recording = queue->recording;
    pthread_mutex_unlock(&queue->lock);
    if (!recording)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: the queue is being recorded", who);
}

/* By an event of the moment, which the driver keeps until it is not needed. A
 * device without events does its work at once: the order is there already. */
ompjit_status ompjit_queue_after(ompjit_queue *queue, ompjit_queue *other,
                                 ompjit_error *err)
{
    if (!queue || !other)
        return ompjit__null_argument(__func__, err);
    ompjit_device *dev = queue->dev;
    ompjit__event *event = NULL;
    ompjit_status status = ompjit__queue_check(__func__, other, dev, err);
    if (!status)
        status = ompjit__queue_not_recorded(__func__, queue, err);
    if (!status)
        status = ompjit__queue_not_recorded(__func__, other, err);
    if (status || !dev->ops->events)
        return status;
    status = dev->ops->events->record(dev, other->queue, false, &event, err);
    if (status)
        return status;
    status = dev->ops->events->queue_after(dev, queue->queue, event, err);
    dev->ops->events->destroy(dev, event);
    return status;
}

/* A copy of no bytes may have NULL for its ends, which the device does not look
 * at. On a device that records for itself the copy becomes part of its graph.
 */
ompjit_status ompjit__queue_transfer(const char *who, ompjit_queue *queue,
                                     ompjit__step step, ompjit_error *err)
{
    if (!queue || (step.size && (!step.dst || !step.src)))
        return ompjit__null_argument(who, err);
    if (ompjit__records_steps(queue))
        return ompjit__step_add(queue, step, err);
    return queue->dev->ops->copy(queue->dev, step.direction, step.dst,
                                 step.src, step.size, queue->queue, err);
}

/* The three copies differ in direction only; host memory must stay as it is
 * until the queue was waited for. */
ompjit_status ompjit_queue_upload(ompjit_queue *queue, void *device_dst,
                                  const void *host_src, size_t size,
                                  ompjit_error *err)
{
    ompjit__step step = {.direction = OMPJIT__COPY_TO, .dst = device_dst,
                         .src = host_src, .size = size};
    return ompjit__queue_transfer(__func__, queue, step, err);
}

ompjit_status ompjit_queue_download(ompjit_queue *queue, void *host_dst,
                                    const void *device_src, size_t size,
                                    ompjit_error *err)
{
    ompjit__step step = {.direction = OMPJIT__COPY_FROM, .dst = host_dst,
                         .src = device_src, .size = size};
    return ompjit__queue_transfer(__func__, queue, step, err);
}

ompjit_status ompjit_queue_copy(ompjit_queue *queue, void *device_dst,
                                const void *device_src, size_t size,
                                ompjit_error *err)
{
    ompjit__step step = {.direction = OMPJIT__COPY_ON, .dst = device_dst,
                         .src = device_src, .size = size};
    return ompjit__queue_transfer(__func__, queue, step, err);
}

/* As a step: bound, with its variant chosen now. ompjit__step_add takes the
 * bound launch, also where it fails. */
static ompjit_status record_launch(ompjit_kernel *kernel, ompjit_device *dev,
                                   const ompjit_launch *launch,
                                   const ompjit_arg *args, unsigned nargs,
                                   ompjit_queue *queue, ompjit_error *err)
{
    ompjit__step step = {0};
    ompjit_status status = ompjit_kernel_bind(kernel, dev, launch, args, nargs,
                                              &step.bound, err);
    return status ? status : ompjit__step_add(queue, step, err);
}

/* The inflight that ompjit__start has filled is the queue's from
 * ompjit__queue_use on, also where that fails. A launch that fails leaves
 * nothing. */
ompjit_status ompjit__queue_launch(ompjit_kernel *kernel, ompjit_device *dev,
                                   const ompjit_launch *launch,
                                   const ompjit_arg *args, unsigned nargs,
                                   const ompjit__request *request,
                                   const uint64_t *values, ompjit_error *err)
{
    ompjit_queue *queue = request->queue;
    ompjit__call call = {kernel->mod, kernel->index, dev, request, values, 0};
    ompjit__inflight inflight;
    ompjit__sharing sharing;
    ompjit_status status =
        ompjit__queue_check("ompjit_kernel_launch", queue, dev, err);
    if (status)
        return status;
    if (ompjit__records_steps(queue))
        return record_launch(kernel, dev, launch, args, nargs, queue, err);
    bool shares = ompjit__queue_shares(queue, &sharing);
    status = ompjit__start(&call, queue->queue, shares ? &sharing : NULL,
                           &inflight, err);
    return status ? status : ompjit__queue_use(queue, &inflight, err);
}
