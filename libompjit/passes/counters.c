/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Counters in device code: one for each block of the source's code, where the
 * option ompjit-coverage asks for that, and those of clang's instrumentation
 * (-fprofile-instrument), lowered or not, which become atomic: threads share
 * them. Where that instrumentation notes values (sizes of copies, functions
 * called through pointers), each place keeps the first few and how often each
 * came. All are in one variable, OMPJIT__COUNTERS, with a text behind them
 * that tells what each counts, so that they need no place in images and the
 * cache.
 *
 * Requires a whole unit as it was read: every image of it must have the same
 * variable. What clang registers for a profile's writer is dropped.
 */
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "optimizer/counters.h"
#include "passes/passes.h"

/* An array of counters that clang's instrumentation has, by the name that calls
 * of llvm.instrprof.increment pass. */
struct profiled {
    LLVMValueRef of;
    unsigned first;
};

/* A place that notes values: clang's number of it in the function, by the name
 * or the record of that. */
struct place {
    LLVMValueRef of;
    unsigned number, first;
};

struct counting {
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMTypeRef i8, i64, pointer;
    LLVMValueRef stand_in; /* for the variable, until its size is known */
    unsigned n;            /* counters so far                           */
    struct profiled *profiled;
    size_t nprofiled;
    struct place *places;
    size_t nplaces;
    LLVMValueRef targets; /* where pointers may lead to; NULL: not made */
    ompjit__buf text;
};

static const char *name_of(LLVMValueRef v)
{
    size_t length;
    return LLVMGetValueName2(v, &length);
}

static bool begins(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

/* The function that an instruction calls by its name; else "". */
static const char *callee_name(LLVMValueRef i)
{
    LLVMValueRef f = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    return f && LLVMIsAFunction(f) ? name_of(f) : "";
}

/* ------------------------------------------------------------------- text */

/* The counter `slot` counts the line of the instruction; NULL: not known. */
static void describe(struct counting *s, LLVMValueRef i, unsigned slot,
                     char kind, unsigned number, const char *function)
{
    unsigned length = 0;
    bool known = i && LLVMInstructionGetDebugLoc(i);
    const char *file = known ? LLVMGetDebugLocFilename(i, &length) : NULL;
    ompjit__buf_printf(&s->text, "%u\t%c\t%u\t%u\t%s\t", slot, kind,
                       known ? LLVMGetDebugLocLine(i) : 0, number, function);
    if (file && !memchr(file, '\n', length))
        ompjit__buf_add(&s->text, file, length);
    ompjit__buf_add(&s->text, "\n", 1);
}

static LLVMValueRef address(struct counting *s, unsigned slot)
{
    LLVMValueRef at = LLVMConstInt(s->i64, 8 * (uint64_t)slot + 8, 0);
    return LLVMConstInBoundsGEP2(s->i8, s->stand_in, &at, 1);
}

/* Adds to a counter, before the instruction. */
static void add(struct counting *s, LLVMValueRef before, LLVMValueRef counter,
                LLVMValueRef amount)
{
    LLVMPositionBuilderBefore(s->b, before);
    LLVMValueRef made =
        LLVMBuildAtomicRMW(s->b, LLVMAtomicRMWBinOpAdd, counter, amount,
                           LLVMAtomicOrderingMonotonic, 0);
    LLVMSetAlignment(made, 8);
    LLVMInstructionSetDebugLoc(made, LLVMInstructionGetDebugLoc(before));
}

/* ------------------------------------------------------------------ lines */

/* The block where a kernel's threads begin is not of the source. */
static bool is_runtimes(LLVMBasicBlockRef block)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
         i = LLVMGetNextInstruction(i))
        if (!strcmp(callee_name(i), "__kmpc_target_init"))
            return true;
    return false;
}

/* A line of the source that runs: not a variable's place or description, nor the
 * end of a function without a result, which outlining adds. */
static bool has_line(LLVMValueRef i)
{
    return !LLVMIsAPHINode(i) && !LLVMIsAAllocaInst(i) &&
           !LLVMIsALandingPadInst(i) &&
           !(LLVMIsAReturnInst(i) && !LLVMGetNumOperands(i)) &&
           !begins(callee_name(i), "llvm.dbg") &&
           LLVMInstructionGetDebugLoc(i) && LLVMGetDebugLocLine(i);
}

/* One counter for all lines of a block. */
static void count_block(struct counting *s, LLVMBasicBlockRef block,
                        const char *function)
{
    LLVMValueRef first = NULL;
    unsigned last = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
         i = LLVMGetNextInstruction(i)) {
        if (!has_line(i) || LLVMGetDebugLocLine(i) == last)
            continue;
        first = first ? first : i;
        last = LLVMGetDebugLocLine(i);
        describe(s, i, s->n, 'L', 0, function);
    }
    if (first)
        add(s, first, address(s, s->n++), LLVMConstInt(s->i64, 1, 0));
}

