/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The __tgt_* entry points that clang's host code calls, but for interop
 * (interop.c). They find device and kernel and hand over to mapping/map.c and
 * target_construct.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "context/ompt.h"
#include "device/check/check.h"
#include "device/engine/guard.h"
#include "mapping/construct.h"
#include "omptarget/entry_points.h"
#include "omptarget/info.h"
#include "omptarget/library.h"

/* "function at file.c:3", for messages; "" if the program does not say. */
static void where_text(char *text, size_t size, const ompjit__ident *where)
{
    char function[64], file[128];
    unsigned line;
    text[0] = 0;
    if (where && where->source &&
        sscanf(where->source, ";%127[^;];%63[^;];%u", file, function, &line)
            == 3 && line)
        snprintf(text, size, "%s:%u: in %s: ", file, line, function);
}

/* Adds where it was to the error, and reports it. */
static void failed(ompjit_context *ctx, const ompjit__ident *where,
                   const ompjit_error *err)
{
    char place[256];
    ompjit_error full;
    where_text(place, sizeof place, where);
    ompjit__fail(&full, err->status, err->stage, "%s%s", place, err->text);
    ompjit__ompt_left(); /* the thread may not come back */
    ompjit__tgt_fail(ctx->tgt, &full);
}

/* Is the construct a part of a function's guarded call that is over, but could
 * not be left yet? It then runs no kernel. */
static bool is_over(ompjit_context *ctx, const ompjit__ident *where)
{
    ompjit__call_guard *call = ompjit__guarded_call(ctx);
    ompjit_error err;
    if (!call || !ompjit__call_over(call))
        return false;
    if (!call->status) {
        ompjit__fail(&err, OMPJIT_ERR_ABORTED, OMPJIT_STAGE_LAUNCH,
                     "the call was aborted");
        failed(ctx, where, &err);
    }
    ompjit__ompt_left();
    ompjit__call_leave(call);
    return true;
}

/* The library works for the thread's guarded call, if it is in one, from here to
 * set_idle. */
static ompjit__call_guard *set_busy(void)
{
    ompjit__call_guard *call = ompjit__any_call(NULL);
    if (call)
        call->busy = true;
    return call;
}

/* Accepts NULL. */
static void set_idle(ompjit__call_guard *call)
{
    if (call)
        call->busy = false;
}

/* The construct's device; NULL: it is the host's. False after a failure, which
 * a context without the devices that it was told to use is, omp_invalid_device
 * (OpenMP 5.2, 13.2), and with OMP_TARGET_OFFLOAD=mandatory a device that does
 * not exist. */
static bool device_of(ompjit_context *ctx, const ompjit__ident *where,
                      int64_t number, ompjit_device **dev)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    *dev = NULL;
    enum ompjit__where at = ompjit__tgt_construct_device(tgt, number, dev);
    int count = ompjit__tgt_num_devices(tgt);
    if (at == OMPJIT__ON_DEVICE)
        return true;
    ompjit_error err;
    ompjit_status status = OMPJIT_OK;
    if (!count && tgt->policy != OMPJIT__OFFLOAD_DISABLED)
        status = ompjit__devices(ctx, &err);
    if (!status && tgt->policy == OMPJIT__OFFLOAD_MANDATORY &&
        atomic_load(&tgt->no_code)) {
        err = tgt->why_no_code;
        status = err.status;
    }
    if (!status && tgt->policy == OMPJIT__OFFLOAD_MANDATORY &&
        (at == OMPJIT__NOWHERE || !count))
        status = ompjit__fail(&err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_MAP,
                              "no device %" PRId64 "; there are %d, and "
                              "OMP_TARGET_OFFLOAD is mandatory", number, count);
    if (!status && number == OMPJIT__INVALID_DEVICE &&
        tgt->policy != OMPJIT__OFFLOAD_DISABLED)
        status = ompjit__fail(&err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_MAP,
                              "the device is omp_invalid_device");
    if (status)
        failed(ctx, where, &err);
    else if (at == OMPJIT__NOWHERE)
        ompjit__log(ctx, "no device %" PRId64 "; there are %d: on the host",
                    number, count);
    return !status;
}

