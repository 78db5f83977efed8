/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The functions that served programs call, on a context with one device that
 * has memory of its own (0) and one that shares the host's (1).
 */
#include <dlfcn.h>
#include <limits.h>

#include "tap.h"
#include "fake.h"
#include "device/engine/libomp.h"
#include "launch/variant_table.h"
#include "omptarget/entry_points.h"

static char log_text[4096];

void ompjit__log(ompjit_context *ctx, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(log_text, sizeof log_text, format, ap);
    va_end(ap);
}

ompjit_status ompjit__devices(ompjit_context *ctx, ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LOAD,
                        "fake: no devices");
}

/* The module's variable has its own storage on each device. */
static char globals[2][64];
static int symbols_asked;

ompjit_status ompjit__module_symbol(ompjit_module *mod, ompjit_device *dev,
                                    const char *symbol, void **address,
                                    size_t *size, ompjit_error *err)
{
    symbols_asked++;
    if (!strcmp(symbol, "missing"))
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LOAD,
                            "fake: no %s", symbol);
    *address = globals[dev->number] + (strcmp(symbol, "v") ? 32 : 0);
    *size = !strcmp(symbol, "small") ? 2 : 8;
    return OMPJIT_OK;
}

static int default_device_number;

static ompjit_context *context_new(const char *policy)
{
    if (policy)
        setenv("OMP_TARGET_OFFLOAD", policy, 1);
    else
        unsetenv("OMP_TARGET_OFFLOAD");
    ompjit_context *ctx = calloc(1, sizeof *ctx);
    ctx->devices = calloc(2, sizeof *ctx->devices);
    ctx->ndevices = 2;
    ctx->devices_known = true;
    for (unsigned i = 0; i < 2; i++) {
        ctx->devices[i] = fake_new(i == 1);
        ctx->devices[i]->ctx = ctx;
        ctx->devices[i]->number = ctx->devices[i]->ordinal = i;
    }
    ctx->tgt = ompjit__tgt_new(ctx, NULL);
    return ctx;
}

static int context_delete(ompjit_context *ctx)
{
    ompjit__tgt_free(ctx->tgt);
    int left = fake_delete(ctx->devices[0]) + fake_delete(ctx->devices[1]);
    free(ctx->devices);
    free(ctx);
    return left;
}

/* This program is the OpenMP runtime: its functions are found by dlsym. */
ompjit_status ompjit__libomp(const struct ompjit__libomp **out,
                             ompjit_error *err)
{
    static struct ompjit__libomp table;
    table.handle = dlopen(NULL, RTLD_NOW);
    *out = &table;
    return OMPJIT_OK;
}

int omp_get_default_device(void);
int omp_get_default_device(void)
{
    return default_device_number;
}

/* -------------------------------------------------------------- the table */

static void table(void)
{
    int order = 1, signatures = 1;
    for (size_t i = 0; i < ompjit__served_count; i++) {
        const ompjit__served *s = &ompjit__served_table[i];
        order = order && (!i || strcmp(s[-1].name, s->name) < 0);
        signatures = signatures && s->address && s->signature[1] == ':' &&
                     strchr("vilsp", s->signature[0]) &&
                     strspn(s->signature + 2, "ilsp") ==
                         strlen(s->signature + 2);
    }
    ok(order, "names ascend and are unique");
    ok(signatures, "signatures are well formed");
    ok(ompjit__served_count > 55, "%zu functions", ompjit__served_count);
}

/* ---------------------------------------------------------------- kernels */

static ompjit_module *const module_a = (ompjit_module *)16;
static ompjit_module *const module_b = (ompjit_module *)32;

