/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Locks that a fork waits for. fork.c
 */
#ifndef OMPJIT_FORK_H
#define OMPJIT_FORK_H

#include <pthread.h>
#include <stdbool.h>

/* A mutex's place in the list of those that a fork takes. */
typedef struct ompjit__fork_lock {
    pthread_mutex_t *lock;
    pthread_cond_t *cond; /* NULL: none */
    struct ompjit__fork_lock *next, *previous;
    bool held; /* by the thread that forks */
    void (*in_child)(void *owner); /* NULL: none */
    void *owner;
} ompjit__fork_lock;

/* Makes a mutex that each fork takes, and so the child finds it free, and what
 * it guards whole. Both places stay as they are until ompjit__fork_lock_end,
 * which destroys the mutex. Any thread. */
void ompjit__fork_lock_init(ompjit__fork_lock *place, pthread_mutex_t *lock);
void ompjit__fork_lock_end(ompjit__fork_lock *place);

/* A condition variable of that mutex, with CLOCK_MONOTONIC. In the child nobody
 * waits for it, so it can be destroyed. One for each mutex. */
void ompjit__fork_cond_init(ompjit__fork_lock *place, pthread_cond_t *cond);

/* in_child(owner) is called in the child, by its only thread, when all locks are
 * free. One for each mutex. */
void ompjit__fork_call(ompjit__fork_lock *place, void (*in_child)(void *owner),
                       void *owner);

/* As ompjit__fork_lock_init, for a static mutex, when the library is loaded. */
#define OMPJIT__FORK_TAKES(mutex)                              \
    __attribute__((constructor)) static void fork_takes(void)  \
    {                                                          \
        static ompjit__fork_lock place;                        \
        ompjit__fork_lock_init(&place, &(mutex));              \
    }

/* How many forks lie between the process and the one that loaded the library. A
 * thread of another number is not in this process. */
unsigned ompjit__fork_depth(void);

#endif
