/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A module: a unit, and what of it is loaded where. A variant is the unit
 * compiled with certain things folded, on one device. Variants are only added,
 * so that a launch finds one without a lock.
 */
#ifndef OMPJIT_MODULE_H
#define OMPJIT_MODULE_H

#include "offload/offload.h"

/* What distinguishes variants of one device. */
typedef struct ompjit__variant_key {
    uint32_t threads, teams; /* folded; 0: not            */
    uint32_t kernel;         /* index; UINT32_MAX: all    */
    uint64_t literal_mask;   /* folded parameters         */
    uint64_t literals;       /* digest of their values    */
} ompjit__variant_key;

typedef struct ompjit__variant {
    struct ompjit__variant *next;
    ompjit_device *dev;
    ompjit__variant_key key;
    uint64_t *values;        /* nparams literals, where any is folded */
    ompjit__loaded *loaded;
    ompjit__function *_Atomic functions[]; /* one for each kernel */
} ompjit__variant;

struct ompjit_kernel {
    ompjit_module *mod;
    unsigned index;
    pthread_mutex_t lock;    /* last */
    ompjit_launch_info last; /* and the device it ran on */
    ompjit_device *last_device;
};

struct ompjit_module {
    ompjit_context *ctx;
    ompjit__unit unit;
    pthread_mutex_t lock;    /* building variants, the host half */
    ompjit__variant *_Atomic variants;
    ompjit_kernel *kernels;
    ompjit__hostjit *hostjit;
};

#endif
