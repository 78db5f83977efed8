/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The caller's map arrays as a list of items, with user-defined mappers
 * called. Mappers are the program's code, so this is done before any lock is
 * taken. Also an item beside the entry that was found for it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mapping/construct.h"

/* Called by the program's mappers, which cannot be told of a failure: `failed`
 * is looked at when they have returned. */
void ompjit__components_add(ompjit__components *c, ompjit__component one)
{
    if (c->n == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 16;
        ompjit__component *list = c->failed ? NULL :
            realloc(c->list, capacity * sizeof *list);
        if (!list) {
            c->failed = true;
            return;
        }
        c->list = list;
        c->capacity = capacity;
    }
    c->list[c->n++] = one;
}

/* Room for `more` items. The items move, so nobody keeps pointers to them
 * before all are read. */
static ompjit_status reserve(ompjit__construct *c, size_t more,
                             ompjit_error *err)
{
    if (more <= c->capacity - c->n)
        return OMPJIT_OK;
    size_t capacity = 2 * c->capacity + more;
    ompjit__item *items = malloc(capacity * sizeof *items);
    if (!items)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    memcpy(items, c->items, c->n * sizeof *items);
    if (c->items != c->few)
        free(c->items);
    c->items = items;
    c->capacity = capacity;
    return OMPJIT_OK;
}

/* The form of the mapper functions that clang makes. */
typedef void mapper_fn(void *handle, void *base, void *begin, int64_t size,
                       int64_t type, void *name);

/* Calls entry i's mapper; its components become items in their order. */
static ompjit_status add_mapped(ompjit__construct *c, int32_t i,
                                ompjit_error *err)
{
    const ompjit__maps *m = c->maps;
    ompjit__components list = {0};
    mapper_fn *mapper = (mapper_fn *)(uintptr_t)m->mappers[i];
    mapper(&list, m->bases[i], m->begins[i], m->sizes[i], m->types[i],
           m->names ? m->names[i] : NULL);
    ompjit_status st = list.failed ? ompjit__no_memory(err, OMPJIT_STAGE_MAP)
                                   : reserve(c, list.n, err);
    for (size_t k = 0; !st && k < list.n; k++) {
        const ompjit__component *from = &list.list[k];
        c->items[c->n++] = (ompjit__item){
            .base = from->base, .begin = from->begin, .size = from->size,
            .type = (uint64_t)from->type, .name = from->name, .index = i,
            .component = true,
            .combined = k + 1 < list.n &&
                ompjit__map_parent((uint64_t)from->type) < 0 &&
                ompjit__map_parent((uint64_t)from[1].type) == (int)k,
        };
    }
    free(list.list);
    return st;
}

/* MAPPING error for a negative size, which a section a[n:m-n] may come to. */
static ompjit_status check_sizes(const ompjit__construct *c, ompjit_error *err)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].size < 0)
            return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                                "map entry %d at %p has the size %" PRId64,
                                c->items[i].index, (void *)c->items[i].begin,
                                c->items[i].size);
    return OMPJIT_OK;
}

/* A dummy of Fortran's that is absent: there is nothing to map, and a pointer
 * without an address has no object. */
static bool is_absent(const ompjit__maps *maps, int32_t i)
{
    return !maps->bases[i] && !maps->begins[i];
}

ompjit_status ompjit__items_read(ompjit__construct *c, ompjit_error *err)
{
    const ompjit__maps *maps = c->maps;
    c->items = c->few;
    c->n = 0;
    c->capacity = OMPJIT__FEW_ITEMS;
    if (maps->n < 0)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_MAP,
                            "a construct with %d map entries", maps->n);
    ompjit_status st = reserve(c, (size_t)maps->n, err);
    for (int32_t i = 0; !st && i < maps->n; i++) {
        uint64_t type = (uint64_t)maps->types[i];
        const bool absent = is_absent(maps, i);
        if (absent)
            type &= ~(uint64_t)OMPJIT__MAP_PTR_AND_OBJ;
        if (maps->mappers && maps->mappers[i] &&
            !(type & (OMPJIT__MAP_LITERAL | OMPJIT__MAP_PRIVATE))) {
            st = add_mapped(c, i, err);
            continue;
        }
        if ((st = reserve(c, 1, err)))
            break;
        c->items[c->n++] = (ompjit__item){
            .base = maps->bases[i], .begin = maps->begins[i],
            .size = absent ? 0 : maps->sizes[i], .type = type,
            .name = maps->names ? maps->names[i] : NULL, .index = i,
            .combined = i + 1 < maps->n && ompjit__map_parent(type) < 0 &&
                ompjit__map_parent((uint64_t)maps->types[i + 1]) == i,
        };
    }
    if (!st)
        st = check_sizes(c, err);
    if (!st)
        ompjit__sections_span(c);
    return st;
}

void ompjit__items_free(ompjit__construct *c)
{
    if (c->items != c->few)
        free(c->items);
}

/* ----------------------------------------------- items and present entries */

size_t ompjit__item_held(const ompjit__item *it, const ompjit__mapped *entry,
                         char **host)
{
    uintptr_t begin = (uintptr_t)it->begin, end = begin + (uint64_t)it->size;
    if (begin < entry->begin)
        begin = entry->begin;
    if (end > entry->end)
        end = entry->end;
    *host = (char *)begin;
    return end > begin ? end - begin : 0;
}

/* The item in messages. */
static void item_text(char text[OMPJIT__RANGE_TEXT], const ompjit__item *it)
{
    ompjit__range_text(text, it->begin, (uint64_t)it->size, it->name);
}

ompjit_status ompjit__item_overlaps(const ompjit__construct *c,
                                    const char *doing, const ompjit__item *it,
                                    const ompjit__mapped *entry,
                                    ompjit_error *err)
{
    char want[OMPJIT__RANGE_TEXT], have[OMPJIT__RANGE_TEXT];
    item_text(want, it);
    ompjit__range_text(have, (void *)entry->begin, entry->end - entry->begin,
                       entry->name);
    return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                        "cannot %s %s: only a part of it is on device %u, by "
                        "the mapping of %s",
                        doing, want, c->dev->number, have);
}

ompjit_status ompjit__item_absent(const ompjit__construct *c,
                                  const ompjit__item *it, ompjit_error *err)
{
    char want[OMPJIT__RANGE_TEXT];
    if (!(it->type & OMPJIT__MAP_PRESENT) || ompjit__is_unified(c->dev))
        return OMPJIT_OK;
    item_text(want, it);
    return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                        "%s must be present on device %u (`present` modifier) "
                        "and is not", want, c->dev->number);
}
