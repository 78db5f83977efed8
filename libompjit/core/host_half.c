/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Destroys compiled host halves.
 */
#include <stdlib.h>

#include "core/host_half.h"

static void strings_free(char **strings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(strings[i]);
    free(strings);
}

void ompjit__host_half_free(ompjit__host_half *half)
{
    for (size_t i = 0; i < half->nentries; i++)
        free(half->entries[i].symbol);
    free(half->entries);
    strings_free(half->functions, half->nfunctions);
    strings_free(half->needs, half->nneeds);
    strings_free(half->parts, half->nparts);
    strings_free(half->wants, half->nwants);
    ompjit__buf_free(&half->object);
    *half = (ompjit__host_half){0};
}
