/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs clang with a folder of its own for temporary files, which is removed
 * however it ends: clang's driver leaves those between the halves of a compile
 * behind when a signal ends it. Signals to this process are clang's, too, and
 * its end is this one's.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/cc.h"
#include "tool/tool.h"

extern char **environ;

static const int relayed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
#define NRELAYED (sizeof relayed / sizeof *relayed)

/* Written before the handlers are there. */
static volatile pid_t clang;

static void relay(int signal)
{
    int cause = errno;
    kill(clang, signal);
    errno = cause;
}

/* The files of the folder, and the folder. A process of clang's that has
 * survived it may make one meanwhile. */
static void remove_folder(const char *path)
{
    for (int i = 0; i < 3 && rmdir(path) && errno == ENOTEMPTY; i++) {
        DIR *folder = opendir(path);
        for (struct dirent *e; folder && (e = readdir(folder));)
            unlinkat(dirfd(folder), e->d_name, 0);
        if (folder)
            closedir(folder);
    }
}

/* The files that clang has written about a crash of its own are kept. */
static bool is_crash(int how)
{
    enum { FATAL = 70, SIGNALLED = 128 };
    if (WIFSIGNALED(how))
        return WTERMSIG(how) == SIGSEGV || WTERMSIG(how) == SIGABRT;
    return WEXITSTATUS(how) == FATAL || WEXITSTATUS(how) > SIGNALLED;
}

/* Starts it with the mask of signals that this process has been started with.
 * All are blocked here until they can be relayed, so that none is lost. */
static int start(const ompjit__args *words, const sigset_t *mask)
{
    struct sigaction action = {.sa_handler = relay, .sa_flags = SA_RESTART};
    struct sigaction before;
    posix_spawnattr_t attributes;
    pid_t pid = 0;
    int cause = posix_spawnattr_init(&attributes);
    if (cause)
        return cause;
    posix_spawnattr_setsigmask(&attributes, mask);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    cause = posix_spawn(&pid, words->v[0], NULL, &attributes, words->v,
                        environ);
    posix_spawnattr_destroy(&attributes);
    clang = pid;
    for (size_t i = 0; !cause && i < NRELAYED; i++)
        if (!sigaction(relayed[i], NULL, &before) &&
            before.sa_handler != SIG_IGN)
            sigaction(relayed[i], &action, NULL);
    return cause;
}

/* As clang has ended. */
static int end_as(int how)
{
    if (!WIFSIGNALED(how))
        return WEXITSTATUS(how);
    signal(WTERMSIG(how), SIG_DFL);
    raise(WTERMSIG(how));
    return 128 + WTERMSIG(how);
}

/* The errno of a clang that does not start; 0 with how it has ended. */
static int run_in(const ompjit__args *words, const char *folder,
                  const sigset_t *mask, int *end)
{
    ompjit__args fewer = {0};
    int how = 0, cause = setenv("TMPDIR", folder, 1) ? errno : 0;
    if (!cause)
        cause = start(words, mask);
    if (cause == E2BIG && words_shorten(words, &fewer))
        cause = start(&fewer, mask);
    ompjit__args_free(&fewer);
    if (!cause)
        sigprocmask(SIG_SETMASK, mask, NULL);
    while (!cause && waitpid(clang, &how, 0) < 0 && errno == EINTR)
        ;
    if (cause || !is_crash(how))
        remove_folder(folder);
    *end = how;
    return cause;
}

int words_run(const ompjit__args *words)
{
    const char *parent = getenv("TMPDIR");
    int cause, how, status = EXIT_FAILED;
    sigset_t all, mask;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask);
    char *folder = ompjit__format("%s/ompjit-cc-XXXXXX",
                                  parent && *parent ? parent : "/tmp");
    if (words->failed || !folder) {
        complain("out of memory");
    } else if (!mkdtemp(folder)) {
        complain("cannot make a folder %s: %s", folder, strerror(errno));
    } else if ((cause = run_in(words, folder, &mask, &how))) {
        complain("%s does not start: %s", words->v[0], strerror(cause));
    } else {
        status = end_as(how);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    free(folder);
    return status;
}
