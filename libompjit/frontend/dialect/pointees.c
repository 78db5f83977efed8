/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The locals of generic kernels' main threads whose addresses other threads can
 * get at. An inclusion-based analysis of the code that main threads run: each
 * value has the set of locals that it may point to, and each local the set of
 * those whose addresses it may hold, whatever their types and offsets. Number 0
 * stands for all other memory, which other threads reach; it holds the locals
 * that are asked for. They get there by a list of arguments that
 * __kmpc_parallel_60 hands on, by a store to other memory or to a local that is
 * there already, and by a call of code that is not known. Functions that keep no
 * address are the runtime table's, but for those that hand one on to a loop's
 * body, LLVM's intrinsics, a few of the C library's, by their whole names, and
 * those whose parameter the IR says not to be captured.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"
#include "frontend/dialect/pointees.h"
#include "table/rows.h"

enum { LIST = 7 };  /* the operand `args` of __kmpc_parallel_60 */
enum { OTHER = 0 }; /* the number of all other memory           */

/* Ascending numbers without repetition. */
typedef struct set {
    uint32_t *list;
    uint32_t n, capacity;
} set;

typedef struct ompjit__pointees {
    ompjit__reached code;    /* functions that main threads run            */
    ompjit__reached taken;   /* of these, those that calls by address reach */
    LLVMValueRef *values;    /* by slots of a hash table; NULL: free       */
    set *points;             /* of the values                              */
    size_t capacity, nvalues;
    LLVMValueRef *objects;   /* the locals; 0 is OTHER                     */
    set *holds;              /* of the objects                             */
    uint32_t nobjects, most_objects;
    set other;               /* {OTHER}                                    */
    bool changed, failed;
} analysis;

/* -------------------------------------------------------------------- sets */

