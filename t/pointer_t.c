/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pointers to functions (ompjit_module_function): each kind of argument and
 * result gets through; a fault in the function's own code ends its call, which
 * returns zero, and is kept; exceptions, jumps of the hook, and what goes wrong
 * in a guarded call around it go where they belong.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "function.h"

static void (*pointer(ompjit_module *mod, const char *name))(void)
{
    void (*fn)(void) = NULL;
    if (ompjit_module_function(mod, name, &fn, &err)) {
        fprintf(stderr, "# %s: %s\n", name, err.text);
        exit(1);
    }
    return fn;
}

/* Has the context kept a failure with these words? It is forgotten. */
static bool kept(ompjit_context *of, const char *words)
{
    ompjit_status status = ompjit_context_failure(of, &err);
    if (status != OMPJIT_ERR_DEVICE || !strstr(err.text, words))
        fprintf(stderr, "# status %d: %s\n", (int)status,
                status ? err.text : "");
    return status == OMPJIT_ERR_DEVICE && strstr(err.text, words);
}

/* ------------------------------------------------------------------- values */

typedef struct { int a; float b; } small;
typedef struct { double d; long l; } mixed;
typedef struct { float x, y, z; } three;
typedef struct { double d[5]; int n; } big;

/* Each faults where `bad` is. */
static const char values[] =
    "typedef struct { int a; float b; } small;\n"
    "typedef struct { double d; long l; } mixed;\n"
    "typedef struct { float x, y, z; } three;\n"
    "typedef struct { double d[5]; int n; } big;\n"
    "static volatile int *none;\n"
    "#define BAD if (bad) *none = 1\n"
    "long many(int bad, float b, long c, double d, short e, unsigned char f,\n"
    "          int g, int h, double i, float j, double k, double l, double m,\n"
    "          double n, double o, float p, signed char q) {\n"
    "  BAD;\n"
    "  return bad + 2 * (long)b + 3 * c + 4 * (long)d + 5 * e + 6 * f + 7 * g +\n"
    "         8 * h + 9 * (long)i + 10 * (long)j + 11 * (long)k +\n"
    "         12 * (long)l + 13 * (long)m + 14 * (long)n + 15 * (long)o +\n"
    "         16 * (long)p + 17 * q;\n"
    "}\n"
    "signed char low(int bad, signed char c) { BAD; return c - 1; }\n"
    "float half(int bad, float f) { BAD; return f / 2; }\n"
    "double twice(double d, int bad) { BAD; return d * 2; }\n"
    "void *same(void *p, int bad) { BAD; return p; }\n"
    "small of_small(small s, int bad) {\n"
    "  BAD; return (small){s.a + 1, s.b * 2}; }\n"
    "mixed of_mixed(int bad, mixed m) {\n"
    "  BAD; return (mixed){m.d + 1, m.l - 1}; }\n"
    "three of_three(three t, int bad) {\n"
    "  BAD; return (three){t.z, t.x, t.y}; }\n"
    "big of_big(int bad, big b, int m) {\n"
    "  BAD; b.n += m; b.d[4] *= 2; return b; }\n"
    "double last(mixed a, mixed b, mixed c, mixed d, mixed e, big f, int bad) {\n"
    "  BAD; return a.d + b.d + c.d + d.l + e.l + f.d[0] + f.n; }\n"
    "long double wide(long double x, int bad) { BAD; return x * 3; }\n"
    "int any(int n, ...) {\n"
    "  int sum = 0; __builtin_va_list ap; __builtin_va_start(ap, n);\n"
    "  for (int i = 0; i < n; i++) sum += __builtin_va_arg(ap, int);\n"
    "  __builtin_va_end(ap); return sum; }\n";

static ompjit_module *module_of_values;

static bool in_order(bool right, const char *name, bool bad)
{
    bool failed = bad && !kept(ctx, name);
    if (!right)
        fprintf(stderr, "# %s: another value\n", name);
    return right && !failed;
}

#define POINTER(type, name) ((type)pointer(module_of_values, #name))
#define CHECK(name, value) good &= in_order(value, #name, bad)

