/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The present table's entries, for this room and for others that look addresses
 * up. The caller holds the table's lock for everything here but the lock
 * itself, unless a comment says otherwise.
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
    uint32_t users;        /* kernels under way that may load it         */
    unsigned char value[]; /* the device's `size` bytes                  */
} ompjit__attached;

/* Copies to the device that may still be under way: an event in the queue of
 * the construct that made them. The entries that they fill and that construct
 * refer to it. The event is there before another thread can see the arrival,
 * unless `unsent` is set. arrival.c */
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
    unsigned refs; /* its entries, and the construct; under the lock        */
} ompjit__block;

/* Device memory that has a scalar's value, for kernels that only read it.
 * literal.c, under the lock */
enum { OMPJIT__LITERAL_SIZE = 8, OMPJIT__LITERALS = 64 };

typedef struct ompjit__literal {
    char *device;
    unsigned char value[OMPJIT__LITERAL_SIZE];
    unsigned size; /* of the value, in bytes                                */
    bool known;    /* the device has the value                              */
    bool used;     /* an entry has it                                       */
    uint64_t last; /* number of the construct that took it last; 0: none    */
} ompjit__literal;

/* All slots of a device, in one allocation. */
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
    uintptr_t base;        /* value of the pointer it was mapped by, where
                              that is below begin; else begin            */
    char *device;          /* counterpart of begin                       */
    /* An entry of a Fortran section, whose elements are apart, has the first one
     * here, and the bytes of all; others NULL and 0. fortran_section.c */
    const char *first;
    uint64_t elements;
    /* The device memory is one of these; all NULL: it is not ours to free. */
    void *allocation;      /* the entry's own                            */
    ompjit__block *block;  /* a part of a construct's small block        */
    ompjit__literal *literal; /* a slot for a value                      */
    bool floating;         /* in a small block that is not allocated yet:
                              `device` is only the distance from an
                              aligned address. small_block.c, in begin   */
    uint64_t dynamic, hold; /* reference counts of the map clause and of
                              ompx_hold (map.c). An association or a
                              variable has OMPJIT__FOREVER; the API's
                              queued updates count in `hold`             */
    uint64_t construct;    /* number of the construct that made it, or that
                              ends it early (early_copy_back.c)          */
    bool shared;           /* another construct has looked it up since   */
    ompjit__attached *attached; /* list of pointers in it. attach.c      */
    ompjit__arrival *arrival; /* of the copies that fill it; NULL: they are
                              done. arrival.c                            */
    char *name;            /* ";x;file;line;column;;" or NULL            */
    /* Its node in the tree table->given. given_addresses.c */
    bool is_given;
    struct ompjit__mapped *given_below, *given_above;
    uintptr_t given_reach; /* the last end of the subtree's device ranges */
} ompjit__mapped;

struct ompjit__present {
    pthread_mutex_t lock;
    ompjit__fork_lock at_fork;
    pthread_cond_t changed;/* an arrival is unsent no more, or a pointer's
                              last user has gone                         */
    unsigned unsent;       /* number of unsent arrivals. arrival.c       */
    ompjit__mapped *root;
    size_t count;          /* of entries                                 */
    uint64_t constructs;   /* the last construct's number: map.c,
                              early_copy_back.c                          */
    _Atomic size_t globals;/* number of the program's variables that are
                              entered here. omptarget/program.c          */
    ompjit__literals *literals; /* NULL: none so far                     */
    struct ompjit__construct *inside; /* list of those whose kernels may run:
                              map.c                                      */
    ompjit__mapped *given; /* root of those whose device addresses the
                              program was given: given_addresses.c       */
};

enum ompjit__found {
    OMPJIT__ABSENT,
    OMPJIT__CONTAINED, /* or, with size 0, between the entry's base pointer
                          and its begin                                  */
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

/* Notes that the program was given the entry's device address, and forgets it.
 * given_addresses.c */
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
/* Drops a reference, and frees the arrival with the last; accepts NULL. */
void ompjit__arrival_drop(ompjit__arrival *arrival);
/* Removes the entry and frees it. Returns the device memory that the caller has
 * to free now, or NULL. */
void *ompjit__present_remove(ompjit__present *table, ompjit__mapped *entry);
/* Drops a reference. With the last it returns the memory that the caller has to
 * free. Accepts NULL. */
void *ompjit__block_drop(ompjit__block *block);

void ompjit__present_each(ompjit__present *table,
                          void (*f)(void *data, const ompjit__mapped *entry),
                          void *data);

/* Both counts together; OMPJIT__FOREVER if either is that. */
uint64_t ompjit__mapped_count(const ompjit__mapped *entry);

/* Adds a hold, as the map type modifier ompx_hold does; and subtracts it, which
 * takes the lock and frees the entry with the last count. */
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
/* The attached pointer with the lowest address that lies, at least in part, in
 * [host, end); NULL: none. */
const ompjit__attached *ompjit__present_next_attached(
    const ompjit__mapped *entry, const char *host, const char *end);

/* "x (file.c:3), 800 bytes at 0x7f00" */
#define OMPJIT__RANGE_TEXT 256
void ompjit__range_text(char text[OMPJIT__RANGE_TEXT], const void *begin,
                        uint64_t size, const char *name);

/* omp_target_associate_ptr, and variables that are always present: makes an
 * entry that never ends, whose device memory stays the caller's. Takes the
 * lock. MAPPING error where something else is mapped there. */
ompjit_status ompjit__present_associate(ompjit_device *dev, const void *host,
                                        void *device, uint64_t size,
                                        ompjit_error *err);
/* Is exactly that associated? Takes the lock. */
bool ompjit__present_is_associated(ompjit_device *dev, const void *host,
                                   uint64_t size);
/* Ends an association. Takes the lock. NOT_FOUND where there is none. */
ompjit_status ompjit__present_disassociate(ompjit_device *dev,
                                           const void *host,
                                           ompjit_error *err);
/* The device address of `host`, which its caller may use: the entry counts as
 * shared. Takes the lock. NULL: absent. */
void *ompjit__present_lookup(ompjit_device *dev, const void *host);

#endif
