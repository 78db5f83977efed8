/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Long copies of pageable memory: they come through page-locked memory in
 * pieces, whatever their length and however far the device lags, which is
 * counted in the driver's calls; page-locked memory and recorded copies do not.
 */
#include "cuda_work.h"
#include "device/cuda/cuda.h"
#include "ompjit_graph.h"
#include "ptxi.h"

enum { KB = 1024, MOST = 5 * 1024 * KB + 12, HALF = 1024 * KB };

static unsigned char from_host[MOST], to_host[MOST];

static void fill(unsigned char *p, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        p[i] = (unsigned char)((i * 31 + i / 256 + seed) % 251);
}

static bool is_filled(const unsigned char *p, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        if (p[i] != (unsigned char)((i * 31 + i / 256 + seed) % 251))
            return false;
    return true;
}

/* A device, a queue, and MOST bytes there. */
struct place {
    ompjit_context *ctx;
    ompjit_device *dev;
    ompjit_queue *queue;
    void *at;
    ompjit_error err;
};

static struct place open_place(void)
{
    struct place p = {0};
    p.dev = open_gpu(&p.ctx);
    if (ompjit_queue_create(p.dev, &p.queue, &p.err) ||
        ompjit_device_alloc(p.dev, MOST, &p.at, &p.err)) {
        printf("Bail out! %s\n", p.err.text);
        exit(1);
    }
    return p;
}

static void close_place(struct place *p)
{
    ompjit_device_free(p->dev, p->at, &p->err);
    ompjit_queue_destroy(p->queue);
    ompjit_context_destroy(p->ctx);
}

static int copies(const char *direction)
{
    DRIVER(int, ptxi_driver_calls, const char *);
    return emulated() ? ptxi_driver_calls(direction) : 0;
}

static void count_anew(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    ptxi_driver_fail(NULL);
}

/* There and back in a queue, by copies in `pieces`. The source is no more what
 * it was when the queue comes to it: it has been read. */
static bool goes_round(struct place *p, size_t size, int pieces)
{
    if (emulated())
        count_anew();
    fill(from_host, size, 7);
    memset(to_host, 0, size);
    if (ompjit_queue_upload(p->queue, p->at, from_host, size, &p->err))
        return false;
    if (pieces > 1)
        memset(from_host, 0, size);
    if (ompjit_queue_download(p->queue, to_host, p->at, size, &p->err) ||
        ompjit_queue_wait(p->queue, &p->err))
        return false;
    int to = copies("cuMemcpyHtoDAsync_v2");
    int from = copies("cuMemcpyDtoHAsync_v2");
    if (emulated() && (to != pieces || from != pieces)) {
        printf("# %zu bytes: %d copies there, %d back\n", size, to, from);
        return false;
    }
    return is_filled(to_host, size, 7);
}

static void lengths(void)
{
    static const struct {
        size_t size;
        int pieces;
    } rows[] = {
        {64 * KB, 1},       {64 * KB + 1, 2},  {128 * KB, 2}, {128 * KB + 4, 3},
        {300 * KB + 3, 4},  {4 * HALF, 4},     {4 * HALF + 1, 5}, {MOST, 6},
    };
    struct place p = open_place();
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        ok(goes_round(&p, rows[i].size, rows[i].pieces),
           "%zu bytes in %d pieces: %s", rows[i].size, rows[i].pieces,
           p.err.text);
    fill(from_host, MOST, 9);
    ok(!ompjit_device_upload(p.dev, p.at, from_host, MOST, &p.err) &&
           !ompjit_device_download(p.dev, to_host, p.at, MOST, &p.err) &&
           is_filled(to_host, MOST, 9),
       "without a queue");
    close_place(&p);
}

/* By the driver's own copies: the pieces' memory is switched off. */
static void off(void)
{
    struct place p = open_place();
    ok(goes_round(&p, MOST, 1), "one copy: %s", p.err.text);
    close_place(&p);
}

