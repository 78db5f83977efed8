/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds clang, its headers and the system's: the one that is a part of ompjitc,
 * unless another is asked for, or a clang of the system's. A few looks at the
 * file system take the place of a clang driver's process.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/clang/clang.h"

#define CLANG_MAJOR OMPJIT__COMPILER_MAJOR

/* --------------------------------------------------------------- clang */

#define NEED "clang " CLANG_MAJOR " is needed to compile C"

#ifdef OMPJIT_CONFIG_CC1
enum { HAS_OWN = true };
#else
enum { HAS_OWN = false };
#endif

/* ompjitc, where clang is a part of it; malloc'd, or NULL. */
static char *own_clang(void)
{
    char *path = HAS_OWN ? ompjit__compiler_program() : NULL;
    if (path && ompjit__executable(path))
        return path;
    free(path);
    return NULL;
}

/* A clang of the system's, in the order that clang.h tells. */
static ompjit_status find_installed(char **out, ompjit_error *err)
{
    *out = ompjit__executable(OMPJIT_CONFIG_CLANG)
               ? ompjit__strdup(OMPJIT_CONFIG_CLANG)
               : ompjit__on_path("clang-" CLANG_MAJOR);
    if (!*out)
        return ompjit__fail(
            err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_FRONTEND,
            "compiling C needs clang " CLANG_MAJOR ", which is not there: "
            "neither " OMPJIT_CONFIG_CLANG " nor clang-" CLANG_MAJOR
            " on PATH; install the package clang-" CLANG_MAJOR
            " or set OMPJIT_CLANG to one");
    return OMPJIT_OK;
}

/* In the order that clang.h tells. A clang that the user has named is the only
 * one that is tried. */
static ompjit_status find_path(const char *wanted, ompjit__clang *clang,
                               ompjit_error *err)
{
    char **out = &clang->path;
    const char *env = getenv("OMPJIT_CLANG");
    if (wanted)
        return ompjit__program_named(
            "the context's option `clang` or OMPJIT_CLANG", wanted, NEED, out,
            err);
    if (env && *env)
        return ompjit__program_named("OMPJIT_CLANG", env, NEED, out, err);
    clang->own = (*out = own_clang()) != NULL;
    return clang->own ? OMPJIT_OK : find_installed(out, err);
}

ompjit_status ompjit__clang_driver(char **out, ompjit_error *err)
{
    const char *env = getenv("OMPJIT_CLANG");
    return env && *env ? ompjit__program_named("OMPJIT_CLANG", env, NEED, out,
                                               err)
                       : find_installed(out, err);
}

/* ------------------------------------------------------------- headers */

static bool is_folder(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISDIR(s.st_mode);
}

/* Without white space at its end, in place. */
static void trim(char *s)
{
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1]))
        s[--n] = 0;
}

/* By a process, for a clang that is installed in another way. */
static ompjit_status ask_resource_dir(ompjit__clang *clang,
                                      unsigned limit_ms, ompjit_error *err)
{
    char *argv[] = {clang->path, "-print-resource-dir", NULL};
    ompjit__buf out = {0};
    ompjit__exit how;
    ompjit_status status =
        ompjit__run_tool(argv, limit_ms, &out, NULL, &how, err);
    if (status)
        return status;
    if (out.data)
        trim(out.data);
    if (!out.data || !is_folder(out.data))
        status = ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE,
                              OMPJIT_STAGE_FRONTEND,
                              "%s is no clang: asked for its folder of headers "
                              "(-print-resource-dir), it answered `%.200s`",
                              clang->path, out.data ? out.data : "");
    else
        clang->resource_dir = ompjit__strdup(out.data);
    ompjit__buf_free(&out);
    return status;
}

/* Takes it over where it has headers. */
static bool try_resource_dir(ompjit__clang *clang, char *dir)
{
    char *probe = dir ? ompjit__format("%s/include", dir) : NULL;
    bool there = probe && is_folder(probe);
    free(probe);
    if (there)
        clang->resource_dir = dir;
    else
        free(dir);
    return there;
}

/* Beside the executable, where its links lead to; for the one in a build tree
 * those that configure has found. Another clang says it otherwise. */
