/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Passes scalars that parallel regions only read by value. clang passes their
 * addresses, for which the variables have to be in memory that all threads of a
 * team see. In a kernel that becomes SPMD one thread writes them between two
 * barriers, after which LLVM does not know the value that the others read.
 *
 *     i = alloc_shared(4)              i = alloc_shared(4), which becomes a
 *     values[0] = i                        variable of each thread
 *     parallel(region, values)         values[0] = (pointer)*i
 *     region(p): ... *p ...            parallel(region, values)
 *                                      region(p): ... (int)p ...
 *
 * Requires that variables on the stack have become values where they can
 * (sroa), and that openmp-opt has not run.
 */
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "llvm/remarks.h"
#include "passes/sharing/sharing.h"

/* REGION, WRAPPER and VALUES are operands of __kmpc_parallel_60. REGION_IDS is
 * the number of a region's first parameters, its thread's numbers; those for
 * the values follow. */
enum { REGION = 5, WRAPPER, VALUES, REGION_IDS = 2 };

/* A variable, and one place where its address is handed over. */
struct handover {
    LLVMValueRef variable;
    LLVMTypeRef type;    /* of all accesses; NULL: none so far */
    LLVMValueRef store;  /* of the address into the array of values */
    LLVMValueRef fork;   /* the call of __kmpc_parallel_60 */
    LLVMValueRef region; /* the outlined function */
    LLVMValueRef wrapper_call; /* of the region; NULL: none */
    unsigned param;            /* of the region */
};

/* ---------------------------------------------------------------- checks */

static bool is_named(LLVMValueRef call, const char *name)
{
    LLVMValueRef f =
        LLVMIsACallInst(call) ? LLVMGetCalledValue(call) : NULL;
    size_t n;
    return f && LLVMIsAFunction(f) && !strcmp(LLVMGetValueName2(f, &n), name);
}

/* Can a value of the type be handed over in place of an address, as 64 bits? */
static bool fits_pointer(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) <= 64;
    case LLVMPointerTypeKind:
        return LLVMGetPointerAddressSpace(type) == 0;
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
        return true;
    default:
        return false;
    }
}

/* Does the access have the type of those before it? Notes the first one's. */
static bool takes_type(struct handover *h, LLVMValueRef access,
                       LLVMTypeRef type)
{
    if (LLVMGetVolatile(access) ||
        LLVMGetOrdering(access) != LLVMAtomicOrderingNotAtomic ||
        !fits_pointer(type) || (h->type && h->type != type))
        return false;
    h->type = type;
    return true;
}

static bool is_int(LLVMValueRef v, uint64_t value)
{
    return LLVMIsAConstantInt(v) && LLVMConstIntGetZExtValue(v) == value;
}

/* The array of values that the address points into, and the element's index;
 * NULL: it is none. */
static LLVMValueRef find_array(LLVMValueRef place, unsigned *index)
{
    *index = 0;
    if (!LLVMIsAGetElementPtrInst(place))
        return LLVMIsAAllocaInst(place) ? place : NULL;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(place);
    LLVMValueRef array = LLVMGetOperand(place, 0);
    if (LLVMGetTypeKind(type) != LLVMArrayTypeKind ||
        LLVMGetNumOperands(place) != 3 ||
        !is_int(LLVMGetOperand(place, 1), 0) ||
        !LLVMIsAConstantInt(LLVMGetOperand(place, 2)) ||
        !LLVMIsAAllocaInst(array))
        return NULL;
    *index = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(place, 2));
    return array;
}

/* The call of __kmpc_parallel_60 that gets the array of values; NULL: there is
 * not exactly one, or the array has other uses. */
static LLVMValueRef find_fork(LLVMValueRef array)
{
    LLVMValueRef fork = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(array); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAGetElementPtrInst(user) ||
            (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == array) ||
            is_named(user, "llvm.lifetime.start.p0") ||
            is_named(user, "llvm.lifetime.end.p0"))
            continue;
        if (fork || !is_named(user, "__kmpc_parallel_60") ||
            LLVMGetOperand(user, VALUES) != array)
            return NULL;
        fork = user;
    }
    return fork;
}

/* Is this fork the only use of the region, but for a call in its wrapper? */
static bool belongs_to(LLVMValueRef region, struct handover *h)
{
    LLVMValueRef wrapper = LLVMGetOperand(h->fork, WRAPPER);
    for (LLVMUseRef u = LLVMGetFirstUse(region); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (user == h->fork)
            continue;
        if (h->wrapper_call || !LLVMIsACallInst(user) ||
            LLVMGetCalledValue(user) != region ||
            LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)) != wrapper)
            return false;
        h->wrapper_call = user;
    }
    return true;
}

/* Does the region only read through its parameter, by one type? */
static bool only_loads(struct handover *h, LLVMValueRef param)
{
    for (LLVMUseRef u = LLVMGetFirstUse(param); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef load = LLVMGetUser(u);
        if (!LLVMIsALoadInst(load) || !takes_type(h, load, LLVMTypeOf(load)))
            return false;
    }
    return true;
}

/* Finds the region that the stored address is passed to. The store has to be in
 * the block of the fork, so that the address is stored each time the region
 * begins. */
static bool find_region(struct handover *h, LLVMValueRef store)
{
    unsigned index;
    LLVMValueRef array = find_array(LLVMGetOperand(store, 1), &index);
    h->store = store;
    h->fork = array ? find_fork(array) : NULL;
    h->region = h->fork ? LLVMGetOperand(h->fork, REGION) : NULL;
    h->param = index + REGION_IDS;
    return h->region && LLVMIsAFunction(h->region) &&
           LLVMGetInstructionParent(store) ==
               LLVMGetInstructionParent(h->fork) &&
           h->param < LLVMCountParams(h->region) &&
           belongs_to(h->region, h) &&
           only_loads(h, LLVMGetParam(h->region, h->param));
}

