/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Every function of the API gets NULL for each argument that it needs, values
 * that an enumeration does not have, and a device of another context. It must
 * say INVALID with a text, or, where it returns no status, do nothing.
 * t/abi_t.sh holds the table against the list of exported functions.
 */
#include "ompjit.h"
#include "ompjit_cache.h"
#include "ompjit_debug.h"
#include "ompjit_function.h"
#include "ompjit_graph.h"
#include "ompjit_offload.h"
#include "ompjit_opt.h"
#include "ompjit_rtl.h"
#include "ompjit_tune.h"
#include "tap.h"

static ompjit_context *ctx, *off;
static ompjit_device *dev, *foreign;
static ompjit_module *mod;
static ompjit_kernel *k;
static ompjit_queue *queue, *queue2;
static ompjit_event *event, *event2;
static ompjit_graph *graph;
static ompjit_bound *bound;
static ompjit_error err;
static float data[64];
static ompjit_arg args[4];
static unsigned nargs;

/* Results that no call here may set. */
static ompjit_context *new_context;
static ompjit_module *new_module;
static ompjit_kernel *new_kernel;
static ompjit_device *new_device;
static ompjit_queue *new_queue;
static ompjit_event *new_event;
static ompjit_graph *new_graph;
static ompjit_bound *new_bound;
static void *bytes;
static void (*function)(void);
static char *text;
static size_t size;
static unsigned number;
static uint64_t count;
static int flag;
static double seconds;

static int each_variant(void *to, const ompjit_variant_info *info)
{
    return 0;
}

static int each_remark(void *to, const ompjit_remark *remark)
{
    return 0;
}

static int each_count(void *to, const ompjit_count *count)
{
    return 0;
}

static int each_entry(void *to, const ompjit_cache_entry *entry)
{
    return 0;
}

static ompjit_status context_with(ompjit_assembler a, ompjit_host_memory h,
                                  ompjit_specialize s, ompjit_cache_mode c,
                                  ompjit_after_failure f)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    o.compiler.assembler = a;
    o.host_memory = h;
    o.specialize.mode = s;
    o.cache.mode = c;
    o.after_failure = f;
    return ompjit_context_create(&o, &new_context, &err);
}

static ompjit_status module_with(ompjit_opt_level opt_level, unsigned nflags,
                                 ompjit_cuda_compiler compiler)
{
    ompjit_module_options o = OMPJIT_MODULE_OPTIONS_INIT;
    o.opt_level = opt_level;
    o.nflags = nflags;
    o.cuda_compiler = compiler;
    return ompjit_module_from_c(ctx, "", &o, &new_module, &err);
}

static ompjit_status sources_with(const char *const *texts,
                                  const char *const *names, unsigned n)
{
    return ompjit_module_from_sources(ctx, texts, names, n, NULL, &new_module,
                                      &err);
}

static ompjit_status launch_with(size_t length, ompjit_specialize s,
                                 uint32_t fold)
{
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    l.size = length;
    l.specialize.mode = s;
    l.specialize.fold = fold;
    return ompjit_kernel_launch(k, dev, &l, args, nargs, &err);
}

/* With one argument, a pointer, that says this, too. */
static ompjit_status launch_saying(ompjit_arg_type type, uint32_t flags,
                                   uint64_t length, const void *contents)
{
    ompjit_arg own[sizeof args / sizeof *args];
    unsigned at = 0;
    memcpy(own, args, sizeof own);
    while (own[at].type != OMPJIT_ARG_POINTER)
        at++;
    own[at].type = type;
    own[at].flags = flags;
    own[at].bytes = length;
    own[at].contents = contents;
    return ompjit_kernel_launch(k, dev, NULL, own, nargs, &err);
}

static ompjit_status launch_in(ompjit_queue *in, ompjit_device *on)
{
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    l.queue = in;
    return ompjit_kernel_launch(k, on, &l, args, nargs, &err);
}

