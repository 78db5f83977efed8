/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The examples of the API stop at the first error, and tell what ran where, by
 * these functions.
 */
#ifndef EXAMPLES_API_H
#define EXAMPLES_API_H

#include <ompjit.h>
#include <ompjit_debug.h>
#include <ompjit_tune.h>

#include "check.h"

/* try(ompjit_...(..., &err)): the error's text and the end of the program. */
static ompjit_error err;
static inline void try(ompjit_status status)
{
    if (!status)
        return;
    fprintf(stderr, "%s: %s: %s\n", ompjit_stage_name(err.stage),
            ompjit_status_name(status), err.text);
    exit(1);
}

/* Bytes on the device, filled from `from` unless that is NULL. */
static inline void *device_copy(ompjit_device *dev, const void *from,
                                size_t size)
{
    void *p;
    try(ompjit_device_alloc(dev, size, &p, &err));
    if (from)
        try(ompjit_device_upload(dev, p, from, size, &err));
    return p;
}

static inline ompjit_arg pointer_arg(const char *name, void *p)
{
    return ompjit_arg_pointer(name, p);
}

static inline ompjit_arg long_arg(const char *name, long value)
{
    return ompjit_arg_i64(name, value);
}

/* The device, the kernel, and what was compiled into it for its last launch. */
static inline void tell_launch(ompjit_device *dev, ompjit_kernel *kernel)
{
    static const char *const modes[] = {"bare", "generic", "SPMD",
                                        "generic made SPMD"};
    ompjit_device_info device = OMPJIT_DEVICE_INFO_INIT;
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_launch_info launch = OMPJIT_LAUNCH_INFO_INIT;
    try(ompjit_device_info_get(dev, &device, &err));
    try(ompjit_kernel_last_launch(kernel, dev, &launch, &err));
    try(ompjit_kernel_info_get(kernel, &info, &err));
    printf("  device       %s (%s)\n", device.name, device.arch);
    printf("  kernel       %s, line %u, %s, %u parameters\n", info.name,
           info.line, modes[info.mode & 3], info.nparams);
    printf("  launch       %u teams of %u threads\n", launch.teams,
           launch.threads);
    printf("  specialized  %s%s%u of %u arguments\n",
           launch.folded_teams ? "teams, " : "",
           launch.folded_threads ? "threads, " : "", launch.folded_args,
           info.nparams);
}

static inline void tell_times(ompjit_context *ctx)
{
    ompjit_times times = OMPJIT_TIMES_INIT;
    try(ompjit_context_times(ctx, &times, &err));
    for (int i = 0; i < OMPJIT_STAGE_COUNT; i++)
        if (times.stage[i].count)
            printf("  %-16s %9.3f ms  %llu run%s\n",
                   ompjit_stage_name((ompjit_stage)i),
                   times.stage[i].ns / 1e6,
                   (unsigned long long)times.stage[i].count,
                   times.stage[i].count == 1 ? "" : "s");
}
#endif
