/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Every call of every function of the CUDA driver fails once: it is reported,
 * with the function's name and CUDA's words, nothing leaks, the application's
 * own context is current again, and the same work is done rightly afterwards,
 * in the same context or, where its end failed, in the next.
 */
#include "cuda_work.h"
#include "device/cuda/driver.h"
#include "ptxi.h"

static bool works(ompjit_context *ctx, const ompjit__image *image)
{
    ompjit_error err = {0};
    ompjit_device *dev;
    if (!ompjit_context_device(ctx, 0, &dev, &err) && !work(dev, image, &err) &&
        results_right())
        return true;
    printf("# the same work again: %s\n", *err.text ? err.text : "wrong");
    return false;
}

static bool works_anew(const ompjit__image *image)
{
    ompjit_context *ctx = context("cuda");
    bool right = works(ctx, image);
    ompjit_context_destroy(ctx);
    return right;
}

/* Runs everything with the Nth call of `symbol` failing. True if that was
 * reported, by an error or, where there is none to take, in the log, and the
 * work is done rightly after it. */
static bool fault(const char *function, const char *symbol, int n)
{
    DRIVER(cu_result, cuCtxGetCurrent, cu_context *);
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit_device *dev;
    char spec[128], words[128];
    ompjit__image image = image_of(cubin_magic, ptx_kernels);
    snprintf(spec, sizeof spec, "%s:%d:999", symbol, n);
    snprintf(words, sizeof words, "%s: CUDA_ERROR_UNKNOWN (999, ", function);
    cu_context own;
    cuCtxGetCurrent(&own);
    ctx = context("cuda");
    ptxi_driver_fail(spec);
    ompjit_status status = ompjit_context_device(ctx, 0, &dev, &err);
    if (!status)
        status = work(dev, &image, &err);
    bool came = ptxi_driver_calls(symbol) >= n;
    if (came)
        ptxi_driver_fail(NULL);
    bool right = is_current(own) && (!came || works(ctx, &image));
    ompjit_context_destroy(ctx);
    ptxi_driver_fail(NULL);
    right &= is_current(own);
    bool told = strstr(status ? err.text : logged, words);
    if (!told || !right)
        printf("# %s: status %d, error %s, log %s\n", spec, status,
               status ? err.text : "none", logged);
    right &= came || works_anew(&image);
    image_drop(&image);
    return told && right && (!status || status == OMPJIT_ERR_DRIVER);
}

/* How often the functions are called in a run without a fault. */
static int calls(const char *symbol)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    ompjit_context *ctx;
    ompjit__image image = image_of(cubin_magic, ptx_kernels);
    ptxi_driver_fail(NULL);
    ompjit_device *dev = open_gpu(&ctx);
    bool failed = work(dev, &image, NULL);
    ompjit_context_destroy(ctx);
    image_drop(&image);
    return failed ? 0 : ptxi_driver_calls(symbol);
}

static bool one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names))
        names++;
    return *names;
}

/* Every call of one function. */
static void faults_of(const char *name, const char *symbol)
{
    int n = calls(symbol), right = 0;
    ok(n > 0, "%s is used", name);
    for (int k = 1; k <= n; k++)
        right += fault(name, symbol, k) && clean();
    ok(right == n, "%s: each of %d failures is told, and over", name, n);
}

