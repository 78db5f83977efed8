/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Andersen's points-to analysis of a host half, insensitive to the order of
 * execution. A location is an object and an offset in it; each location that
 * holds pointers has the set of locations to which they lead. All functions are
 * gone through until no set grows. Objects are variables, functions and calls
 * that allocate; LITERALS, all constants without pointers; VARIADIC, all that
 * is passed to the module's variadic functions; NOWHERE, to which null pointers
 * lead; and LIBRARY, all that functions outside of the module have: their own
 * memory, and the objects that have escaped to them. The objects of a set that
 * becomes large join the CROWD: one of them stands for all.
 *
 * An object escapes if its address is passed to a function that is not known or
 * that keeps it, or stored where such functions can read it. They may store
 * there what they have, and call the functions among it.
 *
 * Numbers are followed like pointers, since clang passes small structs as such.
 *
 * The sets of a program, with locations written as object+offset:
 *
 *   struct node { double *x; struct node *next; } a, b;
 *   a.x = malloc(80);          a+0: { malloc#1+0 }
 *   b.x = malloc(80);          b+0: { malloc#2+0 }
 *   a.next = &b;               a+8: { b+0 }
 *   struct node *p = &a;       p+0: { a+0, b+0 }, from both assignments
 *   p = p->next;
 *   p->x[3] = 1;               in malloc#1+24 or malloc#2+24
 *   keep(b.x);                 malloc#2 escapes: LIBRARY stands for it, too
 *
 * If malloc#1's storage is mapped while keep() runs, keep() cannot read it. If
 * a.x is mapped while p->x[3] is assigned, it may be what is written: order
 * plays no role, so p is { a, b } on each line. A local variable is one object,
 * also for a function that is called many times, and so is all that one call of
 * malloc in the text returns.
 *
 * A set with `anything` set is that of a pointer that may lead anywhere. A set
 * that is empty when all is done belongs to a value that the analysis has not
 * followed, and users take it for anything, too (targets_of). While the rounds
 * go on, empty means "nothing so far".
 *
 * points_graph.h has the sets and objects, points_calls.c what calls do,
 * points_allocators.c finds functions that allocate, and points_once.c code
 * that runs once.
 */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "passes/hosthalf/points/call.h"
#include "passes/hosthalf/points/points_graph.h"

enum { MOST_PASSES = 60, DEEP = 8 };

/* ----------------------------------------------------------- instructions */

/* May a value of this type be a pointer, or have one in it, or be a part that
 * is copied? Numbers of 64 bits may be pointers that were cast, and code may
 * copy a pointer byte by byte. Numbers of 16 and 32 bits are followed where
 * moves_pointers has found a reason. */
static bool may_be_pointer(LLVMTypeRef type)
{
    enum { CHAR = 8, POINTER = 64 };
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMIntegerTypeKind) {
        unsigned width = LLVMGetIntTypeWidth(type);
        return width == CHAR || width >= POINTER;
    }
    return kind == LLVMPointerTypeKind || kind == LLVMStructTypeKind ||
           kind == LLVMArrayTypeKind || kind == LLVMVectorTypeKind;
}

static bool is_number(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(type) > 1;
}

/* Accesses as small numbers by the language's types move no pointers. If such
 * an access has no type (-fno-strict-aliasing), numbers of any width may be
 * parts of a pointer that is copied: from then on all are followed. */
static bool moves_pointers(ompjit__points *p, LLVMValueRef i)
{
    bool store = LLVMIsAStoreInst(i) != NULL;
    LLVMTypeRef known = ompjit__access_type(p->tbaa, i);
    LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i);
    if (may_be_pointer(known ? known : type))
        return true;
    if (known || !is_number(type))
        return false;
    p->changed |= !p->parts;
    p->parts = true;
    return true;
}

/* How far one pointer is behind another leads nowhere. Without this a function
 * that is given q - p as a size would count as one that is given p and q. */
