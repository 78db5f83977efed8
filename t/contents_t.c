/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Contents of small arrays and structs compiled into kernels: on both targets,
 * for the very bytes only, and never where the kernel or anybody else may
 * change them.
 */
#include "door/door.h"
#include "ompjit_tune.h"
#include "program.h"

static const char source[] =
    "struct pair { float a, b; };\n"
    "void conv(int n, float *c, float *x, float *y, struct pair p) {\n"
    "#pragma omp target teams distribute parallel for map(to: c[:3], x[:n]) "
    "map(from: y[:n]) firstprivate(p)\n"
    "  for (int i = 0; i < n; i++)\n"
    "    y[i] = p.a * (c[0] * x[i] + c[1] + c[2] * i) + p.b;\n"
    "}\n"
    "void writes(int n, float *c, float *y) {\n"
    "#pragma omp target map(to: c[:3]) map(from: y[:n])\n"
    "  { for (int i = 0; i < n; i++) { c[0] += 1; y[i] = c[0]; } }\n"
    "}\n"
    "void scratch(int n, struct pair p, float *y) {\n"
    "#pragma omp target firstprivate(p) map(from: y[:n])\n"
    "  for (int i = 0; i < n; i++) { p.a += 1; y[i] = p.a * p.b; }\n"
    "}\n"
    "void stale(int n, float *c, float *x, float *y, struct pair p) {\n"
    "#pragma omp target data map(to: c[:3])\n"
    "  { c[0] = 1000; conv(n, c, x, y, p); }\n"
    "}\n"
    "void same(int n, float *c) {\n"
    "#pragma omp target map(to: c[:3]) map(tofrom: n)\n"
    "  n += c[0];\n"
    "}\n";

struct pair { float a, b; };
enum { N = 50 };
static _Alignas(64) float c[3], x[N], y[N];

static void open_module(ompjit_specialize policy, ompjit_host_memory memory)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    options.host_memory = memory;
    options.specialize.mode = policy;
    open_program(&options, source);
}

/* ------------------------------------------------------------------- code */

/* Does the code have the number 7.25, which is c[0]? */
static int has_number(const char *name, const char *arch, const char *words)
{
    static const float values[3] = {7.25f, 3, 5};
    ompjit_kernel *k = kernel(name);
    ompjit__contents list[] = {{param(k, "c"), sizeof values, values}};
    ompjit__image image = {0};
    ompjit__spec spec = {.kernel = mod->unit.kernels[k->index].symbol,
                         .facts.threads.all = strcmp(arch, "host") ? 0 : 1,
                         .facts.contents.n = words ? 1 : 0,
                         .facts.contents.list = list};
    const char *number = strcmp(arch, "host") ? "0f40E80000" : "7.250000e+00";
    if (ompjit__door_build(&ctx->compiler, &mod->unit, arch,
                      strcmp(arch, "host") ? OMPJIT_FORMAT_PTX
                                           : OMPJIT_FORMAT_OPT_LL,
                      &spec, &image, &err)) {
        printf("# %s\n", err.text);
        return -1;
    }
    int found = strstr(image.bytes.data, number) != NULL;
    ompjit__image_free(&image);
    return found;
}

static void code(void)
{
    open_module(OMPJIT_SPECIALIZE_NOW, OMPJIT_HOST_MEMORY_SHARED);
    ok(has_number("conv", "host", "c") == 1, "host: a constant of the code");
    ok(has_number("conv", "host", NULL) == 0, "host: of no other");
    ok(has_number("conv", "sm_90", "c") == 1, "PTX: a constant of the code");
    ok(has_number("writes", "host", "c") == 0, "not where it is written");
    ok(has_number("writes", "sm_90", "c") == 0, "nor in PTX");
    close_module();
}

/* ----------------------------------------------------------------- regions */

