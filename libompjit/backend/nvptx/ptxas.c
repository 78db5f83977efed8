/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PTX to cubin by the program ptxas. Its files lie in memory and have names
 * below /proc/self/fd, so that nothing is left when this process is killed;
 * without /proc they lie in a private folder under TMPDIR that is gone
 * afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/nvptx/assemble.h"
#include "targets/cuda_files.h"
#include "base/hold.h"

extern char **environ;

enum { PTX, CUBIN, LOG, FILES };
static const char *const names[FILES] = {"kernels.ptx", "kernels.cubin",
                                         "log"};

/* Descriptors of the files in the child, and above which they lie here. */
enum { FIRST = 3, LOWEST = FIRST + FILES };

/* The files of one run. Descriptors are ours, -1 when there is none. */
struct workplace {
    char *folder; /* NULL: the files lie in memory */
    int fds[FILES];
    char *files[FILES]; /* as ptxas finds them */
};

/* Closes and removes all that there is. */
static void leave(struct workplace *w)
{
    for (int i = 0; i < FILES; i++) {
        if (w->fds[i] >= 0)
            close(w->fds[i]);
        if (w->folder && w->files[i])
            unlink(w->files[i]);
        free(w->files[i]);
    }
    if (w->folder)
        rmdir(w->folder);
    free(w->folder);
}

/* A private folder (mode 0700), whose name the workplace owns. */
static ompjit_status make_folder(struct workplace *w, ompjit_error *err)
{
    const char *tmp = getenv("TMPDIR");
    char *folder =
        ompjit__format("%s/ompjit-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!folder)
        return ompjit__no_memory(err, OMPJIT_STAGE_ASSEMBLE);
    if (mkdtemp(folder)) {
        w->folder = folder;
        return OMPJIT_OK;
    }
    ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_ASSEMBLE,
                 "cannot make the folder %s: %s", folder, strerror(errno));
    free(folder);
    return OMPJIT_ERR_IO;
}

/* Above the numbers that the child's descriptors get, so that putting one in
 * place never overwrites another. -1 with errno on failure; `fd` is closed. */
static int lift(int fd)
{
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOWEST);
    int cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    return high;
}

static ompjit_status make_file(struct workplace *w, int i, ompjit_error *err)
{
    w->files[i] = w->folder ? ompjit__format("%s/%s", w->folder, names[i])
                            : ompjit__format("/proc/self/fd/%d", FIRST + i);
    if (!w->files[i])
        return ompjit__no_memory(err, OMPJIT_STAGE_ASSEMBLE);
    w->fds[i] = lift(w->folder ? open(w->files[i],
                                      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                                      0600)
                               : memfd_create(names[i], MFD_CLOEXEC));
    return w->fds[i] >= 0
               ? OMPJIT_OK
               : ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_ASSEMBLE,
                              "cannot make the file %s for ptxas: %s", names[i],
                              strerror(errno));
}

/* Makes the files. leave() is due in any case. */
static ompjit_status enter(struct workplace *w, ompjit_error *err)
{
    bool in_memory = !access("/proc/self/fd", X_OK);
    ompjit_status status = in_memory ? OMPJIT_OK : make_folder(w, err);
    for (int i = 0; !status && i < FILES; i++)
        status = make_file(w, i, err);
    return status;
}

/* Without the NUL that may count as the text's last byte. SIGXFSZ is held: a
 * limit on file sizes is an error of this call, not the application's end. */
static ompjit_status write_ptx(const struct workplace *w,
                               const ompjit__buf *ptx, ompjit_error *err)
{
    const char *at = ptx->data;
    size_t size = strnlen(ptx->data, ptx->size);
    ssize_t n = 0;
    ompjit__held held;
    ompjit__hold(&held, SIGXFSZ);
    while (size && ((n = write(w->fds[PTX], at, size)) > 0 || errno == EINTR))
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    int cause = errno;
    ompjit__release(&held);
    return !size ? OMPJIT_OK
                 : ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_ASSEMBLE,
                                "cannot write %s: %s", w->files[PTX],
                                strerror(cause));
}

