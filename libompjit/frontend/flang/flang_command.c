/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The two command lines of a Fortran compile: flang's own `-fc1`, without the
 * driver. The source is read from standard input, behind a line that names its
 * file; the device half reads the host half's bitcode from descriptor 3. Both
 * halves come out without LLVM's passes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/flang/flang.h"

#define LINES "-debug-info-kind=line-tables-only"

static const ompjit__flag rows[] = {
#define PAIR(flag) {flag, OMPJIT__FLAG_PAIRED, NULL, NULL},
#define MEANS(flag, host, device) {flag, OMPJIT__FLAG_MEANS, host, device},
#define IGNORE(prefix) {prefix, OMPJIT__FLAG_IGNORED, NULL, NULL},
#define REFUSE(prefix, why) {prefix, OMPJIT__FLAG_REFUSED, why, NULL},
#include "frontend/flang/flang_flags.def"
};
static const char *const families[] = {"-f", "-W", "-std=", "-pedantic",
                                       "-cpp", "-nocpp", NULL};
static const ompjit__flags flang_flags = {rows, OMPJIT__COUNT(rows), families};

static const char *const both_args[] = {
    "-emit-llvm-bc",
    "-mrelocation-model",
    "pic",
    "-pic-level",
    "2",
    "-mframe-pointer=none",
    "-fopenmp",
    /* No pass of LLVM's but those that must run. */
    "-mllvm",
    "-opt-bisect-limit=0",
    "-mllvm",
    "-opt-bisect-verbose=0",
};
static const char *const host_args[] = {
    "--offload-targets=nvptx64-nvidia-cuda",
};
static const char *const device_args[] = {
    "-fopenmp-is-target-device",
    "-fopenmp-host-ir-file-path",
    "/dev/fd/3",
    "-nogpulib",
};

const char *const ompjit__flang_complex[] = {
    "-mmlir", "--force-mlir-complex", "-complex-range=improved", NULL};

static void add(ompjit__args *args, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ompjit__args_add(args, list[i]);
}

static void add_both(ompjit__command *command, const char *arg)
{
    ompjit__args_add(&command->host, arg);
    ompjit__args_add(&command->device, arg);
}

static void add_start(const ompjit__flang *flang,
                      const ompjit_module_options *options,
                      ompjit__command *command)
{
    static const char *const levels[] = {"-O3", "-O0", "-O1", "-O2", "-O3"};
    char version[32];
    unsigned v = options->openmp_version;
    snprintf(version, sizeof version, "-fopenmp-version=%u", v ? v : 52);
    add_both(command, flang->path);
    add_both(command, "-fc1");
    add_both(command, "-triple");
    ompjit__args_add(&command->host, OMPJIT_CONFIG_TRIPLE);
    ompjit__args_add(&command->device, "nvptx64-nvidia-cuda");
    add(&command->host, both_args, OMPJIT__COUNT(both_args));
    add(&command->device, both_args, OMPJIT__COUNT(both_args));
    add(&command->host, host_args, OMPJIT__COUNT(host_args));
    add(&command->device, device_args, OMPJIT__COUNT(device_args));
    add(&command->device, ompjit__flang_complex,
        OMPJIT__COUNT(ompjit__flang_complex) - 1);
    add_both(command, "-resource-dir");
    add_both(command, flang->resource_dir);
    add_both(command, levels[options->opt_level]);
    add_both(command, version);
}

/* Before the user's flags, which can say otherwise. */
static void add_form(const char *name, ompjit__command *command)
{
    bool fixed = ompjit__fortran_name(name, NULL) == OMPJIT__FORTRAN_FIXED;
    add_both(command, fixed ? "-ffixed-form" : "-ffree-form");
}

static void add_source(const char *name, ompjit__command *command)
{
    bool preprocessed = false;
    ompjit__fortran_name(name, &preprocessed);
    add_both(command, "-x");
    add_both(command, preprocessed ? "f95-cpp-input" : "f95");
    add_both(command, "-o");
    add_both(command, "-");
    add_both(command, "-");
}

