/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Each way to hand the library something bad, through its public API: the
 * status, the stage, and words of the text. A row runs three times in one
 * context, which then has to do good work as if nothing had been; the library
 * prints nothing and leaves neither descriptors nor processes. For memory, run
 * this under valgrind.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ompjit.h"
#include "ompjit_tune.h"
#include "tap.h"

enum where { HOST, NO_CLANG, NO_GPU, CONTEXTS };

static const struct {
    const char *devices, *clang;
} settings[CONTEXTS] = {
    [HOST] = {"host", NULL},
    [NO_CLANG] = {"host", "/nonexistent/clang"},
    [NO_GPU] = {"cuda", NULL},
};

/* The start of every row; the first two are files in t/data. */
static struct {
    char *omp, *bare;
    unsigned char *bitcode;
    size_t bitcode_size;
    ompjit_context *ctx[CONTEXTS];
    ompjit_module *mod; /* of HOST, from source */
    ompjit_device *dev;
    unsigned stored; /* results that failures stored: there must be none */
} world;

static const char source[] =
    "void saxpy(int n, float a, float *x, float *y) {\n"
    "#pragma omp target teams distribute parallel for thread_limit(64) "
    "map(to: x[:n]) map(y[:n])\n"
    "  for (int i = 0; i < n; i++) y[i] += a * x[i];\n"
    "}\n"
    "void wide(int n, float *y) {\n"
    "#pragma omp target teams distribute parallel for map(y[:n])\n"
    "  for (int i = 0; i < n; i++) y[i] = i;\n"
    "}\n";

struct row {
    const char *name;
    ompjit_status (*provoke)(const struct row *row, ompjit_error *err);
    ompjit_status status;
    ompjit_stage stage;
    const char *words[4];
    /* The change that makes it bad. */
    const char *from, *to; /* in the OpenMP module; every `from` is replaced */
    unsigned number;
    enum where where;
};

/* ---------------------------------------------------------- the bad things */

/* Failures leave results alone. */
#define UNTOUCHED ((void *)&world)

static ompjit_status module_made(ompjit_status status, ompjit_module *mod)
{
    if (status)
        world.stored += mod != UNTOUCHED;
    else
        ompjit_module_destroy(mod);
    return status;
}

static ompjit_status bad_c(const struct row *row, ompjit_error *err)
{
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod = UNTOUCHED;
    options.name = "bad.c";
    return module_made(ompjit_module_from_c(world.ctx[row->where],
                                            row->to ? row->to : source,
                                            &options, &mod, err),
                       mod);
}

static ompjit_status read_ir(const void *ir, size_t size, ompjit_error *err)
{
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod = UNTOUCHED;
    options.name = "bad.ll";
    return module_made(ompjit_module_from_ir(world.ctx[HOST], ir, size, NULL,
                                             0, &options, &mod, err),
                       mod);
}

static ompjit_status bad_ir(const struct row *row, ompjit_error *err)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    const char *s = world.omp;
    for (const char *p; (p = strstr(s, row->from)); s = p + strlen(row->from))
        fprintf(f, "%.*s%s", (int)(p - s), s, row->to);
    fputs(s, f);
    fclose(f);
    ompjit_status status = read_ir(text, size, err);
    free(text);
    return status;
}

/* Good bitcode of which `number` per mille are there. Its own allocation, so
 * that valgrind sees what is read past it. */
static ompjit_status truncated(const struct row *row, ompjit_error *err)
{
    size_t size = world.bitcode_size * row->number / 1000;
    char *cut = malloc(size);
    memcpy(cut, world.bitcode, size);
    ompjit_status status = read_ir(cut, size, err);
    free(cut);
    return status;
}

/* Good bitcode that is noise from `number` per mille on. */
static ompjit_status garbage(const struct row *row, ompjit_error *err)
{
    size_t size = world.bitcode_size;
    unsigned char *noisy = malloc(size);
    uint32_t x = 1;
    memcpy(noisy, world.bitcode, size);
    for (size_t i = size * row->number / 1000; i < size; i++)
        if (i >= 4) /* the magic number stays */
            noisy[i] = (unsigned char)((x = x * 1103515245u + 12345u) >> 16);
    ompjit_status status = read_ir(noisy, size, err);
    free(noisy);
    return status;
}

static ompjit_status unknown_kernel(const struct row *row, ompjit_error *err)
{
    ompjit_kernel *k = UNTOUCHED;
    ompjit_status status = ompjit_module_kernel(world.mod, row->to, &k, err);
    world.stored += k != UNTOUCHED;
    return status;
}

