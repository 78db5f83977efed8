/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tasks, for task.c and detach.c.
 */
#ifndef OMPJIT_RT_TASK_H
#define OMPJIT_RT_TASK_H

#include "rt.h"

/* kmp_task_t, as clang lays it out; what it captured follows. */
typedef struct task task;
typedef int32_t (*task_fn)(int32_t gtid, task *t);
struct task {
    void *shareds;
    task_fn routine;
    int32_t part_id;
    task_fn destructors;
    void *priority;
};

/* Before the task. Its size is a multiple of the alignment of malloc. */
typedef struct task_header {
    _Alignas(16) uint32_t flags;
    uint32_t shareds_at;
    uint64_t size;
    thread_state saved; /* what holds outside of the task */
    uint32_t from, outside;
    uint32_t creator;   /* the task that runs it: its number, in detach.c */
    bool runs, again;   /* it is in its routine; which is to be called again */
    struct pending *event; /* of its detach clause, until it has begun */
} task_header;

_Static_assert(sizeof(task_header) % 16 == 0, "what follows is aligned");

INLINE task_header *header_of(task *t)
{
    return (task_header *)t - 1;
}

/* kmp_depend_info_t */
typedef struct dependence {
    uintptr_t address;
    size_t size;
    uint8_t flags;
} dependence;

/* Runs a task, and frees it. */
void ompjit_run_task(int32_t gtid, task *t);

/* ------------------------------------------------- tasks that are not over */

/* detach.c's; only called where ompjit_use_events. */

/* At the beginning and the end of a task in the thread that runs it; at the end
 * with what it depended on. */
void ompjit_detach_enter(task_header *h);
void ompjit_detach_leave(task_header *h, uint32_t n, const dependence *list);
/* Keeps a task for later if it depends on one that is not over. */
bool ompjit_detach_defer(task *t, uint32_t n, const dependence *list);
/* Waits for what a task with these dependences waits for. */
void ompjit_detach_wait_for(uint32_t n, const dependence *list);
void ompjit_detach_wait_children(void);
void ompjit_detach_yield(void);
/* A taskgroup begins, +1, or ends, -1. */
void ompjit_detach_group(int32_t change);

#endif
