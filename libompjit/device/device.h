/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A device is one const table of operations. Everything above it (mapping,
 * launch, the API) knows devices by this header alone; host.c and cuda.c know
 * nothing of modules, kernels' descriptions or maps.
 */
#ifndef OMPJIT_DEVICE_H
#define OMPJIT_DEVICE_H

#include "core.h"
#include "offload/abi.h"

typedef struct ompjit__loaded ompjit__loaded;     /* an image on a device    */
typedef struct ompjit__function ompjit__function; /* a kernel in one         */
typedef struct ompjit__queue ompjit__queue;       /* ordered asynchronous
                                                     work; NULL: synchronous */

typedef struct ompjit__geometry {
    uint32_t teams[3], threads[3]; /* at least 1 each */
    uint32_t dynamic_shared;       /* bytes           */
} ompjit__geometry;

enum ompjit__copy { OMPJIT__COPY_TO, OMPJIT__COPY_FROM, OMPJIT__COPY_ON };

/* What other software knows a device by, for interop objects. The numbers are
 * OpenMP's (omp_interop_fr_t and the vendors of its additional definitions). */
typedef struct ompjit__native {
    int runtime;   /* 2: CUDA driver       */
    int vendor;    /* 11: NVIDIA           */
    void *device;  /* CUdevice             */
    void *context; /* CUcontext            */
    void *stream;  /* CUstream of the queue, where there is one */
} ompjit__native;

/* Every operation may be called by any thread, and locks for itself. Errors
 * are texts as everywhere; the driver's own message is in them. A NULL
 * operation means what its comment says. */
typedef struct ompjit__device_ops {
    const char *name; /* "host", "cuda" */

    /* Once, under dev->open_lock, before anything else but target and close; may
     * be repeated after a failure. NULL: nothing to open. */
    ompjit_status (*open)(ompjit_device *dev, ompjit_error *err);
    /* Frees everything, also what is still loaded. */
    void (*close)(ompjit_device *dev);

    ompjit_status (*info)(ompjit_device *dev, ompjit_device_info *info,
                          ompjit_error *err);

    /* How many threads of a team would run at the same time in a launch of one
     * team that the calling thread makes now. NULL: as many as there are. */
    uint32_t (*processors)(ompjit_device *dev);

    /* size 0 gives a unique pointer. Alignment at least 128 bytes. */
    ompjit_status (*alloc)(ompjit_device *dev, size_t size, void **ptr,
                           ompjit_error *err);
    ompjit_status (*free)(ompjit_device *dev, void *ptr, ompjit_error *err);

    /* Copies; with a queue the call may return before the copy is done, and
     * the host memory must stay as it is until the queue was waited for. */
    ompjit_status (*copy)(ompjit_device *dev, enum ompjit__copy direction,
                          void *dst, const void *src, size_t size,
                          ompjit__queue *queue, ompjit_error *err);

    /* What build's format the device wants ("host" -> OBJECT). */
    void (*target)(ompjit_device *dev, char arch[32], ompjit_format *format);

    /* The device keeps no reference to the image. Where the image imports
     * variables they are `base`'s, which must outlive it; else base is NULL. */
    ompjit_status (*load)(ompjit_device *dev, const ompjit__image *image,
                          ompjit__loaded *base, ompjit__loaded **out,
                          ompjit_error *err);
    void (*unload)(ompjit_device *dev, ompjit__loaded *loaded);
    ompjit_status (*symbol)(ompjit_device *dev, ompjit__loaded *loaded,
                            const char *name, void **address, size_t *size,
                            ompjit_error *err);
    /* The function lives as long as `loaded`. */
    ompjit_status (*function)(ompjit_device *dev, ompjit__loaded *loaded,
                              const char *symbol, ompjit__function **out,
                              ompjit_error *err);

    /* args[i] points at the value of the kernel's i-th ABI parameter, as
     * cuLaunchKernel's kernelParams. GEOMETRY error where the device cannot. */
    ompjit_status (*launch)(ompjit_device *dev, ompjit__function *function,
                            const ompjit__geometry *geometry, void **args,
                            unsigned nargs, ompjit__queue *queue,
                            ompjit_error *err);

    ompjit_status (*queue_create)(ompjit_device *dev, ompjit__queue **out,
                                  ompjit_error *err);
    ompjit_status (*queue_wait)(ompjit_device *dev, ompjit__queue *queue,
                                ompjit_error *err);
    void (*queue_destroy)(ompjit_device *dev, ompjit__queue *queue);

    /* `queue` may be NULL. NULL operation: no other software knows it. */
    ompjit_status (*native)(ompjit_device *dev, ompjit__queue *queue,
                            ompjit__native *out, ompjit_error *err);
} ompjit__device_ops;

/* What a launch needs to know of a device to choose a geometry. */
typedef struct ompjit__device_limits {
    ompjit_device_kind kind;
    uint32_t multiprocessors;
    uint64_t parallelism;    /* cores, or warps that run at the same time */
    uint32_t teams, threads; /* the user's defaults (OMPJIT_TEAMS, else
                                OMP_NUM_TEAMS; OMPJIT_THREADS, else
                                OMP_TEAMS_THREAD_LIMIT); 0: none */
} ompjit__device_limits;

struct ompjit_device {
    const ompjit__device_ops *ops;
    ompjit_context *ctx;
    unsigned number;  /* in the context                                   */
    unsigned ordinal; /* the device's own number, cuda:1                  */
    bool shares_memory; /* mapped data is the original                    */
    bool reads_host;    /* host pointers are valid on the device          */
    bool borrows; /* does not share, but a construct's own data may stay  */
    ompjit__device_limits limits; /* kind always; the rest once ready     */
    _Atomic bool ready;
    pthread_mutex_t open_lock; /* of ready                                */
    pthread_mutex_t lock; /* the operations' own, as is state             */
    void *state;
    struct ompjit__present *present; /* offload/present.c                 */
};

/* Adds devices of one kind to the context's list, `ordinal` -1 for all there
 * are. `host` adds one; cuda adds none, without error, where there is no
 * driver or no GPU and `required` is false. Called under ctx->lock. */
ompjit_status ompjit__host_devices(ompjit_context *ctx, ompjit_error *err);
ompjit_status ompjit__cuda_devices(ompjit_context *ctx, int ordinal,
                                   bool required, ompjit_error *err);
/* Appends to ctx->devices; takes nothing on failure. device/device.c */
ompjit_status ompjit__device_add(ompjit_context *ctx,
                                 const ompjit__device_ops *ops,
                                 ompjit_device_kind kind, unsigned ordinal,
                                 void *state,
                                 ompjit_device **out, ompjit_error *err);
/* Opens the device and fills dev->limits, on the first call; whoever uses the
 * operations calls it before. device/device.c */
ompjit_status ompjit__device_ready(ompjit_device *dev, ompjit_error *err);
/* What kernels are told about the device they run on, once it is ready.
 * device/device.c */
ompjit__device_environment ompjit__environment_of(const ompjit_device *dev);
/* The list, found on first use. A search that failed leaves no device and may
 * be repeated. Takes ctx->lock. device/device.c */
ompjit_status ompjit__devices(ompjit_context *ctx, ompjit_error *err);
/* Closes and frees every device; whatever else hangs from one is gone before.
 * device/device.c */
void ompjit__devices_free(ompjit_context *ctx);

#endif
