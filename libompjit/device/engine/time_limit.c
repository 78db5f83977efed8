/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The thread sleeps until the earliest deadline that it knew when it fell
 * asleep. A launch wakes it only where its own is earlier, so that launches
 * that are short and follow each other cost it one turn in the time of a limit.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/fork.h"
#include "device/engine/time_limit.h"

/* `first` lists launches that are limited, each in its launching thread's
 * frame. */
struct ompjit__host_limits {
    pthread_mutex_t lock;   /* of all that follows             */
    ompjit__fork_lock at_fork;
    pthread_cond_t changed; /* an earlier deadline, or the end */
    pthread_t thread;
    pid_t process;    /* in which the thread runs; 0: there is none */
    bool ends;
    uint64_t wakes;   /* when the thread will wake by itself */
    ompjit__host_limit *first;
};

ompjit__host_limits *ompjit__limits_new(void)
{
    ompjit__host_limits *limits = calloc(1, sizeof *limits);
    if (!limits)
        return NULL;
    ompjit__fork_lock_init(&limits->at_fork, &limits->lock);
    ompjit__fork_cond_init(&limits->at_fork, &limits->changed);
    return limits;
}

/* Under the lock: stops what is too late. The earliest deadline to come. */
static uint64_t stop_late(ompjit__host_limits *limits, uint64_t now)
{
    uint64_t earliest = UINT64_MAX;
    for (ompjit__host_limit *l = limits->first; l; l = l->next) {
        if (l->deadline <= now) {
            ompjit__stop_one(l->watch, l->serial, OMPJIT__STOP_TIMEOUT);
            l->deadline = UINT64_MAX;
        }
        if (l->deadline < earliest)
            earliest = l->deadline;
    }
    return earliest;
}

static void *watch_times(void *data)
{
    ompjit__host_limits *limits = data;
    pthread_mutex_lock(&limits->lock);
    while (!limits->ends) {
        limits->wakes = stop_late(limits, ompjit__now());
        struct timespec until = {
            .tv_sec = (time_t)(limits->wakes / 1000000000),
            .tv_nsec = (long)(limits->wakes % 1000000000)};
        if (limits->wakes == UINT64_MAX)
            pthread_cond_wait(&limits->changed, &limits->lock);
        else
            pthread_cond_timedwait(&limits->changed, &limits->lock, &until);
    }
    pthread_mutex_unlock(&limits->lock);
    return NULL;
}

/* Under the lock. The application's signals are not this thread's, and a child
 * process has no other threads. */
static int start_thread(ompjit__host_limits *limits)
{
    sigset_t every, before;
    if (limits->process == getpid())
        return 0;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int code = pthread_create(&limits->thread, NULL, watch_times, limits);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    limits->process = code ? 0 : getpid();
    limits->wakes = 0;
    return code;
}

ompjit_status ompjit__limit_begin(ompjit__host_limits *limits,
                                  ompjit__host_watch *w, uint32_t limit_ms,
                                  ompjit__host_limit *limit,
                                  ompjit_error *err)
{
    *limit = (ompjit__host_limit){
        .watch = w,
        .serial = ompjit__serial_of(w),
        .deadline = ompjit__now() + limit_ms * UINT64_C(1000000)};
    pthread_mutex_lock(&limits->lock);
    int code = start_thread(limits);
    if (!code) {
        limit->next = limits->first;
        limits->first = limit;
        if (limit->deadline < limits->wakes)
            pthread_cond_signal(&limits->changed);
    }
    pthread_mutex_unlock(&limits->lock);
    if (code)
        return ompjit__fail(err, OMPJIT_ERR_NO_MEMORY, OMPJIT_STAGE_LAUNCH,
                            "no thread that watches the launch's time limit: "
                            "%s", strerror(code));
    return OMPJIT_OK;
}

void ompjit__limit_end(ompjit__host_limits *limits, ompjit__host_limit *limit)
{
    pthread_mutex_lock(&limits->lock);
    ompjit__host_limit **at = &limits->first;
    while (*at != limit)
        at = &(*at)->next;
    *at = limit->next;
    pthread_mutex_unlock(&limits->lock);
}

void ompjit__limits_free(ompjit__host_limits *limits)
{
    if (!limits)
        return;
    if (limits->process == getpid()) {
        pthread_mutex_lock(&limits->lock);
        limits->ends = true;
        pthread_cond_signal(&limits->changed);
        pthread_mutex_unlock(&limits->lock);
        pthread_join(limits->thread, NULL);
    }
    pthread_cond_destroy(&limits->changed);
    ompjit__fork_lock_end(&limits->at_fork);
    free(limits);
}
