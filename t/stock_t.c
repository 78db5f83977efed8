/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Variants share memory and machines (backend/build_scratch.h), and that does
 * not show in them: built one after another, of different kernels, in turn,
 * they are what each is in a context of its own.
 */
#include <ctype.h>

#include "axpy_sum.h"
#include "direct.h"
#include "passes/hosthalf/hosthalf.h"
#include "tap.h"

/* More kernels than templates are kept; `rows` is generic and `sum` reduces, so
 * they have shared variables on a GPU; `every` has a product and a quotient. */
static const char source[] =
    AXPY_AND_SUM
    "void rows(int n, int m, double *x) {\n"
    "#pragma omp target teams distribute map(x[:n * m])\n"
    "  for (int i = 0; i < n; i++) {\n"
    "    double f = x[i * m];\n"
    "#pragma omp parallel for\n"
    "    for (int k = 1; k < m; k++) x[i * m + k] *= f;\n"
    "  }\n"
    "}\n"
    "struct body { float x, y, z; };\n"
    "void every(int n, int step, struct body *b) {\n"
    "#pragma omp target teams distribute parallel for map(b[:n])\n"
    "  for (int i = 0; i < n; i++) b[i / step * step].x += b[i].z;\n"
    "}\n"
    "void one(int *p) {\n"
    "#pragma omp target map(p[:1])\n"
    "  p[0]++;\n"
    "}\n"
    "void scale(int n, float a, float *x) {\n"
    "#pragma omp target teams distribute parallel for simd map(x[:n])\n"
    "  for (int i = 0; i < n; i++) x[i] *= a;\n"
    "}\n";

static const char foreign[] =
    "int omp_get_nobody_knows(void);\n"
    "void wrong(int *p, int n) {\n"
    "#pragma omp target map(p[:1])\n"
    "  p[0] = omp_get_nobody_knows() + n;\n"
    "}\n";

static ompjit_error err;

