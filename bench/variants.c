/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * variants [REPEATS]: what a new specialization of a kernel costs when others
 * have been made before: processor time of the thread that makes it, on the host
 * and down to a cubin, where its assembler's share is told apart. The peer is
 * the same build without a template, from the unit. (Uses the library from
 * inside: an application gets specialized code by launching.)
 */
#include <string.h>

#include "backend/backend.h"
#include "core/template.h"
#include "launch/module.h"
#include "bench.h"
#include "ompjit_debug.h"

static const char source[] =
    "void daxpy(long n, double a, const double *x, double *y) {\n"
    "  #pragma omp target teams distribute parallel for \\\n"
    "      map(to: x[:n]) map(tofrom: y[:n])\n"
    "  for (long i = 0; i < n; i++) y[i] += a * x[i];\n"
    "}\n";

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

struct target {
    const char *name, *arch;
    ompjit_format format;
    uint32_t threads, teams;
};

/* A value that no variant before had, for all scalars; milliseconds. */
static double build(ompjit_context *ctx, const ompjit__unit *unit,
                    const struct target *t)
{
    static uint64_t values[64];
    const ompjit__kernel_desc *k = &unit->kernels[0];
    ompjit__spec spec = {.kernel = k->symbol,
                         .facts.threads.all = t->threads,
                         .facts.teams.all = t->teams,
                         .facts.literals.values = values};
    for (unsigned i = 0; i < k->nparams; i++) {
        if (k->params[i].kind == OMPJIT__PARAM_POINTER)
            continue;
        spec.facts.literals.mask |= UINT64_C(1) << i;
        values[i] += 1000;
    }
    ompjit__image image = {0};
    double start = cpu();
    try(ompjit__build(&ctx->compiler, unit, t->arch, t->format, &spec, &image,
                      &err));
    double took = cpu() - start;
    ompjit__image_free(&image);
    return took;
}

static void stages(const char *name, const ompjit_times *before,
                   const ompjit_times *after, int repeats)
{
    char group[64];
    snprintf(group, sizeof group, "stages of a %s variant", name);
    for (int i = 0; i < OMPJIT_STAGE_COUNT; i++)
        if (after->stage[i].count > before->stage[i].count)
            sample(group, ompjit_stage_name((ompjit_stage)i), "ours",
                   (after->stage[i].ns - before->stage[i].ns) * 1e-6 / repeats,
                   "ms");
}

int main(int argc, char **argv)
{
    static const struct target targets[] = {
        {"host", "host", OMPJIT_FORMAT_OBJECT, 1, 2},
        {"PTX", "sm_90", OMPJIT_FORMAT_PTX, 128, 64},
        {"cubin", "sm_90", OMPJIT_FORMAT_CUBIN, 128, 64}};
    int repeats = argc > 1 ? atoi(argv[1]) : 20;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    ompjit_times before = OMPJIT_TIMES_INIT, after = OMPJIT_TIMES_INIT;
    options.devices = "host";
    try(ompjit_context_create(&options, &ctx, &err));
    try(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    mod->unit.templates = ompjit__templates_new(); /* no worker has it */
    ompjit__unit whole = mod->unit;
    whole.templates = NULL;
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        build(ctx, &mod->unit, &targets[t]);
        ompjit_context_times(ctx, &before, NULL);
        for (int i = 0; i < repeats; i++)
            sample("new specialization, CPU", targets[t].name, "ours",
                   build(ctx, &mod->unit, &targets[t]), "ms");
        ompjit_context_times(ctx, &after, NULL);
        stages(targets[t].name, &before, &after, repeats);
        for (int i = 0; i < repeats; i++)
            sample("new specialization, CPU", targets[t].name, "no template",
                   build(ctx, &whole, &targets[t]), "ms");
    }
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return 0;
}
