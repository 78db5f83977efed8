/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The list of devices and the CUDA device, on ptxi's emulated driver.
 */
#include "cuda_work.h"
#include "device/cuda/cuda.h"
#include "ptxi.h"

/* ----------------------------------------------------- scenarios: devices */

static void no_driver(void)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    unsigned n = 0;
    for (int i = 0; i < 2; i++) {
        ctx = context("cuda");
        ok(ompjit_context_device_count(ctx, &n, &err) ==
               OMPJIT_ERR_UNAVAILABLE,
           "\"cuda\" without a driver is not available");
        ok_contains(err.text, "libcuda.so.1", "the library is named");
        ok_contains(err.text, "file too short", "and the loader's cause");
        ompjit_context_destroy(ctx);
    }
    ctx = context("auto");
    ok(!ompjit_context_device_count(ctx, &n, &err) && n == 1,
       "\"auto\" finds the host");
    ok(!strcmp(ctx->devices[0]->ops->name, "host"), "it is the host");
    ok_contains(logged, "libcuda.so.1", "the log says why");
    ompjit_context_destroy(ctx);
}

static void no_gpu(void)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    unsigned n = 0;
    ctx = context("cuda:0");
    ok(ompjit_context_device_count(ctx, &n, &err) == OMPJIT_ERR_UNAVAILABLE,
       "\"cuda:0\" without a GPU is not available");
    ok_contains(err.text, "cuInit: CUDA_ERROR_NO_DEVICE", "by CUDA's name");
    ok_contains(err.text, "no CUDA-capable device is detected",
                "and CUDA's words");
    ompjit_context_destroy(ctx);
    ctx = context(NULL);
    ok(!ompjit_context_device_count(ctx, &n, &err) && n == 1 &&
           !strcmp(ctx->devices[0]->ops->name, "host"),
       "the default is the host");
    ok_contains(logged, "CUDA_ERROR_NO_DEVICE", "the log says why");
    ompjit_context_destroy(ctx);
}

/* With two devices or more. */
static void options(void)
{
    const unsigned all = (unsigned)gpus();
    const struct {
        const char *option;
        ompjit_status status;
        unsigned count, ordinal;
        const char *words;
    } rows[] = {
        {NULL, 0, all, 0, NULL},
        {"auto", 0, all, 0, NULL},
        {"cuda", 0, all, 0, NULL},
        {"cuda:0", 0, 1, 0, NULL},
        {"cuda:1", 0, 1, 1, NULL},
        {"host", 0, 1, 0, NULL},
        {"cuda:99", OMPJIT_ERR_NOT_FOUND, 0, 0,
         "no cuda:99: the CUDA driver"},
        {" cuda", OMPJIT_ERR_INVALID, 0, 0, "\" cuda\": not \"auto\""},
        {"gpu", OMPJIT_ERR_INVALID, 0, 0, "\"gpu\": not \"auto\", \"cuda\", \"cuda:N\""},
        {"cuda:", OMPJIT_ERR_INVALID, 0, 0, "\"cuda:N\""},
        {"cuda:-1", OMPJIT_ERR_INVALID, 0, 0, "\"cuda:-1\""},
        {"cuda:1x", OMPJIT_ERR_INVALID, 0, 0, "\"cuda:1x\""},
        {"cuda:99999999999999999999", OMPJIT_ERR_INVALID, 0, 0, "cuda:N"},
        {"cuda1", OMPJIT_ERR_INVALID, 0, 0, "\"cuda1\""},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit_context *ctx;
        ompjit_error err = {0};
        unsigned n = 0;
        const char *name = rows[i].option ? rows[i].option : "(null)";
        ctx = context(rows[i].option);
        ok(ompjit__devices_at_hand(ctx) == !strcmp(name, "host"),
           "devices %s: a driver is not started by the way", name);
        ok(ompjit_context_device_count(ctx, &n, &err) == rows[i].status,
           "devices %s: status", name);
        ok(n == rows[i].count, "devices %s: %u", name, rows[i].count);
        if (rows[i].words)
            ok_contains(err.text, rows[i].words, "devices %s: error", name);
        else
            ok(ctx->devices[0]->ordinal == rows[i].ordinal &&
                   ctx->devices[n - 1]->number == n - 1,
               "devices %s: numbered", name);
        ompjit_context_destroy(ctx);
    }
}

/* Two devices, of which the second fails at first. */
static void searched_again(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    ompjit_error err = {0};
    unsigned n = 0;
    ompjit_context *ctx = context(NULL);
    ptxi_driver_fail("cuDeviceGetName:2:999");
    ok(ompjit_context_device_count(ctx, &n, &err) == OMPJIT_ERR_DRIVER,
       "a GPU that does not open is an error");
    ok_contains(err.text, "reading the name on cuda:1: cuDeviceGetName",
                "it is named");
    ok(!ompjit_context_device_count(ctx, &n, &err) && n == 2,
       "the next search finds each once");
    ompjit_context_destroy(ctx);
}

