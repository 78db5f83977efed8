/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The variable of device code that has a unit's counters (passes/counters.c
 * makes it, api/counts.c reads it): the number of counters in 8 bytes, the
 * counters in 8 bytes each, and a text up to a NUL that has a line for each
 * place that one counts:
 *
 *   COUNTER <tab> KIND <tab> LINE <tab> NUMBER <tab> FUNCTION <tab> FILE
 *
 * L: a block of FUNCTION has code of that line. P: a counter of clang's, by its
 * number in FUNCTION. V, T: a place of clang's that notes values or the targets
 * of calls; its counters are OMPJIT__VALUE_SLOTS: OMPJIT__VALUES_KEPT times a
 * value plus 1 (0: none yet) and its count, and the count of all other values.
 * F: FUNCTION is the target whose number COUNTER stands for its address; other
 * targets are addresses.
 */
#ifndef OMPJIT_COUNTERS_H
#define OMPJIT_COUNTERS_H

#define OMPJIT__COUNTERS "ompjit_counters"

/* Functions of the device runtime that note a value. runtime-bc/misc.c */
#define OMPJIT__COUNT_VALUE "ompjit_count_value"
#define OMPJIT__COUNT_TARGET "ompjit_count_target"

enum { OMPJIT__VALUES_KEPT = 8, OMPJIT__VALUE_SLOTS = 17 };

/* A function's symbol without what outlining, inlining and copying have put
 * behind it: that of the function in the source, or of the kernel. malloc'd;
 * NULL: out of memory. optimizer/remark.c */
char *ompjit__source_symbol(const char *symbol);

#endif
