/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An NVIDIA GPU by the CUDA driver: its errors, its context, its memory, its
 * end, and its table of operations. find.c finds it, queue.c, copy.c and
 * graph.c have streams, kernel.c images and launches.
 *
 * The library works in the GPU's primary context, which it shares with the
 * application's own use of CUDA, and pushes it for each operation alone, so
 * that the caller's current context stays what it was. All its work runs in
 * non-blocking streams of its own: it neither waits for the application's
 * streams nor holds them up, and an operation without a queue borrows one, so
 * that host threads do not wait for each other either.
 *
 * Locks: gpu->lock guards the lists and trees of ompjit__gpu, and is taken
 * last. Nothing that fails with a text may be called under it, since the text
 * asks whether the context is lost, under the same lock.
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda/cuda.h"

/* ---------------------------------------------------------------- errors */

/* CUDA's sticky errors: once a kernel has faulted, each later call in the
 * context fails with the same code. The first one that sees it notes its doing,
 * and the texts of later ones name that, or else every operation would seem to
 * be the cause. */
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

/* Appends the assertion that has failed, as the kernel has told it in
 * page-locked memory, which outlives the context (runtime-bc/assertion.h). The
 * host reads memory that the GPU wrote: `state` is told last. */
static void describe_assertion(ompjit__gpu *gpu, cu_result code,
                               ompjit__buf *text)
{
    pthread_mutex_lock(&gpu->lock);
    const volatile ompjit_assertion *a = gpu->assertion;
    pthread_mutex_unlock(&gpu->lock);
    if (code != OMPJIT__CUDA_ASSERT || !a || a->state != ASSERTION_TOLD)
        return;
    if (a->file[0])
        ompjit__buf_printf(text, ": %s:%u", (const char *)a->file, a->line);
    ompjit__buf_printf(text, ": %s: `%s'", (const char *)a->function,
                       (const char *)a->expression);
}

/* All that is known of a call that failed. Takes the GPU's lock. */
static void describe(ompjit__gpu *gpu, const char *function, cu_result code,
                     const char *doing, ompjit__buf *text)
{
    ompjit__buf_printf(text, "%s on cuda:%u: ", doing, gpu->ordinal);
    ompjit__cuda_describe(gpu->cu, function, code, text);
    describe_assertion(gpu, code, text);
    ompjit__gpu_note_lost(gpu, code, doing, text);
}

/* Without memory for the text the error has `doing` alone. */
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

bool ompjit__gpu_kept(ompjit__gpu *gpu, const char *function, cu_result code,
                      const char *doing)
{
    if (code)
        ompjit__gpu_log(gpu, function, code, doing);
    return code && ompjit__cuda_effect(code) != OMPJIT__CUDA_EFFECT_LOST;
}

/* ------------------------------------------------------------ the context */

/* CUDA does not support fork: a child's calls fail or hang. A page that fork
 * wipes tells it without a system call (find.c); where the kernel has no such
 * pages, getpid does. */
bool ompjit__gpu_usable(const ompjit__gpu *gpu)
{
    return gpu->own_page ? *gpu->own_page : gpu->pid == getpid();
}

/* Takes the context from the thread again, that of the last push. False: it is
 * still there. A failure may be that of work before and the context be gone all
 * the same; where it is not, to set none is documented as another pop. */
static bool pop(ompjit__gpu *gpu, ompjit__gpu_call *call)
{
    cu_context popped = NULL;
    call->function = "cuCtxPopCurrent";
    call->code = gpu->cu->cuCtxPopCurrent(&popped);
    return !call->code || popped || !gpu->cu->cuCtxSetCurrent(NULL);
}

/* The sizes that the user asks for. They are the context's, so an application
 * that shares it has them too. Under the lock. The driver takes limits for the
 * current context only, and some of them not once a kernel has run, hence in
 * the first use. */