/* ----------------------------------------------------------- data regions */

typedef ompjit_status data_fn(ompjit_device *dev, const ompjit__maps *maps,
                              ompjit_error *err);

/* Prints the device's table of mapped data, where LIBOMPTARGET_INFO asks for
 * it. */
static void tell_table(ompjit_device *dev, const ompjit__ident *where)
{
    if (ompjit__informs(dev->ctx, OMPJIT__INFO_TABLE))
        ompjit__info_table(dev, where ? where->source : NULL);
}

/* The constructs that have data and no kernel; the texts are those of
 * LIBOMPTARGET_INFO. */
static const struct construct {
    data_fn *f;
    const char *text;
} constructs[] = {
    [OMPJIT__OMPT_ENTER_DATA] =
        {ompjit__map_begin, "Entering OpenMP data region with being_mapper"},
    [OMPJIT__OMPT_EXIT_DATA] =
        {ompjit__map_end, "Exiting OpenMP data region with end_mapper"},
    [OMPJIT__OMPT_UPDATE] =
        {ompjit__map_update,
         "Updating data within the OpenMP data region with update_mapper"},
};

/* Variables first: data may refer to them. The table is printed after a
 * failure, too. */
static ompjit_status run_data(ompjit_device *dev, const ompjit__ident *where,
                              const ompjit__maps *maps,
                              const struct construct *construct,
                              ompjit_error *err)
{
    ompjit_context *ctx = dev->ctx;
    ompjit_status st = ompjit__tgt_globals(ctx->tgt, dev, err);
    if (ompjit__informs(ctx, OMPJIT__INFO_ARGUMENTS))
        ompjit__info_construct(dev, where, construct->text, maps);
    if (!st)
        st = construct->f(dev, maps, err);
    tell_table(dev, where);
    return st;
}

/* On the host there is nothing to do. `kind` is enum ompjit__ompt_kind. */
static void data(ompjit_context *ctx, const ompjit__ident *where,
                 int64_t number, const ompjit__maps *maps, int kind)
{
    ompjit_device *dev;
    ompjit_error err;
    const struct construct *construct =
        &constructs[kind & ~OMPJIT__OMPT_NOWAIT];
    if (!device_of(ctx, where, number, &dev) || !dev) {
        ompjit__ompt_left();
        return;
    }
    const bool told = ompjit__ompt();
    ompjit__call_guard *call = set_busy(), *owner = ompjit__mapping_call();
    if (told)
        ompjit__ompt_construct_begin(kind, (int)dev->number);
    if (owner && construct->f == ompjit__map_end)
        ompjit__begun_remove(owner, maps);
    ompjit_status st = run_data(dev, where, maps, construct, &err);
    if (owner && !st && construct->f == ompjit__map_begin)
        ompjit__begun_add(owner, dev, maps);
    if (told)
        ompjit__ompt_construct_end(kind, (int)dev->number);
    set_idle(call);
    if (st)
        failed(ctx, where, &err);
}

#define MAPS \
    &(ompjit__maps){n, bases, begins, sizes, types, names, mappers}

/* Data regions and `enter data`; the arrays are read before it returns. */
void ompjit__s_data_begin(ompjit_context *ctx, ompjit__ident *where,
                          int64_t device, OMPJIT__ARRAYS)
{
    OMPJIT__OMPT_CALLED();
    data(ctx, where, device, MAPS, OMPJIT__OMPT_ENTER_DATA);
}

/* Ends of data regions, and `exit data`. */
void ompjit__s_data_end(ompjit_context *ctx, ompjit__ident *where,
                        int64_t device, OMPJIT__ARRAYS)
{
    OMPJIT__OMPT_CALLED();
    data(ctx, where, device, MAPS, OMPJIT__OMPT_EXIT_DATA);
}

/* `target update`. Descriptors of strided sections that the host half has had
 * allocated (passes/hosthalf/repair.c) end with it. */
