/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Arrays of arrays and of structs as rows and columns, for clients that draw
 * tables: {"columns":[NAME...],"rows":[[TEXT...]...],"count":N}. The same of
 * objects of C++ that have elements, which may be lists of different lengths.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "core/repl.h"
#include "tool/repl/json.h"
#include "tool/repl/session/show.h"

enum { ROWS = 100, COLUMNS = 24 }; /* that are shown */

/* Where its values are in an element, and their shape. */
struct column {
    char *name;
    uint64_t offset;
    ompjit__reader shape;
};

struct columns {
    struct column all[COLUMNS];
    unsigned n;
    bool cut; /* there are more */
};

/* ------------------------------------------------------------------ columns */

static void add_column(struct columns *c, char *name, uint64_t offset,
                       const ompjit__reader *shape)
{
    if (c->n == COLUMNS) {
        c->cut = true;
        free(name);
        return;
    }
    c->all[c->n++] = (struct column){name, offset, *shape};
}

static bool find_elements(ompjit__reader *r, struct columns *c)
{
    const uint64_t n = ompjit__read_number(r), size = ompjit__read_number(r);
    ompjit__reader kind = *r;
    if (ompjit__read_number(&kind) == OMPJIT__SHAPE_CHAR)
        return false; /* a string */
    for (uint64_t i = 0; i < n && !c->cut; i++)
        add_column(c, ompjit__format("%u", (unsigned)i), i * size, r);
    return n != 0;
}

static bool find_fields(ompjit__reader *r, struct columns *c)
{
    ompjit__read_number(r); /* the size */
    for (size_t n = ompjit__read_count(r); n && !r->bad; n--) {
        char *name = ompjit__read_string(r);
        const uint64_t offset = ompjit__read_number(r);
        ompjit__read_number(r); /* the bit */
        const bool bits = ompjit__read_number(r);
        add_column(c, name, offset, r);
        show_skip(r);
        if (bits)
            return false;
    }
    return c->n != 0;
}

/* Those of an element. False: it has none. */
static bool find_columns(ompjit__reader element, struct columns *c)
{
    switch (ompjit__read_number(&element)) {
    case OMPJIT__SHAPE_ARRAY:
        return find_elements(&element, c);
    case OMPJIT__SHAPE_RECORD:
        return find_fields(&element, c);
    default:
        return false;
    }
}

/* --------------------------------------------------------------------- rows */

static void add_text(ompjit__buf *out, const char *text)
{
    json_add_comma(out);
    json_add_string(out, text ? text : "", text ? strlen(text) : 0);
}

static void add_row(const struct columns *c, const char *at,
                    const show_how *how, ompjit__buf *out)
{
    json_add_comma(out);
    ompjit__buf_add(out, "[", 1);
    for (unsigned i = 0; i < c->n; i++) {
        const struct column *each = &c->all[i];
        const ompjit__buf shape = {.data = (char *)each->shape.at,
                                   .size = each->shape.left};
        ompjit__buf text = {0};
        show_value(&shape, at + each->offset, how, &text);
        add_text(out, text.data);
        ompjit__buf_free(&text);
    }
    if (c->cut)
        add_text(out, "...");
    ompjit__buf_add(out, "]", 1);
}

static void add_names(const struct columns *c, ompjit__buf *out)
{
    ompjit__buf_printf(out, "{\"columns\":[");
    for (unsigned i = 0; i < c->n; i++)
        add_text(out, c->all[i].name);
    if (c->cut)
        add_text(out, "...");
    ompjit__buf_printf(out, "],\"rows\":[");
}

void show_rows(const ompjit__buf *shape, const void *address,
               const show_how *how, ompjit__buf *out)
{
    ompjit__reader r = {shape->data, shape->size, false};
    struct columns c = {.n = 0};
    if (ompjit__read_number(&r) != OMPJIT__SHAPE_ARRAY)
        return;
    const uint64_t n = ompjit__read_number(&r), size = ompjit__read_number(&r);
    if (find_columns(r, &c) && !r.bad) {
        add_names(&c, out);
        for (uint64_t i = 0; i < n && i < ROWS; i++)
            add_row(&c, (const char *)address + i * size, how, out);
        ompjit__buf_printf(out, "],\"count\":%llu}", (unsigned long long)n);
    }
    for (unsigned i = 0; i < c.n; i++)
        free(c.all[i].name);
}

/* ------------------------------------------------------------------ objects */

struct table {
    visit visit;
    const show_how *how;
    struct columns columns; /* those of the longest row */
    ompjit__buf rows;
    size_t count;
    unsigned cells; /* of the row                 */
    int kind;       /* of its list, where it is one */
    bool in_row;
    bool bad;       /* it is no table */
};

