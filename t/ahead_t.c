/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Builds that a worker begins ahead (serve/ahead.c): the answer of the copy is
 * that of the worker itself, and only to the request that it was made for.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/processors.h"
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

/* The processor where a process is or was last; -1: unknown. */
static int processor_of(pid_t pid)
{
    enum { FIELDS_BEFORE = 36 }; /* behind the name (proc_pid_stat(5)) */
    char path[40], text[1024];
    int number = -1;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    const char *at = file && fgets(text, sizeof text, file)
                         ? strrchr(text, ')')
                         : NULL;
    for (int i = 0; at && i <= FIELDS_BEFORE; i++)
        at = strchr(at + 1, ' ');
    if (at)
        number = atoi(at);
    if (file)
        fclose(file);
    return number;
}

/* A child that works, beside a parent that works: else the kernel may move
 * either. True: it is moved from where the parent is, and may run anywhere. */
static bool is_moved(void)
{
    ompjit__processor_set before = {0}, after = {0};
    sched_getaffinity(0, sizeof before, before.part);
    pid_t child = fork();
    while (!child)
        ;
    int here = sched_getcpu();
    ompjit__run_elsewhere(child);
    int there = processor_of(child);
    sched_getaffinity(child, sizeof after, after.part);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return there >= 0 && there != here &&
           !memcmp(&before, &after, sizeof before);
}

/* On a busy machine the kernel may move it back meanwhile. */
static void test_processors(void)
{
    enum { TRIES = 20 };
    ompjit__processor_set all = {0}, others;
    bool one = !ompjit__other_processors(&all, &others);
    int moved = 0;
    for (int i = 0; i < TRIES && !one; i++)
        moved += is_moved();
    ok(one || moved > TRIES * 3 / 4,
       "a copy begins on another processor: %d of %d", moved, TRIES);
}

int main(void)
{
    int ends[2];
    ompjit__buf request = {0}, other = {0}, longer = {0};
    ompjit__buf own = {0}, copied = {0}, none = {0};
    ompjit__session *s = ompjit__session_new();
    test_processors();
    ok(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "a channel");
    ompjit__ahead *a = ompjit__ahead_new(ends[0]);
    make_request(&request, OMPJIT__OP_COUNT);
    make_request(&other, OMPJIT__OP_COUNT + 1);
    make_request(&longer, OMPJIT__OP_COUNT);
    ompjit__pack_string(&longer, "what is to be built behind it");
    ompjit__serve(s, request.data, request.size, collect, &own);
    ok(own.size, "the session itself has an answer");

    ok(!ompjit__ahead_answer(a, request.data, request.size, collect, &none),
       "without a copy there is no answer");
    ompjit__ahead_begin(a, s, request.data, request.size);
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

    ompjit__ahead_begin(a, s, other.data, other.size);
    ompjit__ahead_begin(a, s, request.data, request.size);
    ompjit__buf_free(&copied);
    ok(ompjit__ahead_answer(a, longer.data, longer.size, collect, &copied) &&
           copied.size == own.size,
       "a newer copy replaces an older one, and what follows does not count");
    ok(no_children(), "  both are gone");

    /* PREPARE has no reply: the copy ends without one, as one that dies. */
    ompjit__buf silent = {0};
    make_request(&silent, OMPJIT__OP_PREPARE);
    ompjit__ahead_begin(a, s, silent.data, silent.size);
    ok(!ompjit__ahead_answer(a, silent.data, silent.size, collect, &none) &&
           !none.size && no_children(),
       "a copy without a reply is no answer");

    ompjit__ahead_begin(a, s, request.data, request.size);
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
    free(a);
    return done_testing();
}