static void set_limits(ompjit__gpu *gpu, cu_context context,
                       ompjit__gpu_call *call)
{
    const struct {
        unsigned limit;
        uint64_t size;
    } rows[] = {
        {OMPJIT__CU_LIMIT_MALLOC_HEAP_SIZE, gpu->ctx->device_heap},
        {OMPJIT__CU_LIMIT_STACK_SIZE, gpu->ctx->device_stack},
    };
    call->function = "cuCtxPushCurrent";
    call->code = gpu->cu->cuCtxPushCurrent(context);
    if (call->code)
        return;
    call->function = "cuCtxSetLimit";
    for (size_t i = 0; i < OMPJIT__COUNT(rows) && !call->code; i++)
        if (rows[i].size)
            call->code = gpu->cu->cuCtxSetLimit(rows[i].limit, rows[i].size);
    ompjit__gpu_call left = {.stage = call->stage};
    pop(gpu, &left);
    if (!call->code)
        *call = left;
}

/* Retains the primary context, under the lock. A context that could not be set
 * up is released, so that the next use tries again. The application's own
 * runtime retains the same context: it is counted, and each GPU of the library
 * holds it once, until gpu_close. */
static void first_use(ompjit__gpu *gpu, ompjit__gpu_call *call)
{
    const ompjit__cuda *cu = gpu->cu;
    cu_context context;
    call->function = "cuDevicePrimaryCtxRetain";
    call->code = cu->cuDevicePrimaryCtxRetain(&context, gpu->device);
    if (call->code)
        return;
    if (gpu->ctx->device_heap || gpu->ctx->device_stack)
        set_limits(gpu, context, call);
    if (call->code) /* told already; the log takes the lock */
        (void)(cu->cuDevicePrimaryCtxRelease(gpu->device) &&
               cu->cuDevicePrimaryCtxRelease(gpu->device));
    else
        atomic_store_explicit(&gpu->context, context, memory_order_release);
}

/* Double-checked: after the first use one load finds the context. */
static void retain(ompjit__gpu *gpu, ompjit__gpu_call *call)
{
    if (atomic_load_explicit(&gpu->context, memory_order_acquire))
        return;
    pthread_mutex_lock(&gpu->lock);
    if (!atomic_load(&gpu->context))
        first_use(gpu, call);
    pthread_mutex_unlock(&gpu->lock);
}

/* Contexts are a stack for each thread in CUDA, so nested enters (a copy within
 * a load) are no trouble. After a failure nothing is pushed. */
ompjit_status ompjit__gpu_enter(ompjit__gpu *gpu, ompjit_error *err)
{
    if (!ompjit__gpu_usable(gpu))
        return ompjit__fail(err, OMPJIT_ERR_DRIVER, OMPJIT_STAGE_API,
                            "cuda:%u was found by process %ld: CUDA does not "
                            "work in %ld, forked from it afterwards",
                            gpu->ordinal, (long)gpu->pid, (long)getpid());
    ompjit__gpu_call call = {.stage = OMPJIT_STAGE_API};
    retain(gpu, &call);
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
    ompjit__gpu_call call = {.stage = OMPJIT_STAGE_API};
    bool left = pop(gpu, &call);
    if (!call.code)
        return status;
    if (!left && !status)
        return ompjit__gpu_fail(gpu, call, err, "leaving the context");
    ompjit__gpu_log(gpu, call.function, call.code, "leaving the context");
    return status;
}

/* ----------------------------------------------------------------- memory */

/* By address. The trees tell freed and foreign pointers from allocations, which
 * the driver would answer with an error or a fault. */
