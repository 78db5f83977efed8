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

#include <pthread.h>

#include "api/module.h"
#include "device/engine/guard.h"
#include "tool/repl/session/front.h"
#include "tool/repl/session/symbols.h"

typedef struct engine engine;

/* An input on its way, or one that belongs to the session. Of one that does not
 * run, but only defines, the module is made when something of it is used. */
struct unit {
    engine *e;
    struct input in;
    struct answer answer;
    ompjit_module *mod;  /* NULL: not made yet            */
    bool linked, linking, linking_optimized;
    /* The same optimized, of a brief input of which another one uses a function,
     * or which goes on in it; NULL: none has. It uses the variables of `mod`.
     * `user`: the input that had `mod` linked, to run it once; 0: none. */
    ompjit_module *optimized;
    unsigned user;
    const struct object *object; /* shows its value; NULL: nothing has to */
    void *value; /* a copy, where the module goes; NULL: there is none    */
};

struct engine {
    ompjit_context *ctx;
    front *front;
    symbols *symbols;
    ompjit__linkage linkage;
    pthread_mutex_t lock; /* recursive; of linking */
    struct lock *locks;   /* of session code       */
    struct unit **units; /* that belong to the session, by their numbers */
    size_t nunits;
    unsigned next;       /* number of the next input */
    bool colours;
    bool tables;         /* outcomes have rows      */
    atomic_bool runs;    /* session code is running */
    atomic_uint rounds;  /* what unoptimized loops of the input have run
                          * (frontend/repl/continued.cc); its code counts */
    ompjit_opt_level opt_level;
    bool debugs;         /* the user has asked for line tables */
    ompjit_device **devices; /* of the context                           */
    unsigned ndevices;
    atomic_bool interrupted; /* since engine_forget_interrupt; signal
                              * handlers                                   */
    atomic_bool over_limit;  /* so, since it has run too long              */
    atomic_bool program;     /* a command waits for a program              */
    atomic_int group;        /* of processes that an interrupt is for, too;
                              * 0: none                                    */
    unsigned limit_s;        /* for an input's run; 0: any time            */
    ompjit__module_code code; /* of all units */
    struct unit *running;     /* NULL: none   */
    const struct unit *linking; /* so         */
    /* Modules of inputs that failed when they ran, or were taken back: what they
     * have left behind may point to them. */
    ompjit_module **lost;
    size_t nlost;
    struct object *objects; /* code that shows objects (object.c) */
};

/* The ends of an input. */
enum outcome_kind {
    OUTCOME_GOOD,
    OUTCOME_UNDONE, /* it is not complete */
    OUTCOME_BAD,
    OUTCOME_ABORTED
};

struct outcome {
    enum outcome_kind kind;
    char *text;         /* messages and errors, as they are printed; or NULL */
    struct message *messages; /* clang's */
    size_t nmessages;
    char *type, *value; /* of the last expression; NULL: none                */
    char *rows;         /* it as JSON, where it has rows (show.h), or NULL   */
    bool quits;         /* it was a command to leave                         */
};

ompjit_status engine_new(ompjit_context *ctx,
                         const ompjit_module_options *options, engine **out,
                         ompjit_error *err);
void engine_free(engine *e);

/* The module is nobody's, but stays until the session ends. */
void engine_forget(engine *e, ompjit_module *mod);

/* Reads, compiles and runs an input. Its number is `next`, which counts on. The
 * outcome is the caller's to free. */
void engine_execute(engine *e, const char *name, unsigned line,
                    const char *text, size_t size, struct outcome *out);
/* Does what was left for a time when nobody waits for an outcome. */
void engine_rest(engine *e);
/* Inputs are executed until the next interrupt. */
void engine_forget_interrupt(engine *e);
void outcome_free(struct outcome *out);
/* Appends a text, which gets a line break where it has none. */
void outcome_tell(struct outcome *out, const char *text);
/* The input has failed; `err` says how. */
void outcome_fail(struct outcome *out, const struct input *in,
                  const ompjit_error *err);
/* Tells what may have been meant, where the input was something else. hint.c */
void hint(const struct input *in, struct outcome *out);
/* Whether the text is a whole input, by clang. */
enum completeness { COMPLETE, INCOMPLETE, INVALID };
enum completeness engine_completeness(engine *e, const char *text,
                                      size_t size);
/* The words that can stand at the text's end. False: nothing is known. The
 * answer is the caller's to free. */
bool engine_complete(engine *e, const char *text, size_t size,
                     struct answer *out);
/* Appends the names that inputs declare and that begin as the text does, each
 * once. */
void engine_names(const engine *e, const char *text, size_t size,
                  bool variables, struct answer *out);
/* Describes a name, or another expression: declaration, place and value, in
 * lines. NULL: it is nothing. The caller's to free. */
char *engine_describe(engine *e, const char *text, size_t size);
/* The last input that declares the name; NULL: none. */
const struct input *engine_source(const engine *e, const char *name);
/* The elements of a variable of the session's: an array of numbers, or an object
 * of C++ that has numbers as elements. NULL: it is none, and err says so. The
 * caller's to free. */
double *engine_numbers(engine *e, const char *name, size_t *n,
                       ompjit_error *err);
/* The type of an expression; NULL with messages in `out`. The caller's. */
char *engine_type(engine *e, const char *text, size_t size,
                  struct outcome *out);

/* -------------------------------------------------------------------- guard.c */

/* Prepares for guard_run. False: no memory. */
bool guard_begin(engine *e);
void guard_end(engine *e);
/* The module's code is the session's. */
void guard_add(engine *e, const ompjit_module *mod);
/* It is no more. */
void guard_remove(engine *e, const ompjit_module *mod);
/* Calls f(arg), which runs code of the session's. False: it has failed, or was
 * interrupted, and err says how. */
bool guard_run(engine *e, void (*f)(void *arg), void *arg, ompjit_error *err);
/* In that code: from here on, or no more, what runs is not the session's. What
 * was so before. */
bool guard_busy(bool busy);
/* In that code, in signal handlers, too: it is in a parallel region of the host,
 * which cannot be left. */
bool guard_is_parallel(void);
/* Why the calling thread could not make a module that was used; status OK: it
 * could. Another thread's may be good, where an interrupt came between. engine.c
 */
extern _Thread_local ompjit_error engine_late;
/* In that code: a function was called that is declared only, or whose module
 * could not be made. */
void guard_missing(const char *name);

#endif
