/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Prints a random program about variables that a target region's main thread
 * and its parallel regions share: random_sharing SEED. Scalars, arrays and
 * structures get to regions by their names, through pointers in structures,
 * selects, loops, calls and recursion, and are changed on both sides. The same
 * statements stand in the program once more, serial, as a reference.
 *
 * random_sharing SEED KERNELS: so many target regions, of fewer statements each,
 * which call the same functions and are compiled together. Some keep their
 * kernel generic by a printf that never prints, and others may call a function
 * of which the compiler cannot know that it is the one that runs.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SCALARS = 5, ARRAYS = 3 };

static uint64_t state;
static int serial, loops;

static unsigned pick(unsigned n)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(state >> 33) % n;
}

static void line(int depth, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    printf("%*s", 4 * depth, "");
    vprintf(format, ap);
    putchar('\n');
    va_end(ap);
}

/* Each thread touches its own elements; one writes a scalar, or all by turns. */
static void region(int depth)
{
    unsigned kind = pick(6), s = pick(SCALARS), o = pick(SCALARS);
    unsigned a = pick(ARRAYS), b = pick(ARRAYS), one = pick(8);
    if (serial) {
        line(depth, "for (int t = 0; t < T; t++) {");
    } else {
        line(0, "#pragma omp parallel num_threads(T)");
        line(depth, "{");
        line(depth + 1, "int t = omp_get_thread_num();");
    }
    switch (kind) {
    case 0:
        line(depth + 1, "a%u[t] += s%u * t + s%u;", a, s, o);
        break;
    case 1:
        line(depth + 1, "if (t == %u) s%u = a%u[t] + 3;", one, s, a);
        break;
    case 2:
        if (!serial)
            line(0, "#pragma omp atomic");
        line(depth + 1, "s%u += a%u[t] & 7;", s, a);
        break;
    case 3:
        line(depth + 1, "a%u[t] += *q.p + q.a[t];", a);
        break;
    case 4:
        line(depth + 1, "a%u[t] = a%u[t] ^ (t + %u);", a, b, one);
        line(depth + 1, "if (t == %u) *q.next->p += a%u[t];", one, a);
        break;
    default:
        line(depth + 1, "int own[2] = {t, s%u};", s);
        line(depth + 1, "a%u[t] += own[t & 1] + at(a%u, t);", a, b);
    }
    line(depth, "}");
}

static void statements(int depth, unsigned n, int inside);

static void statement(int depth, int inside)
{
    unsigned s = pick(SCALARS), o = pick(SCALARS), p = pick(SCALARS);
    unsigned a = pick(ARRAYS), b = pick(ARRAYS);
    const char *mode = serial ? "serial" : "device";
    int number;
    switch (pick(depth > 4 ? 7 : 11)) {
    case 0:
        line(depth, "s%u = s%u * 3 + %u;", s, o, pick(9));
        return;
    case 1:
        line(depth, "for (int k = 0; k < T; k++) a%u[k] = a%u[k] + s%u + k;",
             a, b, s);
        return;
    case 2:
        line(depth, "*(s%u & 1 ? &s%u : &s%u) += %u;", s, o, p, pick(9));
        return;
    case 3:
        line(depth, "change_%s(&s%u, a%u);", mode, s, a);
        return;
    case 4:
        line(depth, "s%u += recursive_%s(%u, &s%u);", s, mode, 1 + pick(3), o);
        return;
    case 5:
        line(depth, "q.p = s%u & 2 ? &s%u : &s%u; q.a = a%u; q.next = &r; "
                    "r.p = &s%u;", s, o, p, a, o);
        return;
    case 6:
        region(depth);
        return;
    case 7:
        line(depth, "for (int k = 0; k < T; k++) {");
        line(depth + 1, "for (int l = 0; l < 3; l++) a%u[k] += l * s%u;", a, s);
        line(depth + 1, "s%u += a%u[k] & 3;", o, b);
        line(depth, "}");
        return;
    case 8:
        line(depth, "if (s%u %% 3 != %u) {", s, pick(3));
        statements(depth + 1, 1 + pick(2), inside);
        line(depth, "} else {");
        statements(depth + 1, 1 + pick(2), inside);
        line(depth, "}");
        return;
    case 9:
        region(depth);
        return;
    default:
        if (inside) {
            region(depth);
            return;
        }
        number = loops++;
        line(depth, "for (int r%d = 0; r%d < 2; r%d++) {", number, number,
             number);
        statements(depth + 1, 1 + pick(3), 1);
        line(depth, "}");
    }
}

