/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The variable of device code that has a unit's counters (passes/counters.c
 * makes it, api/counts.c reads it): the number of counters in 8 bytes, the
 * counters in 8 bytes each, and a text up to a NUL that has a line for each
 * place that one counts:
 *
 *   COUNTER <tab> L or P <tab> LINE <tab> NUMBER <tab> FUNCTION <tab> FILE
 *
 * L: a block of FUNCTION has code of that line. P: a counter of clang's, by its
 * number in FUNCTION.
 */
#ifndef OMPJIT_COUNTERS_H
#define OMPJIT_COUNTERS_H

#define OMPJIT__COUNTERS "ompjit_counters"

/* A function's symbol without what outlining, inlining and copying have put
 * behind it: that of the function in the source, or of the kernel. malloc'd;
 * NULL: out of memory. core/remark.c */
char *ompjit__source_symbol(const char *symbol);

#endif