/* From the file's beginning: ptxas has moved the place that a descriptor and
 * its copy in the child have in common. */
static ompjit_status read_back(const struct workplace *w, int i,
                               ompjit__buf *out, ompjit_error *err)
{
    char piece[16 << 10];
    off_t place = 0;
    ssize_t n;
    while ((n = pread(w->fds[i], piece, sizeof piece, place)) > 0 ||
           (n < 0 && errno == EINTR))
        if (n > 0) {
            ompjit__buf_add(out, piece, (size_t)n);
            place += n;
        }
    if (out->failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_ASSEMBLE);
    return !n ? OMPJIT_OK
              : ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_ASSEMBLE,
                             "cannot read %s: %s", w->files[i],
                             strerror(errno));
}

/* Descriptor 0 is empty, 1 and 2 are the log, and those from FIRST on are the
 * files in memory, by whose numbers ptxas opens them. errno's number, or 0. */
static int add_actions(posix_spawn_file_actions_t *actions,
                       const struct workplace *w)
{
    int cause = posix_spawn_file_actions_addopen(actions, 0, "/dev/null",
                                                 O_RDONLY, 0);
    for (int out = 1; out <= 2 && !cause; out++)
        cause = posix_spawn_file_actions_adddup2(actions, w->fds[LOG], out);
    for (int i = 0; i < FILES && !w->folder && !cause; i++)
        cause = posix_spawn_file_actions_adddup2(actions, w->fds[i], FIRST + i);
    return cause;
}

/* Starts it with both outputs in the log and no input. */
static int start(const char *const *argv, const struct workplace *w, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int cause = posix_spawn_file_actions_init(&actions);
    if (cause)
        return cause;
    cause = add_actions(&actions, w);
    if (!cause)
        cause = posix_spawn(pid, argv[0], &actions, NULL, (char *const *)argv,
                            environ);
    posix_spawn_file_actions_destroy(&actions);
    return cause;
}

/* Waits; after a limit in milliseconds (0: none) the program is killed. The
 * result is that of waitpid. */
static pid_t wait_for(pid_t pid, unsigned limit, int *how, bool *late)
{
    uint64_t deadline = ompjit__now() + OMPJIT__MS(limit);
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

/* Has it ended well? A signal that ended it is told in the log. If the
 * application ignores SIGCHLD nobody can tell, and the cubin's being there must
 * do. */
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

/* One run in a workplace that is ready. The log has what ptxas said in any
 * case, as -v has it tell registers and spills. */
static ompjit_status run(const char *program, const struct workplace *w,
                         ompjit__assembly *a, ompjit_error *err)
{
    const char *argv[] = {program, "-v", "-arch", a->arch->name, w->files[PTX],
                          "-o", w->files[CUBIN], NULL};
    pid_t pid;
    int cause = start(argv, w, &pid);
    if (cause)
        return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_ASSEMBLE,
                            "cannot run %s: %s", program, strerror(cause));
    unsigned limit = a->compiler ? a->compiler->llvm_limit_ms : 0;
    bool late = false, well = ended_well(pid, limit, &late, &a->log);
    if (late)
        return ompjit__fail(err, OMPJIT_ERR_TIMEOUT, OMPJIT_STAGE_ASSEMBLE,
                            "%s did not end within %s", program,
                            ompjit__limit(limit).text);
    ompjit_status status = read_back(w, LOG, &a->log, err);
    if (!status && well)
        status = read_back(w, CUBIN, &a->cubin, err);
    if (!status && (!well || !a->cubin.size))
        status = ompjit__assembly_failed(a, program, err);
    return status;
}

/* The error lists where it was looked for. */
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
    struct workplace w = {.fds = {-1, -1, -1}};
    ompjit_status status = enter(&w, err);
    if (!status)
        status = write_ptx(&w, a->ptx, err);
    if (!status)
        status = run(program, &w, a, err);
    leave(&w);
    free(program);
    return status;
}
