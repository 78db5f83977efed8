/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The runtime table in LLVM: declarations with their attributes, the check of
 * a module, of real ones from clang too, and the structs against abi/offload.h.
 */
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <unistd.h>

#include "abi/offload.h"
#include "ompjit_llvm.h"
#include "table/rows.h"
#include "tap.h"

static LLVMContextRef ctx;

static LLVMModuleRef parse(const char *ir)
{
    LLVMModuleRef m = NULL;
    char *message = NULL;
    LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        ir, strlen(ir), "test");
    if (LLVMParseIRInContext(ctx, text, &m, &message)) {
        printf("# %s: %s\n", ir, message);
        LLVMDisposeMessage(message);
        return NULL;
    }
    return m;
}

/* The row of a function, by its name and type; -1: none has both. */
static int row_of(LLVMValueRef fn)
{
    size_t length;
    return ompjit__llvm_row_of(
        fn, ompjit__rtl_newest(LLVMGetValueName2(fn, &length)), 0);
}

/* Are only LLVM 22's rows there? */
static ompjit_status check_newest(LLVMModuleRef m, ompjit_error *err)
{
    int too_old;
    return ompjit__llvm_faults(m, 22, err, &too_old);
}

/* ---------------------------------------------------------- declarations */

/* The declarations of some rows as LLVM prints them and OpenMPIRBuilder makes
 * them. */
static const struct {
    unsigned index;
    const char *words;
} printed[] = {
    {OMPJIT_RTL___kmpc_fork_call,
     "declare !callback !0 void @__kmpc_fork_call(ptr, i32, ptr, ...) #"},
    {OMPJIT_RTL___kmpc_fork_teams,
     "declare !callback !0 void @__kmpc_fork_teams(ptr, i32, ptr, ...) #"},
    {OMPJIT_RTL___kmpc_omp_task_alloc,
     "declare noalias ptr @__kmpc_omp_task_alloc("
     "ptr, i32, i32, i64, i64, ptr) #"},
    {OMPJIT_RTL___kmpc_alloc_shared,
     "declare noalias ptr @__kmpc_alloc_shared(i64) #"},
    {OMPJIT_RTL___kmpc_free_shared,
     "declare void @__kmpc_free_shared(ptr allocptr captures(none), i64) #"},
    {OMPJIT_RTL_omp_get_schedule,
     "declare void @omp_get_schedule(ptr writeonly captures(none), "
     "ptr writeonly captures(none)) #"},
    {OMPJIT_RTL_omp_get_place_proc_ids,
     "declare void @omp_get_place_proc_ids(i32, "
     "ptr writeonly captures(none)) #"},
    {OMPJIT_RTL___kmpc_target_init,
     "declare i32 @__kmpc_target_init(ptr, ptr)\n"},
};

static const struct {
    unsigned index;
    const char *group;
} groups[] = {
    {OMPJIT_RTL___kmpc_barrier, "{ convergent nounwind }"},
    {OMPJIT_RTL___kmpc_global_thread_num, "{ nounwind }"},
    {OMPJIT_RTL___kmpc_parallel_60, "{ alwaysinline }"},
    {OMPJIT_RTL___kmpc_alloc_shared, "{ nosync nounwind allocsize(0) }"},
    {OMPJIT_RTL___kmpc_free_shared, "{ nosync nounwind }"},
};

static LLVMModuleRef declared(unsigned index)
{
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("one", ctx);
    LLVMValueRef fn;
    ompjit_error err = {.text = ""};
    if (ompjit_rtl_declare(m, index, &fn, &err))
        printf("# %s\n", err.text);
    return m;
}

