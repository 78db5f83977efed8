/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Which of a kernel's pointer parameters does it write through? A parameter
 * counts as written unless the IR shows that it is not: its pointer is followed
 * through local variables, calls and parallel regions, and whatever else is
 * done with it than to load and compare counts as a write.
 *
 * A pointer that the kernel loads from a parameter's storage leads to storage
 * that the application has mapped apart: whether the kernel writes through any
 * such pointer is a fact of its own.
 *
 * Code may copy a pointer as a number of its size: a union's other member, and
 * what the optimizer makes of a small memcpy. Such numbers are followed where
 * they are copied. A copy byte by byte of a local variable counts as a write.
 *
 * Requires the inner dialect, optimized or not.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "frontend/describe/describe.h"
#include "frontend/describe/reach.h"

/* A value from which the parameter's storage is reached by so many loads of
 * local variables; where it is such a variable's address, the pointer or the
 * variable behind it stands `at` bytes after it, if that is known. */
struct trace {
    LLVMValueRef v;
    unsigned loads;
    bool loaded; /* from the parameter's storage: leads elsewhere */
    int64_t at;  /* -1: not known                                 */
};

/* The search for one parameter. `list` and `places` are malloc'd and freed by
 * search(). */
struct search {
    struct trace *list; /* all so far */
    size_t n, capacity;
    uint32_t *places; /* a hash table of numbers in the list, from 1 on */
    size_t nplaces;   /* a power of 2 */
    bool written, writes_loaded;
};

/* Beyond these the parameter counts as written. */
enum { MOST_TRACES = 20000, MOST_LOADS = 4, UNKNOWN = -1 };

static void give_up(struct search *s)
{
    s->written = s->writes_loaded = true;
}

/* ----------------------------------------------------------------- traces */

/* The place in the table of a trace, or the free one where it would be put.
 * There is one: the table has twice as many places as the list has room. */
static size_t place_of(const struct search *s, const struct trace *t)
{
    uint64_t h = (uintptr_t)t->v * UINT64_C(0x9E3779B97F4A7C15);
    h ^= (uint64_t)t->at * UINT64_C(0xBF58476D1CE4E5B9) + 2 * t->loads +
         t->loaded;
    for (size_t i = (h ^ h >> 32) & (s->nplaces - 1);;
         i = (i + 1) & (s->nplaces - 1)) {
        const struct trace *other =
            s->places[i] ? &s->list[s->places[i] - 1] : NULL;
        if (!other || (other->v == t->v && other->loads == t->loads &&
                       other->loaded == t->loaded && other->at == t->at))
            return i;
    }
}

/* Room for more, in the list and in the table, which is filled again. */
static bool grow(struct search *s)
{
    size_t capacity = s->capacity ? 2 * s->capacity : 64;
    struct trace *list = realloc(s->list, capacity * sizeof *list);
    if (!list)
        return false;
    s->list = list;
    uint32_t *places = calloc(2 * capacity, sizeof *places);
    if (!places)
        return false;
    free(s->places);
    s->places = places;
    s->nplaces = 2 * capacity;
    s->capacity = capacity;
    for (size_t i = 0; i < s->n; i++)
        s->places[place_of(s, &s->list[i])] = (uint32_t)i + 1;
    return true;
}

/* Adds a trace unless it is there. The list is the work that is left. */
static void add(struct search *s, struct trace t)
{
    if (t.loads > MOST_LOADS || s->n == MOST_TRACES ||
        (s->n == s->capacity && !grow(s))) {
        give_up(s);
        return;
    }
    size_t place = place_of(s, &t);
    if (s->places[place])
        return;
    s->list[s->n++] = t;
    s->places[place] = (uint32_t)s->n;
}

/* The same pointer, or one at another offset, by another name. */
static void follow(struct search *s, const struct trace *t, LLVMValueRef v,
                   int64_t at)
{
    add(s, (struct trace){v, t->loads, t->loaded, t->loads ? at : 0});
}

/* ----------------------------------------------------------------- values */

/* Does the function's name begin with one of these? */
static bool has_name(LLVMValueRef f, const char *const *names)
{
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    for (; *names; names++)
        if (!strncmp(name, *names, strlen(*names)))
            return true;
    return false;
}

