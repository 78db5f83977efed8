/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * flang's runtime library as code of this process. Where flang has a shared
 * library, that is loaded. Debian's has an archive: flang's driver links a
 * shared library of all of it, which takes a third of a second, once for a
 * cache. It is loaded from memory.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frontend/flang/flang.h"

#define NAME "libflang_rt.runtime"

/* Once it is loaded, it stays: programs register handlers for the process's
 * end with it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
OMPJIT__FORK_TAKES(lock)
static void *loaded;

bool ompjit__flang_runtime_has(const char *name)
{
    static const char *const prefixes[] = {"_Fortran", "CFI_"};
    for (size_t i = 0; i < OMPJIT__COUNT(prefixes); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    size_t n = strlen(name); /* extensions: iargc_, flush_, ... */
    return n > 1 && name[n - 1] == '_';
}

/* ------------------------------------------------------------------- link */

static ompjit_status no_library(const char *path, const char *what,
                                const char *said, ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LOAD,
                        "flang's runtime library, %s, %s: %s", path, what,
                        said);
}

static ompjit_status run_linker(ompjit_context *ctx, char *flang, char *archive,
                                char *library, ompjit_error *err)
{
    char *argv[] = {flang, "-shared", "-o", library, "-Wl,-s",
                    "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive",
                    NULL};
    ompjit__buf out = {0}, diag = {0};
    ompjit__exit how;
    ompjit_status status = ompjit__run_tool(argv, ctx->clang_limit_ms, &out,
                                            &diag, &how, err);
    if (status)
        return status;
    bool failed = how.how != OMPJIT__END_UNKNOWN &&
                  (how.how != OMPJIT__END_EXIT || how.code);
    if (failed)
        status = no_library(archive,
                            "cannot be linked to a shared library by flang, "
                            "which needs a linker (package binutils)",
                            diag.size ? diag.data : "no cause is given", err);
    ompjit__buf_free(&out);
    ompjit__buf_free(&diag);
    return status;
}

/* A new shared library's bytes. */
static ompjit_status make_library(ompjit_context *ctx, char *flang,
                                  char *archive, ompjit__buf *out,
                                  ompjit_error *err)
{
    char *folder = NULL;
    ompjit_status status = ompjit__folder_new(&folder, err);
    if (status)
        return status;
    char *library = ompjit__format("%s/" NAME ".so", folder);
    status = library ? run_linker(ctx, flang, archive, library, err)
                     : ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    if (!status)
        status = ompjit__read_file(library, out, err);
    ompjit__folder_free(folder);
    free(library);
    return status;
}

static bool take_library(void *data, const void *payload, size_t size)
{
    ompjit__buf_add(data, payload, size);
    return !((ompjit__buf *)data)->failed;
}

/* By the cache where it has it. */
static ompjit_status obtain_library(ompjit_context *ctx, char *flang,
                                    char *archive, ompjit__buf *out,
                                    ompjit_error *err)
{
    ompjit__key key = {0};
    ompjit__claim claim = {.fd = -1};
    ompjit_status status = OMPJIT_OK;
    ompjit__key_begin(&key, "flang-runtime");
    ompjit__key_file(&key, "archive", archive);
    bool use = ctx->cache && ompjit__key_end(&key);
    if (!use || !ompjit__cache_enter(ctx->cache, &key, take_library, out,
                                     &claim)) {
        status = make_library(ctx, flang, archive, out, err);
        if (!status && use)
            ompjit__cache_put(ctx->cache, &key, out);
    }
    ompjit__claim_end(&claim);
    ompjit__key_free(&key);
    return status;
}

/* ------------------------------------------------------------------- load */

static ompjit_status open_library(const char *path, ompjit_error *err)
{
    loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return loaded ? OMPJIT_OK
                  : no_library(path, "cannot be loaded", dlerror(), err);
}

static bool fill(int fd, const ompjit__buf *bytes)
{
    for (size_t at = 0; at < bytes->size;) {
        ssize_t n = write(fd, bytes->data + at, bytes->size - at);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static ompjit_status open_bytes(const ompjit__buf *bytes, ompjit_error *err)
{
    int fd = memfd_create(NAME, MFD_CLOEXEC);
    if (fd < 0 || !fill(fd, bytes)) {
        ompjit_status status = no_library("in memory", "cannot be loaded",
                                          strerror(errno), err);
        if (fd >= 0)
            close(fd);
        return status;
    }
    char *path = ompjit__format("/proc/self/fd/%d", fd);
    ompjit_status status = path ? open_library(path, err)
                                : ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    free(path);
    close(fd);
    return status;
}

/* A path in flang's folder of libraries for this machine. malloc'd. */
static char *library_path(const ompjit__flang *flang, const char *ending)
{
    return ompjit__format("%s/lib/" OMPJIT_CONFIG_TRIPLE "/" NAME "%s",
                          flang->resource_dir, ending);
}

static ompjit_status load_found(ompjit_context *ctx, const ompjit__flang *flang,
                                ompjit_error *err)
{
    char *shared = library_path(flang, ".so");
    char *archive = library_path(flang, ".a");
    ompjit__buf bytes = {0};
    ompjit_status status;
    if (!shared || !archive) {
        status = ompjit__no_memory(err, OMPJIT_STAGE_LOAD);
    } else if (!access(shared, R_OK)) {
        status = open_library(shared, err);
    } else if (access(archive, R_OK)) {
        status = no_library(archive, "is not there", strerror(errno), err);
    } else {
        status = obtain_library(ctx, flang->path, archive, &bytes, err);
        if (!status)
            status = open_bytes(&bytes, err);
    }
    ompjit__buf_free(&bytes);
    free(shared);
    free(archive);
    return status;
}

static ompjit_status load(ompjit_context *ctx, ompjit_error *err)
{
    ompjit__flang flang;
    ompjit_status status = ompjit__flang_find(&flang, err);
    if (status)
        return status;
    status = load_found(ctx, &flang, err);
    ompjit__flang_free(&flang);
    return status;
}

void *ompjit__flang_runtime(ompjit_context *ctx, const char *name,
                            ompjit_error *err)
{
    *err = (ompjit_error){.status = OMPJIT_OK};
    pthread_mutex_lock(&lock);
    ompjit_status status = loaded ? OMPJIT_OK : load(ctx, err);
    void *handle = loaded;
    pthread_mutex_unlock(&lock);
    return status ? NULL : dlsym(handle, name);
}
