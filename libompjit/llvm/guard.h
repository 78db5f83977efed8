/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Guards (llvm.c) and the process that they are in.
 */
#ifndef OMPJIT_GUARD_H
#define OMPJIT_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "door/door.h"

/* Guards use these services from now on. Before the first guard. */
void ompjit__guard_attach(const ompjit__services *services);

/* Takes the signal of a guard's time limit, with the instruction that it came
 * at; false where it is none. Does not return where LLVM is to be left. */
bool ompjit__guard_limit(const siginfo_t *info, uintptr_t pc);

/* Was LLVM left in the middle of its work? Then memory is lost, and what it
 * keeps may be damaged. */
bool ompjit__guard_was_left(void);

#endif
