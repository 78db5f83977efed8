/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the fault handler asks of guards (llvm.c).
 */
#ifndef OMPJIT_GUARD_H
#define OMPJIT_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Takes the signal of a guard's time limit, with the instruction that it came
 * at; false where it is none. Does not return where LLVM is to be left. */
bool ompjit__guard_limit(const siginfo_t *info, uintptr_t pc);

#endif