static bool has(const set *s, uint32_t number)
{
    uint32_t low = 0, high = s->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->list[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n && s->list[low] == number;
}

static void add(analysis *a, set *s, uint32_t number)
{
    if (has(s, number))
        return;
    if (s->n == s->capacity) {
        uint32_t capacity = s->capacity ? 2 * s->capacity : 4;
        void *p = realloc(s->list, capacity * sizeof *s->list);
        if ((a->failed |= !p))
            return;
        s->list = p;
        s->capacity = capacity;
    }
    uint32_t at = s->n++;
    for (; at && s->list[at - 1] > number; at--)
        s->list[at] = s->list[at - 1];
    s->list[at] = number;
    a->changed = true;
}

static void add_all(analysis *a, set *to, const set *from)
{
    for (uint32_t i = 0; to != from && i < from->n; i++)
        add(a, to, from->list[i]);
}

/* ------------------------------------------------------------------ values */

static size_t slot_of(const analysis *a, LLVMValueRef v)
{
    uint64_t h = (uintptr_t)v * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (h >> 20) & (a->capacity - 1);
    while (a->values[at] && a->values[at] != v)
        at = (at + 1) & (a->capacity - 1);
    return at;
}

static void add_object(analysis *a, LLVMValueRef local)
{
    if (a->nobjects == a->most_objects) {
        uint32_t most = a->most_objects ? 2 * a->most_objects : 64;
        void *p = realloc(a->objects, most * sizeof *a->objects);
        if ((a->failed |= !p))
            return;
        a->objects = p;
        a->most_objects = most;
    }
    a->objects[a->nobjects++] = local;
}

/* The objects that a value may point to. Constants are addresses of other
 * memory, if they are any. */
static const set *points_to(const analysis *a, LLVMValueRef v)
{
    static const set nothing;
    if (LLVMIsAConstant(v))
        return LLVMIsAGlobalValue(v) || LLVMIsAConstantExpr(v) ||
                       LLVMIsAConstantStruct(v) || LLVMIsAConstantArray(v)
                   ? &a->other
                   : &nothing;
    size_t at = slot_of(a, v);
    return a->values[at] ? &a->points[at] : &nothing;
}

/* An instruction's, a parameter's, or that of a function's result. */
static set *points_of(analysis *a, LLVMValueRef v)
{
    return &a->points[slot_of(a, v)];
}

static bool is_shared(const analysis *a, uint32_t object)
{
    return object == OTHER || has(&a->holds[OTHER], object);
}

/* ------------------------------------------------------- loads and stores */

/* Adds the contents of an object; one that other threads reach has all of
 * theirs. */
static void add_contents(analysis *a, set *to, uint32_t object)
{
    add_all(a, to, &a->holds[object]);
    if (is_shared(a, object)) {
        add_all(a, to, &a->holds[OTHER]);
        add(a, to, OTHER);
    }
}

static void load(analysis *a, set *to, LLVMValueRef pointer)
{
    const set *from = points_to(a, pointer);
    for (uint32_t i = 0; i < from->n; i++)
        add_contents(a, to, from->list[i]);
}

static set *held_by(analysis *a, uint32_t object)
{
    return &a->holds[is_shared(a, object) ? OTHER : object];
}

static void store(analysis *a, LLVMValueRef pointer, LLVMValueRef value)
{
    const set *to = points_to(a, pointer);
    for (uint32_t i = 0; i < to->n; i++)
        add_all(a, held_by(a, to->list[i]), points_to(a, value));
}

static void copy(analysis *a, LLVMValueRef pointer, LLVMValueRef from)
{
    const set *to = points_to(a, pointer), *source = points_to(a, from);
    for (uint32_t i = 0; i < to->n; i++)
        for (uint32_t k = 0; k < source->n; k++)
            add_contents(a, held_by(a, to->list[i]), source->list[k]);
}

/* Other threads get the value. */
static void give(analysis *a, LLVMValueRef value)
{
    add_all(a, &a->holds[OTHER], points_to(a, value));
}

/* ------------------------------------------------------------------- calls */

static bool is_call(LLVMValueRef v)
{
    return LLVMIsACallInst(v) || LLVMIsAInvokeInst(v);
}

static bool begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

/* A row of the runtime table whose function stores no argument where others
 * find it. What runs a loop's body hands an argument on to that. */
static bool is_silent_row(const char *name)
{
    return ompjit__rtl_newest(name) >= 0 &&
           !begins(name, "__kmpc_for_static_loop_") &&
           !begins(name, "__kmpc_distribute_");
}

/* Does the function, whose code is not here, keep no address? Names that begin
 * with __nv_ are CUDA's libdevice's: functions of numbers, some of which store
 * results. */
static bool keeps_nothing(LLVMValueRef f)
{
    static const char *const library[] = {
        "__assert_fail", "__assertfail", "calloc",  "free",
        "malloc",        "memchr",       "memcmp",  "memcpy",
        "memmove",       "memset",       "printf",  "puts",
        "realloc",       "strcmp",       "strlen",  "strncmp",
        "vprintf",
    };
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    for (size_t i = 0; i < sizeof library / sizeof *library; i++)
        if (!strcmp(name, library[i]))
            return true;
    return LLVMGetIntrinsicID(f) || begins(name, "__nv_") ||
           is_silent_row(name);
}

/* Does the IR say that the function does not keep its parameter i? */
static bool is_not_captured(LLVMValueRef f, unsigned i)
{
    static const char name[] = "captures";
    LLVMAttributeRef attribute =
        i < LLVMCountParams(f)
            ? LLVMGetEnumAttributeAtIndex(
                  f, i + 1,
                  LLVMGetEnumAttributeKindForName(name, sizeof name - 1))
            : NULL;
    return attribute && !LLVMGetEnumAttributeValue(attribute);
}

static bool copies(const char *name)
{
    return begins(name, "llvm.memcpy.") || begins(name, "llvm.memmove.") ||
           !strcmp(name, "memcpy") || !strcmp(name, "memmove");
}

/* The body gets the call's third argument behind the loop's counter. */
static void call_body(analysis *a, LLVMValueRef call, LLVMValueRef body)
{
    if (LLVMCountParams(body) > 1)
        add_all(a, points_of(a, LLVMGetParam(body, 1)),
                points_to(a, LLVMGetOperand(call, 2)));
}

/* The contents of the list, but not the list itself, which is copied. */
static void hand_list(analysis *a, LLVMValueRef list)
{
    const set *lists = points_to(a, list);
    for (uint32_t i = 0; i < lists->n; i++)
        add_all(a, &a->holds[OTHER], &a->holds[lists->list[i]]);
}

/* f: the function whose code is not here; NULL: any, or assembly. */
static void call_unknown(analysis *a, LLVMValueRef call, LLVMValueRef f,
                         bool keeps)
{
    set *result = points_of(a, call);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMValueRef arg = LLVMGetOperand(call, i);
        if (keeps && !(f && is_not_captured(f, i)))
            give(a, arg);
        add_all(a, result, points_to(a, arg));
    }
    add_contents(a, result, OTHER);
}

static void call_defined(analysis *a, LLVMValueRef call, LLVMValueRef f)
{
    unsigned n = LLVMGetNumArgOperands(call);
    for (unsigned i = 0; i < n; i++)
        if (i < LLVMCountParams(f))
            add_all(a, points_of(a, LLVMGetParam(f, i)),
                    points_to(a, LLVMGetOperand(call, i)));
        else /* of a variadic function */
            give(a, LLVMGetOperand(call, i));
    add_all(a, points_of(a, call), points_of(a, f));
}

