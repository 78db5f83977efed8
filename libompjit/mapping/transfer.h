/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How a construct's data goes between host and device. For each copy transfer.c
 * chooses the first of the ways that takes it:
 *
 *   to the device   deferred_copy.c     long: put off until the lock is given
 *                                       back
 *                   small_block.c       small and new: with its block
 *                   construct_queue.c   else: into the queue, or at once
 *   to the host     early_copy_back.c   it was copied behind the kernel
 *                   small_copy_back.c   small: together, when all wait
 *                   deferred_copy.c     long: put off
 *                   construct_queue.c   else: into the queue, or at once
 *
 * Each way is a file that calls none of the others; early_copy_back.c alone
 * asks whether an entry lies in the block. arrival.c has the order of
 * constructs. Calls go from the later of these sections to the earlier ones. On
 * a device without queues all is done at once.
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
/* Host memory that is copied from stays as it is until the queue was waited
 * for, unless it is small (OMPJIT__SMALL_COPY). */
ompjit_status ompjit__construct_enqueue(ompjit__construct *c,
                                        enum ompjit__copy direction, void *dst,
                                        const void *src, size_t size,
                                        ompjit_error *err);
ompjit_status ompjit__construct_alloc(ompjit__construct *c, size_t size,
                                      void **ptr, ompjit_error *err);
ompjit_status ompjit__construct_free_memory(ompjit__construct *c, void *ptr,
                                            ompjit_error *err);
/* Notes that there will be something in the queue to be waited for, and that
 * there is nothing any more. */
void ompjit__construct_expect_copies(ompjit__construct *c);
void ompjit__construct_waited(ompjit__construct *c);
/* Gives the queue, which there is, back. */
void ompjit__construct_give_queue(ompjit__construct *c);

/* ----------------------------------------- the order of constructs: arrival.c
 * The data that a construct brings to the device has an arrival, after which
 * the queues of other constructs come. While a copy is put off, there is no
 * event yet to come after: others wait for that. The lock is held, but for
 * done and close. */

/* Notes that this construct's copies fill the entry. */
ompjit_status ompjit__arrival_mark(ompjit__construct *c, ompjit__mapped *entry,
                                   ompjit_error *err);
/* Another construct's copy into the entry comes before this one's next work. */
ompjit_status ompjit__arrival_come_after(ompjit__construct *c,
                                         ompjit__mapped *entry,
                                         ompjit_error *err);
/* Waits until everything that the construct's items meet is in a queue. Gives
 * the lock back meanwhile, and so comes before anything is done under it. */
void ompjit__arrival_wait_sent(ompjit__construct *c);
/* From hold to release others that need the construct's data wait, so that the
 * lock may be given back while its copies are put into the queue. */
void ompjit__arrival_hold(ompjit__construct *c);
void ompjit__arrival_release(ompjit__construct *c);
/* All copies are in the queue: makes the event that others come after. */
ompjit_status ompjit__arrival_record(ompjit__construct *c, ompjit_error *err);
/* The construct's copies are done. */
void ompjit__arrival_done(ompjit__construct *c);
void ompjit__arrival_close(ompjit__construct *c);

/* ------------------------------------------ small new storage: small_block.c
 * It lies in one block, which is allocated and filled at once, and lives as
 * long as any part of it. The lock is held, but for end. */

/* Before begin: room for private copies, `size` bytes at the block's begin, of
 * which those from `filled` on will be copied there. */
void ompjit__small_block_reserve(ompjit__construct *c, size_t size,
                                 size_t filled);
/* Makes a new entry in the block, if there is room, else *out is NULL; its
 * device address, `pad` behind an aligned one, is known after place. */
ompjit_status ompjit__small_block_add(ompjit__construct *c, const void *host,
                                      uint64_t size, uint64_t pad,
                                      const char *name, ompjit__mapped **out,
                                      ompjit_error *err);
/* All entries are there: allocates the block, those copied to first. */
ompjit_status ompjit__small_block_place(ompjit__construct *c,
                                        ompjit_error *err);
/* After place: where the private copies are; NULL: they have no room here. */
static inline char *ompjit__small_block_privates(const ompjit__construct *c)
{
    return c->small.privates ? c->small.block->memory : NULL;
}
static inline bool ompjit__small_block_has(const ompjit__construct *c,
                                           const ompjit__mapped *entry)
{
    return entry->block && entry->block == c->small.block;
}
/* Copies into the block's image; false where `dst` is not there. */
bool ompjit__small_block_fill(ompjit__construct *c, void *dst, const void *src,
                              size_t size);
