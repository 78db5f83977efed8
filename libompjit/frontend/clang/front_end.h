/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A context's front end: the clang that it uses and clang's processes, which
 * compiles share. A pair's life:
 *
 *   started    for a compile, or ahead of the next one, as a warm pair
 *   taken      by a compile, which talks to it (clang_io.c)
 *   leaving    when both halves have answered: a busy build need not wait
 *   dismissed  when the build is done: killed, and waited for
 *
 * One that fails is killed at once.
 */
#ifndef OMPJIT_FRONT_END_H
#define OMPJIT_FRONT_END_H

#include "frontend/clang/clang.h"

enum { OMPJIT__MAX_WARM = 2, OMPJIT__MAX_LEAVING = 8 };

/* A pair of processes for the halves of one source; CUDA has no host half. */
struct ompjit__pair {
    /* While it is warm, the list owns it; then whoever has taken it. */
    char *key; /* of a warm pair; NULL: no pair there */
    ompjit__child host, device;
};

/* A pair to start next. */
struct ompjit__next {
    ompjit__command command;
    char *key; /* NULL: none */
    char *like; /* a source that was compiled so */
};

struct ompjit__frontend {
    pthread_mutex_t lock; /* of all that changes                          */
    ompjit__fork_lock at_fork;
    ompjit__clang clang;  /* set once                                     */
    unsigned limit_ms;    /* of one run                                   */
    pid_t owner;          /* the process whose children these are         */
    bool checked;         /* clang's version is known to be right         */
    /* The last compile's, until frontend_rest. */
    struct ompjit__next pending;
    /* Oldest first; unused ones at the end. */
    struct ompjit__pair warm[OMPJIT__MAX_WARM];
    /* Done, not waited for; pid 0: none. */
    ompjit__child leaving[OMPJIT__MAX_LEAVING];
    ompjit__guess guesses[OMPJIT__GUESSES];
};

/* ------------------------------------------------------------ front_end.c */

/* The context's front end, made at the first compile that finds a clang. It is
 * the context's. UNAVAILABLE error, NO_MEMORY. */
ompjit_status ompjit__frontend_of(ompjit_context *ctx, ompjit__frontend **out,
                                  ompjit_error *err);
/* A wrong clang fails in many ways; its version explains all of them. OK if it
 * is the right one; that is asked once. */
ompjit_status ompjit__frontend_check(ompjit__frontend *f, ompjit_error *err);

/* ----------------------------------------------------------- warm_pairs.c */

/* The identity of a pair: command lines and working directory. malloc'd; NULL
 * when memory runs out. */
char *ompjit__pair_key(const ompjit__command *command);
/* Starts a pair without a key. `environment`: as for ompjit__child_start. On an
 * error no process is left. */
ompjit_status ompjit__pair_start(const ompjit__command *command,
                                 unsigned limit_ms, char **environment,
                                 struct ompjit__pair *out, ompjit_error *err);
void ompjit__pair_kill(struct ompjit__pair *pair);
/* Moves the warm pair with this key to `out`. False: there is none, or the key
 * is NULL. */
bool ompjit__warm_take(ompjit__frontend *f, const char *key,
                       struct ompjit__pair *out);
/* The environment of a pair that will be given a source like this one, to be
 * freed; NULL: no memory, or warm pairs are off. */
char **ompjit__warm_environment(const char *like);
/* Starts the next pair with this key, unless there is one, or the working
 * directory is another than the key's. `key` and `environment` may be NULL:
 * there is none to start. */
void ompjit__warm_up(ompjit__frontend *f, const ompjit__command *command,
                     const char *key, char **environment);
/* Takes over a child whose work is done, until ompjit__dismiss. */
void ompjit__child_leave(ompjit__frontend *f, ompjit__child *child);
/* Ends the children that leave. */
void ompjit__dismiss(ompjit__frontend *f);
/* The pair to start next: taken by the caller, who frees it, or given to the
 * front end. */
struct ompjit__next ompjit__pending_take(ompjit__frontend *f);
void ompjit__pending_set(ompjit__frontend *f, struct ompjit__next next);
void ompjit__next_free(struct ompjit__next *next);
/* In a child of the process that started them they are somebody else's:
 * forgotten, without a signal. Under the lock. */
void ompjit__pairs_forget_if_forked(ompjit__frontend *f);

#endif
