/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One GPU, as the files of this room share it: find.c (which there are), cuda.c
 * (its context and memory), queue.c, graph.c, copy.c, staging.c, kernel.c
 * (images and launches), peer.c, host_memory.c and clock.c. Everything is for
 * any thread unless its comment says otherwise; what close does is done by one
 * thread that has the GPU for itself.
 */
#ifndef OMPJIT_CUDA_H
#define OMPJIT_CUDA_H

#include <sys/types.h>

#include "context/profile.h"
#include "device/cuda/driver.h"
#include "device/device.h"
#include "runtime-bc/assertion.h"

/* Attributes of a device, as cuDeviceGetAttribute tells them, and one of the
 * driver. Set by find.c. */
typedef struct ompjit__gpu_facts {
    int major, minor; /* compute capability */
    int multiprocessors;
    int warp_size;
    int teams[3], threads[3]; /* most in each dimension                  */
    int max_threads;          /* of a team                               */
    int shared;               /* bytes a team has without asking for more */
    int shared_optin;         /* and with                                */
    int cooperative, pools;   /* 1: it can launch so, and has these      */
    int pageable;             /* reads and writes ordinary host memory    */
    int host_tables;          /* does so by the host's page tables: copies
                                 need no page-locked memory            */
    int integrated;           /* has no other memory than the host's      */
    unsigned ptx;             /* newest version that its driver reads     */
} ompjit__gpu_facts;

/* Queues that are taken without a lock; more wait under it. */
enum { OMPJIT__IDLE_QUEUES = 16 };

typedef struct ompjit__gpu_timing ompjit__gpu_timing; /* of one operation */
typedef struct ompjit__gpu_pipe ompjit__gpu_pipe;     /* staging.c   */

/* Device times, where the context is profiled, in nanoseconds of ompjit__now.
 * clock.c */
typedef struct ompjit__gpu_clock {
    pthread_mutex_t lock; /* of all this; before the profile's             */
    cu_event base;        /* NULL: nothing has been timed                  */
    uint64_t base_at;     /* when it came, by ompjit__now                  */
    ompjit__gpu_timing *waiting, **last; /* oldest first; where to add     */
    ompjit__gpu_timing *idle;
    size_t nwaiting, nends;
    uint64_t *ends; /* of each queue's last span */
} ompjit__gpu_clock;

/* The state of a CUDA device. The fields before own_page are set when the
 * device is found and never change. Freed by ompjit__gpu_free alone, after
 * gpu_close or where find.c gives up. Lock order: a queue's or an image's, then
 * the clock's, then this one's. */
typedef struct ompjit__gpu {
    const ompjit__cuda *cu;
    ompjit_context *ctx;
    cu_device device;
    unsigned ordinal;
    pid_t pid; /* a child made by fork cannot use the device */
    ompjit__gpu_facts facts;
    ompjit_device_info info;

    const volatile unsigned char *own_page; /* 1 in this process, 0 in a child;
                                               NULL: compare pid           */
    _Atomic(cu_context) context; /* the primary one; NULL: not yet retained */
    _Atomic uint64_t peers; /* GPUs by ordinal whose memory it was to read  */
    _Atomic(ompjit__queue *) idle[OMPJIT__IDLE_QUEUES]; /* used by nobody   */
    ompjit__gpu_clock clock;

    pthread_mutex_t lock;    /* of all that follows; taken last           */
    void *blocks;            /* live allocations, a tree of tsearch's     */
    void *host_blocks[2];    /* page-locked and managed ones, likewise    */
    ompjit__queue *queues;   /* every queue there is                      */
    unsigned nqueues;        /* ever made                                 */
    ompjit__queue *more_idle; /* for which `idle` had no room             */
    ompjit__gpu_pipe *pipes;  /* that nobody uses                         */
    unsigned npipes;          /* all there are                            */
    ompjit__event *events[2]; /* that nobody uses: without and with time  */
    ompjit__graph *graphs;   /* every graph there is                      */
    ompjit__loaded *loaded;  /* every image there is                      */
    struct ompjit__kernel_name *names; /* of kernels, kept to the end     */
    cu_pool pool;            /* NULL: not yet made, or not to be had      */
    bool pool_tried;
    ompjit_assertion *assertion; /* page-locked; NULL: no image has asked  */
    char lost[256];          /* what was being done when the context was
                                found lost; "": it is not                 */
} ompjit__gpu;

