/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How one OS thread runs teams of device threads.
 */
#ifndef OMPJIT_HOST_TEAM_H
#define OMPJIT_HOST_TEAM_H

#include "device/device.h"

enum { OMPJIT__HOST_MAX_THREADS = 1024 };

/* Stacks and team-shared memory of the OS threads that run teams. */
typedef struct ompjit__host_pool ompjit__host_pool;

ompjit__host_pool *ompjit__host_pool_new(void);
void ompjit__host_pool_free(ompjit__host_pool *pool);

typedef struct ompjit__host_launch {
    const char *name;         /* of the kernel, for messages */
    void (*entry)(void **args);
    void **args;
    const ompjit__geometry *geometry;
    uint32_t shared_size;     /* bytes of a team's static shared memory */
    void *check;              /* what threads find in `check`, or NULL  */
} ompjit__host_launch;

/* Runs teams first to last-1 on the calling OS thread, one after the other.
 * DEVICE error where a thread traps or a team deadlocks. */
ompjit_status ompjit__host_run_teams(ompjit__host_pool *pool,
                                     const ompjit__host_launch *launch,
                                     uint32_t first, uint32_t last,
                                     ompjit_error *err);

#endif
