/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Guarded calls: arguments and results of each kind, and what goes wrong in a
 * function, which comes back as the call's error and leaves the process as it
 * was. Callbacks, and calls that are aborted.
 */
#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/pack.h"
#include "core/core.h"
#include "door/door.h"
#include "function/function.h"
#include "function.h"

/* ---------------------------------------------------------------- arguments */

static const char kinds[] =
    "#include <complex.h>\n"
    "#include <stdbool.h>\n"
    "typedef struct { int a; float b; } small;\n"
    "typedef struct { double d; long l; } mixed;\n"
    "typedef struct { float x, y, z; } three;\n"
    "typedef struct { char c[3]; } odd;\n"
    "typedef struct { double d[5]; int n; } big;\n"
    "enum sign { MINUS = -1, PLUS = 1 };\n"
    "long many(int a, float b, long c, double d, short e, unsigned char f,\n"
    "          int g, int h, double i, float j, double k, double l, double m,\n"
    "          double n, double o, float p, signed char q, bool r) {\n"
    "  return a + 2 * (long)b + 3 * c + 4 * (long)d + 5 * e + 6 * f + 7 * g +\n"
    "         8 * h + 9 * (long)i + 10 * (long)j + 11 * (long)k +\n"
    "         12 * (long)l + 13 * (long)m + 14 * (long)n + 15 * (long)o +\n"
    "         16 * (long)p + 17 * q + 18 * r;\n"
    "}\n"
    "bool truth(bool b) { return b; }\n"
    "signed char negative(signed char c) { return c - 1; }\n"
    "unsigned short wide(unsigned short s) { return s + 1; }\n"
    "unsigned u32(unsigned u) { return u; }\n"
    "float half(float f) { return f / 2; }\n"
    "double twice(double d) { return d * 2; }\n"
    "enum sign sign_of(int i) { return i < 0 ? MINUS : PLUS; }\n"
    "void *same(void *p) { return p; }\n"
    "small of_small(small s) { return (small){s.a + 1, s.b * 2}; }\n"
    "mixed of_mixed(int n, mixed m) { return (mixed){m.d + n, m.l - n}; }\n"
    "three of_three(three t) { return (three){t.z, t.x, t.y}; }\n"
    "odd of_odd(odd o) { return (odd){{o.c[2], o.c[0], o.c[1]}}; }\n"
    "big of_big(int n, big b, int m) { b.n += n * m; b.d[4] *= 2; return b; }\n"
    "float complex of_fc(float complex z) { return conjf(z); }\n"
    "double complex of_dc(double complex z, double complex w) {\n"
    "  return z * w; }\n"
    "double last(mixed a, mixed b, mixed c, mixed d, mixed e, big f) {\n"
    "  return a.d + b.d + c.d + d.l + e.l + f.d[0] + f.n; }\n"
    "#ifdef __x86_64__\n"
    "long double of_ld(long double x, int i) { return x * i; }\n"
    "#endif\n";

static ompjit_module *module_of_kinds;

static int call(const char *name, const ompjit_value *args, unsigned n,
                ompjit_value *result)
{
    ompjit_status status =
        ompjit_function_call(function_of(module_of_kinds, name), args, n, NULL,
                             result, &err);
    if (status)
        fprintf(stderr, "# %s: %s\n", name, err.text);
    return status == OMPJIT_OK;
}

/* A function of n longs, which gives the last one. */
static ompjit_status call_longs(unsigned n, ompjit_value *result)
{
    ompjit_value args[300] = {{0}};
    char source[6000], *to = source;
    to += sprintf(to, "long many(");
    for (unsigned i = 0; i < n; i++) {
        to += sprintf(to, "long a%u%s", i, i + 1 < n ? ", " : ")");
        args[i].i = i;
    }
    sprintf(to, "{ return a%u; }", n - 1);
    ompjit_module *mod = module_named("longs.c", source, 1);
    ompjit_status status = ompjit_function_call(function_of(mod, "many"), args,
                                                n, NULL, result, &err);
    ompjit_module_destroy(mod);
    return status;
}

