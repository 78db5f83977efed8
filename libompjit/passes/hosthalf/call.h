/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What functions outside of the host half do with its memory (host_calls.def).
 */
#ifndef OMPJIT_PASSES_HOSTHALF_CALL_H
#define OMPJIT_PASSES_HOSTHALF_CALL_H

typedef enum ompjit__call_class {
    OMPJIT__CALL_NOTHING,
    OMPJIT__CALL_READS,
    OMPJIT__CALL_WRITES,
    OMPJIT__CALL_FREES,
    OMPJIT__CALL_ANYTHING
} ompjit__call_class;

ompjit__call_class ompjit__call_class_of(const char *name);

#endif
