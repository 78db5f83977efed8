/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The analysis that tells whether a kernel observes its threads, for its files:
 *
 *   observe_names.c    the class of a call (observe.def)
 *   observe_values.c   whose memory a pointer leads to, what a load yields
 *   observe_flow.c     which threads come to each instruction
 *   observe_carried.c  values that iterations hand to each other
 *   observe.c          the effects of instructions and calls; the answer
 */
#ifndef OMPJIT_OBSERVE_H
#define OMPJIT_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llvm-c/Core.h>

/* ------------------------------------------------------------------ facts */

/* The class of a call, which observe.def explains. Two classes have no rows:
 * OBSERVES is a function of the runtime that the table does not know, FOREIGN
 * one that is not of the runtime. */
enum ompjit__call {
    OMPJIT__CALL_FREE,
    OMPJIT__CALL_TEAM,
    OMPJIT__CALL_NUMBER,
    OMPJIT__CALL_HARDWARE,
    OMPJIT__CALL_BEGIN,
    OMPJIT__CALL_END,
    OMPJIT__CALL_NEXT,
    OMPJIT__CALL_CHOOSE,
    OMPJIT__CALL_ELECT,
    OMPJIT__CALL_BODY,
    OMPJIT__CALL_FORK,
    OMPJIT__CALL_TASK,
    OMPJIT__CALL_WIDTH,
    OMPJIT__CALL_OBSERVES,
    OMPJIT__CALL_FOREIGN
};

/* The threads that run a function. The same function is looked at once for each
 * place that it is run in, since a store that is harmless in SHARED, where it
 * happens once for each iteration, is not in REGION, where it happens once for
 * each thread. */
enum ompjit__place {
    OMPJIT__IN_MAIN,   /* one thread, outside of regions                   */
    OMPJIT__IN_SPMD,   /* each thread of an SPMD kernel, outside of regions */
    OMPJIT__IN_REGION, /* each thread of a parallel region                 */
    OMPJIT__IN_NESTED, /* each of those too, in a region inside that, of one
                          thread                                           */
    OMPJIT__IN_SHARED  /* one of the threads: an iteration of a loop that they
                          share                                            */
};

/* The threads that come to an instruction, as a set. In
 *
 *     for (...)         shared by the region's threads
 *         a[i] = i;     LOOP
 *     b = 1;            EACH: one store becomes as many as there are threads
 *     if (single())     PICKED in the block, PICKED and EACH behind it
 *
 * a block that several of these lead to has the bits of all. A store observes
 * only where EACH is among them. */
enum {
    OMPJIT__BY_EACH = 1,   /* each of them                                 */
    OMPJIT__BY_LOOP = 2,   /* one, for an iteration of a shared loop       */
    OMPJIT__BY_LAST = 4,   /* the one that had such a loop's last iteration */
    OMPJIT__BY_PICKED = 8, /* one that was picked                          */
    OMPJIT__BY_MAIN = 16   /* the main thread, outside of regions          */
};

/* ------------------------------------------------------------------- state */

/* A function, run in a place. A bit of a mask is for the parameter with its
 * number. */
struct ompjit__visit {
    LLVMValueRef f;
    enum ompjit__place place;
    uint64_t own;       /* point to memory of the thread's own   */
    uint64_t functions; /* are functions that have been looked at */
};

/* The functions that have been looked at, or are being: `visited` is malloc'd,
 * `depth` the number of calls between the kernel and the function in hand. A
 * function that is in the list has not observed so far, as the search ends with
 * the first that does. */
struct ompjit__scan {
    struct ompjit__visit *visited;
    size_t n, capacity;
    unsigned depth;
};

/* A basic block and what the flow analysis found of it. */
struct ompjit__threads_block {
    LLVMBasicBlockRef block;
    unsigned char state; /* OMPJIT__BY_...; 0: nobody comes to it   */
    bool turns;          /* it has calls that change how they are  */
    bool reached;        /* the mark of a search                   */
};