static void registry(void)
{
    enum { N = 1000 };
    static char keys[2 * N];
    ompjit_context *ctx = context_new(NULL);
    ompjit_module *mod;
    unsigned kernel;
    int bad = 0;
    for (unsigned i = 0; i < N; i++)
        bad += ompjit__tgt_add_kernel(ctx, keys + i, i % 2 ? module_a
                                                           : module_b, i,
                                      NULL) != 0;
    for (unsigned i = 0; i < N; i++)
        bad += !ompjit__tgt_find(ctx->tgt, keys + i, &mod, &kernel) ||
               kernel != i || mod != (i % 2 ? module_a : module_b);
    ok(!bad, "%d kernels are found", N);
    ok(!ompjit__tgt_find(ctx->tgt, keys + N, &mod, &kernel) &&
           !ompjit__tgt_find(ctx->tgt, NULL, &mod, &kernel), "others are not");
    ompjit__tgt_remove(ctx, module_a);
    for (unsigned i = 0; i < N; i++)
        bad += ompjit__tgt_find(ctx->tgt, keys + i, &mod, &kernel) == i % 2;
    ok(!bad, "a module's kernels are forgotten");
    /* Forgotten slots are used again: the table need not grow for ever. */
    for (int round = 0; round < 100; round++) {
        for (unsigned i = 0; i < N / 2; i++)
            ompjit__tgt_add_kernel(ctx, keys + N + (i * 7 + round) % N,
                                   module_a, i, NULL);
        ompjit__tgt_remove(ctx, module_a);
    }
    ok(ompjit__tgt_add_kernel(ctx, keys + 1, module_b, 7, NULL) == 0 &&
           ompjit__tgt_find(ctx->tgt, keys + 1, &mod, &kernel) &&
           kernel == 7 && mod == module_b, "a key can come back");
    ok(!context_delete(ctx), "freed");
}

static char key[8];

static int32_t run(ompjit_context *ctx, int64_t device, int32_t teams,
                   int32_t threads, const void *which,
                   ompjit__kernel_args *args)
{
    return ompjit__s_target_kernel(ctx, NULL, device, teams, threads,
                                   (void *)(uintptr_t)which, args);
}

/* The requests of clauses for a launch. */
static void requests(void)
{
    static const struct {
        const char *name;
        int teams, threads;
        ompjit__kernel_args args;
        uint32_t want_teams, want_threads;
        int fixed;
    } rows[] = {
        {"target", -1, 0, {.version = 3, .teams = {~0u}}, 1, 0, 1},
        {"target teams", 0, 0, {.version = 3}, 0, 0, 0},
        {"num_teams(5)", 5, 0, {.version = 3, .teams = {5}}, 5, 0, 1},
        {"thread_limit(9)", 0, 9, {.version = 3, .thread_limit = {9}}, 0, 9,
         0},
        {"version 2", 4, 8, {.version = 2, .teams = {4, 1, 1},
         .thread_limit = {8, 1, 1}}, 4, 8, 1},
        {"version 1", 4, 8, {.version = 1}, 4, 8, 1},
        {"version 1, target", -1, 0, {.version = 1}, 1, 0, 1},
    };
    ompjit_context *ctx = context_new(NULL);
    ompjit__tgt_add_kernel(ctx, key, module_a, 3, NULL);
    fake_kernel_fn = NULL;
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit__kernel_args args = rows[i].args;
        args.tripcount = 77;
        int32_t rc = run(ctx, 0, rows[i].teams, rows[i].threads, key, &args);
        const ompjit__request *r = &fake_request;
        uint32_t y = rows[i].want_teams ? 1 : 0;
        ok(!rc && r->teams[0] == rows[i].want_teams && r->teams[1] == y &&
               r->threads[0] == rows[i].want_threads &&
               r->teams_fixed == rows[i].fixed && !r->threads_fixed &&
               r->tripcount == 77, "%s", rows[i].name);
    }
    ok(!context_delete(ctx), "freed");
}

static int fatal_calls;
static void on_fatal(void *data, const ompjit_error *err)
{
    fatal_calls += *(int *)data;
}

