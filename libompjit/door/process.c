/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Starts workers: the program ompjitc, which forks and ends at once, so that
 * the application never has a child that it did not start. A worker ends with
 * this process: it has a socket, whose end it sees when it is idle, and a pipe
 * without data, at whose end the kernel kills it when it is busy
 * (serve/worker.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door/worker.h"

/* SOCKET and LIFE are ompjitc's descriptors. Ours are LOWEST and above, so that
 * dup2 to one of them never overwrites the other. */
enum { SOCKET = 3, LIFE = 4, LOWEST = 5 };

#define PROGRAM "ompjitc"

/* ----------------------------------------------------------------- program */

/* The folders are tried in this order so that a build tree's own program, and
 * then that of the same prefix, comes before one that was installed earlier. */
char *ompjit__compiler_program(void)
{
    static const char *const beside[] = {"", "../",
                                         OMPJIT_CONFIG_LIB_TO_LIBEXEC "/",
                                         OMPJIT_CONFIG_BIN_TO_LIBEXEC "/"};
    char *own = ompjit__own_folder(), *path = NULL;
    for (size_t i = 0; own && !path && i < OMPJIT__COUNT(beside); i++) {
        path = ompjit__format("%s%s" PROGRAM, own, beside[i]);
        if (path && access(path, X_OK)) {
            free(path);
            path = NULL;
        }
    }
    free(own);
    return path ? path
                : ompjit__strdup(OMPJIT_CONFIG_LIBEXECDIR "/" PROGRAM);
}

/* ------------------------------------------------------------ descriptors */

/* Closes the descriptor and sets it to -1. */
static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Moves a descriptor above the workers' numbers; errno says why it fails. */
static bool lift(int *fd)
{
    int high = fcntl(*fd, F_DUPFD_CLOEXEC, LOWEST);
    int cause = errno;
    close(*fd);
    *fd = high;
    errno = cause;
    return high >= 0;
}

/* Makes a socket pair and a pipe: element 0 of each array is the socket, 1 the
 * pipe's end. False: errno says why; the caller closes those that are not -1.
 */
static bool make_channels(int ours[2], int theirs[2])
{
    int sockets[2], ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
        return false;
    ours[0] = sockets[0];
    theirs[0] = sockets[1];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    ours[1] = ends[1];
    theirs[1] = ends[0];
    return lift(&ours[0]) && lift(&ours[1]) && lift(&theirs[0]) &&
           lift(&theirs[1]);
}

/* ------------------------------------------------------------------- start */

/* Standard input, output and error of a worker are /dev/null. */
static int add_actions(posix_spawn_file_actions_t *actions, const int theirs[2])
{
    int rc = 0;
    for (int fd = 0; fd < SOCKET && !rc; fd++)
        rc = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR,
                                              0);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(actions, theirs[0], SOCKET);
    return rc ? rc
              : posix_spawn_file_actions_adddup2(actions, theirs[1], LIFE);
}

/* Returns 0 or an errno. The worker does not inherit ignored and blocked
 * signals. */
static int spawn(const char *path, const int theirs[2], pid_t *pid)
{
    static const char *const settings[] = {OMPJIT__FEW_FAULTS};
    char *const argv[] = {(char *)PROGRAM, NULL};
    char **environment = ompjit__environment_with(settings, 1);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int rc = environment ? posix_spawn_file_actions_init(&actions) : ENOMEM;
    if (rc) {
        free(environment);
        return rc;
    }
    rc = add_actions(&actions, theirs);
    if (!rc)
        rc = posix_spawnattr_init(&attr);
    if (!rc) {
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &all);
        rc = posix_spawn(pid, path, &actions, &attr, argv, environment);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return rc;
}

/* Waits for the started program, which ends as soon as its fork has become a
 * worker or has failed; its exit status is 0 or an errno. If the application
 * ignores SIGCHLD or waits for every child, the status is lost, and counts as
 * 0. */
static int await_start(pid_t pid)
{
    int status;
    pid_t ended;
    do {
        ended = waitpid(pid, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

/* Blocks for the milliseconds that ompjitc takes to start. On failure both
 * descriptors are -1. */
bool ompjit__worker_start(ompjit__worker *w, ompjit__buf *cause)
{
    int ours[2] = {-1, -1}, theirs[2] = {-1, -1};
    char *path = ompjit__compiler_program();
    pid_t pid = 0;
    int rc = !path ? ENOMEM : make_channels(ours, theirs) ? 0 : errno;
    if (!rc)
        rc = spawn(path, theirs, &pid);
    close_fd(&theirs[0]);
    close_fd(&theirs[1]);
    if (!rc)
        rc = await_start(pid);
    w->socket = ours[0];
    w->life = ours[1];
    if (rc) {
        ompjit__worker_hang_up(w);
        ompjit__buf_printf(cause, "%s does not start: %s",
                           path ? path : PROGRAM, strerror(rc));
    }
    free(path);
    return !rc;
}

/* Accepts a worker without descriptors. */
void ompjit__worker_hang_up(ompjit__worker *w)
{
    close_fd(&w->socket);
    close_fd(&w->life);
}
