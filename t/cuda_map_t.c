/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program's constructs and memory routines on ptxi's driver: right in each
 * mode and several schedules, from several threads, between two GPUs, and with
 * each call of each driver function failing once: then the failure is told,
 * nothing leaks, and the next run of the same program is right.
 */
#include <setjmp.h>

#include "cuda_work.h"
#include "device/cuda/driver.h"
#include "ptxi.h"

/* 0: right. `run` has big, small and present data, a private copy, an attached
 * pointer, a reduction and an update; `routines` fills, all kinds of copies and
 * an association; `peers` what goes from device 0 to device 1. */
static const char source[] =
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "typedef __SIZE_TYPE__ z;\n"
    "int omp_get_initial_device(void);\n"
    "void *omp_target_alloc(z, int);\n"
    "void omp_target_free(void *, int);\n"
    "void *omp_target_memset(void *, int, z, int);\n"
    "void *omp_target_memset_async(void *, int, z, int, int, void *);\n"
    "int omp_target_memcpy(void *, const void *, z, z, z, int, int);\n"
    "int omp_target_memcpy_async(void *, const void *, z, z, z, int, int,\n"
    "  int, void *);\n"
    "int omp_target_memcpy_rect(void *, const void *, z, int, const z *,\n"
    "  const z *, const z *, const z *, const z *, int, int);\n"
    "int omp_target_memcpy_rect_async(void *, const void *, z, int,\n"
    "  const z *, const z *, const z *, const z *, const z *, int, int, int,\n"
    "  void *);\n"
    "int omp_target_associate_ptr(const void *, const void *, z, z, int);\n"
    "int omp_target_disassociate_ptr(const void *, int);\n"
    "struct s { int n; double *p; };\n"
    "int run(void) {\n"
    "  enum { N = 900 };\n"
    "  static const double w[4] = {1, 2, 3, 4};\n"
    "  double *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), t = 0;\n"
    "  struct s s = {N, b};\n"
    "  int bad = 0, one = 1;\n"
    "  for (int i = 0; i < N; i++) { a[i] = i; b[i] = 1; }\n"
    "#pragma omp target data map(to: a[:N], one)\n"
    "  {\n"
    "#pragma omp target teams distribute parallel for firstprivate(w) \\\n"
    "    map(tofrom: s, s.p[:N])\n"
    "    for (int i = 0; i < N; i++) s.p[i] += a[i] * w[i % 4] + one;\n"
    "#pragma omp target teams distribute parallel for reduction(+: t)\n"
    "    for (int i = 0; i < N; i++) t += a[i];\n"
    "    a[0] = 7;\n"
    "#pragma omp target update to(a[:1])\n"
    "#pragma omp target\n"
    "    a[1] = a[0] + 1;\n"
    "#pragma omp target update from(a[:2])\n"
    "  }\n"
    "  for (int i = 0; i < N; i++) bad += b[i] != 2 + i * w[i % 4];\n"
    "  bad += t != N * (N - 1) / 2.0;\n"
    "  bad += a[0] != 7 || a[1] != 8;\n"
    "  free(a); free(b);\n"
    "  return bad; }\n"
    /* 3 x 4 of 10 x 10, from row 2, column 3 to row 1, column 2 */
    "static const z volume[] = {3, 4}, to[] = {1, 2}, from[] = {2, 3},\n"
    "  dims[] = {10, 10};\n"
    "static int rectangle(const int *b, int rest) {\n"
    "  int bad = 0;\n"
    "  for (int i = 0; i < 100; i++) {\n"
    "    int r = i / 10, c = i % 10, in = r >= 1 && r < 4 && c >= 2 && c < 6;\n"
    "    bad += b[i] != (in ? i + 11 : rest);\n"
    "  }\n"
    "  return bad; }\n"
    "int routines(void) {\n"
    "  int h = omp_get_initial_device(), bad = 0, b[100], sum = 0;\n"
    "  int *a = malloc(sizeof b), *x = malloc(10 * sizeof *x);\n"
    "  int *p = omp_target_alloc(sizeof b, 0);\n"
    "  int *q = omp_target_alloc(sizeof b, 0);\n"
    "  for (int i = 0; i < 100; i++) a[i] = i;\n"
    "  omp_target_memset(p, 0, sizeof b, 0);\n"
    "  bad += omp_target_memcpy_rect(p, a, sizeof *a, 2, volume, to, from,\n"
    "    dims, dims, 0, h);\n"
    "  bad += omp_target_memcpy(q, p, sizeof b, 0, 0, 0, 0);\n"
    "  bad += omp_target_memcpy(b, q, sizeof b, 0, 0, h, 0);\n"
    "  bad += rectangle(b, 0);\n"
    "  omp_target_memset_async(p, 255, sizeof b, 0, 0, 0);\n"
    "#pragma omp taskwait\n"
    "  bad += omp_target_memcpy_rect_async(p, a, sizeof *a, 2, volume, to,\n"
    "    from, dims, dims, 0, h, 0, 0);\n"
    "#pragma omp taskwait\n"
    "  bad += omp_target_memcpy_async(b, p, sizeof b, 0, 0, h, 0, 0, 0);\n"
    "#pragma omp taskwait\n"
    "  bad += rectangle(b, -1);\n"
    "  bad += omp_target_memcpy(p, a, 40, 8, 20, 0, h);\n"
    "  bad += omp_target_memcpy(b, p, 48, 0, 0, h, 0);\n"
    "  for (int i = 2; i < 12; i++) bad += b[i] != i + 3;\n"
    "  for (int i = 0; i < 10; i++) x[i] = i;\n"
    "  if (!p || omp_target_associate_ptr(x, p, 40, 40, 0)) bad++;\n"
    "  else {\n"
    "#pragma omp target update to(x[:10])\n"
    "#pragma omp target map(alloc: x[:10])\n"
    "    for (int i = 0; i < 10; i++) x[i] *= 2;\n"
    "#pragma omp target update from(x[:10])\n"
    "    for (int i = 0; i < 10; i++) sum += x[i];\n"
    "    bad += omp_target_memcpy(x, p, 40, 0, 40, h, 0);\n"
    "    bad += sum != 90 || x[9] != 18;\n"
    "    bad += omp_target_disassociate_ptr(x, 0);\n"
    "  }\n"
    "  omp_target_free(p, 0); omp_target_free(q, 0);\n"
    "  free(a); free(x);\n"
    "  return bad; }\n"
    "int peers(void) {\n"
    "  int h = omp_get_initial_device(), bad = 0, a[100], b[100];\n"
    "  int *p = omp_target_alloc(sizeof a, 0);\n"
    "  int *q = omp_target_alloc(sizeof a, 1);\n"
    "  for (int i = 0; i < 100; i++) a[i] = i;\n"
    "  bad += omp_target_memcpy(p, a, sizeof a, 0, 0, 0, h);\n"
    "  omp_target_memset(q, 0, sizeof a, 1);\n"
    "  bad += omp_target_memcpy_rect(q, p, sizeof *a, 2, volume, to, from,\n"
    "    dims, dims, 1, 0);\n"
    "  bad += omp_target_memcpy(b, q, sizeof b, 0, 0, h, 1);\n"
    "  bad += rectangle(b, 0);\n"
    "  bad += omp_target_memcpy(q, p, sizeof a, 0, 0, 1, 0);\n"
    "  if (!q) return 1;\n"
    "#pragma omp target device(1) is_device_ptr(q)\n"
    "  for (int i = 0; i < 100; i++) q[i]++;\n"
    "  bad += omp_target_memcpy(p, q, 40, 80, 360, 0, 1);\n"
    "  bad += omp_target_memcpy(b, p, sizeof b, 0, 0, h, 0);\n"
    "  for (int i = 0; i < 100; i++)\n"
    "    bad += b[i] != (i >= 20 && i < 30 ? i + 71 : i);\n"
    "  omp_target_free(p, 0); omp_target_free(q, 1);\n"
    "  return bad; }\n"
    "double x[4][300];\n"
    "int deferred(void) {\n"
    "  int bad = 0;\n"
    "  for (int c = 0; c < 4; c++) {\n"
    "    double *p = x[c];\n"
    "    for (int i = 0; i < 300; i++) p[i] = c + i;\n"
    "#pragma omp target enter data map(to: p[:300]) nowait depend(out: p[0])\n"
    "    for (int s = 0; s < 3; s++)\n"
    "#pragma omp target teams distribute parallel for nowait \\\n"
    "    depend(inout: p[0]) map(tofrom: p[:300])\n"
    "      for (int i = 0; i < 300; i++) p[i] = 2 * p[i] + s;\n"
    "#pragma omp target update from(p[:300]) nowait depend(inout: p[0])\n"
    "#pragma omp target exit data map(delete: p[:300]) nowait \\\n"
    "    depend(inout: p[0])\n"
    "  }\n"
    "#pragma omp taskwait\n"
    "  for (int c = 0; c < 4; c++)\n"
    "    for (int i = 0; i < 300; i++) bad += x[c][i] != 8 * (c + i) + 4;\n"
    "  return bad; }\n";