/* A stream. Fields without a comment on locks are of whoever has borrowed or
 * made the queue. In gpu->queues from its making to its freeing. Which thread
 * may use it is the borrower's affair; `lock` covers the staging only. */
struct ompjit__queue {
    cu_stream stream;
    unsigned number;          /* no other has had it                 */
    bool foreign;             /* the stream is the caller's, who may
                                 record it too                       */
    bool spoiled;             /* it may still be recording           */
    _Atomic bool recording;   /* between graph_begin and graph_end   */
    ompjit__queue *next;      /* of queues                           */
    ompjit__queue *next_idle; /* of more_idle                        */
    _Atomic(const char *) kernel; /* the last one launched, for messages */
    pthread_mutex_t lock;     /* of what follows; before the GPU's   */
    _Atomic(char *) staging;  /* page-locked; NULL: not yet needed;
                                 read without the lock               */
    _Atomic size_t staged;    /* bytes of it that copies may read    */
};

/* A name of a list that only grows: queues and timings point to it when the
 * image has gone. */
struct ompjit__kernel_name {
    struct ompjit__kernel_name *next;
    char name[];
};

/* Made by the first record, or adopted. Ours go back to gpu->events, foreign
 * ones are freed and the CUevent left alone. */
struct ompjit__event {
    ompjit__event *next; /* of events */
    bool timed;
    bool foreign;        /* it is the caller's */
    cu_event event;
};

/* The device room's table of operations, the only way in which other rooms call
 * this one, but for ompjit__cuda_devices. */
extern const ompjit__device_ops ompjit__cuda_ops;

/* Tells whether this process may use the GPU: not where it is a forked child.
 * Cheap; asked before each operation. Any thread. */
bool ompjit__gpu_usable(const ompjit__gpu *gpu);

/* Frees what has no more to do with the driver: names, locks, the struct. By
 * one thread, after gpu_close has emptied all lists. find.c */
void ompjit__gpu_free(ompjit__gpu *gpu);

/* Makes the GPU's context the thread's current one, retaining it on first use.
 * Each success is followed by one leave. DRIVER in a forked child. May be
 * nested. Takes gpu->lock for the first use only; must not be called under it.
 */
ompjit_status ompjit__gpu_enter(ompjit__gpu *gpu, ompjit_error *err);
/* Gives the caller its own context back. Returns `status`, which is what came
 * of the work, or, where that was a success and the context cannot be left,
 * that failure; one after which it was left all the same is only logged. So
 * callers write `return ompjit__gpu_leave(gpu, status, err)` on every way out.
 */
ompjit_status ompjit__gpu_leave(ompjit__gpu *gpu, ompjit_status status,
                                ompjit_error *err);

/* A call of the driver that failed. */
typedef struct ompjit__gpu_call {
    ompjit_stage stage;
    const char *function;
    cu_result code;
} ompjit__gpu_call;

/* "<what was being done> on cuda:0: <function>: <CUDA's words>". The status is
 * that of the code (driver.def). Takes gpu->lock, and so does the next
 * function. */
ompjit_status ompjit__gpu_fail(ompjit__gpu *gpu, ompjit__gpu_call call,
                               ompjit_error *err, const char *doing, ...)
    OMPJIT__PRINTF(4, 5);
/* The same for the log, where there is nobody to take an error. */
void ompjit__gpu_log(ompjit__gpu *gpu, const char *function, cu_result code,
                     const char *doing);
/* Logs the failure of a call that was to free something. True: it may work yet,
 * since the context is not lost, and all in it with it. */
