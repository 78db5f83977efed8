/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An NVIDIA GPU by the CUDA driver: its context, memory, copies and queues.
 * cuda_find.c finds it, cuda_kernel.c has images and launches.
 *
 * The library works in the GPU's primary context, which it shares with the
 * application's own use of CUDA, and pushes it for each operation alone, so
 * that the caller's current context stays what it was. All its work runs in
 * non-blocking streams of its own: it neither waits for the application's
 * streams nor holds them up, and an operation without a queue borrows one, so
 * that host threads do not wait for each other either.
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda.h"

/* ---------------------------------------------------------------- errors */

void ompjit__gpu_note_lost(ompjit__gpu *gpu, cu_result code, const char *doing,
                           ompjit__buf *text)
{
    char before[sizeof gpu->lost];
    if (ompjit__cuda_effect(code) != OMPJIT__CUDA_EFFECT_LOST)
        return;
    pthread_mutex_lock(&gpu->lock);
    memcpy(before, gpu->lost, sizeof before);
    if (!before[0])
        snprintf(gpu->lost, sizeof gpu->lost, "%s", doing);
    pthread_mutex_unlock(&gpu->lock);
    if (before[0])
        ompjit__buf_printf(text, "; the context of cuda:%u was lost when %s",
                           gpu->ordinal, before);
    else
        ompjit__buf_printf(text,
                           "; the context of cuda:%u is lost: nothing more "
                           "can run there in this process",
                           gpu->ordinal);
}

static void describe(ompjit__gpu *gpu, const char *function, cu_result code,
                     const char *doing, ompjit__buf *text)
{
    ompjit__buf_printf(text, "%s on cuda:%u: ", doing, gpu->ordinal);
    ompjit__cuda_describe(gpu->cu, function, code, text);
    ompjit__gpu_note_lost(gpu, code, doing, text);
}