static void arguments(void)
{
    ompjit_context *ctx;
    ompjit_device *dev = NULL;
    ompjit_device_info info = OMPJIT_DEVICE_INFO_INIT;
    ompjit_error err = {0};
    void *p = NULL;
    char c = 0;
    ctx = context("cuda:1");
    ok(ompjit_context_device(ctx, 1, &dev, &err) == OMPJIT_ERR_NOT_FOUND,
       "a number out of range is not found");
    ok_contains(err.text, "no device 1: the context has 1", "says how many");
    ok(!ompjit_context_device(ctx, 0, &dev, &err), "number 0 is there");

    const struct {
        ompjit_status status;
        const char *words;
    } rows[] = {
#define ROW(words, ...) {__VA_ARGS__, words}
        ROW("count: `ctx`", ompjit_context_device_count(NULL, NULL, NULL)),
        ROW("count: `count`", ompjit_context_device_count(ctx, NULL, &err)),
        ROW("device: `ctx`", ompjit_context_device(NULL, 0, &dev, &err)),
        ROW("device: `dev`", ompjit_context_device(ctx, 0, NULL, &err)),
        ROW("info: `dev`", ompjit_device_info_get(NULL, &info, &err)),
        ROW("info: `info`", ompjit_device_info_get(dev, NULL, &err)),
        ROW("alloc: `dev`", ompjit_device_alloc(NULL, 1, &p, &err)),
        ROW("alloc: `ptr`", ompjit_device_alloc(dev, 1, NULL, &err)),
        ROW("free: `dev`", ompjit_device_free(NULL, NULL, &err)),
        ROW("upload: `dev`", ompjit_device_upload(NULL, &c, &c, 1, &err)),
        ROW("upload: `dst`", ompjit_device_upload(dev, NULL, &c, 1, &err)),
        ROW("upload: `src`", ompjit_device_upload(dev, &c, NULL, 1, &err)),
        ROW("download: `dev`", ompjit_device_download(NULL, &c, &c, 1, &err)),
        ROW("download: `dst`", ompjit_device_download(dev, NULL, &c, 1, &err)),
        ROW("download: `src`", ompjit_device_download(dev, &c, NULL, 1, &err)),
#undef ROW
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        ok(rows[i].status == OMPJIT_ERR_INVALID, "%s NULL", rows[i].words);
    ok_string(err.text, "ompjit_device_download: `device_src` is NULL",
              "the argument is named");
    ok(!ompjit_device_free(dev, NULL, &err) &&
           !ompjit_device_upload(dev, NULL, NULL, 0, &err) &&
           !ompjit_device_download(dev, NULL, NULL, 0, &err),
       "nothing to free or copy is fine");
    ompjit_context_destroy(ctx);
}

/* PTXI_CC says what the GPU is; `arch` what is compiled for it. */
static void target_is(const char *arch, ompjit_assembler assembler,
                      ompjit_format format)
{
    ompjit_context *ctx;
    ompjit_device *dev;
    ompjit_device_info info = OMPJIT_DEVICE_INFO_INIT;
    char got[32];
    ompjit_format how;
    uint32_t ptx;
    ctx = context_with("auto", assembler);
    ok(!ompjit_context_device(ctx, 0, &dev, NULL), "there is a GPU");
    dev->ops->target(dev, got, &how, &ptx);
    ok(ptx == 90, "what the driver reads");
    ok_string(got, arch, "architecture");
    ok(how == format, "format");
    ok(!ompjit_device_info_get(dev, &info, NULL), "info");
    ok_string(info.arch, arch, "info's architecture");
    ok(info.kind == OMPJIT_DEVICE_CUDA && info.memory == 4ull << 30 &&
           info.multiprocessors == 132 && info.max_threads == 1024 &&
           info.max_shared == 48 << 10 && info.warp_size == 32 &&
           info.driver_version == 13000,
       "info's numbers");
    ok_contains(info.name, "ptxi", "info's name");
    DRIVER(long, ptxi_driver_live, const char *);
    ok(ptxi_driver_live("primary contexts") == 0, "no context was made");
    ompjit_context_destroy(ctx);
}

static void target_90(void)
{
    target_is("sm_90", OMPJIT_ASSEMBLER_AUTO, OMPJIT_FORMAT_CUBIN);
    target_is("sm_90", OMPJIT_ASSEMBLER_DRIVER, OMPJIT_FORMAT_PTX);
}
static void target_87(void)
{
    target_is("sm_86", OMPJIT_ASSEMBLER_AUTO, OMPJIT_FORMAT_CUBIN);
}
static void target_110(void)
{
    target_is("sm_100", OMPJIT_ASSEMBLER_AUTO, OMPJIT_FORMAT_PTX);
}

static void target_61(void)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    unsigned n = 0;
    ctx = context("cuda");
    ok(ompjit_context_device_count(ctx, &n, &err) == OMPJIT_ERR_TARGET,
       "an old GPU has no architecture");
    ok_contains(err.text, "has compute capability 6.1", "its own is named");
    ompjit_context_destroy(ctx);
    ctx = context("auto");
    ok(!ompjit_context_device_count(ctx, &n, &err) && n == 1 &&
           !strcmp(ctx->devices[0]->ops->name, "host"),
       "\"auto\" passes it over");
    ok_contains(logged, "compute capability 6.1", "the log says why");
    ompjit_context_destroy(ctx);
}

