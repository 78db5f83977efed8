/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The API from end to end on the host device: kernels by name, arguments,
 * geometries, specialization, functions, formats; and each way to get it wrong.
 */
#include "ompjit.h"
#include "ompjit_debug.h"
#include "ompjit_tune.h"
#include "tap.h"

static const char source[] =
    "#include <stddef.h>\n"
    "#pragma omp declare target\n"
    "int counter = 5;\n"
    "#pragma omp end declare target\n"
    "void saxpy(int n, float a, float *x, float *y) {\n"
    "#pragma omp target teams distribute parallel for map(to: x[:n]) "
    "map(y[:n])\n"
    "  for (int i = 0; i < n; i++) y[i] += a * x[i];\n"
    "}\n"
    "double dot(long n, double *x, double *y) {\n"
    "  double s = 0;\n"
    "#pragma omp target teams distribute parallel for map(to: x[:n], y[:n]) "
    "reduction(+: s)\n"
    "  for (long i = 0; i < n; i++) s += x[i] * y[i];\n"
    "  return s;\n"
    "}\n"
    "void count(int *out) {\n"
    "#pragma omp target map(from: out[:1])\n"
    "  { counter++; out[0] = counter; }\n"
    "}\n"
    "void generic(int n, int *out) {\n"
    "#pragma omp target map(from: out[:n])\n"
    "  {\n"
    "    int base = 7;\n"
    "#pragma omp parallel for\n"
    "    for (int i = 0; i < n; i++) out[i] = base + i;\n"
    "    base = 100;\n"
    "#pragma omp parallel for\n"
    "    for (int i = 0; i < n; i++) out[i] += base;\n"
    "  }\n"
    "}\n"
    "void trapper(int *p) {\n"
    "#pragma omp target map(p[:1])\n"
    "  if (p[0] == 3) __builtin_trap();\n"
    "}\n"
    "void two(int *p) {\n"
    "#pragma omp target map(p[:1])\n"
    "  p[0]++;\n"
    "#pragma omp target map(p[:1])\n"
    "  p[0] *= 2;\n"
    "}\n";

static ompjit_context *ctx;
static ompjit_module *mod;
static ompjit_device *dev;
static ompjit_error err;

#define NAMED(n, t, m, v) \
    { .name = n, .type = OMPJIT_ARG_##t, .value.m = v }

static ompjit_kernel *kernel(const char *name)
{
    ompjit_kernel *k = NULL;
    ompjit_status status = ompjit_module_kernel(mod, name, &k, &err);
    ok(status == 0, "kernel %s %s", name, status ? err.text : "");
    return k;
}

static ompjit_status saxpy(const ompjit_launch *launch, int n, float a,
                           float *x, float *y)
{
    ompjit_kernel *k;
    ompjit_arg args[] = {NAMED("x", POINTER, p, x), NAMED("a", F32, f32, a),
                         NAMED("y", POINTER, p, y), NAMED("n", I32, i32, n)};
    if (ompjit_module_kernel(mod, "saxpy", &k, &err))
        return err.status;
    return ompjit_kernel_launch(k, dev, launch, args, 4, &err);
}

static void geometries(void)
{
    static const struct {
        uint32_t teams, threads;
        int specialize;
    } rows[] = {{0, 0, 0}, {1, 1, 0}, {7, 1, 0},  {1, 32, 0}, {3, 64, 0},
                {2, 5, 0}, {0, 0, 1}, {4, 1, 1}, {2, 32, 1}, {1, 128, 0}};
    enum { N = 1001 };
    static float x[N], y[N];
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        ompjit_launch launch = OMPJIT_LAUNCH_INIT;
        launch.teams = rows[r].teams;
        launch.threads = rows[r].threads;
        launch.specialize.mode = rows[r].specialize;
        for (int i = 0; i < N; i++) {
            x[i] = (float)i;
            y[i] = 1;
        }
        ompjit_status status = saxpy(&launch, N, 2, x, y);
        int wrong = 0;
        for (int i = 0; i < N; i++)
            wrong += y[i] != 1 + 2 * (float)i;
        ok(status == 0 && !wrong, "saxpy, %u teams of %u%s: %d wrong %s",
           rows[r].teams, rows[r].threads,
           rows[r].specialize ? ", specialized" : "", wrong,
           status ? err.text : "");
        ompjit_launch_info info = OMPJIT_LAUNCH_INFO_INIT;
        ompjit_kernel *k;
        ok(!ompjit_module_kernel(mod, "saxpy", &k, &err) &&
               !ompjit_kernel_last_launch(k, dev, &info, &err) &&
               (!rows[r].teams || info.teams == rows[r].teams) &&
               (!rows[r].threads || info.threads == rows[r].threads) &&
               info.folded_threads ==
                   (info.threads == 1 || rows[r].specialize) &&
               info.folded_args == (rows[r].specialize ? 2u : 0u),
           "it ran as %u teams of %u", info.teams, info.threads);
    }
}

