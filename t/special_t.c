/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Specialization's effect on the code: literals, geometry, alignment and
 * non-aliasing of pointers, launch bounds, on both targets; with and without a
 * template.
 */
#include <malloc.h>
#include <unistd.h>

#include "backend/host/host.h"
#include "direct.h"
#include "targets/instruction_count.h"
#include "loader/jit.h"
#include "ompjit_debug.h"
#include "tap.h"

static const char source[] =
    "void axpby(int n, double a, double *x, double *y, double *z) {\n"
    "#pragma omp target teams distribute parallel for map(to: x[:n], y[:n]) "
    "map(from: z[:n])\n"
    "  for (int i = 0; i < n; i++) z[i] = a * x[i] + y[i];\n"
    "}\n"
    "void other(int *p) {\n"
    "#pragma omp target map(p[:1])\n"
    "  p[0]++;\n"
    "}\n";

static ompjit_error err;
static ompjit_context *ctx;
static ompjit_module *mod;
static ompjit__kernel_desc *axpby;

/* Parameters by name; 64: none of that name. */
static unsigned param(const char *name)
{
    for (unsigned i = 0; i < axpby->nparams; i++)
        if (!strcmp(axpby->params[i].name, name))
            return i;
    return 64;
}

static uint64_t bit(const char *name)
{
    return UINT64_C(1) << param(name);
}

/* The text of a build, or its error's; the caller frees. */
static char *text_of(const char *arch, ompjit_format format,
                     const ompjit__spec *spec)
{
    ompjit__image image = {0};
    if (ompjit__build(&ctx->compiler, &mod->unit, arch, format, spec, &image,
                      &err))
        return strdup(err.text);
    char *text = strdup(image.bytes.data);
    ompjit__image_free(&image);
    return text;
}

static void has(const char *arch, ompjit_format format,
                const ompjit__spec *spec, const char *words, int wanted,
                const char *what)
{
    char *text = text_of(arch, format, spec);
    ok(!!strstr(text, words) == wanted, "%s: %s%s", what,
       wanted ? "" : "no ", words);
    free(text);
}

static void targets(const char *how, bool templated)
{
    uint64_t values[64] = {0};
    double a = 7.25;
    memcpy(&values[param("a")], &a, sizeof a);
    values[param("n")] = 4096;
    ompjit__spec plain = {.kernel = axpby->symbol};
    ompjit__spec spec = {.kernel = axpby->symbol,
                         .facts.threads.all = 128,
                         .facts.teams.all = 32,
                         .facts.literals.values = values,
                         .facts.literals.mask = bit("a") | bit("n")};
    printf("# %s\n", how);
    has("sm_90", OMPJIT_FORMAT_PTX, &spec, ".reqntid 128", 1, "128 threads");
    has("sm_90", OMPJIT_FORMAT_PTX, &spec, ".maxntid", 0, "128 threads");
    has("sm_90", OMPJIT_FORMAT_PTX, &plain, ".reqntid", 0, "any threads");
    has("sm_90", OMPJIT_FORMAT_PTX, &spec, "0d401D000000000000", 1,
        "the literal 7.25");
    has("sm_90", OMPJIT_FORMAT_PTX, &plain, "0d401D000000000000", 0,
        "the generic kernel");
    has("sm_90", OMPJIT_FORMAT_PTX, &spec, "%nctaid", 0, "32 teams");

    spec.facts.threads.all = 1;
    spec.facts.teams.all = 0;
    plain.facts.threads.all = 1;
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "7.250000e+00", 1,
        "host, the literal");
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "conflict", 1,
        "host, pointers that may alias");
    spec.facts.noalias = bit("x") | bit("y") | bit("z");
    if (templated)
        has("host", OMPJIT_FORMAT_OPT_LL, &spec, "conflict", 0,
            "host, pointers that do not");
    spec.facts.teams.all = 1; /* which begins at the arrays' */
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "align 64", 0, "host, unaligned");
    spec.facts.aligned = bit("x");
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "align 64", 1, "host, aligned");
}

