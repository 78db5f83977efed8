/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program's data constructs, one after the other on the same data, on any
 * device; then with each call of each driver function failing once: the failure
 * is told, reference counts are what they were before the construct or, where
 * its end could only not free, after it, the application's own context is
 * current, and the same construct and all that follow then do what they should,
 * in the same context. So it is with each call while the context ends, where
 * nobody is told but the log.
 */
#include "cache.h"
#include "cuda_work.h"
#include "device/cuda/driver.h"
#include "mapping/present_table.h"
#include "ptxi.h"

static const char source[] =
    "enum { M = 600 };\n"
    "double a[M], b[M], x[M], small[3];\n"
    "struct s { int n; double *p; } s = {M, a};\n"
    "int factor = 2;\n"
    "#pragma omp declare target to(factor)\n"
    "void *place(int i) { return i == 0 ? a : i == 1 ? b : x; }\n"
    "int begin(void) {\n"
    "  for (int i = 0; i < M; i++) { a[i] = i; b[i] = x[i] = -1; }\n"
    "  return 0; }\n"
    "int enter(void) {\n"
    "#pragma omp target enter data map(to: a) map(alloc: b)\n"
    "  return 0; }\n"
    "int change(void) {\n"
    "  for (int i = 0; i < M; i++) a[i] = i + 3;\n"
    "#pragma omp target update to(a)\n"
    "  return 0; }\n"
    "int compute(void) {\n"
    "  double t = 0, w[4] = {1, 2, 3, 4};\n"
    "#pragma omp target teams distribute parallel for reduction(+: t) \\\n"
    "    firstprivate(w) map(to: s, s.p[:M]) map(tofrom: b)\n"
    "  for (int i = 0; i < M; i++) {\n"
    "    b[i] = s.p[i] * factor + w[i % 4];\n"
    "    t += s.p[i]; }\n"
    "  return t != M * (M - 1) / 2.0 + 3 * M; }\n"
    "int little(void) {\n"
    "  small[0] = small[1] = small[2] = 1;\n"
    "#pragma omp target map(tofrom: small) map(to: a)\n"
    "  { small[1] += a[4]; }\n"
    "  return small[0] != 1 || small[1] != 8 || small[2] != 1; }\n"
    "int fetch(void) {\n"
    "  int bad = 0;\n"
    "  for (int i = 0; i < M; i++) b[i] = -1;\n"
    "#pragma omp target update from(b)\n"
    "  for (int i = 0; i < M; i++) bad += b[i] != 2 * i + 7 + i % 4;\n"
    "  return bad; }\n"
    "int deferred(void) {\n"
    "  int bad = 0;\n"
    "  for (int i = 0; i < M; i++) x[i] = i;\n"
    "#pragma omp target enter data map(to: x) nowait depend(out: x)\n"
    "#pragma omp target map(tofrom: x) nowait depend(inout: x)\n"
    "  for (int i = 0; i < M; i++) x[i] += 5;\n"
    "#pragma omp target update from(x) nowait depend(inout: x)\n"
    "#pragma omp target exit data map(delete: x) nowait depend(inout: x)\n"
    "#pragma omp taskwait\n"
    "  for (int i = 0; i < M; i++) bad += x[i] != i + 5;\n"
    "  return bad; }\n"
    "int region(void) {\n"
    "  int bad = 0;\n"
    "  for (int i = 0; i < M; i++) x[i] = i;\n"
    "#pragma omp target data map(tofrom: x)\n"
    "  {\n"
    "#pragma omp target map(tofrom: x)\n"
    "    for (int i = 0; i < M; i++) x[i] += 7;\n"
    "  }\n"
    "  for (int i = 0; i < M; i++) bad += x[i] != i + 7;\n"
    "  return bad; }\n"
    "int forget(void) {\n"
    "#pragma omp target exit data map(delete: x)\n"
    "  return 0; }\n"
    "int leave(void) {\n"
    "#pragma omp target exit data map(release: a, b)\n"
    "  return 0; }\n"
    "int leave_last(void) {\n"
    "  int bad = 0;\n"
    "  for (int i = 0; i < M; i++) b[i] = -1;\n"
    "#pragma omp target exit data map(release: a) map(from: b)\n"
    "  for (int i = 0; i < M; i++) bad += b[i] != 2 * i + 7 + i % 4;\n"
    "  return bad; }\n";

/* Which functions are called, and how often a and b are mapped after each. A
 * failure within `loose` ones, which are several constructs, may leave x
 * mapped, which `forget` ends. */
static const struct step {
    const char *name;
    unsigned count;
    bool loose;
} steps[] = {
    {"enter", 1, false},   {"enter", 2, false},    {"change", 2, false},
    {"compute", 2, false}, {"little", 2, false},   {"fetch", 2, false},
    {"region", 2, true},   {"deferred", 2, true},  {"leave", 1, false},
    {"leave_last", 0, false},
};

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static ompjit_error first; /* failure of a construct */

static void note(void *data, const ompjit_error *err)
{
    pthread_mutex_lock(&first_lock);
    if (!first.status)
        first = *err;
    pthread_mutex_unlock(&first_lock);
}

