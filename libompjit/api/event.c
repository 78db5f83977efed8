/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Events of the application: points in queues, to wait for, to ask about and to
 * take the time between. On a device that does its work at once an event is the
 * moment in which it was recorded.
 *
 * An event is the application's: it may be recorded, waited for and asked by
 * several threads. Its lock is held for a moment only, never while a thread
 * waits for the GPU. A device without events of its own leaves `event` NULL.
 */
#include <stdlib.h>

#include "api/queue.h"

struct ompjit_event {
    ompjit_device *dev;
    pthread_mutex_t lock; /* of what follows */
    bool recorded;        /* or may be, by other software    */
    ompjit__event *event; /* the device's; NULL: it has none */
    uint64_t at;          /* then: the clock                 */
};

/* The device's own event is made by the first record: one that is never
 * recorded costs the driver nothing. */
ompjit_status ompjit_event_create(ompjit_device *dev, ompjit_event **event,
                                  ompjit_error *err)
{
    if (!dev || !event)
        return ompjit__null_argument(__func__, err);
    ompjit_status status = ompjit__device_ready(dev, err);
    ompjit_event *made = status ? NULL : calloc(1, sizeof *made);
    if (!status && !made)
        status = ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (status)
        return status;
    made->dev = dev;
    pthread_mutex_init(&made->lock, NULL);
    *event = made;
    return OMPJIT_OK;
}

/* The handle is not checked and stays the application's, who may have recorded
 * it: so it counts as recorded. */
ompjit_status ompjit_event_adopt(ompjit_device *dev, void *native,
                                 ompjit_event **event, ompjit_error *err)
{
    ompjit_event *made;
    if (!dev || !native || !event)
        return ompjit__null_argument(__func__, err);
    if (!dev->ops->native)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                            "ompjit_event_adopt: device %u (%s) has no events "
                            "of other software",
                            dev->number, dev->ops->name);
    ompjit_status status = ompjit_event_create(dev, &made, err);
    if (status)
        return status;
    status = dev->ops->native->adopt_event(dev, native, &made->event, err);
    made->recorded = true;
    if (status)
        ompjit_event_destroy(made);
    else
        *event = made;
    return status;
}

/* Whoever has the handle may record it, so that it counts as recorded. NULL in
 * *native where the device has none. The handle ends with the event. */
ompjit_status ompjit_event_native(ompjit_event *event, void **native,
                                  ompjit_error *err)
{
    if (!event || !native)
        return ompjit__null_argument(__func__, err);
    ompjit_device *dev = event->dev;
    ompjit_status status = OMPJIT_OK;
    void *handle = NULL;
    pthread_mutex_lock(&event->lock);
    if (dev->ops->native)
        status = dev->ops->native->event(dev, &event->event, &handle, err);
    event->recorded |= handle != NULL;
    pthread_mutex_unlock(&event->lock);
    if (!status)
        *native = handle;
    return status;
}

/* The caller makes sure that no thread waits for it any more. A queue that
 * waits for its point goes on to do so. */