/* 256 words of the stack can be passed. */
static void try_longs(void)
{
    enum { MOST = 256 + OMPJIT__INTEGERS };
    ompjit_value r = {0};
    ok(!call_longs(MOST, &r) && r.i == MOST - 1, "2 KB of parameters on the "
                                                 "stack");
    for (unsigned n = MOST + 1; n < MOST + 4; n++) {
        ok(call_longs(n, &r), "no more of them: %u", n);
        ok_contains(err.text, "more than 2 KB of stack", "which is told");
    }
}

/* A struct of which the text says another number of members than it has. */
static void try_damaged(void)
{
    ompjit__buf source = {0}, text = {0};
    ompjit__pack_number(&source, 1); /* type */
    ompjit__pack_number(&source, OMPJIT_TYPE_STRUCT);
    ompjit__pack_number(&source, 0);    /* flags    */
    ompjit__pack_number(&source, 8);    /* bytes    */
    ompjit__pack_number(&source, 1000); /* count    */
    ompjit__pack_number(&source, 0);    /* target   */
    ompjit__pack_string(&source, "struct s");
    ompjit__pack_number(&source, 1); /* member */
    ompjit__pack_string(&source, "x");
    for (int i = 0; i < 20; i++)
        ompjit__pack_number(&source, 0);
    ompjit__pack_bytes(&text, source.data, source.size);
    ompjit_module *mod = module_named("damaged.c", "int f(void);", 0);
    const ompjit__functions *functions;
    ompjit__buf_free(&mod->unit.signatures);
    mod->unit.signatures = text;
    ok(ompjit__functions_of(mod, &functions, &err) == OMPJIT_ERR_INTERNAL,
       "a damaged text of signatures");
    ok_contains(err.text, "do not read", "is refused");
    ompjit_module_destroy(mod);
    ompjit__buf_free(&source);
}

static void try_numbers(void)
{
    ompjit_value v[18] = {
        {.i = 1}, {.f32 = 2}, {.i = 3}, {.f64 = 4}, {.i = -5}, {.u = 255},
        {.i = -7}, {.i = 8}, {.f64 = 9}, {.f32 = 10}, {.f64 = 11}, {.f64 = 12},
        {.f64 = 13}, {.f64 = 14}, {.f64 = 15}, {.f32 = 16}, {.i = -17},
        {.u = 1}};
    ompjit_value r = {0};
    ok(call("many", v, 18, &r) &&
           r.i == 1 + 4 + 9 + 16 - 25 + 6 * 255 - 49 + 64 + 81 + 100 + 121 +
                      144 + 169 + 196 + 225 + 256 - 17 * 17 + 18,
       "eighteen numbers, in registers and on the stack");
    r.u = ~UINT64_C(0);
    ok(call("truth", &(ompjit_value){.u = 1}, 1, &r) && r.u == 1, "true");
    ok(call("truth", &(ompjit_value){.u = 0}, 1, &r) && r.u == 0, "false");
    ok(call("negative", &(ompjit_value){.i = 5}, 1, &r) && r.i == 4, "a char");
    ok(call("negative", &(ompjit_value){.i = -5}, 1, &r) && r.i == -6,
       "and its sign");
    ok(call("wide", &(ompjit_value){.u = 65535}, 1, &r) && r.u == 0,
       "16 bits without a sign");
    ok(call("u32", &(ompjit_value){.u = 0xffffffff}, 1, &r) &&
           r.u == 0xffffffff, "32 bits without a sign");
    ok(call("half", &(ompjit_value){.f32 = 3}, 1, &r) && r.f32 == 1.5f,
       "a float");
    ok(call("twice", &(ompjit_value){.f64 = 3}, 1, &r) && r.f64 == 6,
       "a double");
    ok(call("sign_of", &(ompjit_value){.i = -3}, 1, &r) && r.i == -1,
       "a constant of an enumeration");
    ok(call("same", &(ompjit_value){.p = v}, 1, &r) && r.p == v, "a pointer");
    ok(call("same", &(ompjit_value){.p = v}, 1, NULL), "nobody wants the result");
}

