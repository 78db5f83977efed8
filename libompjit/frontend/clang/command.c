/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The two command lines of a compile: clang's own `-cc1`, without the driver,
 * which would cost as much time as the compile. The source is named as the
 * application names it and read from standard input; the device half reads
 * the host half's bitcode from descriptor 3.
 *
 * Both halves come out unoptimized, with what the optimizer needs later (type
 * based aliases, lifetimes) and with the names of values, which become the
 * names of kernel arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "frontend/clang/clang.h"

/* ------------------------------------------------------------- arguments */

void ompjit__args_add(ompjit__args *args, const char *arg)
{
    if (args->failed)
        return;
    if (args->n + 2 > args->capacity) {
        size_t capacity = args->capacity ? args->capacity * 2 : 64;
        char **v = realloc(args->v, capacity * sizeof *v);
        if (!v) {
            args->failed = true;
            return;
        }
        args->v = v;
        args->capacity = capacity;
    }
    char *copy = ompjit__strdup(arg);
    args->failed = !copy;
    if (copy)
        args->v[args->n++] = copy;
    args->v[args->n] = NULL;
}

void ompjit__args_free(ompjit__args *args)
{
    for (size_t i = 0; i < args->n; i++)
        free(args->v[i]);
    free(args->v);
    *args = (ompjit__args){0};
}

void ompjit__command_free(ompjit__command *command)
{
    ompjit__args_free(&command->host);
    ompjit__args_free(&command->device);
}

/* A list that ends with NULL. */
static void add_all(ompjit__args *args, const char *const *list)
{
    for (; *list; list++)
        ompjit__args_add(args, *list);
}

static void add_both(ompjit__command *command, const char *arg)
{
    ompjit__args_add(&command->host, arg);
    ompjit__args_add(&command->device, arg);
}

/* Each folder behind the option, in both command lines. */
static void add_dirs(ompjit__command *command, const char *option,
                     const ompjit__args *dirs)
{
    for (size_t i = 0; i < dirs->n; i++) {
        add_both(command, option);
        add_both(command, dirs->v[i]);
    }
}

/* ---------------------------------------------------------- fixed parts */

static const char *const host_args[] = {
    "-fopenmp-targets=nvptx64-nvidia-cuda",
    "-funwind-tables=2",
    "-fmath-errno",
    "-mconstructor-aliases",
    /* For the names of what is mapped, in errors; not kept where nobody
     * asked. */
    "-debug-info-kind=line-directives-only",
    "-dwarf-version=5",
    NULL,
};

/* No -target-cpu: the code of one unit serves every architecture, this CPU's
 * too, so no value of __CUDA_ARCH__ is right. Without -fmath-errno calls of
 * <math.h> become intrinsics, or stay as they are where there is none.
 * clang's driver gives -fcuda-is-device to OpenMP's device half as well: with
 * it, types that only the host has may be declared (glibc 2.41 does so in
 * <stdio.h>) as long as no device code uses them. */
static const char *const device_args[] = {
    "-fopenmp-is-target-device",
    "-fcuda-is-device",
    "-U__CUDA_ARCH__",
    "-fopenmp-host-ir-file-path",
    "/dev/fd/3",
    "-fno-threadsafe-statics",
    /* For the host device's messages; unit->own_lines where nobody asked. */
    "-debug-info-kind=line-directives-only",
    "-dwarf-version=2",
    NULL,
};

/* No pass and no verifier of LLVM runs in clang, since ours come later; nothing
 * is freed, since the process ends; dependencies come with the diagnostics
 * (/dev/fd/2), of system headers too, as the cache asks for all of them. */
static const char *const both_args[] = {
    "-emit-llvm-bc",
    "-disable-llvm-passes",
    "-disable-O0-optnone",
    "-disable-llvm-verifier",
    "-disable-free",
    "-mrelocation-model",
    "pic",
    "-pic-level",
    "2",
    "-mframe-pointer=none",
    "-ffp-contract=on",
    "-fgnuc-version=4.2.1",
    "-ferror-limit",
    "19",
    "-sys-header-deps",
    "-MT",
    OMPJIT__DEPS_TARGET,
    "-dependency-file",
    "/dev/fd/2",
    NULL,
};

static const char *const openmp_args[] = {"-fopenmp", NULL};

/* clang is told the oldest supported architecture. That decides which builtins
 * there are, and __CUDA_ARCH__; it is taken off the code again (ir.c). */
static const char *const cuda_args[] = {
    "-fcuda-is-device",
    "-target-cpu",
    "sm_75",
    "-target-feature",
    "+ptx78",
    "-fno-threadsafe-statics",
    NULL,
};

