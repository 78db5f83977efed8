/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which GPUs there are and what they are. Makes no context: nothing is done on
 * a GPU before it is used.
 *
 * cuInit, the count and the attributes need no context. The context's lock
 * (ctx->lock) is held by the caller, so devices are found once; ompjit__gpu
 * structs are made here and, once device_add has taken them, freed by
 * gpu_close.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/cuda/cuda.h"
#include "targets/arch.h"

/* A call that failed before there was a device. There is no ompjit__gpu yet,
 * which ompjit__gpu_fail would need. */
static ompjit_status refused(const ompjit__cuda *cu, const char *function,
                             cu_result code, ompjit_error *err)
{
    ompjit__buf text = {0};
    ompjit__cuda_describe(cu, function, code, &text);
    ompjit_status status =
        ompjit__fail(err, ompjit__cuda_status(code), OMPJIT_STAGE_API,
                     "looking for GPUs: %s", text.data ? text.data : function);
    ompjit__buf_free(&text);
    return status;
}

/* cuInit may be called again; it takes long only for the first time. */
static ompjit_status start(const ompjit__cuda **cu, ompjit_error *err)
{
    ompjit_status status = ompjit__cuda_load(cu, err);
    if (status)
        return status;
    cu_result r = (*cu)->cuInit(0);
    return r ? refused(*cu, "cuInit", r, err) : OMPJIT_OK;
}

/* Drivers of CUDA 11.0 and 11.1 do not know the attributes that came later
 * (LATER): what these tell of is not there, 0. Attributes are ints in CUDA,
 * hence the fields' type. */
