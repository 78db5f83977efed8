/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Executes inputs. An input that fails leaves the session as it was: nothing of
 * it is kept before all of it has run.
 */
#include <stdlib.h>
#include <string.h>

#include "omptarget/offload.h"
#include "tool/repl/engine.h"
#include "tool/repl/show.h"

/* ------------------------------------------------------------------- engine */

static void *find(void *data, const char *name)
{
    return symbols_find(data, name);
}

ompjit_status engine_new(ompjit_context *ctx,
                         const ompjit_module_options *options, engine **out,
                         ompjit_error *err)
{
    engine *e = calloc(1, sizeof *e);
    if (!e)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    e->ctx = ctx;
    e->next = 1;
    e->symbols = symbols_new(guard_missing, e);
    e->linkage = (ompjit__linkage){find, e->symbols};
    ompjit_status status =
        e->symbols ? front_new(ctx, options, &e->front, err)
                   : ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (status)
        engine_free(e);
    else
        *out = e;
    return status;
}

static void kept_free(struct kept *k)
{
    input_free(&k->in);
    for (size_t i = 0; i < k->nnames; i++) {
        free(k->names[i].name);
        free(k->names[i].symbol);
        free(k->names[i].type);
        ompjit__buf_free(&k->names[i].shape);
    }
    free(k->names);
    free(k->items);
}

/* The last module goes first: its destructors may use what was before. */
void engine_free(engine *e)
{
    if (!e)
        return;
    front_free(e->front);
    while (e->nkept) {
        struct kept *k = &e->kept[--e->nkept];
        ompjit_module_destroy(k->mod);
        kept_free(k);
    }
    while (e->nlost)
        ompjit_module_destroy(e->lost[--e->nlost]);
    free(e->kept);
    free(e->lost);
    symbols_free(e->symbols);
    free(e);
}

/* ------------------------------------------------------------------ outcome */

void outcome_free(struct outcome *out)
{
    free(out->text);
    free(out->type);
    free(out->value);
    answer_free(&out->answer);
    *out = (struct outcome){0};
}

/* Appends a text, which gets a line break where it has none. */
static void tell(struct outcome *out, const char *text)
{
    size_t n = strlen(text);
    bool whole = n && text[n - 1] == '\n';
    char *all = ompjit__format("%s%s%s", out->text ? out->text : "", text,
                               whole || !n ? "" : "\n");
    if (!all)
        return;
    free(out->text);
    out->text = all;
}

static void fail(struct outcome *out, const ompjit_error *err)
{
    char *text = ompjit__format("error: %s", err->text);
    out->kind = OUTCOME_BAD;
    tell(out, text ? text : "error: out of memory");
    free(text);
}

/* --------------------------------------------------------------------- link */

/* One input on its way. */
struct execution {
    engine *e;
    struct input in;
    ompjit_module *mod;
    struct outcome *out;
};

static void forget_module(engine *e, ompjit_module *mod)
{
    ompjit_module **more = realloc(e->lost, (e->nlost + 1) * sizeof *more);
    if (!more)
        return; /* it stays */
    e->lost = more;
    e->lost[e->nlost++] = mod;
}

/* Prototypes come first: the input may call what another one will define. */
static ompjit_status declare_names(struct execution *x, ompjit_error *err)
{
    const struct answer *a = &x->out->answer;
    for (size_t i = 0; i < a->nnames; i++)
        if (a->names[i].kind == OMPJIT__REPL_PROTOTYPE &&
            !symbols_declare(x->e->symbols, a->names[i].symbol,
                             x->in.number))
            return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    return OMPJIT_OK;
}

static bool is_defined(const struct name *name)
{
    return (name->kind == OMPJIT__REPL_FUNCTION ||
            name->kind == OMPJIT__REPL_VARIABLE) &&
           *name->symbol;
}

/* Inline functions, and what no code is made of, have no symbol. */
static ompjit_status define_names(struct execution *x, ompjit_error *err)
{
    const struct answer *a = &x->out->answer;
    for (size_t i = 0; i < a->nnames; i++) {
        void *address;
        if (!is_defined(&a->names[i]) ||
            ompjit__hostjit_symbol(x->mod->hostjit, a->names[i].symbol,
                                   &address, NULL))
            continue;
        if (!symbols_add(x->e->symbols, a->names[i].symbol, address,
                         x->in.number))
            return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    }
    return OMPJIT_OK;
}

static ompjit_status make_module(struct execution *x, ompjit_error *err)
{
    const struct answer *a = &x->out->answer;
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    options.name = x->in.name;
    ompjit_status status = declare_names(x, err);
    if (!status)
        status = ompjit__module_from_halves(x->e->ctx, &a->device, &a->host,
                                            &options, &x->mod, err);
    if (!status)
        status = ompjit__module_link(x->mod, &x->e->linkage, err);
    if (!status)
        status = define_names(x, err);
    if (status) {
        ompjit_module_destroy(x->mod);
        x->mod = NULL;
        symbols_drop(x->e->symbols, x->in.number);
    }
    return status;
}

