/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR of several clangs into units: what is upgraded, what is refused, and what
 * a unit says of its kernels. The data are small modules typed as those
 * compilers write them; a refused one is a good one with one thing changed.
 */
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>

#include "formats/bitcode.h"
#include "frontend/clang/clang.h"
#include "front.h"

static ompjit_context *ctx;
static ompjit_error err;

static ompjit__buf load(const char *name)
{
    const char *srcdir = getenv("srcdir");
    char *path = ompjit__format("%s/t/data/%s", srcdir ? srcdir : ".", name);
    ompjit__buf b = {0};
    if (ompjit__read_file(path, &b, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    free(path);
    return b;
}

/* A unit's half as text again. */
static char *text_of(const ompjit__buf *bitcode)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        bitcode->data, bitcode->size, "half");
    LLVMModuleRef m;
    char *text = NULL;
    if (!LLVMParseIRInContext2(context, memory, &m, NULL)) {
        char *s = LLVMPrintModuleToString(m);
        text = ompjit__strdup(s);
        LLVMDisposeMessage(s);
        LLVMDisposeModule(m);
    }
    LLVMDisposeMemoryBuffer(memory);
    LLVMContextDispose(context);
    return text;
}

static int count_words(const char *text, const char *words)
{
    int n = 0;
    for (; text && (text = strstr(text, words)); text += strlen(words))
        n++;
    return n;
}

/* --------------------------------------------------------------- clang 18 */

static void param_is(const ompjit__param *p, const char *name, uint8_t kind,
                     unsigned bytes, unsigned size, uint64_t map_type)
{
    ok_string(p->name, name, "parameter %s: name", name);
    ok(p->kind == kind && p->bytes == bytes, "parameter %s: kind and bytes",
       name);
    ok(p->size == size && p->map_type == map_type,
       "parameter %s: size %u and map type %#lx of the host half", name,
       p->size, (unsigned long)p->map_type);
}

static void check_v18_kernel(const ompjit__unit *unit, bool host)
{
    const ompjit__kernel_desc *k = kernel_named(unit, "add");
    if (!ok(k && unit->nkernels == 1, "18: one kernel, named by its function"))
        return;
    ok_string(k->symbol, "__omp_offloading_10_ab_add_l2", "18: symbol");
    ok(k->line == 2 && k->launch_env, "18: line and launch environment");
    ok(k->mode == OMPJIT_MODE_GENERIC, "18: mode is the third byte");
    ok(k->min_threads == 1 && k->max_threads == 64 && k->min_teams == 2 &&
           k->max_teams == 16,
       "18: bounds");
    ok(k->reduction_size == 8 && k->reduction_length == 1024, "18: reduction");
    if (!ok(k->nparams == 3, "18: three parameters"))
        return;
    param_is(&k->params[0], "n", OMPJIT__PARAM_SCALAR, 8, host ? 4 : 0,
             host ? 800 : 0);
    param_is(&k->params[1], "a", OMPJIT__PARAM_POINTER, 8, 0, host ? 35 : 0);
    param_is(&k->params[2], "s", OMPJIT__PARAM_FLOAT, 8, host ? 8 : 0,
             host ? 800 : 0);
}

static void check_v18_device(const ompjit__unit *unit)
{
    char *text = text_of(&unit->device_bc);
    ok_contains(text,
                "call void @__kmpc_parallel_60(ptr @1, i32 %1, i32 1, i32 -1, "
                "i32 -1, ptr @outlined, ptr @outlined_wrapper, ptr %args, i64 1, i32 "
                "0) #",
                "18: parallel_51 has become parallel_60, not strict");
    ok_contains(text, "call void @__kmpc_get_shared_variables(ptr ",
                "18: and has the workers' function, as the mode is generic");
    ok(count_words(text, "__kmpc_parallel_51") == 0, "18: no parallel_51");
    ok_contains(text, "ptx_kernel void @__omp_offloading_10_ab_add_l2",
                "18: nvvm.annotations have become ptx_kernel");
    ok(count_words(text, "sm_70") == 0, "18: no architecture is left");
    free(text);
}