static void count_lines(struct counting *s, LLVMValueRef f)
{
    unsigned line;
    char *symbol = ompjit__source_symbol(name_of(f));
    char *title = symbol ? ompjit__kernel_name(symbol, &line) : NULL;
    s->text.failed |= !title;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); title && b;
         b = LLVMGetNextBasicBlock(b))
        if (!is_runtimes(b))
            count_block(s, b, title);
    free(title);
    free(symbol);
}

/* --------------------------------------------------- clang's own counters */

/* The first slot of an array of `n`, which gets some when it is first seen. */
static unsigned first_slot(struct counting *s, LLVMValueRef of, unsigned n)
{
    for (size_t i = 0; i < s->nprofiled; i++)
        if (s->profiled[i].of == of)
            return s->profiled[i].first;
    struct profiled *more =
        realloc(s->profiled, (s->nprofiled + 1) * sizeof *more);
    if (!more) {
        s->text.failed = true;
        return 0;
    }
    s->profiled = more;
    more[s->nprofiled++] = (struct profiled){of, s->n};
    s->n += n;
    return s->n - n;
}

/* "f" of __profc_f and __profn_f. */
static const char *profiled_name(LLVMValueRef of)
{
    return name_of(of) + strlen("__profc_");
}

/* ----------------------------------------------------------------- values */

/* LLVM's kinds of values. */
enum { TARGET, SIZE, TABLE };
#define VALUE_PROFILE "llvm.instrprof.value.profile"

/* The first slot of a place's values, which gets some when it is first seen.
 * Several copies of a place, which inlining makes, share them. */
static unsigned place_slot(struct counting *s, struct place at, bool target,
                           LLVMValueRef call)
{
    for (size_t i = 0; i < s->nplaces; i++)
        if (s->places[i].of == at.of && s->places[i].number == at.number)
            return s->places[i].first;
    struct place *more = realloc(s->places, (s->nplaces + 1) * sizeof *more);
    if (!more) {
        s->text.failed = true;
        return 0;
    }
    s->places = more;
    at.first = s->n;
    more[s->nplaces++] = at;
    describe(s, call, s->n, target ? 'T' : 'V', at.number,
             profiled_name(at.of));
    s->n += OMPJIT__VALUE_SLOTS;
    return s->n - OMPJIT__VALUE_SLOTS;
}

/* Does the module itself have the function's address, other than to call it or
 * to hand it to the runtime as a region? Constants that nothing uses are left
 * of dropped variables. */
static bool has_address(LLVMValueRef f)
{
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef by = LLVMGetUser(u);
        bool calls = LLVMIsACallInst(by) &&
                     (LLVMGetCalledValue(by) == f ||
                      begins(callee_name(by), "__kmpc_"));
        bool unused = LLVMIsAConstant(by) && !LLVMIsAGlobalValue(by) &&
                      !LLVMGetFirstUse(by);
        if (!calls && !unused)
            return true;
    }
    return false;
}

/* The functions that a pointer may lead to, with a null behind them: addresses
 * differ between images, places in this table do not. */
static LLVMValueRef targets(struct counting *s)
{
    if (s->targets)
        return s->targets;
    LLVMValueRef none = LLVMConstPointerNull(s->pointer), f;
    ompjit__buf list = {0};
    unsigned n = 0;
    for (f = LLVMGetFirstFunction(s->m); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && has_address(f)) {
            describe(s, NULL, n++, 'F', 0, name_of(f));
            ompjit__buf_add(&list, &f, sizeof f);
        }
    ompjit__buf_add(&list, &none, sizeof none);
    s->text.failed |= list.failed;
    LLVMValueRef all = LLVMConstArray2(
        s->pointer, (LLVMValueRef *)(void *)list.data, list.failed ? 0 : n + 1);
    s->targets = LLVMAddGlobal(s->m, LLVMTypeOf(all), "ompjit_targets");
    LLVMSetInitializer(s->targets, all);
    LLVMSetGlobalConstant(s->targets, 1);
    LLVMSetLinkage(s->targets, LLVMPrivateLinkage);
    ompjit__buf_free(&list);
    return s->targets;
}

/* The runtime notes the value of a place, before the call. */
static void note(struct counting *s, LLVMValueRef call, LLVMValueRef value,
                 struct place at, bool target)
{
    const char *name = target ? OMPJIT__COUNT_TARGET : OMPJIT__COUNT_VALUE;
    unsigned n = target ? 3 : 2, slot = place_slot(s, at, target, call);
    LLVMTypeRef types[] = {s->i64, s->pointer, s->pointer};
    LLVMTypeRef nothing = LLVMVoidTypeInContext(LLVMGetModuleContext(s->m));
    LLVMTypeRef type = LLVMFunctionType(nothing, types, n, 0);
    LLVMValueRef f = LLVMGetNamedFunction(s->m, name);
    LLVMValueRef arguments[] = {value, address(s, slot),
                                target ? targets(s) : NULL};
    f = f ? f : LLVMAddFunction(s->m, name, type);
    LLVMPositionBuilderBefore(s->b, call);
    LLVMValueRef made = LLVMBuildCall2(s->b, type, f, arguments, n, "");
    LLVMInstructionSetDebugLoc(made, LLVMInstructionGetDebugLoc(call));
}