static void device_numbers(void)
{
    static const struct {
        const char *policy;
        int default_device, device;
        int runs, errors, count;
    } rows[] = {
        {NULL, 0, 0, 1, 0, 2}, {NULL, 0, 1, 1, 0, 2}, {NULL, 1, -1, 1, 0, 2},
        {NULL, 2, -1, 0, 0, 2}, {NULL, -1, -1, 0, 0, 2}, {NULL, 0, 2, 0, 0, 2},
        {NULL, 0, 3, 0, 0, 2}, {NULL, 0, -2, 0, 1, 2},
        {"MANDATORY", 0, 0, 1, 0, 2}, {"mandatory", 0, 3, 0, 1, 2},
        {"MANDATORY", 0, -2, 0, 1, 2}, {"MANDATORY", 0, 2, 0, 0, 2},
        {"DISABLED", 0, 0, 0, 0, 0}, {"disabled", 0, -1, 0, 0, 0},
        {"disabled", 0, -2, 0, 0, 0},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        ompjit_context *ctx = context_new(rows[i].policy);
        ompjit__kernel_args args = {.version = 3};
        ompjit_error err;
        int one = 1;
        ompjit__tgt_add_kernel(ctx, key, module_a, 0, NULL);
        ompjit__tgt_on_fatal(ctx, on_fatal, &one, OMPJIT_AFTER_FAILURE_KEEP);
        fatal_calls = fake_runs = 0;
        default_device_number = rows[i].default_device;
        int32_t rc = run(ctx, rows[i].device, 0, 0, key, &args);
        ok(rc == (!rows[i].runs && !rows[i].errors) &&
               fake_runs == rows[i].runs &&
               fatal_calls == rows[i].errors &&
               ompjit__s_get_num_devices(ctx) == rows[i].count &&
               !ompjit__tgt_error(ctx, &err) == !rows[i].errors,
           "%s, default %d, device(%d)",
           rows[i].policy ? rows[i].policy : "DEFAULT",
           rows[i].default_device, rows[i].device);
        context_delete(ctx);
    }
    default_device_number = 0;
    for (int mandatory = 0; mandatory < 2; mandatory++) {
        ompjit_context *ctx = context_new(mandatory ? "MANDATORY" : NULL);
        ompjit__kernel_args args = {.version = 3};
        ompjit__tgt_add_kernel(ctx, key, module_a, OMPJIT__NO_KERNEL, NULL);
        fake_runs = 0;
        int32_t rc = run(ctx, 0, 0, 0, key, &args);
        ok(rc == !mandatory && !fake_runs &&
               !ompjit__tgt_error(ctx, NULL) == !mandatory,
           "a region without a kernel is the host's%s",
           mandatory ? ", which mandatory forbids" : "");
        context_delete(ctx);
    }
    unsetenv("OMP_TARGET_OFFLOAD");
}

static void errors(void)
{
    ompjit_context *ctx = context_new(NULL);
    ompjit__kernel_args args = {.version = 3};
    ompjit__ident where = {.source = ";f.c;main;12;3;;"};
    ompjit_error err = {0};
    int one = 1;
    ok(run(ctx, 0, 0, 0, key, &args) == 1, "an unknown kernel");
    ok(ompjit__tgt_error(ctx, &err) == OMPJIT_ERR_NOT_FOUND, "is an error");
    ok_contains(err.text, "no kernel is registered", "that says so");
    ok_contains(log_text, "error: no kernel", "in the log too");
    ok(!ompjit__tgt_error(ctx, &err), "and is then forgotten");
    ompjit__tgt_add_kernel(ctx, key, module_a, 0, NULL);
    for (uint32_t version = 0; version <= 4; version += 4) {
        args.version = version;
        ok(run(ctx, 0, 0, 0, key, &args) == 1 &&
               ompjit__tgt_error(ctx, &err) == OMPJIT_ERR_ABI,
           "arguments of version %u", version);
        ok_contains(err.text, "those of LLVM 15 to 22 have 1 to 3",
                    "are not guessed");
    }
    args.version = 3;
    fake_run_status = OMPJIT_ERR_DEVICE;
    fatal_calls = 0;
    ompjit__tgt_on_fatal(ctx, on_fatal, &one, OMPJIT_AFTER_FAILURE_KEEP);
    ok(ompjit__s_target_kernel(ctx, &where, 0, 0, 0, key, &args) == 0 &&
           fatal_calls == 1,
       "a failing kernel calls the hook, and the host does not run it again");
    fake_run_status = OMPJIT_OK;
    char x[8];
    void *at = x;
    int64_t size = 8, type = OMPJIT__MAP_PRESENT;
    ompjit__s_data_begin(ctx, &where, 0, 1, &at, &at, &size, &type, NULL,
                         NULL);
    ok(fatal_calls == 2, "so does a map that fails");
    ok(ompjit__tgt_error(ctx, &err) == OMPJIT_ERR_DEVICE, "the first is kept");
    ok_contains(err.text, "f.c:12: in main: ", "with its place");
    ok(!context_delete(ctx), "freed");
}

/* ---------------------------------------------------------------- globals */

static int64_t update(ompjit_context *ctx, int device, void *at, int64_t type)
{
    int64_t size = 8;
    ompjit_error err;
    ompjit__s_data_update(ctx, NULL, device, 1, &at, &at, &size, &type, NULL,
                          NULL);
    return ompjit__tgt_error(ctx, &err);
}

