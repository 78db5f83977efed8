/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Scalars that a target construct maps `to`, that are not present, and that its
 * kernel only reads: the kernel needs no more than the value. Its parameter is
 * still a pointer, so a device keeps the values of the last constructs in slots
 * of one allocation; a construct whose value is there allocates and copies
 * nothing. A slot belongs to one entry of the present table at a time, so that
 * different variables have different addresses. If another construct has used
 * the entry, it may have written to the slot, whose value is then unknown.
 */
#include <stdlib.h>
#include <string.h>

#include "mapping/transfer.h"

/* Bytes from one slot to the next: the alignment of other small storage. */
enum { STRIDE = 64 };

/* The device's slots, allocated at the first call; NULL: no memory, and scalars
 * are mapped like other data. */
static ompjit__literals *literals_of(const ompjit__construct *c)
{
    if (c->table->literals)
        return c->table->literals;
    ompjit__literals *all = calloc(1, sizeof *all);
    if (!all || c->dev->ops->alloc(c->dev, OMPJIT__LITERALS * STRIDE,
                                   &all->memory, NULL)) {
        free(all);
        return NULL;
    }
    for (size_t i = 0; i < OMPJIT__LITERALS; i++)
        all->slots[i].device = (char *)all->memory + i * STRIDE;
    c->table->literals = all;
    return all;
}

/* The free slot that has the value, else the free one that was used longest
 * ago, prepared for the value; NULL: all are in use. */
static ompjit__literal *take_slot(ompjit__literals *all, const void *value,
                                  unsigned size)
{
    ompjit__literal *oldest = NULL;
    for (size_t i = 0; i < OMPJIT__LITERALS; i++) {
        ompjit__literal *slot = &all->slots[i];
        if (slot->used)
            continue;
        if (slot->known && slot->size == size &&
            !memcmp(slot->value, value, size))
            return slot;
        if (!oldest || slot->last < oldest->last)
            oldest = slot;
    }
    if (oldest) {
        memcpy(oldest->value, value, size);
        oldest->size = size;
        oldest->known = false;
    }
    return oldest;
}

ompjit_status ompjit__literal_add(ompjit__construct *c, const ompjit__item *it,
                                  ompjit__mapped **out, ompjit_error *err)
{
    *out = NULL;
    if (!ompjit__has_queues(c->dev) || !ompjit__item_is_value(c, it))
        return OMPJIT_OK;
    ompjit__literals *all = literals_of(c);
    ompjit__literal *slot =
        all ? take_slot(all, it->begin, (unsigned)it->size) : NULL;
    if (!slot)
        return OMPJIT_OK;
    ompjit__mapped *entry =
        ompjit__present_add(c->table, it->begin, (uint64_t)it->size,
                            slot->device, it->name);
    if (!entry)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    slot->used = true;
    slot->last = c->number;
    entry->literal = slot;
    entry->construct = c->number;
    ompjit_status st =
        slot->known ? OMPJIT_OK : ompjit__arrival_mark(c, entry, err);
    if (st)
        ompjit__present_remove(c->table, entry);
    else
        *out = entry;
    return st;
}

bool ompjit__literal_known(const ompjit__mapped *entry)
{
    return entry->literal && entry->literal->known;
}

const char *ompjit__literal_source(const ompjit__construct *c,
                                   const ompjit__mapped *entry,
                                   const char *host)
{
    if (!entry->literal || !ompjit__is_new(c, entry))
        return host;
    return (const char *)entry->literal->value +
           ((uintptr_t)host - entry->begin);
}

/* From now on a construct with the same value need not copy it again. */
void ompjit__literals_settle(ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__mapped *entry = c->items[i].entry;
        if (entry && entry->literal && entry->construct == c->number)
            entry->literal->known = true;
    }
}
