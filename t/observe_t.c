/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which kernels can observe their threads (frontend/describe/observe.c), and
 * what a unit says of the threads that they ask for. Each row is a function
 * with one target region; clang compiles all of them as one source.
 */
#include "frontend/clang/clang.h"
#include "front.h"

static ompjit_error err;

static const char before[] =
    "#include <omp.h>\n"
    "typedef struct { int x, y; } pair;\n"
    "#pragma omp declare target\n"
    "int count; volatile int flag; int a[1000], b[1000]; double s;\n"
    "static int plain(int i) { return i * 3; }\n"
    "static void store(int *p, int i) { p[i] = i; }\n"
    "static void asks(int *p) { p[0] = omp_get_thread_num(); }\n"
    "static void orphan(int n) {\n"
    "#pragma omp for\n"
    "  for (int i = 0; i < n; i++) a[i] = i; }\n"
    "static void carry(int n) { int t = n; store(&t, 0);\n"
    "#pragma omp for\n"
    "  for (int i = 0; i < n; i++) { store(&t, 0); a[i] = t++; } }\n"
    "static void keep(int n) { int t = n; store(&t, 0);\n"
    "#pragma omp for\n"
    "  for (int i = 0; i < n; i++) a[i] = t; }\n"
    "void free_slot(int), malloc_count(void);\n"
    "static int twice(int n) { return n < 2 ? n : twice(n - 1) * 2; }\n"
    "int printf(const char *, ...);\n"
    "static void each(int i, void *p) { a[i] = i; }\n"
    "void __kmpc_for_static_loop_4u(void *, void (*)(int, void *), void *,\n"
    "                               int, int, int, char);\n"
    "#pragma omp end declare target\n";

#define FOR "for (int i = 0; i < n; i++) "
#define TDPF "_Pragma(\"omp target teams distribute parallel for\")\n"
#define TP "_Pragma(\"omp target parallel\")\n"
#define OMP(text) "\n#pragma omp " text "\n"