static void check_v18_host(const ompjit__unit *unit)
{
    char *text = text_of(&unit->host_bc);
    ok_contains(text,
                "@.omp_offloading.entry.table = weak constant { i64, i16, i16, "
                "i32, ptr, ptr, i64, i64, ptr } { i64 0, i16 1, i16 1, i32 1, "
                "ptr @table, ptr @.omp_offloading.entry_name.1, i64 16, i64 7, "
                "ptr null }, section \"llvm_offload_entries\", align 8",
                "18: entries of 56 bytes");
    ok_contains(text, "[ptr @.omp_offloading.entry.table], section \"llvm.met",
                "18: and whoever uses them");
    ok(count_words(text, "omp_offloading_entries") == 0, "18: no old entry");
    ok_contains(text, "store i32 3, ptr %2",
                "18: kernel arguments of version 3");
    ok(count_words(text, "tune-cpu") + count_words(text, "target-features") ==
           0,
       "18: the host half is for no CPU");
    ok(unit->nglobals == 1, "18: one variable");
    if (unit->nglobals == 1) {
        ok_string(unit->globals[0].symbol, "table", "18: its name");
        ok(unit->globals[0].size == 16 && unit->globals[0].flags == 1,
           "18: its size and flags");
    }
    free(text);
}

static void test_v18(void)
{
    ompjit__buf device = load("v18.ll"), host = load("v18-host.ll");
    ompjit__unit unit;
    ompjit_status status =
        ompjit__frontend_ir(ctx, device.data, device.size, host.data,
                            host.size, NULL, &unit, &err);
    if (ok(!status, "18: both halves are read")) {
        check_v18_kernel(&unit, true);
        check_v18_device(&unit);
        check_v18_host(&unit);
        ok(unit.opt_level == 3, "18: -O3 by default");
        ompjit__unit_free(&unit);
    } else {
        printf("# %s\n", err.text);
    }
    status = ompjit__frontend_ir(ctx, device.data, device.size, NULL, 0, NULL,
                                 &unit, &err);
    if (ok(!status, "18: the device half alone")) {
        check_v18_kernel(&unit, false);
        ok(!unit.host_bc.size && !unit.nglobals, "18: there is no host half");
        ompjit__unit_free(&unit);
    }
    ompjit__buf_free(&device);
    ompjit__buf_free(&host);
}

/* --------------------------------------------------------------- clang 21 */

static void check_v21(const ompjit__unit *unit)
{
    char *text = text_of(&unit->device_bc);
    const ompjit__kernel_desc *k = kernel_named(unit, "loop");
    ok_contains(text, "for_static_loop_4u(ptr @1, ptr @body, ptr %a, i32 %n, "
                      "i32 0, i32 0, i8 0)",
                "21: for_static_loop has its flag");
    ok_contains(text, "distribute_static_loop_4u(ptr @1, ptr @body, ptr %a, "
                      "i32 %n, i32 0, i8 0)",
                "21: distribute_static_loop");
    ok_contains(text, "distribute_for_static_loop_8u(ptr @1, ptr @body64, "
                      "ptr %a, i64 %n64, i64 0, i64 0, i64 0, i8 0)",
                "21: distribute_for_static_loop");
    ok(k && k->line == 7 && k->mode == OMPJIT_MODE_SPMD,
       "21: a template's kernel, with a count, by its plain name");
    ok(k && k->nparams == 2 && k->params[1].bytes == 4, "21: parameters");
    free(text);
}

static void test_v21(void)
{
    ompjit__buf device = load("v21.ll");
    ompjit__unit unit, again;
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    options.name = "loop.ll";
    options.opt_level = OMPJIT_O0;
    if (ok(!ompjit__frontend_ir(ctx, device.data, device.size, NULL, 0,
                                &options, &unit, &err),
           "21: read")) {
        check_v21(&unit);
        ok(unit.opt_level == 0 && !strcmp(unit.name, "loop.ll"),
           "options count");
        ok(!ompjit__frontend_ir(ctx, unit.device_bc.data, unit.device_bc.size,
                                NULL, 0, NULL, &again, &err),
           "a unit's bitcode is read again");
        check_v21(&again);
        ompjit__unit_free(&again);
        ompjit__unit_free(&unit);
    } else {
        printf("# %s\n", err.text);
    }
    ompjit__buf_free(&device);
}

static void test_bare(void)
{
    ompjit__buf device = load("v22-bare.ll");
    ompjit__unit unit;
    if (ok(!ompjit__frontend_ir(ctx, device.data, device.size, NULL, 0, NULL,
                                &unit, &err),
           "a kernel without runtime is read")) {
        const ompjit__kernel_desc *k = kernel_named(&unit, "scale");
        ok(k && k->mode == OMPJIT_MODE_BARE && !k->launch_env && !k->line,
           "bare, no launch environment");
        ok(k && k->nparams == 3 && k->params[1].bytes == 4 &&
               k->params[1].kind == OMPJIT__PARAM_FLOAT &&
               k->params[2].bytes == 2,
           "all its parameters are the application's");
        ompjit__unit_free(&unit);
    }
    ompjit__buf_free(&device);
}