/* Every call of every function that the library makes. */
static void faults(void)
{
    static const char *const functions[][2] = {
#define CU_FUNCTION(name, suffix, version, required, args) \
    {#name, #name suffix},
#include "device/cuda/driver.def"
    };
    /* Only where something else failed, when the driver is loaded, and between
     * GPUs (t/cuda_t.c). */
    static const char *const elsewhere[] = {
        "cuGetErrorName", "cuGetErrorString", "cuGetProcAddress",
        "cuCtxSetCurrent", "cuStreamIsCapturing", "cuMemPoolTrimTo",
        "cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess", "cuMemPoolSetAccess",
        NULL};
    cu_context own = own_context();
    for (size_t i = 0; i < OMPJIT__COUNT(functions); i++) {
        const char *name = functions[i][0];
        if (!one_of(name, elsewhere))
            faults_of(name, functions[i][1]);
    }
    end_own_context(own);
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    ompjit_context *ctx;
    ompjit_error err = {0};
    unsigned count;
    ptxi_driver_fail("cuInit:1:999,cuGetErrorName:1:1,cuGetErrorString:1:1");
    ctx = context("cuda");
    ok(ompjit_context_device_count(ctx, &count, &err) == OMPJIT_ERR_DRIVER,
       "a code that the driver cannot name");
    ok_contains(err.text, "cuInit: a code that this driver does not know (999",
                "is told by number");
    ok(!ompjit_context_device_count(ctx, &count, &err) && count == 1,
       "a failed search may be repeated");
    ompjit_context_destroy(ctx);
}

/* Those of a profile, too. */
static void timed_events(void)
{
    faults_of("cuEventDestroy", "cuEventDestroy_v2");
}

/* A thing whose release fails twice is left, and told. */
static void leak(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    ompjit_context *ctx;
    ompjit__image image = image_of(cubin_magic, ptx_kernels);
    ompjit_device *dev = open_gpu(&ctx);
    ok(!work(dev, &image, NULL), "work is done");
    ptxi_driver_fail("cuStreamDestroy_v2:1:999,cuStreamDestroy_v2:2:999");
    ompjit_context_destroy(ctx);
    ptxi_driver_fail(NULL);
    image_drop(&image);
    const char *once = strstr(logged, "cuStreamDestroy: CUDA_ERROR_UNKNOWN");
    ok(once && strstr(once + 1, "cuStreamDestroy: CUDA_ERROR_UNKNOWN"),
       "both failures are logged");
}

/* ----------------------------------------------------------------- memory */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void memory(void)
{
    ok(1, "failing allocations # SKIP sanitizers have their own allocator");
}
#define MEMORY_EXIT NULL /* no driver was loaded */
#else
#define MEMORY_EXIT CLEAN
/* Allocations of this thread that succeed before one fails; -1: all do. The
 * driver's own go through malloc, or are its worker's. */
static _Thread_local int allocations = -1;

static bool spent(void)
{
    return allocations >= 0 && allocations-- == 0;
}

/* A thread's memory is the C library's, and does not count as ours. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                       void *);
    int kept = allocations;
    if (!real)
        real = dlsym(RTLD_NEXT, "pthread_create");
    allocations = -1;
    int failed = real(thread, attributes, start, arg);
    allocations = kept;
    return failed;
}

extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

void *calloc(size_t n, size_t size)
{
    return spent() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return spent() ? NULL : __libc_realloc(p, size);
}

void *tsearch(const void *key, void **root, int (*compare)(const void *,
                                                          const void *))
{
    static void *(*real)(const void *, void **,
                         int (*)(const void *, const void *));
    if (!real)
        real = dlsym(RTLD_NEXT, "tsearch");
    return spent() ? NULL : real(key, root, compare);
}

/* Runs everything with each allocation failing once. Those of texts cost but
 * the text. */
static void memory(void)
{
    int failed = 0, wrong = 0;
    ompjit__image image = image_of(cubin_magic, ptx_kernels);
    ok(calls("cuInit") == 1, "it works");
    for (int i = 0, over = 0; !over; i++) {
        ompjit_context *ctx;
        ompjit_device *dev;
        ompjit_error err = {0};
        ctx = context("cuda");
        allocations = i;
        ompjit_status status = ompjit_context_device(ctx, 0, &dev, &err);
        if (!status)
            status = work(dev, &image, &err);
        over = allocations >= 0;
        allocations = -1;
        ompjit_context_destroy(ctx);
        failed += status == OMPJIT_ERR_NO_MEMORY;
        wrong += status && status != OMPJIT_ERR_NO_MEMORY;
        wrong += !status && !results_right();
        wrong += status && !strstr(err.text, "out of memory");
    }
    image_drop(&image);
    ok(failed >= 10, "%d allocations cannot fail unnoticed", failed);
    ok(!wrong, "each is an out-of-memory error or does not matter");
}
#endif

static const struct scenario scenarios[] = {
    {"sync", faults, {"PTXI_STREAM=sync"}, CLEAN, EMULATED},
    {"async", faults, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"lazy", faults, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"memory", memory, {"PTXI_STREAM=async"}, MEMORY_EXIT, EMULATED},
    {"timed events", timed_events, {"OMPJIT_PROFILE=1"}, CLEAN, EMULATED},
    {"leaked stream", leak, {0}, "exit: 1 leaks", EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
