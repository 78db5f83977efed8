/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiled host halves in the cache: the object, and what was found in the IR
 * that program_code.c needs to link and register it. Addresses of served
 * functions are this process's own, and found by name.
 */
#include <stdlib.h>
#include <string.h>

#include "hosthalf/program_code.h"

bool ompjit__half_key(const ompjit__unit *unit, ompjit__key *key)
{
    ompjit__key_begin(key, "host");
    ompjit__key_digest(key, "half", unit->host_digest);
    ompjit__key_digest(key, "kernels", unit->digest); /* share.c */
    ompjit__buf_printf(&key->text, "opt %u\n", unit->opt_level);
    ompjit__key_cpu(key);
    return ompjit__key_end(key);
}

void ompjit__half_pack(const ompjit__compiled_half *c, ompjit__buf *out)
{
    const ompjit__host_half *half = &c->half;
    ompjit__pack_bytes(out, c->object.data, c->object.size);
    ompjit__pack_number(out, half->nentries);
    for (size_t i = 0; i < half->nentries; i++) {
        ompjit__pack_string(out, half->entries[i].symbol);
        ompjit__pack_number(out, half->entries[i].size);
        ompjit__pack_number(out, half->entries[i].data);
        ompjit__pack_number(out, half->entries[i].flags);
    }
    ompjit__pack_number(out, half->nfunctions);
    for (size_t i = 0; i < half->nfunctions; i++)
        ompjit__pack_string(out, half->functions[i]);
    ompjit__pack_number(out, half->nneeds);
    for (size_t i = 0; i < half->nneeds; i++)
        ompjit__pack_string(out, half->needs[i].name);
}

/* ---------------------------------------------------------------- unpack */

static const ompjit__served *find(const ompjit__served *rows, size_t n,
                                  const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

/* In the order in which rewrite.c binds: the first to have a name has it. */
static const ompjit__served *find_served(const char *name)
{
    const ompjit__served *row =
        find(ompjit__alloc_table, ompjit__alloc_count, name);
    if (!row)
        row = find(ompjit__served_table, ompjit__served_count, name);
    return row ? row : find(&ompjit__thread_atexit_row, 1, name);
}

static void unpack_entries(ompjit__reader *r, ompjit__host_half *half)
{
    size_t n = ompjit__read_count(r);
    half->entries = calloc(n + 1, sizeof *half->entries);
    r->bad |= !half->entries;
    while (!r->bad && half->nentries < n) {
        ompjit__host_entry *e = &half->entries[half->nentries++];
        e->symbol = ompjit__read_string(r);
        e->size = ompjit__read_number(r);
        e->data = ompjit__read_number(r);
        e->flags = (uint32_t)ompjit__read_number(r);
    }
}

static void unpack_functions(ompjit__reader *r, ompjit__host_half *half)
{
    size_t n = ompjit__read_count(r);
    half->functions = calloc(n + 1, sizeof *half->functions);
    r->bad |= !half->functions;
    while (!r->bad && half->nfunctions < n)
        half->functions[half->nfunctions++] = ompjit__read_string(r);
}

static void unpack_needs(ompjit__reader *r, ompjit__host_half *half)
{
    size_t n = ompjit__read_count(r);
    half->needs = calloc(n + 1, sizeof *half->needs);
    r->bad |= !half->needs;
    while (!r->bad && half->nneeds < n) {
        char *name = ompjit__read_string(r);
        const ompjit__served *row = name ? find_served(name) : NULL;
        free(name);
        r->bad |= !row;
        if (row)
            half->needs[half->nneeds++] =
                (ompjit__absolute){row->name, row->address};
    }
}

bool ompjit__half_unpack(void *data, const void *payload, size_t size)
{
    ompjit__reader r = {payload, size, false};
    ompjit__compiled_half c = {0};
    ompjit__read_buf(&r, &c.object);
    unpack_entries(&r, &c.half);
    unpack_functions(&r, &c.half);
    unpack_needs(&r, &c.half);
    if (r.bad || r.left) {
        ompjit__compiled_half_free(&c);
        return false;
    }
    *(ompjit__compiled_half *)data = c;
    return true;
}
