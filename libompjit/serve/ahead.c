/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A build that a worker carries out ahead of its request, beside the request
 * that it is asked now: in a copy of its process, which has the unit and all of
 * LLVM in memory already. The copy's frames wait in a socket. If the build is
 * asked for before another one is begun ahead, they are its answer; if the copy
 * is not fit for that, by its death for instance, the request is carried out as
 * any other.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/processors.h"
#include "serve/serve.h"

struct ompjit__ahead {
    int channel;  /* the worker's, which a copy closes   */
    pid_t child;  /* 0: none                             */
    int from;     /* the socket with the child's frames  */
    ompjit__buf request;
};

ompjit__ahead *ompjit__ahead_new(int channel)
{
    ompjit__ahead *a = calloc(1, sizeof *a);
    if (a)
        a->channel = channel;
    return a;
}

/* ------------------------------------------------------------------- child */

/* ompjit__tell_fn of the copy. Nobody listens where the worker has ended. */
static void tell_worker(void *data, enum ompjit__frame kind, const void *bytes,
                        size_t size)
{
    const int to = *(int *)data;
    const ompjit__frame_head head = {.kind = kind, .size = size};
    const struct {
        const char *at;
        size_t size;
    } pieces[] = {{(const char *)&head, sizeof head}, {bytes, size}};
    for (size_t i = 0; i < OMPJIT__COUNT(pieces); i++)
        for (size_t done = 0; done < pieces[i].size;) {
            ssize_t n = send(to, pieces[i].at + done, pieces[i].size - done,
                             MSG_NOSIGNAL);
            if (n < 0 && errno != EINTR)
                _exit(1);
            done += n < 0 ? 0 : (size_t)n;
        }
}

/* Without the worker's channel, whose end the application sees when the worker
 * ends. The shutdown lets the worker answer before this process is gone, which
 * gives back as much memory as a worker has. */
static void work(ompjit__ahead *a, ompjit__session *session, int to)
{
    close(a->channel);
    ompjit__session_ahead(session, NULL);
    ompjit__serve(session, a->request.data, a->request.size, tell_worker, &to);
    shutdown(to, SHUT_WR);
    _exit(0);
}

/* ------------------------------------------------------------------ worker */

/* Ends the copy, wherever it is. */
static void drop(ompjit__ahead *a)
{
    if (!a->child)
        return;
    kill(a->child, SIGKILL);
    close(a->from);
    while (waitpid(a->child, NULL, 0) < 0 && errno == EINTR)
        ;
    a->child = 0;
    ompjit__buf_free(&a->request);
}

void ompjit__ahead_begin(ompjit__ahead *a, ompjit__session *session,
                         const void *request, size_t size)
{
    int ends[2];
    drop(a);
    ompjit__buf_add(&a->request, request, size);
    if (a->request.failed ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        ompjit__buf_free(&a->request);
        return;
    }
    a->child = fork();
    if (!a->child) {
        close(ends[0]);
        work(a, session, ends[1]);
    }
    close(ends[1]);
    a->from = ends[0];
    if (a->child > 0) {
        ompjit__run_elsewhere(a->child);
        return;
    }
    a->child = 0;
    close(a->from);
    ompjit__buf_free(&a->request);
}

/* All that the copy has told, up to its end. */
static void receive(const ompjit__ahead *a, ompjit__buf *frames)
{
    char part[65536];
    for (;;) {
        ssize_t n = recv(a->from, part, sizeof part, 0);
        if (n > 0)
            ompjit__buf_add(frames, part, (size_t)n);
        else if (!n || errno != EINTR)
            return;
    }
}

/* Walks whole frames, with `tell` where it is not NULL. True: they end with a
 * reply. */
static bool walk(const ompjit__buf *frames, ompjit__tell_fn *tell, void *data)
{
    ompjit__frame_head head = {.kind = OMPJIT__FRAME_DYING};
    for (size_t at = 0; at < frames->size; at += (size_t)head.size) {
        if (frames->size - at < sizeof head)
            return false;
        memcpy(&head, frames->data + at, sizeof head);
        at += sizeof head;
        if (frames->size - at < head.size)
            return false;
        if (tell)
            tell(data, (enum ompjit__frame)head.kind, frames->data + at,
                 (size_t)head.size);
    }
    return head.kind == OMPJIT__FRAME_REPLY;
}

/* A request has behind it what is to be built ahead beside it, which is not
 * begun here: the worker is free at once. */
bool ompjit__ahead_answer(ompjit__ahead *a, const void *request, size_t size,
                          ompjit__tell_fn *tell, void *data)
{
    ompjit__buf frames = {0};
    if (!a->child || size < a->request.size ||
        memcmp(request, a->request.data, a->request.size))
        return false;
    receive(a, &frames);
    bool good = !frames.failed && walk(&frames, NULL, NULL);
    if (good)
        walk(&frames, tell, data);
    ompjit__buf_free(&frames);
    drop(a);
    return good;
}