static void lacks(const char *words)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    unsigned n;
    ctx = context("cuda");
    ok(ompjit_context_device_count(ctx, &n, &err) == OMPJIT_ERR_UNAVAILABLE,
       "a driver that lacks a function is not available");
    ok_contains(err.text, words, "function and release are named");
    ompjit_context_destroy(ctx);
}

static void old_driver(void) { lacks("has no cuFuncSetAttribute of CUDA 9.0"); }
static void mute_driver(void) { lacks("has no cuGetErrorName of CUDA 6.0"); }

/* ------------------------------------------------------- scenarios: work */

static void all_operations(void)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__image image = image_of(NULL, ptx_kernels);
    ok(!work(dev, &image, &err), "everything works");
    ok(results_right(), "the results are right");
    image_drop(&image);
    ompjit_context_destroy(ctx);
}

static void results(void)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__image image = image_of(NULL, ptx_kernels);
    ok(!work(dev, &image, &err), "everything works");
    ok(results_right(), "the results are right");
    image_drop(&image);

    void *empty[2] = {0};
    ok(!ompjit_device_alloc(dev, 0, &empty[0], &err) &&
           !ompjit_device_alloc(dev, 0, &empty[1], &err) && empty[0] &&
           empty[0] != empty[1] && (uintptr_t)empty[0] % 128 == 0,
       "size 0 gives a unique, aligned pointer");
    ok(!ompjit_device_free(dev, empty[0], &err), "it can be freed");
    ok(ompjit_device_free(dev, empty[0], &err) == OMPJIT_ERR_INVALID,
       "but once");
    ok_contains(err.text, "on cuda:0: not the address of an allocation",
                "the error says so");
    ok(ompjit_device_alloc(dev, 1ull << 40, &empty[0], &err) ==
           OMPJIT_ERR_NO_MEMORY,
       "too much is out of memory");
    ok_contains(err.text,
                "allocating 1099511627776 bytes on cuda:0: cuMemAlloc: "
                "CUDA_ERROR_OUT_OF_MEMORY (2, out of memory)",
                "size, device, function and CUDA's words");
    ok(ompjit_device_upload(dev, x, y, 4, &err) == OMPJIT_ERR_DRIVER,
       "copying to what is no device memory fails");
    ok_contains(err.text, "copying 4 bytes from the host's 0x", "it is said");
    ompjit_context_destroy(ctx); /* frees empty[1] */
}

static void images(void)
{
    static const struct {
        const char *name, *cubin, *ptx, *words[3];
        ompjit_status status;
    } rows[] = {
        {"cubin with PTX", cubin_magic, ptx_kernels, {0}, OMPJIT_OK},
        {"cubin alone", cubin_magic, NULL,
         {"loading an image for sm_75 on cuda:0 (ptxi",
          "cubin: cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU",
          "the image is a cubin (ELF)"}, OMPJIT_ERR_DRIVER},
        {"cubin with bad PTX", cubin_magic, ptx_broken,
         {"CUDA_ERROR_NO_BINARY_FOR_GPU",
          "; PTX: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX", "ptxi: error:"},
         OMPJIT_ERR_DRIVER},
        {"bad PTX", NULL, ptx_broken,
         {": PTX: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX",
          "NOWHERE", ""}, OMPJIT_ERR_DRIVER},
    };
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev = open_gpu(&ctx);
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__image image = image_of(rows[i].cubin, rows[i].ptx);
        logged[0] = 0;
        ok(work(dev, &image, &err) == rows[i].status, "%s", rows[i].name);
        for (int k = 0; k < 3 && rows[i].words[0]; k++)
            ok_contains(err.text, rows[i].words[k], "%s: error", rows[i].name);
        if (!rows[i].status) {
            ok(results_right(), "%s: results", rows[i].name);
            ok_contains(logged, "was given PTX for a cubin", "logged");
        }
        image_drop(&image);
    }
    ompjit__image object = {.kind = OMPJIT__IMAGE_OBJECT};
    ok(work(dev, &object, &err) == OMPJIT_ERR_INVALID, "a host object");
    ompjit_context_destroy(ctx);
}

/* As a driver's compiler that has as many words as there is room. */
static cu_result wordy_load(cu_module *module, const void *image,
                            unsigned count, unsigned *options, void **values)
{
    size_t size = (size_t)values[1];
    char *log = values[0];
    memset(log, 'w', size);
    log[size - 1] = 0;
    return OMPJIT__CUDA_INVALID_PTX;
}

static size_t longest; /* message of the log */
static void take_length(void *data, const char *message)
{
    size_t n = strlen(message);
    longest = n > longest ? n : longest;
}

static void many_words(void)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__gpu *gpu = dev->state;
    const ompjit__cuda *own = gpu->cu;
    ompjit__cuda wordy = *own;
    ompjit__image image = image_of(NULL, ptx_kernels);
    wordy.cuModuleLoadDataEx = wordy_load;
    gpu->cu = &wordy;
    ctx->log = take_length;
    ok(work(dev, &image, &err) == OMPJIT_ERR_DRIVER, "the driver says much");
    ok_contains(err.text, "CUDA_ERROR_INVALID_PTX (218, a PTX JIT compilation "
                "failed): www", "the error has the beginning");
    ok_contains(err.text, "www\n... (cut; the context's log has all 65",
                "and says where the rest is");
    ok(longest > 65000, "in the log: %zu bytes", longest);
    gpu->cu = own;
    image_drop(&image);
    ompjit_context_destroy(ctx);
}

