/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A build that a worker carries out ahead of its request, beside the request
 * that it is asked now: in a copy of its process, which has the unit and all of
 * LLVM in memory already. The copy's frames wait in a socket. If the build is
 * asked for before another one is begun ahead, they are its answer; if the copy
 * is not fit for that, by its death for instance, the request is carried out as
 * any other.
 *
 * A copy shares the worker's memory until one of them writes to it, which takes
 * 4 ms of the first build. So a copy that has answered stays for the next one,
 * whose unit it is sent. Of a large unit the next copy should have the modules
 * that the worker has read: it is made anew, and ends when it has answered.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/processors.h"
#include "serve/serve.h"

struct ompjit__ahead {
    int channel;  /* the worker's, which a copy closes       */
    pid_t child;  /* 0: none                                 */
    int socket;   /* for requests to it and frames from it   */
    bool stays;   /* it does when it has answered            */
    bool rests;   /* it has answered, and waits for the next */
    ompjit__buf request; /* its last one */
};

ompjit__ahead *ompjit__ahead_new(int channel)
{
    ompjit__ahead *a = calloc(1, sizeof *a);
    if (a)
        a->channel = channel;
    return a;
}

/* ----------------------------------------------------------------- socket */

/* False: the other end is closed. */
static bool send_all(int to, const void *data, size_t size)
{
    const char *at = data;
    while (size) {
        ssize_t n = send(to, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        at += n < 0 ? 0 : n;
        size -= n < 0 ? 0 : (size_t)n;
    }
    return true;
}

/* Appends `size` bytes. False: the other end is closed, or there is no memory. */
static bool receive(int from, ompjit__buf *into, size_t size)
{
    char part[65536];
    while (size && !into->failed) {
        ssize_t n = recv(from, part, size < sizeof part ? size : sizeof part, 0);
        if (!n || (n < 0 && errno != EINTR))
            return false;
        if (n > 0) {
            ompjit__buf_add(into, part, (size_t)n);
            size -= (size_t)n;
        }
    }
    return !into->failed;
}

/* ------------------------------------------------------------------- child */

/* Where the copy's frames go. */
struct listener {
    int socket;
    bool replied;
};

/* ompjit__tell_fn of the copy. Nobody listens where the worker has ended. */
static void tell_worker(void *data, enum ompjit__frame kind, const void *bytes,
                        size_t size)
{
    struct listener *l = data;
    const ompjit__frame_head head = {.kind = kind, .size = size};
    if (!send_all(l->socket, &head, sizeof head) ||
        !send_all(l->socket, bytes, size))
        _exit(1);
    l->replied |= kind == OMPJIT__FRAME_REPLY;
}

/* Not soon, where it is false: the copy may make itself ready. */
static bool has_more(int socket)
{
    enum { MS = 4 };
    struct pollfd fd = {.fd = socket, .events = POLLIN};
    return poll(&fd, 1, MS) > 0;
}

/* The next unit is kept, and the request behind it becomes the last one. False:
 * there are no more. */
static bool next_request(ompjit__ahead *a, ompjit__session *session, int from)
{
    ompjit__buf head = {0}, bytes = {0};
    uint64_t size = 0;
    if (receive(from, &head, sizeof size))
        memcpy(&size, head.data, sizeof size);
    ompjit__buf_free(&head);
    ompjit__buf_free(&a->request);
    bool good = size && receive(from, &bytes, (size_t)size);
    ompjit__reader r = {bytes.data, bytes.size, false};
    good = good && ompjit__session_keep(session, &r);
    if (good)
        ompjit__read_buf(&r, &a->request);
    ompjit__buf_free(&bytes);
    return good && !r.bad && !a->request.failed;
}

/* Without the worker's channel, whose end the application sees when the worker
 * ends. The shutdown lets the worker answer before this process is gone, which
 * gives back as much memory as a worker has. */
static void work(ompjit__ahead *a, ompjit__session *session, int socket)
{
    struct listener l = {.socket = socket};
    close(a->channel);
    ompjit__session_ahead(session, NULL);
    do {
        l.replied = false;
        ompjit__serve(session, a->request.data, a->request.size, tell_worker,
                      &l);
        if (!a->stays || !l.replied || ompjit__is_worn())
            break;
        if (!has_more(socket))
            ompjit__session_rest(session);
    } while (next_request(a, session, socket));
    shutdown(socket, SHUT_WR);
    _exit(0);
}

/* ------------------------------------------------------------------ worker */

/* Ends the copy, wherever it is. */
static void drop(ompjit__ahead *a)
{
    if (!a->child)
        return;
    kill(a->child, SIGKILL);
    close(a->socket);
    while (waitpid(a->child, NULL, 0) < 0 && errno == EINTR)
        ;
    a->child = 0;
    a->rests = false;
}

void ompjit__ahead_free(ompjit__ahead *a)
{
    if (!a)
        return;
    drop(a);
    ompjit__buf_free(&a->request);
    free(a);
}

/* Can a copy that stays have it as well as one that is made anew? */
static bool is_small(const ompjit__unit *unit)
{
    enum { KERNELS = 8, BYTES = 64 << 10 };
    return unit && !unit->cuda && unit->nkernels <= KERNELS &&
           unit->device_bc.size + unit->host_bc.size < BYTES;
}

/* To the copy that rests. False: there is none, or it has ended. */
static bool hand_over(ompjit__ahead *a, const ompjit__unit *unit)
{
    ompjit__buf bytes = {0};
    if (!a->rests || !is_small(unit))
        return false;
    ompjit__unit_pack(unit, &bytes);
    ompjit__pack_bytes(&bytes, a->request.data, a->request.size);
    uint64_t size = bytes.size;
    bool good = !bytes.failed && send_all(a->socket, &size, sizeof size) &&
                send_all(a->socket, bytes.data, bytes.size);
    ompjit__buf_free(&bytes);
    return good;
}

/* Without one where the process cannot be copied. */
static void copy(ompjit__ahead *a, ompjit__session *session)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return;
    pid_t child = fork();
    if (!child) {
        close(ends[0]);
        work(a, session, ends[1]);
    }
    close(ends[1]);
    a->socket = ends[0];
    if (child > 0)
        a->child = child;
    else
        close(a->socket);
}

