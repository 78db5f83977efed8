/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tuned geometries: found, remembered by size class, on disk, used where a
 * launch names none; and data that is as it was when the trials are over.
 */
#include <unistd.h>

#include "ompjit_tune.h"
#include "program.h"

static const char source[] =
    "#pragma omp declare target\n"
    "int calls;\n"
    "#pragma omp end declare target\n"
    "void step(int n, double *y) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: y[:n])\n"
    "  for (int i = 0; i < n; i++) { y[i] += 1; if (!i) calls++; }\n"
    "}\n"
    "int count(void) {\n"
    "#pragma omp target update from(calls)\n"
    "  return calls;\n"
    "}\n"
    "int scalar(int n) {\n"
    "  int sum = 5; struct { int a[4]; } p = {{1, 2, 3, 4}};\n"
    "#pragma omp target teams distribute parallel for map(tofrom: sum) "
    "firstprivate(p) reduction(+: sum)\n"
    "  for (int i = 0; i < n; i++) sum += p.a[i & 3];\n"
    "  return sum;\n"
    "}\n"
    "void inside(int n, double *y) {\n"
    "#pragma omp target data map(tofrom: y[:n])\n"
    "  {\n"
    "#pragma omp target teams distribute parallel for\n"
    "  for (int i = 0; i < n; i++) y[i] *= 2;\n"
    "  }\n"
    "}\n"
    "void fixed(int n, double *y) {\n"
    "#pragma omp target teams distribute parallel for num_teams(2) "
    "map(tofrom: y[:n])\n"
    "  for (int i = 0; i < n; i++) y[i] += 3;\n"
    "}\n"
    "void raw(int n, double *y) {\n"
    "#pragma omp target teams distribute parallel for is_device_ptr(y)\n"
    "  for (int i = 0; i < n; i++) y[i] += 1;\n"
    "}\n";

enum { N = 1000 };
static double y[N];
static char folder[] = "/tmp/ompjit-t-XXXXXX";
static char told[16384];

static void take_log(void *data, const char *message)
{
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s\n", message);
}

static void open_module(int tune, ompjit_host_memory memory, int cache)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    options.specialize.tune = tune;
    options.host_memory = memory;
    options.log = take_log;
    options.cache.mode = cache ? OMPJIT_CACHE_DISK : OMPJIT_CACHE_OFF;
    options.cache.dir = folder;
    told[0] = 0;
    open_program(&options, source);
}

/* ---------------------------------------------------------- explicit calls */

static const ompjit_arg args[] = {
    {.name = "n", .type = OMPJIT_ARG_I32, .value.i32 = N},
    {.name = "y", .type = OMPJIT_ARG_POINTER, .value.p = y}};

static ompjit_status tune(uint64_t tripcount, uint32_t teams,
                          const ompjit_geometry *tries, unsigned ntries,
                          ompjit_tuned *out)
{
    ompjit_region saved[] = {{y, sizeof y}};
    ompjit_tune_options o = OMPJIT_TUNE_OPTIONS_INIT;
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    l.tripcount = tripcount;
    l.teams = teams;
    o.tries = tries;
    o.ntries = ntries;
    o.repeats = 1;
    o.saved = saved;
    o.nsaved = 1;
    return ompjit_kernel_tune(kernel("step"), dev, &l, args, 2, &o, out, &err);
}

/* Teams of a launch that leaves them to the device. */
static uint32_t teams_of(uint64_t tripcount)
{
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    ompjit_launch_info info = OMPJIT_LAUNCH_INFO_INIT;
    l.tripcount = tripcount;
    if (ompjit_kernel_launch(kernel("step"), dev, &l, args, 2, &err) ||
        ompjit_kernel_last_launch(kernel("step"), dev, &info, &err))
        return 0;
    return info.teams;
}

static int all_are(double value)
{
    for (int i = 0; i < N; i++)
        if (y[i] != value)
            return 0;
    return 1;
}

static void explicit_calls(void)
{
    /* Whatever is fastest: the others are not among the tries. */
    static const ompjit_geometry tries[] = {{77, 0}, {78, 0}};
    static const ompjit_geometry bad[] = {{1, 100000}};
    static const ompjit_geometry absurd[] = {{1u << 31, 0}};
    ompjit_tuned r = OMPJIT_TUNED_INIT, again = OMPJIT_TUNED_INIT;
    memset(y, 0, sizeof y);
    open_module(0, OMPJIT_HOST_MEMORY_SHARED, 1);
    uint32_t usual = teams_of(N);
    ok(usual && usual < 77 && all_are(1), "by default %u teams", usual);
    ok(ompjit_kernel_tuned(kernel("step"), dev, N, &r, &err) ==
           OMPJIT_ERR_NOT_FOUND, "%s", err.text);
    int tuned = !tune(N, 0, tries, 2, &r);
    ok(tuned && r.tried == 3 && !r.failed && r.ns &&
           r.ns <= r.default_ns &&
           (r.teams == 0 || r.teams == 77 || r.teams == 78),
       "three geometries tried, %u teams are best", r.teams);
    ok(all_are(1), "the data is as it was");
    uint32_t best = r.teams ? r.teams : usual;
    ok(teams_of(N) == best && teams_of(N - 1) == best && teams_of(512) == best,
       "launches of that size class use it");
    ok(!ompjit_kernel_tuned(kernel("step"), dev, 700, &again, &err) &&
           again.teams == r.teams && again.ns == r.ns, "and it can be asked");
    ok(teams_of(511) == usual && teams_of(0) == usual &&
           ompjit_kernel_tuned(kernel("step"), dev, 511, &again, NULL),
       "those of another do not");
    ok(!tune(8, 5, tries, 2, &r) && r.tried == 1 && !r.teams &&
           ompjit_kernel_tuned(kernel("step"), dev, 8, &again, NULL),
       "teams that are named stay, and nothing is remembered");
    tuned = !tune(8, 0, NULL, 0, &r);
    ok(tuned && r.tried > 3, "the library's own tries: %u",
       r.tried);
    ok(ompjit_kernel_tune(kernel("step"), dev, NULL, args, 1, NULL, NULL,
                          &err) == OMPJIT_ERR_ARGUMENT, "%s", err.text);
    ok(tune(8, 0, NULL, 3, &r) == OMPJIT_ERR_INVALID, "%s", err.text);
    tuned = !tune(16, 0, bad, 1, &r);
    ok(tuned && r.tried == 1 && r.failed == 1,
       "a try that cannot be launched is left out");
    ok(tune(16, 0, absurd, 1, &r) == OMPJIT_ERR_INVALID, "%s", err.text);
    close_module();
}

