/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * omp_alloc and its relatives with LLVM's allocators of target memory, in the
 * default device's memory. libomp has these allocators only where it finds
 * LLVM's offloading library in the process; all other allocators are libomp's.
 * Memory that was allocated here is listed, since it may be freed without its
 * allocator and when another device is the default one. Without a context, NULL,
 * there is no target memory.
 */
#include <stdlib.h>

#include "device/engine/libomp.h"
#include "omptarget/entry_points.h"

/* llvm_omp_target_host_mem_alloc and the two after it, of LLVM's omp.h. */
enum { TARGET_HOST = 100, TARGET_SHARED, TARGET_DEVICE };

/* In ctx->tgt->memory, under its lock. */
struct ompjit__omp_block {
    struct ompjit__omp_block *next;
    void *ptr;
    size_t size;        /* bytes, for realloc                     */
    uint64_t allocator; /* one of the three                       */
    int device;         /* the default one when it was allocated  */
};

/* NULL: it cannot be loaded. */
static const struct ompjit__libomp *libomp(void)
{
    const struct ompjit__libomp *omp;
    return ompjit__libomp(&omp, NULL) ? NULL : omp;
}

/* 0 stands for the default one. */
static bool is_target(const struct ompjit__libomp *omp, uint64_t *allocator)
{
    if (!*allocator && omp && omp->omp_get_default_allocator)
        *allocator = omp->omp_get_default_allocator();
    return *allocator >= TARGET_HOST && *allocator <= TARGET_DEVICE;
}

/* The allocator's own kind of memory; NULL: there is none. */
static void *take(ompjit_context *ctx, const struct ompjit__omp_block *m)
{
    return m->allocator == TARGET_HOST
               ? ompjit__s_target_alloc_host(ctx, m->size, m->device)
           : m->allocator == TARGET_SHARED
               ? ompjit__s_target_alloc_shared(ctx, m->size, m->device)
               : ompjit__s_target_alloc(ctx, m->size, m->device);
}

/* Frees the memory, with the routine that belongs to its allocator; the block
 * stays the caller's. */
static void give(ompjit_context *ctx, const struct ompjit__omp_block *m)
{
    if (m->allocator == TARGET_HOST)
        ompjit__s_target_free_host(ctx, m->ptr, m->device);
    else if (m->allocator == TARGET_SHARED)
        ompjit__s_target_free_shared(ctx, m->ptr, m->device);
    else
        ompjit__s_target_free(ctx, m->ptr, m->device);
}

/* Puts it first into the list. */
static void remember(ompjit_context *ctx, struct ompjit__omp_block *m)
{
    pthread_mutex_lock(&ctx->tgt->lock);
    m->next = ctx->tgt->memory;
    ctx->tgt->memory = m;
    pthread_mutex_unlock(&ctx->tgt->lock);
}

/* Devices align by more than programs ask for; what they do not is refused. */
static struct ompjit__omp_block *target_alloc(ompjit_context *ctx, size_t align,
                                           size_t size, uint64_t allocator)
{
    const struct ompjit__libomp *omp = libomp();
    struct ompjit__omp_block *m = ctx ? malloc(sizeof *m) : NULL;
    if (!m)
        return NULL;
    *m = (struct ompjit__omp_block){.size = size, .allocator = allocator};
    m->device = omp && omp->omp_get_default_device
                    ? omp->omp_get_default_device()
                    : 0;
    m->ptr = take(ctx, m);
    if (m->ptr && align && (uintptr_t)m->ptr % align) {
        give(ctx, m);
        m->ptr = NULL;
    }
    if (!m->ptr) {
        free(m);
        return NULL;
    }
    remember(ctx, m);
    return m;
}

/* Takes a block off the list; NULL: the memory is not ours. */
static struct ompjit__omp_block *forget(ompjit_context *ctx, const void *ptr)
{
    if (!ctx)
        return NULL;
    pthread_mutex_lock(&ctx->tgt->lock);
    struct ompjit__omp_block **at = &ctx->tgt->memory, *m;
    while (*at && (*at)->ptr != ptr)
        at = &(*at)->next;
    if ((m = *at))
        *at = m->next;
    pthread_mutex_unlock(&ctx->tgt->lock);
    return m;
}

