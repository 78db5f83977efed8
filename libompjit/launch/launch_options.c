/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The options of a launch by the API: checked, and as a request.
 */
#include "base/structs.h"
#include "launch/module.h"

ompjit_status ompjit__kernel_on(const char *who, const ompjit_kernel *kernel,
                                const ompjit_device *dev, ompjit_error *err)
{
    if (!kernel || !dev)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "%s: no %s", who, kernel ? "device" : "kernel");
    if (kernel->mod->ctx == dev->ctx)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: device %u is of another context than kernel %s",
                        who, dev->number, ompjit__desc_of(kernel)->name);
}

ompjit_status ompjit__launch_check(const char *who, const ompjit_kernel *kernel,
                                   const ompjit_device *dev,
                                   const ompjit_arg *args, unsigned nargs,
                                   ompjit_error *err)
{
    if (nargs && !args)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "%s: %u arguments, but no array", who, nargs);
    return ompjit__kernel_on(who, kernel, dev, err);
}

/* The GEOMETRY error. */
static ompjit_status geometry_error(const ompjit__kernel_desc *k,
                                    const char *cause, ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                        "kernel %s: %s", k->name, cause);
}

/* Tells whether the launch's dimensions are what such a kernel can have. */
static ompjit_status check_dimensions(const ompjit__kernel_desc *k,
                                      const ompjit_launch *l,
                                      ompjit_error *err)
{
    bool box = l->teams_y > 1 || l->teams_z > 1 || l->threads_y > 1 ||
               l->threads_z > 1;
    if (box && k->openmp)
        return geometry_error(k, "it calls the OpenMP runtime, whose threads "
                                 "have one dimension", err);
    if (box && k->mode != OMPJIT_MODE_BARE)
        return geometry_error(k, "a target region has one dimension", err);
    if (box && (!l->teams || !l->threads))
        return geometry_error(k, "who says how many there are in y and z says "
                                 "how many in x", err);
    return OMPJIT_OK;
}

/* x * y * z, where 0 in y and z is 1; UINT64_MAX where it is 2^32 or more. */
static uint64_t volume(uint32_t x, uint32_t y, uint32_t z)
{
    uint64_t area = (uint64_t)x * (y ? y : 1);
    uint64_t all = area <= UINT32_MAX ? area * (z ? z : 1) : UINT64_MAX;
    return all <= UINT32_MAX ? all : UINT64_MAX;
}

/* GEOMETRY error where the launch asks for more than the kernel was compiled
 * for, or than can be counted. */
static ompjit_status check_geometry(const ompjit__kernel_desc *k,
                                    const ompjit_launch *l, ompjit_error *err)
{
    uint32_t most = ompjit__bound(k->max_threads);
    uint64_t threads = volume(l->threads, l->threads_y, l->threads_z);
    if (threads == UINT64_MAX ||
        volume(l->teams, l->teams_y, l->teams_z) == UINT64_MAX)
        return geometry_error(k, "2^32 teams or threads, or more", err);
    if (most && threads > most)
        return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_LAUNCH,
                            "kernel %s: a team of %llu threads, it was "
                            "compiled for at most %u",
                            k->name, (unsigned long long)threads, most);
    return check_dimensions(k, l, err);
}

/* The options may be of another version of the struct; ompjit__options fills
 * what is missing with defaults (base/structs.h). NULL: all are. */
ompjit_status ompjit__kernel_folds(ompjit_kernel *kernel,
                                   const ompjit_launch *launch,
                                   ompjit__request *r, ompjit_error *err)
{
    ompjit_launch room;
    *r = (ompjit__request){0};
    if (!launch)
        return OMPJIT_OK;
    const ompjit_launch *l =
        ompjit__options(OMPJIT__STRUCT_launch, launch, &room, err);
    ompjit_status status = OMPJIT_ERR_INVALID;
    if (l)
        status = check_geometry(ompjit__desc_of(kernel), l, err);
    if (status)
        return status;
    r->teams[0] = l->teams;
    r->teams[1] = l->teams_y;
    r->teams[2] = l->teams_z;
    r->teams_fixed = l->teams != 0;
    r->threads[0] = l->threads;
    r->threads[1] = l->threads_y;
    r->threads[2] = l->threads_z;
    r->threads_fixed = l->threads != 0;
    r->dynamic_shared = l->dynamic_shared;
    r->tripcount = l->tripcount;
    r->run_limit_ms = l->time_limit_ms;
    r->queue = l->queue;
    r->cooperative = l->cooperative;
    r->policy = l->specialize.mode;
    r->fold = l->specialize.fold;
    r->limit_ms = l->specialize.time_limit_ms;
    r->facts.resident_teams = l->specialize.resident_teams;
    return OMPJIT_OK;
}

/* A CUDA kernel has no default geometry, as its code computes with it. */
ompjit_status ompjit__kernel_request(ompjit_kernel *kernel,
                                     const ompjit_launch *launch,
                                     ompjit__request *r, ompjit_error *err)
{
    const ompjit__kernel_desc *k = ompjit__desc_of(kernel);
    ompjit_status status = ompjit__kernel_folds(kernel, launch, r, err);
    if (!status && k->cuda && (!r->teams[0] || !r->threads[0]))
        return geometry_error(k, "of a CUDA kernel the launch says how many "
                                 "teams there are and how many threads in each",
                              err);
    return status;
}
