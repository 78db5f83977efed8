/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR of clang 18 to 22 to LLVM 22's dialect of the OpenMP device interface.
 * Requires verified IR; invalidates nothing but the calls and globals that it
 * replaces. First everything is checked that openmp-opt and our own passes
 * trust: what would be miscompiled further on is refused here, all of it in one
 * error (kernel_check.c, table/llvm/check.c, table/llvm/callback.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>

#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"
#include "llvm/llvm.h"
#include "table/llvm/table.h"

#define OLDEST 18
#define NEWEST 22

static bool starts(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

/* ------------------------------------------------------- who made it */

static ompjit_status wrong(ompjit_error *err, const char *format, ...)
    OMPJIT__PRINTF(2, 3);
static ompjit_status wrong(ompjit_error *err, const char *format, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ, "%s", text);
}

/* CUDA's libdevice, which clang links into device code, has had this for all of
 * its life. */
static const char libdevices[] =
    "clang version 3.8.0 (tags/RELEASE_380/final)";

/* "clang version 20.1.8 (...)". A producer that is not clang is let pass: what
 * it wrote is checked as such. */
static ompjit_status check_ident(const char *ident, const char *name,
                                 ompjit_error *err)
{
    const char *version = strstr(ident, "clang version ");
    if (!version || !strcmp(ident, libdevices))
        return OMPJIT_OK;
    unsigned long major =
        strtoul(version + strlen("clang version "), NULL, 10);
    if (major >= OLDEST && major <= NEWEST)
        return OMPJIT_OK;
    return wrong(err, "%s was made by %.200s; IR of clang %d to %d is accepted",
                 name, ident, OLDEST, NEWEST);
}

/* A linked module has one ident for each of its parts. */
static ompjit_status check_producer(LLVMModuleRef m, const char *name,
                                    ompjit_error *err)
{
    unsigned n = LLVMGetNamedMetadataNumOperands(m, "llvm.ident");
    LLVMValueRef *nodes = calloc(n + 1, sizeof *nodes);
    if (!nodes)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    LLVMGetNamedMetadataOperands(m, "llvm.ident", nodes);
    ompjit_status status = OMPJIT_OK;
    for (unsigned i = 0; i < n && !status; i++) {
        LLVMValueRef text = NULL;
        unsigned length;
        if (LLVMGetMDNodeNumOperands(nodes[i]) == 1)
            LLVMGetMDNodeOperands(nodes[i], &text);
        const char *ident = text ? LLVMGetMDString(text, &length) : NULL;
        if (ident)
            status = check_ident(ident, name, err);
    }
    free(nodes);
    return status;
}

/* --------------------------------------------------------- replaced calls */

/* Functions that have one more parameter at the end now; zero there means what
 * they did before. */
static const struct {
    const char *old, *now;
    unsigned nparams; /* that the old one has */
    unsigned bits;    /* of the new one       */
} longer[] = {
    /* old                                  now                 n  bits */
    {"__kmpc_parallel_51", "__kmpc_parallel_60", 9, 32},
    {"__kmpc_for_static_loop_4", NULL, 6, 8},
    {"__kmpc_for_static_loop_4u", NULL, 6, 8},
    {"__kmpc_for_static_loop_8", NULL, 6, 8},
    {"__kmpc_for_static_loop_8u", NULL, 6, 8},
    {"__kmpc_distribute_static_loop_4", NULL, 5, 8},
    {"__kmpc_distribute_static_loop_4u", NULL, 5, 8},
    {"__kmpc_distribute_static_loop_8", NULL, 5, 8},
    {"__kmpc_distribute_static_loop_8u", NULL, 5, 8},
    {"__kmpc_distribute_for_static_loop_4", NULL, 7, 8},
    {"__kmpc_distribute_for_static_loop_4u", NULL, 7, 8},
    {"__kmpc_distribute_for_static_loop_8", NULL, 7, 8},
    {"__kmpc_distribute_for_static_loop_8u", NULL, 7, 8},
};

enum { MAX_PARAMS = 16 }; /* more than the longest of them has */

/* Attributes stay with their arguments, whose places do not change. */
static void copy_call_attributes(LLVMValueRef from, LLVMValueRef to,
                                 unsigned nargs)
{
    LLVMSetInstructionCallConv(to, LLVMGetInstructionCallConv(from));
    for (unsigned i = 0; i <= nargs + 1; i++) {
        LLVMAttributeIndex at =
            i <= nargs ? i : (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
        LLVMAttributeRef attrs[64];
        unsigned n = LLVMGetCallSiteAttributeCount(from, at);
        if (n > OMPJIT__COUNT(attrs))
            continue;
        LLVMGetCallSiteAttributes(from, at, attrs);
        for (unsigned k = 0; k < n; k++)
            LLVMAddCallSiteAttribute(to, at, attrs[k]);
    }
}

/* The same call, of `fn`, with a zero behind its arguments. */
static void replace_call(LLVMBuilderRef builder, LLVMValueRef call,
                         LLVMValueRef fn, LLVMTypeRef type)
{
    LLVMValueRef args[MAX_PARAMS];
    LLVMTypeRef params[MAX_PARAMS];
    unsigned n = LLVMGetNumArgOperands(call);
    LLVMGetParamTypes(type, params);
    for (unsigned i = 0; i < n; i++)
        args[i] = LLVMGetOperand(call, i);
    args[n] = LLVMConstNull(params[n]);
    LLVMPositionBuilderBefore(builder, call);
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(call));
    LLVMValueRef longer_call = LLVMBuildCall2(builder, type, fn, args, n + 1,
                                              "");
    copy_call_attributes(call, longer_call, n);
    LLVMInstructionEraseFromParent(call);
}

/* Is it a call of the function, as a function of that type? */
static bool calls(LLVMValueRef user, LLVMValueRef fn, LLVMTypeRef type)
{
    return LLVMIsACallInst(user) && LLVMGetCalledValue(user) == fn &&
           LLVMGetCalledFunctionType(user) == type;
}

/* The longer function takes the name of `old`, or `now`, and all its calls,
 * which check_longer has seen. */
static ompjit_status lengthen(LLVMModuleRef m, LLVMValueRef old,
                              const char *now, unsigned bits,
                              ompjit_error *err)
{
    size_t length;
    char *name = ompjit__strdup(now ? now : LLVMGetValueName2(old, &length));
    if (!name)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    LLVMContextRef context = LLVMGetModuleContext(m);
    LLVMTypeRef params[MAX_PARAMS], before = LLVMGlobalGetValueType(old);
    unsigned n = LLVMCountParamTypes(before);
    LLVMGetParamTypes(before, params);
    params[n] = LLVMIntTypeInContext(context, bits);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMGetReturnType(before), params, n + 1, false);
    LLVMSetValueName2(old, "", 0);
    LLVMValueRef fn = LLVMGetNamedFunction(m, name);
    if (!fn)
        fn = LLVMAddFunction(m, name, type);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    for (LLVMUseRef use; (use = LLVMGetFirstUse(old));)
        replace_call(builder, LLVMGetUser(use), fn, type);
    LLVMDisposeBuilder(builder);
    LLVMDeleteFunction(old);
    free(name);
    return OMPJIT_OK;
}

