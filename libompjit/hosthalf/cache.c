/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiled host halves in the cache: the object, and what was found in the IR
 * that program_code.c needs to link and register it. Addresses of served
 * functions are this process's own, and found by name.
 */
#include <string.h>

#include "hosthalf/program_code.h"

/* Names all that a compiled half depends on: both halves' IR, the optimization
 * level and this CPU. The device half counts because the compiler proves from
 * its kernels which data host and device may share (passes/hosthalf/share/). */
bool ompjit__half_key(const ompjit__unit *unit, bool divided, size_t part,
                      ompjit__key *key)
{
    ompjit__key_begin(key, "host");
    ompjit__key_digest(key, "half", unit->host_digest);
    ompjit__key_digest(key, "kernels", unit->digest); /* share.c */
    ompjit__buf_printf(&key->text, "opt %u\ndivided %d\npart %zu\n",
                       unit->opt_level, divided, part);
    ompjit__key_cpu(key);
    return ompjit__key_end(key);
}

static const ompjit__served *find(const ompjit__served *rows, size_t n,
                                  const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

/* In the order in which rewrite.c binds: the first to have a name has it. The
 * order is that of three tables: allocators before the served functions, and
 * the one function that takes a life. Addresses are never cached, since the
 * library is loaded elsewhere in each process. */
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

/* The cache's callback for one payload (ompjit__cache_take). A half that needs
 * a function which this library does not serve is refused: the cache takes that
 * as a miss, and the half is compiled again. A refused half leaves nothing
 * allocated. */
bool ompjit__half_take(void *data, const void *payload, size_t size)
{
    ompjit__reader r = {payload, size, false};
    ompjit__host_half half;
    if (!ompjit__half_unpack(&r, &half))
        return false;
    bool served = true;
    for (size_t i = 0; served && i < half.nneeds; i++)
        served = ompjit__served_address(half.needs[i]);
    if (!served)
        ompjit__host_half_free(&half);
    else
        *(ompjit__host_half *)data = half;
    return served;
}