static void functions(void)
{
    enum { N = 777 };
    static double x[N], y[N];
    static int out[N];
    double want = 0;
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = 2;
        want += 2 * i;
    }
    double (*dot)(long, double *, double *) = NULL;
    void (*generic)(int, int *) = NULL;
    void (*count)(int *) = NULL;
    ok(!ompjit_module_function(mod, "dot", (void (**)(void))&dot, &err),
       "dot is a function of this process");
    ok(dot && dot(N, x, y) == want, "and right");
    ok(!ompjit_module_function(mod, "generic", (void (**)(void))&generic, &err),
       "so is a generic-mode one");
    generic(N, out);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += out[i] != 107 + i;
    ok(wrong == 0, "its two parallel regions ran");
    ok(!ompjit_module_function(mod, "count", (void (**)(void))&count, &err),
       "count is there");
    int a = 0;
    count(&a);
    ok(a == 6, "a declare-target variable has its initial value");

    ompjit_kernel *k = kernel("count");
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.threads = 4;
    ompjit_arg arg = {.type = OMPJIT_ARG_POINTER, .value.p = &a};
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_kernel_info_get(k, &info, NULL);
    if (info.max_threads && info.max_threads < 4)
        launch.threads = 0;
    ompjit_status status =
        ompjit_kernel_launch(k, dev, &launch, &arg, 1, &err);
    ok(!status && a == 7, "another variant of the kernel shares it: %d %s", a,
       status ? err.text : "");

    ompjit_kernel *g = kernel("generic");
    ompjit_arg args[] = {NAMED("n", I32, i32, N), NAMED("out", POINTER, p, out)};
    static const uint32_t sizes[] = {1, 2, 32, 60, 96};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        memset(out, 0, sizeof out);
        launch.threads = sizes[s];
        status = ompjit_kernel_launch(g, dev, &launch, args, 2, &err);
        wrong = 0;
        for (int i = 0; i < N; i++)
            wrong += out[i] != 107 + i;
        ok(!status && !wrong, "generic mode, %u workers: %d wrong %s",
           sizes[s], wrong, status ? err.text : "");
    }
}

static void traps(void)
{
    int v = 3;
    void (*trapper)(int *);
    ok(!ompjit_module_function(mod, "trapper", (void (**)(void))&trapper,
                               &err),
       "a function with a trap compiles");
    ok(ompjit_context_failure(ctx, &err) == OMPJIT_OK, "nothing failed so far");
    ompjit_kernel *k = kernel("trapper");
    ompjit_arg arg = {.type = OMPJIT_ARG_POINTER, .value.p = &v};
    ok(ompjit_kernel_launch(k, dev, NULL, &arg, 1, &err) == OMPJIT_ERR_DEVICE,
       "a kernel that traps is an error");
    ok_contains(err.text, "trapper", "which names the kernel: %s", err.text);
    v = 4;
    ok(!ompjit_kernel_launch(k, dev, NULL, &arg, 1, &err),
       "and the next launch works");
}