ompjit_status ompjit__gpu_fail(ompjit__gpu *gpu, ompjit__gpu_call call,
                               ompjit_error *err, const char *format, ...)
{
    char doing[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(doing, sizeof doing, format, ap);
    va_end(ap);
    ompjit__buf text = {0};
    describe(gpu, call.function, call.code, doing, &text);
    ompjit_status status =
        ompjit__fail(err, ompjit__cuda_status(call.code), call.stage, "%s",
                     text.data ? text.data : doing);
    ompjit__buf_free(&text);
    return status;
}

void ompjit__gpu_log(ompjit__gpu *gpu, const char *function, cu_result code,
                     const char *doing)
{
    ompjit__buf text = {0};
    describe(gpu, function, code, doing, &text);
    ompjit__log(gpu->ctx, "%s", text.data ? text.data : doing);
    ompjit__buf_free(&text);
}

/* ------------------------------------------------------------ the context */

bool ompjit__gpu_usable(const ompjit__gpu *gpu)
{
    return gpu->pid == getpid();
}

static cu_result retain(ompjit__gpu *gpu)
{
    cu_context context = NULL;
    cu_result r = 0;
    pthread_mutex_lock(&gpu->lock);
    if (!gpu->context) {
        r = gpu->cu->cuDevicePrimaryCtxRetain(&context, gpu->device);
        if (!r)
            gpu->context = context;
    }
    pthread_mutex_unlock(&gpu->lock);
    return r;
}

ompjit_status ompjit__gpu_enter(ompjit__gpu *gpu, ompjit_error *err)
{
    if (!ompjit__gpu_usable(gpu))
        return ompjit__fail(err, OMPJIT_ERR_DRIVER, OMPJIT_STAGE_API,
                            "cuda:%u was found by process %ld: CUDA does not "
                            "work in %ld, forked from it afterwards",
                            gpu->ordinal, (long)gpu->pid, (long)getpid());
    ompjit__gpu_call call = {OMPJIT_STAGE_API, "cuDevicePrimaryCtxRetain",
                             retain(gpu)};
    if (call.code)
        return ompjit__gpu_fail(gpu, call, err, "making the context");
    call.function = "cuCtxPushCurrent";
    call.code = gpu->cu->cuCtxPushCurrent(gpu->context);
    if (call.code)
        return ompjit__gpu_fail(gpu, call, err, "entering the context");
    return OMPJIT_OK;
}

ompjit_status ompjit__gpu_leave(ompjit__gpu *gpu, ompjit_status status,
                                ompjit_error *err)
{
    cu_context popped;
    ompjit__gpu_call call = {OMPJIT_STAGE_API, "cuCtxPopCurrent",
                             gpu->cu->cuCtxPopCurrent(&popped)};
    if (status || !call.code)
        return status;
    return ompjit__gpu_fail(gpu, call, err, "leaving the context");
}

/* ----------------------------------------------------------------- queues */

static ompjit_status new_queue(ompjit__gpu *gpu, ompjit__queue **out,
                               ompjit_error *err)
{
    ompjit__queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    ompjit__gpu_call call = {
        OMPJIT_STAGE_API, "cuStreamCreate",
        gpu->cu->cuStreamCreate(&queue->stream,
                                OMPJIT__CU_STREAM_NON_BLOCKING)};
    if (call.code) {
        free(queue);
        return ompjit__gpu_fail(gpu, call, err, "making a stream");
    }
    pthread_mutex_lock(&gpu->lock);
    queue->next = gpu->queues;
    gpu->queues = queue;
    pthread_mutex_unlock(&gpu->lock);
    *out = queue;
    return OMPJIT_OK;
}

ompjit_status ompjit__gpu_borrow(ompjit__gpu *gpu, ompjit__queue **out,
                                 ompjit_error *err)
{
    pthread_mutex_lock(&gpu->lock);
    ompjit__queue *queue = gpu->idle;
    if (queue) {
        gpu->idle = queue->next_idle;
        queue->kernel[0] = 0;
    }
    pthread_mutex_unlock(&gpu->lock);
    if (!queue)
        return new_queue(gpu, out, err);
    *out = queue;
    return OMPJIT_OK;
}

void ompjit__gpu_give_back(ompjit__gpu *gpu, ompjit__queue *queue)
{
    pthread_mutex_lock(&gpu->lock);
    queue->next_idle = gpu->idle;
    gpu->idle = queue;
    pthread_mutex_unlock(&gpu->lock);
}

static ompjit_status queue_create(ompjit_device *dev, ompjit__queue **out,
                                  ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit__queue *queue;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    status = ompjit__gpu_borrow(gpu, &queue, err);
    if (status)
        return ompjit__gpu_leave(gpu, status, err);
    status = ompjit__gpu_leave(gpu, OMPJIT_OK, err);
    if (status)
        ompjit__gpu_give_back(gpu, queue);
    else
        *out = queue;
    return status;
}

static ompjit_status queue_wait(ompjit_device *dev, ompjit__queue *queue,
                                ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    ompjit__gpu_call call = {OMPJIT_STAGE_LAUNCH, "cuStreamSynchronize",
                             gpu->cu->cuStreamSynchronize(queue->stream)};
    if (call.code) {
        char kernel[sizeof queue->kernel];
        pthread_mutex_lock(&gpu->lock);
        memcpy(kernel, queue->kernel, sizeof kernel);
        pthread_mutex_unlock(&gpu->lock);
        status = ompjit__gpu_fail(gpu, call, err,
                                  "waiting for a queue, whose last kernel is "
                                  "%s,",
                                  kernel[0] ? kernel : "none");
    }
    return ompjit__gpu_leave(gpu, status, err);
}

/* The stream is kept for whoever needs one next. What it still has to do goes
 * before that. */
static void queue_destroy(ompjit_device *dev, ompjit__queue *queue)
{
    ompjit__gpu *gpu = dev->state;
    if (queue && ompjit__gpu_usable(gpu))
        ompjit__gpu_give_back(gpu, queue);
}

/* ----------------------------------------------------------------- memory */

static int compare(const void *a, const void *b)
{
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static bool remember(ompjit__gpu *gpu, cu_pointer block)
{
    pthread_mutex_lock(&gpu->lock);
    bool done = tsearch((void *)(uintptr_t)block, &gpu->blocks, compare);
    pthread_mutex_unlock(&gpu->lock);
    return done;
}

static bool forget(ompjit__gpu *gpu, cu_pointer block)
{
    pthread_mutex_lock(&gpu->lock);
    bool done = tdelete((void *)(uintptr_t)block, &gpu->blocks, compare);
    pthread_mutex_unlock(&gpu->lock);
    return done;
}

/* A block whose allocation fails only in leave is left to close. */
static ompjit_status gpu_alloc(ompjit_device *dev, size_t size, void **ptr,
                               ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    cu_pointer block = 0;
    ompjit__gpu_call call = {OMPJIT_STAGE_MAP, "cuMemAlloc",
                             gpu->cu->cuMemAlloc(&block, size ? size : 1)};
    if (call.code)
        status = ompjit__gpu_fail(gpu, call, err, "allocating %zu bytes", size);
    else if (!remember(gpu, block)) {
        gpu->cu->cuMemFree(block);
        status = ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    }
    status = ompjit__gpu_leave(gpu, status, err);
    if (!status)
        *ptr = (void *)(uintptr_t)block;
    return status;
}

/* The block is forgotten first: once the driver has freed it, another thread
 * may be given the same address. */
static ompjit_status gpu_free(ompjit_device *dev, void *ptr, ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    cu_pointer block = (uintptr_t)ptr;
    if (!ptr)
        return OMPJIT_OK;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    if (!forget(gpu, block)) {
        status = ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_MAP,
                              "freeing %p on cuda:%u: not the address of an "
                              "allocation there",
                              ptr, gpu->ordinal);
        return ompjit__gpu_leave(gpu, status, err);
    }
    ompjit__gpu_call call = {OMPJIT_STAGE_MAP, "cuMemFree",
                             gpu->cu->cuMemFree(block)};
    if (call.code) {
        remember(gpu, block);
        status = ompjit__gpu_fail(gpu, call, err, "freeing %p", ptr);
    }
    return ompjit__gpu_leave(gpu, status, err);
}

/* Starts a copy; the function's name goes to call->function. */
static void start_copy(ompjit__gpu *gpu, enum ompjit__copy direction,
                       uintptr_t dst, uintptr_t src, size_t size,
                       cu_stream stream, ompjit__gpu_call *call)
{
    const ompjit__cuda *cu = gpu->cu;
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
}

/* Without a queue too the copy goes through a stream: the driver's synchronous
 * copies may return before the data has arrived, and order nothing with the
 * streams in which kernels run. */
static ompjit_status gpu_copy(ompjit_device *dev, enum ompjit__copy direction,
                              void *dst, const void *src, size_t size,
                              ompjit__queue *queue, ompjit_error *err)
{
    static const char *const where[] = {
        [OMPJIT__COPY_TO] = "the host's %p to the device's %p",
        [OMPJIT__COPY_FROM] = "the device's %p to the host's %p",
        [OMPJIT__COPY_ON] = "the device's %p to the device's %p",
    };
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
    start_copy(gpu, direction, (uintptr_t)dst, (uintptr_t)src, size, q->stream,
               &call);
    if (!call.code && !queue) {
        call.function = "cuStreamSynchronize";
        call.code = gpu->cu->cuStreamSynchronize(q->stream);
    }
    if (!queue)
        ompjit__gpu_give_back(gpu, q);
    if (call.code) {
        char ends[96];
        snprintf(ends, sizeof ends, where[direction], src, dst);
        status = ompjit__gpu_fail(gpu, call, err, "copying %zu bytes from %s",
                                  size, ends);
    }
    return ompjit__gpu_leave(gpu, status, err);
}

/* ------------------------------------------------------------ the device */

static ompjit_status gpu_info(ompjit_device *dev, ompjit_device_info *info,
                              ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    *info = gpu->info;
    return OMPJIT_OK;
}

/* A cubin runs on its own generation alone, PTX also on later ones. */
static void gpu_target(ompjit_device *dev, char arch[32], ompjit_format *format)
{
    ompjit__gpu *gpu = dev->state;
    memcpy(arch, gpu->info.arch, sizeof gpu->info.arch);
    bool same = atoi(arch + strlen("sm_")) / 10 == gpu->facts.major;
    *format = same && gpu->ctx->assembler != OMPJIT_ASSEMBLER_DRIVER
                  ? OMPJIT_FORMAT_CUBIN
                  : OMPJIT_FORMAT_PTX;
}

static ompjit_status gpu_native(ompjit_device *dev, ompjit__queue *queue,
                                ompjit__native *out, ompjit_error *err)
{
    enum { CUDA_DRIVER = 2, NVIDIA = 11 };
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    status = ompjit__gpu_leave(gpu, OMPJIT_OK, err);
    if (!status)
        *out = (ompjit__native){.runtime = CUDA_DRIVER,
                                .vendor = NVIDIA,
                                .device = (void *)(intptr_t)gpu->device,
                                .context = gpu->context,
                                .stream = queue ? queue->stream : NULL};
    return status;
}

static void close_queues(ompjit__gpu *gpu, bool driver)
{
    while (gpu->queues) {
        ompjit__queue *queue = gpu->queues;
        gpu->queues = queue->next;
        cu_result r =
            driver ? gpu->cu->cuStreamDestroy(queue->stream) : OMPJIT_OK;
        if (r)
            ompjit__gpu_log(gpu, "cuStreamDestroy", r, "destroying a stream");
        free(queue);
    }
}

static void close_blocks(ompjit__gpu *gpu, bool driver)
{
    while (gpu->blocks) {
        void *block = *(void **)gpu->blocks;
        cu_result r = driver ? gpu->cu->cuMemFree((uintptr_t)block) : OMPJIT_OK;
        if (r)
            ompjit__gpu_log(gpu, "cuMemFree", r, "freeing memory");
        tdelete(block, &gpu->blocks, compare);
    }
}

/* Work that is still under way ends before what it uses is freed. */
static void finish(ompjit__gpu *gpu)
{
    for (ompjit__queue *q = gpu->queues; q; q = q->next) {
        cu_result r = gpu->cu->cuStreamSynchronize(q->stream);
        if (r)
            ompjit__gpu_log(gpu, "cuStreamSynchronize", r, "closing");
    }
}

static void gpu_close(ompjit_device *dev)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_error err;
    bool usable = gpu->context && ompjit__gpu_usable(gpu);
    bool driver = usable && !ompjit__gpu_enter(gpu, &err);
    if (usable && !driver)
        ompjit__log(gpu->ctx, "%s", err.text);
    if (driver)
        finish(gpu);
    ompjit__gpu_drop_images(gpu, driver);
    close_blocks(gpu, driver);
    close_queues(gpu, driver);
    if (driver && ompjit__gpu_leave(gpu, OMPJIT_OK, &err))
        ompjit__log(gpu->ctx, "%s", err.text);
    cu_result r =
        usable ? gpu->cu->cuDevicePrimaryCtxRelease(gpu->device) : OMPJIT_OK;
    if (r)
        ompjit__gpu_log(gpu, "cuDevicePrimaryCtxRelease", r, "closing");
    pthread_mutex_destroy(&gpu->lock);
    free(gpu);
}

const ompjit__device_ops ompjit__cuda_ops = {
    .name = "cuda",
    .close = gpu_close,
    .info = gpu_info,
    .alloc = gpu_alloc,
    .free = gpu_free,
    .copy = gpu_copy,
    .target = gpu_target,
    .load = ompjit__gpu_load,
    .unload = ompjit__gpu_unload,
    .symbol = ompjit__gpu_symbol,
    .function = ompjit__gpu_function,
    .most_threads = ompjit__gpu_most_threads,
    .launch = ompjit__gpu_launch,
    .queue_create = queue_create,
    .queue_wait = queue_wait,
    .queue_destroy = queue_destroy,
    .native = gpu_native,
};