void ompjit__s_data_update(ompjit_context *ctx, ompjit__ident *where,
                           int64_t device, OMPJIT__ARRAYS)
{
    OMPJIT__OMPT_CALLED();
    data(ctx, where, device, MAPS, OMPJIT__OMPT_UPDATE);
    ompjit__strided_free(MAPS);
}

/* The _nowait forms are called from within tasks: to have them done when they
 * return is what the standard allows and the tasks make asynchronous. */
void ompjit__s_data_begin_nowait(ompjit_context *ctx, ompjit__ident *where,
                                 int64_t device, OMPJIT__ARRAYS,
                                 OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__tgt_wait(ctx->tgt, where, ndeps, deps, nnoalias, noalias);
    data(ctx, where, device, MAPS, OMPJIT__OMPT_ENTER_DATA |
                                        OMPJIT__OMPT_NOWAIT);
}

void ompjit__s_data_end_nowait(ompjit_context *ctx, ompjit__ident *where,
                               int64_t device, OMPJIT__ARRAYS, OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__tgt_wait(ctx->tgt, where, ndeps, deps, nnoalias, noalias);
    data(ctx, where, device, MAPS, OMPJIT__OMPT_EXIT_DATA |
                                        OMPJIT__OMPT_NOWAIT);
}

void ompjit__s_data_update_nowait(ompjit_context *ctx, ompjit__ident *where,
                                  int64_t device, OMPJIT__ARRAYS,
                                  OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__tgt_wait(ctx->tgt, where, ndeps, deps, nnoalias, noalias);
    data(ctx, where, device, MAPS, OMPJIT__OMPT_UPDATE |
                                        OMPJIT__OMPT_NOWAIT);
    ompjit__strided_free(MAPS);
}

/* openmp-opt splits begin into issue and wait; all is done at issue. */
void ompjit__s_data_begin_issue(ompjit_context *ctx, ompjit__ident *where,
                                int64_t device, OMPJIT__ARRAYS,
                                ompjit__async_info *async)
{
    OMPJIT__OMPT_CALLED();
    data(ctx, where, device, MAPS, OMPJIT__OMPT_ENTER_DATA);
    async->queue = NULL;
}

/* Nothing is left to wait for. */
void ompjit__s_data_begin_wait(ompjit_context *ctx, int64_t device,
                               ompjit__async_info *async)
{
}

/* ----------------------------------------------------------------- mappers */

/* `handle` is the list of components that a mapper of the program's fills
 * (ompjit__components), for the construct that has called the mapper. */
int64_t ompjit__s_mapper_num_components(ompjit_context *ctx, void *handle)
{
    return (int64_t)((ompjit__components *)handle)->n;
}

void ompjit__s_push_mapper_component(ompjit_context *ctx, void *handle,
                                     void *base, void *begin, int64_t size,
                                     int64_t type, void *name)
{
    ompjit__components_add(handle, (ompjit__component){
        .base = base, .begin = begin, .size = size, .type = type,
        .name = name});
}

/* ----------------------------------------------------------------- kernels */

/* A launch's result for the program: the region is done, or the host's version
 * of it runs. */
enum { DONE, HOST_VERSION };

/* After a failure. A kernel that has begun may have changed what the host's
 * version would read, so that runs only in place of one that never began, and
 * not in a guarded call, which has failed. */
static int32_t give_up(const ompjit_context *ctx, bool begun)
{
    bool mandatory = ctx->tgt->policy == OMPJIT__OFFLOAD_MANDATORY ||
                     ompjit__guarded_call(ctx);
    return begun || mandatory ? DONE : HOST_VERSION;
}

/* The error of a region that clang has seen in one half alone. */
static int32_t no_device_version(ompjit_context *ctx,
                                 const ompjit__ident *where)
{
    ompjit_error err;
    ompjit__fail(&err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_LAUNCH,
                 "the compiler made no device version of this target region");
    if (ctx->tgt->policy != OMPJIT__OFFLOAD_MANDATORY) {
        ompjit__log(ctx, "%s: on the host", err.text);
        return HOST_VERSION;
    }
    failed(ctx, where, &err);
    return give_up(ctx, false);
}

