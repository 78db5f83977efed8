/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A context's devices: which there are, and the public functions that work on
 * one. Knows the kinds by their tables of operations alone.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "device/device.h"
#include "door/door.h"

/* For messages, by enum ompjit__copy. */
const char *const ompjit__copy_names[] = {"to the device", "from the device",
                                          "on the device"};

/* -------------------------------------------------------------- the list */

/* False, and nothing is left of them, where there is no memory. */
static bool make_parts(ompjit_device *dev)
{
    const ompjit__device_registry *all = dev->ctx->device_registry;
    for (size_t i = 0; i < all->nparts; i++) {
        if (!all->parts[i].make || all->parts[i].make(dev))
            continue;
        while (i--)
            all->parts[i].free(dev);
        return false;
    }
    return true;
}

/* The device is the last one of the context's list, which moves. `state` is its
 * kind's, NULL for one that is opened later. On failure there is no device. */
ompjit_status ompjit__device_add(ompjit_context *ctx,
                                 const ompjit__device_ops *ops,
                                 unsigned ordinal, void *state,
                                 ompjit_device **out, ompjit_error *err)
{
    ompjit_device **devices =
        realloc(ctx->devices, (ctx->ndevices + 1) * sizeof *devices);
    if (!devices)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    ctx->devices = devices;

    ompjit_device *dev = calloc(1, sizeof *dev);
    if (!dev)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    dev->ops = ops;
    dev->ctx = ctx;
    dev->number = ctx->ndevices;
    dev->ordinal = ordinal;
    dev->caps = ops->caps;
    if (!make_parts(dev)) {
        free(dev);
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    }
    dev->state = state;
    ompjit__fork_lock_init(&dev->at_fork, &dev->lock);
    ompjit__fork_lock_init(&dev->open_at_fork, &dev->open_lock);
    ompjit__fork_lock_init(&dev->allocations_at_fork, &dev->allocations_lock);
    ctx->devices[ctx->ndevices++] = dev;
    *out = dev;
    return OMPJIT_OK;
}

/* Parts first: they may use the device, which `close` ends. Nobody uses a
 * device any more. Devices can be looked for anew after that. */
void ompjit__devices_free(ompjit_context *ctx)
{
    for (unsigned i = 0; i < ctx->ndevices; i++) {
        ompjit_device *dev = ctx->devices[i];
        for (size_t j = 0; j < ctx->device_registry->nparts; j++)
            ctx->device_registry->parts[j].free(dev);
        dev->ops->close(dev);
        ompjit__allocations_free(dev);
        ompjit__fork_lock_end(&dev->at_fork);
        ompjit__fork_lock_end(&dev->open_at_fork);
        ompjit__fork_lock_end(&dev->allocations_at_fork);
        free(dev);
    }
    free(ctx->devices);
    ctx->devices = NULL;
    ctx->ndevices = 0;
    ctx->devices_known = false;
}

/* The N of "cuda:N", -1 where it is none. */
static int parse_ordinal(const char *digits)
{
    long n = 0;
    const char *p = digits;
    for (; *p >= '0' && *p <= '9' && n <= INT_MAX; p++)
        n = n * 10 + (*p - '0');
    return p == digits || *p || n > INT_MAX ? -1 : (int)n;
}

/* All devices of the first kind that has any. */
static ompjit_status find_any(ompjit_context *ctx, ompjit_error *err)
{
    const ompjit__device_registry *all = ctx->device_registry;
    ompjit_status status = OMPJIT_OK;
    for (size_t i = 0; i < all->nkinds && !status && !ctx->ndevices; i++)
        status = all->kinds[i].find(ctx, -1, false, err);
    return status;
}

/* The error that lists what the option may be, by the kinds there are. */
static ompjit_status no_such_devices(const ompjit_context *ctx,
                                     ompjit_error *err)
{
    const ompjit__device_registry *all = ctx->device_registry;
    ompjit__buf names = {0};
    for (size_t i = 0; i < all->nkinds; i++) {
        const ompjit__device_kind *kind = &all->kinds[i];
        ompjit__buf_printf(&names, ", \"%s\"", kind->name);
        if (kind->numbered)
            ompjit__buf_printf(&names, ", \"%s:N\" for the N-th of them",
                               kind->name);
    }
    ompjit_status status =
        ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                     "devices \"%s\": not \"auto\"%s", ctx->devices_option,
                     names.data ? names.data : "");
    ompjit__buf_free(&names);
    return status;
}

