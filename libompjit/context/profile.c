/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Spans of time, summed up by name and kept one by one: as a table, and as a
 * file for Chrome's tracing page and Perfetto.
 */
#include "context/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 32 MiB of spans. */
enum { MOST_SPANS = 1 << 20 }; /* what comes after them is in the table only */

/* The sums over all spans of a kind and name. */
typedef struct row {
    enum ompjit__span_kind kind;
    char *name;
    uint64_t count, total, least, most, bytes; /* nanoseconds */
} row;

/* A span names its row by number, since the array of rows moves as it grows. */
typedef struct span {
    uint32_t row, thread;       /* an OS thread's number, or a track */
    uint64_t begin, end, bytes; /* nanoseconds of ompjit__now        */
} span;

struct ompjit__profile {
    pthread_mutex_t lock; /* of all that follows; taken last, and not while the
                             application's functions are called */
    ompjit__fork_lock at_fork;
    uint64_t start;       /* 0 of the trace's clock */
    row *rows;
    span *spans;
    size_t nrows, nspans, capacity;
    uint64_t dropped; /* spans that are in the table only */
};

static const char *const kinds[OMPJIT__SPAN_KINDS] = {
    "compile", "launch", "queued", "submit", "copy", "kernel", "transfer",
    "graph"};

/* A trace's threads from here on are queues of devices. Linux numbers its
 * threads below 2^22 (PID_MAX_LIMIT), so none has such a number. */
enum { FIRST_TRACK = 1 << 30, MOST_QUEUES = 1 << 16 };

/* The trace's clock starts now. NULL: no memory. */
struct ompjit__profile *ompjit__profile_new(void)
{
    struct ompjit__profile *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    ompjit__fork_lock_init(&p->at_fork, &p->lock);
    p->start = ompjit__now();
    return p;
}

/* Accepts NULL. No thread adds spans any more. */
void ompjit__profile_free(struct ompjit__profile *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->nrows; i++)
        free(p->rows[i].name);
    ompjit__fork_lock_end(&p->at_fork);
    free(p->rows);
    free(p->spans);
    free(p);
}

/* ----------------------------------------------------------------- spans */

/* Ranges are seen by NVTX's profiler only; each enter has its leave in the same
 * thread. */
void ompjit__span_enter(ompjit_context *ctx, const char *name)
{
    if (ctx->ranges)
        ompjit__nvtx_push(name);
}

void ompjit__span_leave(ompjit_context *ctx)
{
    if (ctx->ranges)
        ompjit__nvtx_pop();
}

/* The OS thread's number, which other tools show, too. */
static uint32_t thread_number(void)
{
    static _Thread_local uint32_t number;
    if (!number)
        number = (uint32_t)syscall(SYS_gettid);
    return number;
}

/* Found or new; NULL: out of memory. A search of all of them: names are those
 * of stages, kernels and kinds of copies, which are few. */
static row *row_of(struct ompjit__profile *p, enum ompjit__span_kind kind,
                   const char *name)
{
    for (size_t i = 0; i < p->nrows; i++)
        if (p->rows[i].kind == kind && !strcmp(p->rows[i].name, name))
            return &p->rows[i];
    row *rows = realloc(p->rows, (p->nrows + 1) * sizeof *rows);
    if (!rows)
        return NULL;
    p->rows = rows;
    row new = {.kind = kind, .name = ompjit__strdup(name), .least = UINT64_MAX};
    if (!new.name)
        return NULL;
    rows[p->nrows] = new;
    return &rows[p->nrows++];
}

/* False: the most spans that there may be are there, or memory ran out. */
static bool has_room(struct ompjit__profile *p)
{
    if (p->nspans < p->capacity)
        return true;
    size_t capacity = p->capacity ? 2 * p->capacity : 256;
    span *spans = capacity <= MOST_SPANS
                      ? realloc(p->spans, capacity * sizeof *spans)
                      : NULL;
    if (!spans)
        return false;
    p->spans = spans;
    p->capacity = capacity;
    return true;
}

