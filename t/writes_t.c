/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which parameters a kernel writes through (frontend/describe/writes.c). Each
 * row is a function with one target region; clang compiles all of them as one
 * source.
 */
#include "frontend/clang/clang.h"
#include "front.h"

static ompjit_error err;

static const char before[] =
    "#include <string.h>\n"
    "#include <stdio.h>\n"
    "typedef struct { int n; double *x, *y; } pair;\n"
    "typedef struct { double u, v; } point;\n"
    "typedef union { double *p; long number; } either;\n"
    "#pragma omp declare target\n"
    "double *global, table[1000];\n"
    "static double get(const double *p, int i) { return p[i]; }\n"
    "static void put(double *p, int i) { p[i] = i; }\n"
    "static double *shift(double *p, int i) { return i ? p + i : p; }\n"
    "static double sum(double *p, int n) {\n"
    "  return n ? *p + sum(p + 1, n - 1) : 0; }\n"
    "void elsewhere(double *p);\n"
    "static void touch(void) { global[1] = 2; }\n"
    "#pragma omp end declare target\n";

#define FOR "for (int i = 0; i < n; i++) "
#define TDPF "\n#pragma omp target teams distribute parallel for "
#define OMP(text) "\n#pragma omp " text "\n"
#define MAP "map(a[:n], b[:n])"

/* The letters of parameters that are written, and ! where the kernel writes
 * through a pointer that it loads. */
