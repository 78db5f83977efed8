/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How much memory a call maps, by the values of its arguments: sections of all
 * forms, in constructs that are reached or not; and the check of a call.
 */
#include <inttypes.h>

#include "function.h"

static const char source[] =
    "#define K 4\n"
    "struct sized { int n; double *v; };\n"
    "#define LOOP _Pragma(\"omp target\") \n"
    "void plain(int n, int m, double *x, double *y) {\n"
    "#pragma omp target map(to: x[:n*m]) map(y[:2*n+1])\n"
    "  y[0] = x[0];\n"
    "}\n"
    "void offset(int n, int m, double *x, double *y) {\n"
    "#pragma omp target map(to: x[n:m]) map(y[n-2:K])\n"
    "  y[n] = x[n];\n"
    "}\n"
    "void local(int n, int m, double *x, double *y) {\n"
    "  long k = n / 2; double *p = x + m; k += m % 3;\n"
    "#pragma omp target map(to: p[:k]) map(y[:k << 2])\n"
    "  y[0] = p[0];\n"
    "}\n"
    "void changed(int n, int m, double *x, double *y) {\n"
    "  n = n > m ? m : n; if (m < 0) m = -m;\n"
    "#pragma omp target map(to: x[:n]) map(y[:m])\n"
    "  y[0] = x[0];\n"
    "}\n"
    "void either(int n, int m, double *x, double *y) {\n"
    "  if (n > 10) {\n"
    "#pragma omp target map(to: x[:n])\n"
    "    (void)x[0];\n"
    "  } else if (m > 0) {\n"
    "#pragma omp target map(to: x[:m]) map(y[:m])\n"
    "    y[0] = x[0];\n"
    "  }\n"
    "  switch (m) {\n"
    "  case -7:\n"
    "#pragma omp target map(y[:77])\n"
    "    y[0] = 1;\n"
    "  }\n"
    "}\n"
    "void nothing(int n, int m, double *x, double *y) {\n"
    "#pragma omp target map(to: x[:n])\n"
    "  (void)x[0];\n"
    "  if (m) {\n"
    "#pragma omp target map(to: x[:m]) map(y[:m])\n"
    "    y[0] = x[0];\n"
    "#pragma omp target map(y[:n])\n"
    "    y[0] = 1;\n"
    "  }\n"
    "#pragma omp target map(y[:n])\n"
    "  y[0] = 1;\n"
    "}\n"
    "void rounds(int n, int m, double *x, double *y) {\n"
    "  for (int t = 0; t < m; t++) {\n"
    "#pragma omp target map(to: x[t:n]) map(y[:n + t])\n"
    "    y[0] = x[t];\n"
    "  }\n"
    "}\n"
    "void early(int n, int m, double *x, double *y) {\n"
    "  if (n <= 0) return;\n"
    "  while (m > 100) {\n"
    "    if (m == 200 || m == 300) break;\n"
    "#pragma omp target map(y[:m])\n"
    "    y[0] = 1;\n"
    "    m /= 2;\n"
    "  }\n"
    "#pragma omp target map(to: x[:n])\n"
    "  (void)x[0];\n"
    "}\n"
    "void clause(int n, int m, double *x, double *y) {\n"
    "#pragma omp target if(m > 5) map(to: x[:n]) map(y[:n])\n"
    "  y[0] = x[0];\n"
    "}\n"
    "static void inner(int k, double *p) {\n"
    "#pragma omp target map(p[:3*k])\n"
    "  p[0] = 1;\n"
    "}\n"
    "void outer(int n, int m, double *x, double *y) {\n"
    "  inner(n, x); if (m) inner(m, y + 1);\n"
    "}\n"
    "void data(int n, int m, double *x, double *y) {\n"
    "#pragma omp target data map(to: x[:n]) map(from: y[0:m])\n"
    "  {\n"
    "#pragma omp target\n"
    "    y[0] = x[0];\n"
    "#pragma omp target update from(y[1:m - 1])\n"
    "  }\n"
    "}\n"
    "void shared(int n, int m, double *x, double *y) {\n"
    "  double sum = 0;\n"
    "#pragma omp target teams distribute parallel for reduction(+: sum) \\\n"
    "    map(to: x[:n]) map(tofrom: m)\n"
    "  for (int i = 0; i < n; i++) sum += x[i];\n"
    "  y[0] = sum;\n"
    "#pragma omp target map(y[:n]) map(to: x[:m])\n"
    "  y[1] = x[0];\n"
    "}\n"
    "void member(int n, int m, struct sized *x, double *y) {\n"
    "#pragma omp target map(y[:x->n]) map(to: x[:1])\n"
    "  y[0] = 1;\n"
    "}\n"
    "void narrow(short n, unsigned char m, double *x, double *y) {\n"
    "#pragma omp target map(to: x[:n]) map(y[:m])\n"
    "  y[0] = x[0];\n"
    "}\n"
    "void real(float n, double m, double *x, double *y) {\n"
    "  if (n == 0 || m < 1.5) return;\n"
    "#pragma omp target map(to: x[:3]) map(y[:4])\n"
    "  y[0] = x[0];\n"
    "}\n"
    "void square(int n, int m, double (*x)[n], double *y) {\n"
    "#pragma omp target map(to: x[:m][:n]) map(y[:n])\n"
    "  y[0] = x[0][0];\n"
    "}\n";

