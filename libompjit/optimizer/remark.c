/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Remarks as bytes: each field behind the other, strings with their NUL, so
 * that whoever reads them needs no copies.
 */
#include <stdlib.h>
#include <string.h>

#include "optimizer/counters.h"
#include "optimizer/remark.h"

static const struct row {
    const char *id;
    ompjit_remark_kind kind;
    const char *why, *advice;
} rows[] = {
#define REMARK(id, kind, why, advice) \
    {#id, OMPJIT_REMARK_##kind, why, advice},
#include "optimizer/remarks.def"
};

enum ompjit__remark_id ompjit__remark_named(const char *name)
{
    int i = 0;
    while (i < OMPJIT__REMARK_COUNT && strcmp(rows[i].id, name))
        i++;
    return (enum ompjit__remark_id)i;
}

/* ----------------------------------------------------------------- writing */

static void add_string(ompjit__buf *list, const char *s)
{
    s = s ? s : "";
    ompjit__pack_bytes(list, s, strlen(s) + 1);
}

/* With the subject in the place of each $. */
static void add_text(ompjit__buf *list, const char *text, const char *subject)
{
    ompjit__buf whole = {0};
    for (const char *p = text; *p; p++)
        if (*p == '$')
            ompjit__buf_printf(&whole, "%s", subject);
        else
            ompjit__buf_add(&whole, p, 1);
    add_string(list, whole.failed ? NULL : whole.data);
    list->failed |= whole.failed;
    ompjit__buf_free(&whole);
}

char *ompjit__source_symbol(const char *symbol)
{
    static const char *const endings[] = {"_omp_outlined", "_debug__",
                                          ".internalized", "_wrapper",
                                          "_omp$"};
    char *own = ompjit__strdup(symbol);
    for (size_t i = 0; own && i < OMPJIT__COUNT(endings); i++) {
        char *at = strstr(own, endings[i]);
        if (at && at > own)
            *at = '\0';
    }
    return own;
}

/* For people, and the kernel's symbol where the function is a kernel's. */
static void add_function(ompjit__buf *list, const ompjit__remark *r)
{
    static const char prefix[] = "__omp_offloading_";
    const char *symbol = r->symbol ? r->symbol : "";
    char *own = ompjit__source_symbol(symbol);
    unsigned line;
    char *name = own ? ompjit__kernel_name(own, &line) : NULL;
    bool kernels = own && !strncmp(own, prefix, sizeof prefix - 1);
    add_string(list, r->kernel ? r->kernel : kernels ? own : NULL);
    add_string(list, name);
    add_string(list, symbol);
    list->failed |= !name;
    free(name);
    free(own);
}

void ompjit__remark_add(ompjit__buf *list, const ompjit__remark *r)
{
    const struct row *row = &rows[r->id];
    const char *subject = r->subject                      ? r->subject
                          : r->variable && *r->variable ? r->variable
                                                        : "it";
    ompjit__pack_number(list, r->id);
    ompjit__pack_number(list, r->line);
    ompjit__pack_number(list, r->column);
    add_string(list, r->pass ? r->pass : "ompjit");
    add_function(list, r);
    add_string(list, r->variable);
    add_string(list, r->file);
    add_string(list, r->what);
    add_text(list, r->why ? r->why : row->why, subject);
    add_text(list, r->advice ? r->advice : row->advice, subject);
}

/* ----------------------------------------------------------------- reading */

static const char *next_string(ompjit__reader *r)
{
    size_t size;
    const char *s = ompjit__read_bytes(r, &size);
    if (size && s[size - 1] == '\0')
        return s;
    r->bad = true;
    return "";
}

bool ompjit__remark_next(ompjit__reader *r, ompjit_remark *out)
{
    if (!r->left || r->bad)
        return false;
    uint64_t id = ompjit__read_number(r);
    r->bad |= id >= OMPJIT__REMARK_COUNT;
    if (r->bad)
        return false;
    *out = (ompjit_remark){.size = sizeof *out,
                           .kind = rows[id].kind,
                           .id = rows[id].id};
    out->line = (uint32_t)ompjit__read_number(r);
    out->column = (uint32_t)ompjit__read_number(r);
    out->pass = next_string(r);
    out->kernel = next_string(r);
    out->function = next_string(r);
    out->symbol = next_string(r);
    out->variable = next_string(r);
    out->file = next_string(r);
    out->what = next_string(r);
    out->why = next_string(r);
    out->advice = next_string(r);
    return !r->bad;
}

/* ------------------------------------------------------------------- lists */

static uint64_t hash_of(const char *data, size_t size)
{
    uint64_t h = size;
    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 32;
}

static size_t count(const ompjit__buf *list)
{
    ompjit__reader r = {list->data, list->size, false};
    ompjit_remark remark;
    size_t n = 0;
    while (ompjit__remark_next(&r, &remark))
        n++;
    return n;
}

/* Bytes of one remark within a list. */
struct span {
    const char *at;
    size_t size;
};

/* Adds it to a table whose size is a power of two; false: it is there. */
static bool is_new(struct span *table, size_t size, const struct span *s)
{
    size_t i = hash_of(s->at, s->size) & (size - 1);
    for (; table[i].at; i = (i + 1) & (size - 1))
        if (table[i].size == s->size && !memcmp(table[i].at, s->at, s->size))
            return false;
    table[i] = *s;
    return true;
}

/* Has a later run of openmp-opt found a place for a variable of which one said
 * that it has none? */
static bool is_settled(const ompjit__buf *list, const ompjit_remark *missed)
{
    ompjit__reader r = {list->data, list->size, false};
    ompjit_remark done;
    if (strcmp(missed->id, "OMP112"))
        return false;
    while (ompjit__remark_next(&r, &done))
        if ((!strcmp(done.id, "OMP110") || !strcmp(done.id, "OMP111")) &&
            done.line == missed->line && done.column == missed->column &&
            !strcmp(done.variable, missed->variable) &&
            !strcmp(done.file, missed->file))
            return true;
    return false;
}

bool ompjit__remarks_unite(ompjit__buf *list)
{
    size_t size = 16, n = count(list);
    ompjit__buf once = {0};
    while (size < 2 * n)
        size *= 2;
    struct span *table = calloc(size, sizeof *table);
    ompjit__reader r = {list->data, list->size, false};
    ompjit_remark remark;
    for (const char *at = r.at;
         table && ompjit__remark_next(&r, &remark); at = r.at) {
        struct span s = {at, (size_t)(r.at - at)};
        if (is_new(table, size, &s) && !is_settled(list, &remark))
            ompjit__buf_add(&once, s.at, s.size);
    }
    bool good = table && !once.failed && !list->failed;
    free(table);
    ompjit__buf_free(list);
    *list = once;
    return good;
}
