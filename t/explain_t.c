/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Explanations of what can be folded and why not, of its effect on code, and of
 * the variants that there are; and lists of variants: written, read, wrong.
 */
#include <unistd.h>

#include "door/door.h"
#include "targets/instruction_count.h"
#include "ompjit_tune.h"
#include "program.h"

static const char source[] =
    "struct pair { int a, b; }; struct large { int a[8]; };\n"
    "void all(int n, _Bool flag, char c, short s, double d, float *x,\n"
    "         double *out) {\n"
    "  struct pair p = {1, 2}, mapped = {3, 4}; struct large g = {{5}};\n"
    "  float _Complex z = 1.5f; double back = 0; int fixed[4] = {1, 2, 3, 4};\n"
    "#pragma omp target map(to: x[:n], mapped, fixed) map(from: out[:9]) "
    "map(tofrom: back) firstprivate(p, g, z)\n"
    "  { out[0] = flag; out[1] = c; out[2] = s; out[3] = d; out[4] = p.b;\n"
    "    out[5] = mapped.a + fixed[1]; out[6] = g.a[0]; back += x[0];\n"
    "    out[7] = ((float *)&z)[0]; out[8] = n; }\n"
    "  out[0] += back;\n"
    "}\n"
    "void axpy(int n, double a, double *x, double *y) {\n"
    "#pragma omp target teams distribute parallel for map(to: x[:n]) "
    "map(y[:n])\n"
    "  for (int i = 0; i < n; i++) y[i] += a * x[i];\n"
    "}\n"
    "void raw(int n, double *y) {\n"
    "#pragma omp target is_device_ptr(y)\n"
    "  y[0] = n;\n"
    "}\n";

static char told[16384]; /* by the library */

static void take_log(void *data, const char *message)
{
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s\n", message);
}

static void open_module(const char *record, int explain)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    options.specialize.record = record;
    options.debug.explain = explain;
    options.log = take_log;
    told[0] = 0;
    open_program(&options, source);
}

/* ------------------------------------------------------------- parameters */

static const struct {
    const char *kernel, *name;
    ompjit_foldable foldable;
    unsigned storage;
    const char *why;
} reasons[] = {
    {"all", "n", OMPJIT_FOLDABLE, 0, "can be folded"},
    {"all", "flag", OMPJIT_FOLDABLE, 0, "can be folded"},
    {"all", "c", OMPJIT_FOLDABLE, 0, "can be folded"},
    {"all", "s", OMPJIT_FOLDABLE, 0, "can be folded"},
    {"all", "d", OMPJIT_FOLDABLE, 0, "can be folded"},
    {"all", "p", OMPJIT_FOLDABLE, 8, "can be folded"},
    {"all", "z", OMPJIT_FOLDABLE, 0, "can be folded"},
    {"all", "x", OMPJIT_FOLDABLE_SECTION, 0, "known at run time"},
    {"all", "out", OMPJIT_FOLDABLE_COPY_BACK, 72, "copied back"},
    {"all", "back", OMPJIT_FOLDABLE_COPY_BACK, 8, "copied back"},
    {"all", "mapped", OMPJIT_FOLDABLE_STORAGE, 8, "address"},
    {"all", "fixed", OMPJIT_FOLDABLE_TOO_LARGE, 16, "16 bytes"},
    {"all", "g", OMPJIT_FOLDABLE_TOO_LARGE, 32, "32 bytes"},
    {"raw", "y", OMPJIT_FOLDABLE_POINTER, 0, "an address"},
};

static void parameters(void)
{
    ompjit_param_state s = OMPJIT_PARAM_STATE_INIT;
    open_module(NULL, 0);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        ompjit_kernel *k = kernel(reasons[i].kernel);
        int got = !ompjit_kernel_param_state(k, param(k, reasons[i].name), &s,
                                             &err);
        ok(got && s.foldable == reasons[i].foldable &&
               s.storage == reasons[i].storage && strstr(s.why, reasons[i].why),
           "%s: %s, %u bytes", reasons[i].name, s.why, (unsigned)s.storage);
    }
    ok(ompjit_kernel_param_state(kernel("all"), 99, &s, &err) ==
           OMPJIT_ERR_INVALID, "no such parameter: %s", err.text);
    s.size = 3;
    ok(ompjit_kernel_param_state(kernel("all"), 0, &s, NULL) ==
           OMPJIT_ERR_INVALID, "a state of another size");
    close_module();
}

/* ------------------------------------------------------------------- code */

