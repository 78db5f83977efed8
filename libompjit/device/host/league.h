/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A launch's teams, which OS threads share. league.c
 */
#ifndef OMPJIT_HOST_LEAGUE_H
#define OMPJIT_HOST_LEAGUE_H

#include "device/host/host.h"

/* One launch, seen by all OS threads that take part. */
typedef struct ompjit__league {
    ompjit_device *dev;
    ompjit__host *host;
    ompjit__function *function;
    ompjit__host_launch *launch;
    uint32_t teams;
    /* If there are more OS threads than teams, several run one team: those
     * teams, else NULL. */
    ompjit__host_team **shared;
    _Atomic bool begun;   /* a team has run */
    bool timed;           /* nanoseconds: all OS threads', and the longest */
    _Atomic uint64_t work, longest;
    pthread_mutex_t lock; /* status, err: the first failure */
    ompjit_status status;
    ompjit_error *err;
} ompjit__league;

/* Runs all teams, of so many threads each. */
void ompjit__league_run(ompjit__league *run, uint32_t threads);

#endif
