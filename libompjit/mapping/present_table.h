/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The present table from inside: for this room, and for others that look
 * addresses up. The table's lock is held for everything here but lock, new and
 * free, unless a comment says otherwise.
 */
#ifndef OMPJIT_MAPPING_PRESENT_TABLE_H
#define OMPJIT_MAPPING_PRESENT_TABLE_H

#include "mapping/mapping.h"

#define OMPJIT__FOREVER UINT64_MAX /* a reference count that never changes */

/* A pointer inside mapped storage whose device copy points at device storage.
 * A copy of the storage around it, in either direction, must leave it alone.
 * attach.c */
typedef struct ompjit__attached {
    struct ompjit__attached *next;     /* in the entry's list            */
    /* While the construct that made it begins, so that it can undo it: */
    struct ompjit__attached *next_made; /* in construct->attachments     */
    struct ompjit__attached *replaced;  /* the record that was there     */
    struct ompjit__mapped *owner;       /* the entry                     */
    char *host, *device;   /* the pointer's two addresses                */
    uint32_t size;         /* 8, or that of a Fortran descriptor         */
    uint32_t users;        /* kernels under way that may go by it        */
    unsigned char value[]; /* what the device has there: `size` bytes    */
} ompjit__attached;

/* Copies to the device that may still be under way: a point in the queue of the
 * construct that made them. Counted by the entries that wait for it and by that
 * construct; the event comes before anybody else can see it. arrival.c */
typedef struct ompjit__arrival {
    ompjit_device *dev;
    ompjit__event *event;
    unsigned refs;       /* under the table's lock                          */
    bool unsent;         /* its copies are still to be put into the queue: no
                            event yet; under the table's lock               */
    _Atomic bool done;   /* the copies are known to be done                 */
} ompjit__arrival;

/* Device memory that the small entries of one construct share. small_block.c */
typedef struct ompjit__block {
    void *memory;  /* NULL: not yet allocated                               */
    unsigned refs; /* entries, and that construct; under the lock           */
} ompjit__block;

/* Device memory that has a scalar's value, for kernels that only read it.
 * literal.c, under the lock */
enum { OMPJIT__LITERAL_SIZE = 8, OMPJIT__LITERALS = 64 };

typedef struct ompjit__literal {
    char *device;
    unsigned char value[OMPJIT__LITERAL_SIZE];
    unsigned size; /* of the value, in bytes                                */
    bool known;    /* the device has the value                              */
    bool used;     /* it is an entry's                                      */
    uint64_t last; /* construct that took it; 0: none has                   */
} ompjit__literal;

/* A device's, in one allocation. */
typedef struct ompjit__literals {
    void *memory;
    ompjit__literal slots[OMPJIT__LITERALS];
} ompjit__literals;

/* Host storage [begin, end) and its counterpart. A construct makes it when it
 * begins (map.c, small_block.c), and the last that leaves it removes it. */
typedef struct ompjit__mapped {
    struct ompjit__mapped *left, *right;
    uint64_t priority;     /* of the treap                               */
    uintptr_t begin, end;
    uintptr_t base;        /* where the pointer it was mapped by points  */
    char *device;          /* counterpart of begin                       */
    void *allocation;      /* to be freed with it; NULL: not ours, or in */
    ompjit__block *block;  /* this one                                   */
    ompjit__literal *literal; /* or in this slot                         */
    bool floating;         /* its place there is not yet known; `device` is
                              how far behind an aligned address it begins.
                              small_block.c, within begin                */
    uint64_t dynamic, hold; /* counts: map.c; forever: an association, a
                              variable; a hold of the API                */
    uint64_t construct;    /* number of the construct that made it, or that
                              ends it early (early_copy_back.c)          */
    bool shared;           /* another one has looked it up since         */
    ompjit__attached *attached; /* attach.c                              */
    ompjit__arrival *arrival; /* of its contents; NULL: they are there.
                              arrival.c                                  */
    char *name;            /* ";x;file;line;column;;" or NULL            */
    bool is_given;         /* in the table's tree `given`, with these    */
    struct ompjit__mapped *given_below, *given_above;
    uintptr_t given_reach; /* the last end of the subtree's device ranges */
} ompjit__mapped;

struct ompjit__present {
    pthread_mutex_t lock;
    pthread_cond_t changed;/* an arrival is unsent no more, or a pointer's
                              last user has gone                         */
    unsigned unsent;       /* arrivals that are: arrival.c               */
    ompjit__mapped *root;
    size_t count;          /* of entries                                 */
    uint64_t constructs;   /* numbers given out: map.c, early_copy_back.c */
    _Atomic size_t globals;/* of tgt's global list, entered here         */
    ompjit__literals *literals; /* NULL: none so far                     */
    ompjit__mapped *given; /* root of those whose device addresses the
                              program was given: given_addresses.c       */
};

