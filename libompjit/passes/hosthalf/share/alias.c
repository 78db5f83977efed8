/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Decides which places of the walk are the same, which may be, and what numbers
 * are: by what has been stored since the data was mapped, where pointers come
 * from (place.c), which objects they lead to (points.c) and the accesses'
 * types.
 *
 * "The same" needs equal expressions, and proof that they give equal values:
 *
 *   #pragma omp target enter data map(to: m->x[:m->n])
 *   y[0] = 1;             y cannot lead to *m: this changes nothing
 *   #pragma omp target update from(m->x[:m->n])     the same section,
 *   m->n = 2;             unless this store stands anywhere on the way
 *
 * "May be the same" needs one proof that it cannot be: another object by its
 * name, storage that is younger than the mapping, or sets of the points-to
 * analysis that have nothing in common.
 *
 * The stores that count are those of the walk's whole way, not those up to one
 * instruction: order plays no role, and so the walk goes round again when it
 * has met a new store (walk_region in share.c).
 */
#include <limits.h>
#include <string.h>

#include "passes/hosthalf/share/walk.h"

/* --------------------------------------------------------------- knowledge */

unsigned ompjit__walk_knowledge(const ompjit__walk *w)
{
    return w->stored.n + w->called.n + w->stores_anywhere + w->pointers.n +
           w->pointers.anywhere + w->numbers.n + w->numbers.anywhere;
}

/* The slot of a value, or the free one where it belongs; there is one, as the
 * set is at most half full. */
static unsigned slot_of(const ompjit__seen *s, LLVMValueRef v)
{
    size_t i = ((uintptr_t)v >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (;; i++) {
        LLVMValueRef there = s->slot[i % OMPJIT__WALK_SEEN];
        if (!there || there == v)
            return (unsigned)(i % OMPJIT__WALK_SEEN);
    }
}

static bool was_seen(const ompjit__seen *s, LLVMValueRef v)
{
    return s->slot[slot_of(s, v)] != NULL;
}

static void note_seen(ompjit__walk *w, ompjit__seen *s, LLVMValueRef v)
{
    unsigned i = slot_of(s, v);
    if (s->slot[i])
        return;
    if (s->n == OMPJIT__WALK_SEEN / 2) {
        ompjit__walk_spoil_all(w, "the program is large");
        return;
    }
    s->slot[i] = v;
    s->n++;
}

bool ompjit__walk_was_stored(const void *walk, LLVMValueRef root)
{
    return was_seen(&((const ompjit__walk *)walk)->stored, root);
}

/* Has the walk met the call? Then its result is one value before and another
 * behind, so no expression of it stands for one value. */
static bool was_called(const ompjit__walk *w, LLVMValueRef call)
{
    return was_seen(&w->called, call);
}

/* Calls without a result are in no expression. */
void ompjit__walk_note_call(ompjit__walk *w, LLVMValueRef call)
{
    if (LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMVoidTypeKind)
        note_seen(w, &w->called, call);
}

static bool is_found(const ompjit__stores *s, uint64_t at)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->at[i] == at)
            return true;
    return false;
}

/* Looks the access's targets up, once. */
static void find_targets(ompjit__walk *w, ompjit__access *a)
{
    if (!a->found)
        a->targets = ompjit__points_of(w->points, a->pointer, &a->place);
    a->found = true;
}

/* Adds the targets to the stores. */
static void note_locations(ompjit__stores *s, const ompjit__targets *t)
{
    s->anywhere |= t->anything;
    for (unsigned i = 0; i < t->n && !s->anywhere; i++) {
        if (is_found(s, t->at[i]))
            continue;
        if (s->n == OMPJIT__WALK_STORED)
            s->anywhere = true;
        else
            s->at[s->n++] = t->at[i];
    }
}

/* Notes the variable that is stored to. A store through a pointer may be to any
 * variable whose address is known somewhere. */
static void note_root(ompjit__walk *w, const ompjit__place *p)
{
    if (!p->root || p->loads || LLVMIsAArgument(p->root))
        w->stores_anywhere = true;
    else
        note_seen(w, &w->stored, p->root);
}

/* Accesses by type put no pointer where numbers are, nor the other way: C 6.5,
 * "effective type", which clang says by !tbaa. */
void ompjit__walk_note_store(ompjit__walk *w, ompjit__access *a)
{
    if (!w->learns)
        return;
    note_root(w, &a->place);
    if (!w->points)
        return;
    bool is_pointer =
        a->type && LLVMGetTypeKind(a->type) == LLVMPointerTypeKind;
    find_targets(w, a);
    if (!a->type || is_pointer)
        note_locations(&w->pointers, &a->targets);
    if (!is_pointer)
        note_locations(&w->numbers, &a->targets);
}

/* ------------------------------------------------------------------ places */

