/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host half of a program as clang made it, without passes, becomes a
 * module that can be optimized and linked into this process: served functions
 * are bound to a context, offload entries are read, constructors and
 * destructors become one function, and all code is for this CPU.
 *
 * IR before:
 *
 *   @.offloading.entry.K = constant { ... ptr @.K.region_id, ptr @name, ... },
 *                          section "llvm_offload_entries"
 *   @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }]
 *                        [{ i32 65535, ptr @init, ptr null }]
 *   declare i32 @__tgt_target_kernel(ptr, i64, i32, i32, ptr, ptr)
 *   %r = call i32 @__tgt_target_kernel(ptr %l, i64 -1, ...)
 *
 * And after:
 *
 *   @ompjit.context = external global i8
 *   declare i32 @__tgt_target_kernel(ptr, ptr, i64, i32, i32, ptr, ptr)
 *   define internal i32 @0(ptr %0, i64 %1, ...) alwaysinline {
 *     %r = call i32 @__tgt_target_kernel(ptr @ompjit.context, ptr %0, ...)
 *     ret i32 %r
 *   }
 *   %r = call i32 @0(ptr %l, i64 -1, ...)
 *   define internal void @ompjit.init() { call void @init() ... }
 *   @ompjit.table = constant [3 x ptr] [ptr @__dso_handle, ptr @ompjit.init,
 *                                       ptr @.K.region_id]
 *
 * The context is a symbol, and no address, so that the object can be cached and
 * linked for any context. The linker needs to look up one symbol only, the
 * table: the names of kernels are in the entries that are handed over beside
 * the object (core/host_half.h).
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "frontend/describe/describe.h"
#include "passes/hosthalf/hosthalf.h"
#include "passes/passes.h"

/* An error of the program's IR: "host half of NAME: WHAT NAME". */
static ompjit_status ir_failure(LLVMModuleRef m, const char *what,
                                const char *name, ompjit_error *err)
{
    size_t n;
    return ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
                        "host half of %s: %s %s",
                        LLVMGetModuleIdentifier(m, &n), what, name);
}

/* One more place, zeroed, at the end of the array whose address is given;
 * NULL without memory. */
static void *grow(void *array, size_t *n, size_t size)
{
    void *data;
    memcpy(&data, array, sizeof data);
    char *more = realloc(data, (*n + 1) * size);
    if (!more)
        return NULL;
    memcpy(array, &more, sizeof more);
    return memset(more + (*n)++ * size, 0, size);
}

/* Adds a name to the list of served functions that the object refers to. False:
 * no memory. */
static bool need(ompjit__host_half *half, const char *name)
{
    char *copy = ompjit__strdup(name);
    char **place =
        copy ? grow(&half->needs, &half->nneeds, sizeof *half->needs) : NULL;
    if (place)
        *place = copy;
    else
        free(copy);
    return place != NULL;
}

/* -------------------------------------------------------- served functions */

/* The type that a letter of ompjit__served_name.signature stands for. */
static LLVMTypeRef letter_type(LLVMContextRef c, char letter)
{
    switch (letter) {
    case 'v':
        return LLVMVoidTypeInContext(c);
    case 'i':
        return LLVMInt32TypeInContext(c);
    case 'd':
        return LLVMDoubleTypeInContext(c);
    case 'p':
        return LLVMPointerTypeInContext(c, 0);
    default: /* l, s */
        return LLVMInt64TypeInContext(c);
    }
}

/* "i:pl" as a function type, with a context in front or without. */
static LLVMTypeRef signature_type(LLVMContextRef c, const char *signature,
                                  bool with_context)
{
    LLVMTypeRef types[32];
    unsigned n = 0;
    if (with_context)
        types[n++] = letter_type(c, 'p');
    for (const char *s = signature + 2; *s && n < OMPJIT__COUNT(types); s++)
        types[n++] = letter_type(c, *s);
    return LLVMFunctionType(letter_type(c, *signature), types, n, 0);
}

