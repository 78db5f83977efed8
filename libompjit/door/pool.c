/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The process's compilers. All contexts share them: an idle one takes the next
 * request, preferably one about the unit that it knows. No more of them work at
 * the same time than there are processors (two at least). They end with the
 * last context. A forked child forgets the parent's workers.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fork.h"
#include "core/report.h"
#include "door/worker.h"

static struct {
    pthread_mutex_t lock;    /* of all fields; held briefly, and over fork */
    pthread_cond_t one_idle; /* one more may work, or some were cancelled */
    ompjit__worker *all;     /* list, the last used first                 */
    unsigned busy;           /* number of compilers at work               */
    unsigned most;           /* that may work; 0: not determined yet      */
    unsigned contexts;       /* calls of ompjit__door_hold, less releases */
    bool watches_fork;
    uint64_t failed; /* when a worker could not be started; 0: never */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .one_idle = PTHREAD_COND_INITIALIZER};
OMPJIT__FORK_TAKES(pool.lock)

/* -------------------------------------------------------------------- fork */

/* Drops the workers, which are the parent's, and the sessions in use, since
 * their threads are not in the child. */
static void in_child(void)
{
    ompjit__worker *all = pool.all;
    pool.all = NULL;
    pool.busy = 0;
    pthread_cond_init(&pool.one_idle, NULL);
    while (all) {
        ompjit__worker *w = all;
        all = w->next;
        bool idle_session = w->session && !w->user;
        if (idle_session) {
            w->next = pool.all;
            pool.all = w;
        } else {
            ompjit__worker_hang_up(w);
            w->dead = true; /* and leaked: a frame of this thread may know it */
            w->user = NULL; /* `busy` does not count it any more */
        }
    }
    pthread_mutex_unlock(&pool.lock);
}

/* ------------------------------------------------------------------- list */

