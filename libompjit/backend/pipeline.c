/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Walks the table of passes, pipeline.def, for one build.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "backend/build.h"
#include "backend/host/host.h"
#include "passes/gpu/gpu.h"
#include "passes/host/host.h"
#include "passes/host/team/team.h"
#include "passes/execution/execution.h"
#include "passes/loops/loops.h"
#include "passes/passes.h"
#include "passes/sharing/sharing.h"

enum { HOST = 1, GPU = 2, BOTH = HOST | GPU };

enum {
    UNIT = OMPJIT__UNIT,
    TEMPLATE = OMPJIT__TEMPLATE,
    VARIANT = OMPJIT__VARIANT,
    SIMPLE = OMPJIT__SIMPLE,
    WHOLE = UNIT | TEMPLATE | VARIANT
};

enum {
    MODULE = 1 << 0,
    PLAIN = 1 << 1,
    GPU_FORM = 1 << 2,
    UNLINKED = 1 << 3,
    NARROW = 1 << 4,
    LINKED = 1 << 5,
    PARAMS = 1 << 6,
    VALUES = 1 << 7,
    INTERNAL = 1 << 8,
    OPENMP = 1 << 9,
    OPTIMIZED = 1 << 10,
    CHECKED = 1 << 11
};

/* A plain module needs no openmp-opt, nor does one that is not optimized. */
static bool has_openmp(const struct build *b)
{
    return !b->plain && b->unit->opt_level;
}

static void become_simple(struct build *b)
{
    b->route = OMPJIT__SIMPLE;
    b->passes = OMPJIT__PASSES_LEAN;
}

#define VOID(call) ((void)(call), OMPJIT_OK)
#define PASS(name, stage, device, routes, when, call, requires, gives, ends)   \
    static bool when_##name(const struct build *b)                             \
    {                                                                          \
        return when;                                                           \
    }                                                                          \
    static ompjit_status run_##name(struct build *b, ompjit_error *err)        \
    {                                                                          \
        return call;                                                           \
    }
#include "backend/pipeline.def"
#undef PASS

static const struct pass {
    const char *name;
    bool (*when)(const struct build *b);
    ompjit_status (*run)(struct build *b, ompjit_error *err);
    ompjit_stage stage;
    unsigned device, routes, requires, gives, invalidates;
} passes[] = {
#define PASS(name, stage, device, routes, when, call, requires, gives, ends)   \
    {#name,  when_##name, run_##name, OMPJIT_STAGE_##stage, device, routes,    \
     requires, gives, ends},
#include "backend/pipeline.def"
};

static ompjit_status run(struct build *b, const struct pass *pass,
                         unsigned *facts, ompjit_error *err)
{
    if ((*facts & pass->requires) != pass->requires)
        return ompjit__fail(err, OMPJIT_ERR_INTERNAL, pass->stage,
                            "%s: pass %s has not what it requires: %#x of %#x",
                            b->unit->name, pass->name, *facts, pass->requires);
    ompjit_status status = pass->run(b, err);
    *facts = (*facts & ~pass->invalidates) | pass->gives;
    return status;
}

ompjit_status ompjit__build_walk(struct build *b, ompjit_error *err)
{
    unsigned facts = 0, device = b->host ? HOST : GPU;
    ompjit_stage stage = passes[0].stage;
    ompjit_status status = OMPJIT_OK;
    for (size_t i = 0; i < OMPJIT__COUNT(passes) && !status; i++) {
        const struct pass *pass = &passes[i];
        if (!(pass->device & device) || !(pass->routes & b->route) ||
            !pass->when(b))
            continue;
        if (pass->stage != stage)
            ompjit__build_done(b, stage);
        stage = pass->stage;
        status = run(b, pass, &facts, err);
    }
    ompjit__build_done(b, stage);
    return status;
}