/* With all geometry and the trip count known, no loop goes round teams, and
 * nothing of the runtime is left (of PTX, where a template's code is seen by
 * openmp-opt once more). */
static void straight(bool templated)
{
    uint64_t values[64] = {0};
    values[param("n")] = 4096;
    ompjit__spec spec = {.kernel = axpby->symbol,
                         .facts.threads.all = 128,
                         .facts.teams.all = 32,
                         .facts.literals.values = values,
                         .facts.literals.mask = bit("n")};
    printf("# straight loops\n");
    has("sm_90", OMPJIT_FORMAT_PTX, &spec, "min.s", 0, "PTX");
    if (templated) {
        has("sm_90", OMPJIT_FORMAT_PTX, &spec, "bar.sync", 0, "PTX");
        has("sm_90", OMPJIT_FORMAT_PTX, &spec, "st.shared", 0, "PTX");
    }
    spec.facts.threads.all = 1;
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "call ptr @ompjit_host_self", 1,
        "host, 32 teams");
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "llvm.smin", 0, "host, 32 teams");
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "shared_size = constant i32 0", 1,
        "host, 32 teams");
    spec.facts.teams.all = 1;
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "call ptr @ompjit_host_self", 0,
        "host, one team");
    spec.facts.literals.mask = 0;
    spec.facts.teams.all = 0;
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "call ptr @ompjit_host_self", 1,
        "host, any number of teams");
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "shared_size = constant i32 0", 1,
        "host, any number of teams");
}

/* How often a word stands in a text. */
static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

static const char product_source[] =
    "void product(int m, long n, double *a, double *b, double *c) {\n"
    "#pragma omp target teams distribute parallel for\n"
    "  for (long p = 0; p < n; p++)\n"
    "    for (int i = 0; i < m; i++)\n"
    "      for (int j = 0; j < m; j++) {\n"
    "        double sum = 0;\n"
    "        for (int k = 0; k < m; k++)\n"
    "          sum += a[(p * m + i) * m + k] * b[(p * m + k) * m + j];\n"
    "        c[(p * m + i) * m + j] = sum;\n"
    "      }\n"
    "}\n";

/* Its kernel, for 4096 products of matrices of so many rows. */
static ompjit__spec product_of(uint64_t rows, uint64_t values[64])
{
    const ompjit__kernel_desc *k = &mod->unit.kernels[0];
    ompjit__spec spec = {.kernel = k->symbol,
                         .facts.threads.all = 1,
                         .facts.teams.all = 2,
                         .facts.literals.values = values};
    for (unsigned i = 0; i < k->nparams; i++) {
        if (k->params[i].kind == OMPJIT__PARAM_POINTER)
            continue;
        spec.facts.literals.mask |= UINT64_C(1) << i;
        values[i] = strcmp(k->params[i].name, "m") ? 4096 : rows;
    }
    return spec;
}

/* The shorter pipeline from a template makes no less of the code: a product of
 * small matrices is unrolled and vectorized just as much. */
static void same_code(void)
{
    uint64_t values[64];
    ompjit__spec spec = product_of(32, values);
    char *from_template =
        text_of("host", OMPJIT_FORMAT_OPT_LL, &spec);
    struct ompjit__templates *templates = mod->unit.templates;
    mod->unit.templates = NULL;
    char *direct = text_of("host", OMPJIT_FORMAT_OPT_LL, &spec);
    mod->unit.templates = templates;
    int products = count(from_template, "x double> @llvm.fmuladd");
    ok(products > 0 && products >= count(direct, "x double> @llvm.fmuladd"),
       "%d products of vectors from a template, %d without", products,
       count(direct, "x double> @llvm.fmuladd"));
    free(direct);
    free(from_template);
}

/* Lines of a text that have both words. */
static int count_lines(const char *text, const char *word, const char *other)
{
    int n = 0;
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        n += memmem(text, length, word, strlen(word)) &&
             memmem(text, length, other, strlen(other));
    }
    return n;
}

/* A matrix of 64 vectors in a loop that has 16 registers stays where it is; and
 * the vectors that are spilled do not lie across cache lines. */
