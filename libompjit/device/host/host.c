/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host device: images are objects of this machine's CPU (image.c,
 * function.c), memory is ordinary memory (memory.c), teams run across the
 * threads of the OpenMP runtime (launch.c, league.c). Work is done when a call
 * returns, so queues are empty shells.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/engine/fault.h"
#include "device/engine/libomp.h"
#include "device/host/host.h"

/* All work is done when its call returns, so a queue has no state. */
struct ompjit__queue {
    char unused;
};

/* ----------------------------------------------------------------- queues */

static ompjit_status host_queue_create(ompjit_device *dev, ompjit__queue **out,
                                       ompjit_error *err)
{
    ompjit__queue *queue = malloc(sizeof *queue);
    if (!queue)
        return ompjit__no_memory(err, OMPJIT_STAGE_LAUNCH);
    *out = queue;
    return OMPJIT_OK;
}

/* Work has ended already. */
static ompjit_status host_queue_wait(ompjit_device *dev, ompjit__queue *queue,
                                     ompjit_error *err)
{
    return OMPJIT_OK;
}

static void host_queue_destroy(ompjit_device *dev, ompjit__queue *queue)
{
    free(queue);
}

/* ----------------------------------------------------------------- device */

static void host_target(ompjit_device *dev, char arch[32],
                        ompjit_format *format, uint32_t *ptx)
{
    strcpy(arch, "host");
    *ptx = 0;
    *format = OMPJIT_FORMAT_OBJECT;
}

/* As Linux tells it on x86-64; AArch64's has no such line, and gets "host CPU".
 */
static void cpu_name(char *name, size_t size)
{
    snprintf(name, size, "host CPU");
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value)
            continue;
        value += 1 + strspn(value + 1, " ");
        value[strcspn(value, "\n")] = 0;
        snprintf(name, size, "%s", value);
        break;
    }
    if (f)
        fclose(f);
}

static ompjit_status host_info(ompjit_device *dev, ompjit_device_info *info,
                               ompjit_error *err)
{
    const ompjit__host *host = dev->state;
    *info = (ompjit_device_info){.kind = OMPJIT_DEVICE_HOST,
                                 .max_threads = OMPJIT__HOST_MAX_THREADS,
                                 .max_shared = UINT32_MAX,
                                 .warp_size = OMPJIT_HOST_WARP};
    cpu_name(info->name, sizeof info->name);
    info->memory = (uint64_t)sysconf(_SC_PHYS_PAGES) *
                   (uint64_t)sysconf(_SC_PAGESIZE);
    info->multiprocessors = host->without ? 1 : ompjit__libomp_threads();
    return OMPJIT_OK;
}

/* Threads of a league; libomp is not loaded for the question. */
static uint32_t host_multiprocessors(ompjit_device *dev)
{
    return ompjit__libomp_threads();
}

/* A fork inside of a parallel region of the application gets one thread. */
static uint32_t host_processors(ompjit_device *dev)
{
    const struct ompjit__libomp *omp = ((ompjit__host *)dev->state)->libomp;
    return omp && omp->omp_in_parallel()
               ? 1
               : dev->limits.multiprocessors;
}

/* Under dev->open_lock. libomp is only used here where the process has it
 * already. */
static ompjit_status host_open(ompjit_device *dev, ompjit_error *err)
{
    ompjit__host *host = calloc(1, sizeof *host);
    if (!host || !(host->pool = ompjit__host_pool_new()) ||
        !(host->limits = ompjit__limits_new())) {
        ompjit__host_pool_free(host ? host->pool : NULL);
        free(host);
        return ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    }
    ompjit__host_blocks_init(&host->blocks);
    ompjit__fork_costs_init(&host->fork_costs);
    dev->state = host;
    if (ompjit__libomp_here())
        ompjit__host_libomp(dev);
    return OMPJIT_OK;
}

/* No thread may use the device. It drops the signal handlers if it holds them. */
static void host_close(ompjit_device *dev)
{
    ompjit__host *host = dev->state;
    if (!host)
        return;
    if (host->catches)
        ompjit__fault_drop();
    ompjit__limits_free(host->limits);
    ompjit__host_blocks_end(&host->blocks);
    ompjit__host_pool_free(host->pool);
    free(host);
    dev->state = NULL;
}

static const ompjit__queue_ops queues = {
    .create = host_queue_create,
    .wait = host_queue_wait,
    .destroy = host_queue_destroy,
};

static const ompjit__device_ops host_ops = {
    .name = "host",
    .caps = {.lone_threads = true,
             .survives_fork = true,
             .keeps_modes = true,
             .common_functions = true,
             .most_team_threads = OMPJIT__HOST_MAX_THREADS},
    .open = host_open,
    .close = host_close,
    .info = host_info,
    .multiprocessors = host_multiprocessors,
    .processors = host_processors,
    .alloc = ompjit__host_alloc,
    .free = ompjit__host_free,
    .copy = ompjit__host_copy,
    .target = host_target,
    .load = ompjit__host_load,
    .unload = ompjit__host_unload,
    .symbol = ompjit__host_symbol,
    .function = ompjit__host_function,
    .launch = ompjit__host_run,
    .abort = ompjit__host_abort,
    .prepare = ompjit__host_prepare_run,
    .queues = &queues,
};

/* There is one, always; its options are the context's memory settings. */
ompjit_status ompjit__host_devices(ompjit_context *ctx, int ordinal,
                                   bool required, ompjit_error *err)
{
    ompjit_device *dev;
    ompjit_status status = ompjit__device_add(ctx, &host_ops, 0, NULL,
                                              &dev, err);
    if (status)
        return status;
    dev->reads_host = true;
    dev->shares_memory = ctx->host_memory == OMPJIT_HOST_MEMORY_SHARED;
    dev->borrows = ctx->host_memory == OMPJIT_HOST_MEMORY_AUTO;
    return OMPJIT_OK;
}
