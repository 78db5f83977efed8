/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler wing's side of the door. A request's way:
 *
 *   worker.c       reads it from the socket; an application that compiles in
 *                  its own process calls the session by door_table.c
 *   session.c      takes its settings over, and calls its operation's function
 *   other rooms    do the work: frontend, backend, passes/hosthalf, llvm
 *   session.c      tells frames of log and stages meanwhile, then the reply
 *
 * ahead.c has the answers to builds that were begun beside another request.
 */
#ifndef OMPJIT_SERVE_H
#define OMPJIT_SERVE_H

#include "door/door.h"

/* A session: settings, kept units and target machines, for one request after
 * the other. One thread at a time calls it. The caller frees it; NULL: no
 * memory. session.c; door.h says more */
ompjit__session *ompjit__session_new(void);
/* Its process is a worker: it takes over the environment of its requests. */
void ompjit__session_own_process(ompjit__session *session);
/* Called while nothing is asked for: makes ready for the next build, as
 * OMPJIT__OP_PREPARE does, or for builds ahead. Logs nothing. */
void ompjit__session_rest(ompjit__session *session);
void ompjit__session_free(ompjit__session *session); /* accepts NULL */
/* Carries out one request, whose bytes are not trusted: one that ends
 * too early is an error. Calls `tell` with frames of the log and of stages, and
 * in the end with the reply, or that the unit is needed. */
void ompjit__serve(ompjit__session *session, const void *request, size_t size,
                   ompjit__tell_fn *tell, void *data);

/* A worker's whole life; does not return. `socket`: where requests come from;
 * `life`: the end of a pipe whose other end closes when the application ends.
 * worker.c; door.h says more */
void ompjit__work(int socket, int life);
/* Was LLVM left in the middle of its work, or has the process taken much memory?
 * Then it had better not go on. worker.c */
bool ompjit__is_worn(void);

/* ------------------------------------------- builds ahead of time: ahead.c */

/* A worker's; one build at a time. NULL: no memory. `channel`: its socket. */
typedef struct ompjit__ahead ompjit__ahead;
ompjit__ahead *ompjit__ahead_new(int channel);
/* Ends the copy, too; accepts NULL. */
void ompjit__ahead_free(ompjit__ahead *a);
/* Carries a request about a unit (NULL: none) out in a copy of this process; what
 * is not asked for yet is lost. */
void ompjit__ahead_begin(ompjit__ahead *a, ompjit__session *session,
                         const ompjit__unit *unit, const void *request,
                         size_t size);
/* Answers the request with what a copy has made of the same one, once it is done.
 * False: it is to be carried out. */
bool ompjit__ahead_answer(ompjit__ahead *a, const void *request, size_t size,
                          ompjit__tell_fn *tell, void *data);
/* The session's requests may have builds begun ahead; NULL: none. session.c */
void ompjit__session_ahead(ompjit__session *session, ompjit__ahead *ahead);
/* Keeps the unit that comes next in the reader, as ompjit__unit_pack has packed
 * it. False: it cannot be read, or there is no memory. session.c */
bool ompjit__session_keep(ompjit__session *session, ompjit__reader *r);

/* --------------------------------------------------- kept units: kept.c */

/* Units that were read or handed over last, each with the templates that were
 * made of it. */
enum { OMPJIT__KEPT_UNITS = 8 };
typedef struct ompjit__kept {
    uint8_t identity[OMPJIT__DIGEST]; /* ompjit__unit_identity */
    ompjit__unit unit;
} ompjit__kept;
/* Zero is an empty list. It owns its units. */
typedef struct ompjit__kept_units {
    ompjit__kept *units[OMPJIT__KEPT_UNITS]; /* the last used first; NULLs */
} ompjit__kept_units;

/* Takes over the unit. False: no memory, and the unit is freed. */
bool ompjit__keep(ompjit__kept_units *kept, ompjit__unit *unit);
/* The unit, which stays the list's until eight others have been asked for;
 * NULL: it is not there. */
ompjit__unit *ompjit__kept_find(ompjit__kept_units *kept,
                                const uint8_t *identity);
/* Frees all units, and leaves an empty list. */
void ompjit__kept_free(ompjit__kept_units *kept);

#endif
