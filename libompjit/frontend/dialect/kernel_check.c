/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Do the kernels of a device half keep to the ABI? Each begins with
 *
 *   call i32 @__kmpc_target_init(ptr @NAME_kernel_environment, ptr %dyn_ptr)
 *
 * with a constant of its own that says how it is to be launched, and with its
 * parameter 0, the launch environment. openmp-opt, the runtime and every launch
 * believe these. With full debug information clang puts all of that into a
 * function NAME_debug__ which the kernel calls.
 *
 * Requires verified IR; changes nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"
#include "llvm/llvm.h"
#include "frontend/describe/reach.h"

#define DEBUG_SUFFIX "_debug__"

/* A kernel while it is checked, and where findings go. Nothing is owned. */
struct kernel {
    ompjit__findings *findings;
    LLVMModuleRef m;
    LLVMValueRef fn;
    const char *symbol;
    LLVMValueRef environment; /* NULL: none */
};

static const char *name_of(LLVMValueRef f)
{
    size_t n;
    return LLVMGetValueName2(f, &n);
}

static LLVMValueRef function_of(LLVMValueRef instruction)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction));
}

/* ------------------------------------------------------------ environments */

/* ConfigurationEnvironmentTy: three i8, then i32. */
enum { USE_STATE_MACHINE, MAY_NEST, MODE, FIRST_LONG, REDUCTION_SIZE = 7,
       FIELDS = 9 };
enum { MODE_SPMD_NO_LOOP = 6 };

/* Other numbers are combinations of its bits that nothing launches. */
static bool is_mode(int64_t mode)
{
    return (mode >= OMPJIT_MODE_GENERIC && mode <= OMPJIT_MODE_GENERIC_SPMD) ||
           mode == MODE_SPMD_NO_LOOP;
}

/* Is it an integer type of so many bits? */
static bool is_integer(LLVMTypeRef type, unsigned bits)
{
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(type) == bits;
}

/* Is it a struct of so many fields, and not packed, which has other offsets? */
static bool is_struct(LLVMTypeRef type, unsigned fields)
{
    return LLVMGetTypeKind(type) == LLVMStructTypeKind &&
           !LLVMIsPackedStruct(type) &&
           LLVMCountStructElementTypes(type) == fields;
}

static bool is_pointer_field(LLVMTypeRef type, unsigned i)
{
    return LLVMGetTypeKind(LLVMStructGetTypeAtIndex(type, i)) ==
           LLVMPointerTypeKind;
}

/* { { i8, i8, i8, i32, i32, i32, i32, i32, i32 }, ptr, ptr } */
static bool is_environment_type(LLVMTypeRef type)
{
    if (!is_struct(type, 3) || !is_pointer_field(type, 1) ||
        !is_pointer_field(type, 2))
        return false;
    LLVMTypeRef configuration = LLVMStructGetTypeAtIndex(type, 0);
    if (!is_struct(configuration, FIELDS))
        return false;
    for (unsigned i = 0; i < FIELDS; i++)
        if (!is_integer(LLVMStructGetTypeAtIndex(configuration, i),
                        i < FIRST_LONG ? 8 : 32))
            return false;
    return true;
}

/* The i-th of the configuration's integers, whatever types it has; false: it
 * has none there. */
