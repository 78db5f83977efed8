/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One construct's map entries while it is being carried out: what map_items.c
 * makes of the caller's arrays, map.c enters, copies and leaves, and
 * target_construct.c turns into a kernel's arguments.
 */
#ifndef OMPJIT_OFFLOAD_CONSTRUCT_H
#define OMPJIT_OFFLOAD_CONSTRUCT_H

#include "abi/offload.h"
#include "mapping/present_table.h"

/* One map entry, or one component of a user-defined mapper. */
typedef struct ompjit__item {
    char *base, *begin;
    int64_t size;
    uint64_t type;
    const char *name;
    char *pointer_at;        /* PTR_AND_OBJ: the pointer's host address     */
    char *device;            /* counterpart of begin; NULL: there is none   */
    ompjit__mapped *entry;   /* of the storage, and of the pointer; valid   */
    ompjit__mapped *pointer; /* only while the lock is held                 */
    uint64_t taken, pointer_taken; /* counts that end subtracted            */
    int32_t index;           /* in the caller's arrays                      */
    bool component;          /* made by the mapper of that entry            */
    bool combined;           /* the next item is a member of this           */
    bool counted, pointer_counted; /* begin added to a count                */
    bool ahead;              /* copied to the host behind the kernel        */
    bool uses;               /* is among its pointer's users                */
} ompjit__item;

#define OMPJIT__FEW_ITEMS 16

/* A construct's data, gathered into few device operations: small_block.c */
typedef struct ompjit__gathered {
    ompjit__block *block; /* of its small new entries and private copies   */
    size_t size;          /* bytes reserved in the block                   */
    size_t privates;      /* of these, at its begin, the private copies    */
    size_t image_begin, image_end; /* what one copy fills                  */
    char *image;          /* these bytes; NULL: not begun, or sent         */
    const char *ahead;    /* begin of what the queue copies behind the
                             kernel, before anybody knows that it has to   */
    size_t ahead_size;    /* bytes; 0: nothing                             */
    const char *ahead_at; /* where they are when the queue was waited for  */
    ompjit__buf pieces;   /* small copies to the host that are still to be
                             asked for                                     */
} ompjit__gathered;

typedef struct ompjit__construct {
    ompjit_device *dev;
    ompjit__queue *queue;    /* of all its copies; NULL: each is waited for */
    ompjit__arrival *arrival; /* of what it copied to the device            */
    bool copying;            /* the queue has copies that nobody awaited    */
    ompjit__present *table;
    const ompjit__maps *maps;
    ompjit__item *items;     /* `few` or malloc'd */
    size_t n, capacity;
    uint64_t number;         /* of this construct, in the table             */
    ompjit__attached *log;   /* attachments made so far                     */
    bool borrows;            /* some of its data may stay where it is       */
    const ompjit__kernel_desc *kernel; /* that it runs; NULL: none          */
    ompjit__buf late;        /* long copies that are still to be asked for  */
    ompjit__gathered gathered;
    ompjit__item few[OMPJIT__FEW_ITEMS];
} ompjit__construct;

/* The list that a mapper function fills: its opaque handle. */
typedef struct ompjit__component {
    void *base, *begin;
    int64_t size, type;
    void *name;
} ompjit__component;

typedef struct ompjit__components {
    ompjit__component *list;
    size_t n, capacity;
    bool failed; /* memory ran out */
} ompjit__components;

void ompjit__components_add(ompjit__components *c, ompjit__component one);

/* Calls the mappers; free with ompjit__construct_free, also on failure. */
ompjit_status ompjit__construct_init(ompjit__construct *c, ompjit_device *dev,
                                     const ompjit__maps *maps,
                                     ompjit_error *err);
void ompjit__construct_free(ompjit__construct *c);

/* True where the entry is no matter of the present table. */
static inline bool ompjit__item_private(const ompjit__item *it)
{
    return it->type & (OMPJIT__MAP_LITERAL | OMPJIT__MAP_PRIVATE);
}

/* Which of the entry's counts the item changes. */
static inline uint64_t *ompjit__item_counter(ompjit__mapped *entry,
                                             const ompjit__item *it)
{
    return it->type & OMPJIT__MAP_HOLD ? &entry->hold : &entry->dynamic;
}

/* An entry that the construct fills when it begins. */
static inline bool ompjit__copies_in(const ompjit__construct *c,
                                     const ompjit__item *it)
{
    return it->entry && it->type & OMPJIT__MAP_TO &&
           (it->type & OMPJIT__MAP_ALWAYS ||
            it->entry->construct == c->number);
}

static inline bool ompjit__is_new(const ompjit__construct *c,
                                  const ompjit__mapped *entry)
{
    return entry->construct == c->number;
}

