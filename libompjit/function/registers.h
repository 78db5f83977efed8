/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Registers of a call, by the ABI of this CPU (base/cpu.def): the place of each
 * in one array of words, and the functions that fill and read them.
 */
#ifndef OMPJIT_FUNCTION_REGISTERS_H
#define OMPJIT_FUNCTION_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* words: those for integers, then for floats, then the stack's. place: where the
 * address goes at which the result is wanted. */
#if defined(__x86_64__)
enum {
    OMPJIT__INTEGERS = 6,
    OMPJIT__FLOATS = 8,
    OMPJIT__FLOATS_AT = OMPJIT__INTEGERS,
    OMPJIT__STACK_AT = OMPJIT__FLOATS_AT + OMPJIT__FLOATS,
    OMPJIT__RESULTS = 2,     /* of either kind */
    OMPJIT__FLOAT_RESULTS = 2,
    OMPJIT__PLACE_IS_FIRST = 1, /* integer; else it has a word of its own */
    OMPJIT__PLACE_AT = 0
};
#elif defined(__aarch64__)
enum {
    OMPJIT__INTEGERS = 8,
    OMPJIT__PLACE_AT = 8, /* x8 */
    OMPJIT__FLOATS = 8,
    OMPJIT__FLOATS_AT = 10,
    OMPJIT__STACK_AT = OMPJIT__FLOATS_AT + OMPJIT__FLOATS,
    OMPJIT__RESULTS = 2,
    OMPJIT__FLOAT_RESULTS = 4,
    OMPJIT__PLACE_IS_FIRST = 0
};
#endif
enum { OMPJIT__STACK_MOST = 256 };

/* The assembly code knows the offsets. */
typedef struct ompjit__registers {
    void *function;
    uint64_t nstack;         /* words, an even number                       */
    uint64_t integers[OMPJIT__RESULTS]; /* results                          */
    uint64_t floats[4];
    _Alignas(16) unsigned char x87[16];
    uint64_t wants_x87;
    void *exception;         /* of C++, that has left the function          */
    uint64_t words[OMPJIT__STACK_AT + OMPJIT__STACK_MOST];
} ompjit__registers;

/* How a call has ended: as ompjit__fiber_call, or by an exception. */
enum ompjit__ended {
    OMPJIT__ENDED_RETURNED,
    OMPJIT__ENDED_LEFT,
    OMPJIT__ENDED_THREW
};

/* Fills the registers, calls, and stores the results; *save is the way out for
 * ompjit__fiber_leave meanwhile, at most OMPJIT__FRAME bytes below the end of
 * the frame. registers_<CPU>.c */
enum { OMPJIT__FRAME = 160 };
int ompjit__registers_call(ompjit__registers *registers, void **save);
/* Where an exception leads to, for the unwinder; and what it asks. exception.c
 */
void ompjit__registers_caught(void) __attribute__((visibility("hidden")));
int ompjit__call_personality(int version, int actions, uint64_t origin,
                             void *exception, void *context)
    __attribute__((visibility("hidden")));

/* ----------------------------------------------------------- the other way */

/* The registers in which a callback was called. */
typedef struct ompjit__called {
    uint64_t integers[OMPJIT__INTEGERS], floats[OMPJIT__FLOATS];
    const uint64_t *stack;   /* the words of the rest                       */
    uint64_t integer, number; /* results                                    */
} ompjit__called;

/* The data that a stub's code finds. */
typedef struct ompjit__slot {
    void *data;
    void (*entry)(void);     /* ompjit__callback_entry, or ..._pointer_...  */
} ompjit__slot;

/* A stub of code, of which a page is full, at ompjit__STUB bytes each: it goes
 * to `entry` of its slot, whose address is a fixed distance away. */
enum { OMPJIT__STUB = 16 };
void ompjit__stub_write(void *at, const ompjit__slot *slot);
typedef struct ompjit__call_stub {
    struct ompjit__call_stub *next; /* in the list of free ones             */
    unsigned char *code;
    ompjit__slot *slot;
} ompjit__call_stub;
/* NULL: no memory for more pages. Any thread. stub.c */
ompjit__call_stub *ompjit__call_stub_take(void);
void ompjit__call_stub_give(ompjit__call_stub *stub);
/* Stores the registers and calls ompjit__callback_run. Assembly. */
void ompjit__callback_entry(void) __attribute__((visibility("hidden")));
void ompjit__callback_run(const ompjit__slot *slot, ompjit__called *called)
    __attribute__((visibility("hidden")));
/* The same for a pointer to a function: calls ompjit__pointer_run with the
 * caller's registers, and the words that it has on the stack, and returns the
 * results. Assembly. */
void ompjit__pointer_entry(void) __attribute__((visibility("hidden")));
void ompjit__pointer_run(const ompjit__slot *slot, ompjit__registers *registers,
                         const uint64_t *stack)
    __attribute__((visibility("hidden")));

#endif
