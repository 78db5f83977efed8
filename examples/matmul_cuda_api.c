/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * matmul_cuda_api [N]: the product again, as a CUDA kernel of two-dimensional
 * blocks that share tiles of A and B; `n` and the geometry are compiled in.
 */
#include "api.h"

static const char source[] =
    "const int T = 8;\n"
    "__global__ void matmul(long n, const double *a, const double *b,\n"
    "                       double *c)\n"
    "{\n"
    "    __shared__ double at[T][T], bt[T][T];\n"
    "    int x = threadIdx.x, y = threadIdx.y;\n"
    "    long j = blockIdx.x * T + x, i = blockIdx.y * T + y;\n"
    "    double sum = 0;\n"
    "    for (long k = 0; k < n; k += T) {\n"
    "        at[y][x] = i < n && k + x < n ? a[i * n + k + x] : 0;\n"
    "        bt[y][x] = j < n && k + y < n ? b[(k + y) * n + j] : 0;\n"
    "        __syncthreads();\n"
    "        for (int t = 0; t < T; t++)\n"
    "            sum += at[y][t] * bt[t][x];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    if (i < n && j < n)\n"
    "        c[i * n + j] = sum;\n"
    "}\n";
enum { TILE = 8 };

static void multiply(ompjit_context *ctx, long n, const double *a,
                     const double *b, double *c)
{
    ompjit_device *dev;
    ompjit_module *mod;
    ompjit_kernel *kernel;
    size_t size = n * n * sizeof *a;
    try(ompjit_context_device(ctx, 0, &dev, &err));
    try(ompjit_module_from_cuda(ctx, source, NULL, &mod, &err));
    try(ompjit_module_kernel(mod, "matmul", &kernel, &err));

    void *da = device_copy(dev, a, size), *db = device_copy(dev, b, size);
    void *dc = device_copy(dev, NULL, size);
    ompjit_arg args[] = {ompjit_arg_i64(NULL, n),
                         pointer_arg(NULL, da),
                         pointer_arg(NULL, db),
                         pointer_arg(NULL, dc)};
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.teams = launch.teams_y = (uint32_t)((n + TILE - 1) / TILE);
    launch.threads = launch.threads_y = TILE;
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    try(ompjit_kernel_launch(kernel, dev, &launch, args, 4, &err));
    try(ompjit_device_download(dev, c, dc, size, &err));

    tell_launch(dev, kernel);
    tell_times(ctx);
    try(ompjit_device_free(dev, da, &err));
    try(ompjit_device_free(dev, db, &err));
    try(ompjit_device_free(dev, dc, &err));
    ompjit_module_destroy(mod);
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 256), wrong = 0;
    size_t size = n * n * sizeof(double);
    double *a = must(malloc(size)), *b = must(malloc(size));
    double *c = must(malloc(size));
    ompjit_context *ctx;
    for (long i = 0; i < n * n; i++) {
        a[i] = i % 13 - 6;
        b[i] = i % 17 - 8;
    }
    try(ompjit_context_create(NULL, &ctx, &err));
    multiply(ctx, n, a, b, c);
    for (long j = 0; j < n; j++) { /* the diagonal */
        double sum = 0;
        for (long k = 0; k < n; k++)
            sum += a[j * n + k] * b[k * n + j];
        wrong += c[j * n + j] != sum;
    }
    int status = report("matmul", wrong, c, size);
    ompjit_context_destroy(ctx);
    free(a);
    free(b);
    free(c);
    return status;
}
