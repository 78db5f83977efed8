/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CUDA C++ without a GPU: on the host device, as cubins for every architecture,
 * and everything that can be wrong with it.
 */
#include <unistd.h>

#include "door/door.h"
#include "launch/module.h"
#include "targets/arch.h"
#include "core/cuda_source.h"
#include "backend/cuda/nvrtc.h"
#include "backend/nvptx/ptx_text.h"
#include "nvrtc_work.h"
#include "table/rows.h"
#include "table/llvm/table.h"

static bool nvrtc_is_there(void)
{
    unsigned version;
    return !ompjit__nvrtc_version(&version, NULL);
}

static ompjit_status module_of(ompjit_context *ctx, const char *source,
                               ompjit_cuda_compiler compiler,
                               ompjit_module **mod)
{
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    o.cuda_compiler = compiler;
    o.name = "x.cu";
    return ompjit_module_from_cuda(ctx, source, &o, mod, &err);
}

static ompjit_context *host(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    options.devices = "host";
    ompjit_context_create(&options, &ctx, NULL);
    return ctx;
}

/* --------------------------------------------------------------- cubins */

static void cubins_by(ompjit_cuda_compiler compiler, const char *name)
{
    struct work w = {.how = name};
    if (!open_work(&w, "host", compiler)) {
        close_work(&w);
        return;
    }
    for (size_t i = 0; ompjit__arch_at(i); i++) {
        const ompjit__arch *arch = ompjit__arch_at(i);
        if (!arch->ptx_given)
            continue;
        ompjit__spec spec = {0};
        ompjit__image image = {0};
        unsigned good = 0, n = ompjit_module_kernel_count(w.mod);
        ompjit_status s =
            ompjit__door_build(&w.ctx->compiler, &w.mod->unit, arch->name,
                          OMPJIT_FORMAT_CUBIN,
                          &spec, &image, &err);
        if (s == OMPJIT_ERR_UNAVAILABLE) {
            printf("# skipped: %s: %s\n", arch->name, err.text);
            continue;
        }
        for (unsigned k = 0; k < image.nusage; k++) {
            const ompjit_resources *r = &image.usage[k].res;
            good += r->registers && !r->spill_stores && r->code;
        }
        ok(!s && good == n && n == 9, "%s: %u of %u kernels for %s: %s", name,
           good, n, arch->name, s ? err.text : "");
        ompjit__image_free(&image);
    }
    close_work(&w);
}

/* ------------------------------------------------------------ descriptions */

static void description(void)
{
    struct work w = {.how = "description"};
    ompjit_kernel *k;
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_param_info param = OMPJIT_PARAM_INFO_INIT;
    open_work(&w, "host", OMPJIT_CUDA_COMPILER_AUTO);
    ok(!ompjit_module_kernel(w.mod, "vadd", &k, &err), "a kernel by its name");
    ompjit_kernel_info_get(k, &info, NULL);
    ok(info.nparams == 4 && info.max_threads == 256 &&
           info.mode == OMPJIT_MODE_BARE,
       "its launch bounds and parameters");
    ok_string(info.symbol, "_Z4vaddifPKfPf", "its symbol");
    ok(!ompjit_kernel_param(k, 1, &param, &err) && param.bytes == 4 &&
           !param.is_pointer && !strcmp(param.name, "a"),
       "a parameter's name and size");
    ok(!ompjit_kernel_param(k, 3, &param, &err) && param.is_pointer,
       "a pointer");
    ok(!ompjit_module_kernel(w.mod, "stencil", &k, &err) &&
           !ompjit_module_kernel(w.mod, "openmp", &k, &err),
       "kernels in a namespace and in C");
    close_work(&w);
}

/* --------------------------------------------------------------- folding */

static unsigned count(const char *text, const char *words)
{
    unsigned n = 0;
    for (; (text = strstr(text, words)); text++)
        n++;
    return n;
}

