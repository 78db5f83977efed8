/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads, copies and packs the options of opt.def.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "optimizer/opt.h"

static const ompjit__opt_row rows[] = {
#define LLVM(id, name, kind, most, ordinary, help) \
    [OMPJIT__OPT_##id] = {name, help, OMPJIT__OPT_##kind, most, ordinary},
#include "optimizer/opt.def"
};
_Static_assert(OMPJIT__COUNT(rows) == OMPJIT__OPT_COUNT, "a row for each id");
_Static_assert(OMPJIT__OPT_COUNT <= 32, "`given` has a bit for each row");

const ompjit__opt_row *ompjit__opt_at(enum ompjit__opt_id id)
{
    return &rows[id];
}

uint32_t ompjit__opt(const ompjit__opts *opts, enum ompjit__opt_id id)
{
    return opts->given >> id & 1 ? opts->values[id] : rows[id].ordinary;
}

/* ----------------------------------------------------------------- reading */

static ompjit_status unknown(const char *text, ompjit_error *err)
{
    ompjit__buf list = {0};
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        ompjit__buf_printf(&list, "%s%s", i ? ", " : "", rows[i].name);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
        "the optimizer has no option %.*s; it has %s",
        (int)strcspn(text, "="), text, list.failed ? "others" : list.data);
    ompjit__buf_free(&list);
    return status;
}

static bool read_switch(const char *value, uint32_t *out)
{
    bool on = !value || !strcmp(value, "1") || !strcmp(value, "true");
    *out = on;
    return on || !strcmp(value, "0") || !strcmp(value, "false");
}

static bool read_number(const char *value, uint32_t most, uint32_t *out)
{
    char *end;
    if (!value || *value < '0' || *value > '9')
        return false;
    errno = 0;
    unsigned long n = strtoul(value, &end, 10);
    *out = (uint32_t)n;
    return !errno && !*end && n <= most;
}

/* Is the name a line of the list? */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (; list && *list; list += strcspn(list, "\n") + 1)
        if (!strncmp(list, name, n) && list[n] == '\n')
            return true;
    return false;
}

static ompjit_status add_function(ompjit__opts *opts, size_t i,
                                  const char *name, ompjit_error *err)
{
    if (!name || !*name || strchr(name, '\n'))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "the optimizer's option %s is the name of a "
                            "function, not %s", rows[i].name,
                            name && *name ? "of several" : "(nothing)");
    if (is_listed(opts->functions, name))
        return OMPJIT_OK;
    char *list = ompjit__format(
        "%s%s\n", opts->functions ? opts->functions : "", name);
    if (!list)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    free(opts->functions);
    opts->functions = list;
    opts->given |= UINT32_C(1) << i;
    return OMPJIT_OK;
}

/* The row whose name the text begins with; OMPJIT__OPT_COUNT: none. */
static size_t find(const char *text)
{
    size_t n = strcspn(text, "="), i = 0;
    while (i < OMPJIT__COUNT(rows) &&
           (strlen(rows[i].name) != n || strncmp(rows[i].name, text, n)))
        i++;
    return i;
}

ompjit_status ompjit__opt_set(ompjit__opts *opts, const char *text,
                              ompjit_error *err)
{
    size_t i = find(text);
    const char *equals = strchr(text, '=');
    const char *value = equals ? equals + 1 : NULL;
    uint32_t number;
    if (i == OMPJIT__COUNT(rows))
        return unknown(text, err);
    const ompjit__opt_row *row = &rows[i];
    if (row->kind == OMPJIT__OPT_FUNCTIONS)
        return add_function(opts, i, value, err);
    bool good = row->kind == OMPJIT__OPT_SWITCH
                    ? read_switch(value, &number)
                    : read_number(value, row->most, &number);
    if (!good && row->kind == OMPJIT__OPT_SWITCH)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "the optimizer's option %s is 0 or 1, not %s",
                            row->name, value);
    if (!good)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "the optimizer's option %s is a number from 0 to "
                            "%u, not %s", row->name, row->most,
                            value ? value : "(nothing)");
    opts->values[i] = number == row->ordinary ? 0 : number;
    opts->given &= ~(UINT32_C(1) << i);
    opts->given |= (uint32_t)(number != row->ordinary) << i;
    return OMPJIT_OK;
}

bool ompjit__opts_copy(ompjit__opts *to, const ompjit__opts *from)
{
    *to = *from;
    to->functions = ompjit__strdup(from->functions);
    if (to->functions || !from->functions)
        return true;
    *to = (ompjit__opts){0};
    return false;
}

void ompjit__opts_free(ompjit__opts *opts)
{
    free(opts->functions);
    *opts = (ompjit__opts){0};
}

/* ------------------------------------------------------------------- bytes */

void ompjit__opts_pack(const ompjit__opts *opts, ompjit__buf *out)
{
    ompjit__pack_number(out, opts->given);
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        if (opts->given >> i & 1)
            ompjit__pack_number(out, opts->values[i]);
    if (opts->functions)
        ompjit__pack_string(out, opts->functions);
}

void ompjit__opts_unpack(ompjit__reader *r, ompjit__opts *out)
{
    *out = (ompjit__opts){.given = (uint32_t)ompjit__read_number(r)};
    r->bad |= out->given >> OMPJIT__OPT_COUNT != 0;
    for (size_t i = 0; i < OMPJIT__COUNT(rows) && !r->bad; i++)
        if (out->given >> i & 1)
            out->values[i] = (uint32_t)ompjit__read_number(r);
    if (out->given >> OMPJIT__OPT_SPMD_AMENABLE & 1)
        out->functions = ompjit__read_string(r);
}