static ompjit_status unknown_function(const struct row *row, ompjit_error *err)
{
    void (*fn)(void) = NULL;
    ompjit_status status = ompjit_module_function(world.mod, row->to, &fn, err);
    world.stored += fn != NULL;
    return status;
}

/* As cubin, where there is an assembler at all; `to` is the architecture. */
static ompjit_status emit(const struct row *row, ompjit_error *err)
{
    void *data = UNTOUCHED;
    size_t size = 77;
    ompjit_status status = ompjit_module_emit(world.mod, OMPJIT_FORMAT_CUBIN,
                                              row->to, &data, &size, err);
    world.stored += status && (data != UNTOUCHED || size != 77);
    return status;
}

static ompjit_status resources(const struct row *row, ompjit_error *err)
{
    ompjit_resources res = OMPJIT_RESOURCES_INIT;
    return ompjit_kernel_resources(ompjit_module_kernel_at(world.mod, 0),
                                   row->to, &res, err);
}

static ompjit_status no_device(const struct row *row, ompjit_error *err)
{
    ompjit_device *dev = UNTOUCHED;
    ompjit_status status =
        ompjit_context_device(world.ctx[row->where], row->number, &dev, err);
    world.stored += dev != UNTOUCHED;
    return status;
}

enum { N = 100 };
static float x[N], y[N];

/* A function whose target region has no device to run on: the context tells,
 * and the host's version has run. */
static ompjit_status no_device_for_region(const struct row *row,
                                          ompjit_error *err)
{
    ompjit_context *ctx = world.ctx[row->where];
    ompjit_module *mod;
    void (*fn)(int, float, float *, float *) = NULL;
    ompjit_status status = ompjit_module_from_c(ctx, source, NULL, &mod, err);
    if (status)
        return status;
    status = ompjit_module_function(mod, "saxpy", (void (**)(void))&fn, err);
    if (!status) {
        x[1] = y[1] = 1;
        fn(2, 3, x, y);
        world.stored += y[1] != 4;
        status = ompjit_context_failure(ctx, err);
    }
    ompjit_module_destroy(mod);
    return status;
}

/* saxpy of `mod` with one change. */
static ompjit_status saxpy(ompjit_module *mod, ompjit_launch *launch,
                           unsigned nargs, ompjit_arg_type type_of_n,
                           ompjit_error *err)
{
    ompjit_arg args[5] = {
        ompjit_arg_pointer("x", x),
        ompjit_arg_f32("a", 2),
        ompjit_arg_i64("n", N),
        ompjit_arg_pointer("y", y),
        ompjit_arg_pointer("y", y),
    };
    args[2].type = type_of_n;
    ompjit_kernel *k;
    ompjit_status status = ompjit_module_kernel(mod, "saxpy", &k, err);
    return status ? status
                  : ompjit_kernel_launch(k, world.dev, launch, args, nargs,
                                         err);
}

static ompjit_status argument_count(const struct row *row, ompjit_error *err)
{
    return saxpy(world.mod, NULL, row->number, OMPJIT_ARG_I32, err);
}

static ompjit_status argument_type(const struct row *row, ompjit_error *err)
{
    return saxpy(world.mod, NULL, 4, (ompjit_arg_type)row->number, err);
}

/* More than the thread_limit of the source. */
static ompjit_status threads(const struct row *row, ompjit_error *err)
{
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.threads = row->number;
    return saxpy(world.mod, &launch, 4, OMPJIT_ARG_I32, err);
}

/* More than the device has, by a kernel without a bound of its own. */
static ompjit_status wide(const struct row *row, ompjit_error *err)
{
    ompjit_arg args[] = {ompjit_arg_i32("n", N),
                         ompjit_arg_pointer("y", y)};
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    launch.threads = row->number;
    ompjit_kernel *k;
    ompjit_status status = ompjit_module_kernel(world.mod, "wide", &k, err);
    return status ? status
                  : ompjit_kernel_launch(k, world.dev, &launch, args, 2, err);
}

/* ------------------------------------------------------------------- rows */

#define DECLARED "declare void @__kmpc_target_deinit()"
/* Loading the driver, or asking it; depends on the machine. */
#define NO_GPU_STAGE OMPJIT_STAGE_COUNT
#define MADE_BY "clang version 21.1.8"

