/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Contexts that check: what a report says, kernels launched by hand, and the
 * options that cannot be. check_t.sh tests the reports of whole programs.
 */
#include <stdbool.h>

#include "device/check/check.h"
#include "ompjit.h"
#include "ompjit_debug.h"
#include "tap.h"

static const char source[] =
    "void shift(int n, int by, float *x, float *y) {\n"
    "#pragma omp target teams distribute parallel for is_device_ptr(x, y)\n"
    "  for (int i = 0; i < n; i++)\n"
    "    y[i] = x[i + by];\n"
    "}\n"
    "void sum(int n, float *x, float *s) {\n"
    "#pragma omp target parallel for is_device_ptr(x, s)\n"
    "  for (int i = 0; i < n; i++)\n"
    "    s[0] += x[i];\n"
    "}\n";

/* The last report. Strings are copied: they end with the call. */
struct seen {
    unsigned n;
    ompjit_check_report last;
    ompjit_check_access access, other;
    char text[1024], file[64], kernel[64];
};

static void on_report(void *data, const ompjit_check_report *report)
{
    struct seen *seen = data;
    seen->n++;
    seen->last = *report;
    seen->access = *report->access;
    if (report->other)
        seen->other = *report->other;
    snprintf(seen->text, sizeof seen->text, "%s", report->text);
    snprintf(seen->file, sizeof seen->file, "%s", report->access->file);
    snprintf(seen->kernel, sizeof seen->kernel, "%s", report->kernel);
}

static void on_log(void *data, const char *message)
{
    if (!strncmp(message, "check: ", 7))
        on_report(data, &(ompjit_check_report){
                            .text = message,
                            .kernel = "",
                            .access = &(ompjit_check_access){.file = ""}});
}

/* -------------------------------------------------------------- options */

static void refused(ompjit_context_options options, const char *words)
{
    ompjit_context *ctx;
    ompjit_error err;
    options.debug.check = 1;
    ok(ompjit_context_create(&options, &ctx, &err) == OMPJIT_ERR_INVALID,
       "a context that cannot check");
    ok_contains(err.text, words, "  says why");
}

static void options(void)
{
    ompjit_context_options cuda = OMPJIT_CONTEXT_OPTIONS_INIT, shared = cuda;
    cuda.devices = "cuda";
    refused(cuda, "only kernels on `host` are checked");
    shared.host_memory = OMPJIT_HOST_MEMORY_SHARED;
    refused(shared, "memory of their own");
}

/* -------------------------------------------------------------- kernels */

enum { N = 64 };

static ompjit_status launch(ompjit_module *mod, ompjit_device *dev,
                            const char *name, const ompjit_arg *args,
                            unsigned nargs)
{
    ompjit_kernel *kernel;
    ompjit_error err;
    ompjit_launch how = OMPJIT_LAUNCH_INIT;
    how.teams = 1;
    how.threads = 4;
    ompjit_status status = ompjit_module_kernel(mod, name, &kernel, &err);
    if (!status)
        status = ompjit_kernel_launch(kernel, dev, &how, args, nargs, &err);
    if (status)
        printf("# %s\n", err.text);
    return status;
}

static ompjit_status shift(ompjit_module *mod, ompjit_device *dev, int by,
                           void *x, void *y)
{
    ompjit_arg args[] = {
        ompjit_arg_i32("n", N),
        ompjit_arg_i32("by", by),
        ompjit_arg_pointer("x", x),
        ompjit_arg_pointer("y", y),
    };
    return launch(mod, dev, "shift", args, 4);
}

static void bounds(ompjit_module *mod, ompjit_device *dev, struct seen *seen,
                   void *x, void *y)
{
    ok(!shift(mod, dev, 0, x, y) && !seen->n, "nothing wrong, nothing said");
    ok(!shift(mod, dev, 3, x, y), "a kernel that reads too far runs on");
    ok(seen->n == 1, "one report for the place");
    const ompjit_check_report *r = &seen->last;
    ok(r->kind == OMPJIT_CHECK_BOUNDS, "out of bounds");
    ok(seen->access.line == 4 && seen->access.column && !seen->access.write &&
           seen->access.bytes == 4,
       "  line, column, a read of 4 bytes");
    ok_string(seen->file, "shift.c", "  file");
    ok_string(seen->kernel, "shift", "  kernel");
    ok(r->kernel_line == 2 && r->team == 0 && seen->access.thread < 4,
       "  its line, team and thread");
    ok_contains(seen->text, "a block of 256 bytes of device memory",
                "  a text, with the block");
    ok(!shift(mod, dev, 3, x, y) && seen->n == 1, "told once");
    float out[N];
    ok(!ompjit_device_download(dev, out, y, sizeof out, NULL) &&
           out[N - 4] == N - 1 && out[N - 3] == 0,
       "what lies outside reads as 0");
}

