/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The two processes of clang's front end that know a session, one for each half
 * (libompjit/frontend/repl), and what they answer.
 */
#ifndef OMPJIT_REPL_FRONT_H
#define OMPJIT_REPL_FRONT_H

#include "base/base.h"
#include "base/pack.h"
#include "core/repl.h"

/* ------------------------------------------------------------------ inputs */

struct range {
    unsigned begin, end;
};

struct place {
    unsigned input, offset;
    char *name;
};

/* A question to the front end. Owned by whoever has it. */
struct input {
    unsigned number;
    unsigned line;    /* of its first line, for messages */
    char *name;       /* of its file, likewise           */
    char *text;
    size_t size;
    /* Places that the front end leaves out, or hides in earlier inputs. */
    struct range *blanks;
    size_t nblanks;
    struct place *hidden;
    size_t nhidden;
};

void input_free(struct input *in);
/* A copy without what the front end found. False: no memory. */
bool input_set(struct input *in, unsigned number, const char *name,
               unsigned line, const char *text, size_t size);

/* ------------------------------------------------------------------ answers */

struct message {
    enum ompjit__repl_severity severity;
    char *file, *text;
    unsigned line, column;
};

struct item {
    enum ompjit__repl_item kind;
    struct range range;
};

struct name {
    enum ompjit__repl_name kind;
    char *name, *symbol, *type;
    size_t size;
    unsigned line;
    ompjit__buf shape;
    bool object; /* of C++, which the shape does not do */
};

struct value {
    enum ompjit__repl_value form;
    char *symbol, *type;
    size_t size;
    ompjit__buf shape;
    bool object; /* of C++, which the shape does not do */
};

/* The shape of a type, and a function that shapes have, which visits a type; the
 * type is "" where a program cannot write it. */
struct type_shape {
    char *type;
    ompjit__buf shape;
};

struct shape_member {
    char *symbol, *type;
};

/* A symbol that an input defines for all that use it, and no name says
 * (frontend/repl/instances.cc). */
struct symbol_for_all {
    char *symbol;
    bool function;
};

/* A word that can stand at a text's end. */
struct completion {
    char *name, *detail;
};

/* An earlier input's code for devices, with functions that it lacked. */
struct remade {
    unsigned number;
    ompjit__buf lacks; /* it still lacks these */
    ompjit__buf code;
    ompjit_module *fresh; /* engine.c: a module with it; NULL: none was needed */
};

/* An answer; arrays are empty where the verdict has none. */
struct answer {
    enum ompjit__repl_verdict verdict;
    char *text; /* of the messages, as clang prints them */
    struct message *messages;
    size_t nmessages;
    struct item *items;
    size_t nitems;
    struct name *names;
    size_t nnames;
    char **runs; /* functions to call */
    size_t nruns;
    struct type_shape *shapes; /* OMPJIT__REPL_SHOW, as the members */
    size_t nshapes;
    struct shape_member *members;
    size_t nmembers;
    struct symbol_for_all *for_all;
    size_t nfor_all;
    struct symbol_for_all *of_devices; /* the same of the device half's */
    size_t nof_devices;
    struct value value;
    struct completion *completions;
    size_t ncompletions;
    bool of_device;   /* a BAD one: the device half has said so              */
    bool entries;     /* it has target regions, or variables of devices      */
    bool constructs;  /* code runs when it is loaded                         */
    bool runs_once;   /* none of its instructions runs a second time         */
    bool leaves_nothing; /* its module is of no use when it has run           */
    bool brief;       /* it runs before it is optimized (frontend/repl/brief.cc) */
    ompjit__buf host, device; /* bitcode; device: where there are entries    */
    ompjit__buf lacks;        /* functions that the device's code lacks; empty:
                               * none (core/repl.h)                          */
    struct remade *remade;
    size_t nremade;
};

void answer_free(struct answer *a);
void messages_free(struct message *messages, size_t n);
/* Reads one half's reply; what it asks for is put into the input. False: no
 * memory, or the bytes are damaged. */
bool answer_read(struct answer *a, const ompjit__buf *reply, struct input *in);
/* The rest of the device half's reply: bitcode, and what code lacks. */
bool answer_add_device(struct answer *a, const ompjit__buf *reply);

/* ------------------------------------------------------------ the processes */

typedef struct front front;

/* Starts the processes for sources of that name (main.c, main.cc) and the user's
 * flags. UNAVAILABLE where clang is not a part of ompjitc. */
ompjit_status front_new(ompjit_context *ctx,
                        const ompjit_module_options *options, front **out,
                        ompjit_error *err);
void front_free(front *f);
/* Has the input read, and code made of it where it is good. ABORTED, TIMEOUT,
 * COMPILE where clang has crashed; else OK, and the answer is the caller's to
 * free. The session is as it was. */
ompjit_status front_try(front *f, struct input *in,
                        enum ompjit__repl_mode mode, bool colours,
                        struct answer *out, ompjit_error *err);
/* Code of earlier inputs lacks functions: the device half is asked whether an
 * input defines some. */
void front_set_lacking(front *f, bool lacking);
/* Appends to a list for the front end, which begins with a number: an input
 * whose device code lacks functions. `host`: NULL where it has that input
 * already. */
void front_add_lacking(ompjit__buf *list, unsigned number,
                       const ompjit__buf *lacks, const ompjit__buf *host);
/* The input that was tried last, and was good, belongs to the session. */
void front_keep(front *f, const struct input *in, const ompjit__buf *lacking);
/* Has the halves read what was left for a time when nobody waits. */
void front_rest(front *f);
/* Begins anew, with no input. */
ompjit_status front_restart(front *f, ompjit_error *err);
/* Has an input read that is known to be good, as a part of the session. */
void front_replay(front *f, const struct input *in,
                  const ompjit__buf *lacking);
/* Why the device half does not know all inputs: texts of clang's; NULL: it
 * does. */
const char *front_unfit(const front *f);
/* Has a process of the session ended by itself? Nothing can be tried then. */
bool front_is_gone(const front *f);
/* In a signal handler: ends what is under way. */
void front_interrupt(front *f);

#endif
