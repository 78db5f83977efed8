/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A context made by hand, with its log and clock, for the tests of the front
 * end.
 */
#ifndef OMPJIT_T_FRONT_H
#define OMPJIT_T_FRONT_H

#include "context/background.h"
#include "tap.h"

static char front_log[8192];
static pthread_mutex_t front_log_lock = PTHREAD_MUTEX_INITIALIZER;

/* Stand before those of the library. */
void ompjit__log(ompjit_context *ctx, const char *format, ...)
{
    va_list ap;
    pthread_mutex_lock(&front_log_lock);
    size_t n = strlen(front_log);
    va_start(ap, format);
    vsnprintf(front_log + n, sizeof front_log - n, format, ap);
    va_end(ap);
    pthread_mutex_unlock(&front_log_lock);
}

void ompjit__stage_done(ompjit_context *ctx, ompjit_stage stage,
                        uint64_t start)
{
    ctx->stage_ns[stage] += ompjit__now() - start;
    ctx->stage_count[stage]++;
}

static ompjit_context *context_new(const char *clang, unsigned seconds)
{
    ompjit_context *ctx = calloc(1, sizeof *ctx);
    pthread_mutex_init(&ctx->lock, NULL);
    ctx->clang = ompjit__strdup(clang);
    ctx->clang_limit_ms = 1000 * seconds;
    ctx->background = ompjit__background_new();
    return ctx;
}

static void context_free(ompjit_context *ctx)
{
    ompjit__background_free(ctx->background);
    ompjit__frontend_free(ctx->frontend);
    pthread_mutex_destroy(&ctx->lock);
    free(ctx->clang);
    free(ctx);
}

static const ompjit__kernel_desc *kernel_named(const ompjit__unit *unit,
                                               const char *name)
{
    for (unsigned i = 0; i < unit->nkernels; i++)
        if (!strcmp(unit->kernels[i].name, name))
            return &unit->kernels[i];
    return NULL;
}
#endif