/* Page-locked memory is copied from where it is, when the queue comes to it. */
static void page_locked(void)
{
    struct place p = open_place();
    void *locked = NULL;
    if (!ok(!p.dev->ops->host_memory->alloc(p.dev, MOST, false, &locked, &p.err),
            "page-locked memory: %s", p.err.text))
        return;
    count_anew();
    fill(locked, MOST, 3);
    ok(!ompjit_queue_upload(p.queue, p.at, locked, MOST, &p.err) &&
           !ompjit_queue_wait(p.queue, &p.err),
       "from there: %s", p.err.text);
    memset(locked, 0, MOST);
    ok(!ompjit_queue_download(p.queue, locked, p.at, MOST, &p.err) &&
           !ompjit_queue_wait(p.queue, &p.err) && is_filled(locked, MOST, 3),
       "and there: %s", p.err.text);
    ok(copies("cuMemcpyHtoDAsync_v2") == 1 &&
           copies("cuMemcpyDtoHAsync_v2") == 1,
       "by a copy each");
    p.dev->ops->host_memory->free(p.dev, locked, false, &p.err);
    close_place(&p);
}

/* A recorded copy reads its source each time. */
static void recorded(void)
{
    struct place p = open_place();
    ompjit_graph *graph = NULL;
    bool right = true;
    ok(!ompjit_graph_begin(p.queue, &p.err) &&
           !ompjit_queue_upload(p.queue, p.at, from_host, MOST, &p.err) &&
           !ompjit_queue_download(p.queue, to_host, p.at, MOST, &p.err) &&
           !ompjit_graph_end(p.queue, &graph, &p.err),
       "copies are recorded: %s", p.err.text);
    for (unsigned seed = 1; graph && seed < 3; seed++) {
        fill(from_host, MOST, seed);
        right &= !ompjit_graph_run(graph, p.queue, &p.err) &&
                 !ompjit_queue_wait(p.queue, &p.err) &&
                 is_filled(to_host, MOST, seed);
    }
    ok(graph && right, "and done again with other data: %s", p.err.text);
    ompjit_graph_destroy(graph);
    close_place(&p);
}

/* ----------------------------------------------------------------- threads */

enum { THREADS = 4, ROUNDS = 6, EACH = 700 * KB };

struct copier {
    ompjit_device *dev;
    unsigned seed;
    bool right;
    pthread_t thread;
};

static void *copy_often(void *arg)
{
    struct copier *c = arg;
    ompjit_error err;
    void *at = NULL;
    unsigned char *p = malloc(EACH);
    c->right = p && !ompjit_device_alloc(c->dev, EACH, &at, &err);
    for (unsigned i = 0; i < ROUNDS && c->right; i++) {
        fill(p, EACH, c->seed + i);
        c->right = !ompjit_device_upload(c->dev, at, p, EACH, &err);
        memset(p, 0, EACH);
        c->right = c->right &&
                   !ompjit_device_download(c->dev, p, at, EACH, &err) &&
                   is_filled(p, EACH, c->seed + i);
    }
    ompjit_device_free(c->dev, at, &err);
    free(p);
    return NULL;
}

