/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels that do what no kernel should, each in a process of its own, launched
 * and as a region of a module's function: the launch fails with the cause, or
 * the kernel gets along with it, and then another kernel of the module, malloc
 * and the ends of module and context work. The process may end by exit, a signal
 * that is sent, a host stack that is overwritten, and the function's own host
 * code.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ompjit.h"
#include "tap.h"

/* A region of 64 iterations, after `before`. */
#define LOOP(before, body)                                                     \
    before "\n"                                                                \
    "void f(int n, int *x) {\n"                                                \
    "#pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"    \
    "  for (int i = 0; i < n; i++) {\n" body "\n    x[i]++;\n  }\n}\n"
/* A region of one team of 32 threads. */
#define TEAM(before, body)                                                     \
    "int omp_get_thread_num(void);\n" before "\n"                              \
    "void f(int n, int *x) {\n"                                                \
    "#pragma omp target parallel num_threads(32) map(tofrom: x[:n])\n"         \
    "  {\n    int i = omp_get_thread_num();\n" body "\n    x[i]++;\n  }\n}\n"
/* No kernel has anything of this. */
#define HOST(before, after)                                                    \
    before "\n"                                                                \
    "void f(int n, int *x) {\n"                                                \
    "#pragma omp target map(tofrom: x[:n])\n  x[0]++;\n" after "\n}\n"

enum what {
    FAILS,    /* with `words`                                        */
    FAILS_HOST, /* the same, the function alone                      */
    RUNS,     /* whatever comes out                                  */
    COUNTS,   /* and each element was counted once                   */
    REFUSED,  /* no kernel comes of it                               */
    ENDS,     /* the process ends, with exit status 3 or a signal    */
    BEFORE    /* the module's function is not to be had, for `words` */
};

struct row {
    const char *name;
    enum what what;
    const char *words, *source;
    bool cpp;
    unsigned limit_ms, megabytes;
    ompjit_status status; /* 0: DEVICE */
};

