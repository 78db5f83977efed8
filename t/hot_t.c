/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The cost of the launch path: allocations and locks of the library, counted
 * while launches are repeated.
 */
#include <link.h>
#include <pthread.h>

#include "cuda_work.h"
#include "ptxi.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
int main(void)
{
    puts("1..0 # SKIP a sanitizer has its own malloc");
    return 0;
}
#else
/* --------------------------------------------------------------- counting */

static uintptr_t library_begin, library_end;
static _Thread_local bool counting;
static _Thread_local unsigned allocations, locks;

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
    if (!strstr(info->dlpi_name, "libompjit_internals"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
            library_begin = begin;
            library_end = begin + p->p_memsz;
        }
    }
    return 1;
}

/* The emulated driver's `operator new` is the one that the library has of LLVM's
 * account. */
static bool is_new(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_sname &&
           !strncmp(info.dli_sname, "_Zn", 3);
}

static void count(unsigned *counter, const void *caller)
{
    *counter += counting && (uintptr_t)caller >= library_begin &&
                (uintptr_t)caller < library_end && !is_new(caller);
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
    count(&allocations, __builtin_return_address(0));
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count(&allocations, __builtin_return_address(0));
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    count(&allocations, __builtin_return_address(0));
    return __libc_realloc(p, size);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int (*real)(pthread_mutex_t *);
    if (!real)
        real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT,
                                                 "pthread_mutex_lock");
    count(&locks, __builtin_return_address(0));
    return real(mutex);
}

/* ---------------------------------------------------------------- launches */

static const char source[] =
    "void scale(float *p, float a, int n) {\n"
    "#pragma omp target teams distribute parallel for is_device_ptr(p)\n"
    "  for (int i = 0; i < n; i++) p[i] = a * p[i] + 1; }\n"
    "void sum(const float *p, double *s, int n) { double t = 0;\n"
    "#pragma omp target teams distribute parallel for is_device_ptr(p) \\\n"
    "    map(tofrom: t) reduction(+: t)\n"
    "  for (int i = 0; i < n; i++) t += p[i];\n"
    "  *s = t; }\n"
    "float x[256], y[256];\n"
    "void enter(void) {\n"
    "#pragma omp target enter data map(to: x, y)\n"
    "}\n"
    "void leave(void) {\n"
    "#pragma omp target exit data map(delete: x, y)\n"
    "}\n"
    "void add(void) {\n"
    "#pragma omp target teams distribute parallel for map(to: x) \\\n"
    "    map(tofrom: y)\n"
    "  for (int i = 0; i < 256; i++) y[i] += x[i]; }\n";

enum { SIZE = 256 };
static ompjit_device *dev;
static ompjit_queue *queue;
static ompjit_kernel *scale, *sum;
static ompjit_bound *bound_scale, *bound_sum;
static ompjit_arg scale_args[3], sum_args[3];
static ompjit_launch alone = OMPJIT_LAUNCH_INIT, queued;
static void (*construct)(void);
static ompjit_error err;

static ompjit_status launch_scale(void)
{
    return ompjit_kernel_launch(scale, dev, &alone, scale_args, 3, &err);
}

static ompjit_status launch_sum(void)
{
    return ompjit_kernel_launch(sum, dev, &alone, sum_args, 3, &err);
}

static ompjit_status run_scale(void)
{
    return ompjit_bound_run(bound_scale, &err);
}

static ompjit_status run_sum(void)
{
    return ompjit_bound_run(bound_sum, &err);
}

static ompjit_status start_scale(void)
{
    return ompjit_bound_start(bound_scale, queue, &err);
}

static ompjit_status start_sum(void)
{
    return ompjit_bound_start(bound_sum, queue, &err);
}

static ompjit_status put_scale(void)
{
    return ompjit_kernel_launch(scale, dev, &queued, scale_args, 3, &err);
}

static ompjit_status put_sum(void)
{
    return ompjit_kernel_launch(sum, dev, &queued, sum_args, 3, &err);
}

static ompjit_status carry_out(void)
{
    construct();
    return OMPJIT_OK;
}

/* `locks`: each, at most. */
static const struct {
    const char *what;
    ompjit_status (*one)(void);
    unsigned locks;
} rows[] = {
    {"a launch", launch_scale, 0},
    {"a launch with a reduction", launch_sum, 0},
    {"a bound launch", run_scale, 0},
    {"a bound launch with a reduction", run_sum, 0},
    {"a bound launch in a queue", start_scale, 0},
    {"a bound launch with a reduction in a queue", start_sum, 1},
    {"a launch in a queue", put_scale, 1},
    {"a launch with a reduction in a queue", put_sum, 2},
    {"a construct with two arrays that are present", carry_out, 2},
};

