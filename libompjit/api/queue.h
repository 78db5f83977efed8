/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Queues of the application and what is recorded from them: queue.c, graph.c,
 * the updates of update.c, and the launches of kernel.c and bound.c that go
 * into one.
 */
#ifndef OMPJIT_QUEUE_H
#define OMPJIT_QUEUE_H

#include "base/fork.h"
#include "launch/launch.h"
#include "ompjit_graph.h"

/* The memory that a launch or an update in the queue uses until it has ended.
 * Owned by the queue, or by the graph that it records. */
typedef struct ompjit__use {
    struct ompjit__use *next;
    ompjit__inflight inflight;
} ompjit__use;

/* One recorded launch or copy, for devices that record nothing themselves. */
typedef struct ompjit__step {
    struct ompjit__step *next;
    ompjit_bound *bound; /* ours; NULL: a copy */
    enum ompjit__copy direction;
    void *dst;
    const void *src;
    size_t size;
} ompjit__step;

/* Either `graph` or steps. Nothing of it changes once it was recorded. Owned by
 * the application; a queue refers to the one that it records. */
struct ompjit_graph {
    ompjit_device *dev;
    ompjit__environment environment; /* that recorded launches share */
    ompjit__graph *graph; /* the device's; NULL: steps */
    ompjit__use *uses;    /* of what it runs: they end with it */
    ompjit__step *first, **end; /* in order; where to add */
};

/* A public queue: the device's, and what its work needs. Any thread may use it,
 * but while it is recorded only the one that began. `lock` comes before the
 * device's own locks. No thread waits for a queue under it; a launch that
 * shares the environment is made under it, and on the host device that runs the
 * kernel. */
struct ompjit_queue {
    ompjit_device *dev;
    ompjit__queue *queue;    /* the device's */
    pthread_mutex_t lock;    /* of what follows */
    ompjit__fork_lock at_fork;
    ompjit__environment environment; /* that its launches share */
    ompjit__use *spare;      /* a few, for the next */
    unsigned nspare;
    ompjit__use *uses;       /* of work since the last wait, the newest first */
    unsigned nuses;
    ompjit_graph *recording; /* NULL: not. Set by the thread that records,
                                which alone may use the queue meanwhile */
    bool adopted;            /* the stream is the application's; set when it is
                                made */
    ompjit__use *captured;   /* of a graph that the application makes of an
                                adopted queue: kept to the queue's end */
};

/* Puts a launch into request->queue; `values` as ompjit__call has them. Errors
 * are those of a launch, and INVALID for another device's queue. `launch` and
 * `args` are used only where the launch is recorded as a step. */
ompjit_status ompjit__queue_launch(ompjit_kernel *kernel, ompjit_device *dev,
                                   const ompjit_launch *launch,
                                   const ompjit_arg *args, unsigned nargs,
                                   const ompjit__request *request,
                                   const uint64_t *values, ompjit_error *err);

/* INVALID: an argument of the public function `who` is NULL. */
ompjit_status ompjit__null_argument(const char *who, ompjit_error *err);
/* INVALID where the queue is another device's or NULL. `who` is the public
 * function that was called. No lock. */
ompjit_status ompjit__queue_check(const char *who, const ompjit_queue *queue,
                                  const ompjit_device *dev, ompjit_error *err);
/* INVALID where the queue is being recorded: what orders queues is no part of a
 * graph. */
ompjit_status ompjit__queue_not_recorded(const char *who, ompjit_queue *queue,
                                         ompjit_error *err);
/* Puts a copy into the queue, or into what it records. INVALID where the queue
 * is NULL, or an end is and there are bytes; else the device's errors. Host
 * memory is read or written until the queue was waited for. */
ompjit_status ompjit__queue_transfer(const char *who, ompjit_queue *queue,
                                     ompjit__step step, ompjit_error *err);
/* Keeps what a launch uses until the queue is waited for, or, where it is
 * recorded, for as long as it may be done again; ends it if that cannot be,
 * after waiting here. Copies *inflight, and owns what it holds from now on,
 * also on failure. Takes the queue's lock; may wait for the queue. */
ompjit_status ompjit__queue_use(ompjit_queue *queue,
                                const ompjit__inflight *inflight,
                                ompjit_error *err);
/* Ends and frees a list; `well` as in ompjit__inflight_end. The caller alone
 * has the list. No lock. */
void ompjit__uses_end(ompjit__use *uses, bool well);
/* The state that a launch in the queue now shares with others; false: with
 * none, since the application records it. *out points into the queue or its
 * graph, and is set in both cases. */
bool ompjit__queue_shares(ompjit_queue *queue, ompjit__sharing *out);

/* True where the queue's work is recorded as steps, by the library. Asked by a
 * thread that may use the queue. */
bool ompjit__records_steps(const ompjit_queue *queue);
/* Adds one; takes `step.bound`, also on failure. Only while
 * ompjit__records_steps. NO_MEMORY is its one error. */
ompjit_status ompjit__step_add(ompjit_queue *queue, ompjit__step step,
                               ompjit_error *err);

/* The same launch once more, with its arguments of now. *out is the caller's,
 * by ompjit_bound_destroy. May build a variant. bound.c */
ompjit_status ompjit__bound_copy(const ompjit_bound *bound, ompjit_bound **out,
                                 ompjit_error *err);

#endif
