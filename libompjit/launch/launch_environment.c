/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Launch environments with their reduction buffers. Making one is an
 * allocation and a copy, so each device keeps some, where launches find them
 * without a lock.
 */
#include <stdlib.h>

#include "device/check/check.h"
#include "launch/launch.h"

/* Device memory: the environment, and records behind it. */
struct ompjit__environment_block {
    void *memory;
    size_t size; /* bytes of records */
};

/* Bytes. Records begin at a cache line of any GPU. */
enum { RECORDS_AT = 128, SMALLEST = 4096 };

static size_t positive(int32_t n)
{
    return n > 0 ? (size_t)n : 0;
}

/* Allocates an environment, which is 0 but for its buffer's address, and `size`
 * bytes of records behind it, which are not set. */
static ompjit_status make(ompjit_device *dev, size_t size,
                          struct ompjit__environment_block *block,
                          ompjit_error *err)
{
    ompjit__launch_environment host = {0};
    ompjit_status status =
        dev->ops->alloc(dev, RECORDS_AT + size, &block->memory, err);
    if (status)
        return status;
    if (dev->ctx->check) /* clang's own code, not checked, writes the records */
        ompjit__memory_written(&dev->ctx->check->memory, block->memory, 0);
    block->size = size;
    host.reduction_buffer = (char *)block->memory + RECORDS_AT;
    status = dev->ops->copy(dev, OMPJIT__COPY_TO, block->memory, &host,
                            sizeof host, NULL, err);
    if (status)
        ompjit__device_drop(dev, block->memory);
    return status;
}

/* *out is the caller's until free_block or `keep`. */
static ompjit_status new_block(ompjit_device *dev, size_t size,
                               struct ompjit__environment_block **out,
                               ompjit_error *err)
{
    size_t roomy = SMALLEST; /* for other launches, which need other sizes */
    while (roomy < size && roomy <= SIZE_MAX / 4)
        roomy *= 2;
    struct ompjit__environment_block *block = malloc(sizeof *block);
    if (!block)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    ompjit_status status = make(dev, roomy < size ? size : roomy, block, err);
    if (status)
        free(block);
    else
        *out = block;
    return status;
}

/* For blocks that no launch uses. */
static void free_block(ompjit_device *dev,
                       struct ompjit__environment_block *block)
{
    ompjit__device_drop(dev, block->memory);
    free(block);
}

/* Puts the block into a slot of the device. False: all are full. */
static bool keep(ompjit_device *dev, struct ompjit__environment_block *block)
{
    for (int i = 0; i < OMPJIT__ENVIRONMENTS; i++) {
        struct ompjit__environment_block *none = NULL;
        if (!atomic_load_explicit(&dev->environments[i],
                                  memory_order_relaxed) &&
            atomic_compare_exchange_strong(&dev->environments[i], &none,
                                           block))
            return true;
    }
    return false;
}

/* The first that is large enough; smaller ones that are met go back. The
 * exchange makes a block the caller's alone. */
static struct ompjit__environment_block *take(ompjit_device *dev, size_t size)
{
    for (int i = 0; i < OMPJIT__ENVIRONMENTS; i++) {
        if (!atomic_load_explicit(&dev->environments[i], memory_order_relaxed))
            continue;
        struct ompjit__environment_block *block =
            atomic_exchange(&dev->environments[i], NULL);
        if (block && block->size >= size)
            return block;
        if (block && !keep(dev, block))
            free_block(dev, block);
    }
    return NULL;
}

bool ompjit__environment_needed(const ompjit__kernel_desc *k)
{
    return k->launch_env && k->reduction_size > 0;
}

/* Enough for every team; the unit's own length is the least. */
static size_t bytes_of_records(const ompjit__kernel_desc *k,
                               const ompjit__geometry *g)
{
    size_t records = (size_t)g->teams[0] * g->teams[1] * g->teams[2];
    if (records < positive(k->reduction_length))
        records = positive(k->reduction_length);
    return records * (size_t)k->reduction_size;
}

ompjit_status ompjit__environment_new(const ompjit__kernel_desc *k,
                                      ompjit_device *dev,
                                      const ompjit__geometry *g,
                                      ompjit__environment *env,
                                      ompjit_error *err)
{
    *env = (ompjit__environment){.device = (void *)UINTPTR_MAX};
    if (!ompjit__environment_needed(k))
        return OMPJIT_OK;
    size_t size = bytes_of_records(k, g);
    env->block = take(dev, size);
    ompjit_status status =
        env->block ? OMPJIT_OK : new_block(dev, size, &env->block, err);
    if (!status)
        env->device = env->block->memory;
    return status;
}

ompjit_status ompjit__environment_share(const ompjit__kernel_desc *k,
                                        ompjit_device *dev,
                                        const ompjit__geometry *g,
                                        ompjit__environment *shared,
                                        ompjit__environment *env,
                                        ompjit_error *err)
{
    ompjit__environment larger;
    *env = (ompjit__environment){.device = shared->device};
    if (shared->block && shared->block->size >= bytes_of_records(k, g))
        return OMPJIT_OK;
    ompjit_status status = ompjit__environment_new(k, dev, g, &larger, err);
    if (status)
        return status;
    env->block = shared->block;
    *shared = larger;
    env->device = larger.device;
    return OMPJIT_OK;
}

void ompjit__environment_unshare(ompjit__environment *shared,
                                 ompjit__environment *env)
{
    struct ompjit__environment_block *larger = shared->block;
    if (!env->block)
        return;
    *shared = (ompjit__environment){.device = env->block->memory,
                                    .block = env->block};
    env->block = larger;
}

void ompjit__environment_free(ompjit_device *dev, ompjit__environment *env,
                              bool ready)
{
    if (env->block && !(ready && keep(dev, env->block)))
        free_block(dev, env->block);
    env->block = NULL;
}

void ompjit__environments_free(ompjit_device *dev)
{
    for (int i = 0; i < OMPJIT__ENVIRONMENTS; i++)
        if (dev->environments[i])
            free_block(dev, dev->environments[i]);
}