/* The number of a function's places of lower kinds, which come before those of
 * this one, as far as the module has them. */
static unsigned places_before(LLVMValueRef name, uint64_t kind)
{
    unsigned n[TABLE + 1] = {0}, all = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(name); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        if (strcmp(callee_name(i), VALUE_PROFILE))
            continue;
        uint64_t its = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 3));
        uint64_t number = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 4));
        if (its <= TABLE && number >= n[its])
            n[its] = (unsigned)number + 1;
    }
    for (uint64_t k = 0; k < kind && k <= TABLE; k++)
        all += n[k];
    return all;
}

/* llvm.instrprof.value.profile(name, hash, value, kind, number) */
static void lower_value(struct counting *s, LLVMValueRef i)
{
    LLVMValueRef of = LLVMGetOperand(i, 0);
    uint64_t kind = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 3));
    uint64_t number = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 4)) +
                      places_before(of, kind);
    struct place at = {.of = of, .number = (unsigned)number};
    note(s, i, LLVMGetOperand(i, 2), at, kind == TARGET);
}

/* The same, lowered: __llvm_profile_instrument_*(value, record, number). Where
 * an optimizer has made the record a choice, the place is not known. */
static bool lower_note(struct counting *s, LLVMValueRef i)
{
    const char *name = callee_name(i);
    if (!begins(name, "__llvm_profile_instrument_") ||
        LLVMGetNumArgOperands(i) != 3)
        return false;
    LLVMValueRef of = LLVMGetOperand(i, 1), number = LLVMGetOperand(i, 2);
    while (LLVMIsAConstantExpr(of) && LLVMGetNumOperands(of))
        of = LLVMGetOperand(of, 0);
    if (LLVMIsAGlobalVariable(of) && begins(name_of(of), "__profd_") &&
        LLVMIsAConstantInt(number)) {
        struct place at = {
            .of = of, .number = (unsigned)LLVMConstIntGetZExtValue(number)};
        note(s, i, LLVMGetOperand(i, 0), at,
             !strcmp(name, "__llvm_profile_instrument_target"));
    }
    LLVMInstructionEraseFromParent(i);
    return true;
}

/* --------------------------------------------------------------- counters */

/* A call of clang's intrinsics: one that counts becomes an addition. False: it
 * is none. Those that note values stay meanwhile, since others are numbered by
 * them. */
static bool lower_call(struct counting *s, LLVMValueRef i)
{
    const char *name = callee_name(i);
    if (!strcmp(name, VALUE_PROFILE)) {
        lower_value(s, i);
        return true;
    }
    if (!begins(name, "llvm.instrprof."))
        return lower_note(s, i);
    bool step = !strcmp(name, "llvm.instrprof.increment.step");
    if (step || !strcmp(name, "llvm.instrprof.increment")) {
        LLVMValueRef of = LLVMGetOperand(i, 0);
        uint64_t n = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 2));
        uint64_t number = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 3));
        unsigned slot = first_slot(s, of, (unsigned)n) + (unsigned)number;
        describe(s, i, slot, 'P', (unsigned)number, profiled_name(of));
        add(s, i, address(s, slot),
            step ? LLVMGetOperand(i, 4) : LLVMConstInt(s->i64, 1, 0));
    }
    LLVMInstructionEraseFromParent(i);
    return true;
}

/* Is it the address of a counter? */
static bool is_counter(LLVMValueRef p)
{
    while (LLVMIsAConstantExpr(p) && LLVMGetNumOperands(p))
        p = LLVMGetOperand(p, 0);
    return LLVMIsAGlobalVariable(p) && begins(name_of(p), "__profc_");
}

/* x of a store that is *p = *p + x; else NULL. */
static LLVMValueRef added(LLVMValueRef store)
{
    LLVMValueRef sum = LLVMGetOperand(store, 0), p = LLVMGetOperand(store, 1);
    if (!LLVMIsABinaryOperator(sum) ||
        LLVMGetInstructionOpcode(sum) != LLVMAdd)
        return NULL;
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef load = LLVMGetOperand(sum, i);
        if (LLVMIsALoadInst(load) && LLVMGetOperand(load, 0) == p)
            return LLVMGetOperand(sum, !i);
    }
    return NULL;
}

