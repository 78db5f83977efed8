/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Counts of a module's device code: reads the variable that has its counters
 * (core/counters.h) from a device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/counters.h"
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

/* One line of the text; the texts stay where they are. */
static ompjit_count read_place(char **text, const uint64_t *counters,
                               uint64_t n)
{
    uint64_t slot = number(text);
    char kind = *word(text, '\t');
    ompjit_count c = {.size = sizeof c,
                      .kind = kind == 'P' ? OMPJIT_COUNT_PROFILE
                                          : OMPJIT_COUNT_LINE,
                      .count = slot < n ? counters[slot] : 0};
    c.line = number(text);
    c.number = number(text);
    c.function = word(text, '\t');
    c.file = word(text, '\n');
    return c;
}

/* By kind, file, line, function and number. */
static int compare_places(const ompjit_count *a, const ompjit_count *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = strcmp(a->file, b->file);
    if (!order && a->kind == OMPJIT_COUNT_LINE && a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (!order)
        order = strcmp(a->function, b->function);
    return order ? order : (a->number > b->number) - (a->number < b->number);
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
    uint64_t n = 0;
    size_t places = 0;
    if (size >= sizeof n)
        memcpy(&n, bytes, sizeof n);
    if (!n || n > size / sizeof n - 1)
        return OMPJIT_OK;
    const uint64_t *counters = (const uint64_t *)bytes + 1;
    char *text = (char *)(counters + n);
    for (const char *p = text; *p; p++)
        places += *p == '\n';
    ompjit_count *list = calloc(places + 1, sizeof *list);
    if (!list)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    for (size_t i = 0; i < places; i++)
        list[i] = read_place(&text, counters, n);
    places = unite(list, places);
    for (size_t i = 0; i < places && !fn(data, &list[i]); i++)
        ;
    free(list);
    return OMPJIT_OK;
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