struct program {
    ompjit_context *ctx;
    ompjit_module *mod;
    void *places[3]; /* of a, b, x */
};

static void need(ompjit_status status, const ompjit_error *err)
{
    if (!status)
        return;
    printf("Bail out! %s\n", err->text);
    exit(1);
}

static void (*function(struct program *p, const char *name))(void)
{
    ompjit_error err = {0};
    void (*fn)(void) = NULL;
    need(ompjit_module_function(p->mod, name, &fn, &err), &err);
    return fn;
}

static void open_program(struct program *p, const char *text)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_module_options module = OMPJIT_MODULE_OPTIONS_INIT;
    static const char *const flags[] = {"-fopenmp-version=51"};
    ompjit_error err = {0};
    options.devices = test_device();
    options.compiler.assembler = OMPJIT_ASSEMBLER_DRIVER;
    options.host_memory = OMPJIT_HOST_MEMORY_SEPARATE;
    options.log = take_log;
    options.on_failure = note;
    options.cache.mode = OMPJIT_CACHE_DISK;
    options.cache.dir = folder;
    module.flags = flags;
    module.nflags = OMPJIT__COUNT(flags);
    first = (ompjit_error){0};
    logged[0] = 0;
    need(ompjit_context_create(&options, &p->ctx, &err), &err);
    need(ompjit_module_from_c(p->ctx, text, &module, &p->mod, &err), &err);
    typedef void *place_fn(int i);
    place_fn *place = (place_fn *)function(p, "place");
    for (int i = 0; i < 3; i++)
        p->places[i] = place(i);
}

static void close_program(struct program *p)
{
    ompjit_module_destroy(p->mod);
    ompjit_context_destroy(p->ctx);
}

static int call(struct program *p, const char *name)
{
    typedef int step_fn(void);
    return ((step_fn *)function(p, name))();
}

/* How often an array is mapped. */
static unsigned counted(struct program *p, int i)
{
    ompjit_device *dev;
    ompjit__mapped *entry;
    if (ompjit_context_device(p->ctx, 0, &dev, NULL))
        return 0;
    ompjit__present_lock(dev->present);
    ompjit__present_find(dev->present, p->places[i], 8, &entry);
    unsigned n = entry ? (unsigned)ompjit__mapped_count(entry) : 0;
    ompjit__present_unlock(dev->present);
    return n;
}

static bool counts(struct program *p, unsigned a_and_b)
{
    return counted(p, 0) == a_and_b && counted(p, 1) == a_and_b;
}

/* After the failure of a step that began with `before`: again, unless it is
 * over. False, with a reason, where that is not right. */
static bool recover(struct program *p, const struct step *s, unsigned before,
                    bool failed)
{
    bool over = counts(p, s->count), as_before = counts(p, before);
    if (!over && !as_before) {
        printf("# %s: a and b are mapped %u and %u times\n", s->name,
               counted(p, 0), counted(p, 1));
        return false;
    }
    if (counted(p, 2) > s->loose) {
        printf("# %s: x is mapped\n", s->name);
        return false;
    }
    first = (ompjit_error){0};
    if (counted(p, 2) && call(p, "forget"))
        return false;
    /* Where no device is found the host does it, and the log says why. */
    bool repeat = as_before && (failed || !over);
    if (repeat && call(p, s->name)) {
        printf("# %s: wrong the second time, %s\n", s->name, first.text);
        return false;
    }
    if (first.status)
        printf("# %s: fails again, %s\n", s->name, first.text);
    return !first.status;
}

/* A step, with what the driver has been told to fail at. */
static bool run_step(struct program *p, size_t i, const char *words,
                     const char *symbol, int n, bool *came)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    const struct step *s = &steps[i];
    unsigned before = i ? steps[i - 1].count : 0;
    int bad = call(p, s->name);
    bool failed = first.status, now = !*came && ptxi_driver_calls(symbol) >= n;
    if (now) {
        *came = true;
        ptxi_driver_fail(NULL);
        if (!strstr(first.text, words) && !strstr(logged, words)) {
            printf("# %s: not told: %s, log %s\n", s->name, first.text,
                   logged);
            return false;
        }
    }
    bool right = now ? (failed || !bad) && recover(p, s, before, failed)
                     : !failed && !bad;
    if (!right)
        printf("# step %zu, %s: %d wrong, %s\n", i, s->name, bad, first.text);
    if (!counts(p, s->count) || counted(p, 2)) {
        printf("# %s: in the end mapped %u, %u, %u times\n", s->name,
               counted(p, 0), counted(p, 1), counted(p, 2));
        right = false;
    }
    return right;
}

