/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Words the faults of a checked kernel. Each place in the source is told
 * once.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"
#include "core/core.h"

/* Addresses that count as null pointers: a field of a struct at NULL is in
 * there. */
enum { NULL_PAGE = 4096 };

/* `report` NULL: reports go to the log. NULL: no memory. */
ompjit__check *ompjit__check_new(ompjit_context *ctx, ompjit_check_fn *report,
                                 void *data)
{
    ompjit__check *check = calloc(1, sizeof *check);
    if (!check || !ompjit__memory_open(&check->memory)) {
        free(check);
        return NULL;
    }
    check->ctx = ctx;
    check->report = report;
    check->data = data;
    pthread_mutex_init(&check->lock, NULL);
    return check;
}

/* Accepts NULL. No kernel runs any more. */
void ompjit__check_free(ompjit__check *check)
{
    if (!check)
        return;
    ompjit__memory_close(&check->memory);
    for (size_t i = 0; i < check->nseen; i++)
        free(check->seen[i]);
    free(check->seen);
    free(check->callees);
    pthread_mutex_destroy(&check->lock);
    free(check);
}

/* Devices that are found later get it by ctx->host_memory. */
void ompjit__check_unify(ompjit_context *ctx)
{
    if (!ctx->check)
        return;
    atomic_store(&ctx->check->unified, true);
    pthread_mutex_lock(&ctx->lock);
    ctx->host_memory = OMPJIT_HOST_MEMORY_SHARED;
    for (unsigned i = 0; i < ctx->ndevices; i++)
        ctx->devices[i]->shares_memory = true;
    pthread_mutex_unlock(&ctx->lock);
}

/* ---------------------------------------------------------------- words */

/* The access in a headline. */
static const char *verb(const ompjit__site *site)
{
    return site->flags & OMPJIT__SITE_CALL    ? "call"
           : site->flags & OMPJIT__SITE_WRITE ? "write"
                                              : "read";
}

/* "prog.c:12:9" or "in function f, which has no line numbers" */
static void put_place(ompjit__buf *b, const ompjit__site *site)
{
    if (!*site->file)
        ompjit__buf_printf(b, "in function %s, which has no line numbers",
                           site->function);
    else if (site->column)
        ompjit__buf_printf(b, "at %s:%" PRIu32 ":%" PRIu32, site->file,
                           site->line, site->column);
    else
        ompjit__buf_printf(b, "at %s:%" PRIu32, site->file, site->line);
}

/* "1 byte", "8 bytes". */
static void put_bytes(ompjit__buf *b, uint64_t n)
{
    ompjit__buf_printf(b, "%" PRIu64 " byte%s", n, n == 1 ? "" : "s");
}

/* The memory that a report is about, as the program knows it. */
static void put_range(ompjit__buf *b, const ompjit__range *r)
{
    uint64_t size = r->end - r->begin;
    if (r->kind == OMPJIT__MEMORY_VARIABLE) {
        ompjit__buf_printf(b, "variable %s, ",
                           *r->name ? r->name : "(unnamed)");
        put_bytes(b, size);
    } else if (r->name) { /* tells its size and the host's address */
        ompjit__buf_printf(b, "%s", r->name);
    } else {
        ompjit__buf_printf(b, "a block of ");
        put_bytes(b, size);
        ompjit__buf_printf(b, r->kind == OMPJIT__MEMORY_HEAP
                                  ? " from the kernel's malloc"
                                  : " of device memory");
    }
}

/* ------------------------------------------------------- what went wrong */

/* The access begins before, in or behind the range, which does not hold all of
 * it. */
static void put_beside(ompjit__buf *b, const ompjit__range *r, uintptr_t at)
{
    if (at < r->begin) {
        put_bytes(b, r->begin - at);
        ompjit__buf_printf(b, " before the start of ");
    } else if (at < r->end) {
        ompjit__buf_printf(b, "only ");
        put_bytes(b, r->end - at);
        ompjit__buf_printf(b, " before the end of ");
    } else {
        put_bytes(b, at - r->end);
        ompjit__buf_printf(b, " after the end of ");
    }
    put_range(b, r);
    ompjit__buf_printf(b, "; offset %" PRId64,
                       (int64_t)(at - r->begin));
}

