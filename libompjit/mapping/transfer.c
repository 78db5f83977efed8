/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The route of each copy of a construct, as transfer.h lists them. A copy
 * leaves attached pointers alone on both sides. Nothing is copied where an
 * address is its own counterpart: on a device that shares memory, and where a
 * construct borrows the original.
 */
#include <string.h>

#include "device/check/check.h"
#include "mapping/ompt.h"
#include "mapping/transfer.h"

/* ----------------------------------------------------------- to the device */

ompjit_status ompjit__transfer_put(ompjit__construct *c, void *dst,
                                   const void *src, size_t size,
                                   ompjit_error *err)
{
    if (ompjit__small_block_fill(c, dst, src, size))
        return OMPJIT_OK;
    return ompjit__construct_enqueue(c, OMPJIT__COPY_TO, dst, src, size, err);
}

/* Copies, and writes attached pointers again behind the copy, since that brings
 * the host's values. */
static ompjit_status copy_in(ompjit__construct *c, ompjit__mapped *entry,
                             char *host, char *device, size_t size,
                             ompjit_error *err)
{
    ompjit_status st;
    if (ompjit__deferred_takes(c, entry, size))
        st = ompjit__deferred_add(c, OMPJIT__COPY_TO, device, host, size, err);
    else
        st = ompjit__transfer_put(
            c, device, ompjit__literal_source(c, entry, host), size, err);
    for (ompjit__attached *a = entry->attached; a && !st; a = a->next)
        if (ompjit__attached_in(a, host, size))
            st = ompjit__transfer_put(c, a->device, a->value, a->size, err);
    return st ? st : ompjit__arrival_mark(c, entry, err);
}

ompjit_status ompjit__transfer_to(ompjit__construct *c, ompjit__mapped *entry,
                                  char *host, size_t size, ompjit_error *err)
{
    char *device = ompjit__present_device(entry, host);
    if (device == host || !size)
        return OMPJIT_OK;
    if (!ompjit__ompt())
        return copy_in(c, entry, host, device, size, err);
    const ompjit__ompt_op op = ompjit__ompt_copy(c, true, host, device, size);
    ompjit__ompt_op_begin(&op);
    ompjit_status st = copy_in(c, entry, host, device, size, err);
    ompjit__ompt_op_end(&op);
    return st;
}

/* ------------------------------------------------------------- to the host */

/* A small section: one piece for each range between attached pointers. */
static ompjit_status fetch_small(ompjit__construct *c,
                                 const ompjit__mapped *entry, char *host,
                                 size_t size, ompjit_error *err)
{
    char *end = host + size;
    ompjit_status st = OMPJIT_OK;
    while (host < end && !st) {
        const ompjit__attached *a =
            ompjit__present_next_attached(entry, host, end);
        char *to = a ? a->host : end;
        size_t piece = to > host ? (size_t)(to - host) : 0;
        if (piece && !ompjit__early_fetch(c, entry, host, piece))
            st = ompjit__pieces_add(c, entry, host, piece, err);
        host = a ? a->host + a->size : end;
    }
    return st;
}

/* Any other section: copies the whole, over the host's attached pointers, and
 * puts these back. `saved` gets their values one after the other. */
static ompjit_status fetch_over(ompjit__construct *c,
                                const ompjit__mapped *entry, char *host,
                                size_t size, ompjit__buf *saved,
                                ompjit_error *err)
{
    for (ompjit__attached *a = entry->attached; a; a = a->next)
        if (ompjit__attached_in(a, host, size))
            ompjit__buf_add(saved, a->host, a->size);
    if (saved->failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    char *device = ompjit__present_device(entry, host);
    ompjit_status st = ompjit__construct_enqueue(c, OMPJIT__COPY_FROM, host,
                                                 device, size, err);
    if (!st && saved->size)
        st = ompjit__transfer_wait(c, err);
    size_t at = 0;
    for (ompjit__attached *a = entry->attached; a; a = a->next)
        if (ompjit__attached_in(a, host, size)) {
            memcpy(a->host, saved->data + at, a->size);
            at += a->size;
        }
    return st;
}

/* OK for a constant that clang maps implicitly, as `tofrom`: it is not copied.
 * An error for read-only storage that the program maps `from`. */
static ompjit_status read_only(const ompjit__item *it, const char *host,
                               size_t size, ompjit_error *err)
{
    if (it->type & OMPJIT__MAP_IMPLICIT)
        return OMPJIT_OK;
    char text[OMPJIT__RANGE_TEXT];
    ompjit__range_text(text, host, size, it->name);
    return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                        "%s is mapped `from`, but is read-only", text);
}

