/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Code of the session's that tells what objects of C++ consist of.
 */
#ifndef OMPJIT_REPL_OBJECT_H
#define OMPJIT_REPL_OBJECT_H

#include "tool/repl/session/engine.h"
#include "tool/repl/session/visit.h"

/* Compiles and links what shows values with that variable's type. NULL: it does
 * not compile. The engine's, which keeps it. */
ompjit_module *object_module(engine *e, const char *variable);
/* All of these modules. */
void objects_free(engine *e);

/* Both run code of the session's: guard_run calls. NULL: there is none. */

/* Visits what has the variable's type. */
visit_function *object_function(ompjit_module *mod);
/* Visits a part: the function at the address, or, where that is NULL, the one
 * that has the symbol. */
visit_function *object_member(ompjit_module *mod, void *address,
                              const char *symbol);

#endif