/* All steps with the Nth call failing. */
static bool fault(const char *function, const char *symbol, int n, bool *came)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(cu_result, cuCtxGetCurrent, cu_context *);
    cu_context own;
    char spec[128], words[128];
    struct program p;
    bool right = true;
    snprintf(spec, sizeof spec, "%s:%d:999", symbol, n);
    snprintf(words, sizeof words, "%s: CUDA_ERROR_UNKNOWN (999, ", function);
    cuCtxGetCurrent(&own);
    open_program(&p, source);
    call(&p, "begin");
    ptxi_driver_fail(spec);
    for (size_t i = 0; i < OMPJIT__COUNT(steps) && right; i++)
        right = run_step(&p, i, words, symbol, n, came) && is_current(own);
    ptxi_driver_fail(NULL);
    close_program(&p);
    right = right && is_current(own);
    if (!right)
        printf("# with %s\n", spec);
    return right;
}

static void set_up(void)
{
    setenv("OMPJIT_CACHE", "1", 1);
    setenv("OMPJIT_TEAMS", "2", 1);
    setenv("OMPJIT_THREADS", "64", 1);
    fresh_folder();
}

static void unharmed(void)
{
    struct program p;
    set_up();
    open_program(&p, source);
    call(&p, "begin");
    for (size_t i = 0; i < OMPJIT__COUNT(steps); i++) {
        int bad = call(&p, steps[i].name);
        ok(!bad && !first.status, "%s is right: %s", steps[i].name,
           first.text);
        ok(counts(&p, steps[i].count) && !counted(&p, 2),
           "a and b are mapped %u times", steps[i].count);
    }
    close_program(&p);
    remove_tree(folder);
}

static void faults(void)
{
    static const char *const functions[][2] = {
#define CU_FUNCTION(name, suffix, version, required, args) \
    {#name, #name suffix},
#include "device/cuda/driver.def"
    };
    set_up();
    cu_context own = own_context();
    int all = 0;
    for (size_t i = 0; i < OMPJIT__COUNT(functions); i++) {
        int n = 0, wrong = 0;
        if (!strncmp(functions[i][0], "cuGet", 5)) /* once in a process */
            continue;
        for (bool came = true; came; n += came) {
            came = false;
            wrong += !fault(functions[i][0], functions[i][1], n + 1, &came);
        }
        all += n;
        if (n)
            ok(!wrong, "%s: each of %d failures is over for what comes next",
               functions[i][0], n);
    }
    end_own_context(own);
    ok(all > 200, "%d failures", all);
    remove_tree(folder);
}

/* Leaves data mapped, and behind the scenes memory for reductions and a table
 * of functions that are called through pointers. */
static const char last_source[] =
    "double a[600];\n"
    "int twice(int i) { return 2 * i; }\n"
    "#pragma omp declare target to(twice) indirect\n"
    "void *place(int i) { return a; }\n"
    "int use(void) {\n"
    "  int (*f)(int) = twice;\n"
    "  double t = 0;\n"
    "  for (int i = 0; i < 600; i++) a[i] = i;\n"
    "#pragma omp target enter data map(to: a)\n"
    "#pragma omp target teams distribute parallel for reduction(+: t)\n"
    "  for (int i = 0; i < 600; i++) t += a[i] + f(i);\n"
    "  return t != 3 * 600 * 599 / 2; }\n";

/* The Nth call fails when that ends: logged, and freed. */
static bool last_fault(const char *function, const char *symbol, int n,
                       bool *came)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    char spec[128], words[128];
    struct program p;
    snprintf(spec, sizeof spec, "%s:%d:999", symbol, n);
    snprintf(words, sizeof words, "%s: CUDA_ERROR_UNKNOWN (999, ", function);
    open_program(&p, last_source);
    int bad = call(&p, "use");
    logged[0] = 0;
    ptxi_driver_fail(spec);
    close_program(&p);
    *came = ptxi_driver_calls(symbol) >= n;
    ptxi_driver_fail(NULL);
    bool told = !*came || strstr(logged, words);
    if (told && !bad && !first.status)
        return clean();
    printf("# with %s: %d wrong, %s; log %s\n", spec, bad, first.text, logged);
    return false;
}

static void last_faults(void)
{
    static const char *const functions[][2] = {
#define CU_FUNCTION(name, suffix, version, required, args) \
    {#name, #name suffix},
#include "device/cuda/driver.def"
    };
    setenv("OMPJIT_CACHE", "1", 1);
    setenv("OMPJIT_TEAMS", "2", 1);
    setenv("OMPJIT_THREADS", "64", 1);
    fresh_folder();
    int all = 0;
    for (size_t i = 0; i < OMPJIT__COUNT(functions); i++) {
        int n = 0, wrong = 0;
        for (bool came = true; came; n += came)
            wrong += !last_fault(functions[i][0], functions[i][1], n + 1,
                                 &came);
        all += n;
        if (n)
            ok(!wrong, "%s: nothing is left by each of %d failures in the end",
               functions[i][0], n);
    }
    ok(all > 20, "%d failures", all);
    remove_tree(folder);
}

static const struct scenario scenarios[] = {
    {"unharmed", unharmed, {NULL}, CLEAN, ANY_DEVICE},
    {"sync", faults, {"PTXI_STREAM=sync"}, CLEAN, EMULATED},
    {"async", faults, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"lazy", faults, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"the end", last_faults, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