/* ---------------------------------------------------------------- refused */

static const struct refused {
    const char *file, *from, *to; /* every `from` is replaced */
    ompjit_status status;
    const char *words;
} refused[] = {
    {"v21.ll", "target triple = \"nvptx64-nvidia-cuda\"",
     "target triple = \"amdgcn-amd-amdhsa\"", OMPJIT_ERR_IR,
     "`amdgcn-amd-amdhsa`; device IR is for nvptx64"},
    {"v21.ll", "target triple = \"nvptx64-nvidia-cuda\"", "", OMPJIT_ERR_IR,
     "(no target triple)"},
    {"v21.ll", "nounwind \"kernel\"", "nounwind", OMPJIT_ERR_IR,
     "l7_1 lacks the function attribute \"kernel\"; LLVM's openmp-opt would "
     "miscompile it silently"},
    {"v21.ll", "!\"openmp-device\"", "!\"openmp-xevice\"", OMPJIT_ERR_IR,
     "lacks the module flag \"openmp-device\""},
    {"v21.ll", "!\"openmp\"", "!\"xopenmp\"", OMPJIT_ERR_IR,
     "lacks the module flag \"openmp\""},
    {"v21.ll", "clang version 21.1.8", "Debian clang version 14.0.6",
     OMPJIT_ERR_IR, "made by Debian clang version 14.0.6; IR of clang 18 to"},
    {"v21.ll", "clang version 21.1.8", "clang version 23.0.0", OMPJIT_ERR_IR,
     "made by clang version 23.0.0"},
    {"v21.ll", "ptx_kernel void", "void", OMPJIT_ERR_IR, "is no kernel"},
    {"v21.ll", "weak_odr protected constant %struct.KernelEnvironmentTy { "
               "%struct.ConfigurationEnvironmentTy { i8 0, i8 0, i8 6, i32 1, "
               "i32 128, i32 0, i32 0, i32 0, i32 0 }, ptr @1, ptr "
               "@__omp_offloading_10_ab__ZN2ns4loopIfEEvPT_i_l7_1_dynamic_"
               "environment }",
     "external constant %struct.KernelEnvironmentTy", OMPJIT_ERR_ABI,
     "_kernel_environment has no value; it has to be"},
    {"v21.ll", "declare i32 @__kmpc_target_init(ptr, ptr)",
     "define i32 @__kmpc_target_init(ptr, ptr) { ret i32 -1 }", OMPJIT_OK, ""},
    {"v21.ll", "_environment, ptr %dyn_ptr)", "_environment)", OMPJIT_ERR_IR,
     "a call of __kmpc_target_init is not of its type"},
    {"v21.ll", "i64 %n64, i64 0, i64 0, i64 0)", "i64 %n64, i64 0)",
     OMPJIT_ERR_IR,
     "a call of __kmpc_distribute_for_static_loop_8u is not of its type"},
    {"v21.ll", "declare void @__kmpc_target_deinit()",
     "declare void @__kmpc_target_deinit()\n"
     "declare void @__kmpc_barrier(ptr)",
     OMPJIT_ERR_ABI, "__kmpc_barrier"},
    {"v21.ll", "  call void @__kmpc_for_static_loop_4u(ptr @1, ptr @body",
     "  store ptr @__kmpc_for_static_loop_4u, ptr %a\n"
     "  call void @__kmpc_for_static_loop_4u(ptr @1, ptr @body",
     OMPJIT_ERR_IR,
     "__kmpc_for_static_loop_4u is used other than by a call"},
    {"v21.ll", "store i32 %i, ptr %a", "store i64 %i, ptr %a", OMPJIT_ERR_IR,
     "module"},
    {"v21.ll", "worker.exit:\n  ret void", "worker.exit:\n  ret i32 0",
     OMPJIT_ERR_IR, "value doesn't match function result type"},
    {"v21.ll", "%struct.DynamicEnvironmentTy zeroinitializer", "i16 0",
     OMPJIT_OK, ""},
    {"v21.ll", "{ i8 0, i8 0, i8 6, i32", "{ i8 0, i8 0, i8 7, i32",
     OMPJIT_ERR_ABI,
     "_environment has the unknown mode 7; it has to be (its third field is "
     "the mode: 1 generic, 2 SPMD, 3 generic made SPMD, 6 SPMD without a loop)"
     "\n    @__omp_offloading_10_ab__ZN2ns4loopIfEEvPT_i_l7_1_kernel_"
     "environment = weak_odr protected constant { { i8, i8, i8, i32, i32, i32, "
     "i32, i32, i32 }, ptr, ptr } { { i8, i8, i8, i32, i32, i32, i32, i32, i32 "
     "} { i8 0, i8 0, i8 2, i32 1, i32 128, i32 0, i32 0, i32 0, i32 0 }, ptr "
     "@1, ptr @__omp_offloading_10_ab__ZN2ns4loopIfEEvPT_i_l7_1_dynamic_"
     "environment }"},
    {"v21.ll", "{ i8 0, i8 0, i8 6, i32", "{ i8 0, i8 0, i8 0, i32",
     OMPJIT_ERR_ABI, "has the unknown mode 0"},
    {"v21.ll", "ConfigurationEnvironmentTy = type { i8, i8, i8, i32, i32, i32, "
               "i32, i32, i32 }",
     "ConfigurationEnvironmentTy = type { i8, i8, i8, i32, i32, i32, i32, i32, "
     "i64 }",
     OMPJIT_ERR_IR, "does not parse"},
    {"v21.ll", "i32 0 }, ptr @1, ptr @__omp_off",
     "i32 undef }, ptr @1, ptr @__omp_off", OMPJIT_ERR_ABI,
     "has no number as its field 8"},
    {"v21.ll", "i32 0, i32 0 }, ptr @1, ptr @__omp_off",
     "i32 -1, i32 0 }, ptr @1, ptr @__omp_off", OMPJIT_ERR_ABI,
     "says that a reduction across teams takes no room"},
    {"v21.ll", "  ret void\n\nworker.exit:\n  ret void\n}\n",
     "  %b = call ptr @__kmpc_reduction_get_fixed_buffer()\n"
     "  ret void\n\nworker.exit:\n  ret void\n}\n"
     "declare ptr @__kmpc_reduction_get_fixed_buffer()\n",
     OMPJIT_ERR_ABI, "says that a reduction across teams takes no room"},
    {"v21.ll", "@__kmpc_target_init(ptr @__omp_offloading_10_ab__ZN2ns4loopIfEEv"
               "PT_i_l7_1_kernel_environment, ptr %dyn_ptr)",
     "@__kmpc_target_init(ptr @1, ptr %dyn_ptr)", OMPJIT_ERR_IR,
     "does not start with its own constant"},
    {"v21.ll", "_environment, ptr %dyn_ptr)", "_environment, ptr null)",
     OMPJIT_ERR_ABI,
     "does not hand on its parameter 0, which is the launch environment"},
    {"v21.ll", "_environment, ptr %dyn_ptr)", "_environment, ptr %a)",
     OMPJIT_ERR_ABI, "does not hand on its parameter 0"},
    {"v21.ll", "ptr noundef %a, i32", "ptr byval(i32) %a, i32", OMPJIT_ERR_ABI,
     "parameter 1 is byval; a launch passes pointers"},
    {"v21.ll", "_for_static_loop_4u(ptr @1, ptr @body,",
     "_for_static_loop_4u(ptr @1, ptr @body64,", OMPJIT_ERR_ABI,
     "call void @__kmpc_for_static_loop_4u(ptr @1, ptr @body64, ptr %a, i32 "
     "%n, i32 0, i32 0): __kmpc_for_static_loop_4u calls @body64, its argument "
     "1, as void (i32, ptr); the module has void (i64, ptr)"},
    {"v21.ll", "_for_static_loop_4u(ptr @1, ptr @body,",
     "_for_static_loop_4u(ptr @1, ptr @1,", OMPJIT_ERR_ABI,
     "argument 1 of __kmpc_for_static_loop_4u is no function"},
    {"v21.ll", "_for_static_loop_4u(ptr @1, ptr @body,",
     "_for_static_loop_4u(ptr @1, ptr null,", OMPJIT_ERR_ABI,
     "argument 1 of __kmpc_for_static_loop_4u is no function"},
    {"v21.ll", "_for_static_loop_4u(ptr @1, ptr @body,",
     "_for_static_loop_4u(ptr @1, ptr %a,", OMPJIT_OK, ""},
    {"v18.ll", "ptr %args, i64 1)", "ptr %args, i64 2)", OMPJIT_ERR_ABI,
     "argument 8 of __kmpc_parallel_51 says that there are 2 arguments"},
    {"v18.ll", "ptr %args, i64 1)", "ptr %args, i64 0)", OMPJIT_ERR_ABI,
     "as void (ptr, ptr); the module has void (ptr, ptr, ptr)"},
    {"v18.ll", "ptr @outlined, ptr null", "ptr @outlined, ptr %a",
     OMPJIT_ERR_ABI, "argument 6 of __kmpc_parallel_51 is no function"},
    {"v22-bare.ll", "i16 %k", "[2 x i16] %k", OMPJIT_ERR_IR,
     "neither a pointer nor a number of at most 64 bits: k"},
    {"v18.ll", "i32 noundef", "i32*", OMPJIT_OK, ""},
    {"v18.ll", "noalias noundef %dyn_ptr", "%dyn_ptr", OMPJIT_OK, ""},
    {"v18-host.ll", "clang", "clang", OMPJIT_ERR_IR,
     "is for `x86_64-pc-linux-gnu`"},
};