/* The declaration that row `i` is about; NULL: the module has none. */
static LLVMValueRef shorter(LLVMModuleRef m, size_t i)
{
    LLVMValueRef old = LLVMGetNamedFunction(m, longer[i].old);
    bool is = old && LLVMIsDeclaration(old) &&
              LLVMCountParamTypes(LLVMGlobalGetValueType(old)) ==
                  longer[i].nparams;
    return is ? old : NULL;
}

/* clang 18's calls become:
 *
 *   call void @__kmpc_parallel_60(..., ptr %args, i64 1, i32 0)
 *                         was: @__kmpc_parallel_51(..., ptr %args, i64 1)
 */
static ompjit_status lengthen_all(LLVMModuleRef m, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    for (size_t i = 0; i < OMPJIT__COUNT(longer) && !status; i++) {
        LLVMValueRef old = shorter(m, i);
        if (old)
            status = lengthen(m, old, longer[i].now, longer[i].bits, err);
    }
    return status;
}

/* A function whose address is passed on, or that is called as another type,
 * cannot be given a parameter. */
static void check_longer(LLVMModuleRef m, ompjit__findings *findings)
{
    for (size_t i = 0; i < OMPJIT__COUNT(longer); i++) {
        LLVMValueRef old = shorter(m, i);
        LLVMTypeRef type = old ? LLVMGlobalGetValueType(old) : NULL;
        for (LLVMUseRef u = old ? LLVMGetFirstUse(old) : NULL; u;
             u = LLVMGetNextUse(u))
            if (!calls(LLVMGetUser(u), old, type))
                ompjit__finding(findings, OMPJIT_ERR_IR,
                                "%s is used other than by a call of its type, "
                                "which cannot be brought to LLVM 22's form",
                                longer[i].old);
    }
}