void ompjit__ahead_begin(ompjit__ahead *a, ompjit__session *session,
                         const ompjit__unit *unit, const void *request,
                         size_t size)
{
    ompjit__buf_free(&a->request);
    ompjit__buf_add(&a->request, request, size);
    if (!a->request.failed && hand_over(a, unit)) {
        a->rests = false;
    } else {
        drop(a);
        a->stays = is_small(unit);
        if (!a->request.failed)
            copy(a, session);
    }
    if (a->child)
        ompjit__run_elsewhere(a->child);
}

/* All that the copy tells of its last request. True: up to a reply. */
static bool receive_frames(const ompjit__ahead *a, ompjit__buf *frames)
{
    ompjit__frame_head head;
    do {
        size_t at = frames->size;
        if (!receive(a->socket, frames, sizeof head))
            return false;
        memcpy(&head, frames->data + at, sizeof head);
        if (!receive(a->socket, frames, (size_t)head.size))
            return false;
    } while (head.kind != OMPJIT__FRAME_REPLY);
    return true;
}

/* Calls `tell` with each frame. */
static void pass_on(const ompjit__buf *frames, ompjit__tell_fn *tell,
                    void *data)
{
    ompjit__frame_head head;
    for (size_t at = 0; at < frames->size; at += (size_t)head.size) {
        memcpy(&head, frames->data + at, sizeof head);
        at += sizeof head;
        tell(data, (enum ompjit__frame)head.kind, frames->data + at,
             (size_t)head.size);
    }
}

/* A request has behind it what is to be built ahead beside it, which is not
 * begun here: the worker is free at once. */
bool ompjit__ahead_answer(ompjit__ahead *a, const void *request, size_t size,
                          ompjit__tell_fn *tell, void *data)
{
    ompjit__buf frames = {0};
    if (!a->child || a->rests || size < a->request.size ||
        memcmp(request, a->request.data, a->request.size))
        return false;
    bool good = receive_frames(a, &frames);
    if (good)
        pass_on(&frames, tell, data);
    ompjit__buf_free(&frames);
    a->rests = good && a->stays;
    if (!a->rests)
        drop(a);
    return good;
}
