/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CUDA C++ to cubin by NVRTC, loaded at first use, versions 12 and 13.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backend/arch.h"
#include "backend/cuda_files.h"
#include "backend/nvrtc.h"

typedef void *program;

/* The functions return 0 for success. The log's size counts a final NUL. */
struct api {
    int (*create)(program *p, const char *source, const char *name, int n,
                  const char *const *headers, const char *const *includes);
    int (*destroy)(program *p);
    int (*compile)(program p, int n, const char *const *options);
    int (*log_size)(program p, size_t *size);
    int (*log)(program p, char *text);
    int (*cubin_size)(program p, size_t *size);
    int (*cubin)(program p, char *data);
    const char *(*error_string)(int result);
    int (*version)(int *major, int *minor);
};

static const ompjit__symbol symbols[] = {
    {"nvrtcCreateProgram", offsetof(struct api, create), true},
    {"nvrtcDestroyProgram", offsetof(struct api, destroy), true},
    {"nvrtcCompileProgram", offsetof(struct api, compile), true},
    {"nvrtcGetProgramLogSize", offsetof(struct api, log_size), true},
    {"nvrtcGetProgramLog", offsetof(struct api, log), true},
    {"nvrtcGetCUBINSize", offsetof(struct api, cubin_size), true},
    {"nvrtcGetCUBIN", offsetof(struct api, cubin), true},
    {"nvrtcGetErrorString", offsetof(struct api, error_string), true},
    {"nvrtcVersion", offsetof(struct api, version), true},
};

static struct {
    pthread_once_t once;
    ompjit_status status;
    ompjit_error why;
    struct api api;
    unsigned version; /* in tenths */
} library = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    char **paths = ompjit__cuda_paths(OMPJIT__CUDA_NVRTC);
    const char *const none[] = {NULL};
    library.status = ompjit__load_library(
        "NVRTC", paths ? (const char *const *)paths : none, symbols,
        OMPJIT__COUNT(symbols), &library.api, &library.why);
    ompjit__cuda_paths_free(paths);
    int major = 0, minor = 0;
    if (!library.status)
        library.api.version(&major, &minor);
    library.version = (unsigned)(major * 10 + minor);
}

static ompjit_status failed(program p, int result, const char *name,
                            ompjit_error *err)
{
    const struct api *api = &library.api;
    size_t size = 0;
    char *log = NULL;
    if (p && !api->log_size(p, &size) && size)
        log = calloc(1, size + 1);
    if (log)
        api->log(p, log);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND, "NVRTC, %s: %s\n%s",
        name, api->error_string(result), log ? log : "");
    free(log);
    return status;
}

static ompjit_status take_cubin(program p, const char *name,
                                ompjit__buf *cubin, ompjit_error *err)
{
    size_t size = 0;
    int result = library.api.cubin_size(p, &size);
    char *data = result ? NULL : malloc(size + 1);
    if (data)
        result = library.api.cubin(p, data);
    if (data && !result)
        ompjit__buf_add(cubin, data, size);
    bool memory = (result || data) && !cubin->failed;
    free(data);
    if (!memory)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    return result ? failed(p, result, name, err) : OMPJIT_OK;
}

static ompjit_status compile(const char *source, const char *name,
                             const char *const *options, unsigned n,
                             ompjit__buf *cubin, ompjit_error *err)
{
    program p = NULL;
    int result = library.api.create(&p, source, name, 0, NULL, NULL);
    if (!result)
        result = library.api.compile(p, (int)n, options);
    ompjit_status status = result ? failed(p, result, name, err)
                                  : take_cubin(p, name, cubin, err);
    if (p)
        library.api.destroy(&p);
    return status;
}

ompjit_status ompjit__nvrtc_compile(const char *source, const char *name,
                                    const char *arch,
                                    const char *const *options, unsigned n,
                                    ompjit__buf *cubin, ompjit_error *err)
{
    const ompjit__arch *row;
    ompjit_status status = ompjit__arch_find(arch, &row, err);
    if (status)
        return status;
    if (!row->cuda)
        return ompjit__fail(err, OMPJIT_ERR_TARGET, OMPJIT_STAGE_FRONTEND,
                            "NVRTC does not compile for '%s'", arch);
    pthread_once(&library.once, load);
    if (library.status) {
        if (err)
            *err = library.why;
        return library.status;
    }
    if (row->cuda > library.version)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_FRONTEND,
                            "NVRTC %u.%u is too old for %s",
                            library.version / 10, library.version % 10, arch);
    char *target = ompjit__format("-arch=%s", arch);
    const char **all = malloc((n + 1) * sizeof *all);
    if (target && all) {
        all[0] = target;
        for (unsigned i = 0; i < n; i++)
            all[i + 1] = options[i];
        status = compile(source, name, all, n + 1, cubin, err);
    } else {
        status = ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    }
    free(all);
    free(target);
    return status;
}
