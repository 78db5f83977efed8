/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Executes inputs. An input that fails leaves the session as it was: nothing of
 * it is kept before all of it has run.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/repl.h"
#include "hosthalf/thread_local.h"
#include "loader/jit.h"
#include "ompjit_function.h"
#include "omptarget/offload.h"
#include "tool/repl/session/complete.h"
#include "tool/repl/session/engine.h"
#include "tool/repl/session/interrupt.h"
#include "tool/repl/session/numbers.h"
#include "tool/repl/session/object.h"
#include "tool/repl/session/show.h"

/* ------------------------------------------------------------------- engine */

/* Of `critical`, or of reductions; NULL: no memory. */
struct lock {
    struct lock *next;
    int32_t word[8]; /* libomp's */
    char name[];
};

static void *lock_of(engine *e, const char *name)
{
    struct lock *lock = e->locks;
    while (lock && strcmp(lock->name, name))
        lock = lock->next;
    if (lock)
        return lock->word;
    const size_t n = strlen(name) + 1;
    lock = calloc(1, sizeof *lock + n);
    if (!lock)
        return NULL;
    memcpy(lock->name, name, n);
    lock->next = e->locks;
    e->locks = lock;
    return lock->word;
}

static void free_locks(engine *e)
{
    while (e->locks) {
        struct lock *lock = e->locks;
        e->locks = lock->next;
        free(lock);
    }
}

/* The session's own symbols come first. */
static void *find(void *data, const char *name)
{
    engine *e = data;
    if (!strcmp(name, OMPJIT__REPL_ROUNDS))
        return &e->rounds;
    return strncmp(name, OMPJIT__REPL_LOCK, sizeof OMPJIT__REPL_LOCK - 1)
               ? symbols_find(e->symbols, name)
               : lock_of(e, name);
}

/* Threads of a parallel region may go on in optimized code at once, and linking
 * one unit links others. */
static void lock_init(engine *e)
{
    pthread_mutexattr_t nests;
    pthread_mutexattr_init(&nests);
    pthread_mutexattr_settype(&nests, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&e->lock, &nests);
    pthread_mutexattr_destroy(&nests);
}

/* The list is for signal handlers. */
static ompjit_status list_devices(engine *e, ompjit_error *err)
{
    unsigned n;
    ompjit_status status = ompjit_context_device_count(e->ctx, &n, err);
    e->devices = calloc(n + 1, sizeof *e->devices);
    if (!status && !e->devices)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    for (; !status && e->ndevices < n; e->ndevices++)
        status = ompjit_context_device(e->ctx, e->ndevices,
                                       &e->devices[e->ndevices], err);
    return status;
}

ompjit_status engine_new(ompjit_context *ctx,
                         const ompjit_module_options *options, engine **out,
                         ompjit_error *err)
{
    engine *e = calloc(1, sizeof *e);
    if (!e)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    lock_init(e);
    e->ctx = ctx;
    ctx->link_advice = "Define them in an input, and try this one again, or "
                       "begin the session with their library (-l).";
    e->next = 1;
    e->opt_level = options->opt_level;
    e->symbols = symbols_new(guard_missing);
    e->linkage = (ompjit__linkage){find, e};
    ompjit_status status =
        e->symbols && guard_begin(e) ? front_new(ctx, options, &e->front, err)
                   : ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (!status)
        status = list_devices(e, err);
    if (status)
        engine_free(e);
    else
        *out = e;
    return status;
}

static void unit_free(struct unit *u)
{
    if (!u)
        return;
    ompjit_module_destroy(u->optimized);
    ompjit_module_destroy(u->mod);
    input_free(&u->in);
    answer_free(&u->answer);
    free(u->value);
    free(u);
}

