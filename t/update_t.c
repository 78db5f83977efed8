/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Mapped data in queues and graphs: a time step of updates and launches that is
 * recorded once and done many times, what keeps its mappings alive, pointers in
 * them, and what is refused; on the host device with one memory and with two,
 * and on ptxi's driver in its three modes, with leaks counted.
 */
#include "cuda_work.h"
#include "device/cuda/driver.h"
#include "ompjit_graph.h"
#include "ptxi.h"

static const char source[] =
    "struct s { int n; double *p; };\n"
    "#pragma omp begin declare target\n"
    "int table[4] = {1, 2, 3, 4};\n"
    "#pragma omp end declare target\n"
    "void enter(float *p, int n) {\n"
    "#pragma omp target enter data map(to: p[:n])\n"
    "}\n"
    "void leave(float *p, int n) {\n"
    "#pragma omp target exit data map(delete: p[:n])\n"
    "}\n"
    "void enter_s(struct s *s) {\n"
    "#pragma omp target enter data map(to: s[0], s->p[:s->n])\n"
    "}\n"
    "void leave_s(struct s *s) {\n"
    "#pragma omp target exit data map(delete: s[0], s->p[:s->n])\n"
    "}\n"
    /* Through the device's pointer, by the device's n. */
    "void sum_s(struct s *s, double *sum) {\n"
    "  double t = 0;\n"
    "#pragma omp target map(tofrom: t) map(s[0])\n"
    "  for (int i = 0; i < s->n; i++) t += s->p[i];\n"
    "  *sum = t; }\n"
    "void grow_s(struct s *s) {\n"
    "#pragma omp target map(s[0])\n"
    "  s->n++;\n"
    "}\n"
    "int *table_at(void) { return table; }\n"
    "int sum_table(void) { int t = 0;\n"
    "#pragma omp target map(tofrom: t)\n"
    "  for (int i = 0; i < 4; i++) t += table[i];\n"
    "  return t; }\n"
    "void step(float *p, int n) {\n"
    "#pragma omp target teams distribute parallel for is_device_ptr(p)\n"
    "  for (int i = 0; i < n; i++) p[i] = 2 * p[i] + 1; }\n";

struct s {
    int n;
    double *p;
};

struct gpu {
    ompjit_context *ctx;
    ompjit_device *dev;
    ompjit_module *mod;
    ompjit_kernel *step;
    ompjit_queue *queue;
    void (*enter)(float *p, int n);
    void (*leave)(float *p, int n);
};

static bool on_gpu;
static bool shares; /* host and device have one memory */
static ompjit_error construct; /* the first failure of one */
static float data[N];

static void note(void *where, const ompjit_error *err)
{
    if (!construct.status)
        construct = *err;
}

