/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The runtime table's rows: against LLVM's own OMPKinds.def, which stands in
 * LLVM's headers, and against facts that were typed in by hand. And the tool's
 * `table` command, of which the documentation page is the output.
 */
#include <unistd.h>

#include "table/rows.h"
#include "ompjit_rtl.h"
#include "tap.h"
#include "tool/show/table.h"

/* ------------------------------------------------------- rows, by hand */

static const struct {
    unsigned index;
    const char *name, *type, *attributes, *where, *category;
} facts[] = {
    {0, "__kmpc_barrier", "void (ptr, i32)", "convergent nounwind",
     "device, host: libomp", "parallel regions and synchronization"},
    {2, "__kmpc_cancel_barrier", "i32 (ptr, i32)", "convergent nounwind",
     "device, host: libomp", "parallel regions and synchronization"},
    {3, "__kmpc_error", "void (ptr, i32, ptr)", "", "device, host: libomp",
     "parallel regions and synchronization"},
    {7, "__kmpc_fork_call", "void (ptr, i32, ptr, ...)",
     "nounwind !callback(2,-1,-1,...)", "host: libomp",
     "parallel regions and synchronization"},
    {8, "__kmpc_fork_call_if", "void (ptr, i32, ptr, i32, ptr)", "",
     "host: libomp", "parallel regions and synchronization"},
    {9, "__kmpc_omp_taskwait", "i32 (ptr, i32)", "convergent nounwind",
     "device, host: libomp", "parallel regions and synchronization"},
    {14, "__kmpc_get_hardware_num_blocks", "i32 ()", "nounwind", "device",
     "hardware queries"},
    {16, "__kmpc_get_warp_size", "i32 ()", "nounwind", "device",
     "hardware queries"},
    {24, "omp_get_schedule", "void (ptr, ptr)",
     "nounwind 0:captures(none) 0:writeonly 1:captures(none) 1:writeonly",
     "device, host: libomp", "OpenMP API"},
    {36, "omp_get_place_proc_ids", "void (i32, ptr)",
     "nounwind 1:captures(none) 1:writeonly", "device, host: libomp",
     "OpenMP API"},
    {39, "omp_get_partition_place_nums", "void (ptr)", "nounwind",
     "device, host: libomp", "OpenMP API"},
    {40, "omp_get_wtime", "double ()", "nounwind", "device, host: libomp",
     "OpenMP API"},
    {51, "__kmpc_critical_with_hint", "void (ptr, i32, ptr, i32)",
     "convergent nounwind", "device, host: libomp", "critical"},
    {61, "__kmpc_for_static_init_4",
     "void (ptr, i32, i32, ptr, ptr, ptr, ptr, i32, i32)", "nounwind",
     "device, host: libomp", "loop scheduling"},
    {64, "__kmpc_for_static_init_8u",
     "void (ptr, i32, i32, ptr, ptr, ptr, ptr, i64, i64)", "nounwind",
     "device, host: libomp", "loop scheduling"},
    {87, "__kmpc_dispatch_deinit", "void (ptr, i32)", "nounwind",
     "device, host: libomp", "loop scheduling"},
    {98, "__kmpc_omp_task_alloc", "ptr (ptr, i32, i32, i64, i64, ptr)",
     "nounwind result:noalias", "device, host: libomp", "tasking"},
    {106, "__kmpc_taskloop_5",
     "void (ptr, i32, ptr, i32, ptr, ptr, i64, i32, i32, i64, i32, ptr)", "",
     "device, host: libomp", "tasking"},
    {118, "__kmpc_fork_teams", "void (ptr, i32, ptr, ...)",
     "nounwind !callback(2,-1,-1,...)", "host: libomp",
     "cancellation and teams"},
    {133, "__tgt_interop_destroy", "void (ptr, i32, ptr, i32, i32, ptr, i32)",
     "", "host: libompjit", "interop"},
    {134, "__tgt_interop_use", "void (ptr, i32, ptr, i32, i32, ptr, i32)", "",
     "host: libompjit", "interop"},
    {135, "__kmpc_init_allocator", "ptr (i32, ptr, i32, ptr)", "nounwind",
     "device, host: libomp", "memory allocators"},
    {141, "__tgt_target_teams_nowait_mapper",
     "i32 (ptr, i64, ptr, i32, ptr, ptr, ptr, ptr, ptr, ptr, i32, i32, i32, "
     "ptr, i32, ptr)",
     "nounwind", "host: libompjit", "target regions and mapping"},
    {142, "__tgt_target_kernel", "i32 (ptr, i64, i32, i32, ptr, ptr)",
     "nounwind", "host: libompjit", "target regions and mapping"},
    {146, "__tgt_target_data_begin_mapper_issue",
     "void (ptr, i64, i32, ptr, ptr, ptr, ptr, ptr, ptr, ptr)", "",
     "host: libompjit", "target regions and mapping"},
    {155, "__kmpc_target_init", "i32 (ptr, ptr)", "", "device",
     "device kernels"},
    {157, "__kmpc_kernel_prepare_parallel", "void (ptr)", "", "device",
     "device kernels"},
    {158, "__kmpc_parallel_51",
     "void (ptr, i32, i32, i32, i32, ptr, ptr, ptr, i64)", "alwaysinline",
     "nowhere", "device kernels"},
    {171, "__kmpc_kernel_parallel", "i1 (ptr)", "", "device",
     "device parallel regions"},
    {175, "__kmpc_shuffle_int32", "i32 (i32, i16, i16)", "", "device",
     "device reductions"},
    {177, "__kmpc_nvptx_teams_reduce_nowait_v2",
     "i32 (ptr, ptr, i32, i64, ptr, ptr, ptr, ptr, ptr, ptr, ptr)", "",
     "device", "device reductions"},
    {178, "__kmpc_reduction_get_fixed_buffer", "ptr ()", "nounwind", "device",
     "device reductions"},
    {180, "__kmpc_alloc_shared", "ptr (i64)",
     "allocsize(0) nosync nounwind result:noalias", "device",
     "device data sharing"},
    {181, "__kmpc_free_shared", "void (ptr, i64)",
     "nosync nounwind 0:allocptr 0:captures(none)", "device",
     "device data sharing"},
    {184, "__kmpc_get_shared_variables", "void (ptr)", "", "device",
     "device data sharing"},
    {185, "__kmpc_parallel_level", "i16 (ptr, i32)", "", "device",
     "device execution mode"},
    {186, "__kmpc_is_spmd_exec_mode", "i8 ()", "", "device",
     "device execution mode"},
    {189, "__kmpc_warp_active_thread_mask", "i64 ()", "convergent nounwind",
     "device", "device barriers"},
    {193, "__last", "void ()", "", "nowhere", "end of the 194"},
    {194, "__kmpc_push_num_threads_strict", "void (ptr, i32, i32, i32, ptr)",
     "nounwind", "host: libomp", "parallel regions and synchronization"},
    {195, "__kmpc_parallel_60",
     "void (ptr, i32, i32, i32, i32, ptr, ptr, ptr, i64, i32)",
     "alwaysinline", "device", "device kernels"},
    {196, "__kmpc_for_static_loop_4",
     "void (ptr, ptr, ptr, i32, i32, i32, i8)", "alwaysinline", "device",
     "device loops"},
    {207, "__kmpc_distribute_for_static_loop_8u",
     "void (ptr, ptr, ptr, i64, i64, i64, i64, i8)", "", "device",
     "device loops"},
    {208, "__tgt_register_requires", "void (i64)", "nounwind",
     "host: libompjit", "target registration"},
    {246, "ompx_shfl_down_sync_f", "float (i64, float, i32, i32)",
     "convergent nounwind", "device", "OpenMP extensions"},
};