static void attributes(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(printed); i++) {
        LLVMModuleRef m = declared(printed[i].index);
        char *text = LLVMPrintModuleToString(m);
        ok_contains(text, printed[i].words, "row %u as LLVM prints it",
                    printed[i].index);
        LLVMDisposeMessage(text);
        LLVMDisposeModule(m);
    }
    for (size_t i = 0; i < OMPJIT__COUNT(groups); i++) {
        LLVMModuleRef m = declared(groups[i].index);
        char *text = LLVMPrintModuleToString(m);
        ok_contains(text, groups[i].group, "row %u: attributes",
                    groups[i].index);
        LLVMDisposeMessage(text);
        LLVMDisposeModule(m);
    }
    LLVMModuleRef m = declared(OMPJIT_RTL___kmpc_fork_call);
    char *text = LLVMPrintModuleToString(m);
    ok_contains(text, "!0 = !{!1}\n!1 = !{i64 2, i64 -1, i64 -1, i1 true}",
                "the callback's encoding is LLVM's");
    LLVMDisposeMessage(text);
    LLVMDisposeModule(m);
}

/* Declares the rows first to last that are of a release. */
static void declare_all(unsigned first, unsigned last, unsigned release)
{
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("all", ctx);
    LLVMValueRef fn, again;
    ompjit_error err = {.text = ""};
    unsigned n = 0, same = 0, rows = 0, total = 0;
    for (unsigned i = first; i <= last; i++) {
        if (ompjit__rtl_since(i) > release || ompjit__rtl_until(i) < release)
            continue;
        total++;
        fn = again = NULL;
        if (ompjit_rtl_declare(m, i, &fn, &err) == 0 && fn)
            n++;
        else
            printf("# %s\n", err.text);
        same += ompjit_rtl_declare(m, i, &again, &err) == 0 && again == fn;
        rows += row_of(fn) == (int)i;
    }
    ok(total && n == total, "%u rows of LLVM %u are declared", n, release);
    ok(same == total, "declaring again gives the same function");
    ok(rows == total, "each is found to be its row");
    char *message = NULL;
    ok(!LLVMVerifyModule(m, LLVMReturnStatusAction, &message),
       "the module verifies: %s", message ? message : "");
    LLVMDisposeMessage(message);
    ok(ompjit_rtl_check(m, &err) == 0, "and passes the check");
    ok(!check_newest(m, &err) == (release == 22),
       "and is %sof the inner dialect", release == 22 ? "" : "not ");
    LLVMDisposeModule(m);
}

