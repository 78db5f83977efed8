/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Where inputs end in a text, as far as that can be seen without its meaning.
 */
#ifndef OMPJIT_REPL_SCAN_H
#define OMPJIT_REPL_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* The state behind some lines. Zero: none yet. */
struct scan {
    int depth;         /* of brackets of all kinds               */
    int conditionals;  /* #if without its #endif                 */
    bool comment;      /* in one that goes on in the next line   */
    bool continued;    /* a backslash ends the last line         */
    bool directive;    /* the last line is one, or goes on as it */
    bool some;         /* there is more than blanks and comments */
    bool raw;          /* in a raw string of C++                 */
    char end[20];      /* which ends so                          */
    char last;         /* the last letter that counts            */
};

/* Reads one line, with or without its line break. */
void scan_line(struct scan *s, const char *line, size_t size);
/* Must there be more lines? */
bool scan_is_open(const struct scan *s);
/* Does the line go on with what stands before it: an `else`, or, behind an
 * expression that nothing ends, an operator? */
bool scan_goes_on(const struct scan *before, const char *line, size_t size);

#endif
