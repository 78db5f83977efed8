/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Shows objects of C++. Where a value has a class whose bytes do not say it all,
 * object.in is compiled behind the session's inputs, as one more of them that is
 * not kept: code of the session's iterates, dereferences or prints the object,
 * and calls back with what it finds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "core/repl.h"
#include "omptarget/offload.h"
#include "tool/repl/session/engine.h"
#include "tool/repl/session/object.h"
#include "tool/repl/session/object_text.h"

enum {
    MOST = 192,       /* elements of a range whose place is not known       */
    SHORT = 9,        /* the same inside of another value, one of them "..." */
    PLAIN_MOST = 2000 /* letters that a class prints                        */
};

/* Code that shows objects of one type, by a digest of its bitcode. */
struct object {
    struct object *next;
    ompjit_module *mod;
    uint8_t digest[OMPJIT__DIGEST];
};

/* object.in: Show. */
struct shown {
    void (*leaf)(struct shown *s, const void *shape, const void *at);
    void (*text)(struct shown *s, const char *text, size_t size);
    void (*plain)(struct shown *s, const char *text, size_t size);
    void (*array)(struct shown *s, const void *at, size_t n, size_t size,
                  void (*function)(struct shown *s, const void *at));
    void (*begin)(struct shown *s);
    bool (*element)(struct shown *s, const void *at,
                    void (*function)(struct shown *s, const void *at));
    void (*end)(struct shown *s);
    /* object.in does not know these. */
    const show_how *how;
    ompjit__buf *out;
    char **texts; /* of elements; NULL: there is no list, or no memory */
    size_t n, printed;
    bool more; /* elements than were taken */
};

typedef void function(struct shown *s, const void *at);

static void call(const show_how *how, function *f, const void *at,
                 ompjit__buf *out);

/* Its size is in front of the shape. */
static void leaf(struct shown *s, const void *shape, const void *at)
{
    uint64_t size;
    memcpy(&size, shape, sizeof size);
    const ompjit__buf bytes = {.data = (char *)shape + sizeof size,
                               .size = size};
    show_value(&bytes, at, s->how, s->out);
}

static void begin_array(ompjit__buf *shape, size_t n, size_t size,
                        enum ompjit__repl_shape kind)
{
    ompjit__pack_number(shape, OMPJIT__SHAPE_ARRAY);
    ompjit__pack_number(shape, n);
    ompjit__pack_number(shape, size);
    ompjit__pack_number(shape, kind);
}

static void text(struct shown *s, const char *text, size_t size)
{
    ompjit__buf shape = {0};
    begin_array(&shape, size, 1, OMPJIT__SHAPE_CHAR);
    ompjit__pack_number(&shape, 1); /* its size */
    ompjit__pack_number(&shape, 1); /* signed   */
    show_value(&shape, text, s->how, s->out);
    ompjit__buf_free(&shape);
}

