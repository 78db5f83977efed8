/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * mutate FILE COUNT SEED COMMAND...: changes one byte of FILE, runs COMMAND,
 * puts the byte back, COUNT times; then cuts FILE at 64 places. Says how many
 * runs ended with which status, and fails where one ended by a signal or with
 * another status than 0, 1 and 2.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { CUTS = 64, STATUSES = 3 };

/* The command's status; -1: a signal. Its output goes nowhere. */
static int run(char **argv)
{
    posix_spawn_file_actions_t files;
    pid_t pid;
    int ended;
    posix_spawn_file_actions_init(&files);
    for (int fd = 1; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
    int bad = posix_spawn(&pid, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (bad || waitpid(pid, &ended, 0) != pid || !WIFEXITED(ended))
        return -1;
    return WEXITSTATUS(ended);
}

/* False where the command ended as it must not. */
static bool note(unsigned counts[STATUSES], int status, const char *what,
                 long at)
{
    if (status >= 0 && status < STATUSES) {
        counts[status]++;
        return true;
    }
    fprintf(stderr, "%s at byte %ld: status %d\n", what, at, status);
    return false;
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *seed >> 33;
}

int main(int argc, char **argv)
{
    struct stat s;
    unsigned counts[STATUSES] = {0};
    bool good = true;
    if (argc < 5)
        return 2;
    int fd = open(argv[1], O_RDWR);
    long count = atol(argv[2]);
    uint64_t seed = (uint64_t)atol(argv[3]);
    if (fd < 0 || fstat(fd, &s) || !s.st_size)
        return 2;
    for (long i = 0; i < count; i++) {
        unsigned char was, is;
        off_t at = (off_t)(next(&seed) % (uint64_t)s.st_size);
        if (pread(fd, &was, 1, at) != 1)
            return 2;
        is = (unsigned char)(was ^ (1 + next(&seed) % 255));
        if (pwrite(fd, &is, 1, at) != 1)
            return 2;
        good &= note(counts, run(argv + 4), "changed", at);
        if (pwrite(fd, &was, 1, at) != 1)
            return 2;
    }
    for (int i = CUTS; i-- > 0;) {
        off_t at = s.st_size * i / CUTS;
        if (ftruncate(fd, at))
            return 2;
        good &= note(counts, run(argv + 4), "cut", at);
    }
    printf("%u %u %u\n", counts[0], counts[1], counts[2]);
    return !good;
}
