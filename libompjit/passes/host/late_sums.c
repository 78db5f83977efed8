/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sums of products, as a dot product's. clang leaves it to the processor whether
 * `s += x * y` is one instruction:
 *
 *   %s = load double, ptr %sum            %s = load double, ptr %sum
 *   %r = fmuladd double %x, %y, %s        %p = fmul double %x, %y
 *   store double %r, ptr %sum             %r = fadd double %s, %p
 *                                         store double %r, ptr %sum
 *
 * Each sum waits for the one before. On x86-64 it waits for an addition less long
 * than for both in one, by a quarter on Zen, and the product waits for nobody.
 * That is worth it where little else is computed, and where there is one such sum:
 * otherwise the two instructions would be one too many, as in a product of small
 * matrices. Sums stay in their order, so that the result is the same in all
 * variants of a kernel.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "passes/host/host.h"

static bool is_arithmetic(LLVMValueRef i)
{
    size_t n;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFRem:
        return true;
    case LLVMCall: {
        LLVMValueRef f = LLVMIsAFunction(LLVMGetCalledValue(i));
        return f && !strncmp(LLVMGetValueName2(f, &n), "llvm.fmuladd.", 13);
    }
    default:
        return false;
    }
}

/* Does a function compute little beside the sum? */
static bool computes_little(LLVMValueRef f)
{
    enum { LITTLE = 3 };
    unsigned found = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            found += is_arithmetic(i);
    return found <= LITTLE;
}

/* Can this block be reached from itself? The functions are small. */
static bool is_in_loop(LLVMBasicBlockRef block)
{
    LLVMValueRef f = LLVMGetBasicBlockParent(block);
    unsigned n = LLVMCountBasicBlocks(f), seen = 0, done = 0;
    LLVMBasicBlockRef *reached = malloc((n + 1) * sizeof *reached);
    bool found = false;
    if (reached)
        reached[seen++] = block;
    while (done < seen && !found) {
        LLVMValueRef last = LLVMGetBasicBlockTerminator(reached[done++]);
        unsigned targets = last ? LLVMGetNumSuccessors(last) : 0;
        for (unsigned t = 0; t < targets && !found; t++) {
            LLVMBasicBlockRef next = LLVMGetSuccessor(last, t);
            unsigned at = 0;
            while (at < seen && reached[at] != next)
                at++;
            found = next == block;
            if (at == seen)
                reached[seen++] = next;
        }
    }
    free(reached);
    return found;
}

/* Does a variable get its first value in a loop? Then there are many such sums,
 * a vector of them as often as not, and they need not wait for each other. */
static bool starts_in_loop(LLVMValueRef variable, LLVMValueRef sum)
{
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        if (LLVMIsAStoreInst(store) && LLVMGetOperand(store, 0) != sum &&
            is_in_loop(LLVMGetInstructionParent(store)))
            return true;
    }
    return false;
}

/* Is it a sum that goes back to where it came from: a variable of the function's,
 * or one whose address it was given? An element of an array is another in each
 * round, and does not wait. */
static bool is_sum(LLVMValueRef call)
{
    LLVMUseRef use = LLVMGetFirstUse(call);
    LLVMValueRef store = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    LLVMValueRef sum = LLVMGetOperand(call, 2);
    LLVMValueRef place = LLVMIsALoadInst(sum) ? LLVMGetOperand(sum, 0) : NULL;
    return store && place && LLVMIsAStoreInst(store) &&
           LLVMGetOperand(store, 1) == place &&
           (LLVMIsALoadInst(place) ||
            (LLVMIsAAllocaInst(place) && !starts_in_loop(place, call)));
}

static void split(LLVMValueRef call)
{
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(call)));
    LLVMPositionBuilderBefore(b, call);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(call));
    LLVMValueRef product = LLVMBuildFMul(b, LLVMGetOperand(call, 0),
                                         LLVMGetOperand(call, 1), "");
    LLVMValueRef sum =
        LLVMBuildFAdd(b, LLVMGetOperand(call, 2), product, "");
    LLVMDisposeBuilder(b);
    LLVMReplaceAllUsesWith(call, sum);
    LLVMInstructionEraseFromParent(call);
}

void ompjit__split_late_sums(LLVMModuleRef m)
{
    static const char *const names[] = {"llvm.fmuladd.f32",
                                        "llvm.fmuladd.f64"};
    bool waits = !strncmp(LLVMGetTarget(m), "x86_64", 6);
    for (size_t k = 0; waits && k < OMPJIT__COUNT(names); k++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, names[k]);
        LLVMUseRef next;
        for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u; u = next) {
            LLVMValueRef call = LLVMGetUser(u);
            next = LLVMGetNextUse(u);
            if (LLVMIsACallInst(call) && is_sum(call) &&
                computes_little(LLVMGetBasicBlockParent(
                    LLVMGetInstructionParent(call))))
                split(call);
        }
    }
}
