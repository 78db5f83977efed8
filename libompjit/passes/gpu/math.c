/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Mathematics on an NVIDIA GPU: calls of the C library and the intrinsics that
 * the NVPTX back end cannot lower become calls of libdevice, which is linked
 * where any is left.
 */
#include <llvm-c/Core.h>
#include <llvm-c/Linker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llvm/llvm.h"
#include "passes/gpu/gpu.h"

static const struct {
    const char *name, *intrinsic, *device;
} math[] = {
#define MATH_NVPTX(name, intrinsic, device) {name, intrinsic, device},
#include "passes/gpu/math_nvptx.def"
};

static const struct {
    const char *intrinsic, *function;
} pairs[] = {
#define MATH_PAIR(intrinsic, function) {intrinsic, function},
#include "passes/gpu/math_nvptx.def"
};

/* Is `name` "base" for double, "basef" for float? */
static bool is_libm(const char *name, const char *base, bool single)
{
    size_t n = strlen(base);
    return !strncmp(name, base, n) && !strcmp(name + n, single ? "f" : "");
}

/* "llvm.lrint.i64.f64": types follow the name. An integer is a long. */
static bool is_intrinsic(const char *name, const char *base, bool single)
{
    static const char *const types[][4] = {
        {".f64", ".f64.i32", ".i64.f64", NULL},
        {".f32", ".f32.i32", ".i64.f32", NULL}};
    size_t n = base ? strlen(base) : 0;
    if (!base || strncmp(name, base, n))
        return false;
    for (const char *const *type = types[single]; *type; type++)
        if (!strcmp(name + n, *type))
            return true;
    return false;
}

/* Calls of f: a number is rounded by `round`, then becomes the integer. */
static void round_and_convert(LLVMModuleRef m, LLVMValueRef f,
                              LLVMValueRef round)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    LLVMTypeRef type = LLVMGlobalGetValueType(round);
    LLVMTypeRef integer = LLVMGetReturnType(LLVMGlobalGetValueType(f));
    LLVMUseRef u;
    while ((u = LLVMGetFirstUse(f))) {
        LLVMValueRef call = LLVMGetUser(u), x = LLVMGetOperand(call, 0);
        LLVMPositionBuilderBefore(b, call);
        x = LLVMBuildCall2(b, type, round, &x, 1, "");
        LLVMReplaceAllUsesWith(call, LLVMBuildFPToSI(b, x, integer, ""));
        LLVMInstructionEraseFromParent(call);
    }
    LLVMDisposeBuilder(b);
    LLVMDeleteFunction(f);
}

/* llvm.lround.i32.f64 is Fortran's nint. libdevice has it for 64 bits alone; 32
 * bits are few enough for PTX's own instructions to be exact. */
static void prepare_rounding(LLVMModuleRef m, const char *integer,
                             const char *round, bool single)
{
    char name[64];
    const char *type = single ? "f32" : "f64";
    snprintf(name, sizeof name, "%s.i32.%s", integer, type);
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    if (!f)
        return;
    LLVMTypeRef number;
    LLVMGetParamTypes(LLVMGlobalGetValueType(f), &number);
    LLVMValueRef to = LLVMGetIntrinsicDeclaration(
        m, LLVMLookupIntrinsicID(round, strlen(round)), &number, 1);
    round_and_convert(m, f, to);
}

/* llvm.sincos.f64 and llvm.modf.f64 return a struct of two numbers. */
void ompjit__prepare_math(LLVMModuleRef m)
{
    for (int single = 0; single < 2; single++) {
        prepare_rounding(m, "llvm.lround", "llvm.round", single);
        prepare_rounding(m, "llvm.lrint", "llvm.rint", single);
    }
    for (size_t i = 0; i < OMPJIT__COUNT(pairs); i++)
        for (int single = 0; single < 2; single++) {
            char name[64];
            snprintf(name, sizeof name, "%s.%s", pairs[i].intrinsic,
                     single ? "f32" : "f64");
            LLVMValueRef f = LLVMGetNamedFunction(m, name);
            if (!f)
                continue;
            snprintf(name, sizeof name, "%s%s", pairs[i].function,
                     single ? "f" : "");
            LLVMReplaceAllUsesWith(
                f, LLVMAddFunction(m, name, LLVMGlobalGetValueType(f)));
            LLVMDeleteFunction(f);
        }
}

