/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_graph.h - order in queues, events and graphs. The conventions of
 * ompjit.h hold.
 */
#ifndef OMPJIT_GRAPH_H
#define OMPJIT_GRAPH_H

#include "ompjit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- queues */

/* A queue on the application's own CUstream of the device's primary context,
 * which stays the application's and must live as long. While the application
 * captures it, what is put into the queue becomes part of its graph, as of one
 * of ompjit_graph_begin: copies read host memory at each run, and the graph is
 * not run after the queue's end, before which nothing that it uses is freed.
 * UNAVAILABLE on the host device. */
ompjit_status ompjit_queue_adopt(ompjit_device *dev, void *stream,
                                 ompjit_queue **queue, ompjit_error *err);
/* The queue's CUstream; NULL on the host device. */
ompjit_status ompjit_queue_stream(ompjit_queue *queue, void **stream,
                                  ompjit_error *err);
/* Work that is put into `queue` from now on comes after the present work of
 * `other`, a queue of the same device. Nobody waits. INVALID while either is
 * recorded. */
ompjit_status ompjit_queue_after(ompjit_queue *queue, ompjit_queue *other,
                                 ompjit_error *err);
/* Does what `target update` does with `size` bytes of the host's memory that are
 * mapped to the queue's device: they are copied there (`to`) or from there;
 * host memory as above, but for pointers in it that were attached, which both
 * sides keep. Nothing is copied where mapped data is the original. The mapping
 * lasts at least until the queue was waited for, or as long as the graph where
 * the queue is recorded: data that leaves before that (target exit data) is
 * neither copied back nor freed then. MAPPING where not all of it is mapped: a
 * queue allocates nothing, so what a graph uses is entered before it is
 * recorded and leaves when it was destroyed. */
ompjit_status ompjit_queue_update_to(ompjit_queue *queue, const void *host,
                                     size_t size, ompjit_error *err);
ompjit_status ompjit_queue_update_from(ompjit_queue *queue, void *host,
                                       size_t size, ompjit_error *err);

/* ----------------------------------------------------------------- events */

/* A point in a queue: a time, and something to wait for. Made for queues of one
 * device; destroyed before the context, whether it has come or not. */
ompjit_status ompjit_event_create(ompjit_device *dev, ompjit_event **event,
                                  ompjit_error *err);
/* An event that is the application's own CUevent, of the device's primary
 * context, which stays the application's and must live as long. Either side may
 * record it; one that nobody has recorded has come. UNAVAILABLE on the host
 * device. */
ompjit_status ompjit_event_adopt(ompjit_device *dev, void *native,
                                 ompjit_event **event, ompjit_error *err);
/* The event's CUevent, the same as long as the event lives, for the application
 * to wait for or to record, as one that was adopted is; NULL on the host
 * device. */
ompjit_status ompjit_event_native(ompjit_event *event, void **native,
                                  ompjit_error *err);
/* The event comes when all is done that the queue has now. Its earlier meaning
 * is forgotten. INVALID while the queue is recorded, as after_event is.
 */
ompjit_status ompjit_event_record(ompjit_event *event, ompjit_queue *queue,
                                  ompjit_error *err);
/* Waits for it. A failure of what comes before is returned here, or later by
 * the queue. INVALID where it was never recorded, as of the next three. */
ompjit_status ompjit_event_wait(ompjit_event *event, ompjit_error *err);
/* Whether it has come: 1 or 0. */
ompjit_status ompjit_event_query(ompjit_event *event, int *done,
                                 ompjit_error *err);
/* Seconds on the device from one event to another of the same device, to half a
 * microsecond on a GPU. INVALID where either has not come, DRIVER where an
 * adopted one was made without timing or nobody has recorded it. */
ompjit_status ompjit_event_elapsed(ompjit_event *from, ompjit_event *to,
                                   double *seconds, ompjit_error *err);
/* All that is put into `queue`, of the same device, from now on comes after the
 * event. Nobody waits. */
ompjit_status ompjit_queue_after_event(ompjit_queue *queue,
                                       ompjit_event *event, ompjit_error *err);
/* Accepts NULL. */
void ompjit_event_destroy(ompjit_event *event);

/* ----------------------------------------------------------------- graphs */

/* Launches, copies and updates that are put into a queue, recorded once and
 * done many times, on a GPU as one CUDA graph. From begin on they are recorded
 * and not done, with the arguments of that moment; copies and updates read and
 * write host memory each time they are done. No waiting in between; other
 * threads leave the queue alone. Target constructs of a module's functions go
 * into no queue: they are done at once and not recorded. UNAVAILABLE where the
 * CUDA driver is older than 11.4. */
ompjit_status ompjit_graph_begin(ompjit_queue *queue, ompjit_error *err);
/* Ends the recording, also where it fails. */
ompjit_status ompjit_graph_end(ompjit_queue *queue, ompjit_graph **graph,
                               ompjit_error *err);
/* Does what was recorded, in a queue of the same device; NULL: and waits. One
 * run at a time. */
ompjit_status ompjit_graph_run(ompjit_graph *graph, ompjit_queue *queue,
                               ompjit_error *err);
/* After its last run has ended, and before the modules whose kernels it runs or
 * whose variables it updates. Accepts NULL. */
void ompjit_graph_destroy(ompjit_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