static ompjit_status tune_with(const ompjit_region *saved, unsigned nsaved,
                               unsigned ntries)
{
    ompjit_tune_options o = OMPJIT_TUNE_OPTIONS_INIT;
    o.saved = saved;
    o.nsaved = nsaved;
    o.ntries = ntries;
    return ompjit_kernel_tune(k, dev, NULL, args, nargs, &o, NULL, &err);
}

static void check(ompjit_status status, const char *call)
{
    ok(status == OMPJIT_ERR_INVALID && err.status == status && *err.text,
       "%s: %s", call, *err.text ? err.text : "no text");
    err = (ompjit_error){0};
}

/* The call says INVALID. */
#define NO(call) check(call, #call)
/* A copy on `where`, a device or a queue, misses each of its ends. */
#define NO_COPY(function, where) \
    NO(function(NULL, data, data, 4, &err)); \
    NO(function(where, NULL, data, 4, &err)); \
    NO(function(where, data, NULL, 4, &err))
/* A launch misses its kernel, device or arguments, or has another context's
 * device. The function's further arguments follow. */
#define NO_LAUNCH(function, ...) \
    NO(function(NULL, dev, NULL, args, nargs, __VA_ARGS__)); \
    NO(function(k, NULL, NULL, args, nargs, __VA_ARGS__)); \
    NO(function(k, dev, NULL, NULL, nargs, __VA_ARGS__)); \
    NO(function(k, foreign, NULL, args, nargs, __VA_ARGS__))

static void contexts(void)
{
    ompjit_context_options no_size = {0};
    NO(ompjit_context_create(NULL, NULL, &err));
    NO(ompjit_context_create(&no_size, &new_context, &err));
    NO(context_with((ompjit_assembler)4, 0, 0, 0, 0));
    NO(context_with((ompjit_assembler)-1, 0, 0, 0, 0));
    NO(context_with(0, (ompjit_host_memory)4, 0, 0, 0));
    NO(context_with(0, 0, (ompjit_specialize)4, 0, 0));
    NO(context_with(0, 0, 0, (ompjit_cache_mode)4, 0));
    NO(context_with(0, 0, 0, 0, (ompjit_after_failure)3));
    ompjit_times times = OMPJIT_TIMES_INIT;
    NO(ompjit_context_times(NULL, &times, &err));
    NO(ompjit_context_times(ctx, NULL, &err));
    NO(ompjit_context_cancel(NULL, &err));
    NO(ompjit_context_failure(NULL, &err));
    NO(ompjit_process_context(NULL, &err));
    ok(!ompjit_process_function(NULL) && !ompjit_process_function("main"),
       "functions that are not served");
    NO(ompjit_context_profile(NULL, 0, &text, NULL, &err));
    NO(ompjit_context_profile(ctx, 0, NULL, NULL, &err));
    NO(ompjit_context_profile(ctx, (ompjit_profile_format)2, &text, NULL,
                              &err));
    NO(ompjit_context_device_count(NULL, &number, &err));
    NO(ompjit_context_device_count(ctx, NULL, &err));
    NO(ompjit_context_device(NULL, 0, &new_device, &err));
    NO(ompjit_context_device(ctx, 0, NULL, &err));
}

static void devices(void)
{
    ompjit_device_info info = OMPJIT_DEVICE_INFO_INIT;
    NO(ompjit_device_info_get(NULL, &info, &err));
    NO(ompjit_device_info_get(dev, NULL, &err));
    NO(ompjit_device_alloc(NULL, 8, &bytes, &err));
    NO(ompjit_device_alloc(dev, 8, NULL, &err));
    NO(ompjit_device_free(NULL, NULL, &err));
    NO(ompjit_device_free(dev, data, &err));
    NO(ompjit_device_free(dev, (void *)8, &err));
    ok(!ompjit_device_alloc(dev, 300000, &bytes, &err) &&
           !ompjit_device_free(dev, bytes, &err), "memory is freed");
    NO(ompjit_device_free(dev, bytes, &err));
    ok(!ompjit_device_alloc(foreign, 8, &bytes, &err), "and not by others");
    NO(ompjit_device_free(dev, bytes, &err));
    ok(!ompjit_device_free(foreign, bytes, &err), "but by its device");
    bytes = NULL;
    NO_COPY(ompjit_device_upload, dev);
    NO_COPY(ompjit_device_download, dev);
    NO(ompjit_device_mapped(NULL, data, &bytes, &err));
    NO(ompjit_device_mapped(dev, NULL, &bytes, &err));
    NO(ompjit_device_mapped(dev, data, NULL, &err));
    NO(ompjit_device_abort(NULL, &err));
}