static void counting(void)
{
    static const char ptx[] =
        ".version 8.0\n.target sm_90\n.extern .func f(.param .b32 a);\n"
        ".visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 128\n{\n"
        "\t.reg .pred %p<2>;\n// %bb.0:\n\tmov.u32 %r1, %tid.x;\n"
        "$L__BB0_1:\n\t@%p1 bra \t$L__BB0_1;\n"
        "\t{ // callseq 0, 0\n\t.param .b32 param0;\n"
        "\tcall.uni \n\tf, \n\t(\n\tparam0\n\t);\n\t} // callseq 0\n"
        "\tret;\n\t// -- End function\n}\n";
    static const char host[] =
        "\t.text\n\t.globl\tk\nk:                # @k\n\t.cfi_startproc\n"
        "# %bb.0:\n\tpushq\t%rbp\n"
        "\tmovq\t%rax, 8(%rsp)   # 8-byte Spill\n"
        "\tvmovups\t32(%rsp), %ymm0 # 32-byte Reload\n"
        "\taddq\t8(%rsp), %rax # 8-byte Folded Reload\n.LBB0_1:\n"
        "\tretq\n";
    uint32_t stores, loads, n = ompjit__count_assembly(host, &stores, &loads);
    ok(ompjit__count_ptx(ptx) == 4, "PTX of %u instructions",
       ompjit__count_ptx(ptx));
    ok(ompjit__count_ptx("") == 0 && ompjit__count_ptx("}{;") == 1,
       "texts that are no PTX end too");
    ok(n == 5 && stores == 8 && loads == 40,
       "assembly, %u bytes stored, %u loaded", stores, loads);
}

static void code_on(const char *arch)
{
    ompjit_kernel *k = kernel("axpy");
    ompjit_resources before = OMPJIT_RESOURCES_INIT;
    ompjit_resources after = OMPJIT_RESOURCES_INIT;
    ompjit_resources again = OMPJIT_RESOURCES_INIT;
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[] = {ompjit_arg_f64("a", 2),
                         ompjit_arg_i32("n", 8),
                         ompjit_arg_pointer("x", NULL)};
    bool host = !strcmp(arch, "host");
    l.teams = 1;
    l.threads = host ? 1 : 128;
    ompjit_status st = ompjit_kernel_code(k, arch, NULL, NULL, 0, &before,
                                          &err);
    if (st == OMPJIT_ERR_UNAVAILABLE) {
        ok(1, "code on a GPU # SKIP %s", err.text);
        return;
    }
    ok(!st && before.instructions > 8 && before.code > 32 &&
           (before.ptx > 8) == !host,
       "%s: %u instructions, %u of PTX, %u bytes", arch, before.instructions,
       before.ptx, before.code);
    st = ompjit_kernel_code(k, arch, &l, args, 3, &after, &err);
    ok(!st && after.instructions &&
           after.instructions < before.instructions &&
           after.code < before.code,
       "%s: %u where values are folded", arch, after.instructions);
    l.specialize.fold = OMPJIT_FOLD_NOALIAS;
    ok(!ompjit_kernel_code(k, arch, &l, args, 2, &again, &err) &&
           again.instructions == before.instructions,
       "%s: and the same where they are not", arch);
}

static void residents(void)
{
    ompjit__kernel_desc *k = &mod->unit.kernels[kernel("axpy")->index];
    ompjit__spec spec = {.kernel = k->symbol,
                         .facts.threads.all = 128,
                         .facts.resident_teams = 5};
    for (int threads = 1; threads >= 0; threads--) {
        ompjit__image image = {0};
        spec.facts.threads.all = threads ? 128 : 0;
        ok(!ompjit__door_build(&ctx->compiler, &mod->unit, "sm_90",
                          OMPJIT_FORMAT_PTX, &spec,
                          &image, &err) &&
               !!strstr(image.bytes.data, ".minnctapersm 5") == threads,
           "5 resident teams %s threads", threads ? "with" : "without");
        ompjit__image_free(&image);
    }
}

