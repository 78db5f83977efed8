/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Places in unoptimized host code. Each variable of the source is a local one
 * of the function there, and clang passes maps to the runtime in local arrays.
 */
#include <string.h>

#include "passes/hosthalf/call.h"
#include "passes/hosthalf/place.h"

enum { DEEP = 12 };

LLVMValueRef ompjit__callee(LLVMValueRef call)
{
    LLVMValueRef f = LLVMGetCalledValue(call);
    while (LLVMIsAGlobalAlias(f))
        f = LLVMAliasGetAliasee(f);
    return f;
}

const char *ompjit__callee_name(LLVMValueRef call)
{
    LLVMValueRef f = ompjit__callee(call);
    size_t n;
    return LLVMIsAFunction(f) ? LLVMGetValueName2(f, &n) : "";
}

bool ompjit__is_call_of(LLVMValueRef call, const char *name)
{
    return !strcmp(ompjit__callee_name(call), name);
}

bool ompjit__is_of_runtime(LLVMValueRef call)
{
    const char *name = ompjit__callee_name(call);
    return !strncmp(name, "__tgt_", 6) || !strncmp(name, "__kmpc_", 7);
}

bool ompjit__may_call(LLVMValueRef call, LLVMValueRef f)
{
    unsigned n = LLVMGetNumArgOperands(call), params = LLVMCountParams(f);
    return n == params ||
           (n > params && LLVMIsFunctionVarArg(LLVMGlobalGetValueType(f)));
}

static bool is_call(LLVMValueRef v)
{
    return LLVMIsACallInst(v) || LLVMIsAInvokeInst(v);
}

static bool is_number(LLVMValueRef v, int64_t number)
{
    return LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == number;
}

static bool is_cast(LLVMValueRef v)
{
    return LLVMIsABitCastInst(v) || LLVMIsAAddrSpaceCastInst(v) ||
           (LLVMIsAConstantExpr(v) &&
            (LLVMGetConstOpcode(v) == LLVMBitCast ||
             LLVMGetConstOpcode(v) == LLVMAddrSpaceCast));
}

static bool is_gep(LLVMValueRef v)
{
    return LLVMIsAGetElementPtrInst(v) ||
           (LLVMIsAConstantExpr(v) &&
            LLVMGetConstOpcode(v) == LLVMGetElementPtr);
}

bool ompjit__place_is_fresh(LLVMValueRef call)
{
    static const char *const names[] = {"malloc", "calloc", "aligned_alloc",
                                        "memalign", "_Znwm", "_Znam",
                                        "_ZnwmSt11align_val_t",
                                        "_ZnamSt11align_val_t"};
    const char *name = is_call(call) ? ompjit__callee_name(call) : "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* ------------------------------------------------------------------- types */

/* True for accesses by type: those as char are not. */
static bool has_type(unsigned tbaa, LLVMValueRef i)
{
    LLVMValueRef tag = LLVMGetMetadata(i, tbaa);
    unsigned n = tag ? (unsigned)LLVMGetMDNodeNumOperands(tag) : 0;
    LLVMValueRef operands[8], names[8];
    if (n < 3 || n > 8)
        return false;
    LLVMGetMDNodeOperands(tag, operands);
    if (!operands[1] || !LLVMIsAMDNode(operands[1]))
        return false;
    n = (unsigned)LLVMGetMDNodeNumOperands(operands[1]);
    if (!n || n > 8)
        return false;
    LLVMGetMDNodeOperands(operands[1], names);
    unsigned length = 0;
    const char *name =
        names[0] ? LLVMGetMDString(names[0], &length) : NULL;
    return name && !(length == 15 && !memcmp(name, "omnipotent char", 15));
}

bool ompjit__is_scalar_type(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind ||
           (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) > 8);
}

LLVMTypeRef ompjit__access_type(unsigned tbaa, LLVMValueRef access)
{
    LLVMTypeRef type = LLVMIsAStoreInst(access)
                           ? LLVMTypeOf(LLVMGetOperand(access, 0))
                           : LLVMTypeOf(access);
    bool scalar = ompjit__is_scalar_type(type) ||
                  LLVMGetTypeKind(type) == LLVMPointerTypeKind;
    return scalar && has_type(tbaa, access) ? type : NULL;
}

unsigned ompjit__tbaa_kind(LLVMModuleRef m)
{
    static const char name[] = "tbaa";
    return LLVMGetMDKindIDInContext(LLVMGetModuleContext(m), name,
                                    sizeof name - 1);
}