/* By the option, or of the first kind that has any. Under the context's lock.
 */
static ompjit_status find(ompjit_context *ctx, ompjit_error *err)
{
    const ompjit__device_registry *all = ctx->device_registry;
    const char *option = ctx->devices_option;
    if (!option || !strcmp(option, "auto"))
        return find_any(ctx, err);
    for (size_t i = 0; i < all->nkinds; i++) {
        const ompjit__device_kind *kind = &all->kinds[i];
        size_t n = strlen(kind->name);
        if (!strcmp(option, kind->name))
            return kind->find(ctx, -1, true, err);
        if (kind->numbered && !strncmp(option, kind->name, n) &&
            option[n] == ':' && parse_ordinal(option + n + 1) >= 0)
            return kind->find(ctx, parse_ordinal(option + n + 1), true, err);
    }
    return no_such_devices(ctx, err);
}

/* A search that has failed is made again by the next call. */
ompjit_status ompjit__devices(ompjit_context *ctx, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&ctx->lock);
    if (!ctx->devices_known) {
        status = find(ctx, err);
        if (status)
            ompjit__devices_free(ctx);
        else
            atomic_store_explicit(&ctx->devices_known, true,
                                  memory_order_release);
    }
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

/* Would one of the kinds that the option lets look for devices start a driver?
 */
static bool would_start_driver(const ompjit_context *ctx)
{
    const ompjit__device_registry *all = ctx->device_registry;
    const char *option = ctx->devices_option;
    bool any = !option || !strcmp(option, "auto"), starts = false;
    for (size_t i = 0; i < all->nkinds && !starts; i++) {
        const ompjit__device_kind *kind = &all->kinds[i];
        bool wanted = any || !strncmp(option, kind->name, strlen(kind->name));
        starts = wanted && kind->starts_driver && kind->starts_driver();
    }
    return starts;
}

bool ompjit__devices_at_hand(ompjit_context *ctx)
{
    return atomic_load_explicit(&ctx->devices_known, memory_order_acquire) ||
           (!would_start_driver(ctx) && !ompjit__devices(ctx, NULL));
}

/* ------------------------------------------------------------- opening one */

/* A positive number in the environment; 0: none. */
static uint32_t env_number(const char *variable)
{
    const char *text = getenv(variable);
    long n = text ? strtol(text, NULL, 10) : 0;
    return n > 0 && n <= INT_MAX ? (uint32_t)n : 0;
}

/* Likewise of a setting of OpenMP's for this device: of the device's own number,
 * of all that are no host, of all, or without a word of any (OpenMP 5.2, 3.2). */
static uint32_t device_setting(const ompjit_device *dev, const char *name)
{
    char numbered[16];
    snprintf(numbered, sizeof numbered, "_DEV_%d", dev->number);
    const char *const suffixes[] = {numbered, "_DEV", "_ALL", ""};
    uint32_t n = 0;
    for (size_t i = 0; i < OMPJIT__COUNT(suffixes) && !n; i++) {
        char variable[64];
        snprintf(variable, sizeof variable, "%s%s", name, suffixes[i]);
        n = env_number(variable);
    }
    return n;
}

/* A team of one has no races. */
enum { CHECKED_THREADS = 8 };

/* How much runs at the same time. A device whose `multiprocessors` can be had
 * for less is not asked for the rest, which may cost more than a first launch.
 */
