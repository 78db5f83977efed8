/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * BLAKE3 by the C functions of LLVM's support library, which need nothing else
 * of LLVM.
 */
#include <llvm-c/blake3.h>

#include "base/digest.h"

void ompjit__digest_both(const void *first, size_t first_size,
                         const void *second, size_t second_size,
                         uint8_t out[OMPJIT__DIGEST])
{
    llvm_blake3_hasher h;
    llvm_blake3_hasher_init(&h);
    llvm_blake3_hasher_update(&h, first, first_size);
    llvm_blake3_hasher_update(&h, second, second_size);
    llvm_blake3_hasher_finalize(&h, out, OMPJIT__DIGEST);
}

void ompjit__digest(const void *data, size_t size, uint8_t out[OMPJIT__DIGEST])
{
    ompjit__digest_both(data, size, NULL, 0, out);
}

void ompjit__digest_text(const uint8_t digest[OMPJIT__DIGEST], char out[65])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < OMPJIT__DIGEST; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * OMPJIT__DIGEST] = 0;
}