/* A target region whose kernel is not known yet: `key` is the host address of its
 * entry, which clang calls its region id. */
struct region {
    const ompjit__ident *where;
    const void *key;
    const ompjit__maps *maps;
    ompjit__request *request;
    int kind; /* enum ompjit__ompt_kind */
};

/* The program's variables are present before the kernel runs. */
static ompjit_status run_kernel(ompjit_device *dev, const struct region *r,
                                ompjit_module *mod, unsigned kernel,
                                ompjit_error *err)
{
    ompjit_context *ctx = dev->ctx;
    const bool told = ompjit__ompt();
    ompjit_status st = ompjit__tgt_ready_globals(ctx->tgt, dev, err);
    if (st)
        return st;
    if (told)
        ompjit__ompt_construct_begin(r->kind, (int)dev->number);
    if (ompjit__informs(ctx, OMPJIT__INFO_ARGUMENTS))
        ompjit__info_construct(dev, r->where, "Entering OpenMP kernel",
                               r->maps);
    st = ompjit__map_run(dev, r->maps, mod, kernel, r->request, err);
    tell_table(dev, r->where);
    if (told)
        ompjit__ompt_construct_end(r->kind, (int)dev->number);
    return st;
}

/* Finds device, module and kernel, in this order, and runs the kernel. The busy
 * flag keeps an abort from leaving this library's own code. */
static int32_t launch(ompjit_context *ctx, int64_t number,
                      const struct region *r)
{
    ompjit_module *mod;
    ompjit_device *dev;
    unsigned kernel;
    ompjit_error err;
    bool begun = false;
    if (is_over(ctx, r->where))
        return DONE;
    if (!device_of(ctx, r->where, number, &dev))
        return number == OMPJIT__INVALID_DEVICE ? DONE : give_up(ctx, false);
    if (!dev)
        return HOST_VERSION;
    r->request->begun = &begun;
    ompjit__call_guard *call = set_busy();
    ompjit__libraries_ready(ctx->tgt, r->key);
    bool known = ompjit__tgt_find(ctx->tgt, r->key, &mod, &kernel);
    if (known && kernel == OMPJIT__NO_KERNEL) {
        set_idle(call);
        return no_device_version(ctx, r->where);
    }
    ompjit_status st = known
                           ? run_kernel(dev, r, mod, kernel, &err)
                           : ompjit__libraries_explain(ctx->tgt, r->key, &err);
    set_idle(call);
    if (!st)
        return DONE;
    failed(ctx, r->where, &err);
    /* A device that an earlier kernel has failed on has lost its data. */
    return give_up(ctx, begun || st == OMPJIT_ERR_DEVICE);
}

/* A clause's number. Those that are negative come as large ones; like libomp,
 * we take 1 for what is not positive. */
static uint32_t positive(uint32_t n)
{
    return n && n <= INT32_MAX ? n : 1;
}

/* `teams` -1: a target region without teams, which has one. Else 0 is a free
 * choice; num_teams(n) means exactly n (5.1: its lower bound is n too), while
 * thread_limit is an upper bound. */
static void clauses(ompjit__request *r, const uint32_t teams[3],
                    const uint32_t threads[3], bool has_teams)
{
    if (!has_teams)
        r->teams[0] = r->teams[1] = r->teams[2] = 1;
    for (int i = 0; has_teams && teams[0] && i < 3; i++)
        r->teams[i] = positive(teams[i]);
    for (int i = 0; threads[0] && i < 3; i++)
        r->threads[i] = positive(threads[i]);
    r->teams_fixed = r->teams[0] != 0;
    r->of_construct = true;
}

/* The error of arguments in a layout that nobody knows here: LLVM 23 has
 * version 4, with another order of the kernel's parameters. */
