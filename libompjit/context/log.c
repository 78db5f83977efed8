/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Messages and stage times of a context. Reports of the compiler wing come
 * here, too: by the functions that api/context.c sets in the context's
 * `ompjit__compiler`.
 */
#include <stdio.h>

#include "context/profile.h"
#include "core/report.h"

/* Does nothing where nobody listens. Any thread; the application's function is
 * called without a lock. */
void ompjit__log(ompjit_context *ctx, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    ompjit__log_any(&(ompjit__sink){ctx->log, ctx->log_data}, format, ap);
    va_end(ap);
}

/* `ctx` may be NULL: then there is no log. */
ompjit_status ompjit__fail_logged(ompjit_context *ctx, ompjit_error *err,
                                  ompjit_status status, ompjit_stage stage,
                                  const char *format, ...)
{
    ompjit__sink sink = {0};
    if (ctx)
        sink = (ompjit__sink){ctx->log, ctx->log_data};
    va_list ap;
    va_start(ap, format);
    ompjit__fail_whole(&sink, err, status, stage, format, ap);
    va_end(ap);
    return status;
}

/* The function of OMPJIT_LOG and of ompjit__tell. */
void ompjit__log_stderr(void *data, const char *message)
{
    fprintf(stderr, "ompjit: %s\n", message);
}

/* For the few messages that are told without being asked for. */
void ompjit__tell(ompjit_context *ctx, const char *message)
{
    (ctx->log ? ctx->log : ompjit__log_stderr)(ctx->log_data, message);
}

/* Times are nanoseconds of ompjit__now. Any thread. */
void ompjit__stage_was(ompjit_context *ctx, ompjit_stage stage, uint64_t start,
                       uint64_t end)
{
    atomic_fetch_add_explicit(&ctx->stage_ns[stage], end - start,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&ctx->stage_count[stage], 1,
                              memory_order_relaxed);
    /* A launch's span is its kernel's, by name: ompjit__inflight_end. */
    if (ctx->spans && stage != OMPJIT_STAGE_LAUNCH)
        ompjit__span_was(ctx, OMPJIT__SPAN_COMPILE, ompjit_stage_name(stage),
                         start, end, 0);
}

void ompjit__stage_done(ompjit_context *ctx, ompjit_stage stage,
                        uint64_t start)
{
    ompjit__stage_was(ctx, stage, start, ompjit__now());
}