static const struct row rows[] = {
    {"C that does not compile", bad_c, OMPJIT_ERR_SOURCE,
     OMPJIT_STAGE_FRONTEND,
     {"bad.c:2:10: error: ", "undeclared identifier 'nothing'"},
     .to = "int f(void) {\n  return nothing;\n}\n"},
    {"IR that does not parse", bad_ir, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
     {"bad.ll", "expected instruction opcode", "bad.ll:37:3: error"},
     .from = "store i32 %i, ptr %a", .to = "frobnicate i32 %i, ptr %a"},
    {"IR that does not verify", bad_ir, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
     {"bad.ll is not valid IR", "does not dominate all uses", "%early"},
     .from = "store i32 %i, ptr %a, align 4",
     .to = "%early = add i32 %late, 1\n  %late = add i32 %i, 1"},
    {"nothing at all", bad_ir, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
     {"bad.ll"}, .from = "\n", .to = ""},
    {"the start of bitcode's magic number", truncated, OMPJIT_ERR_IR,
     OMPJIT_STAGE_READ, {"bad.ll"}, .number = 1},
    {"a tenth of bitcode", truncated, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
     {"bad.ll", "truncated"}, .number = 100},
    {"half of bitcode", truncated, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
     {"bad.ll", "truncated"}, .number = 500},
    {"nearly all of bitcode", truncated, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
     {"bad.ll", "truncated"}, .number = 999},
    {"noise after bitcode's magic number", garbage, OMPJIT_ERR_IR,
     OMPJIT_STAGE_READ, {"bad.ll"}, .number = 0},
    {"bitcode with noise in its second half", garbage, OMPJIT_ERR_IR,
     OMPJIT_STAGE_READ, {"bad.ll"}, .number = 500},
    {"a runtime function declared with another type", bad_ir, OMPJIT_ERR_ABI,
     OMPJIT_STAGE_READ, {"bad.ll", "__kmpc_barrier", "void (ptr)",
     "void (ptr, i32)"},
     .from = DECLARED, .to = DECLARED "\ndeclare void @__kmpc_barrier(ptr)"},
    {"IR of a compiler that is too old", bad_ir, OMPJIT_ERR_IR,
     OMPJIT_STAGE_READ,
     {"bad.ll", "made by Debian clang version 14.0.6", "clang 18 to 22"},
     .from = MADE_BY, .to = "Debian clang version 14.0.6"},
    {"a kernel without \"kernel\"", bad_ir, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
     {"bad.ll", "__omp_offloading_10_ab__ZN2ns4loopIfEEvPT_i_l7_1",
      "lacks the function attribute \"kernel\""},
     .from = "nounwind \"kernel\"", .to = "nounwind"},
    {"an unknown kernel", unknown_kernel, OMPJIT_ERR_NOT_FOUND,
     OMPJIT_STAGE_API, {"good.c", "no kernel sxapy", "saxpy:2", "wide:6"},
     .to = "sxapy"},
    {"a known kernel at another line", unknown_kernel, OMPJIT_ERR_NOT_FOUND,
     OMPJIT_STAGE_API, {"good.c", "no kernel saxpy:3", "saxpy:2"},
     .to = "saxpy:3"},
    {"an unknown function", unknown_function, OMPJIT_ERR_NOT_FOUND,
     OMPJIT_STAGE_API, {"sxapy"}, .to = "sxapy"},
    {"an argument too few", argument_count, OMPJIT_ERR_ARGUMENT,
     OMPJIT_STAGE_LAUNCH, {"kernel saxpy(", "takes 4 arguments, got 3"},
     .number = 3},
    {"an argument too many", argument_count, OMPJIT_ERR_ARGUMENT,
     OMPJIT_STAGE_LAUNCH, {"kernel saxpy(", "takes 4 arguments, got 5"},
     .number = 5},
    {"a scalar of another size", argument_type, OMPJIT_ERR_ARGUMENT,
     OMPJIT_STAGE_LAUNCH,
     {"kernel saxpy(", "4-byte integer n", "n is a 4-byte integer",
      "i64 (8 bytes)"},
     .number = OMPJIT_ARG_I64},
    {"a pointer for a scalar", argument_type, OMPJIT_ERR_ARGUMENT,
     OMPJIT_STAGE_LAUNCH, {"kernel saxpy(", "n is a 4-byte integer", "got pointer"},
     .number = OMPJIT_ARG_POINTER},
    {"an argument of no type", argument_type, OMPJIT_ERR_INVALID,
     OMPJIT_STAGE_API, {"ompjit_arg: type is 99", "values are 0 to 6"},
     .number = 99},
    {"an unknown architecture", emit, OMPJIT_ERR_TARGET, OMPJIT_STAGE_API,
     {"'sm_42'", "sm_75, sm_80", "sm_120"}, .to = "sm_42"},
    {"what a kernel uses there", resources, OMPJIT_ERR_TARGET,
     OMPJIT_STAGE_API, {"'sm_42'", "sm_75, sm_80"}, .to = "sm_42"},
    {"no nvJitLink", emit, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_ASSEMBLE,
     {"nvJitLink not found", "/nonexistent/"}, .to = "sm_90"},
    {"no nvJitLink to ask what is used", resources, OMPJIT_ERR_UNAVAILABLE,
     OMPJIT_STAGE_ASSEMBLE, {"nvJitLink not found", "/nonexistent/"},
     .to = "sm_90"},
    {"no such device", no_device, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
     {"no device 1", "has 1"}, .number = 1},
    {"no GPU", no_device, OMPJIT_ERR_UNAVAILABLE, NO_GPU_STAGE, {"CUDA"},
     .where = NO_GPU},
    {"no GPU for a function's target region", no_device_for_region,
     OMPJIT_ERR_UNAVAILABLE, NO_GPU_STAGE, {"CUDA"},
     .where = NO_GPU},
    {"no clang", bad_c, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_FRONTEND,
     {"/nonexistent/clang", "clang 22 is needed"}, .where = NO_CLANG},
    {"more threads than the kernel's bound", threads, OMPJIT_ERR_GEOMETRY,
     OMPJIT_STAGE_LAUNCH,
     {"kernel saxpy", "a team of 65 threads", "at most 64"}, .number = 65},
    {"more threads than the device's", wide, OMPJIT_ERR_GEOMETRY,
     OMPJIT_STAGE_LAUNCH, {"wide", "a team of 5000 threads", "at most "},
     .number = 5000},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* -------------------------------------------------------------- good things */

static int saxpy_right(ompjit_module *mod, ompjit_error *err)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    if (saxpy(mod, NULL, 4, OMPJIT_ARG_I32, err))
        return 0;
    for (int i = 0; i < N; i++)
        wrong += y[i] != 1 + 2 * (float)i;
    return !wrong;
}