/* ------------------------------------------------------------ flags */

/* The value of -J, "-J DIR", "-JDIR", or NULL where the flag is another one. *i
 * moves on behind it. */
static const char *folder_of(const ompjit_module_options *options, unsigned *i)
{
    const char *flag = options->flags[*i];
    if (!flag || strncmp(flag, "-J", 2))
        return NULL;
    ++*i;
    if (flag[2])
        return flag + 2;
    return *i < options->nflags ? options->flags[(*i)++] : "";
}

/* All flags but -J, and the last one's folder. The array is the caller's. */
static ompjit_status take_folder(const ompjit_module_options *options,
                                 ompjit_module_options *rest,
                                 const char ***flags, const char **folder,
                                 ompjit_error *err)
{
    const char **kept = calloc(options->nflags + 1u, sizeof *kept);
    unsigned n = 0;
    *flags = kept;
    *folder = NULL;
    if (!kept)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    for (unsigned i = 0; i < options->nflags;) {
        const char *value = folder_of(options, &i);
        if (value && !*value)
            return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_FRONTEND,
                                "the compiler flag `-J` cannot be used: its "
                                "value is missing");
        if (value)
            *folder = value;
        else
            kept[n++] = options->flags[i++];
    }
    *rest = *options;
    rest->flags = kept;
    rest->nflags = n;
    return OMPJIT_OK;
}

/* Folders behind -I, in the order in which flang looks there. */
static void list_dirs(const ompjit__args *args, ompjit__args *dirs)
{
    ompjit__args_add(dirs, ".");
    for (size_t i = 0; i + 1 < args->n; i++)
        if (!strcmp(args->v[i], "-I"))
            ompjit__args_add(dirs, args->v[i + 1]);
}

/* Included files are looked for beside the source first. */
static ompjit_status add_flags(const ompjit_module_options *options,
                               ompjit__command *command, ompjit_error *err)
{
    const char *slash = strrchr(options->name, '/');
    char *dir = slash ? ompjit__format("%.*s", (int)(slash - options->name + 1),
                                       options->name)
                      : NULL;
    if (dir) {
        add_both(command, "-I");
        add_both(command, dir);
    }
    ompjit_status status =
        ompjit__flags_add(&flang_flags, options, dir, command, err);
    free(dir);
    return status;
}

/* ------------------------------------------------------- interface */

static ompjit_status check(const ompjit_module_options *options,
                           ompjit_error *err)
{
    ompjit_status status = ompjit__options_check(options, err);
    if (!status && strpbrk(options->name, "\"\\"))
        status = ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_FRONTEND,
                              "the source's name `%s` contains a quotation "
                              "mark or a backslash",
                              options->name);
    return status;
}

ompjit_status ompjit__flang_command(const ompjit__flang *flang,
                                    const ompjit_module_options *options,
                                    ompjit__command *out, ompjit__args *dirs,
                                    char **modules, ompjit_error *err)
{
    ompjit__command command = {0};
    ompjit_module_options rest;
    const char **flags = NULL, *folder = NULL;
    ompjit_status status = check(options, err);
    if (!status)
        status = take_folder(options, &rest, &flags, &folder, err);
    if (!status) {
        add_start(flang, options, &command);
        add_form(options->name, &command);
        status = add_flags(&rest, &command, err);
        add_both(&command, "-I"); /* omp_lib.h */
        add_both(&command, flang->include_dir);
        if (options->signatures) /* the last one counts */
            ompjit__args_add(&command.host, "-debug-info-kind=standalone");
        list_dirs(&command.host, dirs);
        add_source(options->name, &command);
        *modules = ompjit__strdup(folder);
    }
    free(flags);
    if (!status && (command.host.failed || command.device.failed ||
                    dirs->failed || (folder && !*modules)))
        status = ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    if (status)
        ompjit__command_free(&command);
    else
        *out = command;
    return status;
}