static void the_194(void)
{
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("194", ctx);
    LLVMValueRef fn, last = NULL;
    unsigned n = 0;
    for (unsigned i = 0; i <= OMPJIT_RTL___last; i++)
        n += ompjit_rtl_declare(m, i, &fn, NULL) == 0;
    for (fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        last = fn;
    size_t length;
    ok(n == 194 && !LLVMVerifyModule(m, LLVMReturnStatusAction, NULL),
       "all 194 are declared in one module, which verifies");
    ok_string(LLVMGetValueName2(last, &length), "__last", "in their order");
    LLVMDisposeModule(m);
}

/* ---------------------------------------------- names taken by others */

static const struct {
    unsigned index;
    const char *ir, *found;
} taken[] = {
    {OMPJIT_RTL___kmpc_barrier, "declare i32 @__kmpc_barrier(ptr, i32)",
     "__kmpc_barrier (row 0 of the runtime table) is void (ptr, i32); the "
     "module has i32 (ptr, i32)"},
    {OMPJIT_RTL___kmpc_barrier,
     "declare void @__kmpc_barrier(ptr addrspace(1), i32)",
     "the module has void (ptr addrspace(1), i32)"},
    {OMPJIT_RTL___kmpc_fork_call,
     "declare void @__kmpc_fork_call(ptr, i32, ptr)",
     "is void (ptr, i32, ptr, ...); the module has void (ptr, i32, ptr)"},
    {OMPJIT_RTL_omp_get_thread_num, "@omp_get_thread_num = global i32 0",
     "the module has a variable of type i32"},
    {OMPJIT_RTL_omp_get_thread_num, "declare i32 @omp_get_thread_num(...)",
     "the module has i32 (...), which is declared without a prototype"},
    {OMPJIT_RTL___kmpc_for_static_loop_4_v22,
     "declare void @__kmpc_for_static_loop_4(ptr, ptr, ptr, i32, i32, i32)",
     "is void (ptr, ptr, ptr, i32, i32, i32, i8); the module has void (ptr, "
     "ptr, ptr, i32, i32, i32)"},
    {OMPJIT_RTL___kmpc_flush,
     "@__kmpc_flush = alias void (), ptr @f define void @f() { ret void }",
     "is void (ptr); the module has void ()"},
};

static void names_taken(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(taken); i++) {
        LLVMModuleRef m = parse(taken[i].ir);
        LLVMValueRef fn = NULL;
        ompjit_error err;
        ok(ompjit_rtl_declare(m, taken[i].index, &fn, &err) ==
                   OMPJIT_ERR_ABI && !fn,
           "row %u is not declared beside: %s", taken[i].index, taken[i].ir);
        ok_contains(err.text, taken[i].found, "the error names both types");
        LLVMDisposeModule(m);
    }
    LLVMModuleRef m =
        parse("define void @__kmpc_flush(ptr %loc) { ret void }");
    LLVMValueRef fn = NULL;
    ok(ompjit_rtl_declare(m, OMPJIT_RTL___kmpc_flush, &fn, NULL) == 0 &&
           fn && !LLVMIsDeclaration(fn),
       "a definition of the right type is taken as it is");
    LLVMDisposeModule(m);
    m = parse("@__kmpc_flush = alias void (ptr), ptr @f "
              "define void @f(ptr %loc) { ret void }");
    ok(ompjit_rtl_declare(m, OMPJIT_RTL___kmpc_flush, &fn, NULL) == 0 &&
           LLVMIsAGlobalAlias(fn),
       "and so is an alias");
    ompjit_error err;
    LLVMTypeRef type;
    ok(ompjit_rtl_declare(NULL, 0, &fn, &err) == OMPJIT_ERR_INVALID &&
           ompjit_rtl_declare(m, 0, NULL, &err) == OMPJIT_ERR_INVALID &&
           ompjit_rtl_check(NULL, &err) == OMPJIT_ERR_INVALID &&
           ompjit_rtl_type(NULL, 0, &type, &err) == OMPJIT_ERR_INVALID &&
           ompjit_rtl_type(LLVMGetModuleContext(m), 0, NULL, &err) ==
               OMPJIT_ERR_INVALID,
       "NULL is INVALID");
    ok(ompjit_rtl_declare(m, OMPJIT_RTL_COUNT, &fn, &err) ==
           OMPJIT_ERR_NOT_FOUND,
       "there is no row after the last");
    ok_contains(err.text, "no row 278; rows are 0 to 277", "says the error");
    LLVMDisposeModule(m);
}

/* ----------------------------------------------------------------- check */

enum verdict { GOOD, OLDER, BAD }; /* OLDER: but not of LLVM 22 */