static ompjit_status compile(ompjit_context *ctx, ompjit_module **mod,
                             ompjit_error *err)
{
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    options.name = "good.c";
    return ompjit_module_from_c(ctx, source, &options, mod, err);
}

/* Compiles, and runs what it compiled. */
static int good_host(ompjit_context *ctx, ompjit_error *err)
{
    ompjit_module *mod;
    if (compile(ctx, &mod, err))
        return 0;
    int right = saxpy_right(mod, err);
    ompjit_module_destroy(mod);
    return right;
}

/* IR needs no clang. */
static int good_ir(ompjit_context *ctx, ompjit_error *err)
{
    float v = 1;
    ompjit_arg args[] = {ompjit_arg_pointer(NULL, &v),
                         ompjit_arg_f32(NULL, 5),
                         ompjit_arg_i16(NULL, 3)};
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_device *dev;
    ompjit_module *mod;
    ompjit_kernel *k;
    launch.teams = launch.threads = 1;
    if (ompjit_module_from_ir(ctx, world.bare, strlen(world.bare), NULL, 0,
                              NULL, &mod, err))
        return 0;
    int right = !ompjit_module_kernel(mod, "scale", &k, err) &&
                !ompjit_context_device(ctx, 0, &dev, err) &&
                !ompjit_kernel_launch(k, dev, &launch, args, 3, err) && v == 5;
    ompjit_module_destroy(mod);
    return right;
}

/* PTX needs no GPU. */
static int good_ptx(ompjit_context *ctx, ompjit_error *err)
{
    ompjit_module *mod;
    void *ptx = NULL;
    size_t size;
    if (compile(ctx, &mod, err))
        return 0;
    int right = !ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, "sm_90", &ptx,
                                    &size, err) &&
                strstr(ptx, ".entry __omp_offloading");
    ompjit_bytes_free(ptx);
    ompjit_module_destroy(mod);
    return right;
}

/* -------------------------------------------------------------- the run */

enum { TIMES = 2 };
static struct {
    ompjit_error err[TIMES];
    ompjit_status status[TIMES + 1]; /* the last without an error object */
    int good;                        /* a launch right after it is right */
} got[ROWS];