/* A C declaration without a prototype says nothing about its arguments. */
static bool agrees(LLVMTypeRef have, LLVMTypeRef want)
{
    return have == want ||
           (LLVMIsFunctionVarArg(have) && !LLVMCountParamTypes(have) &&
            LLVMGetReturnType(have) == LLVMGetReturnType(want));
}

static ompjit_status disagreement(const char *name, LLVMTypeRef have,
                                  LLVMTypeRef want, ompjit_error *err)
{
    char *h = LLVMPrintTypeToString(have), *w = LLVMPrintTypeToString(want);
    ompjit_status status = ompjit__fail(
        err, OMPJIT_ERR_ABI, OMPJIT_STAGE_READ,
        "the host half declares %s as `%s`, but it is `%s`", name, h, w);
    LLVMDisposeMessage(h);
    LLVMDisposeMessage(w);
    return status;
}

/* The external symbol that stands for the context, or another of served.h: the
 * runtime gives it an address when it links the object. */
static LLVMValueRef context_symbol(LLVMModuleRef m, const char *name)
{
    LLVMValueRef g = LLVMGetNamedGlobal(m, name);
    LLVMTypeRef i8 = LLVMInt8TypeInContext(LLVMGetModuleContext(m));
    return g ? g : LLVMAddGlobal(m, i8, name);
}

/* Adds an attribute without a value to a function. */
static void add_attribute(LLVMValueRef f, const char *name)
{
    LLVMContextRef c = LLVMGetModuleContext(LLVMGetGlobalParent(f));
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(c, kind, 0));
}

/* thunk(args...) { return callee(context, args...); } */
static void thunk_body(LLVMValueRef thunk, LLVMValueRef callee,
                       LLVMValueRef context)
{
    LLVMContextRef c = LLVMGetModuleContext(LLVMGetGlobalParent(thunk));
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMValueRef args[32] = {context};
    unsigned n = LLVMCountParams(thunk);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, thunk, ""));
    LLVMGetParams(thunk, args + 1);
    LLVMTypeRef type = LLVMGlobalGetValueType(callee);
    LLVMValueRef result = LLVMBuildCall2(b, type, callee, args, n + 1, "");
    if (LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMVoidTypeKind)
        LLVMBuildRetVoid(b);
    else
        LLVMBuildRet(b, result);
    LLVMDisposeBuilder(b);
}

/* The declaration gives way to a thunk, and its name to our function. Calls by
 * pointer go through the thunk, too; it is inlined into the others. */
static void make_thunk(LLVMModuleRef m, LLVMValueRef declared,
                       const ompjit__served_name *row)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMValueRef thunk =
        LLVMAddFunction(m, "", signature_type(c, row->signature, false));
    LLVMSetLinkage(thunk, LLVMInternalLinkage);
    add_attribute(thunk, "nounwind");
    add_attribute(thunk, "alwaysinline");
    LLVMReplaceAllUsesWith(declared, thunk);
    LLVMDeleteFunction(declared);
    LLVMValueRef callee = LLVMAddFunction(
        m, row->name, signature_type(c, row->signature, true));
    add_attribute(callee, "nounwind");
    thunk_body(thunk, callee, context_symbol(m, row->first));
}

/* Binds one served function. A program that defines a function of that name
 * itself keeps it. A declaration of another type is an error: a call with other
 * arguments would read what nobody has passed. */
static ompjit_status bind(LLVMModuleRef m, const ompjit__served_name *row,
                          ompjit__host_half *half, ompjit_error *err)
{
    LLVMValueRef declared = LLVMGetNamedFunction(m, row->name);
    if (!declared || !LLVMIsDeclaration(declared))
        return OMPJIT_OK;
    LLVMTypeRef have = LLVMGlobalGetValueType(declared);
    LLVMTypeRef want =
        signature_type(LLVMGetModuleContext(m), row->signature, false);
    if (!agrees(have, want))
        return disagreement(row->name, have, want, err);
    if (!need(half, row->name))
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    if (row->first)
        make_thunk(m, declared, row);
    return OMPJIT_OK;
}