static const struct {
    const char *name, *written, *body;
} rows[] = {
    {"reads", "b", TDPF MAP "\n" FOR "b[i] = a[i];"},
    {"updates", "a", TDPF MAP "\n" FOR "a[i] += b[i];"},
    {"serial", "b", OMP("target " MAP) "b[0] = a[0];"},
    {"parallel", "b", OMP("target parallel " MAP) "b[0] = a[0];"},
    {"generic", "b", OMP("target " MAP) "{ double t = a[0];"
     OMP("parallel for") FOR "b[i] = a[i] + t; }"},
    {"teams", "b", OMP("target teams " MAP) "{ double t = a[1];"
     OMP("distribute") "for (int j = 0; j < n; j += 10) {"
     OMP("parallel for") "for (int i = j; i < j + 10; i++) b[i] = a[i] * t; }"
     "}"},
    {"nested", "b", OMP("target " MAP) OMP("parallel") OMP("parallel")
     "b[1] = a[1];"},
    {"called", "b", TDPF MAP "\n" FOR "put(b, get(a, i));"},
    {"recursive", "b", TDPF MAP "\n" FOR "b[i] = sum(a, i % 5);"},
    {"returned", "ab", TDPF MAP "\n" FOR "*shift(a, i) = *shift(b, i);"},
    {"selected", "ab", TDPF MAP "\n" FOR "*(i % 2 ? a + i : b + i) = 1;"},
    {"variable", "a", TDPF MAP "\n" FOR
     "{ double *p = a, *q = b; p += i; q += i; *p = *q; }"},
    {"shared_pointer", "a", OMP("target " MAP) "{ double *p = a;"
     OMP("parallel") "p[1] = b[1]; }"},
    {"moved_pointer", "ab!", OMP("target " MAP) "{ double *p = b;"
     OMP("parallel num_threads(1)") "{ p = a; p[1] = b[2]; } }"},
    {"reassigned", "ab", OMP("target " MAP) "{ double *p = b;"
     "p[0] = 1; p = a; p[1] = 2; }"},
    {"array_of_pointers", "ab", OMP("target " MAP)
     "{ double *p[2] = {a, b}; p[n & 1][0] = 1; }"},
    {"atomic", "b", TDPF MAP "\n" FOR "{" OMP("atomic") "b[0] += a[i]; }"},
    {"compared", "b", TDPF MAP "\n" FOR "b[i] = a < b;"},
    {"copied", "b", OMP("target " MAP) "memcpy(b, a, n * sizeof *a);"},
    {"filled", "b", OMP("target " MAP) "memset(b, a[0] > 0, n * sizeof *a);"},
    {"printed", "", OMP("target " MAP) "printf(\"%g %p\\n\", a[1], b);"},
    {"nothing_printed", "b", OMP("target " MAP)
     "{ printf(\"\"); b[0] = a[1]; }"},
    {"numbered", "a!", OMP("target " MAP)
     "*(double *)((unsigned long)a + 8) = b[1];"},
    {"unknown", "a!", OMP("target " MAP) "{ elsewhere(a); (void)b[0]; }"},
    {"reduced", "s", "double s = 0;"
     OMP("target teams distribute parallel for reduction(+: s) map(a[:n])")
     FOR "s += a[i];"},
    {"points", "q", "point *p = (point *)a, *q = (point *)b;"
     OMP("target teams distribute parallel for map(p[:n], q[:n])")
     FOR "q[i] = p[i];"},
    {"members", "!", "pair s = {n, a, b};"
     TDPF "map(s.x[:n], s.y[:n])\n" FOR "s.y[i] = s.x[i];"},
    {"members_read", "b", "pair s = {n, a, b};"
     TDPF "map(s.x[:n], b[:n])\n" FOR "b[i] = s.x[i];"},
    {"rows", "!", "double **m = (double **)a;"
     OMP("target map(m[:n])") FOR "m[i][0] = 1;"},
    {"rows_read", "b", "double **m = (double **)a;"
     OMP("target map(m[:n], b[:n])") FOR "b[i] = m[i][0];"},
    {"as_number", "a", OMP("target " MAP) "{ either u, v; u.p = a;"
     "v.number = u.number; v.p[0] = b[0]; }"},
    {"as_sum", "a!", OMP("target " MAP) "{ either u; u.p = a;"
     "*(double *)(u.number + 8) = b[0]; }"},
    {"loaded_as_number", "!", "either *e = (either *)a, *f = (either *)b;"
     OMP("target map(e[:n], f[:1])")
     "{ either u; u.number = e[n - 1].number; u.p[0] = f[0].number; }"},
    {"bytes", "a!", OMP("target " MAP) "{ either u, v; u.p = a;"
     "for (int i = 0; i < 8; i++) ((char *)&v)[i] = ((char *)&u)[i];"
     "v.p[0] = b[0]; }"},
    {"characters", "d", "char *s = (char *)a, *d = (char *)b;"
     OMP("target teams distribute parallel for map(s[:n], d[:n])")
     FOR "{ char c = s[i]; d[i] = c; }"},
    {"counted", "b!", OMP("target " MAP)
     "printf(\"%g%n\\n\", a[1], (int *)b);"},
    {"numbers", "m", "long *l = (long *)a, *m = (long *)b, k = n;"
     OMP("target teams distribute parallel for map(l[:n], m[:n])") FOR
     "{ long x = l[i]; m[i] = 2 * x + k; m[x & 1] = x; }"},
    {"by_global", "b!", OMP("target " MAP) "{ b[0] = a[0]; global[1] = 2; }"},
    {"by_hook", "b!", OMP("target " MAP) "{ void (*f)(void) = touch;"
     "b[0] = a[0]; f(); }"},
    {"to_global", "a!", OMP("target " MAP) "{ global = a; (void)b[0]; }"},
    {"of_table", "b", OMP("target " MAP) "{ table[1] = a[1]; b[0] = table[2]; }"},
    {"task", "ab!", OMP("target " MAP) OMP("task") "a[0] = b[0];"},
};

/* Names of parameters are those of their variables, p of p.addr too. */
static void describe(const ompjit__kernel_desc *k, char *text)
{
    size_t n = 0;
    for (char letter = 'a'; letter <= 'z'; letter++)
        for (unsigned i = 0; k && i < k->nparams; i++)
            if (k->params[i].kind == OMPJIT__PARAM_POINTER &&
                k->params[i].name[0] == letter && !k->params[i].name[1] &&
                k->written >> i & 1)
                text[n++] = letter;
    if (k && k->writes_loaded)
        text[n++] = '!';
    text[n] = 0;
}

static char *source(void)
{
    ompjit__buf text = {0};
    ompjit__buf_printf(&text, "%s", before);
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        ompjit__buf_printf(&text,
                           "void %s(int n, double *a, double *b) {\n%s\n}\n",
                           rows[i].name, rows[i].body);
    return text.data;
}

static void check_rows(const ompjit__unit *unit)
{
    char text[64];
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        describe(kernel_named(unit, rows[i].name), text);
        ok_string(text, rows[i].written, "%s", rows[i].name);
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