/* A variable of the kernel's own: whoever else has its address was given it by
 * code that is traced. */
static bool is_local(LLVMValueRef v)
{
    static const char *const allocators[] = {"__kmpc_alloc_shared", NULL};
    LLVMValueRef f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    return LLVMIsAAllocaInst(v) ||
           (f && LLVMIsAFunction(f) && has_name(f, allocators));
}

static bool has_opcode(LLVMValueRef v, LLVMOpcode code)
{
    return (LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == code) ||
           (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == code);
}

/* The bytes that a GEP adds, for arrays of pointers, structs of them, and what
 * is addressed by bytes; UNKNOWN for all others. */
static int64_t offset_of(LLVMValueRef gep)
{
    enum { POINTER = 8 };
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    int n = LLVMGetNumOperands(gep);
    LLVMValueRef last = LLVMGetOperand(gep, (unsigned)n - 1);
    if (!LLVMIsAConstantInt(last))
        return UNKNOWN;
    int64_t number = LLVMConstIntGetSExtValue(last);
    if (n == 2 && LLVMGetTypeKind(type) == LLVMPointerTypeKind)
        return POINTER * number;
    if (n == 2 && LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
        LLVMGetIntTypeWidth(type) == 8)
        return number;
    LLVMValueRef first = LLVMGetOperand(gep, 1);
    bool whole = n == 3 && LLVMIsAConstantInt(first) &&
                 !LLVMConstIntGetSExtValue(first);
    if (whole && LLVMGetTypeKind(type) == LLVMArrayTypeKind &&
        LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMPointerTypeKind)
        return POINTER * number;
    return number || !whole ? UNKNOWN : 0;
}

/* The local variable that the address lies in, and how far; NULL: none. */
static LLVMValueRef variable_of(LLVMValueRef address, int64_t *at)
{
    *at = 0;
    for (;;) {
        if (has_opcode(address, LLVMGetElementPtr)) {
            int64_t add = offset_of(address);
            *at = *at < 0 || add < 0 ? UNKNOWN : *at + add;
        } else if (!has_opcode(address, LLVMAddrSpaceCast) &&
                   !has_opcode(address, LLVMBitCast)) {
            return is_local(address) ? address : NULL;
        }
        address = LLVMGetOperand(address, 0);
    }
}

/* ------------------------------------------------------------------- uses */

/* The traced pointer is stored: from now on it is behind a local variable, of
 * which every pointer that is loaded is taken to be it. */
static void store_value(struct search *s, const struct trace *t,
                        LLVMValueRef address)
{
    int64_t at;
    LLVMValueRef variable = variable_of(address, &at);
    if (!variable)
        give_up(s);
    else
        add(s, (struct trace){variable, t->loads + 1, t->loaded, at});
}

/* A write through the traced pointer. */
static void note_write(struct search *s, const struct trace *t)
{
    if (t->loads)
        return; /* to a local variable */
    if (t->loaded)
        s->writes_loaded = true;
    else
        s->written = true;
}

/* May a value of the type have a pointer in it? */
static bool may_be_pointer(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
    case LLVMStructTypeKind:
    case LLVMArrayTypeKind:
    case LLVMVectorTypeKind:
        return true;
    default:
        return false;
    }
}

/* Has the integer room for a pointer? */
static bool is_number(LLVMTypeRef type)
{
    enum { POINTER_BITS = 64 };
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(type) >= POINTER_BITS;
}

/* May the load from a local variable read a part of the pointer there? Where
 * that stands is not always known: then bytes are taken for parts, as a loop
 * copies them, and longer numbers for other members. */
static bool is_part(const struct trace *t, LLVMTypeRef type)
{
    enum { POINTER = 8, BYTE = 8 };
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
        return false;
    return t->at < 0 ? LLVMGetIntTypeWidth(type) == BYTE : t->at < POINTER;
}

/* From a local variable comes the pointer itself, from the parameter's storage
 * one that leads elsewhere. Smaller numbers are no pointers. */
