/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Colours of code, values and messages, by a terminal's escape sequences.
 */
#ifndef OMPJIT_REPL_COLOUR_H
#define OMPJIT_REPL_COLOUR_H

#include <stdio.h>

#include "base/base.h"

struct options;

/* Does what is written to the descriptor get colours? --color says so; else a
 * terminal does, but for TERM=dumb and where NO_COLOR is set. */
bool colour_wanted(const struct options *o, int fd);

/* The state behind some text, which may end anywhere. Zero: none yet. */
struct colour {
    bool comment;   /* in one that goes on                    */
    bool continued; /* in a directive, which goes on          */
    bool pragma;    /* which is a pragma                      */
    bool include;   /* or an include                          */
    int depth;      /* of parentheses in a pragma             */
    bool value;     /* no code: what show.c makes of a value  */
};
/* Appends C or C++ in colours. Nothing but colours is added. */
void colour_code(struct colour *state, const char *text, size_t size,
                 ompjit__buf *out);

/* Writes  (TYPE) VALUE  and a line break, with or without colours. */
void colour_value(FILE *file, bool colours, const char *type,
                  const char *value);
/* Writes messages. With colours, those lines that have none get them. */
void colour_messages(FILE *file, bool colours, const char *text);

#endif