static void bad_arguments(void)
{
    float v = 0;
    ompjit_kernel *k = kernel("saxpy");
    ompjit_arg good[] = {NAMED("x", POINTER, p, &v), NAMED("a", F32, f32, 1),
                         NAMED("y", POINTER, p, &v), NAMED("n", I32, i32, 1)};
    ok(ompjit_kernel_launch(k, dev, NULL, good, 3, &err) ==
           OMPJIT_ERR_ARGUMENT,
       "an argument is missing");
    ok_contains(err.text, "takes 4 arguments, got 3", "says how many");
    ompjit_arg args[4];
    memcpy(args, good, sizeof args);
    args[1].name = "b";
    ok(ompjit_kernel_launch(k, dev, NULL, args, 4, &err) ==
               OMPJIT_ERR_ARGUMENT &&
           strstr(err.text, "no parameter is called b"),
       "unknown name: %s", err.text);
    memcpy(args, good, sizeof args);
    args[1] = args[0];
    ok(ompjit_kernel_launch(k, dev, NULL, args, 4, &err) ==
               OMPJIT_ERR_ARGUMENT &&
           strstr(err.text, "x is given twice"),
       "twice the same: %s", err.text);
    memcpy(args, good, sizeof args);
    args[3].type = OMPJIT_ARG_I64;
    ok(ompjit_kernel_launch(k, dev, NULL, args, 4, &err) ==
           OMPJIT_ERR_ARGUMENT,
       "a scalar of another size: %s", err.text);
    memcpy(args, good, sizeof args);
    args[0].type = OMPJIT_ARG_F64;
    ok(ompjit_kernel_launch(k, dev, NULL, args, 4, &err) ==
               OMPJIT_ERR_ARGUMENT &&
           strstr(err.text, "x is a pointer"),
       "a scalar for a pointer: %s", err.text);
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.threads = 5000;
    ok(ompjit_kernel_launch(k, dev, &launch, good, 4, &err) ==
           OMPJIT_ERR_GEOMETRY,
       "too many threads: %s", err.text);
    launch.size = 3;
    ok(ompjit_kernel_launch(k, dev, &launch, good, 4, &err) ==
           OMPJIT_ERR_INVALID,
       "a struct of another size: %s", err.text);
    ok(ompjit_kernel_launch(NULL, dev, NULL, good, 4, &err) ==
           OMPJIT_ERR_INVALID,
       "no kernel");
    ok(ompjit_kernel_launch(k, NULL, NULL, good, 4, NULL) ==
           OMPJIT_ERR_INVALID,
       "no device, no error object");
}

static void bad_names(void)
{
    ompjit_kernel *k;
    void (*fn)(void);
    ok(ompjit_module_kernel(mod, "nope", &k, &err) == OMPJIT_ERR_NOT_FOUND,
       "an unknown kernel");
    ok_contains(err.text, "saxpy:6", "the error lists those there are");
    ok_contains(err.text, "dot:11", "all of them");
    ok(ompjit_module_kernel(mod, "two", &k, &err) == OMPJIT_ERR_NOT_FOUND,
       "a function with two regions is not enough: %s", err.text);
    ok(!ompjit_module_kernel(mod, "two:37", &k, &err), "with its line it is %s",
       err.text);
    ok(ompjit_module_function(mod, "nope", &fn, &err) == OMPJIT_ERR_NOT_FOUND,
       "an unknown function: %s", err.text);
    void *data;
    size_t size;
    ok(ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, "sm_42", &data, &size,
                          &err) == OMPJIT_ERR_TARGET,
       "an unknown architecture");
    ok_contains(err.text, "sm_90", "the error lists those there are");
    ok(ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, "host", &data, &size, &err) ==
           OMPJIT_ERR_INVALID,
       "PTX for the host: %s", err.text);
    ok(ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, NULL, &data, &size, &err) ==
           OMPJIT_ERR_INVALID,
       "PTX for nothing: %s", err.text);
}

