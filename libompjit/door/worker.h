/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compilers that requests go to: workers, which are processes, or sessions of
 * the compiler wing in this process.
 */
#ifndef OMPJIT_DOOR_WORKER_H
#define OMPJIT_DOOR_WORKER_H

#include "door/door.h"

/* One compiler. It is its user's alone while it has one, who may change all
 * fields but `next` without a lock; `next`, `user`, and `socket` when it is
 * set, are under the pool's. */
typedef struct ompjit__worker {
    struct ompjit__worker *next;
    ompjit__session *session; /* of this process; NULL: a process of its own */
    int socket, life;         /* -1: none                                   */
    bool greeted;             /* it has said hello                          */
    bool dead;                /* nothing more can be asked                  */
    const ompjit__compiler *user; /* whom it works for; NULL: idle, or lost
                                  by a fork                               */
    atomic_bool cancelled;    /* by ompjit__door_cancel                     */
    uint8_t unit[OMPJIT__DIGEST]; /* the identity of its last one           */
} ompjit__worker;

/* A request and what becomes of it. */
typedef struct ompjit__ask {
    ompjit__compiler *compiler;
    unsigned cancels;         /* of the compiler, when the request was made */
    enum ompjit__op op;
    const ompjit__unit *unit; /* that it names; NULL: none                  */
    ompjit__worker *worker;   /* that must carry it out; NULL: any          */
    ompjit__buf request, answer;
    ompjit__reader results;   /* in the answer; set on success              */
    /* While it is carried out, written by ompjit__ask_tell: */
    enum { OMPJIT__ASK_OPEN, OMPJIT__ASK_DONE, OMPJIT__ASK_NEEDS_UNIT } state;
    bool last;                /* the worker ends after it                   */
    uint64_t since;           /* start of the stage                         */
    char cause[256];          /* of the worker's death; "": not told        */
} ompjit__ask;

/* Takes a frame for the request that `data` is. exchange.c */
ompjit__tell_fn ompjit__ask_tell;

/* The result of an exchange with a worker. */
typedef enum ompjit__outcome {
    OMPJIT__ASKED,     /* the state says how                              */
    OMPJIT__LOST,      /* it died, or is no worker of this build           */
    OMPJIT__LATE,      /* a stage took longer than it may                  */
} ompjit__outcome;
/* Sends the request, takes frames until its end, and marks the worker dead
 * where it can take no other. `request` is the ask's own, or its unit.
 * exchange.c */
ompjit__outcome ompjit__worker_exchange(ompjit__worker *worker,
                                      ompjit__ask *ask,
                                      const ompjit__buf *request);
/* Sends a request that has no reply. False: the worker is dead. */
bool ompjit__worker_post(ompjit__worker *worker, const ompjit__buf *request);

/* Starts a worker's process. False: that cannot be, for the reason. process.c
 */
bool ompjit__worker_start(ompjit__worker *worker, ompjit__buf *cause);
/* Closes what leads to it. It ends by that. process.c */
void ompjit__worker_hang_up(ompjit__worker *worker);

/* A compiler for the request, best the one that knows the unit (its identity,
 * or NULL). Waits while all that may work are busy, without a time limit: each
 * of these has one. UNAVAILABLE, NO_MEMORY; ABORTED where the context's
 * compiles were cancelled since the request was made. pool.c */
ompjit_status ompjit__worker_take(const ompjit__ask *ask, const uint8_t *unit,
                                  ompjit__worker **out, ompjit_error *err);
/* The same without waiting, for any unit; NULL: all are busy, or there is
 * none. */
ompjit__worker *ompjit__worker_take_idle(const ompjit__ask *ask);
/* Back to the pool, which ends it where it is of no more use. */
void ompjit__worker_give(ompjit__worker *worker);
/* Workers do not work here: for some seconds requests are carried out in this
 * process, and then it is tried again. Tells the log. pool.c */
void ompjit__workers_fail(ompjit__compiler *compiler, const char *cause);

#endif
