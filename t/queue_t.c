/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Queues and graphs by the API, on the host device and on ptxi's driver in its
 * three modes and several schedules, with what the driver is asked counted.
 */
#include "api/queue.h"
#include "cuda_work.h"
#include "device/cuda/driver.h"
#include "ompjit_graph.h"
#include "ompjit_tune.h"
#include "ptxi.h"

static const char source[] =
    "void scale(float *p, float a, int n) {\n"
    "#pragma omp target teams distribute parallel for is_device_ptr(p)\n"
    "  for (int i = 0; i < n; i++) p[i] = a * p[i] + 1; }\n"
    "void sum(const float *p, double *s, int n) {\n"
    "  double t = 0;\n"
    "#pragma omp target teams distribute parallel for is_device_ptr(p) \\\n"
    "    map(tofrom: t) reduction(+: t)\n"
    "  for (int i = 0; i < n; i++) t += p[i];\n"
    "  *s = t; }\n";

struct gpu {
    ompjit_context *ctx;
    ompjit_device *dev;
    ompjit_module *mod;
    ompjit_kernel *scale, *sum;
    void *p, *t;
};

static bool on_gpu;
static float in[N], out[N];

/* `max_variants` as the context's option has it. */
static void open_with(struct gpu *g, unsigned max_variants)
{
    ompjit_error err = {0};
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = on_gpu ? "cuda" : "host";
    options.compiler.assembler = OMPJIT_ASSEMBLER_DRIVER;
    options.specialize.max_variants = max_variants;
    g->ctx = context_of(options);
    bool done = !ompjit_context_device(g->ctx, 0, &g->dev, &err) &&
                !ompjit_module_from_c(g->ctx, source, NULL, &g->mod, &err) &&
                !ompjit_module_kernel(g->mod, "scale", &g->scale, &err) &&
                !ompjit_module_kernel(g->mod, "sum", &g->sum, &err) &&
                !ompjit_device_alloc(g->dev, sizeof in, &g->p, &err) &&
                !ompjit_device_alloc(g->dev, sizeof(double), &g->t, &err);
    if (!ok(done, "everything is there")) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    memset(out, 0, sizeof out);
}

static void open_all(struct gpu *g)
{
    open_with(g, 0);
}

static void close_all(struct gpu *g)
{
    ompjit_error err = {0};
    ok(!ompjit_device_free(g->dev, g->p, &err) &&
           !ompjit_device_free(g->dev, g->t, &err),
       "memory is freed");
    ompjit_module_destroy(g->mod);
    ompjit_context_destroy(g->ctx);
}

/* p = a * p + 1 */
static void scale_args(const struct gpu *g, float a, ompjit_arg args[3])
{
    args[0] = ompjit_arg_pointer("p", g->p);
    args[1] = ompjit_arg_f32("a", a);
    args[2] = ompjit_arg_i32("n", N);
}

static ompjit_launch in_queue(ompjit_queue *queue)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.queue = queue;
    launch.teams = 2;
    launch.threads = 64;
    return launch;
}

static ompjit_status start_scale(const struct gpu *g, ompjit_queue *queue,
                                 float a, ompjit_error *err)
{
    ompjit_launch launch = in_queue(queue);
    ompjit_arg args[3];
    scale_args(g, a, args);
    return ompjit_kernel_launch(g->scale, g->dev, &launch, args, 3, err);
}

static ompjit_status start_sum(const struct gpu *g, ompjit_queue *queue,
                               ompjit_error *err)
{
    ompjit_launch launch = in_queue(queue);
    ompjit_arg args[] = {ompjit_arg_pointer("p", g->p),
                         ompjit_arg_pointer("t", g->t),
                         ompjit_arg_i32("n", N)};
    return ompjit_kernel_launch(g->sum, g->dev, &launch, args, 3, err);
}

/* How many of out[] are not ((in * a + 1) * b + 1) ... */
static int wrong(const float *factors, int n)
{
    int bad = 0;
    for (int i = 0; i < N; i++) {
        float want = (float)i;
        for (int k = 0; k < n; k++)
            want = factors[k] * want + 1;
        bad += out[i] != want;
    }
    return bad;
}

static const float two_three[] = {2, 3, 2, 3, 2, 3};

