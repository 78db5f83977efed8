/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * GPU-form IR for this machine's CPU.
 *
 * Before the runtime is linked (ompjit__host_retarget): triple, data layout and
 * calling conventions are the host's, NVVM intrinsics become calls of the host
 * runtime, and each kernel gets an entry `<symbol>.entry(void **args)` that the
 * engine calls once for each thread of a team. Address spaces stay: all of them
 * are the flat one to a CPU's back end.
 *
 * After optimization (ompjit__host_finish): what is left of the team-shared
 * variables (address space 3) becomes offsets into the block of memory that
 * the engine gives each team. That is done last because until then LLVM may
 * treat them as the globals they are on a GPU, and remove them.
 */
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

#include "backend/host/host.h"
#include "llvm/llvm.h"
#include "abi/host_layout.h"
#include "passes/passes.h"
#include "passes/execution/execution.h"
#include "passes/loops/loops.h"

enum { SHARED_SPACE = 3, SHARED_ALIGN = 16 };
/* Bytes of a team's variables: rounded up they still are 32 bits. */
static const uint64_t MOST_SHARED = UINT32_MAX - (SHARED_ALIGN - 1);

/* Intrinsics, and the functions of the host runtime that do their work. */
static const struct {
    const char *intrinsic, *function;
} nvvm_host[] = {
#define NVVM_HOST(intrinsic, function) {intrinsic, function},
#include "backend/host/nvvm.def"
#undef NVVM_HOST
};

/* ------------------------------------------------------------- retarget */

/* The module's triple and layout decide about sizes and alignments from here
 * on: all passes behind this one work at host code. */
static void set_target(LLVMModuleRef m, LLVMTargetMachineRef tm)
{
    char *triple = LLVMGetTargetMachineTriple(tm);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
    LLVMSetTarget(m, triple);
    LLVMSetModuleDataLayout(m, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
}

/* An intrinsic without a row of nvvm.def has no meaning on a CPU: an error
 * here, rather than LLVM's when code is generated. */
static ompjit_status lower_intrinsic(LLVMModuleRef m, LLVMValueRef f,
                                     const char *name, ompjit_error *err)
{
    for (size_t i = 0; i < OMPJIT__COUNT(nvvm_host); i++) {
        if (strcmp(nvvm_host[i].intrinsic, name))
            continue;
        LLVMTypeRef type = LLVMGlobalGetValueType(f);
        LLVMValueRef to = LLVMGetNamedFunction(m, nvvm_host[i].function);
        if (!to)
            to = LLVMAddFunction(m, nvvm_host[i].function, type);
        LLVMReplaceAllUsesWith(f, to);
        LLVMDeleteFunction(f);
        return OMPJIT_OK;
    }
    return ompjit__fail(err, OMPJIT_ERR_COMPILE, OMPJIT_STAGE_CODEGEN,
                        "intrinsic %s has no counterpart on the host device",
                        name);
}

/* openmp-opt's state machine keeps the last warp of a generic kernel for its
 * main thread, by a subtraction; here that one works with the others, and all
 * are workers. */
static void no_main_warp(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, "__kmpc_get_warp_size");
    for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        LLVMUseRef its = LLVMIsACallInst(call) ? LLVMGetFirstUse(call) : NULL;
        LLVMValueRef user = its ? LLVMGetUser(its) : NULL;
        if (user && LLVMIsABinaryOperator(user) &&
            LLVMGetInstructionOpcode(user) == LLVMSub &&
            LLVMGetOperand(user, 1) == call)
            LLVMSetOperand(user, 1, LLVMConstInt(LLVMTypeOf(call), 0, 0));
    }
}

/* A function attribute "key"="value". */
static void add_string(LLVMValueRef f, const char *key, const char *value)
{
    LLVMContextRef c = LLVMGetModuleContext(LLVMGetGlobalParent(f));
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(c, key, (unsigned)strlen(key), value,
                                  (unsigned)strlen(value)));
}

/* Has it values of types larger than what stacks are aligned to? */
static bool has_wide_vectors(LLVMValueRef f)
{
    enum { STACK_ALIGN = 16 };
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(LLVMGetGlobalParent(f));
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb;
         bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i;
             i = LLVMGetNextInstruction(i)) {
            LLVMTypeRef type = LLVMTypeOf(i);
            if (LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
                LLVMABISizeOfType(layout, type) > STACK_ALIGN)
                return true;
        }
    return false;
}

/* The attribute for this does not hold for memset and its kin. */
static void forbid_tail_calls(LLVMValueRef f)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb;
         bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMIsACallInst(i) &&
                LLVMGetTailCallKind(i) == LLVMTailCallKindTail)
                LLVMSetTailCallKind(i, LLVMTailCallKindNone);
}

