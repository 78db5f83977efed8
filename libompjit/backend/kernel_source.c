/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads a unit for a build. The template of one kernel among several gets a
 * module of that kernel alone, so that its build costs in proportion to the
 * kernel: the unit is read once, into a context that stays with its templates,
 * and each kernel is taken out of it (passes/extract_kernel.cc).
 */
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "backend/build.h"
#include "core/template.h"
#include "frontend/frontend.h"
#include "llvm/llvm.h"
#include "passes/extract_kernel.h"
#include "passes/passes.h"

/* The unit as it was read is `early`'s, or has been parsed again. `kernels` is
 * NULL where they cannot be told apart. What a guard leaves in the middle of its
 * work is neither used again nor freed. */
struct source {
    ompjit__early *early;
    LLVMContextRef context; /* NULL: early's, as the module */
    LLVMModuleRef m;
    ompjit__kernels *kernels;
    bool is_read, in_use;
};

static void source_free(void *data)
{
    struct source *s = data;
    if (s->in_use)
        return;
    ompjit__kernels_free(s->kernels);
    if (s->m && s->context)
        LLVMDisposeModule(s->m);
    if (s->context)
        LLVMContextDispose(s->context);
    ompjit__early_free(s->early);
    free(s);
}

/* Before a kernel is taken out: all images of the unit have the same counters. */
static bool count(const ompjit__unit *unit, LLVMModuleRef m)
{
    return ompjit__count(m, ompjit__opt(&unit->opts, OMPJIT__OPT_COVERAGE));
}

/* The unit was verified when it was made: if it does not load here, then neither
 * as a whole, which tells why. */
static void parse(struct source *s, const ompjit__unit *unit)
{
    s->context = LLVMContextCreate();
    LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRange(
        unit->device_bc.data, unit->device_bc.size, unit->name, false);
    if (LLVMParseBitcodeInContext2(s->context, memory, &s->m))
        s->m = NULL;
    LLVMDisposeMemoryBuffer(memory);
}

static void source_read(struct source *s, const ompjit__unit *unit)
{
    s->in_use = true;
    s->m = NULL;
    /* A module that gets counters is this unit's alone. */
    if (s->early && !ompjit__opt(&unit->opts, OMPJIT__OPT_COVERAGE))
        s->m = ompjit__early_device(s->early);
    if (!s->m)
        parse(s, unit);
    s->kernels =
        s->m && count(unit, s->m) ? ompjit__kernels_new(s->m) : NULL;
    s->is_read = true;
    s->in_use = false;
}

/* The unit's, made where it is missing. The lock of its templates is held, as in
 * all that makes a template, or the unit is nobody else's yet. */
static struct source *source_of(const ompjit__unit *unit)
{
    ompjit__template_source *kept = ompjit__templates_source(unit->templates);
    if (!kept->data)
        kept->data = calloc(1, sizeof(struct source));
    kept->free = source_free;
    return kept->data;
}

void ompjit__kernel_source_keep(const ompjit__unit *unit, ompjit__early *early)
{
    struct source *s = source_of(unit);
    if (s && !s->early && !s->is_read)
        s->early = ompjit__early_hold(early);
}

/* The bitcode of the kernel's own module. False: there is none. */
static bool take(const ompjit__unit *unit, const char *kernel,
                 ompjit__buf *out)
{
    struct source *s = source_of(unit);
    if (s && !s->is_read && !s->in_use)
        source_read(s, unit);
    if (!s || s->in_use || !s->kernels)
        return false;
    s->in_use = true;
    LLVMModuleRef m = ompjit__kernels_take(s->kernels, kernel);
    if (m) {
        LLVMMemoryBufferRef bc = LLVMWriteBitcodeToMemoryBuffer(m);
        ompjit__buf_add(out, LLVMGetBufferStart(bc), LLVMGetBufferSize(bc));
        LLVMDisposeMemoryBuffer(bc);
        LLVMDisposeModule(m);
    }
    s->in_use = false;
    return m && !out->failed;
}

/* The module goes through bitcode, since it is built in a context of its own. */
ompjit_status ompjit__build_read(struct build *b, ompjit_error *err)
{
    ompjit__buf own = {0};
    bool alone = b->route == OMPJIT__TEMPLATE && b->unit->nkernels > 1 &&
                 take(b->unit, b->spec->kernel, &own);
    ompjit_status status = ompjit__build_parse(
        b, alone ? &own : &b->unit->device_bc, &b->m, err);
    ompjit__buf_free(&own);
    if (!status && !alone && !count(b->unit, b->m))
        status = ompjit__no_memory(err, OMPJIT_STAGE_READ);
    return status;
}
