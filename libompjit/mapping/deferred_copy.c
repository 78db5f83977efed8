/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Long copies of a construct are put off until it has done with the table,
 * whose lock is given back for as long as it takes to ask for them: of pageable
 * memory all has been read or written when the device's copy returns, and
 * meanwhile others could not even look at theirs. A construct that needs the
 * data waits until the copy is enqueued, and then comes after it as after any
 * arrival.
 */
#include "mapping/construct.h"

typedef struct late {
    enum ompjit__copy direction;
    void *dst;
    const void *src;
    size_t size;
} late;

/* Pointers that are attached go into what has been filled. */
static bool attaches(const ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ))
            return true;
    return false;
}

static bool is_late(const ompjit__construct *c, const ompjit__mapped *entry,
                    size_t size)
{
    return size > OMPJIT__LONG_COPY && c->queue && !entry->attached &&
           !attaches(c);
}

ompjit_status ompjit__construct_copy_entry(ompjit__construct *c,
                                           const ompjit__mapped *entry,
                                           enum ompjit__copy direction,
                                           void *dst, const void *src,
                                           size_t size, ompjit_error *err)
{
    ompjit_status st = ompjit__construct_open(c, err);
    if (st || !is_late(c, entry, size))
        return st ? st
                  : ompjit__construct_copy(c, direction, dst, src, size, err);
    late one = {direction, dst, src, size};
    ompjit__buf_add(&c->late, &one, sizeof one);
    c->copying = true;
    return c->late.failed ? ompjit__no_memory(err, OMPJIT_STAGE_MAP)
                          : OMPJIT_OK;
}

ompjit_status ompjit__late_send(ompjit__construct *c, ompjit_error *err)
{
    const late *all = (const late *)(void *)c->late.data;
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; i < c->late.size / sizeof *all && !st; i++)
        st = c->dev->ops->copy(c->dev, all[i].direction, all[i].dst,
                               all[i].src, all[i].size, c->queue, err);
    ompjit__buf_free(&c->late);
    return st;
}

ompjit_status ompjit__late_send_unlocked(ompjit__construct *c,
                                         ompjit_error *err)
{
    ompjit__present *table = c->table;
    if (!c->late.size)
        return OMPJIT_OK;
    if (c->arrival) {
        c->arrival->unsent = true;
        table->unsent++;
    }
    ompjit__present_unlock(table);
    ompjit_status st = ompjit__late_send(c, err);
    ompjit__present_lock(table);
    return st;
}

void ompjit__late_sent(ompjit__construct *c)
{
    if (!c->arrival || !c->arrival->unsent)
        return;
    c->arrival->unsent = false;
    c->table->unsent--;
    pthread_cond_broadcast(&c->table->sent);
}

/* ---------------------------------------------------------- who needs them */

static bool is_unsent(ompjit__present *table, const void *host, uint64_t size)
{
    ompjit__mapped *entry;
    ompjit__present_find(table, host, size, &entry);
    return entry && entry->arrival && entry->arrival->unsent;
}

void ompjit__late_wait_at(ompjit__present *table, const void *host,
                          uint64_t size)
{
    while (table->unsent && is_unsent(table, host, size))
        pthread_cond_wait(&table->sent, &table->lock);
}

/* Sections that are not contiguous may meet anything. */
static bool needs_unsent(const ompjit__construct *c, const ompjit__item *it)
{
    if (ompjit__item_private(it))
        return false;
    return it->type & OMPJIT__MAP_NON_CONTIG ||
           is_unsent(c->table, it->begin, (uint64_t)it->size) ||
           (it->type & (OMPJIT__MAP_PTR_AND_OBJ | OMPJIT__MAP_ATTACH) &&
            is_unsent(c->table, it->base, OMPJIT__POINTER_SIZE));
}

void ompjit__late_wait(ompjit__construct *c)
{
    for (size_t i = 0; c->table->unsent && i < c->n;) {
        if (needs_unsent(c, &c->items[i])) {
            pthread_cond_wait(&c->table->sent, &c->table->lock);
            i = 0;
        } else {
            i++;
        }
    }
}