static void load(struct search *s, const struct trace *t, LLVMValueRef value)
{
    enum { POINTER = 8 };
    LLVMTypeRef type = LLVMTypeOf(value);
    bool one = LLVMGetTypeKind(type) == LLVMPointerTypeKind || is_number(type);
    if (!may_be_pointer(type) && !is_number(type)) {
        if (t->loads && is_part(t, type))
            give_up(s);
        return;
    }
    if (t->loads && t->at >= POINTER && one)
        return; /* another one */
    if (!one)
        give_up(s);
    else if (t->loads)
        add(s, (struct trace){value, t->loads - 1, t->loaded,
                              t->loads > 1 ? UNKNOWN : 0});
    else
        add(s, (struct trace){value, 0, true, 0});
}

/* memcpy and memmove. Into a local variable the pointer comes along, somewhere;
 * from the parameter's own storage come pointers that lead elsewhere. */
static void copy_memory(struct search *s, const struct trace *t,
                        LLVMValueRef call)
{
    int64_t at;
    if (LLVMGetOperand(call, 0) == t->v) {
        note_write(s, t);
        return;
    }
    LLVMValueRef variable = variable_of(LLVMGetOperand(call, 0), &at);
    if (variable)
        add(s, (struct trace){variable, t->loads ? t->loads : 1,
                              t->loaded || !t->loads, UNKNOWN});
    else if (t->loads)
        give_up(s);
    /* Else whoever loads a pointer there has traced that storage. */
}

/* ------------------------------------------------------------------ calls */

/* The call that begins a parallel region: its function, and the array of that
 * function's arguments but for the first two. */
static bool begins_region(LLVMValueRef call, LLVMValueRef *region,
                          LLVMValueRef *arguments)
{
    enum { FUNCTION = 5, ARRAY = 7 };
    static const char *const names[] = {"__kmpc_parallel_51",
                                        "__kmpc_parallel_60", NULL};
    LLVMValueRef f = LLVMGetCalledValue(call);
    if (!LLVMIsAFunction(f) || !has_name(f, names) ||
        LLVMGetNumArgOperands(call) <= ARRAY)
        return false;
    *region = LLVMGetOperand(call, FUNCTION);
    *arguments = LLVMGetOperand(call, ARRAY);
    return LLVMIsAFunction(*region) && !LLVMIsDeclaration(*region);
}

/* The region gets the array's elements as its parameters behind the first two,
 * which are its thread's numbers. */
static void enter_region(struct search *s, const struct trace *t,
                         LLVMValueRef region)
{
    enum { OWN_PARAMETERS = 2, POINTER = 8 };
    unsigned n = LLVMCountParams(region);
    if (!t->loads || t->at < 0 || t->at % POINTER ||
        OWN_PARAMETERS + (uint64_t)t->at / POINTER >= n) {
        give_up(s);
        return;
    }
    LLVMValueRef param = LLVMGetParam(
        region, OWN_PARAMETERS + (unsigned)(t->at / POINTER));
    add(s, (struct trace){param, t->loads - 1, t->loaded,
                          t->loads > 1 ? UNKNOWN : 0});
}

/* Functions that neither write through nor keep what they are passed. */
static bool is_harmless(LLVMValueRef f)
{
    static const char *const names[] = {
        "llvm.lifetime.", "llvm.dbg.",          "llvm.assume",
        "llvm.prefetch",  "__kmpc_free_shared", NULL};
    return has_name(f, names);
}

bool ompjit__format_only_reads(LLVMValueRef format)
{
    LLVMValueRef text = LLVMIsAGlobalVariable(format) &&
                                LLVMIsGlobalConstant(format)
                            ? LLVMGetInitializer(format)
                            : NULL;
    size_t n;
    if (text && LLVMIsAConstantAggregateZero(text))
        return true; /* an empty text */
    if (!text || !LLVMIsAConstantDataSequential(text) ||
        !LLVMIsConstantString(text))
        return false;
    const char *f = LLVMGetAsString(text, &n), *end = f + n;
    while ((f = memchr(f, '%', (size_t)(end - f))) && ++f < end) {
        f += strspn(f, "-+ #'0123456789.*$hljztLq");
        if (f < end && *f == 'n')
            return false;
        f += f < end && *f == '%';
    }
    return true;
}

