/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Arrays of numbers as doubles.
 */
#ifndef OMPJIT_REPL_NUMBERS_H
#define OMPJIT_REPL_NUMBERS_H

#include "base/base.h"

/* The elements of an array of the shape (core/repl.h), of an array of arrays
 * all of them in their order. NULL: it is no array of numbers. The caller's to
 * free. */
double *numbers_of(const ompjit__buf *shape, const void *address, size_t *n);

#endif