static const struct {
    enum verdict verdict;
    const char *ir;
    const char *words[4];
} modules[] = {
    {GOOD, "define void @f() { ret void }", {0}},
    {GOOD, "declare i32 @__kmpc_global_thread_num(ptr)\n"
           "define void @__kmpc_barrier(ptr %l, i32 %t) { ret void }",
     {0}},
    {GOOD, "@omp_get_level = alias i32 (), ptr @f\n"
           "define i32 @f() { ret i32 0 }", {0}},
    {GOOD, "declare void @__kmpc_for_static_loop_4("
           "ptr, ptr, ptr, i32, i32, i32, i8)", {0}},
    {GOOD, "declare void @__kmpc_not_in_the_table(i128)", {0}},
    {OLDER, "declare void @__kmpc_for_static_loop_4("
            "ptr, ptr, ptr, i32, i32, i32)",
     {"1 runtime function is of the wrong type:",
      "__kmpc_for_static_loop_4 (row 159) is of clang 21 and before: "
      "void (ptr, ptr, ptr, i32, i32, i32); LLVM 22 has row 196, "
      "__kmpc_for_static_loop_4, void (ptr, ptr, ptr, i32, i32, i32, i8)"}},
    {OLDER, "declare void @__kmpc_parallel_51("
            "ptr, i32, i32, i32, i32, ptr, ptr, ptr, i64)",
     {"(row 158) is of clang 21 and before", "row 195, __kmpc_parallel_60"}},
    {OLDER, "declare void @__tgt_register_requires(i64)",
     {"__tgt_register_requires (row 208) is of clang 18 and before"}},
    {OLDER, "declare void @__tgt_target_data_end_nowait_mapper("
            "ptr, i64, i32, ptr, ptr, ptr, ptr, ptr, ptr)",
     {"as clang 18 and before have it"}},
    {BAD, "declare void @__kmpc_for_static_loop_4(ptr, ptr, ptr, i32, i32)",
     {"__kmpc_for_static_loop_4 (row 196) is void (ptr, ptr, ptr, i32, i32, "
      "i32, i8); the module has void (ptr, ptr, ptr, i32, i32)"}},
    {BAD, "declare void @__kmpc_barrier()\n"
          "declare void @__kmpc_cancel_barrier(ptr, i32)\n"
          "@omp_get_level = global i32 0",
     {"3 runtime functions are of the wrong type:",
      "\n  __kmpc_barrier (row 0) is void (ptr, i32); the module has void ()",
      "\n  __kmpc_cancel_barrier (row 2) is i32 (ptr, i32); the module has "
      "void (ptr, i32)",
      "\n  omp_get_level (row 28) is i32 (); the module has a variable of "
      "type i32"}},
    {BAD, "declare i32 @omp_get_num_threads(...)",
     {"declared without a prototype"}},
    {BAD, "define void @__kmpc_flush() { ret void }",
     {"__kmpc_flush (row 4) is void (ptr)"}},
    {BAD, "declare i32 @__kmpc_target_init(ptr, i8, i1)",
     {"comes from a compiler older than clang 18 (clang 17 or before)",
      "IR of clang 18 to 22 is accepted",
      "__kmpc_target_init (row 155) is i32 (ptr, ptr); the module has "
      "i32 (ptr, i8, i1), as clang 17 and before have it"}},
    {BAD, "declare i32 @__kmpc_target_init(ptr, i1, i1, i1)\n"
          "declare i32 @__kmpc_nvptx_parallel_reduce_nowait_v2("
          "ptr, i32, i32, i64, ptr, ptr, ptr)",
     {"older than clang 18 (clang 14 or before)",
      "as clang 14 and before have it", "as clang 17 and before have it"}},
    {BAD, "declare void @__kmpc_kernel_init(i32, i16)",
     {"older than clang 18 (clang 12 or before)",
      "__kmpc_kernel_init is in no runtime of LLVM 18 to 22"}},
    {BAD, "declare void @__kmpc_spmd_kernel_init(i32, i16)",
     {"older than clang 18 (clang 12 or before)"}},
    {BAD, "declare void @__kmpc_kernel_prepare_parallel(ptr, i16)",
     {"(row 157) is void (ptr); the module has void (ptr, i16), as clang 12"}},
};