/* Literals and geometry of three dimensions are constants in the PTX. */
static void folding(ompjit_cuda_compiler compiler, const char *name)
{
    struct work w = {.how = name};
    ompjit_kernel *k = NULL;
    static const uint64_t literals[] = {2000, 1000};
    static const struct {
        const char *words;
        unsigned times;
    } rows[] = {
        {".entry", 1},         {"%ntid.", 0},       {"%nctaid.", 0},
        {".reqntid 8, 4", 1},  {".maxntid", 0},    {".minnctapersm 3", 1},
        {"stencilEiiPKfPf_param_0]", 0}, {"stencilEiiPKfPf_param_1]", 0},
        {"stencilEiiPKfPf_param_2]", 1},
    };
    open_work(&w, "host", compiler);
    ompjit_module_kernel(w.mod, "stencil", &k, &err);
    ompjit__spec specs[] = {
        {0},
        {.kernel = w.mod->unit.kernels[k->index].symbol,
         .facts.threads = {32, 4, 1},
         .facts.teams = {6, 3, 1},
         .facts.resident_teams = 3,
         .facts.literals.values = literals,
         .facts.literals.mask = 3}};
    ompjit__image images[2] = {{0}};
    for (int i = 0; i < 2; i++)
        ok(!ompjit__door_build(&w.ctx->compiler, &w.mod->unit, "sm_90",
                          OMPJIT_FORMAT_PTX,
                          &specs[i], &images[i], &err),
           "%s: %s PTX", name, i ? "specialized" : "generic");
    for (size_t r = 0; r < OMPJIT__COUNT(rows); r++) {
        unsigned n = count(images[1].bytes.data, rows[r].words);
        ok(n == rows[r].times, "%s: %s stands in it %u times", name,
           rows[r].words, n);
    }
    ok(count(images[0].bytes.data, ".entry") == 9 &&
           count(images[0].bytes.data, "%ntid.") &&
           !count(images[0].bytes.data, ".reqntid"),
       "%s: the generic one has none of it", name);
    for (int i = 0; i < 2; i++)
        ompjit__image_free(&images[i]);
    close_work(&w);
}

/* ompjit_kernel_code folds all dimensions: in the code for one there is no
 * y. */
static void code_of_box(void)
{
    struct work w = {.how = "code"};
    ompjit_kernel *k = NULL;
    ompjit_resources line = OMPJIT_RESOURCES_INIT;
    ompjit_resources box = OMPJIT_RESOURCES_INIT;
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    l.teams = 1;
    l.threads = 4;
    open_work(&w, "host", OMPJIT_CUDA_COMPILER_AUTO);
    ompjit_module_kernel(w.mod, "stencil", &k, &err);
    ompjit_status status =
        ompjit_kernel_code(k, "sm_90", &l, NULL, 0, &line, &err);
    if (status == OMPJIT_ERR_UNAVAILABLE) {
        ok(true, "code of launches # SKIP no assembler here makes cubins");
        close_work(&w);
        return;
    }
    ok(!status, "code of a launch in one dimension");
    l.threads_y = 4;
    ok(!ompjit_kernel_code(k, "sm_90", &l, NULL, 0, &box, &err) &&
           box.instructions > line.instructions,
       "and in two: %u and %u instructions", line.instructions,
       box.instructions);
    close_work(&w);
}

/* Text that is no PTX, or cut off, or of the kind that is left alone. */
static void awkward_text(void)
{
    static const char kernel[] =
        "\n.visible .entry k(\n\t.param .u32 k_param_0\n)\n{\n"
        "\t.reg .b32 %r<3>;\n"
        "\tld.param.v2.u32 {%r1, %r2}, [k_param_0];\n"
        "\tld.param.u32 %q1, [k_param_0];\n"
        "\tld.param.u32 %r1, [k_param_0+4];\n"
        "\tld.param.u32 %r1, [kk_param_0];\n"
        "\tld.param.s8 %r2, [k_param_0];\n"
        "\tmov.u32 %r1, %ntid.w;\n\tret;\n}\n";
    static const uint64_t literals[] = {0x80};
    ompjit__ptx_entry e;
    ompjit__buf out = {0};
    ompjit__unit unit = {0};
    char cut[sizeof kernel];
    unsigned found = 0;
    for (size_t n = 0; n < sizeof kernel - 2; n++) {
        memcpy(cut, kernel, n);
        cut[n] = 0;
        found += ompjit__ptx_next(cut, &e);
    }
    ok(!found, "no kernel in PTX that is cut off anywhere");
    ok(!ompjit__ptx_describe(kernel, &unit, &err) && unit.nkernels == 1 &&
           unit.kernels[0].nparams == 1,
       "nor else more than one");
    ompjit__spec spec = {.kernel = "k",
                         .facts.threads.all = 32,
                         .facts.literals.mask = 1,
                         .facts.literals.values = literals};
    ompjit__ptx_specialize(kernel, &unit, &spec, &out);
    ok(count(out.data, "ld.param") == 4 && count(out.data, "%ntid.w") == 1,
       "what is not known is left alone");
    ok_contains(out.data, "mov.b32 %r2, 0xffffff80;", "the rest is not");
    ompjit__buf_free(&out);
    ok(ompjit__ptx_join("", kernel, &out, &err) == OMPJIT_ERR_INTERNAL,
       "text without a header does not link");
    ompjit__buf_free(&out);
    ompjit__unit_free(&unit);
}