/* Does only the function that allocates the variable access it, and one region
 * that it is passed to and that only reads it? Then its value does not change
 * while the region runs: the thread that could change it waits for the region's
 * end. */
static bool find_handover(struct handover *h, LLVMValueRef variable)
{
    *h = (struct handover){.variable = variable};
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        bool fine = false;
        if (LLVMIsALoadInst(user))
            fine = takes_type(h, user, LLVMTypeOf(user));
        else if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != variable)
            fine = takes_type(h, user, LLVMTypeOf(LLVMGetOperand(user, 0)));
        else if (LLVMIsAStoreInst(user))
            fine = !h->fork && find_region(h, user);
        else
            fine = is_named(user, "__kmpc_free_shared");
        if (!fine)
            return false;
    }
    return h->fork && h->type;
}

/* ---------------------------------------------------------------- change */

/* The value's bits as a pointer, which is the type that all elements of the
 * array have. */
static LLVMValueRef to_pointer(LLVMBuilderRef b, LLVMValueRef v)
{
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(v));
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(v));
    if (kind == LLVMPointerTypeKind)
        return v;
    if (kind != LLVMIntegerTypeKind)
        v = LLVMBuildBitCast(b, v,
                             kind == LLVMFloatTypeKind
                                 ? LLVMInt32TypeInContext(c)
                                 : i64,
                             "");
    return LLVMBuildIntToPtr(b, LLVMBuildZExt(b, v, i64, ""),
                             LLVMPointerTypeInContext(c, 0), "");
}

/* The inverse of to_pointer. */
static LLVMValueRef from_pointer(LLVMBuilderRef b, LLVMValueRef p,
                                 LLVMTypeRef type)
{
    LLVMContextRef c = LLVMGetTypeContext(type);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMPointerTypeKind)
        return p;
    LLVMTypeRef bits = kind == LLVMIntegerTypeKind ? type
                       : kind == LLVMFloatTypeKind
                           ? LLVMInt32TypeInContext(c)
                           : LLVMInt64TypeInContext(c);
    LLVMValueRef v = LLVMBuildPtrToInt(b, p, LLVMInt64TypeInContext(c), "");
    v = LLVMBuildTrunc(b, v, bits, "");
    return LLVMBuildBitCast(b, v, type, "");
}

/* Attributes of addresses are not true of values. */
static void forget_attributes(struct handover *h)
{
    static const char *const names[] = {"nonnull",         "noundef",
                                        "align",           "noalias",
                                        "dereferenceable", "readonly",
                                        "captures"};
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++) {
        unsigned kind =
            LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));
        LLVMRemoveEnumAttributeAtIndex(h->region, h->param + 1, kind);
        if (h->wrapper_call)
            LLVMRemoveCallSiteEnumAttribute(h->wrapper_call, h->param + 1,
                                            kind);
    }
}

/* Replaces the parameter's loads by `value`. If the variable is a pointer, that
 * is the parameter itself, whose new uses may be loads, too, which have to
 * stay: so the loads are replaced by a stand-in first. */
static void replace_loads(LLVMValueRef param, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMContextRef c = LLVMGetTypeContext(type);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderBefore(
        b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(
               LLVMGetParamParent(param))));
    LLVMValueRef none = LLVMGetPoison(type);
    LLVMValueRef standin = LLVMBuildFreeze(b, none, "");
    LLVMUseRef next;
    for (LLVMUseRef u = LLVMGetFirstUse(param); u; u = next) {
        LLVMValueRef load = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (LLVMIsALoadInst(load)) {
            LLVMReplaceAllUsesWith(load, standin);
            LLVMInstructionEraseFromParent(load);
        }
    }
    LLVMReplaceAllUsesWith(standin, value);
    LLVMInstructionEraseFromParent(standin);
    LLVMDisposeBuilder(b);
}

/* Loads the value right before the fork, behind all stores to the variable, and
 * not where its address was stored into the array. */
static void change(struct handover *h)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(
        LLVMGetTypeContext(h->type));
    LLVMPositionBuilderBefore(b, h->fork);
    LLVMValueRef value = LLVMBuildLoad2(b, h->type, h->variable, "");
    LLVMBuildStore(b, to_pointer(b, value), LLVMGetOperand(h->store, 1));
    LLVMInstructionEraseFromParent(h->store);
    LLVMPositionBuilderBefore(
        b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(h->region)));
    LLVMValueRef param = LLVMGetParam(h->region, h->param);
    replace_loads(param, from_pointer(b, param, h->type));
    LLVMDisposeBuilder(b);
    forget_attributes(h);
}

static void tell(const struct handover *h, ompjit__buf *remarks)
{
    char *name = ompjit__remark_variable(h->variable);
    ompjit__remark_at(remarks, h->variable,
                      &(ompjit__remark){.id = OMPJIT__REMARK_OMPJIT102,
                                        .variable = name,
                                        .what = "The variable is handed over "
                                                "by value"});
    free(name);
}

void ompjit__hand_over_values(LLVMModuleRef m, ompjit__buf *remarks)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, "__kmpc_alloc_shared");
    for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
         u = LLVMGetNextUse(u)) {
        struct handover h;
        if (is_named(LLVMGetUser(u), "__kmpc_alloc_shared") &&
            find_handover(&h, LLVMGetUser(u))) {
            tell(&h, remarks);
            change(&h);
        }
    }
}