typedef struct { int a; float b; } small;
typedef struct { double d; long l; } mixed;
typedef struct { float x, y, z; } three;
typedef struct { char c[3]; } odd;
typedef struct { double d[5]; int n; } big;

static void try_structs(void)
{
    small s = {3, 4}, s2;
    mixed m = {1.5, 10}, m2;
    three t = {1, 2, 3}, t2;
    odd o = {{1, 2, 3}}, o2;
    big b = {{1, 2, 3, 4, 5}, 6}, b2;
    float complex fc = 1 + 2 * I, fc2;
    double complex dc[2] = {1 + 2 * I, 3 - I}, dc2;
    ok(call("of_small", &(ompjit_value){.p = &s}, 1,
            &(ompjit_value){.p = &s2}) && s2.a == 4 && s2.b == 8,
       "a struct in one register");
    ok(call("of_mixed", (ompjit_value[]){{.i = 2}, {.p = &m}}, 2,
            &(ompjit_value){.p = &m2}) && m2.d == 3.5 && m2.l == 8,
       "in two of different kinds");
    ok(call("of_three", &(ompjit_value){.p = &t}, 1,
            &(ompjit_value){.p = &t2}) && t2.x == 3 && t2.y == 1 && t2.z == 2,
       "of three floats");
    ok(call("of_odd", &(ompjit_value){.p = &o}, 1, &(ompjit_value){.p = &o2}) &&
           o2.c[0] == 3 && o2.c[1] == 1 && o2.c[2] == 2,
       "of three bytes");
    ok(call("of_big", (ompjit_value[]){{.i = 2}, {.p = &b}, {.i = 5}}, 3,
            &(ompjit_value){.p = &b2}) && b2.n == 16 && b2.d[4] == 10 &&
           b.d[4] == 5,
       "a copy in memory, and so the result");
    ok(call("of_fc", &(ompjit_value){.p = &fc}, 1,
            &(ompjit_value){.p = &fc2}) && fc2 == 1 - 2 * I,
       "a complex float");
    ok(call("of_dc", (ompjit_value[]){{.p = &dc[0]}, {.p = &dc[1]}}, 2,
            &(ompjit_value){.p = &dc2}) && dc2 == dc[0] * dc[1],
       "complex doubles");
    mixed all[5] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}};
    ompjit_value r;
    ok(call("last", (ompjit_value[]){{.p = &all[0]}, {.p = &all[1]},
                                     {.p = &all[2]}, {.p = &all[3]},
                                     {.p = &all[4]}, {.p = &b}}, 6, &r) &&
           r.f64 == 1 + 3 + 5 + 8 + 10 + 1 + 6,
       "more structs than there are registers");
#ifdef __x86_64__
    long double x = 1.25L, y = 0;
    ok(call("of_ld", (ompjit_value[]){{.p = &x}, {.i = 4}}, 2,
            &(ompjit_value){.p = &y}) && y == 5, "a long double");
#endif
    ompjit_function *fn = function_of(module_of_kinds, "of_small");
    ok(ompjit_function_call(fn, &(ompjit_value){.p = NULL}, 1, NULL,
                            &(ompjit_value){.p = &s2}, &err) ==
           OMPJIT_ERR_ARGUMENT, "a struct without an address");
    ok_contains(err.text, "argument 1, a small, is NULL", "the message");
    ok(ompjit_function_call(fn, &(ompjit_value){.p = &s}, 1, NULL, NULL,
                            &err) == OMPJIT_ERR_ARGUMENT,
       "a struct's result without a place");
    ok(ompjit_function_call(fn, &(ompjit_value){.p = &s}, 2, NULL, NULL,
                            &err) == OMPJIT_ERR_ARGUMENT,
       "a wrong number of arguments");
    ok_string(err.text, "of_small takes 1 arguments, not 2", "the message");
}

/* ----------------------------------------------------------------- failures */