ompjit__access ompjit__walk_access(const ompjit__frame *frame,
                                   LLVMValueRef pointer)
{
    return (ompjit__access){.place = pointer
                                         ? ompjit__place_of(frame, pointer)
                                         : (ompjit__place){0},
                            .pointer = pointer};
}

/* May one of the targets have been stored to? */
static bool are_stored(const ompjit__walk *w, const ompjit__stores *s,
                       const ompjit__targets *t)
{
    if (s->anywhere || (t->anything && s->n))
        return true;
    for (unsigned i = 0; i < t->n; i++)
        for (unsigned k = 0; k < s->n; k++)
            if (ompjit__locations_meet(w->points, t->at[i], s->at[k]))
                return true;
    return false;
}

/* Is nothing stored where the place's first pointers are loaded from? The
 * stores that the walk has met count, wherever they stand: it goes round until
 * it learns of no more (ompjit__walk_knowledge). */
static bool is_path_kept(ompjit__walk *w, const ompjit__place *p)
{
    ompjit__place q = *p;
    for (unsigned i = 0; i < p->loads; i++) {
        q.loads = i;
        q.exact = true;
        ompjit__targets t = ompjit__points_of(w->points, NULL, &q);
        if (are_stored(w, &w->pointers, &t))
            return false;
    }
    return true;
}

/* Does the place lead to the same storage all the time? Without loads it does:
 * it is in a variable, or behind a pointer that is one value. Without a
 * points-to analysis only a local variable is known to be kept whose address
 * the program does not use. */
static bool is_stable(ompjit__walk *w, const ompjit__place *p)
{
    if (!p->root || was_called(w, p->root))
        return false;
    if (!p->loads)
        return true;
    if (w->points)
        return is_path_kept(w, p);
    if (ompjit__walk_was_stored(w, p->root))
        return false;
    return !w->stores_anywhere ||
           (p->loads == 1 && LLVMIsAAllocaInst(p->root) &&
            !ompjit__place_escapes(p->root));
}

/* Places that are not exact are never the same. */
bool ompjit__walk_same_place(ompjit__walk *w, const ompjit__place *p,
                             const ompjit__place *q)
{
    return p->root && p->root == q->root && p->loads == q->loads &&
           p->exact && q->exact &&
           !memcmp(p->at, q->at, (p->loads + 1) * sizeof *p->at) &&
           is_stable(w, p);
}

bool ompjit__walk_is_at(ompjit__walk *w, const ompjit__mapped_at *entry,
                        const ompjit__access *a)
{
    return ompjit__walk_same_place(w, &entry->begin, &a->place) ||
           (entry->one && entry->one ==
                              ompjit__points_one(w->points, a->pointer,
                                                 &a->place));
}

/* Is it in a variable, and not behind a pointer? */
static bool is_variable(const ompjit__place *p)
{
    return p->root && !p->loads &&
           (LLVMIsAAllocaInst(p->root) || LLVMIsAGlobalVariable(p->root));
}

/* Storage that is known by itself: variables, and what was just allocated. */
static bool is_object(const ompjit__place *p)
{
    return is_variable(p) ||
           (p->root && !p->loads && ompjit__place_is_fresh(p->root));
}

/* Can an unknown pointer, or a parameter's, not lead there? A parameter of the
 * outermost function was computed before its variables began to be and before
 * it called malloc. A global variable is open to both. */
static bool is_hidden(const ompjit__place *object, const ompjit__place *p)
{
    bool parameter = p->root && !p->loads && LLVMIsAArgument(p->root);
    bool own = !LLVMIsAGlobalVariable(object->root);
    return own && (parameter || (LLVMIsAAllocaInst(object->root) &&
                                 !ompjit__place_escapes(object->root)));
}

/* A variable of a function that was called since the data was mapped. */
static bool is_younger(const ompjit__walk *w, const ompjit__place *p)
{
    return p->root && !p->loads && LLVMIsAAllocaInst(p->root) &&
           LLVMGetBasicBlockParent(LLVMGetInstructionParent(p->root)) !=
               w->top;
}

/* Compares the places alone: two objects with different names are different,
 * and one that is hidden is not where the other place leads. Offsets are not
 * compared, since sizes of accesses are not known here. */
static bool may_be_places(const ompjit__walk *w, const ompjit__place *entry,
                          const ompjit__place *p)
{
    if (is_younger(w, p))
        return false;
    bool one = is_object(entry), other = is_object(p);
    if (one && other)
        return entry->root == p->root;
    if (one)
        return !is_hidden(entry, p);
    return !other || !is_hidden(p, entry);
}

bool ompjit__walk_may_be_in(ompjit__walk *w, const ompjit__mapped_at *entry,
                            ompjit__access *a)
{
    if (!may_be_places(w, &entry->begin, &a->place))
        return false;
    if (!w->points)
        return true;
    find_targets(w, a);
    return ompjit__targets_meet(w->points, &entry->targets, &a->targets);
}

