/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Makes and ends a context's front end.
 */
#include <stdlib.h>
#include <unistd.h>

#include "frontend/clang/front_end.h"

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
    ompjit__fork_lock_init(&f->at_fork, &f->lock);
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
    ompjit__pairs_forget_if_forked(f);
    for (unsigned i = 0; i < OMPJIT__MAX_WARM && f->warm[i].key; i++)
        ompjit__pair_kill(&f->warm[i]);
    for (unsigned i = 0; i < OMPJIT__MAX_LEAVING; i++)
        if (f->leaving[i].pid)
            ompjit__child_kill(&f->leaving[i]);
    ompjit__next_free(&f->pending);
    ompjit__guesses_free(f->guesses);
    ompjit__clang_free(&f->clang);
    ompjit__fork_lock_end(&f->at_fork);
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
