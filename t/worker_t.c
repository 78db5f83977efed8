/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Workers: processes that compile for this one. They leave nothing behind,
 * whatever ends them or the application, and each call returns.
 *
 * WORKER_KILLS=N: so many workers, and a tenth as many applications, are killed
 * at random moments.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "ompjit.h"
#include "tap.h"

static const char source[] =
    "void scale(double *x, double a, int n) {\n"
    "  #pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"
    "  for (int i = 0; i < n; i++) x[i] = a * x[i] + %d;\n"
    "}\n";

static ompjit_error err;

/* ------------------------------------------------------- whose workers? */

/* Workers have their application's environment: this mark tells ours. */
static char mark[64];

static bool file_has(const char *pid, const char *name, const char *words)
{
    char path[300], text[65536];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        fclose(f);
    return n && memmem(text, n, words, strlen(words));
}

/* The first process of ours that has the mark; 0: none. Front ends are of the same
 * program. Zombies have no environment. */
static pid_t find_process(bool front_ends)
{
    DIR *all = opendir("/proc");
    struct dirent *e;
    pid_t found = 0;
    while (all && !found && (e = readdir(all)))
        if (isdigit((unsigned char)*e->d_name) &&
            file_has(e->d_name, "comm", "ompjitc") &&
            file_has(e->d_name, "environ", mark) &&
            (front_ends || !file_has(e->d_name, "cmdline", "-cc1")))
            found = atoi(e->d_name);
    if (all)
        closedir(all);
    return found;
}

static pid_t find_worker(void)
{
    return find_process(false);
}

static bool gone_within(double limit)
{
    double end = seconds() + limit;
    while (find_process(true) && seconds() < end)
        pause_ms(5);
    return !find_process(true);
}

/* -------------------------------------------------------------- compiles */

static ompjit_context *open_context(unsigned time_limit)
{
    ompjit_context *ctx;
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    o.devices = "host";
    o.compiler.time_limit_ms = 1000 * time_limit;
    return ompjit_context_create(&o, &ctx, &err) ? NULL : ctx;
}

/* Compiles a kernel that nobody has compiled yet, and runs it. */
static ompjit_status compile(ompjit_context *ctx, ompjit_error *e)
{
    static atomic_int number;
    int plus = atomic_fetch_add(&number, 1);
    char text[sizeof source + 16];
    double x[4] = {1, 2, 3, 4};
    ompjit_module *mod;
    ompjit_device *dev;
    ompjit_kernel *k;
    ompjit_arg args[] = {
        {.name = "x", .type = OMPJIT_ARG_POINTER, .value.p = x},
        {.name = "a", .type = OMPJIT_ARG_F64, .value.f64 = 2},
        {.name = "n", .type = OMPJIT_ARG_I32, .value.i32 = 4}};
    snprintf(text, sizeof text, source, plus);
    ompjit_status status = ompjit_module_from_c(ctx, text, NULL, &mod, e);
    if (status)
        return status;
    status = ompjit_context_device(ctx, 0, &dev, e);
    if (!status)
        status = ompjit_module_kernel(mod, "scale", &k, e);
    if (!status)
        status = ompjit_kernel_launch(k, dev, NULL, args, 3, e);
    if (!status && x[3] != 8.0 + plus)
        status = OMPJIT_ERR_INTERNAL;
    ompjit_module_destroy(mod);
    return status;
}

static unsigned count_files(void)
{
    DIR *all = opendir("/proc/self/fd");
    unsigned n = 0;
    while (all && readdir(all))
        n++;
    if (all)
        closedir(all);
    return n;
}

/* The name of the CPU is the one fact about the host device that takes a
 * compiler. */
static void facts_of_a_device(void)
{
    ompjit_context *ctx = open_context(0);
    ompjit_device *dev;
    ompjit_device_info info = OMPJIT_DEVICE_INFO_INIT;
    info.size = offsetof(ompjit_device_info, arch);
    info.kind = OMPJIT_DEVICE_CUDA;
    ok(!ompjit_context_device(ctx, 0, &dev, &err) &&
           !ompjit_device_info_get(dev, &info, &err) &&
           info.kind == OMPJIT_DEVICE_HOST && info.multiprocessors &&
           *info.name && !find_worker(),
       "a device's kind and name start no worker");
    info.size = sizeof info;
    ok(!ompjit_device_info_get(dev, &info, &err) && *info.arch && find_worker(),
       "the CPU's name does: %s", info.arch);
    ompjit_context_destroy(ctx);
    ok(gone_within(1), "it ends with the context");
}

