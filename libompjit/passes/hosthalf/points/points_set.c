/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sets of locations, the objects that hold them, and where values lead.
 *
 * Three bounds keep sets small, and each errs to the larger set. The seventh
 * offset of one object makes all of them ANY:
 *
 *   { a+0, a+8, ... a+40 } and a+48   becomes { a+ANY }
 *
 * The 25th location makes the set's objects, and the new one, members of the
 * CROWD, which is an object like others, but all who are in it share what they
 * hold (step_crowd in points.c):
 *
 *   { a+0, b+0, ... x+0 } and y+0     becomes { CROWD+ANY }, with a to y in it
 *
 * An object never leaves the crowd. Other sets keep naming it by itself, so
 * that questions have to ask for both (ompjit__set_leads_to). And an expression
 * of constants that is nested deeply leads to anything.
 */
#include <stdlib.h>
#include <string.h>

#include "passes/hosthalf/points/points_graph.h"

enum { MOST_OF_ONE = 6, MOST = OMPJIT__POINTS_MOST, DEEP = 8 };

/* ------------------------------------------------------------------- sets */

uint64_t ompjit__location(unsigned object, unsigned offset)
{
    return (uint64_t)object << 16 | offset;
}

unsigned ompjit__object_of(uint64_t at)
{
    return (unsigned)(at >> 16);
}

unsigned ompjit__offset_of(uint64_t at)
{
    return at & OMPJIT__ANY;
}

/* `anything` includes all locations, so none is listed beside it. */
static bool add_anything(ompjit__set *s)
{
    bool news = !s->anything;
    s->anything = true;
    s->n = 0;
    return news;
}

/* Removes all locations of an object. */
static void drop_object(ompjit__set *s, unsigned object)
{
    unsigned n = 0;
    for (unsigned i = 0; i < s->n; i++)
        if (ompjit__object_of(s->at[i]) != object)
            s->at[n++] = s->at[i];
    s->n = n;
}

/* Its objects and one more are in the crowd from now on, and the set becomes
 * the crowd. NOWHERE and LITERALS hold no pointers, so they need not join. */
static void join_crowd(ompjit__points *p, ompjit__set *s, unsigned object)
{
    for (unsigned i = 0; i <= s->n; i++) {
        unsigned one = i < s->n ? ompjit__object_of(s->at[i]) : object;
        bool joins = one != OMPJIT__NOWHERE && one != OMPJIT__LITERALS;
        p->changed |= joins && !p->objects[one].crowded;
        p->objects[one].crowded = joins;
    }
    p->objects[OMPJIT__CROWD].crowded = true;
    s->at[0] = ompjit__location(OMPJIT__CROWD, OMPJIT__ANY);
    s->n = 1;
}

/* A location is in the set already if it is listed, if ANY of its object is, or
 * if its object is in the crowd and the crowd is listed. */
bool ompjit__set_add(ompjit__points *p, ompjit__set *s, uint64_t at)
{
    unsigned of_one = 0;
    if (s->anything)
        return false;
    for (unsigned i = 0; i < s->n; i++) {
        unsigned object = ompjit__object_of(s->at[i]);
        if (s->at[i] == at ||
            (object == ompjit__object_of(at) &&
             ompjit__offset_of(s->at[i]) == OMPJIT__ANY) ||
            (object == OMPJIT__CROWD &&
             p->objects[ompjit__object_of(at)].crowded))
            return false;
        of_one += object == ompjit__object_of(at);
    }
    if (ompjit__offset_of(at) == OMPJIT__ANY || of_one == MOST_OF_ONE) {
        drop_object(s, ompjit__object_of(at));
        at = ompjit__location(ompjit__object_of(at), OMPJIT__ANY);
    }
    if (s->n == MOST)
        join_crowd(p, s, ompjit__object_of(at));
    else
        s->at[s->n++] = at;
    return true;
}

bool ompjit__set_merge(ompjit__points *p, ompjit__set *into,
                       const ompjit__set *from)
{
    if (from->anything)
        return add_anything(into);
    bool news = false;
    for (unsigned i = 0; i < from->n; i++)
        news |= ompjit__set_add(p, into, from->at[i]);
    return news;
}

/* Negative offsets and those from NEAR on become ANY. */
ompjit__set ompjit__set_moved(ompjit__points *p, const ompjit__set *s,
                              bool known, int64_t by)
{
    ompjit__set to = {.anything = s->anything};
    for (unsigned i = 0; i < s->n; i++) {
        int64_t at = (int64_t)ompjit__offset_of(s->at[i]) + by;
        bool near = known && ompjit__offset_of(s->at[i]) != OMPJIT__ANY &&
                    at >= 0 && at < OMPJIT__NEAR;
        ompjit__set_add(p, &to,
                        ompjit__location(ompjit__object_of(s->at[i]),
                                         near ? (unsigned)at : OMPJIT__ANY));
    }
    return to;
}

/* ---------------------------------------------------------------- objects */

/* The array has room for a power of two: it is full when its length is one.
 * Sites of NULL are the first objects, which are not looked up. Without memory
 * it answers LIBRARY, and p->failed ends the analysis. */