static void modules(void)
{
    ompjit_variant_stats stats = OMPJIT_VARIANT_STATS_INIT, no_size = {0};
    NO(ompjit_module_from_c(NULL, "", NULL, &new_module, &err));
    NO(ompjit_module_from_c(ctx, NULL, NULL, &new_module, &err));
    NO(ompjit_module_from_c(ctx, "", NULL, NULL, &err));
    const char *texts[] = {"", ""}, *names[] = {"a.c", "b.c"};
    const char *same[] = {"a.c", "a.c"}, *none[] = {"a.c", NULL};
    NO(ompjit_module_from_sources(NULL, texts, names, 2, NULL, &new_module,
                                  &err));
    NO(ompjit_module_from_sources(ctx, texts, names, 2, NULL, NULL, &err));
    NO(sources_with(NULL, names, 2));
    NO(sources_with(texts, NULL, 2));
    NO(sources_with(texts, names, 0));
    NO(sources_with(texts, same, 2));
    NO(sources_with(texts, none, 2));
    NO(sources_with(none, names, 2));
    NO(module_with(5, 0, 0));
    NO(module_with(0, 1, 0));
    NO(module_with(0, 0, (ompjit_cuda_compiler)3));
    NO(ompjit_opt_at(0, NULL, &err));
    NO(ompjit_module_counts(NULL, dev, each_count, NULL, &err));
    NO(ompjit_module_counts(mod, NULL, each_count, NULL, &err));
    NO(ompjit_module_counts(mod, dev, NULL, NULL, &err));
    NO(ompjit_module_remarks(NULL, "sm_90", each_remark, NULL, &err));
    NO(ompjit_module_remarks(mod, NULL, each_remark, NULL, &err));
    NO(ompjit_module_remarks(mod, "sm_90", NULL, NULL, &err));
    NO(ompjit_module_remarks_text(NULL, "sm_90", 0, &text, NULL, &err));
    NO(ompjit_module_remarks_text(mod, NULL, 0, &text, NULL, &err));
    NO(ompjit_module_remarks_text(mod, "sm_90", (ompjit_remark_format)2, &text,
                                  NULL, &err));
    NO(ompjit_module_remarks_text(mod, "sm_90", 0, NULL, NULL, &err));
    NO(ompjit_module_from_cuda(NULL, "", NULL, &new_module, &err));
    NO(ompjit_module_from_cuda(ctx, NULL, NULL, &new_module, &err));
    NO(ompjit_module_from_cuda(ctx, "", NULL, NULL, &err));
    NO(ompjit_module_from_fortran(NULL, "", NULL, &new_module, &err));
    NO(ompjit_module_from_fortran(ctx, NULL, NULL, &new_module, &err));
    NO(ompjit_module_from_fortran(ctx, "", NULL, NULL, &err));
    NO(ompjit_module_from_ir(NULL, "", 0, NULL, 0, NULL, &new_module, &err));
    NO(ompjit_module_from_ir(ctx, NULL, 9, NULL, 0, NULL, &new_module, &err));
    NO(ompjit_module_from_ir(ctx, "", 0, NULL, 9, NULL, &new_module, &err));
    NO(ompjit_module_from_ir(ctx, "", 0, NULL, 0, NULL, NULL, &err));
    NO(ompjit_module_from_image(NULL, "", 0, NULL, &new_module, &err));
    NO(ompjit_module_from_image(ctx, NULL, 9, NULL, &new_module, &err));
    NO(ompjit_module_from_image(ctx, "", 0, NULL, NULL, &err));
    NO(ompjit_module_from_image(ctx, "abc", 3, NULL, &new_module, &err));
    NO(ompjit_module_emit(NULL, 0, NULL, &bytes, &size, &err));
    NO(ompjit_module_emit(mod, OMPJIT_FORMAT_COUNT, "host", &bytes, &size,
                          &err));
    NO(ompjit_module_emit(mod, OMPJIT_FORMAT_OBJECT, NULL, &bytes, &size,
                          &err));
    NO(ompjit_module_emit(mod, 0, NULL, NULL, &size, &err));
    NO(ompjit_module_emit(mod, 0, NULL, &bytes, NULL, &err));
    NO(ompjit_module_function(NULL, "f", &function, &err));
    NO(ompjit_module_function(mod, NULL, &function, &err));
    NO(ompjit_module_function(mod, "f", NULL, &err));
    NO(ompjit_module_kernel(NULL, "f", &new_kernel, &err));
    NO(ompjit_module_kernel(mod, NULL, &new_kernel, &err));
    NO(ompjit_module_kernel(mod, "f", NULL, &err));
    NO(ompjit_module_variants(NULL, &stats, &err));
    NO(ompjit_module_variants(mod, NULL, &err));
    NO(ompjit_module_variants(mod, &no_size, &err));
    NO(ompjit_module_warm(NULL, dev, "x", NULL, NULL, NULL, &err));
    NO(ompjit_module_warm(mod, NULL, "x", NULL, NULL, NULL, &err));
    NO(ompjit_module_warm(mod, dev, NULL, NULL, NULL, NULL, &err));
    NO(ompjit_module_warm(mod, foreign, "x", NULL, NULL, NULL, &err));
}

