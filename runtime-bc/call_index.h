/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The table of functions that kernels call through pointers: rows ordered by
 * the host's address, as LLVM's runtime has them. Behind its rows the library
 * puts their index, a hash table of the same rows with at least as many empty
 * slots, where a look-up reads one cache line. Device runtime and library both
 * look here for the layout.
 */
#ifndef OMPJIT_RT_CALL_INDEX_H
#define OMPJIT_RT_CALL_INDEX_H

#include <stdint.h>

/* Bit of the device environment's debug_kind, which LLVM's runtime does not
 * read: the table has an index. */
#define CALL_INDEX_BIT 0x80000000u

typedef struct indirect_call {
    void *host; /* NULL: an empty slot of the index */
    void *device;
} indirect_call;

/* The number of slots is 2 to the power of this. n: rows, 1 or more. */
static inline unsigned call_index_bits(uint64_t n)
{
    return 64 - (unsigned)__builtin_clzll(2 * n - 1);
}

/* The slot where the search for an address begins. */
static inline uint64_t call_index_slot(const void *host, unsigned bits)
{
    uint64_t h = (uintptr_t)host * UINT64_C(0x9e3779b97f4a7c15);
    return (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93) >> (64 - bits);
}

/* The function's address on the device; `host` where no row has it. */
static inline void *call_index_find(const indirect_call *rows, uint64_t n,
                                    void *host)
{
    unsigned bits = call_index_bits(n);
    uint64_t at = call_index_slot(host, bits);
    const indirect_call *slots = rows + n;
    for (; slots[at].host != host; at = (at + 1) & ((UINT64_C(1) << bits) - 1))
        if (!slots[at].host)
            return host;
    return slots[at].device;
}

/* The same in a table without an index, by its order. */
static inline void *call_rows_find(const indirect_call *rows, uint64_t n,
                                   void *host)
{
    const indirect_call *at = rows;
    for (uint64_t half; n > 1; n -= half) {
        half = n / 2;
        at += (uintptr_t)at[half].host <= (uintptr_t)host ? half : 0;
    }
    return at->host == host ? at->device : host;
}

#endif
