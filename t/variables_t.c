/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Programs with variables of their own: each variant of a kernel, and the
 * generic code, work on the same ones.
 */
#include "cuda_work.h"
#include "device/cuda/driver.h"
#include "ompjit_tune.h"
#include "ptxi.h"

static const char source[] =
    "#define FOR(i, n) for (int i = 0; i < n; i++)\n"
    "#pragma omp begin declare target\n"
    "int total = 5, table[8] = {1, 2, 3};\n"
    "static int hidden = 7;\n"
    "int *where = &table[2];\n"
    "static int *const fixed[2] = {&total, &hidden};\n"
    "static int count(int by) { static int calls; return calls += by; }\n"
    "#pragma omp end declare target\n"
    "int far_away[4];\n"
    "#pragma omp declare target link(far_away)\n"
    "int add(int n) { int r = 0;\n"
    "#pragma omp target map(from: r) firstprivate(n)\n"
    "  { total += n; table[n % 8] += n; hidden++; *where += 100;\n"
    "    *fixed[n % 2] += 1000; r = count(n); }\n"
    "  return r; }\n"
    "int look(int k) { int r = 0;\n"
    "#pragma omp target map(from: r) firstprivate(k)\n"
    "  r = k == 0 ? total : k == 1 ? hidden : k == 2 ? table[2] :\n"
    "      where == &table[2];\n"
    "  return r; }\n"
    "int linked(int n) {\n"
    "  FOR(i, 4) far_away[i] = i;\n"
    "#pragma omp target map(tofrom: far_away) firstprivate(n)\n"
    "  FOR(i, 4) far_away[i] += n;\n"
    "  return far_away[3]; }\n"
    "int updated(int n) { total = n;\n"
    "#pragma omp target update to(total)\n"
    "  add(n);\n"
    "#pragma omp target update from(total)\n"
    "  return total; }\n"
    "int critical(int n) { int r = 0;\n"
    "#pragma omp target teams distribute parallel for num_teams(2) \\\n"
    "    thread_limit(32) map(tofrom: r) firstprivate(n)\n"
    "  FOR(i, 64) {\n"
    "    _Pragma(\"omp critical\") { hidden += n; r++; }\n"
    "  }\n"
    "  return r; }\n";

/* Functions whose addresses are one image's stay in one image. */
static const char calls_back[] =
    "#pragma omp begin declare target\n"
    "static int twice(int n) { return 2 * n; }\n"
    "static int (*now)(int) = twice;\n"
    "#pragma omp end declare target\n"
    "int call(int n) { int r = 0;\n"
    "#pragma omp target map(from: r) firstprivate(n)\n"
    "  r = now(n);\n"
    "  return r; }\n";

/* More kernels than one image is made for. */
static const char many[] =
    "#pragma omp begin declare target\n"
    "int total = 1;\n"
    "#pragma omp end declare target\n"
    "#define KERNEL(k) int add##k(int n) { int r = 0; \\\n"
    "  _Pragma(\"omp target map(from: r) firstprivate(n)\") \\\n"
    "  r = total += n * k; \\\n"
    "  return r; }\n"
    "KERNEL(1) KERNEL(2) KERNEL(3) KERNEL(4) KERNEL(5)\n"
    "KERNEL(6) KERNEL(7) KERNEL(8) KERNEL(9) KERNEL(10)\n"
    "int updated(int n) { total = n;\n"
    "#pragma omp target update to(total)\n"
    "  return n; }\n";

struct program {
    ompjit_context *ctx;
    ompjit_module *mod;
    ompjit_device *dev;
};

static bool on_host; /* the same program there */
static char failure[OMPJIT_ERROR_TEXT];

static void note(void *data, const ompjit_error *err)
{
    memcpy(failure, err->text, sizeof failure);
}