static void in_order(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_queue *queue;
    double zero = 0, got = -1;
    ok(!ompjit_queue_create(g->dev, &queue, &err), "a queue");
    ok(!ompjit_queue_upload(queue, g->p, in, sizeof in, &err) &&
           !start_scale(g, queue, 2, &err) && !start_scale(g, queue, 3, &err) &&
           !ompjit_queue_download(queue, out, g->p, sizeof out, &err) &&
           !ompjit_queue_wait(queue, &err),
       "copies and launches");
    ok(!wrong(two_three, 2), "are done in order");
    bool summed = true;
    for (int i = 0; i < 4; i++)
        summed = summed &&
                 !ompjit_queue_upload(queue, g->t, &zero, sizeof zero, &err) &&
                 !start_sum(g, queue, &err);
    ok(summed && !ompjit_queue_download(queue, &got, g->t, sizeof got, &err) &&
           !ompjit_queue_wait(queue, &err),
       "reductions, each with its own buffer");
    ok(got == 6.0 * N * (N - 1) / 2 + 4.0 * N, "and the right sum: %g", got);
    ompjit_queue_destroy(queue);
}

static void after_another(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_queue *a, *b;
    ok(!ompjit_queue_create(g->dev, &a, &err) &&
           !ompjit_queue_create(g->dev, &b, &err) &&
           !ompjit_queue_upload(a, g->p, in, sizeof in, &err) &&
           !start_scale(g, a, 2, &err) && !ompjit_queue_after(b, a, &err) &&
           !start_scale(g, b, 3, &err) &&
           !ompjit_queue_download(b, out, g->p, sizeof out, &err) &&
           !ompjit_queue_wait(b, &err),
       "a queue after another");
    ok(!wrong(two_three, 2), "sees its results");
    ompjit_queue_destroy(a);
    ompjit_queue_destroy(b);
}

/* Refused in both directions, and neither the recording nor the other queue
 * knows of it. */
static void after_while_recording(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_queue *a, *b;
    ompjit_graph *graph;
    memset(out, 0, sizeof out);
    ok(!ompjit_queue_create(g->dev, &a, &err) &&
           !ompjit_queue_create(g->dev, &b, &err) &&
           !ompjit_queue_upload(b, g->p, in, sizeof in, &err) &&
           !ompjit_graph_begin(a, &err) && !start_scale(g, a, 2, &err),
       "one of two queues is recorded: %s", err.text);
    ok(ompjit_queue_after(a, b, &err) == OMPJIT_ERR_INVALID,
       "it comes after no other");
    ok_string(err.text, "ompjit_queue_after: the queue is being recorded",
              "the error says why");
    ok(ompjit_queue_after(b, a, &err) == OMPJIT_ERR_INVALID,
       "and no other after it");
    ok(!ompjit_graph_end(a, &graph, &err) && !ompjit_queue_wait(b, &err) &&
           !ompjit_graph_run(graph, b, &err) &&
           !ompjit_queue_download(b, out, g->p, sizeof out, &err) &&
           !ompjit_queue_wait(b, &err) && !wrong(two_three, 1),
       "what was recorded is right: %s", err.text);
    ompjit_graph_destroy(graph);
    ompjit_queue_destroy(a);
    ompjit_queue_destroy(b);
}

static void bound(const struct gpu *g)
{
    enum { RUNS = 6 };
    ompjit_error err = {0};
    ompjit_queue *queue;
    ompjit_bound *b;
    ompjit_arg args[3];
    ompjit_launch launch = in_queue(NULL);
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    scale_args(g, 2, args);
    ok(!ompjit_queue_create(g->dev, &queue, &err) &&
           !ompjit_kernel_bind(g->scale, g->dev, &launch, args, 3, &b, &err) &&
           !ompjit_queue_upload(queue, g->p, in, sizeof in, &err),
       "a bound launch");
    int failed = 0;
    bool counted = on_gpu && emulated();
    if (counted) {
        DRIVER(cu_result, ptxi_driver_fail, const char *);
        ptxi_driver_fail(NULL); /* counts from 0 */
    }
    for (int i = 0; i < RUNS; i++)
        failed += ompjit_bound_start(b, queue, &err) != OMPJIT_OK;
    if (counted) {
        DRIVER(int, ptxi_driver_calls, const char *);
        ok(ptxi_driver_calls("cuLaunchKernel") == RUNS &&
               ptxi_driver_calls("*") <= 3 * RUNS,
           "each is one launch, in the GPU's context");
    }
    ok(!failed && !ompjit_queue_download(queue, out, g->p, sizeof out, &err) &&
           !ompjit_queue_wait(queue, &err),
       "runs in a queue");
    ok(!wrong((float[]){2, 2, 2, 2, 2, 2}, RUNS), "with the right results");
    ompjit_bound_destroy(b);
    ompjit_queue_destroy(queue);
}

