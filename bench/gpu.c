/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * gpu [ROUNDS [SCALE]]: what the library costs on a GPU beside the bare CUDA
 * driver, turn by turn: launches, a triad against a copy, long copies of
 * pageable memory, specialized kernels against generic ones; and constructs
 * with present data, whose peer is construct.c, and compiling. SCALE divides the
 * sizes and repeats, for an emulated driver. Times are of the host's clock.
 */
#include <string.h>

#include "bench/driver.h"
#include "ompjit_graph.h"

static const char source[] =
    "void empty(int *p)\n"
    "{\n"
    "    #pragma omp target teams distribute parallel for is_device_ptr(p)\n"
    "    for (int i = 0; i < 32; i++)\n"
    "        p[i] = i;\n"
    "}\n"
    "void triad(double *a, double *b, double *c, double s, long n)\n"
    "{\n"
    "    #pragma omp target teams distribute parallel for \\\n"
    "        is_device_ptr(a, b, c)\n"
    "    for (long i = 0; i < n; i++)\n"
    "        a[i] = b[i] + s * c[i];\n"
    "}\n"
    "void products(double *a, double *b, double *c, long n, int m)\n"
    "{\n"
    "    #pragma omp target teams distribute parallel for \\\n"
    "        is_device_ptr(a, b, c)\n"
    "    for (long q = 0; q < n; q++)\n"
    "        for (int i = 0; i < m; i++)\n"
    "            for (int k = 0; k < m; k++) {\n"
    "                double t = 0;\n"
    "                for (int l = 0; l < m; l++)\n"
    "                    t += a[(i * m + l) * n + q] * b[(l * m + k) * n + q];\n"
    "                c[(i * m + k) * n + q] = t;\n"
    "            }\n"
    "}\n";

static ompjit_context *ctx;
static ompjit_device *dev;
static ompjit_module *mod;
static ompjit_queue *queue;
static void *stream;
static int rounds = 7, scale = 1;

static ompjit_kernel *kernel(const char *name)
{
    ompjit_kernel *k;
    try(ompjit_module_kernel(mod, name, &k, &err));
    return k;
}

static ompjit_bound *bind(const char *name, ompjit_specialize how,
                          unsigned teams, unsigned threads,
                          const ompjit_arg *args, unsigned nargs)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_bound *b;
    launch.teams = teams;
    launch.threads = threads;
    launch.specialize.mode = how;
    try(ompjit_kernel_bind(kernel(name), dev, &launch, args, nargs, &b, &err));
    return b;
}

/* ---------------------------------------------------------------- launches */

/* The same kernel, loaded by the application itself. */
static void *bare_function(const char *name, const ompjit_device_info *info)
{
    ompjit_kernel_info k = OMPJIT_KERNEL_INFO_INIT;
    void *text, *module, *f;
    size_t size;
    ompjit_kernel_info_get(kernel(name), &k, NULL);
    try(ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, info->arch, &text, &size,
                           &err));
    must(cu.load(&module, text), "cuModuleLoadData");
    must(cu.function(&f, module, k.symbol), "cuModuleGetFunction");
    ompjit_bytes_free(text);
    return f;
}

static void launches(const ompjit_device_info *info)
{
    enum { REPEATS = 2000 };
    int n = REPEATS / scale;
    void *p, *environment = NULL;
    try(ompjit_device_alloc(dev, 32 * sizeof(int), &p, &err));
    ompjit_arg args[] = {ompjit_arg_pointer(NULL, p)};
    ompjit_bound *b = bind("empty", OMPJIT_SPECIALIZE_OFF, 1, 32, args, 1);
    void *f = bare_function("empty", info), *params[] = {&environment, &p};
    for (int r = 0; r < rounds; r++) {
        sample("launch", "in a queue", "ours", queued(queue, b, n) * 1e6, "us");
        double start = now();
        for (int i = 0; i < n; i++)
            must(cu.launch(f, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL),
                 "cuLaunchKernel");
        must(cu.wait(stream), "cuStreamSynchronize");
        sample("launch", "in a queue", "cuLaunchKernel",
               (now() - start) / n * 1e6, "us");
        start = now();
        for (int i = 0; i < n; i++)
            try(ompjit_bound_run(b, &err));
        sample("launch", "and wait", "ours", (now() - start) / n * 1e6, "us");
        start = now();
        for (int i = 0; i < n; i++) {
            must(cu.launch(f, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL),
                 "cuLaunchKernel");
            must(cu.wait(stream), "cuStreamSynchronize");
        }
        sample("launch", "and wait", "cuLaunchKernel",
               (now() - start) / n * 1e6, "us");
    }
    ompjit_bound_destroy(b);
    try(ompjit_device_free(dev, p, &err));
}

