/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Host objects as code of this process, without LLVM's types: for the host
 * device and the host half of programs. Implemented by jit.c.
 */
#ifndef OMPJIT_JIT_H
#define OMPJIT_JIT_H

#include "core/core.h"

/* Objects linked with each other. Lookups, names and extents are for any
 * thread. All other functions are for one thread at a time, while nobody looks
 * up: a host image or a host half is filled by the thread that makes it and
 * then only looked up. */
typedef struct ompjit__jit ompjit__jit;

/* Makes an empty jit. `name` is for messages, and copied. Neither maps memory
 * nor starts LLVM. *out is set on success only, and freed by ompjit__jit_free.
 */
ompjit_status ompjit__jit_new(const char *name, ompjit__jit **out,
                              ompjit_error *err);
/* Frees the code, too: nobody runs any of it, and no thread is in a lookup.
 * Accepts NULL. */
void ompjit__jit_free(ompjit__jit *jit);
/* Definitions that win over the process's own symbols. Names are copied. After
 * a failure some of them may be defined, and the jit is only good to be freed.
 */
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
/* Stands behind undefined symbols, for the user, in place of where a program's
 * can come from; borrowed, NULL: that. Set before the first lookup. */
void ompjit__jit_advise(ompjit__jit *jit, const char *advice);
/* Debuggers are told of what is added from now on. Without this, perf alone is,
 * where OMPJIT_PERF=1. */
void ompjit__jit_debug(ompjit__jit *jit);
/* Takes a copy of the object. Only a second object, or one after ORC was
 * needed, is given to ORC here and can fail for what it has in it; the first is
 * read when somebody looks up. */
ompjit_status ompjit__jit_add_object(ompjit__jit *jit, const void *object,
                                     size_t size, ompjit_error *err);
/* Links what `name` needs. NOT_FOUND where neither an object nor a definition
 * has it; LINK error that lists all undefined symbols. The address lives as
 * long as the jit. The first lookup links, which takes some time and the jit's
 * lock; later ones wait for it. `find` is called meanwhile, under that lock, so
 * it must not look up in the same jit. */
ompjit_status ompjit__jit_lookup(ompjit__jit *jit, const char *name,
                                 void **address, ompjit_error *err);

/* The name of a function or variable that begins at the address, in any jit
 * that the plain linker has linked or elsewhere in the process. malloc'd; NULL:
 * it has none, a lookup in its jit is under way, or there is no memory. Any
 * thread. */
char *ompjit__jit_name(const void *address);

/* The pages that can be executed of an image that has its code at `address`.
 * False where nobody knows them: ORC does not tell. After the first lookup. */
bool ompjit__jit_extent(const ompjit__jit *jit, uintptr_t address,
                        uintptr_t *begin, uintptr_t *end);

#endif