static const char failing[] =
    "#include <assert.h>\n"
    "#include <signal.h>\n"
    "#include <stdexcept>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <omp.h>\n"
    "static int alive;\n"
    "struct Counted { Counted() { alive++; } ~Counted() { alive--; } };\n"
    "struct Own { int what; };\n"
    "static int deeper(volatile char *p, int n) {\n"
    "  volatile char a[4096]; a[0] = p[0]; return deeper(a, n + 1) + a[n % 9]; }\n"
    "extern \"C\" {\n"
    "int stores_null(int n) { int *p = 0; *p = n; return n; }\n"
    "int write_null(int n) { *(volatile int *)(long)n = 1; return 0; }\n"
    "int divide(int n) { return 7 / n; }\n"
    "int call_abort(int n) { abort(); }\n"
    "int call_exit(int n) { exit(n + 3); }\n"
    "int call_exit_now(int n) { _Exit(4); }\n"
    "int fails_assertion(int n) { assert(n > 3); return 0; }\n"
    "int overflow(int n) { volatile char c = 0; return deeper(&c, n); }\n"
    "int copies_null(int n) { char b[100]; memcpy(b, (void *)(long)n, 100);\n"
    "  return b[5]; }\n"
    "int throws(int n) { Counted c; throw std::runtime_error(\"no luck\"); }\n"
    "int throws_int(int n) { throw n; }\n"
    "int throws_own(int n) { throw Own{n}; }\n"
    "int catches(int n) { try { throw n; } catch (int) { return 77; } }\n"
    "int traps(int n) { __builtin_trap(); }\n"
    "int region_traps(int n) {\n"
    "#pragma omp target\n"
    "  { __builtin_trap(); }\n"
    "  alive = 100;\n"
    "  return 1;\n"
    "}\n"
    "int region_maps(int n) {\n"
    "  static int a[10];\n"
    "#pragma omp target map(a[2:n - 5])\n"
    "  a[3] = 1;\n"
    "  alive = 100;\n"
    "  return 1;\n"
    "}\n"
    "int region_aborts(int n) {\n"
    "#pragma omp target parallel num_threads(4)\n"
    "  if (omp_get_thread_num() == 2) abort();\n"
    "  return 1;\n"
    "}\n"
    "int in_parallel(int n) {\n"
    "  int s = 0;\n"
    "#pragma omp parallel num_threads(2)\n"
    "#pragma omp masked\n"
    "  {\n"
    "#pragma omp target\n"
    "    { __builtin_trap(); }\n"
    "#pragma omp target map(tofrom: s)\n"
    "    s = 5;\n"
    "  }\n"
    "  alive = s;\n"
    "  return s;\n"
    "}\n"
    "int deferred(int n) {\n"
    "  static int a[1000];\n"
    "#pragma omp target nowait map(a)\n"
    "  for (int k = 0; k < 1000; k++) a[k] = k;\n"
    "  return 0;\n"
    "}\n"
    "int data_region(int n) {\n"
    "  static int a[100];\n"
    "#pragma omp target enter data map(to: a[50:n])\n"
    "#pragma omp target data map(a[:n])\n"
    "  {\n"
    "#pragma omp target data map(a[20:5])\n"
    "    alive = n;\n"
    "#pragma omp target map(a[:n])\n"
    "    { a[0] = 1; if (n == 7) __builtin_trap(); }\n"
    "    if (n == 8) abort();\n"
    "  }\n"
    "#pragma omp target exit data map(from: a[50:n])\n"
    "  n = omp_target_is_present(a, 0) + omp_target_is_present(a + 50, 0);\n"
    "  return n;\n"
    "}\n"
    "int raises(int n) { return raise(SIGUSR1); }\n"
    "int fine(int n) {\n"
    "#pragma omp target map(tofrom: n)\n"
    "  n += 1;\n"
    "  return n;\n"
    "}\n"
    "int count(int n) { return alive; }\n"
    "}\n";

