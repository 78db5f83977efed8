/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Host memory `auto`: programs that could tell the application's storage from a
 * copy get a copy, the others none. Each row is a function, which gives the
 * same in `separate` memory.
 */
#include "device/device.h"
#include "core/core.h"
#include "tap.h"

enum { FILLED = 16 << 10 }; /* doubles: what is counted is larger */

static const char before[] =
    "#include <math.h>\n"
    "#include <search.h>\n"
    "#include <stdlib.h>\n"
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "#include <omp.h>\n"
    "enum { N = 16 << 10 };\n"
    "typedef struct { int n; double *x, *y; } pair;\n"
    "typedef struct { double *p; double rest[N]; } holder;\n"
    "static void fill(double *p, double v) {\n"
    "  for (int i = 0; i < N; i++) p[i] = v + i; }\n"
    "static double fixed[N], other[N], *A, *B;\n"
    "static double get(double *p, int i) { return p[i]; }\n"
    "static int compare(const void *a, const void *b) {\n"
    "  double x = *(const double *)a, y = *(const double *)b;\n"
    "  return x < y ? 1 : -(x > y); }\n"
    "static int compare_a(const void *a, const void *b) {\n"
    "  (void)a, (void)b; return A[5] > 0; }\n"
    "static void add(double *p, const double *q) {\n"
    "#pragma omp target teams distribute parallel for\n"
    "  for (int i = 0; i < N; i++) p[i] += q[i]; }\n"
    "static double chain(double *p, int n) {\n"
    "  return n ? p[n] + chain(p, n - 1) : 0; }\n"
    "static double deep(double *p, int n) {\n"
    "  if (!n) { add(p, p); return 0; }\n"
    "  double v = deep(p, n - 1); return v + p[n]; }\n"
    "static void bring(double *p, int n) {\n"
    "#pragma omp target update from(p[:n])\n}\n"
    "static void bring_less(double *p, int n) {\n"
    "#pragma omp target update from(p[:n])\n"
    "  if (n > 5) { add(p, p); bring_less(p, 5); } }\n"
    "static double some(double *p, double *q, int n) { double s;\n"
    "#pragma omp target data map(tofrom: p[:n + n])\n"
    "  { add(p, q); bring(p, n + n); add(p, q); bring(p, n / n); s = p[9]; }\n"
    "  return s * p[5]; }\n"
    "static double all(double *p, double *q, int n) { double s;\n"
    "#pragma omp target data map(tofrom: p[:n])\n"
    "  { add(p, q); bring(p, n); s = p[9]; add(p, q); bring(p, n); s += p[9]; }"
    "  return s * p[5]; }\n"
    "static double deeper(double *p, int n) { double s;\n"
    "#pragma omp target data map(tofrom: p[:n])\n"
    "  { bring_less(p, n); s = p[9]; } return s * p[5]; }\n"
    "static void say(const char *text) { puts(text); }\n"
    "static void twice(double *a, double *b, int n) {\n"
    "#pragma omp target data map(to: a[:n]) map(tofrom: b[:n])\n"
    "  for (int k = 0; k < 2; k++) add(b, a); }\n"
    "static pair *make(double *a, double *b) { pair *s = malloc(sizeof *s);\n"
    "  s->n = 2; s->x = a; s->y = b; return s; }\n"
    "static void run(pair *s) {\n"
    "#pragma omp target data map(to: s->x[:N]) map(tofrom: s->y[:N])\n"
    "  for (int k = 0; k < s->n; k++) add(s->y, s->x); }\n"
    "typedef struct { int n; double dt, *x, *y; } state;\n"
    "static void run_globals(void) {\n"
    "#pragma omp target data map(to: A[:N]) map(tofrom: B[:N])\n"
    "  { add(B, A); printf(\"# %d\\n\", N); add(B, A); } }\n";

/* Each row with a `state` has these functions of its own: data that a function
 * maps is shared if none of its callers can tell. */