static void checks(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(modules); i++) {
        LLVMModuleRef m = parse(modules[i].ir);
        ompjit_error err = {.text = ""};
        bool bad = modules[i].verdict == BAD;
        ok(m && ompjit_rtl_check(m, &err) == (bad ? OMPJIT_ERR_ABI : 0) &&
               ompjit_rtl_check(m, NULL) == (bad ? OMPJIT_ERR_ABI : 0),
           "%s: %.*s", bad ? "refused" : "accepted",
           (int)strcspn(modules[i].ir, "\n"), modules[i].ir);
        ok(check_newest(m, &err) ==
               (modules[i].verdict == GOOD ? 0 : OMPJIT_ERR_ABI),
           "as LLVM 22's: %s",
           modules[i].verdict == GOOD ? "accepted" : "refused");
        for (int w = 0; w < 4 && modules[i].words[w]; w++)
            ok_contains(err.text, modules[i].words[w], "the error");
        if (modules[i].verdict != GOOD)
            ok(err.stage == OMPJIT_STAGE_READ, "found on reading");
        LLVMDisposeModule(m);
    }
}

/* Every row's name with a wrong type: more text than an error holds. */
static void all_wrong(void)
{
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("wrong", ctx);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMIntTypeInContext(ctx, 77), NULL, 0, 0);
    unsigned n = 0;
    for (unsigned i = 0; i < OMPJIT_RTL_COUNT; i++)
        if (!LLVMGetNamedFunction(m, ompjit__rtl_rows[i].name)) {
            LLVMAddFunction(m, ompjit__rtl_rows[i].name, type);
            n++;
        }
    ompjit_error err;
    char words[64];
    snprintf(words, sizeof words, "%u runtime functions are of the wrong", n);
    ok(ompjit_rtl_check(m, &err) == OMPJIT_ERR_ABI, "all wrong");
    ok_contains(err.text, words, "all counted");
    ok_contains(err.text + OMPJIT_ERROR_TEXT - 5, "...", "the list is cut");
    LLVMDisposeModule(m);
}

/* ------------------------------------------------------ what clang makes */

static const char source[] =
    "int omp_get_team_num(void);\n"
    "double f(double *a, int n) {\n"
    "  double s = 0;\n"
    "#pragma omp target teams distribute parallel for reduction(+:s) "
    "map(a[:n])\n"
    "  for (int i = 0; i < n; i++) s += a[i];\n"
    "#pragma omp target map(a[:n])\n"
    "  {\n"
    "    int k = omp_get_team_num();\n"
    "#pragma omp parallel for schedule(dynamic)\n"
    "    for (int i = 0; i < n; i++) {\n"
    "      a[i] += k;\n"
    "#pragma omp critical\n"
    "      a[0]++;\n"
    "    }\n"
    "#pragma omp task\n"
    "    a[1]++;\n"
    "  }\n"
    "  return s;\n"
    "}\n";

/* Compiles `source`, one half of it, to IR; NULL with clang's message. */
static LLVMModuleRef from_clang(const char *clang, const char *half)
{
    char folder[] = "/tmp/table_t.XXXXXX", path[64], command[1024];
    ompjit__buf text = {0};
    LLVMModuleRef m = NULL;
    if (!mkdtemp(folder))
        return NULL;
    snprintf(path, sizeof path, "%s/a.c", folder);
    FILE *file = fopen(path, "w");
    fputs(source, file);
    fclose(file);
    snprintf(command, sizeof command,
             "cd %s && '%s' -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda "
             "--cuda-path=/nonexistent -nogpulib -nogpuinc -Xopenmp-target "
             "-march=sm_75 --cuda-feature=+ptx78 --offload-%s-only -O1 -S "
             "-emit-llvm a.c -o a.ll 2>&1 | sed 's/^/# /'", folder, clang,
             half);
    ok(system(command) == 0, "clang makes the %s half", half);
    snprintf(path, sizeof path, "%s/a.ll", folder);
    if (ompjit__read_file(path, &text, NULL) == 0)
        m = parse(text.data);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ok(system(command) == 0, "cleaned up");
    ompjit__buf_free(&text);
    return m;
}

