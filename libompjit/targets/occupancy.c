/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How many teams of a kernel run on a multiprocessor at the same time, and what
 * keeps more from it.
 */
#include <string.h>
#include <strings.h>

#include "targets/arch.h"
#include "targets/occupancy.h"

enum {
    WARP = 32,
    MOST_THREADS = 1024,
    REGISTERS = 65536,
    REGISTER_UNIT = 256,
    MOST_REGISTERS = 255
};

typedef struct limits {
    const char *name;
    uint32_t warps, teams, shared, team, reserved, unit, parts;
} limits;

static const limits table[] = {
#define LIMITS(name, warps, teams, shared, team, reserved, unit, parts)        \
    {name, warps, teams, (shared) << 10, (team) << 10, reserved, unit, parts},
#include "targets/limits.def"
};

static const struct gpu {
    const char *name, *arch;
} gpus[] = {
#define GPU(name, arch) {name, arch},
#include "targets/limits.def"
};

static const limits *row_of(const char *arch)
{
    for (size_t i = 0; i < OMPJIT__COUNT(table); i++)
        if (!strcmp(table[i].name, arch))
            return &table[i];
    return NULL;
}

/* By an architecture or a product. */
static ompjit_status find(const char *name, const limits **out,
                          ompjit_error *err)
{
    const char *arch = name;
    for (size_t i = 0; i < OMPJIT__COUNT(gpus); i++)
        if (!strcasecmp(gpus[i].name, name))
            arch = gpus[i].arch;
    *out = row_of(arch);
    if (*out)
        return OMPJIT_OK;
    ompjit_status status = ompjit__arch_check(arch, err);
    return status ? status
                  : ompjit__fail(err, OMPJIT_ERR_TARGET, OMPJIT_STAGE_API,
                                 "%s is no GPU: it has no multiprocessors",
                                 arch);
}

/* The architecture itself, or the oldest one that code is still made for. */
static const char *code_arch(const limits *l)
{
    const ompjit__arch *row;
    return ompjit__arch_find(l->name, &row, NULL) ? ompjit__arch_at(0)->name
                                                  : row->name;
}

ompjit_status ompjit__gpu_archs(const char *name, const char **arch,
                                const char **code, ompjit_error *err)
{
    const limits *l;
    ompjit_status status = find(name, &l, err);
    if (status)
        return status;
    *arch = l->name;
    *code = code_arch(l);
    return OMPJIT_OK;
}

const char *ompjit__gpu_at(size_t i)
{
    return i < OMPJIT__COUNT(gpus) ? gpus[i].name : NULL;
}

ompjit_status ompjit__arch_info(const char *arch, ompjit_arch_info *info,
                                ompjit_error *err)
{
    const limits *l;
    ompjit_status status = find(arch, &l, err);
    if (status)
        return status;
    *info = (ompjit_arch_info){.size = sizeof *info,
                               .warps = l->warps,
                               .teams = l->teams,
                               .threads = l->warps * WARP,
                               .registers = REGISTERS,
                               .shared = l->shared,
                               .team_shared = l->team,
                               .team_reserved = l->reserved};
    return OMPJIT_OK;
}

static uint32_t up(uint64_t n, uint32_t unit)
{
    return (uint32_t)((n + unit - 1) / unit * unit);
}

/* Registers belong to a part, and a warp has all of its own in one. A launch is
 * refused as if each part had as many of the team's warps as any. */
static uint32_t by_registers(const limits *l, uint32_t registers,
                             uint32_t warps)
{
    uint32_t each = up((uint64_t)registers * WARP, REGISTER_UNIT);
    if (registers > MOST_REGISTERS ||
        (uint64_t)each * up(warps, l->parts) > REGISTERS)
        return 0;
    return each ? REGISTERS / l->parts / each * l->parts / warps : UINT32_MAX;
}

static uint32_t by_shared(const limits *l, uint64_t bytes)
{
    if (bytes > l->team)
        return 0;
    uint32_t each = up(bytes + l->reserved, l->unit);
    return each ? l->shared / each : UINT32_MAX;
}

ompjit_status ompjit__occupancy(const char *arch, const ompjit_resources *use,
                                uint32_t threads, uint32_t dynamic_shared,
                                ompjit_occupancy *out, ompjit_error *err)
{
    const limits *l;
    ompjit_status status = find(arch, &l, err);
    if (status)
        return status;
    if (!threads || threads > MOST_THREADS)
        return ompjit__fail(err, OMPJIT_ERR_GEOMETRY, OMPJIT_STAGE_API,
                            "a team of %u threads, where 1 to %d are possible",
                            threads, MOST_THREADS);
    uint32_t warps = up(threads, WARP) / WARP;
    const uint32_t rows[] = {
        l->warps / warps, l->teams, by_registers(l, use->registers, warps),
        by_shared(l, (uint64_t)use->shared_static + dynamic_shared)};
    uint32_t least = UINT32_MAX, limit = 0;
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        if (rows[i] <= least) {
            limit = (rows[i] < least ? 0 : limit) | 1u << i;
            least = rows[i];
        }
    *out = (ompjit_occupancy){.size = sizeof *out,
                              .teams = least,
                              .warps = least * warps,
                              .most_warps = l->warps,
                              .limits = limit};
    return OMPJIT_OK;
}
