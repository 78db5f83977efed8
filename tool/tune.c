/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit tune: a program is run, each of its kernels is tuned on the program's
 * own data when it is first launched, and a table tells what was found.
 */
#include <stdio.h>

#include "tool/tool.h"

static void choice(unsigned n)
{
    if (n)
        fprintf(stderr, " %8u", n);
    else
        fprintf(stderr, " %8s", "default");
}

static void show_class(const ompjit_kernel_info *info, uint64_t least,
                       const ompjit_tuned *r)
{
    char name[160], size[32] = "unknown";
    snprintf(name, sizeof name, "%s:%u", info->name, info->line);
    if (least)
        snprintf(size, sizeof size, "%llu", (unsigned long long)least);
    fprintf(stderr, "%-24s %14s", name, size);
    choice(r->teams);
    choice(r->threads);
    fprintf(stderr, " %12.3f %12.3f %7.2f %6u%s\n",
            (double)r->default_ns * 1e-3, (double)r->ns * 1e-3,
            r->ns ? (double)r->default_ns / (double)r->ns : 1.0, r->tried,
            r->tried ? "" : " known");
}

static unsigned show_kernel(ompjit_kernel *kernel, ompjit_device *dev)
{
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    unsigned n = 0;
    ompjit_kernel_info_get(kernel, &info, NULL);
    for (unsigned i = 0; i <= 64; i++) {
        uint64_t least = i ? UINT64_C(1) << (i - 1) : 0;
        ompjit_tuned r = OMPJIT_TUNED_INIT;
        if (ompjit_kernel_tuned(kernel, dev, least, &r, NULL))
            continue;
        show_class(&info, least, &r);
        n++;
    }
    return n;
}

static void show_table(ompjit_context *ctx, ompjit_module *mod)
{
    ompjit_device *dev;
    unsigned n = 0, kernels = ompjit_module_kernel_count(mod);
    clearerr(stderr); /* what the program wrote to it is its own */
    if (ompjit_context_device(ctx, 0, &dev, NULL))
        return;
    fprintf(stderr, "%-24s %14s %8s %8s %12s %12s %7s %6s\n", "kernel",
            "iterations from", "teams", "threads", "default us", "best us",
            "faster", "tried");
    for (unsigned i = 0; i < kernels; i++)
        n += show_kernel(ompjit_module_kernel_at(mod, i), dev) != 0;
    if (n < kernels)
        fprintf(stderr, "%u of %u kernels are not tuned: they were not "
                "launched, or name their geometry; --verbose says of others\n",
                kernels - n, kernels);
    stderr_check();
}

int tool_tune(struct options *o)
{
    ompjit_context *ctx = NULL;
    ompjit_module *mod = NULL;
    int status = session_open_tuning(o, &ctx);
    if (!status)
        status = session_device(o, ctx);
    if (!status)
        status = libraries_load(o);
    if (!status)
        status = session_module(o, ctx, &mod);
    if (!status)
        status = program_run(o, ctx, mod, show_table);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return status;
}
