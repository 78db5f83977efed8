/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Launches on the host device that do not end by themselves: aborted by another
 * thread or a signal handler, stopped by a time limit, or because another thread
 * of theirs has failed. The next launch works, others are not disturbed, and the
 * runtime's locks are free.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "ompjit.h"
#include "tap.h"

/* Each kernel is endless where `how` is 0, and says in x[64] that it runs: only
 * then it can be aborted. */
enum { RUNS = 64, N };
static const char source[] =
    "#include <math.h>\n"
    "#include <omp.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "unsigned sleep(unsigned);\n"
    "#pragma omp begin declare target\n"
    "omp_lock_t lock;\n"
    "omp_nest_lock_t nest;\n"
    "volatile double sink;\n"
    "#pragma omp end declare target\n"
    "#define BEGIN if (!how) { _Pragma(\"omp atomic write\") x[64] = 1; }\n"
    "void spin(int how, int *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:65])\n"
    "  for (int i = 0; i < 64; i++) {\n"
    "    volatile int go = !how;\n"
    "    BEGIN\n"
    "    while (go) ;\n"
    "    x[i]++;\n"
    "  }\n"
    "}\n"
    "void team(int how, int *x) {\n"
    "#pragma omp target parallel map(tofrom: x[:65])\n"
    "  {\n"
    "    volatile int go = !how && omp_get_thread_num() == 1;\n"
    "    BEGIN\n"
    "    while (go) ;\n"
    "#pragma omp barrier\n"
    "    if (omp_get_thread_num() == 0) for (int i = 0; i < 64; i++) x[i]++;\n"
    "  }\n"
    "}\n"
    "void library(int how, int *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:65])\n"
    "  for (int i = 0; i < 64; i++) {\n"
    "    volatile int go = !how;\n"
    "    char room[4000];\n"
    "    BEGIN\n"
    "    while (go) {\n"
    "      sink = fmod(sink + 1e300, 3.25);\n"
    "      memset(room, i, sizeof room);\n"
    "      sink += room[i];\n"
    "      char *volatile p = malloc(100 + i);\n"
    "      free(p);\n"
    "    }\n"
    "    x[i]++;\n"
    "  }\n"
    "}\n"
    "void waits(int how, int *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:65])\n"
    "  for (int i = 0; i < 64; i++) {\n"
    "    volatile int go = !how;\n"
    "    BEGIN\n"
    "    while (go) sleep(1000);\n"
    "    x[i]++;\n"
    "  }\n"
    "}\n"
    "void locked(int how, int *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:65])\n"
    "  for (int i = 0; i < 64; i++) {\n"
    "#pragma omp critical\n"
    "    {\n"
    "      omp_set_lock(&lock);\n"
    "      omp_set_nest_lock(&nest);\n"
    "      omp_set_nest_lock(&nest);\n"
    "      volatile int go = !how;\n"
    "      BEGIN\n"
    "      while (go) ;\n"
    "      if (how == 2 && i == 63) __builtin_trap();\n"
    "      if (how == 3 && i == 63) *(volatile int *)8 = 1;\n"
    "      x[i]++;\n"
    "      omp_unset_nest_lock(&nest);\n"
    "      omp_unset_nest_lock(&nest);\n"
    "      omp_unset_lock(&lock);\n"
    "    }\n"
    "  }\n"
    "}\n"
    "void one_fails(int how, int *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:65])\n"
    "  for (int i = 0; i < 64; i++) {\n"
    "    volatile int go = !how && i < 40;\n"
    "    while (go) ;\n"
    "    if (!how && i == 62) sleep(1);\n"
    "    if (!how && i == 63) __builtin_trap();\n"
    "    x[i]++;\n"
    "  }\n"
    "}\n"
    "void ends(int how, int *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:65])\n"
    "  for (int i = 0; i < 64; i++) {\n"
    "    if (i == 63) __builtin_trap();\n"
    "    for (volatile int n = 0; n < how; n++) ;\n"
    "    x[i]++;\n"
    "  }\n"
    "}\n";

static ompjit_context *ctx;
static ompjit_module *mod;
static ompjit_device *dev;
static ompjit_error err;
static int x[N];

static bool runs(void)
{
    return *(volatile int *)&x[RUNS];
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool start(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    return !ompjit_context_create(&options, &ctx, &err) &&
           !ompjit_context_device(ctx, 0, &dev, &err) &&
           !ompjit_module_from_c(ctx, source, NULL, &mod, &err);
}

static ompjit_kernel *kernel_of(const char *name)
{
    ompjit_kernel *k = NULL;
    ompjit_module_kernel(mod, name, &k, &err);
    return k;
}

static ompjit_status run(const char *name, int how, uint32_t limit_ms)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[] = {
        {.name = "how", .type = OMPJIT_ARG_I32, .value.i32 = how},
        {.name = "x", .type = OMPJIT_ARG_POINTER, .value.p = x}};
    launch.time_limit_ms = limit_ms;
    x[RUNS] = 0;
    return ompjit_kernel_launch(kernel_of(name), dev, &launch, args, 2, &err);
}