/* Unified shared memory is a requirement that a device may not meet. */
static void requirements(void)
{
    ompjit_context *ctx = context_new(NULL);
    ok(ompjit__s_get_num_devices(ctx) == 2, "two devices");
    ok(!ompjit__tgt_add_global(ctx, NULL, 8, OMPJIT__ENTRY_REQUIRES, module_a,
                               "", NULL) &&
           ompjit__s_get_num_devices(ctx) == 0,
       "none for a program that requires what they have not");
    ctx->devices[0]->reads_host = ctx->devices[1]->reads_host = true;
    ok(ompjit__s_get_num_devices(ctx) == 2, "two that have it");
    ctx->requires = 0;
    ok(!ompjit__shares_memory(ctx->devices[0]),
       "a device that reads the host's memory has its own all the same");
    ctx->devices[0]->shares_chip = true;
    ok(ompjit__shares_memory(ctx->devices[0]),
       "but none that is integrated with the host");
    ctx->devices[0]->reads_host = ctx->devices[1]->reads_host = false;
    ok(!ompjit__shares_memory(ctx->devices[0]),
       "unless it cannot read what the host allocates");
    ok(!context_delete(ctx), "freed");
}

static void variables(void)
{
    ompjit_context *ctx = context_new(NULL);
    static char v[8] = "host", other[8];
    static void *link_pointer = other;
    symbols_asked = 0;
    memcpy(globals[0], "device0", 8);
    memcpy(globals[1], "device1", 8);
    ok(!ompjit__tgt_add_global(ctx, v, 8, 0, module_a, "v", NULL) &&
           !ompjit__tgt_add_global(ctx, &link_pointer, 8, OMPJIT__ENTRY_LINK,
                                   module_a, "link", NULL) &&
           !ompjit__tgt_add_global(ctx, NULL, 16, OMPJIT__ENTRY_REQUIRES,
                                   module_a, "", NULL), "added");
    ok(ctx->requires == 16, "requires is noted");
    ok(!symbols_asked, "no device is touched yet");
    ok(ompjit__s_get_mapped_ptr(ctx, v, 1) == globals[1] &&
           symbols_asked == 2, "first use makes both present");
    ok(!memcmp(globals[1] + 32, &link_pointer, 8),
       "a link pointer on shared memory points to the host's variable");
    ok(!update(ctx, 1, v, OMPJIT__MAP_FROM) && !strcmp(v, "device1") &&
           symbols_asked == 2, "update from, even on shared memory");
    memcpy(v, "again", 6);
    ok(!update(ctx, 1, v, OMPJIT__MAP_TO) && !strcmp(globals[1], "again"),
       "update to");
    ok(ompjit__s_get_mapped_ptr(ctx, v, 0) == globals[0] && symbols_asked == 4,
       "the other device");

    /* Mapping a link variable points the device's pointer at it. */
    void *base = &link_pointer, *begin = other;
    int64_t size = 8, type = OMPJIT__MAP_TO | OMPJIT__MAP_PTR_AND_OBJ;
    fake *f = ctx->devices[0]->state;
    f->strays = 0;
    ompjit__s_data_begin(ctx, NULL, 0, 1, &base, &begin, &size, &type, NULL,
                         NULL);
    void *there;
    memcpy(&there, globals[0] + 32, 8);
    ok(there && there == ompjit__s_get_mapped_ptr(ctx, other, 0),
       "a link variable");
    ompjit__s_data_end(ctx, NULL, 0, 1, &base, &begin, &size, &type, NULL,
                       NULL);
    ok(!ompjit__s_target_is_present(ctx, other, 0) && !f->live, "goes again");
    f->strays = 0; /* `globals` are none of its blocks */
    ompjit__tgt_remove(ctx, module_a);
    ok(!ompjit__s_get_mapped_ptr(ctx, v, 0) &&
           !ompjit__s_get_mapped_ptr(ctx, v, 1), "the module goes");
    ok(!ompjit__tgt_add_global(ctx, v, 8, 0, module_b, "missing", NULL) &&
           update(ctx, 0, v, OMPJIT__MAP_TO) == OMPJIT_ERR_NOT_FOUND,
       "one that the device does not have");
    ompjit__tgt_remove(ctx, module_b);
    ok(!ompjit__tgt_add_global(ctx, v, 8, 0, module_b, "small", NULL) &&
           update(ctx, 0, v, OMPJIT__MAP_TO) == OMPJIT_ERR_MAPPING,
       "one that is smaller there");
    ok(!context_delete(ctx), "freed");
}

/* ---------------------------------------------------------------- routines */

