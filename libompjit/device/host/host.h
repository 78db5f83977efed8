/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host device from inside: what the files of this room share.
 */
#ifndef OMPJIT_HOST_H
#define OMPJIT_HOST_H

#include <stdatomic.h>

#include "device/device.h"
#include "device/engine/team.h"
#include "device/engine/time_limit.h"
#include "device/engine/width.h"
#include "device/host/blocks.h"
#include "loader/jit.h"

/* The state of a host device. */
typedef struct ompjit__host {
    ompjit__host_pool *pool;
    const struct ompjit__libomp *_Atomic libomp; /* NULL: none or not yet */
    _Atomic bool without; /* none, and that was told */
    _Atomic bool catches; /* faults are held */
    ompjit__host_limits *limits;
    ompjit__host_blocks blocks;
    ompjit__fork_costs fork_costs;
} ompjit__host;

struct ompjit__loaded {
    ompjit_device *dev;
    ompjit__jit *jit; /* NULL: */
    void *library;    /* dlopen's; library.c */
    ompjit__device_environment environment; /* kernels read it */
    bool checked; /* its variables are the checker's memory */
    bool waits;   /* it has loops that wait for other threads */
    ompjit__buf object; /* for line tables */
    ompjit__host_code code; /* known with the first function */
    uint32_t shared_size;
    ompjit__variable *variables;
    unsigned nvariables;
    struct ompjit__function *functions; /* under dev->lock */
};

struct ompjit__function {
    struct ompjit__function *next;
    ompjit__loaded *loaded;
    void (*entry)(void **args);
    void *native; /* of a library, in place of `entry` */
    char *symbol;
    const char *name; /* the symbol as it was given: aborts compare it */
    uintptr_t code_begin, code_end; /* of the section that has it */
    void (*team)(void **args); /* for all threads of a team; or NULL */
    bool independent; /* its threads never wait for each other */
    uint32_t instructions; /* of an iteration, at most; 0: not known */
    ompjit__paces paces; /* of launches that several OS threads can run */
};

/* Loaded and started by the first launch that has work for several threads;
 * NULL: there is none, teams run one by one. league.c */
const struct ompjit__libomp *ompjit__host_libomp(ompjit_device *dev);

/* The device's operations (device/device.h): memory.c */
ompjit_status ompjit__host_alloc(ompjit_device *dev, size_t size, void **ptr,
                                 ompjit_error *err);
ompjit_status ompjit__host_free(ompjit_device *dev, void *ptr,
                                ompjit_error *err);
ompjit_status ompjit__host_copy(ompjit_device *dev, enum ompjit__copy direction,
                                void *dst, const void *src, size_t size,
                                ompjit__queue *queue, ompjit_error *err);
/* image.c */
ompjit_status ompjit__host_load(ompjit_device *dev, const ompjit__image *image,
                                ompjit__loaded *base, ompjit__loaded **out,
                                ompjit_error *err);
void ompjit__host_unload(ompjit_device *dev, ompjit__loaded *loaded);
ompjit_status ompjit__host_symbol(ompjit_device *dev, ompjit__loaded *loaded,
                                  const char *name, void **address,
                                  size_t *size, ompjit_error *err);
/* The same for images that are shared libraries. library.c */
ompjit_status ompjit__library_load(ompjit_device *dev,
                                   const ompjit__image *image,
                                   ompjit__loaded *loaded, ompjit_error *err);
void ompjit__library_unload(ompjit__loaded *loaded);
ompjit_status ompjit__library_symbol(ompjit__loaded *loaded, const char *name,
                                     void **address, size_t *size,
                                     ompjit_error *err);
ompjit_status ompjit__library_function(ompjit_device *dev,
                                       ompjit__loaded *loaded,
                                       const char *symbol,
                                       ompjit__function **out,
                                       ompjit_error *err);
/* args[i] points at 8 bytes. */
ompjit_status ompjit__library_run(ompjit_device *dev, ompjit__function *f,
                                  void **args, unsigned nargs,
                                  ompjit_error *err);
/* function.c */
ompjit_status ompjit__host_function(ompjit_device *dev, ompjit__loaded *loaded,
                                    const char *symbol, ompjit__function **out,
                                    ompjit_error *err);
/* launch.c */
ompjit_status ompjit__host_run(ompjit_device *dev, ompjit__function *f,
                               const ompjit__geometry *g, void **args,
                               unsigned nargs, ompjit__queue *queue,
                               ompjit_error *err);
ompjit_status ompjit__host_prepare_run(ompjit_device *dev, ompjit__function *f,
                                       const ompjit__geometry *g, void **args,
                                       ompjit__prepared **out,
                                       ompjit_error *err);
ompjit_status ompjit__host_abort(ompjit_device *dev, const char *kernel,
                                 ompjit_error *err);

#endif
