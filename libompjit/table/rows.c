/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_rtl.def as arrays, and the public description of a row. plain_table.c
 * has what declarations are made of.
 *
 * Each list of the .def files becomes an array here: the file is included once
 * for each, with one of its macros defined, and it undefines them itself. Rows
 * are found by a linear search: there are about two hundred, and they are
 * looked up when IR is read or a person asks, and not when a program runs.
 */
#include <stdio.h>
#include <string.h>

#include "base/structs.h"
#include "table/rows.h"

/* ------------------------------------------------------------ the arrays */

enum {
#define OMPJIT_RTL_ATTRIBUTES(attributes, text) ATTRIBUTES_##attributes,
#include "ompjit_rtl.def"
    ATTRIBUTES_COUNT
};

static const char *const attribute_texts[ATTRIBUTES_COUNT] = {
#define OMPJIT_RTL_ATTRIBUTES(attributes, text) \
    [ATTRIBUTES_##attributes] = text,
#include "ompjit_rtl.def"
};

const ompjit__rtl ompjit__rtl_rows[OMPJIT_RTL_COUNT] = {
#define OMPJIT_RTL(index, attributes, where, type, name) \
    [index] = {#name, type, ATTRIBUTES_##attributes, #where[0]},
#include "ompjit_rtl.def"
};

const ompjit__rtl_old ompjit__rtl_olds[] = {
#define OMPJIT_RTL_OLD(release, type, name) {release, type, #name},
#include "ompjit_rtl.def"
};
const size_t ompjit__rtl_nolds = OMPJIT__COUNT(ompjit__rtl_olds);

/* Headings of the list, in its order. */
static const struct group {
    unsigned first;
    const char *name;
} groups[] = {
#define OMPJIT_RTL_GROUP(first, name) {first, name},
#include "ompjit_rtl.def"
};

/* Rows that LLVM has since, or had until, a release. */
typedef struct range {
    unsigned first, last, release;
    int successor; /* of the first row; the others' follow it */
} range;

static const range sinces[] = {
#define OMPJIT_RTL_SINCE(first, last, release) {first, last, release, -1},
#include "ompjit_rtl.def"
};

static const range untils[] = {
#define OMPJIT_RTL_UNTIL(first, last, release, other) \
    {first, last, release, other},
#include "ompjit_rtl.def"
};

/* A type's letter, and what LLVM calls the type. */
static const struct letter {
    char letter;
    const char *text;
} letters[] = {
    {'v', "void"}, {'p', "ptr"}, {'l', "i64"},   {'i', "i32"},    {'s', "i16"},
    {'c', "i8"},   {'b', "i1"},  {'f', "float"}, {'d', "double"}, {'.', "..."},
};

/* The places that provide a function: a row's letter in the words of `ompjit
 * table`. */
static const struct where {
    char letter;
    const char *text;
} wheres[] = {
    {'D', "device"},
    {'L', "host: libomp"},
    {'B', "device, host: libomp"},
    {'T', "host: libompjit"},
    {'N', "nowhere"},
};

/* The costs of a call, by the letters of meaning.def. */
enum {
#define RTL_COST(letter, text) COST_##letter,
#include "table/meaning.def"
    COST_COUNT
};

static const char *const cost_texts[COST_COUNT] = {
#define RTL_COST(letter, text) [COST_##letter] = text,
#include "table/meaning.def"
};

/* The purposes of functions, by names or patterns. */
static const struct meaning {
    const char *name;
    unsigned char cost;
    const char *text;
} meanings[] = {
#define RTL_MEANING(name, cost, text) {name, COST_##cost, text},
#include "table/meaning.def"
};

/* Measured sizes of the device runtime's functions. */
static const struct size {
    const char *name;
    unsigned instructions;
} sizes[] = {
#define RTL_SIZE(name, instructions) {name, instructions},
#include "table/size.def"
#undef RTL_SIZE
};

/* --------------------------------------------------------------- look-up */

/* The ranges are disjoint; NULL: the row is in none. */
static const range *range_of(const range *ranges, size_t n, unsigned index)
{
    for (size_t i = 0; i < n; i++)
        if (index >= ranges[i].first && index <= ranges[i].last)
            return &ranges[i];
    return NULL;
}

unsigned ompjit__rtl_since(unsigned index)
{
    const range *r = range_of(sinces, OMPJIT__COUNT(sinces), index);
    return r ? r->release : OMPJIT__OLDEST_CLANG;
}

unsigned ompjit__rtl_until(unsigned index)
{
    const range *r = range_of(untils, OMPJIT__COUNT(untils), index);
    return r ? r->release : OMPJIT__NEWEST_CLANG;
}

/* A range's rows become as many rows from its successor on, in their order. */
int ompjit__rtl_successor(unsigned index)
{
    const range *r = range_of(untils, OMPJIT__COUNT(untils), index);
    if (!r || r->successor < 0)
        return -1;
    return r->successor + (int)(index - r->first);
}

const char *ompjit__rtl_attributes(unsigned index)
{
    return attribute_texts[ompjit__rtl_rows[index].attributes];
}

int ompjit__rtl_next(const char *name, int after)
{
    for (int i = after + 1; i < OMPJIT_RTL_COUNT; i++)
        if (!strcmp(ompjit__rtl_rows[i].name, name))
            return i;
    return -1;
}

/* If a name has two rows, the answer is the one that LLVM has longer. */
int ompjit__rtl_newest(const char *name)
{
    int newest = -1;
    for (int i = -1; (i = ompjit__rtl_next(name, i)) >= 0;)
        if (newest < 0 || ompjit__rtl_until(i) > ompjit__rtl_until(newest))
            newest = i;
    return newest;
}

/* How much of a name `pattern` fits, in letters; 0: it does not. */
static size_t fit(const char *pattern, const char *name)
{
    size_t n = strlen(pattern) - 1;
    if (pattern[n] == '*')
        return strncmp(pattern, name, n) ? 0 : n;
    return strcmp(pattern, name) ? 0 : n + 1;
}

int ompjit__rtl_meaning_of(const char *name)
{
    int best = -1;
    size_t most = 0;
    for (size_t i = 0; i < OMPJIT__COUNT(meanings); i++)
        if (fit(meanings[i].name, name) > most) {
            most = fit(meanings[i].name, name);
            best = (int)i;
        }
    return best;
}

/* PTX instructions of a function of the device runtime; 0: not measured. */
static unsigned instructions_of(const char *name)
{
    for (size_t i = 0; i < OMPJIT__COUNT(sizes); i++)
        if (!strcmp(sizes[i].name, name))
            return sizes[i].instructions;
    return 0;
}

/* The last group that begins at or before the row. */
static const char *group_of(unsigned index)
{
    const char *name = "";
    for (size_t i = 0; i < OMPJIT__COUNT(groups); i++)
        if (groups[i].first <= index)
            name = groups[i].name;
    return name;
}

static const char *where_of(char letter)
{
    for (size_t i = 0; i < OMPJIT__COUNT(wheres); i++)
        if (wheres[i].letter == letter)
            return wheres[i].text;
    return "";
}

static const char *letter_text(char letter)
{
    for (size_t i = 0; i < OMPJIT__COUNT(letters); i++)
        if (letters[i].letter == letter)
            return letters[i].text;
    return "";
}

/* "i:pl" becomes "i32 (ptr, i64)". Texts of the table fit (t/table_t.c). */
ompjit__rtl_type_text ompjit__rtl_type(const char *type)
{
    ompjit__rtl_type_text out;
    size_t n = (size_t)snprintf(out.text, sizeof out.text, "%s (",
                                letter_text(type[0]));
    for (const char *p = type + 2; *p; p++)
        n += (size_t)snprintf(out.text + n, sizeof out.text - n, "%s%s",
                              p > type + 2 ? ", " : "", letter_text(*p));
    snprintf(out.text + n, sizeof out.text - n, ")");
    return out;
}

/* ------------------------------------------------------ the public rows */

/* "LLVM 21", or "LLVM 18 to 21". */
static void releases_text(ompjit__buf *out, unsigned since, unsigned until)
{
    if (since == until)
        ompjit__buf_printf(out, "LLVM %u", since);
    else
        ompjit__buf_printf(out, "LLVM %u to %u", since, until);
}

/* The differences between releases; nothing if the row is of all of them. */
static void note_text(ompjit__buf *out, unsigned index)
{
    const ompjit__rtl *row = &ompjit__rtl_rows[index];
    int successor = ompjit__rtl_successor(index);
    const char *separator = "";
    unsigned since = ompjit__rtl_since(index), until = ompjit__rtl_until(index);
    if (since > OMPJIT__OLDEST_CLANG || until < OMPJIT__NEWEST_CLANG) {
        releases_text(out, since, until);
        separator = "; ";
    }
    if (successor >= 0)
        ompjit__buf_printf(out, "; calls become row %d, %s", successor,
                           ompjit__rtl_rows[successor].name);
    for (int i = -1; (i = ompjit__rtl_next(row->name, i)) >= 0;)
        if (i != (int)index && i != successor)
            ompjit__buf_printf(out, "; before that row %d", i);
    for (size_t i = 0; i < ompjit__rtl_nolds; i++) {
        const ompjit__rtl_old *old = &ompjit__rtl_olds[i];
        if (strcmp(old->name, row->name))
            continue;
        ompjit__buf_printf(out, "%s", separator);
        separator = "; ";
        ompjit__buf_printf(out, "LLVM %u: %s", old->release,
                           ompjit__rtl_type(old->type).text);
    }
}

/* The public row of a checked index, up to the caller's size of it. */
static ompjit_status fill(unsigned index, ompjit_rtl_row *out,
                          ompjit_error *err)
{
    const ompjit__rtl *row = &ompjit__rtl_rows[index];
    ompjit__buf note = {0};
    note_text(&note, index);
    if (note.failed) {
        ompjit__buf_free(&note);
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    }
    int meaning = ompjit__rtl_meaning_of(row->name);
    bool device = row->where == 'D' || row->where == 'B';
    ompjit_rtl_row full = {
        .meaning = meaning < 0 ? "" : meanings[meaning].text,
        .cost = !device || meaning < 0 ? "" : cost_texts[meanings[meaning].cost],
        .instructions = device ? instructions_of(row->name) : 0,
        .index = index,
        .name = row->name,
        .attributes = ompjit__rtl_attributes(index),
        .category = group_of(index),
        .where = where_of(row->where),
        .since = ompjit__rtl_since(index),
        .until = ompjit__rtl_until(index),
        .successor = ompjit__rtl_successor(index),
    };
    /* t/table_t.c checks that all of it fits */
    snprintf(full.type, sizeof full.type, "%s",
             ompjit__rtl_type(row->type).text);
    snprintf(full.note, sizeof full.note, "%s", note.data ? note.data : "");
    ompjit__buf_free(&note);
    ompjit__result_fill(OMPJIT__STRUCT_rtl_row, &full, out);
    return OMPJIT_OK;
}

unsigned ompjit_rtl_count(void)
{
    return OMPJIT_RTL_COUNT;
}

ompjit_status ompjit_rtl_row_at(unsigned index, ompjit_rtl_row *row,
                                ompjit_error *err)
{
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_rtl_row, row, err);
    if (status)
        return status;
    if (index >= OMPJIT_RTL_COUNT)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "runtime table: no row %u; rows are 0 to %d",
                            index, OMPJIT_RTL_COUNT - 1);
    return fill(index, row, err);
}

