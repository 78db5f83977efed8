/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A device is one const table of operations. Everything above it (mapping,
 * launch, the API) knows devices by this header alone; the rooms of devices
 * (host/, cuda/) know nothing of modules, kernels' descriptions or maps.
 */
#ifndef OMPJIT_DEVICE_H
#define OMPJIT_DEVICE_H

#include "core/core.h"
#include "abi/offload.h"

typedef struct ompjit__loaded ompjit__loaded;     /* an image on a device    */
typedef struct ompjit__function ompjit__function; /* a kernel in one         */
typedef struct ompjit__queue ompjit__queue;       /* ordered asynchronous
                                                     work; NULL: synchronous */
typedef struct ompjit__event ompjit__event;       /* a point in a queue      */
typedef struct ompjit__graph ompjit__graph;       /* recorded work           */

/* A launch that is made again and again: the head of a device's own struct, in
 * memory of malloc's, which free() ends. */
typedef struct ompjit__prepared {
    ompjit_status (*run)(const struct ompjit__prepared *self,
                         ompjit_error *err);
} ompjit__prepared;

typedef struct ompjit__geometry {
    uint32_t teams[3], threads[3]; /* at least 1 each */
    uint32_t dynamic_shared;       /* bytes           */
    uint32_t limit_ms;             /* that the launch may take, where it can be
                                      stopped; 0: any time */
    bool cooperative;              /* all teams run at the same time */
    /* Not geometry, but what tells how long the launch will take: */
    uint64_t trips;                /* iterations of its loop; 0: unknown  */
    uint32_t size;                 /* digest of its arguments' magnitudes */
} ompjit__geometry;

/* A copy to the device of so many bytes has read them when it returns. */
enum { OMPJIT__SMALL_COPY = 4096 };
/* One of pageable memory of more may hold up the thread until it is done. */
enum { OMPJIT__LONG_COPY = 64 << 10 };
/* The most that `stage` gives. */
enum { OMPJIT__MOST_STAGED = 32 << 10 };

/* To the device, from it, and from one place of it to another. */
enum ompjit__copy { OMPJIT__COPY_TO, OMPJIT__COPY_FROM, OMPJIT__COPY_ON };

/* The copies' names in profiles. device/device.c */
extern const char *const ompjit__copy_names[];

/* The handles by which other software knows a device, for interop objects. The
 * numbers are OpenMP's (omp_interop_fr_t and the vendors of its additional
 * definitions). */
typedef struct ompjit__native {
    int runtime;   /* 2: CUDA driver       */
    int vendor;    /* 11: NVIDIA           */
    void *device;  /* CUdevice             */
    void *context; /* CUcontext            */
    void *stream;  /* CUstream of the queue, where there is one */
} ompjit__native;

/* The capabilities of a device, by which the rooms above go. */
typedef struct ompjit__device_caps {
    /* Threads run in warps, many in a team, whose registers the assembler can
     * trade for their number. Else a team has few threads, or one. */
    bool warps;
    /* Teams of one thread are code of their own: no variant has more than one
     * thread without being compiled for that number. */
    bool lone_threads;
    /* Kernels run in the mode that clang gave them. Else openmp-opt may have
     * made generic ones SPMD, which the image tells. */
    bool keeps_modes;
    /* A function has the same address in all images. */
    bool common_functions;
    /* `free` refuses what is no allocation. Else only what `alloc` has given
     * may be passed to it, once. */
    bool knows_allocations;
    /* A forked child may use what its parent has on the device. */
    bool survives_fork;
    uint32_t most_team_threads; /* where it is known beforehand; else 0 */
} ompjit__device_caps;

/* Queues: ordered asynchronous work. Every device has them; where work is done
 * when a call returns, a queue is nothing but the order of calls. */
typedef struct ompjit__queue_ops {
    ompjit_status (*create)(ompjit_device *dev, ompjit__queue **out,
                            ompjit_error *err);
    ompjit_status (*wait)(ompjit_device *dev, ompjit__queue *queue,
                          ompjit_error *err);
    /* The work that the queue still has is done before any that is put into a
     * queue made later. */
    void (*destroy)(ompjit_device *dev, ompjit__queue *queue);
} ompjit__queue_ops;

/* Memory for work in a queue and what is ordered after it: `alloc` may give
 * memory that is free only when the queue comes to this point, and freed memory
 * may be used before it does. Without this group nobody need gather data into
 * few allocations and copies. */
typedef struct ompjit__queued_memory_ops {
    ompjit_status (*alloc)(ompjit_device *dev, size_t size,
                           ompjit__queue *queue, void **ptr,
                           ompjit_error *err);
    ompjit_status (*free)(ompjit_device *dev, void *ptr, ompjit__queue *queue,
                          ompjit_error *err);
    /* Page-locked memory for a copy, the caller's until it puts something into
     * the queue that comes after the copy and is staged itself. NULL in *room:
     * there is none before the queue was waited for. */
    ompjit_status (*stage)(ompjit_device *dev, ompjit__queue *queue,
                           size_t size, void **room, ompjit_error *err);
} ompjit__queued_memory_ops;

