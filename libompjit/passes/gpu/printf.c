/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * printf on an NVIDIA GPU: the driver's vprintf prints what it knows as C does,
 * but returns another number. All other calls become calls of the runtime's
 * ompjit_vprintf (runtime-bc/libc/format.c).
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "passes/gpu/gpu.h"

/* More arguments the driver does not print. */
enum { MOST_ARGUMENTS = 32 };

/* The conversion behind a '%': its end, or NULL if the driver does not have it
 * as C does. */
static const char *plain_conversion(const char *f)
{
    f += strspn(f, "-+ #0");
    f += strspn(f, "0123456789");
    bool precise = *f == '.';
    if (precise)
        f += 1 + strspn(f + 1, "0123456789");
    bool large = *f == 'l';
    if (large)
        f += f[1] == 'l' ? 2 : 1;
    else
        f += *f == 'h' && f[1] != 'h';
    if (*f && strchr("diouxX", *f))
        return f + 1;
    if (*f && strchr("eEfgGaA", *f))
        return f + 1;
    return *f && strchr("cs", *f) && !precise && !large ? f + 1 : NULL;
}

static bool is_plain(const char *f)
{
    unsigned arguments = 0;
    while ((f = strchr(f, '%'))) {
        f++;
        if (*f == '%') {
            f++;
            continue;
        }
        f = plain_conversion(f);
        if (!f || ++arguments > MOST_ARGUMENTS)
            return false;
    }
    return true;
}

/* Does nobody ask for the number of characters, and does the driver know all of
 * the format? Its vprintf returns the number of arguments, and prints 32 of
 * them at most (CUDA C++ Programming Guide, "Formatted Output"). */
static bool driver_prints(LLVMValueRef call)
{
    LLVMValueRef format = LLVMGetOperand(call, 0);
    LLVMValueRef text = LLVMIsAGlobalVariable(format) &&
                                LLVMIsGlobalConstant(format)
                            ? LLVMGetInitializer(format)
                            : NULL;
    size_t n;
    if (LLVMGetFirstUse(call) || !text ||
        !LLVMIsAConstantDataSequential(text) || !LLVMIsConstantString(text))
        return false;
    const char *f = LLVMGetAsString(text, &n);
    return n && !f[n - 1] && is_plain(f);
}

static LLVMValueRef runtime_function(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(c, 0);
    LLVMTypeRef parameters[2] = {pointer, pointer};
    LLVMValueRef f = LLVMGetNamedFunction(m, "ompjit_vprintf");
    return f ? f
             : LLVMAddFunction(m, "ompjit_vprintf",
                               LLVMFunctionType(LLVMInt32TypeInContext(c),
                                                parameters, 2, false));
}

static void replace(LLVMModuleRef m, LLVMValueRef call)
{
    LLVMValueRef to = runtime_function(m);
    LLVMValueRef args[2] = {LLVMGetOperand(call, 0), LLVMGetOperand(call, 1)};
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    LLVMPositionBuilderBefore(b, call);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(call));
    LLVMValueRef other =
        LLVMBuildCall2(b, LLVMGlobalGetValueType(to), to, args, 2, "");
    LLVMDisposeBuilder(b);
    LLVMReplaceAllUsesWith(call, other);
    LLVMInstructionEraseFromParent(call);
}

void ompjit__prepare_printf(LLVMModuleRef m)
{
    static const char *const names[] = {"vprintf", "__llvm_omp_vprintf"};
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, names[i]);
        LLVMUseRef next;
        for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u; u = next) {
            next = LLVMGetNextUse(u);
            LLVMValueRef call = LLVMGetUser(u);
            if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f &&
                LLVMGetNumArgOperands(call) >= 2 && !driver_prints(call))
                replace(m, call);
        }
    }
}