/* Frames larger than a page are touched page by page, so that a stack that ends
 * is met at its end (device/engine/fault.c), and not passed by. No function is
 * jumped to in place of a call: where memset faults, the place that it returns
 * to tells whose fault it is. LLVM decides before it spills whether a frame can
 * be aligned, and spilled vectors lie across cache lines otherwise, by the
 * chance of where the stack begins. */
static void prepare_frames(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        add_string(f, "probe-stack", "inline-asm");
        forbid_tail_calls(f);
        if (has_wide_vectors(f))
            add_string(f, "stackrealign", "");
    }
}

/* void <symbol>.entry(ptr args): args[i] points at the value of parameter i. */
static void add_entry(LLVMModuleRef m, LLVMValueRef kernel)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(c, 0);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c);
    size_t length;
    const char *symbol = LLVMGetValueName2(kernel, &length);
    char *name = ompjit__format("%s.entry", symbol);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(c), &pointer, 1, 0);
    LLVMValueRef entry = LLVMAddFunction(m, name ? name : "entry", type);
    free(name);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, entry, ""));
    unsigned n = LLVMCountParams(kernel);
    LLVMValueRef args[n ? n : 1];
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef index = LLVMConstInt(i64, i, 0);
        LLVMValueRef slot = LLVMBuildInBoundsGEP2(
            b, pointer, LLVMGetParam(entry, 0), &index, 1, "");
        LLVMValueRef at = LLVMBuildLoad2(b, pointer, slot, "");
        args[i] =
            LLVMBuildLoad2(b, LLVMTypeOf(LLVMGetParam(kernel, i)), at, "");
    }
    LLVMValueRef call = LLVMBuildCall2(b, LLVMGlobalGetValueType(kernel),
                                       kernel, args, n, "");
    ompjit__entry_lines(kernel, entry, call);
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
    LLVMSetLinkage(kernel, LLVMInternalLinkage);
}

ompjit_status ompjit__host_retarget(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                    bool chunk_is_default, ompjit_error *err)
{
    set_target(m, tm);
    ompjit__place_declarations_anywhere(m);
    ompjit__drop_openmp_flags(m);
    LLVMValueRef next;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = next) {
        next = LLVMGetNextFunction(f);
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);
        if (!strncmp(name, "llvm.nvvm.", 10) || !strcmp(name, "llvm.trap") ||
            !strcmp(name, "llvm.debugtrap")) {
            ompjit_status status = lower_intrinsic(m, f, name, err);
            if (status)
                return status;
        } else if (LLVMGetFunctionCallConv(f) == LLVMPTXKernelCallConv) {
            LLVMSetFunctionCallConv(f, LLVMCCallConv);
            LLVMSetVisibility(f, LLVMDefaultVisibility);
            add_entry(m, f);
        }
    }
    ompjit__block_loops(m, chunk_is_default);
    ompjit__drop_turns(m);
    no_main_warp(m);
    return OMPJIT_OK;
}

/* --------------------------------------------------------------- finish */

/* The offset of each team-shared variable in the team's block. */
struct shared {
    LLVMModuleRef m;
    LLVMContextRef c;
    LLVMTargetDataRef layout;
    LLVMTypeRef self_type;
    LLVMValueRef self; /* ompjit_host_self                                */
    struct place {
        LLVMValueRef global;
        uint64_t offset;
        bool dynamic; /* a declaration: the launch's dynamic memory       */
    } *places;
    size_t n;
    uint64_t size; /* of the block, bytes                                 */
    LLVMBuilderRef b;
    LLVMValueRef block, dynamic; /* of the function at hand; NULL: not yet */
    LLVMValueRef function;
};

/* The engine is told the block's size as 32 bits. */
static ompjit_status too_large(LLVMValueRef g, uint64_t bytes,
                               ompjit_error *err)
{
    size_t length;
    return ompjit__fail(err, OMPJIT_ERR_COMPILE, OMPJIT_STAGE_CODEGEN,
                        "the team-shared variable %s has %llu bytes; all of a "
                        "kernel's may have 4 GiB less 16 bytes",
                        LLVMGetValueName2(g, &length),
                        (unsigned long long)bytes);
}

/* Fills `places` and `size`. Each variable's offset is a multiple of its
 * alignment, and the block's size one of the alignment that blocks have. */
