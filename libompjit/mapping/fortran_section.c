/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Fortran's array sections that are not contiguous, and characters of deferred
 * length. A dummy argument such as a(:, :) may stand for every second element of
 * an array. flang maps its descriptor (CFI_cdesc_t), and of its data as many bytes
 * as the elements have, where they stand apart and device code goes by the
 * descriptor's strides; of such characters, as many as if their length was one. An
 * item of either becomes all from the first to the last element. For `target
 * update` flang tells the bytes alone, and the entry remembers whose they are.
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
 * is none. Only what the parent has is read. A scalar's has rank 0. */
static bool read_descriptor(const ompjit__item *it, const ompjit__item *parent,
                            struct descriptor *d)
{
    const size_t head = offsetof(struct descriptor, dimensions);
    if (!parent || parent->begin != it->base ||
        parent->size < (int64_t)head)
        return false;
    memcpy(d, it->base, head);
    const size_t size = head + d->rank * sizeof *d->dimensions;
    if (d->version != CFI_VERSION || d->rank > MOST_DIMENSIONS ||
        parent->size < (int64_t)size)
        return false;
    memcpy(d, it->base, size);
    return true;
}

/* The bytes of one character; 0: the elements are none. */
static int64_t character_size(const struct descriptor *d)
{
    enum { CHAR = 40, CHAR16 = 43, CHAR32 = 44 };
    return d->type == CHAR     ? 1
           : d->type == CHAR16 ? 2
           : d->type == CHAR32 ? 4
                               : 0;
}

/* How far the first and the last element in memory are from d->data, in bytes.
 * False: they have as many bytes as the item, or this is not about all elements. */
static bool is_spread(const struct descriptor *d, int64_t size, int64_t *first,
                      int64_t *last)
{
    int64_t n = 1, whole;
    *first = *last = 0;
    for (unsigned i = 0; i < d->rank; i++) {
        const struct dimension *dim = &d->dimensions[i];
        int64_t *end = dim->stride < 0 ? first : last, reach;
        if (dim->extent <= 0 ||
            __builtin_mul_overflow(n, dim->extent, &n) ||
            __builtin_mul_overflow(dim->extent - 1, dim->stride, &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return false;
    }
    bool is_all =
        !__builtin_mul_overflow(n, (int64_t)d->element, &whole) &&
        (whole == size || (character_size(d) && n * character_size(d) == size));
    return is_all && *last - *first + (int64_t)d->element > size;
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
