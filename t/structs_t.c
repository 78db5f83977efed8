/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Public structs of other sizes than this library's, and fields with values
 * that they cannot have: what options mean, which errors there are, and which
 * bytes of a result are filled. The library is the installed one.
 */
#include "ompjit.h"
#include "ompjit_cache.h"
#include "ompjit_debug.h"
#include "ompjit_opt.h"
#include "ompjit_rtl.h"
#include "ompjit_tune.h"
#include "tap.h"

static const char source[] =
    "void f(int n, float *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"
    "  for (int i = 0; i < n; i++) x[i] += 1;\n}\n";

enum { N = 64, ROOM = 4096 };
static float data[N];
static ompjit_context *ctx;
static ompjit_device *dev;
static ompjit_module *mod;
static ompjit_kernel *k;
static ompjit_arg args[2];
static ompjit_error err;

/* --------------------------------------------------------------- options */

static ompjit_status create(const void *options)
{
    ompjit_context *made = NULL;
    ompjit_status status = ompjit_context_create(options, &made, &err);
    ompjit_context_destroy(made);
    return status;
}

static ompjit_status compile(const void *options)
{
    ompjit_module *made = NULL;
    ompjit_status status =
        ompjit_module_from_c(ctx, source, options, &made, &err);
    ompjit_module_destroy(made);
    return status;
}

static ompjit_status launch(const void *options)
{
    return ompjit_kernel_launch(k, dev, options, args, 2, &err);
}

static ompjit_status tune(const void *options)
{
    return ompjit_kernel_tune(k, dev, NULL, args, 2, options, NULL, &err);
}

static ompjit_status occupancy(const void *use)
{
    ompjit_occupancy o = OMPJIT_OCCUPANCY_INIT;
    return ompjit_occupancy_get("sm_90", use, 32, 0, &o, &err);
}

static const struct options {
    const char *name, *initializer;
    size_t size;
    ompjit_status (*call)(const void *options);
} options[] = {
    {"ompjit_context_options", "OMPJIT_CONTEXT_OPTIONS_INIT",
     sizeof(ompjit_context_options), create},
    {"ompjit_module_options", "OMPJIT_MODULE_OPTIONS_INIT",
     sizeof(ompjit_module_options), compile},
    {"ompjit_launch", "OMPJIT_LAUNCH_INIT", sizeof(ompjit_launch), launch},
    {"ompjit_tune_options", "OMPJIT_TUNE_OPTIONS_INIT",
     sizeof(ompjit_tune_options), tune},
    {"ompjit_resources", "OMPJIT_RESOURCES_INIT", sizeof(ompjit_resources),
     occupancy},
};

/* In its own allocation, so that a checker sees what is read beyond. */
static ompjit_status with_size(const struct options *o, size_t size,
                               size_t set)
{
    char *bytes = calloc(1, size > sizeof size ? size : sizeof size);
    memcpy(bytes, &size, sizeof size);
    if (set)
        bytes[set] = 1;
    err = (ompjit_error){0};
    ompjit_status status = o->call(bytes);
    free(bytes);
    return status;
}

static void sizes(const struct options *o)
{
    char words[64];
    ok(!with_size(o, sizeof(size_t), 0), "%s: nothing but its size: %s",
       o->name, err.text);
    ok(!with_size(o, o->size / 2, 0), "a half: %s", err.text);
    ok(!with_size(o, o->size, 0), "all of it: %s", err.text);
    ok(!with_size(o, o->size + 8, 0), "more, of zeros: %s", err.text);
    ok(with_size(o, o->size + 8, o->size + 7) == OMPJIT_ERR_INVALID,
       "more that is not 0");
    snprintf(words, sizeof words, "%s: its %zu bytes are 8 more", o->name,
             o->size + 8);
    ok_contains(err.text, words, "  says which struct");
    ok(with_size(o, 0, 0) == OMPJIT_ERR_INVALID, "no size");
    snprintf(words, sizeof words, "initialize with %s", o->initializer);
    ok_contains(err.text, words, "  says how to set it");
    ok(with_size(o, sizeof(size_t) - 1, 0) == OMPJIT_ERR_INVALID,
       "too small for the size itself");
    size_t wild = SIZE_MAX;
    ok(o->call(&wild) == OMPJIT_ERR_INVALID, "a size that was never set");
}

/* ---------------------------------------------------------------- fields */

#define CONTEXT(field) \
    "ompjit_context_options: " #field,          \
        offsetof(ompjit_context_options, field), 0
#define MODULE(field) \
    "ompjit_module_options: " #field, offsetof(ompjit_module_options, field), 1
#define LAUNCH(field) \
    "ompjit_launch: " #field, offsetof(ompjit_launch, field), 2
#define TUNE(field) \
    "ompjit_tune_options: " #field, offsetof(ompjit_tune_options, field), 3