static ompjit_status read_facts(ompjit__gpu *gpu, ompjit_error *err)
{
#define FACT(field, name) \
    {offsetof(ompjit__gpu_facts, field), OMPJIT__CU_DEVICE_ATTRIBUTE_##name, \
     false}
#define LATER(field, name) \
    {offsetof(ompjit__gpu_facts, field), OMPJIT__CU_DEVICE_ATTRIBUTE_##name, \
     true}
    static const struct {
        size_t offset;
        unsigned attribute;
        bool later;
    } table[] = {
        FACT(major, COMPUTE_CAPABILITY_MAJOR),
        FACT(minor, COMPUTE_CAPABILITY_MINOR),
        FACT(multiprocessors, MULTIPROCESSOR_COUNT),
        FACT(warp_size, WARP_SIZE),
        FACT(teams[0], MAX_GRID_DIM_X),
        FACT(teams[1], MAX_GRID_DIM_Y),
        FACT(teams[2], MAX_GRID_DIM_Z),
        FACT(threads[0], MAX_BLOCK_DIM_X),
        FACT(threads[1], MAX_BLOCK_DIM_Y),
        FACT(threads[2], MAX_BLOCK_DIM_Z),
        FACT(max_threads, MAX_THREADS_PER_BLOCK),
        FACT(shared, MAX_SHARED_MEMORY_PER_BLOCK),
        FACT(shared_optin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        FACT(cooperative, COOPERATIVE_LAUNCH),
        LATER(pools, MEMORY_POOLS_SUPPORTED), /* CUDA 11.2 */
        FACT(pageable, PAGEABLE_MEMORY_ACCESS),
        FACT(host_tables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
        FACT(integrated, INTEGRATED),
    };
#undef FACT
#undef LATER
    for (size_t i = 0; i < OMPJIT__COUNT(table); i++) {
        int *value = (int *)((char *)&gpu->facts + table[i].offset);
        ompjit__gpu_call call = {OMPJIT_STAGE_API, "cuDeviceGetAttribute",
                                 gpu->cu->cuDeviceGetAttribute(
                                     value, table[i].attribute, gpu->device)};
        if (table[i].later && call.code == OMPJIT__CUDA_INVALID_VALUE)
            *value = 0;
        else if (call.code)
            return ompjit__gpu_fail(gpu, call, err, "reading attribute %u",
                                    table[i].attribute);
    }
    return OMPJIT_OK;
}

/* The newest architecture that the GPU runs and the driver compiles for. TARGET
 * error if there is none. Code for an older compute capability is right on this
 * GPU too, as PTX, which the driver translates. */
static ompjit_status choose_arch(ompjit__gpu *gpu, ompjit_error *err)
{
    const int own = gpu->facts.major * 10 + gpu->facts.minor;
    for (int cc = own; cc > 0; cc--) {
        snprintf(gpu->info.arch, sizeof gpu->info.arch, "sm_%d", cc);
        if (ompjit__arch_runs(gpu->info.arch, gpu->facts.ptx))
            return OMPJIT_OK;
    }
    return ompjit__fail(err, OMPJIT_ERR_TARGET, OMPJIT_STAGE_API,
                        "cuda:%u (%s) has compute capability %d.%d and a "
                        "driver of CUDA %u.%u, which are older than every "
                        "architecture that code is made for",
                        gpu->ordinal, gpu->info.name, gpu->facts.major,
                        gpu->facts.minor, gpu->info.driver_version / 1000,
                        gpu->info.driver_version % 1000 / 10);
}

/* cuDriverGetVersion gives 1000 * major + 10 * minor of CUDA, from which the
 * newest PTX version follows that the driver reads. */
static ompjit_status read_info(ompjit__gpu *gpu, ompjit_error *err)
{
    const ompjit__cuda *cu = gpu->cu;
    ompjit_device_info *info = &gpu->info;
    ompjit__gpu_call call = {
        OMPJIT_STAGE_API, "cuDeviceGetName",
        cu->cuDeviceGetName(info->name, sizeof info->name, gpu->device)};
    if (call.code)
        return ompjit__gpu_fail(gpu, call, err, "reading the name");

    size_t bytes;
    call.function = "cuDeviceTotalMem";
    call.code = cu->cuDeviceTotalMem(&bytes, gpu->device);
    if (call.code)
        return ompjit__gpu_fail(gpu, call, err, "reading the memory's size");

    int version;
    call.function = "cuDriverGetVersion";
    call.code = cu->cuDriverGetVersion(&version);
    if (call.code)
        return ompjit__gpu_fail(gpu, call, err, "reading the driver's version");

    ompjit_status status = read_facts(gpu, err);
    if (status)
        return status;
    unsigned cuda = (unsigned)(version / 1000 * 10 + version % 1000 / 10);
    gpu->facts.ptx = ompjit__ptx_of_cuda(cuda);
    info->kind = OMPJIT_DEVICE_CUDA;
    info->memory = bytes;
    info->driver_version = (uint32_t)version;
    info->multiprocessors = (uint32_t)gpu->facts.multiprocessors;
    info->max_threads = (uint32_t)gpu->facts.max_threads;
    info->max_shared = (uint32_t)gpu->facts.shared;
    info->warp_size = (uint32_t)gpu->facts.warp_size;
    return choose_arch(gpu, err);
}

/* A page that a forked child finds empty: asking for the process's number is a
 * system call, too much for each launch. MADV_WIPEONFORK (Linux 4.14) makes the
 * child's copy all zero. NULL: the kernel does not know it, and the process's
 * number is asked for. */
static void *own_page(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, size, MADV_WIPEONFORK)) {
        munmap(page, size);
        return NULL;
    }
    *page = 1;
    return page;
}

/* Also for a GPU that was never used: all lists but the names are empty then.
 */
void ompjit__gpu_free(ompjit__gpu *gpu)
{
    if (gpu->own_page)
        munmap((void *)(uintptr_t)gpu->own_page,
               (size_t)sysconf(_SC_PAGESIZE));
    while (gpu->names) {
        struct ompjit__kernel_name *name = gpu->names;
        gpu->names = name->next;
        free(name);
    }
    pthread_mutex_destroy(&gpu->clock.lock);
    pthread_mutex_destroy(&gpu->lock);
    free(gpu);
}

