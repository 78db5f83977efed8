/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Objects linked by LLVM's ORC, in the application: a worker's code would be in
 * another process. For objects that the loader does not take (loader/). One
 * thread at a time calls it.
 */
#ifndef OMPJIT_BACKEND_ORC_H
#define OMPJIT_BACKEND_ORC_H

#include "door/door.h"

/* `find` is asked for each name that the objects lack; `data` and `advice`
 * (loader/jit.h) are borrowed. The caller frees. */
ompjit_status ompjit__orc_new(const char *name, const char *advice,
                              ompjit__orc_find *find, void *data,
                              ompjit__orc **out, ompjit_error *err);
void ompjit__orc_free(ompjit__orc *orc); /* accepts NULL */
/* Definitions that win over `find`. LINK error for a name that is there
 * already. */
ompjit_status ompjit__orc_define(ompjit__orc *orc, const ompjit__absolute *defs,
                                 size_t n, ompjit_error *err);
/* Takes a copy of the object, which is linked when something of it is looked
 * up. */
ompjit_status ompjit__orc_add(ompjit__orc *orc, const void *object, size_t size,
                              ompjit_error *err);
/* Links what `name` needs. NOT_FOUND where no object has it; LINK error that
 * lists all undefined symbols. */
ompjit_status ompjit__orc_lookup(ompjit__orc *orc, const char *name,
                                 void **address, ompjit_error *err);

#endif
