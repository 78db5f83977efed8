/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Hashes, compares, copies and packs what is folded into a variant. An
 * operation is a function or a macro for each kind of fact, which the rows of
 * facts.def call in their order.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "core/facts.h"
#include "ompjit.h"

/* Each parameter in a mask, the lowest first. */
#define EACH(i, mask)                                                    \
    for (uint64_t rest_ = (mask), i;                                     \
         rest_ && (i = (uint64_t)__builtin_ctzll(rest_), true);          \
         rest_ &= rest_ - 1)

/* --------------------------------------------------------------- extents */

void ompjit__extent_numbers(const ompjit__extent *extent, uint32_t n[3])
{
    n[1] = extent->all && !extent->y ? 1 : extent->y;
    n[2] = extent->all && !extent->z ? 1 : extent->z;
    n[0] = extent->all ? extent->all / (n[1] * n[2]) : 0;
}

/* ------------------------------------------------------------------- any */

#define any_NUMBER(fact) ((fact) != 0)
#define any_EXTENT(fact) ((fact).all != 0)
#define any_POINTERS any_NUMBER
#define any_SCALAR_VALUES(fact) ((fact).mask != 0)
#define any_POINTER_VALUES any_SCALAR_VALUES
#define any_CONTENTS(fact) ((fact).n != 0)

bool ompjit__facts_any(const ompjit__facts *f)
{
    bool any = false;
#define FACT(name, kind, fold, word, said) any |= any_##kind(f->name);
#include "core/facts.def"
    return any;
}

/* ------------------------------------------------------------------ hash */

/* The place of a row, which parts equal numbers of different facts. */
enum place {
#define FACT(name, kind, fold, word, said) PLACE_##name,
#include "core/facts.def"
};

static uint64_t at(enum place place, uint64_t x)
{
    return x + ((uint64_t)place << 56);
}

static uint64_t hash_NUMBER(uint64_t h, enum place place, const uint32_t *fact)
{
    return *fact ? ompjit__mix(h, at(place, *fact)) : h;
}

static uint64_t hash_EXTENT(uint64_t h, enum place place,
                            const ompjit__extent *fact)
{
    h = hash_NUMBER(h, place, &fact->all);
    return fact->y ? ompjit__mix(h, (uint64_t)fact->y << 32 | fact->z) : h;
}

static uint64_t hash_POINTERS(uint64_t h, enum place place,
                              const uint64_t *fact)
{
    return *fact ? ompjit__mix(h, at(place, *fact)) : h;
}

static uint64_t hash_SCALAR_VALUES(uint64_t h, enum place place,
                                   const ompjit__param_values *fact)
{
    if (fact->mask)
        h = ompjit__mix(h, at(place, fact->mask));
    EACH(i, fact->mask)
        h = ompjit__mix(h, fact->values[i]);
    return h;
}
#define hash_POINTER_VALUES hash_SCALAR_VALUES

static uint64_t hash_bytes(uint64_t h, const ompjit__contents *c)
{
    h = ompjit__mix(h, (uint64_t)c->param << 32 | c->size);
    for (uint32_t i = 0; i < c->size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)c->bytes + i,
               c->size - i < 8 ? c->size - i : 8);
        h = ompjit__mix(h, word);
    }
    return h;
}

static uint64_t hash_CONTENTS(uint64_t h, enum place place,
                              const ompjit__contents_list *fact)
{
    if (fact->n)
        h = ompjit__mix(h, at(place, fact->n));
    for (uint32_t i = 0; i < fact->n; i++)
        h = hash_bytes(h, &fact->list[i]);
    return h;
}

uint64_t ompjit__facts_hash(const ompjit__facts *f, uint64_t h)
{
#define FACT(name, kind, fold, word, said) \
    h = hash_##kind(h, PLACE_##name, &f->name);
#include "core/facts.def"
    return h;
}

/* ------------------------------------------------------------------ same */

#define same_NUMBER(a, b) (*(a) == *(b))
#define same_EXTENT(a, b) \
    ((a)->all == (b)->all && (a)->y == (b)->y && (a)->z == (b)->z)
#define same_POINTERS same_NUMBER

static bool same_SCALAR_VALUES(const ompjit__param_values *a,
                               const ompjit__param_values *b)
{
    if (a->mask != b->mask)
        return false;
    EACH(i, a->mask)
        if (a->values[i] != b->values[i])
            return false;
    return true;
}
#define same_POINTER_VALUES same_SCALAR_VALUES

static bool same_CONTENTS(const ompjit__contents_list *a,
                          const ompjit__contents_list *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->list[i].param == b->list[i].param &&
               a->list[i].size == b->list[i].size &&
               !memcmp(a->list[i].bytes, b->list[i].bytes, a->list[i].size);
    return same;
}