static const char own[] =
    "static double *keep(double *p) { static double *kept;\n"
    "  double *was = kept; kept = p; return was; }\n"
    "static double *field(double v) { double *p = malloc(N * sizeof *p);\n"
    "  fill(p, v); return p; }\n"
    "static state *make_state(void) { state *s = malloc(sizeof *s); s->n = N;\n"
    "  s->dt = 1; s->x = field(1); s->y = field(2); return s; }\n"
    "static void map_in(state *s) {\n"
    "#pragma omp target enter data map(to: s->x[:s->n], s->y[:s->n])\n}\n"
    "static void map_out(state *s) {\n"
    "#pragma omp target exit data map(from: s->x[:s->n]) "
    "map(delete: s->y[:s->n])\n}\n"
    "static void step(state *s) { double *x = s->x, *y = s->y, t = s->dt;\n"
    "#pragma omp target teams distribute parallel for\n"
    "  for (int i = 0; i < N; i++) { x[i] += t * y[i]; y[i]++; } }\n"
    "static void steps(state *s) {\n"
    "#pragma omp target data map(tofrom: s->x[:N]) map(to: s->y[:N])\n"
    "  for (int k = 0; k < 3; k++) { step(s); s->dt /= 2; } }\n"
    "static void drop(state *s) { free(s->x); free(s->y); free(s); }\n"
    "static double end(state *s) { double v = s->x[5];\n"
    "  drop(s); return v; }\n"
    "static double peek(double *p) { return p[5]; }\n"
    "static void enter_one(double *p, int n) {\n"
    "#pragma omp target enter data map(to: p[:n])\n}\n"
    "static void enter_again(double *p, int n) {\n"
    "#pragma omp target enter data map(to: p[:n])\n}\n";
static const char *const owned[] = {"keep", "field", "make_state", "map_in",
                                    "map_out", "step", "steps", "drop", "end",
                                    "peek", "enter_one", "enter_again"};

#define TDPF "\n#pragma omp target teams distribute parallel for "
#define SAY(x)                                                                 \
    "say(\"# " x "0\"); say(\"# " x "1\");"                                    \
    "say(\"# " x "2\"); say(\"# " x "3\");"
#define OMP(text) "\n#pragma omp " text "\n"
#define FOR "for (int i = 0; i < N; i++) "