bool ompjit__gpu_kept(ompjit__gpu *gpu, const char *function, cu_result code,
                      const char *doing);
/* Frees by a function of the driver, by another try where one fails, since
 * nobody asks for it again. */
#define OMPJIT__GPU_DESTROY(gpu, function, what, doing)                      \
    do {                                                                     \
        if (ompjit__gpu_kept(gpu, #function, (gpu)->cu->function(what),      \
                             doing))                                         \
            ompjit__gpu_kept(gpu, #function, (gpu)->cu->function(what),      \
                             doing);                                         \
    } while (0)
/* Takes `item` out of a list of the GPU's. */
#define OMPJIT__GPU_UNLINK(gpu, type, list, item)                            \
    do {                                                                     \
        pthread_mutex_lock(&(gpu)->lock);                                    \
        type **at = &(gpu)->list;                                            \
        while (*at != (item))                                                \
            at = &(*at)->next;                                               \
        *at = (item)->next;                                                  \
        pthread_mutex_unlock(&(gpu)->lock);                                  \
    } while (0)
/* Remembers and says that the context is lost, where `code` means that. Appends
 * to `text`. Takes gpu->lock. */
void ompjit__gpu_note_lost(ompjit__gpu *gpu, cu_result code, const char *doing,
                           ompjit__buf *text);

/* cuda/queue.c: a queue that nobody else uses, for one operation, and its way
 * back. Between enter and leave. The queue may still have work of its last
 * borrower, which comes first. A borrower that has not waited must not give
 * host memory back that its work uses. */
ompjit_status ompjit__gpu_borrow(ompjit__gpu *gpu, ompjit__queue **out,
                                 ompjit_error *err);
void ompjit__gpu_give_back(ompjit__gpu *gpu, ompjit__queue *queue);
/* Waits for a queue, and makes its staging free again. Between enter and leave.
 * May take the queue's lock for the whole wait. cuda/queue.c */
cu_result ompjit__gpu_finish(ompjit__gpu *gpu, ompjit__queue *queue);
/* Waits for a queue that nobody else has. If that fails it waits once more
 * before it says so: work that was left under way would write to memory that
 * the caller takes for its own again. cuda/queue.c */
cu_result ompjit__gpu_await(ompjit__gpu *gpu, ompjit__queue *queue);
/* Frees all queues and events; with `driver`, between enter and leave, also
 * there. By one thread, which has the GPU for itself, as every close function.
 */
void ompjit__gpu_close_queues(ompjit__gpu *gpu, bool driver);
/* The following operations are those of ompjit__queue_ops, ompjit__event_ops
 * and ompjit__native_ops in device/device.h. Each enters and leaves the context
 * itself, and is for any thread. */
ompjit_status ompjit__gpu_queue_create(ompjit_device *dev, ompjit__queue **out,
                                       ompjit_error *err);
ompjit_status ompjit__gpu_queue_adopt(ompjit_device *dev, void *stream,
                                      ompjit__queue **out, ompjit_error *err);
ompjit_status ompjit__gpu_queue_wait(ompjit_device *dev, ompjit__queue *queue,
                                     ompjit_error *err);
void ompjit__gpu_queue_destroy(ompjit_device *dev, ompjit__queue *queue);
ompjit_status ompjit__gpu_event_record(ompjit_device *dev,
                                       ompjit__queue *queue, bool timed,
                                       ompjit__event **event,
                                       ompjit_error *err);
ompjit_status ompjit__gpu_event_wait(ompjit_device *dev, ompjit__event *event,
                                     ompjit_error *err);
ompjit_status ompjit__gpu_event_query(ompjit_device *dev, ompjit__event *event,
                                      bool *done, ompjit_error *err);
ompjit_status ompjit__gpu_event_elapsed(ompjit_device *dev,
                                        ompjit__event *from, ompjit__event *to,
                                        double *seconds, ompjit_error *err);
