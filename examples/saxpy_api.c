/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * saxpy_api [N]: saxpy through the API: a kernel by its name, on memory that
 * this program allocates on the device, with `n` and `a` compiled in.
 */
#include "api.h"

static const char source[] =
    "void saxpy(long n, float a, float *x, float *y)\n"
    "{\n"
    "    #pragma omp target teams distribute parallel for \\\n"
    "        is_device_ptr(x, y)\n"
    "    for (long i = 0; i < n; i++)\n"
    "        y[i] = a * x[i] + y[i];\n"
    "}\n";

static void run(ompjit_context *ctx, long n, const float *x, float *y)
{
    ompjit_module *mod;
    ompjit_kernel *kernel;
    ompjit_device *dev;
    size_t size = n * sizeof *x;
    try(ompjit_context_device(ctx, 0, &dev, &err));
    try(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    try(ompjit_module_kernel(mod, "saxpy", &kernel, &err));

    void *dx = device_copy(dev, x, size), *dy = device_copy(dev, y, size);
    ompjit_arg args[] = {
        long_arg("n", n),
        ompjit_arg_f32("a", 3),
        pointer_arg("x", dx),
        pointer_arg("y", dy),
    };
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.tripcount = n;
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    try(ompjit_kernel_launch(kernel, dev, &launch, args, 4, &err));
    try(ompjit_device_download(dev, y, dy, size, &err));

    tell_launch(dev, kernel);
    tell_times(ctx);
    try(ompjit_device_free(dev, dx, &err));
    try(ompjit_device_free(dev, dy, &err));
    ompjit_module_destroy(mod);
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 1000000), wrong = 0;
    float *x = must(malloc(n * sizeof *x)), *y = must(malloc(n * sizeof *y));
    ompjit_context *ctx;
    for (long i = 0; i < n; i++) {
        x[i] = i % 1000;
        y[i] = i % 77;
    }
    try(ompjit_context_create(NULL, &ctx, &err));
    run(ctx, n, x, y);
    for (long i = 0; i < n; i++)
        wrong += y[i] != 3 * (i % 1000) + i % 77;
    int status = report("saxpy", wrong, y, n * sizeof *y);
    ompjit_context_destroy(ctx);
    free(x);
    free(y);
    return status;
}