/* ----------------------------------------------------------------- checks */

/* By the first part only: vendor and system of nvptx64 change nothing. */
static ompjit_status check_triple(LLVMModuleRef m, const char *name,
                                  ompjit_error *err)
{
    const char *triple = LLVMGetTarget(m);
    if (starts(triple, "nvptx64"))
        return OMPJIT_OK;
    return wrong(err, "%s is for `%s`; device IR is for nvptx64-nvidia-cuda",
                 name, *triple ? triple : "(no target triple)");
}

/* The function that starts every kernel shows whose dialect it is: two
 * pointers since clang 18. */
static ompjit_status check_start(LLVMValueRef init, const char *name,
                                 ompjit_error *err)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(init), params[2];
    bool right = LLVMCountParamTypes(type) == 2;
    if (right) {
        LLVMGetParamTypes(type, params);
        for (unsigned i = 0; i < 2; i++)
            right &= LLVMGetTypeKind(params[i]) == LLVMPointerTypeKind;
    }
    if (!right)
        return wrong(err, "%s is too old: its __kmpc_target_init is not that "
                          "of clang 18 and later; IR of clang %d to %d is "
                          "accepted",
                     name, OLDEST, NEWEST);
    if (!LLVMIsDeclaration(init))
        return wrong(err, "%s has a device runtime linked in: it defines "
                          "__kmpc_target_init; compile with -nogpulib",
                     name);
    return OMPJIT_OK;
}

/* A call names its own type; one that differs from the function's would go
 * unseen until it runs. */
static void check_calls(LLVMValueRef fn, ompjit__findings *findings)
{
    size_t n;
    for (LLVMUseRef u = LLVMGetFirstUse(fn); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if ((LLVMIsACallInst(call) || LLVMIsAInvokeInst(call)) &&
            LLVMGetCalledValue(call) == fn &&
            LLVMGetCalledFunctionType(call) != LLVMGlobalGetValueType(fn))
            ompjit__finding_at(findings, OMPJIT_ERR_IR, call,
                               "a call of %s is not of its type",
                               LLVMGetValueName2(fn, &n));
    }
}

/* Checks the calls of the runtime's functions, whose declarations the table has
 * checked. */
static void check_all_calls(LLVMModuleRef m, ompjit__findings *findings)
{
    LLVMValueRef f = LLVMGetFirstFunction(m);
    for (; f; f = LLVMGetNextFunction(f)) {
        size_t n;
        if (starts(LLVMGetValueName2(f, &n), "__kmpc_"))
            check_calls(f, findings);
    }
}

/* Does the module call the runtime at all? One that only has helper functions
 * need not have OpenMP's flags. */
static bool uses_openmp(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetFirstFunction(m);
    for (; f; f = LLVMGetNextFunction(f)) {
        size_t n;
        if (starts(LLVMGetValueName2(f, &n), "__kmpc_"))
            return true;
    }
    return false;
}

