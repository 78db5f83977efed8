/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Copies and fills on a GPU. All go through streams: the driver's synchronous
 * copies may return before the data has arrived, and order nothing with the
 * streams in which kernels run. Small pieces of pageable memory are put into
 * page-locked memory of the queue first; from elsewhere the driver would wait
 * for the stream before it reads them. Long ones are staging.c's.
 *
 * Every copy is timed twice where the context is profiled: by the host's clock
 * around the call (SPAN_COPY), and by the GPU's own (SPAN_TRANSFER).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context/profile.h"
#include "device/cuda/cuda.h"

/* For a construct's block in both directions, and small copies beside it. */
enum { STAGING = 3 * OMPJIT__MOST_STAGED };

/* For messages; the operands are always source, then destination. */
static const char *const ends_format[] = {
    [OMPJIT__COPY_TO] = "the host's %p to the device's %p",
    [OMPJIT__COPY_FROM] = "the device's %p to the host's %p",
    [OMPJIT__COPY_ON] = "the device's %p to the device's %p",
};

/* As ompjit__copy_names. */
static const char peer_name[] = "from another device", fill_name[] = "fill";

/* NULL: nobody profiles, or this cannot be timed. time_end takes NULL. */
static ompjit__gpu_timing *time_start(ompjit__gpu *gpu, ompjit__queue *queue)
{
    return gpu->ctx->spans ? ompjit__gpu_time_start(gpu, queue) : NULL;
}

static void time_end(ompjit__gpu *gpu, ompjit__queue *queue,
                     ompjit__gpu_timing *timing, const char *name,
                     size_t size, bool well)
{
    if (!timing)
        return;
    ompjit__gpu_time_what(timing, OMPJIT__SPAN_TRANSFER, name, size);
    ompjit__gpu_time_end(gpu, queue, timing, well);
}

/* Starts a copy; the function's name goes to call->function. Between enter and
 * leave. The code goes to call->code. A copy of pageable memory may be done
 * before this returns, or may not: the driver decides ("API synchronization
 * behavior"). */
static void start_copy(ompjit__gpu *gpu, enum ompjit__copy direction,
                       uintptr_t dst, uintptr_t src, size_t size,
                       ompjit__queue *queue, ompjit__gpu_call *call)
{
    const ompjit__cuda *cu = gpu->cu;
    ompjit__gpu_timing *timing = time_start(gpu, queue);
    cu_stream stream = queue->stream;
    switch (direction) {
    case OMPJIT__COPY_TO:
        call->function = "cuMemcpyHtoDAsync";
        call->code = cu->cuMemcpyHtoDAsync(dst, (void *)src, size, stream);
        break;
    case OMPJIT__COPY_FROM:
        call->function = "cuMemcpyDtoHAsync";
        call->code = cu->cuMemcpyDtoHAsync((void *)dst, src, size, stream);
        break;
    case OMPJIT__COPY_ON:
        call->function = "cuMemcpyDtoDAsync";
        call->code = cu->cuMemcpyDtoDAsync(dst, src, size, stream);
        break;
    }
    time_end(gpu, queue, timing, ompjit__copy_names[direction], size,
             !call->code);
}

/* Between enter and leave, and under the queue's lock, as what follows. The
 * memory stays until the queue is freed. call->code says why there is none. */
static void make_staging(ompjit__gpu *gpu, ompjit__queue *queue,
                         ompjit__gpu_call *call)
{
    void *memory = NULL;
    call->function = "cuMemAllocHost";
    call->code = gpu->cu->cuMemAllocHost(&memory, STAGING);
    if (!call->code)
        queue->staging = memory;
}

/* NULL: the staging has no more. Pieces begin at multiples of 16 bytes. Pieces
 * are not given back one by one: `staged` goes back to 0 as a whole, when the
 * stream has been waited for. */
static void *take_room(ompjit__queue *queue, size_t size)
{
    if (queue->staged + size > STAGING)
        return NULL;
    void *room = queue->staging + queue->staged;
    queue->staged += (size + 15) / 16 * 16;
    return room;
}

/* Room in the queue's staging; waits for what it has where it is full. Waits
 * under the queue's lock: another thread that put a copy into the staging now
 * would be overwritten. NULL: call->code says why. */
static void *make_room(ompjit__gpu *gpu, ompjit__queue *queue, size_t size,
                       ompjit__gpu_call *call)
{
    if (!queue->staging)
        make_staging(gpu, queue, call);
    if (call->code)
        return NULL;
    void *room = take_room(queue, size);
    if (room)
        return room;
    call->function = "cuStreamSynchronize";
    call->code = gpu->cu->cuStreamSynchronize(queue->stream);
    if (call->code)
        return NULL;
    queue->staged = 0;
    return take_room(queue, size);
}