static void lookups(void)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__image image = image_of(NULL, ptx_kernels);
    ompjit__loaded *loaded;
    ompjit__function *f, *same;
    void *address;
    size_t size;
    uint32_t value = 0;
    ok(!dev->ops->load(dev, &image, NULL, &loaded, &err), "the image loads");
    image_drop(&image);
    ok(!dev->ops->symbol(dev, loaded, "answer", &address, &size, &err) &&
           size == sizeof value &&
           !ompjit_device_download(dev, &value, address, size, &err) &&
           value == 42,
       "a variable has its value");
    ok(dev->ops->symbol(dev, loaded, "question", &address, &size, &err) ==
           OMPJIT_ERR_NOT_FOUND,
       "a variable that is not there");
    ok_contains(err.text, "looking up variable question on cuda:0", "named");
    ok(dev->ops->function(dev, loaded, "nothing", &f, &err) ==
           OMPJIT_ERR_NOT_FOUND,
       "a kernel that is not there");
    ok_contains(err.text, "looking up kernel nothing on cuda:0", "named");
    ok(!dev->ops->function(dev, loaded, "saxpy", &f, &err) &&
           !dev->ops->function(dev, loaded, "shared", &same, &err) &&
           f != same &&
           !dev->ops->function(dev, loaded, "saxpy", &same, &err) && f == same,
       "a kernel is looked up once");
    ompjit_context_destroy(ctx); /* unloads */
}

/* Streams, functions and the context are made once and used again. */
static void reuse(void)
{
    DRIVER(int, ptxi_driver_calls, const char *);
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__image image = image_of(NULL, ptx_kernels);
    struct run run = {0};
    ok(!dev->ops->load(dev, &image, NULL, &run.loaded, &err) &&
           !ompjit_device_alloc(dev, sizeof z, &run.dz, &err),
       "the image loads");
    image_drop(&image);
    for (int i = 0; i < 5; i++)
        ok(!launch_shared(dev, &run, &err), "launch %d", i);
    static const char *const once[] = {
        "cuStreamCreate", "cuModuleGetFunction", "cuFuncSetAttribute",
        "cuDevicePrimaryCtxRetain", "cuInit"};
    for (size_t i = 0; i < OMPJIT__COUNT(once); i++)
        ok(ptxi_driver_calls(once[i]) == 1, "one %s", once[i]);
    ompjit_context_destroy(ctx);
}

/* Work that nobody waited for is done before what it uses is gone. */
static void unfinished(void)
{
    DRIVER(int, ptxi_driver_calls, const char *);
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__queue *queue;
    void *p;
    x[0] = 7;
    z[0] = 0;
    ok(!dev->ops->queues->create(dev, &queue, &err) &&
           !ompjit_device_alloc(dev, sizeof x, &p, &err) &&
           !dev->ops->copy(dev, OMPJIT__COPY_TO, p, x, sizeof x, queue, &err) &&
           !dev->ops->copy(dev, OMPJIT__COPY_FROM, z, p, sizeof z, queue, &err),
       "copies begin");
    ok(ptxi_driver_calls("cuStreamSynchronize") == 0, "nobody waits");
    ompjit_context_destroy(ctx);
    ok(ptxi_driver_calls("cuStreamSynchronize") == 1, "but the end");
    ok(z[0] == 7, "they are done");
}

static void native(void)
{
    DRIVER(cu_result, cuStreamGetFlags, cu_stream, unsigned *);
    DRIVER(cu_result, cuDevicePrimaryCtxRetain, cu_context *, cu_device);
    DRIVER(cu_result, cuDevicePrimaryCtxRelease_v2, cu_device);
    ompjit_device *dev;
    ompjit_error err = {0};
    ompjit__queue *queue;
    ompjit__native got = {0};
    cu_context primary = NULL;
    unsigned flags = 0;
    ompjit_context *ctx = context("cuda:1");
    ok(!ompjit_context_device(ctx, 0, &dev, &err) &&
           !dev->ops->queues->create(dev, &queue, &err) &&
           !dev->ops->native->describe(dev, queue, &got, &err),
       "a queue and what it is to others");
    ok(got.runtime == 2 && got.vendor == 11 && (intptr_t)got.device == 1,
       "CUDA's driver, NVIDIA, the second device");
    ok(!cuDevicePrimaryCtxRetain(&primary, 1) && got.context == primary,
       "the primary context");
    ok(!cuStreamGetFlags(got.stream, &flags) &&
           flags == OMPJIT__CU_STREAM_NON_BLOCKING,
       "a stream that does not wait for the default stream");
    ok(!dev->ops->native->describe(dev, NULL, &got, &err) && !got.stream,
       "no queue, no stream");
    cuDevicePrimaryCtxRelease_v2(1);
    ompjit_context_destroy(ctx);
}

