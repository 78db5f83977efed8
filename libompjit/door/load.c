/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds and loads the compiler wing: libompjit-compiler.so beside this library
 * or the tool, in the library folder of the same prefix, in the build tree,
 * where it was installed, and last where the dynamic linker looks. The unit
 * tests link both wings into one library, which then has the table itself.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/fork.h"
#include "door/door.h"
#include "libompjit/cache/sources.h"

#define LIBRARY "libompjit-compiler.so.0"

/* The compiler wing's table where it is in the same library. */
extern const ompjit__door ompjit_compiler_door
    __attribute__((weak, visibility("hidden")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
OMPJIT__FORK_TAKES(lock)
/* Written once, under the lock; read without. */
static const ompjit__door *_Atomic loaded;

/* Services that the compiler wing has still to get; NULL: none. */
static const ompjit__services *offered;

/* Is the address in what the dynamic linker has loaded from that file? Its name
 * goes to `data` then. dladdr would search all symbols of the file as well. */
static int is_there(struct dl_phdr_info *file, size_t size, void *data)
{
    const uintptr_t address = (uintptr_t)ompjit__door_open;
    (void)size;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const uintptr_t begin = file->dlpi_addr + file->dlpi_phdr[i].p_vaddr;
        if (file->dlpi_phdr[i].p_type == PT_LOAD && address >= begin &&
            address - begin < file->dlpi_phdr[i].p_memsz) {
            *(const char **)data = file->dlpi_name;
            return 1;
        }
    }
    return 0;
}

/* The dynamic linker does not know a program's path; the kernel does
 * (AT_EXECFN). */
char *ompjit__own_folder(void)
{
    const char *name = NULL;
    if (!dl_iterate_phdr(is_there, &name))
        return NULL;
    if (!name || !strchr(name, '/'))
        name = (const char *)getauxval(AT_EXECFN);
    char *path = name ? realpath(name, NULL) : NULL;
    if (path)
        strrchr(path, '/')[1] = 0;
    return path;
}

/* NULL: the library is missing or does not load; appends the cause. */
static void *load_from(const char *folder, ompjit__buf *causes)
{
    char *path = ompjit__format("%s%s", folder, LIBRARY);
    void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!handle)
        ompjit__buf_printf(causes, "\n%s", path ? dlerror() : "out of memory");
    free(path);
    return handle;
}

/* Returns the first library that loads; appends the causes of failures. */
static void *load_any(ompjit__buf *causes)
{
    static const char *const beside[] = {"", OMPJIT_CONFIG_BIN_TO_LIB "/",
                                         OMPJIT_CONFIG_LIBEXEC_TO_LIB "/",
                                         ".libs/"};
    char *own = ompjit__own_folder();
    void *handle = NULL;
    for (size_t i = 0; own && !handle && i < OMPJIT__COUNT(beside); i++) {
        char *folder = ompjit__format("%s%s", own, beside[i]);
        handle = folder ? load_from(folder, causes) : NULL;
        free(folder);
    }
    free(own);
    if (!handle)
        handle = load_from(OMPJIT_CONFIG_LIBDIR "/", causes);
    return handle ? handle : load_from("", causes);
}

/* A library of another build is refused: requests have no versions. */
static ompjit_status find_table(const ompjit__door **out, ompjit_error *err)
{
    if (&ompjit_compiler_door) {
        *out = &ompjit_compiler_door;
        return OMPJIT_OK;
    }
    ompjit__buf causes = {0};
    void *handle = load_any(&causes);
    if (!handle) {
        ompjit_status status =
            ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                         "the compiler, " LIBRARY ", cannot be loaded:%s",
                         causes.data ? causes.data : "");
        ompjit__buf_free(&causes);
        return status;
    }
    ompjit__buf_free(&causes);
    const ompjit__door *door = dlsym(handle, "ompjit_compiler_door");
    if (!door || strcmp(door->sources, OMPJIT__SOURCES)) {
        dlclose(handle);
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                            LIBRARY " is of another build than this library");
    }
    *out = door;
    return OMPJIT_OK;
}

/* Hands the services to the compiler wing when both are there. Under the lock.
 */
static void attach(const ompjit__door *door)
{
    if (door && offered)
        door->attach(offered);
    if (door)
        offered = NULL;
}

void ompjit__door_offer(const ompjit__services *services)
{
    static bool done;
    pthread_mutex_lock(&lock);
    if (!done) {
        offered = services;
        attach(atomic_load_explicit(&loaded, memory_order_relaxed));
        done = true;
    }
    pthread_mutex_unlock(&lock);
}

/* It is never closed: LLVM leaves destructors behind. */
ompjit_status ompjit__door_open(const ompjit__door **out, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    const ompjit__door *door =
        atomic_load_explicit(&loaded, memory_order_acquire);
    if (door) {
        *out = door;
        return OMPJIT_OK;
    }
    pthread_mutex_lock(&lock);
    door = atomic_load_explicit(&loaded, memory_order_relaxed);
    if (!door && !(status = find_table(&door, err))) {
        attach(door);
        atomic_store_explicit(&loaded, door, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    if (!status)
        *out = door;
    return status;
}
