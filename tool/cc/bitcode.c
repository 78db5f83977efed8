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

enum { SYMBOLS_BLOCK = 25, STRINGS_BLOCK = 23 };

/* The first word of what the block of that number holds; 0: there is none. */
static size_t find_block(const ompjit__buf *bitcode, uint32_t number)
{
    enum { MAGIC = 0xdec04342u, ENTER_BLOCK = 1 };
    enum { HEAD = 4 }; /* words of the block before it */
    const size_t n = bitcode->size / sizeof(uint32_t);
    if (n < 1 || word_at(bitcode, 0) != MAGIC)
        return 0;
    for (size_t at = 1; at + HEAD < n;) {
        uint32_t head = word_at(bitcode, at);
        if ((head & 3) != ENTER_BLOCK)
            return 0;
        if ((head >> 2 & 0xff) == number)
            return at + HEAD;
        at += 2 + (size_t)word_at(bitcode, at + 1);
    }
    return 0;
}

/* A symbol: two strings of two words, its COMDAT, its flags. */
struct symbol {
    uint32_t name, name_size; /* bytes, of the strings */
    uint32_t ir_name, ir_name_size;
    uint32_t comdat;
    uint32_t flags;
};
/* The two lowest bits of the flags are the visibility. */
enum {
    VISIBILITY = 3,
    HIDDEN = 1,
    UNDEFINED = 1 << 3,
    THREADS_OWN = 1 << 8,
    GLOBAL = 1 << 10,
    PRIVATE = 1 << 11, /* format_specific: also LLVM's own */
    EXECUTABLE = 1 << 13
};

/* The table of a module. */
struct table {
    const ompjit__buf *bitcode;
    bool known;   /* there is one, whole and of the known format */
    size_t first; /* word of the first symbol */
    size_t n;
    size_t strings; /* byte where these begin */
};

/* Has no symbols where there is no table, or one of another format. */
static struct table open_table(const ompjit__buf *bitcode)
{
    struct table t = {.bitcode = bitcode,
                      .strings = sizeof(uint32_t) *
                                 find_block(bitcode, STRINGS_BLOCK)};
    const size_t head = find_block(bitcode, SYMBOLS_BLOCK);
    const size_t n = bitcode->size / sizeof(uint32_t);
    if (!head || head + NSYMBOLS >= n ||
        word_at(bitcode, head + FORMAT) != KNOWN_FORMAT)
        return t;
    const size_t words = sizeof(struct symbol) / sizeof(uint32_t);
    t.first = head + word_at(bitcode, head + SYMBOLS) / sizeof(uint32_t);
    t.n = word_at(bitcode, head + NSYMBOLS);
    t.known = t.first <= n && t.n <= (n - t.first) / words;
    if (!t.known)
        t.n = 0;
    return t;
}

static struct symbol symbol_at(const struct table *t, size_t i)
{
    struct symbol s;
    memcpy(&s, t->bitcode->data + t->first * sizeof(uint32_t) + i * sizeof s,
           sizeof s);
    return s;
}

/* NULL: its text is not in the file. */
static const char *name_of(const struct table *t, const struct symbol *s)
{
    const size_t end = t->strings + s->name + (size_t)s->name_size;
    return t->strings && end <= t->bitcode->size
               ? t->bitcode->data + t->strings + s->name
               : NULL;
}

bool bitcode_is_empty(const ompjit__buf *bitcode)
{
    const struct table t = open_table(bitcode);
    return t.known && !t.n;
}

bool bitcode_lacks_variable(const ompjit__buf *bitcode)
{
    const struct table t = open_table(bitcode);
    for (size_t i = 0; i < t.n; i++)
        if ((symbol_at(&t, i).flags & (UNDEFINED | EXECUTABLE)) == UNDEFINED)
            return true;
    return false;
}

/* -------------------------------------------- variables that no entry lists */

static bool is_variable(const struct symbol *s)
{
    return !(s->flags & (UNDEFINED | EXECUTABLE | THREADS_OWN | PRIVATE));
}

/* Do other files of the program not see it, or other functions of C++? */
static bool is_unseen(const struct symbol *s, const char *name)
{
    static const char functions_own[] = "_ZZ";
    const size_t n = sizeof functions_own - 1;
    return !(s->flags & GLOBAL) || (s->flags & VISIBILITY) == HIDDEN ||
           (s->name_size > n && !memcmp(name, functions_own, n));
}

static bool is_own_function(const struct symbol *s)
{
    return (s->flags & (EXECUTABLE | GLOBAL)) == EXECUTABLE;
}

/* Has the module such a symbol of that name? */
static bool has(const struct table *t, bool (*is_such)(const struct symbol *),
                const char *name, size_t size)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct symbol s = symbol_at(t, i);
        const char *own = name_of(t, &s);
        if (is_such(&s) && s.name_size == size && own &&
            !memcmp(own, name, size))
            return true;
    }
    return false;
}

bool bitcode_share_unseen(const ompjit__buf *host, const ompjit__buf *device)
{
    const struct table here = open_table(host), there = open_table(device);
    for (size_t i = 0; i < here.n; i++) {
        const struct symbol s = symbol_at(&here, i);
        const char *name = name_of(&here, &s);
        if (is_variable(&s) && name && is_unseen(&s, name) &&
            has(&there, is_variable, name, s.name_size))
            return true;
    }
    return false;
}

/* --------------------------------- regions of functions that nobody else sees */

/* Where the function's name is in a region's, __omp_offloading_fe00_ae40_f_l12;
 * NULL: it is no region's. */
static const char *function_in(const char *name, size_t *size)
{
    static const char region[] = "__omp_offloading_";
    const char *at = name, *end = name + *size;
    if (*size < sizeof region || memcmp(name, region, sizeof region - 1))
        return NULL;
    at += sizeof region - 1;
    for (int part = 0; part < 2; part++) { /* device and file */
        at = memchr(at, '_', (size_t)(end - at));
        if (!at++)
            return NULL;
    }
    while (end > at + 2 && memcmp(end - 2, "_l", 2))
        end--;
    if (end <= at + 2)
        return NULL;
    *size = (size_t)(end - 2 - at);
    return at;
}

bool bitcode_has_own_region(const ompjit__buf *host, const ompjit__buf *device)
{
    const struct table here = open_table(host), there = open_table(device);
    for (size_t i = 0; i < there.n; i++) {
        const struct symbol s = symbol_at(&there, i);
        size_t size = s.name_size;
        const char *name = name_of(&there, &s);
        const char *function =
            name && s.flags & EXECUTABLE ? function_in(name, &size) : NULL;
        if (function && has(&here, is_own_function, function, size))
            return true;
    }
    return false;
}
