/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A construct's small new storage on a device with queues: its new small
 * entries and its private copies lie in one block, which is allocated once,
 * filled by one copy, and freed with the last entry in it:
 *
 *     private copies | entries that are copied to | other entries
 *               <------- one copy ------->
 *
 * A small entry that stays mapped may so keep OMPJIT__MOST_STAGED bytes. The
 * one copy reads an image of its range, which the construct's copies to the
 * device fill on the host (ompjit__small_block_fill).
 */
#include <stdlib.h>
#include <string.h>

#include "mapping/transfer.h"

/* Bytes: the least alignment in the block, and the most that is kept of the
 * host's. */
enum { ALIGNMENT = 64, MOST_ALIGNMENT = 128 };

/* ------------------------------------------------------------- the block */

/* The construct holds a reference until small_block_end, each entry another. */
static ompjit_status make_block(ompjit__construct *c, ompjit_error *err)
{
    if (c->small.block)
        return OMPJIT_OK;
    c->small.block = calloc(1, sizeof *c->small.block);
    if (!c->small.block)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    c->small.block->refs = 1;
    return OMPJIT_OK;
}

void ompjit__small_block_reserve(ompjit__construct *c, size_t size,
                                 size_t filled)
{
    if (!size || size > OMPJIT__MOST_STAGED || !ompjit__has_queues(c->dev))
        return;
    c->small.size = c->small.privates = size;
    c->small.image_begin = filled;
}

/* The alignment of the host's storage, within limits. */
static size_t alignment_of(const void *host, uint64_t pad)
{
    uintptr_t at = (uintptr_t)host - pad;
    size_t alignment = at & -at;
    return alignment < ALIGNMENT        ? ALIGNMENT
           : alignment > MOST_ALIGNMENT ? MOST_ALIGNMENT
                                        : alignment;
}

/* The most bytes that `place` uses, behind any multiple of ALIGNMENT. */
static size_t room_for(const void *host, uint64_t size, uint64_t pad)
{
    size_t whole = (pad + size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return whole + alignment_of(host, pad) - ALIGNMENT;
}

ompjit_status ompjit__small_block_add(ompjit__construct *c, const void *host,
                                      uint64_t size, uint64_t pad,
                                      const char *name, ompjit__mapped **out,
                                      ompjit_error *err)
{
    *out = NULL;
    if (size > OMPJIT__SMALL_COPY || !ompjit__has_queues(c->dev))
        return OMPJIT_OK;
    size_t room = room_for(host, size, pad);
    if (c->small.size + room > OMPJIT__MOST_STAGED)
        return OMPJIT_OK;
    ompjit_status st = make_block(c, err);
    if (!st)
        st = ompjit__construct_take_queue(c, err);
    if (st)
        return st;
    char *floating = (char *)(uintptr_t)pad;
    ompjit__mapped *entry =
        ompjit__present_add(c->table, host, size, floating, name);
    if (!entry)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    st = ompjit__arrival_mark(c, entry, err);
    if (st) {
        ompjit__present_remove(c->table, entry);
        return st;
    }
    entry->block = c->small.block;
    entry->block->refs++;
    entry->floating = true;
    entry->construct = c->number;
    c->small.size += room;
    *out = entry;
    return OMPJIT_OK;
}

/* Gives a floating entry its offset in the block, at `at` or behind; returns
 * the end. Returns `at` for any other entry. */
static size_t place(const ompjit__construct *c, ompjit__mapped *entry,
                    size_t at)
{
    if (!entry || !entry->floating || entry->block != c->small.block)
        return at;
    size_t pad = (uintptr_t)entry->device;
    size_t alignment = alignment_of((void *)entry->begin, pad);
    at = (at + alignment - 1) / alignment * alignment + pad;
    entry->device = (char *)c->small.block->memory + at;
    entry->floating = false;
    return at + (entry->end - entry->begin);
}

/* Entries that are copied to come before the others, so that one copy fills
 * them and the private copies before them. */
ompjit_status ompjit__small_block_place(ompjit__construct *c, ompjit_error *err)
{
    ompjit__small_block *b = &c->small;
    if (!b->size)
        return OMPJIT_OK;
    ompjit_status st = make_block(c, err);
    if (!st)
        st = ompjit__construct_alloc(c, b->size, &b->block->memory, err);
    if (st)
        return st;
    size_t at = b->privates;
    for (size_t i = 0; i < c->n; i++) {
        at = place(c, c->items[i].pointer, at);
        if (ompjit__copies_in(c, &c->items[i]))
            at = place(c, c->items[i].entry, at);
    }
    b->image_end = at;
    for (size_t i = 0; i < c->n; i++)
        at = place(c, c->items[i].entry, at);
    if (b->image_end == b->image_begin)
        return OMPJIT_OK;
    b->image = calloc(1, b->image_end - b->image_begin);
    return b->image ? OMPJIT_OK : ompjit__no_memory(err, OMPJIT_STAGE_MAP);
}

/* Entries that stay mapped keep the block's memory. */
ompjit_status ompjit__small_block_end(ompjit__construct *c, ompjit_error *err)
{
    if (!c->small.block)
        return OMPJIT_OK;
    ompjit__small_block_forget(c);
    ompjit__present_lock(c->table);
    void *memory = ompjit__block_drop(c->small.block);
    ompjit__present_unlock(c->table);
    c->small.block = NULL;
    return memory ? ompjit__construct_free_memory(c, memory, err) : OMPJIT_OK;
}

/* ----------------------------------------------------------- to the device */

/* Compares `dst` as a number: it may point into another allocation. */
bool ompjit__small_block_fill(ompjit__construct *c, void *dst, const void *src,
                              size_t size)
{
    const ompjit__small_block *b = &c->small;
    if (!b->image)
        return false;
    uintptr_t image = (uintptr_t)b->block->memory + b->image_begin;
    size_t filled = b->image_end - b->image_begin;
    size_t at = (uintptr_t)dst - image;
    if (at > filled || size > filled - at)
        return false;
    memcpy(b->image + at, src, size);
    return true;
}

/* Room in the queue's page-locked staging memory. If it is full, waits for the
 * copies that use it. */
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

/* Frees the image, also if the copy fails. */
ompjit_status ompjit__small_block_send(ompjit__construct *c, ompjit_error *err)
{
    ompjit__small_block *b = &c->small;
    if (!b->image)
        return OMPJIT_OK;
    char *image = b->image;
    size_t size = b->image_end - b->image_begin;
    void *room;
    b->image = NULL;
    ompjit_status st = stage(c, size, &room, err);
    if (!st) {
        memcpy(room, image, size);
        st = ompjit__construct_enqueue(
            c, OMPJIT__COPY_TO, (char *)b->block->memory + b->image_begin, room,
            size, err);
    }
    free(image);
    return st;
}

void ompjit__small_block_forget(ompjit__construct *c)
{
    free(c->small.image);
    c->small.image = NULL;
}