static void geometry(void)
{
    static const struct {
        const char *kernel;
        ompjit__geometry g;
        const char *words;
    } rows[] = {
        {"bounded", {{1, 1, 1}, {64, 1, 1}, 0, 0, 0}, NULL},
        {"bounded", {{1, 1, 1}, {8, 8, 1}, 0, 0, 0}, NULL},
        {"bounded", {{1, 1, 1}, {65, 1, 1}, 0, 0, 0}, "at most 64 can run"},
        {"bounded", {{1, 1, 1}, {8, 8, 2}, 0, 0, 0}, "128 threads in a team"},
        {"fails", {{1, 1, 1}, {1025, 1, 1}, 0, 0, 0},
         "fails on cuda:0: 1025 threads in dimension x, where 1 to 1024"},
        {"fails", {{1, 1, 1}, {1, 1, 65}, 0, 0, 0},
         "dimension z, where 1 to 64"},
        {"fails", {{1, 1, 1}, {1024, 1024, 64}, 0, 0, 0}, "67108864 threads"},
        {"fails", {{1, 65536, 1}, {1, 1, 1}, 0, 0, 0},
         "65536 teams in dimension y"},
        {"fails", {{1u << 31, 1, 1}, {1, 1, 1}, 0, 0, 0}, "2147483648 teams"},
        {"fails", {{0, 1, 1}, {1, 1, 1}, 0, 0, 0}, "0 teams in dimension x"},
        {"fails", {{1, 1, 1}, {1, 0, 1}, 0, 0, 0}, "0 threads in dimension y"},
        {"fails", {{1, 1, 1}, {1, 1, 1}, 232449, 0, 0}, "232449 dynamic bytes"},
        {"fails", {{1, 1, 1}, {1, 1, 1}, UINT32_MAX, 0, 0},
         "a team can have 232448"},
    };
    ompjit_context *ctx;
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__image image = image_of(NULL, ptx_kernels);
    ompjit__loaded *loaded;
    ok(!dev->ops->load(dev, &image, NULL, &loaded, NULL), "the image loads");
    image_drop(&image);
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__function *f;
        ompjit_error err = {0};
        ok(!dev->ops->function(dev, loaded, rows[i].kernel, &f, &err),
           "kernel %s", rows[i].kernel);
        ok(dev->ops->launch(dev, f, &rows[i].g, NULL, 0, NULL, &err) ==
               (rows[i].words ? OMPJIT_ERR_GEOMETRY : OMPJIT_OK),
           "geometry %zu", i);
        if (rows[i].words)
            ok_contains(err.text, rows[i].words, "geometry %zu: error", i);
    }
    ompjit_context_destroy(ctx);
}

/* `queued`: the failure is seen in queue_wait. */
static void kernel_fails(bool queued)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__image image = image_of(NULL, ptx_kernels);
    ompjit__loaded *loaded = NULL;
    ompjit__function *f = NULL;
    ompjit__queue *queue = NULL;
    void *p;
    ok(!dev->ops->load(dev, &image, NULL, &loaded, &err) &&
           !dev->ops->function(dev, loaded, "fails", &f, &err) &&
           (!queued || !dev->ops->queues->create(dev, &queue, &err)),
       "the image loads");
    image_drop(&image);
    ompjit_status status =
        dev->ops->launch(dev, f, &one_team, NULL, 0, queue, &err);
    if (queued && !status)
        status = dev->ops->queues->wait(dev, queue, &err);
    ok(status == OMPJIT_ERR_DEVICE, "a kernel that traps is a device error");
    ok(strstr(err.text, "kernel is fails") ||
           strstr(err.text, "running kernel fails"),
       "the kernel is named: %s", err.text);
    ok_contains(err.text, "CUDA_ERROR_", "and CUDA's code");
    ok_contains(err.text, "the context of cuda:0 is lost", "and what it means");
    ok(ompjit_device_alloc(dev, 4, &p, &err) == OMPJIT_ERR_DEVICE,
       "nothing works after that");
    ok_contains(err.text, "the context of cuda:0 was lost when ",
                "the error says since when");
    ompjit_context_destroy(ctx);
}

static void trap(void) { kernel_fails(false); }
static void trap_queued(void) { kernel_fails(true); }

/* --------------------------------------------- scenarios: the surroundings */

/* The caller's context is that of the second device; the work is done on the
 * first. */
static void current_context(void)
{
    DRIVER(cu_result, cuInit, unsigned);
    DRIVER(cu_result, cuDevicePrimaryCtxRetain, cu_context *, cu_device);
    DRIVER(cu_result, cuDevicePrimaryCtxRelease_v2, cu_device);
    DRIVER(cu_result, cuCtxSetCurrent, cu_context);
    DRIVER(cu_result, cuCtxGetCurrent, cu_context *);
    ompjit_context *ctx;
    ompjit_error err = {0};
    cu_context mine = NULL, now = NULL;
    ok(!cuInit(0) && !cuDevicePrimaryCtxRetain(&mine, 1) &&
           !cuCtxSetCurrent(mine),
       "the caller has a context");
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__image image = image_of(NULL, ptx_kernels);
    ompjit__image broken = image_of(NULL, ptx_broken);
    ok(!work(dev, &image, &err), "everything works");
    ok(!cuCtxGetCurrent(&now) && now == mine, "the context is still current");
    ok(work(dev, &broken, &err) == OMPJIT_ERR_DRIVER, "a failure");
    ok(!cuCtxGetCurrent(&now) && now == mine, "the context is still current");
    ompjit_context_destroy(ctx);
    ok(!cuCtxGetCurrent(&now) && now == mine, "the context is still current");
    image_drop(&image);
    image_drop(&broken);
    ok(!cuCtxSetCurrent(NULL) && !cuDevicePrimaryCtxRelease_v2(1),
       "the caller ends");
}