/* The C library's also return where they copy to. */
static void copy_by(analysis *a, LLVMValueRef call)
{
    copy(a, LLVMGetOperand(call, 0), LLVMGetOperand(call, 1));
    add_all(a, points_of(a, call), points_to(a, LLVMGetOperand(call, 0)));
}

static void call(analysis *a, LLVMValueRef i)
{
    LLVMValueRef f = LLVMGetCalledValue(i);
    size_t n;
    if (!LLVMIsAFunction(f)) {
        call_unknown(a, i, NULL, !LLVMIsAInlineAsm(f));
        return;
    }
    const char *name = LLVMGetValueName2(f, &n);
    LLVMValueRef body = ompjit__loop_body(i);
    if (body)
        call_body(a, i, body);
    else if (!strcmp(name, "__kmpc_parallel_60"))
        hand_list(a, LLVMGetOperand(i, LIST));
    else if (copies(name) && LLVMGetNumArgOperands(i) > 1)
        copy_by(a, i);
    else if (LLVMIsDeclaration(f))
        call_unknown(a, i, f, !keeps_nothing(f));
    else
        call_defined(a, i, f);
}

/* ------------------------------------------------------------ instructions */

static void step(analysis *a, LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMAlloca:
    case LLVMICmp:
    case LLVMFCmp:
        return;
    case LLVMLoad:
        load(a, points_of(a, i), LLVMGetOperand(i, 0));
        return;
    case LLVMStore:
        store(a, LLVMGetOperand(i, 1), LLVMGetOperand(i, 0));
        return;
    case LLVMAtomicRMW:
        load(a, points_of(a, i), LLVMGetOperand(i, 0));
        store(a, LLVMGetOperand(i, 0), LLVMGetOperand(i, 1));
        return;
    case LLVMAtomicCmpXchg:
        load(a, points_of(a, i), LLVMGetOperand(i, 0));
        store(a, LLVMGetOperand(i, 0), LLVMGetOperand(i, 2));
        return;
    case LLVMCall:
    case LLVMInvoke:
        call(a, i);
        return;
    case LLVMRet:
        if (LLVMGetNumOperands(i))
            add_all(a,
                    points_of(a, LLVMGetBasicBlockParent(
                                     LLVMGetInstructionParent(i))),
                    points_to(a, LLVMGetOperand(i, 0)));
        return;
    default:
        if (LLVMIsATerminatorInst(i))
            return;
        for (int k = 0; k < LLVMGetNumOperands(i); k++)
            add_all(a, points_of(a, i),
                    points_to(a, LLVMGetOperand(i, (unsigned)k)));
    }
}

/* Calls f for each instruction of a function. */
static void each(analysis *a, LLVMValueRef function,
                 void (*f)(analysis *a, LLVMValueRef i))
{
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);
    for (; block; block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
             i = LLVMGetNextInstruction(i))
            f(a, i);
}

/* -------------------------------------------------- the main threads' code */

/* Can a call by address reach the function? What is handed to the runtime runs
 * in regions, or is a loop's body. */
static bool is_taken(LLVMValueRef f)
{
    size_t n;
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        LLVMValueRef callee = is_call(user) ? LLVMGetCalledValue(user) : NULL;
        if (callee != f &&
            !(callee && LLVMIsAFunction(callee) &&
              !strncmp(LLVMGetValueName2(callee, &n), "__kmpc_", 7)))
            return true;
    }
    return false;
}

static void add_callee(analysis *a, LLVMValueRef i)
{
    LLVMValueRef f = is_call(i) ? LLVMGetCalledValue(i) : NULL;
    if (!f || LLVMIsAInlineAsm(f))
        return;
    if (LLVMIsAFunction(f)) {
        LLVMValueRef body = ompjit__loop_body(i);
        if (body || !LLVMIsDeclaration(f))
            ompjit__reached_add(&a->code, body ? body : f);
        return;
    }
    LLVMModuleRef m = LLVMGetGlobalParent(LLVMGetBasicBlockParent(
        LLVMGetInstructionParent(i)));
    for (f = LLVMGetFirstFunction(m); f && !a->taken.n;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && !ompjit__is_kernel(f) && is_taken(f)) {
            ompjit__reached_add(&a->taken, f);
            ompjit__reached_add(&a->code, f);
        }
}

/* Finds what `kernel` runs, or, for NULL, what all generic kernels do. */
static void find_code(analysis *a, LLVMModuleRef m, LLVMValueRef kernel)
{
    if (kernel)
        ompjit__reached_add(&a->code, kernel);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f && !kernel;
         f = LLVMGetNextFunction(f))
        if (ompjit__is_generic(m, f))
            ompjit__reached_add(&a->code, f);
    for (size_t i = 0; i < a->code.n && !a->code.failed; i++)
        each(a, a->code.functions[i], add_callee);
    a->failed |= a->code.failed || a->taken.failed;
}

