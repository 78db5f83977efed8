/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host device's memory: ordinary memory in pooled blocks, or the checker's.
 */
#include <stdlib.h>
#include <string.h>

#include "context/profile.h"
#include "device/check/check.h"
#include "device/host/host.h"

/* Arrays of a page's multiple come to lie APART from each other by their places
 * in pages: a processor compares a load with the stores before it by that, and
 * a loop that loads just where it has stored in another array waits. */
ompjit_status ompjit__host_alloc(ompjit_device *dev, size_t size, void **ptr,
                                 ompjit_error *err)
{
    enum { ALIGN = 128, APART = 512, LARGE = 64 << 10 };
    size_t align = size < LARGE ? ALIGN : APART;
    if (size > SIZE_MAX - align)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    ompjit_status status = ompjit__device_ready(dev, err);
    if (status)
        return status;
    ompjit__host *host = dev->state;
    size_t whole = (size + align - 1) / align * align;
    void *p = dev->ctx->check
                  ? ompjit__memory_new(&dev->ctx->check->memory, size,
                                       OMPJIT__MEMORY_DEVICE)
                  : ompjit__host_blocks_new(&host->blocks, align,
                                            whole ? whole : align);
    if (!p)
        return ompjit__fail(err, OMPJIT_ERR_NO_MEMORY, OMPJIT_STAGE_MAP,
                            "host device: no memory for %zu bytes", size);
    *ptr = p;
    return OMPJIT_OK;
}

/* Never fails. The checker keeps freed blocks for a while, and reports writes
 * that nothing has copied back. */
ompjit_status ompjit__host_free(ompjit_device *dev, void *ptr,
                                ompjit_error *err)
{
    ompjit__host *host = dev->state;
    if (!dev->ctx->check && host)
        ompjit__host_blocks_free(&host->blocks, ptr);
    else if (!dev->ctx->check)
        free(ptr);
    else if (ptr) {
        ompjit__lost_report(dev->ctx->check, ptr);
        ompjit__memory_end(&dev->ctx->check->memory, ptr);
    }
    return OMPJIT_OK;
}

/* dst and src may be the same, in memory that both share. The checker is told
 * of the bytes that have a value now. */
ompjit_status ompjit__host_copy(ompjit_device *dev, enum ompjit__copy direction,
                                void *dst, const void *src, size_t size,
                                ompjit__queue *queue, ompjit_error *err)
{
    const char *name = ompjit__copy_names[direction];
    uint64_t begin = ompjit__span_begin(dev->ctx, name);
    if (size && dst != src)
        memmove(dst, src, size);
    ompjit__span_end(dev->ctx, OMPJIT__SPAN_COPY, name, begin, size);
    if (size && dev->ctx->check && direction != OMPJIT__COPY_TO)
        ompjit__memory_copied(&dev->ctx->check->memory, src);
    if (size && dev->ctx->check && direction != OMPJIT__COPY_FROM)
        ompjit__memory_written(&dev->ctx->check->memory, dst, size);
    return OMPJIT_OK;
}
