/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sections with strides in a target update, a[2:4][1:3:2], as clang passes
 * them: a base, and for each dimension where it begins, how many there are, and
 * how far they are from each other. Two things clang does not say are found
 * here.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mapping/construct.h"

/* How many dimensions there are, the element's included, where the host half
 * was repaired (repair.c); 0: it was not. The entry may have another number. */
static unsigned repaired_dimensions(const ompjit__dimension *d)
{
    uint64_t n = (d->offset ^ OMPJIT__SECTION_BEGINS) &
                 ~OMPJIT__SECTION_IS_COPY;
    return n <= OMPJIT__MOST_DIMENSIONS ? (unsigned)n : 0;
}

/* Is that the last dimension, the element? */
static bool is_element(const ompjit__dimension *d)
{
    return !d->offset && d->count == 1 && d->stride;
}

/* How many there are by the entry's `size`. Clang 18 to 22 make it a number of
 * bytes where a length of the section is no constant: that of the elements.
 * Dimensions behind the last one are not read, unless `size` says that there
 * are so many. */
static int64_t dimensions_by(const ompjit__dimension *d, int64_t size)
{
    if (size >= 1 && size <= OMPJIT__MOST_DIMENSIONS &&
        is_element(&d[size - 1]))
        return size;
    uint64_t elements = 1;
    for (int n = 1; n <= OMPJIT__MOST_DIMENSIONS; n++) {
        elements *= d[n - 1].count;
        if (n > 1 && is_element(&d[n - 1]) &&
            elements * d[n - 1].stride == (uint64_t)size)
            return n;
    }
    return size;
}

/* The form in a host half that was not repaired. Clang 18 to 22 count the lower
 * bound in elements, and its readers in strides, which differ where a stride is
 * given; in the innermost dimension, whose elements' size is known, that is
 * corrected. The last dimension is the element. */
static uint64_t offset_of(const ompjit__dimension *d, unsigned n)
{
    uint64_t element = d[n - 1].count * d[n - 1].stride, offset = 0;
    for (unsigned i = 0; i < n; i++)
        offset += d[i].offset * (i + 2 == n ? element : d[i].stride);
    return offset;
}

/* The entry of all that is updated of the structure that the item is in. */
static const ompjit__item *owner_of(const ompjit__construct *c,
                                    const ompjit__item *it)
{
    size_t i = 0;
    while (i < c->n && (c->items[i].index != ompjit__map_parent(it->type) ||
                        c->items[i].component))
        i++;
    return i < c->n ? &c->items[i] : NULL;
}

/* For a structure's member the base is the structure, whose entry begins at the
 * first thing that is updated: where that is no other member, it is this
 * section. NULL: it may be another. */
static char *begin_in_structure(const ompjit__construct *c,
                                const ompjit__item *it)
{
    const ompjit__item *owner = owner_of(c, it);
    for (size_t i = 0; owner && i < c->n; i++) {
        const ompjit__item *other = &c->items[i];
        bool pointer = other->type & OMPJIT__MAP_PTR_AND_OBJ;
        if (other != it && ((other->type ^ it->type) &
                            OMPJIT__MAP_MEMBER_OF) == 0 &&
            (other->type & OMPJIT__MAP_NON_CONTIG ||
             (pointer ? other->base : other->begin) == owner->begin))
            return NULL;
    }
    return owner ? owner->begin : NULL;
}

static ompjit_status unknown_begin(const ompjit__construct *c,
                                   const ompjit__item *it, ompjit_error *err)
{
    const ompjit__item *owner = owner_of(c, it);
    char text[OMPJIT__RANGE_TEXT];
    ompjit__range_text(text, owner ? owner->begin : it->base,
                       owner ? (uint64_t)owner->size : 0, it->name);
    return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                        "target update of %s: where a section with a stride "
                        "is in a structure the compiler tells only if the "
                        "directive updates no other member of it",
                        text);
}

static ompjit_status begin_of(const ompjit__construct *c,
                              const ompjit__item *it, uint64_t offset,
                              char **out, ompjit_error *err)
{
    if (it->type & OMPJIT__MAP_PTR_AND_OBJ) { /* the base is the pointer */
        memcpy(out, it->base, OMPJIT__POINTER_SIZE);
        *out += offset;
    } else if (!(it->type & OMPJIT__MAP_MEMBER_OF)) {
        *out = it->base + offset;
    } else if (!(*out = begin_in_structure(c, it))) {
        return unknown_begin(c, it, err);
    }
    return OMPJIT_OK;
}

/* The dimensions without the element, and what of them has no gaps. */
static void read_pieces(ompjit__strided *out, unsigned n)
{
    ompjit__dimension *d = out->dimensions;
    out->piece = d[n - 1].count * d[n - 1].stride;
    while (n > 1 && d[n - 2].stride == out->piece)
        out->piece *= d[--n - 1].count;
    out->n = n - 1;
}

ompjit_status ompjit__strided_read(const ompjit__construct *c,
                                   const ompjit__item *it,
                                   ompjit__strided *out, ompjit_error *err)
{
    ompjit__dimension *d = out->dimensions;
    const ompjit__dimension *from = (const void *)it->begin;
    unsigned repaired = repaired_dimensions(from);
    int64_t n = repaired ? repaired : dimensions_by(from, it->size);
    ompjit_status st = OMPJIT_OK;
    out->begin = NULL;
    out->piece = 0;
    if (n < 1 || n > OMPJIT__MOST_DIMENSIONS)
        return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                            "target update of a section with %" PRId64
                            " dimensions; 1 to %d are possible", n,
                            OMPJIT__MOST_DIMENSIONS);
    memcpy(d, from, (size_t)n * sizeof *d);
    if (repaired)
        out->begin = (char *)(uintptr_t)d[n - 1].offset;
    else
        st = begin_of(c, it, offset_of(d, (unsigned)n), &out->begin, err);
    read_pieces(out, (unsigned)n);
    return st;
}

void ompjit__strided_free(const ompjit__maps *maps)
{
    for (int i = 0; i < maps->n; i++) {
        ompjit__dimension *d = maps->begins[i];
        if ((uint64_t)maps->types[i] & OMPJIT__MAP_NON_CONTIG &&
            repaired_dimensions(d) && d->offset & OMPJIT__SECTION_IS_COPY)
            free(d);
    }
}