static bool is_harmless_call(LLVMValueRef call, LLVMValueRef f)
{
    static const char *const names[] = {"printf", "vprintf", NULL};
    return is_harmless(f) ||
           (has_name(f, names) &&
            ompjit__format_only_reads(LLVMGetOperand(call, 0)));
}

/* Variables of a loop, which the runtime fills with numbers. */
static bool fills_numbers(LLVMValueRef f)
{
    static const char *const names[] = {
        "__kmpc_for_static_init_",  "__kmpc_distribute_static_init_",
        "__kmpc_dispatch_next_",    "__kmpc_dist_for_static_init_",
        "__kmpc_dist_dispatch_init_", NULL};
    return has_name(f, names);
}

/* The pointer is an argument. A function that the module defines is followed
 * by its parameter, a call through a pointer is not. */
static void pass(struct search *s, const struct trace *t, LLVMValueRef call)
{
    LLVMValueRef f = LLVMGetCalledValue(call), region, arguments;
    if (!LLVMIsAFunction(f)) {
        give_up(s);
        return;
    }
    if (begins_region(call, &region, &arguments) && arguments == t->v) {
        enter_region(s, t, region);
        return;
    }
    if (LLVMIsDeclaration(f)) {
        if (!is_harmless_call(call, f) && !(t->loads && fills_numbers(f)))
            give_up(s);
        return;
    }
    unsigned n = LLVMGetNumArgOperands(call), params = LLVMCountParams(f);
    for (unsigned i = 0; i < n; i++) {
        if (LLVMGetOperand(call, i) != t->v)
            continue;
        if (i < params)
            follow(s, t, LLVMGetParam(f, i), t->at);
        else
            give_up(s);
    }
}

/* A function's result is that of all its calls. */
static void give_result(struct search *s, const struct trace *t,
                        LLVMValueRef ret)
{
    LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(ret));
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if ((LLVMIsACallInst(call) || LLVMIsAInvokeInst(call)) &&
            LLVMGetCalledValue(call) == f)
            follow(s, t, call, t->at);
        else
            give_up(s);
    }
}

/* One use of a traced pointer. A use that is not listed gives up. */
static void use(struct search *s, const struct trace *t, LLVMValueRef user)
{
    if (has_opcode(user, LLVMGetElementPtr)) {
        int64_t by = offset_of(user);
        bool known = t->at >= 0 && by >= 0 && by <= t->at;
        follow(s, t, user, known ? t->at - by : UNKNOWN);
    } else if (has_opcode(user, LLVMAddrSpaceCast) ||
               has_opcode(user, LLVMBitCast) || LLVMIsAPHINode(user) ||
               LLVMIsASelectInst(user)) {
        follow(s, t, user, t->at);
    } else if (LLVMIsALoadInst(user)) {
        load(s, t, user);
    } else if (LLVMIsAStoreInst(user)) {
        if (LLVMGetOperand(user, 0) == t->v)
            store_value(s, t, LLVMGetOperand(user, 1));
        if (LLVMGetOperand(user, 1) == t->v)
            note_write(s, t);
    } else if (LLVMIsAMemCpyInst(user) || LLVMIsAMemMoveInst(user)) {
        copy_memory(s, t, user);
    } else if (LLVMIsAMemSetInst(user)) {
        note_write(s, t);
    } else if (LLVMIsAAtomicRMWInst(user) &&
               LLVMGetOperand(user, 1) != t->v) {
        note_write(s, t);
    } else if (LLVMIsACallInst(user) || LLVMIsAInvokeInst(user)) {
        pass(s, t, user);
    } else if (LLVMIsAReturnInst(user)) {
        give_result(s, t, user);
    } else if (!LLVMIsAICmpInst(user)) {
        give_up(s);
    }
}

/* A number from a variable in which the pointer may stand, or, if it is
 * `loaded`, from the parameter's storage. The former leads to the parameter
 * whatever is added to it. The latter is one of many numbers, of which a
 * pointer is made by a copy to a local variable, or visibly (makes_pointer);
 * whoever loads a pointer from other storage has traced that. */
