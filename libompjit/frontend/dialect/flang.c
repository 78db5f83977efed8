/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Corrects a device half of flang 22:
 *
 *   kernels without a host half   dropped: flang's host half leaves procedures
 *                                 out that nobody calls, with their regions, and
 *                                 the device half does not. Its kernels for
 *                                 those have no attribute "kernel"
 *   SPMD kernels                  made generic where a construct with one
 *                                 parallel region has other code that not all
 *                                 threads may run; flang calls them SPMD, or
 *                                 generic ones that became so
 *   entries of tasks              return void, where the runtime calls them as
 *                                 functions that return an i32: each gets a
 *                                 wrapper. One that shares nothing has one
 *                                 parameter, and is called with two
 *   variables of link             by link_variables.cc
 *   loops with ordered regions    are divided as others: they get one chunk, so
 *                                 that one thread does all in order
 *   dummies                       are not promised to stay where they are: a
 *                                 procedure gives their addresses to the other
 *                                 threads of its parallel regions. With the
 *                                 promise, openmp-opt takes an actual argument
 *                                 for the stack of one thread
 *   calls without a line          get line 0: code that is inlined there would
 *                                 keep lines of another function
 *   stray lines                   dropped: the functions that flang makes for a
 *                                 reduction have the lines of the kernel, and
 *                                 are part of no subprogram, so that it is
 *                                 likewise where they are inlined. LLVM takes
 *                                 both for broken IR
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "abi/offload.h"
#include "frontend/describe/describe.h"
#include "frontend/describe/reach.h"
#include "frontend/dialect/dialect.h"

/* By the text of llvm.ident, "flang version 22.1.8". */
bool ompjit__is_flang(LLVMModuleRef m)
{
    static const char ident[] = "llvm.ident", word[] = "flang";
    LLVMValueRef node;
    unsigned n = 0;
    if (LLVMGetNamedMetadataNumOperands(m, ident) != 1)
        return false;
    LLVMGetNamedMetadataOperands(m, ident, &node);
    if (LLVMGetMDNodeNumOperands(node) != 1)
        return false;
    LLVMGetMDNodeOperands(node, &node);
    const char *text = LLVMGetMDString(node, &n);
    return text && memmem(text, n, word, sizeof word - 1);
}

/* ---------------------------------------------------------------- kernels */

static bool is_left_out(LLVMValueRef f)
{
    static const char prefix[] = "__omp_offloading_", kernel[] = "kernel";
    enum { PTX_KERNEL = 71 };
    size_t n;
    return !LLVMIsDeclaration(f) && !LLVMGetFirstUse(f) &&
           LLVMGetFunctionCallConv(f) == PTX_KERNEL &&
           !strncmp(LLVMGetValueName2(f, &n), prefix, sizeof prefix - 1) &&
           !LLVMGetStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, kernel,
                                          sizeof kernel - 1);
}

static void drop_kernels(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m), next; f; f = next) {
        next = LLVMGetNextFunction(f);
        if (is_left_out(f))
            LLVMDeleteFunction(f);
    }
}

/* ------------------------------------------------------------------ modes */

/* The structure with another value in one place. */
static LLVMValueRef exchanged(LLVMValueRef s, unsigned at, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(s);
    unsigned n = LLVMCountStructElementTypes(type);
    LLVMValueRef values[n];
    for (unsigned i = 0; i < n; i++)
        values[i] = i == at ? value : LLVMGetAggregateElement(s, i);
    return LLVMConstNamedStruct(type, values, n);
}

/* The environment of a kernel that flang has all threads run; NULL: of another
 * one. */
static LLVMValueRef spmd_environment(LLVMModuleRef m, LLVMValueRef kernel)
{
    LLVMValueRef env = ompjit__environment_variable(m, kernel);
    uint8_t mode =
        env ? ompjit__environment_mode(env) : OMPJIT__EXEC_GENERIC;
    return mode == OMPJIT__EXEC_SPMD || mode == OMPJIT__EXEC_GENERIC_SPMD
               ? env
               : NULL;
}

/* The workers of a generic kernel wait for regions; those of a kernel that flang
 * calls SPMD would leave. */
static void make_generic(LLVMValueRef env)
{
    enum { CONFIGURATION = 0, STATE_MACHINE = 0, MODE = 2 };
    LLVMValueRef all = LLVMGetInitializer(env);
    LLVMValueRef part = LLVMGetAggregateElement(all, CONFIGURATION);
    LLVMTypeRef i8 = LLVMTypeOf(LLVMGetAggregateElement(part, MODE));
    part = exchanged(part, MODE, LLVMConstInt(i8, OMPJIT__EXEC_GENERIC, false));
    part = exchanged(part, STATE_MACHINE, LLVMConstInt(i8, 1, false));
    LLVMSetInitializer(env, exchanged(all, CONFIGURATION, part));
}

