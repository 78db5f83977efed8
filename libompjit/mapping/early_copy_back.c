/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Speculative copy-back behind the kernel, without the table's lock, before the
 * construct knows that it has to copy. A target construct puts these copies
 * right behind its kernel, so that it waits once: its small block goes into
 * page-locked memory by one copy, each other section straight to its place. It
 * is not known yet that the construct will be the last to leave the data. If
 * another construct has used a section meanwhile (`shared`), the early copy
 * does not count, and end copies again. A construct that only ends data copies
 * its long sections in the same way.
 */
#include <string.h>

#include "mapping/ompt.h"
#include "mapping/transfer.h"

/* ----------------------------------------------------------- the own block */

/* The range of the block that holds the entries mapped `from`. False: none. */
static bool find_part(const ompjit__construct *c, const char **begin,
                      const char **end)
{
    *begin = *end = NULL;
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__mapped *e = c->items[i].entry;
        if (!e || !ompjit__small_block_has(c, e) ||
            !(c->items[i].type & OMPJIT__MAP_FROM))
            continue;
        const char *first = e->device, *last = first + (e->end - e->begin);
        *begin = !*begin || first < *begin ? first : *begin;
        *end = last > *end ? last : *end;
    }
    return *begin;
}

/* Does nothing if the staging memory is full: end copies then. */
static ompjit_status copy_block(ompjit__construct *c, ompjit_error *err)
{
    const ompjit__device_ops *ops = c->dev->ops;
    const char *begin, *end;
    void *room;
    if (!find_part(c, &begin, &end))
        return OMPJIT_OK;
    size_t size = (size_t)(end - begin);
    ompjit_status st =
        ops->queued_memory->stage(c->dev, c->queue, size, &room, err);
    if (st || !room)
        return st;
    st = ops->copy(c->dev, OMPJIT__COPY_FROM, room, begin, size, c->queue, err);
    if (!st)
        c->early = (ompjit__early){begin, room, size};
    return st;
}

/* The bytes are in `staged`: the queue was waited for before end took the lock.
 */
bool ompjit__early_fetch(const ompjit__construct *c,
                         const ompjit__mapped *entry, char *host, size_t size)
{
    const ompjit__early *early = &c->early;
    const char *device = ompjit__present_device(entry, host);
    if (!early->size || !ompjit__small_block_has(c, entry) || entry->shared)
        return false;
    size_t at = (size_t)(device - early->device);
    if (at > early->size || size > early->size - at)
        return false;
    memcpy(host, early->staged + at, size);
    return true;
}

void ompjit__early_forget(ompjit__construct *c)
{
    c->early.size = 0;
}

/* ---------------------------------------------------------- other sections */

/* The addresses of a section to be copied. The entry itself may be removed
 * while the lock is not held. */
typedef struct section {
    char *host;
    const char *device;
    size_t size;
} section;

/* Will the construct copy the item when it ends, unless another construct uses
 * it meanwhile? */
static bool comes_back(const ompjit__construct *c, const ompjit__item *it)
{
    const ompjit__mapped *e = it->entry;
    if (ompjit__item_private(it) || it->type & OMPJIT__MAP_ATTACH || !e ||
        !(it->type & OMPJIT__MAP_FROM) || e->attached)
        return false;
    if (ompjit__small_block_has(c, e))
        return false;
    return it->type & OMPJIT__MAP_ALWAYS ||
           (ompjit__is_new(c, e) && !e->shared);
}

/* Collects the sections to be copied, under the lock; the copies are made
 * without it. Read-only storage is left out. */
static void find_sections(ompjit__construct *c, ompjit__buf *out)
{
    for (size_t i = 0; i < c->n; i++) {
        ompjit__item *it = &c->items[i];
        section s;
        if (!comes_back(c, it))
            continue;
        s.size = ompjit__item_held(it, it->entry, &s.host);
        s.device = ompjit__present_device(it->entry, s.host);
        if (!s.size || s.device == s.host || !ompjit__writable(s.host, s.size))
            continue;
        ompjit__buf_add(out, &s, sizeof s);
        it->early = true;
    }
}