static int compare(const void *a, const void *b)
{
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* False: out of memory. The block itself is the node's key; nothing is copied.
 */
bool ompjit__gpu_remember(ompjit__gpu *gpu, void **tree, void *block)
{
    pthread_mutex_lock(&gpu->lock);
    bool done = tsearch(block, tree, compare);
    pthread_mutex_unlock(&gpu->lock);
    return done;
}

/* False: no such block. If two threads free the same block, one gets true. */
bool ompjit__gpu_forget(ompjit__gpu *gpu, void **tree, void *block)
{
    pthread_mutex_lock(&gpu->lock);
    bool done = tdelete(block, tree, compare);
    pthread_mutex_unlock(&gpu->lock);
    return done;
}

static bool remember(ompjit__gpu *gpu, cu_pointer block)
{
    return ompjit__gpu_remember(gpu, &gpu->blocks, (void *)(uintptr_t)block);
}

static bool forget(ompjit__gpu *gpu, cu_pointer block)
{
    return ompjit__gpu_forget(gpu, &gpu->blocks, (void *)(uintptr_t)block);
}

/* A driver has all that pools need, or there are none. The GPU itself has to
 * have them, too (facts.pools). */
static bool has_pools(const ompjit__gpu *gpu)
{
    const ompjit__cuda *cu = gpu->cu;
    return gpu->facts.pools && cu->cuMemPoolCreate && cu->cuMemPoolDestroy &&
           cu->cuMemPoolSetAttribute && cu->cuMemPoolTrimTo &&
           cu->cuMemAllocFromPoolAsync && cu->cuMemFreeAsync;
}

/* Freed memory of the pool is kept for the next allocations, up to a part of
 * the GPU's memory. NULL: this driver or GPU has no pools. A pool of our own:
 * the device's default one is the application's, with its settings. A threshold
 * that cannot be set costs time only. */
static cu_pool make_pool(ompjit__gpu *gpu)
{
    enum { KEPT = 8 };
    const ompjit__cuda *cu = gpu->cu;
    ompjit__cuda_pool_properties properties = {
        .type = OMPJIT__CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {OMPJIT__CU_MEM_LOCATION_TYPE_DEVICE, gpu->device}};
    uint64_t keep = gpu->info.memory / KEPT;
    cu_pool pool;
    if (!has_pools(gpu))
        return NULL;
    cu_result r = cu->cuMemPoolCreate(&pool, (void *)&properties);
    if (r) {
        ompjit__gpu_log(gpu, "cuMemPoolCreate", r, "making a memory pool");
        return NULL;
    }
    r = cu->cuMemPoolSetAttribute(
        pool, OMPJIT__CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
    if (r)
        ompjit__gpu_log(gpu, "cuMemPoolSetAttribute", r,
                        "making a memory pool");
    return pool;
}

/* Two threads may make a pool at once; the second one destroys its own. */
cu_pool ompjit__gpu_pool(ompjit__gpu *gpu)
{
    pthread_mutex_lock(&gpu->lock);
    bool tried = gpu->pool_tried;
    cu_pool pool = gpu->pool;
    pthread_mutex_unlock(&gpu->lock);
    if (tried)
        return pool;
    cu_pool mine = make_pool(gpu); /* its failure's log takes the lock */
    pthread_mutex_lock(&gpu->lock);
    if (!gpu->pool_tried) {
        gpu->pool_tried = true;
        gpu->pool = mine;
        mine = NULL;
    }
    pool = gpu->pool;
    pthread_mutex_unlock(&gpu->lock);
    if (mine)
        OMPJIT__GPU_DESTROY(gpu, cuMemPoolDestroy, mine,
                            "destroying a memory pool");
    return pool;
}

/* Memory that the pool keeps for itself may be what is missing. So it is
 * trimmed, and the driver asked once more. Size 0 becomes 1: each allocation
 * has an address of its own. */
static cu_result allocate(ompjit__gpu *gpu, size_t size, cu_pointer *block)
{
    cu_result r = gpu->cu->cuMemAlloc(block, size ? size : 1);
    pthread_mutex_lock(&gpu->lock);
    cu_pool pool = gpu->pool;
    pthread_mutex_unlock(&gpu->lock);
    if (r == OMPJIT__CUDA_OUT_OF_MEMORY && pool &&
        !gpu->cu->cuMemPoolTrimTo(pool, 0))
        r = gpu->cu->cuMemAlloc(block, size ? size : 1);
    return r;
}

/* A block whose allocation fails only in leave is left to close. With a queue
 * the memory is the pool's, and may be used by work in that queue and what is
 * ordered after it. Without one, or without pools, it is cuMemAlloc's, and
 * anybody's at once. */
static ompjit_status gpu_alloc_queued(ompjit_device *dev, size_t size,
                                      ompjit__queue *queue, void **ptr,
                                      ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    cu_pointer block = 0;
    cu_pool pool = queue ? ompjit__gpu_pool(gpu) : NULL;
    ompjit__gpu_call call = {.stage = OMPJIT_STAGE_MAP};
    call.function = pool ? "cuMemAllocFromPoolAsync" : "cuMemAlloc";
    call.code = pool ? gpu->cu->cuMemAllocFromPoolAsync(
                           &block, size ? size : 1, pool, queue->stream)
                     : allocate(gpu, size, &block);
    if (call.code)
        status = ompjit__gpu_fail(gpu, call, err, "allocating %zu bytes", size);
    else if (!remember(gpu, block)) {
        OMPJIT__GPU_DESTROY(gpu, cuMemFree, block, "freeing memory");
        status = ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    }
    status = ompjit__gpu_leave(gpu, status, err);
    if (!status)
        *ptr = (void *)(uintptr_t)block;
    return status;
}

static ompjit_status gpu_alloc(ompjit_device *dev, size_t size, void **ptr,
                               ompjit_error *err)
{
    return gpu_alloc_queued(dev, size, NULL, ptr, err);
}

/* The block is forgotten first: once the driver has freed it, another thread
 * may be given the same address. With a queue, the driver may give the memory
 * to others as soon as the queue has come to this point; cuMemFree may wait for
 * the device. A block that the driver does not free is remembered again, so
 * that close tries once more. */
static ompjit_status gpu_free_queued(ompjit_device *dev, void *ptr,
                                     ompjit__queue *queue, ompjit_error *err)
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
    bool pooled = queue && ompjit__gpu_pool(gpu);
    ompjit__gpu_call call = {.stage = OMPJIT_STAGE_MAP};
    call.function = pooled ? "cuMemFreeAsync" : "cuMemFree";
    call.code = pooled ? gpu->cu->cuMemFreeAsync(block, queue->stream)
                       : gpu->cu->cuMemFree(block);
    if (call.code) {
        remember(gpu, block);
        status = ompjit__gpu_fail(gpu, call, err, "freeing %p", ptr);
    }
    return ompjit__gpu_leave(gpu, status, err);
}

static ompjit_status gpu_free(ompjit_device *dev, void *ptr, ompjit_error *err)
{
    return gpu_free_queued(dev, ptr, NULL, err);
}

/* ------------------------------------------------------------ the device */

/* Read once, when the device was found. */
static ompjit_status gpu_info(ompjit_device *dev, ompjit_device_info *info,
                              ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    *info = gpu->info;
    return OMPJIT_OK;
}

/* A cubin runs on its own generation alone, PTX also on later ones. info.arch
 * may be older than the GPU, where this LLVM or the driver knows no newer one:
 * then PTX is what the driver can still translate. With the `driver` assembler
 * cubins are never asked for. */
static void gpu_target(ompjit_device *dev, char arch[32],
                       ompjit_format *format, uint32_t *ptx)
{
    ompjit__gpu *gpu = dev->state;
    memcpy(arch, gpu->info.arch, sizeof gpu->info.arch);
    *ptx = gpu->facts.ptx;
    bool same = atoi(arch + strlen("sm_")) / 10 == gpu->facts.major;
    *format = same && gpu->ctx->compiler.assembler != OMPJIT_ASSEMBLER_DRIVER
                  ? OMPJIT_FORMAT_CUBIN
                  : OMPJIT_FORMAT_PTX;
}

/* For interop objects. enter retains the context, which the application gets as
 * it is: it needs no release, and lives until the device is closed. */
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

/* Frees the allocations that are left. A pool's blocks are freed before it.
 * tsearch's node begins with its key, here the block. No lock: nobody else is
 * left. */
static void close_blocks(ompjit__gpu *gpu, bool driver)
{
    if (driver && gpu->assertion)
        OMPJIT__GPU_DESTROY(gpu, cuMemFreeHost, gpu->assertion,
                            "freeing page-locked memory");
    while (gpu->blocks) {
        void *block = *(void **)gpu->blocks;
        if (driver)
            OMPJIT__GPU_DESTROY(gpu, cuMemFree, (uintptr_t)block,
                                "freeing memory");
        tdelete(block, &gpu->blocks, compare);
    }
    if (driver && gpu->pool)
        OMPJIT__GPU_DESTROY(gpu, cuMemPoolDestroy, gpu->pool,
                            "destroying a memory pool");
}

/* Work that is still under way ends before what it uses is freed. */
static void finish(ompjit__gpu *gpu)
{
    for (ompjit__queue *q = gpu->queues; q; q = q->next) {
        cu_result r = ompjit__gpu_await(gpu, q);
        if (r)
            ompjit__gpu_log(gpu, "cuStreamSynchronize", r, "closing");
    }
}

/* Twice where that fails: without the context nothing is freed. Else everything
 * on the GPU would stay until the process ends. */
static bool enter_to_close(ompjit__gpu *gpu)
{
    ompjit_error err;
    for (int tries = 0; tries < 2; tries++) {
        if (!ompjit__gpu_enter(gpu, &err))
            return true;
        ompjit__log(gpu->ctx, "%s", err.text);
    }
    return false;
}

/* Without `driver`, in a forked child or where the context cannot be entered,
 * only this process's memory is freed. Graphs go before images, whose kernels
 * they have, and everything before the queues. The clock is first: it reads
 * events that queues have recorded. Releasing the primary context is last, and
 * once for each retain; where the application holds it too, it lives on, hence
 * each thing is freed one by one. */
static void gpu_close(ompjit_device *dev)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_error err;
    bool usable = gpu->context && ompjit__gpu_usable(gpu);
    bool driver = usable && enter_to_close(gpu);
    if (driver)
        finish(gpu);
    ompjit__gpu_close_clock(gpu, driver);
    ompjit__gpu_close_graphs(gpu, driver);
    ompjit__gpu_drop_images(gpu, driver);
    close_blocks(gpu, driver);
    ompjit__gpu_close_host_memory(gpu, driver);
    ompjit__gpu_close_pipes(gpu, driver);
    ompjit__gpu_close_queues(gpu, driver);
    if (driver && ompjit__gpu_leave(gpu, OMPJIT_OK, &err))
        ompjit__log(gpu->ctx, "%s", err.text);
    if (usable)
        OMPJIT__GPU_DESTROY(gpu, cuDevicePrimaryCtxRelease, gpu->device,
                            "closing");
    ompjit__gpu_free(gpu);
}

