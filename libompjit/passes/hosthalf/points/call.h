/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The effects that functions outside of the host half have on its memory, and
 * which of its functions they call (host_calls.def).
 */
#ifndef OMPJIT_PASSES_HOSTHALF_CALL_H
#define OMPJIT_PASSES_HOSTHALF_CALL_H

#include <stdbool.h>

/* The classes of host_calls.def, from the least effect to the most. */
typedef enum ompjit__call_class {
    OMPJIT__CALL_NOTHING,
    OMPJIT__CALL_READS,
    OMPJIT__CALL_WRITES,
    OMPJIT__CALL_MIXES,
    OMPJIT__CALL_FREES,
    OMPJIT__CALL_ANYTHING
} ompjit__call_class;

/* The effect of a call of a function on the program's memory. The two flags are
 * beside the class: printf reads (READS), may call a stream's functions (calls)
 * and may leave what it was given in a buffer (keeps). */
typedef struct ompjit__call {
    ompjit__call_class class;
    bool calls; /* may call functions that functions outside were given */
    bool keeps; /* and keeps what it is given */
} ompjit__call;

/* By the first row of host_calls.def that fits; without one ANYTHING, which
 * calls and keeps. Takes the symbol's name, as the linker knows it. */
ompjit__call ompjit__call_of(const char *name);

/* A function that calls another: operands of the call, from 0 on. Both of the
 * other function's arguments lead into what operands `argument` lead to. */
typedef struct ompjit__call_back {
    unsigned function, argument[2];
} ompjit__call_back;

/* The row of a function's name, static; NULL: it calls none. */
const ompjit__call_back *ompjit__call_back_of(const char *name);

#endif