static const struct row rows[] = {
    /* Loops that do not end. */
    {"a loop that looks at memory", FAILS, "more than 500 ms",
     .source = LOOP("", "volatile int on = 1; while (on) ;"), .limit_ms = 500,
     .status = OMPJIT_ERR_TIMEOUT},
    {"a team that spins", FAILS, "more than 500 ms",
     .source = TEAM("",
          "volatile int on = i == 3; while (on) ;"), .limit_ms = 500,
     .status = OMPJIT_ERR_TIMEOUT},
    {"a critical region in itself", FAILS, "more than 500 ms",
     .source = LOOP("",
          "\n#pragma omp critical\n{\n#pragma omp critical\n x[i] += 0; }"),
     .limit_ms = 500, .status = OMPJIT_ERR_TIMEOUT},
    {"a loop that prints", FAILS, "more than 300 ms",
     .source = LOOP("#include <stdio.h>", "for (;;) printf(\"%s\", \"\");"),
     .limit_ms = 300, .status = OMPJIT_ERR_TIMEOUT},
    /* Addresses. */
    {"null", FAILS, "unmapped memory at (nil)",
     .source = LOOP("", "*(volatile int *)0 = 1;")},
    {"an address that none can be", FAILS, "that no memory can have",
     .source = LOOP("", "*(volatile int *)0xdead00000000beef = 1;")},
    {"far behind", FAILS, "unmapped memory",
     .source = LOOP("", "volatile long far = 1L << 41; x[i + far] = 1;")},
    {"far in front", FAILS, "unmapped memory",
     .source = LOOP("", "volatile long far = -(1L << 41); x[i + far] = 1;")},
    {"protected memory", FAILS, "that is protected",
     .source = LOOP("#pragma omp begin declare target\n"
          "__attribute__((noinline)) int code(int n) { return n * 3; }\n"
          "#pragma omp end declare target",
          "int (*volatile g)(int) = code; *(volatile int *)(long)g = g(i);")},
    {"a list that ends nowhere", FAILS, "memory",
     .source = LOOP("struct node { struct node *next; };",
          "volatile long at = 0x1008; struct node *s = (struct node *)at;"
          " int k = 0; while (s) s = s->next, k++; x[i] += k;")},
    {"a large local array", FAILS, "its stack overflowed",
     .source = LOOP("", "volatile char room[64 << 20]; room[i] = 1; "
              "room[i + (60 << 20)] = 2; x[i] += room[i];")},
    {"alloca without end", FAILS, "",
     .source = LOOP("", "volatile long n3 = 3L << 30; "
              "volatile char *p = (volatile char *)__builtin_alloca(n3); "
              "p[0] = 1; x[i] += p[0];")},
    /* Stacks. */
    {"recursion", FAILS, "its stack overflowed",
     .source = LOOP("#pragma omp begin declare target\n"
          "int down(volatile int *p, int d) { volatile int room[90]; "
          "room[0] = d; return d < 0 ? 0 : down(p, d + 1) + room[0] + *p; }\n"
          "#pragma omp end declare target",
          "volatile int one = 1; x[i] += down(&one, 0);")},
    {"recursion of a team's threads", FAILS, "its stack overflowed",
     .source = TEAM("#pragma omp begin declare target\n"
          "int down(volatile int *p, int d) { volatile int room[90]; "
          "room[0] = d; return d < 0 ? 0 : down(p, d + 1) + room[0] + *p; }\n"
          "#pragma omp end declare target",
          "volatile int one = 1;\n#pragma omp barrier\n"
          "x[i] += down(&one, 0);")},
    {"recursion that ends in the C library", FAILS, "its stack overflowed",
     .source = LOOP("#include <stdio.h>\n#pragma omp begin declare target\n"
          "int down(volatile int *p, int d) { char text[700]; "
          "int n = snprintf(text, sizeof text, \"%d %f\", d, (double)*p); "
          "return d < 0 ? 0 : down(p, d + 1) + n + text[n / 2] + *p; }\n"
          "#pragma omp end declare target",
          "volatile int one = 1; x[i] += down(&one, 0);")},
    /* Calls. */
    {"a call of null", FAILS, "at (nil)",
     .source = LOOP("", "void (*volatile g)(void) = 0; g();")},
    {"a call of nothing", FAILS, "at 0x4321",
     .source = LOOP("",
          "void (*volatile g)(void) = (void (*)(void))0x4321; g();")},
    {"a call of data", FAILS, "that is protected",
     .source = LOOP("", "void (*volatile g)(void) = (void (*)(void))x; g();")},
    {"a return to nowhere", FAILS, "memory",
     .source = LOOP("#pragma omp begin declare target\n"
          "__attribute__((noinline)) void smash(volatile long *p) {\n"
          "  p = (volatile long *)__builtin_frame_address(0);\n"
          "  p[1] = 0x5432; }\n"
          "#pragma omp end declare target",
          "volatile long l = 0; smash(&l);")},
    /* Numbers and instructions. */
    {"a division by zero", FAILS, "an integer division",
     .source = LOOP("", "volatile int zero = 0; x[i] = 5 / zero;")},
    {"a quotient that is too large", FAILS, "an integer division",
     .source = LOOP("",
          "volatile int a = -1, b = -2147483647 - 1; x[i] = b / a;")},
    {"a floating-point division by zero", COUNTS, NULL,
     .source = LOOP("",
          "volatile float zero = 0; volatile float y = 5 / zero; (void)y;")},
    {"a trap", FAILS, "executed a trap",
     .source = LOOP("", "__builtin_trap();")},
    {"a debugger's trap", FAILS, "executed a trap",
     .source = LOOP("", "__builtin_debugtrap();")},
    {"an unreachable place", RUNS, NULL,
     .source = LOOP("",
          "volatile int one = 1; if (one) __builtin_unreachable();")},
#if defined __x86_64__
    {"a privileged instruction", FAILS, "no memory can have",
     .source = LOOP("", "__asm__ volatile(\"hlt\");")},
    {"a breakpoint", FAILS, "a breakpoint",
     .source = LOOP("", "__asm__ volatile(\"int3\");")},
#endif
    {"an assembler's error", REFUSED, "invalid instruction",
     .source = LOOP("", "__asm__ volatile(\"frobnicate\");")},
    /* The C library. */
    {"abort", FAILS, "it called abort",
     .source = LOOP("#include <stdlib.h>", "if (i == 3) abort();")},
    {"assert", FAILS, "assertion failed",
     .source = LOOP("#include <assert.h>", "volatile int no = 0; assert(no);")},
    {"exit", ENDS, NULL,
     .source = LOOP("#include <stdlib.h>", "if (i == 3) exit(3);")},
    {"_exit", ENDS, NULL,
     .source = LOOP("void _exit(int);", "if (i == 3) _exit(3);")},
    {"pthread_exit", FAILS, "it called pthread_exit",
     .source = LOOP("void pthread_exit(void *);",
          "if (i == 2) pthread_exit(0);")},
    {"longjmp without setjmp", FAILS, "it called longjmp",
     .source = LOOP("#include <setjmp.h>\n#pragma omp begin declare target\n"
          "jmp_buf place;\n#pragma omp end declare target",
          "if (i == 2) longjmp(place, 1);")},
    {"longjmp to what has returned", FAILS, "it called longjmp",
     .source = LOOP("#include <setjmp.h>\n#pragma omp begin declare target\n"
          "__attribute__((noinline)) int set(jmp_buf *b) {\n"
          "  return setjmp(*b); }\n"
          "#pragma omp end declare target",
          "jmp_buf b; volatile int deep[500]; deep[i] = 0;\n"
          "if (!set(&b)) longjmp(b, 1); x[i] += deep[i];")},
    {"setjmp and longjmp", COUNTS, NULL,
     .source = LOOP("#include <setjmp.h>",
          "jmp_buf b; volatile int times = 0;\n"
          "int r = setjmp(b); times++; if (r < 3) longjmp(b, r + 1);\n"
          "if (times != 4) __builtin_trap();")},
    {"setjmp in threads that wait", COUNTS, NULL,
     .source = TEAM("#include <setjmp.h>",
          "jmp_buf b; volatile int times = 0;\n"
          "int r = setjmp(b); times++;\n#pragma omp barrier\n"
          "if (r < 3) longjmp(b, r + 1); if (times != 4) __builtin_trap();\n"
          "if (i == 0) for (int k = 32; k < n; k++) x[k]++;")},
    {"memcpy", FAILS, "unmapped memory",
     .source = LOOP("#include <string.h>",
          "volatile long far = 1L << 41; "
          "memcpy((char *)x, (char *)x + far, 100 + far % 7);")},
    {"strlen", FAILS, "at (nil)",
     .source = LOOP("#include <string.h>",
          "const char *volatile p = 0; x[i] += (int)strlen(p);")},
    {"modf", FAILS, "memory at 0x8",
     .source = LOOP("#include <math.h>",
          "volatile double q = 1.5; double *volatile p = (double *)8; "
          "x[i] += (int)modf(q, p);")},
    {"qsort", FAILS, "memory",
     .source = LOOP("#include <stdlib.h>",
          "qsort((void *)8, 100, 4, (int (*)(const void *, const void *))8);")},
    {"strtol", FAILS, "memory at 0x10",
     .source = LOOP("#include <stdlib.h>",
          "const char *volatile p = (const char *)16; "
          "x[i] += (int)strtol(p, 0, 10);")},
    {"snprintf", FAILS, "memory",
     .source = LOOP("#include <stdio.h>",
          "char to[50]; const char *volatile p = (const char *)16; "
          "snprintf(to, sizeof to, \"%s\", p); x[i] += to[0];")},
    {"printf of a string that is none", FAILS, "memory at 0x10",
     .source = LOOP("#include <stdio.h>",
          "const char *volatile p = (const char *)16; printf(\"%s\", p);")},
    {"printf with what is no conversion", RUNS, NULL,
     .source = LOOP("#include <stdio.h>",
          "if (i == 1) printf(\"%n %5$d %.*f %c %q\\n\", (int *)16, 3, 9, 1.0, "
          "7);")},
    {"printf with a width that is too large", COUNTS, NULL,
     .source = LOOP("#include <stdio.h>",
          "if (printf(\"%d%.2000000000f\\n\", i, 1.5) != -1 ||\n"
          "    printf(\"%2000000000d\\n\", i) != -1 ||\n"
          "    printf(\"%*d\\n\", -2000000000, i) != -1 ||\n"
          "    printf(\"%99999999999999999999d\\n\", i) != -1 ||\n"
          "    printf(\"%.1048576d\", 0) != 1048576) __builtin_trap();")},
    {"much that is printed", COUNTS, NULL,
     .source = LOOP("#include <stdio.h>",
          "for (int k = 0; k < 2000; k++) "
          "printf(\"%d %d of what nobody reads\\n\", i, k);")},
    /* The heap. */
    {"free of what is no memory", FAILS, "memory at",
     .source = LOOP("#include <stdlib.h>",
          "volatile long at = i + 100; free((void *)at);")},
    {"free of the stack", FAILS, "invalid",
     .source = LOOP("#include <stdlib.h>",
          "volatile long room[8] = {0, 1}; void *volatile p = (void *)&room[2];"
          " if (i == 3) free(p); x[i] += (int)room[2];")},
    {"free of a block's middle", FAILS, "(bad.c:5)",
     .source = LOOP("#include <stdlib.h>",
          "char *volatile p = (char *)malloc(100); p[30] = 1; "
          "if (i == 3) free(p + 8);")},
    {"two frees of a small block", FAILS, "double free",
     .source = LOOP("#include <stdlib.h>",
          "char *volatile p = (char *)malloc(10), *volatile q = p; p[0] = 1; "
          "free(p); if (i == 3) free(q);")},
    {"realloc of what is no memory", FAILS, "memory at",
     .source = LOOP("#include <stdlib.h>",
          "volatile long at = 0x2008; char *volatile p = "
          "(char *)realloc((void *)at, 100); p[0] = 1;")},
    {"malloc that finds no room", COUNTS, NULL,
     .source = LOOP("#include <stdlib.h>",
          "volatile long much = 1L << 45; char *volatile p = "
          "(char *)malloc(much); if (p) __builtin_trap();")},
    {"malloc until there is none", COUNTS, NULL,
     .source = LOOP("#include <stdlib.h>",
          "volatile long much = 16 << 20; if (i == 0) "
          "for (char *volatile p; (p = (char *)malloc(much)); ) p[0] = 1;"),
     .megabytes = 1500},
    {"new that finds no room", FAILS, "out of device memory",
     .source = LOOP("", "volatile unsigned long much = 1UL << 45; "
              "char *volatile p = new char[much]; p[0] = 1;"),
     .cpp = true},
    /* C++. */
    {"an exception", FAILS, "trap",
     .source = LOOP("", "if (i == 3) throw 5;"),
     .cpp = true},
    {"an exception of the C++ library", FAILS, "called abort",
     .source = LOOP("extern \"C++\" { namespace std { void "
          "__throw_length_error(const char *) __attribute__((noreturn)); } }",
          "if (i == 3) std::__throw_length_error(\"of a kernel\");"),
     .cpp = true},
    {"an exception of the host, caught", RUNS, NULL,
     .source = HOST("",
          "try { throw 5; } catch (int) { x[1] = 7; }"), .cpp = true},
    /* Processes and signals. */
    {"fork", RUNS, NULL,
     .source = LOOP("int fork(void); void _exit(int);",
          "if (i == 3 && !fork()) _exit(0);")},
    {"a signal that is sent", ENDS, NULL,
     .source = LOOP("int raise(int);", "if (i == 2) raise(11);")},
    {"the host's code faults behind the region", FAILS_HOST, "at (nil)",
     .source = HOST("", "*(volatile int *)0 = 1;")},
    {"the host divides by a loop's step of zero", FAILS_HOST, "by zero",
     .source =
     "void f(int n, int *x) {\n  volatile int zero = 0; int step = zero;\n"
     "#pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"
     "  for (int i = 0; i < n; i += step) x[i]++;\n}\n"},
    {"the host throws what nobody catches", FAILS_HOST, "abort",
     .source = HOST("", "throw 5;"), .cpp = true},
    {"a host stack that is overwritten", ENDS, NULL,
     .source = LOOP("", "volatile char room[8]; volatile int much = 9000; "
              "for (int j = 0; j < much; j++) room[j] = 0x41; "
              "x[i] += room[0];")},
    /* OpenMP. */
    {"a barrier that not all come to", RUNS, NULL,
     .source = TEAM("", "if (i < 7) {\n#pragma omp barrier\n;}")},
    {"a fault in a critical region", FAILS, "at (nil)",
     .source = LOOP("",
          "\n#pragma omp critical\n{ volatile int *p = 0; *p = 1; }")},
    {"a fault while locks are held", FAILS, "at 0x8",
     .source = LOOP("#include <omp.h>\n#pragma omp begin declare target\n"
          "omp_lock_t lock;\n#pragma omp end declare target",
          "omp_set_lock(&lock); volatile int *p = (int *)8; *p = i; "
          "omp_unset_lock(&lock);")},
    {"negative clauses", RUNS, NULL,
     .source =
     "void f(int n, int *x) {\n  volatile int m = -5;\n"
     "#pragma omp target teams distribute parallel for num_teams(m) \\\n"
     "    thread_limit(m) schedule(dynamic, 3) map(tofrom: x[:n])\n"
     "  for (int i = 0; i < n; i++) x[i]++;\n}\n"},
    {"a team that is too large", RUNS, NULL,
     .source =
     "void f(int n, int *x) {\n  volatile int m = 100000;\n"
     "#pragma omp target teams distribute parallel for num_teams(1) \\\n"
     "    thread_limit(m) map(tofrom: x[:n])\n"
     "  for (int i = 0; i < n; i++) x[i]++;\n}\n"},
    {"a chunk that is negative", RUNS, NULL,
     .source =
     "void f(int n, int *x) {\n  volatile int m = -3;\n"
     "#pragma omp target teams distribute parallel for \\\n"
     "    schedule(dynamic, m) map(tofrom: x[:n])\n"
     "  for (int i = 0; i < n; i++) x[i]++;\n}\n"},
    {"shared memory without end", RUNS, NULL,
     .source =
     "void f(int n, int *x) {\n#pragma omp target teams map(tofrom: x[:n])\n"
     "  { int s[1 << 24];\n#pragma omp parallel\n  s[n] = 1;\n"
     "  x[0] = s[n]; }\n}\n"},
    {"a section of negative length", RUNS, NULL,
     .source =
     "void f(int n, int *x) {\n#pragma omp target map(tofrom: x[-5:n - 1000])\n"
     "  x[0] = 1;\n}\n"},
    {"a section without end", RUNS, NULL,
     .source =
     "void f(int n, int *x) {\n#pragma omp target map(tofrom: x[:1L << 60])\n"
     "  x[0] = 1;\n}\n"},
    /* Programs that never get as far as a kernel. */
    {"an undefined function", BEFORE, "undefined symbols",
     .source = LOOP("void nowhere(int);", "nowhere(i);")},
    {"an undefined function of the host", BEFORE, "undefined symbols",
     .source = HOST("void nowhere(int);", "nowhere(1);")},
    {"an array of unknown length", REFUSED, "variable length",
     .source = LOOP("", "volatile int m = -1000; char b[m]; b[0] = 1;")},
    {"a constructor that faults", BEFORE, "a constructor has failed",
     .source = HOST("__attribute__((constructor)) static void c(void) "
          "{ *(volatile int *)0 = 0; }", "")},
    {"a static object whose constructor faults", BEFORE,
     "a constructor has failed",
     .source = HOST("struct S { S() { *(volatile int *)0 = 0; } }; S s;", ""),
     .cpp = true},
    {"a static object whose constructor throws", BEFORE,
     "a constructor has failed",
     .source = HOST("struct S { S() { throw 1; } }; S s;", ""),
     .cpp = true},
    {"a device's static object whose constructor faults", BEFORE,
     "a constructor has failed",
     .source = HOST("#pragma omp begin declare target\n"
          "struct S { int v; S() { *(volatile int *)0 = 0; v = 3; } }; S s;\n"
          "#pragma omp end declare target", "x[1] = s.v;"),
     .cpp = true},
    {"static objects whose destructors fault", RUNS, NULL,
     .source = HOST("struct S { ~S() { *(volatile int *)0 = 0; } }; S s, t;",
          ""),
     .cpp = true},
    {"a constructor that exits", ENDS, NULL,
     .source = HOST("#include <stdlib.h>\n"
          "__attribute__((constructor)) static void c(void) { _Exit(3); }",
          "")},
};

