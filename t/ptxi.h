/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs scenarios on ptxi's emulated CUDA driver. Each is this program run again
 * with an environment of its own, since the driver is loaded once in a process;
 * its results are printed as this process's, and what it leaked in the driver
 * is checked.
 */
#ifndef OMPJIT_T_PTXI_H
#define OMPJIT_T_PTXI_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

struct scenario {
    const char *name;
    void (*run)(void);
    const char *env[3]; /* "NAME=VALUE", see ptxi's README              */
    const char *exit;   /* the driver's last word; NULL: does not matter */
    bool no_driver;     /* libcuda.so.1 is an empty file                */
};
#define CLEAN "exit: 0 leaks"

/* A function of the emulated driver beside those that the library uses. */
static inline void *driver(const char *name)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    void *f = handle ? dlsym(handle, name) : NULL;
    if (!f) {
        printf("Bail out! no %s in libcuda.so.1\n", name);
        exit(1);
    }
    return f;
}
#define DRIVER(type, name, ...) type(*name)(__VA_ARGS__) = driver(#name)

static char tmp[] = "/tmp/ompjit-t-XXXXXX";

static inline void path_in_tmp(char path[64], const char *name)
{
    snprintf(path, 64, "%s/%s", tmp, name);
}

/* In the child: this program again, as one scenario. */
static inline void become(const struct scenario *s, const char *self, int out)
{
    char log[64];
    path_in_tmp(log, "log");
    setenv("PTXI_LOG", log, 1);
    for (int i = 0; i < 3 && s->env[i]; i++)
        putenv((char *)s->env[i]);
    const char *old = getenv("LD_LIBRARY_PATH");
    char path[8192];
    snprintf(path, sizeof path, "%s:%s",
             s->no_driver ? tmp : getenv("PTXI"), old ? old : "");
    setenv("LD_LIBRARY_PATH", path, 1);
    dup2(out, STDOUT_FILENO);
    execl(self, self, s->name, (char *)NULL);
    _exit(127);
}

/* The child's results become this process's. */
static inline void relay(const struct scenario *s, FILE *in)
{
    char line[8192];
    while (fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        const char *name = strstr(line, " - ");
        bool pass = !strncmp(line, "ok ", 3);
        if (name && (pass || !strncmp(line, "not ok ", 7)))
            tap_ok(pass, name + 3, __LINE__, "%s: %s", s->name, name + 3);
        else if (strncmp(line, "1..", 3))
            puts(line);
    }
}

static inline void last_line(char *line, size_t size)
{
    char path[64], next[8192];
    path_in_tmp(path, "log");
    FILE *f = fopen(path, "re");
    line[0] = 0;
    while (f && fgets(next, sizeof next, f)) {
        next[strcspn(next, "\n")] = 0;
        snprintf(line, size, "%s", next);
    }
    if (f)
        fclose(f);
    unlink(path);
}

static inline void run(const struct scenario *s, const char *self)
{
    int fds[2], status = -1;
    char last[8192];
    if (pipe2(fds, O_CLOEXEC))
        return;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid)
        become(s, self, fds[1]);
    close(fds[1]);
    FILE *in = fdopen(fds[0], "r");
    relay(s, in);
    fclose(in);
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: ends well", s->name);
    last_line(last, sizeof last);
    if (s->exit)
        ok_string(last, s->exit, "%s: the driver's last word", s->name);
}

static inline bool built(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    return !access(path, R_OK);
}

/* main of a test of scenarios. */
static inline int run_scenarios(int argc, char **argv,
                                const struct scenario *scenarios, size_t n)
{
    for (size_t i = 0; argc > 1 && i < n; i++)
        if (!strcmp(scenarios[i].name, argv[1])) {
            scenarios[i].run();
            return done_testing();
        }
    const char *ptxi = getenv("PTXI");
    if (!ptxi || !built(ptxi))
        skip_all("no emulated CUDA driver: PTXI %s",
                 ptxi ? "has no libcuda.so.1" : "is not set");
    char empty[64];
    if (!mkdtemp(tmp))
        skip_all("no temporary folder");
    path_in_tmp(empty, "libcuda.so.1");
    close(open(empty, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (size_t i = 0; i < n; i++)
        run(&scenarios[i], "/proc/self/exe");
    unlink(empty);
    rmdir(tmp);
    return done_testing();
}
#endif
