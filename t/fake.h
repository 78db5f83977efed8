/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A device whose memory is malloc'd apart from the host's and filled with
 * 0xA5, which counts what is done to it and can fail its n-th call; and an
 * ompjit__run that calls a C function with the kernel's values.
 */
#ifndef OMPJIT_T_FAKE_H
#define OMPJIT_T_FAKE_H

#include <stdlib.h>
#include <string.h>

#include "omptarget/offload.h"

typedef struct fake {
    pthread_mutex_t lock;
    struct fake_block {
        char *data;
        size_t size;
    } blocks[512];
    int live;             /* allocations not freed yet              */
    int allocs, to, from; /* successful calls                       */
    size_t bytes_to, bytes_from;
    int calls, fail_at;   /* the fail_at-th call of any kind fails  */
    int strays;           /* copies and frees outside the blocks    */
} fake;

typedef void fake_kernel(const uint64_t *values, unsigned n);
static fake_kernel *fake_kernel_fn;
static ompjit__request fake_request;
static int fake_runs;
static ompjit_status fake_run_status;

static int fake_fails(fake *f)
{
    return ++f->calls == f->fail_at;
}

static struct fake_block *fake_find(fake *f, const void *p, size_t size)
{
    for (size_t i = 0; i < OMPJIT__COUNT(f->blocks); i++) {
        struct fake_block *b = &f->blocks[i];
        if (b->data && (char *)p >= b->data &&
            (char *)p + size <= b->data + b->size)
            return b;
    }
    return NULL;
}

static ompjit_status fake_alloc(ompjit_device *dev, size_t size, void **ptr,
                                ompjit_error *err)
{
    fake *f = dev->state;
    ompjit_status st = OMPJIT_OK;
    pthread_mutex_lock(&f->lock);
    if (fake_fails(f) || size > (size_t)1 << 40) {
        st = ompjit__fail(err, OMPJIT_ERR_NO_MEMORY, OMPJIT_STAGE_MAP,
                          "fake: alloc of %zu bytes", size);
    } else {
        struct fake_block *b = f->blocks;
        while (b->data)
            b++;
        b->size = size ? size : 1;
        b->data = aligned_alloc(128, (b->size + 127) / 128 * 128);
        memset(b->data, 0xA5, b->size);
        *ptr = b->data;
        f->allocs++;
        f->live++;
    }
    pthread_mutex_unlock(&f->lock);
    return st;
}

static ompjit_status fake_free(ompjit_device *dev, void *ptr,
                               ompjit_error *err)
{
    fake *f = dev->state;
    ompjit_status st = OMPJIT_OK;
    pthread_mutex_lock(&f->lock);
    struct fake_block *b = fake_find(f, ptr, 1);
    if (!b || b->data != ptr) {
        f->strays++;
    } else {
        if (fake_fails(f))
            st = ompjit__fail(err, OMPJIT_ERR_DRIVER, OMPJIT_STAGE_MAP,
                              "fake: free of %p", ptr);
        free(b->data);
        b->data = NULL;
        f->live--;
    }
    pthread_mutex_unlock(&f->lock);
    return st;
}

static ompjit_status fake_copy(ompjit_device *dev, enum ompjit__copy direction,
                               void *dst, const void *src, size_t size,
                               ompjit__queue *queue, ompjit_error *err)
{
    fake *f = dev->state;
    ompjit_status st = OMPJIT_OK;
    pthread_mutex_lock(&f->lock);
    if (fake_fails(f)) {
        st = ompjit__fail(err, OMPJIT_ERR_DRIVER, OMPJIT_STAGE_MAP,
                          "fake: copy of %zu bytes", size);
    } else {
        if (!dev->shares_memory &&
            ((direction != OMPJIT__COPY_FROM && !fake_find(f, dst, size)) ||
             (direction != OMPJIT__COPY_TO && !fake_find(f, src, size))))
            f->strays++;
        memmove(dst, src, size);
        if (direction == OMPJIT__COPY_TO) {
            f->to++;
            f->bytes_to += size;
        } else if (direction == OMPJIT__COPY_FROM) {
            f->from++;
            f->bytes_from += size;
        }
    }
    pthread_mutex_unlock(&f->lock);
    return st;
}

static const ompjit__device_ops fake_ops = {
    .name = "fake", .alloc = fake_alloc, .free = fake_free, .copy = fake_copy,
};

static struct ompjit_context fake_context;

static inline ompjit_device *fake_new(bool shares_memory)
{
    ompjit_device *dev = calloc(1, sizeof *dev);
    fake *f = calloc(1, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    dev->ops = &fake_ops;
    dev->state = f;
    dev->ctx = &fake_context;
    dev->shares_memory = shares_memory;
    dev->present = ompjit__present_new();
    return dev;
}

/* Returns how many allocations were left over, or copies went astray. */
static inline int fake_delete(ompjit_device *dev)
{
    fake *f = dev->state;
    f->fail_at = 0;
    ompjit__present_free(dev, dev->present);
    int left = f->live + f->strays;
    free(f);
    free(dev);
    return left;
}

static inline void fake_reset(ompjit_device *dev)
{
    fake *f = dev->state;
    f->allocs = f->to = f->from = f->calls = f->fail_at = 0;
    f->bytes_to = f->bytes_from = 0;
}

ompjit_status ompjit__run(ompjit_module *mod, unsigned index,
                          ompjit_device *dev, const ompjit__request *request,
                          const uint64_t *values, unsigned nvalues,
                          ompjit__queue *queue, ompjit_error *err)
{
    __atomic_add_fetch(&fake_runs, 1, __ATOMIC_RELAXED);
    if (request)
        fake_request = *request;
    if (fake_run_status)
        return ompjit__fail(err, fake_run_status, OMPJIT_STAGE_LAUNCH,
                            "fake: the kernel failed");
    if (fake_kernel_fn)
        fake_kernel_fn(values, nvalues);
    return OMPJIT_OK;
}
#endif
