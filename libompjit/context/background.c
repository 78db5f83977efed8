/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The background thread: a queue of jobs. In the child of a fork there is no
 * such thread any more; the queue starts anew there, without the parent's jobs.
 *
 * At the end of the process nobody may be in LLVM, or in the driver, while
 * their static objects are destroyed. exit runs first the destructors of the
 * thread that called it, then all handlers, the latest first. A handler of ours
 * alone would come too late: LLVM makes some of its objects when it first
 * compiles, which may be in a job where all else came from the cache. So the
 * main thread has a destructor, which does not run when it calls pthread_exit;
 * a handler is for exit from other threads and for dlclose.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "context/background.h"

/* Seconds to wait for a job: one that needs a lock which the exiting thread has
 * would never end. */
enum { PATIENCE = 10 };

struct job {
    struct job *next;
    const void *owner;       /* a name to cancel by                      */
    void (*run)(void *arg);  /* one of these two gets arg, and ends it   */
    void (*drop)(void *arg);
    void *arg;
};

/* All of it is under all.lock. */
struct ompjit__background {
    ompjit__background *next;
    pthread_cond_t more; /* jobs or the end */
    pthread_t thread;
    enum { NONE, THERE, ENDED, JOINED } state; /* of the thread */
    struct job *first, **last; /* those that wait, the oldest first */
    const void *running; /* the owner of the job that runs; NULL: none does */
    bool stop;           /* the context is being destroyed */
};

/* Those of the process. One lock for all: whoever ends the process meets others
 * that destroy contexts. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle; /* a job, or a thread, has ended */
    pid_t process;       /* whose threads they are        */
    ompjit__background *first;
    unsigned handlers; /* of exit, that are registered   */
    bool leaving;      /* exit has begun: no more jobs   */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};
OMPJIT__FORK_TAKES(all.lock)

extern int __cxa_thread_atexit_impl(void (*f)(void *), void *arg, void *dso);
extern void *__dso_handle __attribute__((visibility("hidden")));

/* A job may call exit, or fork. */
static bool is_own(const ompjit__background *b)
{
    return b->state == THERE && pthread_equal(b->thread, pthread_self());
}

/* ------------------------------------------------------------------- fork */

/* Without jobs and thread. The parent's jobs are not freed: the thread of
 * before the fork may have been changing the list. */
static void reset(ompjit__background *b)
{
    *b = (ompjit__background){.next = b->next};
    pthread_cond_init(&b->more, NULL);
    b->last = &b->first;
}

/* In a forked child nobody else has run yet, and the lock may be held by a
 * thread that is not there. */
static void after_fork(void)
{
    if (all.process == getpid())
        return;
    all.process = getpid();
    pthread_mutex_init(&all.lock, NULL);
    pthread_cond_init(&all.idle, NULL);
    for (ompjit__background *b = all.first; b; b = b->next)
        reset(b);
}

/* Handlers of the application may run before ours in the child. */
static void lock_all(void)
{
    after_fork();
    pthread_mutex_lock(&all.lock);
}

static void unlock_all(void)
{
    pthread_mutex_unlock(&all.lock);
}

/* Once in the process: handlers of fork cannot be removed. */
static void watch_forks(void)
{
    all.process = getpid();
    pthread_atfork(NULL, NULL, after_fork);
}

/* ------------------------------------------------------------------- exit */

/* Under the lock. A thread that has ended is no more to be waited for, but
 * joined. */
static bool has_thread(const ompjit__background *b)
{
    return b->state == THERE && !is_own(b);
}

/* Seconds from now on. */
static struct timespec time_limit(unsigned seconds)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += seconds;
    return limit;
}

/* Under the lock: waits for the threads, but not forever. */
static void await_threads(void)
{
    struct timespec limit = time_limit(PATIENCE);
    ompjit__background *b = all.first;
    while (b) {
        if (!has_thread(b))
            b = b->next;
        else if (pthread_cond_timedwait(&all.idle, &all.lock, &limit))
            return;
        else /* it may be gone */
            b = all.first;
    }
}

/* The end of the process, or of the library in it. The jobs that wait stay:
 * what they are for may be locked by this thread. */
static void end_all(void)
{
    lock_all();
    bool again = all.leaving;
    all.leaving = true;
    for (ompjit__background *b = all.first; b; b = b->next)
        pthread_cond_signal(&b->more);
    if (!again)
        await_threads();
    for (ompjit__background *b = all.first; b; b = b->next) {
        if (b->state != ENDED)
            continue;
        pthread_join(b->thread, NULL);
        b->state = JOINED;
    }
    unlock_all();
}

/* For __cxa_thread_atexit_impl, which has an argument. */
static void end_main(void *unused)
{
    (void)unused;
    end_all();
}

