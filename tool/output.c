/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The tool's output: files, and whether all of it has arrived. If not, the tool
 * ends with EXIT_UNWRITTEN, after a message.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hold.h"
#include "tool/tool.h"

/* Something could not be written. At file scope because a program may leave by
 * exit() in any thread. */
static atomic_bool lost;

static int cannot_write(const char *path)
{
    atomic_store(&lost, true);
    complain("cannot write %s: %s", path, strerror(errno));
    return EXIT_UNWRITTEN;
}

/* Beyond RLIMIT_FSIZE a write is an error, and no signal that ends the tool. */
static bool write_all(FILE *out, const void *data, size_t size)
{
    ompjit__held held;
    ompjit__hold(&held, SIGXFSZ);
    bool good = fwrite(data, 1, size, out) == size;
    good &= (out == stdout ? fflush(out) : fclose(out)) == 0;
    ompjit__release(&held);
    return good;
}

int write_output(const char *path, const void *data, size_t size)
{
    bool standard = !strcmp(path, "-");
    FILE *out = standard ? stdout : fopen(path, "wb");
    if (!out)
        return cannot_write(path);
    if (write_all(out, data, size))
        return EXIT_OK;
    if (standard)
        clearerr(out); /* told once */
    return cannot_write(standard ? "standard output" : path);
}

int write_stderr(const void *data, size_t size)
{
    return fwrite(data, 1, size, stderr) == size
               ? EXIT_OK
               : cannot_write("standard error");
}

int output_possible(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    bool bad = fd < 0 || write(fd, "", 0) < 0;
    int status = bad ? cannot_write(path) : EXIT_OK;
    if (fd >= 0)
        close(fd);
    return status;
}

int outputs_verdict(int status)
{
    return atomic_load(&lost) ? EXIT_UNWRITTEN : status;
}

void stderr_check(void)
{
    if (ferror(stderr)) /* nobody can be told */
        atomic_store(&lost, true);
}

int outputs_finish(int status)
{
    bool bad = ferror(stdout);
    errno = 0;
    bad |= fflush(stdout) != 0;
    if (bad && !errno)
        errno = EIO;
    if (bad)
        cannot_write("standard output");
    stderr_check();
    return status ? status : outputs_verdict(status);
}