/* Three runs of: in goes to the device, two kernels, a sum, and back. */
static void graph(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_queue *queue;
    ompjit_graph *graph;
    ompjit_bound *b;
    ompjit_arg args[3];
    ompjit_launch launch = in_queue(NULL);
    double zero = 0, got = -1;
    scale_args(g, 3, args);
    memset(out, 0, sizeof out);
    ok(!ompjit_queue_create(g->dev, &queue, &err) &&
           !ompjit_kernel_bind(g->scale, g->dev, &launch, args, 3, &b, &err),
       "a queue and a bound launch");
    ok(!ompjit_graph_begin(queue, &err) &&
           !ompjit_queue_upload(queue, g->p, in, sizeof in, &err) &&
           !ompjit_queue_upload(queue, g->t, &zero, sizeof zero, &err) &&
           !start_scale(g, queue, 2, &err) &&
           !ompjit_bound_start(b, queue, &err) && !start_sum(g, queue, &err) &&
           !ompjit_queue_download(queue, out, g->p, sizeof out, &err) &&
           !ompjit_queue_download(queue, &got, g->t, sizeof got, &err),
       "work is recorded: %s", err.text);
    ok(ompjit_queue_wait(queue, &err) == OMPJIT_ERR_INVALID,
       "nobody waits meanwhile");
    args[1].value.f32 = 5;
    ok(!ompjit_graph_end(queue, &graph, &err), "the end: %s", err.text);
    ok(!ompjit_bound_set(b, 0, &args[1], &err), "arguments change");
    ok(got == -1 && out[1] == 0, "nothing was done");
    for (int run = 0; run < 3; run++) {
        for (int i = 0; i < N; i++)
            in[i] = (float)(i + run);
        ok(!ompjit_graph_run(graph, run < 2 ? queue : NULL, &err) &&
               (run == 2 || !ompjit_queue_wait(queue, &err)),
           "run %d", run);
        int bad = 0;
        double sum = 0;
        for (int i = 0; i < N; i++) {
            float want = 3 * (2 * in[i] + 1) + 1;
            sum += want;
            bad += out[i] != want;
        }
        ok(!bad && got == sum, "run %d is as recorded, of the host's data", run);
        in[0] = got = -1;
    }
    ompjit_graph_destroy(graph);
    ompjit_bound_destroy(b);
    ok(!ompjit_graph_begin(queue, &err) && !start_scale(g, queue, 2, &err),
       "a recording that never ends");
    ompjit_queue_destroy(queue);
}

/* A launch that fails while it is recorded, and would have needed a larger
 * environment: those before it keep theirs. */
static void failed_while_recording(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_queue *queue;
    ompjit_graph *graph;
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_arg args[] = {ompjit_arg_pointer("p", g->p),
                         ompjit_arg_pointer("t", g->t),
                         ompjit_arg_i32("n", N)};
    double zero = 0, got = -1, want = (double)N * (N - 1) / 2;
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    ok(!ompjit_queue_create(g->dev, &queue, &err) &&
           !ompjit_graph_begin(queue, &err) &&
           !ompjit_queue_upload(queue, g->p, in, sizeof in, &err) &&
           !ompjit_queue_upload(queue, g->t, &zero, sizeof zero, &err) &&
           !start_sum(g, queue, &err),
       "a sum is recorded: %s", err.text);
    launch.queue = queue;
    launch.teams = 1 << 16;
    launch.threads = 64;
    launch.dynamic_shared = 1 << 20;
    ok(ompjit_kernel_launch(g->sum, g->dev, &launch, args, 3, &err),
       "one that needs too much memory is not: %s", err.text);
    ok(!ompjit_queue_download(queue, &got, g->t, sizeof got, &err) &&
           !ompjit_graph_end(queue, &graph, &err) &&
           !ompjit_graph_run(graph, queue, &err) &&
           !ompjit_queue_wait(queue, &err),
       "the rest runs: %s", err.text);
    ok(got == want, "and the sum is right: %g of %g", got, want);
    ompjit_graph_destroy(graph);
    ompjit_queue_destroy(queue);
}

/* A variant of its own for each factor. */
static ompjit_status run_special(const struct gpu *g, float a,
                                 ompjit_error *err)
{
    ompjit_launch launch = in_queue(NULL);
    ompjit_arg args[3];
    scale_args(g, a, args);
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    return ompjit_kernel_launch(g->scale, g->dev, &launch, args, 3, err);
}

/* A bound launch of a generic kernel, whose main thread has a warp of its own,
 * keeps its threads when a pointer has it choose another variant. */
