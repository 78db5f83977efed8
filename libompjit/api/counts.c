/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Counts of a module's device code: reads the variable that has its counters
 * (optimizer/counters.h) from a device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "optimizer/counters.h"
#include "launch/launch.h"
#include "launch/module.h"
#include "ompjit_debug.h"

/* The variable's bytes, malloc'd, with a NUL behind them; NULL where the device
 * has run nothing of the module, or its code has no counters. */
static ompjit_status download(ompjit_module *mod, ompjit_device *dev,
                              char **out, size_t *size, ompjit_error *err)
{
    ompjit__loaded *first = ompjit__variants_first(mod, dev);
    void *address;
    *out = NULL;
    if (!first || dev->ops->symbol(dev, first, OMPJIT__COUNTERS, &address,
                                   size, NULL))
        return OMPJIT_OK;
    char *bytes = calloc(*size + 1, 1);
    if (!bytes)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    ompjit_status status = dev->ops->copy(dev, OMPJIT__COPY_FROM, bytes,
                                          address, *size, NULL, err);
    if (status)
        free(bytes);
    else
        *out = bytes;
    return status;
}

/* ------------------------------------------------------------------- list */

/* Reads a number and the tab behind it. */
static uint32_t number(char **text)
{
    uint32_t value = (uint32_t)strtoul(*text, text, 10);
    *text += **text == '\t';
    return value;
}

/* Ends the word at the separator, and goes behind it. */
static char *word(char **text, char separator)
{
    char *begin = *text, *end = strchr(begin, separator);
    *text = end ? end + 1 : begin + strlen(begin);
    if (end)
        *end = '\0';
    return begin;
}

/* The counters, and what their text has told so far. */
struct told {
    const uint64_t *counters;
    uint64_t n;
    ompjit__buf counts;  /* ompjit_count, which point into the text     */
    ompjit__buf targets; /* names of functions, by number               */
};

static void add(struct told *t, const ompjit_count *c)
{
    ompjit__buf_add(&t->counts, c, sizeof *c);
}

/* A target's number is its name's from now on: the names come later. */
static void add_values(struct told *t, ompjit_count c, uint64_t slot,
                       bool targets)
{
    if (slot >= t->n || t->n - slot < OMPJIT__VALUE_SLOTS)
        return;
    const uint64_t *at = t->counters + slot;
    c.kind = OMPJIT_COUNT_VALUE;
    c.target = targets ? NULL : "";
    for (int i = 0; i < OMPJIT__VALUES_KEPT && at[2 * i]; i++) {
        c.value = at[2 * i] - 1;
        c.count = at[2 * i + 1];
        add(t, &c);
    }
    c.kind = OMPJIT_COUNT_OTHERS;
    c.target = "";
    c.value = 0;
    c.count = at[2 * OMPJIT__VALUES_KEPT];
    if (c.count)
        add(t, &c);
}

/* One line of the text; the texts stay where they are. */
static void read_place(struct told *t, char **text)
{
    uint64_t slot = number(text);
    char kind = *word(text, '\t');
    ompjit_count c = {.size = sizeof c,
                      .kind = kind == 'P' ? OMPJIT_COUNT_PROFILE
                                          : OMPJIT_COUNT_LINE,
                      .count = slot < t->n ? t->counters[slot] : 0,
                      .target = ""};
    c.line = number(text);
    c.number = number(text);
    c.function = word(text, '\t');
    c.file = word(text, '\n');
    if (kind == 'F')
        ompjit__buf_add(&t->targets, &c.function, sizeof c.function);
    else if (kind == 'V' || kind == 'T')
        add_values(t, c, slot, kind == 'T');
    else
        add(t, &c);
}

/* Gives targets their names. */
static void name_targets(struct told *t, ompjit_count *list, size_t n)
{
    const char **names = (const char **)(void *)t->targets.data;
    size_t nnames = t->targets.size / sizeof *names;
    for (size_t i = 0; i < n; i++)
        if (!list[i].target)
            list[i].target =
                list[i].value < nnames ? names[list[i].value] : "";
}

/* By kind, file, line, function, number, target and value; the others of a
 * place behind its values. */
static int compare_places(const ompjit_count *a, const ompjit_count *b)
{
    bool values = a->kind >= OMPJIT_COUNT_VALUE &&
                  b->kind >= OMPJIT_COUNT_VALUE;
    if (a->kind != b->kind && !values)
        return a->kind < b->kind ? -1 : 1;
    int order = strcmp(a->file, b->file);
    if (!order && a->kind == OMPJIT_COUNT_LINE && a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (!order)
        order = strcmp(a->function, b->function);
    if (!order)
        order = (a->number > b->number) - (a->number < b->number);
    if (!order)
        order = (a->kind > b->kind) - (a->kind < b->kind);
    if (!order)
        order = strcmp(a->target, b->target);
    return order ? order : (a->value > b->value) - (a->value < b->value);
}

static int compare(const void *a, const void *b)
{
    return compare_places(a, b);
}

/* Several blocks of a function may have code of one line, and several places
 * add to one of clang's counters: the largest of the counts stands for all. */
static size_t unite(ompjit_count *list, size_t n)
{
    size_t kept = 0;
    qsort(list, n, sizeof *list, compare);
    for (size_t i = 0; i < n; i++) {
        ompjit_count *last = kept ? &list[kept - 1] : NULL;
        if (!last || compare_places(last, &list[i]))
            list[kept++] = list[i];
        else if (list[i].count > last->count)
            last->count = list[i].count;
    }
    return kept;
}

/* Calls `fn` for what the variable has; its text is cut in pieces. */
static ompjit_status tell(char *bytes, size_t size, ompjit_count_fn *fn,
                          void *data, ompjit_error *err)
{
    struct told t = {0};
    if (size >= sizeof t.n)
        memcpy(&t.n, bytes, sizeof t.n);
    if (!t.n || t.n > size / sizeof t.n - 1)
        return OMPJIT_OK;
    t.counters = (const uint64_t *)bytes + 1;
    char *text = (char *)(bytes + (1 + t.n) * sizeof t.n);
    while (*text)
        read_place(&t, &text);
    ompjit_count *list = (ompjit_count *)(void *)t.counts.data;
    size_t n = t.counts.size / sizeof *list;
    bool complete = !t.counts.failed && !t.targets.failed;
    if (complete) {
        name_targets(&t, list, n);
        n = n ? unite(list, n) : 0;
    }
    for (size_t i = 0; complete && i < n && !fn(data, &list[i]); i++)
        ;
    ompjit__buf_free(&t.counts);
    ompjit__buf_free(&t.targets);
    return complete ? OMPJIT_OK : ompjit__no_memory(err, OMPJIT_STAGE_API);
}

/* Copies the counters without a queue: kernels that still run go on counting.
 * `fn` is called in this thread, without a lock. */
ompjit_status ompjit_module_counts(ompjit_module *mod, ompjit_device *dev,
                                   ompjit_count_fn *fn, void *data,
                                   ompjit_error *err)
{
    char *bytes;
    size_t size;
    if (!mod || !dev || !fn || dev->ctx != mod->ctx)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_counts: a module, a device of the "
                            "same context and a function are needed");
    ompjit_status status = download(mod, dev, &bytes, &size, err);
    if (status || !bytes)
        return status;
    status = tell(bytes, size, fn, data, err);
    free(bytes);
    return status;
}
