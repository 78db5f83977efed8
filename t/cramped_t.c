/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Little stack, memory and time: a thread of 64 KB compiles and launches, a
 * compile in an address space of any size is an error or well, and LLVM's work
 * ends with the time limit.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ompjit.h"
#include "tap.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HAS_LIMITS false /* the sanitizers want terabytes, and stack */
#else
#define HAS_LIMITS true
#endif

static const char source[] =
    "void f(int n, int *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"
    "  for (int i = 0; i < n; i++) x[i] += 3;\n}\n";

static ompjit_error err;

static ompjit_context *context(void)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    o.devices = "host";
    o.cache.mode = OMPJIT_CACHE_OFF;
    return ompjit_context_create(&o, &ctx, &err) ? NULL : ctx;
}

static void *all_of_it(void *arg)
{
    int *x = arg;
    void (*f)(void);
    ompjit_module *mod;
    ompjit_context *ctx = context();
    if (!ctx)
        return NULL;
    if (!ompjit_module_from_c(ctx, source, NULL, &mod, &err)) {
        if (!ompjit_module_function(mod, "f", &f, &err)) {
            ((void (*)(int, int *))f)(100, x);
            ompjit_context_failure(ctx, &err);
        }
        ompjit_module_destroy(mod);
    }
    ompjit_context_destroy(ctx);
    return NULL;
}

static void small_stack(void)
{
    static int x[100];
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    bool made = !pthread_create(&thread, &attributes, all_of_it, x);
    if (made)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    ok(made && x[0] == 3 && x[99] == 3, "a stack of 64 KB: %s", err.text);
}

/* A killed process has left the empty file that libomp made first: a process of
 * the same number runs all the same. */
static void file_left_behind(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        static int x[100];
        char path[64];
        snprintf(path, sizeof path, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d",
                 (int)getpid(), (int)getuid());
        FILE *f = fopen(path, "w");
        if (!f || fclose(f))
            _exit(2);
        all_of_it(x);
        exit(x[0] == 3 && x[99] == 3 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    ok(!status, "an empty file of libomp's");
}

static long used(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

/* 0: well, 1: out of memory, 2: another error, 3: no context. */
static int compile_within(const void *ir, size_t size, long extra)
{
    ompjit_module *mod;
    ompjit_context *ctx = context();
    void *object;
    size_t length;
    struct rlimit limit = {(rlim_t)(used() + extra), RLIM_INFINITY};
    if (!ctx || setrlimit(RLIMIT_AS, &limit))
        return 3;
    ompjit_status status =
        ompjit_module_from_ir(ctx, ir, size, NULL, 0, NULL, &mod, &err);
    if (!status)
        status = ompjit_module_emit(mod, OMPJIT_FORMAT_OBJECT, "host", &object,
                                    &length, &err);
    return !status ? 0 : status == OMPJIT_ERR_NO_MEMORY ? 1 : 2;
}

static void little_memory(const void *ir, size_t size)
{
    enum { LIMITS = 48, STEP = 400 << 10 };
    int found[3] = {0}, died = 0;
    for (int i = 0; i < LIMITS; i++) {
        int status;
        fflush(stdout);
        pid_t child = fork();
        if (!child)
            _exit(compile_within(ir, size, (long)i * STEP));
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) < 3)
            found[WEXITSTATUS(status)]++;
        else
            died++;
    }
    ok(!died && found[0] && found[1],
       "limits of memory: %d well, %d out of memory, %d other errors, %d died",
       found[0], found[1], found[2], died);
}

/* In a child, so that no process that has LLVM forks. */
static void write_ir(int fd)
{
    ompjit_module *mod;
    ompjit_context *ctx = context();
    void *ir;
    size_t size;
    if (ctx && !ompjit_module_from_c(ctx, source, NULL, &mod, &err) &&
        !ompjit_module_emit(mod, OMPJIT_FORMAT_BC, NULL, &ir, &size, &err) &&
        write(fd, ir, size) == (ssize_t)size)
        _exit(0);
    _exit(1);
}

/* The assembler repeats nothing for minutes. */
static void little_time(void)
{
    static const char endless[] =
        "int g(void) { return 3; }\n"
        "void f(void) { __asm__ volatile(\".rept 100000000000\\n.endr\"); }";
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    void (*f)(void) = NULL;
    o.devices = "host";
    o.cache.mode = OMPJIT_CACHE_OFF;
    o.compiler.time_limit_ms = 1 * 1000;
    if (ompjit_context_create(&o, &ctx, &err))
        return;
    ompjit_status status =
        ompjit_module_from_c(ctx, endless, NULL, &mod, &err);
    ok(!status, "an endless assembly is source");
    for (int i = 0; !status && i < 2; i++)
        ok(ompjit_module_function(mod, "g", &f, &err) == OMPJIT_ERR_TIMEOUT &&
               strstr(err.text, "LLVM did not end within 1 second"),
           "LLVM is left after its time: %s", err.text);
    if (!status)
        ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    static int x[100];
    all_of_it(x);
    ok(x[0] == 3 && x[99] == 3, "and compiles again");
}

int main(void)
{
    static char ir[1 << 20];
    int ends[2], status;
    ssize_t n;
    size_t size = 0;
    if (!HAS_LIMITS)
        skip_all("a sanitizer");
    if (pipe(ends))
        return 1;
    pid_t child = fork();
    if (!child)
        write_ir(ends[1]);
    close(ends[1]);
    while ((n = read(ends[0], ir + size, sizeof ir - size)) > 0)
        size += (size_t)n;
    waitpid(child, &status, 0);
    ok(!status && size, "IR to compile");
    little_memory(ir, size);
    file_left_behind();
    small_stack();
    alarm(300);
    little_time();
    return done_testing();
}
