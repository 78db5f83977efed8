/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit exec: another program in this process's place, with this library as
 * its libomptarget and the options as variables of its environment.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "door/door.h"
#include "tool/program_file.h"
#include "tool/tool.h"

/* As env(1) has them. */
enum { EXIT_NOT_RUN = 126, EXIT_NO_PROGRAM = 127 };

static int no_memory(void)
{
    complain("out of memory");
    return EXIT_FAILED;
}

/* ----------------------------------------------------------------- library */

/* The library, and the folder of its other names. */
struct dropin {
    char *library, *folder;
};

static bool is_there(struct dropin *d, const char *place, const char *beside,
                     const char *names)
{
    d->library = ompjit__format("%s%slibompjit-omptarget.so.0", place, beside);
    d->folder = ompjit__format("%s%s%s", place, beside, names);
    if (d->library && d->folder && !access(d->library, R_OK) &&
        !access(d->folder, X_OK))
        return true;
    free(d->library);
    free(d->folder);
    return false;
}

/* In the build tree, in the same prefix, or where it was installed. */
static int find_dropin(struct dropin *d)
{
    char *own = ompjit__own_folder();
    bool there = own && (is_there(d, own, ".libs/", "omptarget") ||
                         is_there(d, own, OMPJIT_CONFIG_BIN_TO_LIB "/",
                                  "ompjit"));
    if (!there)
        there = is_there(d, OMPJIT_CONFIG_LIBDIR, "/", "ompjit");
    if (!there)
        complain("libompjit-omptarget.so.0 and the folder of its other names "
                 "are neither beside %s nor in " OMPJIT_CONFIG_LIBDIR,
                 own ? own : "this program");
    free(own);
    return there ? EXIT_OK : EXIT_FAILED;
}

/* ------------------------------------------------------------- environment */

static int set(const char *name, const char *value)
{
    return setenv(name, value, 1) ? no_memory() : EXIT_OK;
}

/* Before what the variable has. */
static int prepend(const char *name, const char *first)
{
    const char *rest = getenv(name);
    bool alone = !rest || !*rest;
    char *value = ompjit__format("%s%s%s", first, alone ? "" : ":",
                                 alone ? "" : rest);
    int status = value ? set(name, value) : no_memory();
    free(value);
    return status;
}

/* The loader splits these variables at such characters, and knows no others for
 * them. */
static int set_loader(const struct dropin *d)
{
    char library[PATH_MAX], folder[PATH_MAX];
    if (!realpath(d->library, library) || !realpath(d->folder, folder)) {
        complain("cannot find %s: %s", d->library, strerror(errno));
        return EXIT_FAILED;
    }
    if (strpbrk(library, ":; ") || strpbrk(folder, ":; ")) {
        complain("%s: the dynamic linker takes no library below a folder with a "
                 "colon, a semicolon or a blank in its name", library);
        return EXIT_FAILED;
    }
    int status = prepend("LD_LIBRARY_PATH", folder);
    return status ? status : prepend("LD_PRELOAD", library);
}

/* Whole: the program may change its folder before it writes. */
static int set_file(const char *name, const char *file)
{
    char folder[PATH_MAX];
    if (*file == '/')
        return set(name, file);
    if (!getcwd(folder, sizeof folder)) {
        complain("cannot find the working directory: %s", strerror(errno));
        return EXIT_FAILED;
    }
    char *path = ompjit__format("%s/%s", folder, file);
    int status = path ? set(name, path) : no_memory();
    free(path);
    return status;
}

/* Writable, before the program runs; "-" is standard error. */
static int set_outputs(const struct options *o)
{
    bool table = o->profile && !strcmp(o->profile, "-");
    int status = EXIT_OK;
    if (o->record && !(status = output_possible(o->record)))
        status = set_file("OMPJIT_RECORD", o->record);
    if (!status && table)
        return set("OMPJIT_PROFILE", "1");
    if (!status && o->profile && !(status = output_possible(o->profile)))
        status = set_file("OMPJIT_PROFILE", o->profile);
    return status;
}

static int set_options(const struct options *o)
{
    const struct {
        const char *name, *value;
    } variables[] = {{"OMPJIT_DEVICE", o->device},
                     {"OMPJIT_HOST_MEMORY", o->host_memory},
                     {"OMPJIT_SPECIALIZE", o->specialize},
                     {"OMPJIT_ASSEMBLER", o->assembler},
                     {"OMPJIT_CACHE", o->no_cache ? "0" : NULL},
                     {"OMPJIT_EXPLAIN", o->explain ? "1" : NULL},
                     {"OMPJIT_LOG", o->verbose ? "1" : NULL}};
    int status = session_geometry(o);
    for (size_t i = 0; !status && i < OMPJIT__COUNT(variables); i++)
        if (variables[i].value)
            status = set(variables[i].name, variables[i].value);
    return status ? status : set_outputs(o);
}

/* A context by the options finds what is wrong with them. */
static int check_options(const struct options *o)
{
    ompjit_context *ctx;
    int status = session_open(o, o->device, &ctx);
    if (status)
        return status;
    if (o->device)
        status = session_device(o, ctx);
    ompjit_context_destroy(ctx);
    return status;
}

/* ----------------------------------------------------------------- program */

/* What will keep the program from taking this library, or may. */
static void tell_of(const struct options *o, const char *path)
{
    struct program_file file;
    if (!program_file_read(path, &file))
        return;
    if (file.is_static && !o->quiet)
        complain("%s: statically linked, so it takes no other libomptarget than "
                 "the one that it may have", path);
    else if (file.is_privileged && !o->quiet)
        complain("%s: gets another user's or group's rights, so the dynamic "
                 "linker takes no library by LD_PRELOAD and LD_LIBRARY_PATH for "
                 "it: it runs with its own libomptarget", path);
    else if (o->verbose && !file.is_static && !*file.libomptarget)
        complain("%s: is not linked with libomptarget; a library that it loads "
                 "may be", path);
    else if (o->verbose)
        complain("%s: is linked with %s", path, file.libomptarget);
}

/* Returns only where the program cannot be run. A file that the kernel does not
 * know, such as a script without #!, is none. */
static int start(const char *name, const char *path, char **argv)
{
    fflush(NULL);
    execv(path, argv);
    complain("cannot run %s: %s", name, strerror(errno));
    return errno == ENOENT ? EXIT_NO_PROGRAM : EXIT_NOT_RUN;
}

int tool_exec(struct options *o)
{
    struct dropin d;
    char *path;
    int cause = program_file_find(o->file, &path);
    if (cause) {
        complain("cannot run %s: %s", o->file,
                 cause == ENOENT && !strchr(o->file, '/') ? "not found in PATH"
                                                          : strerror(cause));
        return cause == ENOENT ? EXIT_NO_PROGRAM : EXIT_NOT_RUN;
    }
    int status = check_options(o);
    if (!status)
        status = set_options(o);
    if (!status && !(status = find_dropin(&d))) {
        tell_of(o, path);
        status = set_loader(&d);
        if (!status)
            status = start(o->file, path, o->args - 1);
        free(d.library);
        free(d.folder);
    }
    free(path);
    return status;
}
