/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Bytes of somebody else's making, read with every offset checked: no number in
 * them is believed, no sum can overflow, and nothing need be aligned.
 */
#ifndef OMPJIT_BYTES_H
#define OMPJIT_BYTES_H

#include "base/base.h"

/* A part of a file, borrowed. */
typedef struct ompjit__bytes {
    const unsigned char *p;
    size_t n;
} ompjit__bytes;

/* False: not all of these n bytes are in `from`. */
bool ompjit__bytes_slice(ompjit__bytes from, uint64_t at, uint64_t n,
                         ompjit__bytes *out);
/* Copies n bytes; false as above. */
bool ompjit__bytes_read(ompjit__bytes from, uint64_t at, void *out, size_t n);
/* The i-th 32 bits; 0 past the end. */
uint32_t ompjit__bytes_word(ompjit__bytes from, size_t i);
/* The part of a table of strings that ends in a NUL; may be empty. */
ompjit__bytes ompjit__bytes_strings(ompjit__bytes table);
/* A string of such a part; "" where it would begin behind it. It is the
 * table's. Takes the same time for any table. */
const char *ompjit__bytes_string(ompjit__bytes strings, uint64_t at);
#endif