/* Definitions as NVRTC writes them, and whether an image of its own for each
 * variant would be wrong. */
static void variables_of_text(void)
{
    static const struct {
        const char *name, *text, *variable; /* NULL: it has none */
    } rows[] = {
        {"nothing", "", NULL},
        {"a variable", "\n.global .align 4 .u32 counter;\n", "counter"},
        {"one to be linked", "\n.visible .global .align 4 .b8 a[8];\n", "a"},
        {"one with a value", "\n.global .align 4 .u32 n = 7;\n", "n"},
        {"another module's", "\n.extern .global .align 4 .u32 x;\n", NULL},
        {"a text", "\n.global .align 1 .b8 $str[2] = {65};\n", NULL},
        {"a name", "\n.global .align 1 .b8 __unnamed_1[2] = {75};\n", NULL},
        {"the runtime's", "\n.global .align 8 .b8 ompjit_rt_$_heap[8];\n",
         NULL},
        {"a constant", "\n.const .align 4 .u32 c = 1;\n", NULL},
        {"a load", "\n\tld.global.u32 %r1, [%rd1];\n", NULL},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__unit unit = {0};
        ok(!ompjit__ptx_describe(rows[i].text, &unit, &err) &&
               unit.stays_generic == (rows[i].variable != NULL) &&
               unit.nglobals == (rows[i].variable != NULL),
           "%s in PTX", rows[i].name);
        if (unit.nglobals)
            ok_string(unit.globals[0].symbol, rows[i].variable, "  its name");
        ompjit__unit_free(&unit);
    }
}

/* ----------------------------------------------------- the runtime's table */

