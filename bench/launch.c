/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * launch REPEATS: microseconds of a launch of a compiled kernel on the host
 * device: by ompjit_kernel_launch, and of target regions in a function.
 */
#include "bench/bench.h"

static const char source[] =
    "void region(void)\n"
    "{\n"
    "    #pragma omp target\n"
    "    {\n"
    "    }\n"
    "}\n"
    "void loop(double *x)\n"
    "{\n"
    "    #pragma omp target teams distribute parallel for num_teams(1) \\\n"
    "        map(tofrom : x[:4])\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        x[i] += 1;\n"
    "}\n";

static void by_launch(ompjit_context *ctx, ompjit_module *mod, int repeats)
{
    ompjit_kernel *kernel;
    ompjit_device *dev;
    double x[4] = {0};
    void *dx;
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.teams = 1;
    launch.threads = 1;
    try(ompjit_context_device(ctx, 0, &dev, &err));
    try(ompjit_module_kernel(mod, "loop", &kernel, &err));
    try(ompjit_device_alloc(dev, sizeof x, &dx, &err));
    try(ompjit_device_upload(dev, dx, x, sizeof x, &err));
    ompjit_arg args[] = {ompjit_arg_pointer(NULL, dx)};
    try(ompjit_kernel_launch(kernel, dev, &launch, args, 1, &err));
    double start = now();
    for (int i = 0; i < repeats; i++)
        try(ompjit_kernel_launch(kernel, dev, &launch, args, 1, &err));
    sample("launch on the host", "ompjit_kernel_launch, 1 team", "ours",
           (now() - start) / repeats * 1e6, "us");
    try(ompjit_device_free(dev, dx, &err));
}

static void by_call(ompjit_module *mod, int repeats)
{
    void (*region)(void), (*loop)(void);
    double x[4] = {0};
    try(ompjit_module_function(mod, "region", &region, &err));
    try(ompjit_module_function(mod, "loop", &loop, &err));
    region();
    ((void (*)(double *))loop)(x);
    double start = now();
    for (int i = 0; i < repeats; i++)
        region();
    sample("launch on the host", "empty target region", "ours",
           (now() - start) / repeats * 1e6, "us");
    start = now();
    for (int i = 0; i < repeats; i++)
        ((void (*)(double *))loop)(x);
    sample("launch on the host", "loop of 4 iterations", "ours",
           (now() - start) / repeats * 1e6, "us");
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 20000;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_module *mod;
    options.devices = "host";
    try(ompjit_context_create(&options, &ctx, &err));
    try(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    by_launch(ctx, mod, repeats);
    by_call(mod, repeats);
    ompjit_context_destroy(ctx);
    return 0;
}
