/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A host half in parts: what is compiled and when, and that a program cannot
 * tell it from one that is compiled as a whole.
 */
#include <ftw.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "core/core.h"
#include "launch/module.h"
#include "loader/stubs.h"
#include "ompjit.h"
#include "tap.h"

static ompjit_error err;

static ompjit_context *context(const char *cache)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    o.devices = "host";
    o.cache.mode = cache ? OMPJIT_CACHE_DISK : OMPJIT_CACHE_OFF;
    o.cache.dir = cache;
    o.after_failure = OMPJIT_AFTER_FAILURE_KEEP;
    ompjit_context_create(&o, &ctx, &err);
    return ctx;
}

static ompjit_module *module(ompjit_context *ctx, const char *name,
                             const char *source)
{
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod = NULL;
    const char *const flags[] = {"-DVECTORS"};
    o.name = name;
#ifdef __x86_64__
    o.flags = flags;
    o.nflags = __builtin_cpu_supports("avx512f") != 0;
#endif
    if (ompjit_module_from_c(ctx, source, &o, &mod, &err))
        fprintf(stderr, "# %s\n", err.text);
    return mod;
}

static void (*function(ompjit_module *mod, const char *name))(void)
{
    void (*f)(void) = NULL;
    if (ompjit_module_function(mod, name, &f, &err))
        fprintf(stderr, "# %s: %s\n", name, err.text);
    return f;
}

/* Modules and parts for which code was generated; of a kernel in a module of many
 * its template, too. */
static unsigned generated(const ompjit_context *ctx)
{
    return (unsigned)atomic_load(&ctx->stage_count[OMPJIT_STAGE_CODEGEN]);
}

static void is_int(long got, long want, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void is_int(long got, long want, const char *format, ...)
{
    char name[128];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof name, format, ap);
    va_end(ap);
    ok(got == want, "%s: %ld", name, got);
}

/* ----------------------------------------------------------------- counts */

/* `n` functions that launch a kernel each, and one that calls two of them. */
static char *many(unsigned n)
{
    ompjit__buf s = {0};
    ompjit__buf_printf(&s, "static int calls;\n");
    for (unsigned i = 0; i < n; i++)
        ompjit__buf_printf(&s,
                           "int f%u(int x) { int r = 0; calls++;\n"
                           "#pragma omp target map(r)\n"
                           "  r = x + %u;\n"
                           "  return r; }\n", i, i);
    ompjit__buf_printf(&s, "int both(int x) { return f1(x) + f2(x); }\n"
                           "int count(void) { return calls; }\n");
    return s.data;
}

static void compiled_when_called(unsigned n)
{
    char *source = many(n);
    ompjit_context *ctx = context(NULL);
    ompjit_module *mod = module(ctx, "many.c", source);
    int (*f0)(int) = (int (*)(int))function(mod, "f0");
    is_int(generated(ctx), 2, "of %u functions: the core and one", n);
    is_int(f0(5), 5, "it runs");
    is_int(generated(ctx), 4, "with its kernel");
    int (*both)(int) = (int (*)(int))function(mod, "both");
    unsigned before = generated(ctx);
    is_int(both(10), 23, "one that calls two others");
    is_int(generated(ctx) - before, 6, "two parts and two kernels");
    int (*count)(void) = (int (*)(void))function(mod, "count");
    is_int(count(), 3, "a static variable is one for all parts");
    ok(function(mod, "f0") == (void (*)(void))f0, "a function has one address");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    free(source);
}

static void few(void)
{
    char *source = many(4);
    ompjit_context *ctx = context(NULL);
    ompjit_module *mod = module(ctx, "few.c", source);
    function(mod, "f0");
    is_int(generated(ctx), 1, "few functions are compiled together");
    function(mod, "f3");
    is_int(generated(ctx), 1, "and not again");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    free(source);
}

