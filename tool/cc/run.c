/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs clang, or flang's processes one after the other, with a folder of its own
 * for temporary files, which is removed however they end: clang's driver leaves
 * those between the halves of a compile behind when a signal ends it. Signals to
 * this process are the running one's, too, and its end is this one's.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/cc/cc.h"
#include "tool/tool.h"

extern char **environ;

static const int relayed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
#define NRELAYED (sizeof relayed / sizeof *relayed)

/* The process that runs; 0: none. Written before the handlers are there. */
static volatile pid_t running;

static void relay(int signal)
{
    int cause = errno;
    if (running)
        kill(running, signal);
    errno = cause;
}

/* The files of the folder, and the folder. A process that has survived clang may
 * make one meanwhile. */
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
static int start(const ompjit__args *words, const sigset_t *mask, int errors)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    pid_t pid = 0;
    int cause = posix_spawnattr_init(&attributes);
    if (cause)
        return cause;
    cause = posix_spawn_file_actions_init(&files);
    if (!cause) {
        posix_spawnattr_setsigmask(&attributes, mask);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        if (errors >= 0)
            cause = posix_spawn_file_actions_adddup2(&files, errors,
                                                     STDERR_FILENO);
        if (!cause)
            cause = posix_spawn(&pid, words->v[0], &files, &attributes,
                                words->v, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    running = pid;
    return cause;
}

static void relay_signals(void)
{
    struct sigaction action = {.sa_handler = relay, .sa_flags = SA_RESTART};
    struct sigaction before;
    for (size_t i = 0; i < NRELAYED; i++)
        if (!sigaction(relayed[i], NULL, &before) &&
            before.sa_handler != SIG_IGN)
            sigaction(relayed[i], &action, NULL);
}

/* As the last one has ended. */
static int end_as(int how)
{
    if (!WIFSIGNALED(how))
        return WEXITSTATUS(how);
    signal(WTERMSIG(how), SIG_DFL);
    raise(WTERMSIG(how));
    return 128 + WTERMSIG(how);
}

int steps_begin(struct steps *s)
{
    const char *parent = getenv("TMPDIR");
    sigset_t all;
    *s = (struct steps){0};
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &s->mask);
    char *folder = ompjit__format("%s/ompjit-cc-XXXXXX",
                                  parent && *parent ? parent : "/tmp");
    if (!folder)
        complain("out of memory");
    else if (!mkdtemp(folder))
        complain("cannot make a folder %s: %s", folder, strerror(errno));
    else if (setenv("TMPDIR", folder, 1))
        complain("cannot set TMPDIR: %s", strerror(errno));
    else
        s->folder = folder;
    if (s->folder) {
        relay_signals();
        return EXIT_OK;
    }
    free(folder);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    return EXIT_FAILED;
}

int steps_run(struct steps *s, const ompjit__args *words, int errors)
{
    ompjit__args fewer = {0};
    sigset_t all;
    int cause = words->failed ? ENOMEM : start(words, &s->mask, errors);
    if (cause == E2BIG && words_shorten(words, &fewer))
        cause = start(&fewer, &s->mask, errors);
    ompjit__args_free(&fewer);
    if (cause) {
        complain("%s does not start: %s", words->n ? words->v[0] : "clang",
                 strerror(cause));
        return EXIT_FAILED;
    }
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    while (waitpid(running, &s->how, 0) < 0 && errno == EINTR)
        ;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    running = 0;
    s->crashed |= is_crash(s->how);
    return WIFSIGNALED(s->how) ? 128 + WTERMSIG(s->how) : WEXITSTATUS(s->how);
}

int steps_run_for_text(struct steps *s, const ompjit__args *words,
                       ompjit__buf *text)
{
    static const ompjit__buf nothing;
    char path[64];
    ompjit_error err;
    int fd = memory_file(&nothing);
    if (fd < 0) {
        complain("no file in memory: %s", strerror(errno));
        return EXIT_FAILED;
    }
    int status = steps_run(s, words, fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (ompjit__read_file(path, text, &err))
        status = failed(&err);
    ompjit__buf_add(text, "", 1);
    close(fd);
    return text->failed ? EXIT_FAILED : status;
}

int steps_end(struct steps *s, int status)
{
    if (!s->crashed)
        remove_folder(s->folder);
    free(s->folder);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    return status && WIFSIGNALED(s->how) ? end_as(s->how) : status;
}

int words_run(const ompjit__args *words)
{
    struct steps s;
    int status = steps_begin(&s);
    return status ? status : steps_end(&s, steps_run(&s, words, -1));
}