/* Under the lock: sees to it that there are n handlers. */
static void watch_exit(unsigned n)
{
    if (all.handlers < n && !atexit(end_all))
        all.handlers++;
}

/* The library stays loaded as long as the destructor is there. */
static void watch_main_thread(void)
{
    static _Thread_local bool watched;
    if (!watched && gettid() == getpid())
        watched = !__cxa_thread_atexit_impl(end_main, NULL, &__dso_handle);
}

/* ----------------------------------------------------------------- thread */

/* No thread is started here: the first job does that. NULL: no memory. */
ompjit__background *ompjit__background_new(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ompjit__background *b = malloc(sizeof *b);
    if (!b)
        return NULL;
    pthread_once(&once, watch_forks);
    watch_main_thread();
    b->next = NULL;
    reset(b);
    lock_all();
    b->next = all.first;
    all.first = b;
    unlock_all();
    return b;
}

/* Runs a job: under the lock, but not while it runs. */
static void perform(ompjit__background *b, struct job *job)
{
    if (!(b->first = job->next))
        b->last = &b->first;
    b->running = job->owner;
    pthread_mutex_unlock(&all.lock);
    job->run(job->arg);
    free(job);
    pthread_mutex_lock(&all.lock);
    b->running = NULL;
    watch_exit(2); /* ahead of what LLVM made in the first job */
    pthread_cond_broadcast(&all.idle);
}

/* The thread. Jobs that wait when the context ends are dropped by
 * ompjit__background_free, not here. */
static void *work(void *arg)
{
    ompjit__background *b = arg;
    pthread_mutex_lock(&all.lock);
    while (!b->stop && !all.leaving) {
        if (b->first)
            perform(b, b->first);
        else
            pthread_cond_wait(&b->more, &all.lock);
    }
    b->state = ENDED;
    pthread_cond_broadcast(&all.idle);
    pthread_mutex_unlock(&all.lock);
    return NULL;
}

/* Under the lock. The application's signals are not for this thread. */
static int start(ompjit__background *b)
{
    sigset_t every, before;
    watch_exit(1);
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int error = pthread_create(&b->thread, NULL, work, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        b->state = THERE;
    return error;
}

/* ------------------------------------------------------------------- jobs */

/* TIMEOUT makes a launch do without. */
static ompjit_status no_thread(int error, ompjit_error *err)
{
    if (!error)
        return ompjit__fail(err, OMPJIT_ERR_TIMEOUT, OMPJIT_STAGE_API,
                            "the process exits: nothing is compiled in the "
                            "background any more");
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                        "no thread for compiling in the background: %s",
                        strerror(error));
}

/* On failure neither `run` nor `drop` is called: `arg` is still the caller's.
 */
ompjit_status ompjit__background_add(ompjit__background *b, const void *owner,
                                     void (*run)(void *arg),
                                     void (*drop)(void *arg), void *arg,
                                     ompjit_error *err)
{
    struct job *job = malloc(sizeof *job);
    if (!job)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    *job = (struct job){NULL, owner, run, drop, arg};
    watch_main_thread();
    lock_all();
    bool leaving = all.leaving;
    int error = leaving || b->state ? 0 : start(b);
    if (!leaving && !error) {
        *b->last = job;
        b->last = &job->next;
        pthread_cond_signal(&b->more);
    }
    unlock_all();
    if (!leaving && !error)
        return OMPJIT_OK;
    free(job);
    return no_thread(error, err);
}

/* Takes the owner's jobs (NULL: all) out of the queue. Under the lock. The jobs
 * come in no particular order. */
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

/* Not under the lock: `drop` may take the locks of what the job was for. */
static void drop_all(struct job *taken)
{
    while (taken) {
        struct job *job = taken;
        taken = job->next;
        job->drop(job->arg);
        free(job);
    }
}

void ompjit__background_cancel(ompjit__background *b, const void *owner,
                               bool wait)
{
    lock_all();
    struct job *taken = take(b, owner);
    while (wait && b->running && !is_own(b) &&
           (!owner || b->running == owner))
        pthread_cond_wait(&all.idle, &all.lock);
    unlock_all();
    drop_all(taken);
}

/* Waits for the job that runs, however long that takes, unless a job calls
 * this. */
void ompjit__background_free(ompjit__background *b)
{
    if (!b)
        return;
    lock_all();
    struct job *taken = take(b, NULL);
    b->stop = true;
    pthread_cond_signal(&b->more);
    while (has_thread(b))
        pthread_cond_wait(&all.idle, &all.lock);
    if (b->state == ENDED)
        pthread_join(b->thread, NULL);
    ompjit__background **at = &all.first;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    unlock_all();
    drop_all(taken);
    pthread_cond_destroy(&b->more);
    free(b);
}
