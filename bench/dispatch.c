/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * dispatch ROUNDS: nanoseconds that a launch of one team of one thread costs on
 * the host device beyond calling the kernel's machine code through a pointer,
 * whether that grows with the kernel or with the number of its variants, and
 * what it costs to look for a geometry that was found best.
 * Each figure is the least of so many short rounds, turn by turn.
 */
#include "bench.h"
#include "ompjit_tune.h"

/* Ten statements, of which the condition lets none run. */
#define TEN(x)                                                        \
    x[1] += x[2] * 3; x[2] -= x[3] / 5; x[3] += x[4] * x[1];          \
    x[4] -= x[5] / 7; x[5] += x[6] * x[2]; x[6] -= x[7] / x[3];       \
    x[7] += x[8] * x[4]; x[8] -= x[9] / x[5]; x[9] += x[10] * x[6];   \
    x[10] -= x[1] / 3;
#define HUNDRED(x) TEN(x) TEN(x) TEN(x) TEN(x) TEN(x) TEN(x) TEN(x) TEN(x) \
    TEN(x) TEN(x)
#define TEXT(...) #__VA_ARGS__
#define EXPANDED(...) TEXT(__VA_ARGS__)

static const char source[] =
    "void small(double *x, long n, double a) {\n"
    "#pragma omp target teams num_teams(1) thread_limit(1) is_device_ptr(x)\n"
    "    { x[0] += a; x[11] = n; }\n"
    "}\n"
    "void large(double *x, long n, double a) {\n"
    "#pragma omp target teams num_teams(1) thread_limit(1) is_device_ptr(x)\n"
    "    { x[0] += a; x[11] = n; if (x[12] > 0) {"
    EXPANDED(HUNDRED(x) HUNDRED(x)) "} }\n"
    "}\n";

enum { CALLS = 2000, VARIANTS = 100 };

static double x[16];

/* The kernel's work, as a call that no compiler sees through. */
static void native(double *at, long n, double a)
{
    at[0] += a;
    at[11] = (double)n;
}
static void (*volatile pointer)(double *, long, double) = native;

struct side {
    const char *name;
    ompjit_kernel *kernel;
    ompjit_bound *bound; /* NULL: by ompjit_kernel_launch */
    double best;
} sides[] = {{.name = "small kernel"},
             {.name = "kernel of 2000 statements"},
             {.name = "100 variants"}};
enum { SIDES = sizeof sides / sizeof *sides };

static ompjit_device *dev;

static void make_args(ompjit_arg args[3], double a)
{
    args[0] = ompjit_arg_pointer(NULL, x);
    args[1] = ompjit_arg_f64(NULL, a);
    args[2] = ompjit_arg_i64(NULL, 5);
}

static double thread_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double time_calls(void)
{
    double start = thread_time();
    for (int i = 0; i < CALLS; i++)
        pointer(x, 5, 1);
    return thread_time() - start;
}

static double time_bound(const struct side *s)
{
    double start = thread_time();
    for (int i = 0; i < CALLS; i++)
        try(ompjit_bound_run(s->bound, &err));
    return thread_time() - start;
}

static double time_launch(ompjit_kernel *kernel, const ompjit_launch *launch)
{
    ompjit_arg args[3];
    make_args(args, 1);
    double start = thread_time();
    for (int i = 0; i < CALLS; i++)
        try(ompjit_kernel_launch(kernel, dev, launch, args, 3, &err));
    return thread_time() - start;
}

static void keep_least(double *best, double seconds)
{
    if (!*best || seconds < *best)
        *best = seconds;
}

static void measure(const char *what, const ompjit_launch *launch, int rounds)
{
    double call = 0;
    for (int s = 0; s < SIDES; s++)
        sides[s].best = 0;
    for (int i = 0; i < rounds; i++) {
        keep_least(&call, time_calls());
        for (int s = 0; s < SIDES; s++)
            keep_least(&sides[s].best, launch ? time_launch(sides[s].kernel,
                                                            launch)
                                              : time_bound(&sides[s]));
    }
    for (int s = 0; s < SIDES; s++) {
        char name[64];
        snprintf(name, sizeof name, "%s, %s", what, sides[s].name);
        sample("dispatch, beyond a call", name, "ours",
               (sides[s].best - call) / CALLS * 1e9, "ns");
    }
    sample("dispatch, beyond a call", "the call itself", "ours",
           call / CALLS * 1e9, "ns");
}

/* The same kernel with its geometry named; left to the device, where nothing is
 * known; and where it was tuned, which is `other`. */
static void geometry(ompjit_kernel *kernel, ompjit_kernel *other, int rounds)
{
    static const char *const names[] = {"named", "open", "open, tuned"};
    static const ompjit_geometry one = {1, 1};
    ompjit_launch named = OMPJIT_LAUNCH_INIT, open = OMPJIT_LAUNCH_INIT;
    ompjit_tune_options options = OMPJIT_TUNE_OPTIONS_INIT;
    ompjit_arg args[3];
    double best[3] = {0};
    named.specialize.mode = open.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    named.teams = named.threads = 1;
    options.tries = &one;
    options.ntries = 1;
    make_args(args, 1);
    try(ompjit_kernel_tune(other, dev, &open, args, 3, &options, NULL, &err));
    for (int i = 0; i < rounds; i++) {
        keep_least(&best[0], time_launch(kernel, &named));
        keep_least(&best[1], time_launch(kernel, &open));
        keep_least(&best[2], time_launch(other, &open));
    }
    for (int i = 0; i < 3; i++)
        sample("handle launch, by geometry", names[i], "ours",
               best[i] / CALLS * 1e9, "ns");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 200;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mods[3];
    ompjit_kernel *tuned;
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[3];
    launch.teams = launch.threads = 1;
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    options.devices = "host";
    options.specialize.max_variants = VARIANTS + 1;
    options.cache.mode = OMPJIT_CACHE_OFF; /* what is tuned here stays here */
    try(ompjit_context_create(&options, &ctx, &err));
    try(ompjit_context_device(ctx, 0, &dev, &err));
    for (int i = 0; i < 3; i++)
        try(ompjit_module_from_c(ctx, source, NULL, &mods[i], &err));
    try(ompjit_module_kernel(mods[0], "small", &sides[0].kernel, &err));
    try(ompjit_module_kernel(mods[0], "large", &sides[1].kernel, &err));
    try(ompjit_module_kernel(mods[1], "small", &sides[2].kernel, &err));
    try(ompjit_module_kernel(mods[2], "small", &tuned, &err));
    for (int i = VARIANTS; i > 0; i--) {
        make_args(args, i);
        try(ompjit_kernel_launch(sides[2].kernel, dev, &launch, args, 3, &err));
    }
    make_args(args, 1);
    for (int s = 0; s < SIDES; s++)
        try(ompjit_kernel_bind(sides[s].kernel, dev, &launch, args, 3,
                               &sides[s].bound, &err));
    measure("prepared", NULL, rounds);
    measure("handle", &launch, rounds);
    geometry(sides[0].kernel, tuned, rounds);
    for (int s = 0; s < SIDES; s++)
        ompjit_bound_destroy(sides[s].bound);
    for (int i = 0; i < 3; i++)
        ompjit_module_destroy(mods[i]);
    ompjit_context_destroy(ctx);
    return 0;
}
