/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions that one module declares `indirect`, called through pointers in the
 * kernels of another, on the host device with memory of its own. The functions
 * say where they run, so that a call of the host's is seen.
 */
#include "base/base.h"
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

static void across(void)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    o.devices = "host";
    o.host_memory = OMPJIT_HOST_MEMORY_SEPARATE;
    if (ompjit_context_create(&o, &ctx, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
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

int main(void)
{
    across();
    return done_testing();
}