/* Takes the lock. Without memory for the span its row is counted all the same.
 */
static void add(struct ompjit__profile *p, enum ompjit__span_kind kind,
                const char *name, span s)
{
    uint64_t took = s.end - s.begin;
    pthread_mutex_lock(&p->lock);
    row *r = row_of(p, kind, name);
    if (r) {
        r->count++;
        r->total += took;
        r->bytes += s.bytes;
        r->least = took < r->least ? took : r->least;
        r->most = took > r->most ? took : r->most;
        s.row = (uint32_t)(r - p->rows);
    }
    if (r && has_room(p))
        p->spans[p->nspans++] = s;
    else
        p->dropped++;
    pthread_mutex_unlock(&p->lock);
}

/* `bytes` is 0 where the span has moved none. */
void ompjit__span_was(ompjit_context *ctx, enum ompjit__span_kind kind,
                      const char *name, uint64_t begin, uint64_t end,
                      uint64_t bytes)
{
    if (ctx->spans)
        add(ctx->spans, kind, name,
            (span){0, thread_number(), begin, end, bytes});
}

/* The span ends now. */
void ompjit__span_add(ompjit_context *ctx, enum ompjit__span_kind kind,
                      const char *name, uint64_t begin, uint64_t bytes)
{
    ompjit__span_was(ctx, kind, name, begin, ompjit__now(), bytes);
}

/* A span that the device has measured, on the track of its queue. */
void ompjit__span_of_device(ompjit_context *ctx,
                            const ompjit__device_span *s)
{
    uint32_t track = FIRST_TRACK + s->ordinal * MOST_QUEUES +
                     s->queue % MOST_QUEUES;
    if (ctx->spans)
        add(ctx->spans, s->kind, s->name,
            (span){0, track, s->begin, s->end, s->bytes});
}

/* ------------------------------------------------------------------ output */

/* For qsort: by kind, the largest sum of a kind first. */
static int by_total(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->total < y->total ? 1 : x->total > y->total ? -1 : 0;
}

/* Bytes per nanosecond are gigabytes (10^9) per second. */
static void print_row(const row *r, ompjit__buf *text)
{
    char rate[32] = "";
    if (r->bytes && r->total)
        snprintf(rate, sizeof rate, "%9.3f GB/s",
                 (double)r->bytes / (double)r->total);
    ompjit__buf_printf(text, "%-8s %8llu %12.3f %12.3f %12.3f %12.3f  %s%s%s\n",
                       kinds[r->kind], (unsigned long long)r->count,
                       (double)r->total / 1e6,
                       (double)r->total / 1e3 / (double)r->count,
                       (double)r->least / 1e3, (double)r->most / 1e3, r->name,
                       *rate ? ", " : "", rate);
}

/* A copy of the rows is sorted: spans name them by number. */
static void print_table(struct ompjit__profile *p, ompjit__buf *text)
{
    row *rows = malloc((p->nrows + 1) * sizeof *rows);
    text->failed |= !rows;
    if (!rows)
        return;
    if (p->nrows)
        memcpy(rows, p->rows, p->nrows * sizeof *rows);
    qsort(rows, p->nrows, sizeof *rows, by_total);
    ompjit__buf_printf(text, "%-8s %8s %12s %12s %12s %12s  %s\n", "what",
                       "times", "ms", "mean us", "least us", "most us",
                       "name");
    for (size_t i = 0; i < p->nrows; i++)
        print_row(&rows[i], text);
    free(rows);
}

/* A string of JSON. Bytes above 127 are UTF-8, and stay as they are. */
static void print_string(const char *s, ompjit__buf *text)
{
    ompjit__buf_printf(text, "\"");
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            ompjit__buf_printf(text, "\\%c", *s);
        else if ((unsigned char)*s < ' ')
            ompjit__buf_printf(text, "\\u%04x", (unsigned)*s);
        else
            ompjit__buf_add(text, s, 1);
    ompjit__buf_printf(text, "\"");
}

