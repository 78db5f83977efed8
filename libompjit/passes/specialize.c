/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The facts that are known at launch are written into the IR: literal arguments
 * of one kernel, and the launch's geometry. The optimizer does the rest.
 */
#include <llvm-c/Core.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/host_layout.h"
#include "passes/passes.h"

static const ompjit__kernel_desc *find_kernel(const ompjit__unit *unit,
                                              const char *symbol)
{
    for (unsigned i = 0; i < unit->nkernels; i++)
        if (!strcmp(unit->kernels[i].symbol, symbol))
            return &unit->kernels[i];
    return NULL;
}

LLVMValueRef ompjit__kernel_function(LLVMModuleRef m, const char *kernel,
                                     unsigned form)
{
    static const char *const suffixes[] = {"", OMPJIT__TEAM_BODY_SUFFIX};
    char *name = form < OMPJIT__COUNT(suffixes)
                     ? ompjit__format("%s%s", kernel, suffixes[form])
                     : NULL;
    LLVMValueRef f = name ? LLVMGetNamedFunction(m, name) : NULL;
    free(name);
    return f;
}

/* The bits of a literal as a constant of the parameter's type; NULL for types
 * that are not folded (pointers, vectors, ...). */
static LLVMValueRef literal(LLVMTypeRef type, uint64_t bits)
{
    LLVMContextRef c = LLVMGetTypeContext(type);
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMConstInt(type, bits, 0);
    case LLVMFloatTypeKind:
        return LLVMConstBitCast(
            LLVMConstInt(LLVMInt32TypeInContext(c), bits, 0), type);
    case LLVMDoubleTypeKind:
        return LLVMConstBitCast(
            LLVMConstInt(LLVMInt64TypeInContext(c), bits, 0), type);
    default:
        return NULL;
    }
}

ompjit_status ompjit__fold_literals(LLVMModuleRef m, const ompjit__unit *unit,
                                    const ompjit__spec *spec,
                                    ompjit_error *err)
{
    const ompjit__param_values *literals = &spec->facts.literals;
    if (!literals->mask)
        return OMPJIT_OK;
    const ompjit__kernel_desc *k = find_kernel(unit, spec->kernel);
    LLVMValueRef f = ompjit__kernel_function(m, spec->kernel, 0);
    LLVMValueRef team = ompjit__kernel_function(m, spec->kernel, 1);
    for (unsigned i = 0; i < k->nparams && i < 64; i++) {
        if (!(literals->mask >> i & 1))
            continue;
        LLVMValueRef param = LLVMGetParam(f, i + k->launch_env);
        LLVMValueRef value = literal(LLVMTypeOf(param), literals->values[i]);
        if (!value)
            return ompjit__fail(
                err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_SPECIALIZE,
                "kernel %s: argument %u (%s) is no literal scalar", k->name, i,
                k->params[i].name);
        LLVMReplaceAllUsesWith(param, value);
        if (team)
            LLVMReplaceAllUsesWith(LLVMGetParam(team, i + k->launch_env),
                                   value);
    }
    return OMPJIT_OK;
}

/* An attribute of a parameter takes the place of the one that it has. */
static void annotate(LLVMValueRef f, unsigned param, const char *attribute,
                     uint64_t value)
{
    unsigned kind =
        LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(f));
    LLVMRemoveEnumAttributeAtIndex(f, param + 1, kind);
    LLVMAddAttributeAtIndex(f, param + 1,
                            LLVMCreateEnumAttribute(c, kind, value));
}

static void annotate_function(LLVMValueRef f, const char *name,
                              const char *format, ...) OMPJIT__PRINTF(3, 4);

static void annotate_function(LLVMValueRef f, const char *name,
                              const char *format, ...)
{
    char text[40];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(f));
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(c, name, (unsigned)strlen(name), text,
                                  (unsigned)n));
}

/* The exact number of threads in place of the bound: PTX does not take .reqntid
 * and .maxntid together. */
static void bound_launches(LLVMValueRef f, const ompjit__spec *spec)
{
    uint32_t n[3];
    ompjit__extent_numbers(&spec->facts.threads, n);
    LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                     "nvvm.maxntid", 12);
    annotate_function(f, "nvvm.reqntid", n[1] * n[2] > 1 ? "%u,%u,%u" : "%u",
                      n[0], n[1], n[2]);
    if (spec->facts.resident_teams)
        annotate_function(f, "nvvm.minctasm", "%u", spec->facts.resident_teams);
}