unsigned ompjit__points_object(ompjit__points *p, LLVMValueRef site,
                               LLVMValueRef call)
{
    for (unsigned i = OMPJIT__OBJECTS; i < p->nobjects; i++)
        if (p->objects[i].site == site && p->objects[i].call == call)
            return i;
    if (!(p->nobjects & (p->nobjects - 1))) {
        size_t capacity = p->nobjects ? 2 * (size_t)p->nobjects : 1;
        struct ompjit__object *more =
            realloc(p->objects, capacity * sizeof *p->objects);
        if (!more) {
            p->failed = true;
            return OMPJIT__LIBRARY;
        }
        p->objects = more;
    }
    p->objects[p->nobjects] =
        (struct ompjit__object){.site = site, .call = call};
    p->changed = true;
    return p->nobjects++;
}

/* Offsets are rounded down to the word. Without memory it answers `any`, which
 * all loads of the object find, and p->failed ends the analysis. */
ompjit__set *ompjit__points_cell(ompjit__points *p, unsigned object,
                                 unsigned offset)
{
    struct ompjit__object *o = &p->objects[object];
    if (offset == OMPJIT__ANY)
        return &o->any;
    offset &= ~7U;
    for (unsigned i = 0; i < o->ncells; i++)
        if (o->cells[i].offset == offset)
            return &o->cells[i].holds;
    struct ompjit__cell *more =
        realloc(o->cells, (o->ncells + 1) * sizeof *more);
    if (!more) {
        p->failed = true;
        return &o->any;
    }
    o->cells = more;
    more[o->ncells] = (struct ompjit__cell){.offset = offset};
    return &more[o->ncells++].holds;
}

/* A constant of numbers, such as a text. A weak one may be another module's,
 * with other contents. */
bool ompjit__is_literal(LLVMValueRef v)
{
    LLVMValueRef init = LLVMIsAGlobalVariable(v) && LLVMIsGlobalConstant(v)
                            ? LLVMGetInitializer(v)
                            : NULL;
    return init && LLVMGetLinkage(v) != LLVMWeakAnyLinkage &&
           (LLVMIsAConstantDataSequential(init) ||
            LLVMIsAConstantAggregateZero(init) || LLVMIsAConstantInt(init) ||
            LLVMIsAConstantFP(init));
}

/* Once all has escaped, objects that are made later have, too. */
bool ompjit__points_has_escaped(const ompjit__points *p, unsigned object)
{
    return object == OMPJIT__LIBRARY || p->objects[object].escaped ||
           (p->all_escaped && object != OMPJIT__LITERALS &&
            object != OMPJIT__NOWHERE);
}

/* May functions outside of the module write there? Constant variables they may
 * only read, such as a table of functions that was passed to them. */
bool ompjit__points_is_written(const ompjit__points *p, unsigned object)
{
    LLVMValueRef site = p->objects[object].site;
    return ompjit__points_has_escaped(p, object) &&
           !(site && LLVMIsAGlobalVariable(site) &&
             LLVMIsGlobalConstant(site) && LLVMGetInitializer(site));
}

/* Four things may be read at a location: pointers stored there, pointers stored
 * at an offset of the object that is not known (any), those stored in the crowd
 * if the object is in it, and those that functions outside have stored, which
 * are LIBRARY. `wild` may have been stored anywhere. */
ompjit__set ompjit__points_load(ompjit__points *p, const ompjit__set *pointers)
{
    ompjit__set found = p->wild;
    if (pointers->anything)
        add_anything(&found);
    for (unsigned i = 0; i < pointers->n; i++) {
        const struct ompjit__object *o =
            &p->objects[ompjit__object_of(pointers->at[i])];
        unsigned offset = ompjit__offset_of(pointers->at[i]);
        if (ompjit__points_is_written(p, ompjit__object_of(pointers->at[i])))
            ompjit__set_add(p, &found,
                            ompjit__location(OMPJIT__LIBRARY, OMPJIT__ANY));
        ompjit__set_merge(p, &found, &o->any);
        if (o->crowded)
            ompjit__set_merge(p, &found, &p->objects[OMPJIT__CROWD].any);
        for (unsigned k = 0; k < o->ncells; k++)
            if (offset == OMPJIT__ANY || o->cells[k].offset == (offset & ~7U))
                ompjit__set_merge(p, &found, &o->cells[k].holds);
    }
    return found;
}

bool ompjit__set_leads_to(const ompjit__points *p, const ompjit__set *s,
                          unsigned object)
{
    for (unsigned i = 0; i < s->n; i++)
        if (ompjit__object_of(s->at[i]) == object ||
            (ompjit__object_of(s->at[i]) == OMPJIT__CROWD &&
             p->objects[object].crowded))
            return true;
    return s->anything;
}

bool ompjit__set_is_empty(const ompjit__set *s)
{
    return !s->n && !s->anything;
}

/* No program stores through a null pointer, so NOWHERE holds nothing. A store
 * through a pointer whose set is still empty stores nothing in this round. */
