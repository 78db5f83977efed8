/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PTX to cubin by the program ptxas, in a private folder under TMPDIR that is
 * gone afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/nvptx/assemble.h"
#include "core/cuda_files.h"
#include "base/hold.h"

extern char **environ;

enum { PTX, CUBIN, LOG, FILES };
static const char *const names[FILES] = {"kernels.ptx", "kernels.cubin",
                                         "log"};

/* The private folder and the files in it. */
struct workplace {
    char *folder;
    char *files[FILES];
};

static void leave(struct workplace *w)
{
    for (int i = 0; i < FILES; i++) {
        if (w->files[i])
            unlink(w->files[i]);
        free(w->files[i]);
    }
    if (w->folder)
        rmdir(w->folder);
    free(w->folder);
}

static ompjit_status enter(struct workplace *w, ompjit_error *err)
{
    const char *tmp = getenv("TMPDIR");
    char *folder =
        ompjit__format("%s/ompjit-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!folder)
        return ompjit__no_memory(err, OMPJIT_STAGE_ASSEMBLE);
    if (!mkdtemp(folder)) {
        ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_ASSEMBLE,
                     "cannot make the folder %s: %s", folder, strerror(errno));
        free(folder);
        return OMPJIT_ERR_IO;
    }
    w->folder = folder;
    for (int i = 0; i < FILES; i++) {
        w->files[i] = ompjit__format("%s/%s", folder, names[i]);
        if (!w->files[i])
            return ompjit__no_memory(err, OMPJIT_STAGE_ASSEMBLE);
    }
    return OMPJIT_OK;
}

static ompjit_status write_ptx(const char *path, const ompjit__buf *ptx,
                               ompjit_error *err)
{
    ompjit__held held;
    ompjit__hold(&held, SIGXFSZ);
    FILE *f = fopen(path, "wxe");
    bool good = f && fwrite(ptx->data, 1, strnlen(ptx->data, ptx->size), f);
    int cause = errno;
    if (f && fclose(f)) {
        good = false;
        cause = errno;
    }
    ompjit__release(&held);
    return good ? OMPJIT_OK
                : ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_ASSEMBLE,
                               "cannot write %s: %s", path, strerror(cause));
}

/* Starts it with both outputs in the log and no input. */
static int start(const char *const *argv, const char *log, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int cause = posix_spawn_file_actions_init(&actions);
    if (cause)
        return cause;
    cause = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null",
                                             O_RDONLY, 0);
    if (!cause)
        cause = posix_spawn_file_actions_addopen(
            &actions, 1, log, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!cause)
        cause = posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (!cause)
        cause = posix_spawn(pid, argv[0], &actions, NULL, (char *const *)argv,
                            environ);
    posix_spawn_file_actions_destroy(&actions);
    return cause;
}

/* Waits; with a limit in seconds (0: none) the program is killed after it. The
 * result is that of waitpid. */
static pid_t wait_for(pid_t pid, unsigned limit, int *how, bool *late)
{
    uint64_t deadline = ompjit__now() + limit * UINT64_C(1000000000);
    pid_t got;
    while (!(got = waitpid(pid, how, limit && !*late ? WNOHANG : 0)) ||
           (got < 0 && errno == EINTR)) {
        if (limit && !*late && ompjit__now() >= deadline) {
            *late = true;
            kill(pid, SIGKILL);
        } else if (!got) {
            poll(NULL, 0, 1);
        }
    }
    return got;
}

/* Has it ended well? Where the application ignores SIGCHLD nobody can tell, and
 * the cubin's being there must do. */
static bool ended_well(pid_t pid, unsigned limit, bool *late, ompjit__buf *log)
{
    int how = 0;
    if (wait_for(pid, limit, &how, late) < 0)
        return true;
    if (WIFSIGNALED(how))
        ompjit__buf_printf(log, "ended by signal %d (%s)\n", WTERMSIG(how),
                           strsignal(WTERMSIG(how)));
    return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

static ompjit_status run(const char *program, const struct workplace *w,
                         ompjit__assembly *a, ompjit_error *err)
{
    const char *argv[] = {program, "-v", "-arch", a->arch->name, w->files[PTX],
                          "-o", w->files[CUBIN], NULL};
    pid_t pid;
    int cause = start(argv, w->files[LOG], &pid);
    if (cause)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_ASSEMBLE,
                            "cannot run %s: %s", program, strerror(cause));
    unsigned limit = a->compiler ? a->compiler->llvm_limit : 0;
    bool late = false, well = ended_well(pid, limit, &late, &a->log);
    if (late)
        return ompjit__fail(err, OMPJIT_ERR_TIMEOUT, OMPJIT_STAGE_ASSEMBLE,
                            "%s did not end within %u second%s", program,
                            limit, limit == 1 ? "" : "s");
    ompjit_status status = ompjit__read_file(w->files[LOG], &a->log, err);
    if (status)
        return status;
    if (!well || access(w->files[CUBIN], R_OK))
        return ompjit__assembly_failed(a, program, err);
    return ompjit__read_file(w->files[CUBIN], &a->cubin, err);
}

static ompjit_status not_found(ompjit_error *err)
{
    char **paths = ompjit__cuda_paths(OMPJIT__CUDA_PTXAS);
    ompjit__buf list = {0};
    for (char **p = paths; p && *p; p++)
        ompjit__buf_printf(&list, "\n  %s: %s", *p,
                           access(*p, F_OK) ? "no such file"
                                            : "not a program");
    ompjit__cuda_paths_free(paths);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_ASSEMBLE,
        "ptxas not found:%s", list.data ? list.data : " nowhere to look");
    ompjit__buf_free(&list);
    return status;
}

ompjit_status ompjit__ptxas(ompjit__assembly *a, ompjit_error *err)
{
    char *program = ompjit__cuda_find(OMPJIT__CUDA_PTXAS, X_OK);
    if (!program)
        return not_found(err);
    struct workplace w = {0};
    ompjit_status status = enter(&w, err);
    if (!status)
        status = write_ptx(w.files[PTX], a->ptx, err);
    if (!status)
        status = run(program, &w, a, err);
    leave(&w);
    free(program);
    return status;
}
