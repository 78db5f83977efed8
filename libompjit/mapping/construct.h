/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One construct while it runs: its map entries as items, and the state of its
 * copies. map.c has the path of an item from begin to end;
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
    /* From the caller's arrays. map_items.c; if the entry is a pointer and its
     * object (PTR_AND_OBJ), `base` is the pointer's address until begin loads
     * the pointer into it. */
    char *base, *begin;
    int64_t size;
    uint64_t type;
    const char *name;
    int32_t index;           /* in the caller's arrays                      */
    bool component;          /* a mapper's component; `index` is the entry  */
    bool combined;           /* the next item is a member of this           */
    const char *first;       /* of a Fortran section whose elements are     */
    uint64_t elements;       /* apart, as in its entry. fortran_section.c   */

    /* map.c: begin finds or makes the entries and counts them, end finds them
     * again and subtracts counts. early_copy_back.c finds `entry` for a
     * construct that has only an end. */
    char *pointer_at;        /* PTR_AND_OBJ: the pointer's host address     */
    char *device;            /* counterpart of begin; NULL: there is none   */
    ompjit__mapped *entry;   /* of the storage                              */
    ompjit__mapped *pointer; /* of the pointer                              */
    uint64_t taken, pointer_taken; /* counts that end subtracted            */
    bool counted, pointer_counted; /* begin added to a count                */

    bool early;              /* early_copy_back.c: it was copied to the host
                                before end                                  */
    bool uses;               /* attach.c: counted in the `users` of its
                                attached pointer                            */
} ompjit__item;

#define OMPJIT__FEW_ITEMS 16
#define OMPJIT__POINTER_SIZE sizeof(void *)

/* The block for a construct's small new storage. small_block.c */
typedef struct ompjit__small_block {
    ompjit__block *block; /* from small_block_add or _place to _end         */
    size_t size;          /* bytes reserved so far; final at _place         */
    size_t privates;      /* of these the first, for private copies         */
    size_t image_begin, image_end; /* the range that one copy fills         */
    char *image;          /* that range's bytes on the host, from _place to
                             _send; NULL: none                              */
} ompjit__small_block;

/* The range of the small block that was copied to the host behind the kernel.
 * early_copy_back.c */
typedef struct ompjit__early {
    const char *device; /* begin of the range                               */
    const char *staged; /* its bytes in page-locked memory, valid once the
                           queue was waited for                             */
    size_t size;        /* 0: nothing, or `staged` has been used again      */
} ompjit__early;

typedef struct ompjit__construct {
    /* map.c: init; `number`: begin, and early_copy_back.c where data only
     * ends. */
    ompjit_device *dev;
    ompjit__present *table;
    const ompjit__maps *maps;
    uint64_t number;          /* of this construct, in the table            */
    struct ompjit__construct *next_inside; /* of the table's list           */
    pthread_t thread;         /* of one in that list                        */

    /* map_items.c: init */
    ompjit__item *items;      /* `few` or malloc'd                          */
    size_t n, capacity;

    /* borrow.c: before begin */
    bool borrows;             /* it may use originals, as borrow.c says     */
    const ompjit__kernel_desc *kernel; /* the kernel that it runs; NULL: none,
                                 or nobody describes it                     */

    /* construct_queue.c */
    ompjit__queue *queue;     /* for all its copies; NULL until the first
                                 operation, and on a device without queues  */
    bool copying;             /* the queue has, or will get, copies that
                                 nobody waited for                          */

    ompjit__arrival *arrival; /* arrival.c: for the entries that it fills;
                                 NULL: it has filled none so far            */
    ompjit__small_block small;
    ompjit__buf deferred;     /* deferred_copy.c: long copies that are still
                                 to be put into the queue                   */
    ompjit__buf pieces;       /* small_copy_back.c: small copies to the host
                                 that are still to be put into the queue    */
    ompjit__early early;
    ompjit__attached *attachments; /* attach.c: list of those that begin made,
                                 which are undone if it fails               */
    const ompjit__item *guessed; /* target_update.c: a section whose beginning
                                 strided.c guessed; NULL: none              */
    ompjit__item few[OMPJIT__FEW_ITEMS];
} ompjit__construct;

