/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Objects of C++ as text. Programs that :save writes have these functions, too.
 */
#include <stdlib.h>
#include <string.h>

#include "core/repl.h"
#include "tool/repl/session/show.h"
#include "tool/repl/session/visit.h"

enum {
    LIST_MOST = 192,   /* elements of a range whose place is not known        */
    LIST_SHORT = 9,    /* the same inside of another value, one of them "..." */
    PLAIN_MOST = 2000  /* letters that a class prints                         */
};

struct shown {
    visit visit;
    const show_how *how;
    ompjit__buf *out;
    char **texts; /* of elements; NULL: there is no list, or no memory */
    size_t n, printed;
    bool more; /* elements than were taken */
};

static void take_leaf(visit *v, const void *shape, const void *at)
{
    const struct shown *s = (const struct shown *)v;
    uint64_t size;
    memcpy(&size, shape, sizeof size);
    const ompjit__buf bytes = {.data = (char *)shape + sizeof size,
                               .size = size};
    show_value(&bytes, at, s->how, s->out);
}

static void begin_shape(ompjit__buf *shape, size_t n, size_t size,
                        enum ompjit__repl_shape kind)
{
    ompjit__pack_number(shape, OMPJIT__SHAPE_ARRAY);
    ompjit__pack_number(shape, n);
    ompjit__pack_number(shape, size);
    ompjit__pack_number(shape, kind);
}

static void take_text(visit *v, const void *text, size_t n, size_t size)
{
    const struct shown *s = (const struct shown *)v;
    ompjit__buf shape = {0};
    begin_shape(&shape, n, size, OMPJIT__SHAPE_CHAR);
    ompjit__pack_number(&shape, size);
    ompjit__pack_number(&shape, 1); /* signed */
    show_value(&shape, text, s->how, s->out);
    ompjit__buf_free(&shape);
}

static void take_plain(visit *v, const char *text, size_t size)
{
    struct shown *s = (struct shown *)v;
    if (s->printed > PLAIN_MOST)
        return;
    s->printed += size;
    if (s->printed > PLAIN_MOST) {
        ompjit__buf_add(s->out, text, size - (s->printed - PLAIN_MOST));
        ompjit__buf_add(s->out, "...", 3);
    } else {
        ompjit__buf_add(s->out, text, size);
    }
}

static void take_array(visit *v, const void *at, size_t n, size_t size,
                       visit_function *f)
{
    const struct shown *s = (const struct shown *)v;
    ompjit__buf shape = {0};
    begin_shape(&shape, n, size, OMPJIT__SHAPE_OBJECT);
    ompjit__pack_number(&shape, size);
    ompjit__pack_number(&shape, (uint64_t)(uintptr_t)f);
    ompjit__pack_string(&shape, "");
    show_value(&shape, at, s->how, s->out);
    ompjit__buf_free(&shape);
}

static void begin_list(visit *v, int kind)
{
    struct shown *s = (struct shown *)v;
    (void)kind;
    s->texts = calloc(LIST_MOST, sizeof *s->texts);
    s->n = 0;
    s->more = false;
}

static bool take_element(visit *v, const void *at, visit_function *f)
{
    struct shown *s = (struct shown *)v;
    ompjit__buf text = {0};
    show_how how = *s->how;
    s->more = s->n == (how.inside ? LIST_SHORT : LIST_MOST);
    if (s->more || !s->texts)
        return false;
    how.inside = true;
    how.depth++;
    show_by(&how, f, at, &text);
    s->texts[s->n++] = text.data;
    return true;
}

static void end_list(visit *v)
{
    struct shown *s = (struct shown *)v;
    ompjit__buf shape = {0};
    begin_shape(&shape, s->n, sizeof *s->texts, OMPJIT__SHAPE_TEXT);
    show_value(&shape, s->texts, s->how, s->out);
    if (s->more && !s->how->inside)
        ompjit__buf_printf(s->out, "\n...");
    ompjit__buf_free(&shape);
    while (s->texts && s->n)
        free(s->texts[--s->n]);
    free(s->texts);
    s->texts = NULL;
}

void show_by(const show_how *how, visit_function *f, const void *at,
             ompjit__buf *out)
{
    struct shown s = {.visit = {.leaf = take_leaf,
                                .text = take_text,
                                .plain = take_plain,
                                .array = take_array,
                                .begin = begin_list,
                                .element = take_element,
                                .end = end_list},
                      .how = how,
                      .out = out};
    f(&s.visit, at);
}