/* --------------------------------------------------------------- the values */

static void count_value(analysis *a, LLVMValueRef i)
{
    a->nvalues++;
    if (LLVMIsAAllocaInst(i))
        add_object(a, i);
}

static void add_value(analysis *a, LLVMValueRef v)
{
    a->values[slot_of(a, v)] = v;
}

static void make_values(analysis *a)
{
    add_object(a, NULL);
    for (size_t k = 0; k < a->code.n; k++) {
        a->nvalues += 1 + LLVMCountParams(a->code.functions[k]);
        each(a, a->code.functions[k], count_value);
    }
    a->capacity = 64;
    while (a->capacity < 2 * a->nvalues)
        a->capacity *= 2;
    a->values = calloc(a->capacity, sizeof *a->values);
    a->points = calloc(a->capacity, sizeof *a->points);
    a->holds = calloc(a->nobjects + 1u, sizeof *a->holds);
    a->failed |= !a->values || !a->points || !a->holds;
    if (a->failed)
        return;
    add(a, &a->other, OTHER);
    for (size_t k = 0; k < a->code.n; k++) {
        LLVMValueRef f = a->code.functions[k];
        add_value(a, f);
        for (unsigned p = 0; p < LLVMCountParams(f); p++) {
            add_value(a, LLVMGetParam(f, p));
            if (ompjit__is_kernel(f))
                add(a, points_of(a, LLVMGetParam(f, p)), OTHER);
        }
        each(a, f, add_value);
    }
    for (uint32_t k = 1; k < a->nobjects; k++)
        add(a, points_of(a, a->objects[k]), k);
}

/* Other threads also have the contents of the locals that they reach. */
static void close_over(analysis *a)
{
    for (uint32_t i = 0; i < a->holds[OTHER].n; i++)
        add_all(a, &a->holds[OTHER], &a->holds[a->holds[OTHER].list[i]]);
    for (size_t k = 0; k < a->taken.n; k++) {
        LLVMValueRef f = a->taken.functions[k];
        for (unsigned p = 0; p < LLVMCountParams(f); p++)
            add_contents(a, points_of(a, LLVMGetParam(f, p)), OTHER);
    }
}

void ompjit__pointees_free(ompjit__pointees *a)
{
    for (size_t i = 0; a->points && i < a->capacity; i++)
        free(a->points[i].list);
    for (uint32_t i = 0; a->holds && i < a->nobjects; i++)
        free(a->holds[i].list);
    free(a->points);
    free(a->holds);
    free(a->values);
    free(a->objects);
    free(a->other.list);
    free(a->code.functions);
    free(a->taken.functions);
    free(a);
}

static void analyse(analysis *a, LLVMModuleRef m, LLVMValueRef kernel)
{
    find_code(a, m, kernel);
    if (a->code.n && !a->failed)
        make_values(a);
    for (a->changed = a->code.n; a->changed && !a->failed;) {
        a->changed = false;
        for (size_t k = 0; k < a->code.n; k++)
            each(a, a->code.functions[k], step);
        close_over(a);
    }
}

/* ---------------------------------------------------------------- questions */

ompjit__pointees *ompjit__pointees_new(LLVMModuleRef m, LLVMValueRef kernel)
{
    analysis *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    analyse(a, m, kernel);
    if (!a->failed)
        return a;
    ompjit__pointees_free(a);
    return NULL;
}

const ompjit__reached *ompjit__pointees_code(const ompjit__pointees *a)
{
    return &a->code;
}

unsigned ompjit__points_to(const ompjit__pointees *a, LLVMValueRef v)
{
    unsigned found = 0;
    const set *to = points_to(a, v);
    for (uint32_t i = 0; i < to->n; i++)
        found |= to->list[i] == OTHER           ? OMPJIT__TO_OTHER
                 : is_shared(a, to->list[i]) ? OMPJIT__TO_SHARED
                                             : OMPJIT__TO_OWN;
    return found;
}

ompjit__reached ompjit__shared_locals_of(LLVMModuleRef m)
{
    ompjit__reached out = {0};
    analysis *a = ompjit__pointees_new(m, NULL);
    out.failed = !a;
    for (uint32_t k = 1; a && k < a->nobjects; k++)
        if (has(&a->holds[OTHER], k))
            ompjit__reached_add(&out, a->objects[k]);
    if (a)
        ompjit__pointees_free(a);
    return out;
}