static const struct {
    const char *function, *type, *flags;
    unsigned argument;
} callbacks[] = {
#define CALLBACK(function, argument, type, flags) \
    {#function, type, flags, argument},
#include "table/llvm/callback.def"
#include "ompjit_rtl.h"
#include "ompjit_tune.h"
};

/* A function of the type that argument `argument` of `function` has to have,
 * into `declared`, and its address into `call`; 0 where any address will do. */
static void add_argument(ompjit__buf *declared, ompjit__buf *call,
                         const char *function, unsigned argument)
{
    static const char *const types[] = {
        ['v'] = "void", ['i'] = "int",  ['l'] = "long long",
        ['s'] = "short", ['p'] = "void *"};
    size_t i = 0;
    while (i < sizeof callbacks / sizeof *callbacks &&
           (strcmp(callbacks[i].function, function) ||
            callbacks[i].argument != argument ||
            strchr(callbacks[i].flags, 'N')))
        i++;
    if (i == sizeof callbacks / sizeof *callbacks) {
        ompjit__buf_printf(call, "%s0", argument ? ", " : "");
        return;
    }
    const char *type = callbacks[i].type;
    ompjit__buf_printf(declared, "static __device__ %s f%zu(",
                       types[(unsigned char)type[0]], i);
    for (size_t k = 2; type[k]; k++)
        ompjit__buf_printf(declared, "%s%s", k > 2 ? ", " : "",
                           types[(unsigned char)type[k]]);
    ompjit__buf_printf(declared, ") {%s}\n",
                       type[0] == 'v' ? "" : " return 0; ");
    ompjit__buf_printf(call, "%s(void *)f%zu", argument ? ", " : "", i);
}

/* Kernels of CUDA get no launch environment, in which a reduction's buffer comes
 * (t/input_t.sh has the error). */
static bool wants_environment(const char *name)
{
    return !strcmp(name, "__kmpc_nvptx_teams_reduce_nowait_v2") ||
           !strcmp(name, "__kmpc_reduction_get_fixed_buffer");
}

/* A kernel that calls all others that the header declares: every type is one that
 * the compiler takes, and every function is linked. */
static char *call_all(unsigned *n)
{
    ompjit__buf text = {0}, calls = {0};
    *n = 0;
    for (int i = 0; i < OMPJIT_RTL_COUNT; i++) {
        const ompjit__rtl *row = &ompjit__rtl_rows[i];
        if (!ompjit__table_device_function(row->name) ||
            ompjit__rtl_newest(row->name) != i || strchr(row->type, '.') ||
            wants_environment(row->name))
            continue;
        ompjit__buf_printf(&calls, "if (n == %d) %s(", i, row->name);
        for (unsigned k = 0; row->type[k + 2]; k++)
            add_argument(&text, &calls, row->name, k);
        ompjit__buf_printf(&calls, ");\n");
        ++*n;
    }
    ompjit__buf_printf(&text, "OMPJIT_KERNEL(all)(int n) {\n%s}\n",
                       calls.data);
    ompjit__buf_free(&calls);
    return text.data;
}

static void table(ompjit_cuda_compiler compiler, const char *name)
{
    unsigned n;
    char *source = call_all(&n);
    ompjit_context *ctx = host();
    ompjit_module *mod = NULL;
    void *data = NULL;
    size_t size = 0;
    ompjit_status s = module_of(ctx, source, compiler, &mod);
    if (!s)
        s = ompjit_module_emit(mod, OMPJIT_FORMAT_CUBIN, "sm_90", &data, &size,
                               &err);
    if (s == OMPJIT_ERR_UNAVAILABLE)
        printf("# skipped: %s\n", err.text);
    else
        ok(!s && size && n > 150, "%s: %u functions of the runtime: %s", name,
           n, s ? err.text : "");
    ompjit_bytes_free(data);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    free(source);
}

/* A variable of the device keeps its value from launch to launch. */
static void variables(void)
{
    static const char source[] =
        "__device__ int counter = 40;\n"
        "__constant__ int step[2] = {0, 1};\n"
        "__global__ void count(int by, int *out)\n"
        "{ counter += by * step[1]; *out = counter; }\n";
    struct work w = {.ctx = host(), .how = "variables"};
    int out = 0;
    ok(!module_of(w.ctx, source, OMPJIT_CUDA_COMPILER_CLANG, &w.mod) &&
           !ompjit_context_device(w.ctx, 0, &w.dev, &err),
       "a module with variables: %s", err.text);
    for (int i = 0; i < 2; i++) {
        ompjit_arg args[] = {I32(1 + i), P};
        w.specialize = i ? OMPJIT_SPECIALIZE_NOW : OMPJIT_SPECIALIZE_OFF;
        launch(&w, "count", (ompjit_launch){.teams = 1, .threads = 1}, args, 2,
               (struct buffer[]){{&out, sizeof out}});
    }
    ok(out == 43, "all variants share them: %d", out);
    close_work(&w);
}

/* ----------------------------------------------------------- what is wrong */

static void wrong_sources(void)
{
    static const struct {
        const char *source, *words;
        ompjit_cuda_compiler compiler;
    } rows[] = {
        {"\n\n__global__ void k() { oops }\n", "x.cu:3",
         OMPJIT_CUDA_COMPILER_CLANG},
        {"\n\n__global__ void k() { oops }\n", "x.cu(3): error",
         OMPJIT_CUDA_COMPILER_NVRTC},
        {"\n\n__global__ void k() { oops }\n", "undeclared identifier",
         OMPJIT_CUDA_COMPILER_AUTO},
        {"struct S { int a, b; };\n__global__ void k(S s, int *p) { *p = s.b; }",
         "parameter 0 (s) is a structure", OMPJIT_CUDA_COMPILER_CLANG},
        {"__global__ int k() { return 1; }", "void",
         OMPJIT_CUDA_COMPILER_CLANG},
        {"#include \"no_such_header.h\"\n", "no_such_header.h",
         OMPJIT_CUDA_COMPILER_AUTO},
        {"__global__ void k() { omp_no_such(); }", "omp_no_such",
         OMPJIT_CUDA_COMPILER_AUTO},
    };
    ompjit_context *ctx = host();
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit_module *mod = NULL;
        if (rows[i].compiler == OMPJIT_CUDA_COMPILER_NVRTC &&
            !nvrtc_is_there()) {
            printf("# skipped: no NVRTC on this machine\n");
            continue;
        }
        ok(module_of(ctx, rows[i].source, rows[i].compiler, &mod) ==
                   OMPJIT_ERR_SOURCE && !mod,
           "a wrong source %zu", i);
        ok_contains(err.text, rows[i].words, "  the text says why");
    }
    ompjit_context_destroy(ctx);
}

