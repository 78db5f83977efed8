/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The part of a session that commands change (repl.c).
 */
#ifndef OMPJIT_REPL_STATE_H
#define OMPJIT_REPL_STATE_H

#include "tool/repl/repl.h"

/* Owned texts; NULL: the default. */
struct settings {
    char *device, *teams, *threads, *specialize;
    bool times;
};
struct settings *repl_settings(struct repl *r);

/* Begins anew by the settings, and executes all inputs again, or none. Not 0:
 * the session is as it was, and standard error says why. */
int repl_reopen(struct repl *r, bool inputs);
/* "c" or "c++"; else the same. */
int repl_set_language(struct repl *r, const char *language);
/* Takes the last n inputs back, which repl_redo executes again: the session
 * begins anew, and the inputs before them are executed without their output. */
ompjit_status repl_undo(struct repl *r, size_t n, ompjit_error *err);
/* False: there is none. */
bool repl_redo(struct repl *r, struct outcome *out);

#endif
