/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * `ompjit repl`: a session with its settings and commands, and the modes in which
 * it gets its inputs.
 *
 *   repl.c      the session; starts a mode
 *   batch.c     a file, a pipe, -e
 *   serve.c     requests in JSON
 *   prompt.c    a terminal: a process of its own, which asks in JSON
 *   commands.c  inputs that begin with a colon
 *   session/    executes inputs
 *   terminal/   lines, colours and plots
 */
#ifndef OMPJIT_REPL_REPL_H
#define OMPJIT_REPL_REPL_H

#include "tool/repl/session/engine.h"

struct list;
struct options;
struct repl;

/* ------------------------------------------------------------------ repl.c */

/* Executes an input, or a command. The outcome is the caller's to free. */
void repl_execute(struct repl *r, const char *name, unsigned line,
                  const char *text, size_t size, struct outcome *out);
/* The number that the next input has. */
unsigned repl_next(const struct repl *r);
engine *repl_engine(const struct repl *r);
/* Does what goes to the descriptor get colours? */
bool repl_colours(const struct repl *r, int fd);
/* "c" or "c++" */
const char *repl_language(const struct repl *r);
/* Appends the options that the session was begun with, for a command that
 * compiles its program. The words live as long as `r`. False: no memory. */
bool repl_add_options(const struct repl *r, struct list *words);
/* Appends those that say how its program runs, likewise. */
bool repl_add_run_options(struct repl *r, struct list *words);
/* Do interrupts come as requests, and not from a terminal? */
bool repl_is_remote(const struct repl *r);
/* Can the text be executed, must it go on, or is it wrong? */
enum completeness repl_completeness(struct repl *r, const char *text,
                                    size_t size);

/* The words that can stand at a text's end, in place of the bytes from `begin`
 * on. */
struct words {
    size_t begin;
    struct answer answer; /* its completions; the caller's to free */
};
void repl_complete(struct repl *r, const char *text, size_t size,
                   struct words *out);
/* Describes the name at a place of the text; NULL: nothing. The caller's. */
char *repl_inspect(struct repl *r, const char *text, size_t size,
                   size_t cursor);

/* ----------------------------------------------------------------- batch.c */

/* Executes a whole text; `name` is its file's. EXIT_OK or, with a message on
 * standard error, EXIT_FAILED. */
int batch_text(struct repl *r, const char *name, const char *text, size_t size);
/* Executes what comes through standard input. */
int batch_pipe(struct repl *r);
/* The value on standard output, the messages on standard error. */
void print_outcome(const struct repl *r, const struct outcome *out);

/* ----------------------------------------------------------------- serve.c */

/* Serves requests that come through the descriptor `in`. Where that is standard
 * input, the session's own output is a part of the answers. */
int serve_json(struct repl *r, int in, int out);

/* ---------------------------------------------------------------- prompt.c */

/* Inputs from a terminal. `session` serves requests in a process of its own, and
 * returns its exit status. */
int prompt(struct options *o,
           int (*session)(struct options *o, int in, int out));

#endif