enum { THREADS = 4, ROUNDS = 20, SIZE = 4096 };
struct worker {
    pthread_t thread;
    ompjit_device *dev;
    ompjit__loaded *loaded;
    int wrong;
};

static void *worker(void *arg)
{
    struct worker *w = arg;
    ompjit_device *dev = w->dev;
    static const float zero[TEAM];
    for (int i = 0; i < ROUNDS; i++) {
        ompjit__function *f;
        void *p = NULL, *q = NULL;
        float in[TEAM], out[TEAM];
        float a = (float)(i + 1);
        uint32_t n = TEAM;
        for (int k = 0; k < TEAM; k++)
            in[k] = (float)(k * 3 + i);
        void *args[] = {&a, &p, &q, &n};
        if (ompjit_device_alloc(dev, sizeof in, &p, NULL) ||
            ompjit_device_alloc(dev, sizeof in, &q, NULL) ||
            ompjit_device_upload(dev, p, in, sizeof in, NULL) ||
            ompjit_device_upload(dev, q, zero, sizeof zero, NULL) ||
            dev->ops->function(dev, w->loaded, "saxpy", &f, NULL) ||
            dev->ops->launch(dev, f, &one_team, args, 4, NULL, NULL) ||
            ompjit_device_download(dev, out, q, sizeof out, NULL) ||
            ompjit_device_free(dev, p, NULL) ||
            ompjit_device_free(dev, q, NULL))
            w->wrong++;
        for (int k = 0; k < TEAM && !w->wrong; k++)
            w->wrong += out[k] != a * in[k];
    }
    return NULL;
}