static int32_t unknown_version(ompjit_context *ctx, const ompjit__ident *where,
                               uint32_t version)
{
    ompjit_error err;
    ompjit__fail(&err, OMPJIT_ERR_ABI, OMPJIT_STAGE_LAUNCH,
                 "kernel arguments of version %" PRIu32 "; those of LLVM 15 to "
                 "22 have %d to %d: build the program with clang 22 or older",
                 version, OMPJIT__KERNEL_ARGS_V1, OMPJIT__KERNEL_ARGS_V3);
    failed(ctx, where, &err);
    return give_up(ctx, false);
}

/* `kind` is enum ompjit__ompt_kind. */
static int32_t target_kernel(ompjit_context *ctx, const ompjit__ident *where,
                             int64_t device, int32_t teams, int32_t threads,
                             void *key, const ompjit__kernel_args *args,
                             int kind)
{
    if (args->version < OMPJIT__KERNEL_ARGS_V1 ||
        args->version > OMPJIT__KERNEL_ARGS_V3)
        return unknown_version(ctx, where, args->version);
    /* From version 3 on, the kernel's first parameter is a launch environment.
     */
    ompjit__request request = {.tripcount = args->tripcount,
                               .passes_environment =
                                   args->version >= OMPJIT__KERNEL_ARGS_V3,
                               .policy = ctx->specialize};
    ompjit__maps maps = {(int32_t)args->num_args, args->bases, args->begins,
                         args->sizes, args->types, args->names,
                         args->mappers};
    /* Version 1 ends after the trip count. */
    if (args->version < OMPJIT__KERNEL_ARGS_V2) {
        uint32_t t[3] = {teams > 0 ? (uint32_t)teams : 0, 1, 1};
        uint32_t l[3] = {threads > 0 ? (uint32_t)threads : 0, 1, 1};
        clauses(&request, t, l, teams != -1);
    } else {
        clauses(&request, args->teams, args->thread_limit, teams != -1);
        request.dynamic_shared = args->dynamic_shared;
    }
    const struct region region = {where, key, &maps, &request, kind};
    int32_t result = launch(ctx, device, &region);
    ompjit__ompt_left();
    return result;
}

/* teams and threads are those of version 1; later versions have them in *args.
 */
int32_t ompjit__s_target_kernel(ompjit_context *ctx, ompjit__ident *where,
                                int64_t device, int32_t teams, int32_t threads,
                                void *key, ompjit__kernel_args *args)
{
    OMPJIT__OMPT_CALLED();
    return target_kernel(ctx, where, device, teams, threads, key, args,
                         OMPJIT__OMPT_TARGET);
}

int32_t ompjit__s_target_kernel_nowait(ompjit_context *ctx,
                                       ompjit__ident *where, int64_t device,
                                       int32_t teams, int32_t threads,
                                       void *key, ompjit__kernel_args *args,
                                       OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__tgt_wait(ctx->tgt, where, ndeps, deps, nnoalias, noalias);
    return target_kernel(ctx, where, device, teams, threads, key, args,
                         OMPJIT__OMPT_TARGET | OMPJIT__OMPT_NOWAIT);
}

/* Before LLVM 15: the arrays are arguments, -1 teams is `target` alone. */
int32_t ompjit__s_target_teams_mapper(ompjit_context *ctx,
                                      ompjit__ident *where, int64_t device,
                                      void *key, OMPJIT__ARRAYS, int32_t teams,
                                      int32_t threads)
{
    OMPJIT__OMPT_CALLED();
    ompjit__kernel_args args = {
        .version = OMPJIT__KERNEL_ARGS_V1, .num_args = (uint32_t)n,
        .bases = bases, .begins = begins, .sizes = sizes, .types = types,
        .names = names, .mappers = mappers};
    return ompjit__s_target_kernel(ctx, where, device, teams, threads, key,
                                   &args);
}