ompjit_status ompjit__gpu_event_adopt(ompjit_device *dev, void *native,
                                      ompjit__event **out, ompjit_error *err);
ompjit_status ompjit__gpu_event_native(ompjit_device *dev,
                                       ompjit__event **event, void **native,
                                       ompjit_error *err);
ompjit_status ompjit__gpu_queue_after(ompjit_device *dev, ompjit__queue *queue,
                                      ompjit__event *event, ompjit_error *err);
void ompjit__gpu_event_destroy(ompjit_device *dev, ompjit__event *event);

/* Operations of ompjit__device_ops and ompjit__queued_memory_ops. copy.c. Each
 * enters and leaves for itself. Without a queue the work is done, and host
 * memory free, when they return, also after a failure. */
ompjit_status ompjit__gpu_copy(ompjit_device *dev, enum ompjit__copy direction,
                               void *dst, const void *src, size_t size,
                               ompjit__queue *queue, ompjit_error *err);
ompjit_status ompjit__gpu_stage(ompjit_device *dev, ompjit__queue *queue,
                                size_t size, void **room, ompjit_error *err);
ompjit_status ompjit__gpu_copy_peer(ompjit_device *dev, void *dst,
                                    ompjit_device *from, const void *src,
                                    size_t size, ompjit_error *err);

/* staging.c, between enter and leave: page-locked memory for a copy that
 * goes through such. NULL: the driver does it alone, or has failed at this,
 * which *call says. */
ompjit__gpu_pipe *ompjit__gpu_pipe_for(ompjit__gpu *gpu,
                                       enum ompjit__copy direction,
                                       const void *host, size_t size,
                                       ompjit__queue *queue,
                                       ompjit__gpu_call *call);
/* That copy, which takes the memory back: host memory has been read, or
 * written, when it returns. After a failure nothing is under way. */
void ompjit__gpu_pipe_copy(ompjit__gpu *gpu, ompjit__gpu_pipe *pipe,
                           enum ompjit__copy direction, uintptr_t dst,
                           uintptr_t src, size_t size, ompjit__queue *queue,
                           ompjit__gpu_call *call);
/* Frees the memory of all pipes; with `driver`, between enter and leave, also
 * there. */
void ompjit__gpu_close_pipes(ompjit__gpu *gpu, bool driver);

/* peer.c: makes the other's memory readable to the GPU, if it can be, where
 * that was not tried yet. Failures are logged. Both have their contexts;
 * between enter and leave of `gpu`. */
void ompjit__gpu_open_peer(ompjit__gpu *gpu, ompjit__gpu *other);
/* The pool of the GPU's memory, made by the first call and closed with the GPU;
 * NULL: there is none. Between enter and leave, and not under gpu->lock. cuda.c
 */
cu_pool ompjit__gpu_pool(ompjit__gpu *gpu);

/* The operations of ompjit__host_memory_ops, and their end. host_memory.c.
 * Allocation and freeing enter and leave for themselves. A block is the
 * caller's until it is freed, by the same `managed`; close frees what is left.
 */
ompjit_status ompjit__gpu_alloc_host(ompjit_device *dev, size_t size,
                                     bool managed, void **ptr,
                                     ompjit_error *err);
ompjit_status ompjit__gpu_free_host(ompjit_device *dev, void *ptr, bool managed,
                                    ompjit_error *err);
void ompjit__gpu_close_host_memory(ompjit__gpu *gpu, bool driver);
/* Trees of live allocations, whose nodes are the addresses (tsearch). False: no
 * memory, or it was not there. Take the GPU's lock. cuda.c */
bool ompjit__gpu_remember(ompjit__gpu *gpu, void **tree, void *block);
bool ompjit__gpu_forget(ompjit__gpu *gpu, void **tree, void *block);

/* copy.c: the operation of ompjit__device_ops. Waits for the end. */
ompjit_status ompjit__gpu_fill(ompjit_device *dev, void *dst, int value,
                               size_t size, ompjit_error *err);

