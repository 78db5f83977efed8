/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C++ names for people, by the C++ runtime of the process: its own one where it
 * has one, else libstdc++, which is loaded then and stays.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/base.h"

/* Itanium C++ ABI, 3.4. */
typedef char *demangle_fn(const char *mangled, char *out, size_t *length,
                          int *status);
extern demangle_fn __cxa_demangle __attribute__((weak));

static demangle_fn *loaded; /* NULL: there is no C++ runtime */

static void load(void)
{
    void *handle = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    void *f = handle ? dlsym(handle, "__cxa_demangle") : NULL;
    loaded = (demangle_fn *)(uintptr_t)f;
}

static char *of_cxx(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int status = -1;
    demangle_fn *f = __cxa_demangle;
    if (name[0] != '_' || name[1] != 'Z')
        return NULL; /* "i" alone would be a type's */
    if (!f) {
        pthread_once(&once, load);
        f = loaded;
    }
    return f ? f(name, NULL, NULL, &status) : NULL;
}

char *ompjit__demangle(const char *name)
{
    static const char prefix[] = OMPJIT__THREAD_LOCAL;
    const bool local = !strncmp(name, prefix, sizeof prefix - 1);
    const char *own = local ? name + sizeof prefix - 1 : name;
    char *readable = of_cxx(own);
    return readable || !local ? readable : ompjit__strdup(own);
}