static void bound_generic(void)
{
    static const char text[] =
        "void count(int *p) {\n"
        "#pragma omp target is_device_ptr(p)\n"
        "{ p[0] = 0;\n"
        "  #pragma omp parallel\n"
        "  {\n"
        "    #pragma omp atomic\n"
        "    p[0]++; } } }\n";
    struct gpu g;
    ompjit_error err = {0};
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod;
    ompjit_kernel *count;
    ompjit_bound *b;
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    int threads[2] = {0, 0};
    on_gpu = !strcmp(test_device(), "cuda");
    open_all(&g);
    options.opt_level = OMPJIT_O0; /* openmp-opt would make it SPMD */
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    launch.threads = 64;
    ompjit_arg p = ompjit_arg_pointer("p", g.p);
    ok(!ompjit_module_from_c(g.ctx, text, &options, &mod, &err) &&
           !ompjit_module_kernel(mod, "count", &count, &err) &&
           !ompjit_kernel_bind(count, g.dev, &launch, &p, 1, &b, &err) &&
           !ompjit_bound_run(b, &err) &&
           !ompjit_device_download(g.dev, &threads[0], g.p, sizeof(int), &err),
       "a generic kernel is bound: %s", err.text);
    p.value.p = (char *)g.p + sizeof(int);
    ok(!ompjit_bound_set(b, 0, &p, &err) && !ompjit_bound_run(b, &err) &&
           !ompjit_device_download(g.dev, &threads[1], p.value.p, sizeof(int),
                                   &err),
       "and set to a pointer that is less aligned: %s", err.text);
    ok(threads[0] == 64 && threads[1] == 64, "%d threads have become %d",
       threads[0], threads[1]);
    ompjit_bound_destroy(b);
    ompjit_module_destroy(mod);
    close_all(&g);
}

/* A graph keeps the variant of a bound launch that is gone. The device's first
 * variant stays in any case. */
static void graph_of_evicted(void)
{
    struct gpu g;
    ompjit_error err = {0};
    ompjit_queue *queue;
    ompjit_graph *graph;
    ompjit_bound *b;
    ompjit_arg args[3];
    ompjit_launch launch = in_queue(NULL);
    ompjit_variant_stats stats = OMPJIT_VARIANT_STATS_INIT;
    open_with(&g, 1);
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    scale_args(&g, 2, args);
    ok(!ompjit_queue_create(g.dev, &queue, &err) &&
           !run_special(&g, 9, &err) &&
           !ompjit_kernel_bind(g.scale, g.dev, &launch, args, 3, &b, &err) &&
           !ompjit_graph_begin(queue, &err) &&
           !ompjit_queue_upload(queue, g.p, in, sizeof in, &err) &&
           !ompjit_bound_start(b, queue, &err) &&
           !ompjit_bound_start(b, queue, &err) &&
           !ompjit_queue_download(queue, out, g.p, sizeof out, &err) &&
           !ompjit_graph_end(queue, &graph, &err),
       "a bound launch is recorded: %s", err.text);
    ompjit_bound_destroy(b);
    for (int run = 0; run < 2; run++) {
        ok(!ompjit_graph_run(graph, NULL, &err) && !wrong((float[]){2, 2}, 2),
           "run %d is right: %s", run, err.text);
        ok(!run_special(&g, 3, &err) && !run_special(&g, 4, &err) &&
               !ompjit_module_variants(g.mod, &stats, &err) &&
               stats.evictions > 0,
           "others take its place");
        memset(out, 0, sizeof out);
    }
    ompjit_graph_destroy(graph);
    ompjit_queue_destroy(queue);
    close_all(&g);
}

