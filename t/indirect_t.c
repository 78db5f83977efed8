/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions that one module declares `indirect`, called through pointers in the
 * kernels of another, on the host device with memory of its own. The functions
 * say where they run, so that a call of the host's is seen. And the two searches
 * in a table: by its index, and by its order, as in tables that others make.
 */
#include "base/base.h"
#include "launch/module.h"
#include "launch/variant.h"
#include "runtime-bc/call_index.h"
#include "tap.h"

static const char functions[] =
    "#include <omp.h>\n"
    "#pragma omp begin declare target indirect\n"
    "int twice(int x) { return omp_is_initial_device() ? -1 : 2 * x; }\n"
    "int thrice(int x) { return omp_is_initial_device() ? -1 : 3 * x; }\n"
    "#pragma omp end declare target\n"
    "void *first(void) { return (void *)twice; }\n"
    "void *second(void) { return (void *)thrice; }\n"
    "int own(void) { int r = 0; int (*f)(int) = twice;\n"
    "#pragma omp target map(tofrom: r)\n"
    "  r = f(7);\n"
    "  return r; }\n",
    caller[] =
    "#pragma omp begin declare target indirect\n"
    "int plus(int x) { return x + 1; }\n"
    "#pragma omp end declare target\n"
    "int call(int (*f)(int), int x) { int r = 0; int (*g)(int) = plus;\n"
    "#pragma omp target map(tofrom: r)\n"
    "  r = 100 * g(x) + f(x);\n"
    "  return r; }\n";

static ompjit_error err;

static void (*function(ompjit_module *mod, const char *name))(void)
{
    void (*f)(void) = NULL;
    if (ompjit_module_function(mod, name, &f, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return f;
}

static ompjit_module *module(ompjit_context *ctx, const char *source)
{
    ompjit_module *mod = NULL;
    if (!ok(!ompjit_module_from_c(ctx, source, NULL, &mod, &err), "a module")) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return mod;
}

typedef int (*pointer)(int);

static pointer address(ompjit_module *mod, const char *name)
{
    return (pointer)((void *(*)(void))function(mod, name))();
}

static ompjit_context *context(void)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    o.devices = "host";
    o.host_memory = OMPJIT_HOST_MEMORY_SEPARATE;
    if (ompjit_context_create(&o, &ctx, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return ctx;
}

static void across(void)
{
    ompjit_context *ctx = context();
    ompjit_module *a = module(ctx, functions), *b = module(ctx, caller);
    int (*call)(pointer, int) = (int (*)(pointer, int))function(b, "call");
    int (*own)(void) = (int (*)(void))function(a, "own");
    ok(own() == 14, "a module's own");
    ok(call(address(a, "first"), 4) == 508, "another's");
    ok(call(address(a, "second"), 4) == 512, "another one of its");
    ompjit_module *again = module(ctx, functions);
    ok(call(address(again, "first"), 5) == 610, "of a module that came later");
    ompjit_module_destroy(a);
    ok(call(address(again, "second"), 5) == 615,
       "and when the first one has gone");
    ok(!ompjit_context_failure(ctx, &err), "without a failure");
    ompjit_module_destroy(again);
    ompjit_module_destroy(b);
    ompjit_context_destroy(ctx);
}

/* ------------------------------------------------------------ look-ups */

enum { ROWS = 1000, FIRST = 0x10000 };

static void *host_address(size_t i, size_t apart)
{
    return (void *)(uintptr_t)(FIRST + i * apart);
}

/* How many look-ups in the table go wrong, by one search: those of its rows,
 * and those of addresses between, before and behind them. */
static unsigned wrong(void *(*find)(const indirect_call *, uint64_t, void *),
                      const indirect_call *rows, size_t n, size_t apart)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < n; i++) {
        char *host = host_address(i, apart);
        wrong += find(rows, n, host) != rows[i].device;
        wrong += find(rows, n, host + 1) != host + 1;
    }
    wrong += find(rows, n, (void *)8) != (void *)8;
    wrong += find(rows, n, NULL) != NULL;
    return wrong + (find(rows, n, (void *)UINTPTR_MAX) != (void *)UINTPTR_MAX);
}

/* Is there a wrong look-up in a table of n rows? */
static unsigned wrong_table(ompjit_device *dev, size_t n, size_t apart)
{
    static ompjit__indirect_call rows[ROWS];
    ompjit__device_environment environment = {0};
    ompjit__calls *calls;
    for (size_t i = 0; i < n; i++)
        rows[i] = (ompjit__indirect_call){host_address(i, apart),
                                          (void *)(uintptr_t)(i + 1)};
    if (ompjit__calls_new(dev, rows, n, &calls, &err))
        return 1;
    ompjit__calls_tell(calls, &environment);
    const indirect_call *table =
        (const indirect_call *)(uintptr_t)environment.indirect_call_table;
    unsigned count = environment.debug_kind != CALL_INDEX_BIT ||
                     environment.indirect_call_table_size != n ||
                     wrong(call_index_find, table, n, apart) ||
                     wrong(call_rows_find, table, n, apart);
    ompjit__calls_free(calls);
    return count;
}

static void look_ups(void)
{
    static const size_t apart[] = {8, 16, 144, 4096, 0x100000000};
    ompjit_context *ctx = context();
    ompjit_device *dev = NULL;
    ok(!ompjit_context_device(ctx, 0, &dev, &err) &&
           !ompjit__device_ready(dev, &err), "a device");
    for (size_t i = 0; i < OMPJIT__COUNT(apart); i++) {
        unsigned count = wrong_table(dev, ROWS, apart[i]);
        for (size_t n = 1; n < 40; n++)
            count += wrong_table(dev, n, apart[i]);
        ok(!count, "look-ups of functions %zu bytes apart", apart[i]);
    }
    ompjit__calls *none = NULL;
    ompjit__device_environment environment = {0};
    ok(!ompjit__calls_new(dev, NULL, 0, &none, &err),
       "a table of nothing");
    ompjit__calls_tell(none, &environment);
    ok(!environment.debug_kind && !environment.indirect_call_table_size,
       "  has no index");
    ompjit__calls_free(none);
    ompjit_context_destroy(ctx);
}

int main(void)
{
    across();
    look_ups();
    return done_testing();
}
