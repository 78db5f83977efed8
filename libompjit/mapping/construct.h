/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One construct while it is being carried out: its map entries as items, and
 * the state of its copies. map.c tells the way of an item from begin to end;
 * omptarget/target_construct.c adds a kernel in between.
 *
 * Each part of the state has one file that writes it, which the comments name.
 * A construct belongs to one thread. Fields that lead into the present table
 * are valid only while the table's lock is held.
 */
#ifndef OMPJIT_MAPPING_CONSTRUCT_H
#define OMPJIT_MAPPING_CONSTRUCT_H

#include "abi/offload.h"
#include "mapping/present_table.h"

/* One map entry, or one component of a user-defined mapper. */
typedef struct ompjit__item {
    /* From the caller's arrays. map_items.c; but where the entry is a pointer
     * and its object, begin loads the pointer into `base`. */
    char *base, *begin;
    int64_t size;
    uint64_t type;
    const char *name;
    int32_t index;           /* in the caller's arrays                      */
    bool component;          /* made by the mapper of that entry            */
    bool combined;           /* the next item is a member of this           */

    /* map.c: begin finds or makes the entries and counts them, end finds them
     * again and takes counts. early_copy_back.c finds `entry` where data only
     * ends. */
    char *pointer_at;        /* PTR_AND_OBJ: the pointer's host address     */
    char *device;            /* counterpart of begin; NULL: there is none   */
    ompjit__mapped *entry;   /* of the storage                              */
    ompjit__mapped *pointer; /* of the pointer                              */
    uint64_t taken, pointer_taken; /* counts that end subtracted            */
    bool counted, pointer_counted; /* begin added to a count                */

    bool early;              /* early_copy_back.c: it was copied to the host
                                behind the kernel                           */
    bool uses;               /* attach.c: from use to unuse it is among its
                                pointer's users                             */
} ompjit__item;

#define OMPJIT__FEW_ITEMS 16
#define OMPJIT__POINTER_SIZE sizeof(void *)

/* The block for a construct's small new storage. small_block.c */
typedef struct ompjit__small_block {
    ompjit__block *block; /* from the first entry or place to end           */
    size_t size;          /* bytes reserved, before place                   */
    size_t privates;      /* of these, at its begin, the private copies     */
    size_t image_begin, image_end; /* the part that one copy fills; place   */
    char *image;          /* that part's bytes, from place to send          */
} ompjit__small_block;

/* The part of the block that was copied to the host behind the kernel.
 * early_copy_back.c */
typedef struct ompjit__early {
    const char *device; /* where it begins                                  */
    const char *staged; /* page-locked; there once the queue was waited for */
    size_t size;        /* 0: nothing, or the room is used for other copies */
} ompjit__early;

typedef struct ompjit__construct {
    /* map.c: init; `number`: begin, and early_copy_back.c where data only
     * ends. */
    ompjit_device *dev;
    ompjit__present *table;
    const ompjit__maps *maps;
    uint64_t number;          /* of this construct, in the table            */

    /* map_items.c: init */
    ompjit__item *items;      /* `few` or malloc'd                          */
    size_t n, capacity;

    /* borrow.c: before begin */
    bool borrows;             /* some of its data may stay where it is      */
    const ompjit__kernel_desc *kernel; /* that it runs; NULL: none          */

    /* construct_queue.c */
    ompjit__queue *queue;     /* of all its copies, from the first operation
                                 on; NULL on a device without queues        */
    bool copying;             /* the queue has, or will get, copies that
                                 nobody waited for                          */

    ompjit__arrival *arrival; /* arrival.c: of what it copies to the device,
                                 from the first entry that it fills on      */
    ompjit__small_block small;
    ompjit__buf deferred;     /* deferred_copy.c: long copies that are still
                                 to be put into the queue                   */
    ompjit__buf pieces;       /* small_copy_back.c: small copies to the host
                                 that are still to be put into the queue    */
    ompjit__early early;
    ompjit__attached *attachments; /* attach.c: list of those that begin made,
                                 which are undone if it fails               */
    const ompjit__item *guessed; /* strided.c: a section whose beginning was
                                 guessed; NULL: none                        */
    ompjit__item few[OMPJIT__FEW_ITEMS];
} ompjit__construct;