static void bad_modules(void)
{
    ompjit_module *m = NULL;
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    o.name = "broken.c";
    ok(ompjit_module_from_c(ctx, "int f(void) {\n  return x;\n}\n", &o, &m,
                            &err) == OMPJIT_ERR_SOURCE,
       "C that does not compile");
    ok_contains(err.text, "broken.c:2:10: error:", "file, line and column");
    ok(ompjit_module_from_ir(ctx, "garbage", 7, NULL, 0, NULL, &m, &err) ==
           OMPJIT_ERR_IR,
       "IR that does not parse: %s", err.text);
    void *bc;
    size_t size;
    ok(!ompjit_module_emit(mod, OMPJIT_FORMAT_BC, NULL, &bc, &size, &err),
       "the module as bitcode");
    int refused = 0, cuts = 0;
    for (size_t cut = size / 7; cut < size - 4; cut += size / 7, cuts++)
        refused += ompjit_module_from_ir(ctx, bc, cut, NULL, 0, NULL, &m,
                                         &err) == OMPJIT_ERR_IR;
    ok(refused == cuts && cuts > 4, "truncated bitcode, %d of %d refused",
       refused, cuts);
    ok(!ompjit_module_from_ir(ctx, bc, size, NULL, 0, NULL, &m, &err),
       "whole it is read again %s", err.text);
    void (*fn)(void);
    ok(ompjit_module_function(m, "saxpy", &fn, &err) == OMPJIT_ERR_NOT_FOUND,
       "but has no host half: %s", err.text);
    ompjit_module_destroy(m);
    ompjit_bytes_free(bc);
    o.size = 1;
    ok(ompjit_module_from_c(ctx, "", &o, &m, &err) == OMPJIT_ERR_INVALID,
       "options of another size: %s", err.text);
    ok(ompjit_module_from_c(NULL, "", NULL, &m, &err) == OMPJIT_ERR_INVALID &&
           ompjit_module_from_c(ctx, NULL, NULL, &m, &err) ==
               OMPJIT_ERR_INVALID,
       "no context, no source");
}

static void formats(void)
{
    static const struct {
        ompjit_format format;
        const char *arch, *contains;
    } rows[] = {
        {OMPJIT_FORMAT_LL, NULL, "__kmpc_target_init"},
        {OMPJIT_FORMAT_HOST_LL, NULL, "__tgt_target_kernel"},
        {OMPJIT_FORMAT_PTX, "sm_75", ".entry __omp_offloading"},
        {OMPJIT_FORMAT_PTX, "sm_120", ".entry __omp_offloading"},
        {OMPJIT_FORMAT_OPT_LL, "host", ".entry"},
        {OMPJIT_FORMAT_OPT_LL, "sm_90", "ptx_kernel"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        void *data = NULL;
        size_t size;
        ompjit_status status = ompjit_module_emit(
            mod, rows[r].format, rows[r].arch, &data, &size, &err);
        ok(!status && strlen(data) == size &&
               strstr(data, rows[r].contains),
           "format %d for %s has %s %s", (int)rows[r].format,
           rows[r].arch ? rows[r].arch : "no target", rows[r].contains,
           status ? err.text : "");
        ompjit_bytes_free(data);
    }
    void *data = NULL;
    size_t size;
    ok(!ompjit_module_emit(mod, OMPJIT_FORMAT_OBJECT, "host", &data, &size,
                           &err) &&
           size > 64 && !memcmp(data, "\177ELF", 4),
       "a host object is ELF");
    ompjit_bytes_free(data);
}

int main(void)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    o.debug.profile = 1;
    o.devices = "host";
    if (ompjit_context_create(&o, &ctx, &err) ||
        ompjit_module_from_c(ctx, source, NULL, &mod, &err) ||
        ompjit_context_device(ctx, 0, &dev, &err)) {
        ok(0, "set-up: %s", err.text);
        return done_testing();
    }
    geometries();
    functions();
    traps();
    bad_arguments();
    bad_names();
    bad_modules();
    formats();
    ompjit_times times = OMPJIT_TIMES_INIT;
    ompjit_context_times(ctx, &times, NULL);
    ok(times.stage[OMPJIT_STAGE_FRONTEND].count >= 2 &&
           times.stage[OMPJIT_STAGE_CODEGEN].ns > 0 &&
           times.stage[OMPJIT_STAGE_LAUNCH].count > 10,
       "the stages were timed");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return done_testing();
}