/* ---------------------------------------------------------------- offsets */

bool ompjit__gep_offset(LLVMTargetDataRef layout, LLVMValueRef gep,
                        int64_t *sum)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    for (int i = 1; i < LLVMGetNumOperands(gep); i++) {
        LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
        if (!LLVMIsAConstantInt(index))
            return false;
        int64_t number = LLVMConstIntGetSExtValue(index);
        LLVMTypeKind kind = LLVMGetTypeKind(type);
        if (i == 1) {
            *sum += number * (int64_t)LLVMABISizeOfType(layout, type);
        } else if (kind == LLVMStructTypeKind) {
            *sum += (int64_t)LLVMOffsetOfElement(layout, type,
                                                 (unsigned)number);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)number);
        } else if (kind == LLVMArrayTypeKind || kind == LLVMVectorTypeKind) {
            type = LLVMGetElementType(type);
            *sum += number * (int64_t)LLVMABISizeOfType(layout, type);
        } else {
            return false;
        }
    }
    return true;
}

LLVMValueRef ompjit__variable_at(LLVMTargetDataRef layout,
                                 LLVMValueRef address, int64_t *at)
{
    *at = 0;
    for (; is_gep(address) || is_cast(address);
         address = LLVMGetOperand(address, 0))
        if (is_gep(address) && !ompjit__gep_offset(layout, address, at))
            return NULL;
    return LLVMIsAAllocaInst(address) ? address : NULL;
}

/* -------------------------------------------------------------- variables */

static bool is_marker(LLVMValueRef call)
{
    const char *name = ompjit__callee_name(call);
    return !strncmp(name, "llvm.lifetime.", 14) ||
           !strncmp(name, "llvm.dbg.", 9);
}

static bool is_for_runtime(LLVMValueRef call)
{
    const char *name = ompjit__callee_name(call);
    return !strncmp(name, "__tgt_", 6) || !strncmp(name, "llvm.mem", 8) ||
           is_marker(call);
}

/* Is it stored among a kernel's arguments? */
static bool is_argument(LLVMValueRef store, LLVMValueRef v)
{
    static const char name[] = "struct.__tgt_kernel_arguments";
    LLVMValueRef to = LLVMGetOperand(store, 1);
    while (is_gep(to))
        to = LLVMGetOperand(to, 0);
    LLVMTypeRef type = LLVMIsAAllocaInst(to) ? LLVMGetAllocatedType(to) : NULL;
    const char *is = type && LLVMGetTypeKind(type) == LLVMStructTypeKind
                         ? LLVMGetStructName(type)
                         : NULL;
    return LLVMGetOperand(store, 0) == v && is &&
           !strncmp(is, name, sizeof name - 1);
}

static bool only_for_runtime(LLVMValueRef v, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        bool good = LLVMIsAStoreInst(user)
                        ? LLVMGetOperand(user, 0) != v || is_argument(user, v)
                    : is_call(user) ? is_for_runtime(user)
                                    : is_gep(user) && depth &&
                                          only_for_runtime(user, depth - 1);
        if (!good)
            return false;
    }
    return true;
}

bool ompjit__is_offload_array(LLVMValueRef v)
{
    LLVMTypeRef type = LLVMIsAAllocaInst(v) ? LLVMGetAllocatedType(v) : NULL;
    return type && LLVMGetTypeKind(type) == LLVMArrayTypeKind &&
           LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMPointerTypeKind &&
           only_for_runtime(v, 2);
}

/* An address that is stored among a map's pointers: the runtime copies to and
 * from what is mapped, which the walk knows. */
static bool is_mapped_by(LLVMValueRef store, LLVMValueRef v)
{
    LLVMValueRef to = LLVMGetOperand(store, 1);
    while (is_gep(to))
        to = LLVMGetOperand(to, 0);
    return LLVMGetOperand(store, 0) == v && ompjit__is_offload_array(to);
}

/* Is the value passed as the base pointers of a map, and not as what is mapped?
 * Those of variables in which a pointer is attached are. */
static bool holds_bases(LLVMValueRef v, unsigned depth)
{
    enum { BASES = 3, FIELD = 2 };
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (is_gep(user) && depth) {
            if (!holds_bases(user, depth - 1))
                return false;
        } else if (is_call(user) && !is_marker(user)) {
            if (LLVMGetNumArgOperands(user) <= BASES ||
                LLVMGetOperand(user, BASES) != v)
                return false;
        } else if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) == v) {
            LLVMValueRef to = LLVMGetOperand(user, 1);
            unsigned n = is_gep(to) ? (unsigned)LLVMGetNumOperands(to) : 0;
            if (!n || !is_number(LLVMGetOperand(to, n - 1), FIELD))
                return false;
        }
    }
    return true;
}

