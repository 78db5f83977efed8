/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PTX to cubin by NVIDIA's nvJitLink library, in this process. It needs neither
 * a GPU nor the driver. Loaded at first use, versions 12 and 13, or ahead of it
 * (nvjitlink_thread.c): loading takes as long as assembling a small kernel.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/nvptx/assemble.h"
#include "targets/cuda_files.h"

typedef void *handle; /* nvJitLinkHandle */
enum { INPUT_PTX = 2 };

/* The functions all return 0 for success. Sizes of logs count a final NUL. */
struct api {
    int (*create)(handle *h, uint32_t n, const char **options);
    int (*destroy)(handle *h);
    int (*add_data)(handle h, int type, const void *data, size_t size,
                    const char *name);
    int (*complete)(handle h);
    int (*cubin_size)(handle h, size_t *size);
    int (*cubin)(handle h, void *data);
    int (*error_log_size)(handle h, size_t *size);
    int (*error_log)(handle h, char *text);
    int (*info_log_size)(handle h, size_t *size);
    int (*info_log)(handle h, char *text);
    int (*version)(unsigned *major, unsigned *minor);
};

/*   member          name                 required */
#define SYMBOLS(X)                                                             \
    X(create,         "Create",             true)                              \
    X(destroy,        "Destroy",            true)                              \
    X(add_data,       "AddData",            true)                              \
    X(complete,       "Complete",           true)                              \
    X(cubin_size,     "GetLinkedCubinSize", true)                              \
    X(cubin,          "GetLinkedCubin",     true)                              \
    X(error_log_size, "GetErrorLogSize",    true)                              \
    X(error_log,      "GetErrorLog",        true)                              \
    X(info_log_size,  "GetInfoLogSize",     true)                              \
    X(info_log,       "GetInfoLog",         true)

/* A library has its symbols by plain names, or (as the headers spell them) with
 * the versions that it is compatible with. "Version" has the plain name only,
 * and the oldest libraries lack it. */
static const char *const suffixes[] = {
    "13_0", "12_9", "12_8", "12_7", "12_6", "12_5",
    "12_4", "12_3", "12_2", "12_1", "12_0",
};

#define VERSION_ROW {"nvJitLinkVersion", offsetof(struct api, version), false}

static const ompjit__symbol plain[] = {
#define PLAIN(member, name, required)                                          \
    {"nvJitLink" name, offsetof(struct api, member), required},
    SYMBOLS(PLAIN)
#undef PLAIN
    VERSION_ROW,
};

/* The same symbols by the names that one version gives them:
 * __nvJitLinkCreate_12_4. */
static ompjit_status load_suffixed(const char *const *path, const char *suffix,
                                   struct api *api)
{
    char names[OMPJIT__COUNT(plain)][48];
    ompjit__symbol symbols[OMPJIT__COUNT(plain)];
    memcpy(symbols, plain, sizeof symbols);
    for (size_t i = 0; i < OMPJIT__COUNT(plain) - 1; i++) {
        snprintf(names[i], sizeof names[i], "__%s_%s", plain[i].name, suffix);
        symbols[i].name = names[i];
    }
    return ompjit__load_library("nvJitLink", path, symbols,
                                OMPJIT__COUNT(symbols), api, NULL);
}

/* Loads the library at one path. The error is that of the plain names. */
static ompjit_status load_one(const char *path, struct api *api,
                              ompjit_error *err)
{
    const char *const paths[] = {path, NULL};
    ompjit_status status = ompjit__load_library(
        "nvJitLink", paths, plain, OMPJIT__COUNT(plain), api, err);
    for (size_t i = 0; status && i < OMPJIT__COUNT(suffixes); i++)
        status = load_suffixed(paths, suffixes[i], api);
    return status;
}

/* ------------------------------------------------------ once in a process */

static struct {
    pthread_once_t once;
    ompjit_status status;
    ompjit_error why;
    struct api api;
    unsigned version; /* in tenths: 129 is 12.9 */
} library = {.once = PTHREAD_ONCE_INIT};