static void provoke(size_t i)
{
    for (int t = 0; t < TIMES; t++) {
        /* Errors need no initialisation. */
        memset(&got[i].err[t], 0x5a, sizeof got[i].err[t]);
        got[i].status[t] = rows[i].provoke(&rows[i], &got[i].err[t]);
    }
    got[i].status[TIMES] = rows[i].provoke(&rows[i], NULL);
    got[i].good = saxpy_right(world.mod, NULL);
}

/* Runs all rows with both outputs in a file; returns its length. */
static long provoke_all(void)
{
    struct stat s;
    fflush(NULL);
    FILE *file = tmpfile();
    int saved[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    dup2(fileno(file), STDOUT_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    for (size_t i = 0; i < ROWS; i++)
        provoke(i);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], STDOUT_FILENO + i);
        close(saved[i]);
    }
    fstat(fileno(file), &s);
    fclose(file);
    return (long)s.st_size;
}

static void judge(size_t i)
{
    const struct row *row = &rows[i];
    for (int t = 0; t < TIMES; t++) {
        const ompjit_error *err = &got[i].err[t];
        if (!ok(got[i].status[t] == row->status && err->status == row->status,
                "%s: %s", row->name, ompjit_status_name(row->status)))
            printf("# %s\n", ompjit_status_name(got[i].status[t]));
        if (!got[i].status[t])
            continue;
        if (row->stage != NO_GPU_STAGE &&
            !ok(err->stage == row->stage, "%s: in %s", row->name,
                ompjit_stage_name(row->stage)))
            printf("# %s\n", ompjit_stage_name(err->stage));
        for (int w = 0; w < 4 && row->words[w]; w++)
            ok_contains(err->text, row->words[w], "%s: says %s", row->name,
                        row->words[w]);
    }
    ok(got[i].status[TIMES] == row->status, "%s: without an error object",
       row->name);
    ok(got[i].good, "%s: the next launch is right", row->name);
}

/* ----------------------------------------------------------------- set-up */

static char *load(const char *name)
{
    const char *srcdir = getenv("srcdir");
    char path[4096], *text = calloc(1, 65536);
    snprintf(path, sizeof path, "%s/t/data/%s", srcdir ? srcdir : ".", name);
    FILE *f = fopen(path, "re");
    if (!f || !fread(text, 1, 65535, f)) {
        printf("Bail out! cannot read %s\n", path);
        exit(1);
    }
    fclose(f);
    return text;
}

static int set_up(ompjit_error *err)
{
    world.omp = load("v21.ll");
    world.bare = load("v22-bare.ll");
    for (int i = 0; i < CONTEXTS; i++) {
        ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
        options.devices = settings[i].devices;
        options.compiler.clang = settings[i].clang;
        if (ompjit_context_create(&options, &world.ctx[i], err))
            return 0;
    }
    void *bitcode = NULL;
    ompjit_status status = compile(world.ctx[HOST], &world.mod, err);
    if (!status)
        status = ompjit_context_device(world.ctx[HOST], 0, &world.dev, err);
    if (!status)
        status = ompjit_module_emit(world.mod, OMPJIT_FORMAT_BC, NULL, &bitcode,
                                    &world.bitcode_size, err);
    world.bitcode = bitcode;
    return !status;
}

static void tear_down(void)
{
    ompjit_bytes_free(world.bitcode);
    ompjit_module_destroy(world.mod);
    for (int i = 0; i < CONTEXTS; i++)
        ompjit_context_destroy(world.ctx[i]);
    free(world.omp);
    free(world.bare);
}

/* ------------------------------------------------------- launches on a GPU */

/* Launches that only a GPU refuses, on the emulated one: the driver is loaded
 * once in a process, so this is a process of its own. */
