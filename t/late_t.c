/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * While a construct's long copy is being asked for, which holds up its thread,
 * others go on with other data, and those that want the same wait for it. The
 * device's copy operation is held up here, or fails, at will.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "cuda_work.h"
#include "device/cuda/driver.h"
#include "mapping/construct.h"
#include "ompjit_graph.h"
#include "ptxi.h"

enum { LONG = 1 << 18, BYTES = LONG * sizeof(int) };

/* ----------------------------------------------------- a device that halts */

static struct {
    const ompjit__device_ops *ops;
    const void *host;     /* copies to and from here halt */
    sem_t halted, go;
    _Atomic bool released;
    bool fails;
} halt;

static ompjit_status halting_copy(ompjit_device *dev,
                                  enum ompjit__copy direction, void *dst,
                                  const void *src, size_t size,
                                  ompjit__queue *queue, ompjit_error *err)
{
    if (size == BYTES && (dst == halt.host || src == halt.host)) {
        halt.host = NULL;
        sem_post(&halt.halted);
        sem_wait(&halt.go);
        if (halt.fails)
            return ompjit__fail(err, OMPJIT_ERR_MAPPING, OMPJIT_STAGE_MAP,
                                "the copy is to fail");
    }
    return halt.ops->copy(dev, direction, dst, src, size, queue, err);
}

