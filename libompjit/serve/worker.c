/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A worker's life: one request after the other through a socket. Signals that
 * LLVM dies of are told to the application before the process ends; signals of
 * the terminal are the application's. When the application is gone, the kernel
 * kills the worker's process group, whatever it does.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libompjit/cache/sources.h"
#include "llvm/guard.h"
#include "llvm/llvm.h"
#include "serve/serve.h"

enum {
    IDLE_SECONDS = 300, /* after which it ends; another one is soon started */
    STACK = 64 << 20,   /* bytes: LLVM and clang are written for 8 MiB      */
    MOST_KIB = 1 << 20  /* of memory that it has ever had, to go on         */
};

/* The socket. At file scope, since handlers of signals write to it. */
static int channel = -1;

/* ------------------------------------------------------------------ frames */

/* False: the other end is closed. Called by handlers of signals, too. */
static bool send_all(const void *data, size_t size)
{
    const char *at = data;
    while (size) {
        ssize_t n = send(channel, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* False: the other end is closed, perhaps in the middle. */
static bool receive_all(void *data, size_t size)
{
    char *at = data;
    while (size) {
        ssize_t n = recv(channel, at, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static void send_frame(enum ompjit__frame kind, const void *bytes, size_t size)
{
    const ompjit__frame_head head = {.kind = kind, .size = size};
    struct iovec parts[] = {{(void *)(uintptr_t)&head, sizeof head},
                            {(void *)(uintptr_t)bytes, size}};
    const struct msghdr both = {.msg_iov = parts, .msg_iovlen = 2};
    const ssize_t n = sendmsg(channel, &both, MSG_NOSIGNAL);
    const size_t sent = n > 0 ? (size_t)n : 0;
    const size_t of_head = sent < sizeof head ? sent : sizeof head;
    const char *rest = (const char *)bytes + (sent - of_head);
    if (!send_all((const char *)&head + of_head, sizeof head - of_head) ||
        !send_all(rest, size - (sent - of_head)))
        _exit(0); /* nobody listens */
}

/* ------------------------------------------------------------------- death */

static const struct {
    int number;
    const char *name;
} deaths[] = {
    {SIGSEGV, "segmentation fault"},  {SIGBUS, "bus error"},
    {SIGFPE, "arithmetic exception"}, {SIGILL, "illegal instruction"},
    {SIGABRT, "abort"},               {SIGTRAP, "trap"},
    {SIGSYS, "bad system call"},      {SIGXCPU, "its processor time is over"},
};

/* The application gets the cause as the text of the request's error, and starts
 * another worker for the next. */
static void die(const char *cause)
{
    send_frame(OMPJIT__FRAME_DYING, cause, strlen(cause));
    _exit(1);
}

/* SA_RESETHAND: a second fault, in here, has its default effect. */
static void on_death(int number)
{
    for (size_t i = 0; i < OMPJIT__COUNT(deaths); i++)
        if (deaths[i].number == number)
            die(deaths[i].name);
    _exit(1);
}

/* Code of LLVM's or of a library that calls exit must not look like an orderly
 * end. The worker itself leaves by _exit. */
static void on_exit_call(void)
{
    die("it called exit");
}

/* The handlers run on a stack of their own, since LLVM may die of a stack that
 * is full. They use nothing that locks: each writes one frame. */
static void watch_deaths(void)
{
    static char stack[64 << 10];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_death,
                               .sa_flags = SA_ONSTACK | SA_RESETHAND};
    sigaltstack(&alternate, NULL);
    for (size_t i = 0; i < OMPJIT__COUNT(deaths); i++)
        sigaction(deaths[i].number, &action, NULL);
    atexit(on_exit_call);
}

/* A terminal's, and those that the application sends to its process group. */
static void ignore_signals(void)
{
    static const int others[] = {SIGINT,  SIGQUIT, SIGHUP,  SIGTERM, SIGPIPE,
                                 SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2,
                                 SIGALRM, SIGXFSZ};
    for (size_t i = 0; i < OMPJIT__COUNT(others); i++)
        signal(others[i], SIG_IGN);
}

/* When the last descriptor of the pipe's other end is closed, by whatever ends
 * the application, the kernel kills the worker's group. It may be gone
 * already. */
static void bind_lives(int life)
{
    struct pollfd fd = {.fd = life};
    if (!fcntl(life, F_SETOWN, -getpgrp()) && !fcntl(life, F_SETSIG, SIGKILL))
        fcntl(life, F_SETFL, O_ASYNC);
    if (poll(&fd, 1, 0) > 0 && (fd.revents & POLLHUP))
        _exit(0);
}

/* -------------------------------------------------------------------- work */

/* The kernel lets the main thread's stack grow up to the limit at the time. */
static void raise_stack(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK)
        return;
    limit.rlim_cur = limit.rlim_max < STACK ? limit.rlim_max : STACK;
    setrlimit(RLIMIT_STACK, &limit);
}

bool ompjit__is_worn(void)
{
    struct rusage usage;
    return ompjit__guard_was_left() ||
           (!getrusage(RUSAGE_SELF, &usage) && usage.ru_maxrss > MOST_KIB);
}

/* A worker that is worn says with its reply that it is the last one: the
 * application need not find out by a lost request. */
static void tell(void *last, enum ompjit__frame kind, const void *bytes,
                 size_t size)
{
    bool *ends = last;
    if (kind == OMPJIT__FRAME_REPLY && ompjit__is_worn()) {
        *ends = true;
        kind = OMPJIT__FRAME_LAST;
    }
    send_frame(kind, bytes, size);
}

/* Waits for so many milliseconds. True as well where the application has closed
 * the socket: reading then tells. */
static bool has_request(int ms)
{
    struct pollfd fd = {.fd = channel, .events = POLLIN};
    int n;
    do {
        n = poll(&fd, 1, ms);
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

/* When none has come for a while, the next build is made ready. */
static bool wait_for_request(ompjit__session *session)
{
    enum { WHILE = 4, IDLE = IDLE_SECONDS * 1000 };
    if (has_request(WHILE))
        return true;
    ompjit__session_rest(session);
    return has_request(IDLE);
}

/* False: there are no more. */
static bool serve_one(ompjit__session *session, ompjit__ahead *ahead)
{
    ompjit__frame_head head;
    bool ends = false;
    if (!wait_for_request(session) || !receive_all(&head, sizeof head))
        return false;
    char *request = malloc((size_t)head.size + 1);
    if (!request)
        die("out of memory");
    if (!receive_all(request, (size_t)head.size))
        return false;
    if (!ompjit__ahead_answer(ahead, request, (size_t)head.size, tell, &ends))
        ompjit__serve(session, request, (size_t)head.size, tell, &ends);
    free(request);
    return !ends;
}

/* The order matters: bound to the application's life before anything can fail,
 * with all of the stack before LLVM needs it, and greeted before LLVM's
 * constructors run, so that the application sends its request meanwhile. */
void ompjit__work(int socket, int life)
{
    channel = socket;
    bind_lives(life);
    ignore_signals();
    raise_stack();
    watch_deaths();
    send_frame(OMPJIT__FRAME_HELLO, OMPJIT__SOURCES, strlen(OMPJIT__SOURCES));
    ompjit__session *session = ompjit__session_new();
    ompjit__ahead *ahead = ompjit__ahead_new(socket);
    if (!session || !ahead)
        die("out of memory");
    ompjit__session_own_process(session);
    ompjit__session_ahead(session, ahead);
    ompjit__llvm_init();
    while (serve_one(session, ahead))
        ;
    _exit(0);
}