/* Twenty at once, after some that find all that they need. */
static void repeat(size_t row)
{
    enum { TIMES = 20 };
    ompjit_status status = OMPJIT_OK;
    for (int i = 0; i < 3 && !status; i++)
        status = rows[row].one();
    if (!status)
        status = ompjit_queue_wait(queue, &err);
    allocations = locks = 0;
    counting = true;
    for (int i = 0; i < TIMES && !status; i++)
        status = rows[row].one();
    counting = false;
    unsigned taken = locks;
    ok(!status && !allocations, "%s allocates nothing: %u", rows[row].what,
       allocations);
    ok(taken <= rows[row].locks * TIMES, "  and takes %u locks: %u",
       rows[row].locks, taken);
    ompjit_queue_wait(queue, &err);
}

static void set_args(void *p, void *result)
{
    scale_args[0] = ompjit_arg_pointer("p", p);
    scale_args[1] = ompjit_arg_f32("a", 1);
    scale_args[2] = ompjit_arg_i32("n", SIZE);
    sum_args[0] = scale_args[0];
    sum_args[1] = ompjit_arg_pointer("t", result);
    sum_args[2] = scale_args[2];
}

static bool prepare(ompjit_module *mod, void **p, void **result,
                    void (**leave)(void))
{
    void (*enter)(void);
    bool good = !ompjit_module_kernel(mod, "scale", &scale, &err) &&
                !ompjit_module_kernel(mod, "sum", &sum, &err) &&
                !ompjit_device_alloc(dev, SIZE * sizeof(float), p, &err) &&
                !ompjit_device_alloc(dev, sizeof(double), result, &err) &&
                !ompjit_queue_create(dev, &queue, &err) &&
                !ompjit_module_function(mod, "enter", &enter, &err) &&
                !ompjit_module_function(mod, "leave", leave, &err) &&
                !ompjit_module_function(mod, "add", &construct, &err);
    if (!good)
        return false;
    set_args(*p, *result);
    alone.teams = 2;
    alone.threads = 64;
    queued = alone;
    queued.queue = queue;
    enter();
    return !ompjit_kernel_bind(scale, dev, &alone, scale_args, 3, &bound_scale,
                               &err) &&
           !ompjit_kernel_bind(sum, dev, &alone, sum_args, 3, &bound_sum, &err);
}

/* The sums of many launches in a row, which share what they count in. */
static void results(void *p, void *result)
{
    float ones[SIZE];
    double got = 0;
    bool right = true;
    for (int i = 0; i < SIZE; i++)
        ones[i] = 1;
    ompjit_status status = ompjit_device_upload(dev, p, ones, sizeof ones,
                                                &err);
    for (uint32_t teams = 1; teams <= 64 && !status && right; teams *= 2) {
        ompjit_launch launch = queued;
        launch.teams = teams;
        got = 0;
        status = ompjit_queue_upload(queue, result, &got, sizeof got, &err);
        for (int i = 0; i < 20 && !status; i++)
            status = ompjit_kernel_launch(sum, dev, &launch, sum_args, 3, &err);
        if (!status)
            status = ompjit_queue_download(queue, &got, result, sizeof got,
                                           &err);
        if (!status)
            status = ompjit_queue_wait(queue, &err);
        right = got == 20 * SIZE;
    }
    ok(!status && right, "twenty sums in a row are right: %g, %s", got,
       err.text);
}

static void repeated(void)
{
    ompjit_context *ctx = context(test_device());
    ompjit_module *mod = NULL;
    void *p = NULL, *result = NULL;
    void (*leave)(void) = NULL;
    dl_iterate_phdr(find_library, NULL);
    if (!ok(library_end && !ompjit_context_device(ctx, 0, &dev, &err) &&
                !ompjit_module_from_c(ctx, source, NULL, &mod, &err) &&
                prepare(mod, &p, &result, &leave),
            "kernels: %s", err.text))
        return;
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        repeat(i);
    results(p, result);
    leave();
    ompjit_bound_destroy(bound_scale);
    ompjit_bound_destroy(bound_sum);
    ompjit_queue_destroy(queue);
    ompjit_device_free(dev, p, &err);
    ompjit_device_free(dev, result, &err);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

static const struct scenario scenarios[] = {
    {"cuda", repeated, {"PTXI_STREAM=async", "OMPJIT_ASSEMBLER=driver"}, CLEAN,
     EMULATED},
    {"lazy", repeated, {"PTXI_STREAM=lazy", "OMPJIT_ASSEMBLER=driver"}, CLEAN,
     EMULATED},
};

int main(int argc, char **argv)
{
    return run_scenarios(argc, argv, scenarios, OMPJIT__COUNT(scenarios));
}
#endif
