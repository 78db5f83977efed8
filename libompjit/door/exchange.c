/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Talks to a worker by its socket: sends requests and receives frames. The
 * worker may die, stop or be stopped at any byte, so only poll blocks here, for
 * the time that the stage has left.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/report.h"
#include "door/worker.h"
#include "libompjit/cache/sources.h"

enum { START_LIMIT = 60000 }; /* milliseconds for a worker's hello */

/* The time by which the current stage must be over; UINT64_MAX: no limit. */
static uint64_t deadline(const ompjit__worker *w, const ompjit__ask *ask)
{
    if (!w->greeted)
        return ask->since + OMPJIT__MS(START_LIMIT);
    unsigned limit = ask->compiler->worker_limit_ms;
    return limit ? ask->since + OMPJIT__MS(limit) : UINT64_MAX;
}

/* Waits until the socket can be read or written. ASKED: it can. */
static ompjit__outcome await(const ompjit__worker *w, const ompjit__ask *ask,
                             short events)
{
    for (;;) {
        uint64_t now = ompjit__now(), end = deadline(w, ask);
        uint64_t ms = end == UINT64_MAX ? UINT64_MAX : (end - now) / 1000000;
        if (now >= end)
            return OMPJIT__LATE;
        struct pollfd fd = {.fd = w->socket, .events = events};
        int n = poll(&fd, 1, ms >= INT_MAX ? -1 : (int)ms + 1);
        if (n > 0)
            return OMPJIT__ASKED;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return OMPJIT__LOST;
    }
}

/* May the call be tried again when the socket is ready? */
static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* Sends all bytes. ASKED: they are sent. LATE: the worker did not read them
 * within its stage's limit. */
static ompjit__outcome send_all(const ompjit__worker *w, const ompjit__ask *ask,
                                const void *data, size_t size)
{
    const char *at = data;
    ompjit__outcome outcome = OMPJIT__ASKED;
    while (size && outcome == OMPJIT__ASKED) {
        ssize_t n = send(w->socket, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n >= 0) {
            at += n;
            size -= (size_t)n;
        } else if (would_block()) {
            outcome = await(w, ask, POLLOUT);
        } else {
            outcome = OMPJIT__LOST;
        }
    }
    return outcome;
}

/* Receives `size` bytes. LOST: the socket was closed before. */
static ompjit__outcome receive_all(const ompjit__worker *w,
                                   const ompjit__ask *ask, void *data,
                                   size_t size)
{
    char *at = data;
    ompjit__outcome outcome = OMPJIT__ASKED;
    while (size && outcome == OMPJIT__ASKED) {
        ssize_t n = recv(w->socket, at, size, MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        } else if (n < 0 && would_block()) {
            outcome = await(w, ask, POLLIN);
        } else {
            outcome = OMPJIT__LOST;
        }
    }
    return outcome;
}

/* ---------------------------------------------------------------- frames */

/* Processes of a machine have the same monotonic clock. */
static void tell_stage(const ompjit__ask *ask, const void *bytes, size_t size)
{
    const ompjit__compiler *compiler = ask->compiler;
    ompjit__reader r = {bytes, size, false};
    uint64_t stage = ompjit__read_number(&r);
    uint64_t start = ompjit__read_number(&r);
    uint64_t end = ompjit__read_number(&r);
    if (!r.bad && stage < OMPJIT_STAGE_COUNT && compiler->stage_done)
        compiler->stage_done(compiler->stage_data, (ompjit_stage)stage, start,
                             end);
}

/* Cuts the text to the room of ask->cause. */
static void tell_cause(ompjit__ask *ask, const void *bytes, size_t size)
{
    if (size >= sizeof ask->cause)
        size = sizeof ask->cause - 1;
    memcpy(ask->cause, bytes, size);
    ask->cause[size] = 0;
}