static const struct field {
    const char *words;
    size_t offset;
    int of; /* options */
    int value;
    const char *more;
} fields[] = {
    {CONTEXT(after_failure), 3, " is 3, but its values are 0 to 2"},
    {CONTEXT(host_memory), 4, " is 4, but its values are 0 to 3"},
    {CONTEXT(host_memory), -1, " is -1, but its values are 0 to 3"},
    {CONTEXT(compiler.assembler), 4, " is 4, but its values are 0 to 3"},
    {CONTEXT(specialize.mode), 4, " is 4, but its values are 0 to 3"},
    {CONTEXT(cache.mode), 4, " is 4, but its values are 0 to 3"},
    {CONTEXT(reserved), 1, " is not 0"},
    {CONTEXT(compiler.reserved), 1, " is not 0"},
    {CONTEXT(specialize.reserved), 1, " is not 0"},
    {CONTEXT(cache.reserved), 1, " is not 0"},
    {CONTEXT(cache.unused), 1, " is not 0"},
    {CONTEXT(debug.reserved), 1, " is not 0"},
    {CONTEXT(debug.unused), 1, " is not 0"},
    {MODULE(opt_level), 5, " is 5, but its values are 0 to 4"},
    {MODULE(opt_level), -1, " is -1, but its values are 0 to 4"},
    {MODULE(cuda_compiler), 3, " is 3, but its values are 0 to 2"},
    {LAUNCH(specialize.mode), 4, " is 4, but its values are 0 to 3"},
    {LAUNCH(specialize.fold), 0x80, " is 0x80, but its bits are 0x7f"},
    {LAUNCH(reserved), 1, " is not 0"},
    {LAUNCH(unused), 1, " is not 0"},
    {LAUNCH(specialize.reserved), 1, " is not 0"},
    {TUNE(unused), 1, " is not 0"},
};

static void field(const struct field *f)
{
    const struct options *o = &options[f->of];
    char words[128], bytes[ROOM] = {0};
    memcpy(bytes, &o->size, sizeof o->size);
    memcpy(bytes + f->offset, &f->value, sizeof f->value);
    err = (ompjit_error){0};
    ok(o->call(bytes) == OMPJIT_ERR_INVALID && err.stage == OMPJIT_STAGE_API,
       "%s = %d", f->words, f->value);
    snprintf(words, sizeof words, "%s%s", f->words, f->more);
    ok_contains(err.text, words, "  says so");
}

static void arguments(void)
{
    const ompjit_arg good = args[1];
    args[1].type = (ompjit_arg_type)7;
    ok(launch(NULL) == OMPJIT_ERR_INVALID, "a type that is none");
    ok_contains(err.text, "ompjit_arg: type is 7, but its values are 0 to 6",
                "  says so");
    args[1] = good;
    args[1].flags = 4;
    ok(launch(NULL) == OMPJIT_ERR_INVALID, "a flag that is none");
    ok_contains(err.text, "ompjit_arg: flags is 0x4, but its bits are 0x3",
                "  says so");
    args[1] = good;
    args[1].reserved[1] = 1;
    ok(launch(NULL) == OMPJIT_ERR_INVALID, "a reserved word");
    ok_contains(err.text, "ompjit_arg: reserved is not 0", "  says so");
    args[1] = good;
}

static void parameters(void)
{
    void *bytes;
    char *text;
    size_t size;
    ok(ompjit_module_emit(mod, (ompjit_format)-1, "host", &bytes, &size,
                          &err) == OMPJIT_ERR_INVALID, "a format");
    ok_contains(err.text, "ompjit_module_emit: format is -1, but its values "
                          "are 0 to 6", "  says so");
    ok(ompjit_context_profile(ctx, (ompjit_profile_format)2, &text, &size,
                              &err) == OMPJIT_ERR_INVALID, "a profile's");
    ok_contains(err.text, "ompjit_context_profile: format is 2, but its values "
                          "are 0 to 1", "  says so");
}

/* --------------------------------------------------------------- results */

static ompjit_status times(void *out)
{
    return ompjit_context_times(ctx, out, &err);
}

static ompjit_status device_info(void *out)
{
    return ompjit_device_info_get(dev, out, &err);
}

static ompjit_status kernel_info(void *out)
{
    return ompjit_kernel_info_get(k, out, &err);
}

static ompjit_status param_info(void *out)
{
    return ompjit_kernel_param(k, 0, out, &err);
}

static ompjit_status variant_stats(void *out)
{
    return ompjit_module_variants(mod, out, &err);
}

static ompjit_status launch_info(void *out)
{
    return ompjit_kernel_last_launch(k, dev, out, &err);
}

static ompjit_status param_state(void *out)
{
    return ompjit_kernel_param_state(k, 0, out, &err);
}

static ompjit_status resources(void *out)
{
    return ompjit_kernel_code(k, "host", NULL, NULL, 0, out, &err);
}

static ompjit_status arch_info(void *out)
{
    return ompjit_arch_info_get("sm_90", out, &err);
}

static ompjit_status occupancy_of(void *out)
{
    ompjit_resources use = OMPJIT_RESOURCES_INIT;
    return ompjit_occupancy_get("sm_90", &use, 32, 0, out, &err);
}

static ompjit_status opt_info(void *out)
{
    return ompjit_opt_at(0, out, &err);
}

static ompjit_status tuned(void *out)
{
    return ompjit_kernel_tuned(k, dev, 0, out, &err);
}