/* ------------------------------------------------------------------- life */

static void comes_and_goes(void)
{
    unsigned files = count_files();
    ompjit_context *ctx = open_context(0);
    ok(!find_worker(), "a context alone has no worker");
    ok(!compile(ctx, &err), "a worker compiles: %s", err.text);
    pid_t worker = find_worker();
    ok(worker, "it is there");
    int status;
    ok(waitpid(worker, &status, 0) < 0 && errno == ECHILD,
       "and is no child of the application");
    ok(!compile(ctx, &err) && find_worker() == worker,
       "the same compiles once more");
    ompjit_context *other = open_context(0);
    ok(!compile(other, &err) && find_worker() == worker,
       "also for another context");
    ompjit_context_destroy(ctx);
    ok(!kill(worker, 0), "it stays as long as there is a context");
    ompjit_context_destroy(other);
    ok(gone_within(1), "and ends with the last");
    ok(count_files() == files, "no descriptor is left");
}

static void survives_signals(void)
{
    static const int signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGTSTP};
    ompjit_context *ctx = open_context(0);
    ok(!compile(ctx, &err), "a worker for signals");
    pid_t worker = find_worker();
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        kill(worker, signals[i]);
    ok(getpgid(worker) != getpgrp(), "it has a process group of its own");
    ok(!compile(ctx, &err) && find_worker() == worker,
       "it ignores signals of the terminal");
    ompjit_context_destroy(ctx);
}

static void is_replaced(void)
{
    ompjit_context *ctx = open_context(0);
    ok(!compile(ctx, &err), "a worker to be killed");
    pid_t worker = find_worker();
    kill(worker, SIGKILL);
    ok(!compile(ctx, &err), "one that dies is replaced: %s", err.text);
    ok(find_worker() != worker, "by another");
    ompjit_context_destroy(ctx);
}

/* ------------------------------------------------------------ hard cases */

static void *in_thread(void *ctx)
{
    ompjit_error *e = calloc(1, sizeof *e);
    e->status = compile(ctx, e);
    return e;
}

static void small_stack(void)
{
    ompjit_context *ctx = open_context(0);
    pthread_attr_t attributes;
    pthread_t thread;
    void *result;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    pthread_create(&thread, &attributes, in_thread, ctx);
    pthread_join(thread, &result);
    pthread_attr_destroy(&attributes);
    ok(!((ompjit_error *)result)->status, "a thread with 64 KiB of stack: %s",
       ((ompjit_error *)result)->text);
    free(result);
    ompjit_context_destroy(ctx);
}

static void without_children(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGCHLD, &ignore, &old);
    ompjit_context *ctx = open_context(0);
    ok(!compile(ctx, &err), "SIGCHLD is ignored: %s", err.text);
    ompjit_context_destroy(ctx);
    sigaction(SIGCHLD, &old, NULL);
}

/* Without its standard descriptors. */
static void without_descriptors(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        close(0);
        close(1);
        close(2);
        ompjit_context *ctx = open_context(0);
        _exit(!ctx || compile(ctx, &err));
    }
    int status;
    ok(waitpid(child, &status, 0) == child && !status,
       "an application without standard descriptors");
}

static void after_fork(void)
{
    ompjit_context *ctx = open_context(0);
    ok(!compile(ctx, &err), "before a fork");
    pid_t worker = find_worker();
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        bool good = !compile(ctx, &err);
        ompjit_context_destroy(ctx);
        _exit(!good);
    }
    int status;
    ok(waitpid(child, &status, 0) == child && !status,
       "the child compiles with a worker of its own");
    ok(!compile(ctx, &err) && find_worker() == worker,
       "the parent keeps its worker");
    ompjit_context_destroy(ctx);
    ok(gone_within(1), "all are gone");
}

static void after_exec(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        ompjit_context *ctx = open_context(0);
        if (!ctx || compile(ctx, &err) || !find_worker())
            _exit(1);
        execlp("sleep", "sleep", "3", (char *)NULL);
        _exit(1);
    }
    pause_ms(200);
    double end = seconds() + 20;
    while (!find_worker() && seconds() < end && !waitpid(child, NULL, WNOHANG))
        pause_ms(1);
    ok(gone_within(2), "a worker ends when its application becomes another");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* --------------------------------------------------------- stopped workers */

/* IR, which is read by one request; that of a source may be read by another
 * worker once more. */
static void *ir;
static size_t ir_size;

