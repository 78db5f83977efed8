/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What functions outside of the host half do with its memory, and which of its
 * functions they call (host_calls.def).
 */
#ifndef OMPJIT_PASSES_HOSTHALF_CALL_H
#define OMPJIT_PASSES_HOSTHALF_CALL_H

typedef enum ompjit__call_class {
    OMPJIT__CALL_NOTHING,
    OMPJIT__CALL_READS,
    OMPJIT__CALL_WRITES,
    OMPJIT__CALL_MIXES,
    OMPJIT__CALL_FREES,
    OMPJIT__CALL_ANYTHING
} ompjit__call_class;

ompjit__call_class ompjit__call_class_of(const char *name);

/* A function that calls another: operands of the call. */
typedef struct ompjit__call_back {
    unsigned function, argument[2];
} ompjit__call_back;

/* NULL: it calls none. */
const ompjit__call_back *ompjit__call_back_of(const char *name);

#endif
