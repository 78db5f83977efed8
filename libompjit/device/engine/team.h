/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How OS threads run teams of device threads: many teams on one, or one team
 * on many.
 */
#ifndef OMPJIT_HOST_TEAM_H
#define OMPJIT_HOST_TEAM_H

#include "device/device.h"
#include "device/engine/stop.h"
#include "runtime-bc/host_abi.h"

enum { OMPJIT__HOST_MAX_THREADS = OMPJIT_HOST_MAX_THREADS };

/* Stacks and team-shared memory, kept from launch to launch. */
typedef struct ompjit__host_pool ompjit__host_pool;

ompjit__host_pool *ompjit__host_pool_new(void);
void ompjit__host_pool_free(ompjit__host_pool *pool);

typedef struct ompjit__host_launch {
    const char *name;         /* of the kernel, for messages */
    void (*entry)(void **args);
    void (*team)(void **args); /* for all of a team's threads; or NULL  */
    void **args;
    const ompjit__geometry *geometry;
    uint32_t shared_size;     /* bytes of a team's static shared memory */
    void *check;              /* what threads find in `check`, or NULL  */
    ompjit__host_code *code;  /* its image's; NULL: no fault is caught  */
    ompjit__host_watch *watch; /* NULL: nobody stops it                 */
    uint32_t limit_ms;        /* that it may take; 0: any time          */
    bool shared;              /* several OS threads take part           */
    bool independent;         /* its threads never wait for each other  */
    /* Appends " (FILE:LINE)" of an address in it; NULL: nothing is known. */
    void (*locate)(void *data, uintptr_t pc, ompjit__buf *text);
    void *locate_data;
} ompjit__host_launch;

/* Why a device thread ended its kernel. */
typedef struct ompjit__host_trap {
    uint32_t thread;
    uintptr_t pc; /* in the kernel's code; 0: unknown */
    enum ompjit__stop stop; /* it did not fail, but was stopped */
    char text[512];
} ompjit__host_trap;

/* A launch whose teams have one thread, or threads that run one after the other
 * or in loops of the kernel's, and what can be known of a thread before it
 * runs. The launch must outlive it. */
typedef struct ompjit__host_single {
    const ompjit__host_launch *launch;
    size_t static_size, shared; /* bytes of shared memory: static, and all */
    bool looped; /* by the kernel: one call is all of a team's threads     */
    ompjit_host_thread self;
} ompjit__host_single;

ompjit__host_single ompjit__host_single_of(const ompjit__host_launch *launch);
/* As ompjit__host_run_teams, with a watch of its own. Keeps what the teams need
 * for the OS thread's next call. */
ompjit_status ompjit__host_single_run(const ompjit__host_single *single,
                                      uint32_t first, uint32_t last,
                                      ompjit__host_watch *watch,
                                      ompjit_error *err);

/* Runs teams first to last-1 on the calling OS thread, one after the other.
 * DEVICE error where a thread traps, faults, or a team deadlocks; TIMEOUT and
 * ABORTED where the launch is stopped, the latter also because another OS
 * thread of it has failed. */
ompjit_status ompjit__host_run_teams(ompjit__host_pool *pool,
                                     const ompjit__host_launch *launch,
                                     uint32_t first, uint32_t last,
                                     ompjit_error *err);

/* A team of at least two threads that several OS threads run. One begins it,
 * then up to `most` join, each once with its number among `members`, the same
 * for all, and stays until its fibers are done; when all have returned one
 * ends it, which tells of errors and frees. */
typedef struct ompjit__host_team ompjit__host_team;

ompjit_status ompjit__host_team_begin(ompjit__host_pool *pool,
                                      const ompjit__host_launch *launch,
                                      uint32_t number, uint32_t most,
                                      ompjit__host_team **out,
                                      ompjit_error *err);
void ompjit__host_team_join(ompjit__host_team *team, uint32_t member,
                            uint32_t members);
ompjit_status ompjit__host_team_end(ompjit__host_pool *pool,
                                    ompjit__host_team *team,
                                    ompjit_error *err);

#endif
