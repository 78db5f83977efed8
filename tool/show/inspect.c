/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit inspect: the kernels of a file, what they take, and what they use on
 * an architecture.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/module.h"
#include "targets/cuda_files.h"
#include "tool/tool.h"

static const char *const modes[] = {"bare", "generic", "SPMD",
                                    "SPMD, generic in the source"};

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
        ompjit_param_info param = OMPJIT_PARAM_INFO_INIT;
        if (ompjit_kernel_param(kernel, i, &param, &err))
            return failed(&err);
        printf("%s%s%s", i ? ", " : "", param.name, *param.name ? " " : "");
        if (param.is_pointer)
            printf("pointer");
        else
            printf("%u bytes", param.bytes);
    }
    putchar('\n');
    return EXIT_OK;
}

/* "16 teams of 128 threads a multiprocessor, 64 of 64 warps (100%); limited by
 * warps, registers". */
static void show_occupancy(const ompjit_resources *r, const char *arch,
                           unsigned threads)
{
    static const char *const names[] = {"warps", "teams", "registers",
                                        "shared memory"};
    ompjit_occupancy o = OMPJIT_OCCUPANCY_INIT;
    ompjit_error err;
    if (ompjit_occupancy_get(arch, r, threads, 0, &o, &err)) {
        printf("  occupancy   not known: %s\n", err.text);
        return;
    }
    printf("  occupancy   %u teams of %u threads a multiprocessor, %u of %u "
           "warps (%u%%); limited by", o.teams, threads, o.warps,
           o.most_warps, 100 * o.warps / o.most_warps);
    const char *comma = " ";
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (o.limits & 1u << i) {
            printf("%s%s", comma, names[i]);
            comma = ", ";
        }
    putchar('\n');
}

/* The threads of a team: by --threads, else as a launch that says nothing would
 * have them. A generic kernel's main thread has a warp of its own. */
static unsigned team_of(const struct options *o, const ompjit_kernel_info *info,
                        const ompjit_resources *r)
{
    enum { USUAL = 128, WARP = 32, MOST = 1024 };
    unsigned threads = o->threads          ? o->threads
                       : info->max_threads ? info->max_threads
                                           : USUAL;
    if (info->mode == OMPJIT_MODE_GENERIC && threads + WARP <= MOST)
        threads += WARP;
    return threads > r->max_threads && r->max_threads ? r->max_threads
                                                      : threads;
}

/* A machine that cannot make a cubin still shows the rest. */
static void show_resources(const struct options *o, ompjit_kernel *kernel,
                           const ompjit_kernel_info *info, const char *arch)
{
    ompjit_resources r = OMPJIT_RESOURCES_INIT;
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
    show_occupancy(&r, arch, team_of(o, info, &r));
}

static int show_kernel(const struct options *o, ompjit_module *mod,
                       ompjit_kernel *kernel, const char *arch)
{
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_kernel_info_get(kernel, &info, NULL);
    char *title = ompjit__kernel_title(kernel);
    printf("%s", title ? title : info.name);
    free(title);
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
        show_resources(o, kernel, &info, arch);
    return status ? status : remarks_show(mod, arch, info.symbol);
}

/* Runs `program OPTION FILE` and waits for it: its exit status, or -1. */
static int run_program(char *program, char *option, char *file)
{
    char *argv[] = {program, option, file, NULL};
    pid_t pid;
    int ended;
    fflush(stdout);
    if (posix_spawn(&pid, program, NULL, NULL, argv, environ) ||
        waitpid(pid, &ended, 0) != pid || !WIFEXITED(ended))
        return -1;
    return WEXITSTATUS(ended);
}

/* Prints the disassembly of a cubin, by the first of CUDA's two programs that
 * is there. */
static int disassemble(char *cubin)
{
    char option[] = "-c", other_option[] = "-sass", *with = option;
    char *program = ompjit__cuda_find(OMPJIT__CUDA_NVDISASM, X_OK);
    if (!program) {
        program = ompjit__cuda_find(OMPJIT__CUDA_CUOBJDUMP, X_OK);
        with = other_option;
    }
    if (!program) {
        complain("--sass needs CUDA's nvdisasm or cuobjdump: on PATH, in a "
                 "toolkit that CUDA_HOME names, or the package "
                 "nvidia-cuda-nvdisasm of PyPI in a folder of "
                 "OMPJIT_CUDA_WHEELS");
        return EXIT_FAILED;
    }
    int code = run_program(program, with, cubin);
    if (code)
        complain("--sass: %s ended with status %d", program, code);
    free(program);
    return code ? EXIT_FAILED : EXIT_OK;
}

static int show_sass(ompjit_module *mod, const char *arch)
{
    char path[] = "/tmp/ompjit-XXXXXX";
    void *cubin;
    size_t size;
    ompjit_error err;
    int file = mkstemp(path), status = EXIT_FAILED;
    if (file < 0)
        return complain("cannot make a file in /tmp"), EXIT_FAILED;
    close(file);
    if (ompjit_module_emit(mod, OMPJIT_FORMAT_CUBIN, arch, &cubin, &size,
                           &err)) {
        unlink(path);
        return failed(&err);
    }
    if (!write_output(path, cubin, size))
        status = disassemble(path);
    unlink(path);
    ompjit_bytes_free(cubin);
    return status;
}

/* --arch, else that of --device. */
static int choose_arch(const struct options *o, ompjit_context *ctx,
                       char arch[32])
{
    ompjit_device *dev;
    ompjit_device_info info = OMPJIT_DEVICE_INFO_INIT;
    ompjit_error err;
    snprintf(arch, 32, "%s", o->arch ? o->arch : "sm_90");
    if (o->arch || !o->device)
        return EXIT_OK;
    if (ompjit_context_device(ctx, 0, &dev, &err) ||
        ompjit_device_info_get(dev, &info, &err))
        return failed(&err);
    memcpy(arch, info.kind == OMPJIT_DEVICE_HOST ? "host" : info.arch,
           info.kind == OMPJIT_DEVICE_HOST ? sizeof "host" : 32);
    return EXIT_OK;
}

static int show(const struct options *o, ompjit_module *mod, const char *arch)
{
    unsigned n = ompjit_module_kernel_count(mod);
    int status = dumps_write(o, mod, arch);
    modes_settle(mod, arch);
    if (!n)
        printf("%s has no target regions\n", o->file);
    for (unsigned i = 0; i < n && !status; i++)
        status = show_kernel(o, mod, ompjit_module_kernel_at(mod, i), arch);
    if (!status && n)
        status = remarks_show(mod, arch, NULL);
    if (!status)
        status = remarks_write(o, mod, arch);
    if (!status && o->sass)
        status = show_sass(mod, arch);
    return status;
}

int tool_inspect(struct options *o)
{
    ompjit_context *ctx = NULL;
    ompjit_module *mod = NULL;
    char arch[32];
    int status = dumps_check(o);
    if (!status) /* no GPU is looked for unless one is named */
        status = session_open(o, o->device ? o->device : "host", &ctx);
    if (!status)
        status = session_device(o, ctx);
    if (!status)
        status = choose_arch(o, ctx, arch);
    if (!status)
        status = session_module(o, ctx, &mod);
    if (!status)
        status = show(o, mod, arch);
    if (ctx && o->time)
        times_print(ctx);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return status;
}
