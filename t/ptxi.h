/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs scenarios on ptxi's emulated CUDA driver. Each is this program run again
 * with an environment of its own, since the driver is loaded once in a process;
 * its results are printed as this process's, and what it leaked in the driver
 * is checked.
 *
 * OMPJIT_TEST_GPU=cuda runs those that need no emulation on this machine's own
 * driver (t/gpu/run), and OMPJIT_TEST_GPU=host what a host device can run, too.
 */
#ifndef OMPJIT_T_PTXI_H
#define OMPJIT_T_PTXI_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "tap.h"

enum libcuda {
    EMULATED,   /* counts calls or makes them fail, or asks for what this
                   GPU is                                              */
    ANY_DEVICE, /* the same driver; but any test_device() will do      */
    ANY_GPU,    /* or any GPU                                          */
    TWO_GPUS,   /* or any two; skipped where there are fewer           */
    EMPTY,      /* an empty file: a driver that cannot be loaded       */
    BY_DLSYM    /* the emulated one without cuGetProcAddress_v2, as
                   CUDA 11's drivers are                               */
};

struct scenario {
    const char *name;
    void (*run)(void);
    const char *env[3]; /* "NAME=VALUE", see ptxi's README; a machine's own
                           driver gets only OMPJIT's, and its user's
                           assembler                             */
    const char *exit;   /* the driver's last word; NULL: does not matter */
    enum libcuda libcuda;
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
static inline bool emulated(void)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    return handle && dlsym(handle, "ptxi_driver_calls");
}
static inline const char *test_device(void)
{
    const char *device = getenv("OMPJIT_TEST_GPU");
    return device ? device : "cuda";
}
/* How many GPUs this machine's driver has. */
static inline int gpus(void)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = NULL, (*count)(int *) = NULL, n = 0;
    if (handle) {
        *(void **)&init = dlsym(handle, "cuInit");
        *(void **)&count = dlsym(handle, "cuDeviceGetCount");
    }
    return init && count && !init(0) && !count(&n) ? n : 0;
}
#define DRIVER(type, name, ...) type(*name)(__VA_ARGS__) = driver(#name)

static char tmp[] = "/tmp/ompjit-t-XXXXXX";

static inline void path_in_tmp(char *path, const char *name)
{
    snprintf(path, 64, "%s/%s", tmp, name);
}

/* Writes libcuda.so.1 into tmp. The symbol gets another name of the same hash
 * (33 * 's' + 's' is 33 * 't' + 'R'), so that the library itself still finds
 * it. */
static inline bool make_libcuda(enum libcuda kind)
{
    static const char old[] = "cuGetProcAddress_v2";
    static const char renamed[] = "cuGetProcAddretR_v2";
    char path[4096];
    ompjit__buf bytes = {0};
    snprintf(path, sizeof path, "%s/libcuda.so.1", getenv("PTXI"));
    if (kind == BY_DLSYM && ompjit__read_file(path, &bytes, NULL))
        return false;
    char *p = bytes.data, *end = p + bytes.size;
    while (p && (p = memmem(p, (size_t)(end - p), old, sizeof old)))
        memcpy(p, renamed, sizeof renamed);
    path_in_tmp(path, "libcuda.so.1");
    FILE *f = fopen(path, "wbe");
    bool done = f && (kind == EMPTY || fwrite(bytes.data, bytes.size, 1, f));
    ompjit__buf_free(&bytes);
    return f && !fclose(f) && done;
}

/* In the child: this program again, as one scenario. */
static inline void emulate(const struct scenario *s)
{
    char log[64];
    path_in_tmp(log, "log");
    setenv("PTXI_LOG", log, 1);
    unsetenv("OMPJIT_DEVICE");
    unsetenv("OMPJIT_ASSEMBLER");
    const char *old = getenv("LD_LIBRARY_PATH");
    char path[8192];
    snprintf(path, sizeof path, "%s:%s",
             s->libcuda <= TWO_GPUS ? getenv("PTXI") : tmp, old ? old : "");
    setenv("LD_LIBRARY_PATH", path, 1);
}

static inline void set_environment(const struct scenario *s, bool own)
{
    for (int i = 0; i < 3 && s->env[i]; i++)
        if (!own || (strncmp(s->env[i], "PTXI_", 5) &&
                     strncmp(s->env[i], "OMPJIT_ASSEMBLER=", 17)))
            putenv((char *)s->env[i]);
}

static inline void become(const struct scenario *s, const char *self, int out)
{
    const char *own = getenv("OMPJIT_TEST_GPU");
    if (!own)
        emulate(s);
    set_environment(s, own);
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
    if (s->libcuda > TWO_GPUS &&
        !ok(make_libcuda(s->libcuda), "%s: libcuda.so.1", s->name))
        return;
    if (!ok(!pipe2(fds, O_CLOEXEC), "%s: pipe", s->name))
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
    if (s->exit && !getenv("OMPJIT_TEST_GPU"))
        ok_string(last, s->exit, "%s: the driver's last word", s->name);
}

static inline bool built(const char *where)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libcuda.so.1", where);
    return !access(path, R_OK);
}

/* On the machine's own driver. */
static inline bool runs_on_own(enum libcuda needs)
{
    return needs == ANY_DEVICE ||
           ((needs == ANY_GPU || needs == TWO_GPUS) &&
            strcmp(test_device(), "host"));
}

static inline int run_here(const struct scenario *s)
{
    if (s->libcuda == TWO_GPUS && gpus() < 2)
        ok(true, "two GPUs # SKIP this machine has %d", gpus());
    else
        s->run();
    return done_testing();
}

/* main of a test of scenarios. */
static inline int run_scenarios(int argc, char **argv,
                                const struct scenario *scenarios, size_t n)
{
    for (size_t i = 0; argc > 1 && i < n; i++)
        if (!strcmp(scenarios[i].name, argv[1]))
            return run_here(&scenarios[i]);
    const char *ptxi = getenv("PTXI"), *gpu = getenv("OMPJIT_TEST_GPU");
    if (!gpu && (!ptxi || !built(ptxi)))
        skip_all("no emulated CUDA driver: PTXI %s",
                 ptxi ? "has no libcuda.so.1" : "is not set");
    /* Not exec of /proc/self/exe itself, which under valgrind is valgrind. */
    char library[64], self[4096] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        skip_all("no /proc");
    if (!mkdtemp(tmp))
        skip_all("no temporary folder");
    for (size_t i = 0; i < n; i++)
        if (!gpu || runs_on_own(scenarios[i].libcuda))
            run(&scenarios[i], self);
    path_in_tmp(library, "libcuda.so.1");
    unlink(library);
    rmdir(tmp);
    return done_testing();
}
#endif
