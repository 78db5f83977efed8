/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds and loads libomp. It is loaded for ourselves alone (RTLD_LOCAL):
 * its omp_* and GOMP_* functions must not become those of an application
 * that was built for another OpenMP runtime.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hold.h"
#include "device/engine/libomp.h"

#define ROW(name, field, required) \
    {name, offsetof(struct ompjit__libomp, field), required}

static const ompjit__symbol symbols[] = {
    /*  name                      field                 required */
    ROW("__kmpc_fork_call", kmpc_fork_call, true),
    ROW("__kmpc_push_num_threads", kmpc_push_num_threads, true),
    ROW("__kmpc_global_thread_num", kmpc_global_thread_num, true),
    ROW("omp_get_max_threads", omp_get_max_threads, true),
    ROW("omp_get_num_threads", omp_get_num_threads, true),
    ROW("omp_get_thread_num", omp_get_thread_num, true),
    ROW("omp_in_parallel", omp_in_parallel, true),
    ROW("omp_get_level", omp_get_level, false),
    ROW("omp_in_explicit_task", omp_in_explicit_task, false),
    ROW("__kmpc_omp_taskwait", kmpc_omp_taskwait, false),
    ROW("__kmpc_init_allocator", kmpc_init_allocator, false),
    ROW("omp_default_mem_space", omp_default_mem_space, false),
    ROW("omp_alloc", omp_alloc, false),
    ROW("omp_aligned_alloc", omp_aligned_alloc, false),
    ROW("omp_calloc", omp_calloc, false),
    ROW("omp_aligned_calloc", omp_aligned_calloc, false),
    ROW("omp_realloc", omp_realloc, false),
    ROW("omp_free", omp_free, false),
    ROW("omp_get_default_allocator", omp_get_default_allocator, false),
    ROW("omp_get_default_device", omp_get_default_device, false),
};

/* Written once, by load_once. `status` and `error`: why libomp cannot be had.
 */
static struct {
    pthread_once_t once;
    _Atomic bool good; /* the table is filled */
    struct ompjit__libomp table;
    ompjit_status status;
    ompjit_error error;
} loaded = {.once = PTHREAD_ONCE_INIT};

/* Intel's runtime is the same library under another name. */
static const char *path_of_present(void)
{
    const char *path = ompjit__library_here("libomp.so");
    return path ? path : ompjit__library_here("libiomp5.so");
}

/* The libomp that is in the process already, also one that was loaded where
 * the default search does not see it. The caller passes a reference on. */
static void *present(void)
{
    void *fork_call = dlsym(RTLD_DEFAULT, "__kmpc_fork_call"), *handle;
    Dl_info info;
    if (fork_call && dladdr(fork_call, &info)) {
        handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        /* Linked into the program itself. */
        return handle ? handle : dlopen(NULL, RTLD_NOW);
    }
    const char *path = path_of_present();
    return path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
}

/* False: a required function is missing, whose name is appended. */
static bool fill(void *handle, const char *path, ompjit__buf *causes)
{
    for (size_t i = 0; i < OMPJIT__COUNT(symbols); i++) {
        void *address = dlsym(handle, symbols[i].name);
        if (!address && symbols[i].required) {
            ompjit__buf_printf(causes, "\n  %s: no symbol %s", path,
                               symbols[i].name);
            return false;
        }
        memcpy((char *)&loaded.table + symbols[i].offset, &address,
               sizeof address);
    }
    loaded.table.handle = handle;
    loaded.good = true;
    return true;
}

/* A second libomp in a process aborts it: one that is there is taken, however it
 * came there. */
static bool load(ompjit__buf *causes)
{
    const char *paths[] = {getenv("OMPJIT_LIBOMP"), OMPJIT_CONFIG_LIBOMP,
                           "libomp.so.5", "libomp.so"};
    void *handle = present();
    if (handle)
        return fill(handle, "the libomp of this process", causes);
    for (size_t i = 0; i < OMPJIT__COUNT(paths); i++) {
        if (!paths[i] || !*paths[i])
            continue;
        handle = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            ompjit__buf_printf(causes, "\n  %s", dlerror());
        else if (fill(handle, paths[i], causes))
            return true;
        else
            dlclose(handle);
        if (i == 0) /* what the user names is not replaced in silence */
            break;
    }
    return false;
}

/* With its first call libomp makes a file that tells other copies of it that it
 * is there. If the process may write none, that call is made here: libomp
 * gets along without. */
static void start_limited(void)
{
    struct rlimit limit;
    ompjit__held held;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return;
    ompjit__hold(&held, SIGXFSZ);
    loaded.table.omp_get_max_threads();
    ompjit__release(&held);
}

/* That file is named by the number of the process. A former process of this
 * number that was killed right after it had made its own has left an empty one,
 * which libomp of LLVM 22 reads (__kmp_register_library_startup): SIGBUS. */
static void remove_empty_file(void)
{
    char path[64];
    struct stat file;
    snprintf(path, sizeof path, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d",
             (int)getpid(), (int)getuid());
    if (!stat(path, &file) && !file.st_size)
        unlink(path);
}

/* A failure stays for the life of the process. */
static void load_once(void)
{
    ompjit__buf causes = {0};
    if (load(&causes)) {
        remove_empty_file();
        start_limited();
    } else {
        loaded.status = ompjit__fail(
            &loaded.error, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LOAD,
            "the OpenMP runtime libomp cannot be loaded:%s",
            causes.data ? causes.data : " out of memory");
    }
    ompjit__buf_free(&causes);
}

ompjit_status ompjit__libomp(const struct ompjit__libomp **out,
                             ompjit_error *err)
{
    pthread_once(&loaded.once, load_once);
    if (loaded.status) {
        if (err)
            *err = loaded.error;
        return loaded.status;
    }
    *out = &loaded.table;
    return OMPJIT_OK;
}

const struct ompjit__libomp *ompjit__libomp_loaded(void)
{
    return atomic_load(&loaded.good) ? &loaded.table : NULL;
}

bool ompjit__libomp_here(void)
{
    return loaded.good || dlsym(RTLD_DEFAULT, "__kmpc_fork_call") ||
           path_of_present();
}

/* OMP_NUM_THREADS as libomp would read it, where it is not there. */
uint32_t ompjit__libomp_threads(void)
{
    const struct ompjit__libomp *omp;
    if (ompjit__libomp_here() && !ompjit__libomp(&omp, NULL))
        return (uint32_t)omp->omp_get_max_threads();
    const char *text = getenv("OMP_NUM_THREADS");
    long n = text ? strtol(text, NULL, 10) : 0; /* of a list the first */
    return n > 0 && n <= INT_MAX ? (uint32_t)n : ompjit__processors();
}