static void spilled_vectors(void)
{
    uint64_t values[64];
    ompjit__spec spec = product_of(16, values);
    spec.facts.noalias = UINT64_MAX;
    char *text = text_of("x86-64-v3", OMPJIT__FORMAT_ASSEMBLY, &spec);
    int products = count(text, "vfmadd");
    int spills = count(text, "32-byte Spill");
    ok(products >= 64 && spills <= 8, "%d products, %d vectors spilled",
       products, spills);
    free(text);
    spec = product_of(32, values);
    text = text_of("x86-64-v3", OMPJIT__FORMAT_ASSEMBLY, &spec);
    spills = count(text, "32-byte Spill");
    ok(spills && count_lines(text, "vmova", "32-byte Spill") == spills,
       "%d vectors spilled, all aligned", spills);
    free(text);
    spec = (ompjit__spec){.kernel = spec.kernel, .facts.threads.all = 1};
    has("x86-64-v3", OMPJIT_FORMAT_OPT_LL, &spec, "\"stackrealign\"", 0,
        "no vectors");
}

/* Vectors of a column are stored one by one where that is faster. */
static void no_scatter(void)
{
    uint64_t values[64];
    char cpu[64];
    ompjit__spec spec = product_of(8, values);
    spec.facts.noalias = UINT64_MAX;
    ompjit__host_cpu(cpu, sizeof cpu);
    if (strncmp(cpu, "znver", 5))
        ok(1, "no scatters # SKIP this is no AMD processor");
    else
        has("host", OMPJIT_FORMAT_OPT_LL, &spec, "masked.scatter", 0, cpu);
}