static bool make_ir(void)
{
    ompjit_context *ctx = open_context(0);
    ompjit_module *mod;
    char text[sizeof source + 16];
    snprintf(text, sizeof text, source, 0);
    bool made = ctx && !ompjit_module_from_c(ctx, text, NULL, &mod, &err);
    if (made) {
        made = !ompjit_module_emit(mod, OMPJIT_FORMAT_BC, NULL, &ir, &ir_size,
                                   &err);
        ompjit_module_destroy(mod);
    }
    ompjit_context_destroy(ctx);
    return made;
}

static ompjit_status read_ir(ompjit_context *ctx, ompjit_error *e)
{
    ompjit_module *mod;
    ompjit_status status =
        ompjit_module_from_ir(ctx, ir, ir_size, NULL, 0, NULL, &mod, e);
    if (!status)
        ompjit_module_destroy(mod);
    return status;
}

struct stopping {
    ompjit_context *ctx;
    ompjit_error err;
    ompjit_status status;
    double took;
    atomic_bool done;
};

static void *read_and_tell(void *arg)
{
    struct stopping *s = arg;
    double start = seconds();
    s->status = read_ir(s->ctx, &s->err);
    s->took = seconds() - start;
    atomic_store(&s->done, true);
    return NULL;
}

static void stopped(void)
{
    struct stopping s = {.ctx = open_context(1)};
    ok(make_ir(), "a module of IR: %s", err.text);
    ok(!read_ir(s.ctx, &err), "a worker to be stopped");
    kill(find_worker(), SIGSTOP);
    read_and_tell(&s);
    ok(s.status == OMPJIT_ERR_TIMEOUT, "one that hangs: %s", s.err.text);
    ok(s.took < 4, "is given up at the time limit");
    ok(!read_ir(s.ctx, &err), "and replaced: %s", err.text);
    kill(find_worker(), SIGSTOP);
    ok(!compile(s.ctx, &err), "a source is read by another: %s", err.text);
    kill(find_worker(), SIGSTOP);
    ompjit_context_destroy(s.ctx);
    ok(gone_within(1), "a stopped worker ends with its application");
}

/* The seconds that an assembly of minutes is worked on with a limit; 0: it did
 * not end by that. */
static double limited(ompjit_compiler_process process, unsigned limit_ms)
{
    static const char endless[] =
        "int g(void) { return 3; }\n"
        "void f(void) { __asm__ volatile(\".rept 100000000000\\n.endr\"); }";
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    void (*f)(void);
    double start = 0, took = 0;
    o.devices = "host";
    o.compiler.process = process;
    o.compiler.time_limit_ms = limit_ms;
    if (ompjit_context_create(&o, &ctx, &err))
        return 0;
    if (!ompjit_module_from_c(ctx, endless, NULL, &mod, &err)) {
        start = seconds();
        if (ompjit_module_function(mod, "f", &f, &err) == OMPJIT_ERR_TIMEOUT)
            took = seconds() - start;
        ompjit_module_destroy(mod);
    }
    ompjit_context_destroy(ctx);
    return took;
}