#define U OMPJIT_BYTES_UNKNOWN
#define D(n) ((uint64_t)(n) * 8)

static const struct {
    const char *function;
    int n, m;
    uint64_t x, y;
    const char *error; /* of the sections themselves; NULL: none */
} rows[] = {
    {"plain", 3, 5, D(15), D(7), NULL},
    {"plain", 0, 5, 0, D(1), NULL},
    {"plain", -1, 5, 0, 0, "y[:2 * n + 1], line 5 has -1 elements"},
    {"plain", 2000000000, 1, D(2000000000), 0, "has -294967295 elements"},
    {"offset", 4, 3, D(7), D(6), NULL},
    {"offset", 1, 3, 0, 0, "begins 1 elements before the array"},
    {"local", 10, 1, D(1 + 6), D(24), NULL},
    {"changed", 9, 4, D(4), D(4), NULL},
    {"changed", -3, -9, 0, 0, "has -9 elements"},
    {"changed", 2, 4, D(2), D(4), NULL},
    {"either", 11, 5, D(11), U, NULL},
    {"either", 3, 5, D(5), D(5), NULL},
    {"either", 3, -1, U, U, NULL},
    {"either", 3, -7, U, D(77), NULL},
    {"nothing", 0, 0, 0, 0, NULL},
    {"nothing", 0, 5, D(5), D(5), NULL},
    {"rounds", 6, 2, D(6), D(6), NULL},
    {"rounds", 6, 0, U, U, NULL},
    {"early", 0, 150, U, U, NULL},
    {"early", 5, 150, D(5), D(150), NULL},
    {"early", 5, 200, D(5), U, NULL},
    {"early", 5, 300, D(5), U, NULL},
    {"early", 5, 50, D(5), U, NULL},
    {"clause", 7, 9, D(7), D(7), NULL},
    {"clause", 7, 0, D(7), D(7), NULL},
    {"outer", 2, 5, D(6), D(16), NULL},
    {"outer", 2, 0, D(6), U, NULL},
    {"data", 3, 9, D(3), D(9), NULL},
    {"shared", 8, 3, D(8), D(8), NULL},
    {"member", 8, 3, 16, U, NULL},
    {"narrow", 8, 255, D(8), D(255), NULL},
    {"narrow", -2, 3, 0, 0, "has -2 elements"},
    {"square", 4, 3, D(12), D(4), NULL},
};