static ompjit_status tuned_now(void *out)
{
    ompjit_tune_options o = OMPJIT_TUNE_OPTIONS_INIT;
    o.repeats = 1;
    return ompjit_kernel_tune(k, dev, NULL, args, 2, &o, out, &err);
}

static ompjit_status cache_stats(void *out)
{
    return ompjit_cache_stats_get(ctx, out, &err);
}

static ompjit_status row_at(void *out)
{
    return ompjit_rtl_row_at(3, out, &err);
}

static ompjit_status row_named(void *out)
{
    return ompjit_rtl_row_named("__kmpc_barrier", out, &err);
}

static const struct result {
    const char *name;
    size_t size;
    ompjit_status (*call)(void *out);
    int optional;
} results[] = {
    {"ompjit_times", sizeof(ompjit_times), times, 0},
    {"ompjit_device_info", sizeof(ompjit_device_info), device_info, 0},
    {"ompjit_kernel_info", sizeof(ompjit_kernel_info), kernel_info, 0},
    {"ompjit_param_info", sizeof(ompjit_param_info), param_info, 0},
    {"ompjit_variant_stats", sizeof(ompjit_variant_stats), variant_stats, 0},
    {"ompjit_launch_info", sizeof(ompjit_launch_info), launch_info, 0},
    {"ompjit_param_state", sizeof(ompjit_param_state), param_state, 0},
    {"ompjit_resources", sizeof(ompjit_resources), resources, 0},
    {"ompjit_arch_info", sizeof(ompjit_arch_info), arch_info, 0},
    {"ompjit_occupancy", sizeof(ompjit_occupancy), occupancy_of, 0},
    {"ompjit_opt_info", sizeof(ompjit_opt_info), opt_info, 0},
    {"ompjit_tuned", sizeof(ompjit_tuned), tuned, 0},
    {"ompjit_tuned", sizeof(ompjit_tuned), tuned_now, 1},
    {"ompjit_cache_stats", sizeof(ompjit_cache_stats), cache_stats, 0},
    {"ompjit_rtl_row", sizeof(ompjit_rtl_row), row_at, 0},
    {"ompjit_rtl_row", sizeof(ompjit_rtl_row), row_named, 0},
};

/* Fills `size` bytes; all others, and with them what was there, are 0xa5. */
static ompjit_status fill(const struct result *r, size_t size,
                          unsigned char bytes[ROOM])
{
    memset(bytes, 0xa5, ROOM);
    memcpy(bytes, &size, sizeof size);
    err = (ompjit_error){0};
    return r->call(bytes);
}

static size_t count(const unsigned char *bytes, size_t n, unsigned char value)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += bytes[i] == value;
    return found;
}

static void result(const struct result *r)
{
    unsigned char full[ROOM], part[ROOM];
    size_t head = sizeof(size_t), half = head + (r->size - head) / 2, size;
    ok(!fill(r, r->size, full) &&
           count(full + r->size, ROOM - r->size, 0xa5) == ROOM - r->size,
       "%s: its bytes and no others: %s", r->name, err.text);
    ok(!fill(r, half, part) &&
           count(part + half, ROOM - half, 0xa5) == ROOM - half,
       "half of them");
    memcpy(&size, part, sizeof size);
    ok(size == half, "  keeps its size");
    ok(!fill(r, r->size + 40, part) && !count(part + r->size, 40, 0xa5) &&
           count(part + r->size, 40, 0) == 40 && part[r->size + 40] == 0xa5,
       "more than there are: zeros");
    ok(!fill(r, head, part) && count(part + head, 64, 0xa5) == 64,
       "nothing but the size");
    ok(fill(r, 0, part) == OMPJIT_ERR_INVALID &&
           count(part + head, 64, 0xa5) == 64, "no size");
    ok_contains(err.text, r->name, "  says which struct");
    ok(r->call(NULL) == (r->optional ? OMPJIT_OK : OMPJIT_ERR_INVALID),
       "no struct");
}

/* Values that a half of a struct has are those of the whole. */
static void same(void)
{
    ompjit_kernel_info whole = OMPJIT_KERNEL_INFO_INIT, part = {0};
    part.size = offsetof(ompjit_kernel_info, name);
    ok(!kernel_info(&whole) && !kernel_info(&part) && *whole.symbol &&
           !strcmp(whole.symbol, part.symbol) && !*part.name && !part.nparams,
       "a part has the values of the whole");
}

/* ------------------------------------------------------------------ main */

static void must(ompjit_status status)
{
    if (!status)
        return;
    fprintf(stderr, "# %s\n", err.text);
    exit(1);
}

int main(void)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    o.devices = "host";
    must(ompjit_context_create(&o, &ctx, &err));
    must(ompjit_context_device(ctx, 0, &dev, &err));
    must(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    must(ompjit_module_kernel(mod, "f", &k, &err));
    args[0] = ompjit_arg_i32("n", N);
    args[1] = ompjit_arg_pointer("x", data);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        sizes(&options[i]);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        field(&fields[i]);
    arguments();
    parameters();
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        result(&results[i]);
    same();
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return done_testing();
}
