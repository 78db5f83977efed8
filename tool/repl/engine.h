/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A session: inputs are read, compiled, linked with those before them, and run
 * in this process. The way of an input:
 *
 *   front.c     clang reads it, and makes both halves
 *   engine.c    a module of them, which is linked and belongs to the session
 *   symbols.c   names that modules have of each other
 *   guard.c     runs its statements
 *   show.c      its value, as text
 */
#ifndef OMPJIT_REPL_ENGINE_H
#define OMPJIT_REPL_ENGINE_H

#include "api/module.h"
#include "tool/repl/front.h"
#include "tool/repl/symbols.h"

typedef struct engine engine;

/* An input on its way, or one that belongs to the session. Of one that does not
 * run, but only defines, the module is made when something of it is used. */
struct unit {
    engine *e;
    struct input in;
    struct answer answer;
    ompjit_module *mod;  /* NULL: not made yet            */
    bool linked, linking;
};

struct engine {
    ompjit_context *ctx;
    front *front;
    symbols *symbols;
    ompjit__linkage linkage;
    struct unit **units; /* that belong to the session, by their numbers */
    size_t nunits;
    unsigned next;       /* number of the next input */
    bool colours;
    ompjit_opt_level opt_level;
    ompjit_error late;   /* why a module could not be made when it was used */
    /* Modules of inputs that failed when they ran, or were taken back: what they
     * have left behind may point to them. */
    ompjit_module **lost;
    size_t nlost;
};

/* What became of an input. */
enum outcome_kind {
    OUTCOME_GOOD,
    OUTCOME_UNDONE, /* it is not complete */
    OUTCOME_BAD
};

struct outcome {
    enum outcome_kind kind;
    char *text;         /* messages and errors, as they are printed; or NULL */
    char *type, *value; /* of the last expression; NULL: none                */
};

ompjit_status engine_new(ompjit_context *ctx,
                         const ompjit_module_options *options, engine **out,
                         ompjit_error *err);
void engine_free(engine *e);

/* Reads, compiles and runs an input. Its number is `next`, which counts on. The
 * outcome is the caller's to free. */
void engine_execute(engine *e, const char *name, unsigned line,
                    const char *text, size_t size, struct outcome *out);
void outcome_free(struct outcome *out);
/* Takes the last input that the session has back. NOT_FOUND. */
ompjit_status engine_undo(engine *e, ompjit_error *err);

/* -------------------------------------------------------------------- guard.c */

/* Calls f(arg), which runs code of the session's. False: it has failed, or was
 * interrupted, and err says how. */
bool guard_run(engine *e, void (*f)(void *arg), void *arg, ompjit_error *err);
/* In that code: a function was called that is declared only. */
void guard_missing(void *data, const char *name);

#endif
