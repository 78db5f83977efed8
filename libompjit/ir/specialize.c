/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What is known at launch, written into the IR: literal arguments of one
 * kernel, and the launch's geometry. The optimizer does the rest.
 */
#include <llvm-c/Core.h>
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"

static const ompjit__kernel_desc *find_kernel(const ompjit__unit *unit,
                                              const char *symbol)
{
    for (unsigned i = 0; i < unit->nkernels; i++)
        if (!strcmp(unit->kernels[i].symbol, symbol))
            return &unit->kernels[i];
    return NULL;
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
    if (!spec->literal_mask)
        return OMPJIT_OK;
    const ompjit__kernel_desc *k = find_kernel(unit, spec->kernel);
    LLVMValueRef f = LLVMGetNamedFunction(m, spec->kernel);
    for (unsigned i = 0; i < k->nparams && i < 64; i++) {
        if (!(spec->literal_mask >> i & 1))
            continue;
        LLVMValueRef param = LLVMGetParam(f, i + k->launch_env);
        LLVMValueRef value = literal(LLVMTypeOf(param), spec->literals[i]);
        if (!value)
            return ompjit__fail(
                err, OMPJIT_ERR_ARGUMENT, OMPJIT_STAGE_SPECIALIZE,
                "kernel %s: argument %u (%s) is no literal scalar", k->name, i,
                k->params[i].name);
        LLVMReplaceAllUsesWith(param, value);
    }
    return OMPJIT_OK;
}

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

static void annotate_function(LLVMValueRef f, const char *name, uint32_t value)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%u", value);
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(f));
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(c, name, (unsigned)strlen(name), text,
                                  (unsigned)n));
}

static void bound_launches(LLVMValueRef f, const ompjit__spec *spec)
{
    LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                     "nvvm.maxntid", 12);
    annotate_function(f, "nvvm.reqntid", spec->threads);
    if (spec->residents)
        annotate_function(f, "nvvm.minctasm", spec->residents);
}

void ompjit__annotate(LLVMModuleRef m, const ompjit__unit *unit,
                      const ompjit__spec *spec)
{
    const ompjit__kernel_desc *k =
        spec->kernel ? find_kernel(unit, spec->kernel) : NULL;
    LLVMValueRef f = k ? LLVMGetNamedFunction(m, spec->kernel) : NULL;
    if (!f)
        return;
    for (unsigned i = 0; i < k->nparams && i < 64; i++) {
        if (k->params[i].kind != OMPJIT__PARAM_POINTER)
            continue;
        if (spec->aligned >> i & 1)
            annotate(f, i + k->launch_env, "align", OMPJIT__ALIGNMENT);
        if (spec->noalias >> i & 1)
            annotate(f, i + k->launch_env, "noalias", 0);
    }
    /* A bare kernel's threads may have three dimensions. */
    if (spec->threads && k->mode != OMPJIT_MODE_BARE &&
        LLVMGetFunctionCallConv(f) == LLVMPTXKernelCallConv)
        bound_launches(f, spec);
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

bool ompjit__fold_mode(LLVMModuleRef m, const ompjit__unit *unit,
                       const ompjit__spec *spec, bool generic_stays)
{
    unsigned built = 0, spmd = 0, generic = 0;
    for (unsigned i = 0; i < unit->nkernels; i++) {
        const ompjit__kernel_desc *k = &unit->kernels[i];
        if (spec->kernel && strcmp(k->symbol, spec->kernel))
            continue;
        built++;
        spmd += k->mode == OMPJIT_MODE_SPMD ||
                k->mode == OMPJIT_MODE_GENERIC_SPMD;
        generic += k->mode == OMPJIT_MODE_GENERIC;
    }
    LLVMValueRef ask = LLVMGetNamedFunction(m, "__kmpc_is_spmd_exec_mode");
    if (built && spmd == built)
        replace_calls(ask, 1);
    else if (built && generic == built && generic_stays)
        replace_calls(ask, 0);
    return built && spmd == built;
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
