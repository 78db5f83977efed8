/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Shows objects of C++. Where a value has a class whose bytes do not say it all,
 * object.in is compiled behind the session's inputs, as one more of them that is
 * not kept: code of the session's iterates, dereferences or prints the object,
 * and calls back with what it finds (visit.h).
 */
#include <stdlib.h>
#include <string.h>

#include "core/repl.h"
#include "omptarget/offload.h"
#include "tool/repl/session/engine.h"
#include "tool/repl/session/object.h"
#include "tool/repl/session/object_text.h"

const char *const object_source = object_text;

/* The module's function for the whole object. */
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
static const struct object *known(const engine *e, const uint8_t *digest)
{
    for (const struct object *o = e->objects; o; o = o->next)
        if (!memcmp(o->digest, digest, sizeof o->digest))
            return o;
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

/* Its code stays: what it has called may know it. The answer is the object's. */
static const struct object *keep_object(engine *e, const uint8_t *digest,
                                        struct answer *answer)
{
    struct object *o = calloc(1, sizeof *o);
    if (!o || !(o->mod = link_module(e, &answer->host))) {
        free(o);
        return NULL;
    }
    memcpy(o->digest, digest, sizeof o->digest);
    ompjit__buf_free(&answer->host);
    o->answer = *answer;
    *answer = (struct answer){.verdict = OMPJIT__REPL_GOOD};
    o->next = e->objects;
    e->objects = o;
    guard_add(e, o->mod);
    return o;
}

const struct object *object_for(engine *e, const char *variable)
{
    struct answer answer;
    const struct object *o = NULL;
    uint8_t digest[OMPJIT__DIGEST];
    if (compile(e, variable, &answer)) {
        ompjit__digest(answer.host.data, answer.host.size, digest);
        o = known(e, digest);
        if (!o)
            o = keep_object(e, digest, &answer);
    }
    answer_free(&answer);
    return o;
}

void objects_free(engine *e)
{
    while (e->objects) {
        struct object *o = e->objects;
        e->objects = o->next;
        ompjit_module_destroy(o->mod);
        answer_free(&o->answer);
        free(o);
    }
}

visit_function *object_member(const struct object *o, void *address,
                              const char *symbol)
{
    void *f = address;
    if (!f && ompjit__hostjit_symbol(o->mod->hostjit, symbol, &f, NULL))
        return NULL;
    return (visit_function *)f;
}

visit_function *object_function(const struct object *o)
{
    if (!o)
        return NULL;
    ompjit__hostjit_construct(o->mod->hostjit);
    return object_member(o, NULL, VALUE);
}
