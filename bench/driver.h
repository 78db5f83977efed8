/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The bare CUDA driver, which the benchmarks of a GPU call beside the library,
 * and sources from files.
 */
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H

#include <dlfcn.h>
#include <string.h>

#include "bench/bench.h"

static struct {
    void *library;
    int (*launch)(void *f, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned, unsigned shared, void *stream, void **params,
                  void **extra);
    int (*retain)(void **context, int device);
    int (*release)(int device);
    int (*set_current)(void *context);
    int (*load)(void **module, const void *image);
    int (*function)(void **f, void *module, const char *name);
    int (*wait)(void *stream);
    int (*copy)(unsigned long long dst, unsigned long long src, size_t size,
                void *stream);
    int (*upload)(unsigned long long dst, const void *src, size_t size,
                  void *stream);
    int (*download)(void *dst, unsigned long long src, size_t size,
                    void *stream);
} cu;

static inline void open_driver(void)
{
    const struct {
        void *at;
        const char *name;
    } rows[] = {
        {&cu.launch, "cuLaunchKernel"},
        {&cu.retain, "cuDevicePrimaryCtxRetain"},
        {&cu.release, "cuDevicePrimaryCtxRelease_v2"},
        {&cu.set_current, "cuCtxSetCurrent"},
        {&cu.load, "cuModuleLoadData"},
        {&cu.function, "cuModuleGetFunction"},
        {&cu.wait, "cuStreamSynchronize"},
        {&cu.copy, "cuMemcpyDtoDAsync_v2"},
        {&cu.upload, "cuMemcpyHtoDAsync_v2"},
        {&cu.download, "cuMemcpyDtoHAsync_v2"},
    };
    cu.library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; cu.library && i < sizeof rows / sizeof *rows; i++) {
        void *f = dlsym(cu.library, rows[i].name);
        if (!f) {
            fprintf(stderr, "libcuda.so.1 has no %s\n", rows[i].name);
            exit(1);
        }
        memcpy(rows[i].at, &f, sizeof f);
    }
    if (cu.library && dlsym(cu.library, "ptxi_driver_calls"))
        fprintf(stderr, "an emulated driver: the times mean nothing\n");
}

static inline void must(int code, const char *what)
{
    if (!code)
        return;
    fprintf(stderr, "%s: CUDA error %d\n", what, code);
    exit(1);
}

static inline void stop(const char *what, const char *name)
{
    fprintf(stderr, "%s: %s\n", name, what);
    exit(1);
}

/* A file's bytes and a final NUL, the caller's to free; NULL: not there. */
static inline char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    if (file && !fseek(file, 0, SEEK_END)) {
        size_t size = (size_t)ftell(file);
        rewind(file);
        bytes = calloc(1, size + 1);
        if (!bytes || fread(bytes, 1, size, file) != size)
            stop("not read", path);
    }
    if (file)
        fclose(file);
    return bytes;
}

/* bench/NAME as a module. */
static inline ompjit_module *module_of(ompjit_context *ctx, const char *name)
{
    const char *folder = getenv("srcdir");
    char path[4096];
    ompjit_module *mod;
    snprintf(path, sizeof path, "%s/bench/%s", folder ? folder : ".", name);
    char *text = read_all(path);
    if (!text)
        stop("not there", path);
    try(ompjit_module_from_c(ctx, text, NULL, &mod, &err));
    free(text);
    return mod;
}

/* Seconds of one of n runs that are put into the queue and waited for. */
static inline double queued(ompjit_queue *queue, ompjit_bound *b, int n)
{
    double start = now();
    for (int i = 0; i < n; i++)
        try(ompjit_bound_start(b, queue, &err));
    try(ompjit_queue_wait(queue, &err));
    return (now() - start) / n;
}
#endif
