/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit inspect: the kernels of a file, what they take, and what they use on
 * an architecture.
 */
#include <stdio.h>
#include <string.h>

#include "tool/tool.h"

static const char *const modes[] = {"bare", "generic", "SPMD",
                                    "generic, made SPMD"};

static void bound(const char *what, unsigned n)
{
    if (n)
        printf("%s at most %u", what, n);
    else
        printf("%s free", what);
}

static int show_params(ompjit_kernel *kernel, unsigned n)
{
    ompjit_error err;
    printf("  parameters  %s", n ? "" : "none");
    for (unsigned i = 0; i < n; i++) {
        ompjit_param_info param;
        if (ompjit_kernel_param(kernel, i, &param, &err))
            return failed(&err);
        printf("%s%s%s", i ? ", " : "", param.name, *param.name ? " " : "");
        if (param.is_pointer)
            printf("pointer");
        else
            printf("%u bytes", param.size);
    }
    putchar('\n');
    return EXIT_OK;
}

/* A machine that cannot make a cubin still shows the rest. */
static void show_resources(const struct options *o, ompjit_kernel *kernel,
                           const char *arch)
{
    ompjit_resources r;
    ompjit_error err;
    if (!strcmp(arch, "host"))
        return;
    if (ompjit_kernel_resources(kernel, arch, &r, &err)) {
        printf("  on %-8s not known\n", arch);
        if (!o->quiet)
            failed(&err);
        return;
    }
    printf("  on %-8s %u registers, %u bytes shared, %u bytes stack, "
           "%u+%u bytes spilled, %u bytes constant, %u bytes code\n", arch,
           r.registers, r.shared_static, r.local, r.spill_stores,
           r.spill_loads, r.constant, r.code);
}

static int show_kernel(const struct options *o, ompjit_kernel *kernel,
                       const char *arch)
{
    ompjit_kernel_info info;
    ompjit_kernel_info_get(kernel, &info);
    printf("%s", info.name);
    if (info.line)
        printf(":%u", info.line);
    printf("\n  symbol      %s\n  mode        %s\n", info.symbol,
           modes[info.mode & 3]);
    int status = show_params(kernel, info.nparams);
    printf("  geometry    ");
    bound("teams", info.max_teams);
    bound(", threads", info.max_threads);
    putchar('\n');
    if (!status)
        show_resources(o, kernel, arch);
    return status;
}

static int show(const struct options *o, ompjit_module *mod)
{
    unsigned n = ompjit_module_kernel_count(mod);
    const char *arch = o->arch ? o->arch : "sm_90";
    int status = dumps_write(o, mod, arch);
    if (!n)
        printf("%s has no target regions\n", o->file);
    for (unsigned i = 0; i < n && !status; i++)
        status = show_kernel(o, ompjit_module_kernel_at(mod, i), arch);
    return status;
}

int tool_inspect(struct options *o)
{
    ompjit_context *ctx = NULL;
    ompjit_module *mod = NULL;
    int status = dumps_check(o);
    if (!status) /* no GPU is looked for */
        status = session_open(o, "host", &ctx);
    if (!status)
        status = session_module(o, ctx, &mod);
    if (!status)
        status = show(o, mod);
    if (ctx && o->time)
        times_print(ctx);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return status;
}