static ompjit_status call_back(void *to, const ompjit_value *from,
                               ompjit_value *result, ompjit_error *e)
{
    return OMPJIT_OK;
}

static void functions(void)
{
    ompjit_function *fn = NULL;
    ompjit_function_info info = OMPJIT_FUNCTION_INFO_INIT, no_info = {0};
    ompjit_function_param_info param = OMPJIT_FUNCTION_PARAM_INFO_INIT,
                               no_param = {0};
    ompjit_value values[8] = {{0}};
    uint64_t sizes[8];
    ompjit_module_options two = OMPJIT_MODULE_OPTIONS_INIT;
    two.signatures = 2;
    NO(ompjit_module_from_c(ctx, "", &two, &new_module, &err));
    NO(ompjit_module_function_count(NULL, &number, &err));
    NO(ompjit_module_function_count(mod, NULL, &err));
    NO(ompjit_module_function_at(NULL, 0, &fn, &err));
    NO(ompjit_module_function_at(mod, 0, NULL, &err));
    NO(ompjit_module_function_find(NULL, "f", &fn, &err));
    NO(ompjit_module_function_find(mod, NULL, &fn, &err));
    NO(ompjit_module_function_find(mod, "f", NULL, &err));
    ok(!fn && !ompjit_module_function_at(mod, 0, &fn, &err), "a function");
    NO(ompjit_function_info_get(NULL, &info, &err));
    NO(ompjit_function_info_get(fn, NULL, &err));
    NO(ompjit_function_info_get(fn, &no_info, &err));
    NO(ompjit_function_param(NULL, 0, &param, &err));
    NO(ompjit_function_param(fn, 0, NULL, &err));
    NO(ompjit_function_param(fn, 0, &no_param, &err));
    NO(ompjit_function_extents(NULL, values, 1, sizes, &err));
    NO(ompjit_function_extents(fn, NULL, 1, sizes, &err));
    NO(ompjit_function_extents(fn, values, 1, NULL, &err));
    NO(ompjit_function_call(NULL, values, 1, NULL, NULL, &err));
    NO(ompjit_function_call(fn, NULL, 1, NULL, NULL, &err));
    ok(!ompjit_function_info_get(fn, &info, &err), "its type");
    NO(ompjit_callback_create(NULL, call_back, NULL, &function, &err));
    NO(ompjit_callback_create(info.type, NULL, NULL, &function, &err));
    NO(ompjit_callback_create(info.type, call_back, NULL, NULL, &err));
    ompjit_callback_destroy(NULL);
    ok(ompjit_function_abort() == OMPJIT_ERR_NOT_FOUND, "no call to abort");
}

