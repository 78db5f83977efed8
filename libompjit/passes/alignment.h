/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The alignment of a variable of which the size alone is known. clang's calls of
 * __kmpc_alloc_shared ask for 16 bytes whatever the type, whose own alignment
 * divides the size; no access needs more than the widest vector
 * (PLAT_ALIGN in runtime-bc/plat.h).
 */
#ifndef OMPJIT_PASSES_ALIGNMENT_H
#define OMPJIT_PASSES_ALIGNMENT_H

#include <stdint.h>

static inline unsigned ompjit__alignment_of(uint64_t size)
{
    const unsigned least = 16, most = 64;
    uint64_t divides = size & -size;
    return divides < least ? least : divides > most ? most : (unsigned)divides;
}

#endif
