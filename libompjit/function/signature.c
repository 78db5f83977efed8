/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads a unit's signatures (core/signature.h), which believes nothing: the
 * bytes may come from a cache. A unit that was made without them gets them from
 * the compiler wing, by its code.
 */
#include <stdlib.h>
#include <string.h>

#include "door/door.h"
#include "function/function.h"

/* ---------------------------------------------------------------- the counts */

bool ompjit__next_source(ompjit__reader *all, ompjit__reader *out)
{
    size_t size;
    if (!all->left)
        return false;
    const char *data = ompjit__read_bytes(all, &size);
    *out = (ompjit__reader){data, size, false};
    return !all->bad;
}

/* ------------------------------------------------------------------- types */

/* `base`: the types of this source are behind those of others, which stay where
 * they are. */
static const ompjit_type *type_at(const ompjit_type *base, size_t n,
                                  uint64_t number, ompjit__reader *r)
{
    r->bad |= number > n;
    return number && !r->bad ? &base[number - 1] : NULL;
}

/* The names are malloc'd; type_free frees them. Members of an enumeration are
 * its constants, and have no type. An array has a count of elements, and no
 * members. */
static void read_members(ompjit__reader *r, const ompjit_type *base, size_t n,
                         ompjit_type *type)
{
    size_t count = ompjit__read_count(r);
    r->bad |= count != (type->kind == OMPJIT_TYPE_ARRAY ? 0 : type->count);
    if (r->bad || !count)
        return;
    ompjit_member *members = calloc(count, sizeof *members);
    type->members = members;
    r->bad |= !members;
    for (size_t i = 0; !r->bad && i < count; i++) {
        members[i].name = ompjit__read_string(r);
        members[i].type = type_at(base, n, ompjit__read_number(r), r);
        members[i].offset = ompjit__read_number(r);
        members[i].bit = (uint32_t)ompjit__read_number(r);
        members[i].bits = (uint32_t)ompjit__read_number(r);
        members[i].value = (int64_t)ompjit__read_number(r);
        r->bad |= type->kind != OMPJIT_TYPE_ENUM && !members[i].type;
    }
}

/* Fills *type, which is zeroed and stays where it is: others point to it
 * already. */
static void read_type(ompjit__reader *r, const ompjit_type *base, size_t n,
                      ompjit_type *type)
{
    uint64_t kind = ompjit__read_number(r);
    type->size = sizeof *type;
    r->bad |= kind > OMPJIT_TYPE_UNION;
    type->kind = (ompjit_type_kind)kind;
    type->flags = (uint32_t)ompjit__read_number(r);
    type->bytes = ompjit__read_number(r);
    type->count = ompjit__read_number(r);
    type->target = type_at(base, n, ompjit__read_number(r), r);
    type->text = ompjit__read_string(r);
    read_members(r, base, n, type);
    bool needs = type->kind == OMPJIT_TYPE_POINTER ||
                 type->kind == OMPJIT_TYPE_FUNCTION ||
                 type->kind == OMPJIT_TYPE_ARRAY;
    r->bad |= needs && !type->target;
}

/* Frees the members, their names and the text; the type itself is an element of
 * an array. */
static void type_free(ompjit_type *type)
{
    for (size_t i = 0; type->members && i < type->count; i++)
        free((char *)type->members[i].name);
    free((ompjit_member *)type->members);
    free((char *)type->text);
}

/* --------------------------------------------------------------- functions */

/* Reads *out pieces, each as the bytes that it is in memory. nparams is
 * UINT32_MAX for results, whose pieces name no parameter. malloc'd; the
 * function's own, also where r is bad then. */
static ompjit__piece *read_pieces(ompjit__reader *r, unsigned nparams,
                                  unsigned *out)
{
    uint64_t n = ompjit__read_number(r);
    r->bad |= n > r->left / sizeof(ompjit__piece);
    ompjit__piece *pieces =
        r->bad ? NULL : calloc((size_t)n + 1, sizeof *pieces);
    r->bad |= !pieces;
    *out = 0;
    if (r->bad)
        return pieces;
    memcpy(pieces, r->at, (size_t)n * sizeof *pieces);
    r->at += (size_t)n * sizeof *pieces;
    r->left -= (size_t)n * sizeof *pieces;
    *out = (unsigned)n;
    for (unsigned i = 0; i < n; i++)
        r->bad |= pieces[i].how >= OMPJIT__PIECE_HOWS ||
                  (nparams != UINT32_MAX && pieces[i].param >= nparams &&
                   pieces[i].how != OMPJIT__PIECE_PLACE);
    return pieces;
}