static ompjit_context *open_device(ompjit_device **dev)
{
    static ompjit__device_ops ops;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    ompjit_error err = {0};
    options.devices = "cuda";
    options.compiler.assembler = OMPJIT_ASSEMBLER_DRIVER;
    if (ompjit_context_create(&options, &ctx, &err) ||
        ompjit_context_device(ctx, 0, dev, &err) ||
        ompjit__device_ready(*dev, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    halt.ops = (*dev)->ops;
    ops = *halt.ops;
    ops.copy = halting_copy;
    (*dev)->ops = &ops;
    sem_init(&halt.halted, 0, 0);
    sem_init(&halt.go, 0, 0);
    return ctx;
}

static void close_device(ompjit_context *ctx, ompjit_device *dev)
{
    ok(!dev->present->count, "nothing stays mapped");
    dev->ops = halt.ops;
    ompjit_context_destroy(ctx);
    sem_destroy(&halt.halted);
    sem_destroy(&halt.go);
}

/* ------------------------------------------------------------- constructs */

typedef ompjit_status construct_fn(ompjit_device *dev, const ompjit__maps *maps,
                                   ompjit_error *err);

struct work {
    construct_fn *construct;
    ompjit_device *dev;
    int *data;
    int64_t type;
    ompjit_status status;
    ompjit_error err;
    bool late; /* it ended when the copy had been released */
    pthread_t thread;
};

static void *carry_out(void *arg)
{
    struct work *w = arg;
    void *at = w->data;
    int64_t size = BYTES;
    ompjit__maps maps = {.n = 1, .bases = &at, .begins = &at, .sizes = &size,
                         .types = &w->type};
    w->status = w->construct(w->dev, &maps, &w->err);
    w->late = atomic_load(&halt.released);
    return NULL;
}

static bool do_one(construct_fn *construct, ompjit_device *dev, int *data,
                   int64_t type)
{
    struct work w = {
        .construct = construct, .dev = dev, .data = data, .type = type};
    carry_out(&w);
    if (w.status)
        printf("# %s\n", w.err.text);
    return !w.status;
}

static void start_halted(struct work *w)
{
    halt.host = w->data;
    atomic_store(&halt.released, false);
    pthread_create(&w->thread, NULL, carry_out, w);
    sem_wait(&halt.halted);
}

static void release(struct work *w)
{
    atomic_store(&halt.released, true);
    sem_post(&halt.go);
    pthread_join(w->thread, NULL);
}

static void *release_soon(void *unused)
{
    usleep(20000);
    atomic_store(&halt.released, true);
    sem_post(&halt.go);
    return NULL;
}

static int first[LONG], second[LONG];

static void fill(int *data, int with)
{
    for (int i = 0; i < LONG; i++)
        data[i] = with + i;
}

static bool is_filled(const int *data, int with)
{
    int i = 0;
    while (i < LONG && data[i] == with + i)
        i++;
    return i == LONG;
}

static struct work work_on(construct_fn *construct, ompjit_device *dev,
                           int64_t type)
{
    return (struct work){
        .construct = construct, .dev = dev, .data = first, .type = type};
}

#define TO ((int64_t)OMPJIT__MAP_TO)
#define FROM ((int64_t)OMPJIT__MAP_FROM)

/* Enters, updates both ways, and ends: other data. */
static void other_data(ompjit_device *dev)
{
    fill(second, 5);
    bool good = do_one(ompjit__map_begin, dev, second, TO);
    fill(second, 6);
    good = good && do_one(ompjit__map_update, dev, second, TO);
    fill(second, 0);
    good = good && do_one(ompjit__map_update, dev, second, FROM);
    ok(good && is_filled(second, 6), "other data comes and is updated");
    fill(second, 0);
    ok(do_one(ompjit__map_end, dev, second, FROM) && is_filled(second, 6),
       "and goes");
}

/* --------------------------------------------------------------- scenarios */

static void begins(void)
{
    ompjit_device *dev;
    ompjit_context *ctx = open_device(&dev);
    struct work a = work_on(ompjit__map_begin, dev, TO), b = a;
    fill(first, 1);
    start_halted(&a);
    other_data(dev);
    pthread_create(&b.thread, NULL, carry_out, &b);
    usleep(20000);
    release(&a);
    pthread_join(b.thread, NULL);
    ok(!a.status && !b.status && b.late, "who maps the same waits for it");
    fill(first, 0);
    ok(do_one(ompjit__map_end, dev, first, FROM) && is_filled(first, 0),
       "counted twice, it stays");
    ok(do_one(ompjit__map_end, dev, first, FROM) && is_filled(first, 1),
       "and is what was copied");
    close_device(ctx, dev);
}

static void updates(void)
{
    ompjit_device *dev;
    ompjit_context *ctx = open_device(&dev);
    fill(first, 1);
    ok(do_one(ompjit__map_begin, dev, first, TO), "data");
    struct work to = work_on(ompjit__map_update, dev, TO);
    struct work after = work_on(ompjit__map_update, dev, FROM);
    fill(first, 2);
    start_halted(&to);
    other_data(dev);
    pthread_create(&after.thread, NULL, carry_out, &after);
    usleep(20000);
    release(&to);
    pthread_join(after.thread, NULL);
    ok(!to.status && !after.status && after.late && is_filled(first, 2),
       "an update waits for one before it");
    struct work from = work_on(ompjit__map_update, dev, FROM);
    fill(first, 0);
    start_halted(&from);
    other_data(dev);
    release(&from);
    ok(!from.status && is_filled(first, 2), "from the device");
    ok(do_one(ompjit__map_end, dev, first, 0), "and ended");
    close_device(ctx, dev);
}

/* An update in the application's queue waits for that, too. */
static void queue_updates(void)
{
    ompjit_device *dev;
    ompjit_queue *queue = NULL;
    ompjit_error err = {0};
    ompjit_context *ctx = open_device(&dev);
    struct work a = work_on(ompjit__map_begin, dev, TO);
    fill(first, 1);
    ok(!ompjit_queue_create(dev, &queue, &err), "a queue");
    start_halted(&a);
    pthread_t waker;
    pthread_create(&waker, NULL, release_soon, NULL);
    ompjit_status status =
        ompjit_queue_update_from(queue, first, BYTES, &err);
    ok(!status && atomic_load(&halt.released), "it waited: %s", err.text);
    pthread_join(waker, NULL);
    pthread_join(a.thread, NULL);
    ok(!ompjit_queue_wait(queue, &err) && is_filled(first, 1),
       "and has what was copied");
    ompjit_queue_destroy(queue);
    ok(do_one(ompjit__map_end, dev, first, 0), "and ended");
    close_device(ctx, dev);
}

static void ends(void)
{
    ompjit_device *dev;
    ompjit_context *ctx = open_device(&dev);
    fill(first, 1);
    ok(do_one(ompjit__map_begin, dev, first, TO), "data");
    struct work end = work_on(ompjit__map_end, dev, FROM);
    fill(first, 0);
    start_halted(&end);
    other_data(dev);
    release(&end);
    ok(!end.status && is_filled(first, 1), "what goes is copied");
    close_device(ctx, dev);
}

/* The end of a construct leaves a hold of the mapping, as a graph has one. */
static void held(void)
{
    const int64_t hold = (int64_t)OMPJIT__MAP_HOLD;
    ompjit_device *dev;
    ompjit_context *ctx = open_device(&dev);
    fill(first, 1);
    ok(do_one(ompjit__map_begin, dev, first, TO | hold), "data that is held");
    fill(first, 0);
    ok(do_one(ompjit__map_end, dev, first, FROM) && is_filled(first, 0),
       "an end that does not hold it copies nothing");
    ok(do_one(ompjit__map_end, dev, first, FROM | hold) && is_filled(first, 1),
       "the one that does copies it");
    close_device(ctx, dev);
}

/* Somebody else maps what is just being copied back, and changes it. */
static void ends_in_vain(void)
{
    ompjit_device *dev;
    ompjit_context *ctx = open_device(&dev);
    fill(first, 1);
    ok(do_one(ompjit__map_begin, dev, first, TO), "data");
    struct work end = work_on(ompjit__map_end, dev, FROM);
    start_halted(&end);
    fill(first, 3);
    ok(do_one(ompjit__map_begin, dev, first,
              TO | (int64_t)OMPJIT__MAP_ALWAYS) &&
           do_one(ompjit__map_end, dev, first, 0),
       "another construct uses it");
    fill(first, 0);
    release(&end);
    ok(!end.status && is_filled(first, 3), "it is copied again");
    close_device(ctx, dev);
}

static void fails(void)
{
    ompjit_device *dev;
    ompjit_context *ctx = open_device(&dev);
    struct work a = work_on(ompjit__map_begin, dev, TO), b = a;
    halt.fails = true;
    fill(first, 1);
    start_halted(&a);
    pthread_create(&b.thread, NULL, carry_out, &b);
    usleep(20000);
    release(&a);
    pthread_join(b.thread, NULL);
    ok(a.status == OMPJIT_ERR_MAPPING, "the copy fails: %s", a.err.text);
    ok(!b.status && b.late, "who waited for it maps the data itself");
    fill(first, 0);
    ok(do_one(ompjit__map_end, dev, first, FROM) && is_filled(first, 1),
       "and has them");
    struct work end = work_on(ompjit__map_end, dev, FROM);
    fill(first, 2);
    ok(do_one(ompjit__map_begin, dev, first, TO), "data");
    start_halted(&end);
    release(&end);
    ok(end.status == OMPJIT_ERR_MAPPING && dev->present->count == 1,
       "where it fails at the end, they stay");
    fill(first, 0);
    ok(do_one(ompjit__map_end, dev, first, FROM) && is_filled(first, 2),
       "to be ended again");
    close_device(ctx, dev);
}

/* Nobody waits for what is only allocated, so its arrival is asked for
 * once. */
static void allocated(void)
{
    DRIVER(cu_result, ptxi_driver_fail, const char *);
    DRIVER(int, ptxi_driver_calls, const char *);
    ompjit_device *dev;
    ompjit_context *ctx = open_device(&dev);
    bool good = do_one(ompjit__map_begin, dev, first, 0) &&
                do_one(ompjit__map_begin, dev, second, TO) &&
                do_one(ompjit__map_begin, dev, first, 0);
    ptxi_driver_fail(NULL); /* counts from 0 */
    for (int i = 0; i < 3; i++)
        good = good && do_one(ompjit__map_begin, dev, first, 0);
    ok(good && !ptxi_driver_calls("cuStreamWaitEvent") &&
           !ptxi_driver_calls("cuEventQuery"),
       "known to be there, no construct waits for it");
    for (int i = 0; i < 5; i++)
        good = good && do_one(ompjit__map_end, dev, first, 0);
    ok(good && do_one(ompjit__map_end, dev, second, 0), "and ended");
    close_device(ctx, dev);
}

#define MODES(name, fn)                                                        \
    {name " sync", fn, {"PTXI_STREAM=sync"}, CLEAN, EMULATED},                 \
    {name " async", fn, {"PTXI_STREAM=async"}, CLEAN, EMULATED},               \
    {name " lazy", fn, {"PTXI_STREAM=lazy"}, CLEAN, EMULATED}

static const struct scenario scenarios[] = {
    MODES("begins", begins), MODES("updates", updates), MODES("ends", ends),
    MODES("queue updates", queue_updates), MODES("held", held),
    MODES("ends in vain", ends_in_vain), MODES("fails", fails),
    MODES("allocated", allocated),
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
