/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C and C++ through clang's processes: what comes out, what is said of
 * mistakes, and what becomes of clangs that hang, crash, or are not there.
 * Fake clangs are shell scripts. Counts descriptors and children throughout.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frontend/clang/clang.h"
#include "front.h"

static ompjit_error err;
static char folder[] = "/tmp/ompjit-front-XXXXXX";

static const char saxpy[] =
    "void saxpy(int n, float a, float *x, float *y) {\n"
    "#pragma omp target teams distribute parallel for \\\n"
    "    map(to : x[0:n]) map(tofrom : y[0:n])\n"
    "  for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];\n"
    "}\n";

/* ---------------------------------------------------------------- helpers */

static int count_fds(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n - 1; /* the folder itself */
}

/* The processes that have us for a parent and are no zombies; stores as many
 * as fit. */
static int children(pid_t *pids, int max)
{
    int n = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e; (e = readdir(dir));) {
        char path[300], line[512];
        int pid, parent;
        char state;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(line, sizeof line, f) && strrchr(line, ')') &&
            sscanf(line, "%d", &pid) == 1 &&
            sscanf(strrchr(line, ')') + 1, " %c %d", &state, &parent) == 2 &&
            parent == getpid() && state != 'Z') {
            if (n < max)
                pids[n] = pid;
            n++;
        }
        if (f)
            fclose(f);
    }
    closedir(dir);
    return n;
}

