/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * nvcc CASES IMAGES [ROUNDS [REPEATS]]: our specialized kernels of bench/nvcc
 * beside nvcc's of the same in CUDA, turn by turn, with the cases' geometry and
 * constants; their results are compared first. IMAGES has what nvcc made
 * (nvcc_images.sh): NAME.ARCH.cubin, or NAME.ptx for other GPUs. REPEATS of
 * each are timed together, where it is 0 as many as take 20 ms. Times are of
 * the host's clock.
 */
#include <math.h>

#include "bench/driver.h"
#include "ompjit_graph.h"
#include "ompjit_tune.h"

/* A parameter, in the order that CUDA's kernel has; an array has n to the power
 * of `dimensions` elements. */
typedef struct param {
    const char *name; /* in OpenMP */
    enum { END, INT, REAL, FLOATS, DOUBLES } type;
    int dimensions;
    int written;
} param;
enum { MOST = 10 };

#define N {"n", INT, 0, 0}
#define SCALAR(name) {name, REAL, 0, 0}
#define IN(type, name, dimensions) {name, type, dimensions, 0}
#define OUT(type, name, dimensions) {name, type, dimensions, 1}

static const struct source {
    const char *name;
    param params[MOST];
} sources[] = {
    {"saxpy", {N, SCALAR("a"), IN(FLOATS, "x", 1), OUT(FLOATS, "y", 1)}},
    {"dot",
     {N, IN(DOUBLES, "x", 1), IN(DOUBLES, "y", 1), OUT(DOUBLES, "sum", 0)}},
    {"jacobi", {N, IN(DOUBLES, "old", 2), OUT(DOUBLES, "new", 2)}},
    {"jacobi_flat", {N, IN(DOUBLES, "old", 2), OUT(DOUBLES, "new", 2)}},
    {"matmul",
     {N, IN(FLOATS, "a", 2), IN(FLOATS, "b", 2), OUT(FLOATS, "c", 2)}},
    {"nbody",
     {N, SCALAR("softening"), IN(FLOATS, "x", 1), IN(FLOATS, "y", 1),
      IN(FLOATS, "z", 1), IN(FLOATS, "mass", 1), OUT(FLOATS, "ax", 1),
      OUT(FLOATS, "ay", 1), OUT(FLOATS, "az", 1)}},
    {"stencil",
     {N, SCALAR("c0"), SCALAR("c1"), IN(FLOATS, "in", 3),
      OUT(FLOATS, "out", 3)}},
    {"stencil_rows",
     {N, SCALAR("c0"), SCALAR("c1"), IN(FLOATS, "in", 3),
      OUT(FLOATS, "out", 3)}},
};

/* A line of CASES. */
struct work {
    char name[32], source[32], constants[128];
    unsigned teams, threads;
    const param *params;
    size_t n;
};

/* The arguments of both sides; arrays that are written are each side's own. */
struct sides {
    ompjit_arg args[MOST];
    union { int i; float f; void *p; } values[MOST];
    void *theirs[MOST];
    unsigned count;
};

static ompjit_context *ctx;
static ompjit_device *dev;
static ompjit_queue *queue;
static void *stream;
static const char *images;
static int rounds = 7, fixed_repeats;

static ompjit_module *our_module(const char *source)
{
    char name[64];
    snprintf(name, sizeof name, "nvcc/%s.c", source);
    return module_of(ctx, name);
}

/* nvcc's kernel; the module lives as long as the process. */
static void *their_function(const struct work *w, const char *arch)
{
    char path[4096];
    void *module, *f;
    snprintf(path, sizeof path, "%s/%s.%s.cubin", images, w->name, arch);
    char *image = read_all(path);
    if (!image) {
        snprintf(path, sizeof path, "%s/%s.ptx", images, w->name);
        image = read_all(path);
    }
    if (!image)
        stop("not there", path);
    must(cu.load(&module, image), path);
    must(cu.function(&f, module, w->source), w->source);
    free(image);
    return f;
}

/* -------------------------------------------------------------- arguments */

static double constant(const struct work *w, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = w->constants; p && *p; p = strchr(p, ' ')) {
        p += *p == ' ';
        if (!strncmp(p, name, n) && p[n] == '=')
            return atof(p + n + 1);
    }
    stop("not among the constants", name);
    return 0;
}