static const char *const exception_args[] = {
    "-fcxx-exceptions",
    "-fexceptions",
    NULL,
};

/* ------------------------------------------------------------ the source */

const char *ompjit__source_name(const ompjit_module_options *options)
{
    return options->name ? options->name : "snippet.c";
}

/* By the name's ending, as clang's driver decides. */
static bool is_cxx(const char *name)
{
    static const char *const endings[] = {".cc",  ".cpp", ".cxx", ".C",
                                          ".c++", ".cp",  ".CPP"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < OMPJIT__COUNT(endings); i++)
        if (!strcmp(dot, endings[i]))
            return true;
    return false;
}

/* The name stands in a command line and in a list that ';' separates. */
static ompjit_status check_name(const char *name, ompjit_error *err)
{
    const char *wrong = NULL;
    if (!*name)
        wrong = "is empty";
    else if (*name == '-')
        wrong = "starts with '-'";
    else if (strpbrk(name, ";\n"))
        wrong = "contains ';' or a line break";
    if (!wrong)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_FRONTEND,
                        "the source's name `%s` %s", name, wrong);
}

/* Versions as clang's -fopenmp-version has them: 51 is 5.1. */
static ompjit_status check_numbers(const ompjit_module_options *options,
                                   ompjit_error *err)
{
    unsigned v = options->openmp_version;
    if (v && (v < 45 || v > 60))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_FRONTEND,
                            "openmp_version is %u; 45 to 60 are possible "
                            "(0: 51)",
                            v);
    return OMPJIT_OK;
}

/* Adds what depends on the source's name: the language, and that standard input
 * is that file, for clang's messages, __FILE__, and the names of the target
 * regions. */
static void add_source(ompjit__command *command, const char *name,
                       const char *language)
{
    const char *slash = strrchr(name, '/');
    char *map = ompjit__format("%s;/dev/fd/0", name);
    add_both(command, "-main-file-name");
    add_both(command, slash ? slash + 1 : name);
    add_both(command, "-x");
    add_both(command, language);
    add_both(command, "-remap-file");
    add_both(command, map ? map : "");
    add_both(command, "-o");
    add_both(command, "-");
    add_both(command, name);
    command->host.failed |= !map;
    free(map);
}

/* ------------------------------------------------------------ everything */

static void add_cpu(const char *triple, ompjit__command *command)
{
    static const struct {
        const char *name, *cpu, *feature, *types;
    } cpus[] = {
#define CPU(name, llvm, cpu, feature, types) {#name, cpu, feature, types},
#include "base/cpu.def"
    };
    for (size_t i = 0; i < OMPJIT__COUNT(cpus); i++) {
        if (!ompjit__cpu_is(triple, cpus[i].name))
            continue;
        ompjit__args_add(&command->host, "-target-cpu");
        ompjit__args_add(&command->host, cpus[i].cpu);
        if (cpus[i].feature) {
            ompjit__args_add(&command->host, "-target-feature");
            ompjit__args_add(&command->host, cpus[i].feature);
        }
        if (cpus[i].types)
            add_both(command, cpus[i].types);
    }
}

/* The first part of both command lines: the program, for which machine, and
 * what is always so. The device half knows the host's triple for the sizes of
 * its types. */
static void add_start(const ompjit__clang *clang, ompjit__command *command)
{
    add_both(command, clang->path);
    add_both(command, "-cc1");
    add_both(command, "-triple");
    ompjit__args_add(&command->host, clang->triple);
    ompjit__args_add(&command->device, "nvptx64-nvidia-cuda");
    ompjit__args_add(&command->device, "-aux-triple");
    ompjit__args_add(&command->device, clang->triple);
    add_cpu(clang->triple, command);
    add_all(&command->host, host_args);
    add_all(&command->device, device_args);
    add_all(&command->host, both_args);
    add_all(&command->device, both_args);
    add_all(&command->host, openmp_args);
    add_all(&command->device, openmp_args);
}

static void add_start_cuda(const ompjit__clang *clang, ompjit__args *device)
{
    ompjit__args_add(device, clang->path);
    ompjit__args_add(device, "-cc1");
    ompjit__args_add(device, "-triple");
    ompjit__args_add(device, "nvptx64-nvidia-cuda");
    ompjit__args_add(device, "-aux-triple");
    ompjit__args_add(device, clang->triple);
    add_all(device, cuda_args);
    add_all(device, both_args);
}

/* By the enum opt_level, whose 0 is the default; -O decides here only about
 * attributes and markers, which LLVM needs later. */
static void add_settings(const ompjit_module_options *options,
                         ompjit__command *command)
{
    static const char *const levels[] = {"-O3", "-O0", "-O1", "-O2", "-O3"};
    add_both(command, levels[options->opt_level]);
}