static int gpu(void)
{
    static const struct {
        ompjit_launch launch;
        const char *words;
    } launches[] = {
        {{.threads = 65}, "at most 64"},
        {{.dynamic_shared = 232449}, "232449 dynamic bytes of team-shared"},
        {{.dynamic_shared = 4294967295u}, "but a team can have 232448"},
    };
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx;
    ompjit_error err = {.text = ""};
    options.devices = "cuda";
    options.compiler.assembler = OMPJIT_ASSEMBLER_DRIVER;
    ok(!ompjit_context_create(&options, &ctx, &err) &&
           !ompjit_context_device(ctx, 0, &world.dev, &err) &&
           !compile(ctx, &world.mod, &err),
       "set-up %s", err.text);
    for (int i = 0; i < 6; i++) {
        ompjit_launch launch = launches[i % 3].launch;
        launch.size = sizeof launch;
        ok(saxpy(world.mod, &launch, 4, OMPJIT_ARG_I32, &err) ==
                   OMPJIT_ERR_GEOMETRY &&
               err.stage == OMPJIT_STAGE_LAUNCH,
           "launch %d is refused", i);
        ok_contains(err.text, "saxpy", "  by the kernel's name");
        ok_contains(err.text, launches[i % 3].words, "  with the cause");
    }
    for (int i = 0; i < N; i++)
        x[i] = 1;
    void *on_gpu[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        ok(!ompjit_device_alloc(world.dev, sizeof x, &on_gpu[i], &err) &&
               !ompjit_device_upload(world.dev, on_gpu[i], x, sizeof x,
                                     &err),
           "memory of the GPU");
    err.text[0] = 0;
    ompjit_arg args[] = {ompjit_arg_pointer("x", on_gpu[0]),
                         ompjit_arg_f32("a", 2),
                         ompjit_arg_i32("n", 4),
                         ompjit_arg_pointer("y", on_gpu[1])};
    ompjit_kernel *k;
    ok(!ompjit_module_kernel(world.mod, "saxpy", &k, &err) &&
           !ompjit_kernel_launch(k, world.dev, NULL, args, 4, &err) &&
           !ompjit_device_download(world.dev, y, on_gpu[1], sizeof y, &err) &&
           y[0] == 3 && y[3] == 3 && y[4] == 1,
       "afterwards a launch is right %s", err.text);
    for (int i = 0; i < 2; i++)
        ompjit_device_free(world.dev, on_gpu[i], NULL);
    ompjit_module_destroy(world.mod);
    ompjit_context_destroy(ctx);
    return done_testing();
}

/* This program again with the emulated driver, its lines as comments. */
static void run_gpu(void)
{
    const char *ptxi = getenv("PTXI"), *old = getenv("LD_LIBRARY_PATH");
    char path[8192], self[4096] = "", line[8192];
    snprintf(path, sizeof path, "%s/libcuda.so.1", ptxi ? ptxi : "");
    if (!ptxi || access(path, R_OK)) {
        ok(1, "launches on a GPU # SKIP no emulated driver in PTXI");
        return;
    }
    snprintf(path, sizeof path, "%s:%s", ptxi, old ? old : "");
    /* Not exec of the link itself, which under valgrind is valgrind. */
    ok(readlink("/proc/self/exe", self, sizeof self - 1) > 0, "own name");
    int fds[2], status = -1;
    if (!ok(!pipe2(fds, O_CLOEXEC), "pipe"))
        return;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        setenv("LD_LIBRARY_PATH", path, 1);
        dup2(fds[1], STDOUT_FILENO);
        execl(self, self, "gpu", (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    FILE *in = fdopen(fds[0], "r");
    while (fgets(line, sizeof line, in))
        printf("# %s", line);
    fclose(in);
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status) && !WEXITSTATUS(status), "launches on a GPU");
}

static int count_fds(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "gpu"))
        return gpu();
    run_gpu();
    ompjit_error err = {.text = ""};
    setenv("OMPJIT_ASSEMBLER", "nvjitlink", 1);
    setenv("OMPJIT_CUDA_HOME", "/nonexistent", 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1); /* no GPU where there is a driver */
    unsetenv("OMPJIT_CUDA_WHEELS");
    unsetenv("OMPJIT_LOG");
    int fds = count_fds();
    if (!ok(set_up(&err) && saxpy_right(world.mod, &err), "set-up: %s",
            err.text))
        return done_testing();
    long printed = provoke_all();
    for (size_t i = 0; i < ROWS; i++)
        judge(i);
    ok(printed == 0, "%ld bytes were printed", printed);
    ok(world.stored == 0, "%u failures stored a result", world.stored);
    ok(good_host(world.ctx[HOST], &err), "afterwards C compiles and runs: %s",
       err.text);
    ok(good_ir(world.ctx[NO_CLANG], &err), "IR runs without clang: %s",
       err.text);
    ok(good_ptx(world.ctx[NO_GPU], &err), "PTX is made without a GPU: %s",
       err.text);
    tear_down();
    ok(count_fds() == fds, "no descriptor is left");
    ok(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD,
       "no process is left");
    return done_testing();
}
