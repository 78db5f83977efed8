/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Where something new begins to run.
 */
#ifndef OMPJIT_BASE_PROCESSORS_H
#define OMPJIT_BASE_PROCESSORS_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* More than Linux can have. */
typedef struct {
    cpu_set_t part[8];
} ompjit__processor_set;

/* All that the calling thread may run on, and those but for the one where it
 * runs: where a thread of its own is to begin. False: there is no other one. */
bool ompjit__other_processors(ompjit__processor_set *all,
                              ompjit__processor_set *others);
enum ompjit__where { OMPJIT__HERE, OMPJIT__ELSEWHERE };

/* A child that waits for input will begin on the calling thread's processor, or
 * on another one. `all` is for the end, when it has its input, from which on it
 * may go anywhere. False, and there is no end: it has one processor. */
bool ompjit__place(pid_t child, enum ompjit__where where,
                   ompjit__processor_set *all);
void ompjit__place_end(pid_t child, const ompjit__processor_set *all);
/* Moves a child that has just begun to another processor, from where it may go
 * anywhere. Where there is none, it stays. */
void ompjit__run_elsewhere(pid_t child);

#endif
