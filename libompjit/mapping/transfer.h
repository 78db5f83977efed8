/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How a construct's data goes between host and device. For each copy transfer.c
 * chooses the first of these routes that takes it:
 *
 *   to the device   deferred_copy.c     long: put off until the lock is given
 *                                       back
 *                   small_block.c       small and new: with its block
 *                   construct_queue.c   else: into the queue, or at once
 *   to the host     early_copy_back.c   it was copied behind the kernel already
 *                   small_copy_back.c   small: together, when the construct
 *                                       waits
 *                   deferred_copy.c     long: put off
 *                   construct_queue.c   else: into the queue, or at once
 *
 * Each route is a file that calls none of the others; early_copy_back.c alone
 * asks whether an entry lies in the small block. arrival.c has the order of
 * constructs. Code of a later section of this header calls that of earlier
 * sections only. On a device without queues each copy is made at once.
 */
#ifndef OMPJIT_MAPPING_TRANSFER_H
#define OMPJIT_MAPPING_TRANSFER_H

#include "mapping/construct.h"

/* ------------------------------------------- the queue: construct_queue.c */

static inline bool ompjit__has_queues(const ompjit_device *dev)
{
    return dev->ops->queued_memory && !dev->shares_memory;
}

/* Takes the queue, if the device has any, before the first operation in it. */
ompjit_status ompjit__construct_take_queue(ompjit__construct *c,
                                           ompjit_error *err);
/* Puts a copy into the queue, or makes it at once. The caller keeps host memory
 * that is copied from unchanged until the queue was waited for, unless the copy
 * is small (OMPJIT__SMALL_COPY). */
ompjit_status ompjit__construct_enqueue(ompjit__construct *c,
                                        enum ompjit__copy direction, void *dst,
                                        const void *src, size_t size,
                                        ompjit_error *err);
ompjit_status ompjit__construct_alloc(ompjit__construct *c, size_t size,
                                      void **ptr, ompjit_error *err);
ompjit_status ompjit__construct_free_memory(ompjit__construct *c, void *ptr,
                                            ompjit_error *err);
/* Notes that the queue will get copies to wait for, and that it was waited for.
 */
void ompjit__construct_expect_copies(ompjit__construct *c);
void ompjit__construct_waited(ompjit__construct *c);
/* Gives the queue back to the device; c->queue is not NULL. */
void ompjit__construct_give_queue(ompjit__construct *c);

/* ----------------------------------------- the order of constructs: arrival.c
 * The entries that a construct fills have its arrival, an event that the queues
 * of other constructs wait for. While its copies are put off, there is no event
 * yet, and other threads wait for that. The lock is held for all but done and
 * close. */

/* Notes that this construct's copies fill the entry. */
ompjit_status ompjit__arrival_mark(ompjit__construct *c, ompjit__mapped *entry,
                                   ompjit_error *err);
/* Has this construct's queue wait for the copies that fill the entry. */
ompjit_status ompjit__arrival_come_after(ompjit__construct *c,
                                         ompjit__mapped *entry,
                                         ompjit_error *err);
/* Waits until the copies that fill the items' storage are in a queue. Gives the
 * lock back meanwhile, so it is called before anything is done under it. */
void ompjit__arrival_wait_sent(ompjit__construct *c);
/* Between hold and release the arrival is unsent: threads that need the data
 * wait, so that the lock may be given back while copies are put into the queue.
 */
void ompjit__arrival_hold(ompjit__construct *c);
void ompjit__arrival_release(ompjit__construct *c);
/* Makes the event, when all copies are in the queue. */
ompjit_status ompjit__arrival_record(ompjit__construct *c, ompjit_error *err);
/* Notes that the construct's copies are done. */
void ompjit__arrival_done(ompjit__construct *c);
/* Drops the construct's reference. Takes the lock. */
void ompjit__arrival_close(ompjit__construct *c);

/* ------------------------------------------ small new storage: small_block.c
 * It lies in one block, which is allocated and filled by one operation each,
 * and lives as long as any entry in it. The lock is held, but for reserve and
 * end. */

/* Before begin: reserves `size` bytes at the block's begin for private copies,
 * of which those from `filled` on will be copied there. `size` is a multiple of
 * 64, the block's least alignment. Does nothing if the block has no room for
 * them. */
void ompjit__small_block_reserve(ompjit__construct *c, size_t size,
                                 size_t filled);
/* Makes a new entry in the block. *out is NULL if it is too large. Its device
 * address, `pad` behind an aligned one, is known after place. */
ompjit_status ompjit__small_block_add(ompjit__construct *c, const void *host,
                                      uint64_t size, uint64_t pad,
                                      const char *name, ompjit__mapped **out,
                                      ompjit_error *err);
/* When all entries are there: allocates the block and gives each its address.
 */
ompjit_status ompjit__small_block_place(ompjit__construct *c,
                                        ompjit_error *err);