static void begin_cell(struct table *t, const char *name)
{
    if (t->cells++ >= t->columns.n && !t->columns.cut)
        add_column(&t->columns, ompjit__strdup(name), 0,
                   &(ompjit__reader){0});
}

/* False: the row has as many cells as are shown. */
static bool begin_numbered(struct table *t)
{
    static const char *const pair[] = {"first", "second"};
    char number[16];
    if (t->cells > COLUMNS)
        return false;
    snprintf(number, sizeof number, "%u", t->cells);
    begin_cell(t, t->kind == VISIT_PAIR && t->cells < 2 ? pair[t->cells]
                                                        : number);
    return true;
}

static void end_cell(struct table *t, ompjit__buf *text)
{
    if (t->cells > COLUMNS)
        add_text(&t->rows, "...");
    else
        add_text(&t->rows, text->data);
    ompjit__buf_free(text);
}

/* A cell with a value, or a row. */
static void take(struct table *t, const void *at, visit_function *f)
{
    ompjit__buf text = {0};
    if (t->in_row) {
        if (!begin_numbered(t))
            return;
        show_by(t->how, f, at, &text);
        end_cell(t, &text);
        return;
    }
    if (t->count++ >= ROWS)
        return;
    t->in_row = true;
    t->cells = 0;
    t->kind = VISIT_LIST;
    json_add_comma(&t->rows);
    ompjit__buf_add(&t->rows, "[", 1);
    f(&t->visit, at);
    ompjit__buf_add(&t->rows, "]", 1);
    t->in_row = false;
}

/* The parts of an element of an array or of a structure are cells. */
static void row_leaf(visit *v, const void *shape, const void *at)
{
    struct table *t = (struct table *)v;
    struct columns c = {.n = 0};
    uint64_t size;
    memcpy(&size, shape, sizeof size);
    const ompjit__reader r = {(const char *)shape + sizeof size, size, false};
    t->bad = t->bad || !t->in_row || !find_columns(r, &c);
    for (unsigned i = 0; !t->bad && i < c.n; i++) {
        const ompjit__buf bytes = {.data = (char *)c.all[i].shape.at,
                                   .size = c.all[i].shape.left};
        ompjit__buf text = {0};
        begin_cell(t, c.all[i].name);
        show_value(&bytes, (const char *)at + c.all[i].offset, t->how, &text);
        end_cell(t, &text);
    }
    for (unsigned i = 0; i < c.n; i++)
        free(c.all[i].name);
}

static void row_plain(visit *v, const char *text, size_t size)
{
    struct table *t = (struct table *)v;
    (void)text;
    (void)size;
    t->bad = true;
}

static void row_text(visit *v, const void *text, size_t n, size_t size)
{
    (void)n;
    row_plain(v, text, size);
}

static void row_array(visit *v, const void *at, size_t n, size_t size,
                      visit_function *f)
{
    struct table *t = (struct table *)v;
    const bool rows = !t->in_row;
    const size_t most = rows ? ROWS : COLUMNS + 1;
    for (size_t i = 0; i < n && i < most && !t->bad; i++)
        take(t, (const char *)at + i * size, f);
    if (rows)
        t->count = n;
}

static void row_begin(visit *v, int kind)
{
    struct table *t = (struct table *)v;
    t->kind = kind;
    t->bad = t->bad || (!t->in_row && kind != VISIT_LIST);
}

/* Elements that are not shown are counted, where they have an end. */
static bool row_element(visit *v, const void *at, visit_function *f)
{
    enum { COUNTED = 1 << 20 };
    struct table *t = (struct table *)v;
    if (!t->bad)
        take(t, at, f);
    return !t->bad && t->count < COUNTED &&
           !(t->in_row && t->cells > COLUMNS);
}

static void row_end(visit *v)
{
    (void)v;
}

void show_rows_by(const show_how *how, visit_function *f, const void *at,
                  ompjit__buf *out)
{
    show_how cell = *how;
    struct table t = {.visit = {.leaf = row_leaf,
                                .text = row_text,
                                .plain = row_plain,
                                .array = row_array,
                                .begin = row_begin,
                                .element = row_element,
                                .end = row_end},
                      .how = &cell};
    cell.inside = true;
    f(&t.visit, at);
    if (!t.bad && t.columns.n) {
        add_names(&t.columns, out);
        ompjit__buf_add(out, t.rows.data, t.rows.size);
        ompjit__buf_printf(out, "],\"count\":%zu}", t.count);
    }
    ompjit__buf_free(&t.rows);
    for (unsigned i = 0; i < t.columns.n; i++)
        free(t.columns.all[i].name);
}