/* Without them openmp-opt does not know a device module, and does nothing. */
static void check_flags(LLVMModuleRef m, ompjit__findings *findings)
{
    static const char *const flags[] = {"openmp", "openmp-device"};
    for (size_t i = 0; i < OMPJIT__COUNT(flags); i++)
        if (!LLVMGetModuleFlag(m, flags[i], strlen(flags[i])))
            ompjit__finding(findings, OMPJIT_ERR_IR,
                            "it lacks the module flag \"%s\", which every "
                            "device module of OpenMP has",
                            flags[i]);
}

/* openmp-opt reads the alignment of each such call without asking whether there
 * is one (AAHeapToSharedFunction), and gives the variable that it makes of
 * the call a random one where there is none. clang writes it; calls by the
 * source itself and those of ompjit__share_locals get it here. 16 is what the
 * runtime gives (runtime-bc). */
static void align_shared(LLVMModuleRef m)
{
    enum { RUNTIMES = 16 };
    LLVMValueRef f = LLVMGetNamedFunction(m, "__kmpc_alloc_shared");
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAttributeRef align = LLVMCreateEnumAttribute(LLVMGetModuleContext(m),
                                                     kind, RUNTIMES);
    for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f &&
            !LLVMGetCallSiteEnumAttribute(call, LLVMAttributeReturnIndex, kind))
            LLVMAddCallSiteAttribute(call, LLVMAttributeReturnIndex, align);
    }
}

/* clang -O0 has all functions stay as they are. Here the module's own options
 * choose, and the stages behind this one rely on functions being inlined. */
static void allow_optimization(LLVMModuleRef m)
{
    unsigned none = LLVMGetEnumAttributeKindForName("optnone", 7);
    unsigned noinline_ = LLVMGetEnumAttributeKindForName("noinline", 8);
    const LLVMAttributeIndex function = LLVMAttributeFunctionIndex;
    LLVMValueRef f = LLVMGetFirstFunction(m);
    for (; f; f = LLVMGetNextFunction(f))
        if (LLVMGetEnumAttributeAtIndex(f, function, none)) {
            LLVMRemoveEnumAttributeAtIndex(f, function, none);
            LLVMRemoveEnumAttributeAtIndex(f, function, noinline_);
        }
}

/* The three kinds of code that call the runtime. Only kernels of OpenMP have
 * environments, starts and module flags. */
enum code { OPENMP_DEVICE, CUDA_DEVICE, HOST };

/* All that is wrong with the use of the runtime, at once. */
static ompjit_status check_runtime(LLVMModuleRef m, const char *name,
                                   enum code code, ompjit_error *err)
{
    ompjit__findings findings = {0};
    ompjit_status status = ompjit__table_find(m, &findings, err);
    if (status)
        return status;
    check_all_calls(m, &findings);
    if (code == OPENMP_DEVICE) {
        check_longer(m, &findings);
        ompjit__check_kernels(m, &findings);
    }
    if (code == CUDA_DEVICE)
        ompjit__check_no_buffer(m, &findings);
    ompjit__table_callbacks(m, code == HOST, &findings);
    if (code == OPENMP_DEVICE && uses_openmp(m))
        check_flags(m, &findings);
    return ompjit__findings_end(&findings, name, OMPJIT_STAGE_READ, err);
}

static ompjit_status check_device(LLVMModuleRef m, const char *name,
                                  enum code code, ompjit_error *err)
{
    ompjit_status status = check_triple(m, name, err);
    if (!status)
        status = check_producer(m, name, err);
    LLVMValueRef init = code == OPENMP_DEVICE
                            ? LLVMGetNamedFunction(m, "__kmpc_target_init")
                            : NULL;
    if (!status && init)
        status = check_start(init, name, err);
    return status ? status : check_runtime(m, name, code, err);
}

/* The order matters: bodies are inlined first, since the later steps look for a
 * kernel's calls in the kernel; wrappers and shared locals want calls of the
 * longer form; alignments come after the step that makes such calls. */