static bool read_field(LLVMValueRef environment, unsigned i, int64_t *value)
{
    LLVMValueRef v = LLVMGetInitializer(environment);
    v = v && LLVMIsAConstantStruct(v) ? LLVMGetAggregateElement(v, 0) : NULL;
    v = v ? LLVMGetAggregateElement(v, i) : NULL;
    if (!v || !LLVMIsAConstantInt(v) ||
        LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return false;
    *value = LLVMConstIntGetSExtValue(v);
    return true;
}

/* "@loc" or "@1" of the field's variable; "null" where it has none. */
static void add_pointer(ompjit__buf *b, LLVMValueRef environment, unsigned i)
{
    LLVMValueRef v = LLVMGetInitializer(environment);
    v = v && LLVMIsAConstantStruct(v) ? LLVMGetAggregateElement(v, i) : NULL;
    if (!v || !LLVMIsAGlobalVariable(v)) {
        ompjit__buf_printf(b, ", ptr null");
        return;
    }
    char *text = LLVMPrintValueToString(v);
    size_t n = text[1] == '"' ? 3 + strcspn(text + 2, "\"") : strcspn(text, " ");
    ompjit__buf_printf(b, ", ptr %.*s", (int)n, text);
    LLVMDisposeMessage(text);
}

/* The definition that the kernel should have, to be pasted. The readable part
 * of the one that it has is kept. */
static void add_right_one(ompjit__buf *b, const struct kernel *k)
{
    static const char type[] =
        "{ i8, i8, i8, i32, i32, i32, i32, i32, i32 }";
    int64_t fields[FIELDS] = {1, 1, OMPJIT_MODE_SPMD, 1, -1, 1, -1, 0, 0};
    for (unsigned i = 0; k->environment && i < FIELDS; i++)
        read_field(k->environment, i, &fields[i]);
    if (!is_mode(fields[MODE]))
        fields[MODE] = OMPJIT_MODE_SPMD;
    ompjit__buf_printf(b, "@%s_kernel_environment = weak_odr protected "
                          "constant { %s, ptr, ptr } { %s {",
                       k->symbol, type, type);
    for (unsigned i = 0; i < FIELDS; i++)
        ompjit__buf_printf(b, "%s i%u %d", i ? "," : "",
                           i < FIRST_LONG ? 8 : 32, (int)fields[i]);
    ompjit__buf_printf(b, " }");
    if (k->environment) {
        add_pointer(b, k->environment, 1);
        add_pointer(b, k->environment, 2);
    } else {
        ompjit__buf_printf(b, ", ptr null, ptr null");
    }
    ompjit__buf_printf(b, " }");
}

/* One finding, which ends with a definition that would be right, since whoever
 * writes a front end wants that next. */
static void wrong_environment(const struct kernel *k, const char *why)
{
    ompjit__buf right = {0};
    add_right_one(&right, k);
    k->findings->list.failed |= right.failed;
    ompjit__finding(k->findings, OMPJIT_ERR_ABI,
                    "the kernel %s: @%s_kernel_environment %s; it has to be "
                    "(its third field is the mode: 1 generic, 2 SPMD, 3 "
                    "generic made SPMD, 6 SPMD without a loop)\n    %s",
                    k->symbol, k->symbol, why,
                    right.data ? right.data : "of KernelEnvironmentTy");
    ompjit__buf_free(&right);
}

/* Functions that read the launch environment's buffer. */
static const char *const buffer_users[] = {
    "__kmpc_nvptx_teams_reduce_nowait_v2",
    "__kmpc_reduction_get_fixed_buffer",
};

static bool uses_buffer(const char *name)
{
    for (size_t i = 0; i < OMPJIT__COUNT(buffer_users); i++)
        if (!strcmp(name, buffer_users[i]))
            return true;
    return false;
}

static bool module_uses_buffer(LLVMModuleRef m)
{
    for (size_t i = 0; i < OMPJIT__COUNT(buffer_users); i++)
        if (LLVMGetNamedFunction(m, buffer_users[i]))
            return true;
    return false;
}

/* Kernels of CUDA have no launch environment. */
void ompjit__check_no_buffer(LLVMModuleRef m, ompjit__findings *findings)
{
    for (size_t i = 0; i < OMPJIT__COUNT(buffer_users); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, buffer_users[i]);
        LLVMUseRef use = f ? LLVMGetFirstUse(f) : NULL;
        if (use)
            ompjit__finding_at(findings, OMPJIT_ERR_ABI, LLVMGetUser(use),
                               "%s needs a launch environment, which kernels "
                               "of CUDA do not get",
                               buffer_users[i]);
    }
}

/* The data that a reduction across teams stores has its size in the
 * environment: with size 0 a launch allocates no buffer. */