/* With the values that they return, or, where they fault, with zero. */
static bool try_all(int bad)
{
    const long k = !bad;
    bool good = true;
    mixed m = {1.5, 7}, mixed_out =
        ((mixed(*)(int, mixed))POINTER(void (*)(void), of_mixed))(bad, m);
    CHECK(of_mixed, mixed_out.d == 2.5 * k && mixed_out.l == 6 * k);
    long many = POINTER(long (*)(int, float, long, double, short,
                                 unsigned char, int, int, double, float, double,
                                 double, double, double, double, float,
                                 signed char),
                        many)(bad, 1, 2, 3, -4, 200, 6, 7, 8, 9, 10, 11, 12, 13,
                              14, 15, -3);
    CHECK(many, many == k * (2 + 6 + 12 - 20 + 1200 + 42 + 56 + 72 + 90 + 110 +
                             132 + 156 + 182 + 210 + 240 - 51));
    CHECK(low, POINTER(signed char (*)(int, signed char), low)(bad, -5) ==
                   -6 * k);
    CHECK(half, POINTER(float (*)(int, float), half)(bad, 5) == 2.5f * (float)k);
    CHECK(twice, POINTER(double (*)(double, int), twice)(1.25, bad) ==
                     2.5 * (double)k);
    CHECK(same, POINTER(void *(*)(void *, int), same)(&m, bad) ==
                    (bad ? NULL : &m));
    small s = POINTER(small (*)(small, int), of_small)((small){4, 1.5f}, bad);
    CHECK(of_small, s.a == 5 * k && s.b == 3 * (float)k);
    three t = POINTER(three (*)(three, int), of_three)((three){1, 2, 3}, bad);
    CHECK(of_three, t.x == 3 * (float)k && t.y == (float)k &&
                        t.z == 2 * (float)k);
    big in = {{1, 2, 3, 4, 5}, 6}, out;
    memset(&out, 77, sizeof out);
    out = POINTER(big (*)(int, big, int), of_big)(bad, in, 10);
    CHECK(of_big, out.d[0] == (double)k && out.d[4] == 10 * (double)k &&
                      out.n == 16 * k);
    double last = POINTER(double (*)(mixed, mixed, mixed, mixed, mixed, big,
                                     int), last)(m, m, m, m, m, in, bad);
    CHECK(last, last == k * (4.5 + 14 + 1 + 6));
#ifdef __x86_64__ /* elsewhere it is in a register of 16 bytes */
    CHECK(wide, POINTER(long double (*)(long double, int), wide)(1.25L, bad) ==
                    3.75L * k);
#endif
    return good && !ompjit_context_failure(ctx, &err);
}

static void test_values(void)
{
    module_of_values = module_named("values.c", values, 0);
    ok(try_all(0), "arguments and results of each kind");
    ok(try_all(1), "zero of each kind where the function faults");
    ok(try_all(0), "and then they work");
    ok(POINTER(int (*)(int, ...), any)(12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                       12) == 78,
       "any number of arguments");
    ok(pointer(module_of_values, "half") == pointer(module_of_values, "half"),
       "a function has one pointer");
    ompjit_module_destroy(module_of_values);
}

/* --------------------------------------------------------------------- calls */

static const char calls[] =
    "extern \"C\" {\n"
    "int omp_target_is_present(const void *, int);\n"
    "int present(int *x) { return omp_target_is_present(x, 0); }\n"
    "static volatile int *none;\n"
    "struct counted { int *n; ~counted() { ++*n; } };\n"
    "int fault(void) { *none = 1; return 1; }\n"
    "int throws(int n) { if (n) throw n; return 7; }\n"
    "int catches(int (*f)(int), int n, int *ended) {\n"
    "  try { counted c{ended}; return f(n); }\n"
    "  catch (int thrown) { return -thrown; }\n"
    "}\n"
    "int behind(int (*f)(void), int *after) {\n"
    "  int r = f(); *after = 1; return r; }\n"
    "void mapped(int n, int *x, int bad) {\n"
    "  #pragma omp target data map(tofrom: x[:n])\n"
    "  { if (bad) *none = 1; }\n"
    "}\n"
    "void region(int n, int *x, int bad) {\n"
    "  #pragma omp target map(tofrom: x[:n])\n"
    "  { if (bad) __builtin_trap(); x[0]++; }\n"
    "  x[1]++;\n"
    "}\n"
    "}\n";