/* -------------------------------------------------------------- constructs */

typedef void arrays_fn(float *, float *);

static arrays_fn *function(ompjit_module *arrays, const char *name)
{
    void (*fn)(void);
    try(ompjit_module_function(arrays, name, &fn, &err));
    return (arrays_fn *)fn;
}

static void constructs(ompjit_module *arrays)
{
    enum { REPEATS = 1000 };
    static float x[256], y[256];
    int n = REPEATS / scale;
    arrays_fn *two = function(arrays, "two");
    function(arrays, "enter")(x, y);
    two(x, y);
    for (int r = 0; r < rounds; r++) {
        double start = now();
        for (int i = 0; i < n; i++)
            two(x, y);
        sample("construct", "two arrays, present", "ours",
               (now() - start) / n * 1e6, "us");
    }
    function(arrays, "leave")(x, y);
    try(ompjit_context_failure(ctx, &err));
    for (int r = 0; r < rounds; r++) {
        double start = now();
        for (int i = 0; i < n / 4 + 1; i++)
            two(x, y);
        sample("construct", "two arrays, 1 KB each, mapped", "ours",
               (now() - start) / (n / 4 + 1) * 1e6, "us");
    }
    try(ompjit_context_failure(ctx, &err));
}

/* --------------------------------------------------------------- bandwidth */

static void triad(void)
{
    enum { REPEATS = 20 };
    long n = (1 << 26) / scale / scale;
    size_t size = (size_t)n * sizeof(double);
    void *p[3];
    for (int i = 0; i < 3; i++)
        try(ompjit_device_alloc(dev, size, &p[i], &err));
    ompjit_arg args[] = {ompjit_arg_pointer("a", p[0]),
                         ompjit_arg_pointer("b", p[1]),
                         ompjit_arg_pointer("c", p[2]),
                         ompjit_arg_f64("s", 0.4),
                         ompjit_arg_i64("n", n)};
    int repeats = REPEATS / scale + 1;
    unsigned teams = (unsigned)((n + 127) / 128);
    ompjit_bound *b =
        bind("triad", OMPJIT_SPECIALIZE_NOW, teams, 128, args, 5);
    queued(queue, b, 1);
    for (int r = 0; r < rounds; r++) {
        double seconds = queued(queue, b, repeats);
        sample("bandwidth", "triad", "ours", 3.0 * size / seconds / 1e9,
               "GB/s");
        double start = now();
        for (int i = 0; i < repeats; i++)
            must(cu.copy((uintptr_t)p[0], (uintptr_t)p[1], size, stream),
                 "cuMemcpyDtoDAsync");
        must(cu.wait(stream), "cuStreamSynchronize");
        sample("bandwidth", "triad", "copy",
               2.0 * size * repeats / (now() - start) / 1e9, "GB/s");
    }
    ompjit_bound_destroy(b);
    for (int i = 0; i < 3; i++)
        try(ompjit_device_free(dev, p[i], &err));
}

/* Ours go through page-locked memory of the library's (OMPJIT_STAGING), the
 * driver's as it sees fit. */