/* Each of clang's functions that has a row is what we would declare. */
static void same_declarations(LLVMModuleRef m, unsigned *rows, unsigned *same)
{
    LLVMModuleRef ours = LLVMModuleCreateWithNameInContext("ours", ctx);
    LLVMValueRef fn, own;
    for (fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn)) {
        int row = row_of(fn);
        if (row < 0)
            continue;
        ++*rows;
        ompjit_rtl_declare(ours, (unsigned)row, &own, NULL);
        LLVMAttributeRef a[8], b[8];
        bool equal = true;
        for (int i = -1; i <= (int)LLVMCountParams(fn); i++) {
            unsigned n = LLVMGetAttributeCountAtIndex(fn, (unsigned)i);
            if (n > 8 ||
                n != LLVMGetAttributeCountAtIndex(own, (unsigned)i)) {
                equal = false;
                continue;
            }
            LLVMGetAttributesAtIndex(fn, (unsigned)i, a);
            LLVMGetAttributesAtIndex(own, (unsigned)i, b);
            equal &= !memcmp(a, b, n * sizeof *a);
        }
        size_t length;
        if (equal)
            ++*same;
        else
            printf("# differs: %s\n", LLVMGetValueName2(fn, &length));
    }
    LLVMDisposeModule(ours);
}

static void clang_modules(void)
{
    static const char *const halves[] = {"device", "host"};
    const char *clang = getenv("CLANG");
    for (int i = 0; i < 2 && clang; i++) {
        LLVMModuleRef m = from_clang(clang, halves[i]);
        ompjit_error err = {.text = ""};
        unsigned rows = 0, same = 0;
        ok(m && ompjit_rtl_check(m, &err) == 0 &&
               check_newest(m, &err) == 0,
           "clang 22's %s half passes %s", halves[i], err.text);
        if (!m)
            continue;
        same_declarations(m, &rows, &same);
        /* clang itself declares what the source declares: omp_get_team_num */
        ok(rows >= 8 && same >= rows - 1,
           "%u of its %u runtime functions are declared as by us", same, rows);
        LLVMDisposeModule(m);
    }
    if (!clang)
        ok(1, "no real modules # SKIP CLANG is not set");
}

/* --------------------------------------------------------------- structs */