static ompjit_error first; /* failure of a construct */
static jmp_buf *out;       /* where it leaves the program to; NULL: it does not */

static void note(void *data, const ompjit_error *err)
{
    if (!first.status)
        first = *err;
    if (out)
        longjmp(*out, 1);
}

typedef int program_fn(void);

static void open_context(ompjit_context **ctx, ompjit_module **mod)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_error err = {0};
    options.devices = test_device();
    options.compiler.assembler = OMPJIT_ASSEMBLER_DRIVER;
    options.log = take_log;
    options.on_failure = note;
    setenv("OMPJIT_TEAMS", "2", 1);
    setenv("OMPJIT_THREADS", "64", 1);
    first = (ompjit_error){0};
    if (ompjit_context_create(&options, ctx, &err) ||
        ompjit_module_from_c(*ctx, source, NULL, mod, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    logged[0] = 0; /* which clang it was */
}

static program_fn *program(ompjit_module *mod, const char *name)
{
    return (program_fn *)program_function(mod, name);
}

static void close_program(ompjit_context *ctx, ompjit_module *mod)
{
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

static void *thread(void *function)
{
    return (void *)(intptr_t)((program_fn *)function)();
}

/* Deferred constructs run in libomp's helper threads, each in a stream of its
 * own. */
static void right(void)
{
    enum { THREADS = 3 };
    ompjit_context *ctx;
    ompjit_module *mod;
    pthread_t threads[THREADS];
    open_context(&ctx, &mod);
    program_fn *all = program(mod, "run");
    ok(all() == 0 && !first.status, "the results are right: %s", first.text);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, thread, (void *)all);
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        ok(!bad && !first.status, "also in thread %d: %s", i, first.text);
    }
    ok(program(mod, "deferred")() == 0 && !first.status,
       "taskwait waits for chains of constructs: %s", first.text);
    ok(program(mod, "routines")() == 0 && !first.status && !logged[0],
       "memory routines: %s%s", first.text, logged);
    close_program(ctx, mod);
}

