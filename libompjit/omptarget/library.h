/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The libraries that programs register (__tgt_register_lib): host entries and
 * device images of one executable or shared library. Registering reads the
 * entries alone. Their code becomes a module when the program first comes to a
 * target construct.
 */
#ifndef OMPJIT_OMPTARGET_LIBRARY_H
#define OMPJIT_OMPTARGET_LIBRARY_H

#include "omptarget/program.h"

/* Host entries in either layout, which lie in the program. */
typedef struct ompjit__entries {
    const char *begin;
    size_t n;
    bool old; /* ompjit__offload_entry_old, else ompjit__offload_entry */
} ompjit__entries;

/* Finds the layout, and checks each entry as far as it can be: versions, sizes,
 * flags, and that those have names that need them. ABI errors, which name the
 * entry. */
ompjit_status ompjit__entries_read(const void *begin, const void *end,
                                   ompjit__entries *out, ompjit_error *err);
/* Entry i < n. Of entries for other languages than OpenMP, `kind` says so. */
ompjit__offload_entry ompjit__entry_at(const ompjit__entries *entries,
                                       size_t i);
/* Does the entry stand for a target region? */
bool ompjit__entry_is_kernel(const ompjit__offload_entry *e);

/* All libraries that wait become modules, and their entries are kernels and
 * variables then: when it returns, those of the library with the kernel `key`, or
 * of all (NULL). A library whose code cannot be used is kept with its error. One
 * comparison where none waits. */
void ompjit__libraries_ready(struct ompjit__tgt *tgt, const void *key);
/* Likewise, but one that has code is enough: there are devices then. */
void ompjit__libraries_first(struct ompjit__tgt *tgt);

/* Why no kernel is known for that host address: the error of the library that
 * has it, or the nearest addresses that are known. Always an error. */
ompjit_status ompjit__libraries_explain(struct ompjit__tgt *tgt,
                                        const void *key, ompjit_error *err);

/* Forgets all, which the program has not. */
void ompjit__libraries_free(struct ompjit__tgt *tgt);

#endif