static void use_number(struct search *s, const struct trace *t,
                       LLVMValueRef user)
{
    if (LLVMIsAStoreInst(user)) {
        int64_t at;
        if (!t->loaded || variable_of(LLVMGetOperand(user, 1), &at))
            store_value(s, t, LLVMGetOperand(user, 1));
    } else if (LLVMIsAPHINode(user) || LLVMIsASelectInst(user) ||
               LLVMIsAFreezeInst(user) || LLVMIsAIntToPtrInst(user) ||
               (LLVMIsABinaryOperator(user) && !t->loaded)) {
        follow(s, t, user, UNKNOWN);
    } else if (LLVMIsACallInst(user) || LLVMIsAInvokeInst(user)) {
        if (LLVMIsAFunction(LLVMGetCalledValue(user)) &&
            !LLVMIsDeclaration(LLVMGetCalledValue(user)))
            pass(s, t, user);
    } else if (LLVMIsAReturnInst(user)) {
        give_result(s, t, user);
    } else if (LLVMIsAAtomicRMWInst(user) || LLVMIsAAtomicCmpXchgInst(user) ||
               LLVMIsAInsertValueInst(user) ||
               LLVMIsAInsertElementInst(user)) {
        if (!t->loaded)
            give_up(s);
    }
}

static void search(struct search *s, LLVMValueRef param)
{
    add(s, (struct trace){param, 0, false, 0});
    for (size_t i = 0; i < s->n && !(s->written && s->writes_loaded); i++) {
        struct trace t = s->list[i]; /* the list moves when it grows */
        bool number = is_number(LLVMTypeOf(t.v));
        for (LLVMUseRef u = LLVMGetFirstUse(t.v); u; u = LLVMGetNextUse(u))
            (number ? use_number : use)(s, &t, LLVMGetUser(u));
    }
    free(s->list);
    free(s->places);
}

/* ---------------------------------------------------------------- kernels */

/* A number becomes a pointer, and not just to be handed to a region. */
static bool makes_pointer(LLVMValueRef i)
{
    if (!LLVMIsAIntToPtrInst(i))
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(i); u; u = LLVMGetNextUse(u))
        if (!LLVMIsAStoreInst(LLVMGetUser(u)) ||
            LLVMGetOperand(LLVMGetUser(u), 0) != i)
            return true;
    return false;
}

/* Pointers in variables of the program may be attached, as those in mapped
 * storage. */
static bool loads_from_variable(LLVMValueRef i)
{
    if (!LLVMIsALoadInst(i) || !may_be_pointer(LLVMTypeOf(i)))
        return false;
    LLVMValueRef address = LLVMGetOperand(i, 0);
    while (has_opcode(address, LLVMGetElementPtr) ||
           has_opcode(address, LLVMAddrSpaceCast) ||
           has_opcode(address, LLVMBitCast))
        address = LLVMGetOperand(address, 0);
    return LLVMIsAGlobalVariable(address);
}

/* Tests the instructions of all functions that the kernel reaches. */
static bool any_instruction(const ompjit__reached *r,
                            bool (*is)(LLVMValueRef i))
{
    for (size_t k = 0; k < r->n; k++)
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(r->functions[k]); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                if (is(i))
                    return true;
    return false;
}

/* written has a bit for each of the first 64 parameters; all others count as
 * written. */
void ompjit__find_writes(LLVMValueRef kernel, const ompjit__reached *r,
                         ompjit__kernel_desc *k)
{
    k->written = ~UINT64_C(0);
    k->writes_loaded = r->failed || any_instruction(r, makes_pointer) ||
                       any_instruction(r, loads_from_variable);
    for (unsigned i = 0; i < k->nparams && i < 64; i++) {
        struct search s = {0};
        if (k->params[i].kind != OMPJIT__PARAM_POINTER)
            continue;
        search(&s, LLVMGetParam(kernel, i + k->launch_env));
        if (!s.written)
            k->written &= ~(UINT64_C(1) << i);
        k->writes_loaded |= s.writes_loaded;
    }
}