static void add_version(const ompjit_module_options *options,
                        ompjit__command *command)
{
    char version[32];
    unsigned v = options->openmp_version;
    snprintf(version, sizeof version, "-fopenmp-version=%u", v ? v : 51);
    add_both(command, version);
}

/* Has the user given exactly this flag? */
static bool has_flag(const ompjit_module_options *options, const char *flag)
{
    for (unsigned i = 0; i < options->nflags; i++)
        if (options->flags[i] && !strcmp(options->flags[i], flag))
            return true;
    return false;
}

bool ompjit__lines_wanted(const ompjit_module_options *options)
{
    return has_flag(options, "-g") || has_flag(options, "-g1") ||
           has_flag(options, "-gline-tables-only");
}

unsigned ompjit__options_half(const ompjit_module_options *options)
{
    return OMPJIT__HALF_OF_SOURCE |
           (ompjit__lines_wanted(options) ? 0 : OMPJIT__HALF_OWN_LINES) |
           (options->signatures ? OMPJIT__HALF_SIGNATURES : 0);
}

/* C++ alone: exceptions unless the user has none, and its own headers before
 * those of C. */
static void add_cxx(const ompjit__clang *clang,
                    const ompjit_module_options *options,
                    ompjit__command *command)
{
    add_both(command, "-fdeprecated-macro");
    if (!has_flag(options, "-fno-exceptions")) {
        add_all(&command->host, exception_args);
        add_all(&command->device, exception_args);
    }
    add_dirs(command, "-internal-isystem", &clang->cxx_dirs);
}

/* clang's own headers come before the system's. */
static void add_headers(const ompjit__clang *clang, ompjit__command *command)
{
    char *own = ompjit__format("%s/include", clang->resource_dir);
    command->host.failed |= !own;
    add_both(command, "-resource-dir");
    add_both(command, clang->resource_dir);
    add_both(command, "-internal-isystem");
    add_both(command, own ? own : "");
    add_dirs(command, "-internal-externc-isystem", &clang->c_dirs);
    free(own);
}

/* Adds the arguments behind the language's own: headers, the user's flags, the
 * source. */
static ompjit_status add_end(const ompjit__clang *clang,
                             const ompjit_module_options *options,
                             const char *language, ompjit__command *command,
                             ompjit_error *err)
{
    const char *name = ompjit__source_name(options);
    const char *slash = strrchr(name, '/');
    char *dir = slash ? ompjit__format("%.*s", (int)(slash - name + 1), name)
                      : NULL;
    add_headers(clang, command);
    if (dir) {
        add_both(command, "-iquote");
        add_both(command, dir);
    }
    ompjit_status status = ompjit__flags_add(&ompjit__clang_flags, options,
                                             dir, command, err);
    free(dir);
    /* Last, as the last one counts: -g asks for less. */
    if (options->signatures)
        ompjit__args_add(&command->host, "-debug-info-kind=limited");
    add_source(command, name, language);
    if (!status && (command->host.failed || command->device.failed))
        status = ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    return status;
}

ompjit_status ompjit__options_check(const ompjit_module_options *options,
                                    ompjit_error *err)
{
    ompjit_status status = check_name(ompjit__source_name(options), err);
    return status ? status : check_numbers(options, err);
}

ompjit_status ompjit__command_make(const ompjit__clang *clang,
                                   const ompjit_module_options *options,
                                   ompjit__command *out, ompjit_error *err)
{
    ompjit__command command = {0};
    bool cxx = is_cxx(ompjit__source_name(options));
    ompjit_status status = ompjit__options_check(options, err);
    if (status)
        return status;
    add_start(clang, &command);
    add_settings(options, &command);
    add_version(options, &command);
    if (cxx)
        add_cxx(clang, options, &command);
    status = add_end(clang, options, cxx ? "c++" : "c", &command, err);
    if (status)
        ompjit__command_free(&command);
    else
        *out = command;
    return status;
}

ompjit_status ompjit__command_make_cuda(const ompjit__clang *clang,
                                        const ompjit_module_options *options,
                                        ompjit__command *out,
                                        ompjit_error *err)
{
    ompjit__command command = {0};
    ompjit_status status = ompjit__options_check(options, err);
    if (status)
        return status;
    add_start_cuda(clang, &command.device);
    add_settings(options, &command);
    add_dirs(&command, "-internal-isystem", &clang->cxx_dirs);
    status = add_end(clang, options, "cuda", &command, err);
    ompjit__args_free(&command.host);
    if (status)
        ompjit__command_free(&command);
    else
        *out = command;
    return status;
}
