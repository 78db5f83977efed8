/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Public structs that begin with their size, of this version and of others:
 * options from the caller, results to the caller. structs.c
 */
#ifndef OMPJIT_STRUCTS_H
#define OMPJIT_STRUCTS_H

#include "base/base.h"

enum ompjit__struct {
#define STRUCT(name, initializer) OMPJIT__STRUCT_##name,
#include "base/structs.def"
    OMPJIT__STRUCTS
};

/* The caller's options as this library's struct: `options` themselves, where
 * that is what they are, else `room`, which is a struct of this library. NULL
 * options are all defaults. NULL and an INVALID error where the size cannot be
 * one, where a field has no such value, and where the caller asks for what this
 * library does not know. */
const void *ompjit__options(enum ompjit__struct which, const void *options,
                            void *room, ompjit_error *err);

/* INVALID where `result` is NULL or its size cannot be one. */
ompjit_status ompjit__result_check(enum ompjit__struct which,
                                   const void *result, ompjit_error *err);
/* Fills a checked result, up to its size, from this library's struct. */
void ompjit__result_fill(enum ompjit__struct which, const void *full,
                         void *result);

/* INVALID, which names the field, where an enumeration has no such value.
 * `where` is a struct or a function. */
ompjit_status ompjit__enum_check(const char *where, const char *field,
                                 int value, int most, ompjit_error *err);
/* INVALID likewise, where there are other bits than `all`. */
ompjit_status ompjit__bits_check(const char *where, const char *field,
                                 uint32_t value, uint32_t all,
                                 ompjit_error *err);

#endif
