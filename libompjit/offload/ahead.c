/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a target construct copies to the host right behind its kernel, so that it
 * waits once: what its own block has, by one copy into page-locked memory, and
 * each other section straight to its place. Nobody knows yet that the construct
 * will be the last to leave the data, so of sections that somebody else has used
 * meanwhile it is not believed, and those are copied again.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/construct.h"

/* ------------------------------------------------------------ the own block */

/* The range of the block that has what is mapped from. */
static bool find_ahead(const ompjit__construct *c, const char **begin,
                       const char **end)
{
    *begin = *end = NULL;
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__mapped *e = c->items[i].entry;
        if (!e || !c->gathered.block || e->block != c->gathered.block ||
            !(c->items[i].type & OMPJIT__MAP_FROM))
            continue;
        const char *first = e->device, *last = first + (e->end - e->begin);
        *begin = !*begin || first < *begin ? first : *begin;
        *end = last > *end ? last : *end;
    }
    return *begin;
}

static ompjit_status copy_block(ompjit__construct *c, ompjit_error *err)
{
    ompjit__gathered *g = &c->gathered;
    const ompjit__device_ops *ops = c->dev->ops;
    const char *begin, *end;
    void *room;
    if (!find_ahead(c, &begin, &end))
        return OMPJIT_OK;
    size_t size = (size_t)(end - begin);
    ompjit_status st = ops->stage(c->dev, c->queue, size, &room, err);
    if (st || !room)
        return st;
    st = ops->copy(c->dev, OMPJIT__COPY_FROM, room, begin, size, c->queue, err);
    if (!st) {
        g->ahead = begin;
        g->ahead_size = size;
        g->ahead_at = room;
    }
    return st;
}

bool ompjit__came_ahead(const ompjit__construct *c, const ompjit__mapped *entry,
                       char *host, size_t size)
{
    const ompjit__gathered *g = &c->gathered;
    const char *device = ompjit__present_device(entry, host);
    if (!g->ahead_size || entry->block != g->block || entry->shared)
        return false;
    size_t at = (size_t)(device - g->ahead);
    if (at > g->ahead_size || size > g->ahead_size - at)
        return false;
    memcpy(host, g->ahead_at + at, size);
    return true;
}

/* ---------------------------------------------------------- other sections */

typedef struct section {
    char *host;
    const char *device;
    size_t size;
} section;

/* Will the construct copy the item when it ends, if nobody else comes? */
static bool comes_back(const ompjit__construct *c, const ompjit__item *it)
{
    const ompjit__mapped *e = it->entry;
    if (ompjit__item_private(it) || it->type & OMPJIT__MAP_ATTACH || !e ||
        !(it->type & OMPJIT__MAP_FROM) || e->attached)
        return false;
    if (e->block && e->block == c->gathered.block)
        return false;
    return it->type & OMPJIT__MAP_ALWAYS ||
           (ompjit__is_new(c, e) && !e->shared);
}

/* The items' sections; under the lock, which the copies are not. Constants that
 * are mapped all the same stay what they are. */
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
        it->ahead = true;
    }
}

static ompjit_status copy_sections(ompjit__construct *c, ompjit_error *err)
{
    ompjit__buf found = {0};
    ompjit_status st = OMPJIT_OK;
    ompjit__present_lock(c->table);
    find_sections(c, &found);
    ompjit__present_unlock(c->table);
    if (found.failed)
        st = ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    const section *s = (const section *)(void *)found.data;
    for (size_t i = 0; i < found.size / sizeof *s && !st; i++)
        st = c->dev->ops->copy(c->dev, OMPJIT__COPY_FROM, s[i].host,
                               s[i].device, s[i].size, c->queue, err);
    ompjit__buf_free(&found);
    return st;
}

bool ompjit__item_came(const ompjit__construct *c, const ompjit__item *it)
{
    return it->ahead && (it->type & OMPJIT__MAP_ALWAYS ||
                         (ompjit__is_new(c, it->entry) && !it->entry->shared));
}

ompjit_status ompjit__copy_ahead(ompjit__construct *c, ompjit_error *err)
{
    ompjit_status st = copy_block(c, err);
    return st ? st : copy_sections(c, err);
}
