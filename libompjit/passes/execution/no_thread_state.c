/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds out, from a module's calls of the runtime before it is linked, whether
 * threads need state of their own (they do not if no parallel region is inside
 * another and no call sets an internal control variable), and whether the
 * kernels only divide loops, so that the plain runtime without openmp-opt is
 * enough for them.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "passes/execution/execution.h"

static bool starts_with(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

static bool is_kernel(const char *name, const ompjit__unit *unit)
{
    for (unsigned i = 0; i < unit->nkernels; i++)
        if (!strcmp(name, unit->kernels[i].symbol))
            return true;
    return false;
}

/* Is the function only called outside of parallel regions? That is so if only
 * kernels call it by its name, and functions for which the same holds, `depth`
 * calls deep. */
static bool is_outside(LLVMValueRef f, const ompjit__unit *unit,
                       unsigned depth)
{
    size_t n;
    if (is_kernel(LLVMGetValueName2(f, &n), unit))
        return true;
    if (!depth)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != f)
            return false;
        LLVMValueRef by =
            LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
        if (!is_outside(by, unit, depth - 1))
            return false;
        for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
            if (LLVMGetOperand(call, i) == f)
                return false;
    }
    return true;
}

/* Are all uses of the function calls outside of parallel regions? */
static bool calls_are_outside(LLVMValueRef f, const ompjit__unit *unit)
{
    enum { DEEP = 8 };
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != f ||
            !is_outside(
                LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)), unit,
                DEEP))
            return false;
    }
    return true;
}

/* The unit is the whole program of the device, so calls of declarations tell
 * everything. A definition with one of the names is the program's own. */
bool ompjit__is_flat(LLVMModuleRef m, const ompjit__unit *unit)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        size_t n;
        const char *name = LLVMGetValueName2(f, &n);
        if (!LLVMIsDeclaration(f) || !LLVMGetFirstUse(f))
            continue;
        if (starts_with(name, "omp_set_") ||
            starts_with(name, "ompjit_cuda_") ||
            !strcmp(name, "__kmpc_serialized_parallel") ||
            (starts_with(name, "__kmpc_parallel_") &&
             !calls_are_outside(f, unit)))
            return false;
    }
    return true;
}

static bool is_plain(const char *name, bool host)
{
    static const struct {
        const char *name;
        bool of_host; /* alone */
    } rows[] = {
#define PLAIN(name) {#name, false},
#define PLAIN_HOST(name) {#name, true},
#include "passes/execution/plain.def"
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
        if ((host || !rows[i].of_host) && !strcmp(name, rows[i].name))
            return true;
    return false;
}

/* The runtime may define any function that is declared here, also the C
 * library's, except LLVM's intrinsics and, on a GPU, libdevice's functions. */
bool ompjit__is_plain(LLVMModuleRef m, bool host)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        size_t n;
        const char *name = LLVMGetValueName2(f, &n);
        if (LLVMIsDeclaration(f) && LLVMGetFirstUse(f) &&
            !is_plain(name, host) && !starts_with(name, "llvm.") &&
            (host || !starts_with(name, "__nv_")))
            return false;
    }
    return true;
}
