/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Signals that a system call of the library's own raises in its thread, and
 * that would end the process: held back, and taken away if they were not there
 * before, so that only the call fails.
 */
#include <time.h>

#include "base/hold.h"

static bool is_pending(int number)
{
    sigset_t pending;
    return !sigpending(&pending) && sigismember(&pending, number) == 1;
}

void ompjit__hold(ompjit__held *held, int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    held->number = number;
    held->was_pending = is_pending(number);
    pthread_sigmask(SIG_BLOCK, &set, &held->before);
}

void ompjit__release(const ompjit__held *held)
{
    if (!held->was_pending && is_pending(held->number)) {
        static const struct timespec at_once;
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, held->number);
        sigtimedwait(&set, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}