static void errors(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_queue *queue;
    ompjit_graph *graph;
    ompjit_context *other;
    ompjit_device *host;
    void *stream;
    other = context("host");
    ok(!ompjit_context_device(other, 0, &host, &err) &&
           !ompjit_queue_create(host, &queue, &err),
       "a queue elsewhere");
    ok(start_scale(g, queue, 2, &err) == OMPJIT_ERR_INVALID,
       "a queue of another device");
    ok_contains(err.text, "another device's", "is told");
    ok(ompjit_graph_end(queue, &graph, &err) == OMPJIT_ERR_INVALID,
       "an end without a beginning");
    ok(!ompjit_queue_stream(queue, &stream, &err) && !stream,
       "no stream on the host");
    ok(ompjit_queue_adopt(host, NULL, &queue, &err) == OMPJIT_ERR_UNAVAILABLE,
       "none to adopt there");
    ok_contains(err.text, "host) has no streams", "says so");
    ompjit_queue_destroy(queue);
    ompjit_context_destroy(other);
    const ompjit_status rows[] = {
        ompjit_queue_create(NULL, &queue, &err),
        ompjit_queue_create(g->dev, NULL, &err),
        ompjit_queue_adopt(NULL, NULL, &queue, &err),
        ompjit_queue_stream(NULL, &stream, &err),
        ompjit_queue_wait(NULL, &err),
        ompjit_queue_after(NULL, NULL, &err),
        ompjit_queue_upload(NULL, NULL, NULL, 0, &err),
        ompjit_queue_download(NULL, NULL, NULL, 0, &err),
        ompjit_queue_copy(NULL, NULL, NULL, 0, &err),
        ompjit_bound_start(NULL, NULL, &err),
        ompjit_graph_begin(NULL, &err),
        ompjit_graph_end(NULL, &graph, &err),
        ompjit_graph_run(NULL, NULL, &err),
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        ok(rows[i] == OMPJIT_ERR_INVALID, "NULL %zu", i);
    ompjit_queue_destroy(NULL);
    ompjit_graph_destroy(NULL);
}

static void cooperative(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_launch launch = in_queue(NULL);
    ompjit_arg args[3];
    scale_args(g, 2, args);
    launch.cooperative = 1;
    ompjit_status many =
        ompjit_kernel_launch(g->scale, g->dev, &launch, args, 3, &err);
    ok(many == (on_gpu ? OMPJIT_OK : OMPJIT_ERR_GEOMETRY),
       "two teams at the same time");
    launch.teams = 1 << 20;
    ok(ompjit_kernel_launch(g->scale, g->dev, &launch, args, 3, &err) ==
           OMPJIT_ERR_GEOMETRY,
       "not a million");
    if (on_gpu)
        ok_contains(err.text, "cuLaunchCooperativeKernel: "
                    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "in CUDA's words");
}

static void work_all(void)
{
    struct gpu g;
    open_all(&g);
    in_order(&g);
    after_another(&g);
    after_while_recording(&g);
    bound(&g);
    graph(&g);
    if (on_gpu)
        failed_while_recording(&g);
    cooperative(&g);
    errors(&g);
    close_all(&g);
    graph_of_evicted();
}

static void gpu_all(void)
{
    on_gpu = !strcmp(test_device(), "cuda");
    work_all();
}

/* ------------------------------------------------------ the surroundings */

/* The application's stream, in the primary context that it holds itself. */
static cu_stream own_stream(unsigned flags)
{
    DRIVER(cu_result, cuInit, unsigned);
    DRIVER(cu_result, cuDevicePrimaryCtxRetain, cu_context *, cu_device);
    DRIVER(cu_result, cuCtxSetCurrent, cu_context);
    DRIVER(cu_result, cuStreamCreate, cu_stream *, unsigned);
    cu_context mine;
    cu_stream stream = NULL;
    on_gpu = true;
    ok(!cuInit(0) && !cuDevicePrimaryCtxRetain(&mine, 0) &&
           !cuCtxSetCurrent(mine) && !cuStreamCreate(&stream, flags),
       "the application has a stream");
    return stream;
}

static void end_own_stream(cu_stream stream)
{
    DRIVER(cu_result, cuDevicePrimaryCtxRelease_v2, cu_device);
    DRIVER(cu_result, cuStreamDestroy_v2, cu_stream);
    ok(!cuStreamDestroy_v2(stream) && !cuDevicePrimaryCtxRelease_v2(0),
       "the stream is still the application's");
}

static void adopted(void)
{
    DRIVER(cu_result, cuStreamSynchronize, cu_stream);
    struct gpu g;
    ompjit_error err = {0};
    ompjit_queue *queue;
    void *same = NULL;
    cu_stream stream = own_stream(0);
    open_all(&g);
    ok(!ompjit_queue_adopt(g.dev, stream, &queue, &err) &&
           !ompjit_queue_stream(queue, &same, &err) && same == stream,
       "it becomes a queue");
    ok(!ompjit_queue_upload(queue, g.p, in, sizeof in, &err) &&
           !start_scale(&g, queue, 2, &err) &&
           !ompjit_queue_download(queue, out, g.p, sizeof out, &err) &&
           !cuStreamSynchronize(stream),
       "work is done when the stream was waited for");
    ok(!wrong(two_three, 1), "with the right results");
    ompjit_queue_destroy(queue);
    close_all(&g);
    end_own_stream(stream);
}

/* Many small copies, and a reduction with each. */
static void other_work(const struct gpu *g, ompjit_queue *queue)
{
    static const float other[N] = {77};
    ompjit_error err = {0};
    int failed = 0;
    for (int i = 0; i < 60; i++)
        failed += ompjit_queue_upload(queue, g->p, other, sizeof other, &err) ||
                  start_sum(g, queue, &err) || ompjit_queue_wait(queue, &err);
    ok(!failed, "other work in the queue: %s", err.text);
}

/* The application's own recording of its stream: reads host memory each time,
 * and what its launches use nobody else is given. */
static void captured(void)
{
    DRIVER(cu_result, cuStreamSynchronize, cu_stream);
    DRIVER(cu_result, cuStreamBeginCapture_v2, cu_stream, unsigned);
    DRIVER(cu_result, cuStreamEndCapture, cu_stream, cu_graph *);
    DRIVER(cu_result, cuGraphInstantiateWithFlags, cu_graph_exec *, cu_graph,
           unsigned long long);
    DRIVER(cu_result, cuGraphLaunch, cu_graph_exec, cu_stream);
    DRIVER(cu_result, cuGraphExecDestroy, cu_graph_exec);
    DRIVER(cu_result, cuGraphDestroy, cu_graph);
    struct gpu g;
    cu_graph recorded = NULL;
    cu_graph_exec exec = NULL;
    ompjit_error err = {0};
    ompjit_queue *queue;
    double zero = 0, got = -1;
    cu_stream stream = own_stream(1);
    open_all(&g);
    ok(!ompjit_queue_adopt(g.dev, stream, &queue, &err), "it becomes a queue");
    other_work(&g, queue);
    ok(!cuStreamBeginCapture_v2(stream, 2), "it is captured");
    ok(!ompjit_queue_upload(queue, g.p, in, sizeof in, &err) &&
           !ompjit_queue_upload(queue, g.t, &zero, sizeof zero, &err) &&
           !start_scale(&g, queue, 2, &err) && !start_sum(&g, queue, &err) &&
           !ompjit_queue_download(queue, out, g.p, sizeof out, &err) &&
           !ompjit_queue_download(queue, &got, g.t, sizeof got, &err),
       "with copies and launches: %s", err.text);
    ok(!cuStreamEndCapture(stream, &recorded) &&
           !cuGraphInstantiateWithFlags(&exec, recorded, 0),
       "that becomes a graph");
    other_work(&g, queue);
    ok(queue->captured && queue->captured->inflight.environment.block,
       "what its launches use is kept");
    for (int i = 0; i < N; i++)
        in[i] = (float)(i + 7);
    memset(out, 0, sizeof out);
    ok(!cuGraphLaunch(exec, stream) && !start_sum(&g, queue, &err) &&
           !cuStreamSynchronize(stream),
       "which is run");
    int bad = 0;
    for (int i = 0; i < N; i++)
        bad += out[i] != 2 * in[i] + 1;
    ok(!bad && got == N * (N - 1) + 15.0 * N, "of the host's data of now");
    ok(!cuGraphExecDestroy(exec) && !cuGraphDestroy(recorded), "and destroyed");
    ompjit_queue_destroy(queue);
    close_all(&g);
    end_own_stream(stream);
}

static void no_graphs(void)
{
    struct gpu g;
    ompjit_error err = {0};
    ompjit_queue *queue;
    on_gpu = true;
    open_all(&g);
    ok(!ompjit_queue_create(g.dev, &queue, &err) &&
           ompjit_graph_begin(queue, &err) == OMPJIT_ERR_UNAVAILABLE,
       "graphs of an old driver");
    ok_contains(err.text, "older than CUDA 11.4", "are not to be had");
    ompjit_queue_destroy(queue);
    in_order(&g);
    close_all(&g);
}

/* The n-th call of a driver function fails while work is in a queue: told, and
 * the next launch works. */
static void faults(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    static const char *const functions[] = {
        "cuMemAllocHost_v2", "cuLaunchKernel", "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize", "cuCtxPushCurrent_v2",
        "cuStreamWaitEvent", "cuEventRecord", "cuGraphLaunch",
        "cuStreamEndCapture", "cuGraphInstantiateWithFlags"};
    struct gpu g;
    on_gpu = true;
    open_all(&g);
    for (size_t i = 0; i < OMPJIT__COUNT(functions); i++) {
        ompjit_error err = {0};
        ompjit_queue *queue = NULL, *other = NULL;
        ompjit_graph *graph = NULL;
        char spec[64], name[64];
        snprintf(spec, sizeof spec, "%s:1:999", functions[i]);
        snprintf(name, sizeof name, "%.*s: CUDA_ERROR_UNKNOWN (999",
                 (int)strcspn(functions[i], "_"), functions[i]);
        ptxi_driver_fail(spec);
        bool failed =
            ompjit_queue_create(g.dev, &queue, &err) ||
            ompjit_queue_create(g.dev, &other, &err) ||
            ompjit_queue_upload(queue, g.p, in, sizeof in, &err) ||
            start_scale(&g, queue, 2, &err) ||
            ompjit_queue_after(other, queue, &err) ||
            ompjit_queue_download(other, out, g.p, sizeof out, &err) ||
            ompjit_queue_wait(other, &err) ||
            ompjit_graph_begin(queue, &err) ||
            start_scale(&g, queue, 2, &err) ||
            ompjit_graph_end(queue, &graph, &err) ||
            ompjit_graph_run(graph, queue, &err);
        ptxi_driver_fail(NULL);
        ok(failed && err.status == OMPJIT_ERR_DRIVER, "%s fails", functions[i]);
        ok_contains(err.text, name, "%s is named", functions[i]);
        ompjit_queue_destroy(other);
        ompjit_queue_destroy(queue);
        ompjit_graph_destroy(graph);
        in_order(&g);
    }
    close_all(&g);
}

static ompjit_status put_work(const struct gpu *g, ompjit_queue *queue,
                              ompjit_error *err)
{
    TRY(ompjit_queue_upload(queue, g->p, in, sizeof in, err));
    TRY(start_scale(g, queue, 2, err));
    return ompjit_queue_download(queue, out, g->p, sizeof out, err);
}

/* A recording of a copy, a kernel and a copy back, and a run of it. */
static ompjit_status record(const struct gpu *g, ompjit_queue *queue,
                            ompjit_error *err)
{
    ompjit_graph *graph = NULL;
    ompjit_error after;
    memset(out, 0, sizeof out);
    TRY(ompjit_graph_begin(queue, err));
    ompjit_status status = put_work(g, queue, err);
    ompjit_status ended =
        ompjit_graph_end(queue, &graph, status ? &after : err);
    status = status ? status : ended;
    if (!status)
        status = ompjit_graph_run(graph, queue, err);
    if (!status)
        status = ompjit_queue_wait(queue, err);
    ompjit_graph_destroy(graph);
    return status;
}

/* `spec` fails in a recording: it is told, and the queue goes on recording and
 * working. */
static bool recovers(const struct gpu *g, ompjit_queue *queue,
                     const char *spec, const char *symbol, int n, bool *came)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    DRIVER(long, ptxi_driver_live, const char *);
    ompjit_error err = {0}, later = {0};
    char words[64];
    snprintf(words, sizeof words, "%.*s: CUDA_ERROR_UNKNOWN (999",
             (int)strcspn(symbol, "_"), symbol);
    logged[0] = 0;
    ptxi_driver_fail(spec);
    ompjit_status status = record(g, queue, &err);
    *came = ptxi_driver_calls(symbol) >= n;
    ptxi_driver_fail(NULL);
    bool told = !*came || strstr(status ? err.text : logged, words);
    bool first = status || !wrong(two_three, 1);
    bool works = !record(g, queue, &later) && !wrong(two_three, 1) &&
                 !ptxi_driver_live("graphs") &&
                 !ptxi_driver_live("executable graphs");
    if (!told || !first || !works)
        printf("# %s: %s; log %s; then %s\n", spec, err.text, logged,
               later.text);
    return told && first && works;
}

