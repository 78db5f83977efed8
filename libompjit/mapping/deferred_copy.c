/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Long copies of a construct are put off until it has done with the table,
 * whose lock is given back for as long as it takes to put them into the queue:
 * the device's copy of pageable memory returns when all of it has been read or
 * written, and meanwhile others could not even look at their own data.
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

/* Pointers that are attached go into what has been filled. */
static bool attaches(const ompjit__construct *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_PTR_AND_OBJ))
            return true;
    return false;
}

/* An entry with attached pointers is copied at once: the pointers go behind it.
 */
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