ompjit_status ompjit__upgrade_device(LLVMModuleRef m, const char *name,
                                     ompjit_error *err)
{
    ompjit__mend_flang(m);
    ompjit__mend_array_reductions(m);
    ompjit__drop_libraries(m);
    ompjit_status status = check_device(m, name, OPENMP_DEVICE, err);
    if (status)
        return status;
    allow_optimization(m);
    ompjit__inline_debug_kernels(m);
    status = lengthen_all(m, err);
    if (!status)
        status = ompjit__mend_array_pointers(m, err);
    if (!status) {
        ompjit__mend_member_copies(m);
        ompjit__mend_untied_tasks(m);
        ompjit__lower_forks(m);
        ompjit__mend_flang_modes(m);
        status = ompjit__wrap_regions(m, err);
    }
    if (!status)
        status = ompjit__share_locals(m, name, err);
    align_shared(m);
    return status ? status : ompjit__mend_reductions(m, err);
}

/* Code that clang 22 made here of CUDA calls the runtime by a header of ours.
 * It is LLVM 22's dialect as it is. */
ompjit_status ompjit__upgrade_cuda(LLVMModuleRef m, const char *name,
                                   ompjit_error *err)
{
    return check_device(m, name, CUDA_DEVICE, err);
}

/* -------------------------------------------------------------- host half */

/* clang 18 says version 2 of the kernel arguments, although its kernels take
 * the launch environment as those of version 3 do. The block is the same. */
static void raise_version(LLVMValueRef args)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(args));
    LLVMTypeRef i32 = LLVMInt32TypeInContext(context);
    LLVMValueRef three = LLVMConstInt(i32, 3, false);
    LLVMValueRef two = LLVMConstInt(i32, 2, false);
    LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(args));
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
    for (; block; block = LLVMGetNextBasicBlock(block)) {
        LLVMValueRef i = LLVMGetFirstInstruction(block);
        for (; i; i = LLVMGetNextInstruction(i))
            if (LLVMIsAStoreInst(i) && ompjit__store_offset(i, args) == 0 &&
                LLVMGetOperand(i, 0) == two)
                LLVMSetOperand(i, 0, three);
    }
}

/* In each function that launches a kernel, by the block of arguments that the
 * launch is passed last. */
static void raise_versions(LLVMModuleRef m)
{
    LLVMValueRef launch = LLVMGetNamedFunction(m, "__tgt_target_kernel");
    LLVMUseRef use = launch ? LLVMGetFirstUse(launch) : NULL;
    for (; use; use = LLVMGetNextUse(use)) {
        LLVMValueRef call = LLVMGetUser(use);
        if (!LLVMIsACallInst(call) && !LLVMIsAInvokeInst(call))
            continue;
        unsigned n = LLVMGetNumArgOperands(call);
        LLVMValueRef args = n ? LLVMGetOperand(call, n - 1) : NULL;
        if (args && LLVMIsAAllocaInst(args))
            raise_version(args);
    }
}

/* { i64 0, i16 version, i16 kind, i32 flags, ptr address, ptr name, i64 size,
 * i64 data, ptr }: llvm::offloading::EntryTy. The last is for other models than
 * OpenMP. */
static LLVMValueRef new_entry(LLVMModuleRef m, const ompjit__entry *e)
{
    enum { LAYOUT = 1, KIND_OPENMP = 1 };
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i16 = LLVMInt16TypeInContext(c);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c);
    LLVMValueRef null = LLVMConstPointerNull(LLVMPointerTypeInContext(c, 0));
    LLVMValueRef fields[] = {
        LLVMConstInt(i64, 0, false),
        LLVMConstInt(i16, LAYOUT, false),
        LLVMConstInt(i16, KIND_OPENMP, false),
        LLVMConstInt(i32, e->flags, false),
        e->address ? e->address : null,
        e->name ? e->name : null,
        LLVMConstInt(i64, e->size, false),
        LLVMConstInt(i64, e->data, false),
        null,
    };
    return LLVMConstStructInContext(c, fields, OMPJIT__COUNT(fields), false);
}

