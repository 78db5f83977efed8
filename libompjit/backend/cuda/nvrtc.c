/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CUDA C++ to PTX by NVRTC, loaded at first use, versions 12 and 13.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "targets/arch.h"
#include "targets/cuda_files.h"
#include "backend/cuda/nvrtc.h"

typedef void *program; /* nvrtcProgram */

/* The functions return 0 for success. The log's size counts a final NUL. */
struct api {
    int (*create)(program *p, const char *source, const char *name, int n,
                  const char *const *headers, const char *const *includes);
    int (*destroy)(program *p);
    int (*compile)(program p, int n, const char *const *options);
    int (*log_size)(program p, size_t *size);
    int (*log)(program p, char *text);
    int (*ptx_size)(program p, size_t *size);
    int (*ptx)(program p, char *data);
    const char *(*error_string)(int result);
    int (*version)(int *major, int *minor);
};

static const ompjit__symbol symbols[] = {
    {"nvrtcCreateProgram", offsetof(struct api, create), true},
    {"nvrtcDestroyProgram", offsetof(struct api, destroy), true},
    {"nvrtcCompileProgram", offsetof(struct api, compile), true},
    {"nvrtcGetProgramLogSize", offsetof(struct api, log_size), true},
    {"nvrtcGetProgramLog", offsetof(struct api, log), true},
    {"nvrtcGetPTXSize", offsetof(struct api, ptx_size), true},
    {"nvrtcGetPTX", offsetof(struct api, ptx), true},
    {"nvrtcGetErrorString", offsetof(struct api, error_string), true},
    {"nvrtcVersion", offsetof(struct api, version), true},
};

/* Loaded once in a process, when it is first needed. */
static struct {
    pthread_once_t once;
    ompjit_status status;
    ompjit_error why;
    struct api api;
    unsigned version; /* in tenths */
} library = {.once = PTHREAD_ONCE_INIT};

/* The error is kept for all who ask. */
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

/* The log that NVRTC wrote, the caller's to free; NULL: nothing, or no memory.
 * */
static char *log_of(program p)
{
    size_t size = 0;
    char *log = NULL;
    if (p && !library.api.log_size(p, &size) && size)
        log = calloc(1, size + 1);
    if (log)
        library.api.log(p, log);
    return log;
}

/* The error with NVRTC's own words; `log` may be NULL. */
static ompjit_status failed(ompjit__compiler *compiler, const char *name,
                            int result,
                            const char *log, ompjit_error *err)
{
    return ompjit__fail_reported(compiler, err, OMPJIT_ERR_SOURCE,
                               OMPJIT_STAGE_FRONTEND, "NVRTC, %s: %s\n%s", name,
                               library.api.error_string(result),
                               log ? log : "");
}

/* The size counts a final NUL. */
static ompjit_status take_ptx(ompjit__compiler *compiler, program p,
                              const char *name,
                              ompjit__buf *ptx, ompjit_error *err)
{
    size_t size = 0;
    int result = library.api.ptx_size(p, &size);
    char *data = result ? NULL : calloc(1, size + 1);
    if (data)
        result = library.api.ptx(p, data);
    if (data && !result)
        ompjit__buf_add(ptx, data, strlen(data));
    bool memory = (result || data) && !ptx->failed;
    free(data);
    if (!memory)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    return result ? failed(compiler, name, result, NULL, err) : OMPJIT_OK;
}

/* One try. If `external` is not NULL, and the source fails since it calls
 * functions that are defined elsewhere, that is said there and nowhere else. */
static ompjit_status compile(ompjit__compiler *compiler, const char *source,
                             const char *name, const char *const *options,
                             unsigned n, bool *external, ompjit__buf *ptx,
                             ompjit_error *err)
{
    program p = NULL;
    ompjit_status status = OMPJIT_ERR_SOURCE;
    int result = library.api.create(&p, source, name, 0, NULL, NULL);
    if (!result)
        result = library.api.compile(p, (int)n, options);
    char *log = result ? log_of(p) : NULL;
    if (!result)
        status = take_ptx(compiler, p, name, ptx, err);
    else if (external && log && strstr(log, "External calls are not supported"))
        *external = true;
    else
        status = failed(compiler, name, result, log, err);
    free(log);
    if (p)
        library.api.destroy(&p);
    return status;
}

ompjit_status ompjit__nvrtc_version(unsigned *version, ompjit_error *err)
{
    pthread_once(&library.once, load);
    if (library.status && err)
        *err = library.why;
    *version = library.version;
    return library.status;
}

/* NVRTC wants to be told that functions are defined elsewhere, and makes worse
 * code then: only a source that needs it is compiled so. */
static ompjit_status compile_somehow(ompjit__compiler *compiler,
                                     const char *source,
                                     const char *name, const char *target,
                                     const char *const *options, unsigned n,
                                     ompjit__buf *ptx, ompjit_error *err)
{
    bool external = false;
    const char **all = malloc((n + 2) * sizeof *all);
    if (!all)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    all[0] = target;
    for (unsigned i = 0; i < n; i++)
        all[i + 1] = options[i];
    all[n + 1] = "-rdc=true";
    ompjit_status status =
        compile(compiler, source, name, all, n + 1, &external, ptx, err);
    if (external)
        status = compile(compiler, source, name, all, n + 2, NULL, ptx, err);
    free(all);
    return status;
}

/* compute_NN, not sm_NN: the result is PTX, and no cubin. */
ompjit_status ompjit__nvrtc_compile(ompjit__compiler *compiler,
                                    const char *source,
                                    const char *name, const char *arch,
                                    const char *const *options, unsigned n,
                                    ompjit__buf *ptx, ompjit_error *err)
{
    const ompjit__arch *row;
    ompjit_status status = ompjit__arch_find(arch, &row, err);
    if (status)
        return status;
    if (!row->cuda)
        return ompjit__fail(err, OMPJIT_ERR_TARGET, OMPJIT_STAGE_FRONTEND,
                            "NVRTC does not compile for '%s'", arch);
    unsigned version;
    status = ompjit__nvrtc_version(&version, err);
    if (status)
        return status;
    if (row->cuda > version)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_FRONTEND,
                            "NVRTC %u.%u is too old for %s", version / 10,
                            version % 10, arch);
    char *target = ompjit__format("-arch=compute_%s", arch + strlen("sm_"));
    if (!target)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    status = compile_somehow(compiler, source, name, target, options, n, ptx,
                             err);
    free(target);
    return status;
}