/* Rows of the program's own for calls through pointers: what is refused. The
 * calls are in t/programs/function_map.c. */
static void function_maps(void)
{
    static const struct {
        const char *what, *text;
        int32_t device;
        uint64_t n;
        bool rows;
    } refused[] = {
        {"no rows", "3 rows at NULL", 0, 3, false},
        {"no such device", "there is no device 7", 7, 1, true},
        {"two rows of one address", "two rows have the host address", 0, 2,
         true},
        {"more rows than memory holds", "out of memory", 0, UINT64_MAX / 8,
         true},
    };
    ompjit_context *ctx = context_new(NULL);
    char f[2];
    const ompjit__indirect_call rows[] = {{f, f + 1}, {f, f}};
    ompjit_error err = {0};
    ctx->devices[0]->ready = ctx->devices[1]->ready = true;
    for (size_t i = 0; i < OMPJIT__COUNT(refused); i++) {
        ok(ompjit__s_set_function_ptr_map(
               ctx, refused[i].device, refused[i].n,
               refused[i].rows ? rows : NULL) == 1 &&
               ompjit__tgt_error(ctx, &err),
           "a map of functions: %s", refused[i].what);
        ok_contains(err.text, refused[i].text, "  is told");
    }
    ok(ompjit__s_set_function_ptr_map(ctx, 0, 1, rows) == 0 &&
           ompjit__s_set_function_ptr_map(ctx, 0, 0, NULL) == 0 &&
           ompjit__s_set_function_ptr_map(ctx, 1, 1, rows + 1) == 0,
       "a map, none, and another device's");
    ok(!ompjit__tgt_error(ctx, &err), "are accepted");
    for (unsigned i = 0; i < 2; i++)
        ompjit__device_calls_free(ctx->devices[i]);
    ok(!context_delete(ctx), "freed");
}

static void routines(void)
{
    ompjit_context *ctx = context_new(NULL);
    char a[64], b[64];
    ok(ompjit__s_get_num_devices(ctx) == 2 &&
           ompjit__s_get_initial_device(ctx) == 2 &&
           ompjit__s_is_initial_device() == 1, "numbers");
    ok_string(ompjit__s_get_uid_from_device(ctx, 1), "fake:1", "uid");
    ok_string(ompjit__s_get_uid_from_device(ctx, -1), "HOST", "host's uid");
    ok(!ompjit__s_get_uid_from_device(ctx, 3), "no uid");
    ok(ompjit__s_get_device_from_uid(ctx, "fake:0") == 0 &&
           ompjit__s_get_device_from_uid(ctx, "HOST") == 2 &&
           ompjit__s_get_device_from_uid(ctx, "x") == -2 &&
           ompjit__s_get_device_from_uid(ctx, NULL) == -2, "from uid");

    void *d = ompjit__s_target_alloc(ctx, 64, 0);
    void *e = ompjit__s_target_alloc(ctx, 64, 1);
    void *h = ompjit__s_target_alloc(ctx, 64, 2);
    ok(d && e && h && !ompjit__s_target_alloc(ctx, 0, 0) &&
           !ompjit__s_target_alloc(ctx, 64, 3) &&
           !ompjit__s_target_alloc_shared(ctx, 64, 0), "alloc");
    for (int i = 0; i < 64; i++)
        a[i] = (char)i;
    ok(!ompjit__s_target_memcpy(ctx, d, a, 32, 8, 4, 0, 2) &&
           !ompjit__s_target_memcpy(ctx, e, d, 32, 0, 8, 1, 0) &&
           !ompjit__s_target_memcpy(ctx, e, e, 16, 32, 0, 1, 1) &&
           !ompjit__s_target_memcpy(ctx, h, e, 48, 0, 0, -1, 1) &&
           !ompjit__s_target_memcpy(ctx, b, h, 48, 0, 0, 2, 2) &&
           !memcmp(b, a + 4, 32) && !memcmp(b + 32, a + 4, 16),
       "copies between all kinds");
    ok(ompjit__s_target_memcpy(ctx, d, NULL, 1, 0, 0, 0, 2) &&
           ompjit__s_target_memcpy(ctx, d, a, 1, 0, 0, 0, 9) &&
           !ompjit__s_target_memcpy(ctx, NULL, NULL, 0, 0, 0, 0, 0),
       "copies that cannot be");
    memset(b, 0, 64);
    ok(ompjit__s_target_memset(ctx, d, 7, 64, 0) == d &&
           ompjit__s_target_memset_async(ctx, e, 8, 64, 1, 0, NULL) == e &&
           !ompjit__s_target_memcpy_async(ctx, b, d, 32, 0, 0, 2, 0, 0, NULL)
           && !ompjit__s_target_memcpy(ctx, b, e, 32, 32, 0, 2, 1) &&
           b[0] == 7 && b[31] == 7 && b[32] == 8 && b[63] == 8, "memset");
    ok(ompjit__s_target_is_accessible(ctx, a, 4, 1) &&
           !ompjit__s_target_is_accessible(ctx, a, 4, 0) &&
           ompjit__s_target_is_accessible(ctx, a, 4, -1), "accessible");
    ok(!ompjit__s_target_associate_ptr(ctx, a, d, 32, 8, 0) &&
           ompjit__s_get_mapped_ptr(ctx, a + 3, 0) == (char *)d + 11 &&
           ompjit__s_target_is_present(ctx, a + 31, 0) &&
           !ompjit__s_target_is_present(ctx, a + 32, 0) &&
           ompjit__s_target_is_present(ctx, a, 2) &&
           !ompjit__s_target_is_present(ctx, NULL, 0), "associate");
    ok(ompjit__s_target_associate_ptr(ctx, a, d, 32, 0, 0) &&
           ompjit__s_target_associate_ptr(ctx, a, d, 32, 0, 2) &&
           ompjit__s_target_associate_ptr(ctx, b, d, 0, 0, 0),
       "associate what cannot be");
    ok(!ompjit__s_target_disassociate_ptr(ctx, a, 0) &&
           ompjit__s_target_disassociate_ptr(ctx, a, 0) &&
           !ompjit__s_target_is_present(ctx, a, 0), "disassociate");
    ompjit__s_target_free(ctx, d, 0);
    ompjit__s_target_free(ctx, e, 1);
    ompjit__s_target_free(ctx, h, 2);
    ompjit__s_target_free(ctx, NULL, 0);
    ok(!context_delete(ctx), "freed");
}

