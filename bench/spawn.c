/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * spawn COMMAND...: milliseconds from the start of a process to its end.
 */
#include <spawn.h>
#include <sys/wait.h>

#include "bench/bench.h"

int main(int argc, char **argv)
{
    extern char **environ;
    pid_t pid;
    int status = 0;
    if (argc < 2)
        return 2;
    double start = now();
    if (posix_spawnp(&pid, argv[1], NULL, NULL, argv + 1, environ) ||
        waitpid(pid, &status, 0) < 0 || status)
        return 1;
    fprintf(stderr, "%.6f\n", (now() - start) * 1e3);
    return 0;
}