/* Copies straight into the application's memory; the construct waits for it. */
static ompjit_status copy_section(const ompjit__construct *c, const section *s,
                                  ompjit_error *err)
{
    const bool told = ompjit__ompt();
    const ompjit__ompt_op op =
        ompjit__ompt_copy(c, false, s->host, s->device, s->size);
    if (told)
        ompjit__ompt_op_begin(&op);
    ompjit_status st = c->dev->ops->copy(c->dev, OMPJIT__COPY_FROM, s->host,
                                         s->device, s->size, c->queue, err);
    if (told)
        ompjit__ompt_op_end(&op);
    return st;
}

static ompjit_status copy_all(const ompjit__construct *c,
                              const ompjit__buf *found, ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    if (found->failed)
        st = ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    const section *s = (const section *)(void *)found->data;
    for (size_t i = 0; i < found->size / sizeof *s && !st; i++)
        st = copy_section(c, &s[i], err);
    return st;
}

static ompjit_status copy_sections(ompjit__construct *c, ompjit_error *err)
{
    ompjit__buf found = {0};
    ompjit__present_lock(c->table);
    find_sections(c, &found);
    ompjit__present_unlock(c->table);
    ompjit_status st = copy_all(c, &found, err);
    ompjit__buf_free(&found);
    return st;
}

/* The early copy counts unless another construct has looked the entry up since.
 * With `always` it counts in any case: other accesses would be data races. */
bool ompjit__early_has_item(const ompjit__construct *c, const ompjit__item *it)
{
    return it->early && (it->type & OMPJIT__MAP_ALWAYS ||
                         (ompjit__is_new(c, it->entry) && !it->entry->shared));
}

ompjit_status ompjit__early_copy(ompjit__construct *c, ompjit_error *err)
{
    ompjit_status st = copy_block(c, err);
    return st ? st : copy_sections(c, err);
}

/* ----------------------------------------------------- data that only ends */

/* Is the item a section of its own, and long enough for an early copy? */
static bool is_large(const ompjit__item *it)
{
    const uint64_t composed = OMPJIT__MAP_PTR_AND_OBJ | OMPJIT__MAP_MEMBER_OF |
                              OMPJIT__MAP_ATTACH;
    return !ompjit__item_private(it) && !(it->type & composed) &&
           it->type & OMPJIT__MAP_FROM && it->size > OMPJIT__SMALL_COPY;
}

/* Finds the item's entry. If the construct will be the last to leave it, marks
 * it as made by this construct: `shared` then tells of later users. */
static ompjit_status claim(ompjit__construct *c, ompjit__item *it,
                           ompjit_error *err)
{
    ompjit__mapped *e;
    if (!is_large(it) ||
        ompjit__present_find(c->table, it->begin, (uint64_t)it->size, &e) !=
            OMPJIT__CONTAINED)
        return OMPJIT_OK;
    if (ompjit__mapped_count(e) == 1 && *ompjit__item_counter(e, it) == 1) {
        e->construct = c->number;
        e->shared = false;
    }
    it->entry = e;
    return ompjit__arrival_come_after(c, e, err);
}

/* Takes the lock, and gives it back while it waits for others' copies. */
static ompjit_status claim_all(ompjit__construct *c, ompjit__buf *found,
                               ompjit_error *err)
{
    ompjit_status st = OMPJIT_OK;
    ompjit__present_lock(c->table);
    ompjit__arrival_wait_sent(c);
    c->number = ++c->table->constructs;
    for (size_t i = 0; i < c->n && !st; i++)
        st = claim(c, &c->items[i], err);
    if (!st)
        find_sections(c, found);
    ompjit__present_unlock(c->table);
    return st;
}

/* Does nothing for short sections: end copies these together. */
ompjit_status ompjit__early_copy_ending(ompjit__construct *c, ompjit_error *err)
{
    size_t i = 0;
    while (i < c->n && !is_large(&c->items[i]))
        i++;
    if (i == c->n || !ompjit__has_queues(c->dev))
        return OMPJIT_OK;
    ompjit__buf found = {0};
    ompjit_status st = claim_all(c, &found, err);
    if (st || (!found.size && !found.failed))
        return st;
    st = ompjit__construct_take_queue(c, err);
    if (!st) {
        ompjit__construct_expect_copies(c);
        st = copy_all(c, &found, err);
    }
    ompjit__buf_free(&found);
    return st;
}