/* Against element by element; counts the copies. */
static void rectangles(void)
{
    typedef size_t three[3];
    static const struct {
        const char *name;
        int dims, copies;
        three volume, dst_offsets, src_offsets, dst_dims, src_dims;
    } rows[] = {
        {"line", 1, 1, {5}, {2}, {1}, {8}, {9}},
        {"block", 2, 3, {3, 2}, {1, 2}, {0, 1}, {4, 5}, {6, 3}},
        {"whole rows", 2, 1, {3, 5}, {1, 0}, {2, 0}, {4, 5}, {6, 5}},
        {"cube", 3, 6, {2, 3, 4}, {1, 1, 1}, {0, 2, 0}, {3, 4, 5}, {2, 5, 4}},
        {"planes", 3, 1, {2, 3, 4}, {1, 0, 0}, {0, 0, 0}, {3, 3, 4},
         {2, 3, 4}},
        {"rows of planes", 3, 2, {2, 3, 4}, {1, 1, 0}, {0, 0, 0}, {3, 5, 4},
         {2, 3, 4}},
        {"nothing", 2, 0, {3, 0}, {0, 0}, {0, 0}, {4, 5}, {6, 5}},
    };
    ompjit_context *ctx = context_new(NULL);
    fake *f = ctx->devices[0]->state;
    int src[256], got[256], want[256];
    for (size_t k = 0; k < OMPJIT__COUNT(rows); k++) {
        int *d = ompjit__s_target_alloc(ctx, sizeof src, 0);
        for (int i = 0; i < 256; i++) {
            src[i] = i + 1;
            want[i] = 0;
        }
        ompjit__s_target_memset(ctx, d, 0, sizeof src, 0);
        size_t v[3] = {1, 1, 1}, o[3] = {0}, p[3] = {0}, s[3] = {1, 1, 1},
               t[3] = {1, 1, 1};
        for (int i = 0; i < rows[k].dims; i++) {
            v[i] = rows[k].volume[i];
            o[i] = rows[k].dst_offsets[i];
            p[i] = rows[k].src_offsets[i];
            s[i] = rows[k].dst_dims[i];
            t[i] = rows[k].src_dims[i];
        }
        for (size_t x = 0; x < v[0]; x++)
            for (size_t y = 0; y < v[1]; y++)
                for (size_t z = 0; z < v[2]; z++)
                    want[((x + o[0]) * s[1] + y + o[1]) * s[2] + z + o[2]] =
                        src[((x + p[0]) * t[1] + y + p[1]) * t[2] + z + p[2]];
        fake_reset(ctx->devices[0]);
        int rc = ompjit__s_target_memcpy_rect_async(
            ctx, d, src, sizeof *src, rows[k].dims, rows[k].volume,
            rows[k].dst_offsets, rows[k].src_offsets, rows[k].dst_dims,
            rows[k].src_dims, 0, 2, 0, NULL);
        int copies = f->to;
        ompjit__s_target_memcpy(ctx, got, d, sizeof got, 0, 0, 2, 0);
        ok(!rc && copies == rows[k].copies && !memcmp(got, want, sizeof got),
           "rectangle: %s, %d copies", rows[k].name, copies);
        ompjit__s_target_free(ctx, d, 0);
    }
    size_t one = 1, two = 2, last = SIZE_MAX;
    ok(ompjit__s_target_memcpy_rect(ctx, NULL, NULL, 0, 0, NULL, NULL, NULL,
                                    NULL, NULL, 0, 0) == INT_MAX,
       "as many dimensions as one likes");
    ok(ompjit__s_target_memcpy_rect(ctx, got, src, 4, 1, &two, &one, &one,
                                    &two, &two, 2, 2) == 1, "too large");
    ok(ompjit__s_target_memcpy_rect(ctx, got + 1, src, 4, 1, &two, &last, &last,
                                    &two, &two, 2, 2) == 1,
       "an offset that comes round to the front");
    ok(!context_delete(ctx), "freed");
}

