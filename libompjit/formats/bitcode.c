/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How far bytes are a bitcode file, from its outer blocks alone: LLVM's reader
 * takes one that is cut short for any kind of nonsense.
 */
#include <stdint.h>
#include <string.h>

#include "formats/bitcode.h"

enum { BITCODE_STRTAB = 23, ENTER_SUBBLOCK = 1 };

static uint32_t word(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
}

/* A file is the magic and blocks: identification, module, symbols, and last
 * the string table. A block at the top starts with a word of abbreviation id
 * (2 bits) and block id (a vbr8 that fits in one chunk), then its length in
 * words. (LLVM Bitcode File Format, "Blocks".) */
ompjit__bitcode_state ompjit__bitcode_check(const char *data, size_t size)
{
    if (size < 4 || memcmp(data, "BC\xC0\xDE", 4))
        return OMPJIT__BITCODE_BROKEN;
    for (size_t at = 4; size - at >= 8;) {
        uint32_t head = word(data + at);
        uint64_t length = 8 + 4 * (uint64_t)word(data + at + 4);
        if ((head & 3) != ENTER_SUBBLOCK)
            return OMPJIT__BITCODE_BROKEN;
        if (length > size - at)
            return OMPJIT__BITCODE_CUT;
        at += length;
        if ((head >> 2 & 0xFF) == BITCODE_STRTAB)
            return at == size ? OMPJIT__BITCODE_COMPLETE
                              : OMPJIT__BITCODE_BROKEN;
    }
    return OMPJIT__BITCODE_CUT;
}