enum ompjit__found {
    OMPJIT__ABSENT,
    OMPJIT__CONTAINED, /* or, with size 0, in reach of the base pointer  */
    OMPJIT__OVERLAPS   /* only a part is mapped                          */
};

void ompjit__present_lock(ompjit__present *table);
void ompjit__present_unlock(ompjit__present *table);
/* Gives the lock back until another thread tells of a change. */
void ompjit__present_wait_change(ompjit__present *table);
void ompjit__present_tell_change(ompjit__present *table);

/* Finds the entry that [host, host+size) meets; *entry is NULL exactly where it
 * is ABSENT. */
enum ompjit__found ompjit__present_find(ompjit__present *table,
                                        const void *host, uint64_t size,
                                        ompjit__mapped **entry);
/* The counterpart of `host`, which `entry` was found for. */
char *ompjit__present_device(const ompjit__mapped *entry, const void *host);

/* The device's value of a pointer to `begin` with base `base`; the host's where
 * there is no counterpart. */
char *ompjit__translate(ompjit__present *table, char *base, char *begin,
                        uint64_t size);
/* Likewise for use_device_ptr and use_device_addr, whose value the program may
 * map as if it were the host's. */
char *ompjit__translate_given(ompjit__present *table, char *base, char *begin,
                              uint64_t size);
/* Does [address, address+size) lie in such a counterpart, which is still there?
 * given_addresses.c */
bool ompjit__present_was_given(const ompjit__present *table,
                               const void *address, uint64_t size);

/* Notes that the program was given the entry's device address, and takes the note
 * back. given_addresses.c */
void ompjit__given_add(ompjit__present *table, ompjit__mapped *entry);
void ompjit__given_remove(ompjit__present *table, ompjit__mapped *entry);

/* Waits until the copies that fill [host, host+size) are in a queue, for which
 * it gives the lock back: then arrivals there have events. arrival.c */
void ompjit__arrival_wait_sent_at(ompjit__present *table, const void *host,
                                  uint64_t size);

/* Adds a range that overlaps nothing, counts 0. NULL: out of memory. */
ompjit__mapped *ompjit__present_add(ompjit__present *table, const void *host,
                                    uint64_t size, char *device,
                                    const char *name);
/* Counts down, and frees with the last; accepts NULL. */
void ompjit__arrival_drop(ompjit__arrival *arrival);
/* Takes it out and frees it; returns its device memory, which has to be freed
 * now, or NULL. */
void *ompjit__present_remove(ompjit__present *table, ompjit__mapped *entry);
/* Counts down; returns what has to be freed with the last. Accepts NULL. */
void *ompjit__block_drop(ompjit__block *block);

void ompjit__present_each(ompjit__present *table,
                          void (*f)(void *data, const ompjit__mapped *entry),
                          void *data);

/* Both counts together; OMPJIT__FOREVER if either is that. */
uint64_t ompjit__mapped_count(const ompjit__mapped *entry);

/* Counts a hold, as the map type modifier does; and takes it back, without the
 * lock, which frees what nothing else refers to. */
void ompjit__mapped_hold(ompjit__mapped *entry);
void ompjit__mapped_let_go(ompjit_device *dev, ompjit__mapped *entry);

/* The record of the pointer at `host`, or NULL. */
ompjit__attached *ompjit__present_attached(const ompjit__mapped *entry,
                                           const void *host);
/* Tells whether the pointer, or a part of it, is in [host, host+size). */
static inline bool ompjit__attached_in(const ompjit__attached *a,
                                       const char *host, size_t size)
{
    return a->host < host + size && a->host + a->size > host;
}
/* The first one in [host, end), or NULL. */
const ompjit__attached *ompjit__present_next_attached(
    const ompjit__mapped *entry, const char *host, const char *end);

/* "x (file.c:3), 800 bytes at 0x7f00" */
#define OMPJIT__RANGE_TEXT 256
void ompjit__range_text(char text[OMPJIT__RANGE_TEXT], const void *begin,
                        uint64_t size, const char *name);

/* omp_target_associate_ptr, and variables that are always present: an entry
 * that is never freed. MAPPING error where something else is there. */
ompjit_status ompjit__present_associate(ompjit_device *dev, const void *host,
                                        void *device, uint64_t size,
                                        ompjit_error *err);
/* NOT_FOUND where there is no such association. */
ompjit_status ompjit__present_disassociate(ompjit_device *dev,
                                           const void *host,
                                           ompjit_error *err);
/* Looks one byte up, taking the lock; NULL: absent. */
void *ompjit__present_lookup(ompjit_device *dev, const void *host);

#endif
