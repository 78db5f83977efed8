/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Long copies of a construct are put off until it has done with the table.
 * transfer.c gives the table's lock back while it puts them into the queue: a
 * copy of pageable memory returns only when all of it has been read or written,
 * and meanwhile other threads could not even look their own data up.
 */
#include "mapping/transfer.h"

/* A copy that is put off. Both addresses stay valid until the construct ends.
 */
typedef struct deferred {
    enum ompjit__copy direction;
    void *dst;
    const void *src;
    size_t size;
} deferred;

/* Does the construct attach pointers? They are written behind the copies that
 * fill the storage around them, which then cannot be put off. */
static bool attaches(const ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ))
            return true;
    return false;
}

/* An entry with attached pointers is not put off either: the pointers are
 * written again behind its copy. */
bool ompjit__deferred_takes(const ompjit__construct *c,
                            const ompjit__mapped *entry, size_t size)
{
    return size > OMPJIT__LONG_COPY && ompjit__has_queues(c->dev) &&
           !entry->attached && !attaches(c);
}

ompjit_status ompjit__deferred_add(ompjit__construct *c,
                                   enum ompjit__copy direction, void *dst,
                                   const void *src, size_t size,
                                   ompjit_error *err)
{
    ompjit_status st = ompjit__construct_take_queue(c, err);
    if (st)
        return st;
    deferred one = {direction, dst, src, size};
    ompjit__buf_add(&c->deferred, &one, sizeof one);
    ompjit__construct_expect_copies(c);
    return c->deferred.failed ? ompjit__no_memory(err, OMPJIT_STAGE_MAP)
                              : OMPJIT_OK;
}

/* After a failure the rest is dropped. */
ompjit_status ompjit__deferred_send(ompjit__construct *c, ompjit_error *err)
{
    const deferred *all = (const deferred *)(void *)c->deferred.data;
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; i < c->deferred.size / sizeof *all && !st; i++)
        st = ompjit__construct_enqueue(c, all[i].direction, all[i].dst,
                                       all[i].src, all[i].size, err);
    ompjit__deferred_forget(c);
    return st;
}

void ompjit__deferred_forget(ompjit__construct *c)
{
    ompjit__buf_free(&c->deferred);
}
