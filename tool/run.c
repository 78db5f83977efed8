/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit run: a whole program, compiled into this process. Its output, its exit
 * status and the signal that kills it are this process's own; the tool adds
 * nothing but messages on stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "omptarget/offload.h"
#include "tool/tool.h"

/* The architecture of the device that the program will use; "host" where that
 * cannot be known. */
static void device_arch(ompjit_context *ctx, ompjit_device_info *info)
{
    ompjit_device *dev;
    if (ompjit_context_device(ctx, 0, &dev, NULL) ||
        ompjit_device_info_get(dev, info, NULL) ||
        info->kind == OMPJIT_DEVICE_HOST)
        snprintf(info->arch, sizeof info->arch, "host");
}

static int show_dumps(const struct options *o, ompjit_context *ctx,
                      ompjit_module *mod)
{
    ompjit_device_info info = OMPJIT_DEVICE_INFO_INIT;
    if (!o->dumps.n)
        return EXIT_OK;
    device_arch(ctx, &info);
    return dumps_write(o, mod, info.arch);
}

/* main's own types differ by program; calling it with three arguments is what
 * the C library's start-up code does too. */
typedef int main_function(int, char **, char **);

/* Its own address, not the pointer that ends with a fault: this process ends as
 * the program does. */
static int find_main(ompjit_module *mod, main_function **out)
{
    ompjit_error err;
    void (*fn)(void), *address;
    if (ompjit_module_function(mod, "main", &fn, &err) ||
        ompjit__hostjit_function(mod, "main", &address, &err))
        return failed(&err);
    *out = (main_function *)(uintptr_t)address;
    return EXIT_OK;
}

/* ---------------------------------------------------------------- program */

/* Unless that is asked for, the context and the module are never destroyed: the
 * program's own exit handlers and threads may run until the process ends. A leak
 * checker finds them here. */
static struct {
    const struct options *options;
    ompjit_context *ctx;
    ompjit_module *mod;
    void (*leave)(ompjit_context *ctx, ompjit_module *mod);
} program __attribute__((used));

/* A program may leave by exit() from anywhere. This handler is the first that is
 * set, so the last to run, and the status can still change. */
static void leave_program(void)
{
    if (!program.options) /* it never ran */
        return;
    fflush(stdout);
    if (program.leave)
        program.leave(program.ctx, program.mod);
    int status = session_verdict(program.options, EXIT_OK);
    fflush(NULL);
    if (status)
        _exit(status);
}

/* The profile is what OMPJIT_PROFILE asks for: a context that is destroyed tells
 * it, too. */
static bool profile_by_environment, profile_by_context;

/* When main has returned: exit handlers would come too late, since the driver's
 * may have run. Those of the program, and its destructors, run here. */
static void release(void)
{
    fflush(stdout);
    profile_by_context = profile_by_environment;
    if (program.leave)
        program.leave(program.ctx, program.mod);
    program.leave = NULL;
    ompjit_module_destroy(program.mod);
    ompjit_context_destroy(program.ctx);
}

/* Counts are read from devices, whose driver may end before this tool's own exit
 * handler runs. What the program's handlers launch is not counted. */
static void leave_early(void)
{
    fflush(stdout);
    program.leave(program.ctx, program.mod);
    program.leave = NULL;
}

int program_run(const struct options *o, ompjit_context *ctx,
                ompjit_module *mod, void (*leave)(ompjit_context *ctx,
                                                  ompjit_module *mod))
{
    main_function *entry;
    int argc = 1;
    program.options = o;
    program.ctx = ctx;
    program.mod = mod;
    program.leave = leave;
    /* Before anything of the program runs, such as its constructors. */
    if ((o->check || leave) && atexit(leave_program))
        complain("no room for an exit handler: no report");
    int status = find_main(mod, &entry);
    if (status) {
        program.options = NULL;
        return status;
    }
    while (o->args[argc - 1])
        argc++;
    extern char **environ;
    status = entry(argc, o->args - 1, environ);
    if (o->release)
        release();
    else if (o->coverage && program.leave)
        leave_early();
    exit(status);
}

/* ---------------------------------------------------------------- reports */

static void show_variants(ompjit_module *mod)
{
    for (unsigned i = 0; i < ompjit_module_kernel_count(mod); i++) {
        char *text;
        ompjit_error err;
        if (ompjit_kernel_explain(ompjit_module_kernel_at(mod, i), &text,
                                  &err)) {
            failed(&err);
            continue;
        }
        fputs(text, stderr);
        ompjit_bytes_free(text);
    }
}

/* The options of the program that leaves. */
static const struct options *leaving;