/* malloc'd. */
static char *replace(const char *s, const char *from, const char *to)
{
    ompjit__buf out = {0};
    for (const char *p; (p = strstr(s, from)); s = p + strlen(from)) {
        ompjit__buf_add(&out, s, (size_t)(p - s));
        ompjit__buf_add(&out, to, strlen(to));
    }
    ompjit__buf_add(&out, s, strlen(s));
    return out.data;
}

static void test_refused(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const struct refused *r = &refused[i];
        ompjit__buf good = load(r->file);
        char *text = replace(good.data, r->from, r->to);
        ompjit__unit unit = {0};
        err.text[0] = 0;
        ompjit_status status = ompjit__frontend_ir(
            ctx, text, strlen(text), NULL, 0, NULL, &unit, &err);
        ok(status == r->status, "row %zu: status %d", i, status);
        ok_contains(err.text, r->words, "row %zu: the text says why", i);
        ok(status == OMPJIT_OK || (!unit.name && !unit.device_bc.data),
           "row %zu: nothing is stored on failure", i);
        ompjit__unit_free(&unit);
        free(text);
        ompjit__buf_free(&good);
    }
}

/* Changes that are independent of each other: each is in the error. */
static void test_all_at_once(void)
{
    static const struct {
        const char *from, *to, *words;
    } rows[] = {
        {"i8 0, i8 0, i8 6, i32", "i8 0, i8 0, i8 7, i32", "unknown mode 7"},
        {"_environment, ptr %dyn_ptr)", "_environment, ptr null)",
         "does not hand on its parameter 0"},
        {"!\"openmp-device\"", "!\"openmp-xevice\"",
         "lacks the module flag \"openmp-device\""},
        {"_for_static_loop_4u(ptr @1, ptr @body,",
         "_for_static_loop_4u(ptr @1, ptr @body64,", "calls @body64"},
        {"declare void @__kmpc_target_deinit()",
         "declare void @__kmpc_target_deinit()\n"
         "declare void @__kmpc_barrier(ptr)",
         "1 runtime function is of the wrong type"},
        {"nounwind \"kernel\"", "nounwind",
         "lacks the function attribute \"kernel\""},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    ompjit__buf good = load("v21.ll");
    char *text = ompjit__strdup(good.data);
    ompjit__unit unit;
    for (size_t i = 0; i < ROWS; i++) {
        char *next = replace(text, rows[i].from, rows[i].to);
        free(text);
        text = next;
    }
    ok(ompjit__frontend_ir(ctx, text, strlen(text), NULL, 0, NULL, &unit,
                           &err) == OMPJIT_ERR_ABI,
       "several faults");
    ok_contains(err.text, "device half of module has 6 faults:\n", "counted");
    for (size_t i = 0; i < ROWS; i++)
        ok_contains(err.text, rows[i].words, "fault %zu", i);
    free(text);
    ompjit__buf_free(&good);
}

static void test_not_ir(void)
{
    static const struct {
        const char *data;
        size_t size;
    } rows[] = {{"", 0},
                {"hello", 5},
                {"BC\xC0\xDE", 4},
                {"BC\xC0\xDE\0\0\0\0garbage in bitcode", 26}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ompjit__unit unit;
        ok(ompjit__frontend_ir(ctx, rows[i].data, rows[i].size, NULL, 0, NULL,
                               &unit, &err) == OMPJIT_ERR_IR,
           "not IR at all, row %zu", i);
    }
    ompjit__buf device = load("v21.ll"), host = load("v18-host.ll");
    char *other = replace(host.data, "x86_64-pc", "riscv64-pc");
    ompjit__unit unit;
    ok(ompjit__frontend_ir(ctx, device.data, device.size, other,
                           strlen(other), NULL, &unit, &err) == OMPJIT_ERR_IR,
       "a host half for another machine");
    ok_contains(err.text, "host half of module is for `riscv64-pc-linux-gnu`",
                "named");
    ok(ompjit__frontend_ir(ctx, device.data, device.size, host.data, host.size,
                           NULL, &unit, NULL) == OMPJIT_OK,
       "a host half of another source, no error wanted");
    ompjit__unit_free(&unit);
    free(other);
    ompjit__buf_free(&device);
    ompjit__buf_free(&host);
}

/* ------------------------------------------------------------------ names */

static void test_names(void)
{
    static const struct {
        const char *symbol, *name;
        unsigned line;
    } rows[] = {
        {"__omp_offloading_fe00_a7200e_saxpy_l3", "saxpy", 3},
        {"__omp_offloading_fe00_a7200e_a_l1_b_l12_2", "a_l1_b", 12},
        {"__omp_offloading_fe00_a7200e_main_l7_1", "main", 7},
        {"__omp_offloading_1_2_f_line", "__omp_offloading_1_2_f_line", 0},
        {"__omp_offloading_zz", "__omp_offloading_zz", 0},
        {"scale", "scale", 0},
        {"_Z4axpyIfEvPT_S0_", "axpy", 0},
        {"__omp_offloading_1_2__ZN2ns1fEPdPfi_l14", "f", 14},
        {"_ZN3VecIdEpLERKS0_", "operator+=", 0},
        {"_ZNK3VecIdEclEi", "operator()", 0},
        {"_ZN3VecIdEixEi", "operator[]", 0},
        {"_ZltRK1AS1_", "operator<", 0},
        {"_ZN12_GLOBAL__N_14helpEv", "help", 0},
        {"_ZN1AC2Ei", "A", 0},
        {"_ZN1AD1Ev", "~A", 0},
        {"_ZN2ns4loopIfLi3EEENSt9enable_ifIXgtT0_Li2EEvE4typeEPT_", "loop",
         0},
        {"_Z1fPFivE", "f", 0},
        {"_ZNK1AcvbEv", "operator bool", 0},
        {"_ZZ4mainENKUlvE_clEv", "operator()", 0},
        {"_Z1gIiESt6vectorIT_SaIS1_EES1_", "g", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned line;
        char *name = ompjit__kernel_name(rows[i].symbol, &line);
        ok_string(name, rows[i].name, "name in %s", rows[i].symbol);
        ok(line == rows[i].line, "line %u in %s", line, rows[i].symbol);
        free(name);
    }
}

static void test_complete(void)
{
    ompjit__buf device = load("v21.ll");
    ompjit__unit unit;
    if (!ok(!ompjit__frontend_ir(ctx, device.data, device.size, NULL, 0, NULL,
                                 &unit, &err),
            "bitcode to cut"))
        return;
    size_t cut = 0, n = unit.device_bc.size;
    for (size_t i = 4; i < n; i++)
        cut += ompjit__bitcode_check(unit.device_bc.data, i) ==
               OMPJIT__BITCODE_CUT;
    ok(cut == n - 4, "every beginning of bitcode is cut short");
    ok(ompjit__bitcode_check(unit.device_bc.data, n) ==
           OMPJIT__BITCODE_COMPLETE,
       "all of it is complete");
    ok(ompjit__bitcode_check(device.data, device.size) ==
           OMPJIT__BITCODE_BROKEN,
       "text is neither");
    ompjit__unit_free(&unit);
    ompjit__buf_free(&device);
}

int main(void)
{
    ctx = context_new(NULL, 10);
    test_v18();
    test_v21();
    test_bare();
    test_refused();
    test_all_at_once();
    test_not_ir();
    test_names();
    test_complete();
    ok(ctx->stage_count[OMPJIT_STAGE_READ] > 0, "the stage is timed");
    context_free(ctx);
    return done_testing();
}