/* After f: works where the module and the process are whole. */
static const char good[] =
    "void good(int n, int *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"
    "  for (int i = 0; i < n; i++) {\n"
    "#pragma omp critical\n"
    "    x[i]++;\n"
    "  }\n"
    "}\n";

enum { N = 64 };
static int x[N];

static void fill(int value)
{
    for (int i = 0; i < N; i++)
        x[i] = value;
}

static bool all_are(int value)
{
    for (int i = 0; i < N; i++)
        if (x[i] != value)
            return false;
    return true;
}

static ompjit_status launch(ompjit_context *ctx, ompjit_module *mod,
                            const char *name, ompjit_error *err)
{
    ompjit_device *dev;
    ompjit_kernel *k;
    ompjit_arg args[8];
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_status status = ompjit_context_device(ctx, 0, &dev, err);
    if (!status)
        status = ompjit_module_kernel(mod, name, &k, err);
    if (status)
        return status;
    ompjit_kernel_info_get(k, &info, NULL);
    for (unsigned i = 0; i < info.nparams && i < 8; i++) {
        ompjit_param_info p = OMPJIT_PARAM_INFO_INIT;
        ompjit_kernel_param(k, i, &p, err);
        args[i] = p.is_pointer
                      ? (ompjit_arg){.type = OMPJIT_ARG_POINTER, .value.p = x}
                      : (ompjit_arg){.type = p.bytes == 8 ? OMPJIT_ARG_I64
                                                         : OMPJIT_ARG_I32,
                                     .value.i64 = N};
    }
    return ompjit_kernel_launch(k, dev, NULL, args, info.nparams, err);
}

