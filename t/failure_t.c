/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A target region of a module's function that fails: whether the host's version
 * runs in its place, and what the function does then, by after_failure,
 * on_failure and OMP_TARGET_OFFLOAD. Each row runs in a process of its own.
 */
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ompjit.h"
#include "tap.h"

enum { N = 64 };

/* `late` fails when its one team has changed its data (of several teams one
 * that fails may stop one that has not begun), `early` before it begins, since it
 * maps a section of negative length. */
static const char source[] =
    "#include <omp.h>\n"
    "void late(int n, int *y) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: y[:n]) \\\n"
    "    num_teams(1)\n"
    "  for (int i = 0; i < n; i++) {\n"
    "    y[i] += 1;\n"
    "    if (i == n - 1 && !omp_is_initial_device()) __builtin_trap();\n"
    "  }\n"
    "  y[1] += 10;\n"
    "}\n"
    "void early(int n, int *y) {\n"
    "#pragma omp target map(tofrom: y[:1]) map(to: y[2:n - 1000])\n"
    "  y[0] += 1;\n"
    "  y[1] += 10;\n"
    "}\n";

enum { SILENT, HOOK };

static const struct {
    const char *function, *policy;
    ompjit_host_memory memory;
    ompjit_after_failure after;
    int hook;
    int ends;       /* the process, with status 1 and the text on stderr */
    int y0, y1;     /* else */
} rows[] = {
    {"late", NULL, OMPJIT_HOST_MEMORY_SHARED, 0, SILENT, 0, 1, 11},
    {"late", NULL, OMPJIT_HOST_MEMORY_SEPARATE, 0, SILENT, 0, 0, 10},
    {"late", NULL, OMPJIT_HOST_MEMORY_SHARED, 0, HOOK, 0, 1, 11},
    {"late", NULL, OMPJIT_HOST_MEMORY_SHARED, OMPJIT_AFTER_FAILURE_END, SILENT,
     1, 0, 0},
    {"late", NULL, OMPJIT_HOST_MEMORY_SHARED, OMPJIT_AFTER_FAILURE_END, HOOK,
     1, 0, 0},
    {"late", "mandatory", OMPJIT_HOST_MEMORY_SHARED, 0, SILENT, 1, 0, 0},
    {"late", "mandatory", OMPJIT_HOST_MEMORY_SHARED, 0, HOOK, 0, 1, 11},
    {"late", "mandatory", OMPJIT_HOST_MEMORY_SHARED, OMPJIT_AFTER_FAILURE_KEEP,
     SILENT, 0, 1, 11},
    {"early", NULL, OMPJIT_HOST_MEMORY_SHARED, 0, SILENT, 0, 1, 10},
    {"early", "mandatory", OMPJIT_HOST_MEMORY_SHARED, 0, SILENT, 1, 0, 0},
    {"early", "mandatory", OMPJIT_HOST_MEMORY_SHARED, 0, HOOK, 0, 0, 10},
};

static unsigned hook_calls;

static void hook(void *data, const ompjit_error *err)
{
    hook_calls += err->status != OMPJIT_OK;
}

/* In the child: 0 where all is as the row says, 1 as the library ends it. */
static int attempt(size_t i)
{
    static int y[N];
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    ompjit_error err;
    void (*f)(int, int *);
    options.devices = "host";
    options.host_memory = rows[i].memory;
    options.after_failure = rows[i].after;
    options.on_failure = rows[i].hook ? hook : NULL;
    if (rows[i].policy)
        setenv("OMP_TARGET_OFFLOAD", rows[i].policy, 1);
    if (ompjit_context_create(&options, &ctx, &err) ||
        ompjit_module_from_c(ctx, source, NULL, &mod, &err) ||
        ompjit_module_function(mod, rows[i].function, (void (**)(void))&f,
                               &err)) {
        fprintf(stderr, "# %s\n", err.text);
        return 2;
    }
    f(N, y);
    if (!ompjit_context_failure(ctx, &err))
        return 3;
    if (!strstr(err.text, rows[i].function))
        return 4;
    if (hook_calls != (unsigned)rows[i].hook)
        return 5;
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return y[0] == rows[i].y0 && y[1] == rows[i].y1 ? 0 : 6;
}

/* The child's status; what it wrote to stderr goes to text. */
static int child(size_t i, char *text, size_t size)
{
    int ends[2], status;
    fflush(stdout);
    if (pipe(ends))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        alarm(60);
        _exit(attempt(i));
    }
    close(ends[1]);
    ssize_t n, have = 0;
    while (have < (ssize_t)size - 1 &&
           (n = read(ends[0], text + have, size - 1 - (size_t)have)) > 0)
        have += n;
    text[have] = 0;
    close(ends[0]);
    waitpid(pid, &status, 0);
    return status;
}

int main(void)
{
    unsetenv("OMP_TARGET_OFFLOAD");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[8192];
        int status = child(i, text, sizeof text);
        ok(WIFEXITED(status) && WEXITSTATUS(status) == rows[i].ends,
           "%s, offload %s, memory %d, after_failure %d%s: %s", rows[i].function,
           rows[i].policy ? rows[i].policy : "default", (int)rows[i].memory,
           (int)rows[i].after, rows[i].hook ? ", a hook" : "",
           rows[i].ends ? "ends" : "goes on");
        if (rows[i].ends)
            ok_contains(text, rows[i].function, "and says why: %s", text);
        else if (*text)
            fprintf(stderr, "# status %#x, %s\n", status, text);
    }
    return done_testing();
}