static void plain(struct shown *s, const char *text, size_t size)
{
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

static void array(struct shown *s, const void *at, size_t n, size_t size,
                  function *f)
{
    ompjit__buf shape = {0};
    begin_array(&shape, n, size, OMPJIT__SHAPE_OBJECT);
    ompjit__pack_number(&shape, size);
    ompjit__pack_number(&shape, (uint64_t)(uintptr_t)f);
    ompjit__pack_string(&shape, "");
    show_value(&shape, at, s->how, s->out);
    ompjit__buf_free(&shape);
}

static void begin(struct shown *s)
{
    s->texts = calloc(MOST, sizeof *s->texts);
    s->n = 0;
    s->more = false;
}

static bool element(struct shown *s, const void *at, function *f)
{
    ompjit__buf text = {0};
    show_how how = *s->how;
    s->more = s->n == (how.inside ? SHORT : MOST);
    if (s->more || !s->texts)
        return false;
    how.inside = true;
    how.depth++;
    call(&how, f, at, &text);
    s->texts[s->n++] = text.data;
    return true;
}

static void end(struct shown *s)
{
    ompjit__buf shape = {0};
    begin_array(&shape, s->n, sizeof *s->texts, OMPJIT__SHAPE_TEXT);
    show_value(&shape, s->texts, s->how, s->out);
    if (s->more && !s->how->inside)
        ompjit__buf_printf(s->out, "\n...");
    ompjit__buf_free(&shape);
    while (s->texts && s->n)
        free(s->texts[--s->n]);
    free(s->texts);
    s->texts = NULL;
}

static void call(const show_how *how, function *f, const void *at,
                 ompjit__buf *out)
{
    struct shown s = {.leaf = leaf,
                      .text = text,
                      .plain = plain,
                      .array = array,
                      .begin = begin,
                      .element = element,
                      .end = end,
                      .how = how,
                      .out = out};
    f(&s, at);
}

/* ------------------------------------------------------------------- module */

#define VALUE "ompjit_object_value"

/* The text that shows what is at an address, with the variable's type. The
 * caller's to free. */
static char *text_of(const char *variable)
{
    return ompjit__format("%s"
                          "extern \"C\" void " VALUE
                          "(ompjit_object::Show *s, const void *at)\n"
                          "{\n"
                          "    typedef ompjit_object::Bare<decltype(%s)>::Type T;\n"
                          "    ompjit_object::show(*s, *(const T *)at);\n"
                          "}\n",
                          object_text, variable);
}

/* The input that the value is of has the number `next`. */
static bool compile(engine *e, const char *variable, struct answer *out)
{
    struct input in = {0};
    char *text = text_of(variable);
    *out = (struct answer){.verdict = OMPJIT__REPL_BAD};
    const bool good =
        text && input_set(&in, e->next + 1, "value", 1, text, strlen(text)) &&
        !front_try(e->front, &in, OMPJIT__REPL_SHOW, false, out, NULL) &&
        out->verdict == OMPJIT__REPL_GOOD;
    input_free(&in);
    free(text);
    return good;
}

/* Equal texts of equal types have the same code. */
static ompjit_module *known(const engine *e, const uint8_t *digest)
{
    for (const struct object *o = e->objects; o; o = o->next)
        if (!memcmp(o->digest, digest, sizeof o->digest))
            return o->mod;
    return NULL;
}

static ompjit_module *link_module(engine *e, const ompjit__buf *host)
{
    ompjit_module *mod;
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    options.name = "value";
    options.opt_level = (ompjit_opt_level)1; /* -O0 */
    if (ompjit__module_from_host(e->ctx, host, &options, &mod, NULL))
        return NULL;
    if (!ompjit__module_link(mod, &e->linkage, NULL))
        return mod;
    ompjit_module_destroy(mod);
    return NULL;
}

/* Its code stays: what it has called may know it. */
static ompjit_module *keep_module(engine *e, const uint8_t *digest,
                                  const ompjit__buf *host)
{
    struct object *o = calloc(1, sizeof *o);
    if (!o || !(o->mod = link_module(e, host))) {
        free(o);
        return NULL;
    }
    memcpy(o->digest, digest, sizeof o->digest);
    o->next = e->objects;
    e->objects = o;
    guard_add(e, o->mod);
    return o->mod;
}

ompjit_module *object_module(engine *e, const char *variable)
{
    struct answer answer;
    ompjit_module *mod = NULL;
    uint8_t digest[OMPJIT__DIGEST];
    if (compile(e, variable, &answer)) {
        ompjit__digest(answer.host.data, answer.host.size, digest);
        mod = known(e, digest);
        if (!mod)
            mod = keep_module(e, digest, &answer.host);
    }
    answer_free(&answer);
    return mod;
}

void objects_free(engine *e)
{
    while (e->objects) {
        struct object *o = e->objects;
        e->objects = o->next;
        ompjit_module_destroy(o->mod);
        free(o);
    }
}

bool object_show(const show_how *how, ompjit_module *mod, void *address,
                 const char *symbol, const void *at, ompjit__buf *out)
{
    void *f = address;
    if (!f && ompjit__hostjit_symbol(mod->hostjit, symbol, &f, NULL))
        return false;
    call(how, (function *)f, at, out);
    return true;
}

void object_show_value(const show_how *how, ompjit_module *mod,
                       const void *at, ompjit__buf *out)
{
    ompjit__hostjit_construct(mod->hostjit);
    object_show(how, mod, NULL, VALUE, at, out);
}
