/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A construct's small storage on a device with queues. Its new small entries
 * and its private copies lie in one block:
 *
 *     private copies | entries that are copied to | other entries
 *               <------- one copy ------->
 *
 * which is allocated once, filled by one copy and freed with the last of it:
 * what stays mapped may keep OMPJIT__MOST_STAGED bytes alive. Small copies to
 * the host are asked for together when the construct waits, into page-locked
 * memory, so that none waits for another: one copy, with what is in between,
 * for pieces of the same block or entry that are near each other.
 */
#include <stdlib.h>
#include <string.h>

#include "mapping/construct.h"

enum { ALIGNMENT = 64, MOST_ALIGNMENT = 128 };

typedef struct piece {
    const void *of;     /* block or entry: one allocation */
    char *host;
    const char *device;
    const char *staged; /* once asked for                 */
    size_t size;
} piece;

/* ------------------------------------------------------------- the block */

static ompjit_status make_block(ompjit__construct *c, ompjit_error *err)
{
    if (c->gathered.block)
        return OMPJIT_OK;
    c->gathered.block = calloc(1, sizeof *c->gathered.block);
    if (!c->gathered.block)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    c->gathered.block->refs = 1;
    return OMPJIT_OK;
}

void ompjit__gather_privates(ompjit__construct *c, size_t size, size_t filled)
{
    if (!size || size > OMPJIT__MOST_STAGED || !ompjit__has_queues(c->dev))
        return;
    c->gathered.size = c->gathered.privates = size;
    c->gathered.image_begin = filled;
}

/* As the host's storage is aligned, within limits. */
static size_t alignment_of(const void *host, uint64_t pad)
{
    uintptr_t at = (uintptr_t)host - pad;
    size_t alignment = at & -at;
    return alignment < ALIGNMENT        ? ALIGNMENT
           : alignment > MOST_ALIGNMENT ? MOST_ALIGNMENT
                                        : alignment;
}

