/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The order of constructs on a device that has queues. The entries that a
 * construct fills have its arrival: an event in its queue, behind its copies.
 * The queues of other constructs that use these entries wait for the event, so
 * that the table's lock need not be held while data is under way. An arrival is
 * unsent while its copies are still to be put into the queue: it has no event
 * yet, and a thread whose construct needs the data waits until it has.
 */
#include <stdlib.h>

#include "mapping/transfer.h"

/* The construct and each entry hold a reference. An entry that another
 * construct has filled before gets this one's arrival: this queue waits for
 * that one anyway (ompjit__arrival_come_after). */
ompjit_status ompjit__arrival_mark(ompjit__construct *c, ompjit__mapped *entry,
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

/* Marks the arrival unsent, until release. Others wait for the table's change.
 */
void ompjit__arrival_hold(ompjit__construct *c)
{
    if (!c->arrival)
        return;
    c->arrival->unsent = true;
    c->table->unsent++;
}

/* Does nothing where nothing is held, so that each way out may call it. */
void ompjit__arrival_release(ompjit__construct *c)
{
    if (!c->arrival || !c->arrival->unsent)
        return;
    c->arrival->unsent = false;
    c->table->unsent--;
    ompjit__present_tell_change(c->table);
}

/* Only after all copies are in the queue: the event is behind them. */
ompjit_status ompjit__arrival_record(ompjit__construct *c, ompjit_error *err)
{
    if (!c->arrival)
        return OMPJIT_OK;
    return c->dev->ops->events->record(c->dev, c->queue, false,
                                       &c->arrival->event, err);
}

/* Spares others a query of the event. */
void ompjit__arrival_done(ompjit__construct *c)
{
    if (c->arrival)
        atomic_store(&c->arrival->done, true);
}

/* The entries may keep the arrival longer. */
void ompjit__arrival_close(ompjit__construct *c)
{
    if (!c->arrival)
        return;
    ompjit__present_lock(c->table);
    ompjit__arrival_drop(c->arrival);
    ompjit__present_unlock(c->table);
}

/* ------------------------------------------------------------- come after */

/* Queries the event if no thread has waited for the queue since, as after a
 * construct that only allocates. */
static bool is_done(ompjit__arrival *arrival)
{
    bool done = atomic_load(&arrival->done);
    if (!done && !arrival->dev->ops->events->query(arrival->dev,
                                                   arrival->event, &done,
                                                   NULL) &&
        done)
        atomic_store(&arrival->done, true);
    return done;
}

/* Has the construct's queue, not its thread, wait for the event. An entry whose
 * copies are done loses its arrival, so that the next construct need not query
 * it. */
ompjit_status ompjit__arrival_come_after(ompjit__construct *c,
                                         ompjit__mapped *entry,
                                         ompjit_error *err)
{
    ompjit__arrival *arrival = entry->arrival;
    if (!arrival || arrival == c->arrival)
        return OMPJIT_OK;
    if (is_done(arrival)) {
        entry->arrival = NULL;
        ompjit__arrival_drop(arrival);
        return OMPJIT_OK;
    }
    ompjit_status st = ompjit__construct_take_queue(c, err);
    if (st)
        return st;
    return c->dev->ops->events->queue_after(c->dev, c->queue, arrival->event,
                                            err);
}

/* --------------------------------------------------- wait until it is sent */

/* Are the copies that fill the storage still to be put into a queue? */
static bool is_unsent(ompjit__present *table, const void *host, uint64_t size)
{
    ompjit__mapped *entry;
    ompjit__present_find(table, host, size, &entry);
    return entry && entry->arrival && entry->arrival->unsent;
}

void ompjit__arrival_wait_sent_at(ompjit__present *table, const void *host,
                                  uint64_t size)
{
    while (table->unsent && is_unsent(table, host, size))
        ompjit__present_wait_change(table);
}

/* A section with strides counts as meeting any entry: its extent is not read
 * here. */
static bool needs_unsent(const ompjit__construct *c, const ompjit__item *it)
{
    if (ompjit__item_private(it))
        return false;
    return it->type & OMPJIT__MAP_NON_CONTIG ||
           is_unsent(c->table, it->begin, (uint64_t)it->size) ||
           (it->type & (OMPJIT__MAP_PTR_AND_OBJ | OMPJIT__MAP_ATTACH) &&
            is_unsent(c->table, it->base, OMPJIT__POINTER_SIZE));
}

/* Each wait gives the lock back, so all items are checked again after it. */
void ompjit__arrival_wait_sent(ompjit__construct *c)
{
    for (size_t i = 0; c->table->unsent && i < c->n;) {
        if (needs_unsent(c, &c->items[i])) {
            ompjit__present_wait_change(c->table);
            i = 0;
        } else {
            i++;
        }
    }
}
