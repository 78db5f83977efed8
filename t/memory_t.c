/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Variants' resident memory while they live; those that are evicted give theirs
 * back. One process compiles them into a cache, others take them from there, so
 * that no compiler's memory is counted.
 */
#include <sys/prctl.h>

#include "cache.h"
#include "ompjit_tune.h"

static const char source[] =
    "void daxpy(long n, double a, const double *x, double *y) {\n"
    "  #pragma omp target teams distribute parallel for \\\n"
    "      map(to: x[:n]) map(tofrom: y[:n])\n"
    "  for (long i = 0; i < n; i++) y[i] += a * x[i];\n"
    "}\n";

enum { VARIANTS = 200, WARM = 20, CAP = 64, TURNS = 10000 };

struct library {
    ompjit_context *ctx;
    ompjit_device *dev;
    ompjit_module *mod;
    ompjit_kernel *kernel;
};

static bool open_library(struct library *l, unsigned cap)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_error err;
    o.devices = "host";
    o.cache.mode = OMPJIT_CACHE_DISK;
    o.cache.dir = folder;
    o.specialize.max_variants = cap;
    if (!ompjit_context_create(&o, &l->ctx, &err) &&
        !ompjit_context_device(l->ctx, 0, &l->dev, &err) &&
        !ompjit_module_from_c(l->ctx, source, NULL, &l->mod, &err) &&
        !ompjit_module_kernel(l->mod, "daxpy", &l->kernel, &err))
        return true;
    fprintf(stderr, "# %s\n", err.text);
    return false;
}

/* y = (double)i */
static bool run_variant(struct library *l, int i)
{
    double x = 1, y = 0;
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_error err;
    launch.teams = launch.threads = 1;
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    launch.specialize.fold = OMPJIT_FOLD_LITERALS;
    ompjit_arg args[] = {ompjit_arg_i64("n", 1),
                         ompjit_arg_f64("a", i),
                         ompjit_arg_pointer("x", &x),
                         ompjit_arg_pointer("y", &y)};
    if (ompjit_kernel_launch(l->kernel, l->dev, &launch, args, 4, &err)) {
        fprintf(stderr, "# %s\n", err.text);
        return false;
    }
    return y == i;
}

static bool run_variants(struct library *l, int from, int to)
{
    bool good = true;
    for (int i = from; good && i < to; i++)
        good = run_variant(l, i);
    return good;
}

static long resident(void)
{
    long size, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &size, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

struct result {
    bool good;
    long grown; /* KiB */
    uint64_t live, evictions;
};

static struct result fill(struct library *l)
{
    return (struct result){.good = run_variants(l, 0, VARIANTS)};
}

static struct result live(struct library *l)
{
    struct result r = {.good = run_variants(l, 0, WARM)};
    long before = resident();
    r.good = r.good && run_variants(l, WARM, VARIANTS);
    r.grown = resident() - before;
    return r;
}

static struct result in_turn(struct library *l)
{
    struct result r = {.good = run_variants(l, 0, VARIANTS)};
    long before = resident();
    for (int done = VARIANTS; r.good && done < TURNS;
         done += VARIANTS)
        r.good = run_variants(l, 0, VARIANTS);
    r.grown = resident() - before;
    return r;
}

/* In a process of its own. */
static struct result apart(struct result (*f)(struct library *l), unsigned cap)
{
    struct result r = {0};
    int ends[2];
    if (pipe(ends))
        return r;
    pid_t pid = fork();
    if (!pid) {
        struct library l;
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
        if (open_library(&l, cap)) {
            ompjit_variant_stats stats = OMPJIT_VARIANT_STATS_INIT;
            r = f(&l);
            ompjit_module_variants(l.mod, &stats, NULL);
            r.live = stats.live;
            r.evictions = stats.evictions;
            ompjit_module_destroy(l.mod);
            ompjit_context_destroy(l.ctx);
        }
        _exit(write(ends[1], &r, sizeof r) != sizeof r);
    }
    close(ends[1]);
    if (read(ends[0], &r, sizeof r) != sizeof r)
        r.good = false;
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return r;
}

int main(void)
{
    fresh_folder();
    struct result r = apart(fill, VARIANTS + 1);
    ok(r.good, "%d variants are compiled and run", VARIANTS);
    r = apart(live, VARIANTS + 1);
    /* The device's first variant is there besides. */
    ok(r.good && r.live >= VARIANTS, "as many live, from disk");
    tap_ok_growth(r.grown, 12 * (VARIANTS - WARM));
    r = apart(in_turn, CAP);
    ok(r.good && r.live <= CAP + 1 && r.evictions > TURNS / 10 * 9,
       "%d in turn, of which %d may live", TURNS, CAP);
    tap_ok_growth(r.grown, TURNS * 25 / 1024); /* 25 bytes each */
    remove_tree(folder);
    return done_testing();
}