void ompjit__points_store(ompjit__points *p, const ompjit__set *pointers,
                          const ompjit__set *value)
{
    if (ompjit__set_is_empty(value))
        return;
    if (pointers->anything)
        p->changed |= ompjit__set_merge(p, &p->wild, value);
    for (unsigned i = 0; i < pointers->n; i++) {
        uint64_t at = pointers->at[i];
        if (ompjit__object_of(at) != OMPJIT__NOWHERE)
            p->changed |=
                ompjit__set_merge(p,
                                  ompjit__points_cell(p, ompjit__object_of(at),
                                                      ompjit__offset_of(at)),
                                  value);
    }
}

void ompjit__points_store_in(ompjit__points *p, const ompjit__set *pointers,
                             const ompjit__set *value)
{
    ompjit__set all = ompjit__set_moved(p, pointers, false, 0);
    ompjit__points_store(p, &all, value);
}

/* ----------------------------------------------------------------- values */

/* The place of a key in the hash table, or the free one where it belongs. At
 * most half of the table is in use, so there is one. */
static struct ompjit__value *slot(const ompjit__points *p, const void *key)
{
    size_t i = ((uintptr_t)key >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (;; i++) {
        struct ompjit__value *v = &p->values[i & (p->capacity - 1)];
        if (!v->key || v->key == key)
            return v;
    }
}

/* A table twice as large, with the same values. False: no memory. */
static bool more_values(ompjit__points *p)
{
    struct ompjit__points larger = *p;
    larger.capacity = p->capacity ? 2 * p->capacity : 1024;
    larger.values = calloc(larger.capacity, sizeof *larger.values);
    if (!larger.values)
        return false;
    for (size_t i = 0; i < p->capacity; i++)
        if (p->values[i].key)
            *slot(&larger, p->values[i].key) = p->values[i];
    free(p->values);
    p->values = larger.values;
    p->capacity = larger.capacity;
    return true;
}

void ompjit__points_grow(ompjit__points *p, const void *key,
                         const ompjit__set *by)
{
    if (ompjit__set_is_empty(by))
        return;
    if (2 * p->nvalues >= p->capacity && !more_values(p)) {
        p->failed = true;
        return;
    }
    struct ompjit__value *v = slot(p, key);
    if (!v->key) {
        v->holds = calloc(1, sizeof *v->holds);
        p->failed |= !v->holds;
        if (!v->holds)
            return;
        v->key = key;
        p->nvalues++;
    }
    p->changed |= ompjit__set_merge(p, v->holds, by);
}

ompjit__set ompjit__points_lookup(const ompjit__points *p, const void *key)
{
    const struct ompjit__value *v = p->capacity ? slot(p, key) : NULL;
    return v && v->key ? *v->holds : (ompjit__set){0};
}

/* A function's result. The function itself is a key of its address, and no
 * value of LLVM is at an odd address. */
const void *ompjit__points_result(LLVMValueRef f)
{
    return (const char *)f + 1;
}

ompjit__set ompjit__set_one(unsigned object)
{
    return (ompjit__set){.n = 1, .at = {ompjit__location(object, 0)}};
}

ompjit__set ompjit__set_library(void)
{
    return (ompjit__set){
        .n = 1, .at = {ompjit__location(OMPJIT__LIBRARY, OMPJIT__ANY)}};
}

/* Constants are computed each time; all others have been noted by steps. A
 * constant expression leads where its operands do, but a GEP only where its
 * first one does: the others are numbers. */
ompjit__set ompjit__points_value(ompjit__points *p, LLVMValueRef v,
                                 unsigned depth)
{
    ompjit__set all = {0};
    if (!LLVMIsConstant(v))
        return ompjit__points_lookup(p, v);
    if (LLVMIsNull(v))
        return ompjit__set_one(OMPJIT__NOWHERE);
    if (ompjit__is_literal(v))
        return ompjit__set_one(OMPJIT__LITERALS);
    if (LLVMIsAGlobalVariable(v) || LLVMIsAFunction(v))
        return ompjit__set_one(ompjit__points_object(p, v, NULL));
    if (LLVMIsAGlobalAlias(v))
        return ompjit__points_value(p, LLVMAliasGetAliasee(v), depth);
    if (!depth) {
        add_anything(&all);
        return all;
    }
    int n = LLVMGetNumOperands(v);
    bool is_gep =
        LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr;
    for (int i = 0; i < (is_gep ? 1 : n); i++) {
        ompjit__set part =
            ompjit__points_value(p, LLVMGetOperand(v, (unsigned)i), depth - 1);
        int64_t by = 0;
        bool known = is_gep && ompjit__gep_offset(p->layout, v, &by);
        if (is_gep)
            part = ompjit__set_moved(p, &part, known, by);
        ompjit__set_merge(p, &all, &part);
    }
    return all;
}

ompjit__set ompjit__points_operand(ompjit__points *p, LLVMValueRef i,
                                   unsigned k)
{
    return ompjit__points_value(p, LLVMGetOperand(i, k), DEEP);
}
