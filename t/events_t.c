/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Events in queues, on the host device and on ptxi's driver in its three modes;
 * what kernels print, and when; each call of the driver failed once.
 */
#include "cuda_work.h"
#include "device/cuda/driver.h"
#include "ompjit_graph.h"
#include "ptxi.h"

static const char source[] =
    "#include <stdio.h>\n"
    "void grow(float *p, int n, int say) {\n"
    "#pragma omp target teams distribute parallel for is_device_ptr(p)\n"
    "  for (int i = 0; i < n; i++) {\n"
    "    p[i] += 1;\n"
    "    if (say && i == 0) printf(\"grown to %g\\n\", p[i]); } }\n";

struct gpu {
    ompjit_context *ctx;
    ompjit_device *dev;
    ompjit_module *mod;
    ompjit_kernel *grow;
    ompjit_queue *queue, *other;
    void *p;
};

static bool on_gpu;
static float out[N];

static void open_all(struct gpu *g)
{
    static const float zero[N];
    ompjit_error err = {0};
    g->ctx = context_with(on_gpu ? "cuda" : "host", OMPJIT_ASSEMBLER_DRIVER);
    if (ompjit_context_device(g->ctx, 0, &g->dev, &err) ||
        ompjit_module_from_c(g->ctx, source, NULL, &g->mod, &err) ||
        ompjit_module_kernel(g->mod, "grow", &g->grow, &err) ||
        ompjit_device_alloc(g->dev, sizeof out, &g->p, &err) ||
        ompjit_device_upload(g->dev, g->p, zero, sizeof zero, &err) ||
        ompjit_queue_create(g->dev, &g->queue, &err) ||
        ompjit_queue_create(g->dev, &g->other, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
}

static void close_all(struct gpu *g)
{
    ompjit_queue_destroy(g->queue);
    ompjit_queue_destroy(g->other);
    ompjit_device_free(g->dev, g->p, NULL);
    ompjit_module_destroy(g->mod);
    ompjit_context_destroy(g->ctx);
}

static ompjit_status grow(const struct gpu *g, ompjit_queue *queue, int say,
                          ompjit_error *err)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.queue = queue;
    launch.teams = 2;
    launch.threads = 64;
    ompjit_arg args[] = {ompjit_arg_pointer("p", g->p),
                         ompjit_arg_i32("n", N),
                         ompjit_arg_i32("say", say)};
    return ompjit_kernel_launch(g->grow, g->dev, &launch, args, 3, err);
}

static void points(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_event *a, *b;
    int done = -1;
    double seconds = -1;
    ok(!ompjit_event_create(g->dev, &a, &err) &&
           !ompjit_event_create(g->dev, &b, &err),
       "two events");
    ok(ompjit_event_wait(a, &err) == OMPJIT_ERR_INVALID &&
           ompjit_event_query(a, &done, &err) == OMPJIT_ERR_INVALID &&
           ompjit_queue_after_event(g->other, a, &err) == OMPJIT_ERR_INVALID &&
           ompjit_event_elapsed(a, b, &seconds, &err) == OMPJIT_ERR_INVALID,
       "are nothing before they are recorded");
    ok_contains(err.text, "never recorded", "and the error says so");
    ok(!ompjit_event_record(a, g->queue, &err) && !grow(g, g->queue, 0, &err) &&
           !grow(g, g->queue, 0, &err) &&
           !ompjit_event_record(b, g->queue, &err),
       "around two kernels");
    ok(!ompjit_event_wait(b, &err) && !ompjit_event_query(b, &done, &err) &&
           done == 1,
       "the second has come when it was waited for: %s", err.text);
    ok(!ompjit_queue_download(g->other, out, g->p, sizeof out, &err) &&
           !ompjit_queue_wait(g->other, &err) && out[0] == 2,
       "with what was before it");
    ok(!ompjit_event_elapsed(a, b, &seconds, &err) && seconds > 0 &&
           seconds < 60,
       "and time between: %g s", seconds);
    ok(!ompjit_event_record(a, g->queue, &err) && !ompjit_event_wait(a, &err) &&
           !ompjit_event_elapsed(b, a, &seconds, &err) && seconds >= 0,
       "recorded again it is later");
    ompjit_event_destroy(a);
    ompjit_event_destroy(b);
    ompjit_event_destroy(NULL);
}

static void order(const struct gpu *g)
{
    ompjit_error err = {0};
    ompjit_event *event;
    float before = out[0];
    ok(!ompjit_event_create(g->dev, &event, &err) &&
           !grow(g, g->queue, 0, &err) &&
           !ompjit_event_record(event, g->queue, &err) &&
           !ompjit_queue_after_event(g->other, event, &err) &&
           !ompjit_queue_download(g->other, out, g->p, sizeof out, &err) &&
           !ompjit_queue_wait(g->other, &err),
       "a queue after an event");
    ok(out[0] == before + 1 && out[N - 1] == before + 1,
       "sees what came before: %g", out[0]);
    ok(!ompjit_queue_wait(g->queue, &err), "the first ends as ever");
    ompjit_graph *graph;
    ok(!ompjit_graph_begin(g->queue, &err) &&
           ompjit_event_record(event, g->queue, &err) == OMPJIT_ERR_INVALID &&
           ompjit_queue_after_event(g->queue, event, &err) ==
               OMPJIT_ERR_INVALID &&
           !ompjit_graph_end(g->queue, &graph, &err),
       "events are not recorded in graphs: %s", err.text);
    ompjit_graph_destroy(graph);
    ompjit_event_destroy(event);
}

static void wrong_use(const struct gpu *g)
{
    struct gpu other;
    ompjit_error err = {0};
    ompjit_event *a, *b;
    double seconds;
    open_all(&other);
    ok(!ompjit_event_create(g->dev, &a, &err) &&
           !ompjit_event_create(other.dev, &b, &err),
       "events of two contexts' devices");
    ok(ompjit_event_record(a, other.queue, &err) == OMPJIT_ERR_INVALID &&
           ompjit_queue_after_event(other.queue, a, &err) ==
               OMPJIT_ERR_INVALID &&
           ompjit_event_elapsed(a, b, &seconds, &err) == OMPJIT_ERR_INVALID,
       "do not go together");
    ok(ompjit_event_create(NULL, &a, &err) == OMPJIT_ERR_INVALID &&
           ompjit_event_record(NULL, g->queue, &err) == OMPJIT_ERR_INVALID &&
           ompjit_event_wait(NULL, &err) == OMPJIT_ERR_INVALID &&
           ompjit_event_query(a, NULL, &err) == OMPJIT_ERR_INVALID &&
           ompjit_event_elapsed(a, NULL, &seconds, &err) ==
               OMPJIT_ERR_INVALID &&
           ompjit_queue_after_event(NULL, a, &err) == OMPJIT_ERR_INVALID,
       "NULL is refused");
    ompjit_event_destroy(a);
    ompjit_event_destroy(b);
    close_all(&other);
}

/* Standard output goes into the file until it is put back. */
static int divert(int to)
{
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    dup2(to, STDOUT_FILENO);
    return kept;
}

static void put_back(int kept)
{
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
}

static void output(const struct gpu *g)
{
    char name[] = "/tmp/ompjit-out-XXXXXX", text[256] = "";
    ompjit_error err = {0};
    int file = mkstemp(name);
    unlink(name);
    int kept = divert(file);
    ompjit_status st = grow(g, g->queue, 1, &err);
    if (!st)
        st = ompjit_queue_wait(g->queue, &err);
    fflush(stdout);
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    put_back(kept);
    close(file);
    ok(!st && n > 0, "a kernel has printed when its queue was waited for: %s",
       err.text);
    ok_contains(text, "grown to", "what it says");
}

static void all(void)
{
    struct gpu g;
    open_all(&g);
    points(&g);
    order(&g);
    wrong_use(&g);
    output(&g);
    close_all(&g);
}

static void gpu_all(void)
{
    on_gpu = strcmp(test_device(), "host");
    all();
}

/* In lazy mode nothing is done before somebody waits. */
static void not_yet(void)
{
    struct gpu g;
    ompjit_error err = {0};
    ompjit_event *a, *b;
    int done = -1;
    double seconds;
    on_gpu = true;
    open_all(&g);
    ok(!ompjit_event_create(g.dev, &a, &err) &&
           !ompjit_event_create(g.dev, &b, &err) &&
           !ompjit_event_record(a, g.queue, &err) &&
           !grow(&g, g.queue, 0, &err) &&
           !ompjit_event_record(b, g.queue, &err) &&
           !ompjit_event_query(b, &done, &err),
       "a kernel before an event: %s", err.text);
    ok(done == 0, "has not been done");
    ok(ompjit_event_elapsed(a, b, &seconds, &err) == OMPJIT_ERR_INVALID,
       "and took no time");
    ok_contains(err.text, "has not come yet", "as the error says");
    ok(!ompjit_event_wait(b, &err) && !ompjit_event_query(b, &done, &err) &&
           done == 1,
       "until it is waited for");
    ompjit_event_destroy(a);
    ompjit_event_destroy(b);
    close_all(&g);
}

/* The CUDA objects of an application that uses CUDA itself. */
struct own {
    cu_context context;
    cu_stream stream;
    cu_event event, untimed;
};

static void open_own(struct own *own)
{
    DRIVER(cu_result, cuInit, unsigned);
    DRIVER(cu_result, cuDevicePrimaryCtxRetain, cu_context *, cu_device);
    DRIVER(cu_result, cuCtxSetCurrent, cu_context);
    DRIVER(cu_result, cuStreamCreate, cu_stream *, unsigned);
    DRIVER(cu_result, cuEventCreate, cu_event *, unsigned);
    ok(!cuInit(0) && !cuDevicePrimaryCtxRetain(&own->context, 0) &&
           !cuCtxSetCurrent(own->context) &&
           !cuStreamCreate(&own->stream, OMPJIT__CU_STREAM_NON_BLOCKING) &&
           !cuEventCreate(&own->event, 0) &&
           !cuEventCreate(&own->untimed, OMPJIT__CU_EVENT_DISABLE_TIMING),
       "the application has a stream and events");
}

static void close_own(const struct own *own)
{
    DRIVER(cu_result, cuStreamDestroy_v2, cu_stream);
    DRIVER(cu_result, cuEventDestroy_v2, cu_event);
    DRIVER(cu_result, cuDevicePrimaryCtxRelease_v2, cu_device);
    ok(!cuEventDestroy_v2(own->event) && !cuEventDestroy_v2(own->untimed) &&
           !cuStreamDestroy_v2(own->stream) && !cuDevicePrimaryCtxRelease_v2(0),
       "they are still the application's");
}

/* The application's event, recorded by either side. */
static void adopted(void)
{
    DRIVER(cu_result, cuStreamWaitEvent, cu_stream, cu_event, unsigned);
    DRIVER(cu_result, cuEventRecord, cu_event, cu_stream);
    DRIVER(cu_result, cuStreamSynchronize, cu_stream);
    DRIVER(cu_result, cuMemcpyDtoHAsync_v2, void *, uintptr_t, size_t,
           cu_stream);
    DRIVER(cu_result, cuMemcpyHtoDAsync_v2, uintptr_t, const void *, size_t,
           cu_stream);
    static float seven[N];
    struct own own;
    struct gpu g;
    ompjit_error err = {0};
    ompjit_event *event, *untimed;
    void *same = NULL;
    int done = 0;
    double seconds;
    on_gpu = true;
    open_own(&own);
    open_all(&g);
    ok(!ompjit_event_adopt(g.dev, own.event, &event, &err) &&
           !ompjit_event_adopt(g.dev, own.untimed, &untimed, &err) &&
           !ompjit_event_native(event, &same, &err) && same == own.event,
       "an event of its own is adopted: %s", err.text);
    ok(!ompjit_event_query(event, &done, &err) && done == 1,
       "as CUDA has it, one that nobody recorded has come");
    ok(!grow(&g, g.queue, 0, &err) &&
           !ompjit_event_record(event, g.queue, &err) &&
           !cuStreamWaitEvent(own.stream, own.event, 0) &&
           !cuMemcpyDtoHAsync_v2(out, (uintptr_t)g.p, sizeof out, own.stream) &&
           !cuStreamSynchronize(own.stream) && out[0] == 1,
       "the application's stream comes after a queue: %s", err.text);
    for (int i = 0; i < N; i++)
        seven[i] = 7;
    ok(!cuMemcpyHtoDAsync_v2((uintptr_t)g.p, seven, sizeof seven, own.stream) &&
           !cuEventRecord(own.event, own.stream) &&
           !ompjit_queue_after_event(g.queue, event, &err) &&
           !grow(&g, g.queue, 0, &err) &&
           !ompjit_queue_download(g.queue, out, g.p, sizeof out, &err) &&
           !ompjit_queue_wait(g.queue, &err) && out[0] == 8,
       "and a queue after the application's stream: %s", err.text);
    ok(!ompjit_event_record(untimed, g.queue, &err) &&
           !ompjit_event_wait(untimed, &err) &&
           ompjit_event_elapsed(event, untimed, &seconds, &err) ==
               OMPJIT_ERR_DRIVER,
       "without a time there is none between");
    ok_contains(err.text, "cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE",
                "in CUDA's words");
    ok(ompjit_event_adopt(g.dev, NULL, &event, &err) == OMPJIT_ERR_INVALID &&
           ompjit_event_adopt(NULL, own.event, &event, &err) ==
               OMPJIT_ERR_INVALID &&
           ompjit_event_native(NULL, &same, &err) == OMPJIT_ERR_INVALID &&
           ompjit_event_native(event, NULL, &err) == OMPJIT_ERR_INVALID,
       "NULL is refused");
    ompjit_event_destroy(event);
    ompjit_event_destroy(untimed);
    close_all(&g);
    close_own(&own);
}

/* An event of ours for the application's CUDA. */
static void lent(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(cu_result, cuEventSynchronize, cu_event);
    DRIVER(cu_result, cuEventRecord, cu_event, cu_stream);
    struct own own;
    struct gpu g;
    ompjit_error err = {0};
    ompjit_event *event;
    void *handle = NULL, *same = NULL;
    int done = 0;
    on_gpu = true;
    open_own(&own);
    open_all(&g);
    ok(!ompjit_event_create(g.dev, &event, &err), "an event");
    ptxi_driver_fail("cuEventCreate:1:999");
    ok(ompjit_event_native(event, &handle, &err) == OMPJIT_ERR_DRIVER,
       "that cannot be made");
    ok_contains(err.text, "making an event on cuda:0: cuEventCreate",
                "as the error says");
    ptxi_driver_fail(NULL);
    ok(!ompjit_event_native(event, &handle, &err) && handle &&
           !cuEventRecord(handle, own.stream) &&
           !ompjit_event_wait(event, &err),
       "the application records it: %s", err.text);
    ok(!grow(&g, g.queue, 0, &err) &&
           !ompjit_event_record(event, g.queue, &err) &&
           !ompjit_event_native(event, &same, &err) && same == handle,
       "it stays the same when a queue does");
    ok(!cuEventSynchronize(handle) && !ompjit_event_query(event, &done, &err) &&
           done == 1,
       "and the application waits for it: %s", err.text);
    ompjit_event_destroy(event);
    close_all(&g);
    close_own(&own);
}

/* An event for the application is none that somebody has recorded before. */
static void lent_anew(void)
{
    static char from[4096];
    struct gpu g;
    ompjit_error err = {0};
    ompjit_event *old[2], *event = NULL, *other = NULL;
    void *handle = NULL, *at = NULL;
    double seconds;
    int done = 0;
    on_gpu = true;
    open_all(&g);
    ok(!ompjit_event_create(g.dev, &old[0], &err) &&
           !ompjit_event_create(g.dev, &old[1], &err) &&
           !ompjit_device_alloc(g.dev, sizeof from, &at, &err) &&
           !ompjit_queue_upload(g.queue, at, from, sizeof from, &err) &&
           !ompjit_event_record(old[0], g.queue, &err) &&
           !ompjit_event_record(old[1], g.queue, &err),
       "two events are recorded: %s", err.text);
    ompjit_event_destroy(old[0]);
    ompjit_event_destroy(old[1]);
    ok(!ompjit_event_create(g.dev, &event, &err) &&
           !ompjit_event_native(event, &handle, &err) &&
           !ompjit_event_query(event, &done, &err) && done == 1,
       "one that nobody has recorded has come: %s", err.text);
    ok(!ompjit_event_create(g.dev, &other, &err) &&
           !ompjit_event_native(other, &handle, &err) &&
           !ompjit_queue_wait(g.queue, &err) &&
           ompjit_event_elapsed(event, other, &seconds, &err) ==
               OMPJIT_ERR_DRIVER,
       "and two have no time between them");
    ompjit_event_destroy(event);
    ompjit_event_destroy(other);
    ok(!ompjit_device_free(g.dev, at, &err), "done");
    close_all(&g);
}

/* Nothing to adopt, and no other software to know of it. */
static void host_only(void)
{
    struct gpu g;
    ompjit_error err = {0};
    ompjit_event *event;
    void *handle = &g;
    open_all(&g);
    ok(ompjit_event_adopt(g.dev, &g, &event, &err) == OMPJIT_ERR_UNAVAILABLE,
       "no events to adopt");
    ok_contains(err.text, "device 0 (host) has no events of other software",
                "the error says so");
    ok(!ompjit_event_create(g.dev, &event, &err) &&
           !ompjit_event_native(event, &handle, &err) && !handle,
       "and none for others");
    ompjit_event_destroy(event);
    close_all(&g);
}

static void faults(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    static const char *const rows[][2] = {
        {"cuEventCreate", "cuEventCreate:1:2"},
        {"cuEventRecord", "cuEventRecord:1:999"},
        {"cuEventSynchronize", "cuEventSynchronize:1:999"},
        {"cuEventQuery", "cuEventQuery:1:999"},
        {"cuEventElapsedTime", "cuEventElapsedTime:1:999"},
        {"cuStreamWaitEvent", "cuStreamWaitEvent:1:999"},
    };
    struct gpu g;
    on_gpu = true;
    open_all(&g);
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit_error err = {0};
        ompjit_event *a, *b;
        int done;
        double seconds;
        ompjit_event_create(g.dev, &a, &err);
        ompjit_event_create(g.dev, &b, &err);
        for (int failing = 1; failing >= 0; failing--) {
            ptxi_driver_fail(failing ? rows[i][1] : NULL);
            bool failed = ompjit_event_record(a, g.queue, &err) ||
                          ompjit_event_record(b, g.queue, &err) ||
                          ompjit_event_wait(b, &err) ||
                          ompjit_event_query(b, &done, &err) ||
                          ompjit_event_elapsed(a, b, &seconds, &err) ||
                          ompjit_queue_after_event(g.other, b, &err);
            ok(failed == failing, "%s fails %d times", rows[i][0], failing);
            if (failing)
                ok_contains(err.text, rows[i][0], "and the error names it");
        }
        ompjit_event_destroy(a);
        ompjit_event_destroy(b);
    }
    close_all(&g);
}

static const struct scenario scenarios[] = {
    {"host", all, {NULL}, NULL, EMULATED},
    {"sync", gpu_all, {"PTXI_STREAM=sync"}, CLEAN, EMULATED},
    {"async", gpu_all, {"PTXI_STREAM=async"}, CLEAN, ANY_DEVICE},
    {"lazy", gpu_all, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"not yet", not_yet, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"host only", host_only, {NULL}, NULL, EMULATED},
    {"adopted, sync", adopted, {"PTXI_STREAM=sync"}, CLEAN, EMULATED},
    {"adopted, async", adopted, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"adopted, lazy", adopted, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"lent", lent, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"lent anew", lent_anew, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"faults", faults, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
