/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Large blocks of the host device's memory, pooled when they are freed.
 */
#ifndef OMPJIT_DEVICE_HOST_BLOCKS_H
#define OMPJIT_DEVICE_HOST_BLOCKS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fork.h"

enum { OMPJIT__POOLED_BLOCKS = 64 };

typedef struct ompjit__host_blocks {
    pthread_mutex_t lock;
    ompjit__fork_lock at_fork;
    size_t live, pooled, peak; /* bytes: in use, in the pool, and the most that
                                  were in use at a time                     */
    size_t most;               /* bytes that the pool keeps at most         */
    uint64_t frees;            /* so far: the pool's clock                  */
    unsigned slow_blocks;      /* whose large pages came slowly             */
    unsigned n;
    struct ompjit__pooled {
        void *block;
        size_t size;
        uint64_t freed; /* when, by that clock */
    } pool[OMPJIT__POOLED_BLOCKS]; /* the block freed last comes last */
} ompjit__host_blocks;

void ompjit__host_blocks_init(ompjit__host_blocks *b);
void ompjit__host_blocks_end(ompjit__host_blocks *b);

/* At least `size` bytes, a multiple of `align`; NULL without memory. Any thread
 * may call both. */
void *ompjit__host_blocks_new(ompjit__host_blocks *b, size_t align,
                              size_t size);
void ompjit__host_blocks_free(ompjit__host_blocks *b, void *block);

#endif
