/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Events of allocations, copies and their ends, from a construct's items.
 */
#include "mapping/ompt.h"

/* Begin and end at once: a tool sees nothing between them. */
static void tell(const ompjit__ompt_op *op)
{
    ompjit__ompt_op_begin(op);
    ompjit__ompt_op_end(op);
}

/* Tells only of memory that this construct has allocated. */
static void tell_new(const ompjit__construct *c, const ompjit__mapped *e)
{
    const void *host = (const void *)e->begin;
    if (ompjit__is_new(c, e) && e->device != host)
        tell(&(ompjit__ompt_op){OMPJIT__OMPT_ALLOC, host, e->device, -1,
                                (int)c->dev->number, e->end - e->begin});
}

/* Is the entry in none of the first n items? Several items may have the same.
 */
static bool is_first(const ompjit__construct *c, size_t n,
                     const ompjit__mapped *e)
{
    for (size_t k = 0; k < n; k++)
        if (c->items[k].entry == e || c->items[k].pointer == e)
            return false;
    return true;
}

/* Under the lock, when all new entries have their places. */
void ompjit__ompt_entered(const ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const ompjit__item *it = &c->items[i];
        if (it->pointer && is_first(c, i, it->pointer))
            tell_new(c, it->pointer);
        if (it->entry && it->entry != it->pointer && is_first(c, i, it->entry))
            tell_new(c, it->entry);
    }
}

/* Tells nothing of storage that was the host's own. */
void ompjit__ompt_removes(const ompjit__construct *c, const ompjit__mapped *e)
{
    if (e->device != (const void *)e->begin)
        tell(&(ompjit__ompt_op){OMPJIT__OMPT_DELETE, e->device, NULL,
                                (int)c->dev->number, -1, e->end - e->begin});
}

ompjit__ompt_op ompjit__ompt_copy(const ompjit__construct *c, bool to_device,
                                  const void *host, const void *device,
                                  size_t size)
{
    int number = (int)c->dev->number;
    return to_device ? (ompjit__ompt_op){OMPJIT__OMPT_TO_DEVICE, host, device,
                                         -1, number, size}
                     : (ompjit__ompt_op){OMPJIT__OMPT_FROM_DEVICE, device, host,
                                         number, -1, size};
}