/* --------------------------------------------------------- long complaints */

static unsigned long_logs, logs_to_the_end;

static void count_long(void *data, const char *message)
{
    if (strlen(message) < OMPJIT_ERROR_TEXT)
        return;
    long_logs++;
    logs_to_the_end += strstr(message, "nowhere_to_be_found") != NULL;
}

/* More warnings than an error has room for, and then `end`; the caller's to
 * free. */
static char *behind_warnings(const char *end)
{
    ompjit__buf text = {0};
    for (int i = 0; i < 90; i++)
        ompjit__buf_printf(&text, "#warning number %d of many warnings, all of "
                                  "which are alike\n", i);
    ompjit__buf_printf(&text, "%s", end);
    return text.data;
}

static bool is_cut(ompjit_status status)
{
    return status == OMPJIT_ERR_SOURCE &&
           strstr(err.text, "... (cut; the context's log has all ");
}

/* Text for which an error has no room goes to the log, once. */
static void long_complaints(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_context *ctx = NULL;
    ompjit_module *mod;
    char *source = behind_warnings("int x = nowhere_to_be_found;\n");
    options.devices = "host";
    options.log = count_long;
    ompjit_context_create(&options, &ctx, NULL);
    ok(is_cut(ompjit_module_from_c(ctx, source, NULL, &mod, &err)) &&
           long_logs == 1 && logs_to_the_end == 1,
       "clang, C");
    ok(is_cut(module_of(ctx, source, OMPJIT_CUDA_COMPILER_CLANG, &mod)) &&
           long_logs == 2 && logs_to_the_end == 2,
       "clang, CUDA");
    if (nvrtc_is_there()) /* what it says, what clang says, and both, cut */
        ok(is_cut(module_of(ctx, source, OMPJIT_CUDA_COMPILER_NVRTC, &mod)) &&
               long_logs == 5 && logs_to_the_end == 4,
           "NVRTC");
    free(source);
    ompjit_context_destroy(ctx);
}

/* That a source calls functions which are defined elsewhere is seen also behind
 * more warnings than an error has room for. */