static ompjit_status place_globals(struct shared *s, ompjit_error *err)
{
    size_t capacity = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(s->m); g;
         g = LLVMGetNextGlobal(g)) {
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) != SHARED_SPACE)
            continue;
        if (s->n == capacity) {
            capacity = capacity ? capacity * 2 : 8;
            void *p = realloc(s->places, capacity * sizeof *s->places);
            if (!p)
                return ompjit__no_memory(err, OMPJIT_STAGE_CODEGEN);
            s->places = p;
        }
        LLVMTypeRef type = LLVMGlobalGetValueType(g);
        struct place *place = &s->places[s->n++];
        *place = (struct place){g, 0, LLVMIsDeclaration(g)};
        if (place->dynamic)
            continue;
        uint64_t align = LLVMGetAlignment(g);
        if (align < LLVMABIAlignmentOfType(s->layout, type))
            align = LLVMABIAlignmentOfType(s->layout, type);
        uint64_t bytes = LLVMABISizeOfType(s->layout, type);
        place->offset = (s->size + align - 1) / align * align;
        if (place->offset > MOST_SHARED || bytes > MOST_SHARED - place->offset)
            return too_large(g, bytes, err);
        s->size = place->offset + bytes;
    }
    s->size = (s->size + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
    return OMPJIT_OK;
}

/* NULL: the value is no team-shared variable. */
static struct place *find_place(struct shared *s, LLVMValueRef v)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->places[i].global == v)
            return &s->places[i];
    return NULL;
}

/* Does a constant contain a team-shared variable's address? */
static bool uses_shared(struct shared *s, LLVMValueRef v)
{
    if (!LLVMIsAConstant(v))
        return false;
    if (LLVMIsAGlobalValue(v))
        return find_place(s, v) != NULL;
    int n = LLVMGetNumOperands(v);
    for (int i = 0; i < n; i++)
        if (uses_shared(s, LLVMGetOperand(v, (unsigned)i)))
            return true;
    return false;
}

/* The pointer that ompjit_host_thread holds at `member`, loaded once in the
 * function's entry block. */
static LLVMValueRef team_pointer(struct shared *s, uint64_t member,
                                 LLVMValueRef *cache)
{
    if (*cache)
        return *cache;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(s->c);
    LLVMBasicBlockRef first = LLVMGetEntryBasicBlock(s->function);
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(first));
    LLVMValueRef thread =
        LLVMBuildCall2(b, s->self_type, s->self, NULL, 0, "");
    LLVMValueRef offset =
        LLVMConstInt(LLVMInt64TypeInContext(s->c), member, 0);
    LLVMValueRef slot = LLVMBuildInBoundsGEP2(
        b, LLVMInt8TypeInContext(s->c), thread, &offset, 1, "");
    LLVMValueRef pointer =
        LLVMBuildLoad2(b, LLVMPointerTypeInContext(s->c, 0), slot, "");
    *cache = LLVMBuildAddrSpaceCast(
        b, pointer, LLVMPointerTypeInContext(s->c, SHARED_SPACE), "team");
    LLVMDisposeBuilder(b);
    return *cache;
}

/* The variable's address in the team's block, at the builder's place:
 *
 *   %self = call ptr @ompjit_host_self()            once in the function
 *   %block = load ptr, ptr (%self + SHARED_OFFSET)  once
 *   %s = getelementptr i8, ptr %block, i64 OFFSET   was: @s
 */
static LLVMValueRef build_place(struct shared *s, const struct place *place)
{
    if (place->dynamic)
        return team_pointer(s, OMPJIT__HOST_DYNAMIC_OFFSET, &s->dynamic);
    LLVMValueRef base =
        team_pointer(s, OMPJIT__HOST_SHARED_OFFSET, &s->block);
    LLVMValueRef offset =
        LLVMConstInt(LLVMInt64TypeInContext(s->c), place->offset, 0);
    return LLVMBuildInBoundsGEP2(s->b, LLVMInt8TypeInContext(s->c), base,
                                 &offset, 1, "");
}

/* A constant as instructions at the builder's place. */
static LLVMValueRef build_constant(struct shared *s, LLVMValueRef v)
{
    if (!uses_shared(s, v))
        return v;
    struct place *place = find_place(s, v);
    if (place)
        return build_place(s, place);
    unsigned n = (unsigned)LLVMGetNumOperands(v);
    LLVMValueRef ops[n ? n : 1];
    for (unsigned i = 0; i < n; i++)
        ops[i] = build_constant(s, LLVMGetOperand(v, i));
    LLVMTypeRef type = LLVMTypeOf(v);
    if (!LLVMIsAConstantExpr(v)) { /* struct, array or vector */
        LLVMValueRef whole = LLVMGetUndef(type);
        bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
        for (unsigned i = 0; i < n; i++)
            whole = vector ? LLVMBuildInsertElement(
                                 s->b, whole, ops[i],
                                 LLVMConstInt(LLVMInt32TypeInContext(s->c), i, 0),
                                 "")
                           : LLVMBuildInsertValue(s->b, whole, ops[i], i, "");
        return whole;
    }
    switch (LLVMGetConstOpcode(v)) {
    case LLVMGetElementPtr:
        return LLVMBuildGEP2(s->b, LLVMGetGEPSourceElementType(v), ops[0],
                             ops + 1, n - 1, "");
    case LLVMAdd:
    case LLVMSub:
    case LLVMXor:
        return LLVMBuildBinOp(s->b, LLVMGetConstOpcode(v), ops[0], ops[1], "");
    default:
        return LLVMBuildCast(s->b, LLVMGetConstOpcode(v), ops[0], type, "");
    }
}

