/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * regions FILE.c FLAG FOLDER ARCH...: each target region of a file, alone, as
 * PTX for each architecture, in FOLDER/NAME_lLINE.ARCH.ptx. FLAG is clang's.
 * REGIONS_WITHOUT in the environment is a name to leave out, REGIONS_ONLY all
 * that are wanted, with a space before and after each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/module.h"
#include "door/door.h"
#include "base/base.h"

static ompjit_error err;

static void try(ompjit_status status, const char *what, const char *arch)
{
    if (!status)
        return;
    fprintf(stderr, "%s, %s: %s\n", what, arch, err.text);
    exit(1);
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "r");
    static char text[1 << 20];
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (!n || n == sizeof text - 1) {
        fprintf(stderr, "%s: not read\n", path);
        exit(1);
    }
    fclose(file);
    text[n] = '\0';
    return text;
}

static void write_region(const char *folder, const ompjit__kernel_desc *k,
                         const ompjit__image *image)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s_l%u.%s.ptx", folder, k->name, k->line,
             image->arch);
    FILE *file = fopen(path, "w");
    if (!file ||
        fwrite(image->bytes.data, 1, image->bytes.size, file) !=
            image->bytes.size ||
        fclose(file)) {
        perror(path);
        exit(1);
    }
}

static void build(ompjit_context *ctx, const ompjit_module *mod,
                  const ompjit__kernel_desc *k, const char *arch,
                  const char *folder)
{
    ompjit__spec spec = {.kernel = k->symbol};
    ompjit__image image;
    try(ompjit__door_build(&ctx->compiler, &mod->unit, arch, OMPJIT_FORMAT_PTX,
                      &spec, &image,
                      &err),
        k->name, arch);
    write_region(folder, k, &image);
    ompjit__image_free(&image);
}

static bool wanted(const char *name)
{
    const char *without = getenv("REGIONS_WITHOUT");
    const char *only = getenv("REGIONS_ONLY");
    char word[256];
    snprintf(word, sizeof word, " %s ", name);
    return !(without && !strcmp(name, without)) &&
           (!only || strstr(only, word));
}

int main(int argc, char **argv)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_module_options module = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    if (argc < 5) {
        fprintf(stderr, "usage: regions FILE.c FLAG FOLDER ARCH...\n");
        return 2;
    }
    const char *flags[] = {argv[2], NULL};
    options.devices = "host";
    module.name = argv[1];
    module.flags = flags;
    module.nflags = 1;
    try(ompjit_context_create(&options, &ctx, &err), argv[1], "context");
    try(ompjit_module_from_c(ctx, read_all(argv[1]), &module, &mod, &err),
        argv[1], "source");
    for (unsigned i = 0; i < mod->unit.nkernels; i++) {
        const ompjit__kernel_desc *k = &mod->unit.kernels[i];
        for (int a = 4; a < argc && wanted(k->name); a++)
            build(ctx, mod, k, argv[a], argv[3]);
    }
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return 0;
}
