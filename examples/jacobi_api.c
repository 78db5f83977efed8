/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * jacobi_api [N] [SWEEPS]: one kernel launched again and again on two plates
 * that stay on the device, with the plate's size compiled in.
 */
#include "api.h"
#include "plate.h"

static void run(ompjit_context *ctx, long n, long sweeps, float *a)
{
    ompjit_module *mod;
    ompjit_kernel *kernel;
    ompjit_device *dev;
    size_t size = n * n * sizeof *a;
    try(ompjit_context_device(ctx, 0, &dev, &err));
    try(ompjit_module_from_c(ctx, SWEEP_SOURCE, NULL, &mod, &err));
    try(ompjit_module_kernel(mod, "sweep", &kernel, &err));

    void *plates[] = {device_copy(dev, a, size), device_copy(dev, a, size)};
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.tripcount = n > 2 ? (n - 2) * (n - 2) : 0;
    for (long s = 0; s < sweeps; s++) {
        ompjit_arg args[] = {
            long_arg("n", n),
            pointer_arg("old", plates[s % 2]),
            pointer_arg("new", plates[1 - s % 2]),
        };
        try(ompjit_kernel_launch(kernel, dev, &launch, args, 3, &err));
    }
    try(ompjit_device_download(dev, a, plates[sweeps % 2], size, &err));

    tell_launch(dev, kernel);
    tell_times(ctx);
    try(ompjit_device_free(dev, plates[0], &err));
    try(ompjit_device_free(dev, plates[1], &err));
    ompjit_module_destroy(mod);
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 512);
    long sweeps = size_argument(argc, argv, 2, 50);
    float *a = new_plate(n);
    ompjit_context *ctx;
    try(ompjit_context_create(NULL, &ctx, &err));
    run(ctx, n, sweeps, a);
    int status = report("jacobi", impossible(n, a), a, n * n * sizeof *a);
    ompjit_context_destroy(ctx);
    free(a);
    return status;
}
