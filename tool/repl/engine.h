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

/* An input that belongs to the session. */
struct kept {
    struct input in;
    ompjit_module *mod;
    struct item *items;
    size_t nitems;
    struct name *names;
    size_t nnames;
};

typedef struct engine {
    ompjit_context *ctx;
    front *front;
    symbols *symbols;
    ompjit__linkage linkage;
    struct kept *kept;
    size_t nkept;
    unsigned next; /* number of the next input */
    bool colours;
    /* Modules of inputs that failed when they ran, or were taken back: what they
     * have left behind may point to them. */
    ompjit_module **lost;
    size_t nlost;
} engine;

/* What became of an input. */
enum outcome_kind {
    OUTCOME_GOOD,
    OUTCOME_UNDONE, /* it is not complete */
    OUTCOME_BAD
};

struct outcome {
    enum outcome_kind kind;
    char *text;          /* messages and errors, as they are printed; or NULL */
    struct answer answer;
    char *type, *value;  /* of the last expression; NULL: none                */
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

/* -------------------------------------------------------------------- guard.c */

/* Calls f(arg), which runs code of the session's. False: it has failed, or was
 * interrupted, and err says how. */
bool guard_run(engine *e, void (*f)(void *arg), void *arg, ompjit_error *err);
/* In that code: a function was called that is declared only. */
void guard_missing(void *data, const char *name);

#endif