static void pageable(void)
{
    size_t size = (64u << 20) / scale / scale;
    char *host = malloc(size);
    void *p;
    if (!host)
        stop("no memory", "pageable");
    memset(host, 1, size);
    try(ompjit_device_alloc(dev, size, &p, &err));
    for (int r = 0; r < rounds; r++) {
        double start = now();
        try(ompjit_queue_upload(queue, p, host, size, &err));
        try(ompjit_queue_wait(queue, &err));
        double end = now();
        must(cu.upload((uintptr_t)p, host, size, stream), "cuMemcpyHtoDAsync");
        must(cu.wait(stream), "cuStreamSynchronize");
        sample("bandwidth", "pageable memory to the device", "ours",
               size / (end - start) / 1e9, "GB/s");
        sample("bandwidth", "pageable memory to the device", "driver",
               size / (now() - end) / 1e9, "GB/s");
        start = now();
        try(ompjit_queue_download(queue, host, p, size, &err));
        try(ompjit_queue_wait(queue, &err));
        end = now();
        must(cu.download(host, (uintptr_t)p, size, stream),
             "cuMemcpyDtoHAsync");
        must(cu.wait(stream), "cuStreamSynchronize");
        sample("bandwidth", "the device to pageable memory", "ours",
               size / (end - start) / 1e9, "GB/s");
        sample("bandwidth", "the device to pageable memory", "driver",
               size / (now() - end) / 1e9, "GB/s");
    }
    try(ompjit_device_free(dev, p, &err));
    free(host);
}

/* ---------------------------------------------------------- specialization */

static void specialized(void)
{
    enum { M = 4, REPEATS = 20 };
    long n = (1 << 20) / scale / scale;
    size_t size = (size_t)n * M * M * sizeof(double);
    void *p[3];
    for (int i = 0; i < 3; i++)
        try(ompjit_device_alloc(dev, size, &p[i], &err));
    ompjit_arg args[] = {ompjit_arg_pointer("a", p[0]),
                         ompjit_arg_pointer("b", p[1]),
                         ompjit_arg_pointer("c", p[2]),
                         ompjit_arg_i64("n", n),
                         ompjit_arg_i32("m", M)};
    unsigned teams = (unsigned)((n + 127) / 128);
    double start = now();
    ompjit_bound *special =
        bind("products", OMPJIT_SPECIALIZE_NOW, teams, 128, args, 5);
    sample("compile", "a specialized kernel", "ours", (now() - start) * 1e3,
           "ms");
    ompjit_bound *generic =
        bind("products", OMPJIT_SPECIALIZE_OFF, teams, 128, args, 5);
    int repeats = REPEATS / scale + 1;
    queued(queue, special, 1);
    queued(queue, generic, 1);
    for (int r = 0; r < rounds; r++) {
        sample("products of 4 x 4", "specialized", "ours",
               queued(queue, special, repeats) * 1e3, "ms");
        sample("products of 4 x 4", "specialized", "generic",
               queued(queue, generic, repeats) * 1e3, "ms");
    }
    ompjit_bound_destroy(special);
    ompjit_bound_destroy(generic);
    for (int i = 0; i < 3; i++)
        try(ompjit_device_free(dev, p[i], &err));
}

int main(int argc, char **argv)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_device_info info = OMPJIT_DEVICE_INFO_INIT;
    void *primary;
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    scale = argc > 2 ? atoi(argv[2]) : scale;
    options.devices = getenv("OMPJIT_TEST_GPU");
    if (!options.devices)
        options.devices = "cuda";
    options.cache.mode = OMPJIT_CACHE_OFF;
    try(ompjit_context_create(&options, &ctx, &err));
    try(ompjit_context_device(ctx, 0, &dev, &err));
    try(ompjit_device_info_get(dev, &info, &err));
    try(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    ompjit_module *arrays = module_of(ctx, "two_arrays.c");
    if (info.kind == OMPJIT_DEVICE_HOST) /* only the source was wanted */
        return 0;
    open_driver();
    must(cu.retain(&primary, 0), "cuDevicePrimaryCtxRetain");
    must(cu.set_current(primary), "cuCtxSetCurrent");
    try(ompjit_queue_create(dev, &queue, &err));
    try(ompjit_queue_stream(queue, &stream, &err));
    launches(&info);
    constructs(arrays);
    triad();
    pageable();
    specialized();
    ompjit_queue_destroy(queue);
    ompjit_module_destroy(arrays);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    must(cu.release(0), "cuDevicePrimaryCtxRelease");
    return 0;
}
