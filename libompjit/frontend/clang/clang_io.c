/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The conversation with the two processes of a compile, clang's or flang's, in one poll
 * loop:
 *
 *   source --> host half --> bitcode ----------------------> application
 *        \                      |
 *         `--> device half <----'  --> bitcode --------------> application
 *
 * Where what the device half needs of the host half has been guessed, it does
 * not wait for it.
 *
 * Bitcode says where it ends, and so does the list of files that comes behind
 * it, so nobody waits for a clang to exit: taking its address space apart takes
 * as long as compiling a small function.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/hold.h"
#include "base/processors.h"
#include "formats/bitcode.h"
#include "frontend/clang/clang.h"

/* ------------------------------------------------------------- transfers */

static void hang_up(int *fd)
{
    close(*fd);
    *fd = -1;
}

/* Writes what fits. Closes when all of a finished stream is sent, or nobody
 * reads: then the reader's own end tells why. */
static void push(int *fd, const ompjit__buf *from, size_t *sent, bool finished)
{
    while (*sent < from->size) {
        ssize_t n = write(*fd, from->data + *sent, from->size - *sent);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;
        *sent += (size_t)n;
    }
    if (finished || *sent < from->size)
        hang_up(fd);
}

/* Reads what is there, but not for ever; closes at the end. */
static void pull(int *fd, ompjit__buf *into)
{
    enum { PIECES = 256 };
    char chunk[16384];
    for (int i = 0; i < PIECES; i++) {
        ssize_t n = read(*fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            hang_up(fd);
            return;
        }
        ompjit__buf_add(into, chunk, (size_t)n);
    }
}

/* ------------------------------------------------------------------ loop */

enum { MAX_TALKS = 3 };

/* One conversation. talks[0] is the host half's where there are several, and
 * talks[1] the device half's. */
struct exchange {
    const ompjit__order *order;
    ompjit__buf source; /* the order's, borrowed */
    ompjit__talk *talks[MAX_TALKS];
    unsigned n;
};

/* Is there nothing more to come from the child, or nothing that is wanted? */
static bool ended(const ompjit__talk *t)
{
    return t->complete || (t->child->out < 0 && t->child->diag < 0);
}

/* Is there something to wait for? A half that has ended without its bitcode
 * makes the other one useless. */
static bool running(const struct exchange *x)
{
    bool some = false;
    for (unsigned i = 0; i < x->n; i++) {
        const ompjit__talk *t = x->talks[i];
        if (ended(t) && !t->complete && !t->text)
            return false;
        some |= !ended(t);
    }
    return some;
}

enum { FDS_EACH = 4 };

/* The bytes for the device half. */
static const ompjit__buf *told(const struct exchange *x)
{
    return x->order->info ? x->order->info : &x->talks[0]->out;
}

/* Lists the descriptors that the exchange waits for, four for each talk; poll
 * ignores those that are -1. */
static void want(const struct exchange *x, struct pollfd *fds)
{
    for (unsigned i = 0; i < x->n; i++, fds += FDS_EACH) {
        const ompjit__talk *t = x->talks[i];
        const ompjit__child *c = t->child;
        bool more = i == 1 && told(x)->size > t->forwarded;
        fds[0] = (struct pollfd){.fd = c->source, .events = POLLOUT};
        fds[1] = (struct pollfd){.fd = more ? c->host_ir : -1,
                                 .events = POLLOUT};
        fds[2] = (struct pollfd){.fd = c->out, .events = POLLIN};
        fds[3] = (struct pollfd){.fd = c->diag, .events = POLLIN};
    }
}

/* Moves what is ready, in each talk: source in, bitcode and diagnostics out,
 * and the host half's bitcode on to the device half as it grows. */
static void serve(const struct exchange *x, const struct pollfd *fds)
{
    for (unsigned i = 0; i < x->n; i++, fds += FDS_EACH) {
        ompjit__talk *t = x->talks[i];
        if (fds[0].revents)
            push(&t->child->source, &x->source, &t->sent, true);
        if (fds[2].revents)
            pull(&t->child->out, &t->out);
        if (fds[3].revents)
            pull(&t->child->diag, &t->diag);
        if (fds[2].revents && !t->text)
            t->whole = ompjit__bitcode_check(t->out.data, t->out.size) ==
                       OMPJIT__BITCODE_COMPLETE;
        t->complete = t->whole && (t->child->diag < 0 ||
                                   ompjit__has_deps(&t->diag));
        if (i == 1 && t->child->host_ir >= 0)
            push(&t->child->host_ir, told(x), &t->forwarded,
                 x->order->info || x->talks[0]->whole);
    }
}

/* The diagnostics of a complete half were written before its bitcode, and the
 * list of files that it has read right after. */
static void finish(const struct exchange *x, uint64_t deadline)
{
    for (unsigned i = 0; i < x->n; i++) {
        ompjit__talk *t = x->talks[i];
        if (t->child->diag >= 0)
            pull(&t->child->diag, &t->diag);
        if (ended(t) && !t->complete)
            t->exit = ompjit__child_wait(t->child, deadline);
        if (t->child->host_ir >= 0)
            hang_up(&t->child->host_ir);
    }
}

/* The error of a time limit, with all children killed. */
static ompjit_status too_late(const struct exchange *x, const char *what,
                              ompjit_error *err)
{
    for (unsigned i = 0; i < x->n; i++)
        ompjit__child_kill(x->talks[i]->child);
    return ompjit__fail(err, OMPJIT_ERR_TIMEOUT, OMPJIT_STAGE_FRONTEND,
                        "%s did not end within %s and was killed", what,
                        ompjit__limit(x->order->limit_ms).text);
}

/* The count of cancelled compiles, 0 for a tool's run. */
static unsigned cancels_of(const struct exchange *x)
{
    return x->order->cancels ? atomic_load(x->order->cancels) : 0;
}

/* The error of a compile that was cancelled, with all children killed. */
static ompjit_status cancelled(const struct exchange *x, const char *what,
                               ompjit_error *err)
{
    for (unsigned i = 0; i < x->n; i++)
        ompjit__child_kill(x->talks[i]->child);
    return ompjit__fail(err, OMPJIT_ERR_ABORTED, OMPJIT_STAGE_FRONTEND,
                        "the compile was cancelled and %s killed", what);
}

/* No program is so large; what writes that much will write more. */
static ompjit_status check_size(const struct exchange *x, const char *what,
                                ompjit_error *err)
{
    enum { MOST = 256 << 20 };
    bool good = true;
    for (unsigned i = 0; i < x->n; i++)
        good &= x->talks[i]->out.size <= MOST &&
                x->talks[i]->diag.size <= MOST;
    if (good)
        return OMPJIT_OK;
    for (unsigned i = 0; i < x->n; i++)
        ompjit__child_kill(x->talks[i]->child);
    return ompjit__fail(err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
                        "%s wrote more than %d MiB and was killed", what,
                        MOST >> 20);
}

/* Is there nothing to do until the device half is compiled? */
static bool idle(const struct exchange *x)
{
    return x->order->meanwhile && x->talks[0]->whole &&
           x->talks[1]->child->host_ir < 0;
}

static bool source_is_sent(const struct exchange *x)
{
    for (unsigned i = 0; i < x->n; i++)
        if (x->talks[i]->child->source >= 0)
            return false;
    return true;
}

/* ------------------------------------------------------------- processors
 * Two halves that begin on one processor take twice as long. The device half
 * gets its source last, since it may begin at once where this thread is. */

struct places {
    bool placed[MAX_TALKS];
    ompjit__processor_set all[MAX_TALKS];
};

static void place(const struct exchange *x, struct places *p)
{
    for (unsigned i = 0; i < x->n; i++)
        p->placed[i] =
            x->n > 1 && ompjit__place(x->talks[i]->child->pid,
                                      i == 1 ? OMPJIT__HERE : OMPJIT__ELSEWHERE,
                                      &p->all[i]);
}

static void place_end(const struct exchange *x, struct places *p)
{
    for (unsigned i = 0; i < x->n; i++) {
        if (p->placed[i])
            ompjit__place_end(x->talks[i]->child->pid, &p->all[i]);
        p->placed[i] = false;
    }
}

/* ------------------------------------------------------------------- poll */

/* Once the source is with all children. */
static void begin(const struct exchange *x, struct places *p)
{
    place_end(x, p);
    if (x->order->at_first)
        x->order->at_first(x->order->data);
}

/* Milliseconds after which it is looked whether the compile is cancelled. */
enum { SLICE = 50 };

/* The poll loop. */
static ompjit_status converse(const struct exchange *x, ompjit_error *err)
{
    const char *what = x->talks[0]->program;
    unsigned cancels = cancels_of(x);
    uint64_t deadline = ompjit__now() + OMPJIT__MS(x->order->limit_ms);
    struct pollfd fds[MAX_TALKS * FDS_EACH];
    struct places places;
    bool begun = false, asked = false;
    place(x, &places);
    while (running(x)) {
        uint64_t now = ompjit__now();
        if (now >= deadline)
            return too_late(x, what, err);
        if (cancels_of(x) != cancels)
            return cancelled(x, what, err);
        uint64_t left = (deadline - now) / 1000000 + 1;
        want(x, fds);
        int n = poll(fds, x->n * FDS_EACH, left > SLICE ? SLICE : (int)left);
        if (n < 0 && errno != EINTR)
            return ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_FRONTEND,
                                "cannot wait for %s: %s", what,
                                strerror(errno));
        if (n > 0)
            serve(x, fds);
        ompjit_status status = check_size(x, what, err);
        if (status)
            return status;
        if (!begun && source_is_sent(x)) {
            begin(x, &places);
            begun = true;
        }
        if (!asked && idle(x)) {
            now = ompjit__now();
            x->order->meanwhile(x->order->data);
            deadline += ompjit__now() - now; /* that is not clang's time */
            asked = true;
        }
    }
    finish(x, deadline);
    for (unsigned i = 0; i < x->n; i++) {
        const ompjit__talk *t = x->talks[i];
        if (ended(t) && !t->complete && t->exit.how == OMPJIT__END_RUNNING)
            return too_late(x, what, err);
        if (t->out.failed || t->diag.failed)
            return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    }
    return OMPJIT_OK;
}

ompjit_status ompjit__exchange(const ompjit__order *order, ompjit__talk *host,
                               ompjit__talk *device, ompjit_error *err)
{
    struct exchange x = {
        .order = order,
        .source = {.data = (char *)order->source, .size = order->size},
        .talks = {host ? host : device, device, order->beside},
        .n = !host ? 1 : order->beside ? 3 : 2};
    ompjit__held held;
    if (!host)
        hang_up(&device->child->host_ir);
    ompjit__hold(&held, SIGPIPE); /* of a child that has died */
    ompjit_status status = converse(&x, err);
    ompjit__release(&held);
    return status;
}

ompjit_status ompjit__run_tool(char *const *argv, unsigned limit_ms,
                               ompjit__buf *out, ompjit__buf *diag,
                               ompjit__exit *how, ompjit_error *err)
{
    ompjit__child child;
    ompjit_status status =
        ompjit__child_start(argv, limit_ms, NULL, NULL, &child, err);
    if (status)
        return status;
    ompjit__order order = {.limit_ms = limit_ms};
    ompjit__talk talk = {
        .program = argv[0], .child = &child, .text = true};
    struct exchange x = {.order = &order, .talks = {&talk}, .n = 1};
    hang_up(&child.source);
    hang_up(&child.host_ir);
    status = converse(&x, err);
    ompjit__child_kill(&child);
    if (status || !diag)
        ompjit__buf_free(&talk.diag);
    if (status) {
        ompjit__buf_free(&talk.out);
        return status;
    }
    *out = talk.out;
    if (diag)
        *diag = talk.diag;
    *how = talk.exit;
    return OMPJIT_OK;
}
