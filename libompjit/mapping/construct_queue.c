/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A construct's work on a device that has queues: all copies go into one queue,
 * taken with the first of them, and are waited for once. The data that a
 * construct brings to the device has an arrival, by which other constructs'
 * queues come after it, so that the table's lock is not held while data is
 * under way to the device. On devices without, all is done at once.
 */
#include <stdlib.h>

#include "mapping/construct.h"

ompjit_status ompjit__construct_open(ompjit__construct *c, ompjit_error *err)
{
    if (c->queue || !ompjit__has_queues(c->dev))
        return OMPJIT_OK;
    return c->dev->ops->queues->create(c->dev, &c->queue, err);
}

ompjit_status ompjit__construct_copy(ompjit__construct *c,
                                     enum ompjit__copy direction, void *dst,
                                     const void *src, size_t size,
                                     ompjit_error *err)
{
    if (direction == OMPJIT__COPY_TO && ompjit__gather_copy(c, dst, src, size))
        return OMPJIT_OK;
    ompjit_status st = ompjit__construct_open(c, err);
    if (!st)
        st = c->dev->ops->copy(c->dev, direction, dst, src, size, c->queue,
                               err);
    c->copying |= c->queue != NULL;
    return st;
}

ompjit_status ompjit__construct_alloc(ompjit__construct *c, size_t size,
                                      void **ptr, ompjit_error *err)
{
    ompjit_status st = ompjit__construct_open(c, err);
    if (st)
        return st;
    const ompjit__device_ops *ops = c->dev->ops;
    return c->queue ? ops->queued_memory->alloc(c->dev, size, c->queue, ptr,
                                                   err)
                    : ops->alloc(c->dev, size, ptr, err);
}

ompjit_status ompjit__construct_free_memory(ompjit__construct *c, void *ptr,
                                            ompjit_error *err)
{
    ompjit_status st = ompjit__construct_open(c, err);
    if (st)
        return st;
    const ompjit__device_ops *ops = c->dev->ops;
    return c->queue ? ops->queued_memory->free(c->dev, ptr, c->queue, err)
                    : ops->free(c->dev, ptr, err);
}

void ompjit__construct_arrived(ompjit__construct *c)
{
    c->copying = false;
    if (c->arrival)
        atomic_store(&c->arrival->done, true);
}

ompjit_status ompjit__construct_wait(ompjit__construct *c, ompjit_error *err)
{
    if (!c->copying)
        return OMPJIT_OK;
    ompjit_status st = ompjit__late_send(c, err);
    if (!st)
        st = ompjit__gather_send(c, err);
    if (!st)
        st = c->gathered.pieces.size
                 ? ompjit__gather_wait(c, err)
                 : c->dev->ops->queues->wait(c->dev, c->queue, err);
    if (!st)
        ompjit__construct_arrived(c);
    else /* what is under way would write to what is the caller's again */
        c->dev->ops->queues->wait(c->dev, c->queue, NULL);
    return st;
}

/* ---------------------------------------------------------------- arrivals */

void ompjit__arrival_drop(ompjit__arrival *arrival)
{
    if (!arrival || --arrival->refs)
        return;
    if (arrival->event)
        arrival->dev->ops->events->destroy(arrival->dev, arrival->event);
    free(arrival);
}

ompjit_status ompjit__construct_fills(ompjit__construct *c,
                                      ompjit__mapped *entry,
                                      ompjit_error *err)
{
    if (!c->queue || (c->arrival && entry->arrival == c->arrival))
        return OMPJIT_OK;
    if (!c->arrival) {
        c->arrival = calloc(1, sizeof *c->arrival);
        if (!c->arrival)
            return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
        c->arrival->dev = c->dev;
        c->arrival->refs = 1;
    }
    ompjit__arrival_drop(entry->arrival);
    entry->arrival = c->arrival;
    c->arrival->refs++;
    return OMPJIT_OK;
}

ompjit_status ompjit__construct_arrives(ompjit__construct *c, ompjit_status st,
                                        ompjit_error *err)
{
    if (!st)
        st = ompjit__gather_send(c, err);
    if (!st)
        st = ompjit__late_send_unlocked(c, err);
    if (!st && c->arrival)
        st = c->dev->ops->events->record(c->dev, c->queue, false,
                                         &c->arrival->event, err);
    ompjit__late_sent(c);
    if (st) {
        ompjit__buf_free(&c->late);
        ompjit__gather_forget(c);
        ompjit__construct_wait(c, NULL);
        ompjit__construct_arrived(c);
    }
    return st;
}

/* If nobody waited for it, as for what is allocated only, the device is
 * asked: then nobody has to again. */
static bool has_come(ompjit__arrival *arrival)
{
    bool done = atomic_load(&arrival->done);
    if (!done && !arrival->dev->ops->events->query(arrival->dev,
                                                   arrival->event, &done,
                                                   NULL) &&
        done)
        atomic_store(&arrival->done, true);
    return done;
}

ompjit_status ompjit__construct_after(ompjit__construct *c,
                                      ompjit__mapped *entry,
                                      ompjit_error *err)
{
    ompjit__arrival *arrival = entry->arrival;
    if (!arrival || arrival == c->arrival)
        return OMPJIT_OK;
    if (has_come(arrival)) {
        entry->arrival = NULL;
        ompjit__arrival_drop(arrival);
        return OMPJIT_OK;
    }
    ompjit_status st = ompjit__construct_open(c, err);
    if (st)
        return st;
    return c->dev->ops->events->queue_after(c->dev, c->queue, arrival->event,
                                            err);
}

void ompjit__construct_close(ompjit__construct *c)
{
    ompjit__gather_end(c, NULL);
    ompjit__buf_free(&c->late);
    if (c->arrival) {
        ompjit__present_lock(c->table);
        ompjit__arrival_drop(c->arrival);
        ompjit__present_unlock(c->table);
    }
    if (c->queue)
        c->dev->ops->queues->destroy(c->dev, c->queue);
}