/* The caller may change `src` as soon as this returns (OMPJIT__SMALL_COPY). */
static void copy_small(ompjit__gpu *gpu, uintptr_t dst, const void *src,
                       size_t size, ompjit__queue *queue,
                       ompjit__gpu_call *call)
{
    pthread_mutex_lock(&queue->lock);
    void *room = make_room(gpu, queue, size, call);
    if (room) {
        memcpy(room, src, size);
        start_copy(gpu, OMPJIT__COPY_TO, dst, (uintptr_t)room, size, queue,
                   call);
    }
    pthread_mutex_unlock(&queue->lock);
}

/* Is it page-locked memory of the queue's already? That is memory that `stage`
 * has given. One unsigned comparison covers both ends. */
static bool is_staged(const ompjit__queue *queue, const void *host)
{
    const char *staging = atomic_load(&queue->staging);
    return staging && (uintptr_t)host - (uintptr_t)staging < STAGING;
}

/* Recorded copies read their source each time they are done. So their source
 * must not be staging, which is used again. */
static bool is_small(const ompjit__gpu *gpu, enum ompjit__copy direction,
                     const void *src, size_t size, ompjit__queue *queue)
{
    return direction == OMPJIT__COPY_TO && size <= OMPJIT__SMALL_COPY &&
           !is_staged(queue, src) && !ompjit__gpu_records(gpu, queue);
}

/* Through page-locked memory, by the thread. Timed as one transfer from the
 * first piece to the last. */
static void copy_long(ompjit__gpu *gpu, ompjit__gpu_pipe *pipe,
                      enum ompjit__copy direction, uintptr_t dst,
                      uintptr_t src, size_t size, ompjit__queue *queue,
                      ompjit__gpu_call *call)
{
    ompjit__gpu_timing *timing = time_start(gpu, queue);
    ompjit__gpu_pipe_copy(gpu, pipe, direction, dst, src, size, queue, call);
    time_end(gpu, queue, timing, ompjit__copy_names[direction], size,
             !call->code);
}

/* `queued`: the caller does not wait, so that pageable memory must have been
 * read when this returns, if it is small. The other direction needs no such
 * room: a copy to pageable memory returns when it is done ("API synchronization
 * behavior"). */
static void copy_somehow(ompjit__gpu *gpu, enum ompjit__copy direction,
                         void *dst, const void *src, size_t size,
                         bool queued, ompjit__queue *queue,
                         ompjit__gpu_call *call)
{
    const void *host = direction == OMPJIT__COPY_TO ? src : dst;
    uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;
    if (queued && is_small(gpu, direction, src, size, queue)) {
        copy_small(gpu, to, src, size, queue, call);
        return;
    }
    ompjit__gpu_pipe *pipe =
        ompjit__gpu_pipe_for(gpu, direction, host, size, queue, call);
    if (pipe)
        copy_long(gpu, pipe, direction, to, from, size, queue, call);
    else if (!call->code)
        start_copy(gpu, direction, to, from, size, queue, call);
}

/* For an operation in a queue that was borrowed for it. After it the host
 * memory is the caller's again, also on failure (ompjit__gpu_await). */
static void wait_alone(ompjit__gpu *gpu, ompjit__queue *queue,
                       ompjit__gpu_call *call)
{
    if (call->code)
        return;
    call->function = "cuStreamSynchronize";
    call->code = ompjit__gpu_await(gpu, queue);
    if (!call->code && gpu->ctx->spans)
        ompjit__gpu_collect(gpu, false);
}

/* With `queue` the copy is only put there. Without one it borrows a stream and
 * waits for that stream alone: the device's other work goes on. The error names
 * the queue's last kernel, since its failure is what the driver reports at the
 * next call. */
static ompjit_status copy(ompjit_device *dev, enum ompjit__copy direction,
                          void *dst, const void *src, size_t size,
                          ompjit__queue *queue, ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    if (!size)
        return OMPJIT_OK;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    ompjit__queue *q = queue;
    if (!q && (status = ompjit__gpu_borrow(gpu, &q, err)))
        return ompjit__gpu_leave(gpu, status, err);

    ompjit__gpu_call call = {.stage = OMPJIT_STAGE_MAP};
    copy_somehow(gpu, direction, dst, src, size, queue != NULL, q, &call);
    if (!queue) {
        wait_alone(gpu, q, &call);
        ompjit__gpu_give_back(gpu, q);
    }
    if (call.code) {
        char ends[96];
        const char *kernel = queue ? atomic_load(&queue->kernel) : NULL;
        snprintf(ends, sizeof ends, ends_format[direction], src, dst);
        status = ompjit__gpu_fail(gpu, call, err,
                                  "copying %zu bytes from %s%s%s%s", size, ends,
                                  kernel ? ", behind kernel " : "",
                                  kernel ? kernel : "", kernel ? "," : "");
    }
    return ompjit__gpu_leave(gpu, status, err);
}

/* Page-locked room for `size` bytes, or NULL in *room where the staging is
 * full: the caller waits for its queue, or copies without. Nothing in the queue
 * uses the room yet when this returns, so a wait by another thread would give
 * it away again: only one thread may use a queue for which this is called. */
