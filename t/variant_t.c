/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Variants of kernels on the host device: policies, prepared launches, the
 * bound on their number, builds by several threads, the background, fork,
 * the end of the process.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axpy_sum.h"
#include "context/background.h"
#include "launch/module.h"
#include "launch/variant.h"
#include "ompjit.h"
#include "ompjit_graph.h"
#include "ompjit_tune.h"
#include "tap.h"

static const char source[] = AXPY_AND_SUM;

enum { N = 100 };
/* As aligned as it is asked for, so that all launches agree. */
#define ALIGNED _Alignas(64)
static ompjit_error err;
static ompjit_context *ctx;
static ompjit_device *dev;
static ompjit_module *mod;
static ompjit_kernel *axpy;

static void open_module(unsigned max_variants)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    options.specialize.max_variants = max_variants;
    if (ompjit_context_create(&options, &ctx, &err) ||
        ompjit_context_device(ctx, 0, &dev, &err) ||
        ompjit_module_from_c(ctx, source, NULL, &mod, &err) ||
        ompjit_module_kernel(mod, "axpy", &axpy, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
}

static void close_module(void)
{
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

static ompjit_variant_stats stats(void)
{
    ompjit_variant_stats s = OMPJIT_VARIANT_STATS_INIT;
    ompjit_module_variants(mod, &s, &err);
    return s;
}

/* y = 1 + a * i for each of N elements? */
static int launch(ompjit_specialize policy, double a, uint32_t limit_ms)
{
    ALIGNED double x[N];
    ALIGNED double y[N];
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[] = {ompjit_arg_i32("n", N),
                         ompjit_arg_f64("a", a),
                         ompjit_arg_pointer("x", x),
                         ompjit_arg_pointer("y", y)};
    l.teams = l.threads = 1;
    l.specialize.mode = policy;
    l.specialize.time_limit_ms = limit_ms;
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = 1;
    }
    if (ompjit_kernel_launch(axpy, dev, &l, args, 4, &err))
        return 0;
    for (int i = 0; i < N; i++)
        if (y[i] != 1 + a * i)
            return 0;
    return 1;
}

static unsigned folded_args(void)
{
    ompjit_launch_info info = OMPJIT_LAUNCH_INFO_INIT;
    ompjit_kernel_last_launch(axpy, dev, &info, &err);
    return info.folded_args;
}

static int is_ready(double a)
{
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[] = {ompjit_arg_i32("n", N),
                         ompjit_arg_f64("a", a),
                         ompjit_arg_pointer("x", (void *)64),
                         ompjit_arg_pointer("y", (void *)64)};
    int ready = -1;
    l.teams = l.threads = 1;
    l.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    ompjit_kernel_ready(axpy, dev, &l, args, 4, &ready, &err);
    return ready;
}

/* Until nothing is being built any more. */
static int settle(void)
{
    for (int i = 0; i < 3000 && stats().pending; i++)
        usleep(10000);
    return stats().pending == 0;
}

/* ---------------------------------------------------------------- policies */

static void policies(void)
{
    open_module(0);
    ok(launch(OMPJIT_SPECIALIZE_DEFAULT, 2, 0) && folded_args() == 0,
       "by default nothing is folded");
    ok(launch(OMPJIT_SPECIALIZE_OFF, 3, 0) && stats().builds == 1,
       "off: one kernel for all values");
    ok(launch(OMPJIT_SPECIALIZE_NOW, 3, 0) && folded_args() == 2 &&
           stats().builds == 2,
       "now: a kernel for these values");
    ok(launch(OMPJIT_SPECIALIZE_NOW, 3, 0) && stats().builds == 2,
       "built once");
    ok(is_ready(3) == 1 && is_ready(4) == 0, "readiness can be asked for");

    for (int i = 0; i < 2; i++)
        launch(OMPJIT_SPECIALIZE_AUTO, 5, 0);
    ok(settle() && stats().builds == 2 && folded_args() == 0,
       "auto: two sightings build nothing");
    ok(launch(OMPJIT_SPECIALIZE_AUTO, 5, 0) && settle() && is_ready(5) == 1,
       "the third does, in the background");
    ok(launch(OMPJIT_SPECIALIZE_AUTO, 5, 0) && folded_args() == 2,
       "the next launch runs it");

    int right = 1;
    for (int i = 0; i < 100; i++)
        right &= launch(OMPJIT_SPECIALIZE_AUTO, i + 0.5, 0);
    ok(right && settle() && stats().builds <= 5,
       "an argument that changes each time is given up");
    launch(OMPJIT_SPECIALIZE_AUTO, 1234, 0);
    ok(settle() && launch(OMPJIT_SPECIALIZE_AUTO, 77.5, 0) && folded_args() == 1,
       "the other is folded all the same");
    close_module();
}

static void limits(void)
{
    open_module(0);
    launch(OMPJIT_SPECIALIZE_OFF, 2, 0);
    ok(launch(OMPJIT_SPECIALIZE_NOW, 9, 1) && folded_args() == 0,
       "a compile past its limit: the generic kernel runs");
    ok(settle() && launch(OMPJIT_SPECIALIZE_NOW, 9, 1) && folded_args() == 2,
       "and the variant when it is done");
    close_module();
}

/* Builds fail, and the background's jobs are done before a request returns. */
static bool at_once;
static unsigned refused;

ompjit_status ompjit__variant_make(ompjit_module *m,
                                   const ompjit__variant_key *key,
                                   ompjit__variant *base, ompjit__variant **out,
                                   ompjit_error *e)
{
    if (at_once) {
        refused++;
        return ompjit__fail(e, OMPJIT_ERR_COMPILE, OMPJIT_STAGE_LAUNCH,
                            "refused");
    }
    ompjit_status (*real)(ompjit_module *, const ompjit__variant_key *,
                          ompjit__variant *, ompjit__variant **,
                          ompjit_error *);
    *(void **)&real = dlsym(RTLD_NEXT, "ompjit__variant_make");
    return real(m, key, base, out, e);
}

ompjit_status ompjit__background_add(ompjit__background *background,
                                     const void *owner, void (*run)(void *),
                                     void (*drop)(void *), void *arg,
                                     ompjit_error *e)
{
    if (at_once) {
        run(arg);
        return OMPJIT_OK;
    }
    ompjit_status (*real)(ompjit__background *, const void *, void (*)(void *),
                          void (*)(void *), void *, ompjit_error *);
    *(void **)&real = dlsym(RTLD_NEXT, "ompjit__background_add");
    return real(background, owner, run, drop, arg, e);
}

/* A launch with a limit does not repeat a failed build on its own thread, where
 * no limit would end it. */
static void failed_before_the_wait(void)
{
    open_module(0);
    launch(OMPJIT_SPECIALIZE_OFF, 2, 0);
    at_once = true;
    ok(!launch(OMPJIT_SPECIALIZE_NOW, 5, 60000) && !strcmp(err.text, "refused"),
       "a build that fails before its launch waits is told: %s", err.text);
    ok(refused == 1, "and not begun again by the launch: %u", refused);
    at_once = false;
    close_module();
}

static void bad_requests(void)
{
    open_module(0);
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    l.specialize.mode = (ompjit_specialize)17;
    ok(ompjit_kernel_launch(axpy, dev, &l, NULL, 0, &err) ==
           OMPJIT_ERR_INVALID, "an unknown policy: %s", err.text);
    l.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    l.specialize.fold = 0x80;
    ok(ompjit_kernel_launch(axpy, dev, &l, NULL, 0, &err) ==
           OMPJIT_ERR_INVALID, "an unknown thing to fold: %s", err.text);
    close_module();
}

/* --------------------------------------------------------------- the bound */

static void eviction(void)
{
    enum { CAP = 4, VALUES = 12 };
    open_module(CAP);
    launch(OMPJIT_SPECIALIZE_OFF, 0, 0);
    int right = 1;
    for (int i = 1; i <= VALUES; i++) {
        right &= launch(OMPJIT_SPECIALIZE_NOW, i, 0);
        right &= launch(OMPJIT_SPECIALIZE_NOW, 1, 0);
    }
    ompjit_variant_stats s = stats();
    ok(right && s.live == CAP + 1 && s.evictions == VALUES - CAP,
       "%d values under a bound of %d: %d live, %d evicted", VALUES, CAP,
       (int)s.live, (int)s.evictions);
    ok(is_ready(1) == 1 && is_ready(2) == 0 && is_ready(VALUES) == 1,
       "the least recently used went, the most used stayed");
    close_module();
}

struct racer {
    pthread_t thread;
    int seed, right;
};

static void *race(void *arg)
{
    struct racer *r = arg;
    r->right = 1;
    for (int i = 0; i < 300; i++)
        r->right &= launch(i % 3 ? OMPJIT_SPECIALIZE_NOW
                                 : OMPJIT_SPECIALIZE_AUTO,
                           (r->seed + i / 20) % 7, 0);
    return NULL;
}

/* More values than variants, so that some are evicted while others use them. */
static void racing(unsigned cap)
{
    struct racer racers[4];
    int right = 1;
    open_module(cap);
    for (int i = 0; i < 4; i++) {
        racers[i].seed = i;
        pthread_create(&racers[i].thread, NULL, race, &racers[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(racers[i].thread, NULL);
        right &= racers[i].right;
    }
    settle();
    ompjit_variant_stats s = stats();
    ok(right, "4 threads over 7 values, %u variants kept: all right", cap);
    ok(s.live <= cap + 2, "%d live", (int)s.live);
    if (cap >= 14)
        ok(s.builds == s.live && !s.evictions && s.builds <= 15,
           "none is built twice");
    else
        ok(s.evictions > 0, "%d evicted meanwhile", (int)s.evictions);
    close_module();
}

/* -------------------------------------------------------- prepared launches */

/* Facts other than values stay compiled in; their arrays are copied. */
static void assumptions(void)
{
    enum { OTHER = 8 };
    static ALIGNED double from[N + OTHER], to[N + OTHER];
    ompjit_bound *b = NULL;
    ompjit_queue *queue = NULL;
    ompjit_graph *graph = NULL;
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[] = {ompjit_arg_i32("n", OTHER),
                         ompjit_arg_f64("a", 2),
                         ompjit_arg_pointer("x", from),
                         ompjit_arg_pointer("y", to)};
    for (int i = 0; i < N; i++)
        from[i] = i;
    l.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    ompjit_arg y = args[3], x = args[2];
    ok(!ompjit_kernel_bind(axpy, dev, &l, args, 4, &b, &err), "bound");
    uint64_t built = stats().builds;
    y.value.p = to + OTHER;
    ok(!ompjit_bound_set(b, 0, &y, &err) && !ompjit_bound_run(b, &err) &&
           to[OTHER + 3] == 6 && !to[3] && stats().builds == built,
       "to another aligned place it goes");
    y.value.p = to + 1;
    ok(!ompjit_bound_set(b, 0, &y, &err) && stats().builds == built + 1 &&
           !ompjit_bound_run(b, &err) && to[1 + 3] == 6,
       "to one that is not by another variant: %s", err.text);
    y.value.p = to + 2;
    memset(to, 0, sizeof to);
    ok(!ompjit_bound_set(b, 0, &y, &err) && stats().builds == built + 1 &&
           !ompjit_bound_run(b, &err) && to[2 + 3] == 6,
       "which is for any");
    ompjit_bound_destroy(b);

    args[2].contents = from;
    args[2].bytes = OTHER * sizeof *from;
    ok(!ompjit_kernel_bind(axpy, dev, &l, args, 4, &b, &err), "with contents");
    ok(!ompjit_bound_set(b, 0, &x, &err), "the same pointer is no change");
    x.value.p = from + OTHER;
    ok(ompjit_bound_set(b, 0, &x, &err) == OMPJIT_ERR_ARGUMENT,
       "what another has is not compiled in: %s", err.text);
    ompjit_bound_destroy(b);

    args[2].contents = NULL;
    args[2].bytes = sizeof from;
    ok(!ompjit_kernel_bind(axpy, dev, &l, args, 4, &b, &err), "with sizes");
    uint64_t builds = stats().builds;
    args[2].bytes = 1 << 30;
    ok(!ompjit_queue_create(dev, &queue, &err) &&
           !ompjit_graph_begin(queue, &err) &&
           !ompjit_bound_start(b, queue, &err) &&
           !ompjit_graph_end(queue, &graph, &err) &&
           stats().builds == builds,
       "a recording goes by the sizes that were passed: %s", err.text);
    to[3] = 0;
    ok(!ompjit_graph_run(graph, NULL, &err) && to[3] == 6, "and runs");
    ompjit_graph_destroy(graph);
    ompjit_queue_destroy(queue);
    ompjit_bound_destroy(b);
}

static void bound(void)
{
    double x[N], y[N], t = 0;
    ompjit_bound *b;
    ompjit_kernel *sum;
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    open_module(2);
    ompjit_arg args[] = {ompjit_arg_i32("n", N),
                         ompjit_arg_f64("a", 2),
                         ompjit_arg_pointer("x", x),
                         ompjit_arg_pointer("y", y)};
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = 0;
    }
    l.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    ok(!ompjit_kernel_bind(axpy, dev, &l, args, 4, &b, &err), "bound");
    int failed = 0, wrong = 0;
    for (int i = 0; i < 5; i++)
        failed += ompjit_bound_run(b, &err) != 0;
    for (int i = 0; i < N; i++)
        wrong += y[i] != 10.0 * i;
    ok(!failed && !wrong, "run five times");
    for (int a = 10; a < 16; a++)
        launch(OMPJIT_SPECIALIZE_NOW, a, 0);
    ok(!ompjit_bound_run(b, &err) && y[3] == 36,
       "its variant outlives its place among the kernel's");
    ompjit_arg other = ompjit_arg_f64("a", 3);
    ok(ompjit_bound_set(b, 0, &other, &err) == OMPJIT_ERR_ARGUMENT,
       "a folded value cannot change: %s", err.text);
    ompjit_arg moved = ompjit_arg_pointer("y", x);
    ok(!ompjit_bound_set(b, 0, &moved, &err) && !ompjit_bound_run(b, &err) &&
           x[5] == 15,
       "a pointer can");
    ompjit_bound_destroy(b);
    ompjit_bound_destroy(NULL);
    assumptions();

    for (int i = 0; i < N; i++)
        x[i] = i;
    l.teams = 3;
    ompjit_module_kernel(mod, "sum", &sum, &err);
    ompjit_arg sums[] = {ompjit_arg_i32("n", N),
                         ompjit_arg_pointer("t", &t),
                         ompjit_arg_pointer("x", x)};
    ok(!ompjit_kernel_bind(sum, dev, &l, sums, 3, &b, &err), "a reduction");
    for (int i = 0; i < 4; i++)
        ompjit_bound_run(b, &err);
    ok(t == 4 * (N * (N - 1) / 2), "run four times: %g", t);
    ompjit_bound_destroy(b);
    close_module();
}

/* ------------------------------------------------------------------- fork */

static void forked(void)
{
    if (!may_fork()) {
        ok(1, "forks # SKIP ThreadSanitizer's own locks");
        return;
    }
    open_module(0);
    for (int i = 0; i < 3; i++)
        launch(OMPJIT_SPECIALIZE_AUTO, 2, 0); /* the thread is there now */
    pid_t pid = fork();
    if (pid == 0) {
        int fine = launch(OMPJIT_SPECIALIZE_NOW, 8, 0);
        for (int i = 0; i < 3; i++)
            fine &= launch(OMPJIT_SPECIALIZE_AUTO, 9, 0);
        for (int i = 0; i < 3000 && is_ready(9) != 1; i++)
            usleep(10000);
        _exit(fine && is_ready(9) == 1 ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    ok(status == 0, "the child of a fork compiles, also in the background");
    ok(settle() && launch(OMPJIT_SPECIALIZE_AUTO, 2, 0), "so does the parent");
    close_module();
}

/* ------------------------------------------------------------------- exit */

/* Nothing is destroyed before the process ends, and a build is under way. A
 * child's findings at its end are its status. */
static int unrest;

/* A handler: is nothing built any more? */
static void look(void)
{
    unsigned long long builds = stats().builds;
    usleep(200000);
    unrest |= stats().builds != builds;
}

static void look_last(void)
{
    look();
    for (int i = 0; i < 3; i++) /* where no thread is left */
        unrest |= !launch(OMPJIT_SPECIALIZE_AUTO, 4, 0);
    unrest |= !launch(OMPJIT_SPECIALIZE_NOW, 5, 100);
}

static void finish(void)
{
    _exit(unrest);
}

static void begin_build(void)
{
    atexit(look_last);
    open_module(0);
    for (int i = 0; i < 3; i++)
        launch(OMPJIT_SPECIALIZE_AUTO, 2, 0);
    usleep(1000);
}

static void exit_main(void)
{
    begin_build();
    atexit(look); /* called before what the library has set */
    exit(1);
}

static void *call_exit(void *unused)
{
    (void)unused;
    exit(1);
}

static void exit_thread(void)
{
    pthread_t thread;
    begin_build();
    pthread_create(&thread, NULL, call_exit, NULL);
    pthread_join(thread, NULL);
}

static void *destroy(void *unused)
{
    close_module();
    return unused;
}

static void exit_destroying(void)
{
    pthread_t thread;
    open_module(0);
    for (int i = 0; i < 3; i++)
        launch(OMPJIT_SPECIALIZE_AUTO, 2, 0);
    pthread_create(&thread, NULL, destroy, NULL);
    exit(1);
}

static pthread_t main_thread;

static void put(void *data, const unsigned char key[32], const void *bytes,
                size_t size)
{
    (void)data, (void)key, (void)bytes, (void)size;
    if (!pthread_equal(main_thread, pthread_self()))
        exit(1);
}

static void exit_job(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    main_thread = pthread_self();
    options.devices = "host";
    options.cache.mode = OMPJIT_CACHE_MEMORY;
    options.cache.put = put;
    if (ompjit_context_create(&options, &ctx, &err) ||
        ompjit_context_device(ctx, 0, &dev, &err) ||
        ompjit_module_from_c(ctx, source, NULL, &mod, &err) ||
        ompjit_module_kernel(mod, "axpy", &axpy, &err))
        _exit(2);
    for (int i = 0; i < 3; i++)
        launch(OMPJIT_SPECIALIZE_AUTO, 2, 0);
    sleep(30);
    _exit(3);
}

/* Not the end of the process. */
static void *go_on(void *unused)
{
    (void)unused;
    usleep(100000);
    for (int i = 0; i < 3; i++)
        launch(OMPJIT_SPECIALIZE_AUTO, 6, 0);
    for (int i = 0; i < 300 && is_ready(6) != 1; i++)
        usleep(10000);
    _exit(is_ready(6) != 1);
}

static void main_ends(void)
{
    pthread_t thread;
    open_module(0);
    for (int i = 0; i < 3; i++)
        launch(OMPJIT_SPECIALIZE_AUTO, 2, 0);
    pthread_create(&thread, NULL, go_on, NULL);
    pthread_exit(NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} ends[] = {
    {"exit while a variant is built", exit_main},
    {"from another thread", exit_thread},
    {"while another thread destroys the context", exit_destroying},
    {"from what builds the variant", exit_job},
    {"the main thread ends alone: the background goes on", main_ends},
};

static void exits(void)
{
    if (!may_fork()) {
        ok(1, "exits # SKIP ThreadSanitizer's own locks");
        return;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60);
            atexit(finish); /* the last that is called */
            ends[i].run();
            _exit(9);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        ok(status == 0, "%s: wait status %x", ends[i].name, (unsigned)status);
    }
}

int main(void)
{
    exits(); /* while the process has no handlers of the library */
    policies();
    limits();
    failed_before_the_wait();
    bad_requests();
    eviction();
    racing(64);
    racing(2);
    bound();
    forked();
    done_testing();
}