static void products(void)
{
    ompjit_module *whole = mod;
    if (direct_module(ctx, product_source, &mod, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    same_code();
    spilled_vectors();
    no_scatter();
    ompjit_module_destroy(mod);
    mod = whole;
}

static void templates(void)
{
    ompjit__spec spec = {.kernel = axpby->symbol, .facts.threads.all = 1};
    ompjit__spec unknown = {.kernel = "nobody", .facts.threads.all = 1};
    ompjit__image image;
    ompjit_times before = OMPJIT_TIMES_INIT, after = OMPJIT_TIMES_INIT;
    ompjit_context_times(ctx, &before, NULL);
    uint32_t *teams = &spec.facts.teams.all;
    for (*teams = 1; *teams < 5; ++*teams)
        if (!ompjit__build(&ctx->compiler, &mod->unit, "host",
                           OMPJIT_FORMAT_OBJECT, &spec,
                           &image, &err))
            ompjit__image_free(&image);
    ompjit_context_times(ctx, &after, NULL);
    ok(after.stage[OMPJIT_STAGE_LINK].count == before.stage[OMPJIT_STAGE_LINK].count,
       "four more variants: the runtime is not linked again");
    ok(ompjit__build(&ctx->compiler, &mod->unit, "host", OMPJIT_FORMAT_OBJECT,
                     &unknown,
                     &image, &err) == OMPJIT_ERR_NOT_FOUND,
       "no such kernel: %s", err.text);
    ok(!ompjit__build(&ctx->compiler, &mod->unit, "host", OMPJIT_FORMAT_OBJECT,
                      &spec,
                      &image, &err),
       "and the next build is as ever");
    ompjit__image_free(&image);
}

/* A GPU's variants read variables by the first image's addresses. */
static void variables(void)
{
    static const char text[] =
        "#pragma omp begin declare target\n"
        "int seen, own[4]; static int *const fixed = &seen;\n"
        "static int next(void) { static int n; return n++; }\n"
        "#pragma omp end declare target\n"
        "void note(int k) {\n"
        "#pragma omp target firstprivate(k)\n"
        "  { seen += k; own[k & 3] = next(); *fixed += 1; } }\n";
    ompjit_module *other, *first = mod;
    if (direct_module(ctx, text, &other, &err)) {
        ok(0, "%s", err.text);
        return;
    }
    mod = other;
    ompjit__spec spec = {.kernel = mod->unit.kernels[0].symbol};
    has("sm_90", OMPJIT_FORMAT_PTX, &spec,
        ".visible .global .align 4 .u32 seen", 1, "the first image");
    has("sm_90", OMPJIT_FORMAT_PTX, &spec, ".global .align 4 .u32 next_n", 1,
        "the first image, static variables too,");
    has("sm_90", OMPJIT_FORMAT_PTX, &spec, "ompjit_imports", 0,
        "the first image");
    spec.import_globals = true;
    has("sm_90", OMPJIT_FORMAT_PTX, &spec,
        ".visible .const .align 8 .b8 ompjit_imports[32]", 1, "a later one");
    has("sm_90", OMPJIT_FORMAT_PTX, &spec, "seen", 0, "a later one");
    ompjit__image image = {0};
    ompjit_status st = ompjit__build(&ctx->compiler, &mod->unit, "sm_90",
                                     OMPJIT_FORMAT_CUBIN, &spec, &image, &err);
    if (st == OMPJIT_ERR_UNAVAILABLE)
        printf("# skipped: no assembler on this machine\n");
    else
        ok(!st && image.imports_globals && image.nglobals == 4 &&
               image.modes.size == 1,
           "a cubin says what it imports, and its modes: %s", err.text);
    if (!st)
        ompjit__image_free(&image);
    ompjit_module_destroy(other);
    mod = first;
}

/* A launch needs to know what openmp-opt made of each kernel. */
static void modes_are_kept(void)
{
    ompjit__spec spec = {0};
    ompjit__image ptx = {0}, cubin = {0};
    ok(!ompjit__build(&ctx->compiler, &mod->unit, "sm_90", OMPJIT_FORMAT_PTX,
                      &spec, &ptx,
                      &err) &&
           ptx.modes.size == mod->unit.nkernels,
       "PTX has the kernels' modes");
    if (ompjit__build(&ctx->compiler, &mod->unit, "sm_90", OMPJIT_FORMAT_CUBIN,
                      &spec,
                      &cubin, &err))
        printf("# skipped: no cubin: %s\n", err.text);
    else
        ok(cubin.modes.size == ptx.modes.size &&
               !memcmp(cubin.modes.data, ptx.modes.data, ptx.modes.size) &&
               cubin.environment == ptx.environment,
           "a cubin has the same");
    ompjit__image_free(&ptx);
    ompjit__image_free(&cubin);
}

static const char sparse_source[] =
    "void sparse(long rows, const int *column, const double *value,\n"
    "            const double *x, double *y) {\n"
    "#pragma omp target teams distribute parallel for \\\n"
    "    map(to: column[:rows * 5], value[:rows * 5], x[:rows]) \\\n"
    "    map(from: y[:rows])\n"
    "  for (long i = 0; i < rows; i++) {\n"
    "    double sum = 0;\n"
    "    for (int k = 0; k < 5; k++)\n"
    "      sum += value[i * 5 + k] * x[column[i * 5 + k]];\n"
    "    y[i] = sum;\n"
    "  }\n"
    "}\n";

/* A product whose rows have five values: slower with vectors. */
static void no_vectors(void)
{
    ompjit_module *whole = mod;
    char cpu[64];
    if (direct_module(ctx, sparse_source, &mod, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    ompjit__spec spec = {.kernel = mod->unit.kernels[0].symbol,
                         .facts.threads.all = 1,
                         .facts.teams.all = 1,
                         .facts.noalias = UINT64_MAX};
    has("host", OMPJIT_FORMAT_OPT_LL, &spec, "shufflevector", 0, "rows of 5");
    ompjit__host_cpu(cpu, sizeof cpu);
    if (strncmp(cpu, "znver", 5))
        ok(1, "no gathers # SKIP this is no AMD processor");
    else
        has("host", OMPJIT_FORMAT_OPT_LL, &spec, "masked.gather", 0, cpu);
    ompjit_module_destroy(mod);
    mod = whole;
}

/* A runtime that was read ahead is the next build's, which makes the same. */
static void read_ahead(void)
{
    ompjit__spec spec = {0};
    char *before = text_of("sm_90", OMPJIT_FORMAT_PTX, &spec);
    ompjit__machine_prepare(&ctx->compiler);
    const ompjit__machine *m = ctx->compiler.machines;
    ok(m && m->context && m->runtime, "the runtime is read ahead");
    ok(m && m->generator, "the code generator is set up");
    char *after = text_of("sm_90", OMPJIT_FORMAT_PTX, &spec);
    ok(m && !m->context && !m->generator, "a build takes them");
    ok(m && m->old && m->old_m, "and leaves to others to free what it has used");
    ok_string(after, before, "and makes the same");
    ompjit__machine_prepare(&ctx->compiler); /* left for the context's end */
    ok(m && m->context && !m->old, "there is one again");
    free(before);
    free(after);
}

/* glibc keeps what a build frees for the next; else it is mapped anew each
 * time, at 1900 page faults. */
static void heap_stays(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    ok(1, "the heap # SKIP sanitizers have their own allocator");
#else
    size_t mapped = mallinfo2().hblks;
    void *volatile block = malloc(4 << 20);
    ok(mallinfo2().hblks == mapped, "4 MiB come from the heap");
    free(block);
#endif
}

/* Arrays of one size, which are gone through side by side: what is stored into
 * one does not look like what is loaded from another soon after, which are
 * compared by their places in pages. */
static void arrays_apart(void)
{
    enum { SIZE = 1 << 20, APART = 512 };
    ompjit_device *dev;
    char *p[3] = {0};
    bool good = !ompjit_context_device(ctx, 0, &dev, &err);
    for (int i = 0; good && i < 3; i++)
        good = !ompjit_device_alloc(dev, SIZE, (void **)&p[i], &err);
    for (int i = 0; good && i < 3; i++)
        good = (uintptr_t)p[i] % APART == 0;
    ok(good, "arrays at %p, %p and %p: %s", (void *)p[0], (void *)p[1],
       (void *)p[2], good ? "fine" : err.text);
    for (int i = 0; i < 3; i++)
        ompjit_device_free(dev, p[i], NULL);
}

/* The flags of the mapping that an address is in, as in /proc/self/smaps;
 * empty: the system tells none. */
static void flags_of(const void *p, char flags[512])
{
    static const char key[] = "VmFlags:";
    FILE *maps = fopen("/proc/self/smaps", "r");
    unsigned long begin, end, at = (uintptr_t)p;
    bool here = false;
    char line[512];
    *flags = '\0';
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            here = begin <= at && at < end;
        else if (here && !strncmp(line, key, sizeof key - 1))
            snprintf(flags, 512, "%s", line + sizeof key - 1);
    }
    if (maps)
        fclose(maps);
}

static void large_pages(void)
{
    enum { SIZE = 16 << 20 };
    ompjit_device *dev;
    char *p, flags[512];
    if (ompjit_context_device(ctx, 0, &dev, &err) ||
        ompjit_device_alloc(dev, SIZE, (void **)&p, &err)) {
        ok(0, "%s", err.text);
        return;
    }
    flags_of(p + SIZE / 2, flags);
    if (!*flags || access("/sys/kernel/mm/transparent_hugepage", F_OK))
        ok(1, "large pages # SKIP this system has none, or does not tell");
    else /* nh: the first one was slow to come, so it asks for small ones */
        ok(strstr(flags, " hg") || strstr(flags, " nh"),
           "an array asks for large pages:%s", flags);
    ompjit_device_free(dev, p, NULL);
}

int main(void)
{
    ompjit_kernel *kernel;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    if (ompjit_context_create(&options, &ctx, &err) ||
        direct_module(ctx, source, &mod, &err) ||
        ompjit_module_kernel(mod, "axpby", &kernel, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    axpby = &mod->unit.kernels[kernel->index];
    targets("from a template", true);
    straight(true);
    templates();
    products();
    ompjit__templates_free(mod->unit.templates);
    mod->unit.templates = NULL;
    targets("from the unit itself", false);
    straight(false);
    no_vectors();
    variables();
    modes_are_kept();
    read_ahead();
    heap_stays();
    arrays_apart();
    large_pages();
    ompjit_module_destroy(mod);
    direct_end(ctx);
    return done_testing();
}