/* The best of a few, on a machine that has other things to do. */
static void exact_limits(void)
{
    enum { LIMIT = 1100, TRIES = 3 };
    static const struct {
        ompjit_compiler_process process;
        const char *name;
    } rows[] = {{OMPJIT_COMPILER_WORKER, "a worker"},
                {OMPJIT_COMPILER_INPROCESS, "this process"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double least = 0;
        for (int t = 0; t < TRIES && (!least || least > 1.9); t++) {
            double took = limited(rows[i].process, LIMIT);
            least = !least || took < least ? took : least;
        }
        ok(least >= 1.09 && least < 1.9, "%s has %.3f s of 1.1", rows[i].name,
           least);
        ok_contains(err.text, "LLVM did not end within 1100 ms", "says so");
    }
}

static void crashes(void)
{
    struct stopping s = {.ctx = open_context(0)};
    pthread_t thread;
    ok(!read_ir(s.ctx, &err), "a worker that will crash");
    pid_t worker = find_worker();
    kill(worker, SIGSTOP);
    pthread_create(&thread, NULL, read_and_tell, &s);
    pause_ms(300);
    kill(worker, SIGSEGV);
    kill(worker, SIGCONT);
    pthread_join(thread, NULL);
    ok(s.status == OMPJIT_ERR_IR || s.status == OMPJIT_ERR_COMPILE,
       "a crash is an error");
    ok_contains(s.err.text, "segmentation fault", "that says so: %s",
                s.err.text);
    ok(!read_ir(s.ctx, &err), "the next module is read");
    ompjit_context_destroy(s.ctx);
}

static void cancelled(void)
{
    struct stopping s = {.ctx = open_context(0)}, other = {.ctx = s.ctx};
    pthread_t thread;
    ok(!read_ir(s.ctx, &err), "a worker whose work is cancelled");
    kill(find_worker(), SIGSTOP);
    pthread_create(&thread, NULL, read_and_tell, &s);
    /* A cancel before the thread has begun has no effect. */
    bool good = true;
    while (!atomic_load(&s.done)) {
        pause_ms(200);
        good = !ompjit_context_cancel(other.ctx, &err) && good;
    }
    pthread_join(thread, NULL);
    ok(good, "a context's compiles end");
    ok(s.status == OMPJIT_ERR_ABORTED, "the call returns: %s", s.err.text);
    ok(!read_ir(s.ctx, &err), "the next one works: %s", err.text);
    ompjit_context_destroy(s.ctx);
}

static void little_memory(void)
{
    static const uint64_t limits[] = {1 << 20, 8 << 20, 20 << 20, 30 << 20,
                                      40 << 20, 60 << 20};
    unsigned told = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        ompjit_context *ctx;
        ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
        o.devices = "host";
        o.compiler.memory_limit = limits[i];
        err.text[0] = 0;
        ompjit_status status = ompjit_context_create(&o, &ctx, &err);
        if (!status)
            status = compile(ctx, &err);
        told += !status || *err.text;
        ompjit_context_destroy(ctx);
    }
    ok(told == sizeof limits / sizeof *limits,
       "with little memory a compile works or says why it does not");
    ompjit_context *ctx = open_context(0);
    ok(!compile(ctx, &err), "another context has more");
    ompjit_context_destroy(ctx);
}

/* ---------------------------------------------------------- random moments */

struct killing {
    ompjit_context *ctx;
    atomic_bool stop;
    unsigned good, failed, silent;
};

static void *compile_on(void *arg)
{
    struct killing *k = arg;
    ompjit_error e;
    while (!atomic_load(&k->stop)) {
        e.text[0] = 0;
        ompjit_status status = compile(k->ctx, &e);
        k->good += !status;
        k->failed += status != OMPJIT_OK;
        k->silent += status && !*e.text;
    }
    return NULL;
}

static unsigned kills(void)
{
    const char *n = getenv("WORKER_KILLS");
    return n ? (unsigned)atoi(n) : 20;
}

static void killed_workers(void)
{
    struct killing k = {.ctx = open_context(0)};
    unsigned killed = 0, wanted = kills();
    pthread_t thread;
    srand(1);
    pthread_create(&thread, NULL, compile_on, &k);
    for (double end = seconds() + 5 * wanted;
         killed < wanted && seconds() < end;) {
        pause_ms((unsigned)rand() % 60);
        pid_t worker = find_worker();
        killed += worker && !kill(worker, SIGKILL);
    }
    atomic_store(&k.stop, true);
    pthread_join(thread, NULL);
    ok(killed == wanted, "%u workers are killed", killed);
    ok(!k.silent, "%u compiles are right, %u have an error with a text", k.good,
       k.failed);
    ok(!compile(k.ctx, &err), "and the next one works: %s", err.text);
    ompjit_context_destroy(k.ctx);
    ok(gone_within(1), "no worker is left");
}

static void killed_applications(void)
{
    unsigned n = kills() / 10 ? kills() / 10 : 1, left = 0;
    srand(2);
    for (unsigned i = 0; i < n; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            struct killing k = {.ctx = open_context(0)};
            compile_on(&k);
        }
        pause_ms((unsigned)rand() % 300);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        left += !gone_within(1);
    }
    ok(!left, "%u applications are killed, no worker outlives them", n);
}

int main(void)
{
    snprintf(mark, sizeof mark, "OMPJIT_WORKER_TEST=%d.", (int)getpid());
    putenv(mark);
    setenv("OMPJIT_CACHE", "0", 1);
    if (access("/proc/self/environ", R_OK))
        skip_all("no /proc: workers cannot be told apart");
    facts_of_a_device();
    comes_and_goes();
    survives_signals();
    is_replaced();
    small_stack();
    without_children();
    without_descriptors();
    after_fork();
    after_exec();
    stopped();
    exact_limits();
    crashes();
    cancelled();
    little_memory();
    killed_workers();
    killed_applications();
    ompjit_bytes_free(ir);
    return done_testing();
}