static ompjit_status bind_all(LLVMModuleRef m, ompjit__host_half *half,
                              ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    for (size_t i = 0; !status && i < ompjit__nserved_names; i++)
        status = bind(m, &ompjit__served_names[i], half, err);
    return status;
}

/* --------------------------------------------------------- offload entries */

/* The number in field `i` of a constant; 0 for anything else. */
static uint64_t number(LLVMValueRef aggregate, unsigned i)
{
    LLVMValueRef v = LLVMGetAggregateElement(aggregate, i);
    return v && LLVMIsAConstantInt(v) ? LLVMConstIntGetZExtValue(v) : 0;
}

/* The bytes of a C string that a constant points at; "" for anything else. */
static char *string_at(LLVMValueRef pointer)
{
    LLVMValueRef init = pointer && LLVMIsAGlobalVariable(pointer)
                            ? LLVMGetInitializer(pointer)
                            : NULL;
    size_t n = 0;
    const char *s = "";
    if (init && LLVMIsAConstantDataSequential(init) &&
        LLVMIsConstantString(init))
        s = LLVMGetAsString(init, &n);
    return ompjit__format("%.*s", (int)n, s);
}

static ompjit_status read_entry(LLVMModuleRef m, LLVMValueRef g,
                                ompjit__host_half *half, LLVMValueRef *key,
                                ompjit_error *err)
{
    ompjit__entry entry;
    size_t n;
    if (!ompjit__entry_read(g, &entry))
        return ir_failure(m, "unknown layout of offload entry",
                          LLVMGetValueName2(g, &n), err);
    ompjit__host_entry *e =
        grow(&half->entries, &half->nentries, sizeof *half->entries);
    if (!e)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    LLVMTypeRef pointer =
        LLVMPointerTypeInContext(LLVMGetModuleContext(m), 0);
    *key = entry.address ? entry.address : LLVMConstNull(pointer);
    e->symbol = string_at(entry.name);
    e->size = entry.size;
    e->flags = entry.flags;
    e->data = entry.data;
    return e->symbol ? OMPJIT_OK
                     : ompjit__no_memory(err, OMPJIT_STAGE_READ);
}

/* ------------------------------------------- constructors and destructors */

struct structor {
    LLVMValueRef function;
    uint64_t priority;
};

/* Those of one list, by ascending priority, in their order where it is the
 * same; the list is removed. malloc'd. */
static struct structor *take_structors(LLVMModuleRef m, const char *list,
                                       size_t *n)
{
    *n = 0;
    LLVMValueRef g = LLVMGetNamedGlobal(m, list);
    LLVMValueRef init = g ? LLVMGetInitializer(g) : NULL;
    size_t length =
        init ? (size_t)LLVMGetArrayLength2(LLVMGlobalGetValueType(g)) : 0;
    struct structor *s = calloc(length + 1, sizeof *s);
    for (size_t i = 0; s && i < length; i++) {
        LLVMValueRef row = LLVMGetAggregateElement(init, (unsigned)i);
        LLVMValueRef f = LLVMGetAggregateElement(row, 1);
        uint64_t priority = number(row, 0);
        size_t at = *n;
        if (LLVMIsNull(f))
            continue;
        for (; at && s[at - 1].priority > priority; at--)
            s[at] = s[at - 1];
        s[at] = (struct structor){f, priority};
        ++*n;
    }
    if (g)
        LLVMDeleteGlobal(g);
    return s;
}

/* The variable that stands for this object in __cxa_atexit: when the program is
 * unloaded, the runtime ends what was registered with its address. Each object
 * needs its own, so it is made internal. */
