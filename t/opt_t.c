/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Options of the optimizer through the API: the list, what is wrong with some,
 * and threads of one process that compile with different options at the same
 * time, where LLVM works in the process: each gets its own.
 */
#include <pthread.h>

#include "ompjit_opt.h"
#include "program.h"

static const char source[] =
    "extern int total;\n"
    "#pragma omp declare target\n"
    "int total;\n"
    "#pragma omp end declare target\n"
    "void f(int n, int *x) {\n"
    "#pragma omp target teams num_teams(1) map(x[:n])\n"
    "  {\n"
    "    int a[8];\n"
    "    for (int i = 0; i < 8; i++) a[i] = x[i];\n"
    "    total = a[3];\n"
    "#pragma omp parallel for\n"
    "    for (int i = 0; i < n; i++) x[i] += a[i % 8] + total;\n"
    "  }\n"
    "}\n"
    "#pragma omp begin declare target\n"
    "__attribute__((noinline)) void opaque(void) { __asm__ volatile(\"\"); }\n"
    "#pragma omp end declare target\n"
    "void g(int n, int *x) {\n"
    "#pragma omp target teams num_teams(1) map(x[:n])\n"
    "  {\n"
    "    opaque();\n"
    "#pragma omp parallel for\n"
    "    for (int i = 0; i < n; i++) x[i]++;\n"
    "  }\n"
    "}\n";

static const char *const sets[][2] = {
    {NULL, NULL},
    {"openmp-opt-disable-spmdization", NULL},
    {"openmp-opt-disable-deglobalization", NULL},
    {"openmp-opt-disable-spmdization", "openmp-opt-shared-limit=0"},
    {"ompjit-spmd-amenable=opaque", "ompjit-spmd-amenable=nothing"},
};
enum { SETS = sizeof sets / sizeof *sets, ROUNDS = 3 };

static char *expected[SETS];

/* LLVM numbers calls through all modules of a process. */
static void drop_numbers(char *text)
{
    while ((text = strstr(text, "// callseq "))) {
        const char *rest = text + strcspn(text, "\n");
        memmove(text, rest, strlen(rest) + 1);
    }
}

static char *ptx(unsigned set, ompjit_error *why)
{
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *own;
    void *text = NULL;
    size_t size;
    o.opts = sets[set];
    while (o.nopts < 2 && sets[set][o.nopts])
        o.nopts++;
    if (ompjit_module_from_c(ctx, source, &o, &own, why))
        return NULL;
    ompjit_module_emit(own, OMPJIT_FORMAT_PTX, "sm_90", &text, &size, why);
    ompjit_module_destroy(own);
    if (text)
        drop_numbers(text);
    return text;
}

/* `arg` points to a number; the result is how often the PTX was another. */
static void *compile(void *arg)
{
    unsigned wrong = 0, first = *(unsigned *)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        ompjit_error why;
        unsigned set = (first + i) % SETS;
        char *text = ptx(set, &why);
        wrong += !text || strcmp(text, expected[set]);
        ompjit_bytes_free(text);
    }
    *(unsigned *)arg = wrong;
    return NULL;
}

static void threads(void)
{
    pthread_t thread[SETS];
    unsigned number[SETS], wrong = 0;
    for (unsigned i = 0; i < SETS; i++) {
        expected[i] = ptx(i, &err);
        ok(expected[i] && *expected[i], "set %u alone: %s", i, err.text);
        for (unsigned k = 0; k < i; k++)
            ok(expected[i] && strcmp(expected[i], expected[k]),
               "  is not as set %u", k);
    }
    for (unsigned i = 0; i < SETS; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, compile, &number[i]);
    }
    for (unsigned i = 0; i < SETS; i++) {
        pthread_join(thread[i], NULL);
        wrong += number[i];
    }
    for (unsigned i = 0; i < SETS; i++)
        ompjit_bytes_free(expected[i]);
    ok(!wrong, "%u of %d at the same time are others", wrong, SETS * ROUNDS);
}

static void list(void)
{
    ompjit_opt_info info = OMPJIT_OPT_INFO_INIT;
    unsigned n = ompjit_opt_count(), llvm = 0;
    for (unsigned i = 0; i < n; i++) {
        must(ompjit_opt_at(i, &info, &err));
        llvm += !strncmp(info.name, "openmp-", 7);
        ok(*info.name && *info.help && info.ordinary <= info.most, "%s",
           info.name);
    }
    ok(llvm == 18, "the 18 options of openmp-opt");
    ok(ompjit_opt_at(n, &info, &err) == OMPJIT_ERR_NOT_FOUND,
       "and no more: %s", err.text);
}

static void contexts(void)
{
    const char *opts[] = {"openmp-opt-disable", "openmp-opt-shared-limit=x"};
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *other = NULL;
    o.compiler.opts = opts;
    o.compiler.nopts = 2;
    ok(ompjit_context_create(&o, &other, &err) == OMPJIT_ERR_INVALID,
       "a context's are checked: %s", err.text);
    o.compiler.opts = NULL;
    ok(ompjit_context_create(&o, &other, &err) == OMPJIT_ERR_INVALID,
       "and are an array: %s", err.text);
    opts[1] = "ompjit-spmd-amenable=a\nb";
    o.compiler.opts = opts;
    ok(ompjit_context_create(&o, &other, &err) == OMPJIT_ERR_INVALID,
       "one name each: %s", err.text);
    opts[1] = NULL;
    ok(ompjit_context_create(&o, &other, &err) == OMPJIT_ERR_INVALID,
       "without holes: %s", err.text);
}

int main(void)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    o.devices = "host";
    o.compiler.process = OMPJIT_COMPILER_INPROCESS;
    o.cache.mode = OMPJIT_CACHE_OFF;
    must(ompjit_context_create(&o, &ctx, &err));
    list();
    contexts();
    threads();
    ompjit_context_destroy(ctx);
    return done_testing();
}
