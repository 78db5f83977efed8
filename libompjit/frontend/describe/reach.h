/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions that a kernel reaches. reach.c
 */
#ifndef OMPJIT_REACH_H
#define OMPJIT_REACH_H

#include <stdbool.h>
#include <stddef.h>

#include <llvm-c/Types.h>

/* A list of values without repetition, in the order in which they were found.
 * A list of reached functions begins with the function itself, and has
 * declarations, too. */
typedef struct ompjit__reached {
    LLVMValueRef *functions; /* malloc'd; freed by whoever asked */
    size_t n, capacity;
    bool failed; /* no memory */
} ompjit__reached;

/* All functions that may run when the function does. If one of them calls
 * through a pointer, these are all whose address is taken. */
ompjit__reached ompjit__reached_by(LLVMValueRef function);
/* Those only that calls name, as what they call or hand over. */
ompjit__reached ompjit__named_by(LLVMValueRef function);
/* Adds a value, unless it is there; `failed` where memory runs out. Other
 * values than functions can be collected so too. */
void ompjit__reached_add(ompjit__reached *r, LLVMValueRef f);
bool ompjit__is_reached(const ompjit__reached *r, LLVMValueRef f);
/* Does it reach a function with such a name? */
bool ompjit__reaches(const ompjit__reached *r, bool (*is)(const char *name));

/* Does the function run a loop in the thread that calls it, with the body as its
 * second argument: __kmpc_distribute_static_loop_4u and its kin, of flang's
 * code? */
bool ompjit__runs_loop(LLVMValueRef function);
/* The body that such a call names; NULL: it is another call, or the body is not
 * here. It gets the call's third argument behind the loop's counter. */
LLVMValueRef ompjit__loop_body(LLVMValueRef call);

#endif