static LLVMValueRef dso_handle(LLVMModuleRef m)
{
    LLVMTypeRef i8 = LLVMInt8TypeInContext(LLVMGetModuleContext(m));
    LLVMValueRef g = LLVMGetNamedGlobal(m, "__dso_handle");
    if (!g)
        g = LLVMAddGlobal(m, i8, "__dso_handle");
    LLVMSetVisibility(g, LLVMDefaultVisibility);
    LLVMSetInitializer(g, LLVMConstNull(LLVMGlobalGetValueType(g)));
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    return g;
}

/* __cxa_atexit(f, NULL, &__dso_handle): runs when the host half is freed or
 * the process exits, whichever comes first. */
static LLVMValueRef build_atexit(LLVMModuleRef m, LLVMBuilderRef b,
                                 LLVMValueRef f)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type = signature_type(c, "i:ppp", false);
    LLVMValueRef callee = LLVMGetNamedFunction(m, "__cxa_atexit");
    if (!callee)
        callee = LLVMAddFunction(m, "__cxa_atexit", type);
    LLVMValueRef args[] = {f, LLVMConstNull(LLVMPointerTypeInContext(c, 0)),
                           LLVMGetNamedGlobal(m, "__dso_handle")};
    return LLVMBuildCall2(b, type, callee, args, 3, "");
}

/* C's atexit is not in libc.so: every program brings its own. */
static void define_atexit(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, "atexit");
    LLVMContextRef c = LLVMGetModuleContext(m);
    if (!f || !LLVMIsDeclaration(f) ||
        LLVMGlobalGetValueType(f) != signature_type(c, "i:p", false))
        return;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, f, ""));
    LLVMBuildRet(b, build_atexit(m, b, LLVMGetParam(f, 0)));
    LLVMDisposeBuilder(b);
}

/* Destructors are registered first, so that they run last, those of the
 * highest priority number first; then the constructors run. */
static LLVMValueRef build_init(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type = signature_type(c, "v:", false);
    size_t nctors, ndtors;
    struct structor *ctors = take_structors(m, "llvm.global_ctors", &nctors);
    struct structor *dtors = take_structors(m, "llvm.global_dtors", &ndtors);
    LLVMValueRef init = NULL;
    if (ctors && dtors) {
        LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
        init = LLVMAddFunction(m, "ompjit.init", type);
        LLVMSetLinkage(init, LLVMInternalLinkage);
        LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, init, ""));
        for (size_t i = 0; i < ndtors; i++)
            build_atexit(m, b, dtors[i].function);
        for (size_t i = 0; i < nctors; i++)
            LLVMBuildCall2(b, type, ctors[i].function, NULL, 0, "");
        LLVMBuildRetVoid(b);
        LLVMDisposeBuilder(b);
    }
    free(ctors);
    free(dtors);
    return init;
}

/* ------------------------------------------------------------------ table */

/* The table of OMPJIT__TABLE, with all entries' keys. */
static ompjit_status build_table(LLVMModuleRef m, ompjit__host_half *half,
                                 ompjit_error *err)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(c, 0);
    LLVMValueRef *slots = NULL, *slot;
    size_t n = 0;
    ompjit_status status = OMPJIT_OK;
    if ((slot = grow(&slots, &n, sizeof *slots)))
        *slot = dso_handle(m);
    define_atexit(m);
    if (slot && (slot = grow(&slots, &n, sizeof *slots)))
        *slot = build_init(m);
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); slot && !status && g;
         g = LLVMGetNextGlobal(g))
        if (ompjit__is_entry(g) && (slot = grow(&slots, &n, sizeof *slots)))
            status = read_entry(m, g, half, slot, err);
    if (!slot || !slots[OMPJIT__TABLE_INIT])
        status = ompjit__no_memory(err, OMPJIT_STAGE_READ);
    if (!status) {
        LLVMValueRef table = LLVMAddGlobal(m, LLVMArrayType2(pointer, n),
                                           OMPJIT__TABLE);
        LLVMSetGlobalConstant(table, 1);
        LLVMSetInitializer(table,
                           LLVMConstArray2(pointer, slots, (uint64_t)n));
    }
    free(slots);
    return status;
}