static void threads(void)
{
    ompjit_context *ctx;
    struct worker workers[THREADS] = {0};
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__image image = image_of(NULL, ptx_kernels);
    ompjit__loaded *loaded = NULL;
    ok(!dev->ops->load(dev, &image, NULL, &loaded, NULL), "the image loads");
    image_drop(&image);
    for (int i = 0; i < THREADS; i++) {
        workers[i].dev = dev;
        workers[i].loaded = loaded;
        pthread_create(&workers[i].thread, NULL, worker, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        ok(!workers[i].wrong, "thread %d got its own results", i);
    }
    ompjit_context_destroy(ctx);
}

static void forked(void)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev = open_gpu(&ctx);
    void *p, *q;
    ok(!ompjit_device_alloc(dev, 4, &p, &err), "the parent uses the GPU");
    pid_t pid = fork();
    if (!pid) {
        bool right = ompjit_device_alloc(dev, 4, &q, &err) ==
                         OMPJIT_ERR_DRIVER &&
                     strstr(err.text, "forked from it");
        ompjit_context_destroy(ctx);
        _exit(right && !logged[0] ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    ok(status == 0, "the child is told, and closes without the driver");
    ok(!ompjit_device_free(dev, p, &err), "the parent goes on");
    ompjit_context_destroy(ctx);
}

static void made_one_context(void)
{
    DRIVER(long, ptxi_driver_live, const char *);
    ok(ptxi_driver_live("primary contexts") == 1, "makes no other context");
}

static void copied_by_driver(void)
{
    DRIVER(int, ptxi_driver_calls, const char *);
    ok(ptxi_driver_calls("cuMemcpyPeerAsync"), "by the driver");
    ok(ptxi_driver_calls("cuCtxEnablePeerAccess") == 1 &&
           ptxi_driver_calls("cuMemPoolSetAccess") == 1,
       "straight");
}

/* x by way of the second GPU's memory to the first's, and back. */
static bool goes_by_peer(ompjit_device *const devs[2])
{
    ompjit_error err = {0};
    void *from = NULL, *to = NULL;
    memset(y, 0, sizeof y);
    bool right =
        !ompjit_device_alloc(devs[1], sizeof x, &from, &err) &&
        !ompjit_device_upload(devs[1], from, x, sizeof x, &err) &&
        !ompjit_device_alloc(devs[0], sizeof x, &to, &err) &&
        !devs[0]->ops->copy_peer(devs[0], to, devs[1], from, sizeof x, &err) &&
        !ompjit_device_download(devs[0], y, to, sizeof x, &err) &&
        !memcmp(x, y, sizeof x);
    return !ompjit_device_free(devs[1], from, &err) &&
           !ompjit_device_free(devs[0], to, &err) && right;
}

/* From one GPU to another, each of which has the image for itself. */
static void two_gpus(void)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *devs[2] = {open_gpu(&ctx)};
    ompjit__image image = image_of(NULL, ptx_kernels);
    ok(!ompjit_context_device(ctx, 1, &devs[1], &err), "two GPUs");
    ok(!work(devs[1], &image, &err) && results_right(), "work on the second");
    if (emulated())
        made_one_context();
    ok(goes_by_peer(devs), "a copy from one to the other");
    if (emulated())
        copied_by_driver();
    ok(!work(devs[0], &image, &err) && results_right(), "work on the first");
    image_drop(&image);
    ompjit_context_destroy(ctx);
}

static void fill_x(void)
{
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
}

/* Copies need nothing of what makes them faster, and ask for it once. */
static void slow_peers(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    static const char *const functions[] = {
        "cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess", "cuMemPoolSetAccess"};
    fill_x();
    for (size_t i = 0; i < OMPJIT__COUNT(functions); i++) {
        ompjit_context *ctx;
        char spec[64];
        ompjit_device *devs[2] = {open_gpu(&ctx)};
        ompjit_context_device(ctx, 1, &devs[1], NULL);
        snprintf(spec, sizeof spec, "%s:1:999", functions[i]);
        ptxi_driver_fail(spec);
        ok(goes_by_peer(devs), "%s fails: the copy does not", functions[i]);
        ok_contains(logged, functions[i], "and the log knows");
        ok(goes_by_peer(devs) && ptxi_driver_calls(functions[i]) == 1,
           "it is not tried again");
        ompjit_context_destroy(ctx);
    }
}

/* The application has made them so itself. */
static void peers_before(void)
{
    DRIVER(cu_result, cuInit, unsigned);
    DRIVER(cu_result, cuDevicePrimaryCtxRetain, cu_context *, cu_device);
    DRIVER(cu_result, cuDevicePrimaryCtxRelease_v2, cu_device);
    DRIVER(cu_result, cuCtxSetCurrent, cu_context);
    DRIVER(cu_result, cuCtxEnablePeerAccess, cu_context, unsigned);
    ompjit_context *ctx;
    cu_context own[2];
    fill_x();
    ok(!cuInit(0) && !cuDevicePrimaryCtxRetain(&own[0], 0) &&
           !cuDevicePrimaryCtxRetain(&own[1], 1) && !cuCtxSetCurrent(own[0]) &&
           !cuCtxEnablePeerAccess(own[1], 0) && !cuCtxSetCurrent(NULL),
       "the application lets GPUs read each other's memory");
    ompjit_device *devs[2] = {open_gpu(&ctx)};
    ompjit_context_device(ctx, 1, &devs[1], NULL);
    ok(goes_by_peer(devs) && !logged[0], "a copy, of which nothing is said: %s",
       logged);
    ompjit_context_destroy(ctx);
    ok(!cuDevicePrimaryCtxRelease_v2(0) && !cuDevicePrimaryCtxRelease_v2(1),
       "the contexts are the application's still");
}

/* Memory that the pool keeps is given back where it is missing. */
static void trimmed(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__image image = image_of(NULL, ptx_kernels);
    void *p;
    ok(!work(dev, &image, &err), "the pool was used");
    image_drop(&image);
    ptxi_driver_fail("cuMemAlloc_v2:1:2");
    ok(!ompjit_device_alloc(dev, 100, &p, &err), "memory is found");
    ok(ptxi_driver_calls("cuMemPoolTrimTo") == 1, "in the pool");
    ompjit_context_destroy(ctx);
}

static void no_pools(void)
{
    DRIVER(int, ptxi_driver_calls, const char *);
    results();
    ok(!ptxi_driver_calls("cuMemAllocFromPoolAsync"), "without a pool");
}

static void limits(void)
{
    DRIVER(cu_result, cuDevicePrimaryCtxRetain, cu_context *, cu_device);
    DRIVER(cu_result, cuDevicePrimaryCtxRelease_v2, cu_device);
    DRIVER(cu_result, cuCtxSetCurrent, cu_context);
    DRIVER(cu_result, cuCtxGetLimit, size_t *, unsigned);
    ompjit_context *ctx;
    cu_context primary;
    size_t heap = 0, stack = 0;
    setenv("OMPJIT_DEVICE_STACK", "20K", 1);
    ompjit_device *dev = open_gpu(&ctx);
    void *p;
    ok(!ompjit_device_alloc(dev, 1, &p, NULL) &&
           !cuDevicePrimaryCtxRetain(&primary, 0) &&
           !cuCtxSetCurrent(primary) &&
           !cuCtxGetLimit(&heap, OMPJIT__CU_LIMIT_MALLOC_HEAP_SIZE) &&
           !cuCtxGetLimit(&stack, OMPJIT__CU_LIMIT_STACK_SIZE),
       "the GPU's limits");
    ok(heap >= HEAP && heap < 2 * HEAP, "the heap is that of the option");
    ok(stack >= 20480 && stack < 24576,
       "the stack is that of the environment");
    ok(!cuCtxSetCurrent(NULL) && !cuDevicePrimaryCtxRelease_v2(0), "the end");
    ompjit_context_destroy(ctx);
}

/* Is the driver in this process? */
static bool driver_loaded(void)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return handle && !dlclose(handle);
}

/* Nothing of CUDA is touched before a device is asked for; and the device is
 * found without a context. */