/* Under ctx->lock. The locks are there before the first failure, since its text
 * takes gpu->lock. The device's flags are set once it is in the context's list;
 * until then `gpu` is freed here. */
static ompjit_status add(ompjit_context *ctx, const ompjit__cuda *cu,
                         unsigned ordinal, ompjit_error *err)
{
    ompjit__gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    gpu->cu = cu;
    gpu->ctx = ctx;
    gpu->ordinal = ordinal;
    gpu->pid = getpid();
    gpu->own_page = own_page();
    pthread_mutex_init(&gpu->lock, NULL);
    pthread_mutex_init(&gpu->clock.lock, NULL);

    ompjit_device *dev;
    ompjit_status status;
    ompjit__gpu_call call = {OMPJIT_STAGE_API, "cuDeviceGet",
                             cu->cuDeviceGet(&gpu->device, (int)ordinal)};
    if (call.code)
        status = ompjit__gpu_fail(gpu, call, err, "opening the device");
    else if (!(status = read_info(gpu, err)))
        status = ompjit__device_add(ctx, &ompjit__cuda_ops, ordinal, gpu, &dev,
                                    err);
    if (!status) {
        dev->reads_host = gpu->facts.pageable;
        dev->shares_chip = gpu->facts.integrated;
    }
    if (status)
        ompjit__gpu_free(gpu);
    return status;
}

/* Every GPU; one that is too old for us is an error only where there is no
 * other. Any other error ends the search, and is returned. */
static ompjit_status add_all(ompjit_context *ctx, const ompjit__cuda *cu,
                             unsigned count, ompjit_error *err)
{
    ompjit_error why;
    ompjit_status status = OMPJIT_OK;
    for (unsigned i = 0; i < count; i++) {
        ompjit_status one = add(ctx, cu, i, &why);
        if (!one)
            continue;
        status = one;
        if (status != OMPJIT_ERR_TARGET)
            break;
        ompjit__log(ctx, "%s", why.text);
    }
    if (!status || (status == OMPJIT_ERR_TARGET && ctx->ndevices))
        return OMPJIT_OK;
    if (err)
        *err = why;
    return status;
}

/* The `find` of this kind (device/device.h). `required`: the user has asked for
 * a GPU, so its absence is an error; else it is a line in the log, and the next
 * kind is tried. `ordinal` -1: all of them. If the library file is missing,
 * nothing is loaded, which saves the search of a machine without CUDA. */
bool ompjit__cuda_starts(void)
{
    return !ompjit__library_missing(OMPJIT__CUDA_LIBRARY);
}

ompjit_status ompjit__cuda_devices(ompjit_context *ctx, int ordinal,
                                   bool required, ompjit_error *err)
{
    const ompjit__cuda *cu;
    ompjit_error why;
    if (!required && !ompjit__cuda_starts()) {
        ompjit__log(ctx, "no GPU: there is no " OMPJIT__CUDA_LIBRARY);
        return OMPJIT_OK;
    }
    ompjit_status status = start(&cu, &why);
    if (status && !required) {
        ompjit__log(ctx, "no GPU: %s", why.text);
        return OMPJIT_OK;
    }
    if (status) {
        if (err)
            *err = why;
        return status;
    }
    int count;
    cu_result r = cu->cuDeviceGetCount(&count);
    if (r)
        return refused(cu, "cuDeviceGetCount", r, err);
    if (!count && !required)
        return OMPJIT_OK;
    if (!count)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                            "the CUDA driver has no GPU");
    if (ordinal < 0) {
        status = add_all(ctx, cu, (unsigned)count, err);
        return status == OMPJIT_ERR_TARGET && !required ? OMPJIT_OK : status;
    }
    if (ordinal >= count)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "no cuda:%d: the CUDA driver has %d GPUs, numbered "
                            "from 0",
                            ordinal, count);
    return add(ctx, cu, (unsigned)ordinal, err);
}