/* The result of a test in a child: 0 is all well, else one of these is not. */
enum { WELL, NO_CONTEXT = 10, NO_MODULE, NO_FUNCTION, WRONG_LAUNCH,
       WRONG_FUNCTION, WRONG_COUNT, SPOILT };

static ompjit_error err;

static bool as_said(const struct row *row, ompjit_status status,
                    bool of_function)
{
    ompjit_status wanted = row->status ? row->status : OMPJIT_ERR_DEVICE;
    if (row->what == FAILS || (row->what == FAILS_HOST && of_function))
        return status == wanted && strstr(err.text, row->words);
    return row->what == RUNS || !status;
}

/* The heap and the module still work. */
static bool is_whole(ompjit_context *ctx, ompjit_module *mod,
                     void (*f)(int, int *))
{
    char *volatile p = malloc(3000), *volatile q = malloc(30);
    free(p);
    free(q);
    fill(0);
    if (launch(ctx, mod, "good", &err) || !all_are(1))
        return false;
    f(N, x);
    return !ompjit_context_failure(ctx, &err) && all_are(2);
}

static int try_both(const struct row *row, ompjit_context *ctx,
                    ompjit_module *mod)
{
    void (*f)(int, int *), (*also)(int, int *);
    if (ompjit_module_function(mod, "f", (void (**)(void))&f, &err))
        return row->what == BEFORE && strstr(err.text, row->words)
                   ? WELL
                   : NO_FUNCTION;
    ompjit_status status =
        ompjit_module_function(mod, "good", (void (**)(void))&also, &err);
    fill(0);
    if (!status)
        status = launch(ctx, mod, "f", &err);
    if (row->what == BEFORE)
        return status && strstr(err.text, row->words) ? WELL : WRONG_LAUNCH;
    if (!as_said(row, status, false))
        return WRONG_LAUNCH;
    if (row->what == COUNTS && !all_are(1))
        return WRONG_COUNT;
    if (!is_whole(ctx, mod, also))
        return SPOILT;
    fill(0);
    f(N, x);
    status = ompjit_context_failure(ctx, &err);
    if (!as_said(row, status, true))
        return WRONG_FUNCTION;
    if (row->what == COUNTS && !all_are(1))
        return WRONG_COUNT;
    return is_whole(ctx, mod, also) ? WELL : SPOILT;
}

