/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One thread of the context, started for the first job, that runs jobs in their
 * order.
 */
#ifndef OMPJIT_BACKGROUND_H
#define OMPJIT_BACKGROUND_H

#include "core/core.h"

typedef struct ompjit__background ompjit__background;

ompjit__background *ompjit__background_new(void);
/* Cancels all jobs and waits for the one that runs. Accepts NULL. */
void ompjit__background_free(ompjit__background *background);

/* run(arg) is called on the background thread, or drop(arg) by whoever cancels
 * it. `owner` is a name to cancel by. UNAVAILABLE: there is no thread; TIMEOUT:
 * the process exits; NO_MEMORY. */
ompjit_status ompjit__background_add(ompjit__background *background,
                                     const void *owner,
                                     void (*run)(void *arg),
                                     void (*drop)(void *arg), void *arg,
                                     ompjit_error *err);
/* Drops the owner's jobs that wait, and with `wait` awaits the one that
 * runs. Not from a job. */
void ompjit__background_cancel(ompjit__background *background,
                               const void *owner, bool wait);

#endif
