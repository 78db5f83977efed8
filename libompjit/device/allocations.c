/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Device memory that the application itself allocates and frees, by the public
 * functions and by omp_target_alloc and omp_target_free. The addresses are
 * listed where the device's own `free` takes every address for one of its
 * blocks, so that the application's mistake is an error. The library's own
 * allocations for maps take the device's operations directly.
 */
#include <search.h>
#include <stdint.h>

#include "device/device.h"

/* Nodes of the tree are the addresses themselves. */
static int compare(const void *a, const void *b)
{
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static void forget(void *address)
{
    (void)address;
}

void ompjit__allocations_free(ompjit_device *dev)
{
    tdestroy(dev->allocations, forget);
    dev->allocations = NULL;
}

/* False: out of memory. */
static bool remember(ompjit_device *dev, void *ptr)
{
    pthread_mutex_lock(&dev->allocations_lock);
    bool good = tsearch(ptr, &dev->allocations, compare) != NULL;
    pthread_mutex_unlock(&dev->allocations_lock);
    return good;
}

/* False: it was not listed. */
static bool take_out(ompjit_device *dev, void *ptr)
{
    pthread_mutex_lock(&dev->allocations_lock);
    bool found = tdelete(ptr, &dev->allocations, compare) != NULL;
    pthread_mutex_unlock(&dev->allocations_lock);
    return found;
}

ompjit_status ompjit__allocate(ompjit_device *dev, size_t size, void **ptr,
                               ompjit_error *err)
{
    void *made;
    ompjit_status status = dev->ops->alloc(dev, size, &made, err);
    if (status)
        return status;
    if (!dev->caps.knows_allocations && !remember(dev, made)) {
        ompjit__device_drop(dev, made);
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    }
    *ptr = made;
    return OMPJIT_OK;
}

ompjit_status ompjit__deallocate(ompjit_device *dev, void *ptr,
                                 ompjit_error *err)
{
    if (!dev->caps.knows_allocations && !take_out(dev, ptr))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_MAP,
                            "device %u: %p is freed, but was not allocated "
                            "there, or was freed before", dev->number, ptr);
    return dev->ops->free(dev, ptr, err);
}
