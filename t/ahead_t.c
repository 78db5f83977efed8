/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Builds that a worker begins ahead (serve/ahead.c): the answer of the copy is
 * that of the worker itself, and only to the request that it was made for.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "serve/serve.h"
#include "t/tap.h"

/* ompjit__tell_fn: all frames, their kinds before them. */
static void collect(void *data, enum ompjit__frame kind, const void *bytes,
                    size_t size)
{
    ompjit__buf *all = data;
    ompjit__pack_number(all, kind);
    ompjit__pack_bytes(all, bytes, size);
}

/* A request that every session answers, with an error. */
static void make_request(ompjit__buf *out, uint64_t op)
{
    ompjit__pack_number(out, op);
}

/* Nothing is left of copies. */
static bool no_children(void)
{
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

/* The one child; 0: there is none, or the system does not tell. */
static pid_t only_child(void)
{
    FILE *file = fopen("/proc/thread-self/children", "r");
    int pid = 0;
    if (file && fscanf(file, "%d", &pid) != 1)
        pid = 0;
    if (file)
        fclose(file);
    return pid;
}

/* Begins the request and takes its answer. */
static bool both(ompjit__ahead *a, ompjit__session *s,
                 const ompjit__unit *unit, const ompjit__buf *request)
{
    ompjit__buf copied = {0};
    ompjit__ahead_begin(a, s, unit, request->data, request->size);
    bool good = ompjit__ahead_answer(a, request->data, request->size, collect,
                                     &copied);
    ompjit__buf_free(&copied);
    return good;
}

/* A worker that ends when its copy has answered. The copy has a pipe of ours, at
 * whose end it is gone. */
static bool ends_with_worker(ompjit__ahead *a, ompjit__session *s,
                             const ompjit__unit *unit,
                             const ompjit__buf *request)
{
    enum { MS = 5000 };
    int pipe_ends[2], status = 1;
    if (pipe(pipe_ends))
        return false;
    pid_t worker = fork();
    if (!worker)
        _exit(!both(a, s, unit, request));
    close(pipe_ends[1]);
    waitpid(worker, &status, 0);
    struct pollfd end = {.fd = pipe_ends[0]};
    bool ended = poll(&end, 1, MS) == 1 && end.revents & POLLHUP;
    close(pipe_ends[0]);
    return !status && ended;
}

static void test_staying(int channel, ompjit__session *s,
                         const ompjit__buf *request)
{
    ompjit__ahead *a = ompjit__ahead_new(channel);
    ompjit__unit small = {.name = (char *)"small"}, large = small;
    large.nkernels = 9;
    ok(ends_with_worker(a, s, &small, request),
       "a copy that stays ends with its worker");
    ok(both(a, s, &small, request) && !no_children(),
       "the copy for a small unit stays");
    pid_t first = only_child();
    ok(both(a, s, &small, request) && only_child() == first,
       "  and answers the next request");
    ok(!ompjit__ahead_answer(a, request->data, request->size, collect, NULL),
       "  once");
    if (first)
        kill(first, SIGKILL);
    ompjit__ahead_begin(a, s, &small, request->data, request->size);
    ompjit__ahead_free(a);
    ok(no_children(), "where it was killed, nothing is left of it");

    a = ompjit__ahead_new(channel);
    ompjit__ahead_begin(a, s, &large, request->data, request->size);
    ompjit__buf none = {0};
    ok(ompjit__ahead_answer(a, request->data, request->size, collect, &none) &&
           no_children(),
       "the copy for a large unit ends");
    ompjit__buf_free(&none);
    ompjit__ahead_free(a);
}

int main(void)
{
    int ends[2];
    ompjit__buf request = {0}, other = {0}, longer = {0};
    ompjit__buf own = {0}, copied = {0}, none = {0};
    ompjit__session *s = ompjit__session_new();
    ok(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "a channel");
    ompjit__ahead *a = ompjit__ahead_new(ends[0]);
    make_request(&request, OMPJIT__OP_COUNT);
    make_request(&other, OMPJIT__OP_COUNT + 1);
    make_request(&longer, OMPJIT__OP_COUNT);
    ompjit__pack_string(&longer, "what is to be built behind it");
    ompjit__serve(s, request.data, request.size, collect, &own);
    ok(own.size, "the session itself has an answer");

    test_staying(ends[0], s, &request);
    ok(!ompjit__ahead_answer(a, request.data, request.size, collect, &none),
       "without a copy there is no answer");
    ompjit__ahead_begin(a, s, NULL, request.data, request.size);
    ok(!ompjit__ahead_answer(a, other.data, other.size, collect, &none) &&
           !none.size,
       "another request has none either");
    ok(ompjit__ahead_answer(a, request.data, request.size, collect, &copied),
       "the request is answered");
    ok(copied.size == own.size && !memcmp(copied.data, own.data, own.size),
       "  with the same frames");
    ok(no_children(), "  and the copy is gone");
    ok(!ompjit__ahead_answer(a, request.data, request.size, collect, &none),
       "  once");

    ompjit__ahead_begin(a, s, NULL, other.data, other.size);
    ompjit__ahead_begin(a, s, NULL, request.data, request.size);
    ompjit__buf_free(&copied);
    ok(ompjit__ahead_answer(a, longer.data, longer.size, collect, &copied) &&
           copied.size == own.size,
       "a newer copy replaces an older one, and what follows does not count");
    ok(no_children(), "  both are gone");

    /* PREPARE has no reply: the copy ends without one, as one that dies. */
    ompjit__buf silent = {0};
    make_request(&silent, OMPJIT__OP_PREPARE);
    ompjit__ahead_begin(a, s, NULL, silent.data, silent.size);
    ok(!ompjit__ahead_answer(a, silent.data, silent.size, collect, &none) &&
           !none.size && no_children(),
       "a copy without a reply is no answer");

    ompjit__ahead_begin(a, s, NULL, request.data, request.size);
    close(ends[0]);
    char byte;
    ok(!recv(ends[1], &byte, 1, 0), "a copy does not hold the channel open");
    ompjit__ahead_answer(a, request.data, request.size, collect, &copied);
    ompjit__buf_free(&request);
    ompjit__buf_free(&other);
    ompjit__buf_free(&longer);
    ompjit__buf_free(&silent);
    ompjit__buf_free(&own);
    ompjit__buf_free(&copied);
    ompjit__session_free(s);
    ompjit__ahead_free(a);
    return done_testing();
}
