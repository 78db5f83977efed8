/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler wing's side of the door.
 */
#ifndef OMPJIT_SERVE_H
#define OMPJIT_SERVE_H

#include "door/door.h"

/* session.c; door.h says more */
ompjit__session *ompjit__session_new(void);
/* Its process is a worker: it takes over the environment of its requests. */
void ompjit__session_own_process(ompjit__session *session);
/* Nothing is asked for: makes ready for the next build, as OMPJIT__OP_PREPARE
 * does. */
void ompjit__session_rest(ompjit__session *session);
void ompjit__session_free(ompjit__session *session);
void ompjit__serve(ompjit__session *session, const void *request, size_t size,
                   ompjit__tell_fn *tell, void *data);

/* worker.c; door.h says more */
void ompjit__work(int socket, int life);

/* --------------------------------------------------- kept units: kept.c */

/* Units that were read or handed over last, each with the templates that were
 * made of it. */
enum { OMPJIT__KEPT_UNITS = 8 };
typedef struct ompjit__kept {
    uint8_t identity[OMPJIT__DIGEST];
    ompjit__unit unit;
} ompjit__kept;
typedef struct ompjit__kept_units {
    ompjit__kept *units[OMPJIT__KEPT_UNITS]; /* the last used first; NULLs */
} ompjit__kept_units;

/* Takes over the unit. False: no memory, and the unit is freed. */
bool ompjit__keep(ompjit__kept_units *kept, ompjit__unit *unit);
/* NULL: it is not there. */
ompjit__unit *ompjit__kept_find(ompjit__kept_units *kept,
                                const uint8_t *identity);
void ompjit__kept_free(ompjit__kept_units *kept);

#endif
