/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Makes and ends a context's front end. A fork waits for the locks of all front
 * ends: the child finds none of them taken by a thread that it does not have.
 */
#include <stdlib.h>
#include <unistd.h>

#include "frontend/clang/front_end.h"

static struct {
    pthread_mutex_t lock; /* of the list */
    ompjit__frontend *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void)
{
    pthread_mutex_lock(&all.lock);
    for (ompjit__frontend *f = all.first; f; f = f->next)
        pthread_mutex_lock(&f->lock);
}

static void after_fork(void)
{
    for (ompjit__frontend *f = all.first; f; f = f->next)
        pthread_mutex_unlock(&f->lock);
    pthread_mutex_unlock(&all.lock);
}

/* Once in the process: handlers of fork cannot be removed. */
static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

static void enlist(ompjit__frontend *f)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&all.lock);
    f->next = all.first;
    all.first = f;
    pthread_mutex_unlock(&all.lock);
}

static void unlist(const ompjit__frontend *f)
{
    pthread_mutex_lock(&all.lock);
    ompjit__frontend **at = &all.first;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    pthread_mutex_unlock(&all.lock);
}

/* Under the context's lock. The clang that it finds stays for all compiles. */
static ompjit_status frontend_new(ompjit_context *ctx, ompjit__frontend **out,
                                  ompjit_error *err)
{
    ompjit__frontend *f = calloc(1, sizeof *f);
    if (!f)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    f->limit_ms = ctx->clang_limit_ms;
    ompjit_status status =
        ompjit__clang_find(ctx->clang, f->limit_ms, &f->clang, err);
    if (status) {
        free(f);
        return status;
    }
    ompjit__log(ctx, "clang is %s; its headers are in %s", f->clang.path,
                f->clang.resource_dir);
    f->owner = getpid();
    pthread_mutex_init(&f->lock, NULL);
    enlist(f);
    *out = f;
    return OMPJIT_OK;
}

ompjit_status ompjit__frontend_of(ompjit_context *ctx, ompjit__frontend **out,
                                 ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&ctx->lock);
    if (!ctx->frontend)
        status = frontend_new(ctx, &ctx->frontend, err);
    if (!status && !ctx->clang)
        ctx->clang = ompjit__strdup(ctx->frontend->clang.path);
    *out = ctx->frontend;
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

/* No compile runs any more. */
void ompjit__frontend_free(ompjit__frontend *f)
{
    if (!f)
        return;
    unlist(f);
    ompjit__pairs_forget_if_forked(f);
    for (unsigned i = 0; i < OMPJIT__MAX_WARM && f->warm[i].key; i++)
        ompjit__pair_kill(&f->warm[i]);
    for (unsigned i = 0; i < OMPJIT__MAX_LEAVING; i++)
        if (f->leaving[i].pid)
            ompjit__child_kill(&f->leaving[i]);
    ompjit__next_free(&f->pending);
    ompjit__guesses_free(f->guesses);
    ompjit__clang_free(&f->clang);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

ompjit_status ompjit__frontend_check(ompjit__frontend *f, ompjit_error *err)
{
    pthread_mutex_lock(&f->lock);
    bool checked = f->checked;
    pthread_mutex_unlock(&f->lock);
    if (checked)
        return OMPJIT_OK;
    ompjit_status status =
        ompjit__clang_check(&f->clang, f->limit_ms, err);
    pthread_mutex_lock(&f->lock);
    f->checked |= status == OMPJIT_OK;
    pthread_mutex_unlock(&f->lock);
    return status;
}
