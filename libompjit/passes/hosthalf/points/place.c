/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Places in unoptimized host code. Each variable of the source is a local one
 * of the function there, and clang passes maps to the runtime in local arrays.
 *
 *   void f(double *p) { ... map(p[:4]) ... }     becomes
 *
 *   %p.addr = alloca ptr
 *   %bases = alloca [1 x ptr]
 *   %begins = alloca [1 x ptr]
 *   store ptr %p, ptr %p.addr
 *   %0 = load ptr, ptr %p.addr
 *   %b = getelementptr inbounds double, ptr %0, i64 0
 *   %1 = getelementptr [1 x ptr], ptr %begins, i32 0, i32 0
 *   store ptr %b, ptr %1
 *   call void @__tgt_target_data_begin_mapper(..., %bases, %begins, ...)
 *
 * p is never assigned, so %p.addr has one store, and the load stands for %p
 * itself (ompjit__place_original). That is all that optimization would do here;
 * after more of it, the maps' arrays could not be read any more.
 */
#include <string.h>

#include "passes/hosthalf/points/call.h"
#include "passes/hosthalf/points/place.h"

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

/* Does it call, as an instruction that may throw (invoke) or not? */
static bool is_call(LLVMValueRef v)
{
    return LLVMIsACallInst(v) || LLVMIsAInvokeInst(v);
}

static bool is_number(LLVMValueRef v, int64_t number)
{
    return LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == number;
}

/* Does it change a pointer's type only? */
static bool is_cast(LLVMValueRef v)
{
    return LLVMIsABitCastInst(v) || LLVMIsAAddrSpaceCastInst(v) ||
           (LLVMIsAConstantExpr(v) &&
            (LLVMGetConstOpcode(v) == LLVMBitCast ||
             LLVMGetConstOpcode(v) == LLVMAddrSpaceCast));
}

/* Is it pointer arithmetic, as an instruction or in a constant? */
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

/* True for accesses by type: an access as char is none. The tag of !tbaa is
 * { base type, access type, offset }, and a type's first operand its name. A
 * tag of another shape says nothing. */
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

/* Numbers of more than 8 bits: one of 8 may be a char, which may access
 * anything. */
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

/* The first index counts whole source elements; each further one steps into the
 * type: a struct's field or an array's element. */
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

/* Does the call only tell LLVM about a variable? */
static bool is_marker(LLVMValueRef call)
{
    const char *name = ompjit__callee_name(call);
    return !strncmp(name, "llvm.lifetime.", 14) ||
           !strncmp(name, "llvm.dbg.", 9);
}

/* May a map's array be given to it? Copies are among them: clang initializes
 * arrays of constant pointers and sizes by llvm.memcpy. */
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

/* Is the array's address only stored to, passed to the runtime and put into the
 * block of a kernel's arguments? Nobody else finds the pointers in it then. */
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

/* Is the variable's address stored as a base only? clang does so for a pointer
 * that the runtime attaches: it looks the address up, and writes to the copy of
 * the variable on the device. */
static bool is_base(LLVMValueRef store, LLVMValueRef v)
{
    LLVMValueRef to = LLVMGetOperand(store, 1);
    while (is_gep(to))
        to = LLVMGetOperand(to, 0);
    return is_mapped_by(store, v) && holds_bases(to, 1);
}

/* clang's code for a region is
 *
 *   %r = call i32 @__tgt_target_kernel(...)
 *   %failed = icmp ne i32 %r, 0
 *   br i1 %failed, label %omp_offload.failed, label %omp_offload.cont
 */
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

/* A comparison, a copy of its contents or a store into it leave the address
 * where it is. All other uses count: the address in another variable, as an
 * argument, as a number, or more than `depth` GEPs away. */
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

/* The value of a variable that is stored once, whole, and loaded; NULL: none.
 * A use of its address that may be a store of another function's ends it. The
 * one store is taken to come before all loads, as C asks for. */
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

/* The value that is stored `at` bytes behind v. Uses are searched, not code: it
 * does not matter where the store stands, as clang fills an array once for each
 * call. A GEP that is not constant may be anything (`several`). */
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

/* Makes the place of a value that cannot be traced further. An inner function's
 * parameter is the place that its caller has found for the argument. Values of
 * other kinds, such as phis and integers, have no root. */
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

/* Is it an address in one of the function's own variables? */
static bool is_own_variable(LLVMValueRef pointer)
{
    while (is_gep(pointer))
        pointer = LLVMGetOperand(pointer, 0);
    return LLVMIsAAllocaInst(pointer);
}

/* May the instruction write anything but a variable of its own function, to
 * which it writes by name? */
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

/* Follows the only way from the variable's store to frame->from. A branch or a
 * write on it ends the search, and the answer is no. */
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

/* The place that a loaded pointer leads to: that of the value which the
 * variable always has, or one load further on from the variable itself. */
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

/* Casts are passed over, loads and offsets added up. `depth` bounds the search;
 * beyond it nothing is known. */
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