static size_t elements(const struct work *w, const param *p)
{
    size_t count = 1;
    for (int i = 0; i < p->dimensions; i++)
        count *= w->n;
    return count;
}

static size_t bytes_of(const struct work *w, const param *p)
{
    return elements(w, p) * (p->type == FLOATS ? sizeof(float)
                                               : sizeof(double));
}

/* Numbers from 0 to 1, the same each time. */
static void fill(void *array, const param *p, size_t n)
{
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        double value = (double)(x >> 8) / (1 << 24);
        if (p->type == FLOATS)
            ((float *)array)[i] = (float)value;
        else
            ((double *)array)[i] = value;
    }
}

static void *new_array(const struct work *w, const param *p, const void *data)
{
    void *there;
    try(ompjit_device_alloc(dev, bytes_of(w, p), &there, &err));
    try(ompjit_device_upload(dev, there, data, bytes_of(w, p), &err));
    return there;
}

static void open_array(const struct work *w, struct sides *s, unsigned i)
{
    const param *p = &w->params[i];
    void *data = malloc(bytes_of(w, p));
    if (!data)
        stop("no memory", p->name);
    fill(data, p, elements(w, p));
    s->args[i].type = OMPJIT_ARG_POINTER;
    s->args[i].value.p = s->theirs[i] = new_array(w, p, data);
    if (p->written)
        s->theirs[i] = new_array(w, p, data);
    s->values[i].p = s->theirs[i];
    free(data);
}

static void open_sides(const struct work *w, struct sides *s)
{
    for (; w->params[s->count].type != END; s->count++) {
        unsigned i = s->count;
        s->args[i].name = w->params[i].name;
        if (w->params[i].type == INT) {
            s->args[i].type = OMPJIT_ARG_I32;
            s->values[i].i = (int)constant(w, w->params[i].name);
            s->args[i].value.i32 = s->values[i].i;
        } else if (w->params[i].type == REAL) {
            s->args[i].type = OMPJIT_ARG_F32;
            s->values[i].f = (float)constant(w, w->params[i].name);
            s->args[i].value.f32 = s->values[i].f;
        } else {
            open_array(w, s, i);
        }
    }
}

static void close_sides(const struct work *w, struct sides *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        if (w->params[i].type < FLOATS)
            continue;
        try(ompjit_device_free(dev, s->args[i].value.p, &err));
        if (w->params[i].written)
            try(ompjit_device_free(dev, s->theirs[i], &err));
    }
}

/* ---------------------------------------------------------------- results */

/* Sums are in another order there, and roots another's. */
static int differs(double a, double b, double tolerance)
{
    double size = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
    return !(fabs(a - b) <= tolerance * (size > 1 ? size : 1));
}

static void compare(const struct work *w, const struct sides *s, unsigned i)
{
    const param *p = &w->params[i];
    size_t size = bytes_of(w, p), wrong = 0;
    void *ours = malloc(size), *theirs = malloc(size);
    if (!ours || !theirs)
        stop("no memory", w->name);
    try(ompjit_device_download(dev, ours, s->args[i].value.p, size, &err));
    try(ompjit_device_download(dev, theirs, s->theirs[i], size, &err));
    for (size_t k = 0; k < elements(w, p); k++)
        wrong += p->type == FLOATS
                     ? differs(((float *)ours)[k], ((float *)theirs)[k], 1e-4)
                     : differs(((double *)ours)[k], ((double *)theirs)[k],
                               1e-10);
    free(ours);
    free(theirs);
    if (wrong)
        stop("our results are not nvcc's", w->name);
}

/* ------------------------------------------------------------------ times */

static double theirs(const struct work *w, void *f, struct sides *s, int n)
{
    void *params[MOST];
    for (unsigned i = 0; i < s->count; i++)
        params[i] = &s->values[i];
    double start = now();
    for (int i = 0; i < n; i++)
        must(cu.launch(f, w->teams, 1, 1, w->threads, 1, 1, 0, stream, params,
                       NULL),
             "cuLaunchKernel");
    must(cu.wait(stream), "cuStreamSynchronize");
    return (now() - start) / n;
}

