/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * assembled FILE.ptx ARCH: what the library has ptxas assemble for that text,
 * on standard output.
 */
#include <stdio.h>

#include "backend/nvptx/nvptx.h"

int main(int argc, char **argv)
{
    ompjit__compiler ctx = {.assembler = OMPJIT_ASSEMBLER_PTXAS};
    ompjit__buf ptx = {0};
    ompjit__image image = {0};
    ompjit_error err;
    if (argc != 3) {
        fprintf(stderr, "usage: assembled FILE.ptx ARCH\n");
        return 2;
    }
    ompjit_status status = ompjit__read_file(argv[1], &ptx, &err);
    if (!status)
        status = ompjit__assemble(&ctx, argv[2], &ptx, &image, &err);
    if (status)
        fprintf(stderr, "%s\n", err.text);
    else
        fputs(image.ptx.data, stdout);
    ompjit__image_free(&image);
    ompjit__buf_free(&ptx);
    return status != OMPJIT_OK;
}
