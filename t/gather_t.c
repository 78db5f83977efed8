/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The cost of a construct's small data on a GPU: the driver's allocations and
 * copies counted, for storage that comes and goes together and apart, and the
 * results in each mode of ptxi's driver.
 */
#include "cuda_work.h"
#include "mapping/transfer.h"
#include "device/cuda/driver.h"
#include "ptxi.h"

static const char source[] =
    "#define FOR(i, n) for (int i = 0; i < n; i++)\n"
    "typedef struct { double *p, *q; int n; } pair;\n"
    "static int a[100], b[100], c[100], d[100], big[5000];\n"
    "static _Alignas(128) char apart[1]; static int\n"
    "m0[1024], m1[1024], m2[1024], m3[1024], m4[1024], m5[1024], m6[1024],\n"
    "m7[1024], m8[1024], m9[1024];\n"
    "static void set(void) {\n"
    "  FOR(i, 100) { a[i] = i; b[i] = 2 * i; c[i] = 3 * i; d[i] = 0; } }\n"
    /* Ten maps and two private arrays, which begin and end here. */
    "int together(void) {\n"
    "  int x = 1, y = 2, z = 3, u = 0, v = 0, w[5] = {1, 2, 3, 4, 5};\n"
    "  char t[3] = {7, 8, 9}, bad = 0;\n"
    "  set();\n"
    "#pragma omp target map(tofrom: a, b, x, y) map(to: c, z) \\\n"
    "    map(from: d, u, v) map(alloc: apart) firstprivate(w, t)\n"
    "  { apart[0] = 1; u = (long)apart % 128;\n"
    "    FOR(i, 100) { d[i] = a[i] + b[i] + c[i]; a[i]++; b[i]--; }\n"
    "    x += y + z; y = w[4] + t[2]; v = apart[0]; }\n"
    "  FOR(i, 100) bad |= d[i] != 6 * i || a[i] != i + 1 || b[i] != 2*i - 1;\n"
    "  return bad || x != 6 || y != 14 || u || v != 1; }\n"
    /* Scalars alone. */
    "int values(int n, double f) {\n"
    "  int bad = 0;\n"
    "#pragma omp target firstprivate(n, f)\n"
    "  { n += (int)f; }\n"
    "  return bad; }\n"
    "int scalars(void) { return values(2, 3.5); }\n"
    "int enter(void) { set();\n"
    "#pragma omp target enter data map(to: a, b, c) map(alloc: d)\n"
    "  return 0; }\n"
    "int use(void) {\n"
    "#pragma omp target map(tofrom: a, b, c, d)\n"
    "  FOR(i, 100) { d[i] = a[i] + b[i]; c[i] += 1; }\n"
    "  return 0; }\n"
    "int leave(void) { int bad = 0;\n"
    "#pragma omp target exit data map(from: c, d) map(release: a, b)\n"
    "  FOR(i, 100) bad |= d[i] != 3 * i || c[i] != 3 * i + 1;\n"
    "  return bad; }\n"
    "int leave_b(void) { int bad = 0;\n"
    "  FOR(i, 100) b[i] = 0;\n"
    "#pragma omp target exit data map(from: b)\n"
    "  FOR(i, 100) bad |= b[i] != 2 * i;\n"
    "  return bad; }\n"
    "int enter_b(void) {\n"
    "#pragma omp target enter data map(to: b)\n"
    "  return 0; }\n"
    "int update(void) { int bad = 0;\n"
    "  FOR(i, 100) c[i] = d[i] = 0;\n"
    "#pragma omp target update from(c, d)\n"
    "  FOR(i, 100) bad |= d[i] != 3 * i || c[i] != 3 * i + 1;\n"
    "  return bad; }\n"
    "int erase(void) {\n"
    "#pragma omp target exit data map(delete: a, b, c, d)\n"
    "  return 0; }\n"
    "int always(void) { int bad = 0;\n"
    "#pragma omp target map(always, from: b) map(tofrom: big) map(to: a)\n"
    "  FOR(i, 100) { b[i] = a[i] - 1; big[i] = a[i]; }\n"
    "  FOR(i, 100) bad |= b[i] != i - 1 || big[i] != i;\n"
    "  return bad; }\n"
    /* Large data is copied from and to its own place. */
    "int mixed(void) { set();\n"
    "  FOR(i, 5000) big[i] = i;\n"
    "#pragma omp target map(tofrom: big, a) map(to: b)\n"
    "  FOR(i, 100) { big[50 * i] = 0; a[i] += b[i]; }\n"
    "  int bad = 0;\n"
    "  FOR(i, 5000) bad |= big[i] != (i % 50 ? i : 0);\n"
    "  FOR(i, 100) bad |= a[i] != 3 * i;\n"
    "  return bad; }\n"
    /* Attached pointers go with the structs that they are in. */
    "int attached(void) {\n"
    "  double x[10], y[20]; int bad = 0;\n"
    "  pair s = {x, y, 10};\n"
    "  FOR(i, 10) { x[i] = i; y[i] = 1; y[i + 10] = 5; }\n"
    "#pragma omp target map(tofrom: s, s.p[:10], s.q[:20])\n"
    "  { FOR(i, s.n) s.p[i] += s.q[i]; s.n = 11; }\n"
    "  FOR(i, 10) bad |= x[i] != i + 1;\n"
    "  return bad || s.p != x || s.q != y || s.n != 11; }\n"
    /* A column of a matrix, in one copy. */
    "static int grid[60][50];\n"
    "int column(void) { int bad = 0;\n"
    "  FOR(i, 60) FOR(k, 50) grid[i][k] = i;\n"
    "#pragma omp target data map(alloc: grid)\n"
    "  {\n"
    "#pragma omp target map(present, alloc: grid)\n"
    "    FOR(i, 60) FOR(k, 50) grid[i][k] = i + k;\n"
    "#pragma omp target update from(grid[0:60][3:1])\n"
    "  }\n"
    "  FOR(i, 60) bad |= grid[i][3] != i + 3 || grid[i][4] != i;\n"
    "  return bad; }\n"
    /* More than a block has room for: 4 KiB each. */
    "int many(void) { int bad = 0;\n"
    "  FOR(k, 1024) { m0[k] = m1[k] = m2[k] = m3[k] = m4[k] = k;\n"
    "    m5[k] = m6[k] = m7[k] = m8[k] = m9[k] = 2 * k; }\n"
    "#pragma omp target map(tofrom: m0, m1, m2, m3, m4, m5, m6, m7, m8, m9)\n"
    "  FOR(k, 1024) { m0[k]++; m1[k]--; m2[k]++; m3[k]++; m4[k]++;\n"
    "    m5[k]++; m6[k]++; m7[k]++; m8[k]++; m9[k]++; }\n"
    "  FOR(k, 1024) bad |= m0[k] != k + 1 || m1[k] != k - 1 ||\n"
    "    m7[k] != 2 * k + 1 || m8[k] != 2 * k + 1 || m9[k] != 2 * k + 1;\n"
    "  return bad; }\n";