static ompjit_status measure(ompjit_device *dev, ompjit_error *err)
{
    ompjit__device_limits *limits = &dev->limits;
    ompjit_device_info info;
    if (dev->ops->multiprocessors) {
        limits->multiprocessors = dev->ops->multiprocessors(dev);
        limits->most_threads = dev->caps.most_team_threads;
        limits->parallelism = limits->multiprocessors;
        return OMPJIT_OK;
    }
    ompjit_status status = dev->ops->info(dev, &info, err);
    if (status)
        return status;
    limits->multiprocessors = info.multiprocessors;
    limits->most_threads = info.max_threads;
    limits->parallelism = info.multiprocessors;
    if (dev->caps.warps && info.warp_size)
        limits->parallelism *= info.max_threads / info.warp_size;
    return OMPJIT_OK;
}

/* Under dev->open_lock. OMPJIT_THREADS is an order, so that more than the
 * device has is an error; OpenMP's own variables are wishes. */
static ompjit_status make_ready(ompjit_device *dev, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    if (dev->ops->open && !dev->state)
        status = dev->ops->open(dev, err);
    if (!status)
        status = measure(dev, err);
    if (status)
        return status;
    ompjit__device_limits *limits = &dev->limits;
    limits->teams = env_number("OMPJIT_TEAMS");
    if (!limits->teams)
        limits->teams = device_setting(dev, "OMP_NUM_TEAMS");
    uint32_t asked = env_number("OMPJIT_THREADS");
    limits->threads =
        asked ? asked : device_setting(dev, "OMP_TEAMS_THREAD_LIMIT");
    limits->fewest_threads = dev->ctx->check ? CHECKED_THREADS : 0;
    if (asked && limits->most_threads && asked > limits->most_threads)
        return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                            "OMPJIT_THREADS asks for %u threads a team; device "
                            "%d has at most %u",
                            asked, dev->number, limits->most_threads);
    return OMPJIT_OK;
}

/* One load where the device is ready; else the first thread opens it, and
 * others wait. A failure is told to each, and each tries again. */
ompjit_status ompjit__device_ready(ompjit_device *dev, ompjit_error *err)
{
    if (atomic_load_explicit(&dev->ready, memory_order_acquire))
        return OMPJIT_OK;
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&dev->open_lock);
    if (!atomic_load_explicit(&dev->ready, memory_order_relaxed)) {
        status = make_ready(dev, err);
        if (!status)
            atomic_store_explicit(&dev->ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&dev->open_lock);
    return status;
}

/* -------------------------------------------------- memory of the host's */

/* A device of a test may have no context. */
static bool requires_unified(const ompjit_device *dev)
{
    return dev->ctx && atomic_load_explicit(&dev->ctx->requires,
                                            memory_order_relaxed) &
                           OMPJIT__REQUIRES_UNIFIED_SHARED_MEMORY;
}

/* Is it one memory, or does the program require that it is used as one? */
bool ompjit__shares_memory(const ompjit_device *dev)
{
    return dev->shares_memory ||
           (dev->reads_host && (dev->shares_chip || requires_unified(dev)));
}

bool ompjit__is_unified(const ompjit_device *dev)
{
    return requires_unified(dev) && ompjit__shares_memory(dev);
}

bool ompjit__host_usable(const ompjit_device *dev)
{
    return dev->borrows || ompjit__shares_memory(dev);
}

ompjit__device_environment ompjit__environment_of(const ompjit_device *dev)
{
    enum { NANOSECONDS = 1000000000 }; /* a tick of the devices' clocks */
    return (ompjit__device_environment){
        .num_devices = dev->ctx->ndevices,
        .device_num = dev->number,
        .clock_frequency = NANOSECONDS,
        .hardware_parallelism = dev->limits.parallelism,
    };
}

/* ------------------------------------------------------- public functions */

/* INVALID, with the names of function and argument. */
static ompjit_status null(const char *function, const char *argument,
                          ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: `%s` is NULL", function, argument);
}
#define NOT_NULL(argument)                         \
    do {                                           \
        if (!(argument))                           \
            return null(__func__, #argument, err); \
    } while (0)

/* Looks for the devices; opens none. */
ompjit_status ompjit_context_device_count(ompjit_context *ctx, unsigned *count,
                                          ompjit_error *err)
{
    NOT_NULL(ctx);
    NOT_NULL(count);
    ompjit_status status = ompjit__devices(ctx, err);
    if (!status)
        *count = ctx->ndevices;
    return status;
}

/* The device is the context's, and ends with it. */
ompjit_status ompjit_context_device(ompjit_context *ctx, unsigned number,
                                    ompjit_device **dev, ompjit_error *err)
{
    NOT_NULL(ctx);
    NOT_NULL(dev);
    ompjit_status status = ompjit__devices(ctx, err);
    if (status)
        return status;
    if (number >= ctx->ndevices)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "no device %u: the context has %u, numbered from 0",
                            number, ctx->ndevices);
    *dev = ctx->devices[number];
    return OMPJIT_OK;
}