static void code(void)
{
    ompjit_resources c = OMPJIT_RESOURCES_INIT;
    ompjit_arg wrong = ompjit_arg_i32("q", 8);
    ompjit_arg narrow = ompjit_arg_i64("n", 8);
    open_module(NULL, 0);
    code_on("host");
    code_on("sm_90");
    residents();
    ok(ompjit_kernel_code(kernel("axpy"), "sm_90", NULL, &wrong, 1, &c,
                          &err) == OMPJIT_ERR_ARGUMENT, "%s", err.text);
    ok(ompjit_kernel_code(kernel("axpy"), "sm_90", NULL, &narrow, 1, &c,
                          &err) == OMPJIT_ERR_ARGUMENT, "%s", err.text);
    ok(ompjit_kernel_code(kernel("axpy"), "z80", NULL, NULL, 0, &c, &err) ==
           OMPJIT_ERR_TARGET, "%s", err.text);
    close_module();
}

/* --------------------------------------------------------------- variants */

enum { N = 64 };
static _Alignas(64) double x[N], y[N];

/* With `policy`, and whether y comes out right. */
static int launch(ompjit_specialize policy, double a)
{
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[] = {ompjit_arg_i32("n", N),
                         ompjit_arg_f64("a", a),
                         ompjit_arg_pointer("x", x),
                         ompjit_arg_pointer("y", y)};
    l.teams = 2;
    l.specialize.mode = policy;
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = 1;
    }
    if (ompjit_kernel_launch(kernel("axpy"), dev, &l, args, 4, &err))
        return 0;
    for (int i = 0; i < N; i++)
        if (y[i] != 1 + a * i)
            return 0;
    return 1;
}

struct seen {
    unsigned n, generic, two_teams, folded;
    double a;
};

static int see(void *data, const ompjit_variant_info *v)
{
    struct seen *s = data;
    ompjit_kernel *k = kernel("axpy");
    unsigned a = param(k, "a"), n = param(k, "n");
    s->n++;
    s->generic += v->generic != 0;
    s->two_teams += v->teams == 2;
    unsigned literals = 0;
    for (unsigned i = 0; i < v->nparams; i++)
        literals += (v->params[i].facts & OMPJIT_FOLD_LITERALS) != 0;
    if (v->device == dev && literals == 2 &&
        v->params[a].facts & OMPJIT_FOLD_LITERALS && v->params[n].value == N) {
        s->folded++;
        memcpy(&s->a, &v->params[a].value, sizeof s->a);
    }
    return s->n == 3;
}

static void variants(void)
{
    struct seen s = {0};
    char *text = NULL;
    ompjit_param_state state = OMPJIT_PARAM_STATE_INIT;
    open_module(NULL, 1);
    ok(launch(OMPJIT_SPECIALIZE_OFF, 2) && launch(OMPJIT_SPECIALIZE_NOW, 3),
       "two launches");
    ok(!ompjit_kernel_variants(kernel("axpy"), see, &s, &err) && s.n == 2 &&
           s.generic == 1 && s.two_teams == 1 && s.folded == 1 && s.a == 3,
       "two variants, one with the launch's values");
    launch(OMPJIT_SPECIALIZE_NOW, 4);
    launch(OMPJIT_SPECIALIZE_NOW, 5);
    s = (struct seen){0};
    ok(!ompjit_kernel_variants(kernel("axpy"), see, &s, &err) && s.n == 3,
       "a walk ends where it is told to");
    s = (struct seen){0};
    ok(!ompjit_kernel_variants(kernel("raw"), see, &s, &err) && s.n == 1,
       "another kernel has the generic one only");
    for (int i = 0; i < 40; i++)
        launch(OMPJIT_SPECIALIZE_AUTO, 100 + i);
    ompjit_kernel *k = kernel("axpy");
    ompjit_kernel_cancel(k);
    ok(!ompjit_kernel_param_state(k, param(k, "a"), &state, &err) &&
           state.given_up && state.changes >= 16 && state.launches >= 16 &&
           strstr(state.why, "given up"), "a: %s", state.why);
    ok(!ompjit_kernel_param_state(k, param(k, "n"), &state, &err) &&
           !state.given_up && state.changes <= 1, "n: %s", state.why);
    ok(!ompjit_kernel_explain(k, &text, &err) && strstr(text, "axpy:") &&
           strstr(text, "given up") && strstr(text, "1 threads, 2 teams") &&
           strstr(text, "n=0x40") && strstr(text, "for all values"),
       "all of it as text");
    ompjit_bytes_free(text);
    ok(!strstr(told, "axpy:"), "nobody was told yet");
    ompjit_module_destroy(mod);
    ok(strstr(told, "axpy:") && strstr(told, "raw:") &&
           strstr(told, "given up"), "the module's end tells it");
    ompjit_context_destroy(ctx);
}

/* ------------------------------------------------------------------- lists */

