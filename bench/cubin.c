/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * cubin REPEATS [NVRTC]: saxpy from source to an sm_90 cubin in a process that
 * has done so before, against NVRTC on the same kernel in CUDA, turn by turn. A
 * number in it is another each time. The first compile of each side loads its
 * compiler.
 */
#include <dlfcn.h>
#include <string.h>

#include "bench/bench.h"
#include "ompjit_debug.h"

static const char openmp[] =
    "void saxpy(int n, float a, const float *x, float *y)\n"
    "{\n"
    "    #pragma omp target teams distribute parallel for \\\n"
    "        map(to : x[:n]) map(tofrom : y[:n])\n"
    "    for (int i = 0; i < n; i++)\n"
    "        y[i] = a * x[i] + %d.0f * y[i];\n"
    "}\n";

static const char cuda[] =
    "extern \"C\" __global__ void saxpy(int n, float a, const float *x,\n"
    "                                   float *y)\n"
    "{\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;\n"
    "         i += gridDim.x * blockDim.x)\n"
    "        y[i] = a * x[i] + %d.0f * y[i];\n"
    "}\n";

/* In a buffer of this function's. */
static const char *change(const char *source)
{
    static char text[1000];
    static int number = 2;
    snprintf(text, sizeof text, source, number++);
    return text;
}

static double compile_openmp(ompjit_context *ctx)
{
    ompjit_module *mod;
    void *data;
    size_t size;
    const char *source = change(openmp);
    double start = now();
    try(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    try(ompjit_module_emit(mod, OMPJIT_FORMAT_CUBIN, "sm_90", &data, &size,
                           &err));
    double took = now() - start;
    ompjit_bytes_free(data);
    ompjit_module_destroy(mod);
    return took;
}

/* NVRTC's functions that are used here; a program is an opaque pointer. */
static struct {
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*size)(void *, size_t *);
    int (*cubin)(void *, char *);
    int (*destroy)(void **);
} nvrtc;

static int open_nvrtc(const char *path)
{
    static const char *const names[] = {
        "nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize",
        "nvrtcGetCUBIN", "nvrtcDestroyProgram"};
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    for (int i = 0; i < 5; i++) {
        void *address = dlsym(library, names[i]);
        if (!address)
            return 0;
        memcpy((char *)&nvrtc + i * sizeof address, &address, sizeof address);
    }
    return 1;
}

static double compile_cuda(void)
{
    const char *options[] = {"-arch=sm_90"};
    void *program;
    size_t size = 0;
    const char *source = change(cuda);
    double start = now();
    int status = nvrtc.create(&program, source, "saxpy.cu", 0, NULL, NULL);
    if (!status)
        status = nvrtc.compile(program, 1, options);
    if (!status)
        status = nvrtc.size(program, &size);
    char *cubin = malloc(size + 1);
    if (!status)
        status = nvrtc.cubin(program, cubin);
    double took = now() - start;
    nvrtc.destroy(&program);
    free(cubin);
    if (status)
        fprintf(stderr, "NVRTC: status %d\n", status), exit(1);
    return took;
}

static void stages(const ompjit_times *before, const ompjit_times *after,
                   int repeats)
{
    for (int i = 0; i < OMPJIT_STAGE_COUNT; i++)
        if (after->stage[i].count > before->stage[i].count)
            sample("stages of a compile", ompjit_stage_name((ompjit_stage)i),
                   "ours",
                   (after->stage[i].ns - before->stage[i].ns) * 1e-6 / repeats,
                   "ms");
}

/* Between turns, so that no side has to share the processors with what the
 * other started (our front end's next processes). */
static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 11;
    int peer = argc > 2;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_times before = OMPJIT_TIMES_INIT, after = OMPJIT_TIMES_INIT;
    options.devices = "host";
    try(ompjit_context_create(&options, &ctx, &err));
    sample("source to cubin", "saxpy, first", "ours",
           compile_openmp(ctx) * 1e3, "ms");
    rest();
    double start = now();
    if (peer && !open_nvrtc(argv[2]))
        return 1;
    double loaded = now();
    if (peer)
        sample("source to cubin", "saxpy, first", "NVRTC",
               (loaded - start + compile_cuda()) * 1e3, "ms");
    ompjit_context_times(ctx, &before, NULL);
    for (int i = 0; i < repeats; i++) {
        rest();
        sample("source to cubin", "saxpy, again", "ours",
               compile_openmp(ctx) * 1e3, "ms");
        rest();
        if (peer)
            sample("source to cubin", "saxpy, again", "NVRTC",
                   compile_cuda() * 1e3, "ms");
    }
    ompjit_context_times(ctx, &after, NULL);
    stages(&before, &after, repeats);
    ompjit_context_destroy(ctx);
    return 0;
}
