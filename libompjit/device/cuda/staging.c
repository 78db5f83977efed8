/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Long copies of pageable memory, in pieces through page-locked memory: while
 * one piece is on its way, the thread copies the next to it or the one before
 * from it. The driver, which can do the same, may wait for the stream before it
 * begins (CUDA Driver API, "API synchronization behavior"); here the thread
 * waits only for what it needs, and the device reads and writes nothing but
 * page-locked memory, beside which kernels of other queues go on.
 *
 * A copy to the device waits until a half is free, fills it and sends it. A
 * copy from the device asks for both halves, then empties one while the other
 * comes. Pipes are kept by the GPU and used by one copy at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda.h"

/* Two, so that one is on its way and the other with the thread. */
enum { HALVES = 2, LEAST_PIECE = 64 << 10 };

/* Page-locked memory is the whole machine's: threads that find so many at work
 * leave their copies to the driver. */
enum { MOST_PIPES = 16 };

/* The page-locked memory of one copy at a time. Owned by one thread between
 * take_pipe and give_pipe, and else in gpu->pipes. */
struct ompjit__gpu_pipe {
    ompjit__gpu_pipe *next;
    char *memory;
    size_t half;           /* bytes of each                                */
    cu_event done[HALVES]; /* comes when a queue needs the half no more    */
    bool used[HALVES];     /* the event was recorded and not waited for    */
};

/* ------------------------------------------------------------------ pipes */

/* Takes a half-made pipe too. Without `driver` only this process's memory. */
static void free_pipe(ompjit__gpu *gpu, ompjit__gpu_pipe *pipe, bool driver)
{
    for (int i = 0; driver && i < HALVES; i++)
        if (pipe->done[i])
            OMPJIT__GPU_DESTROY(gpu, cuEventDestroy, pipe->done[i],
                                "destroying an event");
    if (driver && pipe->memory)
        OMPJIT__GPU_DESTROY(gpu, cuMemFreeHost, pipe->memory,
                            "freeing page-locked memory");
    free(pipe);
}

/* Halves are whole pages. Between enter and leave. NULL: *call says why. */
static ompjit__gpu_pipe *new_pipe(ompjit__gpu *gpu, ompjit__gpu_call *call)
{
    ompjit__gpu_pipe *pipe = calloc(1, sizeof *pipe);
    if (!pipe) {
        call->function = "calloc";
        call->code = OMPJIT__CUDA_OUT_OF_MEMORY;
        return NULL;
    }
    void *memory = NULL;
    pipe->half = gpu->ctx->staging / HALVES / 4096 * 4096;
    call->function = "cuMemAllocHost";
    call->code = gpu->cu->cuMemAllocHost(&memory, pipe->half * HALVES);
    pipe->memory = memory;
    for (int i = 0; i < HALVES && !call->code; i++) {
        call->function = "cuEventCreate";
        call->code = gpu->cu->cuEventCreate(&pipe->done[i],
                                            OMPJIT__CU_EVENT_DISABLE_TIMING);
    }
    if (!call->code)
        return pipe;
    free_pipe(gpu, pipe, true);
    return NULL;
}

/* NULL: all that there may be are used, or one could not be made. npipes is
 * raised before the pipe is made, and taken back where that fails: making one
 * takes long, and is not done under the lock. */
static ompjit__gpu_pipe *take_pipe(ompjit__gpu *gpu, ompjit__gpu_call *call)
{
    pthread_mutex_lock(&gpu->lock);
    ompjit__gpu_pipe *pipe = gpu->pipes;
    bool more = !pipe && gpu->npipes < MOST_PIPES;
    if (pipe)
        gpu->pipes = pipe->next;
    gpu->npipes += more;
    pthread_mutex_unlock(&gpu->lock);
    if (!more || (pipe = new_pipe(gpu, call)))
        return pipe;
    pthread_mutex_lock(&gpu->lock);
    gpu->npipes--;
    pthread_mutex_unlock(&gpu->lock);
    return NULL;
}

/* Copies may still be on their way through it: its events tell the next user.
 */
static void give_pipe(ompjit__gpu *gpu, ompjit__gpu_pipe *pipe)
{
    pthread_mutex_lock(&gpu->lock);
    pipe->next = gpu->pipes;
    gpu->pipes = pipe;
    pthread_mutex_unlock(&gpu->lock);
}

/* Queues have been waited for, so no copy uses a pipe. */
void ompjit__gpu_close_pipes(ompjit__gpu *gpu, bool driver)
{
    while (gpu->pipes) {
        ompjit__gpu_pipe *pipe = gpu->pipes;
        gpu->pipes = pipe->next;
        free_pipe(gpu, pipe, driver);
    }
}

/* ----------------------------------------------------------------- pieces */

/* One copy through a pipe. */
typedef struct through {
    ompjit__gpu *gpu;
    ompjit__gpu_pipe *pipe;
    cu_stream stream;
    size_t piece; /* bytes of each but the last */
    ompjit__gpu_call *call;
} through;

/* Waits until no queue needs the half. A half may still be in use by the last
 * copy through the pipe, in another stream: its event, not this stream, is
 * waited for. It stays in use where waiting fails. */
static bool await_half(const through *t, int i)
{
    if (!t->pipe->used[i])
        return true;
    t->call->function = "cuEventSynchronize";
    t->call->code = t->gpu->cu->cuEventSynchronize(t->pipe->done[i]);
    t->pipe->used[i] = t->call->code != 0;
    return !t->call->code;
}

/* The queue has got a copy that needs the half, if that went well. The event
 * comes behind the copy in the stream. False: call->code says why. */
