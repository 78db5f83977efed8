/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Memory that the host and a GPU both reach at the same address: page-locked on
 * the host, which copies go to and from without the driver's staging, or
 * managed, whose pages move to whoever uses them (CUDA C++ Programming Guide,
 * "Page-Locked Host Memory", "Unified Memory Programming").
 *
 * The blocks are in two trees, since each kind is freed by another function,
 * and a pointer of the wrong kind is an error.
 */
#include "device/cuda/cuda.h"

/* The caller tells of a failure; drop only logs it. */
static ompjit__gpu_call give_back(ompjit__gpu *gpu, void *block, bool managed)
{
    ompjit__gpu_call call = {.stage = OMPJIT_STAGE_MAP};
    call.function = managed ? "cuMemFree" : "cuMemFreeHost";
    call.code = managed ? gpu->cu->cuMemFree((uintptr_t)block)
                        : gpu->cu->cuMemFreeHost(block);
    return call;
}

/* Frees where nobody can be told of a failure. */
static void drop(ompjit__gpu *gpu, void *block, bool managed)
{
    static const char doing[] = "freeing memory of host and GPU";
    if (managed)
        OMPJIT__GPU_DESTROY(gpu, cuMemFree, (uintptr_t)block, doing);
    else
        OMPJIT__GPU_DESTROY(gpu, cuMemFreeHost, block, doing);
}

/* ATTACH_GLOBAL: any stream of any GPU may use managed memory. Page-locked
 * memory can be reached by the device at the host's address, since all 64-bit
 * platforms have unified addressing. On success *ptr is the caller's. */
ompjit_status ompjit__gpu_alloc_host(ompjit_device *dev, size_t size,
                                     bool managed, void **ptr,
                                     ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    ompjit__gpu_call call = {.stage = OMPJIT_STAGE_MAP};
    void *block = NULL;
    cu_pointer address = 0;
    if (managed) {
        call.function = "cuMemAllocManaged";
        call.code = gpu->cu->cuMemAllocManaged(
            &address, size, OMPJIT__CU_MEM_ATTACH_GLOBAL);
        block = (void *)(uintptr_t)address;
    } else {
        call.function = "cuMemAllocHost";
        call.code = gpu->cu->cuMemAllocHost(&block, size);
    }
    if (call.code) {
        status = ompjit__gpu_fail(gpu, call, err,
                                  "allocating %zu bytes of %s memory", size,
                                  managed ? "managed" : "page-locked");
    } else if (!ompjit__gpu_remember(gpu, &gpu->host_blocks[managed], block)) {
        drop(gpu, block, managed);
        status = ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    }
    status = ompjit__gpu_leave(gpu, status, err);
    if (!status)
        *ptr = block;
    return status;
}

/* Forgotten before it is freed, as in cuda.c: the address may be another
 * thread's the next moment. Remembered again where the driver refuses. */
ompjit_status ompjit__gpu_free_host(ompjit_device *dev, void *ptr, bool managed,
                                    ompjit_error *err)
{
    ompjit__gpu *gpu = dev->state;
    ompjit_status status = ompjit__gpu_enter(gpu, err);
    if (status)
        return status;
    if (!ompjit__gpu_forget(gpu, &gpu->host_blocks[managed], ptr)) {
        status = ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_MAP,
                              "freeing %p: not the address of %s memory of "
                              "cuda:%u",
                              ptr, managed ? "managed" : "page-locked",
                              gpu->ordinal);
        return ompjit__gpu_leave(gpu, status, err);
    }
    ompjit__gpu_call call = give_back(gpu, ptr, managed);
    if (call.code) {
        ompjit__gpu_remember(gpu, &gpu->host_blocks[managed], ptr);
        status = ompjit__gpu_fail(gpu, call, err, "freeing %p", ptr);
    }
    return ompjit__gpu_leave(gpu, status, err);
}

/* tsearch's node begins with its key. The node that is dropped is the root. */
static void close_tree(ompjit__gpu *gpu, bool managed, bool driver)
{
    void **tree = &gpu->host_blocks[managed];
    while (*tree) {
        void *block = *(void **)*tree;
        if (driver)
            drop(gpu, block, managed);
        ompjit__gpu_forget(gpu, tree, block);
    }
}

void ompjit__gpu_close_host_memory(ompjit__gpu *gpu, bool driver)
{
    close_tree(gpu, false, driver);
    close_tree(gpu, true, driver);
}