static char list[] = "/tmp/ompjit-t-XXXXXX";
static char bad[4096];

static void take_bad(void *data, unsigned line, const char *why)
{
    size_t n = strlen(bad);
    snprintf(bad + n, sizeof bad - n, "%u: %s\n", line, why);
}

static unsigned warm(const char *path)
{
    unsigned n = 999;
    bad[0] = 0;
    ompjit_status st =
        ompjit_module_warm(mod, dev, path, take_bad, NULL, &n, &err);
    return st ? 1000 : n;
}

static ompjit_variant_stats settled(void)
{
    ompjit_variant_stats s = OMPJIT_VARIANT_STATS_INIT;
    for (int i = 0; i < 6000; i++, usleep(10000))
        if (ompjit_module_variants(mod, &s, &err) || !s.pending)
            break;
    return s;
}

static void write_list(const char *text)
{
    FILE *f = fopen(list, "we");
    if (!f || fputs(text, f) < 0 || fclose(f)) {
        puts("Bail out! cannot write");
        exit(1);
    }
}

static void record(void)
{
    ompjit__buf text = {0};
    open_module(list, 0);
    launch(OMPJIT_SPECIALIZE_OFF, 2);
    launch(OMPJIT_SPECIALIZE_NOW, 3);
    launch(OMPJIT_SPECIALIZE_NOW, -0.0);
    close_module();
    ok(!ompjit__read_file(list, &text, &err) &&
           strstr(text.data, "* threads=1\n") &&
           strstr(text.data, "axpy_l") &&
           strstr(text.data, " teams=2 n=0x40 ") &&
           strstr(text.data, " a=0x8000000000000000 aligned="),
       "what was built stands in the list");
    printf("# %s\n", text.data);
    ompjit__buf_free(&text);
    open_module(NULL, 0);
    ok(warm(list) == 3 && !*bad, "all of it is asked for: %s", bad);
    ok(settled().builds == 3 && settled().failures == 0, "and built");
    ok(launch(OMPJIT_SPECIALIZE_NOW, 3) && launch(OMPJIT_SPECIALIZE_OFF, 2) &&
           launch(OMPJIT_SPECIALIZE_NOW, -0.0) && settled().builds == 3,
       "launches find it");
    close_module();
}

static const struct {
    const char *line, *why;
} wrong[] = {
    {"nobody n=3", "no kernel nobody"},
    {"axpy_l13 n", "NAME=VALUE"},
    {"axpy_l13 n=", "not a number"},
    {"axpy_l13 n=3q", "not a number"},
    {"axpy_l13 n=-3", "not a number"},
    {"axpy_l13 n=0x10000000000000000", "not a number"},
    {"axpy_l13 n=0x100000000", "does not fit"},
    {"axpy_l13 q=3", "neither an argument"},
    {"axpy_l13 99=3", "neither an argument"},
    {"axpy_l13 x=3", "is a pointer"},
    {"axpy_l13 threads=4294967296", "too large"},
    {"axpy_l13 aligned=0xffffffff", "not all of these"},
    {"axpy_l13 residents=2", "needs a GPU"},
    {"* threads=2", "code for all kernels"},
    {"* n=2", "neither an argument"},
};

static void bad_lists(void)
{
    char text[4096] = "# a list\n\n", expected[64];
    open_module(NULL, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n",
                 wrong[i].line);
    strcat(text, "  axpy_l13\tthreads=1 0=4 # good\r\n* threads=1");
    write_list(text);
    ok(warm(list) == 2, "wrong lines are skipped: %s", err.text);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(expected, sizeof expected, "%u: ", (unsigned)i + 3);
        const char *at = strstr(bad, expected);
        ok(at && strstr(at, wrong[i].why), "%s: %.*s", wrong[i].line,
           at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    }
    ok(settled().builds == 2, "the good ones are built");
    write_list("");
    ok(warm(list) == 0 && !*bad, "an empty list");
    unlink(list);
    ok(warm(list) == 1000 && err.status == OMPJIT_ERR_IO, "no list: %s",
       err.text);
    ok(ompjit_module_warm(mod, NULL, list, NULL, NULL, NULL, &err) ==
           OMPJIT_ERR_INVALID, "no device");
    close_module();
}

int main(void)
{
    int fd = mkstemp(list);
    if (fd < 0) {
        puts("Bail out! no temporary file");
        return 1;
    }
    close(fd);
    counting();
    parameters();
    code();
    variants();
    record();
    bad_lists();
    unlink(list);
    done_testing();
}
