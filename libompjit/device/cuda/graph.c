/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CUDA graphs: what is put into a queue between begin and end, captured from
 * its stream, instantiated once and launched as one.
 *
 * The driver puts what goes into a capturing stream into a graph instead of
 * running it, and refuses what would wait for that stream. One instance of an
 * executable graph runs at a time: the driver orders a launch behind the one
 * before it, also in another stream. So what launches of a graph share, such as
 * a reduction buffer, is used by one run at a time.
 */
#include <stdlib.h>

#include "device/cuda/cuda.h"

/* Only the executable graph is kept: the captured one is discarded as soon as
 * it was instantiated. */
struct ompjit__graph {
    ompjit__graph *next; /* of the GPU's, under its lock */
    cu_graph_exec exec;
    const char *kernel; /* its last; NULL: it has none */
};

static ompjit_status fail(ompjit__gpu *gpu, const char *function,
                          cu_result code, ompjit_error *err)
{
    ompjit__gpu_call call = {OMPJIT_STAGE_LAUNCH, function, code};
    return ompjit__gpu_fail(gpu, call, err, "recording a graph");
}

/* Accepts NULL, as a failed capture leaves it. */
static void discard(ompjit__gpu *gpu, cu_graph captured)
{
    if (captured)
        OMPJIT__GPU_DESTROY(gpu, cuGraphDestroy, captured,
                            "recording a graph");
}

/* A failure counts as yes: a queue that may be recording is treated with the
 * care that recorded ones need. Drivers without the function cannot capture. */
bool ompjit__gpu_capturing(const ompjit__gpu *gpu, const ompjit__queue *queue)
{
    unsigned status = OMPJIT__CU_STREAM_CAPTURE_STATUS_NONE;
    if (!gpu->cu->cuStreamIsCapturing)
        return false;
    return gpu->cu->cuStreamIsCapturing(queue->stream, &status) ||
           status != OMPJIT__CU_STREAM_CAPTURE_STATUS_NONE;
}

/* A stream of ours records only between our begin and end; a lent one may be
 * captured by its owner at any time. */
bool ompjit__gpu_records(const ompjit__gpu *gpu, ompjit__queue *queue)
{
    return atomic_load_explicit(&queue->recording, memory_order_relaxed) ||
           (queue->foreign && ompjit__gpu_capturing(gpu, queue));
}

/* The queue belongs to the caller, so nobody ends a capture meanwhile. True
 * where that cannot be found out: the caller then keeps what it need not. */
bool ompjit__gpu_queue_captured(ompjit_device *dev, ompjit__queue *queue)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_error err;
    if (ompjit__gpu_enter(gpu, &err)) {
        ompjit__log(gpu->ctx, "%s", err.text);
        return true; /* perhaps */
    }
    bool captured = ompjit__gpu_capturing(gpu, queue);
    if (ompjit__gpu_leave(gpu, OMPJIT_OK, &err))
        ompjit__log(gpu->ctx, "%s", err.text);
    return captured;
}

/* If the driver fails to, once more, without a graph: a queue that captures is
 * of no more use. The result is the first try's. Clears `recording` in any
 * case. */
static cu_result end_capture(ompjit__gpu *gpu, ompjit__queue *queue,
                             cu_graph *captured)
{
    cu_graph dropped = NULL;
    cu_result r = gpu->cu->cuStreamEndCapture(queue->stream, captured);
    cu_result again =
        r ? gpu->cu->cuStreamEndCapture(queue->stream, &dropped) : OMPJIT_OK;
    discard(gpu, dropped);
    queue->spoiled = again && ompjit__gpu_capturing(gpu, queue);
    atomic_store(&queue->recording, false);
    return r;
}

/* Ends a recording that somebody has been told to have failed. The thread has
 * left the context already, so it enters once more. */
static void abandon(ompjit__gpu *gpu, ompjit__queue *queue)
{
    ompjit_error err;
    cu_graph captured = NULL;
    ompjit_status status = ompjit__gpu_enter(gpu, &err);
    if (!status) {
        end_capture(gpu, queue, &captured);
        discard(gpu, captured);
        status = ompjit__gpu_leave(gpu, OMPJIT_OK, &err);
    }
    if (status)
        ompjit__log(gpu->ctx, "%s", err.text);
}

/* A driver has all that graphs need, or there are none. */
static bool has_graphs(const ompjit__cuda *cu)
{
    return cu->cuStreamBeginCapture && cu->cuStreamEndCapture &&
           cu->cuGraphInstantiateWithFlags && cu->cuGraphLaunch &&
           cu->cuGraphExecDestroy && cu->cuGraphDestroy;
}

/* The caller has waited for the queue (api/graph.c): earlier work is no part of
 * the graph. `kernel` is cleared so that end knows which one was recorded last.
 */
