/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit run: a whole program, compiled into this process. Its output, its exit
 * status and the signal that kills it are this process's own; the tool adds
 * nothing but messages on stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tool/tool.h"

/* The context whose times the exit handler shows: a program may leave by
 * exit() from anywhere. */
static ompjit_context *timed;

static void show_times(void)
{
    fflush(stdout);
    times_print(timed);
}

/* The options of the program that is checked. */
static const struct options *checked;

/* The first handler that was set, so the last to run: only here can the status
 * still change. */
static void end_checked(void)
{
    int status = session_verdict(checked, EXIT_OK);
    fflush(NULL);
    if (status)
        _exit(status);
}

/* Defaults of launches, by the variables that every program of the library
 * obeys. */
static int set_geometry(const struct options *o)
{
    /* Else libomp gives a host `teams` fewer teams than num_teams demands
     * where the machine has fewer cores. */
    setenv("KMP_TEAMS_THREAD_LIMIT", "4096", 0);
    const struct {
        const char *name;
        unsigned value;
    } variables[] = {{"OMPJIT_TEAMS", o->teams},
                     {"OMPJIT_THREADS", o->threads}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", variables[i].value);
        if (variables[i].value && setenv(variables[i].name, text, 1)) {
            complain("out of memory");
            return EXIT_FAILED;
        }
    }
    return EXIT_OK;
}

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
    ompjit_device_info info;
    if (!o->dumps.n)
        return EXIT_OK;
    device_arch(ctx, &info);
    return dumps_write(o, mod, info.arch);
}

/* main's own types differ by program; calling it with three arguments is what
 * the C library's start-up code does too. */
typedef int main_function(int, char **, char **);

static int find_main(ompjit_module *mod, main_function **out)
{
    ompjit_error err;
    void (*fn)(void);
    if (ompjit_module_function(mod, "main", &fn, &err))
        return failed(&err);
    *out = (main_function *)fn;
    return EXIT_OK;
}

static int prepare(const struct options *o, ompjit_context **ctx,
                   ompjit_module **mod, main_function **entry)
{
    int status = set_geometry(o);
    if (!status)
        status = session_open(o, o->device, ctx);
    if (!status)
        status = libraries_load(o);
    if (!status)
        status = session_module(o, *ctx, mod);
    if (!status)
        status = show_dumps(o, *ctx, *mod);
    if (!status)
        status = find_main(*mod, entry);
    return status;
}

/* A CUDA source has kernels and no main. */
static int run_cuda(struct options *o)
{
    ompjit_context *ctx = NULL;
    ompjit_module *mod = NULL;
    int status = session_open(o, o->device, &ctx);
    if (!status)
        status = session_module(o, ctx, &mod);
    if (!status)
        status = show_dumps(o, ctx, mod);
    if (!status)
        status = kernel_run(ctx, mod, o->args);
    if (ctx && o->time)
        times_print(ctx);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return session_verdict(o, status);
}

/* The context and the module are never destroyed: the program's own exit
 * handlers and threads may run until the process ends. A leak checker finds
 * the module here, and the context in `timed`. */
static ompjit_module *program __attribute__((used));

int tool_run(struct options *o)
{
    ompjit_context *ctx = NULL;
    main_function *entry;
    int status = dumps_check(o);
    if (!status && is_cuda(o->file))
        return run_cuda(o);
    if (!status)
        status = prepare(o, &ctx, &program, &entry);
    if (status) {
        ompjit_context_destroy(ctx);
        return status;
    }
    timed = ctx;
    checked = o;
    if (o->check && atexit(end_checked))
        complain("no room for an exit handler: the status is the program's");
    if (o->time && atexit(show_times))
        complain("no room for an exit handler: no times");
    int argc = 1;
    while (o->args[argc - 1])
        argc++;
    extern char **environ;
    exit(entry(argc, o->args - 1, environ));
}
