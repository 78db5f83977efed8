/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * jacobi_graph_api [N] [SWEEPS]: two sweeps, from one plate to the other and
 * back, and one row for the host to look at, recorded once as a graph and done
 * again and again. The plates are mapped by functions of the snippet.
 */
#include "api.h"
#include "ompjit_graph.h"
#include "plate.h"

static const char source[] =
    "void enter(long n, float *a, float *b)\n"
    "{\n"
    "    #pragma omp target enter data map(to : a[:n * n], b[:n * n])\n"
    "}\n"
    "void leave(long n, float *a, float *b)\n"
    "{\n"
    "    #pragma omp target exit data map(from : a[:n * n], b[:n * n])\n"
    "}\n"
    SWEEP_SOURCE;

typedef void plates_function(long n, float *a, float *b);

static void plates(ompjit_module *mod, const char *name, long n, float *a,
                   float *b)
{
    void (*fn)(void);
    try(ompjit_module_function(mod, name, &fn, &err));
    ((plates_function *)fn)(n, a, b);
}

/* One sweep, put into the queue. */
static void sweep(ompjit_kernel *kernel, ompjit_device *dev,
                  ompjit_queue *queue, long n, void *old, void *new)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[] = {long_arg("n", n), pointer_arg("old", old),
                         pointer_arg("new", new)};
    launch.queue = queue;
    launch.tripcount = n > 2 ? (n - 2) * (n - 2) : 0;
    try(ompjit_kernel_launch(kernel, dev, &launch, args, 3, &err));
}

static void run(ompjit_context *ctx, ompjit_module *mod, long n, long sweeps,
                float *a, float *b)
{
    ompjit_kernel *kernel;
    ompjit_device *dev;
    ompjit_queue *queue;
    ompjit_graph *graph;
    void *on[2];
    float *row = a + n / 2 * n;
    try(ompjit_context_device(ctx, 0, &dev, &err));
    try(ompjit_module_kernel(mod, "sweep", &kernel, &err));
    try(ompjit_device_mapped(dev, a, &on[0], &err));
    try(ompjit_device_mapped(dev, b, &on[1], &err));
    try(ompjit_queue_create(dev, &queue, &err));

    try(ompjit_graph_begin(queue, &err));
    sweep(kernel, dev, queue, n, on[0], on[1]);
    sweep(kernel, dev, queue, n, on[1], on[0]);
    try(ompjit_queue_update_from(queue, row, n * sizeof *row, &err));
    try(ompjit_graph_end(queue, &graph, &err));

    for (long s = 0; s + 1 < sweeps; s += 2)
        try(ompjit_graph_run(graph, queue, &err));
    try(ompjit_queue_wait(queue, &err));
    printf("  the middle   %g\n", row[n / 2]);
    if (sweeps % 2)
        sweep(kernel, dev, queue, n, on[0], on[1]);
    try(ompjit_queue_wait(queue, &err));
    ompjit_graph_destroy(graph);
    ompjit_queue_destroy(queue);
    tell_times(ctx);
}

int main(int argc, char **argv)
{
    long n = size_argument(argc, argv, 1, 512);
    long sweeps = size_argument(argc, argv, 2, 50);
    float *a = new_plate(n), *b = new_plate(n);
    ompjit_context *ctx;
    ompjit_module *mod;
    try(ompjit_context_create(NULL, &ctx, &err));
    try(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    plates(mod, "enter", n, a, b);
    run(ctx, mod, n, sweeps, a, b);
    plates(mod, "leave", n, a, b);
    float *result = sweeps % 2 ? b : a;
    int status = report("jacobi", impossible(n, result), result,
                        n * n * sizeof *result);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    free(a);
    free(b);
    return status;
}