ompjit_status ompjit__gpu_graph_begin(ompjit_device *dev, ompjit__queue *queue,
                                      ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    if (!has_graphs(gpu->cu))
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LAUNCH,
                            "graphs on cuda:%u: this driver is older than "
                            "CUDA 11.4",
                            gpu->ordinal);
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    /* RELAXED: other threads may go on calling what is not allowed in a
     * capture, since this library's own streams are not the captured one. */
    cu_result r = gpu->cu->cuStreamBeginCapture(
        queue->stream, OMPJIT__CU_STREAM_CAPTURE_MODE_RELAXED);
    if (r)
        status = fail(gpu, "cuStreamBeginCapture", r, err);
    else
        atomic_store(&queue->recording, true);
    atomic_store(&queue->kernel, NULL);
    bool begun = !status;
    status = ompjit__gpu_leave(gpu, status, err);
    if (status && begun)
        abandon(gpu, queue);
    return status;
}

/* `captured` stays the caller's. The driver checks the graph here, so this is
 * where a wrong one fails. */
static ompjit_status instantiate(ompjit__gpu *gpu, cu_graph captured,
                                 ompjit__graph **out, ompjit_error *err)
{
    ompjit__graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    cu_result r =
        gpu->cu->cuGraphInstantiateWithFlags(&graph->exec, captured, 0);
    if (r) {
        free(graph);
        return fail(gpu, "cuGraphInstantiateWithFlags", r, err);
    }
    pthread_mutex_lock(&gpu->lock);
    graph->next = gpu->graphs;
    gpu->graphs = graph;
    pthread_mutex_unlock(&gpu->lock);
    *out = graph;
    return OMPJIT_OK;
}

/* The driver keeps what a run that is under way needs. Takes the GPU's lock.
 * graph->next is only used within it. */
static void drop(ompjit__gpu *gpu, ompjit__graph *graph, bool driver)
{
    OMPJIT__GPU_UNLINK(gpu, ompjit__graph, graphs, graph);
    if (driver)
        OMPJIT__GPU_DESTROY(gpu, cuGraphExecDestroy, graph->exec,
                            "destroying a graph");
    free(graph);
}

/* The stream is an ordinary one again when this returns, unless end_capture has
 * found it spoiled. A graph that was made although the context could not be
 * left is destroyed: *out is set on success only. */
ompjit_status ompjit__gpu_graph_end(ompjit_device *dev, ompjit__queue *queue,
                                    ompjit__graph **out, ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    cu_graph captured = NULL;
    ompjit__graph *graph = NULL;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status) {
        abandon(gpu, queue);
        return status;
    }
    cu_result r = end_capture(gpu, queue, &captured);
    if (r)
        status = fail(gpu, "cuStreamEndCapture", r, err);
    else
        status = instantiate(gpu, captured, &graph, err);
    if (graph)
        graph->kernel = atomic_load(&queue->kernel);
    discard(gpu, captured);
    status = ompjit__gpu_leave(gpu, status, err);
    if (!status)
        *out = graph;
    else if (graph)
        ompjit__gpu_graph_destroy(dev, graph);
    return status;
}

/* The whole graph is one span of the profile, named by its last kernel. */
ompjit_status ompjit__gpu_graph_run(ompjit_device *dev, ompjit__graph *graph,
                                    ompjit__queue *queue, ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    ompjit__gpu_timing *timing =
        gpu->ctx->spans ? ompjit__gpu_time_start(gpu, queue) : NULL;
    ompjit__gpu_call call = {
        OMPJIT_STAGE_LAUNCH, "cuGraphLaunch",
        gpu->cu->cuGraphLaunch(graph->exec, queue->stream)};
    if (timing) {
        ompjit__gpu_time_what(timing, OMPJIT__SPAN_GRAPH,
                              graph->kernel ? graph->kernel : "copies", 0);
        ompjit__gpu_time_end(gpu, queue, timing, !call.code);
    }
    if (call.code)
        status = ompjit__gpu_fail(gpu, call, err, "running a graph");
    return ompjit__gpu_leave(gpu, status, err);
}

/* One that cannot be destroyed now is left to close. */
void ompjit__gpu_graph_destroy(ompjit_device *dev, ompjit__graph *graph)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_error err;
    if (!graph || !ompjit__gpu_usable(gpu))
        return;
    ompjit_status status = ompjit__gpu_enter(gpu, &err);
    if (!status) {
        drop(gpu, graph, true);
        status = ompjit__gpu_leave(gpu, OMPJIT_OK, &err);
    }
    if (status)
        ompjit__log(gpu->ctx, "%s", err.text);
}

void ompjit__gpu_close_graphs(ompjit__gpu *gpu, bool driver)
{
    while (gpu->graphs)
        drop(gpu, gpu->graphs, driver);
}
