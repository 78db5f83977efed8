/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program of another version: t/versions_t.sh compiles it with the headers of
 * t/headers, as they are, with smaller structs and, as FUTURE, with larger
 * ones, and runs it on the library of today.
 */
#include "ompjit.h"
#include "ompjit_cache.h"
#include "ompjit_debug.h"
#include "ompjit_graph.h"
#include "ompjit_rtl.h"
#include "ompjit_tune.h"
#include "tap.h"

static const char source[] =
    "void f(int n, float *x) {\n"
    "#pragma omp target teams distribute parallel for map(tofrom: x[:n])\n"
    "  for (int i = 0; i < n; i++) x[i] += 1;\n}\n";

enum { N = 64 };
static float data[N];
static ompjit_context *ctx;
static ompjit_device *dev;
static ompjit_module *mod;
static ompjit_kernel *k;
static ompjit_arg args[2];
static ompjit_error err;

/* --------------------------------------------------------------- options */

#ifdef FUTURE
/* The call is refused when options ask for what this library does not know. */
#define REFUSED(name, options, call)                                      \
    do {                                                                  \
        (options).future[2] = 1;                                          \
        ok((call) == OMPJIT_ERR_INVALID, #name ": a new field is set");   \
        ok_contains(err.text, #name ": ", "  says which struct");         \
        ok_contains(err.text, "more than this version", "  and why");     \
        (options).future[2] = 0;                                          \
    } while (0)
#else
#define REFUSED(name, options, call) (void)&(options)
#endif

static void open_module(void)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit_module_options m = OMPJIT_MODULE_OPTIONS_INIT;
    o.devices = "host";
    o.compiler.time_limit_ms = 60000;
    o.specialize.max_variants = 7;
    o.cache.mode = OMPJIT_CACHE_MEMORY;
    REFUSED(ompjit_context_options, o, ompjit_context_create(&o, &ctx, &err));
    ok(!ompjit_context_create(&o, &ctx, &err), "a context: %s", err.text);
    m.name = "version.c";
    REFUSED(ompjit_module_options, m,
            ompjit_module_from_c(ctx, source, &m, &mod, &err));
    ok(!ompjit_module_from_c(ctx, source, &m, &mod, &err), "a module: %s",
       err.text);
    ok(!ompjit_context_device(ctx, 0, &dev, &err) &&
           !ompjit_module_kernel(mod, "f", &k, &err),
       "its kernel: %s", err.text);
}

static void launches(void)
{
    ompjit_launch l = OMPJIT_LAUNCH_INIT;
    ompjit_tune_options t = OMPJIT_TUNE_OPTIONS_INIT;
    ompjit_queue *queue = NULL;
    ompjit_graph *graph = NULL;
    args[0] = ompjit_arg_i32("n", N);
    args[1] = ompjit_arg_pointer("x", data);
    l.teams = 2;
    l.tripcount = N;
    REFUSED(ompjit_launch, l,
            ompjit_kernel_launch(k, dev, &l, args, 2, &err));
    ok(!ompjit_kernel_launch(k, dev, &l, args, 2, &err) && data[N - 1] == 1,
       "a launch: %s", err.text);
    ok(!ompjit_queue_create(dev, &queue, &err), "a queue");
    l.queue = queue;
    ok(!ompjit_graph_begin(queue, &err) &&
           !ompjit_kernel_launch(k, dev, &l, args, 2, &err) &&
           !ompjit_graph_end(queue, &graph, &err) &&
           !ompjit_graph_run(graph, NULL, &err) && data[N - 1] == 2,
       "a graph: %s", err.text);
    REFUSED(ompjit_tune_options, t,
            ompjit_kernel_tune(k, dev, NULL, args, 2, &t, NULL, &err));
    ompjit_graph_destroy(graph);
    ompjit_queue_destroy(queue);
}

/* --------------------------------------------------------------- results */

#ifdef FUTURE
#define ARE_ZERO(f) (!(f)[0] && !(f)[1] && !(f)[2])
#define SPOIL(made) memset((made).future, 0xa5, sizeof (made).future)
#define UNKNOWN_ARE_ZERO(made) ARE_ZERO((made).future)
#else
#define SPOIL(made) (void)0
#define UNKNOWN_ARE_ZERO(made) 1
#endif

/* Fills `r.made` by the call; what stands behind it stays. */
#define RESULT(type, INIT, call, good)                                     \
    do {                                                                   \
        struct {                                                           \
            type made;                                                     \
            unsigned char behind[64];                                      \
        } r = {INIT, {0}};                                                 \
        size_t changed = 0;                                                \
        memset(r.behind, 0xa5, sizeof r.behind);                           \
        SPOIL(r.made);                                                     \
        ok(!(call) && (good), #type ": %s", err.text);                     \
        for (size_t i = 0; i < sizeof r.behind; i++)                       \
            changed += r.behind[i] != 0xa5;                                \
        ok(!changed && r.made.size == sizeof r.made &&                     \
               UNKNOWN_ARE_ZERO(r.made),                                   \
           "  and no more than that");                                     \
    } while (0)

static void results(void)
{
    const ompjit_resources use = OMPJIT_RESOURCES_INIT;
    RESULT(ompjit_device_info, OMPJIT_DEVICE_INFO_INIT,
           ompjit_device_info_get(dev, &r.made, &err),
           *r.made.name && r.made.max_threads);
    RESULT(ompjit_kernel_info, OMPJIT_KERNEL_INFO_INIT,
           ompjit_kernel_info_get(k, &r.made, &err),
           r.made.nparams == 2 && !strcmp(r.made.name, "f"));
    RESULT(ompjit_param_info, OMPJIT_PARAM_INFO_INIT,
           ompjit_kernel_param(k, 0, &r.made, &err), r.made.bytes != 0);
    RESULT(ompjit_times, OMPJIT_TIMES_INIT,
           ompjit_context_times(ctx, &r.made, &err),
           r.made.stage[OMPJIT_STAGE_FRONTEND].count == 1);
    RESULT(ompjit_cache_stats, OMPJIT_CACHE_STATS_INIT,
           ompjit_cache_stats_get(ctx, &r.made, &err), r.made.stored >= 2);
    RESULT(ompjit_variant_stats, OMPJIT_VARIANT_STATS_INIT,
           ompjit_module_variants(mod, &r.made, &err), r.made.builds >= 1);
    RESULT(ompjit_launch_info, OMPJIT_LAUNCH_INFO_INIT,
           ompjit_kernel_last_launch(k, dev, &r.made, &err),
           r.made.teams == 2);
    RESULT(ompjit_param_state, OMPJIT_PARAM_STATE_INIT,
           ompjit_kernel_param_state(k, 0, &r.made, &err), *r.made.why);
    RESULT(ompjit_resources, OMPJIT_RESOURCES_INIT,
           ompjit_kernel_code(k, "host", NULL, NULL, 0, &r.made, &err),
           r.made.code != 0);
    RESULT(ompjit_arch_info, OMPJIT_ARCH_INFO_INIT,
           ompjit_arch_info_get("sm_90", &r.made, &err), r.made.warps == 64);
    RESULT(ompjit_occupancy, OMPJIT_OCCUPANCY_INIT,
           ompjit_occupancy_get("sm_90", &use, 32, 0, &r.made, &err),
           r.made.teams == 32);
    RESULT(ompjit_tuned, OMPJIT_TUNED_INIT,
           ompjit_kernel_tune(k, dev, NULL, args, 2, NULL, &r.made, &err),
           r.made.ns && r.made.default_ns);
    RESULT(ompjit_rtl_row, OMPJIT_RTL_ROW_INIT,
           ompjit_rtl_row_named("__kmpc_barrier", &r.made, &err),
           r.made.index == 0 && !strcmp(r.made.name, "__kmpc_barrier"));
}

int main(void)
{
    open_module();
    launches();
    results();
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return done_testing();
}
