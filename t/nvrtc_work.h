/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Every kernel of t/data/kernels.cu, on any device, by any compiler.
 */
#ifndef OMPJIT_T_NVRTC_WORK_H
#define OMPJIT_T_NVRTC_WORK_H

#include <stdbool.h>

#include "base/base.h"
#include "ompjit_tune.h"
#include "tap.h"

static ompjit_error err;

/* A module of the file on the context's first device. */
struct work {
    ompjit_context *ctx;
    ompjit_device *dev;
    ompjit_module *mod;
    ompjit_specialize specialize;
    const char *how; /* for the tests' names */
};

static inline char *read_kernels(void)
{
    ompjit__buf text = {0};
    const char *dir = getenv("srcdir");
    char *path = ompjit__format("%s/t/data/kernels.cu", dir ? dir : ".");
    if (ompjit__read_file(path, &text, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    free(path);
    return text.data;
}

static inline bool open_work(struct work *w, const char *devices,
                             ompjit_cuda_compiler compiler)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_module_options module = OMPJIT_MODULE_OPTIONS_INIT;
    char *source = read_kernels();
    options.devices = devices;
    module.cuda_compiler = compiler;
    module.name = "kernels.cu";
    bool opened =
        !ompjit_context_create(&options, &w->ctx, &err) &&
        !ompjit_context_device(w->ctx, 0, &w->dev, &err) &&
        !ompjit_module_from_cuda(w->ctx, source, &module, &w->mod, &err);
    free(source);
    return ok(opened, "%s: the module: %s", w->how, opened ? "" : err.text);
}

static inline void close_work(struct work *w)
{
    ompjit_module_destroy(w->mod);
    ompjit_context_destroy(w->ctx);
}

/* ------------------------------------------------------------- launches */

enum { MAX_BUFFERS = 3 };

/* A launch whose pointers are buffers of ours, copied there and back. */
struct buffer {
    void *data;
    size_t size;
};

static inline ompjit_status run_on(struct work *w, ompjit_kernel *kernel,
                                   const ompjit_launch *launch,
                                   ompjit_arg *args, unsigned nargs,
                                   const struct buffer *buffers)
{
    void *there[MAX_BUFFERS] = {NULL};
    unsigned n = 0;
    ompjit_status s = OMPJIT_OK;
    for (unsigned i = 0; i < nargs && !s; i++) {
        if (args[i].type != OMPJIT_ARG_POINTER)
            continue;
        s = ompjit_device_alloc(w->dev, buffers[n].size, &there[n], &err);
        if (!s)
            s = ompjit_device_upload(w->dev, there[n], buffers[n].data,
                                     buffers[n].size, &err);
        args[i].value.p = there[n++];
    }
    if (!s)
        s = ompjit_kernel_launch(kernel, w->dev, launch, args, nargs, &err);
    for (unsigned i = 0; i < n; i++) {
        if (!s)
            s = ompjit_device_download(w->dev, buffers[i].data, there[i],
                                       buffers[i].size, &err);
        ompjit_device_free(w->dev, there[i], NULL);
    }
    return s;
}

/* Runs it, and where values are compiled in says whether they were. */
static inline bool launch(struct work *w, const char *name, ompjit_launch l,
                          ompjit_arg *args, unsigned nargs,
                          const struct buffer *buffers)
{
    ompjit_kernel *kernel;
    ompjit_launch_info info = OMPJIT_LAUNCH_INFO_INIT;
    l.size = sizeof l;
    l.specialize.mode = w->specialize;
    ompjit_status s = ompjit_module_kernel(w->mod, name, &kernel, &err);
    if (!s)
        s = run_on(w, kernel, &l, args, nargs, buffers);
    if (!s)
        s = ompjit_kernel_last_launch(kernel, w->dev, &info, &err);
    if (s)
        printf("# %s\n", err.text);
    bool now = w->specialize == OMPJIT_SPECIALIZE_NOW;
    return !s && (info.folded_threads || !now) && (info.folded_teams || !now);
}

#define P {.type = OMPJIT_ARG_POINTER}
#define I32(v) {.type = OMPJIT_ARG_I32, .value.i32 = v}
#define BUF(a) {a, sizeof a}

static inline void add_and_sum(struct work *w)
{
    float x[300], y[300];
    double d[200], sum = 0;
    for (int i = 0; i < 300; i++)
        x[i] = i, y[i] = 1;
    for (int i = 0; i < 200; i++)
        d[i] = i;
    ompjit_arg args[] = {
        I32(300), {.type = OMPJIT_ARG_F32, .value.f32 = 2}, P, P};
    bool right = launch(w, "vadd", (ompjit_launch){.teams = 3, .threads = 64},
                        args, 4, (struct buffer[]){BUF(x), BUF(y)});
    for (int i = 0; i < 300; i++)
        right &= y[i] == 1 + 2 * i;
    ok(right, "%s: vector add", w->how);
    ompjit_arg sums[] = {P, I32(200), P};
    right = launch(w, "total", (ompjit_launch){.teams = 1, .threads = 96},
                   sums, 3, (struct buffer[]){BUF(d), {&sum, sizeof sum}});
    ok(right && sum == 199 * 100,
       "%s: a reduction by shuffles and shared memory: %g", w->how, sum);
}

static inline void boxes(struct work *w)
{
    enum { W = 20, H = 10 };
    float in[H][W], out[H][W];
    unsigned seen[4 * 3 * 2 * 2 * 2 * 3];
    for (int i = 0; i < W * H; i++)
        in[i / W][i % W] = i;
    ompjit_arg args[] = {I32(W), I32(H), P, P};
    bool right = launch(w, "stencil",
                        (ompjit_launch){.teams = 3, .teams_y = 3,
                                        .threads = 8, .threads_y = 4},
                        args, 4, (struct buffer[]){BUF(in), BUF(out)});
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float sum = (x ? in[y][x - 1] : 0) + (x < W - 1 ? in[y][x + 1] : 0) +
                        (y ? in[y - 1][x] : 0) + (y < H - 1 ? in[y + 1][x] : 0);
            right &= out[y][x] == sum / 4;
        }
    ok(right, "%s: a stencil in two dimensions", w->how);
    ompjit_arg place[] = {P};
    right = launch(w, "place",
                   (ompjit_launch){.teams = 2, .teams_y = 2, .teams_z = 3,
                                   .threads = 4, .threads_y = 3,
                                   .threads_z = 2},
                   place, 1, (struct buffer[]){BUF(seen)});
    for (unsigned i = 0; i < OMPJIT__COUNT(seen); i++) {
        unsigned t = i % 24, b = i / 24;
        right &= seen[i] == (t % 4 | t / 4 % 3 << 4 | t / 12 << 8 |
                             b % 2 << 12 | b / 2 % 2 << 16 | b / 4 << 20);
    }
    ok(right, "%s: three dimensions", w->how);
}