static void show_reports(ompjit_context *ctx, ompjit_module *mod)
{
    clearerr(stderr); /* what the program wrote to it is its own */
    if (leaving->explain)
        show_variants(mod);
    if (leaving->time)
        times_print(ctx);
    if (leaving->profile && !profile_by_context)
        profile_write(leaving, ctx);
    if (leaving->coverage)
        coverage_write(leaving, ctx, mod);
    stderr_check();
}

/* Takes over what OMPJIT_PROFILE asks for, since the context of the program is
 * not destroyed, which would tell it. */
static void use_environment(struct options *o)
{
    const char *asked = getenv("OMPJIT_PROFILE");
    if (o->profile || !asked || !*asked || !strcmp(asked, "0"))
        return;
    o->profile = strcmp(asked, "1") ? asked : "-";
    profile_by_environment = true;
}

/* ------------------------------------------------------------------- warm */

static void bad_line(void *data, unsigned line, const char *why)
{
    complain("%s:%u: %s", (const char *)data, line, why);
}

static int warm(const struct options *o, ompjit_context *ctx,
                ompjit_module *mod)
{
    ompjit_device *dev;
    ompjit_error err;
    if (!o->warm)
        return EXIT_OK;
    if (ompjit_context_device(ctx, 0, &dev, &err) ||
        ompjit_module_warm(mod, dev, o->warm, o->quiet ? NULL : bad_line,
                           (void *)o->warm, NULL, &err))
        return failed(&err);
    return EXIT_OK;
}

/* --contents KERNEL:NAME, where KERNEL may have a line behind its own colon. */
static int fold_contents(const struct options *o, ompjit_module *mod)
{
    for (unsigned i = 0; i < o->contents.n; i++) {
        const char *item = o->contents.items[i];
        const char *colon = strrchr(item, ':');
        char name[256];
        ompjit_kernel *kernel;
        ompjit_error err;
        size_t n = colon ? (size_t)(colon - item) : 0;
        if (!n || !colon[1] || n >= sizeof name) {
            complain("--contents %s: KERNEL:NAME is expected", item);
            return EXIT_USAGE;
        }
        memcpy(name, item, n);
        name[n] = 0;
        if (ompjit_module_kernel(mod, name, &kernel, &err) ||
            ompjit_kernel_fold_contents(kernel, colon + 1, &err))
            return failed(&err);
    }
    return EXIT_OK;
}

/* Checks before the program runs that its record, its profile and its
 * counts can be written. */
static int check_outputs(const struct options *o)
{
    const char *record = o->record ? o->record : getenv("OMPJIT_RECORD");
    int status = EXIT_OK;
    if (record && *record)
        status = output_possible(record);
    if (!status && o->profile && strcmp(o->profile, "-"))
        status = output_possible(o->profile);
    if (!status && o->coverage && strcmp(o->coverage, "-"))
        status = output_possible(o->coverage);
    return status;
}

/* The module, and what was asked for before it runs. */
static int prepare(struct options *o, ompjit_context *ctx, ompjit_module **mod)
{
    int status = check_outputs(o);
    if (!status)
        status = session_device(o, ctx);
    if (!status)
        status = session_module(o, ctx, mod);
    if (!status)
        status = show_dumps(o, ctx, *mod);
    if (!status)
        status = fold_contents(o, *mod);
    return status ? status : warm(o, ctx, *mod);
}

/* A CUDA source has kernels and no main. */
static int run_cuda(struct options *o)
{
    ompjit_context *ctx = NULL;
    ompjit_module *mod = NULL;
    int status = session_open(o, o->device, &ctx);
    if (!status)
        status = prepare(o, ctx, &mod);
    if (!status)
        status = kernel_run(ctx, mod, o->args);
    if (mod && o->explain)
        show_variants(mod);
    if (ctx && o->time)
        times_print(ctx);
    if (ctx && o->profile)
        profile_write(o, ctx);
    if (mod && o->coverage)
        coverage_write(o, ctx, mod);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return session_verdict(o, status);
}

int tool_run(struct options *o)
{
    ompjit_context *ctx = NULL;
    ompjit_module *mod = NULL;
    int status = dumps_check(o);
    if (!status && is_cuda(o->file))
        return run_cuda(o);
    use_environment(o);
    if (!status)
        status = session_geometry(o);
    if (!status)
        status = session_open(o, o->device, &ctx);
    if (!status)
        status = libraries_load(o);
    if (!status)
        status = prepare(o, ctx, &mod);
    leaving = o;
    if (!status)
        status = program_run(o, ctx, mod,
                             o->explain || o->time || o->profile || o->coverage
                                 ? show_reports
                                 : NULL);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return status;
}