static const struct {
    ompjit_rtl_struct which;
    const char *name;
    size_t size;
} structs[] = {
#define OMPJIT_RTL_STRUCT(id, type, name, c_type) \
    {OMPJIT_RTL_STRUCT_##id, name, sizeof(c_type)},
#include "ompjit_rtl.def"
};

#define FIELD(id, c_type, number, field) \
    {OMPJIT_RTL_STRUCT_##id, #c_type "." #field, number, \
     offsetof(c_type, field)}
static const struct {
    ompjit_rtl_struct which;
    const char *name;
    unsigned number;
    size_t offset;
} fields[] = {
    FIELD(IDENT, ompjit__ident, 4, source),
    FIELD(CONFIGURATION_ENVIRONMENT, ompjit__configuration_environment, 2,
          exec_mode),
    FIELD(CONFIGURATION_ENVIRONMENT, ompjit__configuration_environment, 8,
          reduction_buffer_length),
    FIELD(KERNEL_ENVIRONMENT, ompjit__kernel_environment, 1, ident),
    FIELD(LAUNCH_ENVIRONMENT, ompjit__launch_environment, 2,
          reduction_buffer),
    FIELD(DEVICE_ENVIRONMENT, ompjit__device_environment, 7,
          hardware_parallelism),
    FIELD(KERNEL_ARGS_V1, ompjit__kernel_args_v1, 8, tripcount),
    FIELD(KERNEL_ARGS, ompjit__kernel_args, 9, flags),
    FIELD(KERNEL_ARGS, ompjit__kernel_args, 11, thread_limit),
    FIELD(KERNEL_ARGS, ompjit__kernel_args, 12, dynamic_shared),
    FIELD(OFFLOAD_ENTRY, ompjit__offload_entry, 3, flags),
    FIELD(OFFLOAD_ENTRY, ompjit__offload_entry, 6, size),
    FIELD(OFFLOAD_ENTRY, ompjit__offload_entry, 8, aux),
    FIELD(OFFLOAD_ENTRY_OLD, ompjit__offload_entry_old, 3, flags),
    FIELD(DEVICE_IMAGE, ompjit__device_image, 3, entries_end),
    FIELD(BIN_DESC, ompjit__bin_desc, 1, images),
};

static const char *const layouts[] = {
    "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:"
    "64-S128", /* x86-64 */
    "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64", /* nvptx */
};

static void struct_layouts(void)
{
    for (size_t l = 0; l < OMPJIT__COUNT(layouts); l++) {
        LLVMTargetDataRef data = LLVMCreateTargetData(layouts[l]);
        LLVMTypeRef type = NULL;
        for (size_t i = 0; i < OMPJIT__COUNT(structs); i++) {
            ompjit_rtl_type(ctx, structs[i].which, &type, NULL);
            ok(LLVMABISizeOfType(data, type) == structs[i].size,
               "struct %d '%s' has %zu bytes", structs[i].which,
               structs[i].name, structs[i].size);
        }
        for (size_t i = 0; i < OMPJIT__COUNT(fields); i++) {
            ompjit_rtl_type(ctx, fields[i].which, &type, NULL);
            ok(LLVMOffsetOfElement(data, type, fields[i].number) ==
                   fields[i].offset,
               "%s is at %zu", fields[i].name, fields[i].offset);
        }
        LLVMDisposeTargetData(data);
    }
}

static void struct_names(void)
{
    LLVMContextRef other = LLVMContextCreate();
    LLVMTypeRef type, again, taken_type;
    ompjit_error err;
    ompjit_rtl_type(other, OMPJIT_RTL_STRUCT_IDENT, &type, NULL);
    ompjit_rtl_type(other, OMPJIT_RTL_STRUCT_IDENT, &again, NULL);
    ok(type == again, "the same type on each call");
    ok_string(LLVMGetStructName(type), "struct.ident_t", "with LLVM's name");

    taken_type = LLVMStructCreateNamed(other, "struct.__tgt_offload_entry");
    LLVMTypeRef field = LLVMInt8TypeInContext(other);
    LLVMStructSetBody(taken_type, &field, 1, 0);
    ompjit_rtl_type(other, OMPJIT_RTL_STRUCT_OFFLOAD_ENTRY, &type, NULL);
    ompjit_rtl_type(other, OMPJIT_RTL_STRUCT_OFFLOAD_ENTRY, &again, NULL);
    ok(type != taken_type && type == again && !LLVMGetStructName(type) &&
           LLVMCountStructElementTypes(type) == 9,
       "without a name where another type has it");
    taken_type = LLVMStructCreateNamed(other, "__tgt_bin_desc");
    ok(ompjit_rtl_type(other, OMPJIT_RTL_STRUCT_BIN_DESC, &type, NULL) == 0 &&
           !LLVMGetStructName(type),
       "also where that is opaque");
    type = NULL;
    ok(ompjit_rtl_type(other, OMPJIT_RTL_STRUCT_COUNT, &type, &err) ==
               OMPJIT_ERR_NOT_FOUND && !type,
       "there is no struct after the last");
    ok_contains(err.text, "no struct 13; they are 0 to 12", "says the error");
    LLVMContextDispose(other);
}

int main(void)
{
    ctx = LLVMContextCreate();
    attributes();
    the_194();
    declare_all(0, OMPJIT_RTL_COUNT - 1, 22);
    declare_all(0, OMPJIT_RTL_COUNT - 1, 21);
    declare_all(0, OMPJIT_RTL_COUNT - 1, 18);
    names_taken();
    checks();
    all_wrong();
    clang_modules();
    struct_layouts();
    struct_names();
    LLVMContextDispose(ctx);
    return done_testing();
}
