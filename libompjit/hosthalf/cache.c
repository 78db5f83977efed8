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

void ompjit__half_pack(const ompjit__host_half *half, ompjit__buf *out)
{
    ompjit__pack_bytes(out, half->object.data, half->object.size);
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
        ompjit__pack_string(out, half->needs[i]);
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
void *ompjit__served_address(const char *name)
{
    const ompjit__served *row =
        find(ompjit__alloc_table, ompjit__alloc_count, name);
    if (!row)
        row = find(ompjit__served_table, ompjit__served_count, name);
    if (!row)
        row = find(&ompjit__thread_atexit_row, 1, name);
    return row ? row->address : NULL;
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

static char **unpack_strings(ompjit__reader *r, size_t *nstrings)
{
    size_t n = ompjit__read_count(r);
    char **strings = calloc(n + 1, sizeof *strings);
    r->bad |= !strings;
    while (!r->bad && *nstrings < n)
        strings[(*nstrings)++] = ompjit__read_string(r);
    return strings;
}

bool ompjit__half_unpack(void *data, const void *payload, size_t size)
{
    ompjit__reader r = {payload, size, false};
    ompjit__host_half half = {0};
    ompjit__read_buf(&r, &half.object);
    unpack_entries(&r, &half);
    half.functions = unpack_strings(&r, &half.nfunctions);
    half.needs = unpack_strings(&r, &half.nneeds);
    for (size_t i = 0; !r.bad && i < half.nneeds; i++)
        r.bad |= !ompjit__served_address(half.needs[i]);
    if (r.bad || r.left) {
        ompjit__host_half_free(&half);
        return false;
    }
    *(ompjit__host_half *)data = half;
    return true;
}