static const ompjit__queue_ops queues = {
    .create = ompjit__gpu_queue_create,
    .wait = ompjit__gpu_queue_wait,
    .destroy = ompjit__gpu_queue_destroy,
};

static const ompjit__queued_memory_ops queued_memory = {
    .alloc = gpu_alloc_queued,
    .free = gpu_free_queued,
    .stage = ompjit__gpu_stage,
};

static const ompjit__host_memory_ops host_memory = {
    .alloc = ompjit__gpu_alloc_host,
    .free = ompjit__gpu_free_host,
};

static const ompjit__event_ops events = {
    .queue_after = ompjit__gpu_queue_after,
    .record = ompjit__gpu_event_record,
    .destroy = ompjit__gpu_event_destroy,
    .wait = ompjit__gpu_event_wait,
    .query = ompjit__gpu_event_query,
    .elapsed = ompjit__gpu_event_elapsed,
};

static const ompjit__graph_ops graphs = {
    .begin = ompjit__gpu_graph_begin,
    .end = ompjit__gpu_graph_end,
    .run = ompjit__gpu_graph_run,
    .destroy = ompjit__gpu_graph_destroy,
};

static const ompjit__native_ops native = {
    .describe = gpu_native,
    .adopt_queue = ompjit__gpu_queue_adopt,
    .is_captured = ompjit__gpu_queue_captured,
    .adopt_event = ompjit__gpu_event_adopt,
    .event = ompjit__gpu_event_native,
};

const ompjit__device_ops ompjit__cuda_ops = {
    .name = "cuda",
    .caps = {.warps = true, .knows_allocations = true},
    .close = gpu_close,
    .info = gpu_info,
    .alloc = gpu_alloc,
    .free = gpu_free,
    .copy = ompjit__gpu_copy,
    .copy_peer = ompjit__gpu_copy_peer,
    .fill = ompjit__gpu_fill,
    .settle_times = ompjit__gpu_settle_times,
    .target = gpu_target,
    .load = ompjit__gpu_load,
    .unload = ompjit__gpu_unload,
    .symbol = ompjit__gpu_symbol,
    .function = ompjit__gpu_function,
    .most_threads = ompjit__gpu_most_threads,
    .launch = ompjit__gpu_launch,
    .queues = &queues,
    .queued_memory = &queued_memory,
    .host_memory = &host_memory,
    .events = &events,
    .graphs = &graphs,
    .native = &native,
};