static void kernels(void)
{
    ompjit_param_info param = OMPJIT_PARAM_INFO_INIT;
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_param_state state = OMPJIT_PARAM_STATE_INIT;
    ompjit_resources res = OMPJIT_RESOURCES_INIT;
    NO(ompjit_kernel_info_get(NULL, &info, &err));
    NO(ompjit_kernel_info_get(k, NULL, &err));
    NO(ompjit_kernel_param(NULL, 0, &param, &err));
    NO(ompjit_kernel_param(k, 0, NULL, &err));
    NO(ompjit_kernel_param(k, 99, &param, &err));
    NO(ompjit_kernel_param_state(NULL, 0, &state, &err));
    NO(ompjit_kernel_param_state(k, 0, NULL, &err));
    NO(ompjit_kernel_param_state(k, 99, &state, &err));
    NO(ompjit_kernel_resources(NULL, "sm_90", &res, &err));
    NO(ompjit_kernel_resources(k, NULL, &res, &err));
    NO(ompjit_kernel_resources(k, "sm_90", NULL, &err));
    NO(ompjit_kernel_code(NULL, "host", NULL, args, nargs, &res, &err));
    NO(ompjit_kernel_code(k, NULL, NULL, args, nargs, &res, &err));
    NO(ompjit_kernel_code(k, "host", NULL, NULL, nargs, &res, &err));
    NO(ompjit_kernel_code(k, "host", NULL, args, nargs, NULL, &err));
    NO(ompjit_kernel_variants(NULL, each_variant, NULL, &err));
    NO(ompjit_kernel_variants(k, NULL, NULL, &err));
    NO(ompjit_kernel_explain(NULL, &text, &err));
    NO(ompjit_kernel_explain(k, NULL, &err));
    NO(ompjit_kernel_fold_contents(NULL, "x", &err));
    NO(ompjit_kernel_fold_contents(k, NULL, &err));
    NO(ompjit_kernel_abort(NULL, &err));
}

static void launches(void)
{
    const size_t right = sizeof(ompjit_launch);
    const ompjit_region nowhere = {NULL, 100};
    ompjit_launch_info last = OMPJIT_LAUNCH_INFO_INIT;
    ompjit_tuned tuned = OMPJIT_TUNED_INIT;
    NO_LAUNCH(ompjit_kernel_launch, &err);
    NO(launch_with(0, 0, 0));
    NO(launch_with(SIZE_MAX, 0, 0));
    NO(launch_with(right, (ompjit_specialize)4, 0));
    NO(launch_with(right, 0, OMPJIT_FOLD_ALL + 1));
    NO(launch_saying((ompjit_arg_type)7, 0, 0, NULL));
    NO(launch_saying((ompjit_arg_type)-1, 0, 0, NULL));
    NO(launch_saying(OMPJIT_ARG_POINTER, 4, 0, NULL));
    NO(launch_saying(OMPJIT_ARG_POINTER, 0, 0, data));
    NO(launch_saying(OMPJIT_ARG_POINTER, 0, OMPJIT_CONTENTS_MAX + 1, data));
    NO(launch_in(queue2, dev));
    NO(launch_in(queue2, foreign));
    NO_LAUNCH(ompjit_kernel_prepare, &err);
    NO_LAUNCH(ompjit_kernel_ready, &flag, &err);
    NO(ompjit_kernel_ready(k, dev, NULL, args, nargs, NULL, &err));
    NO_LAUNCH(ompjit_kernel_bind, &new_bound, &err);
    NO(ompjit_kernel_bind(k, dev, NULL, args, nargs, NULL, &err));
    NO(ompjit_bound_run(NULL, &err));
    NO(ompjit_bound_start(NULL, queue, &err));
    NO(ompjit_bound_start(bound, NULL, &err));
    NO(ompjit_bound_start(bound, queue2, &err));
    NO(ompjit_bound_set(NULL, 0, &args[0], &err));
    NO(ompjit_bound_set(bound, 0, NULL, &err));
    NO(ompjit_bound_set(bound, 99, &args[0], &err));
    NO(ompjit_kernel_last_launch(NULL, dev, &last, &err));
    NO(ompjit_kernel_last_launch(k, NULL, &last, &err));
    NO(ompjit_kernel_last_launch(k, dev, NULL, &err));
    NO(ompjit_kernel_last_launch(k, foreign, &last, &err));
    NO_LAUNCH(ompjit_kernel_tune, NULL, NULL, &err);
    NO(tune_with(NULL, 1, 0));
    NO(tune_with(&nowhere, 1, 0));
    NO(tune_with(NULL, 0, 1));
    NO(ompjit_kernel_tuned(NULL, dev, 0, &tuned, &err));
    NO(ompjit_kernel_tuned(k, NULL, 0, &tuned, &err));
    NO(ompjit_kernel_tuned(k, dev, 0, NULL, &err));
    NO(ompjit_kernel_tuned(k, foreign, 0, &tuned, &err));
}