static void test_exceptions(ompjit_module *mod)
{
    int ended = 0;
    int (*catches)(int (*)(int), int, int *) =
        (int (*)(int (*)(int), int, int *))pointer(mod, "catches");
    int (*throws)(int) = (int (*)(int))pointer(mod, "throws");
    ok(catches(throws, 0, &ended) == 7 && catches(throws, 3, &ended) == -3 &&
           ended == 2,
       "an exception passes through to who catches it");
    int (*fault)(void) = (int (*)(void))pointer(mod, "fault");
    ok(!ompjit_context_failure(ctx, &err) && fault() == 0 &&
           kept(ctx, "fault: "),
       "no guard is left behind");
}

/* The failure is that of the call around it. */
static void test_nested(ompjit_module *mod)
{
    int after = 0;
    ompjit_value args[2] = {{.p = (void *)(uintptr_t)pointer(mod, "fault")},
                            {.p = &after}}, result;
    ompjit_status status = ompjit_function_call(
        function_of(mod, "behind"), args, 2, NULL, &result, &err);
    ok(status == OMPJIT_ERR_DEVICE && strstr(err.text, "fault: ") && !after &&
           !ompjit_context_failure(ctx, &err),
       "within a guarded call, it is that call's error");
    int (*behind)(int (*)(void), int *) =
        (int (*)(int (*)(void), int *))pointer(mod, "behind");
    ok(behind((int (*)(void))pointer(mod, "fault"), &after) == 0 && after &&
           kept(ctx, "fault: "),
       "within a call through a pointer, the inner one ends");
}

static void test_data(ompjit_module *mod)
{
    static int x[1000];
    void (*mapped)(int, int *, int) =
        (void (*)(int, int *, int))pointer(mod, "mapped");
    void (*region)(int, int *, int) =
        (void (*)(int, int *, int))pointer(mod, "region");
    int (*present)(int *) = (int (*)(int *))pointer(mod, "present");
    mapped(1000, x, 1);
    ok(kept(ctx, "mapped: ") && !present(x),
       "data that the call had mapped is unmapped");
    region(1000, x, 1);
    ok(kept(ctx, "region") && x[0] == 0 && x[1] == 1,
       "a target construct that fails does not end the function");
    region(1000, x, 0);
    ok(x[0] == 1 && x[1] == 2 && !ompjit_context_failure(ctx, &err),
       "and the next one works");
}

/* -------------------------------------------------------------------- hooks */

static jmp_buf out;

static void jump(void *data, const ompjit_error *e)
{
    ++*(int *)data;
    longjmp(out, e->status != 0);
}

static const char *const fault_source =
    "static volatile int *none;\n"
    "int fault(int bad) { if (bad) *none = 1; return 5; }\n";

static void test_jump(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *of = NULL;
    ompjit_module *mod = NULL;
    int volatile rounds = 0;
    int told = 0;
    options.devices = "host";
    options.on_failure = jump;
    options.on_failure_data = &told;
    ok(!ompjit_context_create(&options, &of, &err) &&
           !ompjit_module_from_c(of, fault_source, NULL, &mod, &err),
       "a context whose hook jumps");
    int (*fault)(int) = (int (*)(int))pointer(mod, "fault");
    while (rounds < 3)
        if (!setjmp(out)) {
            rounds++;
            fault(1);
            break;
        }
    ok(rounds == 3 && told == 2 + (rounds == 3) && fault(0) == 5,
       "it is told of the fault, and may jump out");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(of);
}

/* The signal by which a child ends that calls a function which faults, in a
 * context with these options; 0: it does not. */
static int ends_by(const ompjit_context_options *options)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        ompjit_context *of;
        ompjit_module *mod;
        if (ompjit_context_create(options, &of, &err) ||
            ompjit_module_from_c(of, fault_source, NULL, &mod, &err))
            _exit(2);
        ((int (*)(int))pointer(mod, "fault"))(1);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_ends(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    ok(!ends_by(&options), "a fault does not end the process");
    options.after_failure = OMPJIT_AFTER_FAILURE_END;
    ok(ends_by(&options) == SIGSEGV, "where failures do, it does by itself");
    options.after_failure = OMPJIT_AFTER_FAILURE_DEFAULT;
    options.keep_signals = 1;
    ok(ends_by(&options) == SIGSEGV,
       "and so it does where signals are left alone");
}

int main(void)
{
    unsetenv("OMP_TARGET_OFFLOAD");
    open_context();
    test_values();
    ompjit_module *mod = module_named("calls.cpp", calls, 1);
    test_exceptions(mod);
    test_nested(mod);
    test_data(mod);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    test_jump();
    test_ends();
    return done_testing();
}