/* Memory that the host reaches too, at the same address: page-locked there, or,
 * where `managed`, moving to whoever uses it. Without this group there is none,
 * or all of the device's memory is such. */
typedef struct ompjit__host_memory_ops {
    ompjit_status (*alloc)(ompjit_device *dev, size_t size, bool managed,
                           void **ptr, ompjit_error *err);
    ompjit_status (*free)(ompjit_device *dev, void *ptr, bool managed,
                          ompjit_error *err);
} ompjit__host_memory_ops;

/* Events: points in queues. Without this group work is done when a call
 * returns. */
typedef struct ompjit__event_ops {
    /* Records the queue's current point in *event, which is made where it is
     * NULL. */
    ompjit_status (*record)(ompjit_device *dev, ompjit__queue *queue,
                            bool timed, ompjit__event **event,
                            ompjit_error *err);
    /* `queue` goes on when another's event has come. */
    ompjit_status (*queue_after)(ompjit_device *dev, ompjit__queue *queue,
                                 ompjit__event *event, ompjit_error *err);
    void (*destroy)(ompjit_device *dev, ompjit__event *event);
    ompjit_status (*wait)(ompjit_device *dev, ompjit__event *event,
                          ompjit_error *err);
    ompjit_status (*query)(ompjit_device *dev, ompjit__event *event,
                           bool *done, ompjit_error *err);
    /* Between two that are timed and have come. */
    ompjit_status (*elapsed)(ompjit_device *dev, ompjit__event *from,
                             ompjit__event *to, double *seconds,
                             ompjit_error *err);
} ompjit__event_ops;

/* Graphs: from `begin` on launches and copies of this queue are recorded, not
 * done, until `end`. Each `run` does them. UNAVAILABLE where only this driver
 * cannot. */
typedef struct ompjit__graph_ops {
    ompjit_status (*begin)(ompjit_device *dev, ompjit__queue *queue,
                           ompjit_error *err);
    ompjit_status (*end)(ompjit_device *dev, ompjit__queue *queue,
                         ompjit__graph **out, ompjit_error *err);
    ompjit_status (*run)(ompjit_device *dev, ompjit__graph *graph,
                         ompjit__queue *queue, ompjit_error *err);
    void (*destroy)(ompjit_device *dev, ompjit__graph *graph);
} ompjit__graph_ops;

/* Objects that other software of the process shares with the device. */
typedef struct ompjit__native_ops {
    /* `queue` may be NULL. */
    ompjit_status (*describe)(ompjit_device *dev, ompjit__queue *queue,
                              ompjit__native *out, ompjit_error *err);
    /* A queue that is other software's (native.stream) and stays so. */
    ompjit_status (*adopt_queue)(ompjit_device *dev, void *stream,
                                 ompjit__queue **out, ompjit_error *err);
    /* Does other software record an adopted queue, to do its work again and
     * again? */
    bool (*is_captured)(ompjit_device *dev, ompjit__queue *queue);
    /* An event that is other software's and stays so. */
    ompjit_status (*adopt_event)(ompjit_device *dev, void *native,
                                 ompjit__event **out, ompjit_error *err);
    /* The other software's handle of *event, which is made where it is NULL. */
    ompjit_status (*event)(ompjit_device *dev, ompjit__event **event,
                           void **native, ompjit_error *err);
} ompjit__native_ops;

/* Every operation may be called by any thread, and locks for itself. Errors
 * are texts as everywhere; the driver's own message is in them. A NULL
 * operation means what its comment says, and a NULL group that the device lacks
 * it. */
