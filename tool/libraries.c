/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * -l and -L: a program that is compiled into this process finds its libraries
 * in this process, so they are loaded for everybody to see.
 */
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tool/tool.h"

static void *load(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/* DIR/libNAME.so, or the newest of DIR/libNAME.so.*: where there is no
 * development package there is only that, and libm.so is a linker's script. */
static void *load_from(const char *dir, const char *name)
{
    char path[PATH_MAX];
    glob_t found;
    void *handle;
    snprintf(path, sizeof path, "%s/lib%s.so", dir, name);
    handle = load(path);
    if (handle)
        return handle;
    snprintf(path, sizeof path, "%s/lib%s.so.*", dir, name);
    if (glob(path, 0, NULL, &found))
        return NULL;
    for (size_t i = found.gl_pathc; i > 0 && !handle; i--)
        handle = load(found.gl_pathv[i - 1]);
    globfree(&found);
    return handle;
}

static void *load_library(const struct options *o, const char *name)
{
    static const char *const standard[] = {
        "/usr/local/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64",
        "/usr/lib64", "/lib", "/usr/lib",
    };
    char soname[PATH_MAX];
    void *handle = NULL;
    for (unsigned i = 0; i < o->library_dirs.n && !handle; i++)
        handle = load_from(o->library_dirs.items[i], name);
    snprintf(soname, sizeof soname, "lib%s.so", name);
    if (!handle)
        handle = load(soname);
    for (size_t i = 0; i < sizeof standard / sizeof *standard && !handle; i++)
        handle = load_from(standard[i], name);
    return handle;
}

int libraries_load(const struct options *o)
{
    for (unsigned i = 0; i < o->libraries.n; i++) {
        const char *name = o->libraries.items[i];
        if (load_library(o, name))
            continue;
        const char *why = dlerror();
        complain("-l%s: no shared library lib%s.so could be loaded%s%s", name,
                 name, why ? ": " : "", why ? why : "");
        return EXIT_FAILED;
    }
    return EXIT_OK;
}