/* It runs well. */
static bool works(const char *name)
{
    memset(x, 0, sizeof x);
    if (run(name, 1, 0))
        return false;
    for (int i = 0; i < 64; i++)
        if (x[i] != 1)
            return false;
    return true;
}

/* ---------------------------------------------------------- by a thread */

enum way { KERNEL, DEVICE };

struct aborter {
    const char *name;
    enum way way;
    ompjit_status status;
};

static void *abort_soon(void *data)
{
    struct aborter *a = data;
    while (!runs())
        usleep(1000);
    usleep(50000);
    a->status = a->way == KERNEL ? ompjit_kernel_abort(kernel_of(a->name), NULL)
                                 : ompjit_device_abort(dev, NULL);
    return NULL;
}

static void by_thread(const char *name, enum way way)
{
    struct aborter a = {name, way, OMPJIT_ERR_INTERNAL};
    pthread_t thread;
    ok(works(name), "%s works", name);
    double begin = now();
    x[RUNS] = 0;
    pthread_create(&thread, NULL, abort_soon, &a);
    ompjit_status status = run(name, 0, 0);
    pthread_join(thread, NULL);
    ok(status == OMPJIT_ERR_ABORTED && !a.status && now() - begin < 20,
       "%s is aborted by its %s", name, way == KERNEL ? "kernel" : "device");
    ok_contains(err.text, "the launch was aborted", "%s", err.text);
    ok_contains(err.text, "(snippet.c:", "where it was");
    ok(works(name), "%s works again", name);
}

/* ---------------------------------------------------- by a signal handler */

enum { LONGEST = 600 }; /* seconds that the test may take */

static ompjit_kernel *volatile to_abort;
static volatile int aborts;

static void on_alarm(int number)
{
    (void)number;
    if (runs() && !aborts)
        aborts += !ompjit_kernel_abort(to_abort, NULL);
}

static void by_handler(const char *name)
{
    struct sigaction action = {.sa_handler = on_alarm}, before;
    struct itimerval soon = {.it_value = {.tv_usec = 50000},
                             .it_interval = {.tv_usec = 50000}};
    to_abort = kernel_of(name);
    aborts = 0;
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &soon, NULL);
    ompjit_status status = run(name, 0, 0);
    soon = (struct itimerval){0};
    setitimer(ITIMER_REAL, &soon, NULL);
    sigaction(SIGALRM, &before, NULL);
    alarm(LONGEST); /* which the timer has taken the place of */
    ok(status == OMPJIT_ERR_ABORTED && aborts == 1,
       "%s is aborted in a signal handler: %s", name, err.text);
    ok(works(name), "and works again");
}

/* ------------------------------------------------------------ bound, functions */

static void bound(void)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_bound *b;
    ompjit_arg args[] = {
        {.name = "how", .type = OMPJIT_ARG_I32, .value.i32 = 0},
        {.name = "x", .type = OMPJIT_ARG_POINTER, .value.p = x}};
    struct aborter a = {"spin", KERNEL, OMPJIT_ERR_INTERNAL};
    pthread_t thread;
    launch.teams = launch.threads = 1;
    ok(!ompjit_kernel_bind(kernel_of("spin"), dev, &launch, args, 2, &b, &err),
       "bound");
    for (int round = 0; round < 3; round++) {
        x[RUNS] = 0;
        pthread_create(&thread, NULL, abort_soon, &a);
        ok(ompjit_bound_run(b, &err) == OMPJIT_ERR_ABORTED,
           "a bound launch is aborted: %s", err.text);
        pthread_join(thread, NULL);
    }
    args[0].value.i32 = 1;
    ok(!ompjit_bound_set(b, 0, &args[0], &err) && !ompjit_bound_run(b, &err),
       "and works again");
    launch.time_limit_ms = 100;
    ompjit_bound_destroy(b);
    args[0].value.i32 = 0;
    ok(!ompjit_kernel_bind(kernel_of("spin"), dev, &launch, args, 2, &b, &err) &&
           ompjit_bound_run(b, &err) == OMPJIT_ERR_TIMEOUT,
       "one that is limited is stopped: %s", err.text);
    ompjit_bound_destroy(b);
}

static void function(void)
{
    struct aborter a = {"spin", DEVICE, OMPJIT_ERR_INTERNAL};
    void (*f)(int, int *);
    pthread_t thread;
    ok(!ompjit_module_function(mod, "spin", (void (**)(void))&f, &err),
       "a function");
    memset(x, 0, sizeof x);
    pthread_create(&thread, NULL, abort_soon, &a);
    f(0, x);
    pthread_join(thread, NULL);
    ok(ompjit_context_failure(ctx, &err) == OMPJIT_ERR_ABORTED && !x[0] &&
           !x[63],
       "its region is aborted, and not run by the host: %s", err.text);
}

/* ------------------------------------------------------------------ limits */

static void limits(const char *name)
{
    double begin = now();
    ompjit_status status = run(name, 0, 200);
    double took = now() - begin;
    ok(status == OMPJIT_ERR_TIMEOUT && took > 0.19 && took < 20,
       "%s is stopped after %.0f ms", name, took * 1e3);
    ok_contains(err.text, "more than 200 ms", "%s", err.text);
    memset(x, 0, sizeof x);
    ok(!run(name, 1, 10000) && x[0] == 1 && x[63] == 1,
       "within its limit it works");
}