static void untouched(void)
{
    static const char source[] =
        "void f(int *p) {\n#pragma omp target map(tofrom: p[:1])\n"
        "  p[0]++; }\n";
    ompjit_error err = {0};
    ompjit_module *mod;
    void *ptx;
    size_t size;
    unsigned n;
    ompjit_context *ctx = context("auto");
    ok(!ompjit_module_from_c(ctx, source, NULL, &mod, &err) &&
           !ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, "sm_90", &ptx, &size,
                               &err),
       "source becomes PTX");
    ok(!driver_loaded(), "without the driver");
    ok(!ompjit_context_device_count(ctx, &n, &err) && n == 1 && driver_loaded(),
       "which is loaded to count the GPUs");
    DRIVER(long, ptxi_driver_live, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    ok(ptxi_driver_calls("cuInit") == 1 &&
           !ptxi_driver_calls("cuDevicePrimaryCtxRetain") &&
           !ptxi_driver_live("primary contexts"),
       "and makes no context");
    ompjit_bytes_free(ptx);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

/* ----------------------------------------------------------- the scenarios */

static const struct scenario scenarios[] = {
    {"no driver", no_driver, {0}, NULL, EMPTY},
    {"no GPU", no_gpu, {"PTXI_DEVICES=0"}, NULL, EMULATED},
    {"options", options, {"PTXI_DEVICES=2"}, CLEAN, TWO_GPUS},
    {"searched again", searched_again, {"PTXI_DEVICES=2"}, CLEAN, EMULATED},
    {"arguments", arguments, {"PTXI_DEVICES=2"}, CLEAN, TWO_GPUS},
    {"sm_90", target_90, {0}, CLEAN, EMULATED},
    {"sm_87", target_87, {"PTXI_CC=8.7"}, CLEAN, EMULATED},
    {"sm_110", target_110, {"PTXI_CC=11.0"}, CLEAN, EMULATED},
    {"sm_61", target_61, {"PTXI_CC=6.1"}, CLEAN, EMULATED},
    {"old driver", old_driver, {"PTXI_HIDE=cuFuncSetAttribute"}, NULL,
     EMULATED},
    {"mute driver", mute_driver, {"PTXI_FAIL=cuGetProcAddress_v2:1:999"}, NULL,
     EMULATED},
    {"results, sync", results, {"PTXI_STREAM=sync"}, CLEAN, EMULATED},
    {"results, async", results, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"results, lazy", results, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"operations", all_operations, {0}, CLEAN, ANY_GPU},
    {"results by dlsym", results, {0}, CLEAN, BY_DLSYM},
    {"images", images, {0}, CLEAN, EMULATED},
    {"many words", many_words, {0}, CLEAN, EMULATED},
    {"lookups", lookups, {0}, CLEAN, ANY_GPU},
    {"reuse", reuse, {0}, CLEAN, EMULATED},
    {"unfinished", unfinished, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"native", native, {"PTXI_DEVICES=2"}, CLEAN, TWO_GPUS},
    {"geometry", geometry, {0}, CLEAN, EMULATED},
    {"trap, sync", trap, {"PTXI_STREAM=sync"}, NULL, ANY_GPU},
    {"trap, async", trap, {"PTXI_STREAM=async"}, NULL, EMULATED},
    {"trap in a queue", trap_queued, {"PTXI_STREAM=lazy"}, NULL,
     ANY_GPU},
    {"current context", current_context, {"PTXI_DEVICES=2"}, CLEAN, TWO_GPUS},
    {"threads", threads, {"PTXI_STREAM=async"}, CLEAN, ANY_GPU},
    {"threads, lazy", threads, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"two GPUs", two_gpus, {"PTXI_DEVICES=2"}, CLEAN, TWO_GPUS},
    {"slow peers", slow_peers, {"PTXI_DEVICES=2"}, CLEAN, EMULATED},
    {"peers before", peers_before, {"PTXI_DEVICES=2"}, CLEAN, EMULATED},
    {"trimmed pool", trimmed, {0}, CLEAN, EMULATED},
    {"no pools", no_pools, {"PTXI_HIDE=cuMemPoolCreate"}, CLEAN, EMULATED},
    {"a driver that knows no pools", no_pools,
     {"PTXI_FAIL=cuDeviceGetAttribute:15:1"}, CLEAN, EMULATED},
    {"no cuMemPoolDestroy", no_pools, {"PTXI_HIDE=cuMemPoolDestroy"}, CLEAN,
     EMULATED},
    {"no cuMemPoolSetAttribute", no_pools, {"PTXI_HIDE=cuMemPoolSetAttribute"},
     CLEAN, EMULATED},
    {"no cuMemPoolTrimTo", no_pools, {"PTXI_HIDE=cuMemPoolTrimTo"}, CLEAN,
     EMULATED},
    {"no cuMemAllocFromPoolAsync", no_pools,
     {"PTXI_HIDE=cuMemAllocFromPoolAsync"}, CLEAN, EMULATED},
    {"no cuMemFreeAsync", no_pools, {"PTXI_HIDE=cuMemFreeAsync"}, CLEAN,
     EMULATED},
    {"limits", limits, {0}, CLEAN, ANY_GPU},
    {"untouched", untouched, {0}, CLEAN, EMULATED},
    {"fork", forked, {0}, CLEAN, ANY_GPU},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