/* The last module goes first: its destructors may use what was before. */
void engine_free(engine *e)
{
    if (!e)
        return;
    front_free(e->front);
    objects_free(e);
    while (e->nunits)
        unit_free(e->units[--e->nunits]);
    while (e->nlost)
        ompjit_module_destroy(e->lost[--e->nlost]);
    free(e->units);
    free(e->lost);
    symbols_free(e->symbols);
    free(e->devices);
    free_locks(e);
    guard_end(e);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* ------------------------------------------------------------------ outcome */

void outcome_free(struct outcome *out)
{
    messages_free(out->messages, out->nmessages);
    free(out->text);
    free(out->type);
    free(out->value);
    free(out->rows);
    *out = (struct outcome){0};
}

void outcome_tell(struct outcome *out, const char *text)
{
    static const char plain[] = "\033[0m"; /* behind clang's last line */
    const size_t n = strlen(text), size = sizeof plain - 1;
    const bool ends = n > size && !strcmp(text + n - size, plain);
    const bool whole = n && text[n - 1 - (ends ? size : 0)] == '\n';
    char *all = ompjit__format("%s%s%s", out->text ? out->text : "", text,
                               whole || !n ? "" : "\n");
    if (!all)
        return;
    free(out->text);
    out->text = all;
}

/* The input's first line that is not empty. */
static unsigned first_line(const struct input *in)
{
    unsigned line = in->line;
    for (const char *p = in->text; *p && strchr(" \t\r\n\f\v", *p); p++)
        line += *p == '\n';
    return line;
}

/* The length of an error's text without " (NAME:LINE)" at its end, where that
 * is the place in front. */
static int without_place(const char *text, const struct input *in)
{
    char *place = ompjit__format(" (%s:%u)", in->name, first_line(in));
    const size_t size = strlen(text), n = place ? strlen(place) : 0;
    const bool same = n && n < size && !strcmp(text + size - n, place);
    free(place);
    return (int)(same ? size - n : size);
}

void outcome_fail(struct outcome *out, const struct input *in,
                  const ompjit_error *err)
{
    bool stopped = err->status == OMPJIT_ERR_ABORTED;
    char *text = ompjit__format("%s:%u: %s%.*s", in->name, first_line(in),
                                stopped ? "" : "error: ",
                                stopped ? (int)strlen("interrupted")
                                        : without_place(err->text, in),
                                stopped ? "interrupted" : err->text);
    out->kind = stopped ? OUTCOME_ABORTED : OUTCOME_BAD;
    outcome_tell(out, text ? text : "error: out of memory");
    free(text);
}

/* ------------------------------------------------------------------ modules */

static const ompjit_opt_level NOT_AT_ALL = (ompjit_opt_level)1; /* -O0 */

/* Has the input functions that are optimized when they are used again? */
static bool is_brief(const struct unit *u)
{
    return u->answer.brief && !u->answer.runs_once;
}

/* Code that runs once is not worth being optimized, and brief code not before it
 * has run. */
static ompjit_module_options options_of(const struct unit *u)
{
    static const char *const lines[] = {"-g"};
    const struct answer *a = &u->answer;
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    options.name = u->in.name;
    options.flags = lines;
    options.nflags = u->e->debugs;
    options.opt_level = (a->runs_once && !a->entries) || is_brief(u)
                            ? NOT_AT_ALL
                            : u->e->opt_level;
    return options;
}

static ompjit_status make_module(struct unit *u, ompjit_error *err)
{
    const struct answer *a = &u->answer;
    const ompjit_module_options options = options_of(u);
    if (u->mod)
        return OMPJIT_OK;
    return a->entries ? ompjit__module_from_halves(u->e->ctx, &a->device,
                                                   &a->host, &options,
                                                   &u->mod, err)
                      : ompjit__module_from_host(u->e->ctx, &a->host,
                                                 &options, &u->mod, err);
}

_Thread_local ompjit_error engine_late;

/* Why another module, which this one needs, could not be made. */
static void add_cause(ompjit_error *err)
{
    const ompjit_error own = *err;
    if (engine_late.status)
        ompjit__fail(err, own.status, own.stage, "%s\n%s", own.text,
                     engine_late.text);
}

/* Links one of the unit's modules; `linking` says which. */
static ompjit_status link_module(struct unit *u, ompjit_module *mod,
                                 bool *linking, ompjit_error *err)
{
    engine *e = u->e;
    const struct unit *outer = e->linking;
    *linking = true;
    e->linking = u;
    engine_late.status = OMPJIT_OK;
    ompjit_status status = ompjit__module_link(mod, &e->linkage, err);
    e->linking = outer;
    *linking = false;
    if (status)
        add_cause(err);
    else
        guard_add(e, mod);
    return status;
}

/* The module with all its addresses. A failure leaves it as it was. */
static ompjit_status link_unit(struct unit *u, ompjit_error *err)
{
    if (u->linked)
        return OMPJIT_OK;
    ompjit_status status = make_module(u, err);
    if (!status)
        status = link_module(u, u->mod, &u->linking, err);
    if (status)
        return status;
    u->linked = true;
    if (!is_brief(u))
        ompjit__buf_free(&u->answer.host);
    ompjit__buf_free(&u->answer.device);
    return OMPJIT_OK;
}

/* Makes the module of a brief unit whose functions other inputs use. Nothing
 * runs its constructors. */
static ompjit_status link_optimized(struct unit *u, ompjit_error *err)
{
    ompjit_module_options options = options_of(u);
    ompjit_module *mod;
    if (u->optimized)
        return OMPJIT_OK;
    options.opt_level = u->e->opt_level;
    ompjit_status status = ompjit__module_from_host(
        u->e->ctx, &u->answer.host, &options, &mod, err);
    if (status)
        return status;
    status = link_module(u, mod, &u->linking_optimized, err);
    if (status) {
        ompjit_module_destroy(mod);
        return status;
    }
    u->optimized = mod;
    ompjit__buf_free(&u->answer.host);
    return OMPJIT_OK;
}

/* Does whoever asks for a function of a brief unit run it first, and briefly? */
static bool is_first_use(struct unit *u)
{
    const struct unit *asks = u->e->linking;
    if (!asks || !asks->answer.runs_once || !asks->answer.brief)
        return false;
    if (!u->linked && !u->optimized)
        u->user = asks->in.number;
    return u->user == asks->in.number;
}

/* Links the module that has the name for whoever asks. */
static ompjit_status link_for(struct unit *u, bool function, bool *lasts,
                              ompjit_module **mod, ompjit_error *err)
{
    const bool optimized = is_brief(u) && function && !is_first_use(u);
    ompjit_status status = optimized ? link_optimized(u, err)
                                     : link_unit(u, err);
    *lasts = optimized || !is_brief(u) || !function;
    *mod = optimized ? u->optimized : u->mod;
    return status;
}

/* symbols_late */
static void *find_in_unit(void *owner, const char *name, bool function,
                          bool *lasts)
{
    struct unit *u = owner;
    ompjit_module *mod;
    void *address = NULL;
    ompjit_error err;
    const bool busy = guard_busy(true);
    pthread_mutex_lock(&u->e->lock);
    if (u->linking || (u->linking_optimized && function))
        ; /* it is among what is being linked */
    else if (link_for(u, function, lasts, &mod, &err) ||
             ompjit__hostjit_symbol(mod->hostjit, name, &address, &err))
        engine_late = err;
    pthread_mutex_unlock(&u->e->lock);
    guard_busy(busy);
    return address;
}

/* ------------------------------------------------------------------ lacking */

static struct unit *find_unit(const engine *e, unsigned number)
{
    for (size_t i = 0; i < e->nunits; i++)
        if (e->units[i]->in.number == number)
            return e->units[i];
    return NULL;
}

static void swap(ompjit__buf *a, ompjit__buf *b)
{
    const ompjit__buf was = *a;
    *a = *b;
    *b = was;
}

static void exchange_code(struct unit *of, struct remade *remade)
{
    swap(&of->answer.device, &remade->code);
    swap(&of->answer.lacks, &remade->lacks);
    ompjit_module_destroy(of->mod);
    of->mod = NULL;
}

/* The same where its host code is linked, as long as no kernel could be built. */
static void exchange_module(struct unit *of, struct remade *remade)
{
    const ompjit_module_options options = options_of(of);
    if (!remade->fresh &&
        !ompjit__module_from_halves(of->e->ctx, &remade->code,
                                    &of->mod->unit.host_bc, &options,
                                    &remade->fresh, NULL))
        engine_forget(of->e, remade->fresh);
    if (remade->fresh && ompjit__module_exchange(of->mod, remade->fresh))
        swap(&of->answer.lacks, &remade->lacks);
}

/* Code for devices of earlier inputs that has functions of this one takes the
 * place of theirs, or, `back`, leaves it again where the input fails. */
static void exchange_remade(struct unit *u, bool back)
{
    for (size_t i = 0; i < u->answer.nremade; i++) {
        struct remade *remade = &u->answer.remade[i];
        struct unit *of = find_unit(u->e, remade->number);
        if (of && !of->linked)
            exchange_code(of, remade);
        else if (of && (remade->fresh != NULL) == back)
            exchange_module(of, remade);
    }
}

/* Is there code that a later input may have to complete? */
static bool is_lacking(const engine *e)
{
    for (size_t i = 0; i < e->nunits; i++) {
        const struct unit *u = e->units[i];
        if (u->answer.lacks.size &&
            !(u->linked && ompjit__module_is_built(u->mod)))
            return true;
    }
    return false;
}

/* The list for the front end: the input itself, where its code lacks functions,
 * and those whose code it has completed; and what its device code defines for
 * all. */
static void list_lacking(const struct unit *u, ompjit__buf *list)
{
    const struct answer *a = &u->answer;
    const bool own = a->lacks.size;
    ompjit__pack_number(list, own + a->nremade);
    if (own)
        front_add_lacking(list, u->in.number, &a->lacks,
                          u->linked ? &u->mod->unit.host_bc : &a->host);
    for (size_t i = 0; i < a->nremade; i++) {
        const struct unit *of = find_unit(u->e, a->remade[i].number);
        front_add_lacking(list, a->remade[i].number,
                          of ? &of->answer.lacks : &a->remade[i].lacks, NULL);
    }
    ompjit__pack_number(list, a->nof_devices);
    for (size_t i = 0; i < a->nof_devices; i++)
        ompjit__pack_string(list, a->of_devices[i].symbol);
}

static bool add_for_all(struct unit *u, const struct symbol_for_all *all,
                        size_t n)
{
    bool good = true;
    for (size_t i = 0; good && i < n; i++)
        good = symbols_add_late(u->e->symbols, all[i].symbol, all[i].function,
                                find_in_unit, u, u->in.number);
    return good;
}

/* The names that the input has. Inline functions, and what no code is made of,
 * have no symbol, which is seen when somebody asks. */
static bool add_names(struct unit *u)
{
    const struct answer *a = &u->answer;
    bool good = true;
    for (size_t i = 0; good && i < a->nnames; i++) {
        const struct name *name = &a->names[i];
        bool function = name->kind == OMPJIT__REPL_FUNCTION;
        if (!*name->symbol)
            continue;
        if (function || name->kind == OMPJIT__REPL_VARIABLE)
            good = symbols_add_late(u->e->symbols, name->symbol, function,
                                    find_in_unit, u, u->in.number);
        else if (name->kind == OMPJIT__REPL_PROTOTYPE)
            good = symbols_declare(u->e->symbols, name->symbol,
                                   u->in.number);
    }
    return good && add_for_all(u, a->for_all, a->nfor_all) &&
           add_for_all(u, a->of_devices, a->nof_devices);
}

void engine_forget(engine *e, ompjit_module *mod)
{
    ompjit_module **more = realloc(e->lost, (e->nlost + 1) * sizeof *more);
    if (!more)
        return; /* it stays */
    e->lost = more;
    e->lost[e->nlost++] = mod;
}

/* Code that has run may have left its addresses anywhere. */
static void drop_unit(struct unit *u)
{
    symbols_drop(u->e->symbols, u->in.number);
    exchange_remade(u, true);
    if (u->optimized)
        engine_forget(u->e, u->optimized);
    u->optimized = NULL;
    if (u->linked)
        ompjit__tgt_remove(u->e->ctx, u->mod);
    if (u->linked)
        engine_forget(u->e, u->mod);
    else
        ompjit_module_destroy(u->mod);
    u->mod = NULL;
    unit_free(u);
}

/* ---------------------------------------------------------------------- run */

/* Called by guard_run. An interrupt before the guard was there has ended nothing.
 */
static void run(void *arg)
{
    const struct unit *u = arg;
    if (atomic_load(&u->e->interrupted)) {
        ompjit_function_abort();
        return;
    }
    ompjit__hostjit_construct(u->mod->hostjit);
    for (size_t i = 0; i < u->answer.nruns; i++) {
        void *f;
        if (!ompjit__hostjit_symbol(u->mod->hostjit, u->answer.runs[i], &f,
                                    NULL))
            ((void (*)(void))f)();
    }
}

/* The limit of a kernel, which is the same, is told first. */
static ompjit_status run_limited(struct unit *u, ompjit_error *err)
{
    enum { LATER_MS = 300 };
    engine *e = u->e;
    interrupt_after(e->limit_s ? e->limit_s * 1000 + LATER_MS : 0);
    atomic_store(&e->rounds, 0);
    atomic_store(&e->runs, true);
    const bool good = guard_run(e, run, u, err);
    atomic_store(&e->runs, false);
    interrupt_not_after();
    if (good && (is_brief(u) || (u->answer.runs_once && !u->answer.entries)))
        ompjit__hostjit_forget_lines(u->mod->hostjit); /* it runs no more */
    if (good)
        return OMPJIT_OK;
    return err->status == OMPJIT_ERR_ABORTED && atomic_load(&e->over_limit)
               ? ompjit__fail(err, OMPJIT_ERR_TIMEOUT, OMPJIT_STAGE_LAUNCH,
                              "it ran longer than %u s (--run-limit)",
                              e->limit_s)
               : err->status;
}

/* Definitions wait until they are used. Those of target regions are looked at
 * now, since what is wrong with them is wrong with this input. */
static ompjit_status run_unit(struct unit *u, ompjit_error *err)
{
    const struct answer *a = &u->answer;
    if (!a->nruns && !a->constructs)
        return a->entries ? make_module(u, err) : OMPJIT_OK;
    ompjit_status status = link_unit(u, err);
    u->e->running = u;
    if (!status && atomic_load(&u->e->interrupted))
        status = ompjit__fail(err, OMPJIT_ERR_ABORTED, OMPJIT_STAGE_LAUNCH,
                              "interrupted");
    if (!status)
        status = run_limited(u, err);
    u->e->running = NULL;
    return status;
}

/* -------------------------------------------------------------------- value */

/* Values are shown by names of the session's and by code that was made for one;
 * NULL: none. */
struct ways {
    const engine *e;
    const struct object *object;
};

/* The name that was declared with the symbol; NULL: none was. */
static const char *declared_name(const engine *e, const char *symbol)
{
    for (size_t i = 0; i < e->nunits; i++) {
        const struct answer *a = &e->units[i]->answer;
        for (size_t k = 0; k < a->nnames; k++)
            if (!strcmp(a->names[k].symbol, symbol))
                return a->names[k].name;
    }
    return NULL;
}

static const char *name_at(void *data, const void *address)
{
    const struct ways *ways = data;
    const char *symbol = symbols_name(ways->e->symbols, address);
    char *linked = symbol ? NULL : ompjit__jit_name(address);
    const char *name = NULL;
    if (symbol || linked)
        name = declared_name(ways->e, symbol ? symbol : linked);
    free(linked); /* nobody has asked for that one yet */
    return name ? name : symbol;
}

/* show_object */
static bool show_by_module(const show_how *how, void *address,
                           const char *symbol, const void *at,
                           ompjit__buf *out)
{
    const struct ways *ways = how->data;
    visit_function *f = object_member(ways->object, address, symbol);
    if (f)
        show_by(how, f, at, out);
    return f;
}

static show_how how_of(struct ways *ways)
{
    return (show_how){.name = name_at,
                      .object = ways->object ? show_by_module : NULL,
                      .data = ways};
}

/* The value has a copy, where its module is thrown away; else the module stays.
 * A type's size is a multiple of its alignment. */
static void *copy_value(struct unit *u, void *at)
{
    const size_t size = u->answer.value.size;
    const size_t bits = (uintptr_t)at | size | 4096;
    const size_t alignment = bits & -bits;
    void *copy = NULL;
    if (!u->answer.leaves_nothing)
        return at;
    if (size && !posix_memalign(&copy, alignment < sizeof copy ? sizeof copy
                                                               : alignment,
                                size))
        u->value = memcpy(copy, at, size);
    u->answer.leaves_nothing = copy != NULL;
    return copy ? copy : at;
}

/* The object that the value is, which later inputs know by input_N_is. It may be
 * what a null pointer leads to. False: there is no value. */
static bool value_address(struct unit *u, void **address)
{
    const struct value *v = &u->answer.value;
    char *symbol = ompjit__format("input_%u_is", u->in.number);
    *address = NULL;
    if (v->form == OMPJIT__REPL_DIRECT || v->form == OMPJIT__REPL_POINTER)
        ompjit__hostjit_symbol(u->mod->hostjit, v->symbol, address, NULL);
    const bool some = *address;
    if (some && v->form == OMPJIT__REPL_POINTER)
        memcpy(address, *address, sizeof *address);
    else if (some)
        *address = copy_value(u, *address);
    if (*address && symbol)
        symbols_add(u->e->symbols, symbol, *address, u->in.number);
    free(symbol);
    return some;
}

/* Called by guard_run: an array may end behind its memory. */
struct showing {
    struct unit *u;
    void *address;
    struct ways ways;
    ompjit__buf text, rows;
};

static void show(void *arg)
{
    struct showing *s = arg;
    const ompjit__buf *shape = &s->u->answer.value.shape;
    const show_how how = how_of(&s->ways);
    visit_function *f = object_function(s->ways.object);
    if (f)
        show_by(&how, f, s->address, &s->text);
    else
        show_value(shape, s->address, &how, &s->text);
    if (s->u->e->tables && f)
        show_rows_by(&how, f, s->address, &s->rows);
    else if (s->u->e->tables)
        show_rows(shape, s->address, &how, &s->rows);
}

/* Makes text of the value of an input that belongs to the session. */
static ompjit_status take_value(struct unit *u, struct outcome *out,
                                ompjit_error *err)
{
    engine *e = u->e;
    struct showing s = {.u = u};
    if (!value_address(u, &s.address))
        return OMPJIT_OK;
    s.ways.e = e;
    if (u->answer.value.object)
        u->object = s.ways.object = object_for(e, "_");
    if (!guard_run(e, show, &s, err)) {
        ompjit__buf_free(&s.text);
        ompjit__buf_free(&s.rows);
        return err->status;
    }
    out->type = ompjit__strdup(u->answer.value.type);
    out->value = s.text.data;
    out->rows = s.rows.data;
    return OMPJIT_OK;
}

/* --------------------------------------------------------------------- keep */

static bool keep(struct unit *u)
{
    engine *e = u->e;
    struct unit **more = realloc(e->units, (e->nunits + 1) * sizeof *more);
    if (!more)
        return false;
    ompjit__buf lacking = {0};
    e->units = more;
    e->units[e->nunits++] = u;
    list_lacking(u, &lacking);
    front_keep(e->front, &u->in, &lacking);
    ompjit__buf_free(&lacking);
    return true;
}

/* Other processes of the front end read all inputs once more. */
static ompjit_status replay(engine *e, ompjit_error *err)
{
    ompjit_status status = front_restart(e->front, err);
    for (size_t i = 0; !status && i < e->nunits; i++) {
        ompjit__buf lacking = {0};
        list_lacking(e->units[i], &lacking);
        front_replay(e->front, &e->units[i]->in, &lacking);
        ompjit__buf_free(&lacking);
    }
    return status;
}

/* The last input belongs to the session no more. */
static void drop_last(engine *e, struct outcome *out)
{
    ompjit_error err;
    drop_unit(e->units[--e->nunits]);
    if (replay(e, &err))
        outcome_tell(out, err.text);
}

/* ------------------------------------------------------------------ execute */

/* Tells clang's messages where the device half cannot know all that the host
 * half does. */
static void tell_unfit(const engine *e, struct outcome *out)
{
    const char *unfit = front_unfit(e->front);
    if (!unfit)
        return;
    outcome_tell(out, "note: the device half could not read an earlier input:");
    outcome_tell(out, unfit);
}

static bool try(struct unit *u, struct outcome *out)
{
    engine *e = u->e;
    ompjit_error err;
    if (atomic_load(&e->interrupted)) {
        ompjit__fail(&err, OMPJIT_ERR_ABORTED, OMPJIT_STAGE_FRONTEND,
                     "interrupted");
        outcome_fail(out, &u->in, &err);
        return false;
    }
    front_set_lacking(e->front, is_lacking(e));
    if ((front_is_gone(e->front) && replay(e, &err)) ||
        front_try(e->front, &u->in, OMPJIT__REPL_CODE, e->colours, &u->answer,
                  &err)) {
        outcome_fail(out, &u->in, &err);
        return false;
    }
    if (u->answer.text && *u->answer.text)
        outcome_tell(out, u->answer.text);
    out->messages = u->answer.messages;
    out->nmessages = u->answer.nmessages;
    u->answer.messages = NULL;
    u->answer.nmessages = 0;
    if (u->answer.verdict == OMPJIT__REPL_GOOD)
        return true;
    out->kind = u->answer.verdict == OMPJIT__REPL_UNDONE ? OUTCOME_UNDONE
                                                         : OUTCOME_BAD;
    if (u->answer.of_device)
        tell_unfit(e, out);
    return false;
}

/* Nothing refers to the module. */
static void drop_module(struct unit *u)
{
    engine *e = u->e;
    const enum ompjit__repl_value form = u->answer.value.form;
    if (u->optimized)
        guard_remove(e, u->optimized);
    guard_remove(e, u->mod);
    ompjit_module_destroy(u->optimized);
    ompjit_module_destroy(u->mod);
    u->mod = u->optimized = NULL;
    u->linked = false;
    ompjit__buf_free(&u->answer.host);
    if (!u->answer.nnames && form != OMPJIT__REPL_DIRECT &&
        form != OMPJIT__REPL_POINTER)
        symbols_drop(e->symbols, u->in.number);
}

static void execute(struct unit *u, struct outcome *out)
{
    ompjit_error err;
    if (!try(u, out)) {
        hint(&u->in, out);
        unit_free(u);
        return;
    }
    exchange_remade(u, false);
    ompjit_status status = add_names(u)
                               ? run_unit(u, &err)
                               : ompjit__no_memory(&err, OMPJIT_STAGE_API);
    hint(&u->in, out);
    if (status) {
        outcome_fail(out, &u->in, &err);
        drop_unit(u);
        return;
    }
    if (!keep(u)) {
        outcome_tell(out, "error: out of memory");
        drop_unit(u);
    } else if (u->linked && take_value(u, out, &err)) {
        outcome_fail(out, &u->in, &err);
        drop_last(u->e, out);
    } else if (u->linked && u->answer.leaves_nothing &&
               !u->answer.lacks.size && !u->answer.nof_devices) {
        drop_module(u);
    }
}

void engine_forget_interrupt(engine *e)
{
    atomic_store(&e->interrupted, false);
    atomic_store(&e->over_limit, false);
}

void engine_execute(engine *e, const char *name, unsigned line,
                    const char *text, size_t size, struct outcome *out)
{
    struct unit *u = calloc(1, sizeof *u);
    *out = (struct outcome){.kind = OUTCOME_GOOD};
    if (u && input_set(&u->in, e->next, name, line, text, size)) {
        u->e = e;
        execute(u, out);
    } else {
        free(u);
        out->kind = OUTCOME_BAD;
        outcome_tell(out, "error: out of memory");
    }
    if (out->kind != OUTCOME_UNDONE)
        e->next++;
}

void engine_rest(engine *e)
{
    front_rest(e->front);
}

/* The front end reads the text alone. False: it cannot. */
static bool look(engine *e, const char *text, size_t size,
                 enum ompjit__repl_mode mode, struct answer *out)
{
    struct input in = {0};
    *out = (struct answer){.verdict = OMPJIT__REPL_BAD};
    bool good = !(front_is_gone(e->front) && replay(e, NULL)) &&
                input_set(&in, e->next, "input", 1, text, size) &&
                !front_try(e->front, &in, mode, false, out, NULL);
    input_free(&in);
    return good;
}

enum completeness engine_completeness(engine *e, const char *text, size_t size)
{
    struct answer answer;
    look(e, text, size, OMPJIT__REPL_LOOK, &answer);
    enum completeness how = answer.verdict == OMPJIT__REPL_GOOD     ? COMPLETE
                            : answer.verdict == OMPJIT__REPL_UNDONE ? INCOMPLETE
                                                                    : INVALID;
    answer_free(&answer);
    return how;
}

bool engine_complete(engine *e, const char *text, size_t size,
                     struct answer *out)
{
    return look(e, text, size, OMPJIT__REPL_COMPLETE, out) &&
           out->verdict == OMPJIT__REPL_NAMES;
}

char *engine_type(engine *e, const char *text, size_t size,
                  struct outcome *out)
{
    struct answer answer;
    char *type = NULL;
    if (look(e, text, size, OMPJIT__REPL_LOOK, &answer) &&
        answer.verdict == OMPJIT__REPL_GOOD &&
        answer.value.form != OMPJIT__REPL_NO_VALUE)
        type = ompjit__strdup(answer.value.type);
    else if (out && answer.text && *answer.text)
        outcome_tell(out, answer.text);
    answer_free(&answer);
    return type;
}

/* -------------------------------------------------------------------- names */

/* The last declaration of a name, and its input. */
static const struct name *find_name(const engine *e, const char *text,
                                    size_t size, const struct unit **u)
{
    for (size_t i = e->nunits; i; i--) {
        const struct answer *a = &e->units[i - 1]->answer;
        *u = e->units[i - 1];
        for (size_t k = a->nnames; k; k--) {
            const struct name *name = &a->names[k - 1];
            if (strlen(name->name) == size && !memcmp(name->name, text, size))
                return name;
        }
    }
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    const struct completion *x = a, *y = b;
    return strcmp(x->name, y->name);
}

void engine_names(const engine *e, const char *text, size_t size,
                  bool variables, struct answer *out)
{
    const struct unit *last;
    for (size_t i = 0; i < e->nunits; i++)
        for (size_t k = 0; k < e->units[i]->answer.nnames; k++) {
            const struct name *each = &e->units[i]->answer.names[k];
            if ((!variables || each->kind == OMPJIT__REPL_VARIABLE) &&
                find_name(e, each->name, strlen(each->name), &last) == each)
                complete_add(out, text, size, each->name, each->type);
        }
    if (out->ncompletions)
        qsort(out->completions, out->ncompletions, sizeof *out->completions,
              compare_names);
}

const struct input *engine_source(const engine *e, const char *name)
{
    const struct unit *u;
    return find_name(e, name, strlen(name), &u) ? &u->in : NULL;
}

/* A variable, and code that visits it; NULL: its shape does. */
struct reading {
    engine *e;
    const struct name *name;
    const void *address;
    struct ways ways;
    ompjit__buf text;
    struct numbers numbers;
};

static bool is_thread_local(const struct name *name)
{
    static const char prefix[] = OMPJIT__THREAD_LOCAL;
    return !strncmp(name->symbol, prefix, sizeof prefix - 1);
}

/* False: there is no such variable. */
static bool begin_reading(struct reading *r, engine *e, const struct name *name)
{
    *r = (struct reading){.e = e, .name = name, .ways = {e, NULL}};
    if (!name || name->kind != OMPJIT__REPL_VARIABLE || !name->shape.size)
        return false;
    r->address = symbols_find(e->symbols, name->symbol);
    if (r->address && is_thread_local(name))
        r->address = ompjit__thread_local_address((void *)r->address);
    if (name->object && !(front_is_gone(e->front) && replay(e, NULL)))
        r->ways.object = object_for(e, name->name);
    return r->address;
}

/* Called by guard_run. */
static void read_text(void *arg)
{
    struct reading *r = arg;
    const show_how how = how_of(&r->ways);
    visit_function *f = object_function(r->ways.object);
    if (f)
        show_by(&how, f, r->address, &r->text);
    else
        show_value(&r->name->shape, r->address, &how, &r->text);
}

/* Called by guard_run. */
static void read_numbers(void *arg)
{
    struct reading *r = arg;
    visit_function *f = object_function(r->ways.object);
    ompjit__reader shape = {r->name->shape.data, r->name->shape.size, false};
    if (f)
        numbers_add_by(&r->numbers, f, r->address);
    else if (ompjit__read_number(&shape) == OMPJIT__SHAPE_ARRAY)
        numbers_add(&r->numbers, &r->name->shape, r->address);
}

double *engine_numbers(engine *e, const char *name, size_t *n,
                       ompjit_error *err)
{
    const struct unit *u;
    struct reading r;
    const bool some =
        begin_reading(&r, e, find_name(e, name, strlen(name), &u));
    if (some && !guard_run(e, read_numbers, &r, err)) {
        free(r.numbers.all);
        return NULL;
    }
    *n = r.numbers.n;
    if (*n && !r.numbers.bad)
        return r.numbers.all;
    free(r.numbers.all);
    ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                 "%s is no variable that is an array of numbers", name);
    return NULL;
}

static void add_value(engine *e, const struct name *name, ompjit__buf *out)
{
    struct reading r;
    if (begin_reading(&r, e, name) && guard_run(e, read_text, &r, NULL) &&
        r.text.size)
        ompjit__buf_printf(out, "value: %s\n", r.text.data);
    ompjit__buf_free(&r.text);
}

char *engine_describe(engine *e, const char *text, size_t size)
{
    const struct unit *u;
    const struct name *name = find_name(e, text, size, &u);
    ompjit__buf out = {0};
    if (!name) {
        char *type = engine_type(e, text, size, NULL);
        if (type)
            ompjit__buf_printf(&out, "%.*s: %s\n", (int)size, text, type);
        free(type);
        return out.data;
    }
    ompjit__buf_printf(&out, "%s%s%s\n", name->name, *name->type ? ": " : "",
                       name->type);
    ompjit__buf_printf(&out, "declared at %s:%u\n", u->in.name, name->line);
    if (name->size)
        ompjit__buf_printf(&out, "size: %zu bytes\n", name->size);
    add_value(e, name, &out);
    return out.data;
}