/* A function's body in one place. `blocks` and `stack` are malloc'd, of n
 * elements each; ompjit__threads_free frees them. */
struct ompjit__threads_body {
    struct ompjit__scan *scan;
    struct ompjit__visit of;
    struct ompjit__threads_block *blocks; /* by address */
    unsigned n;
    unsigned *stack; /* of a search: has room for all blocks */
};

/* --------------------------------------------------------- observe_names.c */

/* Does the name begin with one of these? The list ends with NULL. */
bool ompjit__begins_with_any(const char *name, const char *const *prefixes);
/* FOREIGN for all that is no call of a declared function. */
enum ompjit__call ompjit__call_kind(LLVMValueRef v);
/* Is it a call or an invoke? `v` is any value. */
bool ompjit__is_call(LLVMValueRef v);

/* -------------------------------------------------------- observe_values.c */

/* Is it a function by exactly one of these names? The list ends with NULL. */
bool ompjit__has_name(LLVMValueRef f, const char *const *names);
/* Is it a call that leaves the contents of memory as they are: a marker of a
 * lifetime, of debug information, or one that frees? */
bool ompjit__is_for_lifetime(LLVMValueRef v);
/* Is it a call that gives the calling thread memory that no other has yet? */
bool ompjit__allocates(LLVMValueRef v);
/* Is it this constant? `v` may be NULL. */
bool ompjit__is_constant(LLVMValueRef v, int64_t number);
/* The object that the pointer is an address in. */
LLVMValueRef ompjit__address_base(LLVMValueRef pointer);
/* The value that a load gets from a variable that always holds the same; else
 * v. */
LLVMValueRef ompjit__held_value(LLVMValueRef v);
/* The parameter's number; -1: v is none of f's, or one beyond the 64th. */
int ompjit__param_number(LLVMValueRef f, LLVMValueRef v);
/* Is the pointer one into memory that each thread has for itself: a local
 * variable, memory that the thread has allocated in this function, or what a
 * parameter leads to that the caller knows to be so (of.own)? False where the
 * IR does not show it, as for a pointer from memory or a phi. */
bool ompjit__is_thread_own(const struct ompjit__threads_body *b,
                           LLVMValueRef pointer);
/* Is nothing done with the value but to compare it with 0, for branches? Loads
 * of variables that hold it are followed `depth` times. */
bool ompjit__is_only_compared(LLVMValueRef v, unsigned depth);

/* ---------------------------------------------------------- observe_flow.c */

/* Finds for each block which threads come to it; `of` and `scan` are set by
 * the caller. False: no memory. Freed by ompjit__threads_free in any case. */
bool ompjit__threads_find(struct ompjit__threads_body *b);
void ompjit__threads_free(struct ompjit__threads_body *b);
/* The entry of one of the function's blocks; never NULL. */
struct ompjit__threads_block *
ompjit__body_block(const struct ompjit__threads_body *b,
                   LLVMBasicBlockRef block);
/* How threads come to an instruction of the block; NULL: to its end. */
unsigned char ompjit__threads_at(const struct ompjit__threads_body *b,
                                 const struct ompjit__threads_block *block,
                                 LLVMValueRef at);
/* How threads are behind an instruction that they come to as `state` says. */
unsigned char ompjit__threads_behind(const struct ompjit__threads_body *b,
                                     LLVMValueRef i, unsigned char state);
/* Marks the blocks that threads can come to from one as `reached`. */
void ompjit__mark_reachable(struct ompjit__threads_body *b,
                            const struct ompjit__threads_block *from);
/* Does the runtime put a thread's part of a shared loop into the variable? */
bool ompjit__is_loop_variable(LLVMValueRef variable);

/* ------------------------------------------------------- observe_carried.c */

/* Does a thread's own variable, or a phi, hand a value from iteration to
 * iteration of a shared loop, or out of one? */
bool ompjit__carries_values(struct ompjit__threads_body *b);

#endif
