/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Fortran's array sections that are not contiguous. A dummy argument such as
 * a(:, :) may stand for every second element of an array. flang maps its
 * descriptor (CFI_cdesc_t), and of its data as many bytes as the elements have,
 * where they stand apart and device code goes by the descriptor's strides. Such an
 * item becomes all from the first to the last element. For `target update` flang
 * tells the bytes alone, and the entry remembers whose they are.
 *
 * The descriptor follows flang/ISO_Fortran_binding.h of LLVM 22.
 */
#include <stddef.h>
#include <string.h>

#include "mapping/construct.h"

enum { CFI_VERSION = 20240719, MOST_DIMENSIONS = 15 };

struct dimension {
    int64_t lower_bound;
    int64_t extent;
    int64_t stride; /* bytes */
};

struct descriptor {
    char *data;
    uint64_t element; /* bytes */
    int32_t version;
    uint8_t rank;
    uint8_t type, attribute, extra;
    struct dimension dimensions[MOST_DIMENSIONS];
};

/* The item that item i is a member of; NULL: none. */
static const ompjit__item *parent_of(const ompjit__construct *c, size_t i)
{
    int parent = ompjit__map_parent(c->items[i].type);
    for (size_t k = i; k-- > 0 && parent >= 0;)
        if (c->items[k].index == parent && !c->items[k].component)
            return &c->items[k];
    return NULL;
}

/* Copies the descriptor whose pointer to its data is at item->base. False: there
 * is none. Only what the parent has is read. */
static bool read_descriptor(const ompjit__item *it, const ompjit__item *parent,
                            struct descriptor *d)
{
    const size_t head = offsetof(struct descriptor, dimensions);
    if (!parent || parent->begin != it->base ||
        parent->size < (int64_t)(head + sizeof *d->dimensions))
        return false;
    memcpy(d, it->base, head);
    const size_t size = head + d->rank * sizeof *d->dimensions;
    if (d->version != CFI_VERSION || !d->rank || d->rank > MOST_DIMENSIONS ||
        parent->size < (int64_t)size)
        return false;
    memcpy(d, it->base, size);
    return true;
}

/* How far the first and the last element in memory are from d->data, in bytes.
 * False: they have as many bytes as the elements, or the item has another number
 * of these. */
static bool is_spread(const struct descriptor *d, int64_t size, int64_t *first,
                      int64_t *last)
{
    int64_t whole = (int64_t)d->element;
    *first = *last = 0;
    for (unsigned i = 0; i < d->rank; i++) {
        const struct dimension *dim = &d->dimensions[i];
        int64_t *end = dim->stride < 0 ? first : last, reach;
        if (dim->extent <= 0 ||
            __builtin_mul_overflow(whole, dim->extent, &whole) ||
            __builtin_mul_overflow(dim->extent - 1, dim->stride, &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return false;
    }
    return whole == size && *last - *first + (int64_t)d->element > size;
}

void ompjit__sections_span(ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++) {
        ompjit__item *it = &c->items[i];
        struct descriptor d;
        int64_t first, last;
        if (it->component || !(it->type & OMPJIT__MAP_PTR_AND_OBJ) ||
            !read_descriptor(it, parent_of(c, i), &d) || it->begin != d.data ||
            !is_spread(&d, it->size, &first, &last))
            continue;
        it->first = d.data;
        it->elements = (uint64_t)it->size;
        it->begin += first;
        it->size = last - first + (int64_t)d.element;
    }
}

void ompjit__section_note(const ompjit__item *it, ompjit__mapped *entry)
{
    entry->first = it->first;
    entry->elements = it->elements;
}

/* A section of C's with these bounds cannot be told from it: then what is between
 * the elements is copied, too. */
void ompjit__section_find(ompjit__present *table, ompjit__item *it)
{
    ompjit__mapped *entry;
    ompjit__present_find(table, it->begin, 1, &entry);
    if (!entry || !entry->elements || entry->first != it->begin ||
        entry->elements != (uint64_t)it->size)
        return;
    it->begin = (char *)entry->begin;
    it->size = (int64_t)(entry->end - entry->begin);
}
