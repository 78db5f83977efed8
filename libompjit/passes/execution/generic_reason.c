/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Remarks on why a kernel is generic after openmp-opt. The reason is always a
 * call with unknown effects in the code that the main thread runs alone. The
 * remarks of openmp-opt name stores instead, which it could guard.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/describe/reach.h"
#include "llvm/remarks.h"
#include "passes/execution/execution.h"

/* Prefixes of the runtime functions that all threads may call in place of the
 * main one: those of openmp-opt's list (LLVM 22, OpenMPOpt.cpp), and those that
 * clang's frames of kernels and regions call. */
static const char *const amenable[] = {
    "__kmpc_alloc_shared",
    "__kmpc_barrier",
    "__kmpc_distribute_static_fini",
    "__kmpc_distribute_static_init",
    "__kmpc_end_master",
    "__kmpc_end_single",
    "__kmpc_error",
    "__kmpc_flush",
    "__kmpc_for_static_fini",
    "__kmpc_for_static_init",
    "__kmpc_free_shared",
    "__kmpc_get_hardware_",
    "__kmpc_get_warp_size",
    "__kmpc_global_thread_num",
    "__kmpc_is_spmd_exec_mode",
    "__kmpc_master",
    "__kmpc_nvptx_parallel_reduce_nowait_v2",
    "__kmpc_nvptx_teams_reduce_nowait_v2",
    "__kmpc_parallel_60",
    "__kmpc_single",
    "__kmpc_target_",
    "omp_get_",
    "omp_in_",
    "ompjit_free_global", /* its allocation is the reason */
};

static bool is_of_runtime(const char *name)
{
    return !strncmp(name, "__kmpc_", 7) || !strncmp(name, "omp_", 4) ||
           !strncmp(name, "ompjit_", 7);
}

static bool is_amenable(const char *name)
{
    for (size_t i = 0; i < OMPJIT__COUNT(amenable); i++)
        if (!strncmp(name, amenable[i], strlen(amenable[i])))
            return true;
    return false;
}

static bool is_assumed(LLVMValueRef f)
{
    unsigned n;
    static const char kind[] = "llvm.assume";
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(
        f, LLVMAttributeFunctionIndex, kind, sizeof kind - 1);
    return a && strstr(LLVMGetStringAttributeValue(a, &n), "spmd_amenable");
}

/* Fills in why the call keeps the kernel generic. False: it does not; the code
 * of its callee may. */
static bool find_reason(LLVMValueRef call, ompjit__remark *r)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    size_t n;
    if (LLVMIsAInlineAsm(callee)) {
        r->why = "inline assembly may have effects that must happen once";
        r->advice = "if all threads may run it, put it into a function with "
                    "#pragma omp begin assumes ext_spmd_amenable before and "
                    "#pragma omp end assumes behind it";
        return true;
    }
    if (!LLVMIsAFunction(callee)) {
        r->why = "a function that is called by its address may start parallel "
                 "regions";
        r->advice = "call the function by its name";
        return true;
    }
    const char *name = LLVMGetValueName2(callee, &n);
    if (LLVMGetIntrinsicID(callee) || is_assumed(callee))
        return false;
    if (!strcmp(name, "ompjit_alloc_global")) {
        r->why = "a variable that its threads share is in device memory";
        r->advice = "allow more team-shared memory by the option "
                    "ompjit-share-limit";
        return true;
    }
    if (is_of_runtime(name)) {
        r->why = "$ of the runtime is for one thread";
        r->advice = "call $ in a parallel region";
        return !is_amenable(name);
    }
    r->why = "$ may have effects that must happen once: its code is not here";
    return LLVMIsDeclaration(callee);
}

/* Does the module have the callee's code, which the main thread then runs too?
 */
static bool has_code(LLVMValueRef call)
{
    size_t n;
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee) &&
           !is_assumed(callee) &&
           !is_of_runtime(LLVMGetValueName2(callee, &n));
}

/* Adds remarks on the calls of one function, and its callees to `main`. Returns
 * the number of remarks. */
static unsigned explain_calls(ompjit__reached *main, LLVMValueRef f,
                              const char *kernel, ompjit__buf *remarks)
{
    unsigned found = 0;
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f);
    for (; block; block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i)) {
            ompjit__remark r = {.id = OMPJIT__REMARK_OMPJIT112,
                                .kernel = kernel,
                                .what = "The kernel stays generic"};
            if (!LLVMIsACallInst(i))
                continue;
            if (has_code(i))
                ompjit__reached_add(main, LLVMGetCalledValue(i));
            if (!find_reason(i, &r))
                continue;
            char *called = ompjit__remark_called(i);
            r.subject = called;
            ompjit__remark_at(remarks, i, &r);
            free(called);
            found++;
        }
    return found;
}

bool ompjit__explain_generic(LLVMValueRef kernel, ompjit__buf *remarks)
{
    ompjit__reached main = {0};
    unsigned found = 0;
    size_t n;
    const char *symbol = LLVMGetValueName2(kernel, &n);
    ompjit__reached_add(&main, kernel);
    for (size_t i = 0; i < main.n && !main.failed; i++)
        found += explain_calls(&main, main.functions[i], symbol, remarks);
    if (!found)
        ompjit__remark_at(remarks, kernel,
                          &(ompjit__remark){
                              .id = OMPJIT__REMARK_OMPJIT112,
                              .kernel = symbol,
                              .what = "The kernel stays generic",
                              .why = "openmp-opt could not show that all "
                                     "threads may run its sequential code"});
    bool good = !main.failed;
    free(main.functions);
    return good;
}
