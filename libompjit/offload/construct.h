/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One construct's map entries while it is being carried out: what items.c
 * makes of the caller's arrays, map.c enters, copies and leaves, and
 * map_run.c turns into a kernel's arguments.
 */
#ifndef OMPJIT_OFFLOAD_CONSTRUCT_H
#define OMPJIT_OFFLOAD_CONSTRUCT_H

#include "offload/abi.h"
#include "offload/present.h"

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
} ompjit__item;

#define OMPJIT__FEW_ITEMS 16

typedef struct ompjit__construct {
    ompjit_device *dev;
    ompjit__present *table;
    const ompjit__maps *maps;
    ompjit__item *items;     /* `few` or malloc'd */
    size_t n, capacity;
    uint64_t number;         /* of this construct, in the table             */
    ompjit__attached *log;   /* attachments made so far                     */
    bool borrows;            /* some of its data may stay where it is       */
    ompjit__item few[OMPJIT__FEW_ITEMS];
} ompjit__construct;

/* What a mapper function fills: its opaque handle. */
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

static inline bool ompjit__is_new(const ompjit__construct *c,
                                  const ompjit__mapped *entry)
{
    return entry->construct == c->number;
}

#define OMPJIT__POINTER_SIZE sizeof(void *)

/* What a construct that waits for its kernel maps `from` may be the original,
 * if the device can use that: nobody sees the difference until its end, and
 * then there is none. Not where a device pointer would be written into it. For
 * constructs whose items are known and not entered yet. */
void ompjit__construct_borrow(ompjit__construct *c);

/* attach.c: all attachments of a construct whose items are entered; then
 * either of the others. The lock is held. */
ompjit_status ompjit__attach_all(ompjit__construct *c, ompjit_error *err);
void ompjit__attach_keep(ompjit__construct *c);
void ompjit__attach_undo(ompjit__construct *c);

/* Enters, copies, attaches; all or nothing. The lock is held. */
ompjit_status ompjit__construct_begin(ompjit__construct *c, ompjit_error *err);

/* Takes counts back, copies where `copy`, frees what nothing refers to.
 * `entered`: the items are those that begin counted; else they are looked up
 * afresh. A copy that fails leaves the table as it was, so that end can be
 * called again; after any other failure all is released, and a second call
 * with `entered` does nothing. The lock is held. */
ompjit_status ompjit__construct_end(ompjit__construct *c, bool entered,
                                    bool copy, ompjit_error *err);

/* What a pointer to `begin` with base `base` is on the device; the host's
 * where there is no counterpart. The lock is held. */
char *ompjit__translate(ompjit__present *table, char *base, char *begin,
                        uint64_t size);

#endif
