/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The context: its settings, from options or the environment, its log and its
 * clocks. Makes nothing that is not needed yet.
 *
 * Settings do not change after ompjit_context_create, so they are read without
 * a lock. An option wins over its environment variable, and a variable over the
 * default. ctx->lock is for what is made later, such as the list of devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/hold.h"
#include "api/context.h"
#include "api/module.h"
#include "api/opt.h"
#include "base/structs.h"
#include "context/profile.h"
#include "cache/cache.h"
#include "device/engine/fault.h"
#include "door/door.h"
#include "device/check/check.h"
#include "device/device.h"
#include "omptarget/offload.h"
#include "context/background.h"
#include "ompjit_debug.h"

/* The time limit of a run of clang and of a stage of LLVM's work, in
 * milliseconds, where the application does not say. */
enum { CLANG_LIMIT = 60 * 1000, LLVM_LIMIT = 600 * 1000 };

/* ------------------------------------------------------------- settings */

/* One environment variable that names one of a few values. */
struct choice {
    const char *name;
    int value;
};

/* Sets *out to the value that the variable names; where it is unset or empty,
 * *out stays. INVALID, with all names, for any other. */
static ompjit_status choose(const char *variable, const struct choice *choices,
                            size_t n, int *out, ompjit_error *err)
{
    const char *text = getenv(variable);
    if (!text || !*text)
        return OMPJIT_OK;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(text, choices[i].name)) {
            *out = choices[i].value;
            return OMPJIT_OK;
        }
    ompjit__buf names = {0};
    for (size_t i = 0; i < n; i++)
        ompjit__buf_printf(&names, "%s%s", i ? ", " : "", choices[i].name);
    ompjit_status status =
        ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                     "%s=%s: not one of %s", variable, text,
                     names.data ? names.data : "");
    ompjit__buf_free(&names);
    return status;
}

/* Options win over variables, and a check over both where it needs another kind
 * of memory. */
static ompjit_status set_choices(ompjit_context *ctx,
                                 const ompjit_context_options *o,
                                 ompjit_error *err)
{
    static const struct choice assemblers[] = {
        {"auto", OMPJIT_ASSEMBLER_AUTO},
        {"nvjitlink", OMPJIT_ASSEMBLER_NVJITLINK},
        {"ptxas", OMPJIT_ASSEMBLER_PTXAS},
        {"driver", OMPJIT_ASSEMBLER_DRIVER}};
    static const struct choice memories[] = {
        {"shared", OMPJIT_HOST_MEMORY_SHARED},
        {"separate", OMPJIT_HOST_MEMORY_SEPARATE},
        {"auto", OMPJIT_HOST_MEMORY_AUTO}};
    static const struct choice policies[] = {
        {"off", OMPJIT_SPECIALIZE_OFF},
        {"auto", OMPJIT_SPECIALIZE_AUTO},
        {"now", OMPJIT_SPECIALIZE_NOW}};
    static const struct choice processes[] = {
        {"worker", OMPJIT_COMPILER_WORKER},
        {"inprocess", OMPJIT_COMPILER_INPROCESS}};
    int assembler = (int)o->compiler.assembler, memory = (int)o->host_memory;
    int specialize = (int)o->specialize.mode;
    int process = (int)o->compiler.process;
    ompjit_status status = OMPJIT_OK;
    if (process == OMPJIT_COMPILER_DEFAULT)
        status = choose("OMPJIT_COMPILER", processes,
                        OMPJIT__COUNT(processes), &process, err);
    ctx->compiler.in_process = process == OMPJIT_COMPILER_INPROCESS;
    if (!status && assembler == OMPJIT_ASSEMBLER_AUTO)
        status = choose("OMPJIT_ASSEMBLER", assemblers,
                        OMPJIT__COUNT(assemblers), &assembler, err);
    if (!status && memory == OMPJIT_HOST_MEMORY_DEFAULT)
        status = choose("OMPJIT_HOST_MEMORY", memories,
                        OMPJIT__COUNT(memories), &memory, err);
    if (!status && specialize == OMPJIT_SPECIALIZE_DEFAULT) {
        specialize = OMPJIT_SPECIALIZE_OFF;
        status = choose("OMPJIT_SPECIALIZE", policies, OMPJIT__COUNT(policies),
                        &specialize, err);
    }
    ctx->specialize = (ompjit_specialize)specialize;
    ctx->compiler.assembler = (ompjit_assembler)assembler;
    if (o->debug.check)
        memory = OMPJIT_HOST_MEMORY_SEPARATE;
    else if (memory == OMPJIT_HOST_MEMORY_DEFAULT)
        memory = OMPJIT_HOST_MEMORY_SHARED;
    ctx->host_memory = (ompjit_host_memory)memory;
    return status;
}

