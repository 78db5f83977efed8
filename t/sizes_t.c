/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sizes of mapped sections folded into variants: what they change in the code,
 * that a launch with others has another variant, that those that keep changing
 * are given up, and lists of variants that have them.
 */
#include <unistd.h>

#include "door/door.h"
#include "ompjit_tune.h"
#include "program.h"

static const char source[] =
    "void steps(int n, double *x, double *c, double *y) {\n"
    "#pragma omp target teams distribute parallel for map(to: x[:n], c[:4]) "
    "map(from: y[:n])\n"
    "  for (int i = 0; i < n; i++) {\n"
    "    double s = 0;\n"
    "    for (int k = 0; k < i; k++) if (x[k] > s) s += c[k & 3] * c[2];\n"
    "    y[i] = s; } }\n"
    "void part(int m, int n, double *x) {\n"
    "#pragma omp target map(tofrom: x[:m]) firstprivate(n)\n"
    "  x[0] += n; }\n"
    "double table[8];\n"
    "void inside(int n) {\n"
    "#pragma omp target data map(tofrom: table[:4])\n"
    "  {\n"
    "#pragma omp target firstprivate(n)\n"
    "    table[1] += n; } }\n";

enum { N = 4096 };
static char record[] = "/tmp/ompjit-sizes-XXXXXX";

static void open_module(ompjit_specialize policy, const char *to)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    options.host_memory = OMPJIT_HOST_MEMORY_SEPARATE;
    options.specialize.mode = policy;
    options.specialize.record = to;
    open_program(&options, source);
}