static const struct {
    const char *function;
    int n;
    ompjit_status status;
    const char *text; /* that the error has */
    int result;
} fails[] = {
    {"stores_null", 0, OMPJIT_ERR_DEVICE,
     "stores_null: an illegal instruction", 0},
    {"write_null", 0, OMPJIT_ERR_DEVICE,
     "write_null: access to unmapped memory at", 0},
    {"write_null", 16, OMPJIT_ERR_DEVICE, "unmapped memory at 0x10", 0},
    {"divide", 0, OMPJIT_ERR_DEVICE, "divide: an integer division by zero", 0},
    {"divide", 2, OMPJIT_OK, NULL, 3},
    {"call_abort", 0, OMPJIT_ERR_DEVICE, "call_abort: it called abort", 0},
    {"call_exit", 0, OMPJIT_ERR_DEVICE, "call_exit: it called exit(3)", 0},
    {"call_exit_now", 0, OMPJIT_ERR_DEVICE, "it called _exit(4)", 0},
    {"fails_assertion", 1, OMPJIT_ERR_DEVICE, "assertion `n > 3' failed "
     "(failing.cpp:", 0},
    {"fails_assertion", 4, OMPJIT_OK, NULL, 0},
    {"overflow", 0, OMPJIT_ERR_DEVICE, "overflow: its stack overflowed", 0},
    {"copies_null", 8, OMPJIT_ERR_DEVICE, "unmapped memory at 0x", 0},
    {"throws", 0, OMPJIT_ERR_DEVICE,
     "throws: it threw std::runtime_error: no luck", 0},
    {"count", 0, OMPJIT_OK, NULL, 0},
    {"throws_int", 5, OMPJIT_ERR_DEVICE, "it threw int", 0},
    {"throws_own", 5, OMPJIT_ERR_DEVICE, "it threw Own", 0},
    {"catches", 5, OMPJIT_OK, NULL, 77},
    {"traps", 5, OMPJIT_ERR_DEVICE, "traps: an illegal instruction", 0},
    {"region_traps", 0, OMPJIT_ERR_DEVICE, "in region_traps", 0},
    {"count", 0, OMPJIT_OK, NULL, 0},
    {"region_maps", 1, OMPJIT_ERR_MAPPING, "in region_maps", 0},
    {"count", 0, OMPJIT_OK, NULL, 0},
    {"region_aborts", 1, OMPJIT_ERR_DEVICE, "it called abort", 0},
    {"in_parallel", 1, OMPJIT_ERR_DEVICE, "in in_parallel", 0},
    {"count", 0, OMPJIT_OK, NULL, 0},
    {"deferred", 1, OMPJIT_OK, NULL, 0},
    {"data_region", 7, OMPJIT_ERR_DEVICE, "in data_region", 0},
    {"data_region", 15, OMPJIT_OK, NULL, 0},
    {"data_region", 8, OMPJIT_ERR_DEVICE, "it called abort", 0},
    {"data_region", 11, OMPJIT_OK, NULL, 0},
    {"raises", 1, OMPJIT_OK, NULL, 0},
    {"fine", 41, OMPJIT_OK, NULL, 42},
};
enum { FAILS = sizeof fails / sizeof *fails };

static void try_failure(ompjit_module *mod, size_t i)
{
    ompjit_value result = {.i = -1};
    err.text[0] = 0;
    ompjit_status status = ompjit_function_call(
        function_of(mod, fails[i].function), &(ompjit_value){.i = fails[i].n},
        1, NULL, &result, &err);
    ok(status == fails[i].status, "%s(%d)", fails[i].function, fails[i].n);
    if (status != fails[i].status)
        fprintf(stderr, "# %d: %s\n", status, err.text);
    if (fails[i].text) {
        ok_contains(err.text, fails[i].text, "its error");
        ok(result.i == -1 && err.status == status, "and no result");
    } else {
        ok(result.i == fails[i].result, "its result");
        if (result.i != fails[i].result)
            fprintf(stderr, "# got %d\n", (int)result.i);
    }
}

