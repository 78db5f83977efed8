/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Lines of a terminal, by libedit where the system has it: editing, history,
 * completion. Else lines as the terminal gives them.
 */
#ifndef OMPJIT_REPL_EDIT_H
#define OMPJIT_REPL_EDIT_H

#include "base/base.h"

typedef struct edit edit;

/* Names that can stand at the cursor, in place of the bytes of the line from
 * `begin` on. */
struct edit_names {
    size_t begin, n;
    char **names; /* the callee frees them */
};
/* `line` is what stands before the cursor. */
typedef void edit_complete(void *data, const char *line, size_t size,
                           struct edit_names *out);

/* Appends the line in colours, and nothing else. */
typedef void edit_paint(void *data, const char *line, size_t size,
                        ompjit__buf *out);

/* A history in that file (NULL: none), which need not be there. `paint` NULL: no
 * colours. NULL: no memory. */
edit *edit_new(const char *history, edit_complete *complete, edit_paint *paint,
               void *data);
/* Writes the history. Accepts NULL. */
void edit_free(edit *e);

enum edit_end { EDIT_LINE, EDIT_INTERRUPTED, EDIT_EOF };
/* One line without its line break, which is the caller's to free; several lines
 * where the user took such an entry from the history. The prompt ends in a
 * blank. */
enum edit_end edit_line(edit *e, const char *prompt, char **line);
/* The text joins the history as one entry, without blanks and line breaks at its
 * end, unless nothing is left. */
void edit_remember(edit *e, const char *text, size_t size);

#endif