static void check_reduction(const struct kernel *k)
{
    int64_t size = 0, length = 0;
    read_field(k->environment, REDUCTION_SIZE, &size);
    read_field(k->environment, REDUCTION_SIZE + 1, &length);
    bool none = size >= 0 && length >= 0 &&
                !module_uses_buffer(k->m);
    if (none || (size > 0 && length > 0))
        return;
    ompjit__reached r = ompjit__reached_by(k->fn);
    k->findings->list.failed |= r.failed;
    if (size < 0 || length < 0 || ompjit__reaches(&r, uses_buffer))
        wrong_environment(k, "says that a reduction across teams takes no "
                             "room, which the kernel has (bytes of its data "
                             "and the number of records are the last two "
                             "fields)");
    free(r.functions);
}

/* A type with its fields, those of named structs too, as far as these go. */
static void add_type(ompjit__buf *b, LLVMTypeRef type, unsigned depth)
{
    enum { MOST = 12 };
    bool fields = depth && LLVMGetTypeKind(type) == LLVMStructTypeKind &&
                  !LLVMIsOpaqueStruct(type);
    unsigned n = fields ? LLVMCountStructElementTypes(type) : 0;
    if (!n || n > MOST) {
        char *text = LLVMPrintTypeToString(type);
        ompjit__buf_printf(b, "%.80s", text);
        LLVMDisposeMessage(text);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        ompjit__buf_printf(b, i ? ", " : "{ ");
        add_type(b, LLVMStructGetTypeAtIndex(type, i), depth - 1);
    }
    ompjit__buf_printf(b, " }");
}

/* The type that it has is told with its fields, by which one sees the
 * difference. */
static void wrong_type(const struct kernel *k, LLVMTypeRef type)
{
    ompjit__buf why = {0};
    ompjit__buf_printf(&why, "is of another type, ");
    add_type(&why, type, 2);
    wrong_environment(k, why.data ? why.data : "is of another type");
    ompjit__buf_free(&why);
}

/* The first thing that is wrong, if any: the later ones follow from it. */
static void check_environment(const struct kernel *k)
{
    LLVMValueRef value = LLVMGetInitializer(k->environment);
    int64_t field;
    char why[64];
    if (!value) {
        wrong_environment(k, "has no value");
        return;
    }
    if (!is_environment_type(LLVMTypeOf(value))) {
        wrong_type(k, LLVMTypeOf(value));
        return;
    }
    for (unsigned i = 0; i < FIELDS; i++)
        if (!read_field(k->environment, i, &field)) {
            snprintf(why, sizeof why, "has no number as its field %u", i);
            wrong_environment(k, why);
            return;
        }
    read_field(k->environment, MODE, &field);
    if (!is_mode(field)) {
        snprintf(why, sizeof why, "has the unknown mode %d", (int)field);
        wrong_environment(k, why);
        return;
    }
    check_reduction(k);
}

/* -------------------------------------------------------------- parameters */

/* Bytes that a launch passes are the parameter's own value. */
static void check_parameter(const struct kernel *k, unsigned i)
{
    static const char *const by_value[] = {"byval", "byref", "sret",
                                           "inalloca", "preallocated"};
    enum { GLOBAL = 1, CONSTANT = 4 };
    LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(k->fn, i));
    for (size_t a = 0; a < OMPJIT__COUNT(by_value); a++)
        if (LLVMGetEnumAttributeAtIndex(
                k->fn, i + 1,
                LLVMGetEnumAttributeKindForName(by_value[a],
                                                strlen(by_value[a]))))
            ompjit__finding(k->findings, OMPJIT_ERR_ABI,
                            "the kernel %s: parameter %u is %s; a launch "
                            "passes pointers and numbers of at most 64 bits",
                            k->symbol, i, by_value[a]);
    unsigned space = LLVMGetTypeKind(type) == LLVMPointerTypeKind
                         ? LLVMGetPointerAddressSpace(type)
                         : 0;
    if (space && space != GLOBAL && space != CONSTANT)
        ompjit__finding(k->findings, OMPJIT_ERR_ABI,
                        "the kernel %s: parameter %u is a pointer into "
                        "address space %u, where nothing is that a launch "
                        "could name",
                        k->symbol, i, space);
}