static char failure[OMPJIT_ERROR_TEXT];

static void note(void *data, const ompjit_error *err)
{
    memcpy(failure, err->text, sizeof failure);
}

enum { ALLOCS, TO, FROM, LAUNCHES, WAITS, FREES, COUNTS };
static const char *const symbols[COUNTS] = {
    [ALLOCS] = "cuMemAllocFromPoolAsync",
    [TO] = "cuMemcpyHtoDAsync_v2",
    [FROM] = "cuMemcpyDtoHAsync_v2",
    [LAUNCHES] = "cuLaunchKernel",
    [WAITS] = "cuStreamSynchronize",
    [FREES] = "cuMemFreeAsync",
};

/* In this order, because some need what others have left. */
static const struct {
    const char *function;
    int calls[COUNTS];
    const char *why;
} steps[] = {
    {"together", {1, 1, 1, 1, 1, 1}, "one block, and one copy each way"},
    {"scalars", {0, 0, 0, 1, 1, 0}, "values are passed, not mapped"},
    {"enter", {1, 1, 0, 0, 1, 0}, "one block"},
    {"use", {0, 0, 0, 1, 1, 0}, "all is there"},
    {"update", {0, 0, 1, 0, 1, 0}, "of one block at once"},
    {"leave", {0, 0, 1, 0, 1, 1}, "and out with one copy"},
    {"enter", {1, 1, 0, 0, 1, 0}, "again"},
    {"leave_b", {0, 0, 1, 0, 1, 0}, "one of them: the block stays"},
    {"enter_b", {1, 1, 0, 0, 1, 0}, "it comes back to another"},
    {"use", {0, 0, 0, 1, 1, 0}, "both blocks are used"},
    {"leave", {0, 0, 1, 0, 1, 2}, "and both end"},
    {"enter", {1, 1, 0, 0, 1, 0}, "and again"},
    {"erase", {0, 0, 0, 0, 0, 1}, "deleted"},
    {"mixed", {2, 2, 2, 1, 1, 2}, "large storage for itself"},
    {"attached", {1, 1, 1, 1, 1, 1}, "with two pointers"},
    {"column", {1, 0, 1, 1, 2, 1}, "pieces near each other"},
    {"many", {3, 3, 3, 1, 1, 3}, "eight in a block, two outside of it"},
    {"enter", {1, 1, 0, 0, 1, 0}, "to be copied back all the same"},
    {"always", {1, 1, 2, 1, 1, 1}, "with one wait, too"},
    {"erase", {0, 0, 0, 0, 0, 1}, "and gone"},
};