/* Writes one span, or one end (`phase`) of one that overlaps others, in the
 * "Trace Event Format" of Chrome: X is a whole event, which nests with others
 * of its thread, b and e are the ends of an asynchronous one, which need an id.
 * Times are microseconds. */
static void print_event(const struct ompjit__profile *p, size_t i, char phase,
                        ompjit__buf *text)
{
    const span *s = &p->spans[i];
    const row *r = &p->rows[s->row];
    uint64_t at = (phase == 'e' ? s->end : s->begin) - p->start;
    ompjit__buf_printf(text, ",\n{\"ph\": \"%c\", \"cat\": \"%s\", \"name\": ",
                       phase, kinds[r->kind]);
    print_string(r->name, text);
    ompjit__buf_printf(text, ", \"pid\": %ld, \"tid\": %u, \"ts\": %.3f",
                       (long)getpid(), s->thread, (double)at / 1e3);
    if (phase == 'X')
        ompjit__buf_printf(text, ", \"dur\": %.3f",
                           (double)(s->end - s->begin) / 1e3);
    else
        ompjit__buf_printf(text, ", \"id\": %zu", i + 1);
    if (s->bytes)
        ompjit__buf_printf(text, ", \"args\": {\"bytes\": %llu}",
                           (unsigned long long)s->bytes);
    ompjit__buf_printf(text, "}");
}

/* Has the track its name already? */
static bool is_named(const ompjit__buf *named, uint32_t track)
{
    for (size_t at = 0; at < named->size; at += sizeof track)
        if (!memcmp(named->data + at, &track, sizeof track))
            return true;
    return false;
}

/* Names of the devices' queues, once each. */
static void print_tracks(const struct ompjit__profile *p, ompjit__buf *text)
{
    ompjit__buf named = {0};
    for (size_t i = 0; i < p->nspans; i++) {
        uint32_t track = p->spans[i].thread, number = track - FIRST_TRACK;
        if (track < FIRST_TRACK || is_named(&named, track))
            continue;
        ompjit__buf_add(&named, &track, sizeof track);
        ompjit__buf_printf(text,
                           ",\n{\"ph\": \"M\", \"name\": \"thread_name\", "
                           "\"pid\": %ld, \"tid\": %u, \"args\": {\"name\": "
                           "\"cuda:%u, queue %u\"}}",
                           (long)getpid(), track, number / MOST_QUEUES,
                           number % MOST_QUEUES);
    }
    text->failed |= named.failed;
    ompjit__buf_free(&named);
}

/* One JSON object; every event but the first begins with a comma. */
static void print_trace(const struct ompjit__profile *p, ompjit__buf *text)
{
    ompjit__buf_printf(text,
                       "{\"displayTimeUnit\": \"ns\", \"otherData\": "
                       "{\"library\": \"ompjit %s\", \"dropped\": %llu},\n"
                       "\"traceEvents\": [\n{\"ph\": \"M\", \"name\": "
                       "\"process_name\", \"pid\": %ld, \"args\": {\"name\": "
                       "\"ompjit\"}}",
                       ompjit_version(), (unsigned long long)p->dropped,
                       (long)getpid());
    print_tracks(p, text);
    for (size_t i = 0; i < p->nspans; i++)
        if (p->rows[p->spans[i].row].kind == OMPJIT__SPAN_QUEUED) {
            print_event(p, i, 'b', text);
            print_event(p, i, 'e', text);
        } else {
            print_event(p, i, 'X', text);
        }
    ompjit__buf_printf(text, "\n]}\n");
}

/* Appends the text. False: no memory. The lock is held meanwhile, so spans that
 * end wait. */
bool ompjit__profile_text(ompjit_context *ctx, ompjit_profile_format format,
                          ompjit__buf *out)
{
    pthread_mutex_lock(&ctx->spans->lock);
    if (format == OMPJIT_PROFILE_TABLE)
        print_table(ctx->spans, out);
    else
        print_trace(ctx->spans, out);
    pthread_mutex_unlock(&ctx->spans->lock);
    return !out->failed;
}
