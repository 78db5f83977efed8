/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Host objects as code of this process, without LLVM's types: for the host
 * device and the host half of programs. Implemented by jit.c.
 */
#ifndef OMPJIT_JIT_H
#define OMPJIT_JIT_H

#include "core/core.h"

/* Objects linked with each other. Lookups are for any thread. All other
 * functions are for one thread at a time, while nobody looks up. */
typedef struct ompjit__jit ompjit__jit;

/* `name` is for messages. */
ompjit_status ompjit__jit_new(const char *name, ompjit__jit **out,
                              ompjit_error *err);
/* Frees the code, too. Accepts NULL. */
void ompjit__jit_free(ompjit__jit *jit);
/* Definitions that win over the process's own symbols. */
ompjit_status ompjit__jit_define(ompjit__jit *jit, const ompjit__absolute *defs,
                                 size_t n, ompjit_error *err);
/* The same of a table that outlives the jit, which is not copied; one for
 * each. */
void ompjit__jit_share(ompjit__jit *jit, const ompjit__absolute *defs,
                       size_t n);
/* Asks `find` for each undefined name before the process is asked (NULL: not
 * known). Set before the first lookup. */
typedef void *ompjit__jit_find(void *data, const char *name);
void ompjit__jit_search(ompjit__jit *jit, ompjit__jit_find *find, void *data);
/* Debuggers are told of what is added from now on. */
void ompjit__jit_debug(ompjit__jit *jit);
/* Takes a copy of the object. */
ompjit_status ompjit__jit_add_object(ompjit__jit *jit, const void *object,
                                     size_t size, ompjit_error *err);
/* Links what `name` needs. NOT_FOUND where neither an object nor a definition
 * has it; LINK error that lists all undefined symbols. */
ompjit_status ompjit__jit_lookup(ompjit__jit *jit, const char *name,
                                 void **address, ompjit_error *err);

/* The name of what begins at the address, in any jit or elsewhere in the
 * process, to free; NULL: it has none, or there is no memory. */
char *ompjit__jit_name(const void *address);

/* The pages of all that can be executed of an image that has its code at
 * `address`; false where nobody knows them. */
bool ompjit__jit_extent(const ompjit__jit *jit, uintptr_t address,
                        uintptr_t *begin, uintptr_t *end);

#endif