/* Under the lock. */
static ompjit_status fetch(ompjit__construct *c, ompjit__mapped *entry,
                           char *host, char *device, size_t size,
                           ompjit_error *err)
{
    if (ompjit__pieces_take(c, size))
        return fetch_small(c, entry, host, size, err);
    if (ompjit__deferred_takes(c, entry, size))
        return ompjit__deferred_add(c, OMPJIT__COPY_FROM, host, device, size,
                                    err);
    ompjit__buf saved = {0};
    ompjit_status st = fetch_over(c, entry, host, size, &saved, err);
    ompjit__buf_free(&saved);
    return st;
}

ompjit_status ompjit__transfer_from(ompjit__construct *c,
                                    const ompjit__item *it,
                                    ompjit__mapped *entry, char *host,
                                    size_t size, ompjit_error *err)
{
    char *device = ompjit__present_device(entry, host);
    if (ompjit__early_has_item(c, it) || device == host || !size)
        return OMPJIT_OK;
    if (!ompjit__writable(host, size))
        return read_only(it, host, size, err);
    if (!ompjit__ompt())
        return fetch(c, entry, host, device, size, err);
    const ompjit__ompt_op op = ompjit__ompt_copy(c, false, host, device, size);
    ompjit__ompt_op_begin(&op);
    ompjit_status st = fetch(c, entry, host, device, size, err);
    ompjit__ompt_op_end(&op);
    return st;
}

/* ----------------------------------------------------------- send and wait */

/* Gives the lock back while it sends. The arrival is unsent for that time, so
 * that others wait. */
static ompjit_status send_deferred(ompjit__construct *c, ompjit_error *err)
{
    if (!c->deferred.size)
        return OMPJIT_OK;
    ompjit__arrival_hold(c);
    ompjit__present_unlock(c->table);
    ompjit_status st = ompjit__deferred_send(c, err);
    ompjit__present_lock(c->table);
    return st;
}

ompjit_status ompjit__transfer_send(ompjit__construct *c, ompjit_status st,
                                    ompjit_error *err)
{
    if (!c->queue) /* all copies are done */
        return st;
    if (!st)
        st = ompjit__small_block_send(c, err);
    if (!st)
        st = send_deferred(c, err);
    if (!st)
        st = ompjit__arrival_record(c, err);
    ompjit__arrival_release(c);
    if (st) {
        ompjit__deferred_forget(c);
        ompjit__transfer_abandon(c);
        ompjit__transfer_waited(c);
    }
    return st;
}

/* May be called with the lock or without it; it neither takes it nor gives it
 * back. */
ompjit_status ompjit__transfer_wait(ompjit__construct *c, ompjit_error *err)
{
    if (!c->copying)
        return OMPJIT_OK;
    ompjit_status st = ompjit__deferred_send(c, err);
    if (!st)
        st = ompjit__small_block_send(c, err);
    if (!st && c->pieces.size) {
        ompjit__early_forget(c);
        st = ompjit__pieces_fetch(c, err);
    } else if (!st) {
        st = c->dev->ops->queues->wait(c->dev, c->queue, err);
    }
    if (!st)
        ompjit__transfer_waited(c);
    else /* copies under way must not write to the caller's memory later */
        c->dev->ops->queues->wait(c->dev, c->queue, NULL);
    return st;
}

void ompjit__transfer_waited(ompjit__construct *c)
{
    ompjit__construct_waited(c);
    ompjit__arrival_done(c);
}

void ompjit__transfer_abandon(ompjit__construct *c)
{
    ompjit__small_block_forget(c);
    ompjit__pieces_forget(c);
    ompjit__transfer_wait(c, NULL);
}

/* A construct without a queue has made all copies at once and has nothing else
 * to free. */
void ompjit__transfer_close(ompjit__construct *c)
{
    ompjit__small_block_end(c, NULL);
    if (!c->queue)
        return;
    ompjit__pieces_forget(c);
    ompjit__deferred_forget(c);
    ompjit__arrival_close(c);
    ompjit__construct_give_queue(c);
}
