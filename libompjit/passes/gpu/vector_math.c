/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Mathematical intrinsics of vectors and of half precision, which clang's
 * __builtin_elementwise_* make. NVPTX has instructions for few of them, and
 * libdevice has functions of one float or double: each element gets a call of
 * its own, and a half goes by way of a float.
 *
 * math_nvptx.def lists the intrinsics. Scalars of float and double are left to
 * math.c.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "passes/gpu/gpu.h"

static const char *const intrinsics[] = {
#define MATH_NVPTX(name, intrinsic, device) intrinsic,
#include "passes/gpu/math_nvptx.def"
};

enum { MOST_ARGUMENTS = 3 };

/* One call of such an intrinsic, and what is built before it. */
struct call {
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMValueRef call;
    unsigned id;     /* of the intrinsic, whatever its types are */
    unsigned nargs;
};

/* "llvm.sin.v4f32", "llvm.pow.f16", "llvm.lrint.i64.bf16": the intrinsic's name,
 * and a vector or a half among the types behind it. */
static bool is_unusual(const char *name)
{
    for (size_t i = 0; i < OMPJIT__COUNT(intrinsics); i++) {
        size_t n = intrinsics[i] ? strlen(intrinsics[i]) : 0;
        if (n && !strncmp(name, intrinsics[i], n) && name[n] == '.')
            return strstr(name + n, ".v") || strstr(name + n, "f16");
    }
    return false;
}

static bool is_half(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMHalfTypeKind ||
           LLVMGetTypeKind(type) == LLVMBFloatTypeKind;
}

static bool is_integer(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind;
}

/* The declaration for arguments of these types. LLVM names an intrinsic by the
 * types that it leaves open: its result, the argument of a conversion to an
 * integer, and an integer that is an exponent. */
static LLVMValueRef declare(const struct call *c, LLVMTypeRef result,
                            const LLVMValueRef *args)
{
    LLVMTypeRef open[2] = {result};
    size_t n = 1;
    if (is_integer(result))
        open[n++] = LLVMTypeOf(args[0]);
    else if (c->nargs == 2 && is_integer(LLVMTypeOf(args[1])))
        open[n++] = LLVMTypeOf(args[1]);
    return LLVMGetIntrinsicDeclaration(c->m, c->id, open, n);
}

/* The intrinsic of scalars; in float where it is one of halves. */
static LLVMValueRef call_scalar(const struct call *c, LLVMTypeRef result,
                                LLVMValueRef *args)
{
    LLVMTypeRef single =
        LLVMFloatTypeInContext(LLVMGetModuleContext(c->m));
    bool half = is_half(result);
    for (unsigned i = 0; i < c->nargs; i++)
        if (is_half(LLVMTypeOf(args[i])))
            args[i] = LLVMBuildFPExt(c->b, args[i], single, "");
    LLVMValueRef f = declare(c, half ? single : result, args);
    LLVMValueRef v = LLVMBuildCall2(c->b, LLVMGlobalGetValueType(f), f, args,
                                    c->nargs, "");
    LLVMSetFastMathFlags(v, LLVMGetFastMathFlags(c->call));
    return half ? LLVMBuildFPTrunc(c->b, v, result, "") : v;
}

/* An argument for element i: powi has one exponent for all. */
static LLVMValueRef element(const struct call *c, LLVMValueRef v, unsigned i)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(c->m));
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind
               ? LLVMBuildExtractElement(c->b, v, LLVMConstInt(i32, i, false),
                                         "")
               : v;
}

/*   %r = call <2 x float> @llvm.sin.v2f32(<2 x float> %x)
 *
 * becomes, for each element, an extractelement, a call of llvm.sin.f32, and an
 * insertelement. */
static LLVMValueRef call_elements(const struct call *c, LLVMTypeRef type)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(c->m));
    LLVMValueRef all = LLVMGetPoison(type), args[MOST_ARGUMENTS];
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
        for (unsigned k = 0; k < c->nargs; k++)
            args[k] = element(c, LLVMGetOperand(c->call, k), i);
        all = LLVMBuildInsertElement(
            c->b, all, call_scalar(c, LLVMGetElementType(type), args),
            LLVMConstInt(i32, i, false), "");
    }
    return all;
}

/* The call is gone afterwards. */
static void replace(const struct call *c)
{
    LLVMTypeRef type = LLVMTypeOf(c->call);
    LLVMValueRef args[MOST_ARGUMENTS];
    LLVMPositionBuilderBefore(c->b, c->call);
    LLVMSetCurrentDebugLocation2(c->b, LLVMInstructionGetDebugLoc(c->call));
    for (unsigned k = 0; k < c->nargs; k++)
        args[k] = LLVMGetOperand(c->call, k);
    LLVMReplaceAllUsesWith(c->call,
                           LLVMGetTypeKind(type) == LLVMVectorTypeKind
                               ? call_elements(c, type)
                               : call_scalar(c, type, args));
    LLVMInstructionEraseFromParent(c->call);
}

/* An intrinsic has no use but calls. */
static void replace_calls(LLVMModuleRef m, LLVMBuilderRef b, LLVMValueRef f)
{
    struct call c = {.m = m, .b = b, .id = LLVMGetIntrinsicID(f)};
    for (LLVMUseRef u; (u = LLVMGetFirstUse(f));) {
        c.call = LLVMGetUser(u);
        c.nargs = LLVMGetNumArgOperands(c.call);
        replace(&c);
    }
}

void ompjit__split_math(LLVMModuleRef m)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        size_t n;
        LLVMTypeRef type = LLVMGlobalGetValueType(f);
        if (LLVMGetIntrinsicID(f) && is_unusual(LLVMGetValueName2(f, &n)) &&
            LLVMCountParamTypes(type) <= MOST_ARGUMENTS)
            replace_calls(m, b, f);
    }
    LLVMDisposeBuilder(b);
}
