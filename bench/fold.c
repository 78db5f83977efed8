/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * fold FILE.c TEAMS THREADS: PTX for sm_90 of the target regions of a C file,
 * as it is made for a launch of that geometry; on standard output.
 */
#include <string.h>

#include "api/module.h"
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

int main(int argc, char **argv)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    ompjit__image image;
    if (argc != 4) {
        fprintf(stderr, "usage: fold FILE.c TEAMS THREADS\n");
        return 2;
    }
    ompjit__spec spec = {.teams = (uint32_t)atoi(argv[2]),
                         .threads = (uint32_t)atoi(argv[3])};
    options.devices = "host";
    try(ompjit_context_create(&options, &ctx, &err));
    try(ompjit_module_from_c(ctx, read_all(argv[1]), NULL, &mod, &err));
    try(ompjit__build(ctx, &mod->unit, "sm_90", OMPJIT_FORMAT_PTX, &spec,
                      &image, &err));
    fwrite(image.bytes.data, 1, image.bytes.size, stdout);
    ompjit__image_free(&image);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return 0;
}