/* ------------------------------------------------ the construct's path: map.c
 * Called in this order. The lock is that of the construct's table. */

/* Reads the items and calls the mappers, without the lock. Free with
 * ompjit__construct_free, also on failure. */
ompjit_status ompjit__construct_init(ompjit__construct *c, ompjit_device *dev,
                                     const ompjit__maps *maps,
                                     ompjit_error *err);

/* Between these the construct is in the table's list. In a forked child
 * those of threads that it does not have are ended, without copies. The lock is
 * held. */
void ompjit__construct_join(ompjit__construct *c);
void ompjit__construct_leave(ompjit__construct *c);

/* Enters, copies, attaches; all or nothing. The lock is held; it is given back
 * only before anything is done, to wait for other constructs. */
ompjit_status ompjit__construct_begin(ompjit__construct *c, ompjit_error *err);

/* Sends the copies that begin and the caller asked for, or after a failure
 * takes everything back. `begun`: begin succeeded; `st`: the result so far, of
 * begin or of the caller's own copies. The lock is held, but given back while
 * long copies are put into the queue. */
ompjit_status ompjit__construct_commit(ompjit__construct *c, bool begun,
                                       ompjit_status st, ompjit_error *err);

/* Subtracts counts, copies to the host where `copy`, frees what nothing refers
 * to. `entered`: this construct's begin counted the items, and exactly these
 * counts are subtracted; else each item's map type says which. A copy that
 * fails leaves the table as it was, so that end can be called again; after any
 * other failure all is released, and a second call with `entered` does nothing.
 * The lock is held. */
ompjit_status ompjit__construct_end(ompjit__construct *c, bool entered,
                                    bool copy, ompjit_error *err);

/* Called when all copies were waited for, or have failed. Without the lock. */
void ompjit__construct_free(ompjit__construct *c);

/* ------------------------------------------------------ items: map_items.c */

/* The list that a mapper function fills through its opaque handle. */
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
/* Extends items of Fortran's sections that are not contiguous, of whose data flang
 * tells the elements' bytes only. fortran_section.c */
void ompjit__sections_span(ompjit__construct *c);
/* Has the entry remember what flang tells of the item's section. */
void ompjit__section_note(const ompjit__item *it, ompjit__mapped *entry);
/* Extends an item of `target update`, of which flang tells no more, if it is a
 * section that an entry remembers. Under the lock. */
void ompjit__section_find(ompjit__present *table, ompjit__item *it);
void ompjit__items_free(ompjit__construct *c);

/* The size and begin of the part of the item that the entry holds: an implicit
 * map may be larger than what is present. */
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

/* True for a value or a private copy, which is not in the present table. */
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

/* The entry's count that the item changes. */
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

/* True for a literal whose slot already had its value. literal.c */
bool ompjit__literal_known(const ompjit__mapped *entry);

/* True if the construct copies the item to the device when it begins. */
static inline bool ompjit__copies_in(const ompjit__construct *c,
                                     const ompjit__item *it)
{
    return it->entry && it->type & OMPJIT__MAP_TO &&
           !(it->entry->literal && ompjit__is_new(c, it->entry) &&
             ompjit__literal_known(it->entry)) &&
           (it->type & OMPJIT__MAP_ALWAYS || ompjit__is_new(c, it->entry));
}

/* True if end copies the item to the host; counts are subtracted already. */
static inline bool ompjit__copies_out(const ompjit__item *it)
{
    return it->entry && it->type & OMPJIT__MAP_FROM &&
           (it->type & OMPJIT__MAP_ALWAYS ||
            !ompjit__mapped_count(it->entry));
}

/* --------------------------------------------- the application's own memory
 * borrow.c: a construct that waits for its kernel may use originals, if the
 * device can. Until its end nobody can see the difference, and after it there
 * is none where data is mapped `from`, or the kernel does not write it. */

/* Allows the construct to use originals. Before begin. */
void ompjit__construct_borrow(ompjit__construct *c,
                              const ompjit__kernel_desc *kernel);
