/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A fork takes all locks of the list, in whatever order they are free: where one
 * is not, it gives the others back and waits for that one first. So it needs no
 * order of locks, and locks that are used in launches cost nothing more. It
 * cannot wait for ever: who holds a lock may wait for the thread that forks, to
 * call a log function in Python, say.
 */
#include <time.h>

#include "base/base.h"
#include "base/fork.h"

static struct {
    pthread_mutex_t lock; /* of the list; held over a fork */
    ompjit__fork_lock *first;
    unsigned depth;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Nanoseconds. */
enum { PATIENCE = 1000000000, STEP = 2000000, PAUSE = 100000 };

/* Takes the locks that are free. Returns one that is not, or NULL. */
static ompjit__fork_lock *take_free(void)
{
    ompjit__fork_lock *taken = NULL;
    for (ompjit__fork_lock *l = all.first; l; l = l->next) {
        l->held = l->held || !pthread_mutex_trylock(l->lock);
        if (!l->held)
            taken = l;
    }
    return taken;
}

static void give_back(void)
{
    for (ompjit__fork_lock *l = all.first; l; l = l->next) {
        if (l->held)
            pthread_mutex_unlock(l->lock);
        l->held = false;
    }
}

/* The thread that has the lock may need the list's, and gets it after a while. */
static void wait_for(ompjit__fork_lock *l)
{
    const struct timespec pause = {.tv_nsec = PAUSE};
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += STEP;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    l->held = !pthread_mutex_timedlock(l->lock, &limit);
    if (l->held)
        return;
    pthread_mutex_unlock(&all.lock);
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&all.lock);
}

static void before_fork(void)
{
    const uint64_t limit = ompjit__now() + PATIENCE;
    ompjit__fork_lock *taken;
    pthread_mutex_lock(&all.lock);
    while ((taken = take_free()) && ompjit__now() < limit) {
        give_back();
        wait_for(taken);
    }
}

static void after_fork(void)
{
    give_back();
    pthread_mutex_unlock(&all.lock);
}

static void init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* A lock that was not given in time is free, too. */
static void free_in_child(void)
{
    all.depth++;
    for (ompjit__fork_lock *l = all.first; l; l = l->next) {
        pthread_mutex_init(l->lock, NULL);
        l->held = false;
        if (l->cond)
            init(l->cond);
    }
    pthread_mutex_init(&all.lock, NULL);
    for (ompjit__fork_lock *l = all.first; l; l = l->next)
        if (l->in_child)
            l->in_child(l->owner);
}

/* Once in the process: handlers of fork cannot be removed. */
static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, free_in_child);
}

void ompjit__fork_lock_init(ompjit__fork_lock *place, pthread_mutex_t *lock)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_init(lock, NULL);
    *place = (ompjit__fork_lock){.lock = lock};
    pthread_mutex_lock(&all.lock);
    place->next = all.first;
    if (place->next)
        place->next->previous = place;
    all.first = place;
    pthread_mutex_unlock(&all.lock);
}

void ompjit__fork_lock_end(ompjit__fork_lock *place)
{
    pthread_mutex_lock(&all.lock);
    if (place->next)
        place->next->previous = place->previous;
    if (place->previous)
        place->previous->next = place->next;
    else
        all.first = place->next;
    pthread_mutex_unlock(&all.lock);
    pthread_mutex_destroy(place->lock);
}

void ompjit__fork_cond_init(ompjit__fork_lock *place, pthread_cond_t *cond)
{
    init(cond);
    pthread_mutex_lock(&all.lock);
    place->cond = cond;
    pthread_mutex_unlock(&all.lock);
}

void ompjit__fork_call(ompjit__fork_lock *place, void (*in_child)(void *owner),
                       void *owner)
{
    pthread_mutex_lock(&all.lock);
    place->in_child = in_child;
    place->owner = owner;
    pthread_mutex_unlock(&all.lock);
}

unsigned ompjit__fork_depth(void)
{
    return all.depth;
}
