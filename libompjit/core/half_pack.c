/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiled host halves as bytes.
 */
#include <stdlib.h>

#include "core/host_half.h"

static void pack_strings(char *const *strings, size_t n, ompjit__buf *out)
{
    ompjit__pack_number(out, n);
    for (size_t i = 0; i < n; i++)
        ompjit__pack_string(out, strings[i]);
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
    pack_strings(half->functions, half->nfunctions, out);
    pack_strings(half->needs, half->nneeds, out);
    pack_strings(half->parts, half->nparts, out);
    pack_strings(half->wants, half->nwants, out);
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

bool ompjit__half_unpack(ompjit__reader *r, ompjit__host_half *out)
{
    ompjit__host_half half = {0};
    ompjit__read_buf(r, &half.object);
    unpack_entries(r, &half);
    half.functions = unpack_strings(r, &half.nfunctions);
    half.needs = unpack_strings(r, &half.nneeds);
    half.parts = unpack_strings(r, &half.nparts);
    half.wants = unpack_strings(r, &half.nwants);
    if (r->bad) {
        ompjit__host_half_free(&half);
        return false;
    }
    *out = half;
    return true;
}