/* --------------------------------------------------------------- functions */

/* clang's target features stay, behind this CPU's own, so that they count where
 * both name one: code with -mno-avx512f keeps to that. The CPU is this one's,
 * and tuning follows it. */
static void retarget(LLVMValueRef f, LLVMContextRef c, const char *cpu,
                     const char *features, ompjit__buf *text)
{
    static const char own[] = "target-features", name[] = "target-cpu";
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(
        f, LLVMAttributeFunctionIndex, own, sizeof own - 1);
    unsigned n = 0;
    const char *had = a ? LLVMGetStringAttributeValue(a, &n) : "";
    text->size = 0;
    ompjit__buf_printf(text, "%s%s%.*s", features, n ? "," : "", (int)n, had);
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(c, own, sizeof own - 1, text->data,
                                  (unsigned)text->size));
    LLVMAddAttributeAtIndex(
        f, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(c, name, sizeof name - 1, cpu,
                                  (unsigned)strlen(cpu)));
    LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, "tune-cpu",
                                     8);
}

/* Lists a function that the application may ask for by name. False: no memory.
 * Functions of other linkages are not found by name, or not this module's. */
static bool note_function(LLVMValueRef f, ompjit__host_half *half)
{
    LLVMLinkage linkage = LLVMGetLinkage(f);
    size_t n;
    if (linkage != LLVMExternalLinkage && linkage != LLVMWeakAnyLinkage &&
        linkage != LLVMWeakODRLinkage)
        return true;
    char **name =
        grow(&half->functions, &half->nfunctions, sizeof *half->functions);
    return name && (*name = ompjit__strdup(LLVMGetValueName2(f, &n)));
}

/* Retargets and lists all functions that are defined in the program. It comes
 * before build_table, which adds functions of our own. */
static ompjit_status each_function(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                   ompjit__host_half *half, ompjit_error *err)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    char *cpu = LLVMGetTargetMachineCPU(tm);
    char *features = LLVMGetTargetMachineFeatureString(tm);
    ompjit__buf text = {0};
    bool good = true;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); good && f;
         f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        retarget(f, c, cpu, features, &text);
        good = !text.failed && note_function(f, half);
    }
    ompjit__buf_free(&text);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return good ? OMPJIT_OK : ompjit__no_memory(err, OMPJIT_STAGE_READ);
}

/* ------------------------------------------------------------------- whole */

/* IR of another processor is compiled by nobody here. If it is the same one,
 * the rest of the triple (vendor, system) becomes ours. */
static ompjit_status adopt_target(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                  ompjit_error *err)
{
    char *ours = LLVMGetTargetMachineTriple(tm);
    const char *theirs = LLVMGetTarget(m);
    size_t n = strcspn(ours, "-");
    ompjit_status status = OMPJIT_OK;
    if (*theirs && (strncmp(ours, theirs, n) || theirs[n] != '-')) {
        status = ir_failure(m, "is for", theirs, err);
    } else {
        LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
        LLVMSetTarget(m, ours);
        LLVMSetModuleDataLayout(m, layout);
        LLVMDisposeTargetData(layout);
    }
    LLVMDisposeMessage(ours);
    return status;
}

/* widen comes last, since the steps before it add declarations, and hold values
 * that it would delete. */
ompjit_status ompjit__host_prepare(LLVMModuleRef m, LLVMTargetMachineRef tm,
                                   ompjit__host_half *out, ompjit_error *err)
{
    ompjit_status status = adopt_target(m, tm, err);
    if (!status)
        ompjit__host_repair(m);
    if (!status)
        status = bind_all(m, out, err);
    if (!status)
        status = each_function(m, tm, out, err);
    if (!status)
        status = build_table(m, out, err);
    if (!status && !LLVMGetModuleFlag(m, "PIC Level", 9))
        ompjit__place_declarations_anywhere(m);
    return status;
}
