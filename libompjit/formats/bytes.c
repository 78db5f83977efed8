/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Bytes of somebody else's making, read with every offset checked.
 */
#include <string.h>

#include "formats/bytes.h"

/* Compares without a sum, which a damaged offset could make overflow. */
bool ompjit__bytes_slice(ompjit__bytes from, uint64_t at, uint64_t n,
                         ompjit__bytes *out)
{
    if (at > from.n || n > from.n - at)
        return false;
    *out = (ompjit__bytes){from.p + at, (size_t)n};
    return true;
}

/* Copies, since nothing in the file need be aligned. */
bool ompjit__bytes_read(ompjit__bytes from, uint64_t at, void *out, size_t n)
{
    ompjit__bytes s;
    if (!ompjit__bytes_slice(from, at, n, &s))
        return false;
    memcpy(out, s.p, n);
    return true;
}

uint32_t ompjit__bytes_word(ompjit__bytes from, size_t i)
{
    uint32_t w = 0;
    ompjit__bytes_read(from, i * sizeof w, &w, sizeof w);
    return w;
}

ompjit__bytes ompjit__bytes_strings(ompjit__bytes table)
{
    while (table.n && table.p[table.n - 1])
        table.n--;
    return table;
}

const char *ompjit__bytes_string(ompjit__bytes strings, uint64_t at)
{
    return at < strings.n ? (const char *)strings.p + at : "";
}