/* For switches: only "1" switches on. */
static bool is_one(const char *variable)
{
    const char *text = getenv(variable);
    return text && !strcmp(text, "1");
}

/* As libomp reads it. */
static bool is_true(const char *variable)
{
    static const char *const words[] = {"true", ".true.", "t", "yes", "y",
                                        "on", "enabled", "1"};
    const char *text = getenv(variable);
    for (size_t i = 0; text && i < OMPJIT__COUNT(words); i++)
        if (!strcasecmp(text, words[i]))
            return true;
    return false;
}

/* The needs of a check win over the environment, not over other options. A
 * check needs the host device, and memory of its own for mapped data, so that
 * reads beyond it are seen. */
static ompjit_status set_check(ompjit_context *ctx,
                               const ompjit_context_options *o,
                               ompjit_error *err)
{
    if (!o->debug.check)
        return OMPJIT_OK;
    if (o->devices && strcmp(o->devices, "host"))
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "devices `%s`: only kernels on `host` are checked",
                            o->devices);
    if (o->host_memory == OMPJIT_HOST_MEMORY_SHARED)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "shared host memory: checked kernels have memory "
                            "of their own");
    free(ctx->devices_option);
    ctx->devices_option = ompjit__strdup("host");
    ctx->check = ompjit__check_new(ctx, o->debug.on_report,
                                    o->debug.on_report_data);
    if (!ctx->devices_option || !ctx->check)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    return OMPJIT_OK;
}

/* OMPJIT_STAGING: the bytes of each pipe of device/cuda/staging.c. 0 switches
 * pipes off. Less than 128 KB would be pieces that are not worth their events.
 */
static ompjit_status set_staging(ompjit_context *ctx, ompjit_error *err)
{
    enum { LEAST = 128 << 10, USUAL = 2 << 20, MOST = 1 << 30 };
    static const char variable[] = "OMPJIT_STAGING";
    uint64_t bytes = USUAL;
    ompjit_status status = ompjit__env_bytes(variable, &bytes, err);
    if (!status && ((bytes && bytes < LEAST) || bytes > MOST))
        status = ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                              "%s=%s: 0, or 128K to 1G", variable,
                              getenv(variable));
    ctx->staging = bytes;
    return status;
}

/* The options, else the variables. Bytes; 0 leaves them to the driver. A GPU
 * takes them when it is first used. */
static ompjit_status set_sizes(ompjit_context *ctx,
                               const ompjit_context_options *o,
                               ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    ctx->device_heap = o->device_heap;
    ctx->device_stack = o->device_stack;
    if (!ctx->device_heap)
        status =
            ompjit__env_bytes("OMPJIT_DEVICE_HEAP", &ctx->device_heap, err);
    if (!status && !ctx->device_stack)
        status =
            ompjit__env_bytes("OMPJIT_DEVICE_STACK", &ctx->device_stack, err);
    return status ? status : set_staging(ctx, err);
}

/* Bytes that a worker may take: more than LLVM needs for any program, and less
 * than the machine has. A worker beyond it is out of memory by itself, before
 * the machine is. */
static uint64_t usual_memory(void)
{
    const uint64_t most = UINT64_C(8) << 30;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return most;
    uint64_t share = (uint64_t)pages / 4 * 3 * (uint64_t)page;
    return share < most ? share : most;
}

/* Copies the strings: the caller's need not live. An empty variable is as one
 * that is not set. Without the library's signal handlers no stage of LLVM's can
 * be ended in this process. After a failure the strings that were copied are
 * freed by ompjit_context_destroy. */