static void offload(void)
{
    ompjit_offload *o = NULL;
    ompjit_launch queued = OMPJIT_LAUNCH_INIT;
    void *key = NULL;
    queued.queue = queue;
    NO(ompjit_offload_create(NULL, dev, NULL, 0, &o, &err));
    NO(ompjit_offload_create(mod, NULL, NULL, 0, &o, &err));
    NO(ompjit_offload_create(mod, dev, NULL, 0, NULL, &err));
    NO(ompjit_offload_create(mod, foreign, NULL, 0, &o, &err));
    NO(ompjit_offload_create(mod, dev, &queued, 0, &o, &err));
    ok(!ompjit_offload_create(mod, dev, NULL, 0, &o, &err), "one that is right");
    NO(ompjit_offload_key(NULL, k, &key, &err));
    NO(ompjit_offload_key(o, NULL, &key, &err));
    NO(ompjit_offload_key(o, k, NULL, &err));
    ompjit_offload_destroy(o);
}

static void queues(void)
{
    NO(ompjit_queue_create(NULL, &new_queue, &err));
    NO(ompjit_queue_create(dev, NULL, &err));
    NO(ompjit_queue_adopt(NULL, NULL, &new_queue, &err));
    NO(ompjit_queue_adopt(dev, NULL, NULL, &err));
    NO(ompjit_queue_stream(NULL, &bytes, &err));
    NO(ompjit_queue_stream(queue, NULL, &err));
    NO(ompjit_queue_wait(NULL, &err));
    NO(ompjit_queue_after(NULL, queue, &err));
    NO(ompjit_queue_after(queue, NULL, &err));
    NO(ompjit_queue_after(queue, queue2, &err));
    NO_COPY(ompjit_queue_upload, queue);
    NO_COPY(ompjit_queue_download, queue);
    NO_COPY(ompjit_queue_copy, queue);
    NO(ompjit_queue_update_to(NULL, data, 4, &err));
    NO(ompjit_queue_update_to(queue, NULL, 4, &err));
    NO(ompjit_queue_update_from(NULL, data, 4, &err));
    NO(ompjit_queue_update_from(queue, NULL, 4, &err));
    NO(ompjit_queue_after_event(NULL, event, &err));
    NO(ompjit_queue_after_event(queue, NULL, &err));
    NO(ompjit_queue_after_event(queue, event2, &err));
    NO(ompjit_queue_after_event(queue, event, &err)); /* never recorded */
}