static bool is_distance(LLVMValueRef i)
{
    return LLVMGetInstructionOpcode(i) == LLVMSub &&
           LLVMIsAPtrToIntInst(LLVMGetOperand(i, 0)) &&
           LLVMIsAPtrToIntInst(LLVMGetOperand(i, 1));
}

static bool is_access(LLVMValueRef i)
{
    return LLVMIsALoadInst(i) || LLVMIsAStoreInst(i);
}

/* Does the instruction move pointers, or call, or return? The rest is skipped:
 * comparisons, arithmetic of small numbers and of floating point. */
static bool is_followed(ompjit__points *p, LLVMValueRef i)
{
    LLVMTypeRef type = LLVMTypeOf(i);
    if (is_access(i))
        return moves_pointers(p, i);
    return LLVMIsACallInst(i) || LLVMIsAInvokeInst(i) || LLVMIsAReturnInst(i) ||
           ((may_be_pointer(type) || (p->parts && is_number(type))) &&
            !is_distance(i));
}

/* An atomic operation may store each of its operands, and gives what was there.
 */
static void step_atomic(ompjit__points *p, LLVMValueRef i)
{
    ompjit__set v, to = ompjit__points_operand(p, i, 0);
    for (unsigned k = 1; k < (unsigned)LLVMGetNumOperands(i); k++) {
        v = ompjit__points_operand(p, i, k);
        ompjit__points_store(p, &to, &v);
    }
    v = ompjit__points_load(p, &to);
    ompjit__points_grow(p, i, &v);
}

/* The value is one of the operands, or `computed` of them as numbers. */
static void step_operands(ompjit__points *p, LLVMValueRef i, bool computed)
{
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++) {
        ompjit__set v = ompjit__points_operand(p, i, k);
        if (computed)
            v = ompjit__set_moved(p, &v, false, 0);
        ompjit__points_grow(p, i, &v);
    }
}

/* Grows the sets by one instruction of function `f`. Sets only grow, so that it
 * can be repeated until none does: a store adds to what a location holds, and
 * takes nothing away. */
static void step(ompjit__points *p, LLVMValueRef f, LLVMValueRef i)
{
    ompjit__set v, to;
    int64_t by = 0;
    if (!is_followed(p, i))
        return;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMAlloca:
        ompjit__points_call_new(p, i);
        break;
    case LLVMLoad:
        v = ompjit__points_operand(p, i, 0);
        v = ompjit__points_load(p, &v);
        ompjit__points_grow(p, i, &v);
        break;
    case LLVMStore:
        v = ompjit__points_operand(p, i, 0);
        to = ompjit__points_operand(p, i, 1);
        ompjit__points_store(p, &to, &v);
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        step_atomic(p, i);
        break;
    case LLVMGetElementPtr:
        v = ompjit__points_operand(p, i, 0);
        bool known = ompjit__gep_offset(p->layout, i, &by);
        v = ompjit__set_moved(p, &v, known, by);
        ompjit__points_grow(p, i, &v);
        break;
    case LLVMCall:
    case LLVMInvoke:
        ompjit__points_step_call(p, i);
        break;
    case LLVMRet:
        if (LLVMGetNumOperands(i)) {
            v = ompjit__points_operand(p, i, 0);
            ompjit__points_grow(p, ompjit__points_result(f), &v);
        }
        break;
    case LLVMLandingPad:
        v = ompjit__set_library(); /* the exception */
        ompjit__points_grow(p, i, &v);
        break;
    case LLVMBitCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMPHI:
    case LLVMSelect:
    case LLVMExtractValue:
    case LLVMInsertValue:
    case LLVMFreeze:
        step_operands(p, i, false);
        break;
    default: /* arithmetic */
        step_operands(p, i, true);
    }
}

static void step_function(ompjit__points *p, LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            step(p, f, i);
}

/* ------------------------------------------------------------------ begin */

/* Notes the pointers in the initializer of a variable's part, which begins `at`
 * bytes behind the variable. */