/* A new entry without a name, in the section that registration reads. */
static LLVMValueRef add_entry(LLVMModuleRef m, const ompjit__entry *entry,
                              LLVMLinkage linkage)
{
    LLVMValueRef value = new_entry(m, entry);
    LLVMValueRef g = LLVMAddGlobal(m, LLVMTypeOf(value), "");
    LLVMSetInitializer(g, value);
    LLVMSetGlobalConstant(g, true);
    LLVMSetLinkage(g, linkage);
    LLVMSetSection(g, "llvm_offload_entries");
    LLVMSetAlignment(g, 8);
    return g;
}

/* An entry of a variable and the text of its name, as clang writes them. */
static void add_named_entry(LLVMModuleRef host, const char *name,
                            ompjit__entry entry)
{
    LLVMValueRef text = LLVMConstStringInContext2(
        LLVMGetModuleContext(host), name, strlen(name), false);
    LLVMValueRef g =
        LLVMAddGlobal(host, LLVMTypeOf(text), ".offloading.entry_name");
    LLVMSetInitializer(g, text);
    LLVMSetGlobalConstant(g, true);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    entry.name = g;
    LLVMValueRef new = add_entry(host, &entry, LLVMWeakAnyLinkage);
    char *entry_name = ompjit__format(".offloading.entry.%s", name);
    if (entry_name)
        LLVMSetValueName2(new, entry_name, strlen(entry_name));
    free(entry_name);
}

void ompjit__link_entry(LLVMModuleRef host, LLVMValueRef pointer)
{
    enum { LINK = 1, POINTER_SIZE = 8 };
    size_t n;
    add_named_entry(host, LLVMGetValueName2(pointer, &n),
                    (ompjit__entry){.address = pointer,
                                    .size = POINTER_SIZE,
                                    .flags = LINK});
}

void ompjit__variable_entry(LLVMModuleRef host, LLVMValueRef variable,
                            const char *name, uint64_t size)
{
    add_named_entry(host, name,
                    (ompjit__entry){.address = variable, .size = size});
}

/* The new entry takes the old one's name and uses. */
static void renew_entry(LLVMModuleRef m, LLVMValueRef old,
                        const ompjit__entry *entry)
{
    size_t n;
    LLVMValueRef now = add_entry(m, entry, LLVMGetLinkage(old));
    LLVMReplaceAllUsesWith(old, now);
    char *name = ompjit__strdup(LLVMGetValueName2(old, &n));
    LLVMDeleteGlobal(old);
    if (name)
        LLVMSetValueName2(now, name, strlen(name));
    free(name);
}

/* Entries of clang 18 and 19 become clang 22's, so that one layout is all that
 * registration knows (omptarget/). */
static void renew_entries(LLVMModuleRef m)
{
    LLVMValueRef next, g = LLVMGetFirstGlobal(m);
    for (; g; g = next) {
        ompjit__entry entry;
        next = LLVMGetNextGlobal(g);
        if (ompjit__entry_read(g, &entry) && entry.old)
            renew_entry(m, g, &entry);
    }
}

/* By the first part of the triple, the CPU: distributions spell the rest of it
 * in several ways. */
static ompjit_status check_host(LLVMModuleRef m, const char *name,
                                ompjit_error *err)
{
    const char *triple = LLVMGetTarget(m);
    char *ours = LLVMGetDefaultTargetTriple();
    size_t arch = strcspn(ours, "-");
    ompjit_status status = OMPJIT_OK;
    if (strncmp(triple, ours, arch + 1))
        status = wrong(err, "%s is for `%s`; this machine is %s", name,
                       *triple ? triple : "(no target triple)", ours);
    LLVMDisposeMessage(ours);
    return status;
}

/* All that is checked of a host half is how it uses the runtime: it is the
 * program's own code, and nothing is folded into it. */
ompjit_status ompjit__upgrade_host(LLVMModuleRef m, const char *name,
                                   ompjit_error *err)
{
    ompjit_status status = check_host(m, name, err);
    if (!status)
        status = check_producer(m, name, err);
    if (!status)
        status = check_runtime(m, name, HOST, err);
    if (status)
        return status;
    raise_versions(m);
    renew_entries(m);
    return OMPJIT_OK;
}