static void host_versions(void)
{
    static const char source[] =
        "int f(int x, int here) { int r = 0;\n"
        "#pragma omp target map(r) if(here)\n"
        "  { r = x;\n"
        "    #pragma omp parallel for reduction(+ : r)\n"
        "    for (int i = 0; i < 10; i++) r += i; }\n"
        "  return r; }\n";
    ompjit_context *ctx = context(NULL);
    ompjit_module *mod = module(ctx, "host.c", source);
    int (*f)(int, int) = (int (*)(int, int))function(mod, "f");
    is_int(f(1, 1), 46, "on the device");
    is_int(generated(ctx), 2, "a region's host version is not compiled");
    is_int(f(2, 0), 47, "on the host");
    is_int(generated(ctx), 3, "then it is");
    is_int(f(3, 0), 48, "again");
    is_int(generated(ctx), 3, "once");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

/* ------------------------------------------------------------ what C says */

#define TARGETS                                                               \
    "#define T(name, more) int name(int x) { int r; more\\\n"                 \
    "  _Pragma(\"omp target map(from : r)\") r = x;\\\n"                      \
    "  return r; }\n"                                                         \
    "T(t0,) T(t1,) T(t2,) T(t3,) T(t4,) T(t5,) T(t6,) T(t7,) T(t8,)\n"

/* Each has main, which stays in the core, calls functions of parts, and returns
 * the number of the first thing that is wrong. */
static const struct {
    const char *name, *what, *source;
} programs[] = {
    {"arguments.c", "arguments of all kinds reach a part",
     "#include <stdarg.h>\n"
     "typedef double v8 __attribute__((vector_size(64)));\n"
     "struct big { long a[5]; };\n" TARGETS
     "static struct big many(int a, double b, long c, float d, void *e, int f,\n"
     "    int g, int h, double i, double j, double k, double l, double m,\n"
     "    double n, double o, long p) {\n"
     "  struct big r = {{a + c + f + g + h + p, b + d + i + j, k + l,\n"
     "    m + n + o, (long)e}};\n"
     "  return t0(1) ? r : (struct big){{0}}; }\n"
     "#ifdef VECTORS\n"
     "__attribute__((target(\"avx512f\")))\n"
     "static v8 vector(v8 a, v8 b) { int z = 0;\n"
     "  _Pragma(\"omp target map(z)\") z = 1;\n"
     "  return a * b + (double)z; }\n"
     "#endif\n"
     "static long sum(int n, ...) { va_list l; double s = 0; int z = 0;\n"
     "  _Pragma(\"omp target map(z)\") z = 1;\n"
     "  va_start(l, n);\n"
     "  for (int i = 0; i < n; i++)\n"
     "    s += va_arg(l, int) + va_arg(l, double);\n"
     "  va_end(l); return s + z; }\n"
     "#ifdef VECTORS\n"
     "__attribute__((target(\"avx512f\"))) static int vectors(void) {\n"
     "  v8 a = {1, 2, 3, 4, 5, 6, 7, 8}, r = vector(a, a);\n"
     "  for (int i = 0; i < 8; i++) if (r[i] != (i + 1) * (i + 1) + 1)\n"
     "    return 1;\n"
     "  return 0; }\n"
     "#else\n"
     "static int vectors(void) { return 0; }\n"
     "#endif\n"
     "int main(void) {\n"
     "  struct big r = many(1, 2.5, 3, 1.5f, (void *)7, 4, 5, 6, 1, 2, 3, 4, 5,\n"
     "    6, 7, 9);\n"
     "  if (r.a[0] != 28 || r.a[1] != 7 || r.a[2] != 7 || r.a[3] != 18 ||\n"
     "      r.a[4] != 7) return 1;\n"
     "  if (sum(3, 1, 0.5, 2, 1.5, 3, 2.0) != 11) return 2;\n"
     "  return vectors() ? 3 : 0; }\n"},
    {"addresses.c", "a function has one address in all parts",
     TARGETS "static int self(int (*p)(int)), other(void);\n"
     "static int (*mine)(int);\n"
     "static int a(int x) { int z = x; mine = a;\n"
     "  _Pragma(\"omp target map(z)\") z++;\n"
     "  return z; }\n"
     "static int b(int (*p)(int)) { int z = 0;\n"
     "  _Pragma(\"omp target map(z)\") z++;\n"
     "  return p == a && p == mine ? z : 5; }\n"
     "int main(void) {\n"
     "  int (*volatile p)(int) = a;\n"
     "  if (p(3) != 4) return 1;\n"
     "  if (p != mine) return 2;\n"
     "  if (b(p) != 1) return 3;\n"
     "  return 0; }\n"},
    {"names.c", "static functions have their own names",
     TARGETS "static int isatty(int x) { return 40 + x; }\n"
     "static int (*keep)(int) = isatty;\n"
     "static int getpid_(int n) { for (int i = 0; i < n; i++) keep(i);\n"
     "  return isatty(n); }\n"
     "static int first(int x) { int z = isatty(x);\n"
     "  _Pragma(\"omp target map(z)\") z++;\n"
     "  return z; }\n"
     "static int second(int x) { int z = getpid_(x);\n"
     "  _Pragma(\"omp target map(z)\") z++;\n"
     "  return z; }\n"
     "int main(void) { return first(1) != 42 || second(1) != 42; }\n"},
    {"storage.c", "variables are one for all parts",
     TARGETS "static int counter, fixed = 3;\n"
     "static const int table[4] = {1, 2, 3, 4};\n"
     "static __thread int own = 5;\n"
     "static int next(void) { static int n; return ++n; }\n"
     "static int a(void) { int z = next() + fixed; counter++; own++;\n"
     "  _Pragma(\"omp target map(z)\") z += 10;\n"
     "  return z; }\n"
     "static int b(const int **p) { int z = next() + fixed; counter++; own++;\n"
     "  _Pragma(\"omp target map(z)\") z += 20;\n"
     "  *p = table; return z + table[2]; }\n"
     "int main(void) { const int *p;\n"
     "  if (a() != 14) return 1;\n"
     "  if (b(&p) != 28) return 2;\n"
     "  if (p != table || next() != 3 || counter != 2 || own != 7) return 3;\n"
     "  return 0; }\n"},
    {"dead.c", "what only dead code names may be missing",
     TARGETS "extern int nowhere(int);\n"
     "static int zero(void) { return 0; }\n"
     "static int a(int x) { int z = x;\n"
     "  _Pragma(\"omp target map(z)\") z++;\n"
     "  if (zero()) return nowhere(z);\n"
     "  return z; }\n"
     "int main(void) { return a(1) != 2; }\n"},
    {"labels.c", "labels whose addresses are taken",
     TARGETS "static int go(int i) {\n"
     "  static void *const to[] = {&&one, &&two}; int z = 0;\n"
     "  _Pragma(\"omp target map(z)\") z = 1;\n"
     "  goto *to[i];\n"
     "  one: return z; two: return z + 1; }\n"
     "int main(void) { return go(0) != 1 || go(1) != 2; }\n"},
    {"tasks.c", "regions in tasks",
     TARGETS "static int a(int x) { int z = x;\n"
     "  _Pragma(\"omp target map(z) nowait depend(inout : z)\") z++;\n"
     "  _Pragma(\"omp task shared(z) depend(inout : z)\") z *= 2;\n"
     "  _Pragma(\"omp taskwait\")\n"
     "  return z; }\n"
     "int main(void) { return a(3) != 8; }\n"},
    {"throw.cpp", "exceptions pass from a part to the core",
     TARGETS "struct error { int n; };\n"
     "static int freed;\n"
     "struct holds { ~holds() { freed++; } };\n"
     "static int thrower(int x) { int z = x; holds h;\n"
     "  _Pragma(\"omp target map(z)\") z++;\n"
     "  if (z > 2) throw error{z};\n"
     "  return z; }\n"
     "static int through(int x) { holds h; int z = x;\n"
     "  _Pragma(\"omp target map(z)\") z++;\n"
     "  return thrower(z) + 1; }\n"
     "struct base { virtual int get(int x) { return t3(x); }\n"
     "  virtual ~base() {} };\n"
     "struct derived : base { int get(int x) override { int z = x;\n"
     "  _Pragma(\"omp target map(z)\") z += 7;\n"
     "  return z; } };\n"
     "static int once() { static int v = t4(6); return v; }\n"
     "int main() {\n"
     "  try { through(5); return 1; } catch (error &e) {\n"
     "    if (e.n != 7) return 2; }\n"
     "  if (freed != 2) return 3;\n"
     "  derived d; base b, *p[] = {&b, &d};\n"
     "  if (p[0]->get(1) != 1 || p[1]->get(1) != 8) return 4;\n"
     "  return once() != 6 || once() != 6; }\n"},
};

static void language(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(programs); i++) {
        ompjit_context *ctx = context(NULL);
        ompjit_module *mod =
            module(ctx, programs[i].name, programs[i].source);
        int (*program)(void) =
            mod ? (int (*)(void))function(mod, "main") : NULL;
        is_int(program ? program() : -1, 0, "%s", programs[i].what);
        ompjit_module_destroy(mod);
        ompjit_context_destroy(ctx);
    }
}