bool ompjit__walk_is_in_heap(ompjit__walk *w, const ompjit__mapped_at *entry,
                             ompjit__access *a)
{
    if (!w->points)
        return false;
    find_targets(w, a);
    return ompjit__points_in_heap(w->points, &entry->targets, &a->targets);
}

/* ----------------------------------------------------------------- numbers */

/* One more term, a constant 0 so far; NULL: there are too many. */
static struct ompjit__term *add_term(ompjit__number *out)
{
    if (out->n == OMPJIT__WALK_TERMS)
        return NULL;
    struct ompjit__term *t = &out->term[out->n++];
    *t = (struct ompjit__term){.kind = OMPJIT__TERM_CONSTANT};
    return t;
}

/* Does a term load from a local variable? It may have been another number when
 * the terms' result was computed. */
static bool has_variable(const ompjit__number *number, unsigned from)
{
    for (unsigned i = from; i < number->n; i++)
        if (number->term[i].kind == OMPJIT__TERM_LOAD &&
            LLVMIsAAllocaInst(number->term[i].place.root))
            return true;
    return false;
}

static bool compute(const ompjit__frame *frame, LLVMValueRef v,
                    ompjit__number *out, unsigned depth);

/* A parameter is the caller's argument; that of the outermost function stands
 * for itself. A function that is called back (no `call`) has arguments that are
 * not known as numbers. */
static bool compute_parameter(const ompjit__frame *frame, LLVMValueRef v,
                              ompjit__number *out, unsigned depth)
{
    if (frame->caller && !frame->call)
        return false;
    if (frame->caller && frame->caller->depth < out->reach)
        out->reach = frame->caller->depth;
    for (unsigned i = 0; frame->caller && i < LLVMCountParams(frame->f); i++)
        if (LLVMGetParam(frame->f, i) == v)
            return i < LLVMGetNumArgOperands(frame->call) &&
                   compute(frame->caller, LLVMGetOperand(frame->call, i), out,
                           depth - 1);
    struct ompjit__term *t = add_term(out);
    if (!t)
        return false;
    t->kind = OMPJIT__TERM_VALUE;
    t->value = v;
    return true;
}

/* Holds the variable of the outermost function what it was computed from when
 * the walk began? It was stored before that, as everything else may have been
 * but what is constant. */
static bool is_of_walk(const ompjit__frame *frame, LLVMValueRef load,
                       LLVMValueRef original)
{
    return frame->caller || LLVMIsAArgument(original) ||
           LLVMIsConstant(original) ||
           frame->was_stored(frame->data, LLVMGetOperand(load, 0)) ||
           ompjit__place_is_kept(frame, LLVMGetOperand(load, 0));
}

/* A variable that is stored once holds what it was computed from. In
 *
 *   int n = atoi(argv[1]), bytes = 8 * n;
 *   #pragma omp target enter data map(to: c[:bytes])
 *   n = 0;
 *
 * bytes is not 8 * n in the end, as n is stored twice: then the term is a load
 * of bytes. */
static bool compute_load(const ompjit__frame *frame, LLVMValueRef v,
                         ompjit__number *out, unsigned depth)
{
    LLVMValueRef original = ompjit__place_original(v);
    if (original != v && is_of_walk(frame, v, original)) {
        unsigned n = out->n;
        if (compute(frame, original, out, depth - 1) &&
            (frame->caller || !has_variable(out, n)))
            return true;
        out->n = n;
    }
    ompjit__place p = ompjit__place_of(frame, LLVMGetOperand(v, 0));
    struct ompjit__term *t = p.root && p.exact ? add_term(out) : NULL;
    if (!t)
        return false;
    t->kind = OMPJIT__TERM_LOAD;
    t->place = p;
    t->type = LLVMTypeOf(v);
    return true;
}

/* Adds the terms of v: those of its operands, and then its operation. False: it
 * is made of something else, such as a phi or a comparison, or too large. */
static bool compute(const ompjit__frame *frame, LLVMValueRef v,
                    ompjit__number *out, unsigned depth)
{
    struct ompjit__term *t;
    if (!depth)
        return false;
    if (LLVMIsALoadInst(v))
        return compute_load(frame, v, out, depth);
    if (LLVMIsAArgument(v))
        return compute_parameter(frame, v, out, depth);
    if (LLVMIsAConstantInt(v)) {
        if (LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64 || !(t = add_term(out)))
            return false;
        t->number = LLVMConstIntGetZExtValue(v);
        t->type = LLVMTypeOf(v);
        return true;
    }
    if (ompjit__is_host_call(v)) {
        if (!(t = add_term(out)))
            return false;
        t->kind = OMPJIT__TERM_VALUE;
        t->value = v;
        return true;
    }
    if (!LLVMIsABinaryOperator(v) && !LLVMIsACastInst(v))
        return false;
    for (int i = 0; i < LLVMGetNumOperands(v); i++)
        if (!compute(frame, LLVMGetOperand(v, (unsigned)i), out, depth - 1))
            return false;
    if (!(t = add_term(out)))
        return false;
    t->kind = OMPJIT__TERM_OPERATION;
    t->number = (uint64_t)LLVMGetInstructionOpcode(v);
    t->type = LLVMTypeOf(v);
    return true;
}

