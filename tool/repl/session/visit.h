/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Code of the session's (object.in) tells what an object of C++ consists of: a
 * value that has a shape, text, or parts in their order. Text (object_show.c),
 * numbers (numbers.c) and rows of a table (rows.c) are made of it.
 */
#ifndef OMPJIT_REPL_VISIT_H
#define OMPJIT_REPL_VISIT_H

#include "base/base.h"

typedef struct visit visit;
/* Tells what is at the address. */
typedef void visit_function(visit *v, const void *at);

/* The kinds of a list. */
enum { VISIT_LIST, VISIT_PAIR, VISIT_TUPLE };

/* object.in: Show. The functions get the visitor, whose first member this is. */
struct visit {
    /* The shape's size, in 8 bytes, is in front of the shape. */
    void (*leaf)(visit *v, const void *shape, const void *at);
    /* "text": n letters of `size` bytes. */
    void (*text)(visit *v, const void *text, size_t n, size_t size);
    void (*plain)(visit *v, const char *text, size_t size); /* text */
    /* n objects, one behind the other. */
    void (*array)(visit *v, const void *at, size_t n, size_t size,
                  visit_function *function);
    void (*begin)(visit *v, int kind);
    /* False: no more elements are wanted. */
    bool (*element)(visit *v, const void *at, visit_function *function);
    void (*end)(visit *v);
};

#endif