/* ------------------------------------------------- the construct's way: map.c
 * In this order. The lock is that of the construct's table. */

/* Reads the items, for which it calls the mappers, without the lock. Free with
 * ompjit__construct_free, also on failure. */
ompjit_status ompjit__construct_init(ompjit__construct *c, ompjit_device *dev,
                                     const ompjit__maps *maps,
                                     ompjit_error *err);

/* Enters, copies, attaches; all or nothing. The lock is held, but given back
 * first where somebody else's copies are to be waited for. */
ompjit_status ompjit__construct_begin(ompjit__construct *c, ompjit_error *err);

/* After begin, which `begun` says was done, and the caller's own copies, with
 * the result `st`: sends all copies, or takes everything back. The lock is
 * held, but given back while long copies are put into the queue. */
ompjit_status ompjit__construct_commit(ompjit__construct *c, bool begun,
                                       ompjit_status st, ompjit_error *err);

/* Takes counts back, copies where `copy`, frees what nothing refers to.
 * `entered`: the items are those that begin counted; else they are looked up
 * afresh. A copy that fails leaves the table as it was, so that end can be
 * called again; after any other failure all is released, and a second call
 * with `entered` does nothing. The lock is held. */
ompjit_status ompjit__construct_end(ompjit__construct *c, bool entered,
                                    bool copy, ompjit_error *err);

/* All copies were waited for, or have failed. Without the lock. */
void ompjit__construct_free(ompjit__construct *c);

/* ------------------------------------------------------ items: map_items.c */

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

/* Reads c->maps; calls the mappers. Free also on failure. */
ompjit_status ompjit__items_read(ompjit__construct *c, ompjit_error *err);
void ompjit__items_free(ompjit__construct *c);

/* The part of the item that the entry holds: an implicit map may be larger. */
size_t ompjit__item_held(const ompjit__item *it, const ompjit__mapped *entry,
                         char **host);

/* The error for an item of which `entry` has only a part. `doing`: "map",
 * "unmap" or "update". */
ompjit_status ompjit__item_overlaps(const ompjit__construct *c,
                                    const char *doing, const ompjit__item *it,
                                    const ompjit__mapped *entry,
                                    ompjit_error *err);
/* The error of the `present` modifier for storage that is not there; OK for an
 * item without it, and in unified shared memory, where all is present. */
ompjit_status ompjit__item_absent(const ompjit__construct *c,
                                  const ompjit__item *it, ompjit_error *err);

/* True where the entry is no matter of the present table. */
static inline bool ompjit__item_private(const ompjit__item *it)
{
    return it->type & (OMPJIT__MAP_LITERAL | OMPJIT__MAP_PRIVATE);
}

/* True where the item has storage in the present table: it is neither private
 * nor does it only attach a pointer. */
static inline bool ompjit__item_maps(const ompjit__item *it)
{
    return !ompjit__item_private(it) && !(it->type & OMPJIT__MAP_ATTACH);
}

/* Which of the entry's counts the item changes. */
static inline uint64_t *ompjit__item_counter(ompjit__mapped *entry,
                                             const ompjit__item *it)
{
    return it->type & OMPJIT__MAP_HOLD ? &entry->hold : &entry->dynamic;
}

static inline bool ompjit__is_new(const ompjit__construct *c,
                                  const ompjit__mapped *entry)
{
    return entry->construct == c->number;
}

/* True where the device has had the entry's value before. literal.c */
bool ompjit__literal_known(const ompjit__mapped *entry);

/* An entry that the construct fills when it begins. */
static inline bool ompjit__copies_in(const ompjit__construct *c,
                                     const ompjit__item *it)
{
    return it->entry && it->type & OMPJIT__MAP_TO &&
           !(it->entry->literal && ompjit__is_new(c, it->entry) &&
             ompjit__literal_known(it->entry)) &&
           (it->type & OMPJIT__MAP_ALWAYS || ompjit__is_new(c, it->entry));
}

/* An entry that it copies to the host when it ends, counted down. */
static inline bool ompjit__copies_out(const ompjit__item *it)
{
    return it->entry && it->type & OMPJIT__MAP_FROM &&
           (it->type & OMPJIT__MAP_ALWAYS ||
            !ompjit__mapped_count(it->entry));
}