/* ------------------------------------------------------------- dependences */

static int waited;
static intptr_t waited_for;

int32_t __kmpc_global_thread_num(const void *where);
int32_t __kmpc_global_thread_num(const void *where)
{
    return 5;
}

void __kmpc_omp_wait_deps(const void *where, int32_t thread, int32_t n,
                          const ompjit__depend *list, int32_t n_noalias,
                          const ompjit__depend *noalias);
void __kmpc_omp_wait_deps(const void *where, int32_t thread, int32_t n,
                          const ompjit__depend *list, int32_t n_noalias,
                          const ompjit__depend *noalias)
{
    waited += thread == 5 ? n : 0;
    waited_for = list[0].address;
}

static void dependences(void)
{
    ompjit_context *ctx = context_new(NULL);
    /* As clang makes a depend object of two list items. */
    ompjit__depend object[3] = {{.address = 2}, {.address = 123}, {0}};
    void *objects[1] = {&object[1]};
    char a[8] = "x", b[8];
    ok(!ompjit__s_target_memcpy_async(ctx, b, a, 8, 0, 0, 2, 2, 1, objects) &&
           waited == 2 && waited_for == 123 && b[0] == 'x',
       "an object's two dependences are waited for");
    ompjit__kernel_args args = {.version = 3};
    ompjit__tgt_add_kernel(ctx, key, module_a, 0, NULL);
    ok(!ompjit__s_target_kernel_nowait(ctx, NULL, 0, 0, 0, key, &args, 1,
                                       &object[1], 0, NULL) && waited == 3,
       "so are those of a kernel");
    ok(!context_delete(ctx), "freed");
}

/* ----------------------------------------------------------------- mappers */

/* The entry points that clang's mapper functions call. */
static void mapper(void)
{
    ompjit_context *ctx = context_new(NULL);
    struct {
        void *list;
        size_t n, capacity;
        bool failed;
    } handle = {0};
    char x;
    for (int i = 0; i < 40; i++)
        ompjit__s_push_mapper_component(ctx, &handle, &x, &x, i, i, NULL);
    ok(ompjit__s_mapper_num_components(ctx, &handle) == 40, "40 components");
    free(handle.list);
    ok(!context_delete(ctx), "freed");
}

/* ----------------------------------------------------------------- interop */

static int queues;

static ompjit_status queue_create(ompjit_device *dev, ompjit__queue **out,
                                  ompjit_error *err)
{
    queues++;
    *out = (ompjit__queue *)64;
    return OMPJIT_OK;
}

static ompjit_status queue_wait(ompjit_device *dev, ompjit__queue *queue,
                                ompjit_error *err)
{
    return OMPJIT_OK;
}

static void queue_destroy(ompjit_device *dev, ompjit__queue *queue)
{
    queues--;
}

static ompjit_status native(ompjit_device *dev, ompjit__queue *queue,
                            ompjit__native *out, ompjit_error *err)
{
    *out = (ompjit__native){2, 11, (void *)1, (void *)2,
                            queue ? (void *)3 : NULL};
    return OMPJIT_OK;
}

