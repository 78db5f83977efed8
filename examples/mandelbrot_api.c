/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * mandelbrot_api [N]: a kernel of a given geometry, 64 threads a team, with
 * every scalar compiled in: the picture's size and the number of steps.
 */
#include "api.h"

static const char source[] =
    "#pragma STDC FP_CONTRACT OFF\n"
    "void draw(long n, int limit, unsigned char *picture)\n"
    "{\n"
    "    #pragma omp target teams distribute parallel for collapse(2) \\\n"
    "        is_device_ptr(picture)\n"
    "    for (long y = 0; y < n; y++)\n"
    "        for (long x = 0; x < n; x++) {\n"
    "            double cr = -2.0 + 2.5 * x / n, ci = -1.25 + 2.5 * y / n;\n"
    "            double r = 0, i = 0;\n"
    "            int step = 0;\n"
    "            while (step < limit && r * r + i * i <= 4) {\n"
    "                double next = r * r - i * i + cr;\n"
    "                i = 2 * r * i + ci;\n"
    "                r = next;\n"
    "                step++;\n"
    "            }\n"
    "            picture[y * n + x] = step;\n"
    "        }\n"
    "}\n";

static void run(ompjit_context *ctx, long n, unsigned char *picture)
{
    ompjit_module *mod;
    ompjit_kernel *kernel;
    ompjit_device *dev;
    try(ompjit_context_device(ctx, 0, &dev, &err));
    try(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    try(ompjit_module_kernel(mod, "draw", &kernel, &err));

    void *on_device = device_copy(dev, NULL, n * n);
    ompjit_arg args[] = {
        long_arg("n", n),
        ompjit_arg_i32("limit", 255),
        pointer_arg("picture", on_device),
    };
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.teams = 4;
    launch.threads = 64;
    launch.tripcount = n * n;
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    try(ompjit_kernel_launch(kernel, dev, &launch, args, 3, &err));
    try(ompjit_device_download(dev, picture, on_device, n * n, &err));

    tell_launch(dev, kernel);
    tell_times(ctx);
    try(ompjit_device_free(dev, on_device, &err));
    ompjit_module_destroy(mod);
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 400);
    unsigned char *picture = must(malloc(n * n));
    ompjit_context *ctx;
    try(ompjit_context_create(NULL, &ctx, &err));
    run(ctx, n, picture);
    /* The origin never escapes; the corner at -2 - 1.25i does at once. */
    long x = (n * 4 + 4) / 5, y = n / 2, wrong = picture[0] > 2;
    if (n % 10 == 0)
        wrong += picture[y * n + x] != 255;
    int status = report("mandelbrot", wrong, picture, n * n);
    ompjit_context_destroy(ctx);
    free(picture);
    return status;
}
