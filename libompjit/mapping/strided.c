/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sections with strides in a target update, a[2:4][1:3:2]. clang passes a base
 * and a descriptor: for each dimension the offset of the first element, their
 * count and their distance. It tells neither the number of dimensions reliably
 * nor the unit of the offset; both are found out here.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "context/info.h"
#include "mapping/construct.h"

/* The number of dimensions, with the element's, that a repaired host half
 * (passes/hosthalf/repair.c) has put into the descriptor; 0: it was not
 * repaired. The entry's size may be another number. */
static unsigned repaired_dimensions(const ompjit__dimension *d)
{
    uint64_t n = (d->offset ^ OMPJIT__SECTION_BEGINS) &
                 ~OMPJIT__SECTION_IS_COPY;
    return n <= OMPJIT__MOST_DIMENSIONS ? (unsigned)n : 0;
}

/* Is it the last dimension, which is the element? */
static bool is_element(const ompjit__dimension *d)
{
    return !d->offset && d->count == 1 && d->stride;
}

/* The number of dimensions by the entry's `size`. clang 18 to 22 set it to that
 * number, but to the bytes of the innermost dimension where its length is no
 * constant. The descriptor has no other end, so nothing behind the first
 * dimension that fits is read. 0 or a number that is too large: none fits. */
static int64_t dimensions_by(const ompjit__dimension *d, int64_t size)
{
    for (int n = 1; n <= OMPJIT__MOST_DIMENSIONS; n++)
        if (is_element(&d[n - 1]) &&
            (n == size ||
             (n > 1 && d[n - 2].count * d[n - 1].stride == (uint64_t)size)))
            return n;
    return size > OMPJIT__MOST_DIMENSIONS ? size : 0;
}

static ompjit_status offset_unknown(const ompjit__item *it, ompjit_error *err)
{
    ompjit__info_place place;
    ompjit__info_place_read(it->name, false, &place);
    return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                        "target update of %s, from %p on: clang's executable "
                        "does not tell where a section begins whose outer "
                        "dimension has a stride; make the stride a number and "
                        "compile with -g, or use ompjit run",
                        place.line ? place.name : "a section",
                        (void *)it->base);
}

/* Only tells, since most guesses are right: those for programs without strides
 * in outer dimensions, and for subscripts of arrays of pointers. */
void ompjit__strided_tell(const ompjit__construct *c)
{
    ompjit_context *ctx = c->dev->ctx;
    ompjit__info_place place;
    ompjit_error text;
    if (!c->guessed || atomic_exchange(&ctx->told_of_guess, true))
        return;
    ompjit__info_place_read(c->guessed->name, false, &place);
    ompjit__fail(&text, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                 "target update of %s, from %p on: clang's executable does not "
                 "tell where the section begins; %s",
                 place.line ? place.name : "a section",
                 (void *)c->guessed->base,
                 place.line ? "the subscript in front of it counts as 0, "
                              "unless it is a pointer's. If that is wrong, use "
                              "ompjit run"
                            : "its outer dimensions are taken to have no "
                              "stride. If that is wrong, use ompjit run, or "
                              "compile with -g");
    ompjit__tell(ctx, text.text);
}

/* The offset of the section's first byte, for a host half that was not
 * repaired. clang 18 to 22 write a dimension's lower bound in elements of it,
 * while the descriptor is defined in strides; these differ where a stride is
 * given. In the innermost dimension the element's size is known. In the others
 * the item's text has the stride; without a text it is taken to be 1. The last
 * dimension is the element. */
static ompjit_status read_offset(const ompjit__item *it, unsigned n,
                                 ompjit__strided *out, uint64_t *offset,
                                 ompjit_error *err)
{
    const ompjit__dimension *d = out->dimensions;
    const char *text = ompjit__section_text_end(it->name);
    uint64_t element = d[n - 1].count * d[n - 1].stride;
    *offset = 0;
    for (unsigned i = n - 1; i-- > 0;) {
        bool told = text != NULL, inner = i + 2 == n;
        uint64_t k = told ? ompjit__section_text_stride(it->name, &text) : 1;
        if (!inner && d[i].offset && (!k || d[i].stride % k))
            return offset_unknown(it, err);
        out->guessed |= !inner && d[i].offset && !told;
        *offset += d[i].offset * (inner ? element : d[i].stride / (k ? k : 1));
    }
    out->guessed |= !(it->type & OMPJIT__MAP_PTR_AND_OBJ) &&
                    ompjit__section_text_index(it->name, text);
    return OMPJIT_OK;
}

/* The combined entry of the structure that the item is a member of; NULL: none.
 */
static const ompjit__item *owner_of(const ompjit__construct *c,
                                    const ompjit__item *it)
{
    size_t i = 0;
    while (i < c->n && (c->items[i].index != ompjit__map_parent(it->type) ||
                        c->items[i].component))
        i++;
    return i < c->n ? &c->items[i] : NULL;
}

/* The begin of a section that is a structure's member. Its base is the
 * structure, and the combined entry begins at the first byte that is updated:
 * that is this section, if no other member begins there. NULL: one may. */
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
                              const ompjit__item *it, unsigned n,
                              ompjit__strided *out, ompjit_error *err)
{
    bool pointer = it->type & OMPJIT__MAP_PTR_AND_OBJ;
    uint64_t offset;
    if (it->type & OMPJIT__MAP_MEMBER_OF && !pointer) {
        out->begin = begin_in_structure(c, it);
        return out->begin ? OMPJIT_OK : unknown_begin(c, it, err);
    }
    ompjit_status st = read_offset(it, n, out, &offset, err);
    out->begin = it->base;
    if (pointer) /* the base is where the pointer is */
        memcpy(&out->begin, it->base, OMPJIT__POINTER_SIZE);
    out->begin += st ? 0 : offset;
    return st;
}

/* Merges the element and the inner dimensions without gaps into one piece. */
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
    out->guessed = false;
    if (n < 1 || n > OMPJIT__MOST_DIMENSIONS)
        return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                            "target update of a section with %" PRId64
                            " dimensions; 1 to %d are possible", n,
                            OMPJIT__MOST_DIMENSIONS);
    memcpy(d, from, (size_t)n * sizeof *d);
    if (repaired)
        out->begin = (char *)(uintptr_t)d[n - 1].offset;
    else
        st = begin_of(c, it, (unsigned)n, out, err);
    read_pieces(out, (unsigned)n);
    return st;
}

/* The number of bytes from the section's first to its last; 0: it is empty. */
static uint64_t span(const ompjit__strided *s)
{
    uint64_t all = s->piece;
    for (unsigned i = 0; i < s->n; i++)
        if (s->dimensions[i].count)
            all += (s->dimensions[i].count - 1) * s->dimensions[i].stride;
        else
            return 0;
    return all;
}

ompjit_status ompjit__strided_check(const ompjit__construct *c,
                                    const ompjit__item *it,
                                    const ompjit__strided *s,
                                    ompjit_error *err)
{
    ompjit__mapped *entry;
    if (!s->guessed || !span(s) ||
        ompjit__present_find(c->table, s->begin, span(s), &entry) !=
            OMPJIT__OVERLAPS)
        return OMPJIT_OK;
    return offset_unknown(it, err);
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