/* Every call of every driver function between the beginning of a recording and
 * the end of its graph, in one queue. */
static void recording_faults(void)
{
    static const char *const symbols[] = {
#define CU_FUNCTION(name, suffix, version, required, args) #name suffix,
#include "device/cuda/driver.def"
    };
    struct gpu g;
    ompjit_error err = {0};
    ompjit_queue *queue;
    int all = 0;
    on_gpu = true;
    open_all(&g);
    cu_context own = own_context();
    ok(!ompjit_queue_create(g.dev, &queue, &err) && !record(&g, queue, &err),
       "a recording: %s", err.text);
    for (size_t i = 0; i < OMPJIT__COUNT(symbols); i++) {
        int n = 0, bad = 0;
        for (bool came = true; came; n += came) {
            char spec[64];
            snprintf(spec, sizeof spec, "%s:%d:999", symbols[i], n + 1);
            bad += !recovers(&g, queue, spec, symbols[i], n + 1, &came);
            bad += !is_current(own);
        }
        all += n;
        if (n)
            ok(!bad, "%s: the queue outlives each of %d failures", symbols[i],
               n);
    }
    ok(all > 15, "%d failures", all);
    end_own_context(own);
    ompjit_queue_destroy(queue);
    close_all(&g);
}

/* The context cannot be left either way: an error, and the thread's stack is
 * the application's to put right. */
