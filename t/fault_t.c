/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels that fault on the host device end as errors with the kernel's name
 * and the source line, in teams of one thread and of several, and the process
 * goes on; faults that are not a kernel's are what they were without us.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stack.h"
#include "device/engine/fault.h"
#include "ompjit.h"
#include "tap.h"

/* Each fault on a line of its own, which the table below knows. */
static const char source[] =
    "#include <omp.h>\n"                                          /* 1 */
    "#pragma omp begin declare target\n"
    "int deep(int n) {\n"
    "  volatile char here[1000];\n"
    "  here[n % 1000] = 1;\n"                                     /* 5 */
    "  return deep(n + 1) + here[n % 999];\n"
    "}\n"
    "int depth(int n) {\n"
    "  return n < 0 ? 1 : depth(n + 1) * 3 + depth(n / 2);\n"
    "}\n"                                                        /* 10 */
    "int unused;\n"
    "int also_unused;\n"
    "#pragma omp end declare target\n"
    "void crash(int how, int zero, int *out) {\n"
    "#pragma omp target parallel map(out[:1])\n"                  /* 15 */
    "  if (omp_get_thread_num() == omp_get_num_threads() - 1) {\n"
    "    if (how == 1) out[0] = *(int *)0x18;\n"
    "    if (how == 2) out[0] = 5 / zero;\n"
    "    if (how == 3) __asm__ volatile(\"ud2\");\n"
    "    if (how == 4) __builtin_trap();\n"                       /* 20 */
    "    if (how == 5)\n"
    "      __builtin_memset((void *)(0x2000L + how), 1, how * 4000L);\n"
    "    if (how == 6) out[0] = *(int *)0x8000000000000000;\n"
    "    if (how == 7) out[0] = 78;\n"
    "    if (how == 8) out[0] = deep(0);\n"          /* 25 */
    "    if (how == 9) out[0] = depth(how);\n"
    "    if (how == 0) out[0] = 77;\n"
    "  }\n"
    "}\n"
    "void begin(int *x, int n) {\n"
    "#pragma omp target enter data map(to: x[:n])\n"
    "}\n"
    "void fail(int *x, int *y, int n) {\n"
    "#pragma omp target map(x[:n], y[:n])\n"
    "  x[n] = y[0] = *(int *)0x18;\n"
    "}\n"
    "void wipe(long at, long n) {\n"
    "#pragma omp target\n"
    "  __builtin_memset((void *)at, 1, n);\n"
    "}\n"
    "void nowhere(long at, long n) {\n"
    "#pragma omp target\n"
    "  *(long *)0 = at + n;\n"
    "}\n"
    "void itself(long at, long n) {\n"
    "#pragma omp target\n"
    "  if (at > n)\n"
#ifdef __x86_64__
    "  __asm__ volatile(\"leaq 0(%rip), %rdi; movq %rdi, (%rdi)\");\n"
#else
    "  __asm__ volatile(\"adr x0, .+4; str x0, [x0]\");\n"
#endif
    "}\n"
    "int look(int *x, int *y) {\n"
    "  return omp_target_is_present(x, 0) + 2 * omp_target_is_present(y, 0);\n"
    "}\n"
    "void end(int *x, int n) {\n"
    "#pragma omp target exit data map(from: x[:n])\n"
    "}\n";

static const struct {
    int how;
    const char *text, *line;
} faults[] = {
    {1, "access to unmapped memory at 0x18", "(snippet.c:17)"},
    {2, "an integer division by zero", "(snippet.c:18)"},
    {3, "an illegal instruction", "(snippet.c:19)"},
    {4, "the kernel executed a trap", "(snippet.c:20)"},
    {5, "access to unmapped memory at 0x", "(snippet.c:22)"},
    {6, "access to", "(snippet.c:23)"},
    {8, "its stack overflowed", ""}, /* in the runtime, which has no lines */
    {9, "its stack overflowed", "(snippet.c:9)"},
};

/* LeakSanitizer asks: what a kernel has allocated is lost with the kernel. */
const char *__lsan_default_suppressions(void)
{
    return "leak:ompjit_host_malloc\n";
}

static ompjit_error err;
static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
                              SIGABRT};
enum { SIGNALS = sizeof signals / sizeof *signals };

struct session {
    ompjit_context *ctx;
    ompjit_module *mod;
    ompjit_device *dev;
};