static bool is_base(LLVMValueRef store, LLVMValueRef v)
{
    LLVMValueRef to = LLVMGetOperand(store, 1);
    while (is_gep(to))
        to = LLVMGetOperand(to, 0);
    return is_mapped_by(store, v) && holds_bases(to, 1);
}

bool ompjit__is_launch_failure(LLVMValueRef branch)
{
    if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch))
        return false;
    LLVMValueRef c = LLVMGetCondition(branch);
    LLVMValueRef call = LLVMIsAICmpInst(c) ? LLVMGetOperand(c, 0) : NULL;
    return call && LLVMGetICmpPredicate(c) == LLVMIntNE && is_call(call) &&
           !strcmp(ompjit__callee_name(call), "__tgt_target_kernel") &&
           LLVMIsNull(LLVMGetOperand(c, 1));
}

/* A call that is made where a launch has failed, and only there. */
static bool is_after_failure(LLVMValueRef call)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(call);
    LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    return u && !LLVMGetNextUse(u) &&
           ompjit__is_launch_failure(LLVMGetUser(u)) &&
           LLVMGetSuccessor(LLVMGetUser(u), 0) == block;
}

static bool escapes(LLVMValueRef v, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user) || LLVMIsAICmpInst(user) ||
            LLVMIsAMemIntrinsic(user) ||
            (LLVMIsAStoreInst(user) &&
             (LLVMGetOperand(user, 0) != v || is_argument(user, v) ||
              is_mapped_by(user, v))) ||
            (is_call(user) &&
             (is_for_runtime(user) || is_after_failure(user))) ||
            ((is_gep(user) || is_cast(user)) && depth &&
             !escapes(user, depth - 1)))
            continue;
        return true;
    }
    return false;
}

bool ompjit__place_escapes(LLVMValueRef variable)
{
    return escapes(variable, 4);
}

/* The value of a variable that is stored once, whole, and loaded. */
static LLVMValueRef held_by(LLVMValueRef variable)
{
    LLVMValueRef held = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsALoadInst(user) || (is_call(user) && is_marker(user)))
            continue;
        if (!LLVMIsAStoreInst(user))
            return NULL;
        if (LLVMGetOperand(user, 1) == variable) {
            if (held || LLVMTypeOf(LLVMGetOperand(user, 0)) !=
                            LLVMGetAllocatedType(variable))
                return NULL;
            held = LLVMGetOperand(user, 0);
        } else if (!is_base(user, variable)) {
            return NULL;
        }
    }
    return held;
}

LLVMValueRef ompjit__place_original(LLVMValueRef v)
{
    for (int i = 0; i < DEEP && LLVMIsALoadInst(v); i++) {
        LLVMValueRef from = LLVMGetOperand(v, 0);
        LLVMValueRef held = LLVMIsAAllocaInst(from) ? held_by(from) : NULL;
        if (!held || LLVMTypeOf(held) != LLVMTypeOf(v))
            break;
        v = held;
    }
    return v;
}

static LLVMValueRef stored_in(LLVMTargetDataRef layout, LLVMValueRef v,
                              int64_t at, bool *several, unsigned depth)
{
    LLVMValueRef found = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u), more = NULL;
        int64_t by = 0;
        if (is_gep(user) && depth) {
            if (!ompjit__gep_offset(layout, user, &by))
                *several = true;
            else
                more = stored_in(layout, user, at - by, several, depth - 1);
        } else if (LLVMIsAStoreInst(user) && !at &&
                   LLVMGetOperand(user, 1) == v) {
            more = LLVMGetOperand(user, 0);
        }
        *several |= more && found;
        found = more ? more : found;
    }
    return found;
}

LLVMValueRef ompjit__stored_at(LLVMTargetDataRef layout, LLVMValueRef variable,
                               int64_t at)
{
    bool several = false;
    LLVMValueRef found = stored_in(layout, variable, at, &several, 2);
    return several ? NULL : found;
}

/* ----------------------------------------------------------------- places */

static ompjit__place find(const ompjit__frame *frame, LLVMValueRef v,
                          unsigned depth);