static const struct {
    const char *name;
    int copies; /* large blocks of the device's own memory */
    const char *body;
} rows[] = {
    /* constructs with a kernel */
    {"tofrom", 0, TDPF "map(tofrom: a[:N]) map(from: b[:N])\n" FOR
     "{ a[i]++; b[i] = 2; } return a[5] + b[5];"},
    {"to_read", 0, TDPF "map(to: a[:N]) map(tofrom: b[:N])\n" FOR
     "b[i] += a[i]; return b[5];"},
    {"to_written", 1, TDPF "map(to: a[:N]) map(tofrom: b[:N])\n" FOR
     "b[i] += a[i]++; return a[5];"},
    {"scratch", 1, TDPF "map(alloc: a[:N]) map(tofrom: b[:N])\n" FOR
     "{ a[i] = b[i]; b[i] = a[i] * 2; } return a[5] + b[5];"},
    {"to_as_section", 1, "c = a + 5;"
     TDPF "map(to: a[:N])\n" FOR "if (!i) c[0] = a[1]; return a[5];"},
    {"members_to_read", 0, "pair s = {N, a, b};"
     TDPF "map(to: s.x[:N]) map(from: c[:N])\n" FOR
     "c[i] = s.x[i]; return s.x == a ? c[5] : 0;"},
    {"members_written", 1, "pair s = {N, a, b};"
     TDPF "map(to: s.x[:N]) map(tofrom: s.y[:N])\n" FOR
     "s.y[i] = s.x[i]++; return a[5] * b[5];"},
    {"members_tofrom", 0, "pair s = {N, a, b};"
     TDPF "map(tofrom: s.x[:N], s.y[:N])\n" FOR
     "s.y[i] = s.x[i]++; return s.y == b ? a[5] * b[5] : 0;"},
    {"holds_pointer", 1, "holder *h = malloc(sizeof *h); h->p = a;"
     OMP("target map(to: h[:1], h->p[:N]) map(from: b[:N])")
     "b[5] = h->p[5]; return h->p == a ? b[5] : 0;"},
    {"variables", 0, "fixed[5] = 3;" TDPF "map(to: fixed) map(from: other)\n"
     FOR "other[i] = fixed[i]; return other[5];"},

    /* data regions that no program can tell */
    {"region", 0, OMP("target data map(to: a[:N]) map(tofrom: b[:N])") "{"
     "for (int k = 0; k < 3; k++) {" TDPF "\n" FOR "b[i] += a[i]; }"
     "printf(\"# %d\\n\", N); } return b[5];"},
    {"region_from", 0, OMP("target data map(from: a[:N])") "{"
     TDPF "\n" FOR "a[i] = i; } return a[5];"},
    {"region_updates", 0, "double s = 0;"
     OMP("target data map(tofrom: a[:N])") "for (int k = 0; k < 3; k++) {"
     TDPF "\n" FOR "a[i]++;" OMP("target update from(a[:N])")
     "s += a[5]; } return s + a[5];"},
    {"region_host_writes", 0, OMP("target data map(tofrom: a[:N])") "{"
     TDPF "\n" FOR "a[i]++;" OMP("target update from(a[:N])")
     "a[5] = 7;" OMP("target update to(a[:N])")
     TDPF "\n" FOR "a[i]++; } return a[5];"},
    {"region_host_reads_input", 0, "double s;"
     OMP("target data map(to: a[:N]) map(tofrom: b[:N])") "{"
     TDPF "\n" FOR "b[i] += a[i]; s = a[7]; } return s + b[5];"},
    {"region_calls", 0, OMP("target data map(to: a[:N]) map(tofrom: b[:N])")
     "{ add(b, a); add(b, a); } return b[5];"},
    {"region_of_function", 0, "twice(a, b, N); return b[5];"},
    {"region_swaps", 0, "double *p = a, *q = b;"
     OMP("target data map(tofrom: a[:N], b[:N])") "for (int k = 0; k < 3; k++)"
     "{" TDPF "\n" FOR "p[i] = q[i] + 1; double *t = p; p = q; q = t; }"
     "return a[5] * b[5];"},
    {"region_members", 0, "pair s = {N, a, b};"
     OMP("target data map(to: s.x[:N]) map(tofrom: s.y[:N])") "{"
     "double *x = s.x, *y = s.y; for (int k = 0; k < s.n / N; k++) {"
     TDPF "\n" FOR "y[i] += x[i]; } } return b[5];"},
    {"region_of_struct", 0, "pair *s = make(a, b); run(s); return b[5];"},
    {"region_variables", 0, OMP("target data map(to: fixed) map(from: other)")
     "{" TDPF "\n" FOR "other[i] = fixed[i] + 1; } return other[5];"},
    {"region_globals", 0, "A = a, B = b; run_globals(); return b[5];"},
    {"region_reduces", 0, "double s = 0;"
     OMP("target data map(to: a[:N])") "{"
     OMP("target teams distribute parallel for reduction(+: s)") FOR
     "s += a[i]; printf(\"# %g\\n\", s); } return s;"},
    {"enter_exit", 0, OMP("target enter data map(to: a[:N], b[:N])")
     "add(b, a);" OMP("target exit data map(from: b[:N]) "
     "map(release: a[:N])") "return b[5];"},
    {"region_inside", 0, OMP("target data map(to: a[:N]) map(tofrom: b[:N])")
     "twice(a, b, N); return b[5];"},
    {"region_scratch", 0,
     OMP("target data map(alloc: c[:N]) map(tofrom: b[:N])")
     "{" TDPF "\n" FOR "c[i] = b[i];" TDPF "\n" FOR "b[i] += c[i]; }"
     "free(c); return b[5];"},
    {"region_scalars", 0, "state *s = make_state(); steps(s); return end(s);"},
    {"region_parallel", 0, "double s = 0;"
     OMP("target data map(tofrom: a[:N])") "{" TDPF "\n" FOR "a[i]++;"
     OMP("parallel for reduction(+: s)") FOR "s += i;"
     TDPF "\n" FOR "a[i]++; } return s + a[5];"},
    {"enter_in_function", 0, "state *s = make_state(); map_in(s);"
     "for (int k = 0; k < 3; k++) { step(s); s->dt /= 2; }"
     "map_out(s); return end(s);"},
    {"enter_and_update", 0, "state *s = make_state(); map_in(s); step(s);"
     OMP("target update from(s->x[:s->n])") "double v = peek(s->x);"
     "step(s); map_out(s); return v * end(s);"},

    {"region_memalign", 0, "void *p = 0; posix_memalign(&p, 64, N * sizeof *a);"
     "double *q = p; fill(q, 7);" OMP("target data map(tofrom: q[:N])")
     "{ add(q, a); add(q, a); } return q[5];"},
    {"region_recurses", 0, "double s;" OMP("target data map(tofrom: a[:N])")
     "{ add(a, b); s = chain(c, 50); add(a, b); } return s + a[5];"},
    {"region_texts", 0, OMP("target data map(tofrom: a[:N])") "{ add(a, b);"
     SAY("a") SAY("b") SAY("c") SAY("d") SAY("e") SAY("f") SAY("g") "}"
     "return a[5];"},
    {"region_sorts", 0, OMP("target data map(tofrom: a[:N])") "{ add(a, b);"
     "qsort(c, N, sizeof *c, compare); add(a, b); } return c[5] + a[5];"},
    {"region_brought", 0, "return all(a, b, N);"},
    {"region_numbers", 0, "long double s = n; char *e;"
     OMP("target data map(tofrom: a[:N])") "{ add(a, b);"
     "s += logl(s) + asinhf(n) + strtod(\"7x\", &e) + *e; add(a, b); }"
     "return (double)s + a[5];"},

    /* the walk takes objects of one allocation for each other */
    {"enter_of_two", 4, "state *s = make_state(), *t = make_state();"
     "map_in(s), map_in(t); step(s), step(t); map_out(s), map_out(t);"
     "return end(s) * end(t);"},

    /* and those that one can tell */
    {"tells_scalar_in_array", 1, "holder *h = malloc(sizeof *h);"
     "h->p = h->rest; fill(h->rest, 1); double *p = h->p;"
     OMP("target data map(tofrom: p[:N])") "{" TDPF "\n" FOR "p[i] *= 2;"
     "h->rest[5] = 1; } return h->rest[5];"},
    {"tells_read_in_caller", 1, "state *s = make_state(); map_in(s); step(s);"
     "double v = peek(s->x); map_out(s); return v * end(s);"},
    {"tells_write_in_caller", 1, "state *s = make_state(); map_in(s);"
     "s->x[5] = 70; step(s); map_out(s); return end(s);"},
    {"tells_read_of_deleted", 1, "state *s = make_state(); map_in(s); step(s);"
     "map_out(s); return s->y[5] * end(s);"},
    {"tells_mapped_again", 2, "state *s = make_state(); map_in(s); step(s);"
     "map_out(s); map_in(s); step(s); map_out(s); return end(s);"},
    {"tells_kept_alias", 1, "state *s = make_state(); keep(s->x); map_in(s);"
     "step(s); double v = peek(keep(0)); map_out(s); return v * end(s);"},
    {"tells_less_in_end", 1, "state *s = make_state(); map_in(s); step(s);"
     "s->n = 5; map_out(s); double v = s->x[9]; return v * end(s);"},
    {"tells_less_updated", 1, "state *s = make_state(); map_in(s); step(s);"
     "s->n = 5;" OMP("target update from(s->x[:s->n])") "double v = s->x[9];"
     "s->n = N; map_out(s); return v * end(s);"},
    {"tells_updated_other", 4, "state *s = make_state(), *t = make_state();"
     "map_in(s), map_in(t); step(s), step(t);"
     OMP("target update from(s->x[:s->n])") "double v = peek(t->x);"
     "map_out(s), map_out(t); return v * end(s) * end(t);"},
    {"tells_moved_field", 1, "state *s = make_state(); map_in(s); step(s);"
     "double *was = s->x; s->x = b;" OMP("target update from(s->x[:s->n])")
     "double v = was[5]; s->x = was; map_out(s); return v * end(s);"},
    {"tells_two_counts", 1, "double *p = field(1); enter_one(p, N);"
     "enter_again(p, N);" TDPF "\n" FOR "p[i]++;"
     OMP("target exit data map(from: p[:N])") "double v = p[5];"
     OMP("target exit data map(from: p[:N])") "return v * p[5];"},
    {"tells_by_pointer", 1, "state *s = make_state();"
     "double (*f)(double *) = n > 2 ? peek : 0; map_in(s); step(s);"
     "double v = f(s->x); map_out(s); return v * end(s);"},
    {"tells_parallel_read", 1, "double s = 0;"
     OMP("target data map(tofrom: a[:N])") "{" TDPF "\n" FOR "a[i]++;"
     OMP("parallel for reduction(+: s)") FOR "s += a[i]; }"
     "return s * a[5];"},
    {"tells_scratch_read", 1,
     OMP("target data map(alloc: c[:N]) map(tofrom: b[:N])")
     "{" TDPF "\n" FOR "c[i] = b[i];" TDPF "\n" FOR "b[i] += c[i]; }"
     "return c[5] * b[5];"},
    {"tells_host_read", 1, "double s;" OMP("target data map(tofrom: a[:N])")
     "{" TDPF "\n" FOR "a[i]++; s = a[5]; } return s * a[5];"},
    {"tells_read_by_alias", 1, "double s, *p = N > 1 ? a : b;"
     OMP("target data map(tofrom: a[:N])")
     "{" TDPF "\n" FOR "a[i]++; s = p[5]; } return s * a[5];"},
    {"tells_read_in_call", 1, "double s;"
     OMP("target data map(tofrom: a[:N])")
     "{" TDPF "\n" FOR "a[i]++; s = get(a, 5); } return s * a[5];"},
    {"tells_print", 1, "char t[40];" OMP("target data map(tofrom: a[:N])")
     "{" TDPF "\n" FOR "a[i]++; snprintf(t, 40, \"%g\", a[5]); }"
     "return atof(t) * a[5];"},
    {"tells_copy", 1, OMP("target data map(tofrom: a[:N])")
     "{" TDPF "\n" FOR "a[i]++; memcpy(b, a, sizeof *b * N); }"
     "return b[5] * a[5];"},
    {"tells_written", 1, OMP("target data map(to: a[:N])") "{"
     TDPF "\n" FOR "a[i]++; } return a[5];"},
    {"tells_host_write", 1, OMP("target data map(tofrom: a[:N])") "{"
     "a[5] = 50;" TDPF "\n" FOR "a[i]++; } return a[5];"},
    {"tells_late_write", 1, OMP("target data map(tofrom: a[:N])") "{"
     TDPF "\n" FOR "a[i]++; a[5] = 50; } return a[5];"},
    {"tells_update_to", 1, OMP("target data map(tofrom: a[:N])")
     "for (int k = 0; k < 3; k++) {" OMP("target update to(a[:N])")
     TDPF "\n" FOR "a[i]++; } return a[5];"},
    {"tells_part", 1, "double s; " OMP("target data map(tofrom: a[:N])") "{"
     TDPF "\n" FOR "a[i]++;" OMP("target update from(a[:5])")
     "s = a[5]; } return s * a[5];"},
    {"tells_always", 1, OMP("target data map(tofrom: a[:N])")
     "for (int k = 0; k < 3; k++) {"
     TDPF "map(always, to: a[:N])\n" FOR "a[i]++; } return a[5];"},
    {"tells_address", 1, "double *p = 0;"
     OMP("target data map(tofrom: a[:N])") OMP("target data use_device_ptr(a)")
     "p = a; return p == a;"},
    {"tells_mapped_ptr", 1, "void *p;" OMP("target data map(tofrom: a[:N])")
     "p = omp_get_mapped_ptr(a, 0); return p == a;"},
    {"tells_host_version", 1, OMP("target data map(tofrom: a[:N])") "{"
     TDPF "\n" FOR "a[i]++;" TDPF "if(target: n < 0)\n" FOR "a[i] *= 3;"
     "} return a[5];"},
    {"tells_memcpy", 1, "double s; int h = omp_get_initial_device();"
     OMP("target data map(tofrom: a[:N])") "{" TDPF "\n" FOR "a[i]++;"
     "omp_target_memcpy(&s, a, sizeof s, 5 * sizeof s, 0, h, h); s = a[5]; }"
     "return s * a[5];"},
    {"tells_unknown_call", 1, "double k = 7, *p; size_t m = N;"
     OMP("target data map(tofrom: a[:N])") "{" TDPF "\n" FOR "a[i]++;"
     "p = lfind(&k, a, &m, sizeof *a, compare); } return p - a;"},
    {"tells_sort", 1, OMP("target data map(tofrom: a[:N])") "{"
     TDPF "\n" FOR "a[i]++;"
     "qsort(a, N, sizeof *a, compare); } return a[5];"},
    {"tells_compare", 1, "A = a; double *p;"
     OMP("target data map(tofrom: a[:N])") "{" TDPF "\n" FOR "a[i] = -a[i];"
     "p = bsearch(b, c, N, sizeof *c, compare_a); } return p ? 1 : 2;"},
    {"tells_memalign", 1, "void *p = 0; posix_memalign(&p, 64, N * sizeof *a);"
     "double s, *q = p; keep(q); fill(q, 7);"
     OMP("target data map(tofrom: q[:N])")
     "{ add(q, a); s = peek(keep(0)); add(q, a); } return s * q[5];"},
    {"tells_recursion", 1, "double s;" OMP("target data map(tofrom: a[:N])")
     "{ add(a, b); s = chain(a, 50); add(a, b); } return s + a[5];"},
    {"tells_way_back", 1, "double s;" OMP("target data map(tofrom: a[:N])")
     "s = deep(a, 5); return s + a[5];"},
    {"tells_less_brought", 1, "return some(a, b, N / 2);"},
    {"tells_less_deeper", 1, "return deeper(a, N);"},
    {"tells_stale_text", 1, "char t[8]; memset(a, 'a', N);"
     OMP("target data map(to: a[:N])") "{" TDPF "\n" FOR
     "((char *)a)[i] += 2; } strncpy(t, (char *)a, 8);"
     "free(a); return t[3];"},
    {"tells_end_of_number", 1, "double s; char *e = (char *)c;"
     "strcpy((char *)a, \"12 yz\"); strtol((char *)a, &e, 10);"
     OMP("target data map(tofrom: a[:N])") "{" TDPF "\n" FOR
     "((char *)a)[i] += 2; s = e[1]; } return s * a[5];"},
    {"tells_char", 1, "char *p = (char *)a, t[8]; double s;"
     OMP("target data map(tofrom: a[:N])") "{" TDPF "\n" FOR "a[i]++;"
     "for (int i = 0; i < 8; i++) t[i] = p[40 + i]; }"
     "memcpy(&s, t, 8); return s * a[5];"},
    {"tells_global_alias", 1, "A = a; double s;"
     OMP("target data map(tofrom: a[:N])") "{" TDPF "\n" FOR "a[i]++;"
     "s = A[5]; } return s * a[5];"},
    {"tells_variable", 1, "double s; fixed[5] = 1;"
     OMP("target data map(tofrom: fixed)") "{" TDPF "\n" FOR "fixed[i]++;"
     "s = fixed[5]; } return s * fixed[5];"},
    {"tells_other_exit", 1, "double s;" OMP("target enter data map(to: a[:N])")
     TDPF "\n" FOR "a[i]++;" OMP("target exit data map(release: a[:N])")
     "return a[5];"},
    {"tells_left", 1, OMP("target enter data map(to: a[:N])")
     TDPF "\n" FOR "a[i]++; return a[5];"},
    {"tells_second_count", 1, "double s;"
     OMP("target data map(tofrom: a[:N])") "{"
     OMP("target enter data map(to: a[:N])") TDPF "\n" FOR "a[i]++; }"
     "s = a[5];" OMP("target exit data map(from: a[:N])") "return s * a[5];"},
    {"tells_task", 1, "double s;" OMP("target data map(tofrom: a[:N])") "{"
     "_Pragma(\"omp target nowait\") a[5]++;" OMP("taskwait")
     "s = a[5]; } return s * a[5];"},
    {"tells_moved_pointer", 1, "double s, *p = a;"
     OMP("target data map(tofrom: a[:N], c[:1])") "{" TDPF "\n" FOR "a[i]++;"
     "p = c;" OMP("target update from(p[:N])") "s = a[5]; }"
     "return s * a[5];"},
    {"attached", 1, "holder *h = malloc(sizeof *h); h->p = a;"
     OMP("target data map(tofrom: h[:1])") "{"
     OMP("target map(h->p[:N])") "h->p[5]++; } return h->p == a ? a[5] : 0;"},
};