/* An address that is nowhere near the device's memory. If it is in an original,
 * the program has used the host's pointer. */
static ompjit_check_kind put_unmapped(ompjit__check *check, ompjit__buf *b,
                                      const void *at)
{
    ompjit__range r;
    if (!ompjit__memory_find_host(&check->memory, at, &r)) {
        ompjit__buf_printf(b, "%p is no device memory: no map covers it", at);
        return OMPJIT_CHECK_UNMAPPED;
    }
    ompjit__buf_printf(b, "%p is the host's own ", at);
    put_range(b, &r);
    ompjit__buf_printf(b, r.freed
                              ? "; it is no longer mapped"
                              : "; it is mapped, but this pointer was not "
                                "translated (map or attach the pointer too)");
    free(r.name);
    return OMPJIT_CHECK_UNMAPPED;
}

/* "offset 8 of " and the range. */
static void put_offset(ompjit__buf *b, const ompjit__range *r, uintptr_t at)
{
    ompjit__buf_printf(b, "offset %" PRId64 " of ", (int64_t)(at - r->begin));
    put_range(b, r);
}

/* In or beside memory that is or was the device's. */
static ompjit_check_kind put_misuse(ompjit__buf *b, const ompjit__range *r,
                                    const ompjit__touch *t)
{
    uintptr_t at = (uintptr_t)t->at;
    if (r->freed) {
        put_offset(b, r, at);
        ompjit__buf_printf(b, r->host_end ? "; its mapping has ended"
                                          : "; it was freed");
        return OMPJIT_CHECK_FREED;
    }
    if (t->unwritten) {
        put_offset(b, r, at);
        ompjit__buf_printf(b, "; neither a map nor a kernel has written it");
        return OMPJIT_CHECK_UNINITIALIZED;
    }
    put_beside(b, r, at);
    return OMPJIT_CHECK_BOUNDS;
}

/* Why the access is wrong, and of what kind that is. */
static ompjit_check_kind put_cause(ompjit__check *check, ompjit__buf *b,
                                   const ompjit__touch *t)
{
    ompjit__range r;
    if ((uintptr_t)t->at < NULL_PAGE) {
        ompjit__buf_printf(b, "through a null pointer (%p); data that is not "
                              "mapped gives one, too", t->at);
        return OMPJIT_CHECK_NULL;
    }
    if (t->local) {
        ompjit__buf_printf(b, "no thread of the team has written it");
        return OMPJIT_CHECK_UNINITIALIZED;
    }
    if (!ompjit__memory_find(&check->memory, t->at, &r))
        return put_unmapped(check, b, t->at);
    ompjit_check_kind kind = put_misuse(b, &r, t);
    free(r.name);
    return kind;
}

/* -------------------------------------------------------------- telling */

/* The kinds' words, which begin a report. */
static const char *const headlines[] = {
    [OMPJIT_CHECK_BOUNDS] = "out-of-bounds",
    [OMPJIT_CHECK_UNMAPPED] = "unmapped",
    [OMPJIT_CHECK_NULL] = "null-pointer",
    [OMPJIT_CHECK_FREED] = "use-after-free",
    [OMPJIT_CHECK_UNINITIALIZED] = "uninitialized",
    [OMPJIT_CHECK_LOST] = "warning: lost",
    [OMPJIT_CHECK_FUNCTION] = "host-function",
};

/* A place in the source; the function, where that is all there is. */
static char *place_key(const ompjit_check_access *a)
{
    return a->line ? ompjit__format("%s:%u:%u", a->file, a->line, a->column)
                   : ompjit__format("%s %d", a->function ? a->function : "",
                                    a->write);
}