#define OMPJIT__POINTER_SIZE sizeof(void *)

/* Devices without do all at once. */
static inline bool ompjit__has_queues(const ompjit_device *dev)
{
    return dev->ops->queued_memory && !dev->shares_memory;
}

/* construct_queue.c: the construct's device operations, in its queue where it
 * has one. Host memory that is copied from stays as it is until wait, unless it
 * is small (OMPJIT__SMALL_COPY). */
ompjit_status ompjit__construct_open(ompjit__construct *c, ompjit_error *err);
ompjit_status ompjit__construct_copy(ompjit__construct *c,
                                     enum ompjit__copy direction, void *dst,
                                     const void *src, size_t size,
                                     ompjit_error *err);
/* The same for an entry's storage; a long copy is put off (deferred_copy.c).
 * The lock is held. */
ompjit_status ompjit__construct_copy_entry(ompjit__construct *c,
                                           const ompjit__mapped *entry,
                                           enum ompjit__copy direction,
                                           void *dst, const void *src,
                                           size_t size, ompjit_error *err);
ompjit_status ompjit__construct_alloc(ompjit__construct *c, size_t size,
                                      void **ptr, ompjit_error *err);
ompjit_status ompjit__construct_free_memory(ompjit__construct *c, void *ptr,
                                            ompjit_error *err);

/* deferred_copy.c: asks for the long copies that were put off; the second gives
 * the lock back meanwhile, after which others wait for them until `sent`. */
ompjit_status ompjit__late_send(ompjit__construct *c, ompjit_error *err);
ompjit_status ompjit__late_send_unlocked(ompjit__construct *c,
                                         ompjit_error *err);
void ompjit__late_sent(ompjit__construct *c);
/* Waits until all that the construct's items meet has been asked for. Under the
 * lock, which is given back meanwhile, and before anything is done there. */
void ompjit__late_wait(ompjit__construct *c);

/* small_block.c: the small storage that a construct brings to a device with
 * queues lies in one block of its, which is allocated and filled at once, and
 * lives as long as any part of it. The lock is held, but for `end`. */

/* Room for private copies: `size` bytes at the block's begin, of which those
 * from `filled` on will be copied there. Before begin. */
void ompjit__gather_privates(ompjit__construct *c, size_t size, size_t filled);
/* Puts the new entry into the block, if there is room, else *out is NULL; its
 * device address, `pad` behind an aligned one, is known after place. */
ompjit_status ompjit__gather_entry(ompjit__construct *c, const void *host,
                                   uint64_t size, uint64_t pad,
                                   const char *name, ompjit__mapped **out,
                                   ompjit_error *err);
/* All entries are there: allocates the block, those copied to first. */
ompjit_status ompjit__gather_place(ompjit__construct *c, ompjit_error *err);
/* False where that copy is not one into the block's image. */
bool ompjit__gather_copy(ompjit__construct *c, void *dst, const void *src,
                         size_t size);
/* Copies the image to the block. */
ompjit_status ompjit__gather_send(ompjit__construct *c, ompjit_error *err);
/* True for what is copied to the host by `fetch`, which notes [host, host+size)
 * of the entry, and `wait`, which asks for it, waits, and puts it there. */
bool ompjit__gathers(const ompjit__construct *c, size_t size);
ompjit_status ompjit__gather_fetch(ompjit__construct *c,
                                   const ompjit__mapped *entry, char *host,
                                   size_t size, ompjit_error *err);
ompjit_status ompjit__gather_wait(ompjit__construct *c, ompjit_error *err);
/* Forgets what was to be copied, in either direction. */
void ompjit__gather_forget(ompjit__construct *c);
/* The construct needs the block no more. */
ompjit_status ompjit__gather_end(ompjit__construct *c, ompjit_error *err);

/* early_copy_back.c: copies what the construct will probably have to copy to
 * the host when it ends. Between kernel and wait, without the lock. */
ompjit_status ompjit__copy_ahead(ompjit__construct *c, ompjit_error *err);
/* The same for a construct that only ends data, which it waits for. */
ompjit_status ompjit__end_ahead(ompjit__construct *c, ompjit_error *err);
/* True where [host, host+size) of the entry, or the whole item, needs no other
 * copy; the first of these puts it there. The lock is held. */
bool ompjit__came_ahead(const ompjit__construct *c,
                        const ompjit__mapped *entry, char *host, size_t size);
bool ompjit__item_came(const ompjit__construct *c, const ompjit__item *it);

/* The part of the item that the entry holds: an implicit map may be larger.
 * map.c */
size_t ompjit__item_held(const ompjit__item *it, const ompjit__mapped *entry,
                         char **host);