static void unmapped(ompjit_module *mod, ompjit_device *dev, struct seen *seen,
                     void *x, void *y)
{
    float host[2 * N] = {0};
    unsigned before = seen->n;
    ok(!shift(mod, dev, 0, x, host) && seen->n == before + 1 &&
           seen->last.kind == OMPJIT_CHECK_UNMAPPED && seen->access.write,
       "a pointer of the host's");
    ok(host[5] == 0, "  nothing was written there");
    ok(!shift(mod, dev, 0, NULL, y) &&
           seen->last.kind == OMPJIT_CHECK_NULL,
       "a null pointer");
}

static void races(ompjit_module *mod, ompjit_device *dev, struct seen *seen,
                  void *x, void *s)
{
    ompjit_arg args[] = {
        ompjit_arg_i32("n", N),
        ompjit_arg_pointer("x", x),
        ompjit_arg_pointer("s", s),
    };
    unsigned before = seen->n;
    ok(!launch(mod, dev, "sum", args, 3) && seen->n == before + 1 &&
           seen->last.kind == OMPJIT_CHECK_RACE,
       "a race");
    ok(seen->access.line == 9 && seen->other.line == 9 &&
           seen->access.thread != seen->other.thread &&
           (seen->access.write || seen->other.write),
       "  both accesses");
}

static void freed(ompjit_module *mod, ompjit_device *dev, struct seen *seen,
                  void *x, void *y)
{
    ompjit_error err;
    ok(!ompjit_device_free(dev, y, &err), "a block is freed");
    ok(!shift(mod, dev, 0, x, y) && seen->last.kind == OMPJIT_CHECK_FREED,
       "  and used");
    ok(ompjit_device_free(dev, y, &err) == OMPJIT_ERR_INVALID,
       "  and freed again");
    ok_contains(err.text, "was freed before", "    says so");
}

static void uninitialized(ompjit_module *mod, ompjit_device *dev,
                          struct seen *seen, void *y)
{
    void *fresh;
    ok(!ompjit_device_alloc(dev, N * sizeof(float), &fresh, NULL) &&
           !shift(mod, dev, 0, fresh, y) &&
           seen->last.kind == OMPJIT_CHECK_UNINITIALIZED,
       "a block that was never written");
    ompjit_device_free(dev, fresh, NULL);
}

static void kernels(ompjit_module *mod, ompjit_device *dev, struct seen *seen)
{
    float ones[N];
    void *x, *y, *s;
    for (int i = 0; i < N; i++)
        ones[i] = (float)i;
    ok(!ompjit_device_alloc(dev, sizeof ones, &x, NULL) &&
           !ompjit_device_alloc(dev, sizeof ones, &y, NULL) &&
           !ompjit_device_alloc(dev, sizeof(float), &s, NULL) &&
           !ompjit_device_upload(dev, x, ones, sizeof ones, NULL) &&
           !ompjit_device_upload(dev, s, ones, sizeof(float), NULL),
       "device memory");
    bounds(mod, dev, seen, x, y);
    unmapped(mod, dev, seen, x, y);
    races(mod, dev, seen, x, s);
    uninitialized(mod, dev, seen, y);
    freed(mod, dev, seen, x, y);
    ompjit_device_free(dev, x, NULL);
    ompjit_device_free(dev, s, NULL);
}

static ompjit_module *compile(ompjit_context *ctx, ompjit_device **dev)
{
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod;
    ompjit_error err;
    options.name = "shift.c";
    if (ompjit_module_from_c(ctx, source, &options, &mod, &err) ||
        ompjit_context_device(ctx, 0, dev, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return mod;
}

/* A context with a callback, or one that logs. */
static void session(bool logs)
{
    struct seen seen = {0};
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_device *dev;
    options.debug.check = 1;
    options.debug.on_report = logs ? NULL : on_report;
    options.debug.on_report_data = &seen;
    options.log = logs ? on_log : NULL;
    options.log_data = &seen;
    ok(!ompjit_context_create(&options, &ctx, NULL), "a context that checks");
    ompjit_module *mod = compile(ctx, &dev);
    if (logs) {
        ok(!shift(mod, dev, 0, NULL, NULL) && seen.n > 0,
           "without a callback it logs");
        ok_contains(seen.text, "null-pointer", "  what was wrong");
    } else {
        kernels(mod, dev, &seen);
    }
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

/* Variables of an image for which memory runs out in the middle: the name of one
 * cannot be copied. */
static void half_an_image(void)
{
    static char memory[64];
    static const ompjit__check_variable variables[] = {
        {memory, 16, "a"}, {memory + 32, 16, NULL}};
    ompjit__memory_map map = {.n = 0};
    ompjit__range range;
    ok(ompjit__memory_open(&map) && !ompjit__memory_add(&map, variables, 2),
       "variables for which there is no memory");
    ok(!ompjit__memory_holds(&map, memory, 1, &range),
       "none of them is the device's");
    ompjit__memory_close(&map);
}

int main(void)
{
    half_an_image();
    setenv("OMPJIT_HOST_MEMORY", "shared", 1); /* the option wins */
    options();
    session(false);
    session(true);
    return done_testing();
}