/* True where the host's storage is to be the device's. The lock is held. */
bool ompjit__item_stays(const ompjit__construct *c, const ompjit__item *it);

/* ------------------------------------ values in place of storage: literal.c */

/* True for a scalar that the construct's kernel only reads and that nothing
 * else refers to. The caller has found it absent. borrow.c */
bool ompjit__item_is_value(const ompjit__construct *c, const ompjit__item *it);
/* Makes the entry of such an item in one of the device's slots. *out is NULL if
 * the item is no value or no slot is free. The lock is held. */
ompjit_status ompjit__literal_add(ompjit__construct *c, const ompjit__item *it,
                                  ompjit__mapped **out, ompjit_error *err);
/* The address that the construct copies from: `host`, or for a new literal the
 * value that the slot is remembered by. That stays right when another thread
 * of a program with a data race stores to `host` meanwhile. */
const char *ompjit__literal_source(const ompjit__construct *c,
                                   const ompjit__mapped *entry,
                                   const char *host);
/* Notes that the slots have their values: the construct's copies and its kernel
 * are done. The lock is held. */
void ompjit__literals_settle(ompjit__construct *c);

/* --------------------------------------------------- attachment: attach.c */

/* Makes all attachments of a construct whose items are entered. Then either of
 * the other two follows. The lock is held. */
ompjit_status ompjit__attach_all(ompjit__construct *c, ompjit_error *err);
void ompjit__attach_keep(ompjit__construct *c);
void ompjit__attach_undo(ompjit__construct *c);
/* Between use and unuse a kernel may load the construct's attached pointers,
 * and no other construct redirects them. A construct that would, because its
 * thread maps another part of the pointee, first waits in ompjit__attach_wait.
 * That returns true if it has waited: the lock was given back meanwhile. The
 * lock is held. */
void ompjit__attach_use(ompjit__construct *c);
void ompjit__attach_unuse(ompjit__construct *c);
bool ompjit__attach_wait(ompjit__construct *c);

/* ----------------------------------------------------- strides: strided.c
 * A section with strides: `n` dimensions of pieces, each of `piece` bytes
 * without gaps; the first begins at `begin`. */
enum { OMPJIT__MOST_DIMENSIONS = 16 };
typedef struct ompjit__dimension {
    uint64_t offset, count, stride; /* in strides or elements; bytes */
} ompjit__dimension;
typedef struct ompjit__strided {
    char *begin;
    uint64_t piece;
    unsigned n;
    bool guessed; /* `begin` is a guess: it takes a stride to be 1, or a
                     subscript in front of the section to be 0              */
    ompjit__dimension dimensions[OMPJIT__MOST_DIMENSIONS];
} ompjit__strided;
/* Reads the section of a NON_CONTIG item. MAPPING error where clang's data does
 * not tell it. */
ompjit_status ompjit__strided_read(const ompjit__construct *c,
                                   const ompjit__item *it,
                                   ompjit__strided *out, ompjit_error *err);
/* MAPPING error where the guess of `begin` is seen to be wrong: only a part of
 * the section is mapped. */
ompjit_status ompjit__strided_check(const ompjit__construct *c,
                                    const ompjit__item *it,
                                    const ompjit__strided *s,
                                    ompjit_error *err);
/* Reports c->guessed, the first time in a context. Without a lock. */
void ompjit__strided_tell(const ompjit__construct *c);
/* strided_text.c: the end of a section's text in an item's name; NULL: the name
 * has none, or one that is not understood. */
const char *ompjit__section_text_end(const char *name);
/* The stride of the subscript that ends at `*end`, 1 where it has none, 0 where
 * it is no number. *end becomes the end of the subscript before; NULL: none. */
uint64_t ompjit__section_text_stride(const char *name, const char **end);
/* True if a subscript that ends at `end` or before it is not 0. False for `end`
 * NULL. */
bool ompjit__section_text_index(const char *name, const char *end);
/* Frees the descriptors that a repaired host half (passes/hosthalf/repair.c)
 * has allocated for an update, which is over. */
void ompjit__strided_free(const ompjit__maps *maps);

#endif