void ompjit_event_destroy(ompjit_event *event)
{
    if (!event)
        return;
    if (event->event)
        event->dev->ops->events->destroy(event->dev, event->event);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

/* `at` is for devices without events, whose work is done by now. Always with
 * time, for ompjit_event_elapsed. */
ompjit_status ompjit_event_record(ompjit_event *event, ompjit_queue *queue,
                                  ompjit_error *err)
{
    if (!event || !queue)
        return ompjit__null_argument(__func__, err);
    ompjit_device *dev = event->dev;
    ompjit_status status = ompjit__queue_check(__func__, queue, dev, err);
    if (!status)
        status = ompjit__queue_not_recorded(__func__, queue, err);
    if (status)
        return status;
    pthread_mutex_lock(&event->lock);
    if (dev->ops->events)
        status = dev->ops->events->record(dev, queue->queue, true,
                                          &event->event, err);
    if (!status) {
        event->at = ompjit__now();
        event->recorded = true;
    }
    pthread_mutex_unlock(&event->lock);
    return status;
}

/* The device's event, and when it was recorded. The first record makes it, and
 * nothing replaces it later. */
static ompjit__event *inner_of(ompjit_event *event, uint64_t *at)
{
    pthread_mutex_lock(&event->lock);
    ompjit__event *inner = event->event;
    *at = event->at;
    pthread_mutex_unlock(&event->lock);
    return inner;
}

/* With the lock. CUDA takes an event that was never recorded for one that has
 * come, which would hide the mistake. */
static ompjit_status check_recorded(const char *who, const ompjit_event *event,
                                    ompjit_error *err)
{
    if (event->recorded)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: the event was never recorded", who);
}

/* Waits without the lock: others may ask meanwhile. The device's event is not
 * freed meanwhile, since the application may destroy an event only when no
 * thread waits for it. */
ompjit_status ompjit_event_wait(ompjit_event *event, ompjit_error *err)
{
    if (!event)
        return ompjit__null_argument(__func__, err);
    pthread_mutex_lock(&event->lock);
    ompjit_status status = check_recorded(__func__, event, err);
    ompjit__event *inner = event->event;
    pthread_mutex_unlock(&event->lock);
    if (status || !inner)
        return status;
    return event->dev->ops->events->wait(event->dev, inner, err);
}

/* An event without a device's own has come: work was done when it was recorded.
 */
ompjit_status ompjit_event_query(ompjit_event *event, int *done,
                                 ompjit_error *err)
{
    if (!event || !done)
        return ompjit__null_argument(__func__, err);
    bool came = true;
    pthread_mutex_lock(&event->lock);
    ompjit_status status = check_recorded(__func__, event, err);
    if (!status && event->event)
        status = event->dev->ops->events->query(event->dev, event->event,
                                                &came, err);
    pthread_mutex_unlock(&event->lock);
    if (!status)
        *done = came;
    return status;
}

/* Both are asked first, since the driver's error would not say which of them
 * has not come. Seconds; negative where `to` came before `from`. */
ompjit_status ompjit_event_elapsed(ompjit_event *from, ompjit_event *to,
                                   double *seconds, ompjit_error *err)
{
    int from_done = 0, to_done = 0;
    if (!from || !to || !seconds)
        return ompjit__null_argument(__func__, err);
    if (from->dev != to->dev)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_event_elapsed: events of two devices");
    ompjit_status status = ompjit_event_query(from, &from_done, err);
    if (!status)
        status = ompjit_event_query(to, &to_done, err);
    if (!status && (!from_done || !to_done))
        status = ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                              "ompjit_event_elapsed: %s event has not come yet",
                              from_done ? "the second" : "the first");
    if (status)
        return status;
    uint64_t began, ended;
    ompjit__event *first = inner_of(from, &began);
    ompjit__event *last = inner_of(to, &ended);
    if (first)
        return from->dev->ops->events->elapsed(from->dev, first, last, seconds,
                                               err);
    *seconds = 1e-9 * (double)(int64_t)(ended - began);
    return OMPJIT_OK;
}

/* Orders by the point that was recorded last before this call. Without a
 * device's event everything before is done, so there is nothing to do. */
ompjit_status ompjit_queue_after_event(ompjit_queue *queue,
                                       ompjit_event *event, ompjit_error *err)
{
    if (!queue || !event)
        return ompjit__null_argument(__func__, err);
    ompjit_device *dev = queue->dev;
    if (event->dev != dev)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_queue_after_event: the event is another "
                            "device's");
    ompjit_status status = ompjit__queue_not_recorded(__func__, queue, err);
    if (status)
        return status;
    pthread_mutex_lock(&event->lock);
    status = check_recorded(__func__, event, err);
    if (!status && event->event)
        status = dev->ops->events->queue_after(dev, queue->queue,
                                               event->event, err);
    pthread_mutex_unlock(&event->lock);
    return status;
}