/* clock.c: before and behind what is put into the queue, between enter and
 * leave, where the context is profiled. `start` may return NULL; else `what`
 * says what it is, with a name that lives as long as the GPU, and `end` ends
 * it, also where it failed. A timing is its thread's between start and end. */
ompjit__gpu_timing *ompjit__gpu_time_start(ompjit__gpu *gpu,
                                           ompjit__queue *queue);
void ompjit__gpu_time_what(ompjit__gpu_timing *timing,
                           enum ompjit__span_kind kind, const char *name,
                           uint64_t bytes);
void ompjit__gpu_time_end(ompjit__gpu *gpu, ompjit__queue *queue,
                          ompjit__gpu_timing *timing, bool well);
/* Tells the profile what has come, or, after waiting, all. Between enter and
 * leave. Takes the clock's lock, and with `wait` holds it until all work that
 * is timed has ended. */
void ompjit__gpu_collect(ompjit__gpu *gpu, bool wait);
/* The operation of ompjit__device_ops: waits, and enters and leaves for itself.
 * Does nothing where no timing waits, also after the driver has ended. */
void ompjit__gpu_settle_times(ompjit_device *dev);
/* Tells all and frees; with `driver` also there, between enter and leave. */
void ompjit__gpu_close_clock(ompjit__gpu *gpu, bool driver);

/* cuda/graph.c */
/* Tells whether the queue's stream records what is put into it, for us or for
 * the application, or may do so: asks the driver. Between enter and leave. */
bool ompjit__gpu_capturing(const ompjit__gpu *gpu, const ompjit__queue *queue);
/* The same, without asking where the stream is ours. Any thread; the answer is
 * only sure for a queue that the caller has for itself. */
bool ompjit__gpu_records(const ompjit__gpu *gpu, ompjit__queue *queue);
/* Operations of ompjit__native_ops and ompjit__graph_ops. */
bool ompjit__gpu_queue_captured(ompjit_device *dev, ompjit__queue *queue);
ompjit_status ompjit__gpu_graph_begin(ompjit_device *dev, ompjit__queue *queue,
                                      ompjit_error *err);
ompjit_status ompjit__gpu_graph_end(ompjit_device *dev, ompjit__queue *queue,
                                    ompjit__graph **out, ompjit_error *err);
ompjit_status ompjit__gpu_graph_run(ompjit_device *dev, ompjit__graph *graph,
                                    ompjit__queue *queue, ompjit_error *err);
void ompjit__gpu_graph_destroy(ompjit_device *dev, ompjit__graph *graph);
/* With `driver`, between enter and leave, also there. */
void ompjit__gpu_close_graphs(ompjit__gpu *gpu, bool driver);

/* kernel.c */

/* The operations on images and kernels, as device.h describes them. */
ompjit_status ompjit__gpu_load(ompjit_device *dev, const ompjit__image *image,
                               ompjit__loaded *base, ompjit__loaded **out,
                               ompjit_error *err);
void ompjit__gpu_unload(ompjit_device *dev, ompjit__loaded *loaded);
ompjit_status ompjit__gpu_symbol(ompjit_device *dev, ompjit__loaded *loaded,
                                 const char *name, void **address,
                                 size_t *size, ompjit_error *err);
ompjit_status ompjit__gpu_function(ompjit_device *dev, ompjit__loaded *loaded,
                                   const char *symbol, ompjit__function **out,
                                   ompjit_error *err);
uint32_t ompjit__gpu_most_threads(const ompjit__function *function);
ompjit_status ompjit__gpu_launch(ompjit_device *dev, ompjit__function *function,
                                 const ompjit__geometry *geometry, void **args,
                                 unsigned nargs, ompjit__queue *queue,
                                 ompjit_error *err);
/* Frees every image there is; with `driver`, between enter and leave, also in
 * the driver. Nobody else uses the GPU. */
void ompjit__gpu_drop_images(ompjit__gpu *gpu, bool driver);

#endif