/* Copies the image to the block. */
ompjit_status ompjit__small_block_send(ompjit__construct *c, ompjit_error *err);
/* Drops the image. */
void ompjit__small_block_forget(ompjit__construct *c);
/* The construct needs the block no more. */
ompjit_status ompjit__small_block_end(ompjit__construct *c, ompjit_error *err);

/* --------------------------------------------- long copies: deferred_copy.c
 * They are put off until the lock can be given back. */

bool ompjit__deferred_takes(const ompjit__construct *c,
                            const ompjit__mapped *entry, size_t size);
ompjit_status ompjit__deferred_add(ompjit__construct *c,
                                   enum ompjit__copy direction, void *dst,
                                   const void *src, size_t size,
                                   ompjit_error *err);
/* Puts them into the queue. */
ompjit_status ompjit__deferred_send(ompjit__construct *c, ompjit_error *err);
void ompjit__deferred_forget(ompjit__construct *c);

/* -------------------------------- small copies to the host: small_copy_back.c
 * They are put into the queue together when the construct waits, and go through
 * page-locked memory. */

bool ompjit__pieces_take(const ompjit__construct *c, size_t size);
ompjit_status ompjit__pieces_add(ompjit__construct *c,
                                 const ompjit__mapped *entry, char *host,
                                 size_t size, ompjit_error *err);
/* Puts them into the queue, waits for it, and puts them to their places. */
ompjit_status ompjit__pieces_fetch(ompjit__construct *c, ompjit_error *err);
void ompjit__pieces_forget(ompjit__construct *c);

/* ------------------------------ copies behind the kernel: early_copy_back.c */

/* Between kernel and wait: copies what the construct will probably have to copy
 * to the host when it ends. Without the lock. */
ompjit_status ompjit__early_copy(ompjit__construct *c, ompjit_error *err);
/* The same for a construct that only ends data; what it copies is to be waited
 * for before the lock is taken. */
ompjit_status ompjit__early_copy_ending(ompjit__construct *c,
                                        ompjit_error *err);
/* True where the whole item, which is at its place already, or [host,
 * host+size) of the entry, which is put there now, needs no other copy. The
 * lock is held. */
bool ompjit__early_has_item(const ompjit__construct *c, const ompjit__item *it);
bool ompjit__early_fetch(const ompjit__construct *c,
                         const ompjit__mapped *entry, char *host, size_t size);
/* The page-locked memory is used again. */
void ompjit__early_forget(ompjit__construct *c);

/* ----------------------------- the choice for each copy: transfer.c */

/* Copies [host, host+size) to the entry that has it, but for attached pointers.
 * The lock is held. */
ompjit_status ompjit__transfer_to(ompjit__construct *c, ompjit__mapped *entry,
                                  char *host, size_t size, ompjit_error *err);
/* Copies something else to the device, which does not change before the copies
 * were waited for, or is small (OMPJIT__SMALL_COPY). */
ompjit_status ompjit__transfer_put(ompjit__construct *c, void *dst,
                                   const void *src, size_t size,
                                   ompjit_error *err);
/* Copies [host, host+size) back, unless that was done early. Attached pointers
 * stay the host's, and constants that are mapped implicitly what they are. The
 * lock is held. */
ompjit_status ompjit__transfer_from(ompjit__construct *c,
                                    const ompjit__item *it,
                                    ompjit__mapped *entry, char *host,
                                    size_t size, ompjit_error *err);
/* All copies were asked for, with the result `st`: puts them into the queue,
 * and lets others wait for them. After a failure, which is returned, nothing is
 * under way. The lock is held, but given back while long copies are put
 * there. */
ompjit_status ompjit__transfer_send(ompjit__construct *c, ompjit_status st,
                                    ompjit_error *err);
/* Sends what is left and waits for all copies so far. */
ompjit_status ompjit__transfer_wait(ompjit__construct *c, ompjit_error *err);
/* The queue was waited for. */
void ompjit__transfer_waited(ompjit__construct *c);
/* After a failure: drops the small copies that are not in the queue, and waits
 * for all others. */
void ompjit__transfer_abandon(ompjit__construct *c);
/* Frees all. Without the lock. */
void ompjit__transfer_close(ompjit__construct *c);

#endif