/* After place: the address of the private copies; NULL: they are not here. */
static inline char *ompjit__small_block_privates(const ompjit__construct *c)
{
    return c->small.privates ? c->small.block->memory : NULL;
}
static inline bool ompjit__small_block_has(const ompjit__construct *c,
                                           const ompjit__mapped *entry)
{
    return entry->block && entry->block == c->small.block;
}
/* Copies into the block's image; false if `dst` is not in its range. */
bool ompjit__small_block_fill(ompjit__construct *c, void *dst, const void *src,
                              size_t size);
/* Copies the image to the block. */
ompjit_status ompjit__small_block_send(ompjit__construct *c, ompjit_error *err);
/* Drops the image. */
void ompjit__small_block_forget(ompjit__construct *c);
/* Drops the construct's reference to the block. Takes the lock. */
ompjit_status ompjit__small_block_end(ompjit__construct *c, ompjit_error *err);

/* --------------------------------------------- long copies: deferred_copy.c
 * They are put off until the lock can be given back. `takes`: is the copy one
 * of them? `add`: puts it off. `forget`: drops them. */

bool ompjit__deferred_takes(const ompjit__construct *c,
                            const ompjit__mapped *entry, size_t size);
ompjit_status ompjit__deferred_add(ompjit__construct *c,
                                   enum ompjit__copy direction, void *dst,
                                   const void *src, size_t size,
                                   ompjit_error *err);
/* Puts them into the queue, with or without the lock. */
ompjit_status ompjit__deferred_send(ompjit__construct *c, ompjit_error *err);
void ompjit__deferred_forget(ompjit__construct *c);

/* -------------------------------- small copies to the host: small_copy_back.c
 * They are put into the queue together when the construct waits, and go through
 * page-locked memory. `take`: is a copy of this size one of them? */

bool ompjit__pieces_take(const ompjit__construct *c, size_t size);
ompjit_status ompjit__pieces_add(ompjit__construct *c,
                                 const ompjit__mapped *entry, char *host,
                                 size_t size, ompjit_error *err);
/* Puts them into the queue, waits for it, and copies them to their places. */
ompjit_status ompjit__pieces_fetch(ompjit__construct *c, ompjit_error *err);
void ompjit__pieces_forget(ompjit__construct *c);

/* ------------------------------ copies behind the kernel: early_copy_back.c */

/* Between kernel and wait: enqueues the copies to the host that the construct
 * will probably have to make when it ends. Without the lock. */
ompjit_status ompjit__early_copy(ompjit__construct *c, ompjit_error *err);
/* The same for a construct that has only an end. The caller waits for the
 * copies before it takes the lock. */
ompjit_status ompjit__early_copy_ending(ompjit__construct *c,
                                        ompjit_error *err);
/* has_item: true if the item was copied straight to its place and needs no
 * other copy. fetch: copies [host, host+size) of the entry from the block's
 * early copy, and returns false if that does not have it. The lock is held. */
bool ompjit__early_has_item(const ompjit__construct *c, const ompjit__item *it);
bool ompjit__early_fetch(const ompjit__construct *c,
                         const ompjit__mapped *entry, char *host, size_t size);
/* Forgets the block's early copy: its page-locked memory will be used again. */
void ompjit__early_forget(ompjit__construct *c);

/* ----------------------------- the choice for each copy: transfer.c */

/* Copies [host, host+size) to the entry that has it, except attached pointers.
 * The lock is held. */
ompjit_status ompjit__transfer_to(ompjit__construct *c, ompjit__mapped *entry,
                                  char *host, size_t size, ompjit_error *err);
/* Copies other data to the device: `src` stays unchanged until the copies were
 * waited for, or is small (OMPJIT__SMALL_COPY). */
ompjit_status ompjit__transfer_put(ompjit__construct *c, void *dst,
                                   const void *src, size_t size,
                                   ompjit_error *err);
/* Copies [host, host+size) back, unless that was done early. Does not change
 * attached pointers, nor constants that are mapped implicitly. The lock is
 * held. */
ompjit_status ompjit__transfer_from(ompjit__construct *c,
                                    const ompjit__item *it,
                                    ompjit__mapped *entry, char *host,
                                    size_t size, ompjit_error *err);
/* Puts all copies so far into the queue and makes the arrival's event. `st` is
 * the result so far; after a failure, which it returns, nothing is under way.
 * The lock is held, but given back while long copies are put there. */
ompjit_status ompjit__transfer_send(ompjit__construct *c, ompjit_status st,
                                    ompjit_error *err);
/* Sends copies that are left and waits for all so far. */
ompjit_status ompjit__transfer_wait(ompjit__construct *c, ompjit_error *err);
/* Notes that the caller has waited for the queue. */
void ompjit__transfer_waited(ompjit__construct *c);
/* After a failure: drops the small copies that are not in the queue, and waits
 * for all others. */
void ompjit__transfer_abandon(ompjit__construct *c);
/* Frees the block, the queue and what is noted for them. Without the lock. */
void ompjit__transfer_close(ompjit__construct *c);

#endif
