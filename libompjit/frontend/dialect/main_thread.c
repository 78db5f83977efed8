/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tells whether one thread must run a kernel's code around a parallel region, or
 * all threads of a team may, each for itself with locals of its own. That is not
 * the same where the code writes memory that is no local, reads memory that
 * another thread or the region may have written, or calls what is not known.
 * flang takes no notice of that (flang.c).
 */
#include <string.h>

#include <llvm-c/Core.h>

#include "frontend/dialect/dialect.h"
#include "frontend/dialect/pointees.h"

typedef struct look {
    ompjit__pointees *pointees;
    bool alone;   /* one thread has to run some of the code */
    bool guarded; /* and openmp-opt has seen to that        */
    unsigned nregions;
} look;

static bool is_intrinsic(LLVMValueRef call)
{
    LLVMValueRef f = LLVMGetCalledValue(call);
    return LLVMIsAFunction(f) && LLVMGetIntrinsicID(f);
}

/* ------------------------------------------------------------------ locals */

/* flang hands a structure of addresses on to each function that it makes of a
 * part of a region. The value that the function's only caller gives for the
 * parameter; NULL: nobody knows. */
static LLVMValueRef given(LLVMValueRef param)
{
    LLVMValueRef f = LLVMGetParamParent(param);
    LLVMUseRef use = LLVMGetFirstUse(f);
    LLVMValueRef caller = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    if (!caller || !LLVMIsACallInst(caller))
        return NULL;
    unsigned n = LLVMCountParams(f), i = 0;
    while (i < n && LLVMGetParam(f, i) != param)
        i++;
    if (LLVMGetCalledValue(caller) == f)
        return LLVMGetOperand(caller, i);
    return i == 1 && ompjit__loop_body(caller) == f ? LLVMGetOperand(caller, 2)
                                                    : NULL;
}

/* Do both lead to the same field of a structure? */
static bool same_field(LLVMValueRef one, LLVMValueRef other)
{
    int n = LLVMGetNumOperands(one);
    if (n != LLVMGetNumOperands(other) ||
        LLVMGetGEPSourceElementType(one) != LLVMGetGEPSourceElementType(other))
        return false;
    for (int i = 1; i < n; i++)
        if (!LLVMIsAConstantInt(LLVMGetOperand(one, (unsigned)i)) ||
            LLVMGetOperand(one, (unsigned)i) !=
                LLVMGetOperand(other, (unsigned)i))
            return false;
    return true;
}

/* The only value that is stored in that field of a local; NULL: there are
 * others, or nobody knows. */
static LLVMValueRef stored(LLVMValueRef local, LLVMValueRef field)
{
    LLVMValueRef value = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(local); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef gep = LLVMGetUser(u);
        if (!LLVMIsAGetElementPtrInst(gep)) {
            if (!LLVMIsACallInst(gep) || is_intrinsic(gep))
                return NULL;
            continue;
        }
        if (!same_field(gep, field))
            continue;
        for (LLVMUseRef v = LLVMGetFirstUse(gep); v; v = LLVMGetNextUse(v)) {
            LLVMValueRef i = LLVMGetUser(v);
            if (!LLVMIsAStoreInst(i) || LLVMGetOperand(i, 1) != gep || value)
                return NULL;
            value = LLVMGetOperand(i, 0);
        }
    }
    return value;
}

/* The local that a pointer leads to by such structures; itself where nobody
 * knows. */
static LLVMValueRef origin(LLVMValueRef pointer)
{
    LLVMValueRef at = pointer;
    while (LLVMIsAGetElementPtrInst(at))
        at = LLVMGetOperand(at, 0);
    for (int depth = 0; LLVMIsALoadInst(at); depth++) {
        enum { DEEPEST = 100 }; /* or a function that calls itself */
        LLVMValueRef field = LLVMGetOperand(at, 0);
        LLVMValueRef all = LLVMIsAGetElementPtrInst(field)
                               ? LLVMGetOperand(field, 0)
                               : NULL;
        LLVMValueRef local = all && LLVMIsAArgument(all) ? given(all) : NULL;
        at = local && LLVMIsAAllocaInst(local) ? stored(local, field) : NULL;
        if (!at || depth == DEEPEST)
            return pointer;
        if (LLVMIsAAllocaInst(at))
            return at;
    }
    return pointer;
}