static void initialize(ompjit__points *p, unsigned object, LLVMValueRef init,
                       uint64_t at, unsigned depth)
{
    LLVMTypeRef type = LLVMTypeOf(init);
    bool is_struct = LLVMIsAConstantStruct(init) != NULL;
    if (!depth || (!is_struct && !LLVMIsAConstantArray(init))) {
        ompjit__set v = ompjit__points_value(p, init, DEEP);
        bool cell =
            LLVMGetTypeKind(type) == LLVMPointerTypeKind && at < OMPJIT__NEAR;
        ompjit__set_merge(
            p,
            ompjit__points_cell(p, object, cell ? (unsigned)at : OMPJIT__ANY),
            &v);
        return;
    }
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(init); i++) {
        uint64_t by =
            is_struct
                ? LLVMOffsetOfElement(p->layout, type, i)
                : i * LLVMABISizeOfType(p->layout, LLVMGetElementType(type));
        initialize(p, object, LLVMGetOperand(init, i), at + by, depth - 1);
    }
}

/* Initial values, and pointers that come from outside: LIBRARY holds pointers
 * to itself, variables without an initializer are other modules', and functions
 * that are called from outside get arguments from there. A variable that is
 * known outside has escaped from the start, unless this is a whole program. */
static void begin(ompjit__points *p)
{
    const ompjit__set outside = ompjit__set_library();
    ompjit__set_merge(p, &p->objects[OMPJIT__LIBRARY].any, &outside);
    for (LLVMValueRef g = LLVMGetFirstGlobal(p->m); g;
         g = LLVMGetNextGlobal(g)) {
        LLVMValueRef init = LLVMGetInitializer(g);
        if (ompjit__is_literal(g))
            continue;
        unsigned object = ompjit__points_object(p, g, NULL);
        if (init)
            initialize(p, object, init, 0, DEEP);
        else
            ompjit__set_merge(p, &p->objects[object].any, &outside);
        p->objects[object].escaped =
            !init || (!p->whole && !ompjit__live_is_internal(g));
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(p->m); f;
         f = LLVMGetNextFunction(f))
        for (unsigned i = 0;
             i < LLVMCountParams(f) && ompjit__live_is_entry(f, p->whole); i++)
            ompjit__points_grow(p, LLVMGetParam(f, i), &outside);
}

/* --------------------------------------------------------------- outside */

/* A function of the module that functions outside call, such as a comparison or
 * a handler: its arguments may be all that they have, and they get its
 * result. */
static void is_called_outside(ompjit__points *p, LLVMValueRef f)
{
    const ompjit__set outside = ompjit__set_library();
    ompjit__set result = ompjit__points_lookup(p, ompjit__points_result(f));
    for (unsigned i = 0; i < LLVMCountParams(f); i++)
        ompjit__points_grow(p, LLVMGetParam(f, i), &outside);
    if (LLVMIsFunctionVarArg(LLVMGlobalGetValueType(f)))
        p->changed |=
            ompjit__set_merge(p, &p->objects[OMPJIT__VARIADIC].any, &outside);
    ompjit__points_escape(p, &result);
    p->changed |= !p->given;
    p->given = true;
}

/* All in the crowd hold what one of them does. */
static void step_crowd(ompjit__points *p)
{
    for (unsigned i = 0; i < p->nobjects; i++) {
        ompjit__set object = {.n = 1, .at = {ompjit__location(i, OMPJIT__ANY)}};
        if (!p->objects[i].crowded)
            continue;
        ompjit__set inside = ompjit__points_load(p, &object);
        p->changed |=
            ompjit__set_merge(p, &p->objects[OMPJIT__CROWD].any, &inside);
        if (p->objects[OMPJIT__CROWD].escaped)
            ompjit__points_escape(p, &object);
        p->crowd_escaped |=
            i != OMPJIT__CROWD && ompjit__points_has_escaped(p, i);
    }
}