static void (*function(const char *name))(void)
{
    void (*fn)(void) = NULL;
    if (ompjit_module_function(mod, name, &fn, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return fn;
}

/* ------------------------------------------------------------------- code */

static void code(void)
{
    ompjit_kernel *k = kernel("steps");
    uint64_t sizes[64] = {0};
    sizes[param(k, "x")] = sizes[param(k, "y")] = 8 * N;
    sizes[param(k, "c")] = 32;
    ompjit__spec spec = {.kernel = mod->unit.kernels[k->index].symbol,
                         .facts.sizes.values = sizes};
    for (unsigned i = 0; i < 64; i++)
        spec.facts.sizes.mask |= (uint64_t)(sizes[i] != 0) << i;
    static const char *const archs[] = {"sm_90", "host"};
    for (size_t i = 0; i < OMPJIT__COUNT(archs); i++) {
        ompjit__image image = {0};
        ok(!ompjit__door_build(&ctx->compiler, &mod->unit, archs[i],
                          OMPJIT_FORMAT_OPT_LL,
                          &spec, &image, &err) &&
               strstr(image.bytes.data, "dereferenceable(32768)") &&
               strstr(image.bytes.data, "dereferenceable(32)"),
           "%s: the code knows them", archs[i]);
        ompjit__image_free(&image);
    }
}

/* The coefficient can be read before the condition is known. */
static void fewer_instructions(void)
{
    enum { AMOUNT, X, C, Y, ARGS };
    ompjit_kernel *k = kernel("steps");
    ompjit_resources without = OMPJIT_RESOURCES_INIT;
    ompjit_resources with = OMPJIT_RESOURCES_INIT;
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[ARGS] = {ompjit_arg_i32("n", N),
                             ompjit_arg_pointer("x", NULL), /* aligned */
                             ompjit_arg_pointer("c", NULL),
                             ompjit_arg_pointer("y", NULL)};
    launch.teams = 8;
    launch.threads = 128;
    for (int i = X; i < ARGS; i++)
        args[i].flags = OMPJIT_ARG_NOALIAS;
    ompjit_status st =
        ompjit_kernel_code(k, "sm_90", &launch, args, ARGS, &without, &err);
    args[X].bytes = args[Y].bytes = 8 * N;
    args[C].bytes = 32;
    if (!st)
        st = ompjit_kernel_code(k, "sm_90", &launch, args, ARGS, &with, &err);
    if (st == OMPJIT_ERR_UNAVAILABLE)
        printf("# skipped: no assembler on this machine\n");
    else
        ok(!st && with.ptx < without.ptx, "%u PTX instructions, %u without",
           with.ptx, without.ptx);
    args[AMOUNT].bytes = 4;
    ok(ompjit_kernel_code(k, "sm_90", &launch, args, ARGS, &with, &err) ==
           OMPJIT_ERR_INVALID,
       "of a number no size is taken");
    ok_contains(err.text, "which is no pointer", "and the error says so");
}

/* --------------------------------------------------------------- variants */

/* The newest variant's size of what the parameter points to. */
struct found {
    unsigned param;
    uint64_t size;
    unsigned special;
};

static int look(void *data, const ompjit_variant_info *info)
{
    struct found *f = data;
    const ompjit_variant_param *p = &info->params[f->param];
    if (!info->generic && !f->special++ && p->facts & OMPJIT_FOLD_SIZES)
        f->size = p->bytes;
    return 0;
}

static struct found variants(const char *name, const char *of)
{
    ompjit_kernel *k = kernel(name);
    struct found f = {.param = param(k, of)};
    ompjit_kernel_variants(k, look, &f, &err);
    return f;
}

static void regions(void)
{
    static double x[N];
    char *text = NULL;
    void (*part)(int, int, double *) =
        (void (*)(int, int, double *))function("part");
    part(N, 2, x);
    part(N, 2, x);
    ok(variants("part", "x").size == 8 * N &&
           variants("part", "x").special == 1,
       "a region's variant knows its section's size");
    ok(!ompjit_kernel_explain(kernel("part"), &text, &err), "explained");
    ok_contains(text, "x has 32768 bytes", "with it");
    ompjit_bytes_free(text);
    part(N / 2, 2, x);
    ok(variants("part", "x").size == 4 * N &&
           variants("part", "x").special == 2,
       "for another size there is another");
    ok(x[0] == 6, "both right");
}

/* The region maps all of the table, implicitly, but half of it is there. */
static void larger(void)
{
    ((void (*)(int))function("inside"))(3);
    ok(variants("inside", "table").size == 32, "no more than is present");
}

static void automatic(void)
{
    static double x[N];
    void (*part)(int, int, double *) =
        (void (*)(int, int, double *))function("part");
    for (int i = 0; i < 200 && !variants("part", "x").special; i++) {
        part(1 + i % N, 2, x);
        if (i > 30) /* the build is in the background */
            usleep(20000);
    }
    struct found f = variants("part", "x");
    ok(f.special && !f.size, "a size that keeps changing is given up");
}

static uint64_t builds(void)
{
    ompjit_variant_stats stats = OMPJIT_VARIANT_STATS_INIT;
    ompjit_module_variants(mod, &stats, NULL);
    return stats.pending ? 0 : stats.builds;
}

static void told(void *data, unsigned line, const char *why)
{
    printf("# line %u: %s\n", line, why);
    ++*(int *)data;
}

static void lists(void)
{
    static double x[N];
    int fd = mkstemp(record), bad = 0;
    unsigned n = 0;
    close(fd);
    open_module(OMPJIT_SPECIALIZE_NOW, record);
    ((void (*)(int, int, double *))function("part"))(N, 2, x);
    close_module();
    open_module(OMPJIT_SPECIALIZE_NOW, NULL);
    ok(!ompjit_module_warm(mod, dev, record, told, &bad, &n, &err) && !bad && n,
       "a recorded list is read: %s", err.text);
    while (!builds())
        usleep(1000);
    uint64_t before = builds();
    ((void (*)(int, int, double *))function("part"))(N, 2, x);
    ok(builds() == before, "and has the variant that the region runs");
    FILE *f = fopen(record, "we");
    fputs("part_l9 n=2 size:n=4\npart_l9 size:x=0\npart_l9 size:q=8\n", f);
    fclose(f);
    ok(!ompjit_module_warm(mod, dev, record, told, &bad, &n, &err) && bad == 3,
       "sizes of numbers, of nothing and of no parameter are refused");
    close_module();
    unlink(record);
}

int main(void)
{
    open_module(OMPJIT_SPECIALIZE_NOW, NULL);
    code();
    fewer_instructions();
    regions();
    larger();
    close_module();
    open_module(OMPJIT_SPECIALIZE_AUTO, NULL);
    automatic();
    close_module();
    lists();
    return done_testing();
}
