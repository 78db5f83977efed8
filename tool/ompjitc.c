/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler as a program. `ompjitc -cc1` is clang's front end; else it is a
 * worker, a process that compiles for an application. door/process.c starts it
 * with a socket and a pipe. It leaves its parent at once, so that the application
 * has no child, and becomes the leader of a session and a process group of its
 * own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "door/door.h"
#include "frontend/cc1/cc1.h"

enum { SOCKET = 3, LIFE = 4, FIRST_OTHER = 5 };

/* Descriptors that the application has not marked to be closed. */
static void close_others(void)
{
#ifdef SYS_close_range
    syscall(SYS_close_range, FIRST_OTHER, ~0U, 0);
#endif
}

/* The application then compiles in its own process, or says the same. */
static int refuse(const ompjit_error *err)
{
    const ompjit__frame_head head = {.kind = OMPJIT__FRAME_DYING,
                                     .size = strlen(err->text)};
    if (send(SOCKET, &head, sizeof head, MSG_NOSIGNAL) == sizeof head)
        send(SOCKET, err->text, (size_t)head.size, MSG_NOSIGNAL);
    return 1;
}

static bool is_socket(int fd)
{
    int type;
    socklen_t size = sizeof type;
    return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
}

int main(int argc, char **argv)
{
    const ompjit__door *door;
    ompjit_error err;
    if (argc > 1 && !strcmp(argv[1], "-cc1") && ompjit__cc1)
        return ompjit__cc1(argc, (const char *const *)argv);
    if (argc > 1 && !strcmp(argv[1], "-repl") && ompjit__repl)
        return ompjit__repl(argc, (const char *const *)argv);
    if (!is_socket(SOCKET)) {
        fprintf(stderr, "ompjitc is started by libompjit, which compiles in "
                        "it; see ompjit(1)\n");
        return 2;
    }
    close_others();
    pid_t pid = fork();
    if (pid)
        return pid > 0 ? 0 : errno;
    setsid();
    if (ompjit__door_open(&door, &err))
        return refuse(&err);
    door->work(SOCKET, LIFE);
    return 0;
}