/* strided.c: where a section with strides is. `n` dimensions of pieces, each of
 * `piece` bytes without gaps; the first begins at `begin`. MAPPING where that
 * cannot be told. */
enum { OMPJIT__MOST_DIMENSIONS = 16 };
typedef struct ompjit__dimension {
    uint64_t offset, count, stride; /* in strides or elements; bytes */
} ompjit__dimension;
typedef struct ompjit__strided {
    char *begin;
    uint64_t piece;
    unsigned n;
    ompjit__dimension dimensions[OMPJIT__MOST_DIMENSIONS];
} ompjit__strided;
ompjit_status ompjit__strided_read(const ompjit__construct *c,
                                   const ompjit__item *it,
                                   ompjit__strided *out, ompjit_error *err);
/* Frees what repair.c has had allocated for an update that is over. */
void ompjit__strided_free(const ompjit__maps *maps);

/* Another construct's copy into the entry comes before this one's next work.
 * For this and the next two the lock is held. */
ompjit_status ompjit__construct_after(ompjit__construct *c,
                                      ompjit__mapped *entry,
                                      ompjit_error *err);
/* Marks the entry as one that this construct's copies fill. */
ompjit_status ompjit__construct_fills(ompjit__construct *c,
                                      ompjit__mapped *entry,
                                      ompjit_error *err);
/* All copies have been put into the queue or put off, with the result `st`:
 * these are put there too, the lock being given back meanwhile, and others may
 * wait for them. After a failure, which is returned, nothing is under way. */
ompjit_status ompjit__construct_arrives(ompjit__construct *c, ompjit_status st,
                                        ompjit_error *err);
/* Waits for all copies so far. */
ompjit_status ompjit__construct_wait(ompjit__construct *c, ompjit_error *err);
/* The queue was waited for. */
void ompjit__construct_arrived(ompjit__construct *c);
/* Gives the queue back. All was waited for, or has failed. Not under the
 * lock; construct_free calls it. */
void ompjit__construct_close(ompjit__construct *c);

/* borrow.c: a construct that waits for its kernel may use originals, if the
 * device can: nobody sees the difference until its end, and then there is none
 * where data is mapped `from`, or the kernel does not write it. For constructs
 * whose items are known and not entered yet. */
void ompjit__construct_borrow(ompjit__construct *c,
                              const ompjit__kernel_desc *kernel);
/* True where the host's storage is to be the device's. The lock is held. */
bool ompjit__item_stays(const ompjit__construct *c, const ompjit__item *it);

/* attach.c: all attachments of a construct whose items are entered; then
 * either of the others. The lock is held. */
ompjit_status ompjit__attach_all(ompjit__construct *c, ompjit_error *err);
void ompjit__attach_keep(ompjit__construct *c);
void ompjit__attach_undo(ompjit__construct *c);
/* From now on until unuse a kernel may go by the construct's pointers, and
 * nobody makes them point elsewhere: who wants to, which threads do that map
 * different parts of what one pointer points to, waits for it before anything
 * is done. True: it did, and the lock was given back meanwhile. The lock is
 * held. */
void ompjit__attach_use(ompjit__construct *c);
void ompjit__attach_unuse(ompjit__construct *c);
bool ompjit__attach_wait(ompjit__construct *c);

/* Enters, copies, attaches; all or nothing. The lock is held, but given back
 * first where somebody else's copies are to be waited for. */
ompjit_status ompjit__construct_begin(ompjit__construct *c, ompjit_error *err);

/* After begin, which `begun` says was done, and what else the construct brings
 * along, with the result `st`: sends it, or takes all back. The lock is held,
 * but given back while long copies are asked for. map.c */
ompjit_status ompjit__construct_commit(ompjit__construct *c, bool begun,
                                       ompjit_status st, ompjit_error *err);

/* After commit, which returned `st`, and without the lock: waits for its
 * copies, and takes it back where they fail. map.c */
ompjit_status ompjit__construct_settle(ompjit__construct *c, ompjit_status st,
                                       ompjit_error *err);

/* Takes counts back, copies where `copy`, frees what nothing refers to.
 * `entered`: the items are those that begin counted; else they are looked up
 * afresh. A copy that fails leaves the table as it was, so that end can be
 * called again; after any other failure all is released, and a second call
 * with `entered` does nothing. The lock is held. */
ompjit_status ompjit__construct_end(ompjit__construct *c, bool entered,
                                    bool copy, ompjit_error *err);

/* The device's value of a pointer to `begin` with base `base` ; the host's
 * where there is no counterpart. The lock is held. */
char *ompjit__translate(ompjit__present *table, char *base, char *begin,
                        uint64_t size);

#endif