static inline void atomics(struct work *w)
{
    int bins[8] = {0};
    float sum = 0;
    unsigned turns = 0;
    ompjit_arg args[] = {I32(100), P, P, P};
    bool right = launch(
        w, "atomics", (ompjit_launch){.teams = 4, .threads = 32}, args, 4,
        (struct buffer[]){BUF(bins), {&sum, sizeof sum},
                          {&turns, sizeof turns}});
    static const int want[] = {25, 25, 25, 25, 99, -99, 255, 200};
    ok(right && !memcmp(bins, want, sizeof want) && sum == 50 && turns == 0,
       "%s: atomics", w->how);
}

static inline void scalars(struct work *w)
{
    double out[10];
    ompjit_arg args[] = {
        {.type = OMPJIT_ARG_I8, .value.i8 = -7},
        {.type = OMPJIT_ARG_I8, .value.i8 = -7},
        {.type = OMPJIT_ARG_I16, .value.i16 = -300},
        {.type = OMPJIT_ARG_I16, .value.i16 = -300},
        I32(-70000),
        I32(-70000),
        {.type = OMPJIT_ARG_I64, .value.i64 = -5000000000},
        {.type = OMPJIT_ARG_I8, .value.i8 = 1},
        {.type = OMPJIT_ARG_F32, .value.f32 = -0.375f},
        {.type = OMPJIT_ARG_F64, .value.f64 = 1e-9},
        P};
    static const double want[] = {-7, 249, -300, 65236, -70000, 4294897296.0,
                                  -5000000000.0, 1, -0.375, 1e-9};
    bool right = launch(w, "scalars",
                        (ompjit_launch){.teams = 1, .threads = 32}, args, 11,
                        (struct buffer[]){BUF(out)});
    ok(right && !memcmp(out, want, sizeof want), "%s: scalars of every type",
       w->how);
}

static inline void teams(struct work *w)
{
    int v[48];
    unsigned out[7];
    for (int i = 0; i < 48; i++)
        v[i] = i;
    ompjit_arg args[] = {P};
    bool right = launch(w, "reverse",
                        (ompjit_launch){.teams = 1, .threads = 48,
                                        .dynamic_shared = sizeof v},
                        args, 1, (struct buffer[]){BUF(v)});
    for (int i = 0; i < 48; i++)
        right &= v[i] == 47 - i;
    ok(right, "%s: dynamic shared memory", w->how);
    right = launch(w, "votes", (ompjit_launch){.teams = 1, .threads = 64},
                   args, 1, (struct buffer[]){BUF(out)});
    static const unsigned want[] = {0xaaaaaaaau, 2 | 4, 32, 33, 35,
                                    16 + 31 + 4, 1};
    ok(right && !memcmp(out, want, sizeof want),
       "%s: votes, shuffles and bits", w->how);
}

static inline void openmp(struct work *w)
{
    int who[100];
    double time[2] = {0};
    unsigned devices = 0;
    ompjit_context_device_count(w->ctx, &devices, NULL);
    ompjit_arg args[] = {I32(100), P, P};
    bool right = launch(w, "openmp", (ompjit_launch){.teams = 2, .threads = 4},
                        args, 3, (struct buffer[]){BUF(who), BUF(time)});
    for (int i = 0; i < 100; i++)
        right &= who[i] == i % 8 / 4 * 1000 + i % 4;
    ok(right && time[0] > 0 && time[1] == 1000 * devices + 421,
       "%s: the OpenMP runtime: time %g, %g", w->how, time[0], time[1]);
}

static inline void all_kernels(struct work *w)
{
    add_and_sum(w);
    boxes(w);
    atomics(w);
    scalars(w);
    teams(w);
    openmp(w);
}

/* Without and with values compiled in. */
static inline void all_policies(struct work *w, const char *devices,
                                ompjit_cuda_compiler compiler)
{
    const char *how = w->how;
    if (open_work(w, devices, compiler)) {
        w->specialize = OMPJIT_SPECIALIZE_OFF;
        all_kernels(w);
        char *folded = ompjit__format("%s, specialized", how);
        w->how = folded;
        w->specialize = OMPJIT_SPECIALIZE_NOW;
        all_kernels(w);
        free(folded);
    }
    close_work(w);
    w->how = how;
}
#endif