/* A team's number is below the number of teams. */
static void bound_teams(LLVMModuleRef m, uint32_t teams)
{
    static const char attribute[] = "range";
    const uint64_t none = 0, bound = teams;
    LLVMValueRef f =
        LLVMGetNamedFunction(m, "llvm.nvvm.read.ptx.sreg.ctaid.x");
    LLVMAttributeRef range = LLVMCreateConstantRangeAttribute(
        LLVMGetModuleContext(m),
        LLVMGetEnumAttributeKindForName(attribute, sizeof attribute - 1), 32,
        &none, &bound);
    for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
         u = LLVMGetNextUse(u))
        LLVMAddCallSiteAttribute(LLVMGetUser(u), LLVMAttributeReturnIndex,
                                 range);
}

/* A section is `dereferenceable` for the whole kernel: the launch holds its
 * mapping until the kernel has ended. */
static void annotate_pointers(LLVMValueRef f, const ompjit__kernel_desc *k,
                              const ompjit__facts *facts)
{
    for (unsigned i = 0; i < k->nparams && i < 64; i++) {
        if (k->params[i].kind != OMPJIT__PARAM_POINTER)
            continue;
        if (facts->aligned >> i & 1)
            annotate(f, i + k->launch_env, "align", OMPJIT__ALIGNMENT);
        if (facts->sizes.mask >> i & 1)
            annotate(f, i + k->launch_env, "dereferenceable",
                     facts->sizes.values[i]);
    }
}

void ompjit__annotate(LLVMModuleRef m, const ompjit__unit *unit,
                      const ompjit__spec *spec)
{
    const ompjit__kernel_desc *k =
        spec->kernel ? find_kernel(unit, spec->kernel) : NULL;
    LLVMValueRef f = k ? ompjit__kernel_function(m, spec->kernel, 0) : NULL;
    if (!f)
        return;
    annotate_pointers(f, k, &spec->facts);
    LLVMValueRef team = ompjit__kernel_function(m, spec->kernel, 1);
    if (team)
        annotate_pointers(team, k, &spec->facts);
    if (LLVMGetFunctionCallConv(f) != LLVMPTXKernelCallConv)
        return;
    if (spec->facts.threads.all)
        bound_launches(f, spec);
    if (spec->facts.teams.all)
        bound_teams(m, spec->facts.teams.all);
}

ompjit_status ompjit__narrow(LLVMModuleRef m, const ompjit__unit *unit,
                             const ompjit__spec *spec, ompjit_error *err)
{
    if (!spec->kernel)
        return OMPJIT_OK;
    for (unsigned i = 0; i < unit->nkernels; i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, unit->kernels[i].symbol);
        if (!f || !strcmp(unit->kernels[i].symbol, spec->kernel))
            continue;
        LLVMSetVisibility(f, LLVMDefaultVisibility);
        LLVMSetLinkage(f, LLVMInternalLinkage);
    }
    if (find_kernel(unit, spec->kernel) &&
        LLVMGetNamedFunction(m, spec->kernel))
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_SPECIALIZE,
                        "%s has no kernel %s", unit->name, spec->kernel);
}

/* Every call of the function becomes the constant. */
static void replace_calls(LLVMValueRef f, uint64_t value)
{
    LLVMUseRef next;
    for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u; u = next) {
        next = LLVMGetNextUse(u);
        LLVMValueRef call = LLVMGetUser(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != f)
            continue;
        LLVMReplaceAllUsesWith(call, LLVMConstInt(LLVMTypeOf(call), value, 0));
        LLVMInstructionEraseFromParent(call);
    }
}

/* How many kernels are built, and of which modes. A mode that is neither, bare
 * or unknown, is in `built` only. */