/* A phi that names a block twice must give it the same value both times: the
 * operand that was already built for the block, or NULL. */
static LLVMValueRef built_for_block(LLVMValueRef phi, unsigned operand)
{
    LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, operand);
    for (unsigned k = 0; k < operand; k++)
        if (LLVMGetIncomingBlock(phi, k) == from)
            return LLVMGetOperand(phi, k);
    return NULL;
}

/* A phi's operand is built at the end of the block it comes from. */
static void position(struct shared *s, LLVMValueRef user, unsigned operand)
{
    if (LLVMIsAPHINode(user))
        LLVMPositionBuilderBefore(
            s->b, LLVMGetBasicBlockTerminator(
                      LLVMGetIncomingBlock(user, operand)));
    else
        LLVMPositionBuilderBefore(s->b, user);
}

/* Operands that are constants with a variable's address in them are built by
 * instructions, since the address is another for each team. */
static void lower_function(struct shared *s, LLVMValueRef f)
{
    s->function = f;
    s->block = s->dynamic = NULL;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb;
         bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i;
             i = LLVMGetNextInstruction(i)) {
            int n = LLVMIsAPHINode(i) ? (int)LLVMCountIncoming(i)
                                      : LLVMGetNumOperands(i);
            for (int k = 0; k < n; k++) {
                LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
                if (!uses_shared(s, v))
                    continue;
                LLVMValueRef built =
                    LLVMIsAPHINode(i) ? built_for_block(i, (unsigned)k) : NULL;
                if (!built) {
                    position(s, i, (unsigned)k);
                    built = build_constant(s, v);
                }
                LLVMSetOperand(i, (unsigned)k, built);
            }
        }
}

/* An initializer of another variable cannot have a team's address in it, as a
 * GPU's could not either. */
static ompjit_status remove_globals(struct shared *s, ompjit_error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        LLVMValueRef g = s->places[i].global;
        size_t length;
        if (LLVMGetFirstUse(g)) {
            /* Only dead constants may be left; LLVM drops those itself. */
            LLVMReplaceAllUsesWith(g, LLVMGetUndef(LLVMTypeOf(g)));
            if (LLVMGetFirstUse(g))
                return ompjit__fail(
                    err, OMPJIT_ERR_COMPILE, OMPJIT_STAGE_CODEGEN,
                    "team-shared variable %s is used in an initializer",
                    LLVMGetValueName2(g, &length));
        }
        LLVMDeleteGlobal(g);
    }
    return OMPJIT_OK;
}

/* The constant by which the engine knows how large a team's block is. */
static void add_size(struct shared *s)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(s->c);
    LLVMValueRef g = LLVMAddGlobal(s->m, i32, OMPJIT__SHARED_SIZE_SYMBOL);
    LLVMSetInitializer(g, LLVMConstInt(i32, s->size, 0));
    LLVMSetGlobalConstant(g, 1);
}

ompjit_status ompjit__host_finish(LLVMModuleRef m, ompjit_error *err)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct shared s = {.m = m, .c = c, .layout = LLVMGetModuleDataLayout(m)};
    ompjit_status status = place_globals(&s, err);
    if (!status && s.n) {
        s.self_type =
            LLVMFunctionType(LLVMPointerTypeInContext(c, 0), NULL, 0, 0);
        s.self = LLVMGetNamedFunction(m, "ompjit_host_self");
        if (!s.self)
            s.self = LLVMAddFunction(m, "ompjit_host_self", s.self_type);
        s.b = LLVMCreateBuilderInContext(c);
        for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
             f = LLVMGetNextFunction(f))
            if (!LLVMIsDeclaration(f))
                lower_function(&s, f);
        LLVMDisposeBuilder(s.b);
        status = remove_globals(&s, err);
    }
    if (!status)
        add_size(&s);
    prepare_frames(m);
    free(s.places);
    return status;
}