/* The text of a race is the same whichever of the two came first. */
static char *report_key(const ompjit_check_report *r)
{
    static const ompjit_check_access none = {.file = ""};
    char *one = place_key(r->access);
    char *two = place_key(r->other ? r->other : &none);
    char *key = NULL;
    if (one && two) {
        bool swap = strcmp(one, two) > 0;
        key = ompjit__format("%d %s %s", (int)r->kind, swap ? two : one,
                             swap ? one : two);
    }
    free(one);
    free(two);
    return key;
}

/* Was the place told before? Under check->lock. */
static bool seen(ompjit__check *check, const ompjit_check_report *r)
{
    char *key = report_key(r);
    bool found = !key;
    for (size_t i = 0; i < check->nseen && !found; i++)
        found = !strcmp(check->seen[i], key);
    char **list = found ? NULL
                        : realloc(check->seen,
                                  (check->nseen + 1) * sizeof *list);
    if (!list) {
        free(key);
        return found;
    }
    check->seen = list;
    list[check->nseen++] = key;
    return false;
}

/* The kernel, the team and the thread; a race has a thread for each access. */
static void put_kernel(ompjit__buf *b, const ompjit_check_report *r)
{
    ompjit__buf_printf(b, "\n    kernel %s", r->kernel);
    if (r->kernel_line)
        ompjit__buf_printf(b, " (line %" PRIu32 ")", r->kernel_line);
    ompjit__buf_printf(b, ", team %" PRIu32, r->team);
    if (r->kind != OMPJIT_CHECK_RACE)
        ompjit__buf_printf(b, ", thread %" PRIu32, r->access->thread);
}

/* Completes the report and hands it over, unless its place was told before. */
static void tell(ompjit__check *check, const ompjit__touch *t,
                 ompjit_check_report *r, ompjit__buf *b)
{
    char *name = ompjit__kernel_name(t->kernel, &r->kernel_line);
    r->kernel = name ? name : t->kernel;
    r->team = t->team;
    put_kernel(b, r);
    r->text = b->failed ? "out of memory for a report" : b->data;
    pthread_mutex_lock(&check->lock);
    if (!seen(check, r)) {
        if (check->report)
            check->report(check->data, r);
        else
            ompjit__log(check->ctx, "check: %s", r->text);
    }
    pthread_mutex_unlock(&check->lock);
    free(name);
}

/* The texts are the image's, and valid while it is loaded. */
static ompjit_check_access access_of(const ompjit__site *site, uint32_t thread,
                                     uint64_t size)
{
    return (ompjit_check_access){
        .size = sizeof(ompjit_check_access),
        .file = site->file,
        .function = site->function,
        .line = site->line,
        .column = site->column,
        .thread = thread,
        .write = (site->flags & OMPJIT__SITE_WRITE) != 0,
        .bytes = size,
    };
}

/* An access that is wrong; the kernel goes on after it. */
void ompjit__report_memory(ompjit__check *check, const ompjit__touch *t)
{
    ompjit__buf b = {0}, cause = {0};
    ompjit_check_access access = access_of(t->site, t->thread, t->size);
    ompjit_check_report r = {.size = sizeof r, .access = &access};
    r.kind = put_cause(check, &cause, t);
    ompjit__buf_printf(&b, "%s %s of ", headlines[r.kind], verb(t->site));
    put_bytes(&b, t->size);
    if (*t->site->variable && r.kind != OMPJIT_CHECK_BOUNDS)
        ompjit__buf_printf(&b, " through %s", t->site->variable);
    ompjit__buf_printf(&b, " ");
    put_place(&b, t->site);
    ompjit__buf_printf(&b, "\n    %s", cause.data ? cause.data : "");
    tell(check, t, &r, &b);
    ompjit__buf_free(&b);
    ompjit__buf_free(&cause);
}

/* The name of the host's function at that address, where it is known. */
static void put_function(ompjit__buf *b, const void *at)
{
    char *name = ompjit__jit_name(at);
    ompjit__buf_printf(b, name ? "%p is the host's function %s"
                               : "%p is no function of the device",
                       at, name);
    ompjit__buf_printf(b, "; a pointer from the host leads to the device's "
                          "where it is `declare target indirect`");
    free(name);
}