static void stuck_faults(void)
{
    DRIVER(cu_result, cuCtxSetCurrent, cu_context);
    struct gpu g;
    ompjit_error err = {0};
    ompjit_queue *queue;
    int n = 0;
    on_gpu = true;
    open_all(&g);
    cu_context own = own_context();
    ok(!ompjit_queue_create(g.dev, &queue, &err) && !record(&g, queue, &err),
       "a recording: %s", err.text);
    for (bool came = true; came; n += came) {
        char spec[80];
        snprintf(spec, sizeof spec,
                 "cuCtxPopCurrent_v2:%d:999,cuCtxSetCurrent:1:999", n + 1);
        ok(recovers(&g, queue, spec, "cuCtxPopCurrent_v2", n + 1, &came),
           "the queue outlives that leaving %d fails", n + 1);
        if (came)
            cuCtxSetCurrent(NULL);
    }
    ok(n > 5, "%d contexts are left", n);
    end_own_context(own);
    ompjit_queue_destroy(queue);
    close_all(&g);
}

/* The profile has the GPU's time of each run of a graph. */
static void timed(void)
{
    struct gpu g;
    unsigned runs = 0;
    double ms = 0;
    char name[32] = "", rest[16];
    on_gpu = true;
    open_all(&g);
    graph(&g);
    close_all(&g);
    const char *row = strstr(logged, "\ngraph ");
    int read = row ? sscanf(row, " graph %u %lf %*f %*f %*f %31s%15[^\n]",
                            &runs, &ms, name, rest)
                   : 0;
    ok(read == 3 && runs == 3 && ms > 0, "%u runs, %g ms", runs, ms);
    ok_string(name, "sum", "by its last kernel's name");
    ok(row && !strstr(logged, "\nqueued "), "what was recorded is no launch");
}