/* No less than place takes, wherever it begins. */
static size_t room_for(const void *host, uint64_t size, uint64_t pad)
{
    size_t whole = (pad + size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return whole + alignment_of(host, pad) - ALIGNMENT;
}

ompjit_status ompjit__gather_entry(ompjit__construct *c, const void *host,
                                   uint64_t size, uint64_t pad,
                                   const char *name, ompjit__mapped **out,
                                   ompjit_error *err)
{
    *out = NULL;
    if (!ompjit__gathers(c, size))
        return OMPJIT_OK;
    size_t room = room_for(host, size, pad);
    if (c->gathered.size + room > OMPJIT__MOST_STAGED)
        return OMPJIT_OK;
    ompjit_status st = make_block(c, err);
    if (!st)
        st = ompjit__construct_open(c, err);
    if (st)
        return st;
    char *floating = (char *)(uintptr_t)pad;
    ompjit__mapped *entry =
        ompjit__present_add(c->table, host, size, floating, name);
    if (!entry)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    st = ompjit__construct_fills(c, entry, err);
    if (st) {
        ompjit__present_remove(c->table, entry);
        return st;
    }
    entry->block = c->gathered.block;
    entry->block->refs++;
    entry->floating = true;
    entry->construct = c->number;
    c->gathered.size += room;
    *out = entry;
    return OMPJIT_OK;
}

/* Gives the entry its place at or behind `at`; returns where it ends. */
static size_t place(const ompjit__construct *c, ompjit__mapped *entry,
                    size_t at)
{
    if (!entry || !entry->floating || entry->block != c->gathered.block)
        return at;
    size_t pad = (uintptr_t)entry->device;
    size_t alignment = alignment_of((void *)entry->begin, pad);
    at = (at + alignment - 1) / alignment * alignment + pad;
    entry->device = (char *)c->gathered.block->memory + at;
    entry->floating = false;
    return at + (entry->end - entry->begin);
}

ompjit_status ompjit__gather_place(ompjit__construct *c, ompjit_error *err)
{
    ompjit__gathered *g = &c->gathered;
    if (!g->size)
        return OMPJIT_OK;
    ompjit_status st = make_block(c, err);
    if (!st)
        st = ompjit__construct_alloc(c, g->size, &g->block->memory, err);
    if (st)
        return st;
    size_t at = g->privates;
    for (size_t i = 0; i < c->n; i++) {
        at = place(c, c->items[i].pointer, at);
        if (ompjit__copies_in(c, &c->items[i]))
            at = place(c, c->items[i].entry, at);
    }
    g->image_end = at;
    for (size_t i = 0; i < c->n; i++)
        at = place(c, c->items[i].entry, at);
    if (g->image_end == g->image_begin)
        return OMPJIT_OK;
    g->image = calloc(1, g->image_end - g->image_begin);
    return g->image ? OMPJIT_OK : ompjit__no_memory(err, OMPJIT_STAGE_MAP);
}

ompjit_status ompjit__gather_end(ompjit__construct *c, ompjit_error *err)
{
    ompjit__gather_forget(c);
    if (!c->gathered.block)
        return OMPJIT_OK;
    ompjit__present_lock(c->table);
    void *memory = ompjit__block_drop(c->gathered.block);
    ompjit__present_unlock(c->table);
    c->gathered.block = NULL;
    return memory ? ompjit__construct_free_memory(c, memory, err) : OMPJIT_OK;
}

/* ----------------------------------------------------------- to the device */

bool ompjit__gather_copy(ompjit__construct *c, void *dst, const void *src,
                         size_t size)
{
    const ompjit__gathered *g = &c->gathered;
    if (!g->image)
        return false;
    uintptr_t image = (uintptr_t)g->block->memory + g->image_begin;
    size_t filled = g->image_end - g->image_begin;
    size_t at = (uintptr_t)dst - image;
    if (at > filled || size > filled - at)
        return false;
    memcpy(g->image + at, src, size);
    return true;
}

/* Room in the queue's staging, if need be after waiting for what has it. */
static ompjit_status stage(ompjit__construct *c, size_t size, void **room,
                           ompjit_error *err)
{
    const ompjit__device_ops *ops = c->dev->ops;
    ompjit_status st =
        ops->queued_memory->stage(c->dev, c->queue, size, room, err);
    if (!st && !*room)
        st = ops->queues->wait(c->dev, c->queue, err);
    if (!st && !*room)
        st = ops->queued_memory->stage(c->dev, c->queue, size, room, err);
    return st;
}

ompjit_status ompjit__gather_send(ompjit__construct *c, ompjit_error *err)
{
    ompjit__gathered *g = &c->gathered;
    if (!g->image)
        return OMPJIT_OK;
    char *image = g->image;
    size_t size = g->image_end - g->image_begin;
    void *room;
    g->image = NULL;
    ompjit_status st = stage(c, size, &room, err);
    if (!st) {
        memcpy(room, image, size);
        st = ompjit__construct_copy(c, OMPJIT__COPY_TO,
                                    (char *)g->block->memory + g->image_begin,
                                    room, size, err);
    }
    free(image);
    return st;
}

/* ------------------------------------------------------------- to the host */

bool ompjit__gathers(const ompjit__construct *c, size_t size)
{
    return size <= OMPJIT__SMALL_COPY && ompjit__has_queues(c->dev);
}

ompjit_status ompjit__gather_fetch(ompjit__construct *c,
                                   const ompjit__mapped *entry, char *host,
                                   size_t size, ompjit_error *err)
{
    if (ompjit__came_ahead(c, entry, host, size))
        return OMPJIT_OK;
    piece p = {.of = entry->block ? (void *)entry->block : (void *)entry,
               .host = host,
               .device = ompjit__present_device(entry, host),
               .size = size};
    ompjit_status st = ompjit__construct_open(c, err);
    if (st)
        return st;
    ompjit__buf_add(&c->gathered.pieces, &p, sizeof p);
    if (c->gathered.pieces.failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    c->copying = true;
    return OMPJIT_OK;
}

/* How many of the pieces, from the first on, one copy can bring; of what. */
static size_t one_copy(const piece *p, size_t n, const char **begin,
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

/* Asks for pieces until all are or the staging is full; *asked is counted. */
static ompjit_status ask(ompjit__construct *c, piece *p, size_t n,
                         size_t *asked, ompjit_error *err)
{
    const ompjit__device_ops *ops = c->dev->ops;
    while (*asked < n) {
        const char *begin, *end;
        void *room;
        size_t k = one_copy(p + *asked, n - *asked, &begin, &end);
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
        for (size_t i = *asked; i < *asked + k; i++)
            p[i].staged = (char *)room + (p[i].device - begin);
        *asked += k;
    }
    return OMPJIT_OK;
}

ompjit_status ompjit__gather_wait(ompjit__construct *c, ompjit_error *err)
{
    piece *p = (piece *)(void *)c->gathered.pieces.data;
    size_t n = c->gathered.pieces.size / sizeof *p, done = 0;
    ompjit_status st = OMPJIT_OK;
    c->gathered.ahead_size = 0; /* its room may be given to the pieces */
    while (done < n && !st) {
        size_t asked = done;
        st = ask(c, p, n, &asked, err);
        ompjit_status waited =
            c->dev->ops->queues->wait(c->dev, c->queue, st ? NULL : err);
        st = st ? st : waited;
        for (; done < asked && !st; done++)
            memcpy(p[done].host, p[done].staged, p[done].size);
    }
    ompjit__buf_free(&c->gathered.pieces);
    return st;
}

void ompjit__gather_forget(ompjit__construct *c)
{
    free(c->gathered.image);
    c->gathered.image = NULL;
    ompjit__buf_free(&c->gathered.pieces);
}