typedef int program_fn(void);

static ompjit_context *open_program(ompjit_module **mod)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    ompjit_error err = {0};
    options.devices = test_device();
    options.compiler.assembler = OMPJIT_ASSEMBLER_DRIVER;
    options.host_memory = OMPJIT_HOST_MEMORY_SEPARATE;
    options.on_failure = note;
    if (ompjit_context_create(&options, &ctx, &err) ||
        ompjit_module_from_c(ctx, source, NULL, mod, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return ctx;
}

static int call(ompjit_module *mod, const char *name)
{
    return ((program_fn *)program_function(mod, name))();
}

static void run_step(ompjit_module *mod, size_t i)
{
    int bad = call(mod, steps[i].function);
    ok(!bad && !failure[0], "%s is right: %s", steps[i].function, failure);
}

static void run_counted(ompjit_module *mod, size_t i)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    ptxi_driver_fail(NULL); /* counts from 0 */
    run_step(mod, i);
    for (int k = 0; k < COUNTS; k++) {
        int calls = ptxi_driver_calls(symbols[k]);
        ok(calls == steps[i].calls[k], "%s: %s %d times (%s)",
           steps[i].function, symbols[k], calls, steps[i].why);
    }
}

/* The second round finds streams, staging and kernels made. */
static void rounds(void (*second)(ompjit_module *mod, size_t i))
{
    ompjit_module *mod;
    ompjit_context *ctx = open_program(&mod);
    for (size_t i = 0; i < OMPJIT__COUNT(steps); i++)
        run_step(mod, i);
    for (size_t i = 0; i < OMPJIT__COUNT(steps); i++)
        second(mod, i);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

static void counts(void) { rounds(run_counted); }
static void results(void) { rounds(run_step); }

static void *run_together(void *fn)
{
    int bad = 0;
    for (int i = 0; i < 5; i++)
        bad += ((program_fn *)fn)();
    return (void *)(intptr_t)bad;
}

/* Data that remains mapped is freed with the context. */
static void left_over(void)
{
    ompjit_module *mod;
    ompjit_context *ctx = open_program(&mod);
    ok(!call(mod, "enter") && !call(mod, "leave_b") && !call(mod, "use"),
       "data stays");
    ok(!failure[0], "without a failure: %s", failure);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

/* Data of their own in three threads. */
static void threads(void)
{
    enum { THREADS = 3 };
    ompjit_module *mod;
    ompjit_error err = {0};
    ompjit_context *ctx = open_program(&mod);
    void (*fn)(void) = NULL;
    pthread_t list[THREADS];
    ok(!ompjit_module_function(mod, "attached", &fn, &err), "a function");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&list[i], NULL, run_together, (void *)fn);
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(list[i], &bad);
        ok(!bad && !failure[0], "right in thread %d: %s", i, failure);
    }
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

/* A copy behind the kernel does not count for storage that another construct
 * has used since. `update`: that one only updates it. Of `n` numbers, few are
 * staged; many are at their place already, which is cleared then. */
static void end_after(ompjit_device *dev, size_t n, bool used, bool update)
{
    static int data[5000], later[5000];
    void *at = data;
    int64_t size = (int64_t)(n * sizeof *data);
    int64_t both = OMPJIT__MAP_TO | OMPJIT__MAP_FROM;
    int64_t from = OMPJIT__MAP_FROM;
    ompjit__maps maps = {.n = 1, .bases = &at, .begins = &at, .sizes = &size,
                         .types = &both};
    ompjit__maps other = maps;
    ompjit__construct c;
    ompjit_error err = {0};
    data[0] = data[n - 1] = 1;
    later[0] = later[n - 1] = 5;
    bool good = !ompjit__construct_init(&c, dev, &maps, &err);
    ompjit__present_lock(c.table);
    good = good && !ompjit__construct_commit(
                       &c, true, ompjit__construct_begin(&c, &err), &err);
    ompjit__present_unlock(c.table);
    good = good && !ompjit__transfer_wait(&c, &err);
    data[n - 1] = 0;
    good = good && !ompjit__early_copy(&c, &err) &&
           !dev->ops->queues->wait(dev, c.queue, &err);
    ok(data[n - 1] == (n > 4), "%zu numbers, behind the kernel", n);
    void *device = c.items[0].device;
    if (used && !update)
        good = good && !ompjit__map_begin(dev, &other, &err);
    good = good && !ompjit_device_upload(dev, device, later, (size_t)size, &err);
    other.types = &from;
    if (used && update)
        good = good && !ompjit__map_update(dev, &other, &err);
    else if (used)
        good = good && !ompjit__map_end(dev, &maps, &err);
    memset(data, 0, sizeof data);
    ompjit__present_lock(c.table);
    good = good && !ompjit__construct_end(&c, true, true, &err);
    ompjit__present_unlock(c.table);
    ompjit__construct_free(&c);
    int expected = used ? 5 : n == 4;
    ok(good, "a construct with data: %s", err.text);
    ok(data[0] == expected && data[n - 1] == expected,
       used ? "what another may have changed is copied at the end: %d"
            : "what nobody else has seen is not copied again: %d", data[0]);
}

static void ahead(void)
{
    ompjit_module *mod;
    ompjit_device *dev = NULL;
    ompjit_context *ctx = open_program(&mod);
    ok(!ompjit_context_device(ctx, 0, &dev, NULL) &&
           !ompjit__device_ready(dev, NULL),
       "a device");
    for (int many = 0; many < 2; many++) {
        size_t n = many ? 5000 : 4;
        end_after(dev, n, false, false);
        end_after(dev, n, true, false);
        end_after(dev, n, true, true);
    }
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

#define MODE(name, fn, mode, needs)                                       \
    {name " " mode, fn, {"PTXI_STREAM=" mode, "OMPJIT_THREADS=64"}, CLEAN, \
     needs}
#define MODES(name, fn, needs)                                            \
    MODE(name, fn, "sync", EMULATED), MODE(name, fn, "async", needs),     \
    MODE(name, fn, "lazy", EMULATED)

static const struct scenario scenarios[] = {
    MODES("counts", counts, EMULATED),
    MODE("results", results, "async", ANY_DEVICE),
    MODES("left over", left_over, ANY_DEVICE),
    MODES("threads", threads, ANY_DEVICE),
    MODES("ahead", ahead, ANY_GPU),
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