ompjit_status ompjit__gpu_stage(ompjit_device *dev, ompjit__queue *queue,
                                size_t size, void **room, ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&queue->lock);
    if (!queue->staging && !(status = ompjit__gpu_enter(gpu, err))) {
        ompjit__gpu_call call = {.stage = OMPJIT_STAGE_MAP};
        make_staging(gpu, queue, &call);
        if (call.code)
            status = ompjit__gpu_fail(gpu, call, err,
                                      "allocating %d bytes of page-locked "
                                      "memory", STAGING);
        status = ompjit__gpu_leave(gpu, status, err);
    }
    void *taken = status ? NULL : take_room(queue, size);
    pthread_mutex_unlock(&queue->lock);
    if (!status)
        *room = taken;
    return status;
}

ompjit_status ompjit__gpu_copy(ompjit_device *dev, enum ompjit__copy direction,
                               void *dst, const void *src, size_t size,
                               ompjit__queue *queue, ompjit_error *err)
{
    const char *name = ompjit__copy_names[direction];
    uint64_t begin = ompjit__span_begin(dev->ctx, name);
    ompjit_status status = copy(dev, direction, dst, src, size, queue, err);
    ompjit__span_end(dev->ctx, OMPJIT__SPAN_COPY, name, begin, size);
    return status;
}

/* The other GPU's context has to be there. cuMemcpyPeerAsync takes both
 * contexts, and enter retains only one. */
static ompjit_status wake(ompjit__gpu *gpu, ompjit_error *err)
{
    if (atomic_load(&gpu->context))
        return OMPJIT_OK;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    return status ? status : ompjit__gpu_leave(gpu, OMPJIT_OK, err);
}

/* In a stream of the GPU that receives. Waits for the end, so that the caller
 * may free the source. */
static ompjit_status copy_peer(ompjit__gpu *gpu, void *dst,
                               ompjit__gpu *other, const void *src,
                               size_t size, ompjit_error *err)
{
    ompjit__queue *q;
    ompjit_status status = size ? wake(other, err) : OMPJIT_OK;
    if (status || !size || (status = ompjit__gpu_enter(gpu, err)))
        return status;
    if ((status = ompjit__gpu_borrow(gpu, &q, err)))
        return ompjit__gpu_leave(gpu, status, err);
    ompjit__gpu_open_peer(gpu, other);
    ompjit__gpu_timing *timing = time_start(gpu, q);
    ompjit__gpu_call call = {
        OMPJIT_STAGE_MAP, "cuMemcpyPeerAsync",
        gpu->cu->cuMemcpyPeerAsync((uintptr_t)dst, gpu->context,
                                   (uintptr_t)src, other->context, size,
                                   q->stream)};
    time_end(gpu, q, timing, peer_name, size, !call.code);
    wait_alone(gpu, q, &call);
    ompjit__gpu_give_back(gpu, q);
    if (call.code)
        status = ompjit__gpu_fail(gpu, call, err,
                                  "copying %zu bytes from %p on cuda:%u to %p",
                                  size, src, other->ordinal, dst);
    return ompjit__gpu_leave(gpu, status, err);
}

ompjit_status ompjit__gpu_copy_peer(ompjit_device *dev, void *dst,
                                    ompjit_device *from, const void *src,
                                    size_t size, ompjit_error *err)
{
    uint64_t begin = ompjit__span_begin(dev->ctx, peer_name);
    ompjit_status status =
        copy_peer(dev->state, dst, from->state, src, size, err);
    ompjit__span_end(dev->ctx, OMPJIT__SPAN_COPY, peer_name, begin, size);
    return status;
}

/* `value` is one byte, repeated. Waits for the end. */
static ompjit_status fill(ompjit__gpu *gpu, void *dst, int value, size_t size,
                          ompjit_error *err)
{
    ompjit__queue *q;
    ompjit_status status = size ? ompjit__gpu_enter(gpu, err) : OMPJIT_OK;
    if (status || !size)
        return status;
    if ((status = ompjit__gpu_borrow(gpu, &q, err)))
        return ompjit__gpu_leave(gpu, status, err);
    ompjit__gpu_timing *timing = time_start(gpu, q);
    ompjit__gpu_call call = {
        OMPJIT_STAGE_MAP, "cuMemsetD8Async",
        gpu->cu->cuMemsetD8Async((uintptr_t)dst, (unsigned char)value, size,
                                 q->stream)};
    time_end(gpu, q, timing, fill_name, size, !call.code);
    wait_alone(gpu, q, &call);
    ompjit__gpu_give_back(gpu, q);
    if (call.code)
        status = ompjit__gpu_fail(gpu, call, err, "filling %zu bytes at %p",
                                  size, dst);
    return ompjit__gpu_leave(gpu, status, err);
}

ompjit_status ompjit__gpu_fill(ompjit_device *dev, void *dst, int value,
                               size_t size, ompjit_error *err)
{
    uint64_t begin = ompjit__span_begin(dev->ctx, fill_name);
    ompjit_status status = fill(dev->state, dst, value, size, err);
    ompjit__span_end(dev->ctx, OMPJIT__SPAN_COPY, fill_name, begin, size);
    return status;
}
