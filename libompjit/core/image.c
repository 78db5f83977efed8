/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Destroys images.
 */
#include <stdlib.h>

#include "core/core.h"

void ompjit__image_free(ompjit__image *image)
{
    if (!image)
        return;
    ompjit__buf_free(&image->bytes);
    ompjit__buf_free(&image->ptx);
    ompjit__buf_free(&image->modes);
    ompjit__buf_free(&image->remarks);
    for (unsigned i = 0; i < image->nusage; i++)
        free(image->usage[i].symbol);
    free(image->usage);
    for (unsigned i = 0; i < image->nglobals; i++)
        free(image->globals[i].name);
    free(image->globals);
    *image = (ompjit__image){0};
}
