/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls of the checker (device/check/engine.c) in the program's own code, on
 * the host device: before each access to memory, which then goes to the address
 * that the call returns; around locks, atomics and fences; before each call
 * through a pointer; where each kernel begins and ends. Accesses to a thread's
 * own variables need none.
 *
 * Requires retargeted IR (backend/host/lower.c) without the runtime, whose code
 * is not checked, and variables in registers where they can be: the pass sroa
 * before, nothing else, so that accesses are those of the source.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

#include "abi/host_layout.h"
#include "abi/offload.h"
#include "passes/host/host.h"
#include "passes/host/instrument.h"

/* ---------------------------------------------------------------- calls */

enum { ARGS = 3 };

/* A call at the builder's place, with the instruction's own line. */
static LLVMValueRef call(struct instrument *s, const char *name,
                         LLVMTypeRef result, LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef types[ARGS];
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, n, 0);
    LLVMValueRef f = LLVMGetNamedFunction(s->m, name);
    if (!f)
        f = LLVMAddFunction(s->m, name, type);
    LLVMValueRef made = LLVMBuildCall2(s->b, type, f, args, n, "");
    LLVMInstructionSetDebugLoc(made, s->place);
    return made;
}

/* The pointer in the address space of the checker's parameters. */
static LLVMValueRef flat(struct instrument *s, LLVMValueRef p)
{
    if (!LLVMGetPointerAddressSpace(LLVMTypeOf(p)))
        return p;
    LLVMValueRef cast = LLVMBuildAddrSpaceCast(s->b, p, s->pointer, "");
    if (LLVMIsAInstruction(cast))
        LLVMInstructionSetDebugLoc(cast, s->place);
    return cast;
}

/* A call of void name(ptr). */
static void call_with(struct instrument *s, const char *name, LLVMValueRef p)
{
    p = flat(s, p);
    call(s, name, s->nothing, &p, 1);
}

/* The next calls stand before the instruction, and have its line. */
static void before(struct instrument *s, LLVMValueRef i)
{
    LLVMPositionBuilderBefore(s->b, i);
    s->place = LLVMInstructionGetDebugLoc(i);
}

/* Not for the last of a block. */
static void after(struct instrument *s, LLVMValueRef i)
{
    LLVMPositionBuilderBefore(s->b, LLVMGetNextInstruction(i));
    s->place = LLVMInstructionGetDebugLoc(i);
}

/* ---------------------------------------------------------------- sites */

LLVMValueRef ompjit__check_text(struct instrument *s, const char *data,
                                size_t n)
{
    LLVMValueRef value = LLVMConstStringInContext2(s->c, data, n, 0);
    LLVMValueRef g =
        LLVMAddGlobal(s->m, LLVMTypeOf(value), "ompjit.check.text");
    LLVMSetInitializer(g, value);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    return g;
}

/* The origin of a pointer, as far as the function tells. */
static LLVMValueRef origin(LLVMValueRef p)
{
    while (LLVMIsAGetElementPtrInst(p) || LLVMIsABitCastInst(p) ||
           LLVMIsAAddrSpaceCastInst(p) ||
           (LLVMIsAConstantExpr(p) && LLVMGetNumOperands(p)))
        p = LLVMGetOperand(p, 0);
    return p;
}

/* The source's name of a pointer that the function was given, or of a variable
 * that the team shares: clang names arguments and storage so. */
static const char *variable_name(LLVMValueRef p)
{
    LLVMValueRef from = origin(p);
    LLVMValueRef callee =
        LLVMIsACallInst(from) ? LLVMGetCalledValue(from) : NULL;
    bool shared = callee && LLVMIsAFunction(callee) &&
                  !strcmp(name_of(callee), "__kmpc_alloc_shared");
    if (!shared && !LLVMIsAArgument(from) && !LLVMIsAGlobalVariable(from))
        return "";
    const char *name = name_of(from);
    return strchr(name, '.') ? "" : name;
}