bool ompjit__facts_same(const ompjit__facts *a, const ompjit__facts *b)
{
#define FACT(name, kind, fold, word, said) \
    if (!same_##kind(&a->name, &b->name))  \
        return false;
#include "core/facts.def"
    return true;
}

/* ------------------------------------------------------------ copy, free */

/* Each is true where there is memory, and leaves NULL where there is none. */
#define copy_NUMBER(to, from) ((void)(to), (void)(from), true)
#define copy_EXTENT copy_NUMBER
#define copy_POINTERS copy_NUMBER

/* The values that the mask has, and what is before them. */
static bool copy_SCALAR_VALUES(ompjit__param_values *to,
                               const ompjit__param_values *from)
{
    to->values = NULL;
    if (from->mask)
        to->values = ompjit__memdup(
            from->values, (64 - (size_t)__builtin_clzll(from->mask)) *
                              sizeof *from->values);
    return !from->mask || to->values;
}
#define copy_POINTER_VALUES copy_SCALAR_VALUES

/* The list and, behind it, all its bytes. */
static bool copy_CONTENTS(ompjit__contents_list *to,
                          const ompjit__contents_list *from)
{
    size_t used = from->n * sizeof *from->list, total = used;
    for (uint32_t i = 0; i < from->n; i++)
        total += from->list[i].size;
    ompjit__contents *list = from->n ? malloc(total) : NULL;
    for (uint32_t i = 0; list && i < from->n; i++) {
        list[i] = from->list[i];
        list[i].bytes = memcpy((char *)list + used, from->list[i].bytes,
                               list[i].size);
        used += list[i].size;
    }
    to->list = list;
    return !from->n || list;
}

bool ompjit__facts_copy(ompjit__facts *to, const ompjit__facts *from)
{
    bool whole = true;
    *to = *from;
#define FACT(name, kind, fold, word, said) \
    whole &= copy_##kind(&to->name, &from->name);
#include "core/facts.def"
    return whole;
}

#define free_NUMBER(fact)
#define free_EXTENT(fact)
#define free_POINTERS(fact)

static void free_SCALAR_VALUES(ompjit__param_values *fact)
{
    free((void *)(uintptr_t)fact->values);
    fact->values = NULL;
}
#define free_POINTER_VALUES free_SCALAR_VALUES

static void free_CONTENTS(ompjit__contents_list *fact)
{
    free((void *)(uintptr_t)fact->list);
    fact->list = NULL;
}

void ompjit__facts_free(ompjit__facts *f)
{
#define FACT(name, kind, fold, word, said) free_##kind(&f->name);
#include "core/facts.def"
}

#define borrow_NUMBER(to, from)
#define borrow_EXTENT(to, from)
#define borrow_POINTERS(to, from)
#define borrow_SCALAR_VALUES(to, from) *(to) = *(from)
#define borrow_POINTER_VALUES borrow_SCALAR_VALUES
#define borrow_CONTENTS borrow_SCALAR_VALUES

void ompjit__facts_borrow(ompjit__facts *to, const ompjit__facts *from)
{
#define FACT(name, kind, fold, word, said) \
    borrow_##kind(&to->name, &from->name);
#include "core/facts.def"
}

/* -------------------------------------------------------------- restrict */

#define keep_NUMBER(fact, pointers)
#define keep_EXTENT(fact, pointers)
#define keep_POINTERS(fact, pointers) fact &= pointers
#define keep_SCALAR_VALUES(fact, pointers)
#define keep_POINTER_VALUES(fact, pointers) fact.mask &= pointers
#define keep_CONTENTS(fact, pointers)

void ompjit__facts_restrict(ompjit__facts *f, unsigned wanted,
                            uint64_t pointers)
{
#define FACT(name, kind, fold, word, said) keep_##kind(f->name, pointers);
#include "core/facts.def"
    if (wanted == OMPJIT_FOLD_ALL)
        return;
#define FACT(name, kind, fold, word, said) \
    if (!(wanted & OMPJIT_FOLD_##fold))    \
        f->name = (ompjit__fact_##kind){0};
#include "core/facts.def"
}

/* ------------------------------------------------------------------ text */

static void text_NUMBER(ompjit__buf *text, const char *name,
                        const uint32_t *fact)
{
    if (*fact)
        ompjit__buf_printf(text, "%s %" PRIu32 "\n", name, *fact);
}

static void text_EXTENT(ompjit__buf *text, const char *name,
                        const ompjit__extent *fact)
{
    if (fact->all)
        ompjit__buf_printf(text, "%s %" PRIu32 " %" PRIu32 " %" PRIu32 "\n",
                           name, fact->all, fact->y, fact->z);
}

static void text_POINTERS(ompjit__buf *text, const char *name,
                          const uint64_t *fact)
{
    if (*fact)
        ompjit__buf_printf(text, "%s 0x%" PRIx64 "\n", name, *fact);
}

static void text_SCALAR_VALUES(ompjit__buf *text, const char *name,
                               const ompjit__param_values *fact)
{
    EACH(i, fact->mask)
        ompjit__buf_printf(text, "%s %" PRIu64 " 0x%" PRIx64 "\n", name, i,
                           fact->values[i]);
}
#define text_POINTER_VALUES text_SCALAR_VALUES

static void text_CONTENTS(ompjit__buf *text, const char *name,
                          const ompjit__contents_list *fact)
{
    for (uint32_t i = 0; i < fact->n; i++) {
        const ompjit__contents *c = &fact->list[i];
        uint8_t digest[OMPJIT__DIGEST];
        char words[2 * OMPJIT__DIGEST + 1];
        ompjit__digest(c->bytes, c->size, digest);
        ompjit__digest_text(digest, words);
        ompjit__buf_printf(text, "%s %" PRIu32 " %" PRIu32 " %s\n", name,
                           c->param, c->size, words);
    }
}

void ompjit__facts_text(const ompjit__facts *f, ompjit__buf *text)
{
#define FACT(name, kind, fold, word, said) \
    text_##kind(text, #name, &f->name);
#include "core/facts.def"
}

/* ------------------------------------------------------------------ pack */

#define pack_NUMBER(fact, out) ompjit__pack_number(out, *(fact))
#define pack_POINTERS pack_NUMBER

static void pack_EXTENT(const ompjit__extent *fact, ompjit__buf *out)
{
    ompjit__pack_number(out, fact->all);
    ompjit__pack_number(out, fact->y);
    ompjit__pack_number(out, fact->z);
}

static void pack_SCALAR_VALUES(const ompjit__param_values *fact,
                               ompjit__buf *out)
{
    ompjit__pack_number(out, fact->mask);
    EACH(i, fact->mask)
        ompjit__pack_number(out, fact->values[i]);
}
#define pack_POINTER_VALUES pack_SCALAR_VALUES

static void pack_CONTENTS(const ompjit__contents_list *fact, ompjit__buf *out)
{
    ompjit__pack_number(out, fact->n);
    for (uint32_t i = 0; i < fact->n; i++) {
        ompjit__pack_number(out, fact->list[i].param);
        ompjit__pack_bytes(out, fact->list[i].bytes, fact->list[i].size);
    }
}

void ompjit__facts_pack(const ompjit__facts *f, ompjit__buf *out)
{
#define FACT(name, kind, fold, word, said) pack_##kind(&f->name, out);
#include "core/facts.def"
}

#define unpack_NUMBER(r, fact) *(fact) = (uint32_t)ompjit__read_number(r)
#define unpack_POINTERS(r, fact) *(fact) = ompjit__read_number(r)

static void unpack_EXTENT(ompjit__reader *r, ompjit__extent *fact)
{
    unpack_NUMBER(r, &fact->all);
    unpack_NUMBER(r, &fact->y);
    unpack_NUMBER(r, &fact->z);
}

static void unpack_SCALAR_VALUES(ompjit__reader *r, ompjit__param_values *fact)
{
    fact->mask = ompjit__read_number(r);
    uint64_t *values = fact->mask ? calloc(64, sizeof *values) : NULL;
    r->bad |= fact->mask && !values;
    for (uint64_t m = fact->mask; m && !r->bad; m &= m - 1)
        values[__builtin_ctzll(m)] = ompjit__read_number(r);
    fact->values = values;
}
#define unpack_POINTER_VALUES unpack_SCALAR_VALUES

static void unpack_CONTENTS(ompjit__reader *r, ompjit__contents_list *fact)
{
    size_t n = ompjit__read_count(r), size;
    ompjit__contents *list = n ? calloc(n, sizeof *list) : NULL;
    r->bad |= n && !list;
    for (size_t i = 0; i < n && !r->bad; i++) {
        list[i].param = (unsigned)ompjit__read_number(r);
        list[i].bytes = ompjit__read_bytes(r, &size);
        list[i].size = (uint32_t)size;
    }
    fact->n = (uint32_t)n;
    fact->list = list;
}

void ompjit__facts_unpack(ompjit__reader *r, ompjit__facts *out)
{
    *out = (ompjit__facts){0};
#define FACT(name, kind, fold, word, said) unpack_##kind(r, &out->name);
#include "core/facts.def"
}
