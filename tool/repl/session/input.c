/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Inputs and the front end's answers as structs of this process.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/repl/session/front.h"

/* ------------------------------------------------------------------ inputs */

static void free_found(struct input *in)
{
    for (size_t i = 0; i < in->nhidden; i++)
        free(in->hidden[i].name);
    free(in->hidden);
    free(in->blanks);
    in->hidden = NULL;
    in->blanks = NULL;
    in->nhidden = in->nblanks = 0;
}

void input_free(struct input *in)
{
    free_found(in);
    free(in->name);
    free(in->text);
    *in = (struct input){0};
}

bool input_set(struct input *in, unsigned number, const char *name,
               unsigned line, const char *text, size_t size)
{
    *in = (struct input){.number = number, .line = line, .size = size};
    in->name = ompjit__strdup(name);
    in->text = malloc(size + 1);
    if (!in->name || !in->text) {
        input_free(in);
        return false;
    }
    memcpy(in->text, text, size);
    in->text[size] = '\0';
    return true;
}

/* ------------------------------------------------------------------ answers */

static void free_value(struct value *v)
{
    free(v->symbol);
    free(v->type);
    ompjit__buf_free(&v->shape);
}

void messages_free(struct message *messages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(messages[i].file);
        free(messages[i].text);
    }
    free(messages);
}

static void free_for_all(struct symbol_for_all *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(all[i].symbol);
    free(all);
}

void answer_free(struct answer *a)
{
    messages_free(a->messages, a->nmessages);
    for (size_t i = 0; i < a->nnames; i++) {
        free(a->names[i].name);
        free(a->names[i].symbol);
        free(a->names[i].type);
        ompjit__buf_free(&a->names[i].shape);
    }
    for (size_t i = 0; i < a->nruns; i++)
        free(a->runs[i]);
    for (size_t i = 0; i < a->ncompletions; i++) {
        free(a->completions[i].name);
        free(a->completions[i].detail);
    }
    for (size_t i = 0; i < a->nshapes; i++) {
        free(a->shapes[i].type);
        ompjit__buf_free(&a->shapes[i].shape);
    }
    for (size_t i = 0; i < a->nmembers; i++) {
        free(a->members[i].symbol);
        free(a->members[i].type);
    }
    free_for_all(a->for_all, a->nfor_all);
    free_for_all(a->of_devices, a->nof_devices);
    free(a->shapes);
    free(a->members);
    free(a->completions);
    free(a->text);
    free(a->items);
    free(a->names);
    free(a->runs);
    free_value(&a->value);
    ompjit__buf_free(&a->host);
    ompjit__buf_free(&a->device);
    ompjit__buf_free(&a->lacks);
    for (size_t i = 0; i < a->nremade; i++) {
        ompjit__buf_free(&a->remade[i].lacks);
        ompjit__buf_free(&a->remade[i].code);
    }
    free(a->remade);
    *a = (struct answer){0};
}

/* An array for `n` elements, zeroed; NULL and r->bad: no memory. */
static void *array(ompjit__reader *r, size_t n, size_t size)
{
    void *all = calloc(n + 1, size);
    r->bad |= !all;
    return all;
}

static unsigned read_unsigned(ompjit__reader *r)
{
    return (unsigned)ompjit__read_number(r);
}

static void read_messages(struct answer *a, ompjit__reader *r)
{
    size_t n = ompjit__read_count(r);
    a->messages = array(r, n, sizeof *a->messages);
    for (; a->messages && !r->bad && a->nmessages < n; a->nmessages++) {
        struct message *m = &a->messages[a->nmessages];
        m->severity = (enum ompjit__repl_severity)read_unsigned(r);
        m->file = ompjit__read_string(r);
        m->line = read_unsigned(r);
        m->column = read_unsigned(r);
        m->text = ompjit__read_string(r);
    }
}

/* Takes the place of what an earlier try has found. */
static void read_found(struct input *in, ompjit__reader *r)
{
    free_found(in);
    size_t n = ompjit__read_count(r);
    in->blanks = array(r, n, sizeof *in->blanks);
    for (; in->blanks && !r->bad && in->nblanks < n; in->nblanks++) {
        unsigned begin = read_unsigned(r);
        in->blanks[in->nblanks] = (struct range){begin, read_unsigned(r)};
    }
    n = ompjit__read_count(r);
    in->hidden = array(r, n, sizeof *in->hidden);
    for (; in->hidden && !r->bad && in->nhidden < n; in->nhidden++) {
        struct place *p = &in->hidden[in->nhidden];
        p->input = read_unsigned(r);
        p->offset = read_unsigned(r);
        p->name = ompjit__read_string(r);
    }
}

static void read_items(struct answer *a, ompjit__reader *r)
{
    size_t n = ompjit__read_count(r);
    a->items = array(r, n, sizeof *a->items);
    for (; a->items && !r->bad && a->nitems < n; a->nitems++) {
        struct item *item = &a->items[a->nitems];
        item->kind = (enum ompjit__repl_item)read_unsigned(r);
        item->range.begin = read_unsigned(r);
        item->range.end = read_unsigned(r);
    }
}

static void read_names(struct answer *a, ompjit__reader *r)
{
    size_t n = ompjit__read_count(r);
    a->names = array(r, n, sizeof *a->names);
    for (; a->names && !r->bad && a->nnames < n; a->nnames++) {
        struct name *name = &a->names[a->nnames];
        name->kind = (enum ompjit__repl_name)read_unsigned(r);
        name->name = ompjit__read_string(r);
        name->symbol = ompjit__read_string(r);
        name->type = ompjit__read_string(r);
        name->size = ompjit__read_number(r);
        name->line = read_unsigned(r);
        ompjit__read_buf(r, &name->shape);
        name->object = ompjit__read_number(r);
    }
}