static void interop(void)
{
    ompjit_context *ctx = context_new(NULL);
    ompjit__device_ops ops = fake_ops;
    ops.queues = &(ompjit__queue_ops){.create = queue_create,
                                      .wait = queue_wait,
                                      .destroy = queue_destroy};
    ops.native = &(ompjit__native_ops){.describe = native};
    ctx->devices[0]->ops = &ops;
    ompjit__interop *target = NULL, *sync = NULL, *plain = NULL, *none = NULL;
    ompjit__s_interop_init(ctx, NULL, 0, &target, 1, 0, 0, NULL, 0);
    ompjit__s_interop_init(ctx, NULL, 0, &sync, 2, 0, 0, NULL, 0);
    ompjit__s_interop_init(ctx, NULL, 0, &plain, 2, 1, 0, NULL, 0);
    ompjit__s_interop_init(ctx, NULL, 0, &none, 2, 2, 0, NULL, 0);
    ok(target && sync && plain && !none && queues == 1, "init");
    int rc;
    ok(ompjit__s_get_interop_int(sync, -1, &rc) == 2 && rc == 0, "fr_id");
    ok_string(ompjit__s_get_interop_str(sync, -2, &rc), "cuda_driver",
              "fr_name");
    ok(ompjit__s_get_interop_int(sync, -3, NULL) == 11, "vendor");
    ok_string(ompjit__s_get_interop_str(sync, -4, &rc), "nvidia",
              "vendor_name");
    ok(ompjit__s_get_interop_int(plain, -5, &rc) == 1 && rc == 0,
       "device_num");
    static const char *const vendors[] = {"unknown", "amd", "arm", "", "", "",
                                          "", "", "intel"};
    int vendor = ompjit__cpu_vendor();
    ok(ompjit__s_get_interop_int(plain, -3, &rc) == vendor && rc == 0,
       "a host device's vendor is the processor's: %d", vendor);
    ok_string(ompjit__s_get_interop_str(plain, -4, &rc), vendors[vendor],
              "  and its name");
    ok(ompjit__s_get_interop_ptr(sync, -7, &rc) == (void *)1 && rc == 0 &&
           ompjit__s_get_interop_ptr(sync, -8, &rc) == (void *)2 &&
           ompjit__s_get_interop_ptr(sync, -9, &rc) == (void *)3 && rc == 0,
       "device, context, stream");
    static const struct {
        int who, property, rc; /* who: 0 none, 1 target, 2 sync, 3 plain */
    } bad[] = {{0, -7, -1}, {2, -10, -2}, {2, 0, -2}, {2, -1, -3},
               {2, -2, -5}, {1, -9, 1}, {2, -6, 1}, {3, -7, 1}};
    ompjit__interop *who[4] = {none, target, sync, plain};
    for (size_t i = 0; i < OMPJIT__COUNT(bad); i++)
        ok(!ompjit__s_get_interop_ptr(who[bad[i].who], bad[i].property, &rc)
               && rc == bad[i].rc, "%s",
           ompjit__s_get_interop_rc_desc(none, bad[i].rc));
    ok(ompjit__s_get_interop_str(sync, -7, &rc) == NULL && rc == -4,
       "a pointer is no string");
    ok_string(ompjit__s_get_interop_name(none, -9), "targetsync", "name");
    ok_string(ompjit__s_get_interop_type_desc(none, -9), "void *", "type");
    ok(!ompjit__s_get_interop_name(none, 1) &&
           !ompjit__s_get_num_interop_properties(sync), "none of our own");
    ompjit__s_interop_use(ctx, NULL, 0, &sync, 0, 0, NULL, 0);
    ompjit__s_interop_destroy(ctx, NULL, 0, &sync, 0, 0, NULL, 0);
    ompjit__s_interop_destroy(ctx, NULL, 0, &sync, 0, 0, NULL, 0);
    ok(!sync && !queues, "destroy, twice");
    ompjit__s_interop_init(ctx, NULL, 0, &sync, 2, 0, 0, NULL, 0);
    ok(!context_delete(ctx) && !queues, "the context takes the rest along");
}

int main(void)
{
    table();
    registry();
    requests();
    device_numbers();
    errors();
    requirements();
    variables();
    function_maps();
    routines();
    rectangles();
    dependences();
    mapper();
    interop();
    return done_testing();
}