static void external_behind_warnings(void)
{
    ompjit_context *ctx = host();
    ompjit_module *mod = NULL;
    char *source =
        behind_warnings("extern \"C\" __global__ void k(int *p) {"
                        " p[0] = omp_get_num_threads(); }\n");
    ok(!module_of(ctx, source, OMPJIT_CUDA_COMPILER_NVRTC, &mod),
       "a source with many warnings that calls the runtime: %s", err.text);
    free(source);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

static void wrong_options(void)
{
    ompjit_context *ctx = host();
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod = NULL;
    o.cuda_compiler = (ompjit_cuda_compiler)9;
    ok(ompjit_module_from_cuda(ctx, "", &o, &mod, &err) == OMPJIT_ERR_INVALID,
       "a compiler that there is not");
    ok(ompjit_module_from_cuda(NULL, "", NULL, &mod, &err) ==
               OMPJIT_ERR_INVALID &&
           ompjit_module_from_cuda(ctx, NULL, NULL, &mod, &err) ==
               OMPJIT_ERR_INVALID &&
           ompjit_module_from_cuda(ctx, "", NULL, NULL, &err) ==
               OMPJIT_ERR_INVALID,
       "missing arguments");
    ompjit_context_destroy(ctx);
}

/* `lines` is one of those that ask for them. */
static void flags(const char *lines)
{
    const char *flags[] = {"-DN=3", "-I", "/nonexistent", "-std=c++20", lines};
    ompjit_context *ctx = host();
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod = NULL;
    o.flags = flags;
    o.nflags = OMPJIT__COUNT(flags);
    ok(!ompjit_module_from_cuda(
           ctx,
           "template <class T> concept any = true;\n"
           "__global__ void k(int *p) { static_assert(N == 3); *p = N; }",
           &o, &mod, &err),
       "flags, %s: %s", lines, err.text);
    void *ptx = NULL;
    size_t size;
    ok(!ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, "sm_90", &ptx, &size, &err),
       "  for a GPU too: %s", err.text);
    ok_contains(ptx, ".loc", "  with lines");
    ompjit_bytes_free(ptx);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

static void wrong_launches(void)
{
    static const struct {
        const char *kernel, *words;
        ompjit_launch launch;
        ompjit_status status;
    } rows[] = {
        {"vadd", "how many teams", {.teams = 1}, OMPJIT_ERR_GEOMETRY},
        {"vadd", "how many teams", {.threads = 1}, OMPJIT_ERR_GEOMETRY},
        {"vadd", "at most 256", {.teams = 1, .threads = 257},
         OMPJIT_ERR_GEOMETRY},
        {"vadd", "at most 256", {.teams = 1, .threads = 16, .threads_y = 17},
         OMPJIT_ERR_GEOMETRY},
        {"vadd", "2^32", {.teams = 65536, .teams_y = 65536, .threads = 1},
         OMPJIT_ERR_GEOMETRY},
        {"openmp", "one dimension", {.teams = 1, .threads = 1, .threads_y = 2},
         OMPJIT_ERR_GEOMETRY},
        {"place", "at most", {.teams = 1, .threads = 64, .threads_y = 64},
         OMPJIT_ERR_GEOMETRY},
        {"vadd", "takes 4 arguments", {.teams = 1, .threads = 1},
         OMPJIT_ERR_ARGUMENT},
        {"nobody", "no kernel nobody; there are", {0}, OMPJIT_ERR_NOT_FOUND},
    };
    struct work w = {.how = "wrong launches"};
    open_work(&w, "host", OMPJIT_CUDA_COMPILER_AUTO);
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit_launch l = rows[i].launch;
        ompjit_kernel *k;
        ompjit_arg args[4] = {I32(0), {.type = OMPJIT_ARG_F32}, P, P};
        static const unsigned counts[] = {4, 3, 1};
        unsigned n = counts[!strcmp(rows[i].kernel, "openmp") ? 1
                            : !strcmp(rows[i].kernel, "place") ? 2 : 0];
        l.size = sizeof l;
        if (rows[i].status == OMPJIT_ERR_ARGUMENT)
            n--;
        if (n != 4)
            args[0] = (ompjit_arg)P;
        if (n == 3) {
            args[0] = (ompjit_arg)I32(0);
            args[1] = (ompjit_arg)P;
        }
        ompjit_status s = ompjit_module_kernel(w.mod, rows[i].kernel, &k, &err);
        if (!s)
            s = ompjit_kernel_launch(k, w.dev, &l, args, n, &err);
        ok(s == rows[i].status, "wrong launch %zu of %s", i, rows[i].kernel);
        ok_contains(err.text, rows[i].words, "  the text says why");
    }
    ompjit_kernel *k;
    ompjit_module_kernel(w.mod, "place", &k, &err);
    ok(ompjit_kernel_launch(k, w.dev, NULL, (ompjit_arg[]){P}, 1, &err) ==
           OMPJIT_ERR_GEOMETRY,
       "a CUDA kernel has no default geometry");
    close_work(&w);
}