static ompjit_status set_options(ompjit_context *ctx,
                                 const ompjit_context_options *o,
                                 ompjit_error *err)
{
    const char *devices = o->devices ? o->devices : getenv("OMPJIT_DEVICE");
    const char *clang = o->compiler.clang ? o->compiler.clang
                                          : getenv("OMPJIT_CLANG");
    const char *record = o->specialize.record ? o->specialize.record
                                              : getenv("OMPJIT_RECORD");
    const char *signals = getenv("OMPJIT_SIGNALS");
    unsigned limit = o->compiler.time_limit_ms;
    ctx->clang_limit_ms = limit ? limit : CLANG_LIMIT;
    const char *profile = getenv("OMPJIT_PROFILE");
    bool asked = profile && *profile && strcmp(profile, "0");
    ctx->profile = o->debug.profile || asked;
    ctx->ranges = ompjit__nvtx_there();
    ctx->watched = ctx->profile || ctx->ranges;
    if (ctx->profile && !(ctx->spans = ompjit__profile_new()))
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (asked && !(ctx->profile_to = ompjit__strdup(profile)))
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    ctx->sightings = o->specialize.launches_before_variant
                         ? o->specialize.launches_before_variant
                         : 3;
    ctx->max_variants =
        o->specialize.max_variants ? o->specialize.max_variants : 64;
    ctx->run_limit_ms = o->time_limit_ms;
    ctx->keeps_signals = o->keep_signals || (signals && !strcmp(signals, "0"));
    ctx->compiler.llvm_limit_ms = ctx->keeps_signals ? 0 : limit;
    ctx->compiler.worker_limit_ms = limit ? limit : LLVM_LIMIT;
    ctx->compiler.memory_limit = o->compiler.memory_limit
                                     ? o->compiler.memory_limit
                                     : usual_memory();
    ctx->compiler.cancellation = is_true("OMP_CANCELLATION");
    ctx->log = o->log;
    ctx->log_data = o->log_data;
    if (!ctx->log && is_one("OMPJIT_LOG"))
        ctx->log = ompjit__log_stderr;
    ctx->explain = o->debug.explain || is_one("OMPJIT_EXPLAIN");
    ctx->tune = o->specialize.tune || is_one("OMPJIT_TUNE");
    if (record && *record && !(ctx->record = ompjit__strdup(record)))
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (devices && *devices && !(ctx->devices_option = ompjit__strdup(devices)))
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (clang && *clang && !(ctx->clang = ompjit__strdup(clang)))
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    ompjit_status status = ompjit__opts_environment(&ctx->opts, err);
    if (!status)
        status = ompjit__opts_read("ompjit_context_options", o->compiler.opts,
                                   o->compiler.nopts, &ctx->opts, err);
    return status ? status : set_choices(ctx, o, err);
}

/* The door calls it in the thread that compiles, without a lock. */
static void stage_done(void *ctx, ompjit_stage stage, uint64_t start,
                       uint64_t end)
{
    ompjit__stage_was(ctx, stage, start, end);
}

/* The part of the settings that goes through the door. The services are the
 * same for each context, so offering them again does nothing new. */
static void set_compiler(ompjit_context *ctx)
{
    static const ompjit__services services = {
        .fault_guard = ompjit__fault_guard,
        .fault_hold = ompjit__fault_hold,
        .fault_drop = ompjit__fault_drop,
        .fault_signal = ompjit__fault_signal,
        .fault_ask = ompjit__fault_ask,
    };
    ompjit__door_offer(&services);
    ompjit__compiler *compiler = &ctx->compiler;
    compiler->checks = ctx->check != NULL;
    compiler->explains = ctx->explain;
    compiler->log = ctx->log;
    compiler->log_data = ctx->log_data;
    compiler->stage_done = stage_done;
    compiler->stage_data = ctx;
}

/* -------------------------------------------------------------- lifetime */

/* If a step fails, destroy frees what there is: it takes a context with any of
 * its parts missing. Nothing here starts a worker, looks for devices or loads
 * the CUDA driver: those wait for their first use. The door's hold comes
 * before all that may fail, since destroy releases it in any case. */
ompjit_status ompjit_context_create(const ompjit_context_options *options,
                                    ompjit_context **out, ompjit_error *err)
{
    ompjit_context_options room;
    if (!out)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_context_create: no place for the context");
    const ompjit_context_options *o =
        ompjit__options(OMPJIT__STRUCT_context_options, options, &room, err);
    if (!o)
        return OMPJIT_ERR_INVALID;
    ompjit_context *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    ompjit__fork_lock_init(&ctx->at_fork, &ctx->lock);
    ctx->device_registry = &ompjit__device_registry_all;
    ompjit__door_hold();
    ompjit_status status = set_options(ctx, o, err);
    if (!status)
        status = set_sizes(ctx, o, err);
    if (!status)
        status = set_check(ctx, o, err);
    if (!status)
        set_compiler(ctx);
    if (!status)
        status = ompjit__cache_new(ctx, o, &ctx->cache, err);
    if (!status && (!(ctx->tgt = ompjit__tgt_new(ctx,
                                               &ompjit__module_maker_all)) ||
                    !(ctx->background = ompjit__background_new())))
        status = ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (status) {
        free(ctx->profile_to); /* there is nothing to tell */
        ctx->profile_to = NULL;
        ompjit_context_destroy(ctx);
        return status;
    }
    if (ctx->log)
        ompjit__variables_misspelled(ctx->log, ctx->log_data);
    ompjit__tgt_on_fatal(ctx, o->on_failure, o->on_failure_data,
                         o->after_failure);
    *out = ctx;
    return OMPJIT_OK;
}