/* ---------------------------------------------------------------------- run */

/* Called by guard_run. */
static void run(void *arg)
{
    const struct execution *x = arg;
    const struct answer *a = &x->out->answer;
    ompjit__hostjit_construct(x->mod->hostjit);
    for (size_t i = 0; i < a->nruns; i++) {
        void *f;
        if (!ompjit__hostjit_symbol(x->mod->hostjit, a->runs[i], &f, NULL))
            ((void (*)(void))f)();
    }
}

/* -------------------------------------------------------------------- value */

static const char *name_at(void *data, const void *address)
{
    return symbols_name(data, address);
}

/* The object that the value is, which later inputs know by input_N_is. */
static void *value_address(struct execution *x)
{
    const struct value *v = &x->out->answer.value;
    char *symbol = ompjit__format("input_%u_is", x->in.number);
    void *address = NULL;
    if (v->form == OMPJIT__REPL_DIRECT || v->form == OMPJIT__REPL_POINTER)
        ompjit__hostjit_symbol(x->mod->hostjit, v->symbol, &address, NULL);
    if (address && v->form == OMPJIT__REPL_POINTER)
        memcpy(&address, address, sizeof address);
    if (address && symbol)
        symbols_add(x->e->symbols, symbol, address, x->in.number);
    free(symbol);
    return address;
}

/* Called by guard_run: an array may end behind its memory. */
struct showing {
    struct execution *x;
    void *address;
    ompjit__buf text;
};

static void show(void *arg)
{
    struct showing *s = arg;
    show_value(&s->x->out->answer.value.shape, s->address, name_at,
               s->x->e->symbols, &s->text);
}

static void take_value(struct execution *x)
{
    struct outcome *out = x->out;
    struct showing s = {.x = x, .address = value_address(x)};
    ompjit_error err;
    if (!s.address)
        return;
    if (!guard_run(x->e, show, &s, &err)) {
        tell(out, err.text);
        ompjit__buf_free(&s.text);
        return;
    }
    out->type = ompjit__strdup(out->answer.value.type);
    out->value = s.text.data;
}

/* --------------------------------------------------------------------- keep */

/* The names are the session's from now on. */
static bool keep(struct execution *x)
{
    engine *e = x->e;
    struct answer *a = &x->out->answer;
    struct kept *more = realloc(e->kept, (e->nkept + 1) * sizeof *more);
    if (!more)
        return false;
    e->kept = more;
    e->kept[e->nkept++] = (struct kept){
        .in = x->in,
        .mod = x->mod,
        .items = a->items,
        .nitems = a->nitems,
        .names = a->names,
        .nnames = a->nnames,
    };
    x->in = (struct input){0};
    a->items = NULL;
    a->names = NULL;
    a->nitems = a->nnames = 0;
    front_keep(e->front);
    return true;
}

/* The front end's processes have ended: others read all inputs once more. */
static void recover(engine *e)
{
    ompjit_error err;
    if (!front_is_gone(e->front) || front_restart(e->front, &err))
        return;
    for (size_t i = 0; i < e->nkept; i++)
        front_replay(e->front, &e->kept[i].in);
}

/* ------------------------------------------------------------------ execute */

static void run_and_keep(struct execution *x)
{
    ompjit_error err;
    if (!guard_run(x->e, run, x, &err)) {
        fail(x->out, &err);
        symbols_drop(x->e->symbols, x->in.number);
        forget_module(x->e, x->mod);
        return;
    }
    take_value(x);
    if (!keep(x))
        tell(x->out, "error: out of memory");
}

static void execute(struct execution *x)
{
    struct outcome *out = x->out;
    ompjit_error err;
    recover(x->e);
    if (front_try(x->e->front, &x->in, OMPJIT__REPL_CODE, x->e->colours,
                  &out->answer, &err)) {
        fail(out, &err);
        return;
    }
    if (out->answer.text && *out->answer.text)
        tell(out, out->answer.text);
    if (out->answer.verdict != OMPJIT__REPL_GOOD) {
        out->kind = out->answer.verdict == OMPJIT__REPL_UNDONE
                        ? OUTCOME_UNDONE
                        : OUTCOME_BAD;
        return;
    }
    if (make_module(x, &err))
        fail(out, &err);
    else
        run_and_keep(x);
}

void engine_execute(engine *e, const char *name, unsigned line,
                    const char *text, size_t size, struct outcome *out)
{
    struct execution x = {.e = e, .out = out};
    ompjit_error err;
    *out = (struct outcome){.kind = OUTCOME_GOOD};
    if (input_set(&x.in, e->next, name, line, text, size)) {
        execute(&x);
    } else {
        ompjit__no_memory(&err, OMPJIT_STAGE_API);
        fail(out, &err);
    }
    if (out->kind != OUTCOME_UNDONE)
        e->next++;
    input_free(&x.in);
}