static void *in_thread(void *mod)
{
    ompjit_value args = {.i = 1};
    ompjit_error own;
    size_t wrong = 0;
    for (int i = 0; i < 50; i++) {
        ompjit_function *fn =
            function_of(mod, i % 2 ? "region_traps" : "fine");
        ompjit_value result;
        ompjit_status status =
            ompjit_function_call(fn, &args, 1, NULL, &result, &own);
        wrong += i % 2 ? status != OMPJIT_ERR_DEVICE
                       : status != OMPJIT_OK || result.i != 2;
    }
    return (void *)wrong;
}

/* A thread's failures are its own calls'. */
static void try_threads(ompjit_module *mod)
{
    enum { N = 4 };
    pthread_t threads[N];
    size_t wrong = 0;
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, in_thread, mod);
    for (int i = 0; i < N; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (size_t)result;
    }
    ok(!wrong, "four threads, whose calls fail and do not in turn");
}

/* Without the handlers, only faults are the process's. */
static void try_keep_signals(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *own = ctx;
    options.devices = "host";
    options.keep_signals = 1;
    if (ompjit_context_create(&options, &ctx, &err))
        exit(1);
    ompjit_module *mod = module_named("failing.cpp", failing, 1);
    ompjit_value args = {.i = 2}, result;
    ok(ompjit_function_call(function_of(mod, "call_exit"), &args, 1, NULL,
                            &result, &err) == OMPJIT_ERR_DEVICE,
       "with keep_signals exit is an error, too");
    ok(ompjit_function_call(function_of(mod, "throws"), &args, 1, NULL,
                            &result, &err) == OMPJIT_ERR_DEVICE,
       "so is an exception");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    ctx = own;
}

/* ---------------------------------------------------------------- callbacks */

static const char calling[] =
    "#include <stdlib.h>\n"
    "typedef struct { int a; } s;\n"
    "double sum(double (*f)(int, double), int n) {\n"
    "  double s = 0;\n"
    "  for (int i = 0; i < n; i++) s += f(i, 0.5);\n"
    "  return s;\n"
    "}\n"
    "long each(long (*f)(signed char, unsigned short, _Bool, float, long,\n"
    "          int, void *, int, double, short, float)) {\n"
    "  return f(-3, 65535, 1, 0.5f, -1, -2, f, 7, 2.25, -4, 8.0f);\n"
    "}\n"
    "void sort(int (*compare)(const void *, const void *), int *v, int n) {\n"
    "  qsort(v, n, sizeof *v, compare);\n"
    "}\n"
    "int forever(int (*go_on)(void)) { int n = 0; while (go_on()) n++;\n"
    "  return n; }\n"
    "void refused(void (*f)(s), void (*g)(int, ...)) {}\n";

static ompjit_status half_of(void *data, const ompjit_value *args,
                             ompjit_value *result, ompjit_error *e)
{
    int *left = data;
    if (--*left < 0) {
        snprintf(e->text, sizeof e->text, "enough");
        e->stage = OMPJIT_STAGE_API;
        return OMPJIT_ERR_NOT_FOUND;
    }
    result->f64 = (double)args[0].i * args[1].f64;
    return OMPJIT_OK;
}

static ompjit_status check_each(void *data, const ompjit_value *args,
                                ompjit_value *result, ompjit_error *e)
{
    result->i = args[0].i == -3 && args[1].u == 65535 && args[2].u == 1 &&
                args[3].f32 == 0.5f && args[4].i == -1 && args[5].i == -2 &&
                args[6].p && args[7].i == 7 && args[8].f64 == 2.25 &&
                args[9].i == -4 && args[10].f32 == 8;
    return OMPJIT_OK;
}

static ompjit_status compare(void *data, const ompjit_value *args,
                             ompjit_value *result, ompjit_error *e)
{
    const int *a = args[0].p, *b = args[1].p;
    result->i = (*a > *b) - (*a < *b);
    return OMPJIT_OK;
}

static void (*callback(ompjit_module *mod, const char *function,
                       ompjit_callback_fn *f, void *data))(void)
{
    void (*fn)(void) = NULL;
    if (ompjit_callback_create(param_of(function_of(mod, function), 0).type, f,
                               data, &fn, &err))
        fprintf(stderr, "# %s\n", err.text);
    return fn;
}