/* SIGXFSZ is held back so that a limit on file sizes does not end the process.
 */
void ompjit__tell_profile(ompjit_context *ctx)
{
    if (!ctx->profile_to || !ctx->spans)
        return;
    bool table = !strcmp(ctx->profile_to, "1");
    char *text;
    size_t size;
    ompjit_error err;
    if (ompjit_context_profile(ctx, table ? OMPJIT_PROFILE_TABLE
                                          : OMPJIT_PROFILE_TRACE,
                               &text, &size, &err)) {
        ompjit__tell(ctx, err.text);
        return;
    }
    if (table) {
        text[size - 1] = 0; /* its last newline */
        ompjit__tell(ctx, text);
    } else {
        ompjit__held held;
        ompjit__hold(&held, SIGXFSZ);
        FILE *f = fopen(ctx->profile_to, "we");
        bool done = f && fwrite(text, size, 1, f);
        done = f && !fclose(f) && done;
        ompjit__release(&held);
        if (!done)
            ompjit__log(ctx, "cannot write %s, as OMPJIT_PROFILE asks",
                        ctx->profile_to);
    }
    ompjit_bytes_free(text);
}

/* Jobs end before what they use; programs' state, and its memory on devices,
 * before the devices; the profile last, since all of these tell it of their
 * times. Modules, queues, graphs and events are destroyed before, by their
 * owner. No other thread uses the context any more. */
void ompjit_context_destroy(ompjit_context *ctx)
{
    if (!ctx)
        return;
    ompjit__background_free(ctx->background);
    ompjit__tgt_free(ctx->tgt);
    ompjit__frontend_free(ctx->frontend);
    ompjit__devices_free(ctx);
    ompjit__check_free(ctx->check);
    ompjit__cache_free(ctx->cache);
    ompjit__door_release();
    ompjit__tell_profile(ctx);
    ompjit__profile_free(ctx->spans);
    free(ctx->profile_to);
    ompjit__fork_lock_end(&ctx->at_fork);
    free(ctx->devices_option);
    free(ctx->record);
    free(ctx->clang);
    ompjit__opts_free(&ctx->opts);
    free(ctx);
}

/* Any thread, but no signal handler: it takes the locks of the door. */
ompjit_status ompjit_context_cancel(ompjit_context *ctx, ompjit_error *err)
{
    if (!ctx)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_context_cancel: no context");
    ompjit__door_cancel(&ctx->compiler);
    return OMPJIT_OK;
}

/* --------------------------------------------------- log, failures, clocks */

/* Takes the error away: the next call tells of later ones only. */
ompjit_status ompjit_context_failure(ompjit_context *ctx, ompjit_error *err)
{
    if (!ctx)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_context_failure: no context");
    return ompjit__tgt_error(ctx, err);
}

/* Nanoseconds and counts. Each number is read by itself: a stage that ends
 * meanwhile may be in one of its two only. */
ompjit_status ompjit_context_times(ompjit_context *ctx, ompjit_times *times,
                                   ompjit_error *err)
{
    ompjit_times full = {0};
    ompjit_status status =
        ompjit__result_check(OMPJIT__STRUCT_times, times, err);
    if (status)
        return status;
    if (!ctx)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_context_times: no context");
    for (int i = 0; i < OMPJIT_STAGE_COUNT; i++) {
        full.stage[i].ns = atomic_load_explicit(&ctx->stage_ns[i],
                                                memory_order_relaxed);
        full.stage[i].count = atomic_load_explicit(&ctx->stage_count[i],
                                                   memory_order_relaxed);
    }
    ompjit__result_fill(OMPJIT__STRUCT_times, &full, times);
    return OMPJIT_OK;
}