/* Called in the thread that has asked, without a lock. */
void ompjit__ask_tell(void *data, enum ompjit__frame kind, const void *bytes,
                      size_t size)
{
    ompjit__ask *ask = data;
    switch (kind) {
    case OMPJIT__FRAME_HELLO:
        break;
    case OMPJIT__FRAME_LOG:
        ompjit__report(ask->compiler, "%.*s", (int)size, (const char *)bytes);
        break;
    case OMPJIT__FRAME_STAGE:
        tell_stage(ask, bytes, size);
        ask->since = ompjit__now();
        break;
    case OMPJIT__FRAME_NEED_UNIT:
        ask->state = OMPJIT__ASK_NEEDS_UNIT;
        break;
    case OMPJIT__FRAME_LAST:
        ask->last = true; /* fall through */
    case OMPJIT__FRAME_REPLY:
        ompjit__buf_free(&ask->answer);
        ompjit__buf_add(&ask->answer, bytes, size);
        ask->state = OMPJIT__ASK_DONE;
        break;
    case OMPJIT__FRAME_DYING:
        tell_cause(ask, bytes, size);
        break;
    }
}

/* Receives one frame. A worker's first is HELLO or DYING. The time limit starts
 * again with a HELLO and with the end of a stage. */
static ompjit__outcome receive_frame(ompjit__worker *w, ompjit__ask *ask)
{
    ompjit__frame_head head;
    ompjit__outcome outcome = receive_all(w, ask, &head, sizeof head);
    if (outcome)
        return outcome;
    if (head.kind > OMPJIT__FRAME_DYING || head.size > PTRDIFF_MAX)
        return OMPJIT__LOST;
    char *bytes = malloc((size_t)head.size + 1);
    if (!bytes)
        return OMPJIT__LOST;
    outcome = receive_all(w, ask, bytes, (size_t)head.size);
    bytes[outcome ? 0 : head.size] = 0;
    bool hello = head.kind == OMPJIT__FRAME_HELLO;
    if (!outcome && !w->greeted && hello)
        w->greeted = !strcmp(bytes, OMPJIT__SOURCES);
    if (!outcome && !w->greeted && head.kind != OMPJIT__FRAME_DYING)
        outcome = OMPJIT__LOST; /* of another build */
    if (!outcome)
        ompjit__ask_tell(ask, (enum ompjit__frame)head.kind, bytes,
                         (size_t)head.size);
    if (!outcome && hello)
        ask->since = ompjit__now();
    free(bytes);
    return outcome;
}

ompjit__outcome ompjit__worker_exchange(ompjit__worker *w, ompjit__ask *ask,
                                        const ompjit__buf *request)
{
    const ompjit__frame_head head = {.size = request->size};
    ask->state = OMPJIT__ASK_OPEN;
    ask->last = false;
    ask->since = ompjit__now();
    ask->cause[0] = 0;
    ompjit__outcome outcome = send_all(w, ask, &head, sizeof head);
    if (!outcome)
        outcome = send_all(w, ask, request->data, request->size);
    /* If the worker died while it was sent to, its last frame may be there. */
    bool sent = outcome != OMPJIT__LATE;
    outcome = sent ? OMPJIT__ASKED : outcome;
    while (!outcome && ask->state == OMPJIT__ASK_OPEN)
        outcome = receive_frame(w, ask);
    w->dead |= outcome || ask->last;
    return outcome;
}

/* The caller has taken the worker from the pool, idle. Does not send a request
 * that is longer than the buffer, since it is only a hint. */
bool ompjit__worker_post(ompjit__worker *w, const ompjit__buf *request)
{
    char head_and_request[256];
    ompjit__frame_head head = {.size = request->size};
    size_t size = sizeof head + request->size;
    if (size > sizeof head_and_request)
        return true;
    memcpy(head_and_request, &head, sizeof head);
    memcpy(head_and_request + sizeof head, request->data, request->size);
    /* It is small, and an idle worker's buffer is empty: a part would be an
     * error. */
    ssize_t n = send(w->socket, head_and_request, size,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    w->dead = n != (ssize_t)size;
    return !w->dead;
}