static const struct {
    const char *name;
    bool observes;
    const char *body;
} rows[] = {
    /* loops that the threads share */
    {"loop", false, OMP("target teams distribute parallel for") FOR
     "a[i] = plain(i) + b[i];"},
    {"loop_of_team", false, OMP("target parallel for") FOR "a[i] = i;"},
    /* as flang has it */
    {"loop_width", false, TP "__kmpc_for_static_loop_4u(0, each, 0, n, "
     "omp_get_num_threads(), 0, 0);"},
    {"loop_trips", true, TP "__kmpc_for_static_loop_4u(0, each, 0, "
     "omp_get_num_threads(), 4, 0, 0);"},
    {"loop_static", false,
     OMP("target parallel for schedule(static, 3)") FOR "a[i] = i;"},
    {"loop_dynamic", false,
     OMP("target parallel for schedule(dynamic, 2)") FOR "a[i] = i;"},
    {"loop_ordered", false, OMP("target parallel for ordered") FOR
     "{ a[i] = i;" OMP("ordered") "b[i] = a[i]; }"},
    {"loop_stores", false, OMP("target teams distribute parallel for") FOR
     "{ store(a, i); b[i] = twice(i); }"},
    {"loop_private", false,
     "int t; int u[4];" OMP("target teams distribute parallel for "
     "private(t, u)") FOR "{ t = i; for (int k = 0; k < 4; k++) u[k] = k * t; "
     "a[i] = t + u[3]; }"},
    {"loop_firstprivate", false, "int t = n;"
     OMP("target teams distribute parallel for firstprivate(t)") FOR
     "a[i] = t + i;"},
    {"loop_carries", true, "int t = n;"
     OMP("target teams distribute parallel for firstprivate(t)") FOR
     "a[i] = t++;"},
    {"loop_carries_array", true, "int t[4] = {n};"
     OMP("target parallel for firstprivate(t)") FOR
     "{ t[i % 4]++; a[i] = t[i % 4]; }"},
    {"loop_lastprivate", false, "int t;"
     OMP("target parallel for lastprivate(t) map(t)") FOR "t = a[i];"},
    {"loop_reduces", false, OMP("target teams distribute parallel for "
     "reduction(+: s)") FOR "s += a[i];"},
    {"loop_of_team_reduces", false, OMP("target parallel for "
     "reduction(max: count)") FOR "count = count > a[i] ? count : a[i];"},
    {"loop_atomic", false, OMP("target teams distribute parallel for") FOR
     "{" OMP("atomic") "count++;" OMP("atomic") "s *= 2.0; }"},
    {"loop_critical", false, OMP("target parallel for") FOR
     "{" OMP("critical") "count += i; }"},
    {"loop_collapse", false, OMP("target teams distribute parallel for "
     "collapse(2)") "for (int i = 0; i < n; i++) for (int k = 0; k < 4; k++) "
     "a[i * 4 + k] = k;"},
    {"loop_simd", false, OMP("target teams distribute parallel for simd "
     "simdlen(4)") FOR "a[i] = b[i];"},
    {"loop_construct", false, OMP("target teams loop") FOR "a[i] = b[i];"},
    {"loop_prints", false, OMP("target parallel for") FOR
     "printf(\"%d\\n\", i);"},
    {"loop_asks_team", false, OMP("target teams distribute parallel for") FOR
     "a[i] = omp_get_team_num() + omp_get_num_teams();"},
    {"loop_asks", true, OMP("target teams distribute parallel for") FOR
     "a[i] = omp_get_thread_num();"},
    {"loop_asks_count", true, OMP("target parallel for") FOR
     "a[i] = omp_get_num_threads();"},
    {"loop_asks_inside", true, OMP("target parallel for") FOR "asks(a + i);"},
    {"loop_waits", true, OMP("target parallel for") FOR
     "{ int v; do {" OMP("atomic read") "v = count; } while (v < i); "
     "a[i] = v; }"},
    {"loop_volatile", true, OMP("target parallel for") FOR
     "while (!flag) a[i]++;"},
    {"loop_calls_pointer", true, "int (*f)(int) = plain;"
     OMP("target parallel for") FOR "a[i] = f(i);"},
    {"loop_task", false, OMP("target parallel for") FOR
     "{" OMP("task") "a[i] = i; }"},
    {"loop_task_asks", true, OMP("target parallel for") FOR
     "{" OMP("task") "a[i] = omp_get_thread_num(); }"},
    {"loop_nested", false, OMP("target parallel for") FOR
     "{" OMP("parallel for") "for (int k = 0; k < 4; k++) a[i] += k; }"},

    /* regions */
    {"region_loop", false, OMP("target parallel") "{" OMP("for") FOR
     "a[i] = i;" OMP("for nowait") FOR "b[i] = a[i]; }"},
    {"region_orphan", false, OMP("target parallel") "orphan(n);"},
    {"region_nothing", false, OMP("target parallel") "{ int t = n; t++; }"},
    {"region_stores", true, OMP("target parallel") "a[0] = 1;"},
    {"region_counts", true, OMP("target parallel") "{" OMP("atomic")
     "count++; }"},
    {"region_critical", true, OMP("target parallel") "{" OMP("critical")
     "count++; }"},
    {"region_prints", true, OMP("target parallel") "printf(\"hello\\n\");"},
    {"region_reduces", true, OMP("target parallel reduction(+: count)")
     "count++;"},
    {"region_number", true, OMP("target parallel")
     "a[omp_get_thread_num()] = 1;"},
    {"region_single", false, OMP("target parallel") "{" OMP("single")
     "a[0]++;" OMP("master") "a[1]++;" OMP("masked") "a[2]++; }"},
    {"region_masked", true, OMP("target parallel") "{" OMP("masked filter(1)")
     "a[0]++; }"},
    {"region_zero", false, OMP("target parallel")
     "if (omp_get_thread_num() == 0) a[0]++;"},
    {"region_zero_kept", false, OMP("target parallel")
     "{ int t = omp_get_thread_num(); if (!t) a[0]++; }"},
    {"region_one", true, OMP("target parallel")
     "if (omp_get_thread_num() == 1) a[0]++;"},
    {"region_not_zero", true, OMP("target parallel")
     "if (omp_get_thread_num() != 0) a[0]++;"},
    {"region_zero_count", true, OMP("target parallel")
     "if (omp_get_thread_num() == 0) a[0] = omp_get_num_threads();"},
    {"region_sections", false, OMP("target parallel")
     OMP("sections") "{" OMP("section") "a[0]++;" OMP("section") "a[1]++; }"},
    {"region_barrier", false, OMP("target parallel") "{" OMP("for nowait") FOR
     "a[i] = i;" OMP("barrier") OMP("for") FOR "b[i] = a[n - 1 - i]; }"},
    {"region_sums", true, OMP("target parallel") "{ int t = 0;" OMP("for") FOR
     "t += a[i];" OMP("atomic") "count += t; }"},
    {"region_picks", true, OMP("target parallel") "{ int t = 0;" OMP("for")
     FOR "t = i;" OMP("master") "a[0] = t; }"},
    {"region_fills", false, OMP("target parallel") "{ int t[4];"
     "for (int k = 0; k < 4; k++) t[k] = k;" OMP("for") FOR
     "a[i] = t[i % 4]; }"},
    {"region_task", true, OMP("target parallel") "{" OMP("task") "count++; }"},
    {"region_single_task", false, OMP("target parallel") OMP("single")
     "{" OMP("task") "a[0]++; }"},
    {"region_nested", true, OMP("target parallel") "{" OMP("parallel for") FOR
     "a[i]++; }"},
    {"region_if", false, OMP("target parallel if(parallel: 0)") "a[0]++;"},
    {"region_carries_shared", true, OMP("target parallel") "carry(n);"},
    {"region_keeps_shared", false, OMP("target parallel") "keep(n);"},
    {"region_changes_pointer", true, "int *q = a;" OMP("target parallel "
     "firstprivate(q)") "{ int t; int *p = &t;"
     "__builtin_memcpy(&p, &q, sizeof p); *p = 1; }"},
    {"region_frees_slot", true, OMP("target parallel") "free_slot(n);"},
    {"region_counts_malloc", true, OMP("target parallel") "malloc_count();"},
    {"region_strides", true, OMP("target parallel")
     "for (int i = omp_get_thread_num(); i < n; i += omp_get_num_threads()) "
     "a[i] = i;"},

    /* outside of regions */
    {"team", false, OMP("target teams")
     "a[omp_get_team_num()] = omp_get_num_teams();"},
    {"team_distribute", false, OMP("target teams distribute") FOR "a[i]++;"},
    {"team_asks", false, OMP("target teams")
     "a[omp_get_team_num()] = omp_get_thread_num() + omp_get_num_threads();"},
    {"team_asks_limit", true, OMP("target teams")
     "a[omp_get_team_num()] = omp_get_thread_limit();"},
    {"team_asks_most", true, OMP("target") "a[0] = omp_get_max_threads();"},
    {"team_loop", false, OMP("target teams") "{ int t = omp_get_team_num();"
     OMP("parallel for") FOR "a[i] += t; }"},
    {"team_region", true, OMP("target teams") "{ int t = omp_get_team_num();"
     OMP("parallel") "a[t] = t; }"},
    {"team_distribute_loop", false, OMP("target teams distribute")
     "for (int k = 0; k < 4; k++) {" OMP("parallel for") FOR "a[i] += k; }"},
};

static char *source(void)
{
    ompjit__buf text = {0};
    ompjit__buf_printf(&text, "%s", before);
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        ompjit__buf_printf(&text, "void %s(int n) {%s}\n", rows[i].name,
                           rows[i].body);
    return text.data;
}

static void check_rows(const ompjit__unit *unit)
{
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        const ompjit__kernel_desc *k = kernel_named(unit, rows[i].name);
        ok(k && k->observes_threads == rows[i].observes, "%s %s its threads",
           rows[i].name, rows[i].observes ? "observes" : "does not observe");
    }
}

int main(void)
{
    ompjit_context *ctx = context_new(NULL, 60);
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit__unit unit = {0};
    options.name = "rows.c";
    char *text = source();
    if (ok(!ompjit__frontend_c(ctx, text, &options, &unit, &err),
           "the rows compile"))
        check_rows(&unit);
    else
        printf("# %s\n", err.text);
    ompjit__unit_free(&unit);
    free(text);
    context_free(ctx);
    return done_testing();
}