static void *function(const char *name)
{
    void (*fn)(void) = NULL;
    if (ompjit_module_function(mod, name, &fn, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return (void *)fn;
}

typedef void conv_fn(int n, float *c, float *x, float *y, struct pair p);

static void fill(float c0)
{
    c[0] = c0;
    c[1] = 3;
    c[2] = 5;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = -1;
    }
}

static int right(float c0, struct pair p)
{
    for (int i = 0; i < N; i++)
        if (y[i] != p.a * (c0 * x[i] + 3 + 5 * (float)i) + p.b)
            return 0;
    return 1;
}

static int conv(float c0, float a)
{
    struct pair p = {a, 1};
    conv_fn *f = (conv_fn *)function("conv");
    fill(c0);
    f(N, c, x, y, p);
    return right(c0, p);
}

static uint64_t builds(void)
{
    ompjit_variant_stats s = OMPJIT_VARIANT_STATS_INIT;
    ompjit_module_variants(mod, &s, &err);
    return s.builds;
}

static int see(void *data, const ompjit_variant_info *v)
{
    for (unsigned i = 0; i < v->nparams; i++)
        if (v->params[i].facts & OMPJIT_FOLD_CONTENTS)
            *(uint64_t *)data |= UINT64_C(1) << i;
    return 0;
}

static void regions(ompjit_host_memory memory, const char *how)
{
    uint64_t seen = 0;
    open_module(OMPJIT_SPECIALIZE_NOW, memory);
    ompjit_kernel *k = kernel("conv");
    ok(conv(1, 2) && conv(2, 2) && builds() == 1,
       "%s: arrays are not folded unasked", how);
    ok(conv(1, 3) && conv(1, 2) && builds() == 2,
       "%s: small private structs are", how);
    ok(!ompjit_kernel_fold_contents(k, "c", &err) && conv(1, 2) &&
           conv(2, 2) && conv(1, 2) && builds() == 4,
       "%s: an array that was asked for, for each of its contents", how);
    ok(!ompjit_kernel_variants(k, see, &seen, &err) &&
           seen == (1u << param(k, "c") | 1u << param(k, "p")),
       "%s: variants tell", how);

    struct pair p = {2, 1};
    fill(4);
    ((conv_fn *)function("stale"))(N, c, x, y, p);
    ok(right(memory == OMPJIT_HOST_MEMORY_SHARED ? 1000 : 4, p),
       "%s: what was mapped before is what the device has", how);

    fill(4);
    ok(!ompjit_kernel_fold_contents(kernel("writes"), "c", &err), "asked for");
    ((void (*)(int, float *, float *))function("writes"))(N, c, y);
    ok(y[0] == 5 && y[N - 1] == 4 + N,
       "%s: a kernel that writes what is mapped to it", how);
    ((void (*)(int, struct pair, float *))function("scratch"))(N, p, y);
    ok(y[0] == 3 && y[N - 1] == 2 + N,
       "%s: a kernel that writes its private struct", how);
    close_module();
}

static void policies(void)
{
    open_module(OMPJIT_SPECIALIZE_OFF, OMPJIT_HOST_MEMORY_SHARED);
    ok(!ompjit_kernel_fold_contents(kernel("conv"), "c", &err) && conv(1, 2) &&
           conv(2, 3) && builds() == 1, "off: nothing is folded");
    close_module();
    open_module(OMPJIT_SPECIALIZE_AUTO, OMPJIT_HOST_MEMORY_SHARED);
    ompjit_kernel_fold_contents(kernel("conv"), "c", &err);
    int good = 1;
    for (int i = 0; i < 30; i++)
        good &= conv((float)i, 2);
    ok(good && builds() == 1, "auto: contents that change build nothing");
    close_module();
}

/* ---------------------------------------------------------------- launches */

/* With contents of the parameter `of`. */
static ompjit_status launch(const char *of, const void *contents, uint64_t size,
                            uint32_t fold)
{
    static struct pair p = {2, 1};
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[] = {ompjit_arg_i32("n", N), ompjit_arg_pointer("c", c),
                         ompjit_arg_pointer("x", x), ompjit_arg_pointer("y", y),
                         ompjit_arg_pointer("p", &p)};
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        if (!strcmp(args[i].name, of)) {
            args[i].contents = contents;
            args[i].bytes = size;
        }
    l.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    l.teams = 1;
    l.specialize.fold = fold;
    return ompjit_kernel_launch(kernel("conv"), dev, &l, args, 5, &err);
}

static void launches(void)
{
    float other[3] = {9, 3, 5};
    struct pair p = {2, 1};
    open_module(OMPJIT_SPECIALIZE_OFF, OMPJIT_HOST_MEMORY_SHARED);
    ompjit_kernel *k = kernel("conv");
    fill(4);
    ok(!launch("c", other, sizeof other, 0) && right(9, p),
       "a launch runs what it is told");
    other[0] = 8;
    ok(!launch("c", other, sizeof other, 0) && right(8, p),
       "and other bytes are others");
    ok(!launch("c", other, sizeof other, OMPJIT_FOLD_TEAMS) && right(4, p),
       "unless it is not to be folded");
    static const struct {
        const char *param;
        uint64_t size;
    } wrong[] = {{"n", 12}, {"c", 0}, {"c", OMPJIT_CONTENTS_MAX + 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ompjit_status st = launch(wrong[i].param, other, wrong[i].size, 0);
        ok(st == OMPJIT_ERR_INVALID, "%s", err.text);
    }
    ompjit_status st = ompjit_kernel_fold_contents(k, "n", &err);
    ok(st == OMPJIT_ERR_INVALID, "%s", err.text);
    st = ompjit_kernel_fold_contents(k, "q", &err);
    ok(st == OMPJIT_ERR_ARGUMENT, "%s", err.text);
    close_module();
}

int main(void)
{
    code();
    regions(OMPJIT_HOST_MEMORY_SHARED, "shared");
    regions(OMPJIT_HOST_MEMORY_SEPARATE, "separate");
    policies();
    launches();
    done_testing();
}
