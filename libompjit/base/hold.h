/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Signals of system calls that fail, held back. hold.c
 */
#ifndef OMPJIT_HOLD_H
#define OMPJIT_HOLD_H

#include <signal.h>
#include <stdbool.h>

/* A signal that a system call may raise in the calling thread, held back until
 * ompjit__release: SIGPIPE, and SIGXFSZ of what is written beyond a limit of the
 * process (RLIMIT_FSIZE). The call fails instead. */
typedef struct ompjit__held {
    sigset_t before;
    int number;
    bool was_pending;
} ompjit__held;
void ompjit__hold(ompjit__held *held, int number);
void ompjit__release(const ompjit__held *held);

#endif
