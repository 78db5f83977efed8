/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * function ROUNDS: nanoseconds of a call of a small function, and of one with more
 * parameters than registers: of its own address, through the pointer that ends
 * with faults, and by ompjit_function_call; of a call by that whose arrays are
 * checked, and of a callback; and what the signatures of a source cost when it
 * is compiled.
 * Each figure is the least of so many short rounds, turn by turn.
 */
#include "bench.h"
#include "ompjit_function.h"

enum { CALLS = 2000 };

static const char source[] =
    "long add(long a, int b) { return a + b; }\n"
    "double many(int a, double b, long c, float d, int e, int f, int g, int h,\n"
    "            int i, double j) { return a + b + c + d + e + f + g + h + i + j; }\n"
    "void arrays(int run, int n, const float *x, float *y) {\n"
    "  if (run)\n"
    "#pragma omp target map(to: x[:n]) map(y[:n])\n"
    "    y[0] += x[0];\n"
    "}\n"
    "void sections(int n, int m, const float *x, float *y) {\n"
    "#pragma omp target data map(to: x[:n]) map(y[:n]) if(m)\n"
    "  m = 1;\n"
    "}\n"
    "long calls(long (*f)(long), long n) { return f(n); }\n";

static ompjit_context *ctx;
static ompjit_module *mod;

static ompjit_function *find(const char *name)
{
    ompjit_function *fn;
    try(ompjit_module_function_find(mod, name, &fn, &err));
    return fn;
}

/* direct: of a context that leaves signals alone */
static ompjit_module *direct;

static void (*pointer(ompjit_module *of, const char *name))(void)
{
    void (*fn)(void);
    try(ompjit_module_function(of, name, &fn, &err));
    return fn;
}

static double guarded(ompjit_function *fn, const ompjit_value *args, unsigned n,
                      const uint64_t *bytes)
{
    ompjit_value result;
    double start = now();
    for (int i = 0; i < CALLS; i++)
        if (ompjit_function_call(fn, args, n, bytes, &result, &err))
            try(err.status);
    return (now() - start) / CALLS * 1e9;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static ompjit_status one_more(void *data, const ompjit_value *args,
                              ompjit_value *result, ompjit_error *e)
{
    result->i = args[0].i + 1;
    return OMPJIT_OK;
}

static volatile long sink;
static volatile double fsink;

static void small(int rounds)
{
    typedef long two_numbers(long, int);
    typedef double ten_numbers(int, double, long, float, int, int, int, int,
                               int, double);
    ompjit_module *const modules[2] = {direct, mod};
    two_numbers *volatile add[2];
    ten_numbers *volatile many[2];
    for (int i = 0; i < 2; i++) {
        add[i] = (two_numbers *)pointer(modules[i], "add");
        many[i] = (ten_numbers *)pointer(modules[i], "many");
    }
    ompjit_function *fadd = find("add"), *fmany = find("many");
    ompjit_value two[2] = {{.i = 1}, {.i = 2}}, ten[10] = {{0}};
    double best[6] = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9};
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < 2; k++) {
            double start = now();
            for (int i = 0; i < CALLS; i++)
                sink = add[k](i, 2);
            best[k] = least(best[k], (now() - start) / CALLS * 1e9);
            start = now();
            for (int i = 0; i < CALLS; i++)
                fsink = many[k](i, 2, 3, 4, 5, 6, 7, 8, 9, 10);
            best[3 + k] = least(best[3 + k], (now() - start) / CALLS * 1e9);
        }
        best[2] = least(best[2], guarded(fadd, two, 2, NULL));
        best[5] = least(best[5], guarded(fmany, ten, 10, NULL));
    }
    sample("function", "two numbers, its address", "ours", best[0], "ns");
    sample("function", "two numbers, pointer", "ours", best[1], "ns");
    sample("function", "two numbers, guarded", "ours", best[2], "ns");
    sample("function", "ten numbers, its address", "ours", best[3], "ns");
    sample("function", "ten numbers, pointer", "ours", best[4], "ns");
    sample("function", "ten numbers, guarded", "ours", best[5], "ns");
}

static void checked(int rounds)
{
    static float x[64], y[64];
    ompjit_function *fn = find("sections");
    ompjit_function *calls = find("calls");
    ompjit_function_param_info info = OMPJIT_FUNCTION_PARAM_INFO_INIT;
    void (*f)(void);
    ompjit_value args[4] = {{.i = 64}, {.i = 0}, {.p = x}, {.p = y}};
    uint64_t bytes[4] = {OMPJIT_BYTES_UNKNOWN, OMPJIT_BYTES_UNKNOWN, sizeof x,
                         sizeof y};
    double best[3] = {1e9, 1e9, 1e9};
    try(ompjit_function_param(calls, 0, &info, &err));
    try(ompjit_callback_create(info.type, one_more, NULL, &f, &err));
    ompjit_value back[2] = {{.f = f}, {.i = 3}};
    for (int r = 0; r < rounds; r++) {
        best[0] = least(best[0], guarded(fn, args, 4, NULL));
        best[1] = least(best[1], guarded(fn, args, 4, bytes));
        best[2] = least(best[2], guarded(calls, back, 2, NULL));
    }
    ompjit_callback_destroy(f);
    sample("function", "two arrays, not checked", "ours", best[0], "ns");
    sample("function", "two arrays, checked", "ours", best[1], "ns");
    sample("function", "a callback", "ours", best[2], "ns");
}

/* Sources that the cache does not have. clang's next processes are started with
 * the flags of the last source, so those of a kind come one after the other. */
static double compile(int signatures, int number)
{
    char text[sizeof source + 64];
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *m;
    options.signatures = signatures;
    snprintf(text, sizeof text, "%sint other%d;\n", source, number);
    double start = now();
    try(ompjit_module_from_c(ctx, text, &options, &m, &err));
    double t = now() - start;
    ompjit_module_destroy(m);
    return t * 1e3;
}

static void sources(int rounds)
{
    double best[2] = {1e9, 1e9};
    for (int k = 0; k < 4; k++)
        for (int r = 0; r < rounds; r++)
            best[k % 2] = least(best[k % 2], compile(k % 2, k * rounds + r));
    sample("function", "source without signatures", "ours", best[0], "ms");
    sample("function", "source with signatures", "ours", best[1], "ms");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_module_options module = OMPJIT_MODULE_OPTIONS_INIT;
    options.devices = "host";
    options.cache.mode = OMPJIT_CACHE_OFF;
    module.signatures = 1;
    try(ompjit_context_create(&options, &ctx, &err));
    try(ompjit_module_from_c(ctx, source, &module, &mod, &err));
    ompjit_context *other;
    options.keep_signals = 1;
    try(ompjit_context_create(&options, &other, &err));
    try(ompjit_module_from_c(other, source, &module, &direct, &err));
    small(rounds);
    checked(rounds);
    sources(rounds / 4 + 1);
    ompjit_module_destroy(mod);
    ompjit_module_destroy(direct);
    ompjit_context_destroy(ctx);
    ompjit_context_destroy(other);
}