/* libdevice's function for a declaration, in `out`; false: none. */
static bool device_name(const char *name, char *out, size_t size)
{
    for (size_t i = 0; i < OMPJIT__COUNT(math); i++)
        for (int single = 0; single < 2; single++) {
            if (!is_libm(name, math[i].name, single) &&
                !is_intrinsic(name, math[i].intrinsic, single))
                continue;
            snprintf(out, size, "%s%s", math[i].device, single ? "f" : "");
            return true;
        }
    return false;
}

/* Calls libdevice instead of every function that the table knows, and lists
 * the names that libdevice has to define. */
static void call_libdevice(LLVMModuleRef m, ompjit__buf *needed)
{
    LLVMValueRef next;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = next) {
        next = LLVMGetNextFunction(f);
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);
        if (!LLVMIsDeclaration(f) || !LLVMGetFirstUse(f))
            continue;
        char device[64];
        if (device_name(name, device, sizeof device)) {
            ompjit__buf_printf(needed, "%s%s", needed->size ? ", " : "", name);
            LLVMValueRef to = LLVMGetNamedFunction(m, device);
            if (!to)
                to = LLVMAddFunction(m, device, LLVMGlobalGetValueType(f));
            LLVMReplaceAllUsesWith(f, to);
            LLVMDeleteFunction(f);
        } else if (!strncmp(name, "__nv_", 5)) {
            ompjit__buf_printf(needed, "%s%s", needed->size ? ", " : "", name);
        }
    }
}

/* The whole library. Functions that are not called are dropped later, with
 * everything else that nobody needs. */
static ompjit_status link_libdevice(LLVMModuleRef m, const char *path,
                                    ompjit__buf *messages, ompjit_error *err)
{
    ompjit__buf bc = {0};
    LLVMModuleRef library;
    ompjit_status status = ompjit__read_file(path, &bc, err);
    if (!status)
        status = ompjit__parse_ir(LLVMGetModuleContext(m), bc.data, bc.size,
                                  path, messages, &library, err);
    ompjit__buf_free(&bc);
    if (status)
        return status;
    /* Its triple and layout are an older nvptx64's: the same for our use. */
    LLVMSetTarget(library, LLVMGetTarget(m));
    LLVMSetDataLayout(library, LLVMGetDataLayoutStr(m));
    if (LLVMLinkModules2(m, library))
        return ompjit__fail(err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
                            "%s does not link: %s", path,
                            messages->data ? messages->data : "");
    return OMPJIT_OK;
}

ompjit_status ompjit__link_math(LLVMModuleRef m, ompjit__buf *messages,
                                ompjit_error *err)
{
    ompjit__buf needed = {0};
    call_libdevice(m, &needed);
    if (!needed.size)
        return OMPJIT_OK;
    ompjit_status status;
    char *path = ompjit__libdevice_path();
    if (path)
        status = link_libdevice(m, path, messages, err);
    else
        status = ompjit__fail(
            err, OMPJIT_ERR_LINK, OMPJIT_STAGE_LINK,
            "the kernels call %s, which on a GPU come from libdevice: no "
            "libdevice.10.bc found (it is part of every CUDA toolkit; set "
            "CUDA_HOME, or unpack PyPI's nvidia-nvvm in a folder of "
            "OMPJIT_CUDA_WHEELS)",
            needed.data);
    free(path);
    ompjit__buf_free(&needed);
    return status;
}
