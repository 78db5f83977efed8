/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Numbers that are the same wherever and whenever they are computed. An
 * expression is reduced to constants, to parameters and results of calls that
 * the program has once (points_once.c), and to operations on them: a load of a
 * variable that the whole program stores once is what was stored, and the
 * parameter of a function with one call is that call's argument. Two
 * expressions that are reduced to the same have the same value, for there is
 * only one.
 *
 *   int main(int argc, char **argv)
 *   {
 *       int n = atoi(argv[1]);        the call runs once: it is one number
 *       grid = new_grid(n);           the only call of new_grid
 *   }
 *   new_grid(int w) { ... g->size = w * w; ... }     the only store of a size
 *
 * grid->size is reduced to the terms: atoi's result, atoi's result, mul. So is
 * w * w in new_grid. Neither needs to know what was stored since the data was
 * mapped, unlike the numbers of alias.c, which hold for one region.
 */
#include <limits.h>

#include "passes/hosthalf/share/walk.h"

enum { DEEP = 24 };

/* Adds the terms of v. False: it cannot be reduced; `out` may have terms of a
 * part of it then. */
static bool reduce(const ompjit__walk *w, LLVMValueRef v, ompjit__number *out,
                   unsigned depth);

/* NULL: there are too many terms. */
static struct ompjit__term *add_term(ompjit__number *out, LLVMTypeRef type)
{
    if (out->n == OMPJIT__WALK_TERMS)
        return NULL;
    struct ompjit__term *t = &out->term[out->n++];
    *t = (struct ompjit__term){.kind = OMPJIT__TERM_CONSTANT, .type = type};
    return t;
}

/* Terms have numbers of 64 bits; a constant that is wider is not taken. */
static bool add_constant(ompjit__number *out, LLVMValueRef v)
{
    enum { WIDEST = 64 };
    struct ompjit__term *t = LLVMGetIntTypeWidth(LLVMTypeOf(v)) <= WIDEST
                                 ? add_term(out, LLVMTypeOf(v))
                                 : NULL;
    if (t)
        t->number = LLVMConstIntGetZExtValue(v);
    return t != NULL;
}

static bool add_value(ompjit__number *out, LLVMValueRef v)
{
    struct ompjit__term *t = add_term(out, LLVMTypeOf(v));
    if (t) {
        t->kind = OMPJIT__TERM_VALUE;
        t->value = v;
    }
    return t != NULL;
}

/* The argument, if it can be reduced itself, or else the parameter as a value
 * of its own, if its function is called once: the same parameter read at two
 * places is the same number. */
static bool reduce_parameter(const ompjit__walk *w, LLVMValueRef v,
                             ompjit__number *out, unsigned depth)
{
    bool once;
    unsigned n = out->n;
    LLVMValueRef actual = ompjit__points_only_argument(w->points, v, &once);
    if (actual && reduce(w, actual, out, depth - 1))
        return true;
    out->n = n;
    return once && add_value(out, v);
}

static bool reduce_operation(const ompjit__walk *w, LLVMValueRef v,
                             ompjit__number *out, unsigned depth)
{
    for (int i = 0; i < LLVMGetNumOperands(v); i++)
        if (!reduce(w, LLVMGetOperand(v, (unsigned)i), out, depth - 1))
            return false;
    struct ompjit__term *t = add_term(out, LLVMTypeOf(v));
    if (!t)
        return false;
    t->kind = OMPJIT__TERM_OPERATION;
    t->number = (uint64_t)LLVMGetInstructionOpcode(v);
    return true;
}

static bool reduce(const ompjit__walk *w, LLVMValueRef v, ompjit__number *out,
                   unsigned depth)
{
    if (!depth)
        return false;
    v = ompjit__place_original(v);
    if (LLVMIsALoadInst(v)) {
        LLVMValueRef store = ompjit__points_only_store(w->points, v);
        return store && reduce(w, LLVMGetOperand(store, 0), out, depth - 1);
    }
    if (LLVMIsAArgument(v))
        return reduce_parameter(w, v, out, depth);
    if (LLVMIsAConstantInt(v))
        return add_constant(out, v);
    if (ompjit__is_host_call(v))
        return ompjit__points_runs_once(w->points, v) && add_value(out, v);
    return (LLVMIsABinaryOperator(v) || LLVMIsACastInst(v)) &&
           reduce_operation(w, v, out, depth);
}

/* In a program that uses setjmp, code may run twice that looks as if it ran
 * once (w->jumps). */
void ompjit__walk_fixed_number(const ompjit__walk *w, LLVMValueRef v,
                               ompjit__number *out)
{
    out->n = 0;
    out->reach = UINT_MAX;
    if (!v || !w->points || w->jumps || !reduce(w, v, out, DEEP))
        out->n = 0;
}

/* Compares term by term; stores play no role. */
bool ompjit__walk_same_fixed(const ompjit__number *a, const ompjit__number *b)
{
    for (unsigned i = 0; i < a->n && a->n == b->n; i++) {
        const struct ompjit__term *s = &a->term[i], *t = &b->term[i];
        if (s->kind != t->kind || s->number != t->number ||
            s->type != t->type || s->value != t->value)
            return false;
    }
    return a->n && a->n == b->n;
}