static bool childless(void)
{
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

static void nap(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static const char *file(const char *name)
{
    static char path[4][300];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void write_file(const char *name, const char *text, int mode)
{
    int fd = open(file(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        printf("Bail out! cannot write %s\n", file(name));
        exit(1);
    }
    close(fd);
}

/* A clang that answers what it is asked for, and compiles by `body`. The
 * path is good until the next few calls of file(). */
static const char *fake_clang(const char *name, const char *version,
                              const char *body)
{
    char script[2048];
    snprintf(script, sizeof script,
             "#!/bin/sh\ncase $1 in\n-print-resource-dir) echo %s;;\n"
             "--version) echo 'clang version %s';;\n*) %s;;\nesac\n",
             folder, version, body);
    write_file(name, script, 0755);
    return file(name);
}

static ompjit_status compile(ompjit_context *ctx, const char *source,
                             const char *name, ompjit__unit *unit)
{
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    options.name = name;
    err.text[0] = 0;
    return ompjit__frontend_c(ctx, source, &options, unit, &err);
}

static int count_words(const char *text, const char *words)
{
    int n = 0;
    for (; (text = strstr(text, words)); text += strlen(words))
        n++;
    return n;
}

/* --------------------------------------------------------------- snippets */

static void test_c(ompjit_context *ctx)
{
    ompjit__unit unit;
    if (!ok(!ompjit__frontend_c(ctx, saxpy, NULL, &unit, &err), "a snippet")) {
        printf("# %s\n", err.text);
        return;
    }
    const ompjit__kernel_desc *k = kernel_named(&unit, "saxpy");
    ok(k && unit.nkernels == 1, "its kernel has the function's name");
    ok(k && k->line == 2, "and the line, not moved by us");
    ok(k && k->mode == OMPJIT_MODE_SPMD && k->launch_env, "SPMD");
    static const struct {
        const char *name;
        uint8_t kind;
        uint32_t size;
        uint64_t map_type;
    } want[] = {{"n", OMPJIT__PARAM_INTEGER, 4, 800},
                {"y", OMPJIT__PARAM_POINTER, 0, 35},
                {"a", OMPJIT__PARAM_FLOAT, 4, 800},
                {"x", OMPJIT__PARAM_POINTER, 0, 33}};
    ok(k && k->nparams == 4, "four parameters");
    for (unsigned i = 0; k && i < k->nparams && i < 4; i++) {
        const ompjit__param *p = &k->params[i];
        ok_string(p->name, want[i].name, "parameter %u", i);
        ok(p->kind == want[i].kind && p->bytes == 8 &&
               p->size == want[i].size && p->map_type == want[i].map_type,
           "kind, size %u and map type %u of %s", p->size,
           (unsigned)p->map_type, p->name);
    }
    ok_string(unit.name, "snippet.c", "the unit's name by default");
    ok(unit.opt_level == 3, "-O3 by default");
    ok(unit.device_bc.size && unit.host_bc.size, "both halves");
    ompjit__unit_free(&unit);
}

static const char cxx[] =
    "#include <cmath>\n"
    "#include <algorithm>\n"
    "namespace physics {\n"
    "template <class T> void advance(T *x, int n) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom : x[0:n])\n"
    "  for (int i = 0; i < n; i++)\n"
    "    x[i] = std::sqrt(std::max(std::sin(x[i]), T(1)));\n"
    "}\n"
    "struct Body {\n"
    "  double *v;\n"
    "  void kick(double by) {\n"
    "#pragma omp target map(tofrom : v[0:1])\n"
    "    { v[0] += by; }\n"
    "  }\n"
    "};\n"
    "}\n"
    "void run(double *d, float *f) {\n"
    "  physics::advance(d, 10);\n"
    "  physics::advance(f, 10);\n"
    "  physics::Body{d}.kick(2);\n"
    "}\n";

static void test_cxx(ompjit_context *ctx)
{
    ompjit__unit unit;
    if (!ok(!compile(ctx, cxx, "physics.cpp", &unit), "C++ with templates")) {
        printf("# %s\n", err.text);
        return;
    }
    const ompjit__kernel_desc *k = kernel_named(&unit, "kick");
    ok(unit.nkernels == 3 && kernel_named(&unit, "advance"),
       "a kernel for each instance, by its plain name");
    ok(k && k->line == 12 && k->mode == OMPJIT_MODE_GENERIC,
       "a member function's kernel");
    ompjit__unit_free(&unit);
}

/* Math must come out as intrinsics or names of libm, without CUDA's headers. */
static void test_math(ompjit_context *ctx)
{
    static const char source[] =
        "#include <math.h>\n#include <stdio.h>\n#include <string.h>\n"
        "#include <omp.h>\n"
        "void f(double *x, float *y) {\n"
        "#pragma omp target map(tofrom : x[0:9], y[0:9])\n"
        "  { x[0] = sin(x[0]) + sqrt(x[1]) + exp(x[2]) + pow(x[3], x[4])\n"
        "         + cbrt(x[1]) + fmod(x[1], x[2]) + isnan(x[5]) + erf(x[6]);\n"
        "    y[0] = expf(y[0]) + sqrtf(y[1]); memset(y + 2, 0, 8);\n"
        "    printf(\"%d %g\\n\", omp_get_team_num(), x[0]); }\n"
        "}\n";
    static const char *const calls[] = {"llvm.sin.f64", "llvm.sqrt.f64",
                                        "llvm.pow.f64", "llvm.exp.f32",
                                        "cbrt",         "erf",
                                        "vprintf",      "omp_get_team_num"};
    ompjit__unit unit;
    if (!ok(!compile(ctx, source, "math.c", &unit), "math in a region")) {
        printf("# %s\n", err.text);
        return;
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        ok(memmem(unit.device_bc.data, unit.device_bc.size, calls[i],
                  strlen(calls[i])),
           "%s is called", calls[i]);
    ok(!memmem(unit.device_bc.data, unit.device_bc.size, "__nv_", 5),
       "nothing of CUDA's");
    ompjit__unit_free(&unit);
}

static const ompjit__global_desc *global_named(const ompjit__unit *unit,
                                               const char *symbol)
{
    for (unsigned i = 0; i < unit->nglobals; i++)
        if (!strcmp(unit->globals[i].symbol, symbol))
            return &unit->globals[i];
    return NULL;
}

/* glibc 2.41 declares such a type in <stdio.h>, as does no glibc before. */
static void test_host_types(ompjit_context *ctx)
{
    static const char *const names[] = {"types.c", "types.cc"};
    for (int i = 0; i < 2; i++) {
        ompjit__unit unit = {0};
        ok(!compile(ctx,
                    "typedef _Complex float c128 "
                    "__attribute__((__mode__(__TC__)));\n"
                    "c128 host_only(c128);\n"
                    "#ifdef __CUDA_ARCH__\n"
                    "#error this IR runs on the CPU too\n"
                    "#endif\n"
                    "void f(int *x) {\n"
                    "#pragma omp target map(x[0:1])\n"
                    "  x[0] = 1;\n"
                    "}\n",
                    names[i], &unit),
           "%s: a type that the device lacks is declared: %s", names[i],
           err.text);
        ompjit__unit_free(&unit);
    }
}

static void test_globals(ompjit_context *ctx)
{
    static const char source[] =
        "#pragma omp begin declare target\n"
        "int counter; double weights[4];\n"
        "#pragma omp end declare target\n"
        "float big[1000];\n"
        "#pragma omp declare target link(big)\n"
        "void f(void) {\n"
        "#pragma omp target\n"
        "  counter += weights[1] + big[2];\n"
        "}\n";
    ompjit__unit unit;
    if (ok(!compile(ctx, source, "globals.c", &unit), "declare target")) {
        const ompjit__global_desc *g = global_named(&unit, "counter");
        ok(g && g->size == 4 && !g->flags, "a variable");
        g = global_named(&unit, "weights");
        ok(g && g->size == 32 && !g->flags, "an array");
        g = global_named(&unit, "big_decl_tgt_ref_ptr");
        ok(g && g->size == 8 && g->flags == 1, "the pointer to a linked one");
        ok(unit.nglobals == 3, "kernels are no variables");
        ompjit__unit_free(&unit);
    }
    if (ok(!compile(ctx,
                    "#pragma omp requires unified_shared_memory\n"
                    "void f(int *x) {\n"
                    "#pragma omp target\n"
                    "  x[0]++;\n"
                    "}\n",
                    "requires.c", &unit),
           "a requires directive")) {
        const ompjit__global_desc *g = global_named(&unit, ".requires");
        ok(g && g->flags == 0x10 && g->size == 8,
           "its entry, with what is required");
        ompjit__unit_free(&unit);
    }
}

/* ------------------------------------------------------------ diagnostics */

static void test_diagnostics(ompjit_context *ctx)
{
    ompjit__unit unit;
    ok(compile(ctx, "int f(void) {\n  return bad;\n}\n", "dir/mine.c", &unit) ==
           OMPJIT_ERR_SOURCE,
       "source that does not compile");
    ok(!strncmp(err.text, "dir/mine.c:2:10: error: ", 24),
       "file, line and column are the user's: %.30s", err.text);
    ok(count_words(err.text, "error") == 1 && !strstr(err.text, "generated"),
       "it is said once, without a count");
    ok(err.stage == OMPJIT_STAGE_FRONTEND, "stage");
    ok(compile(ctx, "int f(void) {\n  return bad;\n}\n", "mine.c", NULL) ==
           OMPJIT_ERR_SOURCE,
       "nothing is stored on failure");
    /* The device half alone can find this; the warning is both halves'. */
    ok(compile(ctx,
               "int g(void) { int u; }\n"
               "void f(double *x) {\n"
               "#pragma omp target map(x[0:1])\n"
               "  { long double y = x[0]; x[0] = y * y; }\n"
               "}\n",
               "mine.c", &unit) == OMPJIT_ERR_SOURCE,
       "a mistake that only the device half sees");
    ok_contains(err.text, "mine.c:4:", "with its line");
    ok(!strstr(err.text, "warning:"), "the host half's warning is not there");
}

static void test_warnings(ompjit_context *ctx)
{
    ompjit__unit unit;
    front_log[0] = 0;
    ok(!compile(ctx,
                "int g(void) { }\n"
                "void f(int *x) {\n"
                "#pragma omp target map(x[0:1])\n"
                "  x[0] = g();\n"
                "}\n",
                "warn.c", &unit),
       "warnings only");
    ok(!strncmp(front_log, "warn.c:1:15: warning:", 21), "go to the log");
    ok(count_words(front_log, "warning:") == 1, "once, though both warn");
    ompjit__unit_free(&unit);
}

/* ------------------------------------------------------------------ flags */

static void test_flags(ompjit_context *ctx)
{
    static const char source[] =
        "#include \"beside.h\"\n"
        "#include \"deep.h\"\n"
        "#if N != 3 || defined(GONE) || BESIDE + DEEP + FIRST != 111\n"
        "#error flags\n"
        "#endif\n"
        "void f(int *x) {\n"
        "#pragma omp target map(x[0:1])\n"
        "  x[0] = N;\n"
        "}\n";
    static const char *const fine[] = {
        "-DN=3",      "-D",          "GONE",       "-U",
        "GONE",       "-Iinclude",   "-include",   "first.h",
        "-std=gnu11", "-Wall",       "-ffast-math", "-fno-math-errno",
        "-g",         "-funroll-loops", "-fopenmp-version=52"};
    mkdir(file("include"), 0755);
    write_file("beside.h", "#define BESIDE 1\n", 0644);
    write_file("first.h", "#define FIRST 10\n", 0644);
    write_file("include/deep.h", "#define DEEP 100\n", 0644);
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit__unit unit;
    char *name = ompjit__strdup(file("flags.c"));
    options.name = name;
    options.flags = fine;
    options.nflags = sizeof fine / sizeof fine[0];
    options.opt_level = OMPJIT_O0;
    err.text[0] = 0;
    ok(!ompjit__frontend_c(ctx, source, &options, &unit, &err),
       "flags, and headers beside the source: %s", err.text);
    ok(unit.opt_level == 0, "-O0");
    ok(unit.nkernels == 1 && kernel_named(&unit, "f"),
       "line tables make no other kernels");
    ompjit__unit_free(&unit);
    options.openmp_version = 44;
    ok(ompjit__frontend_c(ctx, source, &options, &unit, &err) ==
           OMPJIT_ERR_INVALID,
       "an OpenMP that never was");
    free(name);
}

static void test_bad_flags(ompjit_context *ctx)
{
    static const struct {
        const char *flag;
        ompjit_status status;
        const char *words;
    } rows[] = {
        {"-o", OMPJIT_ERR_INVALID, "`-o` cannot be used: a module is made in"},
        {"-c", OMPJIT_ERR_INVALID, "`-c`"},
        {"-march=native", OMPJIT_ERR_INVALID, "`-march=native`"},
        {"-lm", OMPJIT_ERR_INVALID, "links nothing"},
        {"-O2", OMPJIT_ERR_INVALID, "opt_level"},
        {"-fopenmp-targets=amdgcn", OMPJIT_ERR_INVALID, "device is chosen"},
        {"-fsanitize=address", OMPJIT_ERR_INVALID, "sanitizer"},
        {"-Wl,-x", OMPJIT_ERR_INVALID, "links nothing"},
        {"-I", OMPJIT_ERR_INVALID, "`-I` cannot be used: its value is"},
        {"other.c", OMPJIT_ERR_INVALID, "it is no flag"},
        {"--frobnicate", OMPJIT_ERR_INVALID, "it is not known here"},
        {"", OMPJIT_ERR_INVALID, "it is no flag"},
        {NULL, OMPJIT_ERR_INVALID, "it is no string"},
        {"-fno-such-thing", OMPJIT_ERR_SOURCE,
         "error: unknown argument: '-fno-such-thing'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
        ompjit__unit unit;
        options.flags = &rows[i].flag;
        options.nflags = 1;
        ok(ompjit__frontend_c(ctx, saxpy, &options, &unit, &err) ==
               rows[i].status,
           "flag %s: status", rows[i].flag ? rows[i].flag : "(null)");
        ok_contains(err.text, rows[i].words, "flag %s: why",
                    rows[i].flag ? rows[i].flag : "(null)");
    }
    static const char *const names[] = {"", "-x.c", "a;b.c", "a\nb.c"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ompjit__unit unit;
        ok(compile(ctx, saxpy, names[i], &unit) == OMPJIT_ERR_INVALID,
           "a name that cannot be: row %zu", i);
    }
}

/* The translated flags are words of today's cc1, for C and C++. */
static void test_translated_flags(ompjit_context *ctx)
{
    static const char *const flags[] = {
#define PAIR(flag)
#define OTHERS(flag)
#define MEANS(flag, host, device) flag,
#define REFUSE(prefix, why)
#include "frontend/clang/flags.def"
    };
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit__unit unit;
    options.name = "translated.cc";
    /* -ansi is C's. */
    const char *kept[sizeof flags / sizeof flags[0]];
    unsigned n = 0;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(flags[i], "-ansi"))
            kept[n++] = flags[i];
    options.flags = kept;
    options.nflags = n;
    err.text[0] = 0;
    ok(!ompjit__frontend_c(ctx, "int f() { return 1; }\n", &options, &unit,
                           &err),
       "every translated flag is taken: %s", err.text);
    ompjit__unit_free(&unit);
}

/* ---------------------------------------------------------- wrong clangs */

static void fails(const char *what, const char *clang, ompjit_status status,
                  const char *words)
{
    ompjit_context *ctx = context_new(clang, 1);
    ompjit__unit unit;
    ompjit_status got = compile(ctx, saxpy, "snippet.c", &unit);
    ok(got == status, "%s: status %d", what, got);
    ok_contains(err.text, words, "%s: the text", what);
    context_free(ctx);
    ok(childless(), "%s: no child is left", what);
}

static void test_absent(void)
{
    fails("no clang where the option says", "/nonexistent/clang",
          OMPJIT_ERR_UNAVAILABLE, "/nonexistent/clang (the context's option");
    setenv("OMPJIT_CLANG", "/nonexistent/other", 1);
    fails("no clang where the variable says", NULL, OMPJIT_ERR_UNAVAILABLE,
          "/nonexistent/other (OMPJIT_CLANG)");
    setenv("OMPJIT_CLANG", folder, 1);
    fails("a folder", NULL, OMPJIT_ERR_UNAVAILABLE, "not an executable file");
    unsetenv("OMPJIT_CLANG");
    write_file("mute", "#!/bin/sh\n", 0755);
    fails("no clang at all", file("mute"), OMPJIT_ERR_UNAVAILABLE,
          "mute is no clang: asked for its folder of headers");
    fails("what cannot be started", file("no-interpreter"),
          OMPJIT_ERR_UNAVAILABLE, "no-interpreter");
}

static void test_wrong_version(void)
{
    fails("clang 14, fake",
          fake_clang("old", "14.0.6", "echo 'error: unknown argument' >&2; "
                                      "exit 1"),
          OMPJIT_ERR_UNAVAILABLE, "old is clang 14.0.6; clang 22 is needed");
    if (!access("/usr/bin/clang-14", X_OK))
        fails("clang 14", "/usr/bin/clang-14", OMPJIT_ERR_UNAVAILABLE,
              "/usr/bin/clang-14 is clang 14.");
    fails("no clang, but it has the right answers",
          fake_clang("odd", "22.1.8", "echo hello; exit 0"),
          OMPJIT_ERR_COMPILE, "half of snippet.c "
                              "(exit code 0); it said:\n(nothing)");
}

static void test_crash(void)
{
    fails("a clang that dies",
          fake_clang("dies", "22.1.8",
                     "printf 'Stack dump:\\n0.\\tProgram arguments: x\\n"
                     "1.\\tx.c:9:1: parsing\\n #0 0x7f in f\\n' >&2; "
                     "kill -s SEGV $$"),
          OMPJIT_ERR_COMPILE,
          "(signal 11); it said:\nStack dump:\n1.\tx.c:9:1: parsing");
    fails("LLVM's fatal error",
          fake_clang("fatal", "22.1.8", "echo 'fatal error: error in backend' "
                                        ">&2; exit 70"),
          OMPJIT_ERR_COMPILE, "(exit code 70)");
    fails("half of a bitcode",
          fake_clang("half", "22.1.8", "printf 'BC\\300\\336'; exit 0"),
          OMPJIT_ERR_COMPILE, "clang crashed");
}

static void test_hang(void)
{
    uint64_t start = ompjit__now();
    fails("a clang that hangs",
          fake_clang("hangs", "22.1.8", "sleep 1000"), OMPJIT_ERR_TIMEOUT,
          "clang did not end within 1 second and was killed");
    write_file("asleep", "#!/bin/sh\nsleep 1000\n", 0755);
    fails("a clang that hangs at once", file("asleep"), OMPJIT_ERR_TIMEOUT,
          "asleep did not end within 1 second");
    fails("a clang that closes its outputs and hangs",
          fake_clang("closes", "22.1.8", "exec >&- 2>&-; sleep 1000"),
          OMPJIT_ERR_TIMEOUT, "was killed");
    fails("a clang that talks for ever",
          fake_clang("talks", "22.1.8", "while :; do echo la; sleep 0.01; "
                                        "done"),
          OMPJIT_ERR_TIMEOUT, "was killed");
    ok(ompjit__now() - start < 15000000000ull, "each took about a second");
}

/* The best of a few, on a machine that has other things to do. */
static void test_limit(void)
{
    enum { LIMIT = 500, TRIES = 5 };
    const char *clang = fake_clang("late", "22.1.8", "sleep 1000");
    uint64_t least = UINT64_MAX;
    for (int t = 0; t < TRIES && least >= OMPJIT__MS(1000); t++) {
        ompjit_context *ctx = context_new(clang, 0);
        ompjit__unit unit;
        uint64_t start = ompjit__now();
        ctx->clang_limit_ms = LIMIT;
        compile(ctx, saxpy, "snippet.c", &unit);
        uint64_t took = ompjit__now() - start;
        least = took < least ? took : least;
        context_free(ctx);
    }
    ok(least >= OMPJIT__MS(LIMIT) && least < OMPJIT__MS(1000),
       "a limit of half a second: %.3f s", (double)least / 1e9);
    ok_contains(err.text, "did not end within 500 ms and was killed",
                "says so");
}

/* More than a pipe holds, for a reader that never reads. */
static void test_broken_pipe(void)
{
    size_t size = 1 << 20;
    char *source = malloc(size + 1);
    memset(source, ' ', size);
    source[size] = 0;
    ompjit_context *ctx = context_new(
        fake_clang("deaf", "22.1.8", "echo 'x.c:1:1: error: deaf' >&2; exit 1"),
        5);
    ompjit__unit unit;
    ok(compile(ctx, source, "x.c", &unit) == OMPJIT_ERR_SOURCE,
       "no SIGPIPE from a clang that does not read");
    ok_string(err.text, "x.c:1:1: error: deaf", "and what it said counts");
    context_free(ctx);
    sigset_t pending, mask;
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    ok(!sigismember(&pending, SIGPIPE) && !sigismember(&mask, SIGPIPE),
       "no signal is left, none is blocked");
    free(source);
    ctx = context_new(NULL, 20);
    char *big = ompjit__format("%*s\n%s", 1 << 20, "/**/", saxpy);
    ok(!compile(ctx, big, "big.c", &unit), "a big source");
    ok(unit.nkernels == 1 && unit.kernels[0].line == 3, "arrives whole");
    ompjit__unit_free(&unit);
    context_free(ctx);
    free(big);
}

/* -------------------------------------------------------------- processes */

static void test_warm(void)
{
    enum { FDS_OF_A_PAIR = 10 };
    int before = count_fds();
    pid_t pids[8], again[8];
    ompjit_context *ctx = context_new(NULL, 20);
    ompjit__unit unit;
    ok(children(pids, 8) == 0, "no process before the first compile");
    ok(!compile(ctx, saxpy, "a.c", &unit), "first compile");
    ompjit__unit_free(&unit);
    nap(300);
    ok(children(again, 8) == 2, "its pair stays until it is built");
    ompjit__frontend_rest(ctx);
    nap(300);
    ok(children(pids, 8) == 2 && pids[0] != again[0] && pids[1] != again[1],
       "once it was built the next pair waits instead");
    ok(count_fds() == before + FDS_OF_A_PAIR, "with its pipes");
    ok(!compile(ctx, saxpy, "a.c", &unit), "second compile");
    ompjit__unit_free(&unit);
    ompjit__frontend_rest(ctx);
    nap(300);
    ok(children(again, 8) == 2 && again[0] != pids[0] && again[0] != pids[1],
       "took that pair and left another");
    ok(compile(ctx, "oops", "a.c", &unit) == OMPJIT_ERR_SOURCE,
       "a mistake in between");
    nap(300);
    ok(children(pids, 8) == 2, "a pair waits after a mistake too");
    kill(pids[0], SIGKILL);
    kill(pids[1], SIGKILL);
    ok(!compile(ctx, saxpy, "a.c", &unit), "a dead pair is replaced: %s",
       err.text);
    ompjit__unit_free(&unit);
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"b.c", "c.c", "d.c", "e.cc"};
        ok(!compile(ctx, saxpy, names[i], &unit), "as %s", names[i]);
        ompjit__unit_free(&unit);
    }
    ompjit__frontend_rest(ctx);
    nap(300);
    ok(children(pids, 8) == 4, "two pairs at most");
    context_free(ctx);
    ok(childless(), "no child after the context");
    ok(count_fds() == before, "no descriptor after the context");
}

/* A source whose lines of marks say nothing of the function's name. */
static char *hidden(const char *name, const char *statement)
{
    return ompjit__format(" void %s(float *x) {\n"
                          "#pragma omp target map(tofrom : x[0:1])\n"
                          "  %s\n"
                          " }\n",
                          name, statement);
}

/* The kernel, if the context compiles it in a pair that waits. */
static void compile_hidden(ompjit_context *ctx, const char *name,
                           const char *statement)
{
    ompjit__unit unit;
    char *source = hidden(name, statement);
    char *end = ompjit__format("_%s_l2", name);
    ok(!compile(ctx, source, "a.c", &unit), "%s: %s", name, err.text);
    ok(unit.nkernels == 1 && strstr(unit.kernels[0].symbol, end),
       "its kernel is %s", end);
    ompjit__unit_free(&unit);
    ompjit__frontend_rest(ctx);
    nap(200);
    free(source);
    free(end);
}

static void test_marks(void)
{
    static const char source[] = "int a;\n"
                                 " int b;\n"
                                 "\n"
                                 "\t# pragma x\n"
                                 "  y _Pragma(\"z\") _\n"
                                 "_f(";
    char *marks = ompjit__source_marks(source);
    ok_string(marks, "1 int a;\n4 \t# pragma x\n5   y _Pragma(\"z\") _\n6 _f(\n",
              "lines that tell where regions are");
    free(marks);
    ok(!ompjit__source_marks(" int b;\n"), "there may be none");
}

static void test_guess_list(void)
{
    ompjit__guess all[OMPJIT__GUESSES] = {0};
    ompjit__buf info = {.data = (char *)"abc", .size = 1}, got = {0};
    ompjit__guess_put(all, "k", "m", &info);
    info.size = 2;
    ompjit__guess_put(all, "k", "m", &info);
    ompjit__guess_take(all, "k", "n", &got);
    ompjit__guess_take(all, "l", "m", &got);
    ompjit__guess_take(all, NULL, "m", &got);
    ok(!got.size, "nothing is guessed of other sources");
    ompjit__guess_take(all, "k", "m", &got);
    ok(got.size == 2 && !memcmp(got.data, "ab", 2), "the newest is");
    info.size = 3;
    for (int i = 0; i < OMPJIT__GUESSES; i++) {
        char key[2] = {(char)('A' + i)};
        ompjit__guess_put(all, key, "m", &info);
    }
    ompjit__buf_free(&got);
    ompjit__guess_take(all, "k", "m", &got);
    ok(!got.size, "what was not used for long is forgotten");
    ompjit__guess_take(all, "A", "m", &got);
    ok(got.size == 3, "as many are kept as there is room for");
    ompjit__buf_free(&got);
    ompjit__guesses_free(all);
}

static void test_guess(void)
{
    ompjit__unit unit;
    ompjit_context *ctx = context_new(NULL, 20);
    ompjit_context *other = context_new(NULL, 20);
    compile_hidden(ctx, "f", "x[0] = 1;");
    compile_hidden(ctx, "f", "x[0] = 2;");
    compile_hidden(ctx, "g", "x[0] = 2;");
    compile_hidden(ctx, "g", "x[0] = 3;");
    char *wrong = hidden("g", "x[0] = oops;");
    ok(compile(other, wrong, "a.c", &unit) == OMPJIT_ERR_SOURCE, "a mistake");
    char *text = ompjit__strdup(err.text);
    ok(compile(ctx, wrong, "a.c", &unit) == OMPJIT_ERR_SOURCE, "the same");
    ok_string(err.text, text, "is told as ever");
    free(text);
    free(wrong);
    context_free(other);
    context_free(ctx);
    ok(childless(), "no child is left");
}

static void test_not_warm(void)
{
    pid_t pids[8];
    int before = count_fds();
    setenv("OMPJIT_WARM", "0", 1);
    ompjit_context *ctx = context_new(NULL, 20);
    ompjit__unit unit;
    ok(!compile(ctx, saxpy, "a.c", &unit), "OMPJIT_WARM=0");
    ompjit__unit_free(&unit);
    nap(300);
    ok(children(pids, 8) == 0 && count_fds() == before, "keeps nothing");
    context_free(ctx);
    ok(childless(), "and leaves nothing");
    unsetenv("OMPJIT_WARM");
}

static void test_chdir(void)
{
    static const char *const flags[] = {"-Isub"};
    char *one = ompjit__strdup(file("one")), *two = ompjit__strdup(file("two"));
    mkdir(one, 0755);
    mkdir(two, 0755);
    mkdir(file("one/sub"), 0755);
    mkdir(file("two/sub"), 0755);
    write_file("one/sub/where.h", "#define USED 1\n", 0644);
    write_file("two/sub/where.h", "#define USED a\n", 0644);
    ompjit_context *ctx = context_new(NULL, 20);
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    options.flags = flags;
    options.nflags = 1;
    err.text[0] = 0;
    char *here = getcwd(NULL, 0);
    for (int i = 0; i < 3; i++) {
        ompjit__unit unit = {0};
        if (i == 1) { /* the next pair for `one` would be started in `two` */
            ok(!chdir(two), "chdir");
            ompjit__frontend_rest(ctx);
            nap(300);
        }
        if (chdir(i == 2 ? two : one))
            ok(0, "chdir");
        ok(!ompjit__frontend_c(ctx,
                               "#include <where.h>\n"
                               "void f(int *p, int a) {\n"
                               "#pragma omp target\n{ *p = USED; }}\n",
                               &options, &unit, &err) &&
               unit.kernels[0].nparams == (i == 2 ? 2 : 1),
           "relative to today's folder: %s", err.text);
        ompjit__unit_free(&unit);
    }
    if (chdir(here))
        ok(0, "chdir back");
    context_free(ctx);
    free(here);
    free(one);
    free(two);
}

/* Runs in a child process: returns its exit code. */
static int in_child(int (*f)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (!pid)
        _exit(f());
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int no_stdio(void)
{
    close(0);
    close(1);
    close(2);
    close(3);
    ompjit_context *ctx = context_new(NULL, 20);
    ompjit__unit unit;
    int rc = compile(ctx, saxpy, "a.c", &unit) ? 1 : 0;
    if (!rc)
        rc = compile(ctx, saxpy, "a.c", &unit) ? 2 : 0;
    context_free(ctx);
    return rc;
}

static int sigchld_ignored(void)
{
    signal(SIGCHLD, SIG_IGN);
    ompjit_context *ctx = context_new(NULL, 20);
    ompjit__unit unit;
    int rc = compile(ctx, saxpy, "a.c", &unit) ? 1 : 0;
    rc |= compile(ctx, "oops", "a.c", &unit) != OMPJIT_ERR_SOURCE ? 2 : 0;
    rc |= strstr(err.text, "a.c:1:1: error:") ? 0 : 4;
    context_free(ctx);
    return rc;
}

static int sigpipe_default(void)
{
    signal(SIGPIPE, SIG_DFL);
    ompjit_context *ctx =
        context_new(fake_clang("deaf", "22.1.8", "exit 1"), 5);
    char *big = ompjit__format("%*s", 1 << 20, "");
    ompjit__unit unit;
    return compile(ctx, big, "x.c", &unit) == OMPJIT_ERR_COMPILE ? 0 : 1;
}

static ompjit_context *shared;

static int use_after_fork(void)
{
    pid_t pids[8];
    ompjit__unit unit;
    int rc = compile(shared, saxpy, "a.c", &unit) ? 1 : 0;
    rc |= children(pids, 8) > 4 ? 2 : 0;
    context_free(shared);
    rc |= childless() ? 0 : 4;
    return rc;
}

static int orphan_pipe[2];

/* Dies without a word, a warm pair behind. */
static int die(void)
{
    pid_t pids[8] = {0};
    ompjit__unit unit;
    ompjit_context *ctx = context_new(NULL, 20);
    if (compile(ctx, saxpy, "a.c", &unit))
        return 1;
    ompjit__frontend_rest(ctx);
    nap(200);
    if (children(pids, 8) < 2 ||
        write(orphan_pipe[1], pids, 2 * sizeof *pids) < 0)
        return 2;
    return 0;
}

/* A zombie of a container's first process is dead enough. */
static bool lives(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    bool read = f && fgets(text, sizeof text, f);
    if (f)
        fclose(f);
    return read && !strstr(text, ") Z ");
}

static int living(const pid_t *pids, int n)
{
    int alive = n;
    for (int i = 0; i < 500 && alive; i++) {
        nap(10);
        alive = 0;
        for (int k = 0; k < n; k++)
            alive += lives(pids[k]);
    }
    return alive;
}

static void *kill_process(void *pids)
{
    while (access(pids, R_OK))
        nap(10);
    nap(100); /* the script has written all of it */
    kill(getpid(), SIGKILL);
    return NULL;
}

/* Is killed while its clang hangs, whatever thread has started that. */
static int die_waiting(void)
{
    pthread_t thread;
    ompjit__unit unit;
    ompjit_context *ctx = context_new(
        fake_clang("hanging", "22.1.8",
                   "sleep 1000 & echo $$ $! >\"$0.pids\"; wait"), 60);
    pthread_create(&thread, NULL, kill_process,
                   ompjit__strdup(file("hanging.pids")));
    compile(ctx, saxpy, "a.c", &unit);
    return 0;
}

static void test_death(void)
{
    pid_t pids[2] = {0};
    int hanging[2] = {0};
    if (pipe(orphan_pipe))
        return;
    ok(in_child(die) == 0 &&
           read(orphan_pipe[0], pids, sizeof pids) == sizeof pids,
       "a process ends and leaves a pair waiting");
    ok(!living(pids, 2), "the pair ends too");
    close(orphan_pipe[0]);
    close(orphan_pipe[1]);
    in_child(die_waiting);
    FILE *f = fopen(file("hanging.pids"), "r");
    ok(f && fscanf(f, "%d %d", &hanging[0], &hanging[1]) == 2,
       "a process is killed while clang hangs");
    if (f)
        fclose(f);
    pids[0] = hanging[0];
    pids[1] = hanging[1];
    ok(pids[1] && !living(pids, 2), "clang and what it started end too");
}

static int use_soon(void)
{
    alarm(20);
    return use_after_fork();
}

/* The background thread starts a pair, with the front end's lock taken. */
static void test_early_fork(void)
{
    ompjit__unit unit;
    int rc = 0;
    shared = context_new(NULL, 20);
    for (int i = 0; i < 8 && !rc; i++) {
        rc = compile(shared, saxpy, "a.c", &unit);
        ompjit__unit_free(&unit);
        ompjit__frontend_rest(shared);
        usleep(i * 250);
        rc = rc ? rc : in_child(use_soon);
    }
    ok(rc == 0, "a fork while the next pair is started");
    context_free(shared);
}

static void test_fork(void)
{
    pid_t before[8], after[8];
    ompjit__unit unit;
    shared = context_new(NULL, 20);
    ok(!compile(shared, saxpy, "a.c", &unit), "a context before fork");
    ompjit__unit_free(&unit);
    ompjit__frontend_rest(shared);
    nap(300);
    int n = children(before, 8);
    ok(in_child(use_after_fork) == 0, "is used and destroyed after it");
    ok(n == 2 && children(after, 8) == 2 &&
           !memcmp(before, after, 2 * sizeof *before),
       "the parent's pair lives");
    ok(!compile(shared, saxpy, "a.c", &unit), "and compiles");
    ompjit__unit_free(&unit);
    context_free(shared);
}

/* ---------------------------------------------------------------- threads */

static void *compile_some(void *arg)
{
    ompjit_context *ctx = arg;
    ompjit_error own;
    intptr_t failed = 0;
    for (int i = 0; i < 4; i++) {
        ompjit__unit unit;
        ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
        options.name = i % 2 ? "t.c" : "t.cc";
        if (i == 2) {
            failed |= ompjit__frontend_c(ctx, "int f( {", &options, &unit,
                                         &own) != OMPJIT_ERR_SOURCE;
            continue;
        }
        if (ompjit__frontend_c(ctx, saxpy, &options, &unit, &own)) {
            failed = 1;
            printf("# %s\n", own.text);
            continue;
        }
        failed |= unit.nkernels != 1;
        ompjit__unit_free(&unit);
    }
    return (void *)failed;
}

static void test_threads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    int before = count_fds();
    ompjit_context *ctx = context_new(NULL, 60);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, compile_some, ctx);
    intptr_t failed = 0;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        failed |= (intptr_t)result;
    }
    ok(!failed, "four threads compile at once");
    context_free(ctx);
    ok(childless() && count_fds() == before, "and leave nothing");
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    write_file("no-interpreter", "#!/nonexistent/interpreter\n", 0755);
    int fds = count_fds();
    ompjit_context *ctx = context_new(NULL, 20);
    test_c(ctx);
    test_cxx(ctx);
    test_math(ctx);
    test_host_types(ctx);
    test_globals(ctx);
    test_diagnostics(ctx);
    test_warnings(ctx);
    test_flags(ctx);
    test_bad_flags(ctx);
    test_translated_flags(ctx);
    ok(ctx->stage_count[OMPJIT_STAGE_FRONTEND] > 0, "the stage is timed");
    context_free(ctx);
    ok(childless() && count_fds() == fds, "nothing is left so far");
    test_absent();
    test_wrong_version();
    test_crash();
    test_hang();
    test_limit();
    test_broken_pipe();
    test_warm();
    test_marks();
    test_guess_list();
    test_guess();
    test_not_warm();
    test_chdir();
    test_early_fork();
    test_fork();
    test_death();
    ok(in_child(no_stdio) == 0, "without standard descriptors");
    ok(in_child(sigchld_ignored) == 0, "with SIGCHLD ignored");
    ok(in_child(sigpipe_default) == 0, "with SIGPIPE deadly");
    test_threads();
    ok(childless() && count_fds() == fds, "nothing is left at the end");
    char *remove = ompjit__format("rm -rf %s", folder);
    int rc = system(remove);
    free(remove);
    return done_testing() || rc;
}