/* Tries all paths until one loads. The causes of the others make the error. */
static void load(void)
{
    char **paths = ompjit__cuda_paths(OMPJIT__CUDA_NVJITLINK);
    ompjit__buf causes = {0};
    library.status = OMPJIT_ERR_UNAVAILABLE;
    for (char **p = paths; p && *p && library.status; p++) {
        ompjit_error why;
        library.status = load_one(*p, &library.api, &why);
        const char *cause = library.status ? strchr(why.text, '\n') : NULL;
        ompjit__buf_printf(&causes, "%s", cause ? cause : "");
    }
    ompjit__cuda_paths_free(paths);
    if (library.status)
        ompjit__fail(&library.why, library.status, OMPJIT_STAGE_ASSEMBLE,
                     "nvJitLink not found:%s",
                     causes.data ? causes.data : " nowhere to look");
    ompjit__buf_free(&causes);
    unsigned major = 12, minor = 0;
    if (!library.status && library.api.version)
        library.api.version(&major, &minor);
    library.version = major * 10 + minor;
}

void ompjit__nvjitlink_load(void)
{
    pthread_once(&library.once, load);
}

/* -------------------------------------------------------------- assembling */

/* Appends one of the two logs; nothing where the library has none. */
static void add_log(ompjit__buf *log, handle h,
                    int (*size_of)(handle, size_t *),
                    int (*get)(handle, char *))
{
    size_t size = 0;
    if (!h || size_of(h, &size) || !size)
        return;
    char *text = calloc(1, size + 1);
    if (text && !get(h, text))
        ompjit__buf_add(log, text, strlen(text));
    log->failed |= !text;
    free(text);
}

/* Copies the cubin, which is the handle's. */
static ompjit_status take_cubin(handle h, ompjit__assembly *a,
                                ompjit_error *err)
{
    const struct api *api = &library.api;
    size_t size = 0;
    if (api->cubin_size(h, &size) || !size)
        return ompjit__assembly_failed(a, "nvJitLink", err);
    void *data = malloc(size);
    if (!data)
        return ompjit__no_memory(err, OMPJIT_STAGE_ASSEMBLE);
    ompjit_status status = OMPJIT_OK;
    if (api->cubin(h, data))
        status = ompjit__assembly_failed(a, "nvJitLink", err);
    else
        ompjit__buf_add(&a->cubin, data, size);
    free(data);
    return status;
}

/* `h` is set as soon as there is one, for the caller to destroy. */
static ompjit_status link(handle *h, ompjit__assembly *a, ompjit_error *err)
{
    const struct api *api = &library.api;
    char arch[40];
    snprintf(arch, sizeof arch, "-arch=%s", a->arch->name);
    const char *options[] = {arch, "-verbose"};
    /* The data's size counts the final NUL. */
    int failed = api->create(h, OMPJIT__COUNT(options), options) ||
                 api->add_data(*h, INPUT_PTX, a->ptx->data, a->ptx->size + 1,
                               "kernels.ptx") ||
                 api->complete(*h);
    add_log(&a->log, *h, api->error_log_size, api->error_log);
    add_log(&a->log, *h, api->info_log_size, api->info_log);
    return failed ? ompjit__assembly_failed(a, "nvJitLink", err)
                  : take_cubin(*h, a, err);
}

ompjit_status ompjit__nvjitlink_here(ompjit__assembly *a, ompjit_error *err)
{
    ompjit__nvjitlink_load();
    if (library.status) {
        if (err)
            *err = library.why;
        return library.status;
    }
    /* Asked for an architecture that it does not know, 12 prints. */
    if (a->arch->cuda > library.version)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_ASSEMBLE,
                            "nvJitLink %u.%u is too old for %s, which needs "
                            "%u.%u",
                            library.version / 10, library.version % 10,
                            a->arch->name, a->arch->cuda / 10,
                            a->arch->cuda % 10);
    handle h = NULL;
    ompjit_status status = link(&h, a, err);
    if (h)
        library.api.destroy(&h);
    return status;
}

ompjit_status ompjit__nvjitlink(ompjit__assembly *a, ompjit_error *err)
{
    ompjit_status status;
    return ompjit__nvjitlink_there(a, &status, err)
               ? status
               : ompjit__nvjitlink_here(a, err);
}
