/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Small copies to the host on a device with queues. They are put into the queue
 * together when the construct waits, and go into page-locked memory, so that
 * none waits for another. Pieces of the same block or entry that are near each
 * other are one copy, with what is in between.
 */
#include <string.h>

#include "mapping/transfer.h"

typedef struct piece {
    const void *of;     /* its block or entry: an allocation */
    char *host;
    const char *device;
    const char *staged; /* set when it is enqueued           */
    size_t size;
} piece;

bool ompjit__pieces_take(const ompjit__construct *c, size_t size)
{
    return size <= OMPJIT__SMALL_COPY && ompjit__has_queues(c->dev);
}

/* The copy is made when the construct waits; `host` must stay until then. */
ompjit_status ompjit__pieces_add(ompjit__construct *c,
                                 const ompjit__mapped *entry, char *host,
                                 size_t size, ompjit_error *err)
{
    piece p = {.of = entry->block ? (void *)entry->block : (void *)entry,
               .host = host,
               .device = ompjit__present_device(entry, host),
               .size = size};
    ompjit_status st = ompjit__construct_take_queue(c, err);
    if (st)
        return st;
    ompjit__buf_add(&c->pieces, &p, sizeof p);
    if (c->pieces.failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    ompjit__construct_expect_copies(c);
    return OMPJIT_OK;
}

/* Returns how many of the pieces, from the first on, one copy can bring, and
 * sets the device range that this copy reads. */
static size_t count_in_one_copy(const piece *p, size_t n, const char **begin,
                                const char **end)
{
    size_t k = 1;
    *begin = p->device;
    *end = p->device + p->size;
    for (; k < n && p[k].of == p->of; k++) {
        const char *first = p[k].device, *last = first + p[k].size;
        first = first < *begin ? first : *begin;
        last = last > *end ? last : *end;
        if (last - first > OMPJIT__MOST_STAGED)
            break;
        *begin = first;
        *end = last;
    }
    return k;
}

/* Puts copies of pieces into the queue until none is left or the staging is
 * full. *enqueued counts the pieces. */
static ompjit_status enqueue_pieces(ompjit__construct *c, piece *p, size_t n,
                                    size_t *enqueued, ompjit_error *err)
{
    const ompjit__device_ops *ops = c->dev->ops;
    while (*enqueued < n) {
        const char *begin, *end;
        void *room;
        size_t k =
            count_in_one_copy(p + *enqueued, n - *enqueued, &begin, &end);
        size_t size = (size_t)(end - begin);
        ompjit_status st =
            ops->queued_memory->stage(c->dev, c->queue, size, &room, err);
        if (!st && !room)
            return OMPJIT_OK;
        if (!st)
            st = ops->copy(c->dev, OMPJIT__COPY_FROM, room, begin, size,
                           c->queue, err);
        if (st)
            return st;
        for (size_t i = *enqueued; i < *enqueued + k; i++)
            p[i].staged = (char *)room + (p[i].device - begin);
        *enqueued += k;
    }
    return OMPJIT_OK;
}

/* If the staging memory does not hold all, the rest follows after a wait. */
ompjit_status ompjit__pieces_fetch(ompjit__construct *c, ompjit_error *err)
{
    piece *p = (piece *)(void *)c->pieces.data;
    size_t n = c->pieces.size / sizeof *p, done = 0;
    ompjit_status st = OMPJIT_OK;
    while (done < n && !st) {
        size_t enqueued = done;
        st = enqueue_pieces(c, p, n, &enqueued, err);
        ompjit_status waited =
            c->dev->ops->queues->wait(c->dev, c->queue, st ? NULL : err);
        st = st ? st : waited;
        for (; done < enqueued && !st; done++)
            memcpy(p[done].host, p[done].staged, p[done].size);
    }
    ompjit__buf_free(&c->pieces);
    return st;
}

void ompjit__pieces_forget(ompjit__construct *c)
{
    ompjit__buf_free(&c->pieces);
}