static void try_callbacks(void)
{
    ompjit_module *mod = module_named("calling.c", calling, 1);
    int left = 100;
    ompjit_value result;
    void (*f)(void) = callback(mod, "sum", half_of, &left);
    ompjit_function *sum = function_of(mod, "sum");
    ok(!ompjit_function_call(sum, (ompjit_value[]){{.f = f}, {.i = 5}}, 2,
                             NULL, &result, &err) && result.f64 == 5,
       "a callback");
    left = 3;
    ok(ompjit_function_call(sum, (ompjit_value[]){{.f = f}, {.i = 5}}, 2, NULL,
                            &result, &err) == OMPJIT_ERR_NOT_FOUND &&
           left == -1,
       "one that fails ends the call");
    ok_string(err.text, "enough", "with its own error");
    ompjit_callback_destroy(f);
    f = callback(mod, "each", check_each, NULL);
    ok(!ompjit_function_call(function_of(mod, "each"),
                             (ompjit_value[]){{.f = f}}, 1, NULL, &result,
                             &err) && result.i == 1,
       "arguments of all kinds, in registers and on the stack");
    ompjit_callback_destroy(f);
    int v[5] = {3, 1, 5, 2, 4};
    f = callback(mod, "sort", compare, NULL);
    ok(!ompjit_function_call(function_of(mod, "sort"),
                             (ompjit_value[]){{.f = f}, {.p = v}, {.i = 5}}, 3,
                             NULL, NULL, &err) && v[0] == 1 && v[4] == 5,
       "that a function of the C library calls");
    ompjit_callback_destroy(f);
    void (*many[600])(void);
    int alike = 0;
    for (int i = 0; i < 600; i++)
        many[i] = callback(mod, "sort", compare, NULL);
    for (int i = 1; i < 600; i++)
        alike += many[i] == many[i - 1];
    ok(!alike && many[599], "600 at a time");
    for (int i = 0; i < 600; i++)
        ompjit_callback_destroy(many[i]);
    ompjit_callback_destroy(NULL);
    ompjit_function *refused = function_of(mod, "refused");
    ok(ompjit_callback_create(param_of(refused, 0).type, compare, NULL, &f,
                              &err) == OMPJIT_ERR_UNAVAILABLE,
       "no structs");
    ok_contains(err.text, "void (*)(s)", "the type is named");
    ok(ompjit_callback_create(param_of(refused, 1).type, compare, NULL, &f,
                              &err) == OMPJIT_ERR_UNAVAILABLE,
       "and no variadic ones");
    ompjit_module_destroy(mod);
}

/* ------------------------------------------------------------------ aborting */

static const char endless[] =
    "#include <unistd.h>\n"
    "int spin(volatile int *go) { while (*go) continue; return 1; }\n"
    "int nap(volatile int *go) { while (*go) usleep(1000); return 1; }\n"
    "int pause_once(volatile int *go) { pause(); while (*go) continue; return 1; }\n"
    "int region(volatile int *go) {\n"
    "#pragma omp target map(go[:1])\n"
    "  while (*go) continue;\n"
    "  return 1;\n"
    "}\n"
    "int regions(volatile int *go) {\n"
    "  while (*go) {\n"
    "    int s = 0;\n"
    "#pragma omp target teams distribute parallel for map(go[:1]) map(s)\n"
    "    for (int i = 0; i < 1000; i++) s = i;\n"
    "  }\n"
    "  return 1;\n"
    "}\n"
    "struct task { int go; void (*work)(void); };\n"
    "int work(volatile int *go) {\n"
    "  while (*go) ((struct task *)go)->work();\n"
    "  return 1;\n"
    "}\n";

static struct task {
    int go;
    void (*work)(void);
} task;

static void *nothing(void *arg)
{
    return arg;
}

/* Threads and processes are started soon after the signals that come meanwhile:
 * none of them may go on step by step. */
static volatile int spawned, failed;