/* A function of the module. */
static void (*function(const struct gpu *g, const char *name))(void)
{
    ompjit_error err = {0};
    void (*fn)(void) = NULL;
    if (ompjit_module_function(g->mod, name, &fn, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return fn;
}

static void open_all(struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = on_gpu ? "cuda" : "host";
    options.compiler.assembler = OMPJIT_ASSEMBLER_DRIVER;
    options.host_memory = shares ? OMPJIT_HOST_MEMORY_SHARED
                                 : OMPJIT_HOST_MEMORY_SEPARATE;
    options.on_failure = note;
    g->ctx = context_of(options);
    construct = (ompjit_error){0};
    if (ompjit_context_device(g->ctx, 0, &g->dev, &err) ||
        ompjit_module_from_c(g->ctx, source, NULL, &g->mod, &err) ||
        ompjit_module_kernel(g->mod, "step", &g->step, &err) ||
        ompjit_queue_create(g->dev, &g->queue, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    g->enter = (void (*)(float *, int))function(g, "enter");
    g->leave = (void (*)(float *, int))function(g, "leave");
}

static void close_all(struct gpu *g)
{
    ok(!construct.status, "no construct failed: %s", construct.text);
    ompjit_queue_destroy(g->queue);
    ompjit_module_destroy(g->mod);
    ompjit_context_destroy(g->ctx);
}

static bool is_mapped(const struct gpu *g, const void *host)
{
    void *there;
    return !ompjit_device_mapped(g->dev, host, &there, NULL);
}

/* data = 2 * data + 1 on the device */
static ompjit_status start_step(const struct gpu *g, ompjit_error *err)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    void *there;
    ompjit_status status = ompjit_device_mapped(g->dev, data, &there, err);
    if (status)
        return status;
    ompjit_arg args[] = {ompjit_arg_pointer("p", there),
                         ompjit_arg_i32("n", N)};
    launch.queue = g->queue;
    launch.teams = 2;
    launch.threads = 64;
    return ompjit_kernel_launch(g->step, g->dev, &launch, args, 2, err);
}

static void set(float to)
{
    for (int i = 0; i < N; i++)
        data[i] = to + (float)i;
}

/* How many are not what two steps make of set(to). */
static int wrong(float to)
{
    int bad = 0;
    for (int i = 0; i < N; i++)
        bad += data[i] != 4 * (to + (float)i) + 3;
    return bad;
}

static ompjit_graph *record_steps(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_graph *graph = NULL;
    ok(!ompjit_graph_begin(g->queue, &err) &&
           !ompjit_queue_update_to(g->queue, data, sizeof data, &err) &&
           !start_step(g, &err) && !start_step(g, &err) &&
           !ompjit_queue_update_from(g->queue, data, sizeof data / 2, &err) &&
           !ompjit_queue_update_from(g->queue, data + N / 2, sizeof data / 2,
                                     &err) &&
           !ompjit_graph_end(g->queue, &graph, &err),
       "a time step is recorded: %s", err.text);
    return graph;
}

/* The mapping outlives `target exit data`, and ends with the graph. */
static void time_steps(const struct gpu *g)
{
    ompjit_error err = {0};
    set(0);
    g->enter(data, N);
    ompjit_graph *graph = record_steps(g);
    ok(data[1] == 1, "nothing was done");
    for (int run = 0; run < 4; run++) {
        set((float)run);
        ok(!ompjit_graph_run(graph, run % 2 ? g->queue : NULL, &err) &&
               !ompjit_queue_wait(g->queue, &err) && !wrong((float)run),
           "run %d is of what the host had then: %s", run, err.text);
        if (run == 1)
            g->leave(data, N);
        ok(is_mapped(g, data), "it is mapped");
    }
    ompjit_graph_destroy(graph);
    ok(!is_mapped(g, data), "and no more without the graph");
}

/* Without a recording a queue holds it until it was waited for. */
static void at_once(const struct gpu *g)
{
    ompjit_error err = {0};
    set(5);
    g->enter(data, N);
    set(7);
    ok(!ompjit_queue_update_to(g->queue, data, sizeof data, &err) &&
           !start_step(g, &err) && !start_step(g, &err) &&
           !ompjit_queue_update_from(g->queue, data, sizeof data, &err),
       "updates in a queue: %s", err.text);
    g->leave(data, N);
    ok(!ompjit_queue_wait(g->queue, &err) && !wrong(7), "are done in order");
    ok(!is_mapped(g, data), "and hold the data until then");
}

/* Both sides keep their pointers; what is beside them is copied. */
static void pointers(const struct gpu *g)
{
    ompjit_error err = {0};
    double values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum = 0;
    struct s s = {8, values};
    ompjit_graph *to, *from;
    void (*sum_s)(struct s *, double *) =
        (void (*)(struct s *, double *))function(g, "sum_s");
    void (*grow_s)(struct s *) = (void (*)(struct s *))function(g, "grow_s");
    void (*enter_s)(struct s *) = (void (*)(struct s *))function(g, "enter_s");
    void (*leave_s)(struct s *) = (void (*)(struct s *))function(g, "leave_s");
    enter_s(&s);
    ok(!ompjit_graph_begin(g->queue, &err) &&
           !ompjit_queue_update_to(g->queue, &s, sizeof s, &err) &&
           !ompjit_graph_end(g->queue, &to, &err) &&
           !ompjit_graph_begin(g->queue, &err) &&
           !ompjit_queue_update_from(g->queue, &s, sizeof s, &err) &&
           !ompjit_graph_end(g->queue, &from, &err),
       "a struct with a pointer: %s", err.text);
    s.n = 3;
    ok(!ompjit_graph_run(to, NULL, &err), "goes to the device");
    sum_s(&s, &sum);
    ok(sum == 6, "which follows its own pointer: %g", sum);
    grow_s(&s);
    ok(!ompjit_graph_run(from, NULL, &err) && s.n == 4 && s.p == values,
       "and comes back, but for the pointer");
    leave_s(&s);
    ompjit_graph_destroy(to);
    ompjit_graph_destroy(from);
    ok(!is_mapped(g, &s) && !is_mapped(g, values), "nothing stays");
}

/* They are there without anybody's map. */
static void variables(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_graph *graph;
    int *table = ((int *(*)(void))function(g, "table_at"))();
    int (*sum_table)(void) = (int (*)(void))function(g, "sum_table");
    ok(!ompjit_graph_begin(g->queue, &err) &&
           !ompjit_queue_update_to(g->queue, table + 1, 2 * sizeof *table,
                                   &err) &&
           !ompjit_graph_end(g->queue, &graph, &err),
       "a part of a variable: %s", err.text);
    table[1] = 20;
    table[2] = 30;
    ok(sum_table() == 10, "is not there before the run");
    ok(!ompjit_graph_run(graph, NULL, &err) && sum_table() == 55, "but then");
    ompjit_graph_destroy(graph);
    ok(is_mapped(g, table), "the variable stays");
}

static void refused(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_graph *graph;
    void *there;
    ok(ompjit_device_mapped(g->dev, data, &there, &err) ==
           OMPJIT_ERR_NOT_FOUND,
       "what is not mapped is nowhere");
    ok_contains(err.text, "is mapped to device 0", "as the error says");
    g->enter(data, N / 2);
    ok(!ompjit_graph_begin(g->queue, &err), "in a recording");
    ok(ompjit_queue_update_to(g->queue, data, sizeof data, &err) ==
           OMPJIT_ERR_MAPPING,
       "what is mapped in part");
    ok_contains(err.text, "only in part on device 0", "as the error says");
    ok(ompjit_queue_update_from(g->queue, data + N / 2, 8, &err) ==
           OMPJIT_ERR_MAPPING,
       "or not at all is no part of it");
    ok_contains(err.text, "ompjit_queue_update_from: 8 bytes at",
                "the error names it");
    ok_contains(err.text, "map them before that, by target enter data",
                "and says what to do");
    ok(!ompjit_queue_update_to(g->queue, data, 0, &err) &&
           !ompjit_graph_end(g->queue, &graph, &err),
       "nothing is nothing: %s", err.text);
    g->leave(data, N / 2);
    ok(!is_mapped(g, data), "who is refused holds nothing");
    ompjit_graph_destroy(graph);
    ok(ompjit_queue_update_to(NULL, data, 1, &err) == OMPJIT_ERR_INVALID &&
           ompjit_queue_update_from(g->queue, NULL, 1, &err) ==
               OMPJIT_ERR_INVALID &&
           ompjit_device_mapped(NULL, data, &there, &err) ==
               OMPJIT_ERR_INVALID &&
           ompjit_device_mapped(g->dev, data, NULL, &err) ==
               OMPJIT_ERR_INVALID,
       "NULL");
}

/* A recording that never ends holds nothing for good. */
static void given_up(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_queue *queue;
    g->enter(data, N);
    ok(!ompjit_queue_create(g->dev, &queue, &err) &&
           !ompjit_graph_begin(queue, &err) &&
           !ompjit_queue_update_to(queue, data, sizeof data, &err),
       "a recording: %s", err.text);
    g->leave(data, N);
    ok(is_mapped(g, data), "holds what it updates");
    ompjit_queue_destroy(queue);
    ok(!is_mapped(g, data), "until it ends");
}

static void all(void)
{
    struct gpu g;
    open_all(&g);
    time_steps(&g);
    at_once(&g);
    pointers(&g);
    variables(&g);
    refused(&g);
    given_up(&g);
    close_all(&g);
}

static void shared(void)
{
    shares = true;
    all();
}

static void gpu_all(void)
{
    on_gpu = !strcmp(test_device(), "cuda");
    all();
}

/* A recording that fails, or a run, holds nothing for good either. */
static void faults(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    static const char *const functions[] = {
        "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuCtxPushCurrent_v2"};
    struct gpu g;
    on_gpu = true;
    open_all(&g);
    for (size_t i = 0; i < OMPJIT__COUNT(functions); i++) {
        ompjit_error err = {0};
        ompjit_queue *queue;
        ompjit_graph *graph = NULL;
        char spec[64];
        snprintf(spec, sizeof spec, "%s:1:999", functions[i]);
        g.enter(data, N);
        ok(!ompjit_queue_create(g.dev, &queue, &err), "a queue");
        ptxi_driver_fail(spec);
        bool failed =
            ompjit_graph_begin(queue, &err) ||
            ompjit_queue_update_to(queue, data, sizeof data, &err) ||
            ompjit_queue_update_from(queue, data, sizeof data, &err) ||
            ompjit_graph_end(queue, &graph, &err) ||
            ompjit_graph_run(graph, queue, &err);
        ptxi_driver_fail(NULL);
        ok(failed && err.status == OMPJIT_ERR_DRIVER, "%s fails: %s",
           functions[i], err.text);
        ompjit_queue_destroy(queue);
        ompjit_graph_destroy(graph);
        g.leave(data, N);
        ok(!is_mapped(&g, data), "and nothing is held");
        time_steps(&g);
    }
    close_all(&g);
}

static const struct scenario scenarios[] = {
    {"host", all, {0}, NULL, EMULATED},
    {"host, one memory", shared, {0}, NULL, EMULATED},
    {"sync", gpu_all, {"PTXI_STREAM=sync"}, CLEAN, EMULATED},
    {"async", gpu_all, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"lazy", gpu_all, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"real", gpu_all, {0}, CLEAN, ANY_DEVICE},
    {"faults", faults, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
