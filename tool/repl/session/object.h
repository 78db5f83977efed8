/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Objects of C++ as text, by code of the session's.
 */
#ifndef OMPJIT_REPL_OBJECT_H
#define OMPJIT_REPL_OBJECT_H

#include "tool/repl/session/engine.h"
#include "tool/repl/session/show.h"

/* Compiles and links what shows values with that variable's type. NULL: it does
 * not compile. The engine's, which keeps it. */
ompjit_module *object_module(engine *e, const char *variable);
/* All of these modules. */
void objects_free(engine *e);

/* Both run code of the session's: guard_run calls. */

/* Appends the value at the address. */
void object_show_value(const show_how *how, ompjit_module *mod,
                       const void *at, ompjit__buf *out);
/* show_object, with the module that `symbol` is of. */
bool object_show(const show_how *how, ompjit_module *mod, void *address,
                 const char *symbol, const void *at, ompjit__buf *out);

#endif