/* An escaped object may be read outside: all that it leads to escapes, too. */
static void step_outside(ompjit__points *p)
{
    for (unsigned i = 0; i < p->nobjects; i++) {
        LLVMValueRef site = p->objects[i].site;
        ompjit__set object = {0};
        if (i == OMPJIT__LITERALS || !ompjit__points_has_escaped(p, i))
            continue;
        if (!site || !LLVMIsAFunction(site)) {
            ompjit__set_add(p, &object, ompjit__location(i, OMPJIT__ANY));
            ompjit__set inside = ompjit__points_load(p, &object);
            ompjit__points_escape(p, &inside);
        } else if (!LLVMIsDeclaration(site)) {
            is_called_outside(p, site);
        }
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(p->m); f && !p->whole;
         f = LLVMGetNextFunction(f)) {
        ompjit__set result = ompjit__points_lookup(p, ompjit__points_result(f));
        if (ompjit__live_is_entry(f, p->whole))
            ompjit__points_escape(p, &result);
    }
}

/* Is a pointer of which nothing is known passed to a function that may keep it?
 * Such a set is empty: no step has followed the value. Any object may have
 * escaped by it. */
static bool gives_unknown(ompjit__points *p, LLVMValueRef call)
{
    LLVMValueRef f = ompjit__callee(call);
    ompjit__call known = ompjit__call_of(ompjit__callee_name(call));
    bool keeps = known.class == OMPJIT__CALL_ANYTHING || known.keeps ||
                 (known.calls && p->given);
    ompjit__set callees = ompjit__points_value(p, f, DEEP);
    if (LLVMIsAFunction(f)
            ? !LLVMIsDeclaration(f) || !keeps || ompjit__is_of_runtime(call)
            : !ompjit__set_leads_to(p, &callees, OMPJIT__LIBRARY))
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMValueRef v = LLVMGetOperand(call, i);
        ompjit__set to = ompjit__points_value(p, v, DEEP);
        if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind &&
            ompjit__set_is_empty(&to))
            return true;
    }
    return false;
}

/* Asked only when no set grows any more, since a set that is empty before that
 * may not stay so. If it finds a call, everything has escaped, and the rounds
 * go on. */
