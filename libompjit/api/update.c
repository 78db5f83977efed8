/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Mapped data in queues of the application: `target update`, as copies that a
 * graph can record. Nothing is entered or left here, since that would allocate;
 * what is updated stays mapped as long as the queue or the graph uses it.
 *
 * The present table's lock is held while data is looked up, and the queue's
 * while a use is added, one after the other. A hold keeps the mapping: data
 * that a construct releases meanwhile stays until the use has ended.
 */
#include "api/queue.h"
#include "omptarget/program.h"

/* The bytes to copy: it has no attached pointer in it. */
typedef struct piece {
    char *host, *device;
    size_t size;
} piece;

/* `part` is an entry that has some of the bytes; NULL: none has. */
static ompjit_status absent(const char *who, const ompjit_device *dev,
                            const void *host, size_t size,
                            const ompjit__mapped *part, ompjit_error *err)
{
    char text[OMPJIT__RANGE_TEXT];
    ompjit__range_text(text, host, size, NULL);
    return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                        "%s: %s are %s device %u; map them before that, by "
                        "target enter data or omp_target_associate_ptr: a "
                        "queue allocates nothing",
                        who, text, part ? "only in part on" : "not on",
                        dev->number);
}

/* The rest wants the table's lock. Data that another construct still brings
 * there comes first; a graph can wait for nothing that is not in it. Only a
 * device with events has arrivals. */
static ompjit_status after_arrival(ompjit_queue *queue,
                                   const ompjit__mapped *entry,
                                   ompjit_error *err)
{
    const ompjit__device_ops *ops = queue->dev->ops;
    ompjit__arrival *arrival = entry->arrival;
    if (!arrival || atomic_load(&arrival->done))
        return OMPJIT_OK;
    return queue->recording
               ? ops->events->wait(queue->dev, arrival->event, err)
               : ops->events->queue_after(queue->dev, queue->queue,
                                          arrival->event, err);
}

/* Nothing where the counterpart is the original. Attached pointers are left
 * out: the device's copy has a device address there, and the host's one of its
 * own. A failure of memory shows in pieces->failed. */
static void cut(const ompjit__mapped *entry, char *host, size_t size,
                ompjit__buf *pieces)
{
    char *end = host + size;
    while (host < end && ompjit__present_device(entry, host) != host) {
        const ompjit__attached *a =
            ompjit__present_next_attached(entry, host, end);
        char *to = a ? a->host : end;
        if (to > host) {
            piece p = {host, ompjit__present_device(entry, host),
                       (size_t)(to - host)};
            ompjit__buf_add(pieces, &p, sizeof p);
        }
        host = a ? a->host + a->size : end;
    }
}

/* Under the table's lock: the mapping, with a hold for the queue, and the
 * pieces to copy. The range is mapped as a whole or refused. `shared` tells the
 * construct that made the entry that somebody else uses it now. */
static ompjit_status find(const char *who, ompjit_queue *queue, char *host,
                          size_t size, ompjit__mapped **out,
                          ompjit__buf *pieces, ompjit_error *err)
{
    ompjit__mapped *entry;
    ompjit__arrival_wait_sent_at(queue->dev->present, host, size);
    if (ompjit__present_find(queue->dev->present, host, size, &entry) !=
        OMPJIT__CONTAINED)
        return absent(who, queue->dev, host, size, entry, err);
    ompjit_status status = after_arrival(queue, entry, err);
    if (status)
        return status;
    cut(entry, host, size, pieces);
    if (pieces->failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    entry->shared = true;
    ompjit__mapped_hold(entry);
    *out = entry;
    return OMPJIT_OK;
}

/* A copy that was put into the queue uses the mapping. So the use is added also
 * after a failure in the middle. */
static ompjit_status put(const char *who, ompjit_queue *queue,
                         enum ompjit__copy direction,
                         const ompjit__buf *pieces, ompjit_error *err)
{
    const piece *p = (const piece *)pieces->data;
    ompjit_status status = OMPJIT_OK;
    for (size_t n = pieces->size / sizeof *p; n && !status; n--, p++) {
        bool to = direction == OMPJIT__COPY_TO;
        ompjit__step step = {.direction = direction,
                             .dst = to ? p->device : p->host,
                             .src = to ? p->host : p->device,
                             .size = p->size};
        status = ompjit__queue_transfer(who, queue, step, err);
    }
    return status;
}

/* The copies are asked for without the table's lock: the hold keeps the
 * mapping. Variables of modules are mapped before the look-up
 * (ompjit__tgt_globals), since a program may name one here that no construct
 * has touched. An update of no bytes does that much and no more. */
static ompjit_status update(const char *who, ompjit_queue *queue,
                            enum ompjit__copy direction, char *host,
                            size_t size, ompjit_error *err)
{
    if (!queue || (size && !host))
        return ompjit__null_argument(who, err);
    ompjit_device *dev = queue->dev;
    ompjit__inflight inflight = {.dev = dev};
    ompjit__buf pieces = {0};
    ompjit_status status = ompjit__tgt_globals(dev->ctx->tgt, dev, err);
    if (status || !size)
        return status;
    ompjit__present_lock(dev->present);
    status = find(who, queue, host, size, &inflight.mapped, &pieces, err);
    ompjit__present_unlock(dev->present);
    if (!status) {
        status = put(who, queue, direction, &pieces, err);
        ompjit_status used =
            ompjit__queue_use(queue, &inflight, status ? NULL : err);
        status = status ? status : used;
    }
    ompjit__buf_free(&pieces);
    return status;
}

/* The host memory is read until the queue was waited for. */
ompjit_status ompjit_queue_update_to(ompjit_queue *queue, const void *host,
                                     size_t size, ompjit_error *err)
{
    return update(__func__, queue, OMPJIT__COPY_TO, (char *)(uintptr_t)host,
                  size, err);
}

ompjit_status ompjit_queue_update_from(ompjit_queue *queue, void *host,
                                       size_t size, ompjit_error *err)
{
    return update(__func__, queue, OMPJIT__COPY_FROM, host, size, err);
}

/* The device address where `host` is; host == *ptr where mapped data is the
 * original. The answer holds as long as the mapping does. */
ompjit_status ompjit_device_mapped(ompjit_device *dev, const void *host,
                                   void **ptr, ompjit_error *err)
{
    if (!dev || !host || !ptr)
        return ompjit__null_argument(__func__, err);
    ompjit_status status = ompjit__tgt_globals(dev->ctx->tgt, dev, err);
    if (status)
        return status;
    void *there = ompjit__present_lookup(dev, host);
    if (!there)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_MAP,
                            "ompjit_device_mapped: nothing at %p is mapped to "
                            "device %u",
                            host, dev->number);
    *ptr = there;
    return OMPJIT_OK;
}