/* The caller holds the lock, also for the functions up to `obtain`. */
static void unlink_worker(ompjit__worker *w)
{
    ompjit__worker **at = &pool.all;
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

static void put_first(ompjit__worker *w)
{
    w->next = pool.all;
    pool.all = w;
}

/* An idle worker sends nothing: a read of 0 bytes is its end. */
static bool has_ended(const ompjit__worker *w)
{
    char byte;
    if (w->session)
        return false;
    return !recv(w->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
}

/* Ends a compiler that is in no list and not in use. Closing its socket ends a
 * worker. */
static void end(ompjit__worker *w)
{
    const ompjit__door *door;
    ompjit__worker_hang_up(w);
    if (w->session && !ompjit__door_open(&door, NULL))
        door->session_free(w->session);
    free(w);
}

/* Drops workers that were killed or have ended. */
static void drop_ended(void)
{
    ompjit__worker **at = &pool.all;
    while (*at) {
        ompjit__worker *w = *at;
        if (!w->user && has_ended(w)) {
            *at = w->next;
            end(w);
        } else {
            at = &w->next;
        }
    }
}

/* Was its last request about this unit? */
static bool knows(const ompjit__worker *w, const uint8_t *unit)
{
    return unit && !memcmp(w->unit, unit, sizeof w->unit);
}

/* An idle session or worker, preferably one that knows the unit; NULL: none. */
static ompjit__worker *find_idle(bool in_process, const uint8_t *unit)
{
    ompjit__worker *found = NULL;
    for (ompjit__worker *w = pool.all; w; w = w->next) {
        if (w->user || (w->session != NULL) != in_process)
            continue;
        if (!found || (knows(w, unit) && !knows(found, unit)))
            found = w;
    }
    return found;
}

/* The number of compilers that may work at the same time. Two at least: one may
 * wait for a device half that is still being compiled, with the host half that
 * it has read. */
static unsigned most_at_work(void)
{
    unsigned n = ompjit__processors();
    return n < 2 ? 2 : n;
}

/* Adds a compiler at work, which has no process or session yet. NULL: no
 * memory. */
static ompjit__worker *add(const ompjit__compiler *user)
{
    ompjit__worker *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->socket = w->life = -1;
    w->user = user;
    pool.busy++;
    put_first(w);
    return w;
}

/* Were the context's compiles cancelled since the request was made? */
static bool is_cancelled(const ompjit__ask *ask)
{
    return atomic_load(&ask->compiler->cancels) != ask->cancels;
}

/* Waits until one more may work. False: the request was cancelled first; it
 * then passes the signal on, which may have been meant for another thread. */
static bool await_turn(const ompjit__ask *ask)
{
    while (pool.busy >= pool.most && !is_cancelled(ask))
        pthread_cond_wait(&pool.one_idle, &pool.lock);
    if (!is_cancelled(ask))
        return true;
    pthread_cond_signal(&pool.one_idle);
    return false;
}

/* Takes an idle compiler, or adds one; NULL: out of memory. */
static ompjit__worker *obtain(const ompjit__ask *ask, bool in_process,
                              const uint8_t *unit)
{
    drop_ended();
    ompjit__worker *w = find_idle(in_process, unit);
    if (!w)
        return add(ask->compiler);
    w->user = ask->compiler;
    w->cancelled = false;
    pool.busy++;
    return w;
}

/* ------------------------------------------------------------ take, give */

static ompjit_status cancelled(ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_ABORTED, OMPJIT_STAGE_API,
                        "the compile was cancelled");
}

/* Gives w a session in this process; loads the compiler wing if need be. */
static ompjit_status begin_session(ompjit__worker *w, ompjit_error *err)
{
    const ompjit__door *door;
    ompjit_status status = ompjit__door_open(&door, err);
    if (!status && !(w->session = door->session_new()))
        status = ompjit__no_memory(err, OMPJIT_STAGE_API);
    return status;
}

/* Has a worker failed to start within the last seconds? */
static bool workers_failed(void)
{
    enum { SECONDS = 10 };
    pthread_mutex_lock(&pool.lock);
    bool failed = pool.failed && ompjit__now() - pool.failed <
                                     SECONDS * UINT64_C(1000000000);
    pthread_mutex_unlock(&pool.lock);
    return failed;
}

void ompjit__workers_fail(ompjit__compiler *compiler, const char *cause)
{
    pthread_mutex_lock(&pool.lock);
    pool.failed = ompjit__now();
    pthread_mutex_unlock(&pool.lock);
    ompjit__report(compiler, "the compiler runs in this process: %s", cause);
}

/* Gives a new compiler its process, or a session if that does not start.
 * Without the lock, since starting a process takes milliseconds. */
static ompjit_status begin(ompjit__compiler *compiler, ompjit__worker *w,
                           bool in_process, ompjit_error *err)
{
    ompjit__buf cause = {0};
    ompjit__worker fresh;
    if (w->session || w->socket >= 0)
        return OMPJIT_OK;
    if (!in_process && ompjit__worker_start(&fresh, &cause)) {
        pthread_mutex_lock(&pool.lock);
        w->socket = fresh.socket;
        w->life = fresh.life;
        pthread_mutex_unlock(&pool.lock);
        return OMPJIT_OK;
    }
    if (!in_process)
        ompjit__workers_fail(compiler, cause.data ? cause.data : "no memory");
    ompjit__buf_free(&cause);
    return begin_session(w, err);
}

/* Takes a compiler with its process or session. `wait`: waits until one may
 * work, else returns an error at once. */
static ompjit_status take(const ompjit__ask *ask, const uint8_t *unit,
                          bool wait, ompjit__worker **out, ompjit_error *err)
{
    bool in_process = ask->compiler->in_process || workers_failed();
    pthread_mutex_lock(&pool.lock);
    if (!pool.most)
        pool.most = most_at_work();
    bool may = wait ? await_turn(ask) : pool.busy < pool.most;
    ompjit__worker *w = may ? obtain(ask, in_process, unit) : NULL;
    pthread_mutex_unlock(&pool.lock);
    if (!may) /* if it did not wait, all are busy: the error is not shown */
        return cancelled(err);
    if (!w)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    ompjit_status status = begin(ask->compiler, w, in_process, err);
    if (!status && is_cancelled(ask)) { /* while it was started */
        ompjit__worker_give(w);
        return cancelled(err);
    }
    if (!status && unit)
        memcpy(w->unit, unit, sizeof w->unit);
    if (!status) {
        *out = w;
        return OMPJIT_OK;
    }
    w->dead = true;
    ompjit__worker_give(w);
    return status;
}

ompjit_status ompjit__worker_take(const ompjit__ask *ask, const uint8_t *unit,
                                  ompjit__worker **out, ompjit_error *err)
{
    return take(ask, unit, true, out, err);
}

ompjit__worker *ompjit__worker_take_idle(const ompjit__ask *ask)
{
    ompjit__worker *w;
    return take(ask, NULL, false, &w, NULL) ? NULL : w;
}

/* Any thread may call this, also one that took the compiler before a fork. */
void ompjit__worker_give(ompjit__worker *w)
{
    pthread_mutex_lock(&pool.lock);
    pool.busy -= w->user != NULL; /* in_child has counted lost ones down */
    w->user = NULL;
    unlink_worker(w);
    bool stays = !w->dead && !w->cancelled && pool.contexts;
    if (stays)
        put_first(w);
    pthread_cond_signal(&pool.one_idle);
    pthread_mutex_unlock(&pool.lock);
    if (!stays)
        end(w);
}

/* --------------------------------------------------------------- contexts */

/* Handlers of fork cannot be removed, so they are installed once. */
void ompjit__door_hold(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.contexts++;
    if (!pool.watches_fork)
        pool.watches_fork =
            !pthread_atfork(NULL, NULL, in_child);
    pthread_mutex_unlock(&pool.lock);
}

/* Each hold has one release. */
void ompjit__door_release(void)
{
    ompjit__worker *all = NULL;
    pthread_mutex_lock(&pool.lock);
    if (!--pool.contexts) {
        all = pool.all; /* all are idle: no context has calls any more */
        pool.all = NULL;
    }
    pthread_mutex_unlock(&pool.lock);
    while (all) {
        ompjit__worker *next = all->next;
        end(all);
        all = next;
    }
}

/* Threads that wait for a worker see that its socket is closed. Sessions of
 * this process cannot be stopped and run to their end. */
void ompjit__door_cancel(ompjit__compiler *compiler)
{
    atomic_fetch_add(&compiler->cancels, 1);
    pthread_mutex_lock(&pool.lock);
    for (ompjit__worker *w = pool.all; w; w = w->next)
        if (w->user == compiler && !w->session && w->socket >= 0) {
            w->cancelled = true;
            shutdown(w->socket, SHUT_RDWR);
        }
    pthread_cond_broadcast(&pool.one_idle);
    pthread_mutex_unlock(&pool.lock);
}