static void rows_by_hand(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(facts); i++) {
        ompjit_rtl_row row = OMPJIT_RTL_ROW_INIT;
        ok(ompjit_rtl_row_at(facts[i].index, &row, NULL) == 0 &&
               row.index == facts[i].index,
           "row %u", facts[i].index);
        ok_string(row.name, facts[i].name, "its name");
        ok_string(row.type, facts[i].type, "%s: type", row.name);
        ok_string(row.attributes, facts[i].attributes, "%s: attributes",
                  row.name);
        ok_string(row.where, facts[i].where, "%s: where", row.name);
        ok_string(row.category, facts[i].category, "%s: category", row.name);
    }
    ok(OMPJIT_RTL___kmpc_barrier == 0 && OMPJIT_RTL___last == 193 &&
           OMPJIT_RTL___kmpc_parallel_60 == 195 &&
           OMPJIT_RTL___kmpc_for_static_loop_4 == 159 &&
           OMPJIT_RTL___kmpc_for_static_loop_4_v22 == 196,
       "the enum has the indices");
    ok(ompjit_rtl_count() == OMPJIT_RTL_COUNT, "%u rows", ompjit_rtl_count());
}

/* ------------------------------------------------------- rows, by LLVM */

static const struct {
    const char *name;
    bool vararg;
    const char *result, *params;
} kinds[] = {
#define OMP_RTL(Enum, Str, IsVarArg, Result, ...) \
    {Str, IsVarArg, #Result, #__VA_ARGS__},
#include "llvm/Frontend/OpenMP/OMPKinds.def"
};

static const struct {
    const char *name, *function, *result;
} kind_attributes[] = {
#define OMP_RTL_ATTRS(Enum, FnAttrSet, RetAttrSet, ArgAttrSets) \
    {#Enum, #FnAttrSet, #RetAttrSet},
#include "llvm/Frontend/OpenMP/OMPKinds.def"
};

/* A type of OMPKinds.def as our letter. All others are pointers. */
static char kind_letter(const char *name, size_t n)
{
    static const struct {
        const char *name;
        char letter;
    } scalars[] = {{"Void", 'v'},  {"Int1", 'b'},   {"Int8", 'c'},
                   {"Int16", 's'}, {"Int32", 'i'},  {"Int64", 'l'},
                   {"SizeTy", 'l'}, {"Double", 'd'}};
    for (size_t i = 0; i < OMPJIT__COUNT(scalars); i++)
        if (strlen(scalars[i].name) == n && !strncmp(name, scalars[i].name, n))
            return scalars[i].letter;
    return 'p';
}

static void kind_letters(size_t kind, char out[32])
{
    *out++ = kind_letter(kinds[kind].result, strlen(kinds[kind].result));
    *out++ = ':';
    for (const char *p = kinds[kind].params; *p;) {
        size_t n = strcspn(p, ", ");
        *out++ = kind_letter(p, n);
        p += n + strspn(p + n, ", ");
    }
    if (kinds[kind].vararg)
        *out++ = '.';
    *out = 0;
}

static void rows_of_llvm(void)
{
    unsigned next = 0;
    for (size_t i = 0; i < OMPJIT__COUNT(kinds); i++) {
        char letters[32];
        kind_letters(i, letters);
        int row = ompjit__rtl_newest(kinds[i].name);
        ok_string(row < 0 ? NULL : ompjit__rtl_rows[row].type, letters,
                  "%s is as in LLVM's table", kinds[i].name);
        if (!strcmp(kinds[i].name, "__kmpc_push_num_threads_strict"))
            continue;
        const char *name = strcmp(kinds[i].name, "__kmpc_parallel_60")
                               ? kinds[i].name
                               : "__kmpc_parallel_51";
        ok_string(ompjit__rtl_rows[next].name, name, "row %u in its order",
                  next);
        next++;
    }
    ok(next == 194, "LLVM's table gives the 194 rows");
}

/* The attributes of a set of OMPKinds.def where they are not optimistic. */
static const char *set_text(const char *set)
{
    if (strstr(set, "Barrier"))
        return "convergent nounwind";
    if (strstr(set, "AlwaysInline"))
        return "alwaysinline";
    if (strstr(set, "AllocSize"))
        return "allocsize(0) nosync nounwind";
    if (!strcmp(set, "DeviceAllocAttrs"))
        return "nosync nounwind";
    return strchr(set, '(') ? "" : "nounwind";
}

static void attributes_of_llvm(void)
{
    bool seen[OMPJIT_RTL_COUNT] = {false};
    for (size_t i = 0; i < OMPJIT__COUNT(kind_attributes); i++) {
        const char *name = kind_attributes[i].name + strlen("OMPRTL_");
        int row = ompjit__rtl_newest(name);
        const char *want = set_text(kind_attributes[i].function);
        const char *got = row < 0 ? "no row" : ompjit__rtl_attributes(row);
        ok(!strncmp(got, want, strlen(want)) &&
               strcspn(got + strlen(want), "0123456789r!") <= 1,
           "%s has '%s', as in LLVM: '%s'", name, got, want);
        ok(!strcmp(kind_attributes[i].result, "ReturnPtrAttrs") ==
               !!strstr(got, "result:noalias"),
           "%s: result", name);
        if (row >= 0)
            seen[row] = true;
    }
    for (size_t i = 0; i < OMPJIT__COUNT(kinds); i++) {
        int row = ompjit__rtl_newest(kinds[i].name);
        ok(row >= 0 && (seen[row] || !*ompjit__rtl_attributes(row)),
           "%s has attributes only where LLVM has them", kinds[i].name);
    }
}

/* -------------------------------------------------------------- dialects */

static const struct {
    unsigned index, since, until;
    int successor;
    const char *note;
} dialects[] = {
    {0, 18, 22, -1, ""},
    {87, 19, 22, -1, "LLVM 19 to 22"},
    {106, 21, 22, -1, "LLVM 21 to 22"},
    {145, 18, 22, -1,
     "LLVM 18: void (ptr, i64, i32, ptr, ptr, ptr, ptr, ptr, ptr)"},
    {158, 18, 21, 195,
     "LLVM 18 to 21; calls become row 195, __kmpc_parallel_60"},
    {159, 18, 21, 196,
     "LLVM 18 to 21; calls become row 196, __kmpc_for_static_loop_4"},
    {170, 18, 21, 207,
     "LLVM 18 to 21; calls become row 207, "
     "__kmpc_distribute_for_static_loop_8u"},
    {171, 18, 22, -1, "LLVM 12: i1 (ptr, i16)"},
    {195, 22, 22, -1, "LLVM 22"},
    {201, 22, 22, -1, "LLVM 22; before that row 164"},
    {208, 18, 18, -1, "LLVM 18"},
};

static void dialect_rows(void)
{
    for (size_t i = 0; i < OMPJIT__COUNT(dialects); i++) {
        ompjit_rtl_row row = OMPJIT_RTL_ROW_INIT;
        ompjit_rtl_row_at(dialects[i].index, &row, NULL);
        ok(row.since == dialects[i].since && row.until == dialects[i].until,
           "row %u: LLVM %u to %u", row.index, row.since, row.until);
        ok(row.successor == dialects[i].successor, "row %u becomes row %d",
           row.index, row.successor);
        ok_string(row.note, dialects[i].note, "row %u: note", row.index);
    }
}

/* Rows that cannot be as they should: found here, not by a user. */
static void consistency(void)
{
    bool named = true, fits = true, distinct = true, explained = true;
    for (unsigned i = 0; i < ompjit_rtl_count(); i++) {
        ompjit_rtl_row row = OMPJIT_RTL_ROW_INIT;
        const char *type = ompjit__rtl_rows[i].type;
        int successor = ompjit__rtl_successor(i);
        ompjit_rtl_row_at(i, &row, NULL);
        named &= row.name && *row.name && *row.category && *row.where &&
                 type[1] == ':' && strlen(type) <= 18 &&
                 type[2 + strspn(type + 2, "plisbcfd.")] == 0;
        bool device = !strncmp(row.where, "device", 6);
        explained &= *row.meaning && !*row.cost == !device &&
                     (device || !row.instructions);
        fits &= strlen(row.note) + 1 < sizeof row.note &&
                row.type[strlen(row.type) - 1] == ')';
        distinct &= !strstr(row.note, "; ;");
        if (successor >= 0 && (ompjit__rtl_until(successor) != 22 ||
                               strcmp(row.where, "nowhere")))
            fits = false;
        for (int j = (int)i; (j = ompjit__rtl_next(row.name, j)) >= 0;)
            distinct &= strcmp(type, ompjit__rtl_rows[j].type) != 0 &&
                        ompjit__rtl_until(i) < ompjit__rtl_since(j);
    }
    ok(named, "every row is complete");
    ok(explained, "every row has a meaning, and those of the device a cost");
    ok(fits, "texts fit, successors are of LLVM 22");
    ok(distinct, "rows of one name differ in type and release");
    for (size_t i = 0; i < ompjit__rtl_nolds; i++) {
        const ompjit__rtl_old *old = &ompjit__rtl_olds[i];
        int row = ompjit__rtl_newest(old->name);
        ok(row < 0 || strcmp(ompjit__rtl_rows[row].type, old->type),
           "%s of clang %u is another type", old->name, old->release);
    }
}

/* The plain arrays have what the rows have. */
static void plain_arrays(void)
{
    const ompjit_rtl_table *table = ompjit_rtl_table_get();
    const ompjit_rtl_declaration *all = table->declarations, *d;
    ok(table->size == sizeof *table && table->oldest == 18 &&
           table->newest == 22 && table->ndeclarations == OMPJIT_RTL_COUNT &&
           table->nolds == ompjit__rtl_nolds &&
           table->nlayouts == OMPJIT_RTL_STRUCT_COUNT,
       "the table tells how long its arrays are");
    bool same = true, chained = true;
    for (unsigned i = 0; i < table->ndeclarations; i++) {
        ompjit_rtl_row row = OMPJIT_RTL_ROW_INIT;
        ompjit_rtl_row_at(i, &row, NULL);
        d = &all[i];
        same &= !strcmp(d->name, row.name) && !strcmp(d->type.text, row.type) &&
                d->since == row.since && d->until == row.until &&
                d->successor == row.successor;
        chained &= (d->next < 0) == (ompjit__rtl_newest(d->name) == (int)i) &&
                   (d->next < 0 || all[d->next].previous == (int)i) &&
                   (d->previous < 0 || !strcmp(all[d->previous].name, d->name));
    }
    ok(same, "declarations are the rows'");
    ok(chained, "rows of one name are chained by release");

    d = &all[OMPJIT_RTL___kmpc_fork_call];
    ok(d->type.result == OMPJIT_RTL_KIND_VOID && d->type.nparams == 3 &&
           !memcmp(d->type.params, "pip", 3) && d->type.variadic &&
           d->ncallback == 3 && d->callback[0] == 2 && d->callback[2] == -1 &&
           d->callback_variadic && d->nattributes == 1,
       "__kmpc_fork_call takes a callback and variable arguments");
    d = &all[OMPJIT_RTL___kmpc_free_shared];
    ok(d->nattributes == 4 && !strcmp(d->attributes[3].name, "captures") &&
           !strcmp(d->attributes[3].old_name, "nocapture") &&
           d->attributes[3].index == 1 && d->attributes[0].index == -1 &&
           !d->callback,
       "__kmpc_free_shared does not capture its first parameter");
    d = &all[OMPJIT_RTL___kmpc_alloc_shared];
    ok(!strcmp(d->attributes[0].name, "allocsize") &&
           d->attributes[0].value == UINT32_MAX &&
           d->attributes[3].index == 0,
       "__kmpc_alloc_shared's parameter is a size, its result new");
    ok_string(table->olds[3].type.text, "i32 (ptr, i8, i1)",
              "another type of %s", table->olds[3].name);
    ok(table->layouts[OMPJIT_RTL_STRUCT_KERNEL_ENVIRONMENT].nfields == 3,
       "a kernel's environment has three fields");
}

/* Each row of meaning.def and size.def is some function's. */
static void explanations(void)
{
    static const char *const names[] = {
#define RTL_MEANING(name, cost, text) name,
#include "table/meaning.def"
    };
    bool used[OMPJIT__COUNT(names)] = {false};
    for (unsigned i = 0; i < ompjit_rtl_count(); i++) {
        int meaning = ompjit__rtl_meaning_of(ompjit__rtl_rows[i].name);
        if (meaning >= 0)
            used[meaning] = true;
    }
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++)
        if (!used[i])
            ok(false, "%s explains no row", names[i]);
    ok_string(ompjit__rtl_meaning_of("omp_none") < 0 ? "none" : "some", "none",
              "a function that is no row has no meaning");
#define RTL_SIZE(name, instructions)                                           \
    if (ompjit__rtl_next(name, -1) < 0)                                        \
        ok(false, "the size of %s, which is no row", name);
#include "table/size.def"
#undef RTL_SIZE
}

/* -------------------------------------------------------------- refusals */

static const struct {
    const char *name, *words;
} unknown[] = {
    {"__kmpc_barier", "'__kmpc_barier'; there is __kmpc_barrier"},
    {"omp_get_thread_nums", "; there is omp_get_thread_num, "},
    {"__kmpc_parallel_52", "__kmpc_parallel_"},
    {"", "no row is named ''"},
    {"a_name_that_is_nothing_like_any_of_the_functions_of_an_openmp_runtime_"
     "and_also_far_too_long", "no row is named 'a_name"},
};

static void refusals(void)
{
    ompjit_rtl_row row = OMPJIT_RTL_ROW_INIT, none = {.size = 0};
    ompjit_error err;
    for (size_t i = 0; i < OMPJIT__COUNT(unknown); i++) {
        ok(ompjit_rtl_row_named(unknown[i].name, &row, &err) ==
               OMPJIT_ERR_NOT_FOUND && !row.name,
           "no row named '%s'", unknown[i].name);
        ok_contains(err.text, unknown[i].words, "its error");
    }
    ok(!strstr(err.text, "there is"), "nothing is suggested for nonsense");
    ompjit_rtl_row_named("table", &row, &err);
    ok_string(err.text, "runtime table: no row is named 'table'",
              "nor for another word");
    ok(ompjit_rtl_row_at(OMPJIT_RTL_COUNT, &row, &err) ==
           OMPJIT_ERR_NOT_FOUND, "no row after the last");
    ok_contains(err.text, "rows are 0 to 277", "the error says which");
    ok(ompjit_rtl_row_at(0, &none, &err) == OMPJIT_ERR_INVALID,
       "a size must be set");
    ok_contains(err.text, "size is 0", "the error says so");
    ok(ompjit_rtl_row_at(0, NULL, &err) == OMPJIT_ERR_INVALID, "a row too");
    ok(ompjit_rtl_row_named(NULL, &row, &err) == OMPJIT_ERR_INVALID,
       "a name too");
    ok(ompjit_rtl_row_named("x", &row, NULL) == OMPJIT_ERR_NOT_FOUND,
       "the error is optional");

    ompjit_rtl_row small = {.size = offsetof(ompjit_rtl_row, type),
                            .type = "untouched"};
    ok(ompjit_rtl_row_at(1, &small, NULL) == 0 &&
           !strcmp(small.name, "__kmpc_cancel") &&
           !strcmp(small.type, "untouched"),
       "an older, smaller struct is filled as far as it goes");
    ok(ompjit_rtl_row_named("__kmpc_for_static_loop_8", &row, NULL) == 0 &&
           row.index == 198,
       "of two rows, LLVM 22's");
    ok(ompjit_rtl_row_named("__kmpc_parallel_51", &row, NULL) == 0 &&
           row.index == 158,
       "a name that LLVM 22 has not");
}

/* ------------------------------------------------------------- the tool */

/* Runs `ompjit table` with words; what it wrote to `stream` is in *out. */
static int tool(FILE *stream, ompjit__buf *out, const char *words)
{
    char line[256], *argv[16] = {"table"}, path[] = "/tmp/table_t.XXXXXX";
    int argc = 1, fd = mkstemp(path), saved;
    snprintf(line, sizeof line, "%s", words);
    for (char *w = strtok(line, " "); w; w = strtok(NULL, " "))
        argv[argc++] = w;
    fflush(stream);
    saved = dup(fileno(stream));
    dup2(fd, fileno(stream));
    int status = tool_table(argc, argv);
    fflush(stream);
    dup2(saved, fileno(stream));
    close(saved);
    close(fd);
    ompjit__buf_free(out);
    ompjit__read_file(path, out, NULL);
    unlink(path);
    return status;
}

static unsigned lines(const ompjit__buf *text)
{
    unsigned n = 0;
    for (size_t i = 0; i < text->size; i++)
        n += text->data[i] == '\n';
    return n;
}

static void command(void)
{
    ompjit__buf out = {0}, page = {0};
    char path[4096];
    ok(tool(stdout, &out, "") == 0 && lines(&out) == OMPJIT_RTL_COUNT + 1,
       "the list has every row");
    ok(tool(stdout, &out, "--grep reduce") == 0 && lines(&out) == 7,
       "--grep finds six rows");
    ok(tool(stdout, &out, "158") == 0, "a row by index");
    ok_contains(out.data, "calls become row 195", "its note");
    ok(tool(stdout, &out, "omp_get_wtime") == 0, "a row by name");
    ok_contains(out.data, "type         double ()\n", "its type");
    ok(tool(stdout, &out, "7 --json") == 0, "a row as JSON");
    ok_contains(out.data, "[\n  {\"index\": 7, \"name\": \"__kmpc_fork_call\"",
                "begins so");
    ok(tool(stderr, &out, "999") == 1, "no such index");
    ok_contains(out.data, "no row 999; rows are 0 to 277", "says why");
    ok(tool(stderr, &out, "99999999999999999999999") == 1, "nor a huge one");
    ok(tool(stderr, &out, "__kmpc_barrie") == 1, "no such name");
    ok_contains(out.data, "there is __kmpc_barrier", "suggests one");
    ok(tool(stderr, &out, "--grep zzz") == 1, "nothing found");
    ok(tool(stderr, &out, "1 --grep x") == 2, "row and --grep");
    ok(tool(stderr, &out, "1 2") == 2, "two rows");
    ok(tool(stderr, &out, "--grep") == 2, "--grep without text");
    ok(tool(stderr, &out, "--xml") == 2, "unknown option");
    ok_contains(out.data, "usage: ompjit table", "prints the usage");
    ok(tool(stdout, &out, "--help") == 0, "--help");

    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/doc/runtime-table.md",
             srcdir ? srcdir : ".");
    ok(ompjit__read_file(path, &page, NULL) == 0, "there is %s", path);
    ok(tool(stdout, &out, "--markdown") == 0 && page.size == out.size &&
           !memcmp(page.data, out.data, out.size),
       "it is what --markdown prints (else: ompjit table --markdown > it)");
    ompjit__buf_free(&out);
    ompjit__buf_free(&page);
}

int main(void)
{
    rows_by_hand();
    rows_of_llvm();
    attributes_of_llvm();
    dialect_rows();
    consistency();
    plain_arrays();
    explanations();
    refusals();
    command();
    return done_testing();
}
