/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Texts within other texts, of HLFIR as MLIR writes it.
 */
#ifndef OMPJIT_FLANG_PART_H
#define OMPJIT_FLANG_PART_H

#include <string.h>

struct part {
    const char *p;
    size_t n;
};

/* For "%.*s". */
#define PRINT(x) (int)(x).n, (x).p

static inline struct part up_to(const char *from, const char *end)
{
    return (struct part){from, (size_t)(end - from)};
}

/* The first place of the word; NULL: it has none. */
static inline const char *find(struct part in, const char *word)
{
    return in.n ? memmem(in.p, in.n, word, strlen(word)) : NULL;
}

/* Where p's line ends, its end not included. */
static inline const char *end_of_line(const char *p, const char *end)
{
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    return stop ? stop : end;
}

#endif