/* Makes such a store to a counter atomic. */
static void lower_store(struct counting *s, LLVMValueRef i)
{
    LLVMValueRef amount = LLVMIsAStoreInst(i) &&
                                  is_counter(LLVMGetOperand(i, 1))
                              ? added(i)
                              : NULL;
    if (!amount)
        return;
    add(s, i, LLVMGetOperand(i, 1), amount);
    LLVMInstructionEraseFromParent(i);
}

static void lower_profile(struct counting *s, LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef next, i = LLVMGetFirstInstruction(b); i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (!lower_call(s, i))
                lower_store(s, i);
        }
}

/* The variables of counters become parts of ours, whatever uses them: what an
 * optimizer has made of additions that were not atomic stays as it is. */
static void take_variables(struct counting *s)
{
    LLVMValueRef next;
    for (LLVMValueRef g = LLVMGetFirstGlobal(s->m); g; g = next) {
        next = LLVMGetNextGlobal(g);
        LLVMTypeRef type = LLVMGlobalGetValueType(g);
        if (!begins(name_of(g), "__profc_") ||
            LLVMGetTypeKind(type) != LLVMArrayTypeKind ||
            LLVMGetElementType(type) != s->i64)
            continue;
        unsigned n = LLVMGetArrayLength(type);
        for (unsigned i = 0; i < n; i++)
            describe(s, NULL, s->n + i, 'P', i, profiled_name(g));
        LLVMValueRef first = address(s, s->n);
        if (LLVMTypeOf(first) != LLVMTypeOf(g))
            first = LLVMConstAddrSpaceCast(first, LLVMTypeOf(g));
        LLVMReplaceAllUsesWith(g, first);
        LLVMDeleteGlobal(g);
        s->n += n;
    }
}

static void drop_lowered(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, VALUE_PROFILE);
    for (LLVMUseRef u; f && (u = LLVMGetFirstUse(f));)
        LLVMInstructionEraseFromParent(LLVMGetUser(u));
}

/* Records for a profile's writer have differences of addresses in them, which
 * PTX cannot express. */
static void drop_records(LLVMModuleRef m)
{
    ompjit__drop_used(m);
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g)) {
        if (LLVMIsDeclaration(g) || !begins(name_of(g), "__profd_"))
            continue;
        LLVMSetInitializer(g, LLVMConstNull(LLVMGlobalGetValueType(g)));
        LLVMSetGlobalConstant(g, 1);
    }
}

/* Has clang instrumented the module? */
static bool is_profiled(LLVMModuleRef m)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
        if (begins(name_of(g), "__profc_") || begins(name_of(g), "__profn_"))
            return true;
    return false;
}

/* --------------------------------------------------------------- variable */

/* The number of counters, the counters, and the text with its NUL. */
static void make_variable(struct counting *s)
{
    LLVMContextRef c = LLVMGetModuleContext(s->m);
    LLVMValueRef parts[] = {
        LLVMConstInt(s->i64, s->n, 0),
        LLVMConstNull(LLVMArrayType2(s->i64, s->n)),
        LLVMConstStringInContext2(c, s->text.data, s->text.size, 0),
    };
    LLVMValueRef value = LLVMConstStructInContext(c, parts, 3, 0);
    LLVMValueRef g = LLVMAddGlobal(s->m, LLVMTypeOf(value), OMPJIT__COUNTERS);
    LLVMSetInitializer(g, value);
    LLVMSetAlignment(g, 8);
    LLVMReplaceAllUsesWith(s->stand_in, g);
}

static void count(struct counting *s, bool lines, bool profiled)
{
    if (profiled)
        drop_records(s->m);
    for (LLVMValueRef f = LLVMGetFirstFunction(s->m); f;
         f = LLVMGetNextFunction(f)) {
        if (lines && !LLVMIsDeclaration(f))
            count_lines(s, f);
        if (profiled)
            lower_profile(s, f);
    }
    if (profiled) {
        drop_lowered(s->m);
        take_variables(s);
    }
    if (s->n && !s->text.failed)
        make_variable(s);
}

bool ompjit__count(LLVMModuleRef m, bool lines)
{
    bool profiled = is_profiled(m);
    if (!lines && !profiled)
        return true;
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct counting s = {.m = m,
                         .b = LLVMCreateBuilderInContext(c),
                         .i8 = LLVMInt8TypeInContext(c),
                         .i64 = LLVMInt64TypeInContext(c),
                         .pointer = LLVMPointerTypeInContext(c, 0)};
    s.stand_in = LLVMAddGlobal(m, s.i8, "");
    count(&s, lines, profiled);
    bool done = !s.text.failed;
    if (done)
        LLVMDeleteGlobal(s.stand_in);
    LLVMDisposeBuilder(s.b);
    ompjit__buf_free(&s.text);
    free(s.profiled);
    free(s.places);
    return done;
}