static void context_limit(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *other;
    ompjit_module *m;
    void (*f)(int, int *);
    options.devices = "host";
    options.time_limit_ms = 100;
    ok(!ompjit_context_create(&options, &other, &err) &&
           !ompjit_module_from_c(other, source, NULL, &m, &err) &&
           !ompjit_module_function(m, "spin", (void (**)(void))&f, &err),
       "a context with a limit");
    f(0, x);
    ok(ompjit_context_failure(other, &err) == OMPJIT_ERR_TIMEOUT,
       "a region of it is stopped: %s", err.text);
    ompjit_module_destroy(m);
    ompjit_context_destroy(other);
    options.keep_signals = 1;
    ok(!ompjit_context_create(&options, &other, &err) &&
           !ompjit_module_from_c(other, source, NULL, &m, &err) &&
           !ompjit_module_function(m, "spin", (void (**)(void))&f, &err),
       "one that keeps signals, too");
    memset(x, 0, sizeof x);
    f(1, x);
    ok(ompjit_context_failure(other, &err) == OMPJIT_ERR_UNAVAILABLE && x[0] == 1,
       "cannot be limited: %s", err.text);
    ompjit_module_destroy(m);
    ompjit_context_destroy(other);
}

/* ------------------------------------------------------------ others go on */

static atomic_bool over;
static atomic_uint rounds, wrong;

static void *keep_running(void *data)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    int y[N] = {0};
    ompjit_error e;
    ompjit_arg args[] = {
        {.name = "how", .type = OMPJIT_ARG_I32, .value.i32 = 1},
        {.name = "x", .type = OMPJIT_ARG_POINTER, .value.p = y}};
    launch.threads = 1;
    launch.teams = (uint32_t)(uintptr_t)data;
    while (!over) {
        int before = y[63];
        if (ompjit_kernel_launch(kernel_of("one_fails"), dev, &launch, args, 2,
                                 &e) ||
            y[63] != before + 1)
            wrong++;
        rounds++;
    }
    return NULL;
}

/* All kernels are in one image, whose code is closed again and again. */
static void others(void)
{
    pthread_t threads[2];
    unsigned stopped = 0;
    over = false;
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, keep_running, (void *)(i + 1));
    for (int i = 0; i < 30; i++)
        stopped += run("spin", 0, 20) == OMPJIT_ERR_TIMEOUT;
    over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ok(stopped == 30 && !wrong && rounds > 30,
       "%u launches were stopped, %u of the same image ran, %u wrong", stopped,
       (unsigned)rounds, (unsigned)wrong);
}

static void failures(void)
{
    for (int i = 0; i < 3; i++) {
        double begin = now();
        ompjit_status status = run("one_fails", 0, 0);
        ok(status == OMPJIT_ERR_DEVICE && now() - begin < 20,
           "the threads of a launch stop when one fails: %s", err.text);
        ok(works("one_fails"), "it works again");
    }
    for (int how = 2; how <= 3; how++) {
        ok(run("locked", how, 0) == OMPJIT_ERR_DEVICE,
           "a failure under locks: %s", err.text);
        ok(works("locked"), "the locks are free again");
    }
}

/* ------------------------------------------------- stopped when they end */

/* The threads of a launch are asked to stop, by one that fails, when most of
 * them have just ended. Nothing of that may come after the context is gone,
 * when the process's own handlers would take it: the test would end here. */
static void ending(void)
{
    enum { LAUNCHES = 10, CONTEXTS = 40 };
    unsigned failed = 0;
    static const struct timespec later = {.tv_nsec = 10000000};
    for (int round = 0; round < CONTEXTS && start(); round++) {
        for (int i = 0; i < LAUNCHES; i++)
            failed += run("ends", (round * LAUNCHES + i) % 50 * 100, 0) ==
                      OMPJIT_ERR_DEVICE;
        ompjit_module_destroy(mod);
        ompjit_context_destroy(ctx);
        nanosleep(&later, NULL);
    }
    ok(failed == LAUNCHES * CONTEXTS,
       "%u launches failed when their threads ended", failed);
}

int main(void)
{
    static const char *const names[] = {"spin", "team", "library", "waits",
                                        "locked"};
    setenv("OMP_NUM_THREADS", "3", 1); /* also where there are fewer cores */
    alarm(LONGEST);
    if (!start())
        skip_all("%s", err.text);
    ok(!ompjit_device_abort(dev, &err), "nothing runs yet");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        by_thread(names[i], KERNEL);
        by_thread(names[i], DEVICE);
        by_handler(names[i]);
        limits(names[i]);
    }
    bound();
    function();
    failures();
    others();
    context_limit();
    ok(ompjit_kernel_abort(NULL, &err) == OMPJIT_ERR_INVALID &&
           ompjit_device_abort(NULL, &err) == OMPJIT_ERR_INVALID,
       "nothing to abort");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    ending();
    return done_testing();
}
