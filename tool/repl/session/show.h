/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Values as text.
 */
#ifndef OMPJIT_REPL_SHOW_H
#define OMPJIT_REPL_SHOW_H

#include "base/base.h"
#include "base/pack.h"
#include "tool/repl/session/visit.h"

typedef struct show_how show_how;
/* The name of a function at an address; NULL: it has none. */
typedef const char *show_name(void *data, const void *address);
/* Appends an object of C++ by a function of the session's, which has that address,
 * or, where it is NULL, that symbol. False: nothing can. */
typedef bool show_object(const show_how *how, void *function,
                         const char *symbol, const void *address,
                         ompjit__buf *out);

struct show_how {
    show_name *name;
    show_object *object; /* NULL: nothing shows objects                     */
    void *data;          /* both get it                                     */
    unsigned depth;      /* of values in each other                         */
    bool inside;         /* of another value: one line, and a short one     */
};

/* Appends the value at the address, by its shape (core/repl.h). Arrays and lists
 * of more than a few lines are cut. */
void show_value(const ompjit__buf *shape, const void *address,
                const show_how *how, ompjit__buf *out);
/* Reads one shape, and shows nothing. */
void show_skip(ompjit__reader *shape);
/* object_show.c: the same of what the function visits. */
void show_by(const show_how *how, visit_function *f, const void *at,
             ompjit__buf *out);
/* rows.c: appends an array of arrays or of structs as JSON; nothing: it is none.
 */
void show_rows(const ompjit__buf *shape, const void *address,
               const show_how *how, ompjit__buf *out);
/* rows.c: the same of what the function visits. */
void show_rows_by(const show_how *how, visit_function *f, const void *at,
                  ompjit__buf *out);

#endif
