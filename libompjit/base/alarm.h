/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A time limit of the calling thread: a signal to it, again and again until
 * the limit ends. alarm.c
 */
#ifndef OMPJIT_ALARM_H
#define OMPJIT_ALARM_H

#include <signal.h>
#include <stdbool.h>
#include <time.h>

typedef struct ompjit__alarm {
    timer_t timer;
    sigset_t before; /* the signals that were blocked */
    bool armed;
} ompjit__alarm;

/* After `ms` milliseconds, more than 0, the thread gets the signal each
 * millisecond, for which the caller has set a handler; it is not blocked
 * meanwhile. If `signal` is 0, or the system has no timer left, there is no
 * limit. */
void ompjit__alarm_begin(ompjit__alarm *limit, unsigned ms, int signal);
/* No signal comes any more; blocked is what was blocked before. */
void ompjit__alarm_end(ompjit__alarm *limit);
/* Is it the signal of a limit? */
bool ompjit__alarm_is(const siginfo_t *info);

#endif