static ompjit_error err;
static unsigned large;
static const ompjit__device_ops *original;

static ompjit_status count_alloc(ompjit_device *dev, size_t size, void **ptr,
                                 ompjit_error *e)
{
    large += size >= FILLED * sizeof(double);
    return original->alloc(dev, size, ptr, e);
}

static ompjit_module *compile(ompjit_host_memory memory, const char *source,
                              ompjit_context **ctx)
{
    static ompjit__device_ops counting;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_module_options how = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod = NULL;
    options.devices = "host";
    options.host_memory = memory;
    if (ompjit_context_create(&options, ctx, &err) ||
        ompjit_module_from_c(*ctx, source, &how, &mod, &err) ||
        ompjit__devices(*ctx, &err)) {
        printf("# %s\n", err.text);
        return NULL;
    }
    ompjit_device *dev = (*ctx)->devices[0];
    original = dev->ops;
    counting = *original;
    counting.alloc = count_alloc;
    dev->ops = &counting;
    return mod;
}

static void give_own(ompjit__buf *text, const char *name, const char *body)
{
    for (size_t i = 0; i < OMPJIT__COUNT(owned); i++)
        ompjit__buf_printf(text, "#undef %s\n#define %s %s_%s\n", owned[i],
                           owned[i], owned[i], name);
    if (strstr(body, "make_state()") || strstr(body, "field(") ||
        strstr(body, "keep("))
        ompjit__buf_printf(text, "%s", own);
}

