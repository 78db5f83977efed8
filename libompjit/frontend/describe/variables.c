/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which variables of a unit keep values from one launch to the next.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "frontend/describe/describe.h"

enum { GENERIC_SPACE = 0, GLOBAL_SPACE = 1 };

/* A variable that clang makes for each kernel, beside its environment. */
static bool is_kernels_own(LLVMValueRef g)
{
    static const char suffix[] = "_dynamic_environment";
    size_t n, length = sizeof suffix - 1;
    const char *name = LLVMGetValueName2(g, &n);
    return n > length && !strcmp(name + n - length, suffix);
}

/* Spaces: a team's shared memory is 3, constant memory 4, a thread's own 5
 * (NVPTX). LLVM's own lists, as llvm.used, are no storage. */
bool ompjit__is_storage(LLVMValueRef g)
{
    size_t length;
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(g));
    return !LLVMIsDeclaration(g) && !LLVMIsGlobalConstant(g) &&
           (space == GENERIC_SPACE || space == GLOBAL_SPACE) &&
           strncmp(LLVMGetValueName2(g, &length), "llvm.", 5);
}

bool ompjit__is_shared_variable(LLVMValueRef g)
{
    return ompjit__is_storage(g) && !is_kernels_own(g);
}