static ompjit__place root_of(const ompjit__frame *frame, LLVMValueRef v)
{
    ompjit__place p = {.exact = true};
    if (LLVMIsAArgument(v) && frame->caller) {
        for (unsigned i = 0; i < OMPJIT__PLACE_ARGS &&
                             i < LLVMCountParams(frame->f); i++)
            if (LLVMGetParam(frame->f, i) == v)
                return frame->args[i];
        return p;
    }
    if (LLVMIsAAllocaInst(v) || LLVMIsAGlobalVariable(v) ||
        LLVMIsAArgument(v) || is_call(v))
        p.root = v;
    return p;
}

/* ------------------------------------------------------------------- kept */

static bool is_own_variable(LLVMValueRef pointer)
{
    while (is_gep(pointer))
        pointer = LLVMGetOperand(pointer, 0);
    return LLVMIsAAllocaInst(pointer);
}

static bool changes_memory(const ompjit__frame *frame, LLVMValueRef i)
{
    if (LLVMIsAStoreInst(i))
        return !is_own_variable(LLVMGetOperand(i, 1));
    if (LLVMIsAMemIntrinsic(i))
        return !is_own_variable(LLVMGetOperand(i, 0));
    if (is_call(i)) {
        ompjit__call call = ompjit__call_of(ompjit__callee_name(i));
        return call.class > OMPJIT__CALL_READS ||
               (call.calls && frame->is_given);
    }
    return LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i);
}

/* The place where a block goes on that has one way on, if no other block goes
 * there. */
static LLVMValueRef only_next(LLVMValueRef end)
{
    bool one = (LLVMIsABranchInst(end) && !LLVMIsConditional(end)) ||
               LLVMIsAInvokeInst(end);
    LLVMBasicBlockRef next = one ? LLVMGetSuccessor(end, 0) : NULL;
    LLVMUseRef u =
        next ? LLVMGetFirstUse(LLVMBasicBlockAsValue(next)) : NULL;
    return u && !LLVMGetNextUse(u) ? LLVMGetFirstInstruction(next) : NULL;
}

bool ompjit__place_is_kept(const ompjit__frame *frame, LLVMValueRef variable)
{
    enum { MOST_STEPS = 1000 };
    LLVMValueRef i = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u && !i;
         u = LLVMGetNextUse(u))
        if (LLVMIsAStoreInst(LLVMGetUser(u)) &&
            LLVMGetOperand(LLVMGetUser(u), 1) == variable)
            i = LLVMGetUser(u);
    for (int k = 0; i && frame->from && k < MOST_STEPS; k++) {
        if (i == frame->from)
            return true;
        if (changes_memory(frame, i) && k)
            return false;
        i = LLVMIsATerminatorInst(i) ? only_next(i) : LLVMGetNextInstruction(i);
    }
    return false;
}

static ompjit__place loaded_by(const ompjit__frame *frame, LLVMValueRef load,
                               unsigned depth)
{
    const ompjit__place unknown = {0};
    LLVMValueRef original = ompjit__place_original(load);
    ompjit__place held = {0};
    if (original != load)
        held = find(frame, original, depth);
    /* A pointer that has been loaded before the walk began may be another
     * pointer. */
    if (held.root && (!held.loads || frame->caller ||
                      frame->was_stored(frame->data, LLVMGetOperand(load, 0)) ||
                      (frame->resolves &&
                       ompjit__place_is_kept(frame, LLVMGetOperand(load, 0)))))
        return held;
    ompjit__place p = find(frame, LLVMGetOperand(load, 0), depth);
    if (!p.root || !p.exact || p.loads == OMPJIT__PLACE_LOADS)
        return unknown;
    p.at[++p.loads] = 0;
    return p;
}

static ompjit__place find(const ompjit__frame *frame, LLVMValueRef v,
                          unsigned depth)
{
    ompjit__place p = {0};
    if (!depth)
        return p;
    if (is_cast(v))
        return find(frame, LLVMGetOperand(v, 0), depth - 1);
    if (LLVMIsALoadInst(v))
        return loaded_by(frame, v, depth - 1);
    if (!is_gep(v))
        return root_of(frame, v);
    p = find(frame, LLVMGetOperand(v, 0), depth - 1);
    p.exact = p.exact && ompjit__gep_offset(frame->layout, v, &p.at[p.loads]);
    return p;
}

ompjit__place ompjit__place_of(const ompjit__frame *frame, LLVMValueRef pointer)
{
    return find(frame, pointer, 4 * DEEP);
}
