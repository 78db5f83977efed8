/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit_module_from_sources: sources that are in no file, with functions of
 * one name and kernels in one line; the number of those that are compiled
 * again.
 */
#include "ompjit_debug.h"
#include "tap.h"

static const char one[] = "static int f(void) { int r = 0;\n"
                          "#pragma omp target map(from : r)\n"
                          "  r = 1;\n"
                          "  return r; }\n"
                          "int a(void) { return f(); }\n",
                  two[] = "static int f(void) { int r = 0;\n"
                          "#pragma omp target map(from : r)\n"
                          "  r = 2;\n"
                          "  return r; }\n"
                          "int a(void);\n"
                          "int b(void) { return 10 * f() + a(); }\n",
                  more[] = "int c(void) { return 3; }\n";

static ompjit_error err;

static int call(ompjit_module *mod, const char *name)
{
    void (*f)(void);
    if (!ompjit_module_function(mod, name, &f, &err))
        return ((int (*)(void))f)();
    printf("# %s\n", err.text);
    return -1;
}

static unsigned front_ends(ompjit_context *ctx)
{
    ompjit_times times = OMPJIT_TIMES_INIT;
    ompjit_context_times(ctx, &times, NULL);
    return (unsigned)times.stage[OMPJIT_STAGE_FRONTEND].count;
}

/* Checks how many of the sources are compiled, the number of kernels, and
 * results. */
static void run(ompjit_context *ctx, const char *const *sources,
                const char *const *names, unsigned n, unsigned compiled)
{
    ompjit_module *mod;
    unsigned before = front_ends(ctx);
    if (!ok(!ompjit_module_from_sources(ctx, sources, names, n, NULL, &mod,
                                        &err),
            "%u sources", n)) {
        printf("# %s\n", err.text);
        return;
    }
    ok(front_ends(ctx) - before == compiled, "  %u are compiled", compiled);
    ok(ompjit_module_kernel_count(mod) == 2, "  with two kernels");
    ok(call(mod, "a") == 1 && call(mod, "b") == 21,
       "  each function runs its own");
    ompjit_module_destroy(mod);
}

int main(void)
{
    const char *sources[] = {one, two, more};
    const char *names[] = {"nowhere/one.c", "nowhere/two.c", "nowhere/more.c"};
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    options.devices = "host";
    options.cache.mode = OMPJIT_CACHE_MEMORY;
    if (!ok(!ompjit_context_create(&options, &ctx, &err), "a context"))
        return done_testing();
    run(ctx, sources, names, 2, 2);
    run(ctx, sources, names, 2, 0);
    run(ctx, sources, names, 3, 1);
    ompjit_context_destroy(ctx);
    return done_testing();
}