void ompjit__mend_flang_modes(LLVMModuleRef m)
{
    if (!ompjit__is_flang(m))
        return;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        LLVMValueRef env = ompjit__is_kernel(f) ? spmd_environment(m, f) : NULL;
        if (env && ompjit__needs_main_thread(f))
            make_generic(env);
    }
}

/* ------------------------------------------------------------------ tasks */

/* A function of the runtime's parameters that returns 0. */
static LLVMValueRef wrap(LLVMModuleRef m, LLVMValueRef entry)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type = LLVMGlobalGetValueType(entry);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    LLVMTypeRef params[] = {i32, LLVMPointerTypeInContext(c, 0)};
    size_t n;
    LLVMValueRef f = LLVMAddFunction(m, LLVMGetValueName2(entry, &n),
                                     LLVMFunctionType(i32, params, 2, false));
    LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, f, "entry"));
    LLVMValueRef args[] = {LLVMGetParam(f, 0), LLVMGetParam(f, 1)};
    LLVMBuildCall2(b, type, entry, args, LLVMCountParamTypes(type), "");
    LLVMBuildRet(b, LLVMConstInt(i32, 0, false));
    LLVMDisposeBuilder(b);
    return f;
}

static bool returns_void(LLVMValueRef entry)
{
    LLVMTypeRef type =
        LLVMIsAFunction(entry) ? LLVMGlobalGetValueType(entry) : NULL;
    return type && LLVMCountParamTypes(type) <= 2 &&
           LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMVoidTypeKind;
}

/* kmp_task_t *__kmpc_omp_task_alloc(loc, gtid, flags, size, shareds, entry) */
static void wrap_tasks(LLVMModuleRef m)
{
    enum { ENTRY = 5 };
    LLVMValueRef alloc = LLVMGetNamedFunction(m, "__kmpc_omp_task_alloc");
    LLVMUseRef use = alloc ? LLVMGetFirstUse(alloc) : NULL;
    for (; use; use = LLVMGetNextUse(use)) {
        LLVMValueRef call = LLVMGetUser(use);
        if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == alloc &&
            LLVMGetNumArgOperands(call) > ENTRY &&
            returns_void(LLVMGetOperand(call, ENTRY)))
            LLVMSetOperand(call, ENTRY, wrap(m, LLVMGetOperand(call, ENTRY)));
    }
}

/* ------------------------------------------------------------------ order */

static bool is_ordered(const char *name)
{
    return !strcmp(name, "__kmpc_ordered");
}

static bool body_is_ordered(LLVMValueRef call)
{
    LLVMValueRef body = ompjit__loop_body(call);
    ompjit__reached r = body ? ompjit__reached_by(body) : (ompjit__reached){0};
    bool found = body && (r.failed || ompjit__reaches(&r, is_ordered));
    free(r.functions);
    return found;
}

/* __kmpc_for_static_loop_4u(loc, body, arg, n, threads, chunk, i8) */
static void order_loops(LLVMModuleRef m)
{
    static const char prefix[] = "__kmpc_for_static_loop_";
    enum { COUNT = 3, CHUNK = 5 };
    size_t n;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        if (strncmp(LLVMGetValueName2(f, &n), prefix, sizeof prefix - 1))
            continue;
        for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
            LLVMValueRef call = LLVMGetUser(u);
            if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f &&
                LLVMGetNumArgOperands(call) > CHUNK && body_is_ordered(call))
                LLVMSetOperand(call, CHUNK, LLVMGetOperand(call, COUNT));
        }
    }
}

/* ---------------------------------------------------------------- dummies */

/* Drops `captures`. LLVM finds it again where it is true. */
static void share_dummies(LLVMModuleRef m)
{
    static const char name[] = "captures";
    const unsigned kind =
        LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        for (unsigned i = 1; i <= LLVMCountParams(f); i++)
            if (!LLVMGetIntrinsicID(f))
                LLVMRemoveEnumAttributeAtIndex(f, i, kind);
}

/* ------------------------------------------------------------------ lines */

static void drop_lines(LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            LLVMInstructionSetDebugLoc(i, NULL);
}

static void add_lines(LLVMValueRef f, LLVMMetadataRef line)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMIsACallInst(i) && !LLVMInstructionGetDebugLoc(i))
                LLVMInstructionSetDebugLoc(i, line);
}

static void mend_lines(LLVMModuleRef m)
{
    LLVMContextRef context = LLVMGetModuleContext(m);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        LLVMMetadataRef scope = LLVMGetSubprogram(f);
        if (scope)
            add_lines(f, LLVMDIBuilderCreateDebugLocation(context, 0, 0, scope,
                                                          NULL));
        else
            drop_lines(f);
    }
}

void ompjit__mend_flang(LLVMModuleRef m)
{
    if (!ompjit__is_flang(m))
        return;
    drop_kernels(m);
    wrap_tasks(m);
    ompjit__load_link_variables(m);
    order_loops(m);
    share_dummies(m);
    mend_lines(m);
}