static bool start(struct session *s, int keep_signals, ompjit_failure_fn *f)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    options.host_memory = OMPJIT_HOST_MEMORY_SEPARATE;
    options.keep_signals = keep_signals;
    options.on_failure = f;
    return !ompjit_context_create(&options, &s->ctx, &err) &&
           !ompjit_context_device(s->ctx, 0, &s->dev, &err) &&
           !ompjit_module_from_c(s->ctx, source, NULL, &s->mod, &err);
}

static void finish(struct session *s)
{
    ompjit_module_destroy(s->mod);
    ompjit_context_destroy(s->ctx);
}

static ompjit_status crash(struct session *s, uint32_t threads, int how)
{
    static int out[1];
    ompjit_kernel *k;
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.threads = threads;
    ompjit_arg args[] = {
        {.name = "how", .type = OMPJIT_ARG_I32, .value.i32 = how},
        {.name = "zero", .type = OMPJIT_ARG_I32, .value.i32 = 0},
        {.name = "out", .type = OMPJIT_ARG_POINTER, .value.p = out}};
    ompjit_status status = ompjit_module_kernel(s->mod, "crash", &k, &err);
    if (!status)
        status = ompjit_kernel_launch(k, s->dev, &launch, args, 3, &err);
    return status ? status : out[0] == 77 ? OMPJIT_OK : OMPJIT_ERR_INTERNAL;
}

static bool ends(struct session *s, const char *name)
{
    ompjit_kernel *k;
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[] = {
        {.name = "at", .type = OMPJIT_ARG_I64, .value.i64 = 0x2000},
        {.name = "n", .type = OMPJIT_ARG_I64, .value.i64 = 5000}};
    return !ompjit_module_kernel(s->mod, name, &k, &err) &&
           ompjit_kernel_launch(k, s->dev, &launch, args, 2, &err) ==
               OMPJIT_ERR_DEVICE;
}

/* The C library's function is the last that the kernel calls; the optimizer
 * drops what stores to a null pointer; and code is written to by the instruction
 * that is there, as is seen too where a launch has been stopped. */
static void odd_faults(struct session *s)
{
    ok(ends(s, "wipe"), "a last call's fault is an error");
    ok_contains(err.text, "unmapped memory at 0x2000 (snippet.c:39)",
                "where it was called: %s", err.text);
    ok(ends(s, "nowhere"), "so is a kernel without any code");
    ok_contains(err.text, "an illegal instruction", "%s", err.text);
    ok(ends(s, "itself"), "and an instruction that writes to itself");
    ok_contains(err.text, "that is protected", "%s", err.text);
}

static void each_fault(struct session *s, uint32_t threads)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        ompjit_status status = crash(s, threads, faults[i].how);
        ok(status == OMPJIT_ERR_DEVICE, "%u threads, fault %d: an error",
           threads, faults[i].how);
        ok(strstr(err.text, "_crash_l15, team 0, thread ") &&
               strstr(err.text, faults[i].text) &&
               strstr(err.text, faults[i].line),
           "%s", err.text);
        ok(!crash(s, threads, 0), "and the kernel runs the next time");
    }
}

/* ---------------------------------------------------------------- mapping */

static jmp_buf out_of_function;

static void jump(void *data, const ompjit_error *e)
{
    err = *e;
    longjmp(out_of_function, 1);
}

static void mapping(struct session *s)
{
    enum { N = 8 };
    static int x[N] = {1, 2, 3, 4, 5, 6, 7, 8}, y[N];
    void (*begin)(int *, int), (*end)(int *, int), (*fail)(int *, int *, int);
    int (*look)(int *, int *);
    ok(!ompjit_module_function(s->mod, "begin", (void (**)(void))&begin,
                               &err) &&
           !ompjit_module_function(s->mod, "end", (void (**)(void))&end,
                                   &err) &&
           !ompjit_module_function(s->mod, "fail", (void (**)(void))&fail,
                                   &err) &&
           !ompjit_module_function(s->mod, "look", (void (**)(void))&look,
                                   &err),
       "functions");
    begin(x, N);
    ok(look(x, y) == 1, "x is mapped");
    if (!setjmp(out_of_function)) {
        fail(x, y, N);
        ok(0, "a region that faults is told of");
    }
    ok_contains(err.text, "_fail_l34", "the failed region: %s", err.text);
    ok(look(x, y) == 1, "x is mapped as before, y is not any more");
    memset(x, 0, sizeof x);
    end(x, N);
    ok(x[0] == 1 && x[N - 1] == 8, "and its device copy is whole");
    ok(look(x, y) == 0, "one reference, as before");
}