typedef struct ompjit__device_ops {
    const char *name; /* "host", "cuda" */
    ompjit__device_caps caps;

    /* Once, under dev->open_lock, before anything else but target and close;
     * may be repeated after a failure. NULL: nothing to open. */
    ompjit_status (*open)(ompjit_device *dev, ompjit_error *err);
    /* Frees everything, also what is still loaded. */
    void (*close)(ompjit_device *dev);

    ompjit_status (*info)(ompjit_device *dev, ompjit_device_info *info,
                          ompjit_error *err);

    /* info's `multiprocessors`, where it can be had for less. NULL: it
     * cannot. */
    uint32_t (*multiprocessors)(ompjit_device *dev);

    /* How many threads of a team would run at the same time in a launch of one
     * team that the calling thread makes now. NULL: a team's number of threads
     * is not chosen by that. */
    uint32_t (*processors)(ompjit_device *dev);

    /* size 0 gives a unique pointer. Alignment at least 128 bytes. */
    ompjit_status (*alloc)(ompjit_device *dev, size_t size, void **ptr,
                           ompjit_error *err);
    ompjit_status (*free)(ompjit_device *dev, void *ptr, ompjit_error *err);

    /* Copies; with a queue the call may return before the copy is done, and
     * the host memory must stay as it is until the queue was waited for (but
     * see OMPJIT__SMALL_COPY). */
    ompjit_status (*copy)(ompjit_device *dev, enum ompjit__copy direction,
                          void *dst, const void *src, size_t size,
                          ompjit__queue *queue, ompjit_error *err);

    /* From another device of this kind. NULL: through the host. */
    ompjit_status (*copy_peer)(ompjit_device *dev, void *dst,
                               ompjit_device *from, const void *src,
                               size_t size, ompjit_error *err);
    /* Fills with a byte. NULL: by copies. */
    ompjit_status (*fill)(ompjit_device *dev, void *dst, int value,
                          size_t size, ompjit_error *err);

    /* Tells the context's profile how long the device has worked at what it was
     * given so far, after waiting for that. NULL: the profile knows. */
    void (*settle_times)(ompjit_device *dev);

    /* The format that the device wants of a build ("host" -> OBJECT), and a
     * spec's `ptx`. */
    void (*target)(ompjit_device *dev, char arch[32], ompjit_format *format,
                   uint32_t *ptx);

    /* The device keeps no reference to the image. If the image imports
     * variables, they are `base`'s, which must outlive it; else base is NULL.
     * */
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

    /* How many threads of the function a team can have. NULL: as many as the
     * device can run. */
    uint32_t (*most_threads)(const ompjit__function *function);

    /* args[i] points at the value of the kernel's i-th ABI parameter, as
     * cuLaunchKernel's kernelParams. GEOMETRY error where the device cannot;
     * one of ompjit__kernel_ran where the kernel has begun and failed. */
    ompjit_status (*launch)(ompjit_device *dev, ompjit__function *function,
                            const ompjit__geometry *geometry, void **args,
                            unsigned nargs, ompjit__queue *queue,
                            ompjit_error *err);

    /* Ends what runs now, of the function whose `symbol` was given at that very
     * address, or (NULL) of any: it fails as ABORTED. Called from signal
     * handlers too. NULL: nothing can be ended. */
    ompjit_status (*abort)(ompjit_device *dev, const char *symbol,
                           ompjit_error *err);

    /* As launch without a queue, as often as *out is run, by several threads at
     * once; function, geometry and args outlive it. NULL in *out: `launch` is
     * as good. NULL operation: always. */
    ompjit_status (*prepare)(ompjit_device *dev, ompjit__function *function,
                             const ompjit__geometry *geometry, void **args,
                             ompjit__prepared **out, ompjit_error *err);

    const ompjit__queue_ops *queues; /* never NULL */
    const ompjit__queued_memory_ops *queued_memory;
    const ompjit__host_memory_ops *host_memory;
    const ompjit__event_ops *events;
    const ompjit__graph_ops *graphs;
    const ompjit__native_ops *native;
} ompjit__device_ops;

/* Is that failure of `launch` one of a kernel that may have begun? DRIVER is a
 * code of the driver's that nobody knows. */
static inline bool ompjit__kernel_ran(ompjit_status status)
{
    return status == OMPJIT_ERR_DEVICE || status == OMPJIT_ERR_DRIVER ||
           status == OMPJIT_ERR_TIMEOUT || status == OMPJIT_ERR_ABORTED;
}

/* The facts about a device that a launch needs to choose a geometry. */
typedef struct ompjit__device_limits {
    uint32_t multiprocessors;
    uint32_t most_threads;   /* of a team */
    uint64_t parallelism;    /* cores, or warps that run at the same time */
    uint32_t teams, threads; /* the user's defaults (OMPJIT_TEAMS, else
                                OMP_NUM_TEAMS; OMPJIT_THREADS, else
                                OMP_TEAMS_THREAD_LIMIT); 0: none */
    uint32_t fewest_threads; /* of a team, where nobody says more; 0: 1 */
} ompjit__device_limits;

/* Launch environments that a device keeps for the next launches. */
enum { OMPJIT__ENVIRONMENTS = 8 };

/* Made by `find` of its kind, under ctx->lock, and destroyed with the context.
 * The bools are the kind's, set then; limits are set before `ready`; nothing of
 * these changes later, but shares_memory (ompjit__check_unify). */
