/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Graphs: the device records a queue's work where it can; else the library
 * keeps the launches, bound, and the copies, and does them one by one.
 *
 * A queue records between ompjit_graph_begin and _end, and only the thread that
 * began uses it meanwhile, so queue->recording is set without the lock. A
 * device with graphs of its own (CUDA) records by its driver; a step is the
 * library's own record of one launch or copy, for a device that does its work
 * at once.
 */
#include <stdlib.h>

#include "api/queue.h"

/* `who` is the public function, whose name begins the message. */
static ompjit_status invalid(const char *who, const char *what,
                             ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API, "%s: %s",
                        who, what);
}

/* The queue's own thread asks. */
bool ompjit__records_steps(const ompjit_queue *queue)
{
    return queue->recording && !queue->dev->ops->graphs;
}

/* Copies the step. The bound launch in it belongs to the graph from now on. */
ompjit_status ompjit__step_add(ompjit_queue *queue, ompjit__step step,
                               ompjit_error *err)
{
    ompjit__step *made = malloc(sizeof *made);
    if (!made) {
        ompjit_bound_destroy(step.bound);
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    }
    *made = step;
    made->next = NULL;
    pthread_mutex_lock(&queue->lock);
    *queue->recording->end = made;
    queue->recording->end = &made->next;
    pthread_mutex_unlock(&queue->lock);
    return OMPJIT_OK;
}

/* ---------------------------------------------------------------- recording */

/* Waits for the work that the queue has: it is no part of the graph. An error
 * of that work is returned here, and nothing is recorded then. */
ompjit_status ompjit_graph_begin(ompjit_queue *queue, ompjit_error *err)
{
    if (!queue)
        return invalid(__func__, "no queue", err);
    if (queue->recording)
        return invalid(__func__, "the queue is being recorded", err);
    ompjit_device *dev = queue->dev;
    ompjit_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    graph->dev = dev;
    graph->end = &graph->first;
    ompjit_status status = ompjit_queue_wait(queue, err);
    if (!status && dev->ops->graphs)
        status = dev->ops->graphs->begin(dev, queue->queue, err);
    if (status)
        free(graph);
    else
        queue->recording = graph;
    return status;
}

/* The queue records no more afterwards, whatever the result. On failure all
 * that was recorded is freed; *graph is set on success only. */
ompjit_status ompjit_graph_end(ompjit_queue *queue, ompjit_graph **graph,
                               ompjit_error *err)
{
    if (!queue || !graph)
        return invalid(__func__, "no queue, or no place for the graph", err);
    ompjit_graph *made = queue->recording;
    ompjit_device *dev = queue->dev;
    if (!made)
        return invalid(__func__, "the queue is not being recorded", err);
    ompjit_status status = OMPJIT_OK;
    if (dev->ops->graphs)
        status = dev->ops->graphs->end(dev, queue->queue, &made->graph, err);
    queue->recording = NULL;
    if (status)
        ompjit_graph_destroy(made);
    else
        *graph = made;
    return status;
}

/* The caller makes sure that no run is under way. Whether the last run ended
 * well is not known here, so the environment is not kept for other launches.
 * The device's graph goes first: it refers to the variants' code. */
void ompjit_graph_destroy(ompjit_graph *graph)
{
    if (!graph)
        return;
    if (graph->graph)
        graph->dev->ops->graphs->destroy(graph->dev, graph->graph);
    ompjit__uses_end(graph->uses, false);
    ompjit__environment_free(graph->dev, &graph->environment, false);
    for (ompjit__step *step = graph->first, *next; step; step = next) {
        next = step->next;
        ompjit_bound_destroy(step->bound);
        free(step);
    }
    free(graph);
}

/* ------------------------------------------------------------------ running */

/* Launches end before the next step: such a device does its work at once. The
 * first failure ends the run; steps before it have been done. */
static ompjit_status run_steps(const ompjit_graph *graph, ompjit__queue *queue,
                               ompjit_error *err)
{
    ompjit_device *dev = graph->dev;
    ompjit_status status = OMPJIT_OK;
    for (ompjit__step *s = graph->first; s && !status; s = s->next)
        status = s->bound ? ompjit_bound_run(s->bound, err)
                          : dev->ops->copy(dev, s->direction, s->dst, s->src,
                                           s->size, queue, err);
    return status;
}

/* In a queue of its own, to the end. The first error counts. A failed run is
 * waited for all the same, since steps before the failure may be under way. */
static ompjit_status run_alone(ompjit_graph *graph, ompjit_error *err)
{
    ompjit_queue *queue;
    ompjit_error ended;
    ompjit_status status = ompjit_queue_create(graph->dev, &queue, err);
    if (status)
        return status;
    status = ompjit_graph_run(graph, queue, err);
    ompjit_status waited = ompjit_queue_wait(queue, status ? &ended : err);
    ompjit_queue_destroy(queue);
    return status ? status : waited;
}

/* The caller allows one run at a time, since runs share an environment. With a
 * queue it returns when the run was put there, or, where the graph is steps,
 * done. */
ompjit_status ompjit_graph_run(ompjit_graph *graph, ompjit_queue *queue,
                               ompjit_error *err)
{
    if (!graph)
        return invalid(__func__, "no graph", err);
    if (!queue)
        return run_alone(graph, err);
    ompjit_status status =
        ompjit__queue_check(__func__, queue, graph->dev, err);
    if (status)
        return status;
    if (queue->recording)
        return invalid(__func__, "the queue is being recorded", err);
    if (!graph->graph)
        return run_steps(graph, queue->queue, err);
    return graph->dev->ops->graphs->run(graph->dev, graph->graph, queue->queue,
                                        err);
}
