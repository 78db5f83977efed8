/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A table of functions that kernels call through pointers, in a device's
 * memory: the rows that it is made of, and behind them the index by which our
 * device runtime finds one (runtime-bc/call_index.h). Other device code, which
 * knows nothing of an index, reads the rows alone.
 */
#include <stdlib.h>
#include <string.h>

#include "launch/module.h"
#include "launch/variant.h"
#include "runtime-bc/call_index.h"

static size_t slots_of(size_t n)
{
    return n ? (size_t)1 << call_index_bits(n) : 0;
}

/* Where several rows have one address, the last one is found. */
static void fill_index(const ompjit__indirect_call *rows, size_t n,
                       ompjit__indirect_call *slots)
{
    unsigned bits = n ? call_index_bits(n) : 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t at = call_index_slot(rows[i].host, bits);
        while (slots[at].host && slots[at].host != rows[i].host)
            at = (at + 1) & (slots_of(n) - 1);
        slots[at] = rows[i];
    }
}

/* Rows and index, in `bytes` bytes. NULL: out of memory. */
static ompjit__indirect_call *indexed(const ompjit__indirect_call *rows,
                                      size_t n, size_t *bytes)
{
    *bytes = (n + slots_of(n)) * sizeof *rows;
    ompjit__indirect_call *all = calloc(1, *bytes ? *bytes : 1);
    if (all && n) {
        memcpy(all, rows, n * sizeof *rows);
        fill_index(rows, n, all + n);
    }
    return all;
}

/* `all` has been copied when this returns. */
static ompjit_status to_device(ompjit__calls *c,
                               const ompjit__indirect_call *all, size_t bytes,
                               ompjit_error *err)
{
    ompjit_status status = c->dev->ops->alloc(c->dev, bytes, &c->table, err);
    if (status)
        return status;
    status = c->dev->ops->copy(c->dev, OMPJIT__COPY_TO, c->table, all, bytes,
                               NULL, err);
    if (status)
        ompjit__device_drop(c->dev, c->table);
    return status;
}

ompjit_status ompjit__calls_new(ompjit_device *dev,
                                const ompjit__indirect_call *rows, size_t n,
                                ompjit__calls **out, ompjit_error *err)
{
    size_t bytes;
    ompjit__calls *c = calloc(1, sizeof *c);
    ompjit__indirect_call *all = indexed(rows, n, &bytes);
    ompjit_status status = OMPJIT_ERR_NO_MEMORY;
    if (!c || !all) {
        ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    } else {
        *c = (ompjit__calls){.dev = dev, .n = n};
        status = to_device(c, all, bytes, err);
    }
    free(all);
    if (status)
        free(c);
    else
        *out = c;
    return status;
}

void ompjit__calls_free(ompjit__calls *c)
{
    for (ompjit__calls *next; c; c = next) {
        next = c->next;
        ompjit__device_drop(c->dev, c->table);
        free(c);
    }
}

void ompjit__calls_tell(const ompjit__calls *c,
                        ompjit__device_environment *environment)
{
    environment->indirect_call_table = (uintptr_t)c->table;
    environment->indirect_call_table_size = c->n;
    environment->debug_kind |= c->n ? CALL_INDEX_BIT : 0;
}