static void read_value(struct answer *a, ompjit__reader *r)
{
    struct value *v = &a->value;
    v->form = (enum ompjit__repl_value)read_unsigned(r);
    if (v->form == OMPJIT__REPL_NO_VALUE)
        return;
    v->symbol = ompjit__read_string(r);
    v->type = ompjit__read_string(r);
    v->size = ompjit__read_number(r);
    ompjit__read_buf(r, &v->shape);
    v->object = ompjit__read_number(r);
}

static void read_shapes(struct answer *a, ompjit__reader *r)
{
    size_t n = ompjit__read_count(r);
    a->shapes = array(r, n, sizeof *a->shapes);
    for (; a->shapes && !r->bad && a->nshapes < n; a->nshapes++) {
        a->shapes[a->nshapes].type = ompjit__read_string(r);
        ompjit__read_buf(r, &a->shapes[a->nshapes].shape);
    }
    n = ompjit__read_count(r);
    a->members = array(r, n, sizeof *a->members);
    for (; a->members && !r->bad && a->nmembers < n; a->nmembers++) {
        a->members[a->nmembers].symbol = ompjit__read_string(r);
        a->members[a->nmembers].type = ompjit__read_string(r);
    }
}

static void read_for_all(struct answer *a, ompjit__reader *r)
{
    size_t n = ompjit__read_count(r);
    a->for_all = array(r, n, sizeof *a->for_all);
    for (; a->for_all && !r->bad && a->nfor_all < n; a->nfor_all++) {
        a->for_all[a->nfor_all].symbol = ompjit__read_string(r);
        a->for_all[a->nfor_all].function = ompjit__read_number(r);
    }
}

static void read_good(struct answer *a, ompjit__reader *r)
{
    read_items(a, r);
    read_names(a, r);
    size_t n = ompjit__read_count(r);
    a->runs = array(r, n, sizeof *a->runs);
    for (; a->runs && !r->bad && a->nruns < n; a->nruns++)
        a->runs[a->nruns] = ompjit__read_string(r);
    read_shapes(a, r);
    read_for_all(a, r);
    read_value(a, r);
    a->entries = ompjit__read_number(r);
    a->constructs = ompjit__read_number(r);
    a->runs_once = ompjit__read_number(r);
    a->brief = ompjit__read_number(r);
    a->leaves_nothing = ompjit__read_number(r);
    ompjit__read_buf(r, &a->host);
}

/* The device half's. */
static void read_lacking(struct answer *a, ompjit__reader *r)
{
    ompjit__read_buf(r, &a->lacks);
    size_t n = ompjit__read_count(r);
    a->remade = array(r, n, sizeof *a->remade);
    for (; a->remade && !r->bad && a->nremade < n; a->nremade++) {
        struct remade *each = &a->remade[a->nremade];
        each->number = read_unsigned(r);
        ompjit__read_buf(r, &each->lacks);
        ompjit__read_buf(r, &each->code);
    }
}

static void read_completions(struct answer *a, ompjit__reader *r)
{
    size_t n = ompjit__read_count(r);
    a->completions = array(r, n, sizeof *a->completions);
    for (; a->completions && !r->bad && a->ncompletions < n;
         a->ncompletions++) {
        struct completion *c = &a->completions[a->ncompletions];
        c->name = ompjit__read_string(r);
        c->detail = ompjit__read_string(r);
    }
}

static bool read_answer(struct answer *a, ompjit__reader *r, struct input *in)
{
    *a = (struct answer){0};
    a->verdict = (enum ompjit__repl_verdict)read_unsigned(r);
    a->text = ompjit__read_string(r);
    read_messages(a, r);
    if (a->verdict == OMPJIT__REPL_AGAIN)
        read_found(in, r);
    else if (a->verdict == OMPJIT__REPL_GOOD)
        read_good(a, r);
    else if (a->verdict == OMPJIT__REPL_NAMES)
        read_completions(a, r);
    return !r->bad;
}

bool answer_read(struct answer *a, const ompjit__buf *reply, struct input *in)
{
    ompjit__reader r = {reply->data, reply->size, false};
    const bool good = read_answer(a, &r, in);
    if (!good)
        answer_free(a);
    return good;
}

/* A device half that is not good takes the place of the host's answer, of which
 * nobody needs anything then. */
bool answer_add_device(struct answer *a, const ompjit__buf *reply)
{
    struct answer other;
    struct input unused = {0};
    ompjit__reader r = {reply->data, reply->size, false};
    read_answer(&other, &r, &unused);
    input_free(&unused);
    if (!r.bad && other.verdict == OMPJIT__REPL_GOOD)
        read_lacking(&other, &r);
    if (r.bad) {
        answer_free(&other);
        return false;
    }
    if (other.verdict == OMPJIT__REPL_GOOD) {
        a->device = other.host;
        a->lacks = other.lacks;
        a->of_devices = other.for_all;
        a->nof_devices = other.nfor_all;
        a->remade = other.remade;
        a->nremade = other.nremade;
        other.host = other.lacks = (ompjit__buf){0};
        other.for_all = NULL;
        other.nfor_all = 0;
        other.remade = NULL;
        other.nremade = 0;
        answer_free(&other);
    } else {
        answer_free(a);
        *a = other;
        a->of_device = true;
    }
    return true;
}