/* A call through a pointer that leads to no function of the device. */
void ompjit__report_call(ompjit__check *check, const ompjit__touch *t)
{
    ompjit__buf b = {0};
    ompjit_check_access access = access_of(t->site, t->thread, t->size);
    bool null = (uintptr_t)t->at < NULL_PAGE;
    ompjit_check_report r = {.size = sizeof r,
                             .kind = null ? OMPJIT_CHECK_NULL
                                          : OMPJIT_CHECK_FUNCTION,
                             .access = &access};
    ompjit__buf_printf(&b, "%s %s ", headlines[r.kind], verb(t->site));
    put_place(&b, t->site);
    ompjit__buf_printf(&b, "\n    ");
    if (null)
        ompjit__buf_printf(&b, "through a null pointer (%p)", t->at);
    else
        put_function(&b, t->at);
    tell(check, t, &r, &b);
    ompjit__buf_free(&b);
}

/* When a block goes that was mapped only `to`: of its first write. */
void ompjit__report_lost(ompjit__check *check, const ompjit__touch *t,
                         const ompjit__range *range)
{
    ompjit__buf b = {0};
    ompjit_check_access access = access_of(t->site, t->thread, t->size);
    ompjit_check_report r = {.size = sizeof r,
                             .kind = OMPJIT_CHECK_LOST,
                             .access = &access};
    ompjit__buf_printf(&b, "%s write of ", headlines[r.kind]);
    put_bytes(&b, t->size);
    if (*t->site->variable)
        ompjit__buf_printf(&b, " through %s", t->site->variable);
    ompjit__buf_printf(&b, " ");
    put_place(&b, t->site);
    ompjit__buf_printf(&b, "\n    ");
    put_offset(&b, range, (uintptr_t)t->at);
    ompjit__buf_printf(&b, "; it is mapped only `to`, so nothing is copied "
                           "back");
    tell(check, t, &r, &b);
    ompjit__buf_free(&b);
}

/* One of the two accesses of a race. */
static void put_thread(ompjit__buf *b, const ompjit__site *site, bool write,
                       uint32_t thread)
{
    bool atomic = site->flags & OMPJIT__SITE_ATOMIC;
    ompjit__buf_printf(b, "\n    %s%s ", atomic ? "atomic " : "",
                       write ? "write" : "read");
    put_place(b, site);
    ompjit__buf_printf(b, " by thread %" PRIu32, thread);
}

/* `other` is the earlier access, which is still in the team's record. */
void ompjit__report_race(ompjit__check *check, const ompjit__touch *t,
                         const ompjit__conflict *other)
{
    ompjit__buf b = {0};
    ompjit__range range;
    ompjit_check_access access = access_of(t->site, t->thread, t->size);
    ompjit_check_access earlier =
        access_of(other->site, other->thread, other->site->size);
    ompjit_check_report r = {.size = sizeof r,
                             .kind = OMPJIT_CHECK_RACE,
                             .access = &access,
                             .other = &earlier};
    bool write = t->site->flags & OMPJIT__SITE_WRITE;
    ompjit__buf_printf(&b, "race on ");
    put_bytes(&b, t->size);
    if (ompjit__memory_holds(&check->memory, t->at, 1, &range) &&
        ompjit__memory_find(&check->memory, t->at, &range)) {
        ompjit__buf_printf(&b, " at ");
        put_offset(&b, &range, (uintptr_t)t->at);
        free(range.name);
    } else if (*t->site->variable) {
        ompjit__buf_printf(&b, " of %s, which the team shares",
                           t->site->variable);
    } else {
        ompjit__buf_printf(&b, " of memory that the team shares");
    }
    put_thread(&b, t->site, write, t->thread);
    put_thread(&b, other->site, other->write, other->thread);
    ompjit__buf_printf(&b, ", earlier, with nothing that orders the two");
    tell(check, t, &r, &b);
    ompjit__buf_free(&b);
}