/* Copies of a construct are waited for together. */
static void batches(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    ompjit_context *ctx;
    ompjit_module *mod;
    open_context(&ctx, &mod);
    program_fn *all = program(mod, "run");
    ok(all() == 0, "a first run");
    ptxi_driver_fail(NULL); /* counts from 0 */
    ok(all() == 0, "a second run");
    int copies = ptxi_driver_calls("cuMemcpyHtoDAsync_v2") +
                 ptxi_driver_calls("cuMemcpyDtoHAsync_v2") +
                 ptxi_driver_calls("cuLaunchKernel");
    int waits = ptxi_driver_calls("cuStreamSynchronize");
    ok(waits < copies, "%d copies and launches, %d waits", copies, waits);
    ok(!ptxi_driver_calls("cuMemAlloc_v2") &&
           !ptxi_driver_calls("cuStreamCreate") &&
           !ptxi_driver_calls("cuMemAllocHost_v2"),
       "memory and streams are used again");
    close_program(ctx, mod);
}

/* From one GPU to another, by the driver. */
static void peers(void)
{
    DRIVER(int, ptxi_driver_calls, const char *);
    ompjit_context *ctx;
    ompjit_module *mod;
    open_context(&ctx, &mod);
    ok(program(mod, "peers")() == 0 && !first.status && !logged[0],
       "copies between two GPUs: %s%s", first.text, logged);
    ok(ptxi_driver_calls("cuMemcpyPeerAsync") == 5,
       "without the host in between");
    close_program(ctx, mod);
}

/* As an application that gives up the program's run at the first failure. */
static void run_until_failure(program_fn *all)
{
    jmp_buf here;
    out = &here;
    if (!setjmp(here))
        all();
    out = NULL;
}