void ompjit__skip_passing(ompjit__reader *r)
{
    for (int lists = 0; lists < 2 && !r->bad; lists++) {
        const uint64_t n = ompjit__read_number(r);
        r->bad |= n > r->left / sizeof(ompjit__piece);
        const size_t bytes = r->bad ? 0 : (size_t)n * sizeof(ompjit__piece);
        r->at += bytes;
        r->left -= bytes;
    }
}

void ompjit__read_passing(ompjit__reader *r, unsigned nparams,
                          ompjit_function *fn)
{
    fn->pieces = read_pieces(r, nparams, &fn->npieces);
    fn->results = read_pieces(r, UINT32_MAX, &fn->nresults);
    if (!r->bad)
        r->bad |= !ompjit__plan(fn);
}

/* Its programs are checked here, once, so that each call can run them
 * unchecked. */
static void read_section(ompjit__reader *r, const ompjit_function *fn,
                         ompjit__section *s)
{
    s->param = (unsigned)ompjit__read_number(r);
    s->mapped = (uint32_t)ompjit__read_number(r);
    s->line = (unsigned)ompjit__read_number(r);
    s->text = ompjit__read_string(r);
    ompjit__read_buf(r, &s->condition);
    ompjit__read_buf(r, &s->offset);
    ompjit__read_buf(r, &s->size);
    r->bad |= s->param >= fn->nparams ||
              !ompjit__program_valid(&s->condition, fn->npieces) ||
              !ompjit__program_valid(&s->offset, fn->npieces) ||
              !ompjit__program_valid(&s->size, fn->npieces);
}

/* The words of a parameter's sections, each once. "x[:n], x[0:m]"; malloc'd, ""
 * where there are none, NULL: no memory. */
static char *mapped_text(const ompjit_function *fn, unsigned param)
{
    ompjit__buf text = {0};
    for (unsigned i = 0; i < fn->nsections; i++) {
        const ompjit__section *s = &fn->sections[i];
        bool again = s->param != param || !*s->text;
        for (unsigned k = 0; k < i; k++)
            again |= fn->sections[k].param == param &&
                     !strcmp(fn->sections[k].text, s->text);
        if (!again)
            ompjit__buf_printf(&text, "%s%s", text.size ? ", " : "", s->text);
    }
    if (!text.size && !text.failed)
        ompjit__buf_add(&text, "", 1);
    if (text.failed)
        ompjit__buf_free(&text);
    return text.data;
}

/* Reads the sections, and sums up for each parameter what they say. */
static void read_sections(ompjit__reader *r, ompjit_function *fn)
{
    size_t n = ompjit__read_count(r);
    fn->sections = calloc(n + 1, sizeof *fn->sections);
    fn->mapped = calloc(fn->nparams + 1u, sizeof *fn->mapped);
    fn->mapped_texts = calloc(fn->nparams + 1u, sizeof *fn->mapped_texts);
    r->bad |= !fn->sections || !fn->mapped || !fn->mapped_texts;
    while (!r->bad && fn->nsections < n) {
        ompjit__section *s = &fn->sections[fn->nsections++];
        read_section(r, fn, s);
        if (r->bad)
            return;
        fn->mapped[s->param] |= s->mapped;
        fn->checks |= s->offset.size && s->size.size;
    }
    for (unsigned i = 0; !r->bad && i < fn->nparams; i++) {
        fn->mapped_texts[i] = mapped_text(fn, i);
        r->bad |= !fn->mapped_texts[i];
    }
}

/* Reads a function and makes its plan. The plan may refuse it; it is listed all
 * the same, with the reason. */
static void read_function(ompjit__reader *r, const ompjit_type *base, size_t n,
                          ompjit_function *fn)
{
    fn->name = ompjit__read_string(r);
    fn->symbol = ompjit__read_string(r);
    fn->prototype = ompjit__read_string(r);
    fn->file = ompjit__read_string(r);
    fn->line = (unsigned)ompjit__read_number(r);
    fn->type = type_at(base, n, ompjit__read_number(r), r);
    fn->from_source = ompjit__read_number(r);
    fn->refused = ompjit__read_string(r);
    r->bad |= !fn->type || fn->type->kind != OMPJIT_TYPE_FUNCTION;
    if (r->bad)
        return;
    if (!*fn->refused) {
        free(fn->refused);
        fn->refused = NULL;
    }
    fn->nparams = (unsigned)fn->type->count;
    ompjit__read_passing(r, fn->nparams, fn);
    if (!r->bad)
        read_sections(r, fn);
}

