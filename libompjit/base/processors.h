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
 * runs. False: there is no other one. */
bool ompjit__other_processors(ompjit__processor_set *all,
                              ompjit__processor_set *others);
/* Moves a child that has just begun to another processor, from where it may go
 * anywhere. Where there is none, it stays. */
void ompjit__run_elsewhere(pid_t child);

#endif