static void events_and_graphs(void)
{
    NO(ompjit_event_create(NULL, &new_event, &err));
    NO(ompjit_event_create(dev, NULL, &err));
    NO(ompjit_event_adopt(NULL, data, &new_event, &err));
    NO(ompjit_event_adopt(dev, NULL, &new_event, &err));
    NO(ompjit_event_adopt(dev, data, NULL, &err));
    NO(ompjit_event_native(NULL, &bytes, &err));
    NO(ompjit_event_native(event, NULL, &err));
    NO(ompjit_event_record(NULL, queue, &err));
    NO(ompjit_event_record(event, NULL, &err));
    NO(ompjit_event_record(event, queue2, &err));
    NO(ompjit_event_wait(NULL, &err));
    NO(ompjit_event_wait(event, &err));
    NO(ompjit_event_query(NULL, &flag, &err));
    NO(ompjit_event_query(event, NULL, &err));
    NO(ompjit_event_elapsed(NULL, event, &seconds, &err));
    NO(ompjit_event_elapsed(event, NULL, &seconds, &err));
    NO(ompjit_event_elapsed(event, event, NULL, &err));
    NO(ompjit_event_elapsed(event, event2, &seconds, &err));
    NO(ompjit_graph_begin(NULL, &err));
    NO(ompjit_graph_end(NULL, &new_graph, &err));
    NO(ompjit_graph_end(queue, NULL, &err));
    NO(ompjit_graph_end(queue, &new_graph, &err)); /* not begun */
    NO(ompjit_graph_run(NULL, queue, &err));
    NO(ompjit_graph_run(graph, queue2, &err));
}

static void numbers(void)
{
    const ompjit_resources use = OMPJIT_RESOURCES_INIT;
    ompjit_arch_info arch = OMPJIT_ARCH_INFO_INIT, no_size = {0};
    ompjit_occupancy occupancy = OMPJIT_OCCUPANCY_INIT, empty = {0};
    ompjit_rtl_row row = OMPJIT_RTL_ROW_INIT, no_row = {0};
    NO(ompjit_arch_info_get(NULL, &arch, &err));
    NO(ompjit_arch_info_get("sm_90", NULL, &err));
    NO(ompjit_arch_info_get("sm_90", &no_size, &err));
    NO(ompjit_occupancy_get(NULL, &use, 32, 0, &occupancy, &err));
    NO(ompjit_occupancy_get("sm_90", NULL, 32, 0, &occupancy, &err));
    NO(ompjit_occupancy_get("sm_90", &use, 32, 0, NULL, &err));
    NO(ompjit_occupancy_get("sm_90", &use, 32, 0, &empty, &err));
    NO(ompjit_rtl_row_at(0, NULL, &err));
    NO(ompjit_rtl_row_at(0, &no_row, &err));
    NO(ompjit_rtl_row_named(NULL, &row, &err));
    NO(ompjit_rtl_row_named("__kmpc_barrier", NULL, &err));
}

static void caches(void)
{
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    NO(ompjit_cache_stats_get(NULL, &stats, &err));
    NO(ompjit_cache_stats_get(ctx, NULL, &err));
    NO(ompjit_cache_walk(NULL, "", each_entry, NULL, &err));
    NO(ompjit_cache_walk(ctx, NULL, each_entry, NULL, &err));
    NO(ompjit_cache_walk(ctx, "", NULL, NULL, &err));
    NO(ompjit_cache_prune(NULL, 0, NULL, &err));
    NO(ompjit_cache_verify(NULL, &count, &count, &err));
    NO(ompjit_cache_export(NULL, 0, &bytes, &size, &err));
    NO(ompjit_cache_export(ctx, 0, NULL, &size, &err));
    NO(ompjit_cache_export(ctx, 0, &bytes, NULL, &err));
    NO(ompjit_cache_import(NULL, "", 0, &count, &err));
    NO(ompjit_cache_import(ctx, NULL, 9, &count, &err));
    NO(ompjit_cache_import(ctx, "", 0, &count, &err));
}