int32_t ompjit__s_target_teams_nowait_mapper(ompjit_context *ctx,
                                             ompjit__ident *where,
                                             int64_t device, void *key,
                                             OMPJIT__ARRAYS, int32_t teams,
                                             int32_t threads, OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__tgt_wait(ctx->tgt, where, ndeps, deps, nnoalias, noalias);
    return ompjit__s_target_teams_mapper(ctx, where, device, key, n, bases,
                                         begins, sizes, types, names, mappers,
                                         teams, threads);
}

int32_t ompjit__s_target_mapper(ompjit_context *ctx, ompjit__ident *where,
                                int64_t device, void *key, OMPJIT__ARRAYS)
{
    OMPJIT__OMPT_CALLED();
    return ompjit__s_target_teams_mapper(ctx, where, device, key, n, bases,
                                         begins, sizes, types, names, mappers,
                                         -1, 0);
}

int32_t ompjit__s_target_nowait_mapper(ompjit_context *ctx,
                                       ompjit__ident *where, int64_t device,
                                       void *key, OMPJIT__ARRAYS,
                                       OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__tgt_wait(ctx->tgt, where, ndeps, deps, nnoalias, noalias);
    return ompjit__s_target_mapper(ctx, where, device, key, n, bases, begins,
                                   sizes, types, names, mappers);
}

/* Only a hint, and LLVM 15 and later pass it with the kernel. */
void ompjit__s_push_target_tripcount(ompjit_context *ctx, ompjit__ident *where,
                                     int64_t device, uint64_t tripcount)
{
}

/* -------------------------------------------------------------- the others */

/* Devices are found when they are needed, and end with their context. */
void ompjit__s_init_all(ompjit_context *ctx)
{
}

/* Flags of all libraries add up: a requirement holds for the whole program. */
void ompjit__s_register_requires(ompjit_context *ctx, int64_t flags)
{
    atomic_fetch_or(&ctx->requires, (uint64_t)flags);
    if (flags & OMPJIT__REQUIRES_UNIFIED_SHARED_MEMORY)
        ompjit__check_unify(ctx);
}

/* 1: it was printed, to the log. */
int32_t ompjit__s_print_device_info(ompjit_context *ctx, int64_t device)
{
    ompjit_device *dev;
    ompjit_device_info info;
    ompjit_error err;
    if (ompjit__tgt_routine_device(ctx->tgt, device, &dev) !=
        OMPJIT__ON_DEVICE)
        return 0;
    if (dev->ops->info(dev, &info, &err)) {
        ompjit__log(ctx, "device %u: %s", dev->number, err.text);
        return 0;
    }
    ompjit__log(ctx, "device %u: %s, %s, %" PRIu64 " bytes, %u "
                "multiprocessors, teams of up to %u threads with %u bytes "
                "shared", dev->number, info.name, info.arch, info.memory,
                info.multiprocessors, info.max_threads, info.max_shared);
    return 1;
}

/* For ompjit__present_each: `arg` is the device; under the table's lock. */
static void log_entry(void *arg, const ompjit__mapped *e)
{
    ompjit_device *dev = arg;
    char text[OMPJIT__RANGE_TEXT];
    ompjit__range_text(text, (void *)e->begin, e->end - e->begin, e->name);
    if (e->dynamic == OMPJIT__FOREVER)
        ompjit__log(dev->ctx, "  %s: device %p, always present", text,
                    (void *)e->device);
    else
        ompjit__log(dev->ctx, "  %s: device %p, count %" PRIu64 ", held %"
                    PRIu64, text, (void *)e->device, e->dynamic, e->hold);
}

/* Each device's table goes to the log, under that table's lock. */
void ompjit__s_dump_mapping_tables(ompjit_context *ctx)
{
    int n = ompjit__tgt_num_devices(ctx->tgt);
    for (int i = 0; i < n; i++) {
        ompjit_device *dev = ctx->devices[i];
        ompjit__present_lock(dev->present);
        ompjit__log(ctx, "device %d: %zu ranges mapped", i,
                    dev->present->count);
        ompjit__present_each(dev->present, log_entry, dev);
        ompjit__present_unlock(dev->present);
    }
}