static ompjit_context *open_context(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    options.devices = "host";
    if (ompjit_context_create(&options, &ctx, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return ctx;
}

static ompjit_module *open_module(ompjit_context *ctx, const char *text)
{
    ompjit_module *mod;
    if (direct_module(ctx, text, &mod, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return mod;
}

/* With all scalars folded to numbers that `turn` decides. */
static ompjit_status build(ompjit_context *ctx, const ompjit__unit *unit,
                           unsigned kernel, bool gpu, unsigned turn,
                           ompjit__buf *out)
{
    const ompjit__kernel_desc *k = &unit->kernels[kernel];
    uint64_t values[64] = {0};
    ompjit__spec spec = {.kernel = k->symbol,
                         .facts.threads.all = gpu ? 64 : 1,
                         .facts.teams.all = 2 + turn,
                         .facts.literals.values = values};
    for (unsigned i = 0; i < k->nparams; i++)
        if (k->params[i].kind != OMPJIT__PARAM_POINTER) {
            spec.facts.literals.mask |= UINT64_C(1) << i;
            values[i] = 100 + 1000 * turn + i;
        }
    ompjit__image image = {0};
    ompjit_status status = ompjit__build(
        &ctx->compiler, unit, gpu ? "sm_90" : "host",
        gpu ? OMPJIT_FORMAT_PTX : OMPJIT_FORMAT_OBJECT, &spec, &image, &err);
    if (!status)
        ompjit__buf_add(out, image.bytes.data, image.bytes.size);
    ompjit__image_free(&image);
    return status;
}

/* PTX numbers calls from one build of a target machine to the next; the numbers
 * mean nothing. */
static void forget_numbers(ompjit__buf *text, const char *before)
{
    size_t n = strlen(before), to = 0;
    for (size_t at = 0; at < text->size;) {
        bool found = text->size - at > n && !memcmp(text->data + at, before, n);
        for (size_t i = 0; i < (found ? n : 1); i++)
            text->data[to++] = text->data[at++];
        while (found && isdigit((unsigned char)text->data[at]))
            at++;
    }
    text->size = to;
}

static bool same(ompjit__buf *a, ompjit__buf *b, bool gpu)
{
    static const char *const numbered[] = {"callseq ", "prototype_"};
    for (size_t i = 0; gpu && i < OMPJIT__COUNT(numbered); i++) {
        forget_numbers(a, numbered[i]);
        forget_numbers(b, numbered[i]);
    }
    return a->size && a->size == b->size && !memcmp(a->data, b->data, a->size);
}

/* Enough of them for the shared LLVM context to be replaced. */
enum { TURNS = 6, ROUNDS = 2 };

static void compare(ompjit_context *shared, const ompjit__unit *unit, bool gpu)
{
    unsigned built = 0, alike = 0;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned turn = 0; turn < TURNS; turn++)
            for (unsigned k = 0; k < unit->nkernels; k++) {
                ompjit__buf a = {0}, b = {0};
                ompjit_context *own = open_context();
                if (!build(shared, unit, k, gpu, turn, &a) &&
                    !build(own, unit, k, gpu, turn, &b)) {
                    bool is = same(&a, &b, gpu);
                    if (!is)
                        printf("# kernel %u, turn %u differs\n", k, turn);
                    built++;
                    alike += is;
                }
                direct_end(own);
                ompjit__buf_free(&a);
                ompjit__buf_free(&b);
            }
    ok(built == ROUNDS * TURNS * unit->nkernels && alike == built,
       "%s: %u of %u variants are what they are alone", gpu ? "PTX" : "host",
       alike, built);
}

/* A build that fails leaves nothing behind for the next. */
static void fail_between(ompjit_context *shared, const ompjit__unit *unit,
                         bool gpu)
{
    ompjit_module *mod = open_module(shared, foreign);
    ompjit__buf before = {0}, none = {0}, behind = {0};
    build(shared, unit, 0, gpu, 1, &before);
    ok(build(shared, &mod->unit, 0, gpu, 1, &none) == OMPJIT_ERR_LINK,
       "%s: a build that fails", gpu ? "PTX" : "host");
    ok_contains(err.text, "omp_get_nobody_knows", "  with its reason");
    ok(!build(shared, unit, 0, gpu, 1, &behind) && same(&before, &behind, gpu),
       "  and the next is what it was");
    ompjit__buf_free(&before);
    ompjit__buf_free(&none);
    ompjit__buf_free(&behind);
    ompjit_module_destroy(mod);
}

static void compile_half(ompjit_context *ctx, const ompjit__unit *unit,
                         ompjit__buf *object)
{
    ompjit__half_source *half;
    if (ompjit__half_open(&ctx->compiler, unit, false, NULL, &half, &err))
        return;
    ompjit__half_generate(&ctx->compiler, half, 0, object, &err);
    ompjit__half_close(half);
}

static unsigned machines_of_halves(const ompjit_context *ctx)
{
    unsigned n = 0;
    for (const ompjit__machine *m = ctx->compiler.machines; m; m = m->next)
        n += m->emulated_tls;
    return n;
}

/* A host half has emulated thread-local storage, and so no build's machine. */
static void halves_share_a_machine(const ompjit__unit *unit)
{
    ompjit_context *ctx = open_context();
    ompjit__buf first = {0}, second = {0}, image = {0};
    compile_half(ctx, unit, &first);
    const ompjit__machine *used = ctx->compiler.machines;
    compile_half(ctx, unit, &second);
    ok(used && !used->next && used == ctx->compiler.machines,
       "a second host half is compiled by the machine of the first");
    ok(same(&first, &second, false), "  to the same object");
    ok(!build(ctx, unit, 0, false, 1, &image) &&
           machines_of_halves(ctx) == 1 && ctx->compiler.machines->next,
       "  and a build for the host takes another one");
    direct_end(ctx);
    ompjit__buf_free(&first);
    ompjit__buf_free(&second);
    ompjit__buf_free(&image);
}

/* All kernels, with nothing folded. */
static void build_whole(ompjit_context *ctx, const ompjit__unit *unit,
                        ompjit__buf *out)
{
    const ompjit__spec spec = {.facts.threads.all = 1};
    ompjit__image image = {0};
    if (!ompjit__build(&ctx->compiler, unit, "host", OMPJIT_FORMAT_OBJECT,
                       &spec, &image, &err))
        ompjit__buf_add(out, image.bytes.data, image.bytes.size);
    ompjit__image_free(&image);
}

static void prepared_is_alike(const ompjit__unit *unit)
{
    ompjit_context *ready = open_context(), *own = open_context();
    ompjit__buf a = {0}, b = {0};
    ompjit__machine_prepare_host(&ready->compiler, unit->opt_level);
    const ompjit__machine *m = ready->compiler.machines;
    ok(m && m->runtime && !m->next, "a machine is ready for a copy's build");
    ompjit__machine_prepare_host(&ready->compiler, unit->opt_level);
    ok(m && m == ready->compiler.machines && !m->next, "  and stays so");
    build_whole(ready, unit, &a);
    build_whole(own, unit, &b);
    ok(m && !m->context && m == ready->compiler.machines && !m->next,
       "  the build takes it");
    ok(same(&a, &b, false), "  to the same object as without");
    direct_end(ready);
    direct_end(own);
    ompjit__buf_free(&a);
    ompjit__buf_free(&b);
}

int main(void)
{
    ompjit_context *shared = open_context();
    ompjit_module *mod = open_module(shared, source);
    halves_share_a_machine(&mod->unit);
    prepared_is_alike(&mod->unit);
    ok(mod->unit.nkernels == 6, "six kernels");
    for (int gpu = 0; gpu < 2; gpu++) {
        compare(shared, &mod->unit, gpu);
        fail_between(shared, &mod->unit, gpu);
    }
    ompjit_module_destroy(mod);
    direct_end(shared);
    return done_testing();
}