static void spawn(void)
{
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        for (volatile int n = 0; n < 300; n++)
            continue;
        if (pthread_create(&thread, NULL, nothing, NULL))
            failed++;
        else
            pthread_join(thread, NULL);
    }
    failed += system(":") != 0;
    spawned++;
}

static volatile sig_atomic_t asked;

/* Comes again where it was too early. */
static void on_alarm(int number)
{
    if (asked != 1000)
        asked = ompjit_function_abort() + 1000;
}

static void try_abort(ompjit_module *mod, const char *name)
{
    struct itimerval soon = {{.tv_usec = 20000}, {.tv_usec = 20000}};
    static const struct itimerval never;
    asked = 0;
    ompjit_function *fn = function_of(mod, name);
    ompjit_value args = {.p = &task}, result;
    /* Compiled before the time counts. */
    task = (struct task){0, spawn};
    ompjit_function_call(function_of(mod, "regions"), &args, 1, NULL, &result,
                         &err);
    task.go = 1;
    setitimer(ITIMER_REAL, &soon, NULL);
    ompjit_status status =
        ompjit_function_call(fn, &args, 1, NULL, &result, &err);
    setitimer(ITIMER_REAL, &never, NULL);
    ok(status == OMPJIT_ERR_ABORTED && asked == 1000,
       "%s is aborted by a signal handler", name);
    if (status != OMPJIT_ERR_ABORTED)
        fprintf(stderr, "# %d %s\n", status, err.text);
    ok_contains(err.text, "aborted", "its error");
    task.go = 0;
    if (strcmp(name, "pause_once"))
        ok(!ompjit_function_call(fn, &args, 1, NULL, &result, &err) &&
               result.i == 1, "and can be called again");
}

static void try_aborts(void)
{
    static const char *const names[] = {"spin", "nap", "pause_once", "region",
                                        "regions", "work"};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    ompjit_module *mod = module_named("endless.c", endless, 1);
    sigaction(SIGALRM, &action, NULL);
    ok(ompjit_function_abort() == OMPJIT_ERR_NOT_FOUND,
       "without a call there is nothing to abort");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        try_abort(mod, names[i]);
    ok(spawned && !failed, "what was started meanwhile ran: %d of %d failed",
       failed, spawned * 6);
    signal(SIGALRM, SIG_DFL);
    ompjit_module_destroy(mod);
}

/* Before anything has asked for devices. Where a GPU's driver would have to be
 * started to know them, or may be, nothing is foreseen. */
static void try_foresight(const char *devices, bool known)
{
    static const char source[] =
        "void one(int *x) {\n"
        "#pragma omp target map(x[:1])\n"
        "  x[0] = 1; }\n";
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit__image_order order;
    options.devices = devices;
    ok(!ompjit_context_create(&options, &ctx, &err), "devices %s", devices);
    ompjit_module *mod = module_named("one.c", source, 1);
    ok(ompjit__first_image(mod, &order) == known, "  %s foreseen",
       known ? "the kernel is" : "nothing is");
    ok(ctx->devices_known == known, "  and no driver is started");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

int main(void)
{
    signal(SIGUSR1, SIG_IGN);
    try_foresight("host", true);
    try_foresight("auto", ompjit__library_missing("libcuda.so.1"));
    open_context();
    module_of_kinds = module_named("kinds.c", kinds, 1);
    try_numbers();
    try_longs();
    try_damaged();
    try_structs();
    ompjit_module_destroy(module_of_kinds);
    ompjit_module *mod = module_named("failing.cpp", failing, 1);
    for (size_t i = 0; i < FAILS; i++)
        try_failure(mod, i);
    for (int i = 0; i < 50; i++)
        ompjit_function_call(function_of(mod, "write_null"),
                             &(ompjit_value){.i = 8}, 1, NULL, NULL, NULL);
    ok(ompjit_context_failure(ctx, &err) == OMPJIT_OK,
       "no failure is kept for the context");
    try_threads(mod);
    ompjit_module_destroy(mod);
    try_keep_signals();
    try_callbacks();
    try_aborts();
    ompjit_context_destroy(ctx);
    done_testing();
}
