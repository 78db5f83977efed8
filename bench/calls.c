/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * First calls in a new process: of one kernel, and of N variants of it, each
 * with another literal. This process's processor time (clang has its own), from
 * main() on. Without N: nothing, for what the process's start takes.
 */
#include "bench.h"

static const char source[] =
    "void daxpy(long n, double a, const double *x, double *y) {\n"
    "  #pragma omp target teams distribute parallel for \\\n"
    "      map(to: x[:n]) map(tofrom: y[:n])\n"
    "  for (long i = 0; i < n; i++) y[i] += a * x[i];\n"
    "}\n";

static double x[4] = {1, 2, 3, 4}, y[4];

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void call(ompjit_kernel *kernel, ompjit_device *dev, double a)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.teams = 1;
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    ompjit_arg args[] = {{.name = "n", .type = OMPJIT_ARG_I64, .value.i64 = 4},
                         {.name = "a", .type = OMPJIT_ARG_F64, .value.f64 = a},
                         {.name = "x", .value.p = x},
                         {.name = "y", .value.p = y}};
    try(ompjit_kernel_launch(kernel, dev, &launch, args, 4, &err));
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 0;
    int n = atoi(argv[1]);
    const char *side = argc > 2 ? argv[2] : "ours";
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_device *dev;
    ompjit_module *mod;
    ompjit_kernel *kernel;
    double start = cpu();
    options.specialize.max_variants = (unsigned)n + 1;
    try(ompjit_context_create(&options, &ctx, &err));
    try(ompjit_context_device(ctx, 0, &dev, &err));
    try(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    try(ompjit_module_kernel(mod, "daxpy", &kernel, &err));
    call(kernel, dev, 0);
    double first = cpu();
    for (int i = 1; i <= n; i++)
        call(kernel, dev, i);
    double last = cpu();
    for (int i = 1; i <= n; i++)
        call(kernel, dev, i);
    double again = cpu() - last;
    sample("new process, from disk", "first call, CPU",
           side, (first - start) * 1e3, "ms");
    sample("new process, from disk", "further variant, CPU", side,
           (last - first - again) / n * 1e6, "us");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return y[0] != (double)n * (n + 1);
}