static void open_program(struct program *p, const char *text,
                         ompjit_specialize specialize)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_error err = {0};
    options.devices = on_host ? "host" : test_device();
    options.compiler.assembler = OMPJIT_ASSEMBLER_DRIVER;
    options.host_memory = OMPJIT_HOST_MEMORY_SEPARATE;
    options.on_failure = note;
    options.specialize.mode = specialize;
    options.specialize.launches_before_variant = 1;
    if (ompjit_context_create(&options, &p->ctx, &err) ||
        ompjit_module_from_c(p->ctx, text, NULL, &p->mod, &err) ||
        ompjit_context_device(p->ctx, 0, &p->dev, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
}

static void close_program(struct program *p)
{
    ompjit_module_destroy(p->mod);
    ompjit_context_destroy(p->ctx);
}

static int call(const struct program *p, const char *name, int n)
{
    ompjit_error err = {0};
    void (*fn)(void) = NULL;
    failure[0] = 0;
    if (ompjit_module_function(p->mod, name, &fn, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    int result = ((int (*)(int))fn)(n);
    ok(!failure[0], "%s(%d): %s", name, n, failure);
    return result;
}

static unsigned folded(const struct program *p, const char *name)
{
    ompjit_kernel *kernel = NULL;
    ompjit_launch_info info = OMPJIT_LAUNCH_INFO_INIT;
    ok(!ompjit_module_kernel(p->mod, name, &kernel, NULL) &&
           !ompjit_kernel_last_launch(kernel, p->dev, &info, NULL),
       "%s has run", name);
    return info.folded_args;
}

/* The results of the calls of add, computed here. */
struct expected {
    int total, hidden, table[8], calls;
};

static void expect_add(struct expected *e, int n)
{
    e->total += n;
    e->table[n % 8] += n;
    e->hidden++;
    e->table[2] += 100;
    *(n % 2 ? &e->hidden : &e->total) += 1000;
    e->calls += n;
}

static void compare(const struct program *p, const struct expected *e)
{
    ok(call(p, "look", 0) == e->total, "a scalar");
    ok(call(p, "look", 1) == e->hidden, "a static variable");
    ok(call(p, "look", 2) == e->table[2], "an element, by a pointer too");
    ok(call(p, "look", 3) == 1, "addresses are the same");
}

static void run_program(ompjit_specialize specialize)
{
    struct program p = {0};
    struct expected e = {5, 7, {1, 2, 3}, 0};
    static const int values[] = {3, 4, 3, 6, 4};
    open_program(&p, source, specialize);
    for (size_t i = 0; i < OMPJIT__COUNT(values); i++) {
        expect_add(&e, values[i]);
        ok(call(&p, "add", values[i]) == e.calls, "a function's own variable");
        if (specialize == OMPJIT_SPECIALIZE_NOW)
            ok(folded(&p, "add") == 1, "in a variant");
    }
    compare(&p, &e);
    ok(call(&p, "linked", 2) == 5 && call(&p, "linked", 3) == 6,
       "a linked variable");
    e.total = 50;
    expect_add(&e, 50);
    ok(call(&p, "updated", 50) == e.total, "an update from the host and back");
    ok(call(&p, "critical", 2) == 64, "a critical section");
    e.hidden += 128;
    compare(&p, &e);
    close_program(&p);
}

static void specialized(void)
{
    run_program(OMPJIT_SPECIALIZE_NOW);
}

static void generic(void)
{
    run_program(OMPJIT_SPECIALIZE_OFF);
}

static void automatic(void)
{
    run_program(OMPJIT_SPECIALIZE_AUTO);
}

static void host(void)
{
    on_host = true;
    run_program(OMPJIT_SPECIALIZE_NOW);
    on_host = false;
}

static uint64_t builds(const struct program *p)
{
    ompjit_variant_stats stats = OMPJIT_VARIANT_STATS_INIT;
    ok(!ompjit_module_variants(p->mod, &stats, NULL), "the statistics");
    return stats.builds;
}

static void some_of_many(void)
{
    struct program p = {0};
    open_program(&p, many, OMPJIT_SPECIALIZE_OFF);
    ok(call(&p, "add3", 1) == 4 && call(&p, "add10", 2) == 24 &&
           call(&p, "add3", 1) == 27,
       "kernels of a large module share its variables");
    ok(call(&p, "updated", 50) == 50 && call(&p, "add10", 1) == 60,
       "which the host finds, too");
    /* The variables were looked up first, in the first kernel's image. */
    ok(builds(&p) == 3, "only kernels that run are built");
    close_program(&p);
}

static void some_on_host(void)
{
    on_host = true;
    some_of_many();
    on_host = false;
}

static void functions(void)
{
    struct program p = {0};
    open_program(&p, calls_back, OMPJIT_SPECIALIZE_NOW);
    ok(call(&p, "call", 4) == 8, "a variable that is a function's address");
    if (strcmp(test_device(), "host"))
        ok(folded(&p, "call") == 0, "is no variant's");
    close_program(&p);
}

/* Each way to find out where variables are fails once. */
static void faults(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    static const char symbol[] = "cuModuleGetGlobal_v2";
    int n = 0;
    for (bool came = true; came; n += came) {
        struct program p = {0};
        char spec[64];
        open_program(&p, source, OMPJIT_SPECIALIZE_NOW);
        ok(call(&p, "add", 3) == 3, "a first image");
        snprintf(spec, sizeof spec, "%s:%d:999", symbol, n + 1);
        void (*fn)(void) = NULL;
        failure[0] = 0;
        ompjit_module_function(p.mod, "add", &fn, NULL);
        ptxi_driver_fail(spec);
        ((int (*)(int))fn)(4);
        came = ptxi_driver_calls(symbol) > n;
        ptxi_driver_fail(NULL);
        if (came)
            ok_contains(failure, "looking up variable", "the failure is told");
        else
            ok(!failure[0], "no more calls: %s", failure);
        failure[0] = 0;
        call(&p, "add", 4);
        close_program(&p);
    }
    ok(n > 4, "%d variables and their table are looked up", n);
}

static const struct scenario scenarios[] = {
    {"specialized", specialized, {"PTXI_STREAM=async"}, CLEAN, ANY_DEVICE},
    {"automatic", automatic, {"PTXI_STREAM=async"}, CLEAN, ANY_DEVICE},
    {"generic", generic, {"PTXI_STREAM=async"}, CLEAN, ANY_DEVICE},
    {"host", host, {"PTXI_STREAM=async"}, NULL, EMULATED},
    {"some of many", some_of_many, {"PTXI_STREAM=async"}, CLEAN, ANY_DEVICE},
    {"some on the host", some_on_host, {"PTXI_STREAM=async"}, NULL, EMULATED},
    {"functions", functions, {"PTXI_STREAM=async"}, CLEAN, ANY_DEVICE},
    {"faults", faults, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