/* Frees what the function holds; it is an element of an array itself. */
void ompjit__function_free(ompjit_function *fn)
{
    for (unsigned i = 0; i < fn->nsections; i++) {
        free(fn->sections[i].text);
        ompjit__buf_free(&fn->sections[i].condition);
        ompjit__buf_free(&fn->sections[i].offset);
        ompjit__buf_free(&fn->sections[i].size);
    }
    for (unsigned i = 0; fn->mapped_texts && i < fn->nparams; i++)
        free(fn->mapped_texts[i]);
    free(fn->sections);
    free(fn->mapped);
    free(fn->mapped_texts);
    free(fn->pieces);
    free(fn->results);
    free(fn->steps);
    free(fn->name);
    free(fn->symbol);
    free(fn->prototype);
    free(fn->file);
    if (fn->refused != fn->why)
        free(fn->refused);
}

void ompjit__functions_free(ompjit__functions *functions)
{
    if (!functions)
        return;
    for (unsigned i = 0; i < functions->n; i++)
        ompjit__function_free(&functions->functions[i]);
    for (size_t i = 0; i < functions->ntypes; i++)
        type_free(&functions->types[i]);
    free(functions->functions);
    free(functions->types);
    free(functions);
}

/* -------------------------------------------------------------- the module */

/* How many types and functions a text has room for at most, so that the arrays,
 * to which types point, are allocated once. */
static bool make_room(const ompjit__buf *text, ompjit__functions *out)
{
    enum { SMALLEST_TYPE = 7 * 8, SMALLEST_FUNCTION = 11 * 8 };
    out->types = calloc(text->size / SMALLEST_TYPE + 1, sizeof *out->types);
    out->functions =
        calloc(text->size / SMALLEST_FUNCTION + 1, sizeof *out->functions);
    return out->types && out->functions;
}

/* Is the symbol that of one of the first n functions? */
static bool has_function(const ompjit__functions *functions, unsigned n,
                         const char *symbol)
{
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(functions->functions[i].symbol, symbol))
            return true;
    return false;
}

/* A weak function that several sources define is one. */
static void read_source(ompjit__reader *r, ompjit_module *mod,
                        ompjit__functions *out)
{
    size_t ntypes = ompjit__read_count(r);
    const unsigned others = out->n;
    ompjit_type *base = out->types + out->ntypes;
    for (size_t i = 0; !r->bad && i < ntypes; i++, out->ntypes++)
        read_type(r, base, ntypes, &base[i]);
    size_t n = ompjit__read_count(r);
    for (size_t i = 0; !r->bad && i < n; i++) {
        ompjit_function *fn = &out->functions[out->n++];
        fn->mod = mod;
        read_function(r, base, ntypes, fn);
        if (!r->bad && has_function(out, others, fn->symbol)) {
            ompjit__function_free(fn);
            memset(fn, 0, sizeof *fn);
            out->n--;
        }
    }
}

/* Reads the texts of all sources. A reader knows nothing but `bad`: memory that
 * runs out while it reads is an INTERNAL error, too. */
static ompjit_status read_all(ompjit_module *mod, const ompjit__buf *text,
                              ompjit__functions **out, ompjit_error *err)
{
    ompjit__functions *functions = calloc(1, sizeof *functions);
    ompjit__reader all = {text->data, text->size, false}, r;
    if (!functions || !make_room(text, functions)) {
        ompjit__functions_free(functions);
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    }
    while (!all.bad && ompjit__next_source(&all, &r)) {
        read_source(&r, mod, functions);
        all.bad |= r.bad;
    }
    if (!all.bad) {
        *out = functions;
        return OMPJIT_OK;
    }
    ompjit__functions_free(functions);
    return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_READ,
                        "%s: the signatures of its functions do not read",
                        mod->unit.name);
}

/* A unit without a host half has no functions: an empty text. */
static ompjit_status make(ompjit_module *mod, ompjit__functions **out,
                          ompjit_error *err)
{
    const ompjit__unit *unit = &mod->unit;
    ompjit__buf text = {0};
    ompjit_status status = OMPJIT_OK;
    if (unit->signatures.size)
        return read_all(mod, &unit->signatures, out, err);
    if (unit->host_bc.size)
        status = ompjit__door_signatures(&mod->ctx->compiler, &unit->host_bc,
                                         unit->name, &text, err);
    if (!status)
        status = read_all(mod, &text, out, err);
    ompjit__buf_free(&text);
    return status;
}

/* The module's lock is held while the compiler wing reads the code, so threads
 * that ask at once wait for the first. */
ompjit_status ompjit__functions_of(ompjit_module *mod,
                                   const ompjit__functions **out,
                                   ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&mod->lock);
    if (!mod->functions)
        status = make(mod, &mod->functions, err);
    if (!status)
        *out = mod->functions;
    pthread_mutex_unlock(&mod->lock);
    return status;
}