/* In another context: what the first one found. */
static void remembered(void)
{
    ompjit_tuned r = OMPJIT_TUNED_INIT;
    open_module(0, OMPJIT_HOST_MEMORY_SHARED, 1);
    ok(!ompjit_kernel_tuned(kernel("step"), dev, 600, &r, &err) && r.ns &&
           !r.tried, "found on disk: %u teams", r.teams);
    ok(ompjit_kernel_tuned(kernel("scalar"), dev, 600, &r, &err) ==
           OMPJIT_ERR_NOT_FOUND, "not for another kernel");
    close_module();
    open_module(0, OMPJIT_HOST_MEMORY_SHARED, 0);
    ok(ompjit_kernel_tuned(kernel("step"), dev, 600, &r, &err) ==
           OMPJIT_ERR_NOT_FOUND, "without the cache nothing is");
    close_module();
}

/* A geometry that is known before the launch is the one that runs. */
static void used(void)
{
    static const ompjit_geometry tries[] = {{7, 0}};
    ompjit_tuned r = OMPJIT_TUNED_INIT;
    memset(y, 0, sizeof y);
    setenv("OMPJIT_TEAMS", "3", 1);
    open_module(0, OMPJIT_HOST_MEMORY_SHARED, 0);
    ok(teams_of(N) == 3, "the user's number of teams");
    ok(!tune(N, 0, tries, 1, &r) && teams_of(N) == 3,
       "stays, whatever is faster");
    close_module();
    unsetenv("OMPJIT_TEAMS");
}

/* ----------------------------------------------------------- target regions */

static void *function(const char *name)
{
    void (*fn)(void) = NULL;
    if (ompjit_module_function(mod, name, &fn, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return (void *)fn;
}

static int is_tuned(const char *name, uint64_t tripcount)
{
    ompjit_tuned r = OMPJIT_TUNED_INIT;
    return !ompjit_kernel_tuned(kernel(name), dev, tripcount, &r, &err) &&
           r.tried > 1;
}

static void regions(ompjit_host_memory memory, const char *how)
{
    open_module(1, memory, 0);
    void (*step)(int, double *) = (void (*)(int, double *))function("step");
    void (*inside)(int, double *) =
        (void (*)(int, double *))function("inside");
    void (*fixed)(int, double *) = (void (*)(int, double *))function("fixed");
    void (*raw)(int, double *) = (void (*)(int, double *))function("raw");
    int (*scalar)(int) = (int (*)(int))function("scalar");
    int (*count)(void) = (int (*)(void))function("count");
    memset(y, 0, sizeof y);
    step(N, y);
    ok(all_are(1) && is_tuned("step", N), "%s: a region runs once more", how);
    ok(count() == 1, "%s: and changes a variable once", how);
    step(N, y);
    ok(all_are(2) && count() == 2, "%s: tuned only the first time", how);
    ok(scalar(8) == 5 + 2 * 10 && scalar(8) == 25 && is_tuned("scalar", 8),
       "%s: reductions, private structs", how);
    inside(N, y);
    ok(all_are(4) && is_tuned("inside", N), "%s: data that is there already",
       how);
    fixed(N, y);
    ok(all_are(7) && !is_tuned("fixed", N), "%s: not where teams are named",
       how);
    void *there = NULL;
    if (!ompjit_device_alloc(dev, sizeof y, &there, &err) &&
        !ompjit_device_upload(dev, there, y, sizeof y, &err)) {
        raw(N, there);
        ompjit_device_download(dev, y, there, sizeof y, &err);
    }
    ompjit_device_free(dev, there, NULL);
    ok(all_are(8) && !is_tuned("raw", N) &&
           strstr(told, "is passed an address"),
       "%s: not where memory is reached that nobody knows", how);
    close_module();
}

int main(void)
{
    if (!mkdtemp(folder)) {
        puts("Bail out! no temporary folder");
        return 1;
    }
    unsetenv("OMPJIT_CACHE");
    explicit_calls();
    remembered();
    used();
    regions(OMPJIT_HOST_MEMORY_SHARED, "shared");
    regions(OMPJIT_HOST_MEMORY_SEPARATE, "separate");
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ok(!system(command), "cleaned");
    done_testing();
}