void ompjit__walk_number(const ompjit__frame *frame, LLVMValueRef v,
                         ompjit__number *out)
{
    enum { DEEP = 16 };
    out->n = 0;
    out->reach = UINT_MAX;
    if (!v || !compute(frame, v, out, DEEP))
        out->n = 0;
}

/* Is the number at the place the same all the time? Neither the way to it nor
 * the number itself may have been stored. */
static bool is_number_kept(ompjit__walk *w, const ompjit__place *p)
{
    if (!w->points)
        return p->root && LLVMIsAAllocaInst(p->root) && !p->loads &&
               !ompjit__walk_was_stored(w, p->root) &&
               !ompjit__place_escapes(p->root);
    ompjit__targets t = ompjit__points_of(w->points, NULL, p);
    return is_stable(w, p) && !are_stored(w, &w->numbers, &t);
}

/* Compares term by term. A call's result is the same only if the walk has not
 * met that call: then it was made before. A number without terms is never the
 * same, not even as itself. */
bool ompjit__walk_same_number(ompjit__walk *w, const ompjit__number *a,
                              const ompjit__number *b)
{
    for (unsigned i = 0; i < a->n && a->n == b->n; i++) {
        const struct ompjit__term *s = &a->term[i], *t = &b->term[i];
        if (s->kind != t->kind || s->number != t->number ||
            s->type != t->type || s->value != t->value ||
            (s->value && was_called(w, s->value)))
            return false;
        if (s->kind == OMPJIT__TERM_LOAD &&
            !(ompjit__walk_same_place(w, &s->place, &t->place) &&
              is_number_kept(w, &s->place)))
            return false;
    }
    return a->n && a->n == b->n;
}

/* ----------------------------------------------------------------- callers */

ompjit__place ompjit__walk_outer_place(const ompjit__frame *caller,
                                       LLVMValueRef call,
                                       const ompjit__place *p)
{
    const ompjit__place unknown = {0};
    LLVMValueRef f = ompjit__callee(call);
    if (!p->root || LLVMIsAAllocaInst(p->root))
        return unknown;
    if (!LLVMIsAArgument(p->root))
        return *p;
    for (unsigned i = 0; i < LLVMCountParams(f) &&
                         i < LLVMGetNumArgOperands(call); i++) {
        if (LLVMGetParam(f, i) != p->root)
            continue;
        ompjit__place q = ompjit__place_of(caller, LLVMGetOperand(call, i));
        if (!q.root || (p->loads && !q.exact) ||
            q.loads + p->loads > OMPJIT__PLACE_LOADS)
            return unknown;
        q.at[q.loads] += p->at[0];
        memcpy(&q.at[q.loads + 1], &p->at[1], p->loads * sizeof *p->at);
        q.loads += p->loads;
        q.exact = q.exact && p->exact;
        return q;
    }
    return unknown;
}

/* Each parameter's term is replaced by all terms of its argument, which is
 * right in postfix notation. */
void ompjit__walk_outer_number(const ompjit__frame *caller, LLVMValueRef call,
                               ompjit__number *number)
{
    LLVMValueRef f = ompjit__callee(call);
    ompjit__number outer = {0};
    for (unsigned i = 0; i < number->n; i++) {
        struct ompjit__term t = number->term[i], *to;
        if (t.kind == OMPJIT__TERM_VALUE && LLVMIsAArgument(t.value)) {
            unsigned k = 0;
            while (k < LLVMCountParams(f) && LLVMGetParam(f, k) != t.value)
                k++;
            ompjit__number actual = {0};
            if (k < LLVMGetNumArgOperands(call))
                ompjit__walk_number(caller, LLVMGetOperand(call, k), &actual);
            if (!actual.n || outer.n + actual.n > OMPJIT__WALK_TERMS) {
                number->n = 0;
                return;
            }
            memcpy(&outer.term[outer.n], actual.term,
                   actual.n * sizeof *actual.term);
            outer.n += actual.n;
            continue;
        }
        if (t.kind == OMPJIT__TERM_LOAD) {
            t.place = ompjit__walk_outer_place(caller, call, &t.place);
            if (!t.place.root) {
                number->n = 0;
                return;
            }
        }
        to = add_term(&outer);
        if (!to) {
            number->n = 0;
            return;
        }
        *to = t;
    }
    *number = outer;
}
