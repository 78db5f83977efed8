/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Child processes: started with pipes, watched, killed, waited for. Touches
 * neither signal handlers nor any descriptor that is not its own, and keeps
 * right where the application waits for children that it did not start.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/clang/clang.h"

extern char **environ;

/* The child's descriptors, each the end of a pipe:
 *
 *   0  source      from us
 *   1  output      to us: bitcode
 *   2  diagnostics to us, and the make rule of the files that were read
 *   3  host half   from us, for a device half: -fopenmp-host-ir-file-path
 *   4  life        carries nothing, and is closed when we are gone
 */
enum { FD_SOURCE, FD_OUT, FD_DIAG, FD_HOST_IR, FD_LIFE, NFDS };

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Above the numbers that the child's descriptors get, so that putting one in
 * place never overwrites another, even if the application has closed its
 * standard input. */
static bool lift(int *fd)
{
    int high = fcntl(*fd, F_DUPFD_CLOEXEC, NFDS);
    int cause = errno;
    close(*fd);
    *fd = high;
    errno = cause;
    return high >= 0;
}

/* A pipe whose end `ours` does not block. */
static bool make_pipe(bool we_write, int *ours, int *theirs)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC))
        return false;
    *ours = fds[we_write];
    *theirs = fds[!we_write];
    return lift(ours) && lift(theirs) &&
           fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

/* ------------------------------------------------------- what it is told */

/* Our own front end gets so many bytes of the last source in its environment,
 * so as to precompile the headers there (cc1/ahead.cc). */
enum { HEAD = 16000 };

/* A child that has time before its source comes looks up all symbols at once. */
char **ompjit__child_environment(const char *like)
{
    char *ahead = ompjit__format("OMPJIT_CC1_AHEAD=%.*s", HEAD, like);
    const char *const settings[] = {"LD_BIND_NOW=1", OMPJIT__FEW_FAULTS, ahead};
    char **all = ahead ? ompjit__environment_with(settings,
                                                  OMPJIT__COUNT(settings))
                       : NULL;
    free(ahead);
    return all;
}

/* ------------------------------------------------------------------ start */

/* Signals that the application blocks or ignores are the child's as usual:
 * clang is to end by them. It leads a group of its own, which a terminal's
 * signals do not reach. Returns errno's number, or 0. */
static int spawn(char *const *argv, char **environment, const char *folder,
                 const int *theirs, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc)
        return rc;
    for (int i = 0; i < NFDS && !rc; i++)
        rc = posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
    if (!rc && folder)
        rc = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (!rc)
        rc = posix_spawnattr_init(&attr);
    if (!rc) {
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setpgroup(&attr, 0);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &all);
        rc = posix_spawn(pid, argv[0], &actions, &attr, argv,
                         environment ? environment : environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* When the last of our descriptors of the pipe is closed, by whatever ends this
 * process, the kernel kills the child's group. PR_SET_PDEATHSIG would do so
 * when the thread ends that has started the child. */
static void bind_lives(int theirs, pid_t group)
{
    if (!fcntl(theirs, F_SETOWN, -group) &&
        !fcntl(theirs, F_SETSIG, SIGKILL))
        fcntl(theirs, F_SETFL, O_ASYNC);
}

/* The last resort, in CPU seconds: whoever waits for the child has a limit in
 * real time. */
static void limit_cpu(pid_t pid, unsigned limit_ms)
{
    unsigned seconds = limit_ms / 1000 + (limit_ms % 1000 != 0);
    struct rlimit limit = {.rlim_cur = (rlim_t)seconds + 2,
                           .rlim_max = (rlim_t)seconds + 4};
    prlimit(pid, RLIMIT_CPU, &limit, NULL); /* a lower one stays */
}

ompjit_status ompjit__child_start(char *const *argv, unsigned limit_ms,
                                  char **environment, const char *folder,
                                  ompjit__child *out, ompjit_error *err)
{
    ompjit__child child = OMPJIT__NO_CHILD;
    int *ours[NFDS] = {&child.source, &child.out, &child.diag, &child.host_ir,
                       &child.life};
    int theirs[NFDS] = {-1, -1, -1, -1, -1};
    int rc = 0;
    for (int i = 0; i < NFDS && !rc; i++) {
        bool we_write = i != FD_OUT && i != FD_DIAG;
        if (!make_pipe(we_write, ours[i], &theirs[i]))
            rc = errno;
    }
    const char *what = rc ? "pipe to" : "start";
    if (!rc)
        rc = spawn(argv, environment, folder, theirs, &child.pid);
    if (!rc) {
        limit_cpu(child.pid, limit_ms);
        bind_lives(theirs[FD_LIFE], child.pid);
    }
    for (int i = 0; i < NFDS; i++)
        close_fd(&theirs[i]);
    if (rc) {
        ompjit__child_forget(&child);
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_FRONTEND,
                            "cannot %s %s: %s", what, argv[0], strerror(rc));
    }
    *out = child;
    return OMPJIT_OK;
}

void ompjit__child_hang_up(ompjit__child *child)
{
    close_fd(&child->source);
    close_fd(&child->host_ir);
    close_fd(&child->out);
    close_fd(&child->diag);
    close_fd(&child->life);
}

void ompjit__child_forget(ompjit__child *child)
{
    ompjit__child_hang_up(child);
    child->pid = 0;
}

static ompjit__exit decode(int status)
{
    if (WIFSIGNALED(status))
        return (ompjit__exit){OMPJIT__END_SIGNAL, WTERMSIG(status)};
    return (ompjit__exit){OMPJIT__END_EXIT, WEXITSTATUS(status)};
}

/* Looks once, or blocks. ECHILD: the application has a handler that waits for
 * every child, or ignores SIGCHLD; its status is lost to us. */
static ompjit__exit reap(ompjit__child *child, int flags)
{
    int status;
    pid_t pid;
    if (!child->pid)
        return (ompjit__exit){OMPJIT__END_UNKNOWN, 0};
    do {
        pid = waitpid(child->pid, &status, flags);
    } while (pid < 0 && errno == EINTR);
    if (!pid)
        return (ompjit__exit){OMPJIT__END_RUNNING, 0};
    child->pid = 0;
    close_fd(&child->life);
    if (pid < 0)
        return (ompjit__exit){OMPJIT__END_UNKNOWN, 0};
    return decode(status);
}

ompjit__exit ompjit__child_wait(ompjit__child *child, uint64_t deadline)
{
    for (;;) {
        ompjit__exit end = reap(child, WNOHANG);
        if (end.how != OMPJIT__END_RUNNING || ompjit__now() >= deadline)
            return end;
        poll(NULL, 0, 1);
    }
}

/* The group lives as long as its leader was not waited for, so that the number
 * cannot belong to anybody else yet. */
void ompjit__child_kill(ompjit__child *child)
{
    ompjit__child_hang_up(child);
    if (ompjit__child_wait(child, 0).how != OMPJIT__END_RUNNING)
        return;
    kill(-child->pid, SIGKILL);
    reap(child, 0);
}