/* A first launch, of the variant that is compared, and a bound one. */
static ompjit_bound *bind(ompjit_module *mod, const struct work *w,
                          const struct sides *s)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_launch_info info = OMPJIT_LAUNCH_INFO_INIT;
    ompjit_kernel *kernel;
    ompjit_bound *b;
    launch.teams = w->teams;
    launch.threads = w->threads;
    launch.specialize.mode = OMPJIT_SPECIALIZE_NOW;
    try(ompjit_module_kernel(mod, w->source, &kernel, &err));
    try(ompjit_kernel_launch(kernel, dev, &launch, s->args, s->count, &err));
    try(ompjit_kernel_last_launch(kernel, dev, &info, &err));
    if (!info.folded_args)
        stop("not specialized", w->name);
    try(ompjit_kernel_bind(kernel, dev, &launch, s->args, s->count, &b, &err));
    return b;
}

static void run(const struct work *w, const char *arch)
{
    struct sides s = {.count = 0};
    ompjit_module *mod = our_module(w->source);
    void *f = their_function(w, arch);
    open_sides(w, &s);
    ompjit_bound *b = bind(mod, w, &s);
    theirs(w, f, &s, 1);
    for (unsigned i = 0; i < s.count; i++)
        if (w->params[i].written)
            compare(w, &s, i);
    int n = fixed_repeats;
    if (!n)
        n = 1 + (int)(20e-3 / theirs(w, f, &s, 1));
    for (int r = 0; r < rounds; r++) {
        sample("specialized", w->name, "ours", queued(queue, b, n) * 1e6,
               "us");
        sample("specialized", w->name, "nvcc", theirs(w, f, &s, n) * 1e6,
               "us");
    }
    ompjit_bound_destroy(b);
    close_sides(w, &s);
    ompjit_module_destroy(mod);
}

static int read_case(const char *line, struct work *w)
{
    int each;
    char operation[8], form[8];
    if (sscanf(line, "%31s %31s %u %u %7s %d %7s %127[^\n]", w->name, w->source,
               &w->teams, &w->threads, operation, &each, form,
               w->constants) != 8)
        return 0;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (!strcmp(sources[i].name, w->source))
            w->params = sources[i].params;
    if (!w->params)
        stop("no such source", w->source);
    w->n = (size_t)constant(w, "n");
    return 1;
}

static void open_all(ompjit_device_info *info)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    void *primary;
    options.devices = getenv("OMPJIT_TEST_GPU");
    if (!options.devices)
        options.devices = "cuda";
    options.cache.mode = OMPJIT_CACHE_OFF;
    try(ompjit_context_create(&options, &ctx, &err));
    try(ompjit_context_device(ctx, 0, &dev, &err));
    try(ompjit_device_info_get(dev, info, &err));
    if (info->kind == OMPJIT_DEVICE_HOST)
        return;
    open_driver();
    must(cu.retain(&primary, 0), "cuDevicePrimaryCtxRetain");
    must(cu.set_current(primary), "cuCtxSetCurrent");
    try(ompjit_queue_create(dev, &queue, &err));
    try(ompjit_queue_stream(queue, &stream, &err));
}

int main(int argc, char **argv)
{
    ompjit_device_info info = OMPJIT_DEVICE_INFO_INIT;
    char line[256];
    FILE *cases = argc > 2 ? fopen(argv[1], "r") : NULL;
    if (!cases) {
        fprintf(stderr, "usage: nvcc CASES IMAGES [ROUNDS [REPEATS]]\n");
        return 2;
    }
    images = argv[2];
    rounds = argc > 3 ? atoi(argv[3]) : rounds;
    fixed_repeats = argc > 4 ? atoi(argv[4]) : 0;
    open_all(&info);
    while (fgets(line, sizeof line, cases)) {
        struct work w = {.params = NULL};
        if (line[0] == '#' || !read_case(line, &w))
            continue;
        if (info.kind == OMPJIT_DEVICE_HOST) /* only the source was wanted */
            ompjit_module_destroy(our_module(w.source));
        else
            run(&w, info.arch);
    }
    fclose(cases);
    ompjit_queue_destroy(queue);
    ompjit_context_destroy(ctx);
    if (info.kind != OMPJIT_DEVICE_HOST)
        must(cu.release(0), "cuDevicePrimaryCtxRelease");
    return 0;
}
