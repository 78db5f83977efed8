/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The background thread: a queue of jobs. In the child of a fork there is no
 * such thread any more; the queue starts anew there, without the parent's jobs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/variant.h"

struct job {
    struct job *next;
    const void *owner;
    void (*run)(void *arg);
    void (*drop)(void *arg);
    void *arg;
};

struct ompjit__background {
    pthread_mutex_t lock;
    pthread_cond_t more, idle; /* jobs or the end; a job has ended */
    pthread_t thread;
    pid_t process;             /* whose thread it is; 0: none yet  */
    struct job *first, **last;
    const void *running;       /* its owner                        */
    bool stop;
};

static void reset(ompjit__background *b)
{
    memset(b, 0, sizeof *b);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->more, NULL);
    pthread_cond_init(&b->idle, NULL);
    b->last = &b->first;
}

ompjit__background *ompjit__background_new(void)
{
    ompjit__background *b = malloc(sizeof *b);
    if (b)
        reset(b);
    return b;
}

static void *work(void *arg)
{
    ompjit__background *b = arg;
    pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        struct job *job = b->first;
        if (!job) {
            pthread_cond_wait(&b->more, &b->lock);
            continue;
        }
        if (!(b->first = job->next))
            b->last = &b->first;
        b->running = job->owner;
        pthread_mutex_unlock(&b->lock);
        job->run(job->arg);
        free(job);
        pthread_mutex_lock(&b->lock);
        b->running = NULL;
        pthread_cond_broadcast(&b->idle);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* The application's signals are not for this thread. */
static int start(ompjit__background *b)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&b->thread, NULL, work, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        b->process = getpid();
    return error;
}

/* In a forked child nobody else has run yet, and a lock may be held by a thread
 * that is not there. */
static void after_fork(ompjit__background *b)
{
    if (b->process && b->process != getpid())
        reset(b);
}

ompjit_status ompjit__background_add(ompjit__background *b, const void *owner,
                                     void (*run)(void *arg),
                                     void (*drop)(void *arg), void *arg,
                                     ompjit_error *err)
{
    after_fork(b);
    struct job *job = malloc(sizeof *job);
    if (!job)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    *job = (struct job){NULL, owner, run, drop, arg};
    pthread_mutex_lock(&b->lock);
    int error = b->process ? 0 : start(b);
    if (!error) {
        *b->last = job;
        b->last = &job->next;
        pthread_cond_signal(&b->more);
    }
    pthread_mutex_unlock(&b->lock);
    if (!error)
        return OMPJIT_OK;
    free(job);
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                        "no thread for compiling in the background: %s",
                        strerror(error));
}

/* Takes the owner's jobs (NULL: all) out of the queue. */
static struct job *take(ompjit__background *b, const void *owner)
{
    struct job *taken = NULL, **at = &b->first;
    while (*at) {
        struct job *job = *at;
        if (owner && job->owner != owner) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        job->next = taken;
        taken = job;
    }
    b->last = at;
    return taken;
}

void ompjit__background_cancel(ompjit__background *b, const void *owner,
                               bool wait)
{
    after_fork(b);
    pthread_mutex_lock(&b->lock);
    struct job *taken = take(b, owner);
    while (wait && b->running && (!owner || b->running == owner))
        pthread_cond_wait(&b->idle, &b->lock);
    pthread_mutex_unlock(&b->lock);
    while (taken) {
        struct job *job = taken;
        taken = job->next;
        job->drop(job->arg);
        free(job);
    }
}

void ompjit__background_free(ompjit__background *b)
{
    if (!b)
        return;
    ompjit__background_cancel(b, NULL, true);
    pthread_mutex_lock(&b->lock);
    bool started = b->process != 0;
    b->stop = true;
    pthread_cond_signal(&b->more);
    pthread_mutex_unlock(&b->lock);
    if (started)
        pthread_join(b->thread, NULL);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->more);
    pthread_cond_destroy(&b->idle);
    free(b);
}