static bool note_use(const through *t, int i)
{
    if (t->call->code)
        return false;
    t->call->function = "cuEventRecord";
    t->call->code = t->gpu->cu->cuEventRecord(t->pipe->done[i], t->stream);
    t->pipe->used[i] = !t->call->code;
    return !t->call->code;
}

/* One piece by half i; false: call->code says why. So `ask` and `take`. */
static bool send(const through *t, int i, uintptr_t dst, const char *src,
                 size_t size)
{
    char *room = t->pipe->memory + (size_t)i * t->pipe->half;
    if (!await_half(t, i))
        return false;
    memcpy(room, src, size);
    t->call->function = "cuMemcpyHtoDAsync";
    t->call->code =
        t->gpu->cu->cuMemcpyHtoDAsync(dst, room, size, t->stream);
    return note_use(t, i);
}

/* Starts one piece's way from the device; `take` ends it. */
static bool ask(const through *t, int i, uintptr_t src, size_t size)
{
    char *room = t->pipe->memory + (size_t)i * t->pipe->half;
    if (!await_half(t, i))
        return false;
    t->call->function = "cuMemcpyDtoHAsync";
    t->call->code =
        t->gpu->cu->cuMemcpyDtoHAsync(room, src, size, t->stream);
    return note_use(t, i);
}

/* The piece's event has come: the half has the data. */
static bool take(const through *t, int i, char *dst, size_t size)
{
    if (!await_half(t, i))
        return false;
    memcpy(dst, t->pipe->memory + (size_t)i * t->pipe->half, size);
    return true;
}

/* The last piece may be shorter. */
static size_t length(const through *t, size_t size, size_t at)
{
    return size - at < t->piece ? size - at : t->piece;
}

/* Pieces use the halves by turns. */
static int half_of(const through *t, size_t at)
{
    return (int)(at / t->piece % HALVES);
}

/* When this returns the last pieces may be on their way, but the source has
 * been read. Stops at the first failure. */
static void copy_to(const through *t, uintptr_t dst, const char *src,
                    size_t size)
{
    for (size_t at = 0; at < size; at += t->piece)
        if (!send(t, half_of(t, at), dst + at, src + at, length(t, size, at)))
            return;
}

/* Both halves are asked for before the first is waited for. So the GPU always
 * has a piece to send while the thread empties the other half. */
static void copy_from(const through *t, char *dst, uintptr_t src, size_t size)
{
    size_t asked = 0;
    for (size_t at = 0; at < size; at += t->piece) {
        for (; asked < size && asked - at < HALVES * t->piece;
             asked += t->piece)
            if (!ask(t, half_of(t, asked), src + asked,
                     length(t, size, asked)))
                return;
        if (!take(t, half_of(t, at), dst + at, length(t, size, at)))
            return;
    }
}

/* Short ones where the copy is not much longer, so that it has several. A
 * quarter of the copy, in whole pages, but LEAST_PIECE at least and a half of
 * the pipe at most. */
static size_t piece_of(const ompjit__gpu_pipe *pipe, size_t size)
{
    size_t piece = (size / 4 + 4095) / 4096 * 4096;
    piece = piece < LEAST_PIECE ? LEAST_PIECE : piece;
    return piece < pipe->half ? piece : pipe->half;
}

/* -------------------------------------------------------------- operation */

/* Page-locked and managed memory is known to the driver, other memory not.
 * INVALID_VALUE is the driver's answer for memory that it does not know. Any
 * other failure goes to *call. */
static bool is_pageable(const ompjit__gpu *gpu, const void *host,
                        ompjit__gpu_call *call)
{
    unsigned type = 0;
    cu_result r = gpu->cu->cuPointerGetAttribute(
        &type, OMPJIT__CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)host);
    if (r == OMPJIT__CUDA_INVALID_VALUE)
        return true;
    call->function = "cuPointerGetAttribute";
    call->code = r;
    return !r && !type;
}

/* No pipe for copies within the device, short ones, GPUs that read host memory
 * by the host's page tables, and queues that record: a recorded copy is done
 * again later, when the pipe is somebody else's. OMPJIT_STAGING=0 switches
 * pipes off. */
ompjit__gpu_pipe *ompjit__gpu_pipe_for(ompjit__gpu *gpu,
                                       enum ompjit__copy direction,
                                       const void *host, size_t size,
                                       ompjit__queue *queue,
                                       ompjit__gpu_call *call)
{
    if (direction == OMPJIT__COPY_ON || size <= OMPJIT__LONG_COPY ||
        !gpu->ctx->staging || gpu->facts.host_tables ||
        ompjit__gpu_records(gpu, queue) || !is_pageable(gpu, host, call))
        return NULL;
    return take_pipe(gpu, call);
}

/* After a failure it waits for the stream, so that nothing reads or writes the
 * pipe any more; where even that fails the events keep guarding it. */
void ompjit__gpu_pipe_copy(ompjit__gpu *gpu, ompjit__gpu_pipe *pipe,
                           enum ompjit__copy direction, uintptr_t dst,
                           uintptr_t src, size_t size, ompjit__queue *queue,
                           ompjit__gpu_call *call)
{
    through t = {gpu, pipe, queue->stream, piece_of(pipe, size), call};
    if (direction == OMPJIT__COPY_TO)
        copy_to(&t, dst, (const char *)src, size);
    else
        copy_from(&t, (char *)dst, src, size);
    if (call->code && !ompjit__gpu_await(gpu, queue))
        pipe->used[0] = pipe->used[1] = false;
    give_pipe(gpu, pipe);
}