struct ompjit_device {
    const ompjit__device_ops *ops;
    ompjit__device_caps caps; /* a copy of ops->caps, near                */
    ompjit_context *ctx;
    unsigned number;  /* in the context                                   */
    unsigned ordinal; /* the device's own number, cuda:1                  */
    bool shares_memory; /* mapped data is the original                    */
    bool reads_host;    /* host pointers are valid on the device          */
    bool shares_chip;   /* and with it all memory: a copy is of no use    */
    bool borrows; /* does not share, but a construct's own data may stay  */
    ompjit__device_limits limits; /* once ready                           */
    _Atomic bool ready;
    pthread_mutex_t open_lock; /* of ready                                */
    pthread_mutex_t lock; /* the operations' own, as is state             */
    ompjit__fork_lock open_at_fork, at_fork, allocations_at_fork;
    void *state;
    struct ompjit__present *present; /* mapping/present_table.c */
    void *allocations; /* the application's own; device/allocations.c     */
    pthread_mutex_t allocations_lock;
    _Atomic(struct ompjit__environment_block *)
        environments[OMPJIT__ENVIRONMENTS]; /* launch/launch_environment.c */
    _Atomic(struct ompjit__calls *) calls;  /* launch/variant_load.c */
};

/* A kind of device, as the option `devices` names it. */
typedef struct ompjit__device_kind {
    const char *name; /* "cuda"                       */
    bool numbered;    /* "cuda:N" is the N-th of them */
    /* Adds devices of the kind to the context's list, `ordinal` -1 for all
     * there are; none, without error, where there is none and `required` is
     * false. Called under ctx->lock. */
    ompjit_status (*find)(ompjit_context *ctx, int ordinal, bool required,
                          ompjit_error *err);
    /* True: `find` would start a driver. NULL: it never does. */
    bool (*starts_driver)(void);
} ompjit__device_kind;

/* A room's own state in each device. */
typedef struct ompjit__device_part {
    bool (*make)(ompjit_device *dev); /* false: no memory; NULL: on first use */
    void (*free)(ompjit_device *dev); /* accepts what make has not made       */
} ompjit__device_part;

/* All kinds there are, in the order in which "auto" looks for them, and the
 * rooms that keep state in devices. api/device_kinds.c */
typedef struct ompjit__device_registry {
    const ompjit__device_kind *kinds;
    size_t nkinds;
    const ompjit__device_part *parts;
    size_t nparts;
} ompjit__device_registry;
extern const ompjit__device_registry ompjit__device_registry_all;

/* device/host/host.c, device/cuda/find.c */
ompjit_status ompjit__host_devices(ompjit_context *ctx, int ordinal,
                                   bool required, ompjit_error *err);
ompjit_status ompjit__cuda_devices(ompjit_context *ctx, int ordinal,
                                   bool required, ompjit_error *err);
bool ompjit__cuda_starts(void);
/* Appends to ctx->devices; takes nothing on failure. device/device.c */
ompjit_status ompjit__device_add(ompjit_context *ctx,
                                 const ompjit__device_ops *ops,
                                 unsigned ordinal, void *state,
                                 ompjit_device **out, ompjit_error *err);
/* Opens the device and fills dev->limits, on the first call; whoever uses the
 * operations calls it before. device/device.c */
ompjit_status ompjit__device_ready(ompjit_device *dev, ompjit_error *err);
/* Frees memory where there is nobody to take an error: it goes to the log.
 * device/device.c */
void ompjit__device_drop(ompjit_device *dev, void *memory);
/* Memory that the application asks for and frees, of a device that is ready.
 * INVALID where it was not allocated here, or was freed before; any thread may
 * call both. device/allocations.c */
ompjit_status ompjit__allocate(ompjit_device *dev, size_t size, void **ptr,
                               ompjit_error *err);
ompjit_status ompjit__deallocate(ompjit_device *dev, void *ptr,
                                 ompjit_error *err);
/* Forgets what was allocated; the memory itself stays. device/allocations.c */
void ompjit__allocations_free(ompjit_device *dev);
/* The facts about a ready device that kernels are told. device/device.c */
ompjit__device_environment ompjit__environment_of(const ompjit_device *dev);
/* The list, found on first use. A search that failed leaves no device and may
 * be repeated. Takes ctx->lock. device/device.c */
ompjit_status ompjit__devices(ompjit_context *ctx, ompjit_error *err);
/* True where the list is known, or is found now, because no driver has to be
 * started for it. device/device.c */
bool ompjit__devices_at_hand(ompjit_context *ctx);
/* Closes and frees every device; whatever else hangs from one is gone before.
 * device/device.c */
void ompjit__devices_free(ompjit_context *ctx);

/* Is mapped data the original? So the user chose, or host and device share a
 * chip, or the program requires unified shared memory and the device can have
 * it. */
bool ompjit__shares_memory(const ompjit_device *dev);
/* Does the program require it, and has the device it? */
bool ompjit__is_unified(const ompjit_device *dev);
/* May the device's code use pointers to host memory? */
bool ompjit__host_usable(const ompjit_device *dev);

/* Devices that know more of times than they have told the profile tell it. */
void ompjit__devices_settle_times(ompjit_context *ctx);

#endif
