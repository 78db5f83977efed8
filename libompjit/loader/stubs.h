/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stubs: addresses of functions that are not there yet. A stub's first call asks
 * for its function; from then on it is a jump. stubs.c
 */
#ifndef OMPJIT_STUBS_H
#define OMPJIT_STUBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of stubs, numbered from 0. */
typedef struct ompjit__stubs ompjit__stubs;

/* Has the address of function `i`, which has the type of its stub's callers. Any
 * thread may call it, several at once also for one function. Not NULL: there is
 * no way to return an error to a stub's caller. */
typedef void *ompjit__stubs_find(void *data, size_t i);

/* Are there stubs for this CPU? */
bool ompjit__stubs_supported(void);
/* NULL: out of memory, too many, or they are not supported. The caller's. */
ompjit__stubs *ompjit__stubs_new(size_t n, ompjit__stubs_find *find,
                                 void *data);
/* Accepts NULL. Nobody calls a stub any more. */
void ompjit__stubs_free(ompjit__stubs *stubs);
/* The address of stub `i`, the same from beginning to end. */
void *ompjit__stub(const ompjit__stubs *stubs, size_t i);
/* From now on the stub jumps there. Any thread. */
void ompjit__stub_set(ompjit__stubs *stubs, size_t i, void *function);

/* The address of a function that does nothing, whatever its arguments are, and
 * whose result is 0 if it is a number in a general register: for `find` where it
 * fails. */
void *ompjit__stub_nothing(void);

/* ------------------------------------------------- a CPU's part of stubs.c */

/* Bytes of a stub and of the code that all stubs of a block share; 0: the CPU has
 * none. stubs_x86_64.c, stubs_aarch64.c */
extern const size_t ompjit__stub_size, ompjit__stub_common_size;
/* Writes the code that stubs share. */
void ompjit__stub_put_common(unsigned char *common, ompjit__stubs *stubs);
/* Writes stub `i`, which jumps to the address in `slot`. The result is what the
 * slot holds at first: the address of code that calls ompjit__stub_enter and goes
 * on where that says, with all arguments as they were. */
void *ompjit__stub_put(unsigned char *stub, void *const *slot, size_t i,
                       const unsigned char *common, ompjit__stubs *stubs);
/* Called by the shared code. */
void *ompjit__stub_enter(ompjit__stubs *stubs, size_t i);

#endif
