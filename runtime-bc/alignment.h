/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The alignment of a variable of which the size alone is known. clang's calls of
 * __kmpc_alloc_shared ask for 16 bytes whatever the type, whose own alignment
 * divides the size. The passes and the device runtime go by this.
 */
#ifndef OMPJIT_RUNTIME_ALIGNMENT_H
#define OMPJIT_RUNTIME_ALIGNMENT_H

#include <stdint.h>

enum {
    OMPJIT__CLANGS_ALIGN = 16,
    OMPJIT__WIDEST_ALIGN = 64 /* a vector of a CPU */
};

/* The largest power of two that divides the size, from what clang asks for up to
 * the most that an access needs. */
static inline __attribute__((always_inline)) uint32_t
ompjit__alignment_of(uint64_t size, uint32_t most)
{
    const uint32_t least = OMPJIT__CLANGS_ALIGN;
    const uint64_t divides = size & -size;
    return divides < least ? least : divides < most ? (uint32_t)divides : most;
}

#endif
