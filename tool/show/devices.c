/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit devices: what target regions can run on here.
 */
#include <stdio.h>

#include "tool/tool.h"

/* -v: what decides how many teams run at once, and what the driver said. */
static void show_more(const ompjit_device_info *info)
{
    ompjit_arch_info arch = OMPJIT_ARCH_INFO_INIT;
    if (ompjit_arch_info_get(info->arch, &arch, NULL))
        return;
    printf("  team         at most %u threads, %u bytes of shared memory "
           "without asking for more, warps of %u\n", info->max_threads,
           info->max_shared, info->warp_size);
    printf("  a multiprocessor runs %u threads in %u warps and %u teams\n",
           arch.threads, arch.warps, arch.teams);
    printf("  it has       %u registers, %u bytes of shared memory, of which "
           "a team may have %u\n", arch.registers, arch.shared,
           arch.team_shared);
    printf("  all of them  %u threads, %u teams\n",
           arch.threads * info->multiprocessors,
           arch.teams * info->multiprocessors);
}

static int show(const struct options *o, ompjit_context *ctx,
                const char *label, unsigned number)
{
    ompjit_device *dev;
    ompjit_device_info info = OMPJIT_DEVICE_INFO_INIT;
    ompjit_error err;
    if (ompjit_context_device(ctx, number, &dev, &err) ||
        ompjit_device_info_get(dev, &info, &err))
        return failed(&err);
    printf("%-8s %s, %s, %.1f GiB, %u %s, %u threads a team", label, info.name,
           info.arch, info.memory / 1073741824.0, info.multiprocessors,
           info.kind == OMPJIT_DEVICE_CUDA ? "multiprocessors" : "cores",
           info.max_threads);
    if (info.driver_version)
        printf(", driver %u.%u", info.driver_version / 1000,
               info.driver_version % 1000 / 10);
    putchar('\n');
    if (o->verbose)
        show_more(&info);
    return EXIT_OK;
}

/* All devices of one kind. If there is none, `missing` is said, unless it is
 * NULL. */
static int show_all(const struct options *o, const char *devices,
                    const char *missing)
{
    ompjit_context *ctx = NULL;
    unsigned count = 0;
    ompjit_error err;
    int status = session_open(o, devices, &ctx);
    if (status)
        return status;
    if (ompjit_context_device_count(ctx, &count, &err)) {
        if (missing)
            printf("%-8s none: %s\n", missing, err.text);
        else
            status = failed(&err);
    }
    for (unsigned i = 0; i < count && !status; i++) {
        char label[32];
        snprintf(label, sizeof label, missing ? "%s:%u" : "%s", missing
                 ? missing : "host", i);
        status = show(o, ctx, o->device ? o->device : label, i);
    }
    ompjit_context_destroy(ctx);
    return status;
}

int tool_devices(struct options *o)
{
    if (o->device)
        return show_all(o, o->device, NULL);
    int status = show_all(o, "host", NULL);
    return status ? status : show_all(o, "cuda", "cuda");
}