/* Is it stored into the variable that v is loaded from? */
static bool is_kept_in_variable(LLVMValueRef param, LLVMValueRef v)
{
    LLVMValueRef variable =
        LLVMIsALoadInst(v) ? LLVMIsAAllocaInst(LLVMGetOperand(v, 0)) : NULL;
    for (LLVMUseRef u = variable ? LLVMGetFirstUse(variable) : NULL; u;
         u = LLVMGetNextUse(u))
        if (LLVMIsAStoreInst(LLVMGetUser(u)) &&
            LLVMGetOperand(LLVMGetUser(u), 0) == param)
            return true;
    return false;
}

/* Is the value parameter 0 of the function, as it came or by way of the slot
 * that unoptimized code keeps it in? */
static bool is_launch_environment(LLVMValueRef f, LLVMValueRef v)
{
    LLVMValueRef param = LLVMCountParams(f) ? LLVMGetParam(f, 0) : NULL;
    return param &&
           LLVMGetTypeKind(LLVMTypeOf(param)) == LLVMPointerTypeKind &&
           (v == param || is_kept_in_variable(param, v));
}

/* Without it the runtime reads its settings from whatever parameter 0 is. */
static void wrong_launch_environment(const struct kernel *k, LLVMValueRef call)
{
    ompjit__finding_at(k->findings, OMPJIT_ERR_ABI, call,
                       "the kernel %s does not hand on its parameter 0, which "
                       "is the launch environment; it has to be\n    define "
                       "ptx_kernel void @%s(ptr %%dyn_ptr, ...)\n    call i32 "
                       "@__kmpc_target_init(ptr @%s_kernel_environment, ptr "
                       "%%dyn_ptr)",
                       k->symbol, k->symbol, k->symbol);
}

/* ------------------------------------------------------------------- calls */

/* The kernel that a function with its body is of; the function itself where it
 * is a kernel; NULL: neither. */
static LLVMValueRef kernel_of(LLVMValueRef f)
{
    LLVMUseRef use = LLVMGetFirstUse(f);
    LLVMValueRef call = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    if (ompjit__is_kernel(f) || !ompjit__debug_kernel_call(f))
        return ompjit__is_kernel(f) ? f : NULL;
    return function_of(call);
}

/* By name and use: NAME_debug__ that a kernel NAME alone calls, once. */
LLVMValueRef ompjit__debug_kernel_call(LLVMValueRef f)
{
    LLVMUseRef use = LLVMGetFirstUse(f);
    LLVMValueRef call = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    if (!call || !LLVMIsACallInst(call) || LLVMGetCalledValue(call) != f ||
        LLVMIsDeclaration(f) || !ompjit__is_kernel(function_of(call)))
        return NULL;
    const char *kernel = name_of(function_of(call)), *body = name_of(f);
    size_t n = strlen(kernel);
    return !strncmp(body, kernel, n) && !strcmp(body + n, DEBUG_SUFFIX) ? call
                                                                       : NULL;
}

/* The value that the first argument of the call that starts the kernel should
 * be. */
static void check_started_with(const struct kernel *k, LLVMValueRef call)
{
    LLVMValueRef given = LLVMGetOperand(call, 0);
    if (!k->environment || given != k->environment)
        ompjit__finding_at(k->findings, OMPJIT_ERR_IR, call,
                           "the kernel %s does not start with its own constant "
                           "%s_kernel_environment",
                           k->symbol, k->symbol);
    if (!k->environment)
        wrong_environment(k, "is missing");
}

/* The call that starts a kernel, in the kernel or in its body. */
static void check_call(const struct kernel *k, LLVMValueRef call)
{
    LLVMValueRef body = function_of(call);
    LLVMValueRef outer = body == k->fn ? NULL : ompjit__debug_kernel_call(body);
    check_started_with(k, call);
    if (!is_launch_environment(body, LLVMGetOperand(call, 1)) ||
        (outer && !is_launch_environment(k->fn, LLVMGetOperand(outer, 0))))
        wrong_launch_environment(k, call);
}