static int attempt(const struct row *row)
{
    char source[8192];
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_module_options mo = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    options.devices = "host";
    options.time_limit_ms = row->limit_ms;
    mo.name = row->cpp ? "bad.cpp" : "bad.c";
    snprintf(source, sizeof source, "%s%s%s%s",
             row->cpp ? "extern \"C\" {\n" : "", row->source, good,
             row->cpp ? "}\n" : "");
    if (ompjit_context_create(&options, &ctx, &err))
        return NO_CONTEXT;
    ompjit_status status = ompjit_module_from_c(ctx, source, &mo, &mod, &err);
    if (status && row->what == REFUSED && strstr(err.text, row->words))
        return WELL;
    if (status)
        return NO_MODULE;
    if (row->megabytes) {
        struct rlimit limit = {row->megabytes * 1048576ul, RLIM_INFINITY};
        setrlimit(RLIMIT_AS, &limit);
    }
    int result;
    if (row->what == REFUSED)
        result = launch(ctx, mod, "f", &err) && strstr(err.text, row->words)
                     ? WELL
                     : WRONG_LAUNCH;
    else
        result = try_both(row, ctx, mod);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return result;
}

/* The child's status; the error's text goes to `text`. */
static int child(const struct row *row, char *text, size_t size)
{
    int ends[2], status;
    fflush(stdout);
    if (pipe(ends))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        if (!freopen("/dev/null", "w", stdout) ||
            !freopen("/dev/null", "w", stderr))
            _exit(1);
        alarm(120);
        int result = attempt(row);
        dprintf(ends[1], "%s", err.text);
        _exit(result);
    }
    close(ends[1]);
    ssize_t n, have = 0;
    while (have < (ssize_t)size - 1 &&
           (n = read(ends[0], text + have, size - 1 - (size_t)have)) > 0)
        have += n;
    text[have] = 0;
    close(ends[0]);
    waitpid(pid, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    setenv("OMP_NUM_THREADS", "2", 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        char text[OMPJIT_ERROR_TEXT];
        if (argc > 1 && !strstr(row->name, argv[1]))
            continue;
        int status = child(row, text, sizeof text);
        bool well = WIFEXITED(status) && WEXITSTATUS(status) == WELL;
        if (row->what == ENDS)
            well = WIFSIGNALED(status) ? WTERMSIG(status) != SIGALRM
                                       : WEXITSTATUS(status) == 3;
        ok(well, "%s%s%s", row->name, *text ? ": " : "", text);
        if (!well && WIFSIGNALED(status))
            fprintf(stderr, "# signal %d\n", WTERMSIG(status));
        else if (!well)
            fprintf(stderr, "# %d: %s\n", WEXITSTATUS(status), text);
    }
    return done_testing();
}