static void threads(void)
{
    DRIVER(long, ptxi_driver_live, const char *);
    ompjit_context *ctx;
    struct copier all[THREADS];
    bool right = true;
    ompjit_device *dev = open_gpu(&ctx);
    for (unsigned i = 0; i < THREADS; i++) {
        all[i] = (struct copier){.dev = dev, .seed = 20 * i};
        pthread_create(&all[i].thread, NULL, copy_often, &all[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(all[i].thread, NULL);
        right &= all[i].right;
    }
    ok(right, "%d threads copy at once", THREADS);
    long locked = ptxi_driver_live("host allocations");
    ok(locked >= 1 && locked <= THREADS,
       "with no more page-locked memory than threads: %ld", locked);
    ompjit_context_destroy(ctx);
}

/* If so many copies are under way, the driver does the next alone. */
static void most(void)
{
    enum { MOST_PIPES = 16 };
    struct place p = open_place();
    ompjit__gpu *gpu = p.dev->state;
    ompjit__queue *queue = NULL;
    ompjit__gpu_pipe *pipes[MOST_PIPES + 1];
    ompjit__gpu_call call = {0};
    int n = 0;
    ok(!p.dev->ops->queues->create(p.dev, &queue, &p.err) &&
           !ompjit__gpu_enter(gpu, &p.err),
       "a queue: %s", p.err.text);
    do
        pipes[n] = ompjit__gpu_pipe_for(gpu, OMPJIT__COPY_TO, from_host, MOST,
                                        queue, &call);
    while (pipes[n] && n++ < MOST_PIPES);
    ok(n == MOST_PIPES && !call.code, "%d copies at once", n);
    ok(!p.dev->ops->copy(p.dev, OMPJIT__COPY_TO, p.at, from_host, MOST, queue,
                         &p.err) &&
           copies("cuMemcpyHtoDAsync_v2") == 1,
       "and another one by the driver");
    while (n--)
        ompjit__gpu_pipe_copy(gpu, pipes[n], OMPJIT__COPY_TO,
                              (uintptr_t)p.at, (uintptr_t)from_host, MOST,
                              queue, &call);
    ok(!call.code && !ompjit__gpu_leave(gpu, OMPJIT_OK, &p.err),
       "all are done");
    ok(goes_round(&p, MOST, 6), "and the next goes through there again");
    p.dev->ops->queues->destroy(p.dev, queue);
    close_place(&p);
}

/* ---------------------------------------------------------------- failures */

/* An operation that waits for a kernel that fails names the kernel. */
static void behind_failure(void)
{
    ompjit_context *ctx;
    ompjit_error err = {0};
    ompjit__loaded *loaded = NULL;
    ompjit__function *fails = NULL;
    ompjit__queue *queue = NULL;
    void *at = NULL;
    ompjit_device *dev = open_gpu(&ctx);
    ompjit__image image = image_of(NULL, ptx_kernels);
    const ompjit__device_ops *ops = dev->ops;
    ok(!ompjit_device_alloc(dev, MOST, &at, &err) &&
           !ops->load(dev, &image, NULL, &loaded, &err) &&
           !ops->function(dev, loaded, "fails", &fails, &err) &&
           !ops->queues->create(dev, &queue, &err) &&
           !ops->launch(dev, fails, &one_team, NULL, 0, queue, &err),
       "a kernel that traps: %s", err.text);
    ok(ops->copy(dev, OMPJIT__COPY_FROM, to_host, at, MOST, queue, &err) ==
           OMPJIT_ERR_DEVICE,
       "a copy behind it fails");
    ok_contains(err.text, "behind kernel fails, on cuda:0: cuEventSynchronize",
                "and says so");
    ops->queues->destroy(dev, queue);
    image_drop(&image);
    ompjit_context_destroy(ctx);
}

static void settings(void)
{
    static const char *const bad[] = {"100", "64K", "2G", "-1", "much"};
    ompjit_context *ctx = NULL;
    ompjit_error err = {0};
    for (size_t i = 0; i < OMPJIT__COUNT(bad); i++) {
        setenv("OMPJIT_STAGING", bad[i], 1);
        ok(ompjit_context_create(NULL, &ctx, &err) == OMPJIT_ERR_INVALID &&
               strstr(err.text, "OMPJIT_STAGING=") && strstr(err.text, bad[i]),
           "%s", err.text);
    }
    unsetenv("OMPJIT_STAGING");
}

static const struct scenario scenarios[] = {
    {"lengths, sync", lengths, {"PTXI_STREAM=sync"}, CLEAN, ANY_GPU},
    {"lengths, async", lengths, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"lengths, lazy", lengths, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"off", off, {"OMPJIT_STAGING=0"}, CLEAN, EMULATED},
    {"page-locked memory", page_locked, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED},
    {"recorded", recorded, {"PTXI_STREAM=async"}, CLEAN, ANY_GPU},
    {"threads", threads, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"most", most, {"PTXI_STREAM=async"}, CLEAN, EMULATED},
    {"behind a failure", behind_failure, {"PTXI_STREAM=lazy"}, NULL, EMULATED},
    {"settings", settings, {NULL}, NULL, EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
