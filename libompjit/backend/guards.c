/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Guards of openmp-opt in the sequential code of a kernel that becomes SPMD:
 *
 *     %tid = call i32 @__kmpc_get_hardware_thread_id_in_block()
 *     %main = icmp eq i32 %tid, 0
 *     br i1 %main, label %guarded, label %barrier
 *   guarded:
 *     store ...
 *   barrier:
 *     call void @__kmpc_barrier_simple_spmd(...)
 *
 * It does so in functions that the kernel calls, too, whoever else calls them.
 * All threads of an SPMD kernel come to its sequential code. In a generic kernel
 * the main thread alone does, and in a parallel region perhaps some: the others
 * then take these barriers for ones of their own.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "backend/build.h"
#include "frontend/describe/describe.h"
#include "frontend/describe/reach.h"

static bool is_call_to(LLVMValueRef v, const char *name)
{
    size_t n;
    return v && LLVMIsACallInst(v) &&
           !strcmp(LLVMGetValueName2(LLVMGetCalledValue(v), &n), name);
}

bool ompjit__is_guarded(LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    LLVMValueRef branch = use ? LLVMGetUser(use) : NULL;
    if (!branch || LLVMGetNextUse(use) || !LLVMIsABranchInst(branch) ||
        !LLVMIsConditional(branch) || LLVMGetSuccessor(branch, 0) != block)
        return false;
    LLVMValueRef test = LLVMGetCondition(branch);
    return LLVMIsAICmpInst(test) &&
           LLVMGetICmpPredicate(test) == LLVMIntEQ &&
           is_call_to(LLVMGetOperand(test, 0),
                      "__kmpc_get_hardware_thread_id_in_block");
}

static bool has_guards(LLVMValueRef f)
{
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f);
    while (block && !ompjit__is_guarded(block))
        block = LLVMGetNextBasicBlock(block);
    return block != NULL;
}

/* Parallel regions are no part of it, where each thread has its own variables:
 * they are called by __kmpc_parallel_60, which leads to those of all kernels. */
static bool is_sequential(LLVMValueRef callee)
{
    size_t n;
    return LLVMIsAFunction(callee) &&
           strcmp(LLVMGetValueName2(callee, &n), "__kmpc_parallel_60");
}

static void add_callees(ompjit__reached *main, LLVMValueRef f)
{
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f);
    for (; block; block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMIsACallInst(i) && is_sequential(LLVMGetCalledValue(i)))
                ompjit__reached_add(main, LLVMGetCalledValue(i));
}

ompjit__reached ompjit__sequential_part(LLVMValueRef kernel)
{
    ompjit__reached main = {0};
    ompjit__reached_add(&main, kernel);
    for (size_t i = 0; i < main.n && !main.failed; i++)
        add_callees(&main, main.functions[i]);
    return main;
}

static void add_named(ompjit__reached *to, LLVMValueRef f)
{
    ompjit__reached named = ompjit__named_by(f);
    for (size_t i = 0; i < named.n; i++)
        ompjit__reached_add(to, named.functions[i]);
    to->failed |= named.failed;
    free(named.functions);
}

/* Adds what parallel regions reach. */
static void add_regions(LLVMModuleRef m, ompjit__reached *to)
{
    LLVMValueRef start = LLVMGetNamedFunction(m, "__kmpc_parallel_60");
    for (LLVMUseRef u = start ? LLVMGetFirstUse(start) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != start)
            continue;
        for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
            if (LLVMIsAFunction(LLVMGetOperand(call, i)))
                add_named(to, LLVMGetOperand(call, i));
    }
}

ompjit__reached ompjit__not_for_guards(struct build *b)
{
    ompjit__reached others = {0};
    for (unsigned i = 0; i < b->unit->nkernels; i++) {
        LLVMValueRef f =
            LLVMGetNamedFunction(b->m, b->unit->kernels[i].symbol);
        LLVMValueRef env = f ? ompjit__environment_variable(b->m, f) : NULL;
        if (env && ompjit__environment_mode(env) == OMPJIT_MODE_GENERIC)
            add_named(&others, f);
    }
    add_regions(b->m, &others);
    return others;
}

LLVMValueRef ompjit__misplaced_guards(LLVMValueRef kernel,
                                      const ompjit__reached *others,
                                      bool *failed)
{
    ompjit__reached main = ompjit__sequential_part(kernel);
    LLVMValueRef found = NULL;
    for (size_t i = 0; i < main.n && !found; i++)
        if (ompjit__is_reached(others, main.functions[i]) &&
            has_guards(main.functions[i]))
            found = main.functions[i];
    *failed |= main.failed;
    free(main.functions);
    return found;
}
