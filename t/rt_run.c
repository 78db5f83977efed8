/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs the kernels of rt_*kernels.c and compares what they leave with what the
 * sequential program leaves. usage:
 *
 *     rt_run ptx LIBPTXI FOLDER NAME      under the PTX interpreter
 *     rt_run host LIBRARY NAME THREADS    linked with the host runtime
 *
 * In each of several geometries, of one thread if THREADS is 1. FOLDER has a
 * file KERNEL.ptx for each. NAME goes into the tests' names. RT_KERNEL in the
 * environment names the only kernel to run.
 */
#include <dlfcn.h>

#include "rt_host.h"
#include "rt_work.h"
#include "tap.h"

typedef struct launch_environment {
    unsigned teams_done, unused;
    void *buffer;
} launch_environment;

/* Runs symbol `entry`; 0, or an error's text. */
typedef const char *(*run_fn)(const char *entry, unsigned teams,
                              unsigned threads, void **params);
typedef int (*generic_fn)(const char *entry);

/* ---------------------------------------------------------- running them */

static const char *run_kernel(const kernel *k, entry_fn entries,
                              generic_fn generic, run_fn run, unsigned teams,
                              unsigned threads)
{
    args *got = args_new(), *want = args_new();
    launch_environment env = {0, 0, calloc(teams, 256)};
    void *launch = &env;
    const char *error = NULL, *entry;
    k->sequential(want);
    for (int i = 0; !error && (entry = find_entry(entries, k->name, i)); i++) {
        /* A kernel's pointers come in the order of their first use. */
        void *isum = &got->isum, *imin = &got->imin, *sum = &got->sum;
        void *lock = &got->lock, *nest = &got->nest, *p = got;
        void *plain[] = {&launch, &p, &sum, &isum, &imin};
        void *locks[] = {&launch, &lock, &p, &nest, &p};
        unsigned warp = generic(entry) && threads > 1 ? 32 : 0;
        error = run(entry, teams, threads + warp,
                    strcmp(k->name, "locks") ? plain : locks);
    }
    if (!error)
        error = env.teams_done ? "the counter of teams is not 0"
                               : difference(got, want, k->inexact);
    free(env.buffer);
    free(got);
    free(want);
    return error;
}

static void run_geometries(const char *label, const kernel *k, entry_fn entries,
                           generic_fn generic, run_fn run,
                           const unsigned (*geometry)[2], size_t n)
{
    for (size_t g = 0; g < n; g++) {
        unsigned teams = geometry[g][0], threads = geometry[g][1];
        if (one_team(k->name) && teams > 1)
            continue;
        const char *error =
            run_kernel(k, entries, generic, run, teams, threads);
        ok(!error, "%s: %s, %u x %u", label, k->name, teams, threads);
        if (error)
            printf("# %s\n", error);
    }
}

/* ------------------------------------------------------------------ PTX */

static struct {
    void *module;
    char error[4096];
    void *(*load)(const char *const *, int, char *, size_t);
    int (*launch)(void *, const char *, unsigned, unsigned, unsigned, unsigned,
                  unsigned, unsigned, unsigned, void *const *, char *, size_t);
    const char *(*kernel_name)(void *, int);
    void *(*symbol)(void *, const char *, size_t *);
    void (*release)(void *);
} ptx;

static const char *ptx_entry(int i)
{
    return ptx.kernel_name(ptx.module, i);
}
static int ptx_generic(const char *entry)
{
    char name[256];
    size_t size;
    snprintf(name, sizeof name, "%s_kernel_environment", entry);
    const unsigned char *env = ptx.symbol(ptx.module, name, &size);
    return env && !(env[2] & 2);
}
static const char *ptx_run(const char *entry, unsigned teams, unsigned threads,
                           void **params)
{
    return ptx.launch(ptx.module, entry, teams, 1, 1, threads, 1, 1, 0, params,
                      ptx.error, sizeof ptx.error)
               ? ptx.error
               : NULL;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = calloc(1, (size_t)size + 1);
    size_t got = fread(text, 1, (size_t)size, f);
    fclose(f);
    if (got == (size_t)size)
        return text;
    free(text);
    return NULL;
}

static void run_ptx_kernel(const char *folder, const char *label,
                           const kernel *k)
{
    /* More teams than threads, and fewer; a warp in part and whole ones. Of the
     * interpreter's time most is for the 70 teams. */
    static const unsigned geometry[][2] = {{1, 32}, {1, 128}, {1, 50},
                                           {4, 64}, {70, 40}, {5, 20}};
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.ptx", folder, k->name);
    char *text = read_file(path);
    const char *const texts[] = {text};
    ptx.module = text ? ptx.load(texts, 1, ptx.error, sizeof ptx.error) : NULL;
    free(text);
    if (ok(ptx.module != NULL, "%s: %s is read", label, path)) {
        run_geometries(label, k, ptx_entry, ptx_generic, ptx_run, geometry,
                       sizeof geometry / sizeof *geometry);
        ptx.release(ptx.module);
    } else {
        printf("# %s\n", ptx.error);
    }
}

static void run_ptx(const char *library, const char *folder, const char *label)
{
    void *lib = dlopen(library, RTLD_NOW);
    if (!lib)
        skip_all("%s", dlerror());
    *(void **)&ptx.load = dlsym(lib, "ptxi_load");
    *(void **)&ptx.launch = dlsym(lib, "ptxi_launch");
    *(void **)&ptx.kernel_name = dlsym(lib, "ptxi_kernel_name");
    *(void **)&ptx.symbol = dlsym(lib, "ptxi_symbol");
    *(void **)&ptx.release = dlsym(lib, "ptxi_free");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (wanted(&kernels[i]))
            run_ptx_kernel(folder, label, &kernels[i]);
}

/* ----------------------------------------------------------------- host */

static void *host_lib;
static const char *const *host_names;

static const char *host_entry(int i)
{
    return host_names[i];
}
static int host_generic(const char *entry)
{
    char name[256];
    snprintf(name, sizeof name, "%s_kernel_environment", entry);
    const unsigned char *env = dlsym(host_lib, name);
    return env && !(env[2] & 2);
}
static const char *host_launch(const char *entry, unsigned teams,
                               unsigned threads, void **params)
{
    return rt_host_run(dlsym(host_lib, entry), teams, threads, params);
}

static int run_host(const char *path, const char *label, unsigned threads)
{
    const unsigned one[][2] = {{1, 1}, {4, 1}, {70, 1}};
    const unsigned more[][2] = {{1, 1}, {1, 32}, {1, 64}, {1, 50}, {5, 96}};
    host_lib = dlopen(path, RTLD_NOW);
    if (!ok(host_lib != NULL, "%s: the object is loaded", label)) {
        printf("# %s\n", dlerror());
        return 1;
    }
    host_names = dlsym(host_lib, "rt_entries");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (wanted(&kernels[i]))
            run_geometries(label, &kernels[i], host_entry, host_generic,
                           host_launch, threads == 1 ? one : more,
                           threads == 1 ? 3 : 5);
    return 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 5 && !strcmp(argv[1], "ptx"))
        run_ptx(argv[2], argv[3], argv[4]);
    else if (argc == 5 && !strcmp(argv[1], "host"))
        run_host(argv[2], argv[3], (unsigned)atoi(argv[4]));
    else
        return 2;
    return done_testing();
}
