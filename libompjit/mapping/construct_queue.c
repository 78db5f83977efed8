/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A construct's queue, on a device that has queues: the first operation takes
 * it, and all copies, allocations and frees of the construct go into it. On
 * other devices each operation is done when its function returns.
 */
#include "mapping/transfer.h"

ompjit_status ompjit__construct_take_queue(ompjit__construct *c,
                                           ompjit_error *err)
{
    if (c->queue || !ompjit__has_queues(c->dev))
        return OMPJIT_OK;
    return c->dev->ops->queues->create(c->dev, &c->queue, err);
}

/* Without a queue it returns when the copy is done. */
ompjit_status ompjit__construct_enqueue(ompjit__construct *c,
                                        enum ompjit__copy direction, void *dst,
                                        const void *src, size_t size,
                                        ompjit_error *err)
{
    ompjit_status st = ompjit__construct_take_queue(c, err);
    if (!st)
        st = c->dev->ops->copy(c->dev, direction, dst, src, size, c->queue,
                               err);
    c->copying |= c->queue != NULL;
    return st;
}

/* Operations that are put into the queue after this may use the memory. */
ompjit_status ompjit__construct_alloc(ompjit__construct *c, size_t size,
                                      void **ptr, ompjit_error *err)
{
    ompjit_status st = ompjit__construct_take_queue(c, err);
    if (st)
        return st;
    const ompjit__device_ops *ops = c->dev->ops;
    return c->queue ? ops->queued_memory->alloc(c->dev, size, c->queue, ptr,
                                                err)
                    : ops->alloc(c->dev, size, ptr, err);
}

/* In a queue the memory is freed behind the operations that are there. */
ompjit_status ompjit__construct_free_memory(ompjit__construct *c, void *ptr,
                                            ompjit_error *err)
{
    ompjit_status st = ompjit__construct_take_queue(c, err);
    if (st)
        return st;
    const ompjit__device_ops *ops = c->dev->ops;
    return c->queue ? ops->queued_memory->free(c->dev, ptr, c->queue, err)
                    : ops->free(c->dev, ptr, err);
}

void ompjit__construct_expect_copies(ompjit__construct *c)
{
    c->copying = true;
}

void ompjit__construct_waited(ompjit__construct *c)
{
    c->copying = false;
}

void ompjit__construct_give_queue(ompjit__construct *c)
{
    c->dev->ops->queues->destroy(c->dev, c->queue);
}