/* The block that comes before another one, and no other does; NULL: none. */
static LLVMBasicBlockRef block_before(LLVMBasicBlockRef block)
{
    LLVMBasicBlockRef found = NULL;
    LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    for (; u; u = LLVMGetNextUse(u)) {
        LLVMValueRef jump = LLVMGetUser(u);
        if (!LLVMIsATerminatorInst(jump) || found)
            return NULL;
        found = LLVMGetInstructionParent(jump);
    }
    return found;
}

/* Does it store to a whole local, and not to a part? */
static bool stores_all(LLVMValueRef store, LLVMValueRef local)
{
    LLVMValueRef pointer = LLVMGetOperand(store, 1);
    return !LLVMIsAGetElementPtrInst(pointer) && origin(pointer) == local &&
           LLVMTypeOf(LLVMGetOperand(store, 0)) ==
               LLVMGetAllocatedType(local);
}

/* Has the thread stored to the local that it reads there, and has no region run
 * since? */
static bool has_stored(LLVMValueRef reading, LLVMValueRef local)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(reading);
    LLVMValueRef i = LLVMGetPreviousInstruction(reading);
    for (int left = 1000; left; left--) {
        if (!i) {
            block = block_before(block);
            i = block ? LLVMGetLastInstruction(block) : NULL;
            if (!i)
                return false;
        }
        if (LLVMIsAStoreInst(i) && stores_all(i, local))
            return true;
        if (LLVMIsACallInst(i) && !is_intrinsic(i))
            return false;
        i = LLVMGetPreviousInstruction(i);
    }
    return false;
}

/* Each thread has such a local, and nobody else changes it before it reads. */
static void reads(look *l, LLVMValueRef i, LLVMValueRef pointer)
{
    LLVMValueRef local = origin(pointer);
    l->alone |= ompjit__points_to(l->pointees, local) != OMPJIT__TO_OWN &&
                !(LLVMIsAAllocaInst(local) && has_stored(i, local));
}

/* Each thread writes the same into its own. */
static void writes(look *l, LLVMValueRef pointer)
{
    unsigned to = ompjit__points_to(l->pointees, origin(pointer));
    l->alone |= !to || to & OMPJIT__TO_OTHER;
}

static bool is_for_all(const char *name)
{
    return !strcmp(name, "__kmpc_target_init") ||
           !strcmp(name, "__kmpc_target_deinit") ||
           !strcmp(name, "__kmpc_global_thread_num");
}

/* openmp-opt puts these around code for one thread. */
static bool is_guard(const char *name)
{
    return !strcmp(name, "__kmpc_get_hardware_thread_id_in_block") ||
           !strcmp(name, "__kmpc_barrier_simple_spmd");
}

static void look_at_call(look *l, LLVMValueRef i)
{
    static const char memory[] = "llvm.mem", set[] = "llvm.memset";
    LLVMValueRef f = LLVMGetCalledValue(i);
    size_t n;
    const char *name = LLVMIsAFunction(f) ? LLVMGetValueName2(f, &n) : "";
    if (!strcmp(name, "__kmpc_parallel_60")) {
        l->nregions++;
    } else if (!strncmp(name, memory, sizeof memory - 1)) {
        writes(l, LLVMGetOperand(i, 0));
        if (strncmp(name, set, sizeof set - 1))
            reads(l, i, LLVMGetOperand(i, 1));
    } else if (is_guard(name)) {
        l->guarded = true;
    } else if (!ompjit__loop_body(i) && !is_intrinsic(i) && !is_for_all(name)) {
        l->alone |= !LLVMIsAFunction(f) || LLVMIsDeclaration(f);
    }
}

static void look_at(look *l, LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
        reads(l, i, LLVMGetOperand(i, 0));
        return;
    case LLVMStore:
        writes(l, LLVMGetOperand(i, 1));
        return;
    case LLVMCall:
        look_at_call(l, i);
        return;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
    case LLVMInvoke:
        l->alone = true;
        return;
    default:
        return;
    }
}

static void look_at_all(look *l, LLVMValueRef function)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            look_at(l, i);
}

bool ompjit__needs_main_thread(LLVMValueRef kernel)
{
    look l = {.pointees = ompjit__pointees_new(LLVMGetGlobalParent(kernel),
                                               kernel)};
    if (!l.pointees)
        return true;
    const ompjit__reached *code = ompjit__pointees_code(l.pointees);
    for (size_t k = 0; k < code->n; k++)
        look_at_all(&l, code->functions[k]);
    ompjit__pointees_free(l.pointees);
    return (l.alone || l.nregions > 1) && !l.guarded;
}
