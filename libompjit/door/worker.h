/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The inside of the room: one compiler (a worker process, or a session of the
 * compiler wing in this process), one request, and the functions that files of
 * the room have for each other.
 */
#ifndef OMPJIT_DOOR_WORKER_H
#define OMPJIT_DOOR_WORKER_H

#include "door/door.h"

/* One compiler. While `user` is set, the thread that took it may change all
 * fields without a lock, except `next`, `user`, and the first setting of
 * `socket`, which need the pool's lock. */
typedef struct ompjit__worker {
    struct ompjit__worker *next;
    ompjit__session *session; /* of this process; NULL: a process of its own */
    int socket, life;         /* -1: none                                   */
    bool greeted;             /* it has said hello                          */
    bool dead;                /* it takes no more requests                  */
    const ompjit__compiler *user; /* whose request it carries out; NULL:
                                 idle, or lost by a fork                    */
    atomic_bool cancelled;    /* by ompjit__door_cancel                     */
    uint8_t unit[OMPJIT__DIGEST]; /* identity of the unit of its last request */
} ompjit__worker;

/* A request and its result. */
typedef struct ompjit__ask {
    ompjit__compiler *compiler;
    unsigned cancels;         /* compiler->cancels when it was made         */
    enum ompjit__op op;
    const ompjit__unit *unit; /* that it names; NULL: none                  */
    ompjit__buf request, answer;
    ompjit__reader results;   /* of the results in `answer`; set on success */
    /* Written by ompjit__ask_tell while it is carried out: */
    enum { OMPJIT__ASK_OPEN, OMPJIT__ASK_DONE, OMPJIT__ASK_NEEDS_UNIT } state;
    bool last;                /* the worker ends after it                   */
    uint64_t since;           /* when the current stage began               */
    char cause[256];          /* the worker's last words; "": none          */
} ompjit__ask;

/* Packs the head of a request; its arguments follow. request.c */
void ompjit__ask_begin(ompjit__ask *ask, ompjit__compiler *compiler,
                       enum ompjit__op op);
/* For each ompjit__ask_begin, whatever became of the request. request.c */
void ompjit__ask_end(ompjit__ask *ask);
/* Asks any compiler that is free. The request has all its arguments. The status
 * is the request's; ask->results stands at its results. request.c */
ompjit_status ompjit__ask_any(ompjit__ask *ask, ompjit_error *err);
/* The error of results that cannot be read. request.c */
ompjit_status ompjit__ask_unreadable(ompjit_error *err);

/* Receives a frame; `data` is the ompjit__ask. exchange.c */
ompjit__tell_fn ompjit__ask_tell;

/* The result of an exchange with a worker. */
typedef enum ompjit__outcome {
    OMPJIT__ASKED,     /* carried out; ask->state says how                 */
    OMPJIT__LOST,      /* the worker died, or is of another build          */
    OMPJIT__LATE,      /* a stage took longer than the limit               */
} ompjit__outcome;
/* Sends `request`, which is the ask's own or the one with its unit, and
 * receives frames until its end. Marks the worker dead if it can take no other
 * request. exchange.c */
ompjit__outcome ompjit__worker_exchange(ompjit__worker *worker,
                                      ompjit__ask *ask,
                                      const ompjit__buf *request);
/* Sends a short request that has no reply. False: the worker is dead.
 * exchange.c */
bool ompjit__worker_post(ompjit__worker *worker, const ompjit__buf *request);

/* Starts a worker's process. False: it does not start, and `cause` says why.
 * process.c */
bool ompjit__worker_start(ompjit__worker *worker, ompjit__buf *cause);
/* Closes the worker's socket and pipe, which ends it. process.c */
void ompjit__worker_hang_up(ompjit__worker *worker);

/* Takes a compiler for the request, preferably one whose last request was about
 * the unit (its identity, or NULL). Waits while all that may work are busy,
 * without a time limit: each of these has one. UNAVAILABLE, NO_MEMORY; ABORTED
 * where the context's compiles were cancelled since the request was made.
 * pool.c */
ompjit_status ompjit__worker_take(const ompjit__ask *ask, const uint8_t *unit,
                                  ompjit__worker **out, ompjit_error *err);
/* The same without waiting, for any unit; NULL: all are busy, or none could be
 * started. pool.c */
ompjit__worker *ompjit__worker_take_idle(const ompjit__ask *ask);
/* Asks this compiler, which stays the caller's; if it is lost or ends, it is
 * given back and *worker becomes NULL. *again: it is lost, and ompjit__ask_any
 * may succeed; `err` is not written then. request.c */
ompjit_status ompjit__ask_holder(ompjit__worker **worker, ompjit__ask *ask,
                                 bool *again, ompjit_error *err);
/* Asks the compiler that has read the host half, if it lives, else any. `early`
 * NULL: none has. early.c */
ompjit_status ompjit__door_early_ask(ompjit__door_early *early,
                                     ompjit__ask *ask, ompjit_error *err);
/* The flags with which it was read (enum ompjit__half_flag). early.c */
unsigned ompjit__door_early_how(const ompjit__door_early *early);
/* Gives a compiler back to the pool, which ends it if it is dead. pool.c */
void ompjit__worker_give(ompjit__worker *worker);
/* Notes that workers cannot be started: for some seconds requests are carried
 * out in this process, before the next try. Tells the log. pool.c */
void ompjit__workers_fail(ompjit__compiler *compiler, const char *cause);

#endif
