/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Signals of system calls that fail, held back. hold.c
 */
#ifndef OMPJIT_HOLD_H
#define OMPJIT_HOLD_H

#include <signal.h>
#include <stdbool.h>

/* A signal that a system call may raise in the calling thread, held back until
 * ompjit__release: SIGPIPE, and SIGXFSZ of what is written beyond a limit of
 * the process (RLIMIT_FSIZE). The call fails instead, with EPIPE or EFBIG. */
typedef struct ompjit__held {
    sigset_t before;  /* the thread's mask                                  */
    int number;       /* of the signal                                      */
    bool was_pending; /* it was there before, and stays: it is not ours     */
} ompjit__held;
/* By the thread that makes the call, around it. May be nested. */
void ompjit__hold(ompjit__held *held, int number);
/* Takes one away that came since. May change errno. */
void ompjit__release(const ompjit__held *held);

#endif
