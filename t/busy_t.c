/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiles while all workers are busy: they wait for one, not for nothing, and
 * can be cancelled. So can one between its steps. A compile goes on in the child
 * of a fork, too.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "ompjit.h"
#include "tap.h"

static const char source[] =
    "void scale(double *x, double a, int n) {\n"
    "  #pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"
    "  for (int i = 0; i < n; i++) x[i] = a * x[i];\n"
    "}\n";

/* Assembly of minutes. */
static const char endless[] =
    "void f(void) { __asm__ volatile(\".rept 100000000000\\n.endr\"); }";

/* With one processor two may work at the same time. */
enum { WORKERS = 2 };

static ompjit_error err;

static ompjit_context *open_context(unsigned limit_ms)
{
    ompjit_context *ctx;
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    o.devices = "host";
    o.compiler.time_limit_ms = limit_ms;
    return ompjit_context_create(&o, &ctx, &err) ? NULL : ctx;
}

static ompjit_status compile(ompjit_context *ctx, ompjit_error *e)
{
    ompjit_module *mod;
    ompjit_status status = ompjit_module_from_c(ctx, source, NULL, &mod, e);
    if (!status)
        ompjit_module_destroy(mod);
    return status;
}

/* ------------------------------------------------------------ busy workers */

struct task {
    pthread_t thread;
    ompjit_context *ctx;
    ompjit_module *mod; /* NULL: compile */
    ompjit_status status;
    ompjit_error err;
    double ended;
    atomic_bool done;
};

static void *carry_out(void *arg)
{
    struct task *t = arg;
    void (*f)(void);
    t->status = t->mod ? ompjit_module_function(t->mod, "f", &f, &t->err)
                       : compile(t->ctx, &t->err);
    t->ended = seconds();
    atomic_store(&t->done, true);
    return NULL;
}

/* Every worker that there may be has work until `ctx` is cancelled. */
static bool occupy(ompjit_context *ctx, struct task tasks[WORKERS])
{
    for (int i = 0; i < WORKERS; i++) {
        tasks[i] = (struct task){.ctx = ctx};
        if (ompjit_module_from_c(ctx, endless, NULL, &tasks[i].mod, &err))
            return false;
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&tasks[i].thread, NULL, carry_out, &tasks[i]);
    pause_ms(1000);
    return true;
}

static bool leave(ompjit_context *ctx, struct task tasks[WORKERS])
{
    bool aborted = !ompjit_context_cancel(ctx, &err);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(tasks[i].thread, NULL);
        aborted &= tasks[i].status == OMPJIT_ERR_ABORTED;
        ompjit_module_destroy(tasks[i].mod);
    }
    return aborted;
}

/* The wait is no time of clang's. */
static void waits_for_one(void)
{
    enum { LIMIT = 3000 };
    ompjit_context *busy = open_context(60000);
    struct task tasks[WORKERS], late = {.ctx = open_context(LIMIT)};
    ok(occupy(busy, tasks), "all workers are busy: %s", err.text);
    pthread_create(&late.thread, NULL, carry_out, &late);
    pause_ms(LIMIT + 1000);
    ok(!late.done, "a compile waits for one");
    ok(leave(busy, tasks), "they are free again");
    pthread_join(late.thread, NULL);
    ok(!late.status, "and it goes on: %s", late.err.text);
    ompjit_context_destroy(late.ctx);
    ompjit_context_destroy(busy);
}

static void is_cancelled(void)
{
    ompjit_context *busy = open_context(60000);
    struct task tasks[WORKERS], late = {.ctx = open_context(0)};
    ok(occupy(busy, tasks), "all workers are busy: %s", err.text);
    pthread_create(&late.thread, NULL, carry_out, &late);
    pause_ms(1000);
    double start = seconds();
    ok(!ompjit_context_cancel(late.ctx, &err), "a compile that waits ends");
    for (int i = 0; i < 50 && !late.done; i++)
        pause_ms(100);
    bool ended = late.done;
    ok(leave(busy, tasks), "without those that work");
    pthread_join(late.thread, NULL);
    ok(ended && late.status == OMPJIT_ERR_ABORTED, "after %.1f s: %s",
       late.ended - start, late.err.text);
    ok(!compile(late.ctx, &err), "the next one works: %s", err.text);
    ompjit_context_destroy(late.ctx);
    ompjit_context_destroy(busy);
}

/* A warning is told when clang has ended and no worker has begun. */
static void cancel_at_once(void *data, const char *message)
{
    if (strstr(message, "warning"))
        ompjit_context_cancel(*(ompjit_context **)data, NULL);
}

static void is_cancelled_between(void)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    o.devices = "host";
    o.log = cancel_at_once;
    o.log_data = &ctx;
    ompjit_context_create(&o, &ctx, &err);
    ok(ompjit_module_from_c(ctx, "int f(void) { }", NULL, &mod, &err) ==
           OMPJIT_ERR_ABORTED,
       "cancelled between clang and a worker: %s", err.text);
    ok(!compile(ctx, &err), "the next one works: %s", err.text);
    ompjit_context_destroy(ctx);
}

/* ------------------------------------------------------------------- forks */

static pid_t child = -1;

/* A message of the compiler's, while a worker carries a request out. */
static void fork_once(void *data, const char *message)
{
    (void)data;
    printf("# %s\n", message);
    fflush(stdout);
    if (child < 0 && strstr(message, "copied") && !(child = fork()))
        alarm(30); /* it hangs */
}

/* The host half's explanations are messages. */
static void in_callback(void)
{
    static const char explained[] =
        "int a[8];\n"
        "extern void g(int *);\n"
        "int f(void) {\n"
        "  #pragma omp target data map(tofrom: a)\n"
        "  { g(a);\n"
        "    #pragma omp target\n"
        "    a[0] = 1; }\n"
        "  return a[0];\n"
        "}\n"
        "void g(int *p) { *p = 2; }\n";
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    void (*f)(void);
    o.devices = "host";
    o.host_memory = OMPJIT_HOST_MEMORY_AUTO;
    o.log = fork_once;
    o.debug.explain = 1;
    bool good = !ompjit_context_create(&o, &ctx, &err) &&
                !ompjit_module_from_c(ctx, explained, NULL, &mod, &err) &&
                !ompjit_module_function(mod, "f", &f, &err);
    if (!child)
        _exit(good ? 0 : 1);
    int status = -1;
    ok(good, "a log's function that forks: %s", err.text);
    ok(child > 0 && waitpid(child, &status, 0) == child && !status,
       "the compile goes on in the child, too");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

int main(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof one, &one);
    for (int i = 0, found = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &one) && found++)
            CPU_CLR(i, &one);
    if (sched_setaffinity(0, sizeof one, &one))
        skip_all("the process cannot choose its processor");
    setenv("OMPJIT_CACHE", "0", 1);
    fflush(stdout);
    in_callback();
    waits_for_one();
    is_cancelled();
    is_cancelled_between();
    return done_testing();
}
