/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads, without LLVM, the table of symbols for linkers that LLVM writes into
 * bitcode (llvm/Object/IRSymtab.h). Blocks follow the magic word: a word with the
 * block's number, a word with how many words it takes, these.
 */
#include <string.h>

#include "tool/cc/cc.h"

/* The n-th 32 bits. */
static uint32_t word_at(const ompjit__buf *bitcode, size_t n)
{
    uint32_t word;
    memcpy(&word, bitcode->data + n * sizeof word, sizeof word);
    return word;
}

/* Words of the table's head that say which format it has, at which byte of the
 * table the symbols begin, and how many there are. */
enum { FORMAT = 0, SYMBOLS = 7, NSYMBOLS = 8, KNOWN_FORMAT = 3 };

/* The first word of the table; 0: there is none, or of another format. */
static size_t find_table(const ompjit__buf *bitcode)
{
    enum { MAGIC = 0xdec04342u, ENTER_BLOCK = 1, SYMBOLS_BLOCK = 25 };
    enum { TABLE = 4 }; /* words of the block before it */
    const size_t n = bitcode->size / sizeof(uint32_t);
    if (n < 1 || word_at(bitcode, 0) != MAGIC)
        return 0;
    for (size_t at = 1; at + TABLE + NSYMBOLS < n;) {
        uint32_t head = word_at(bitcode, at);
        if ((head & 3) != ENTER_BLOCK)
            return 0;
        if ((head >> 2 & 0xff) == SYMBOLS_BLOCK)
            return word_at(bitcode, at + TABLE + FORMAT) == KNOWN_FORMAT
                       ? at + TABLE
                       : 0;
        at += 2 + (size_t)word_at(bitcode, at + 1);
    }
    return 0;
}

bool bitcode_is_empty(const ompjit__buf *bitcode)
{
    const size_t table = find_table(bitcode);
    return table && !word_at(bitcode, table + NSYMBOLS);
}

bool bitcode_lacks_variable(const ompjit__buf *bitcode)
{
    /* Words of a symbol: two strings of two, its COMDAT, its flags. */
    enum { FLAGS = 5, WORDS = 6 };
    enum { UNDEFINED = 1 << 3, EXECUTABLE = 1 << 13 };
    const size_t table = find_table(bitcode);
    const size_t n = bitcode->size / sizeof(uint32_t);
    if (!table)
        return false;
    const size_t first =
        table + word_at(bitcode, table + SYMBOLS) / sizeof(uint32_t);
    const size_t count = word_at(bitcode, table + NSYMBOLS);
    for (size_t i = 0; i < count && first + (i + 1) * WORDS <= n; i++) {
        uint32_t flags = word_at(bitcode, first + i * WORDS + FLAGS);
        if ((flags & (UNDEFINED | EXECUTABLE)) == UNDEFINED)
            return true;
    }
    return false;
}