static void try_row(ompjit_module *mod, size_t i)
{
    ompjit_function *fn = function_of(mod, rows[i].function);
    ompjit_value args[4] = {{.i = rows[i].n}, {.i = rows[i].m}};
    uint64_t bytes[4] = {1, 1, 1, 1};
    ompjit_status status = ompjit_function_extents(fn, args, 4, bytes, &err);
    if (rows[i].error) {
        ok(status == OMPJIT_ERR_ARGUMENT, "%s(%d, %d) is wrong",
           rows[i].function, rows[i].n, rows[i].m);
        ok_contains(err.text, rows[i].error, "and why");
        return;
    }
    int good = !status && !bytes[0] && bytes[2] == rows[i].x &&
               bytes[3] == rows[i].y;
    ok(good, "%s(%d, %d)", rows[i].function, rows[i].n, rows[i].m);
    if (!good)
        fprintf(stderr, "# %s got %" PRIu64 " %" PRIu64 "\n",
                status ? err.text : "", bytes[2], bytes[3]);
}

static void try_floats(ompjit_module *mod)
{
    ompjit_function *fn = function_of(mod, "real");
    static const struct {
        float n;
        double m;
        uint64_t x;
    } tries[] = {{1, 2, 24}, {0, 2, U}, {1, 1.25, U}, {-0.0f, 2, U},
                 {1, 1.5, 24}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        ompjit_value args[4] = {{.f32 = tries[i].n}, {.f64 = tries[i].m}};
        uint64_t bytes[4];
        ok(!ompjit_function_extents(fn, args, 4, bytes, &err) &&
               bytes[2] == tries[i].x,
           "floats decide: %g, %g", (double)tries[i].n, tries[i].m);
    }
}

/* A section whose size in bytes has no room in 64 bits is not a short one. */
static void try_huge(void)
{
    ompjit_module *mod = module_named(
        "huge.c",
        "void f(long n, double *x) {\n"
        "#pragma omp target map(x[:n])\n"
        "  x[0] = 1;\n"
        "}\n", 1);
    ompjit_function *fn = function_of(mod, "f");
    double x[4] = {0};
    ompjit_value args[2] = {{.i = (INT64_C(1) << 61) + 1}, {.p = x}};
    uint64_t bytes[2] = {OMPJIT_BYTES_UNKNOWN, sizeof x};
    ok(ompjit_function_call(fn, args, 2, bytes, NULL, &err) ==
           OMPJIT_ERR_ARGUMENT,
       "2^61 + 1 doubles are not one");
    ok_contains(err.text, "but the argument has 4", "the message");
    args[0].i = 4;
    ok(!ompjit_function_call(fn, args, 2, bytes, NULL, &err) && x[0] == 1,
       "four are there");
    args[0].i = 5;
    x[0] = 0;
    ok(ompjit_function_call(fn, args, 2, bytes, NULL, &err) ==
               OMPJIT_ERR_ARGUMENT && x[0] == 0,
       "five are not, and nothing is called");
    ok_string(err.text, "f: x: the map of x[:n], line 2 needs 5 elements, but "
                        "the argument has 4", "the whole message");
    bytes[1] = OMPJIT_BYTES_UNKNOWN;
    ok(!ompjit_function_call(fn, args, 2, bytes, NULL, &err),
       "what is not known is not checked");
    ompjit_module_destroy(mod);
}

int main(void)
{
    open_context();
    ompjit_module *mod = module_named("extents.c", source, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        try_row(mod, i);
    try_floats(mod);
    ompjit_value args[3] = {{0}};
    uint64_t bytes[3];
    ok(ompjit_function_extents(function_of(mod, "plain"), args, 3, bytes,
                               &err) == OMPJIT_ERR_ARGUMENT,
       "a wrong number of arguments");
    ompjit_module_destroy(mod);
    try_huge();
    ompjit_context_destroy(ctx);
    done_testing();
}
