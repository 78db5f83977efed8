/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * fold FILE.c TEAMS THREADS [NAME=VALUE]...: PTX for sm_90 of the target
 * regions of a C file, as it is made for a launch of that geometry; on standard
 * output. With values (of 4 bytes, those of floats with a point) the variant of
 * the file's one kernel that a launch with them gets, whose pointers are
 * aligned and stand apart.
 */
#include <string.h>

#include "core/template.h"
#include "launch/module.h"
#include "backend/backend.h"
#include "base/base.h"
#include "bench/bench.h"

static char *read_all(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (!file || n == sizeof text - 1) {
        fprintf(stderr, "%s: not read\n", path);
        exit(1);
    }
    fclose(file);
    text[n] = '\0';
    return text;
}

/* NAME=VALUE to the literal of that name. */
static void set_literal(const ompjit__kernel_desc *k, const char *setting,
                        ompjit__spec *spec, uint64_t *literals)
{
    size_t n = strcspn(setting, "=");
    const char *value = setting + n + (setting[n] == '=');
    for (unsigned i = 0; i < k->nparams; i++) {
        if (strlen(k->params[i].name) != n ||
            memcmp(k->params[i].name, setting, n))
            continue;
        int32_t integer = atoi(value);
        float real = strtof(value, NULL);
        memcpy(&literals[i], strchr(value, '.') ? (void *)&real : &integer,
               sizeof integer);
        spec->facts.literals.mask |= UINT64_C(1) << i;
        return;
    }
    fprintf(stderr, "%s: no such argument\n", setting);
    exit(1);
}

static void specialize(const ompjit__unit *unit, char **settings, int n,
                       ompjit__spec *spec)
{
    static uint64_t literals[64];
    const ompjit__kernel_desc *k = &unit->kernels[0];
    if (unit->nkernels != 1 || k->nparams > 64) {
        fprintf(stderr, "%s: not one kernel\n", unit->name);
        exit(1);
    }
    spec->kernel = k->symbol;
    spec->facts.literals.values = literals;
    for (int i = 0; i < n; i++)
        set_literal(k, settings[i], spec, literals);
    for (unsigned i = 0; i < k->nparams; i++)
        if (k->params[i].kind == OMPJIT__PARAM_POINTER)
            spec->facts.aligned = spec->facts.noalias |= UINT64_C(1) << i;
}

int main(int argc, char **argv)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    ompjit__image image;
    if (argc < 4) {
        fprintf(stderr,
                "usage: fold FILE.c TEAMS THREADS [NAME=VALUE]...\n");
        return 2;
    }
    ompjit__spec spec = {.facts.teams.all = (uint32_t)atoi(argv[2]),
                         .facts.threads.all = (uint32_t)atoi(argv[3])};
    options.devices = "host";
    try(ompjit_context_create(&options, &ctx, &err));
    try(ompjit_module_from_c(ctx, read_all(argv[1]), NULL, &mod, &err));
    mod->unit.templates = ompjit__templates_new(); /* no worker has it */
    if (argc > 4)
        specialize(&mod->unit, argv + 4, argc - 4, &spec);
    try(ompjit__build(&ctx->compiler, &mod->unit, "sm_90", OMPJIT_FORMAT_PTX,
                      &spec,
                      &image, &err));
    fwrite(image.bytes.data, 1, image.bytes.size, stdout);
    ompjit__image_free(&image);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return 0;
}
