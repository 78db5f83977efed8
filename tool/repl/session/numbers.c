/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads integers and floating-point numbers by their shapes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "core/repl.h"
#include "tool/repl/session/numbers.h"

/* The form of an element. */
struct number {
    uint64_t kind, size, detail; /* detail: signed, or bits of the format */
};

static bool is_known(const struct number *how)
{
    if (how->kind == OMPJIT__SHAPE_FLOAT)
        return how->detail == 32 || how->detail == 64 || how->detail == 80;
    return (how->kind == OMPJIT__SHAPE_INTEGER ||
            how->kind == OMPJIT__SHAPE_CHAR ||
            how->kind == OMPJIT__SHAPE_BOOL) &&
           how->size <= sizeof(uint64_t);
}

static double read_float(const char *at, uint64_t bits)
{
    float f;
    double d;
    long double l = 0;
    if (bits == 32) {
        memcpy(&f, at, sizeof f);
        return f;
    }
    if (bits == 64) {
        memcpy(&d, at, sizeof d);
        return d;
    }
    memcpy(&l, at, sizeof l);
    return (double)l;
}

static double read_number(const struct number *how, const char *at)
{
    uint64_t bits = 0;
    if (how->kind == OMPJIT__SHAPE_FLOAT)
        return read_float(at, how->detail);
    memcpy(&bits, at, how->size);
    if (how->kind == OMPJIT__SHAPE_BOOL || !how->detail)
        return (double)bits;
    unsigned unused = 64 - 8 * (unsigned)how->size;
    return (double)((int64_t)(bits << unused) >> unused);
}

static bool make_room(struct numbers *to, uint64_t more)
{
    size_t room = to->room ? to->room : 64;
    while (room < to->n + more && room < SIZE_MAX / 32)
        room *= 2;
    if (room == to->room)
        return room >= to->n + more;
    double *all = realloc(to->all, room * sizeof *all);
    if (!all)
        return false;
    to->all = all;
    to->room = room;
    return room >= to->n + more;
}

void numbers_add(struct numbers *to, const ompjit__buf *shape,
                 const void *address)
{
    ompjit__reader r = {shape->data, shape->size, false};
    struct number how = {.kind = ompjit__read_number(&r)};
    uint64_t all = 1;
    while (how.kind == OMPJIT__SHAPE_ARRAY && !r.bad) {
        all *= ompjit__read_number(&r);
        ompjit__read_number(&r); /* size of an element */
        how.kind = ompjit__read_number(&r);
    }
    how.size = ompjit__read_number(&r);
    how.detail = how.kind == OMPJIT__SHAPE_BOOL ? 0 : ompjit__read_number(&r);
    if (r.bad || !is_known(&how) || !make_room(to, all)) {
        to->bad = true;
        return;
    }
    for (uint64_t i = 0; i < all; i++)
        to->all[to->n++] =
            read_number(&how, (const char *)address + i * how.size);
}

/* ------------------------------------------------------------------ objects */

struct collector {
    visit visit;
    struct numbers *to;
};

static void number_leaf(visit *v, const void *shape, const void *at)
{
    const struct collector *c = (const struct collector *)v;
    uint64_t size;
    memcpy(&size, shape, sizeof size);
    const ompjit__buf bytes = {.data = (char *)shape + sizeof size,
                               .size = size};
    numbers_add(c->to, &bytes, at);
}

static void number_plain(visit *v, const char *text, size_t size)
{
    const struct collector *c = (const struct collector *)v;
    (void)text;
    (void)size;
    c->to->bad = true;
}

static void number_text(visit *v, const void *text, size_t n, size_t size)
{
    (void)n;
    number_plain(v, text, size);
}

static bool number_element(visit *v, const void *at, visit_function *f)
{
    const struct collector *c = (const struct collector *)v;
    if (!c->to->bad)
        f(v, at);
    return !c->to->bad;
}

static void number_array(visit *v, const void *at, size_t n, size_t size,
                         visit_function *f)
{
    for (size_t i = 0; i < n; i++)
        if (!number_element(v, (const char *)at + i * size, f))
            return;
}

static void number_begin(visit *v, int kind)
{
    const struct collector *c = (const struct collector *)v;
    c->to->bad = c->to->bad || kind != VISIT_LIST;
}

static void number_end(visit *v)
{
    (void)v;
}

void numbers_add_by(struct numbers *to, visit_function *f, const void *at)
{
    struct collector c = {.visit = {.leaf = number_leaf,
                                    .text = number_text,
                                    .plain = number_plain,
                                    .array = number_array,
                                    .begin = number_begin,
                                    .element = number_element,
                                    .end = number_end},
                          .to = to};
    f(&c.visit, at);
}
