/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A variant from inside, for the files that find (variant_table.c), load
 * (variant_load.c) and build (variant_flight.c) it. Calls go from the last of
 * these to the first.
 */
#ifndef OMPJIT_LAUNCH_VARIANT_H
#define OMPJIT_LAUNCH_VARIANT_H

#include "launch/variant_table.h"

struct ompjit__variant {
    ompjit__variant *_Atomic next; /* in the bucket */
    _Atomic uint64_t hash;
    _Atomic uint32_t state;        /* variant_table.c */
    _Atomic uint32_t last_use;     /* the module's tick */
    ompjit__variant *next_all;     /* under the lock */
    /* Constant for a holder that has seen READY: */
    bool environment; /* its image has OMPJIT__DEVICE_ENVIRONMENT */
    bool pinned; /* the device's first: its variables are everybody's */
    ompjit__variant_key key;
    ompjit__loaded *loaded;
    ompjit__buf modes; /* as the image's */
    ompjit__function *_Atomic *functions; /* of the one kernel, or of all */
};

/* A build that runs, or waits for the background thread. Under the lock. */
struct ompjit__flight {
    ompjit__flight *next;
    ompjit_module *mod;
    ompjit__variant_key key;
    unsigned refs;
    bool claimed, started, done; /* taken by a thread; building; landed */
    unsigned depth;    /* ompjit__fork_depth of the process of that thread */
    ompjit_status status;
    ompjit_error *err; /* of a failure; NULL where memory ran out */
};

/* ---------------------------------------------------------- variant_table.c */

bool ompjit__variant_same_key(const ompjit__variant_key *a,
                              const ompjit__variant_key *b);
/* A key that owns its arrays. False: out of memory; they are freed with the key
 * all the same. */
bool ompjit__variant_copy_key(ompjit__variant_key *to,
                              const ompjit__variant_key *from);
/* Under the lock: the device's first variant, whose variables the others
 * import; NULL: there is none. */
ompjit__variant *ompjit__variant_base(ompjit__variants *all,
                                      const ompjit_device *dev);
/* Gets memory for a variant that nobody can find yet, and gives it back unused.
 * Both take the lock. NULL: out of memory. */
ompjit__variant *ompjit__variant_take_spare(ompjit__variants *all);
void ompjit__variant_give_spare(ompjit__variants *all, ompjit__variant *v);
/* Under the lock: from now on the variant can be found. `hold`: by the caller
 * too. */
void ompjit__variant_publish(ompjit__variants *all, ompjit__variant *v,
                             bool hold);
/* Under the lock: takes the least recently used variant out of the table where
 * the kernel of `v` has more than it may. The caller buries it. */
ompjit__variant *ompjit__variant_evict(ompjit_module *mod,
                                       const ompjit__variant *v);
/* Unloads a variant that is dead, if nobody holds it. Takes the lock. */
void ompjit__variant_bury(ompjit_module *mod, ompjit__variant *v);
void ompjit__variant_unload(ompjit__variant *v);

/* ------------------------------------------------------------- call_table.c */

/* Functions that a module's kernels call through pointers, or those of all
 * modules that have no such table: rows and their index in the device's
 * memory. */
struct ompjit__calls {
    ompjit__calls *next;
    ompjit_device *dev;
    void *table;
    uint64_t n;
};

/* `rows` are ordered by the host's address, and copied. On success the table is
 * the caller's, to free with ompjit__calls_free. */
ompjit_status ompjit__calls_new(ompjit_device *dev,
                                const ompjit__indirect_call *rows, size_t n,
                                ompjit__calls **out, ompjit_error *err);
/* All of the list. */
void ompjit__calls_free(ompjit__calls *c);
/* Tells it to an image. */
void ompjit__calls_tell(const ompjit__calls *c,
                        ompjit__device_environment *environment);

/* ----------------------------------------------------------- variant_load.c */

/* Builds and loads a variant that nobody can find yet. `base`: the device's
 * first, or NULL. */
ompjit_status ompjit__variant_make(ompjit_module *mod,
                                   const ompjit__variant_key *key,
                                   ompjit__variant *base,
                                   ompjit__variant **out, ompjit_error *err);
/* The tables of functions that kernels call through pointers. */
void ompjit__calls_free_all(ompjit__variants *all);

#endif
