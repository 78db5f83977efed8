/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The profile: what a context did and when, for people to look at, spans of
 * time, kept where the context is profiled, and told to NVTX where a profiler
 * listens. If neither is so, a span costs one look at the context. All of it is
 * for any thread. Times are nanoseconds of ompjit__now.
 */
#ifndef OMPJIT_PROFILE_H
#define OMPJIT_PROFILE_H

#include "core/core.h"
#include "ompjit_debug.h"

enum ompjit__span_kind {
    OMPJIT__SPAN_COMPILE,
    OMPJIT__SPAN_LAUNCH, /* until somebody has waited for it               */
    OMPJIT__SPAN_QUEUED, /* the same of a launch in a queue: it overlaps   */
    OMPJIT__SPAN_SUBMIT, /* a bound launch is put into a queue             */
    OMPJIT__SPAN_COPY,
    OMPJIT__SPAN_KERNEL,   /* the device's own time, as are the next:       */
    OMPJIT__SPAN_TRANSFER, /* of a copy                                     */
    OMPJIT__SPAN_GRAPH,    /* of all that was recorded                      */
    OMPJIT__SPAN_KINDS
};

/* NULL: out of memory. */
struct ompjit__profile *ompjit__profile_new(void);
void ompjit__profile_free(struct ompjit__profile *profile); /* accepts NULL */

/* The begin and end of a span for NVTX alone, by the same thread, nested. */
void ompjit__span_enter(ompjit_context *ctx, const char *name);
void ompjit__span_leave(ompjit_context *ctx);
/* Adds one that began at `begin` and ended at `end`, or ends now, of the
 * calling thread. `name` is copied; `bytes` is what was moved, 0 for what moves
 * nothing. Nothing where the context keeps no spans. */
void ompjit__span_was(ompjit_context *ctx, enum ompjit__span_kind kind,
                      const char *name, uint64_t begin, uint64_t end,
                      uint64_t bytes);
void ompjit__span_add(ompjit_context *ctx, enum ompjit__span_kind kind,
                      const char *name, uint64_t begin, uint64_t bytes);

/* The work of a device from begin to end, by the clock of ompjit__now. */
typedef struct ompjit__device_span {
    enum ompjit__span_kind kind;
    const char *name;
    uint64_t begin, end, bytes;
    unsigned ordinal, queue; /* which device, and which queue of it */
} ompjit__device_span;

/* In a track of its queue's, beside those of threads. Its name is copied. */
void ompjit__span_of_device(ompjit_context *ctx,
                            const ompjit__device_span *span);

/* Appends the profile so far of a context that keeps spans; false: no memory.
 */
bool ompjit__profile_text(ompjit_context *ctx, ompjit_profile_format format,
                          ompjit__buf *out);

/* The time, to be handed to span_end by the same thread; 0: nobody looks. */
static inline uint64_t ompjit__span_begin(ompjit_context *ctx,
                                          const char *name)
{
    if (!ctx->watched)
        return 0;
    ompjit__span_enter(ctx, name);
    return ompjit__now();
}

static inline void ompjit__span_end(ompjit_context *ctx,
                                    enum ompjit__span_kind kind,
                                    const char *name, uint64_t begin,
                                    uint64_t bytes)
{
    if (!begin)
        return;
    ompjit__span_add(ctx, kind, name, begin, bytes);
    ompjit__span_leave(ctx);
}

/* nvtx.c: whether a profiler is there, found once for the process; ranges of
 * the calling thread. */
bool ompjit__nvtx_there(void);
void ompjit__nvtx_push(const char *name);
void ompjit__nvtx_pop(void);

#endif