/* A constant ompjit__site for the instruction's access to p. */
static LLVMValueRef make_site(struct instrument *s, LLVMValueRef i,
                              LLVMValueRef p, uint64_t size, unsigned flags)
{
    unsigned length = 0;
    const char *file = NULL;
    unsigned line = s->place ? LLVMGetDebugLocLine(i) : 0;
    unsigned column = s->place ? LLVMGetDebugLocColumn(i) : 0;
    if (line)
        file = LLVMGetDebugLocFilename(i, &length);
    const char *function = name_of(s->f), *variable = variable_name(p);
    LLVMValueRef members[] = {
        ompjit__check_text(s, file ? file : "", file ? length : 0),
        ompjit__check_text(s, function, strlen(function)),
        ompjit__check_text(s, variable, strlen(variable)),
        LLVMConstInt(s->i32, line, 0),
        LLVMConstInt(s->i32, column, 0),
        LLVMConstInt(s->i32, size, 0),
        LLVMConstInt(s->i32, flags, 0),
    };
    LLVMValueRef value = LLVMConstNamedStruct(s->site, members,
                                              OMPJIT__COUNT(members));
    LLVMValueRef g = LLVMAddGlobal(s->m, s->site, "ompjit.check.site");
    LLVMSetInitializer(g, value);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    return g;
}

/* ------------------------------------------------------------- accesses */

enum { SHARED_SPACE = 3 };

/* Storage of all threads that clang 22 gives a private variable with an
 * `allocate` clause: a variable without a value, which no source can have. A
 * fault there is not the program's. */
static bool is_stand_in(LLVMValueRef from)
{
    LLVMValueRef value =
        LLVMIsAGlobalVariable(from) ? LLVMGetInitializer(from) : NULL;
    return value && LLVMIsUndef(value) &&
           LLVMGetPointerAddressSpace(LLVMTypeOf(from)) != SHARED_SPACE;
}

/* The runtime's, or the table that it leads to (passes/indirect_calls.c). */
static bool is_environment(LLVMValueRef from)
{
    if (LLVMIsALoadInst(from))
        from = origin(LLVMGetOperand(from, 0));
    return LLVMIsAGlobalVariable(from) &&
           !strcmp(name_of(from), OMPJIT__DEVICE_ENVIRONMENT);
}

/* A variable of the thread's own, maybe a part of it, or the runtime's. */
static bool is_own(LLVMValueRef p)
{
    LLVMValueRef from = origin(p);
    return LLVMIsAAllocaInst(from) || is_stand_in(from) || is_environment(from);
}

/* A promise about a value that is read does not hold for the 0 that a
 * wrong access reads. */
static void drop_promises(struct instrument *s, LLVMValueRef i)
{
    static const char *const kinds[] = {
        "nonnull", "dereferenceable", "dereferenceable_or_null", "align",
        "range", "noundef", "invariant.load", "invariant.group"};
    for (size_t k = 0; k < OMPJIT__COUNT(kinds); k++)
        LLVMSetMetadata(i,
                        LLVMGetMDKindIDInContext(s->c, kinds[k],
                                                 (unsigned)strlen(kinds[k])),
                        NULL);
}

/* Operand `k` of the instruction, an address where `bytes` (NULL: `size`) are
 * accessed:
 *
 *     %to = call ptr @ompjit_check_access(ptr %p, ptr @site)
 *     %v = load i32, ptr %to                  was: load i32, ptr %p
 *
 * The checker answers with another address where the access would be wrong, so
 * that the kernel can go on. */
static void check(struct instrument *s, LLVMValueRef i, unsigned k,
                  uint64_t size, LLVMValueRef bytes, unsigned flags)
{
    LLVMValueRef p = LLVMGetOperand(i, k);
    LLVMTypeRef type = LLVMTypeOf(p);
    if (is_own(p))
        return;
    before(s, i);
    LLVMValueRef args[ARGS] = {flat(s, p), make_site(s, i, p, size, flags)};
    if (bytes)
        args[2] = LLVMBuildZExt(s->b, bytes, s->i64, "");
    LLVMValueRef to =
        call(s, bytes ? "ompjit_check_range" : "ompjit_check_access",
             s->pointer, args, bytes ? 3 : 2);
    if (type != s->pointer)
        to = LLVMBuildAddrSpaceCast(s->b, to, type, "");
    LLVMSetOperand(i, k, to);
}