static void count_modes(const ompjit__unit *unit, const ompjit__spec *spec,
                        unsigned *built, unsigned *spmd, unsigned *generic)
{
    *built = *spmd = *generic = 0;
    for (unsigned i = 0; i < unit->nkernels; i++) {
        const ompjit__kernel_desc *k = &unit->kernels[i];
        if (spec->kernel && strcmp(k->symbol, spec->kernel))
            continue;
        ++*built;
        *spmd += k->mode == OMPJIT_MODE_SPMD ||
                 k->mode == OMPJIT_MODE_GENERIC_SPMD;
        *generic += k->mode == OMPJIT_MODE_GENERIC;
    }
}

bool ompjit__is_spmd(const ompjit__unit *unit, const ompjit__spec *spec)
{
    unsigned built, spmd, generic;
    count_modes(unit, spec, &built, &spmd, &generic);
    return built && spmd == built;
}

bool ompjit__fold_mode(LLVMModuleRef m, const ompjit__unit *unit,
                       const ompjit__spec *spec, bool generic_stays)
{
    unsigned built, spmd, generic;
    count_modes(unit, spec, &built, &spmd, &generic);
    LLVMValueRef ask = LLVMGetNamedFunction(m, "__kmpc_is_spmd_exec_mode");
    if (built && spmd == built)
        replace_calls(ask, 1);
    else if (built && generic == built && generic_stays)
        replace_calls(ask, 0);
    return built && spmd == built;
}

/* The constants of the runtime: all of x, y and z; those of y, those of z. */
enum fold { THREADS, THREADS_Y, THREADS_Z, TEAMS, TEAMS_Y, TEAMS_Z, NFOLDS };
static const char *const folds[] = {
    [THREADS] = "ompjit_fold_threads",
    [THREADS_Y] = "ompjit_fold_threads_y",
    [THREADS_Z] = "ompjit_fold_threads_z",
    [TEAMS] = "ompjit_fold_teams",
    [TEAMS_Y] = "ompjit_fold_teams_y",
    [TEAMS_Z] = "ompjit_fold_teams_z",
};

const char *ompjit__fold_name(size_t i)
{
    return i < NFOLDS ? folds[i] : NULL;
}

void ompjit__fold_constant(LLVMModuleRef m, const char *name, uint32_t value)
{
    LLVMValueRef g = LLVMGetNamedGlobal(m, name);
    if (!g)
        return;
    LLVMSetInitializer(g, LLVMConstInt(LLVMGlobalGetValueType(g), value, 0));
    LLVMSetGlobalConstant(g, 1);
    LLVMSetVisibility(g, LLVMDefaultVisibility);
    LLVMSetLinkage(g, LLVMInternalLinkage);
}

/* The registers that a kernel reads itself: %ntid.x and its kin, which are n in
 * each dimension; %tid of a dimension of 1. */
static void fold_registers(LLVMModuleRef m, const char *count,
                           const char *number, const uint32_t n[3])
{
    char name[64];
    for (int d = 0; d < 3 && n[0]; d++) {
        snprintf(name, sizeof name, "llvm.nvvm.read.ptx.sreg.%s.%c", count,
                 'x' + d);
        replace_calls(LLVMGetNamedFunction(m, name), n[d]);
        snprintf(name, sizeof name, "llvm.nvvm.read.ptx.sreg.%s.%c", number,
                 'x' + d);
        if (n[d] == 1)
            replace_calls(LLVMGetNamedFunction(m, name), 0);
    }
}

static void fold_constants(LLVMModuleRef m, enum fold first, uint32_t all,
                           const uint32_t n[3])
{
    ompjit__fold_constant(m, folds[first], all);
    ompjit__fold_constant(m, folds[first + 1], n[1]);
    ompjit__fold_constant(m, folds[first + 2], n[2]);
}

void ompjit__fold_threads(LLVMModuleRef m, const ompjit__spec *spec)
{
    uint32_t threads[3];
    ompjit__extent_numbers(&spec->facts.threads, threads);
    fold_constants(m, THREADS, spec->facts.threads.all, threads);
    fold_registers(m, "ntid", "tid", threads);
}

void ompjit__fold_teams(LLVMModuleRef m, const ompjit__spec *spec)
{
    uint32_t teams[3];
    ompjit__extent_numbers(&spec->facts.teams, teams);
    fold_constants(m, TEAMS, spec->facts.teams.all, teams);
    fold_registers(m, "nctaid", "ctaid", teams);
}
