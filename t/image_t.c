/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_module_from_image: PTX of a CUDA compiler and of this library, bitcode,
 * and what a module of machine code can and cannot do, on ptxi's driver.
 */
#include "core/prebuilt.h"
#include "ptxi.h"

enum { N = 100 };

/* As nvcc writes it; without an environment, with its parameters alone. */
static const char foreign[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 factor = 3;\n"
    ".visible .entry scale(.param .u64 scale_0, .param .u32 scale_1)\n{\n"
    "  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p;\n"
    "  ld.param.u64 %rd1, [scale_0];\n  ld.param.u32 %r1, [scale_1];\n"
    "  mov.u32 %r2, %ctaid.x;\n  mov.u32 %r3, %ntid.x;\n"
    "  mov.u32 %r4, %tid.x;\n  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.s32 %p, %r5, %r1;\n  @%p bra done;\n"
    "  ld.global.u32 %r6, [factor];\n"
    "  cvta.to.global.u64 %rd2, %rd1;\n  mul.wide.s32 %rd3, %r5, 4;\n"
    "  add.s64 %rd4, %rd2, %rd3;\n  ld.global.u32 %r7, [%rd4];\n"
    "  mul.lo.s32 %r7, %r7, %r6;\n  st.global.u32 [%rd4], %r7;\n"
    "done:\n  ret;\n}\n";

static const char source[] =
    "void scale(int n, double a, double *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"
    "  for (int i = 0; i < n; i++) x[i] *= a;\n}\n";

static ompjit_error err;

#define POINTER(at) {.type = OMPJIT_ARG_POINTER, .value.p = (at)}
#define I32(n) {.type = OMPJIT_ARG_I32, .value.i32 = (n)}
#define F64(n) {.type = OMPJIT_ARG_F64, .value.f64 = (n)}

static ompjit_context *context(const char *devices, ompjit_device **dev)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    o.devices = devices;
    o.compiler.assembler = OMPJIT_ASSEMBLER_DRIVER;
    if (ompjit_context_create(&o, &ctx, &err) ||
        ompjit_context_device(ctx, 0, dev, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return ctx;
}

static ompjit_module *load(ompjit_context *ctx, const void *image, size_t size)
{
    ompjit_module *mod = NULL;
    ok(!ompjit_module_from_image(ctx, image, size, NULL, &mod, &err),
       "an image of %zu bytes", size);
    if (!mod)
        printf("# %s\n", err.text);
    return mod;
}

static void launch_foreign(ompjit_module *mod, ompjit_device *dev)
{
    uint32_t x[N], wrong = 0;
    void *at = NULL;
    ompjit_kernel *kernel = NULL;
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.teams = 4;
    launch.threads = 32;
    for (uint32_t i = 0; i < N; i++)
        x[i] = i;
    ompjit_device_alloc(dev, sizeof x, &at, &err);
    ompjit_device_upload(dev, at, x, sizeof x, &err);
    ok(!ompjit_module_kernel(mod, "scale", &kernel, &err), "its kernel");
    const ompjit_arg args[] = {POINTER(at), I32(N)};
    for (int round = 0; round < 2; round++)
        ok(!ompjit_kernel_launch(kernel, dev, &launch, args, 2, &err),
           "launch %d", round);
    ompjit_device_download(dev, x, at, sizeof x, &err);
    for (uint32_t i = 0; i < N; i++)
        wrong += x[i] != 9 * i;
    ok(!wrong, "values are right");
    const ompjit_arg narrow[] = {I32(0), I32(N)};
    ok(ompjit_kernel_launch(kernel, dev, &launch, narrow, 2, &err) ==
           OMPJIT_ERR_ARGUMENT, "4 bytes for 8");
    ok_contains(err.text, "8-byte word", "which the error says");
    ok(ompjit_kernel_launch(kernel, dev, &launch, args, 1, &err) ==
           OMPJIT_ERR_ARGUMENT, "one argument of two");
    ompjit_device_free(dev, at, &err);
}

static void of_foreign_ptx(void)
{
    ompjit_device *dev;
    ompjit_context *ctx = context("cuda", &dev);
    ompjit_module *mod = load(ctx, foreign, sizeof foreign);
    void *bytes;
    size_t size;
    if (mod) {
        launch_foreign(mod, dev);
        ok(!ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, "sm_90", &bytes, &size,
                               &err) &&
               size == sizeof foreign - 1 && !memcmp(bytes, foreign, size),
           "its PTX is what it was");
        ompjit_bytes_free(bytes);
        ok(ompjit_module_emit(mod, OMPJIT_FORMAT_LL, NULL, &bytes, &size,
                              &err) == OMPJIT_ERR_UNAVAILABLE, "no IR");
        ok_contains(err.text, "ahead of time and has no IR; it has PTX for "
                    "sm_75", "which the error says");
        ok(ompjit_module_emit(mod, OMPJIT_FORMAT_CUBIN, "sm_90", &bytes, &size,
                              &err) == OMPJIT_ERR_UNAVAILABLE, "no cubin");
        void (*fn)(void);
        ok(ompjit_module_function(mod, "scale", &fn, &err) ==
               OMPJIT_ERR_NOT_FOUND, "no functions");
    }
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

/* The library's own code through a file, as PTX and as bitcode. */
static void launch_own(ompjit_module *mod, ompjit_device *dev)
{
    double x[N];
    unsigned wrong = 0;
    void *at = NULL;
    for (int i = 0; i < N; i++)
        x[i] = i;
    ompjit_device_alloc(dev, sizeof x, &at, &err);
    ompjit_device_upload(dev, at, x, sizeof x, &err);
    ompjit_kernel *kernel = ompjit_module_kernel_at(mod, 0);
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ok(!ompjit_kernel_info_get(kernel, &info, &err) &&
           info.mode == OMPJIT_MODE_SPMD && info.line == 2 &&
           !strcmp(info.name, "scale"), "what it is");
    /* clang's order: n, x, a */
    const ompjit_arg args[] = {I32(N), POINTER(at),
                               F64(2)};
    if (!ok(!ompjit_kernel_launch(kernel, dev, NULL, args, 3, &err), "a launch"))
        printf("# %s\n", err.text);
    ompjit_device_download(dev, x, at, sizeof x, &err);
    for (int i = 0; i < N; i++)
        wrong += x[i] != 2.0 * i;
    ok(!wrong, "values are right");
    ompjit_device_free(dev, at, &err);
}

static void of_own_code(void)
{
    static const ompjit_format formats[] = {OMPJIT_FORMAT_PTX,
                                            OMPJIT_FORMAT_BC,
                                            OMPJIT_FORMAT_LL};
    ompjit_device *dev;
    ompjit_context *ctx = context("cuda", &dev);
    ompjit_module *mod;
    ok(!ompjit_module_from_c(ctx, source, NULL, &mod, &err), "a source");
    for (size_t i = 0; i < OMPJIT__COUNT(formats); i++) {
        void *bytes;
        size_t size;
        ok(!ompjit_module_emit(mod, formats[i], "sm_90", &bytes, &size, &err),
           "written");
        ompjit_module *again = load(ctx, bytes, size);
        ompjit_bytes_free(bytes);
        if (again)
            launch_own(again, dev);
        ompjit_module_destroy(again);
    }
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

static void on_the_host(void)
{
    ompjit_device *dev;
    ompjit_context *ctx = context("host", &dev);
    ompjit_module *mod = load(ctx, foreign, sizeof foreign - 1);
    ompjit_kernel *kernel = mod ? ompjit_module_kernel_at(mod, 0) : NULL;
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.teams = launch.threads = 1;
    const ompjit_arg args[] = {POINTER(&err), I32(0)};
    ok(kernel && ompjit_kernel_launch(kernel, dev, &launch, args, 2, &err) ==
                     OMPJIT_ERR_UNAVAILABLE, "PTX does not run on the host");
    ok_contains(err.text, "has no code for host; it has PTX for sm_75",
                "which the error says");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

/* Which of several pieces an architecture gets. */
static void choice(void)
{
    struct ompjit__prebuilt all[] = {
        {.kind = OMPJIT__IMAGE_PTX, .arch = "sm_75"},
        {.kind = OMPJIT__IMAGE_CUBIN, .arch = "sm_80"},
        {.kind = OMPJIT__IMAGE_CUBIN, .arch = "sm_86"},
        {.kind = OMPJIT__IMAGE_CUBIN, .arch = "sm_90a"},
        {.kind = OMPJIT__IMAGE_PTX, .arch = "sm_100f"},
        {.kind = OMPJIT__IMAGE_LIBRARY, .arch = "host"},
    };
    static const struct {
        const char *on, *runs;
    } rows[] = {{"sm_70", NULL},     {"sm_75", "sm_75"}, {"sm_80", "sm_80"},
                {"sm_87", "sm_86"},  {"sm_89", "sm_86"}, {"sm_90", "sm_90a"},
                {"sm_100", "sm_100f"}, {"sm_103", "sm_100f"},
                {"sm_120", "sm_75"}, {"host", "host"}};
    ompjit__unit unit = {.name = (char *)"unit", .prebuilt = all,
                         .nprebuilt = OMPJIT__COUNT(all)};
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__image image = {0};
        ompjit_status status =
            ompjit__prebuilt_image(&unit, rows[i].on, &image, &err);
        ok(rows[i].runs ? !status && !strcmp(image.arch, rows[i].runs)
                        : status == OMPJIT_ERR_UNAVAILABLE,
           "on %s: %s", rows[i].on, status ? err.text : image.arch);
        ompjit__image_free(&image);
    }
}

int main(int argc, char **argv)
{
    static const struct scenario scenarios[] = {
        {"foreign", of_foreign_ptx, {NULL}, CLEAN, ANY_GPU},
        {"own", of_own_code, {NULL}, CLEAN, ANY_GPU},
    };
    if (argc == 1) {
        choice();
        on_the_host();
    }
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