/* The bytes that an access of the type reads or writes. */
static uint64_t size_of(struct instrument *s, LLVMTypeRef type)
{
    return LLVMStoreSizeOfType(s->layout, type);
}

/* Others may see what the thread did before, and it what they did: to the race
 * detector an atomic access of any ordering is a release and an acquire of its
 * address, so that nothing is reported which a program may rely on. */
static void check_atomic(struct instrument *s, LLVMValueRef i, unsigned k,
                         uint64_t size, unsigned flags)
{
    LLVMValueRef p = LLVMGetOperand(i, k);
    if (is_own(p))
        return;
    before(s, i);
    call_with(s, "ompjit_check_release", p);
    check(s, i, k, size, NULL, flags | OMPJIT__SITE_ATOMIC);
    after(s, i);
    call_with(s, "ompjit_check_acquire", p);
}

/* A load or a store. A volatile one counts as atomic: it is how programs wait
 * for each other without OpenMP's means. */
static void check_plain(struct instrument *s, LLVMValueRef i, unsigned k,
                        LLVMTypeRef type, unsigned flags)
{
    uint64_t size = size_of(s, type);
    if (LLVMGetVolatile(i) || LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic)
        check_atomic(s, i, k, size, flags);
    else
        check(s, i, k, size, NULL, flags);
}

/* ------------------------------------------------------------ functions */

enum effect { ACQUIRES, RELEASES, FENCES, EVENTS, ALLOCATES };

/* The functions that order threads, by the number of the argument that is the
 * lock, or where there are tasks with events; those that allocate, by that of
 * the size. */
static const struct {
    const char *name;
    enum effect effect;
    unsigned argument;
} known[] = {
    {"__kmpc_critical", ACQUIRES, 2},
    {"__kmpc_critical_with_hint", ACQUIRES, 2},
    {"__kmpc_end_critical", RELEASES, 2},
    {"__kmpc_reduce", ACQUIRES, 6},
    {"__kmpc_reduce_nowait", ACQUIRES, 6},
    {"__kmpc_end_reduce", RELEASES, 2},
    {"__kmpc_end_reduce_nowait", RELEASES, 2},
    {"omp_set_lock", ACQUIRES, 0},
    {"omp_test_lock", ACQUIRES, 0},
    {"omp_unset_lock", RELEASES, 0},
    {"omp_set_nest_lock", ACQUIRES, 0},
    {"omp_test_nest_lock", ACQUIRES, 0},
    {"omp_unset_nest_lock", RELEASES, 0},
    {"__kmpc_ordered", FENCES, 0},
    {"__kmpc_end_ordered", FENCES, 0},
    {"__kmpc_flush", FENCES, 0},
    {"__kmpc_doacross_post", FENCES, 0},
    {"__kmpc_doacross_wait", FENCES, 0},
    {"omp_fulfill_event", EVENTS, 0},
    {"__kmpc_omp_taskwait", EVENTS, 0},
    {"__kmpc_omp_taskwait_deps_51", EVENTS, 0},
    {"__kmpc_omp_wait_deps", EVENTS, 0},
    {"__kmpc_end_taskgroup", EVENTS, 0},
    {"ompjit_nvvm_membar_cta", FENCES, 0},
    {"ompjit_nvvm_membar_gl", FENCES, 0},
    {"ompjit_nvvm_membar_sys", FENCES, 0},
    {"__kmpc_alloc_shared", ALLOCATES, 0},
};

