/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Code of the session's that tells what objects of C++ consist of.
 */
#ifndef OMPJIT_REPL_OBJECT_H
#define OMPJIT_REPL_OBJECT_H

#include "base/digest.h"
#include "tool/repl/session/engine.h"
#include "tool/repl/session/visit.h"

/* Code that visits objects of one type. */
struct object {
    struct object *next;
    ompjit_module *mod;
    struct answer answer; /* without the code */
    uint8_t digest[OMPJIT__DIGEST]; /* of its bitcode */
};

/* The text that is compiled, without the function for one type. */
extern const char *const object_source;

/* Compiles and links what visits objects with that variable's type. NULL: it does
 * not compile. The engine's, which keeps it. */
const struct object *object_for(engine *e, const char *variable);
/* All of them. */
void objects_free(engine *e);

/* Both run code of the session's: guard_run calls. NULL: there is none. */

/* Visits what has the variable's type; accepts NULL. */
visit_function *object_function(const struct object *o);
/* Visits a part: the function at the address, or, where that is NULL, the one
 * that has the symbol. */
visit_function *object_member(const struct object *o, void *address,
                              const char *symbol);

#endif