/* --------------------------------------------- the application's own memory
 * borrow.c: a construct that waits for its kernel may use originals, if the
 * device can: nobody sees the difference until its end, and then there is none
 * where data is mapped `from`, or the kernel does not write it. */

/* Before begin. */
void ompjit__construct_borrow(ompjit__construct *c,
                              const ompjit__kernel_desc *kernel);
/* True where the host's storage is to be the device's. The lock is held. */
bool ompjit__item_stays(const ompjit__construct *c, const ompjit__item *it);

/* ------------------------------------ values in place of storage: literal.c */

/* Is the item a scalar that the construct's kernel only reads, and can nobody
 * tell it from a value, once it is known not to be present? borrow.c */
bool ompjit__item_is_value(const ompjit__construct *c, const ompjit__item *it);
/* Makes the entry of such an item in a slot of the device's, if there is one,
 * else *out is NULL. The lock is held. */
ompjit_status ompjit__literal_add(ompjit__construct *c, const ompjit__item *it,
                                  ompjit__mapped **out, ompjit_error *err);
/* Where the bytes [host, ...) that the construct copies to the entry come from:
 * a slot is filled with what it is remembered by, whatever another thread of a
 * program with a data race stores there meanwhile. */
const char *ompjit__literal_source(const ompjit__construct *c,
                                   const ompjit__mapped *entry,
                                   const char *host);
/* The construct's copies and its kernel are done. The lock is held. */
void ompjit__literals_settle(ompjit__construct *c);

/* --------------------------------------------------- attachment: attach.c */

/* All attachments of a construct whose items are entered; then either of the
 * others. The lock is held. */
ompjit_status ompjit__attach_all(ompjit__construct *c, ompjit_error *err);
void ompjit__attach_keep(ompjit__construct *c);
void ompjit__attach_undo(ompjit__construct *c);
/* From use to unuse a kernel may go by the construct's pointers, and nobody
 * makes them point elsewhere. A construct that wants to, because its thread
 * maps another part of what the pointer points to, waits for that by
 * ompjit__attach_wait, before it does anything else. True: it waited, and the
 * lock was given back meanwhile. The lock is held. */
void ompjit__attach_use(ompjit__construct *c);
void ompjit__attach_unuse(ompjit__construct *c);
bool ompjit__attach_wait(ompjit__construct *c);

/* ----------------------------------------------------- strides: strided.c
 * Where a section with strides is: `n` dimensions of pieces, each of `piece`
 * bytes without gaps; the first begins at `begin`. */
enum { OMPJIT__MOST_DIMENSIONS = 16 };
typedef struct ompjit__dimension {
    uint64_t offset, count, stride; /* in strides or elements; bytes */
} ompjit__dimension;
typedef struct ompjit__strided {
    char *begin;
    uint64_t piece;
    unsigned n;
    bool guessed; /* where it begins: a stride is taken to be 1, or a subscript
                     in front of the section to be 0                        */
    ompjit__dimension dimensions[OMPJIT__MOST_DIMENSIONS];
} ompjit__strided;
/* MAPPING error where that cannot be told. */
ompjit_status ompjit__strided_read(const ompjit__construct *c,
                                   const ompjit__item *it,
                                   ompjit__strided *out, ompjit_error *err);
/* MAPPING error where it is seen that `begin` was guessed wrong: only a part of
 * the section is mapped. */
ompjit_status ompjit__strided_check(const ompjit__construct *c,
                                    const ompjit__item *it,
                                    const ompjit__strided *s,
                                    ompjit_error *err);
/* The first time in a context, tells which item's section was guessed. Without a
 * lock. */
void ompjit__strided_tell(const ompjit__construct *c);
/* strided_text.c: the end of the text of a section in an item's name; NULL: it
 * has none, or one that is not read. */
const char *ompjit__section_text_end(const char *name);
/* The stride of the subscript that ends at `*end`, 1 where it has none, 0 where
 * it is no number. *end becomes the end of the subscript before; NULL: none. */
uint64_t ompjit__section_text_stride(const char *name, const char **end);
/* Is there a subscript other than 0 that ends at `end`, or before it? `end` may
 * be NULL: there is none. */
bool ompjit__section_text_index(const char *name, const char *end);
/* Frees what repair.c has had allocated for an update that is over. */
void ompjit__strided_free(const ompjit__maps *maps);

#endif