/* --------------------------------------------------------------------- all */

/* By value, as a check needs it for a moment only. */
static struct kernel kernel(LLVMModuleRef m, LLVMValueRef f,
                            ompjit__findings *findings)
{
    LLVMValueRef environment = ompjit__environment_variable(m, f);
    return (struct kernel){.findings = findings,
                           .m = m,
                           .fn = f,
                           .symbol = name_of(f),
                           .environment = environment};
}

/* A kernel by itself. `started`: it calls __kmpc_target_init; one that does not
 * (ompx_bare) needs no attribute. */
static void check_kernel(LLVMModuleRef m, LLVMValueRef f, bool started,
                         ompjit__findings *findings)
{
    struct kernel k = kernel(m, f, findings);
    if (k.environment)
        check_environment(&k);
    for (unsigned i = 0; i < LLVMCountParams(f); i++)
        check_parameter(&k, i);
    if (started && !LLVMGetStringAttributeAtIndex(
                       f, LLVMAttributeFunctionIndex, "kernel", 6))
        ompjit__finding(findings, OMPJIT_ERR_IR,
                        "the kernel %s lacks the function attribute "
                        "\"kernel\"; LLVM's openmp-opt would miscompile it "
                        "silently",
                        k.symbol);
}

static bool is_call(LLVMValueRef v, LLVMValueRef of)
{
    return LLVMIsACallInst(v) && LLVMGetCalledValue(v) == of;
}

/* A call with the right number of arguments; others the table has found. */
static bool is_start(LLVMValueRef v, LLVMValueRef init)
{
    return is_call(v, init) && LLVMGetNumArgOperands(v) == 2;
}

/* How often the function or its body starts as a kernel. */
static unsigned count_starts(LLVMValueRef f, LLVMValueRef init)
{
    unsigned n = 0;
    for (LLVMUseRef u = init ? LLVMGetFirstUse(init) : NULL; u;
         u = LLVMGetNextUse(u))
        n += is_start(LLVMGetUser(u), init) &&
             kernel_of(function_of(LLVMGetUser(u))) == f;
    return n;
}

/* A call of __kmpc_target_init, which only kernels make. */
static void check_start(LLVMModuleRef m, LLVMValueRef call,
                        ompjit__findings *findings)
{
    LLVMValueRef f = kernel_of(function_of(call));
    if (!f) {
        ompjit__finding(findings, OMPJIT_ERR_IR,
                        "%s calls __kmpc_target_init but is no kernel: neither "
                        "ptx_kernel nor in nvvm.annotations",
                        name_of(function_of(call)));
        return;
    }
    struct kernel k = kernel(m, f, findings);
    check_call(&k, call);
}

/* First from the calls of __kmpc_target_init to the kernels, then from the
 * kernels to their calls: each finds what the other cannot. */
void ompjit__check_kernels(LLVMModuleRef m, ompjit__findings *findings)
{
    LLVMValueRef init = LLVMGetNamedFunction(m, "__kmpc_target_init");
    for (LLVMUseRef u = init ? LLVMGetFirstUse(init) : NULL; u;
         u = LLVMGetNextUse(u)) {
        if (is_start(LLVMGetUser(u), init))
            check_start(m, LLVMGetUser(u), findings);
        else if (!is_call(LLVMGetUser(u), init))
            ompjit__finding(findings, OMPJIT_ERR_IR,
                            "the address of __kmpc_target_init is taken");
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        unsigned starts = ompjit__is_kernel(f) ? count_starts(f, init) : 0;
        if (ompjit__is_kernel(f))
            check_kernel(m, f, starts, findings);
        if (starts > 1)
            ompjit__finding(findings, OMPJIT_ERR_ABI,
                            "the kernel %s calls __kmpc_target_init %u times",
                            name_of(f), starts);
    }
}