static void statements(int depth, unsigned n, int inside)
{
    while (n--)
        statement(depth, inside);
}

/* The functions that bodies call; the same numbers are drawn for both forms. */
static void helpers(unsigned kernels)
{
    const char *mode = serial ? "serial" : "device";
    bool weak = !pick(2) && kernels > 1;
    line(0, "%s__attribute__((noinline)) void change_%s(int *s, int *a)",
         weak ? "__attribute__((weak)) " : "static ", mode);
    line(0, "{\n    *s += a[%u];", pick(8));
    if (serial)
        line(1, "for (int t = 0; t < T; t++) a[t] += *s;");
    else
        line(0, "#pragma omp parallel num_threads(T)\n"
                "    a[omp_get_thread_num()] += *s;");
    line(0, "}");
    line(0, "static int recursive_%s(int n, int *up)\n{\n    int own = n + *up, "
            "sum = 0, v[T];", mode);
    line(1, "for (int k = 0; k < T; k++) v[k] = own + k;");
    if (serial)
        line(1, "for (int t = 0; t < T; t++) v[t] += own * t;");
    else
        line(0, "#pragma omp parallel num_threads(T)\n"
                "    v[omp_get_thread_num()] += own * omp_get_thread_num();");
    line(1, "if (n) sum = recursive_%s(n - 1, &own);", mode);
    line(1, "return (sum + v[3] + v[T - 1] + own) & 1023;\n}");
}

static void body(unsigned kernel, unsigned kernels)
{
    line(0, "static void body%u_%s(int start, int *out)\n{", kernel,
         serial ? "serial" : "device");
    for (int i = 0; i < SCALARS; i++)
        line(1, "int s%d = start + %d;", i, i);
    for (int i = 0; i < ARRAYS; i++)
        line(1, "int a%d[T];", i);
    line(1, "struct box q = {&s0, a0, &q}, r = {&s1, a1, &q};");
    for (int i = 0; i < ARRAYS; i++)
        line(1, "for (int k = 0; k < T; k++) a%d[k] = k * %d + start;", i,
             i + 1);
    line(1, "q.next = &r;");
    if (kernels == 1)
        statements(1, 6 + pick(6), 0);
    else
        statements(1, 2 + pick(4), 0);
    if (kernels > 1 && !pick(3))
        line(1, "if (start == 77) printf(\"%%d\\n\", s0);");
    for (int i = 0; i < SCALARS; i++)
        line(1, "out[%d] = s%d;", i, i);
    for (int i = 0; i < ARRAYS; i++)
        line(1, "for (int k = 0; k < T; k++) out[%d + k] = a%d[k];",
             SCALARS + 8 * i, i);
    line(0, "}");
}

static void functions(uint64_t seed, unsigned kernels, int is_serial)
{
    state = seed * 2654435761u + 1;
    serial = is_serial;
    loops = 0;
    helpers(kernels);
    for (unsigned k = 0; k < kernels; k++)
        body(k, kernels);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    unsigned kernels = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    puts("#include <omp.h>\n#include <stdio.h>\n"
         "enum { T = 8, TEAMS = 2, N = 5 + 3 * T };\n"
         "struct box { int *p, *a; struct box *next; };\n"
         "#pragma omp begin declare target\n"
         "static int at(const int *a, int i) { return a[i]; }");
    functions(seed, kernels, 0);
    puts("#pragma omp end declare target");
    functions(seed, kernels, 1);
    puts("int main(void)\n{\n    static int got[TEAMS][N], want[N];\n"
         "    int start = 3, wrong = 0;");
    for (unsigned k = 0; k < kernels; k++)
        printf("#pragma omp target teams num_teams(TEAMS) thread_limit(T) "
               "map(from: got)\n"
               "    body%u_device(start, got[omp_get_team_num()]);\n"
               "    body%u_serial(start, want);\n"
               "    for (int i = 0; i < TEAMS; i++)\n"
               "        for (int k = 0; k < N; k++)\n"
               "            wrong += got[i][k] != want[k];\n", k, k);
    puts("    printf(\"%d wrong\\n\", wrong);\n    return 0;\n}");
    return 0;
}