/* Without a status. */
static void quiet(void)
{
    ompjit_cache_stats stats = OMPJIT_CACHE_STATS_INIT;
    stats.hits_memory = 1;
    ok(!ompjit_cache_stats_get(off, &stats, NULL) && !stats.hits_memory,
       "no cache's numbers are 0");
    ok(!ompjit_cache_path(NULL) && !ompjit_cache_path(off), "no cache's path");
    ok(!ompjit_module_kernel_count(NULL), "no module has no kernels");
    ok(!ompjit_module_kernel_at(NULL, 0) && !ompjit_module_kernel_at(mod, 99),
       "no such kernel");
    ok(*ompjit_status_name((ompjit_status)99) &&
           *ompjit_stage_name((ompjit_stage)-1), "no such status or stage");
    ompjit_kernel_cancel(NULL);
    ompjit_bytes_free(NULL);
    ompjit_event_destroy(NULL);
    ompjit_graph_destroy(NULL);
    ompjit_offload_destroy(NULL);
    ok(!ompjit_offload_descriptor(NULL), "the descriptor of nothing");
    ompjit_bound_destroy(NULL);
    ompjit_queue_destroy(NULL);
    ompjit_module_destroy(NULL);
    ompjit_context_destroy(NULL);
    ok(!ompjit_device_free(dev, NULL, &err) &&
           !ompjit_device_upload(dev, NULL, NULL, 0, &err) &&
           !ompjit_context_failure(ctx, NULL), "what may be NULL");
}

static void must(ompjit_status status)
{
    if (status) {
        fprintf(stderr, "# %s\n", err.text);
        exit(1);
    }
}

static void set_up(void)
{
    static const char source[] =
        "void f(int n, float *x) {\n"
        "#pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"
        "  for (int i = 0; i < n; i++) x[i] += 1;\n}\n";
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    o.devices = "host";
    must(ompjit_context_create(&o, &ctx, &err));
    o.cache.mode = OMPJIT_CACHE_OFF;
    must(ompjit_context_create(&o, &off, &err));
    must(ompjit_context_device(ctx, 0, &dev, &err));
    must(ompjit_context_device(off, 0, &foreign, &err));
    must(ompjit_module_from_c(ctx, source, NULL, &mod, &err));
    must(ompjit_module_kernel(mod, "f", &k, &err));
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_kernel_info_get(k, &info, NULL);
    for (nargs = 0; nargs < info.nparams; nargs++) {
        ompjit_param_info p = OMPJIT_PARAM_INFO_INIT;
        must(ompjit_kernel_param(k, nargs, &p, &err));
        args[nargs] = p.is_pointer ? (ompjit_arg){.value.p = data}
                                   : (ompjit_arg){.type = OMPJIT_ARG_I32,
                                                  .value.i32 = 64};
    }
    must(ompjit_queue_create(dev, &queue, &err));
    must(ompjit_queue_create(foreign, &queue2, &err));
    must(ompjit_event_create(dev, &event, &err));
    must(ompjit_event_create(foreign, &event2, &err));
    must(ompjit_kernel_bind(k, dev, NULL, args, nargs, &bound, &err));
    must(ompjit_graph_begin(queue, &err));
    must(ompjit_graph_end(queue, &graph, &err));
    err = (ompjit_error){0};
}

int main(void)
{
    set_up();
    contexts();
    devices();
    modules();
    functions();
    kernels();
    launches();
    offload();
    queues();
    events_and_graphs();
    numbers();
    caches();
    quiet();
    ok(!new_context && !new_module && !new_kernel && !new_device &&
           !new_queue && !new_event && !new_graph && !new_bound && !bytes &&
           !function && !text,
       "no failure sets a result");
    ok(!ompjit_bound_run(bound, &err) && data[63] == 1, "all still works");
    ompjit_graph_destroy(graph);
    ompjit_bound_destroy(bound);
    ompjit_event_destroy(event);
    ompjit_event_destroy(event2);
    ompjit_queue_destroy(queue);
    ompjit_queue_destroy(queue2);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(off);
    ompjit_context_destroy(ctx);
    return done_testing();
}