static char *source(void)
{
    ompjit__buf text = {0};
    ompjit__buf_printf(&text, "%s", before);
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        give_own(&text, rows[i].name, rows[i].body);
        ompjit__buf_printf(
            &text,
            "double f_%s(int n) {\n"
            "double *a = malloc(N * sizeof *a);\n"
            "double *b = malloc(N * sizeof *b);\n"
            "double *c = malloc(N * sizeof *c);\n"
            "fill(a, 1), fill(b, 100), fill(c, 1000);\n"
            "%s\n}\n",
            rows[i].name, rows[i].body);
    }
    return text.data;
}

static double call(ompjit_module *mod, const char *name)
{
    char symbol[64];
    void (*f)(void) = NULL;
    snprintf(symbol, sizeof symbol, "f_%s", name);
    if (ompjit_module_function(mod, symbol, &f, &err)) {
        printf("# %s\n", err.text);
        return -1;
    }
    large = 0;
    return ((double (*)(int))f)(3);
}

static bool tells(const char *name)
{
    return !strncmp(name, "tells_", 6);
}

int main(void)
{
    enum { SEPARATE, SHARED, AUTO };
    static const ompjit_host_memory memory[] = {
        [SEPARATE] = OMPJIT_HOST_MEMORY_SEPARATE,
        [SHARED] = OMPJIT_HOST_MEMORY_SHARED,
        [AUTO] = OMPJIT_HOST_MEMORY_AUTO};
    double result[OMPJIT__COUNT(memory)][OMPJIT__COUNT(rows)];
    char *text = source();
    for (int k = SEPARATE; k <= AUTO; k++) {
        ompjit_context *ctx;
        ompjit_module *mod = compile(memory[k], text, &ctx);
        if (!ok(mod != NULL, "the rows compile"))
            break;
        for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
            double was = result[SEPARATE][i];
            result[k][i] = call(mod, rows[i].name);
            if (k == SHARED && tells(rows[i].name))
                ok(result[k][i] != was, "%s: shared memory shows",
                   rows[i].name);
            if (k != AUTO)
                continue;
            ok(result[k][i] == was, "%s: the same as in separate memory",
               rows[i].name);
            ok(large == (unsigned)rows[i].copies, "  with %d copies, not %u",
               rows[i].copies, large);
        }
        ompjit_module_destroy(mod);
        ompjit_context_destroy(ctx);
    }
    free(text);
    return done_testing();
}