/* --------------------------------------------------- names that look alike */

enum { NEAR = 3 };

/* The NEAR rows whose names differ least from `name`, nearest first, and in no
 * more than a fifth of its letters. */
static unsigned nearest(const char *name, int best[NEAR])
{
    unsigned distances[NEAR], n = 0, most = (unsigned)strlen(name) / 5 + 1;
    for (int i = 0; i < OMPJIT_RTL_COUNT; i++) {
        const char *other = ompjit__rtl_rows[i].name;
        unsigned d = ompjit__distance(name, other), k;
        if (d > most || ompjit__rtl_newest(other) != i)
            continue;
        if (n < NEAR)
            n++;
        else if (d >= distances[NEAR - 1])
            continue;
        for (k = n - 1; k > 0 && distances[k - 1] > d; k--) {
            distances[k] = distances[k - 1];
            best[k] = best[k - 1];
        }
        distances[k] = d;
        best[k] = i;
    }
    return n;
}

/* The newest row of that name. An unknown name is an error that offers names
 * with few letters changed. */
ompjit_status ompjit_rtl_row_named(const char *name, ompjit_rtl_row *row,
                                   ompjit_error *err)
{
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_rtl_row, row, err);
    if (status)
        return status;
    if (!name)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "runtime table: the name is NULL");
    int index = ompjit__rtl_newest(name), near[NEAR];
    if (index >= 0)
        return fill(index, row, err);

    ompjit__buf text = {0};
    ompjit__buf_printf(&text, "runtime table: no row is named '%s'", name);
    unsigned n = nearest(name, near);
    for (unsigned i = 0; i < n; i++)
        ompjit__buf_printf(&text, "%s%s", i ? ", " : "; there is ",
                           ompjit__rtl_rows[near[i]].name);
    if (text.failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_API);
    else
        status = ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                              "%s", text.data);
    ompjit__buf_free(&text);
    return status;
}