#define MODE(mode, schedule)                                     \
    {mode ", " schedule, gpu_all,                                \
     {"PTXI_STREAM=" mode, "PTXI_" schedule}, CLEAN, EMULATED}
#define MODES(schedule) \
    MODE("sync", schedule), MODE("async", schedule), MODE("lazy", schedule)

/* It refuses what is newer than itself. */
#define DRIVER_OF(release)                                             \
    {"driver of " release, gpu_all, {"PTXI_DRIVER_VERSION=" release}, CLEAN, \
     EMULATED}

static const struct scenario scenarios[] = {
    {"host", work_all, {0}, NULL, EMULATED},
    MODES("SLICE=4"),
    MODES("SLICE=100000"),
    MODES("SEED=1"),
    MODES("SEED=2"),
    DRIVER_OF("11020"),
    DRIVER_OF("11050"),
    DRIVER_OF("12000"),
    DRIVER_OF("12080"),
    {"real", gpu_all, {0}, CLEAN, ANY_DEVICE},
    {"bound, generic", bound_generic, {0}, CLEAN, ANY_DEVICE},
    {"adopted", adopted, {"PTXI_STREAM=lazy"}, CLEAN, ANY_GPU},
    {"captured, sync", captured, {"PTXI_STREAM=sync"}, CLEAN, EMULATED},
    {"captured, async", captured, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"captured, lazy", captured, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"captured, timed", captured, {"OMPJIT_PROFILE=1"}, CLEAN, EMULATED},
    {"no graphs", no_graphs,
     {"PTXI_HIDE=cuGraphInstantiateWithFlags,cuMemPoolCreate"}, CLEAN,
     EMULATED},
    {"no cuGraphLaunch", no_graphs, {"PTXI_HIDE=cuGraphLaunch,cuMemPoolCreate"},
     CLEAN, EMULATED},
    {"no cuStreamEndCapture", no_graphs,
     {"PTXI_HIDE=cuStreamEndCapture,cuMemPoolCreate"}, CLEAN, EMULATED},
    {"faults", faults, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"recording faults, sync", recording_faults, {"PTXI_STREAM=sync"}, CLEAN,
     EMULATED},
    {"recording faults, async", recording_faults, {"PTXI_STREAM=async"}, CLEAN,
     EMULATED},
    {"recording faults, lazy", recording_faults, {"PTXI_STREAM=lazy"}, CLEAN,
     EMULATED},
    {"stuck faults", stuck_faults, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"timed, sync", timed, {"PTXI_STREAM=sync", "OMPJIT_PROFILE=1"}, CLEAN,
     EMULATED},
    {"timed, async", timed, {"PTXI_STREAM=async", "OMPJIT_PROFILE=1"}, CLEAN,
     ANY_GPU},
    {"timed, lazy", timed, {"PTXI_STREAM=lazy", "OMPJIT_PROFILE=1"}, CLEAN,
     EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