void ompjit__omp_blocks_free(struct ompjit__omp_block *list)
{
    for (struct ompjit__omp_block *next; list; list = next) {
        next = list->next;
        free(list);
    }
}

/* NULL: there is no memory, or no libomp. `align` 0 asks for nothing. */
void *ompjit__s_aligned_alloc(ompjit_context *ctx, size_t align, size_t size,
                              uint64_t allocator)
{
    const struct ompjit__libomp *omp = libomp();
    if (is_target(omp, &allocator)) {
        struct ompjit__omp_block *m = target_alloc(ctx, align, size, allocator);
        return m ? m->ptr : NULL;
    }
    return omp && omp->omp_aligned_alloc
               ? omp->omp_aligned_alloc(align, size, allocator)
               : NULL;
}

/* As aligned_alloc without an alignment. */
void *ompjit__s_alloc(ompjit_context *ctx, size_t size, uint64_t allocator)
{
    const struct ompjit__libomp *omp = libomp();
    if (is_target(omp, &allocator))
        return ompjit__s_aligned_alloc(ctx, 0, size, allocator);
    return omp && omp->omp_alloc ? omp->omp_alloc(size, allocator) : NULL;
}

/* Zeroed by the device's own memset, since the host may not reach it. */
void *ompjit__s_aligned_calloc(ompjit_context *ctx, size_t align, size_t n,
                               size_t size, uint64_t allocator)
{
    const struct ompjit__libomp *omp = libomp();
    size_t bytes;
    if (!is_target(omp, &allocator))
        return omp && omp->omp_aligned_calloc
                   ? omp->omp_aligned_calloc(align, n, size, allocator)
                   : NULL;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    struct ompjit__omp_block *m = target_alloc(ctx, align, bytes, allocator);
    return m ? ompjit__s_target_memset(ctx, m->ptr, 0, bytes, m->device)
             : NULL;
}

/* As aligned_calloc without an alignment. */
void *ompjit__s_calloc(ompjit_context *ctx, size_t n, size_t size,
                       uint64_t allocator)
{
    const struct ompjit__libomp *omp = libomp();
    if (is_target(omp, &allocator))
        return ompjit__s_aligned_calloc(ctx, 0, n, size, allocator);
    return omp && omp->omp_calloc ? omp->omp_calloc(n, size, allocator) : NULL;
}

/* Memory of ours is found by its address; `allocator` is for libomp's. */
void ompjit__s_free(ompjit_context *ctx, void *ptr, uint64_t allocator)
{
    const struct ompjit__libomp *omp = libomp();
    struct ompjit__omp_block *m = ptr ? forget(ctx, ptr) : NULL;
    if (m)
        give(ctx, m);
    else if (ptr && omp && omp->omp_free)
        omp->omp_free(ptr, allocator);
    free(m);
}

/* Reallocates target memory by way of a new block. How large a block of
 * libomp's is only libomp knows, so none of these becomes target memory. */
void *ompjit__s_realloc(ompjit_context *ctx, void *ptr, size_t size,
                        uint64_t allocator, uint64_t free_allocator)
{
    const struct ompjit__libomp *omp = libomp();
    bool target = is_target(omp, &allocator);
    if (!ptr)
        return ompjit__s_alloc(ctx, size, allocator);
    struct ompjit__omp_block *from = forget(ctx, ptr), *m = NULL;
    if (!from)
        return !target && omp && omp->omp_realloc
                   ? omp->omp_realloc(ptr, size, allocator, free_allocator)
                   : NULL;
    /* An allocator of libomp's gets target memory's content by a copy: `to` is
     * host memory then. */
    void *to = NULL;
    if (size && target)
        to = (m = target_alloc(ctx, 0, size, allocator)) ? m->ptr : NULL;
    else if (size)
        to = ompjit__s_alloc(ctx, size, allocator);
    /* The old block is as it was when there is no memory for a new one. */
    if (size && !to) {
        remember(ctx, from);
        return NULL;
    }
    if (to)
        ompjit__s_target_memcpy(
            ctx, to, ptr, size < from->size ? size : from->size, 0, 0,
            m ? m->device : ompjit__s_get_initial_device(ctx), from->device);
    give(ctx, from);
    free(from);
    return to;
}
