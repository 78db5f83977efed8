/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds and loads LLVM's OpenMP runtime.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "device/libomp.h"

#define SYMBOL(member, name) {name, offsetof(ompjit__libomp, member), true}
static const ompjit__symbol symbols[] = {
    SYMBOL(fork_call, "__kmpc_fork_call"),
    SYMBOL(global_thread_num, "__kmpc_global_thread_num"),
    SYMBOL(push_num_threads, "__kmpc_push_num_threads"),
    SYMBOL(get_thread_num, "omp_get_thread_num"),
    SYMBOL(get_num_threads, "omp_get_num_threads"),
    SYMBOL(get_max_threads, "omp_get_max_threads"),
    SYMBOL(get_default_device, "omp_get_default_device"),
};
#undef SYMBOL

/* The once-initialised loader table. */
static struct {
    pthread_once_t once;
    ompjit_status status;
    ompjit_error error;
    ompjit__libomp table;
} loader = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    const char *paths[5];
    size_t n = 0;
    const char *chosen = getenv("OMPJIT_LIBOMP");
    if (chosen && *chosen)
        paths[n++] = chosen;
    paths[n++] = OMPJIT_CONFIG_LIBOMP;
    paths[n++] = "libomp.so.5";
    paths[n++] = "libomp.so";
    paths[n] = NULL;
    /* Made global first; the table's own load then finds the same library. */
    for (size_t i = 0; i < n; i++)
        if (dlopen(paths[i], RTLD_NOW | RTLD_GLOBAL))
            break;
    loader.status = ompjit__load_library("the OpenMP runtime libomp", paths,
                                         symbols, OMPJIT__COUNT(symbols),
                                         &loader.table, &loader.error);
}

ompjit_status ompjit__libomp_get(const ompjit__libomp **out,
                                 ompjit_error *err)
{
    pthread_once(&loader.once, load);
    if (loader.status) {
        if (err)
            *err = loader.error;
        return loader.status;
    }
    *out = &loader.table;
    return OMPJIT_OK;
}
