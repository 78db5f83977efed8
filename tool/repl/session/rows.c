/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Arrays of arrays and of structs as rows and columns, for clients that draw
 * tables: {"columns":[NAME...],"rows":[[TEXT...]...],"count":N}.
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
    if (ompjit__read_number(&kind) == OMPJIT__SHAPE_CHAR && size == 1)
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