/* ---------------------------------------------------------------- threads */

static void *call(void *f)
{
    return (void *)(intptr_t)((int (*)(int))f)(1);
}

static void threads(void)
{
    enum { N = 8 };
    char *source = many(12);
    ompjit_context *ctx = context(NULL);
    ompjit_module *mod = module(ctx, "threads.c", source);
    int (*both)(int) = (int (*)(int))function(mod, "both");
    unsigned before = generated(ctx), wrong = 0;
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, call, (void *)both);
    for (int i = 0; i < N; i++) {
        void *result;
        pthread_join(t[i], &result);
        wrong += (intptr_t)result != 5;
    }
    is_int(wrong, 0, "threads call a function that is not there yet");
    is_int(generated(ctx) - before, 6, "it is compiled once");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    free(source);
}

/* ------------------------------------------------------------------ cache */

static int unlink_one(const char *path, const struct stat *s, int type,
                      struct FTW *where)
{
    return remove(path);
}

static void cached(void)
{
    char dir[] = "/tmp/ompjit-parts-XXXXXX";
    char *source = many(12);
    if (!mkdtemp(dir)) {
        ok(true, "parts in the cache # SKIP no folder in /tmp");
        free(source);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        ompjit_context *ctx = context(dir);
        ompjit_module *mod = module(ctx, "cached.c", source);
        int (*both)(int) = (int (*)(int))function(mod, "both");
        is_int(both(1), 5, "run %u", i + 1);
        if (i)
            is_int(generated(ctx), 0, "core, parts, kernels from the cache");
        ompjit_module_destroy(mod);
        ompjit_context_destroy(ctx);
    }
    nftw(dir, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
    free(source);
}

/* --------------------------------------------------------------- failures */

/* A part that takes longer than the limit, which is set when the core is there. */
static void part_fails(void)
{
    char *source = many(12);
    ompjit__buf s = {0};
    ompjit__buf_printf(&s, "%sint slow(double *a, int x) { int r = x;\n", source);
    for (int i = 0; i < 4000; i++)
        ompjit__buf_printf(&s, "a[(r + %d) %% 16] += a[r %% 16] * %d.5;\n", i,
                           i);
    ompjit__buf_printf(&s, "#pragma omp target map(r)\n"
                           "  r++;\n  return r; }\n"
                           "int calls_slow(double *a) { f3(1);\n"
                           "  return slow(a, 1); }\n");
    ompjit_context *ctx = context(NULL);
    ompjit_module *mod = module(ctx, "slow.c", s.data);
    double a[16] = {1};
    int (*f)(double *) = (int (*)(double *))function(mod, "calls_slow");
    ((int (*)(int))function(mod, "f3"))(1);
    ctx->compiler.llvm_limit_ms = ctx->compiler.worker_limit_ms = 1;
    is_int(f(a), 0, "a call of a part that cannot be had does nothing");
    is_int(ompjit_context_failure(ctx, &err), OMPJIT_ERR_TIMEOUT,
           "the failure is kept");
    ctx->compiler.llvm_limit_ms = 0;
    ctx->compiler.worker_limit_ms = 60000;
    is_int(f(a), 2, "the next call tries again");
    is_int(ompjit_context_failure(ctx, &err), OMPJIT_OK, "and succeeds");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    ompjit__buf_free(&s);
    free(source);
}

static void missing(void)
{
    char *source = many(12);
    ompjit__buf s = {0};
    void (*f)(void);
    ompjit__buf_printf(&s, "%sextern int nowhere(int);\n"
                           "int g(int x) { int r = nowhere(x);\n"
                           "#pragma omp target map(r)\n"
                           "  r++;\n  return r; }\n", source);
    ompjit_context *ctx = context(NULL);
    ompjit_module *mod = module(ctx, "missing.c", s.data);
    is_int(ompjit_module_function(mod, "f0", &f, &err), OMPJIT_ERR_LINK,
           "a function that a part lacks");
    ok_contains(err.text, "undefined symbols: nowhere", "is named at once");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    ompjit__buf_free(&s);
    free(source);
}

int main(void)
{
    few();
    compiled_when_called(9);
    compiled_when_called(80);
    host_versions();
    language();
    threads();
    cached();
    part_fails();
    missing();
    return done_testing();
}
