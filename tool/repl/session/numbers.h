/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Values of the session's as numbers.
 */
#ifndef OMPJIT_REPL_NUMBERS_H
#define OMPJIT_REPL_NUMBERS_H

#include "base/base.h"
#include "tool/repl/session/visit.h"

struct numbers {
    double *all; /* the caller's to free */
    size_t n, room;
    bool bad;    /* there was something else, or no memory */
};

/* Appends a number, or the elements of an array, of an array of arrays all of
 * them in their order, by the shape (core/repl.h). */
void numbers_add(struct numbers *to, const ompjit__buf *shape,
                 const void *address);
/* The same of what the function visits: numbers in lists. */
void numbers_add_by(struct numbers *to, visit_function *f, const void *at);

#endif