/* A fence releases and acquires no address in particular. */
static void check_fence(struct instrument *s, LLVMValueRef i)
{
    before(s, i);
    call_with(s, "ompjit_check_release", LLVMConstNull(s->pointer));
    after(s, i);
    call_with(s, "ompjit_check_acquire", LLVMConstNull(s->pointer));
}

/* Does the module make tasks whose end somebody else decides? Only then does
 * waiting for tasks order threads: all others are over when they are made. */
static bool has_events(LLVMValueRef call)
{
    LLVMModuleRef m = LLVMGetGlobalParent(LLVMGetCalledValue(call));
    return LLVMGetNamedFunction(m, "__kmpc_task_allow_completion_event");
}

/* A call of a function of the table. */
static void check_known(struct instrument *s, LLVMValueRef i, const char *name)
{
    size_t k = 0;
    while (k < OMPJIT__COUNT(known) && strcmp(known[k].name, name))
        k++;
    if (k == OMPJIT__COUNT(known) ||
        known[k].argument >= LLVMGetNumArgOperands(i))
        return;
    LLVMValueRef argument =
        LLVMGetNumArgOperands(i) ? LLVMGetOperand(i, known[k].argument) : NULL;
    switch (known[k].effect) {
    case ACQUIRES:
        after(s, i);
        call_with(s, "ompjit_check_acquire", argument);
        break;
    case RELEASES:
        before(s, i);
        call_with(s, "ompjit_check_release", argument);
        break;
    case FENCES:
        check_fence(s, i);
        break;
    case EVENTS:
        if (has_events(i))
            check_fence(s, i);
        break;
    case ALLOCATES:
        after(s, i);
        call(s, "ompjit_check_local", s->nothing,
             (LLVMValueRef[]){i, argument}, 2);
        break;
    }
}

/* A function that is not checked may write where its arguments point. */
static void give_pointers(struct instrument *s, LLVMValueRef i,
                          const char *given)
{
    for (unsigned k = 0; k < LLVMGetNumArgOperands(i); k++) {
        LLVMValueRef argument = LLVMGetOperand(i, k);
        if (LLVMGetTypeKind(LLVMTypeOf(argument)) != LLVMPointerTypeKind ||
            is_own(argument) || LLVMIsAConstant(argument))
            continue;
        after(s, i);
        call_with(s, given, argument);
    }
}

/* Calls another function instead where it is none of the device's. */
static void check_pointer_call(struct instrument *s, LLVMValueRef i)
{
    LLVMValueRef callee = LLVMGetCalledValue(i);
    if (LLVMIsAInlineAsm(callee) || LLVMIsAConstant(callee))
        return;
    before(s, i);
    LLVMValueRef args[] = {flat(s, callee),
                           make_site(s, i, callee, 0, OMPJIT__SITE_CALL)};
    LLVMSetOperand(i, (unsigned)LLVMGetNumOperands(i) - 1,
                   call(s, "ompjit_check_call", s->pointer, args, 2));
}

static void check_call(struct instrument *s, LLVMValueRef i)
{
    LLVMValueRef callee = LLVMGetCalledValue(i);
    if (!LLVMIsAFunction(callee)) {
        check_pointer_call(s, i);
        return;
    }
    const char *name = name_of(callee);
    bool copies =
        starts_with(name, "llvm.memcpy.") || !strcmp(name, "memcpy") ||
        starts_with(name, "llvm.memmove.") || !strcmp(name, "memmove");
    bool sets = starts_with(name, "llvm.memset.") || !strcmp(name, "memset");
    if (!copies && !sets) {
        check_known(s, i, name);
        if (!LLVMIsDeclaration(callee) || starts_with(name, "llvm.") ||
            starts_with(name, "ompjit_") || !strcmp(name, "__kmpc_free_shared"))
            return;
        give_pointers(s, i, starts_with(name, "__kmpc_")
                                ? "ompjit_check_given_local"
                                : "ompjit_check_given");
        return;
    }
    LLVMValueRef bytes = LLVMGetOperand(i, 2);
    if (copies)
        check(s, i, 1, 0, bytes, 0);
    check(s, i, 0, 0, bytes, OMPJIT__SITE_WRITE);
}