static void escape_unknown(ompjit__points *p)
{
    for (unsigned k = 0; k < p->live.n && !p->all_escaped; k++)
        for (LLVMBasicBlockRef b =
                 LLVMGetFirstBasicBlock(p->live.functions[k].f);
             b && p->live.functions[k].is_live; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                if ((LLVMIsACallInst(i) || LLVMIsAInvokeInst(i)) &&
                    gives_unknown(p, i))
                    p->changed = p->all_escaped = true;
}

/* Frees all results but the lists of allocators and of live functions. */
static void forget(ompjit__points *p)
{
    for (unsigned i = 0; i < p->nobjects; i++)
        free(p->objects[i].cells);
    for (size_t i = 0; i < p->capacity; i++)
        free(p->values[i].holds);
    free(p->objects);
    free(p->values);
    p->objects = NULL;
    p->values = NULL;
    p->nobjects = p->ncontents = 0;
    p->nvalues = p->capacity = 0;
    p->wild = (ompjit__set){0};
    p->all_escaped = p->crowd_escaped = p->given = false;
}

/* Goes through all live functions until no set grows. False: no memory, or not
 * done in MOST_PASSES: a set that is cut off would lack objects, so that there
 * is no answer at all then. */
static bool solve(ompjit__points *p)
{
    for (unsigned i = 0; i < OMPJIT__OBJECTS; i++)
        ompjit__points_object(p, NULL, NULL);
    if (!p->failed)
        begin(p);
    unsigned passes = 0;
    for (p->changed = true; p->changed && !p->failed;) {
        p->changed = false;
        if (++passes > MOST_PASSES)
            return false;
        for (unsigned i = 0; i < p->live.n && !p->failed; i++)
            if (p->live.functions[i].is_live)
                step_function(p, p->live.functions[i].f);
        step_crowd(p);
        step_outside(p);
        if (!p->changed)
            escape_unknown(p);
    }
    return !p->failed;
}

/* ------------------------------------------------------------------ whole */

/* Solves with no allocators, finds those of that solution, and solves again
 * with an object for each call of them. New allocators may show then: functions
 * that return the result of one. After ROUNDS the rest are left as they are. */
ompjit__points *ompjit__points_create(LLVMModuleRef m, LLVMTargetDataRef layout,
                                      bool whole)
{
    enum { ROUNDS = 4 };
    ompjit__points *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->m = m;
    p->layout = layout;
    p->whole = whole;
    p->tbaa = ompjit__tbaa_kind(m);
    bool good = ompjit__live_find(m, whole, &p->live) && solve(p);
    for (int i = 0; good && i < ROUNDS && ompjit__points_find_allocators(p);
         i++) {
        forget(p);
        good = solve(p);
    }
    if (good)
        return p;
    ompjit__points_free(p);
    return NULL;
}

void ompjit__points_free(ompjit__points *p)
{
    if (!p)
        return;
    forget(p);
    free(p->allocators);
    free(p->live.functions);
    free(p);
}

/* The set as users get it: an empty one becomes anything. */
static ompjit__targets targets_of(const ompjit__set *s)
{
    ompjit__targets t = {.n = s->n,
                         .anything = ompjit__set_is_empty(s) || s->anything};
    memcpy(t.at, s->at, s->n * sizeof *s->at);
    return t;
}

/* May the first, if it stands for several objects, be the second? */
static bool includes(const ompjit__points *p, unsigned several, unsigned one)
{
    if (several == OMPJIT__CROWD && p->objects[one].crowded)
        return true;
    return several == OMPJIT__LIBRARY &&
           (one == OMPJIT__CROWD ? p->crowd_escaped
                                 : ompjit__points_has_escaped(p, one));
}

/* Are they one object, or may they be? Nothing is stored where null pointers
 * lead, so NOWHERE meets nothing, not even itself. */
static bool meet(const ompjit__points *p, unsigned a, unsigned b)
{
    return (a == b && a != OMPJIT__NOWHERE) || includes(p, a, b) ||
           includes(p, b, a);
}

/* Those of `a` whose objects `b` has, too. */
static ompjit__targets both(const ompjit__points *p, const ompjit__targets *a,
                            const ompjit__targets *b)
{
    ompjit__targets t = {0};
    for (unsigned i = 0; i < a->n; i++) {
        unsigned k = 0;
        while (k < b->n && !meet(p, ompjit__object_of(a->at[i]),
                                 ompjit__object_of(b->at[k])))
            k++;
        if (k < b->n)
            t.at[t.n++] = a->at[i];
    }
    return t;
}

/* Begins with the root's set and makes the place's loads in it: p->next->x is
 * root p with three loads, as p is a variable itself. */
ompjit__set ompjit__points_by_place(ompjit__points *p,
                                    const ompjit__place *place)
{
    const ompjit__set anything = {.anything = true};
    ompjit__set s =
        place->root ? ompjit__points_value(p, place->root, DEEP) : anything;
    for (unsigned i = 0; i < place->loads; i++) {
        s = ompjit__set_moved(p, &s, true, place->at[i]);
        s = ompjit__points_load(p, &s);
    }
    return ompjit__set_moved(p, &s, place->exact, place->at[place->loads]);
}

/* Both answers are right, so what is in only one of them can be dropped. The
 * value's set is over all calls of its function; the place is of this call. If
 * nothing is left, the two contradict each other, and the value's is kept. */
ompjit__targets ompjit__points_of(ompjit__points *p, LLVMValueRef pointer,
                                  const ompjit__place *place)
{
    ompjit__set s = ompjit__points_by_place(p, place);
    ompjit__targets by_place = targets_of(&s);
    if (!pointer)
        return by_place;
    s = ompjit__points_value(p, pointer, DEEP);
    ompjit__targets by_value = targets_of(&s);
    if (by_place.anything)
        return by_value;
    if (by_value.anything)
        return by_place;
    ompjit__targets t = both(p, &by_place, &by_value);
    return t.n ? t : by_value;
}

ompjit__targets ompjit__points_held(ompjit__points *p, LLVMValueRef pointer,
                                    int64_t offset)
{
    /* It may point anywhere into the objects, as a map's begin does. */
    ompjit__set s = ompjit__points_value(p, pointer, DEEP);
    s = ompjit__set_moved(p, &s, true, offset);
    s = ompjit__points_load(p, &s);
    s = ompjit__set_moved(p, &s, false, 0);
    return targets_of(&s);
}

bool ompjit__targets_meet(const ompjit__points *p, const ompjit__targets *a,
                          const ompjit__targets *b)
{
    return a->anything || b->anything || both(p, a, b).n;
}

bool ompjit__points_in_heap(const ompjit__points *p, const ompjit__targets *a,
                            const ompjit__targets *b)
{
    if (a->anything || b->anything || a->n != 1 || b->n != 1 ||
        ompjit__object_of(*a->at) != ompjit__object_of(*b->at))
        return false;
    LLVMValueRef site = p->objects[ompjit__object_of(*a->at)].site;
    return site && ompjit__place_is_fresh(site);
}

void ompjit__targets_restrict(const ompjit__points *p, ompjit__targets *a,
                              const ompjit__targets *b)
{
    ompjit__targets t = both(p, a, b);
    if (a->anything)
        *a = *b;
    else if (!b->anything && t.n)
        *a = t;
}

/* Words begin at multiples of 8: offsets of one word are the same location. */
bool ompjit__locations_meet(const ompjit__points *p, uint64_t a, uint64_t b)
{
    if (ompjit__object_of(a) != ompjit__object_of(b))
        return meet(p, ompjit__object_of(a), ompjit__object_of(b));
    return ompjit__offset_of(a) == OMPJIT__ANY ||
           ompjit__offset_of(b) == OMPJIT__ANY ||
           ompjit__offset_of(a) >> 3 == ompjit__offset_of(b) >> 3;
}

/* Only functions that are objects can be meant: each one whose address the
 * program takes has become one. Others have other parameters or another object;
 * the caller compares the parameters (ompjit__may_call). */
bool ompjit__points_callees(ompjit__points *p, LLVMValueRef callee,
                            ompjit__callees *out)
{
    ompjit__set s = ompjit__points_value(p, callee, DEEP);
    *out = (ompjit__callees){.library =
                                 ompjit__set_leads_to(p, &s, OMPJIT__LIBRARY)};
    for (unsigned i = OMPJIT__OBJECTS; i < p->nobjects && !s.anything; i++) {
        LLVMValueRef f = p->objects[i].site;
        if (!LLVMIsAFunction(f) || !ompjit__set_leads_to(p, &s, i))
            continue;
        if (out->n == OMPJIT__POINTS_MOST)
            return false;
        out->function[out->n++] = f;
    }
    return !s.anything && s.n;
}

ompjit__targets ompjit__points_outside(const ompjit__points *p)
{
    const ompjit__set outside = ompjit__set_library();
    ompjit__targets t = targets_of(&outside);
    t.anything = p->all_escaped;
    return t;
}

bool ompjit__points_given(const ompjit__points *p)
{
    return p->given;
}

LLVMValueRef ompjit__points_next_given(const ompjit__points *p, unsigned *i)
{
    for (; *i < p->nobjects; ++*i) {
        LLVMValueRef f = p->objects[*i].site;
        if (ompjit__points_has_escaped(p, *i) && f && LLVMIsAFunction(f) &&
            !LLVMIsDeclaration(f))
            return p->objects[(*i)++].site;
    }
    return NULL;
}