static ompjit_status find_resource_dir(ompjit__clang *clang,
                                       unsigned limit_ms, ompjit_error *err)
{
    char *real = realpath(clang->path, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    char *dir = NULL;
    if (slash)
        dir = ompjit__format("%.*s/%s", (int)(slash - real), real,
                             clang->own ? "clang"
                                        : "../lib/clang/" CLANG_MAJOR);
    free(real);
    if (try_resource_dir(clang, dir) ||
        (clang->own && try_resource_dir(
                           clang, ompjit__strdup(OMPJIT_CONFIG_RESOURCES))))
        return OMPJIT_OK;
    if (!clang->own)
        return ask_resource_dir(clang, limit_ms, err);
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_FRONTEND,
                        "the headers of %s are neither in the folder clang "
                        "beside it nor in " OMPJIT_CONFIG_RESOURCES,
                        clang->path);
}

/* "x86_64-pc-linux-gnu" to Debian's "x86_64-linux-gnu". malloc'd. */
static char *multiarch(const char *triple)
{
    return ompjit__format("%.*s-linux-gnu", (int)strcspn(triple, "-"), triple);
}

/* Adds the folder if it is there; frees `path`, which may be NULL. */
static void add_folder(ompjit__args *dirs, char *path)
{
    if (path && is_folder(path))
        ompjit__args_add(dirs, path);
    free(path);
}

/* The highest version in /usr/include/c++; 0: none. */
static unsigned newest_libstdcxx(void)
{
    unsigned newest = 0;
    DIR *dir = opendir("/usr/include/c++");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char *end;
        unsigned long version = strtoul(e->d_name, &end, 10);
        if (!*end && version > newest && version < 1000)
            newest = (unsigned)version;
    }
    if (dir)
        closedir(dir);
    return newest;
}

/* libstdc++'s folders as GCC installs them, and those of C, in the order of
 * clang's driver. Folders that are not there are left out. */
static void find_folders(ompjit__clang *clang)
{
    char *arch = multiarch(clang->triple);
    unsigned v = newest_libstdcxx();
    ompjit__args *cxx = &clang->cxx_dirs;
    if (v) {
        add_folder(cxx, ompjit__format("/usr/include/c++/%u", v));
        add_folder(cxx, ompjit__format("/usr/include/%s/c++/%u", arch, v));
        add_folder(cxx, ompjit__format("/usr/include/c++/%u/%s", v, arch));
        add_folder(cxx, ompjit__format("/usr/include/c++/%u/%s", v,
                                       clang->triple));
        add_folder(cxx, ompjit__format("/usr/include/c++/%u/backward", v));
    }
    add_folder(&clang->c_dirs, ompjit__strdup("/usr/local/include"));
    add_folder(&clang->c_dirs, ompjit__format("/usr/include/%s", arch));
    add_folder(&clang->c_dirs, ompjit__strdup("/usr/include"));
    free(arch);
}

ompjit_status ompjit__clang_find(const char *wanted, unsigned limit_ms,
                                 ompjit__clang *out, ompjit_error *err)
{
    ompjit__clang clang = {0};
    ompjit_status status = find_path(wanted, &clang, err);
    if (!status)
        status = find_resource_dir(&clang, limit_ms, err);
    if (status) {
        ompjit__clang_free(&clang);
        return status;
    }
    clang.triple = ompjit__strdup(OMPJIT_CONFIG_TRIPLE);
    if (clang.triple)
        find_folders(&clang);
    if (!clang.triple || !clang.resource_dir || clang.c_dirs.failed ||
        clang.cxx_dirs.failed) {
        ompjit__clang_free(&clang);
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    }
    *out = clang;
    return OMPJIT_OK;
}

void ompjit__clang_free(ompjit__clang *clang)
{
    free(clang->path);
    free(clang->resource_dir);
    free(clang->triple);
    ompjit__args_free(&clang->c_dirs);
    ompjit__args_free(&clang->cxx_dirs);
    *clang = (ompjit__clang){0};
}

/* ------------------------------------------------------------- version */

/* Asked only when a compile has failed: it costs a process. */
ompjit_status ompjit__clang_check(const ompjit__clang *clang,
                                  unsigned limit_ms, ompjit_error *err)
{
    return clang->own ? OMPJIT_OK
                      : ompjit__version_check(clang->path, "clang", limit_ms,
                                              err);
}
