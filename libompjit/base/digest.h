/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * BLAKE3 digests.
 */
#ifndef OMPJIT_DIGEST_H
#define OMPJIT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of one: 256 bits, so that no two texts in a cache share one by chance.
 */
enum { OMPJIT__DIGEST = 32 };

void ompjit__digest(const void *data, size_t size, uint8_t out[OMPJIT__DIGEST]);
/* The digest of both, one behind the other. */
void ompjit__digest_both(const void *first, size_t first_size,
                         const void *second, size_t second_size,
                         uint8_t out[OMPJIT__DIGEST]);
/* Hexadecimal digits and NUL. */
void ompjit__digest_text(const uint8_t digest[OMPJIT__DIGEST], char out[65]);

#endif