/* --------------------------------------------- the application's handlers */

static sigjmp_buf out_of_handler;
static volatile sig_atomic_t own_calls;
static struct sigaction before_own;

static void own_handler(int number, siginfo_t *info, void *context)
{
    own_calls++;
    siglongjmp(out_of_handler, 1);
}

/* Handles what is at address 8, and hands everything else on. */
static void late_handler(int number, siginfo_t *info, void *context)
{
    if (info->si_addr == (void *)8) {
        own_calls++;
        siglongjmp(out_of_handler, 1);
    }
    before_own.sa_sigaction(number, info, context);
}

static void touch_nothing(void)
{
    static volatile uintptr_t nothing = 8;
    *(volatile int *)nothing = 1;
}

static void own_fault(void)
{
    if (!sigsetjmp(out_of_handler, 1))
        touch_nothing();
}

static void own_handlers(void)
{
    struct sigaction own = {.sa_sigaction = own_handler,
                            .sa_flags = SA_SIGINFO},
                     old[SIGNALS], now;
    struct session s;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &own, &old[i]);
    ok(start(&s, 0, NULL), "a context beside an application's handlers");
    own_calls = 0;
    ok(crash(&s, 1, 1) == OMPJIT_ERR_DEVICE && own_calls == 0,
       "a kernel's fault is not theirs: %s", err.text);
    own_fault();
    ok(own_calls == 1, "a fault outside of kernels is");
    if (!sigsetjmp(out_of_handler, 1))
        raise(SIGFPE);
    ok(own_calls == 2, "so is a signal that was sent");
    struct sigaction late = {.sa_sigaction = late_handler,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &late, &before_own);
    ok(crash(&s, 1, 1) == OMPJIT_ERR_DEVICE && own_calls == 2,
       "a handler that came later hands kernels' faults on");
    own_fault();
    ok(own_calls == 3, "and has its own");
    sigaction(SIGSEGV, &before_own, NULL);
    finish(&s);
    int back = 0;
    for (int i = 0; i < SIGNALS; i++)
        back += !sigaction(signals[i], &old[i], &now) &&
                now.sa_sigaction == own_handler;
    ok(back == SIGNALS, "with the context our handlers are gone");
}

/* The signal that a child ends with, -1 where it survives. */
static int child(int keep_signals, bool in_kernel)
{
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        struct session s;
        close(STDERR_FILENO); /* a sanitizer's report */
        if (!start(&s, keep_signals, NULL) || crash(&s, 1, 0))
            _exit(0);
        if (in_kernel)
            crash(&s, 1, 1);
        else
            touch_nothing();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) || WEXITSTATUS(status) ? status : -1;
}

/* The ends of stacks, found without asking the C library where that
 * takes long. */
static void *stack_end(void *unused)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    ompjit__fault_thread();
    return ompjit__stack_end() == (uintptr_t)low ? low : NULL;
}

static void stack_ends(void)
{
    pthread_t thread;
    void *same = NULL;
    ok(stack_end(NULL) != NULL, "the first thread's stack ends where it does");
    pthread_create(&thread, NULL, stack_end, NULL);
    pthread_join(thread, &same);
    ok(same != NULL, "and another's");
}

int main(void)
{
    struct sigaction before, now;
    struct session s;
    ok(child(0, true) == -1, "a kernel's fault leaves a process alive");
    ok(child(0, false) != -1, "a fault of its own ends it");
    ok(child(1, true) != -1, "with keep_signals a kernel's does, too");
    sigaction(SIGSEGV, NULL, &before);
    if (!start(&s, 0, jump))
        skip_all("%s", err.text);
    static const uint32_t threads[] = {0, 1, 4, 100};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        each_fault(&s, threads[i]);
    odd_faults(&s);
    mapping(&s);
    stack_ends();
    finish(&s);
    sigaction(SIGSEGV, NULL, &now);
    ok(now.sa_handler == before.sa_handler, "SIGSEGV is as it was");
    own_handlers();
    ok(start(&s, 1, NULL) && !crash(&s, 1, 0) &&
           !sigaction(SIGSEGV, NULL, &now) &&
           now.sa_handler == before.sa_handler,
       "with keep_signals no handler is installed");
    finish(&s);
    return done_testing();
}
