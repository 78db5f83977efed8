/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Variants: a module's IR compiled with certain things folded, loaded on one
 * device. Any number of threads look one up at once, without a lock, and hold
 * it while they use it. A kernel keeps a bounded number of variants on each
 * device; the least recently used give their memory back.
 */
#ifndef OMPJIT_VARIANT_H
#define OMPJIT_VARIANT_H

#include "device/device.h"

#define OMPJIT__ALL_KERNELS UINT32_MAX

/* The key of a module's variant. */
typedef struct ompjit__variant_key {
    ompjit_device *dev;
    uint32_t kernel;         /* index, or OMPJIT__ALL_KERNELS              */
    ompjit__facts facts;     /* what is folded                             */
    uint64_t hash;           /* of all of it: ompjit__variant_hash         */
} ompjit__variant_key;

typedef struct ompjit__variant ompjit__variant;
typedef struct ompjit__flight ompjit__flight;
typedef struct ompjit__calls ompjit__calls;

enum { OMPJIT__BUCKETS = 256 };

/* A module's. Zero-initialised but for ompjit__variants_init. */
typedef struct ompjit__variants {
    pthread_mutex_t lock;
    ompjit__fork_lock at_fork;
    pthread_cond_t landed;           /* a flight has                       */
    ompjit__variant *_Atomic buckets[OMPJIT__BUCKETS];
    /* These are under the lock; `spare` is memory of buried variants and of
     * builds that failed. */
    ompjit__variant *all, *spare;    /* ready ones                         */
    ompjit__flight *flights;         /* builds that run or are queued      */
    ompjit__calls *calls;            /* on each device; the newest first   */
    _Atomic uint32_t tick;           /* counts builds: the LRU clock       */
    _Atomic uint64_t builds, failures, evictions;
    _Atomic uint32_t last_built;     /* kernel, plus 1; a guess goes by it */
} ompjit__variants;

void ompjit__variants_init(ompjit__variants *all);
/* Cancels queued builds, waits for those that run, and unloads everything. No
 * launch uses the module any more. variant_flight.c */
void ompjit__variants_free(ompjit_module *mod);

uint64_t ompjit__variant_hash(const ompjit__variant_key *key);
/* Tells whether it is for any arguments and geometry, the host's teams of one
 * thread aside. */
bool ompjit__variant_is_generic(const ompjit__variant_key *key);

/* The image that the module's variables are in on the device, until the module
 * goes; NULL: nothing is loaded yet. */
ompjit__loaded *ompjit__variants_first(ompjit_module *mod,
                                       const ompjit_device *dev);

/* The variant, held, where it is ready; else NULL. Takes no lock. */
ompjit__variant *ompjit__variant_find(ompjit_module *mod,
                                      const ompjit__variant_key *key);

/* The same, built where it is missing: on this thread, or by waiting for the
 * thread that builds it. With `limit_ms` the build is another thread's, and
 * TIMEOUT says that it takes longer; it goes on. */
ompjit_status ompjit__variant_get(ompjit_module *mod,
                                  const ompjit__variant_key *key,
                                  uint32_t limit_ms, ompjit__variant **out,
                                  ompjit_error *err);

/* Has it built by the background thread, unless it is there or on its way. */
ompjit_status ompjit__variant_request(ompjit_module *mod,
                                      const ompjit__variant_key *key,
                                      ompjit_error *err);

/* Calls f(data, key) for each variant that the kernel's launches can run, the
 * newest first, under the lock; other than 0 ends it. */
void ompjit__variants_walk(ompjit_module *mod, uint32_t kernel,
                           int (*f)(void *data, const ompjit__variant_key *key),
                           void *data);

/* Gives up builds of the kernel that wait for the background thread. */
void ompjit__variant_cancel(ompjit_module *mod, uint32_t kernel);

/* Tells the module's images on the device, those there are and those to come,
 * which device functions stand for which of the host's: n of them, copied.
 * Before the program's own code can launch any. */
ompjit_status ompjit__variants_calls(ompjit_module *mod, ompjit_device *dev,
                                     const ompjit__indirect_call *calls,
                                     size_t n, ompjit_error *err);

/* The same for images to come of modules of which nothing is told. By one
 * thread at a time. */
ompjit_status ompjit__device_calls(ompjit_device *dev,
                                   const ompjit__indirect_call *calls,
                                   size_t n, ompjit_error *err);
void ompjit__device_calls_free(ompjit_device *dev);

/* Counts, and what is on its way. */
void ompjit__variants_stats(ompjit_module *mod, ompjit_variant_stats *stats);

/* One more hold on a held variant. */
void ompjit__variant_hold(ompjit__variant *v);
/* Ends one hold. It may take the variants' lock to bury a dead variant: the
 * caller does not have it. */
void ompjit__variant_release(ompjit_module *mod, ompjit__variant *v);

/* For a held variant. */
ompjit_status ompjit__variant_function(ompjit_module *mod, ompjit__variant *v,
                                       uint32_t kernel, ompjit__function **out,
                                       ompjit_error *err);
ompjit__loaded *ompjit__variant_loaded(const ompjit__variant *v);
/* The ompjit_mode that a kernel of a GPU's image has been compiled in. */
int ompjit__variant_mode(const ompjit__variant *v, uint32_t kernel);
const ompjit__variant_key *ompjit__variant_key_of(const ompjit__variant *v);

#endif