/* Calls that each run makes, and those that only the first one does. */
static const struct called {
    const char *function, *symbol;
    bool first;
    const char *program; /* that makes them; NULL: run */
} functions[] = {
    {"cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync", false, NULL},
    {"cuMemFreeAsync", "cuMemFreeAsync", false, NULL},
    {"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", false, NULL},
    {"cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", false, NULL},
    {"cuLaunchKernel", "cuLaunchKernel", false, NULL},
    {"cuStreamSynchronize", "cuStreamSynchronize", false, NULL},
    {"cuEventRecord", "cuEventRecord", false, NULL},
    {"cuCtxPushCurrent", "cuCtxPushCurrent_v2", false, NULL},
    {"cuStreamCreate", "cuStreamCreate", true, NULL},
    {"cuEventCreate", "cuEventCreate", true, NULL},
    {"cuMemAllocHost", "cuMemAllocHost_v2", true, NULL},
    {"cuModuleLoadDataEx", "cuModuleLoadDataEx", true, NULL},
    {"cuModuleGetFunction", "cuModuleGetFunction", true, NULL},
    {"cuMemPoolCreate", "cuMemPoolCreate", true, NULL},
    {"cuMemAlloc", "cuMemAlloc_v2", false, "routines"},
    {"cuMemsetD8Async", "cuMemsetD8Async", false, "routines"},
    {"cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2", false, "routines"},
    {"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", false, "routines"},
    {"cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", false, "routines"},
    {"cuMemcpyPeerAsync", "cuMemcpyPeerAsync", false, "peers"},
};

/* Returns false where the program does not come to that call. */
static bool fault(ompjit_module *mod, const struct called *row, int n,
                  int *wrong)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    char spec[128], words[128];
    program_fn *all = program(mod, row->program ? row->program : "run");
    snprintf(spec, sizeof spec, "%s:%d:999", row->symbol, n);
    snprintf(words, sizeof words, "%s: CUDA_ERROR_UNKNOWN (999, ",
             row->function);
    first = (ompjit_error){0};
    logged[0] = 0;
    ptxi_driver_fail(spec);
    run_until_failure(all);
    bool came = ptxi_driver_calls(row->symbol) >= n;
    ptxi_driver_fail(NULL);
    bool told = strstr(first.text, words) || strstr(logged, words);
    first = (ompjit_error){0};
    int bad = came ? all() : 0;
    if ((came && !told) || bad || first.status) {
        printf("# %s: told %d, then %d wrong, %s\n", spec, told, bad,
               first.text);
        ++*wrong;
    }
    return came;
}

static void faults(void)
{
    ompjit_context *ctx;
    ompjit_module *mod;
    open_context(&ctx, &mod);
    for (size_t i = 0; i < OMPJIT__COUNT(functions); i++) {
        int n = 0, wrong = 0;
        bool came = true;
        while (came) {
            if (functions[i].first) {
                close_program(ctx, mod);
                open_context(&ctx, &mod);
            }
            came = fault(mod, &functions[i], n + 1, &wrong);
            n += came;
        }
        ok(n > 0, "%s is called %d times", functions[i].function, n);
        ok(!wrong, "each failure is told, and the next run right");
    }
    close_program(ctx, mod);
}

/* A kernel that makes the context useless: said, also by what comes after. */
static void lost(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    ompjit_context *ctx;
    ompjit_module *mod;
    open_context(&ctx, &mod);
    program_fn *all = program(mod, "run");
    ptxi_driver_fail("cuLaunchKernel:1:700!");
    run_until_failure(all);
    ok(first.status == OMPJIT_ERR_DEVICE, "the kernel's failure");
    ok_contains(first.text, "CUDA_ERROR_ILLEGAL_ADDRESS", "by CUDA's name");
    ok_contains(first.text, "the context of cuda:0 is lost", "and its meaning");
    ptxi_driver_fail(NULL);
    first = (ompjit_error){0};
    run_until_failure(all);
    ok_contains(first.text, "was lost when", "later constructs say since when");
    close_program(ctx, mod);
}

#define MODE(mode, schedule)                                     \
    {mode ", " schedule, right,                                  \
     {"PTXI_STREAM=" mode, "PTXI_" schedule}, CLEAN, EMULATED}
#define MODES(schedule) \
    MODE("sync", schedule), MODE("async", schedule), MODE("lazy", schedule)

static const struct scenario scenarios[] = {
    MODES("SLICE=4"),
    MODES("SLICE=100000"),
    MODES("SEED=1"),
    MODES("SEED=2"),
    {"real", right, {0}, CLEAN, ANY_DEVICE},
    {"batches", batches, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"peers, sync", peers, {"PTXI_STREAM=sync", "PTXI_DEVICES=2"}, CLEAN,
     EMULATED},
    {"peers, async", peers, {"PTXI_STREAM=async", "PTXI_DEVICES=2"}, CLEAN,
     EMULATED},
    {"peers, lazy", peers, {"PTXI_STREAM=lazy", "PTXI_DEVICES=2"}, CLEAN,
     EMULATED},
    {"faults", faults, {"PTXI_STREAM=async", "PTXI_DEVICES=2"}, CLEAN,
     EMULATED},
    {"lost", lost, {"PTXI_STREAM=async"}, NULL, EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