/* A source that only NVRTC takes is for GPUs alone. */
static void headers_of_cuda(void)
{
    static const char source[] =
        "#include <cuda_fp16.h>\n"
        "extern \"C\" __global__ void halve(float *p, int n)\n"
        "{ if (threadIdx.x < n) p[threadIdx.x] = __half2float(\n"
        "      __hmul(__float2half(p[threadIdx.x]), __float2half(0.5f))); }\n";
    ompjit_context *ctx = host();
    ompjit_module *mod = NULL;
    ompjit_device *dev;
    if (!nvrtc_is_there() ||
        access("/usr/local/cuda/include/cuda_fp16.h", R_OK)) {
        printf("# skipped: no NVRTC, or no headers of CUDA\n");
        ompjit_context_destroy(ctx);
        return;
    }
    ok(!module_of(ctx, source, OMPJIT_CUDA_COMPILER_AUTO, &mod),
       "a source with headers of CUDA: %s", err.text);
    ompjit_kernel *k = ompjit_module_kernel_at(mod, 0);
    ompjit_resources r = OMPJIT_RESOURCES_INIT;
    ompjit_param_info p = OMPJIT_PARAM_INFO_INIT, n = OMPJIT_PARAM_INFO_INIT;
    ok(!ompjit_kernel_resources(k, "sm_90", &r, &err) && r.registers,
       "has a cubin: %s", err.text);
    ok(!ompjit_kernel_param(k, 0, &p, &err) && p.is_pointer &&
           !ompjit_kernel_param(k, 1, &n, &err) && n.bytes == 4 &&
           !n.is_pointer,
       "and parameters");
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    l.teams = l.threads = 1;
    ok(!ompjit_context_device(ctx, 0, &dev, &err) &&
           ompjit_kernel_launch(k, dev, &l, (ompjit_arg[]){P, I32(0)}, 2,
                                &err) == OMPJIT_ERR_SOURCE,
       "but does not run on the host device");
    ok_contains(err.text, "NVRTC, for GPUs alone", "  which says why");
    void *data;
    size_t size;
    ok(ompjit_module_emit(mod, OMPJIT_FORMAT_LL, NULL, &data, &size, &err) ==
           OMPJIT_ERR_SOURCE,
       "nor has it IR");
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
}

/* NVRTC looks for included files in the source's own folder. */
static void own_folders(void)
{
    static const struct {
        const char *name, *option; /* NULL: none */
    } rows[] = {{"k.cu", NULL}, {"a/b/k.cu", "-Ia/b"}, {"/k.cu", "-I/"}};
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
        ompjit__cuda *cuda = NULL;
        o.name = rows[i].name;
        setenv("OMPJIT_CUDA_HOME", "/nonexistent", 1); /* no headers of CUDA */
        ok(!ompjit__cuda_new("", &o, &cuda, &err), "%s", rows[i].name);
        unsetenv("OMPJIT_CUDA_HOME");
        if (rows[i].option)
            ok_string(cuda && cuda->noptions ? cuda->options[0] : "",
                      rows[i].option, "its own folder");
        ompjit__cuda_free(cuda);
    }
}

int main(void)
{
    own_folders();
    struct work w = {.how = "host device"};
    all_policies(&w, "host", OMPJIT_CUDA_COMPILER_AUTO);
    description();
    variables();
    variables_of_text();
    cubins_by(OMPJIT_CUDA_COMPILER_CLANG, "clang");
    folding(OMPJIT_CUDA_COMPILER_CLANG, "clang");
    code_of_box();
    awkward_text();
    table(OMPJIT_CUDA_COMPILER_CLANG, "clang");
    if (nvrtc_is_there()) {
        cubins_by(OMPJIT_CUDA_COMPILER_NVRTC, "NVRTC");
        folding(OMPJIT_CUDA_COMPILER_NVRTC, "NVRTC");
        table(OMPJIT_CUDA_COMPILER_NVRTC, "NVRTC");
    } else {
        printf("# skipped: no NVRTC on this machine\n");
    }
    wrong_sources();
    long_complaints();
    if (nvrtc_is_there())
        external_behind_warnings();
    wrong_options();
    flags("-g");
    flags("-g1");
    flags("-gline-tables-only");
    wrong_launches();
    headers_of_cuda();
    return done_testing();
}