static void check_instruction(struct instrument *s, LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
        check_plain(s, i, 0, LLVMTypeOf(i), 0);
        drop_promises(s, i);
        break;
    case LLVMStore:
        check_plain(s, i, 1, LLVMTypeOf(LLVMGetOperand(i, 0)),
                    OMPJIT__SITE_WRITE);
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        check_atomic(s, i, 0, size_of(s, LLVMTypeOf(LLVMGetOperand(i, 1))),
                     OMPJIT__SITE_WRITE);
        break;
    case LLVMFence:
        check_fence(s, i);
        break;
    case LLVMCall:
        check_call(s, i);
        break;
    default:
        break;
    }
}

/* Functions that clang makes for reductions move private values only, in step
 * with the runtime. */
static bool is_generated(const char *name)
{
    return starts_with(name, "_omp_reduction_");
}

/* Calls that are added before or behind an instruction are not looked at. */
static void check_function(struct instrument *s, LLVMValueRef f)
{
    s->f = f;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb;
         bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            check_instruction(s, i);
        }
}

/* -------------------------------------------------------------- kernels */

/* Is it the name of an entry that retargeting has added? */
static bool is_entry(const char *name)
{
    size_t n = strlen(name);
    size_t suffix = strlen(OMPJIT__ENTRY_SUFFIX);
    return n > suffix && !strcmp(name + n - suffix, OMPJIT__ENTRY_SUFFIX);
}

/* The entry calls the kernel and nothing else: its frame is where the thread's
 * part of the stack begins, in which it may access what it likes. */
static void wrap_entry(struct instrument *s, LLVMValueRef f)
{
    unsigned id = LLVMLookupIntrinsicID("llvm.frameaddress", 17);
    LLVMBasicBlockRef block = LLVMGetEntryBasicBlock(f);
    s->place = NULL;
    LLVMPositionBuilderBefore(s->b, LLVMGetFirstInstruction(block));
    LLVMTypeRef type = LLVMIntrinsicGetType(s->c, id, &s->pointer, 1);
    LLVMValueRef get =
        LLVMGetIntrinsicDeclaration(s->m, id, &s->pointer, 1);
    LLVMValueRef zero = LLVMConstInt(s->i32, 0, 0);
    LLVMValueRef frame = LLVMBuildCall2(s->b, type, get, &zero, 1, "");
    call(s, "ompjit_check_enter", s->nothing, &frame, 1);
    LLVMPositionBuilderBefore(s->b, LLVMGetBasicBlockTerminator(block));
    call(s, "ompjit_check_leave", s->nothing, NULL, 0);
}

/* --------------------------------------------------------------- module */

/* The builder is the caller's to dispose. */
static void open(struct instrument *s, LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    *s = (struct instrument){
        .m = m,
        .c = c,
        .b = LLVMCreateBuilderInContext(c),
        .layout = LLVMGetModuleDataLayout(m),
        .pointer = LLVMPointerTypeInContext(c, 0),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
        .nothing = LLVMVoidTypeInContext(c),
    };
    LLVMTypeRef members[] = {s->pointer, s->pointer, s->pointer, s->i32,
                             s->i32,     s->i32,     s->i32};
    s->site = LLVMStructCreateNamed(c, "ompjit.check.site");
    LLVMStructSetBody(s->site, members, OMPJIT__COUNT(members), 0);
}

ompjit_status ompjit__instrument(LLVMModuleRef m, ompjit_error *err)
{
    struct instrument s;
    open(&s, m);
    ompjit_status status = ompjit__check_tables(&s, err);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f && !status;
         f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || is_generated(name_of(f)))
            continue;
        if (is_entry(name_of(f)))
            wrap_entry(&s, f);
        else
            check_function(&s, f);
    }
    LLVMDisposeBuilder(s.b);
    return status;
}
