/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Values as text.
 */
#ifndef OMPJIT_REPL_SHOW_H
#define OMPJIT_REPL_SHOW_H

#include "base/base.h"
#include "base/pack.h"

/* The name of a function at an address; NULL: it has none. */
typedef const char *show_name(void *data, const void *address);

/* Appends the value at the address, by its shape (core/repl.h). Arrays and lists
 * of more than a few lines are cut. */
void show_value(const ompjit__buf *shape, const void *address,
                show_name *name, void *data, ompjit__buf *out);
/* Reads one shape, and shows nothing. */
void show_skip(ompjit__reader *shape);
/* rows.c: appends an array of arrays or of structs as JSON; nothing: it is none.
 */
void show_rows(const ompjit__buf *shape, const void *address, show_name *name,
               void *data, ompjit__buf *out);

#endif