/* LLVM's name of a CPU, which only the compiler knows: asking starts a worker.
 */
static void name_cpu(ompjit_device *dev, ompjit_device_info *info)
{
    if (ompjit__door_host_cpu(&dev->ctx->compiler, info->arch,
                              sizeof info->arch, NULL))
        snprintf(info->arch, sizeof info->arch, "host");
}

/* Opens the device: some of the facts only its driver has. A struct that ends
 * before the name of the CPU starts no worker. */
ompjit_status ompjit_device_info_get(ompjit_device *dev,
                                     ompjit_device_info *info,
                                     ompjit_error *err)
{
    ompjit_device_info full = {0};
    NOT_NULL(dev);
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_device_info, info, err);
    if (!status)
        status = ompjit__device_ready(dev, err);
    if (!status)
        status = dev->ops->info(dev, &full, err);
    if (status)
        return status;
    if (!*full.arch && info->size > offsetof(ompjit_device_info, arch))
        name_cpu(dev, &full);
    ompjit__result_fill(OMPJIT__STRUCT_device_info, &full, info);
    return OMPJIT_OK;
}

/* The memory is the caller's, until ompjit_device_free. */
ompjit_status ompjit_device_alloc(ompjit_device *dev, size_t size, void **ptr,
                                  ompjit_error *err)
{
    NOT_NULL(dev);
    NOT_NULL(ptr);
    ompjit_status status = ompjit__device_ready(dev, err);
    return status ? status : ompjit__allocate(dev, size, ptr, err);
}

/* For memory whose user has no error to return: a failure is logged. */
void ompjit__device_drop(ompjit_device *dev, void *memory)
{
    ompjit_error err;
    if (dev->ops->free(dev, memory, &err))
        ompjit__log(dev->ctx, "%s", err.text);
}

/* NULL is allowed. */
ompjit_status ompjit_device_free(ompjit_device *dev, void *ptr,
                                 ompjit_error *err)
{
    NOT_NULL(dev);
    return ptr ? ompjit__deallocate(dev, ptr, err) : OMPJIT_OK;
}

/* Waits for the copy. 0 bytes are copied from anywhere. */
ompjit_status ompjit_device_upload(ompjit_device *dev, void *device_dst,
                                   const void *host_src, size_t size,
                                   ompjit_error *err)
{
    NOT_NULL(dev);
    if (!size)
        return OMPJIT_OK;
    NOT_NULL(device_dst);
    NOT_NULL(host_src);
    return dev->ops->copy(dev, OMPJIT__COPY_TO, device_dst, host_src, size,
                          NULL, err);
}

/* As ompjit_device_upload. */
ompjit_status ompjit_device_download(ompjit_device *dev, void *host_dst,
                                     const void *device_src, size_t size,
                                     ompjit_error *err)
{
    NOT_NULL(dev);
    if (!size)
        return OMPJIT_OK;
    NOT_NULL(host_dst);
    NOT_NULL(device_src);
    return dev->ops->copy(dev, OMPJIT__COPY_FROM, host_dst, device_src, size,
                          NULL, err);
}

/* For the profile: clocks of devices that have run anything. */
void ompjit__devices_settle_times(ompjit_context *ctx)
{
    unsigned n = atomic_load(&ctx->devices_known) ? ctx->ndevices : 0;
    for (unsigned i = 0; i < n; i++) {
        ompjit_device *dev = ctx->devices[i];
        if (dev->ops->settle_times && atomic_load(&dev->ready))
            dev->ops->settle_times(dev);
    }
}
